"""The state of every memory: a pure fold of what agents wrote and what runs decided.

Events are folded by (when they happened, ledger position), so it does not matter in which order they arrive or are
given; decisions are applied on top, by (clock of the run, ledger position, action, place in the plan). The same `apply`
makes the state after a plan, so a snapshot equals a rebuild.
What is not here: which events and decisions belong to a state (the caller filters them), what a decision's JSON holds
(`deciding`), and edges that follow from the memories themselves (`associations`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import deciding
from memory_pipeline.consolidation.associations import UNDIRECTED
from memory_pipeline.consolidation.scoring import DAY, ENERGY_DECAY, KEY
from memory_pipeline.lake.schemas import LIVE, TABLES, Action, EventType, Lifecycle
from memory_pipeline.text import classification, identity

WRONG_TO_NOTHING: Final = 10
"""So often must somebody say that a memory was wrong until full confidence is gone."""

MEMBER_WEIGHT: Final = 0.8
"""Weight of the edge from a summary to each of its members."""

_GIVEN: Final = ("content", "valid_from", "valid_until", "protected", "protected_reason")
"""What an update can change."""

MOVES: Final = (Action.SUMMARISE.value, Action.SUPERSEDE.value, Action.DELETE.value, Action.ARCHIVE.value)
"""Actions that set where a memory stands."""

_ORIGINAL: Final = "original"


@dataclass(frozen=True)
class State:
    """Every memory, and every edge that an agent asserted or a run decided."""

    memories: pl.DataFrame
    """Table `memories`."""
    edges: pl.DataFrame
    """Table `decided_edges`, at the weight last given, undecayed."""


def fold(events: pl.DataFrame, decisions: pl.DataFrame) -> State:
    """Return the state after these events and decisions.

    Args:
        events: table `events` up to an instant and a ledger position; other events than agents' have no effect.
        decisions: table `decisions`, those in force at that state (see `unmasked`).

    Cost: a sort of the accesses, hash joins, and one SHA-256 a memory; a million events take a few seconds.
    """
    return apply(_project(events, _made(_ordered(decisions))), decisions)


def project(events: pl.DataFrame) -> State:
    """Return the state after these events alone, as if no run had decided anything."""
    return _project(events, TABLES["memories"].empty())


def unmasked(decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions in force: not undone, not withdrawn, and no supersession by a summary that is not in force.

    Args:
        decisions: table `decisions`.
        reverted: table `reverted`; what it names counts as undone. An undone withdrawal withdraws nothing.
    """
    standing = decisions.join(reverted, on=["profile_id", "decision_id"], how="anti")
    withdrawals = standing.filter(_is(Action.WITHDRAW)).select("profile_id", decision_id="target_id")
    standing = standing.join(withdrawals, on=["profile_id", "decision_id"], how="anti")
    summaries = decisions.filter(_is(Action.SUMMARISE)).select("profile_id", target_id="memory_id").unique()
    since = (
        standing.filter(_is(Action.SUMMARISE))
        .group_by("profile_id", target_id="memory_id")
        .agg(since=pl.col("seq").min())
    )
    orphans = (
        standing.filter(_is(Action.SUPERSEDE))
        .join(summaries, on=["profile_id", "target_id"], how="semi")
        .join(since, on=["profile_id", "target_id"], how="left")
        .filter(pl.col("since").is_null() | (pl.col("since") > pl.col("seq")))
    )
    return standing.join(orphans, on=["profile_id", "decision_id"], how="anti")


def _is(action: Action) -> pl.Expr:
    return pl.col("action") == action.value


def apply(state: State, decisions: pl.DataFrame) -> State:
    """Return the state after these decisions, which must all be in force (see `unmasked`).

    - summarise makes a memory, or brings it back, with an edge to each member;
    - link makes an edge, and prune takes away what was decided, never what an agent asserted;
    - supersede, delete and archive move a memory; the last decision about it holds. A deleted one loses its edges;
      one that a summary stands for comes back once it is changed or the summary leaves the live set.

    Applying decisions in two lots, in order, is the same as applying them at once.
    """
    if decisions.is_empty():
        return State(TABLES["memories"].conform(state.memories), TABLES["decided_edges"].conform(state.edges))
    ordered = _ordered(decisions)
    made = _made(ordered).join(state.memories, on=KEY, how="anti")
    memories = _moved(pl.concat([state.memories, made]), ordered)
    return State(TABLES["memories"].conform(memories), _connected(state.edges, memories, ordered))


def _ordered(decisions: pl.DataFrame) -> pl.DataFrame:
    """Decisions in order of application, numbered by `turn` from 0."""
    place = pl.col("action").replace_strict(deciding.ORDER, return_dtype=pl.Int64)
    return (
        decisions.sort("as_of", "seq", place, "ordinal", "profile_id", "decision_id")
        .with_row_index("turn")
        .with_columns(pl.col("turn").cast(pl.Int64))
    )


def _made(ordered: pl.DataFrame) -> pl.DataFrame:
    """Summaries as memories, as the first decision for each made them."""
    first = ordered.filter(_is(Action.SUMMARISE)).unique(KEY, keep="first", maintain_order=True)
    said = first.select(
        *KEY,
        *deciding.read("after", deciding.SUMMARY),
        "plan_id",
        event_id="decision_id",
        created_at="as_of",
        energy_at="as_of",
        lifecycle_since="as_of",
    )
    return _complete(said.with_columns(memory_type_inferred=pl.lit(False), category_inferred=pl.lit(False)))


def _complete(memories: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of a memory that nothing has happened to yet."""
    table = TABLES["memories"]
    fresh = {
        "confidence": pl.lit(0.5),
        "protected": pl.lit(False),
        "tags": pl.lit([], pl.List(pl.String)),
        "access_count": pl.lit(0),
        "access_sessions": pl.lit(0),
        "stability_gain": pl.lit(0.0),
        "energy_base": pl.lit(1.0),
        "energy_at": pl.col("created_at"),
        "tier": pl.lit("working"),
        "lifecycle": pl.lit(Lifecycle.ACTIVE.value),
        "lifecycle_since": pl.col("created_at"),
        "members": pl.lit([], pl.List(pl.String)),
    }
    filled = memories.with_columns(
        pl.col(name).fill_null(value) if name in memories.columns else value.alias(name)
        for name, value in fresh.items()
    )
    missing = [pl.lit(None).alias(name) for name in table.schema.columns() if name not in filled.columns]
    return table.conform(filled.with_columns(missing))


def _project(events: pl.DataFrame, summaries: pl.DataFrame) -> State:
    """Fold events about originals, and about summaries that decisions made.

    An event about an original counts whenever it happened, at the earliest at the creation. An event about a summary
    counts if it happened later than the summary: an earlier one was about one that was undone since.
    """
    happened = events.with_columns(at=pl.min_horizontal("occurred_at", "recorded_at"))
    stored = _stored(happened)
    memories = pl.concat([stored, summaries.join(stored, on=KEY, how="anti")])
    known = memories.select(*KEY, "created_at", original=pl.col("kind") == _ORIGINAL)
    memories = _used(_updated(memories, happened, known), happened, known)
    return State(TABLES["memories"].conform(_described(memories)), _asserted(happened, known))


def _of(kind: EventType) -> pl.Expr:
    return pl.col("event_type") == kind.value


def _stored(happened: pl.DataFrame) -> pl.DataFrame:
    """One memory for each id, by the first event that stored it; what is to be read out of the text is null."""
    first = (
        happened.filter(_of(EventType.STORED) & pl.col("memory_id").is_not_null())
        .sort("at", "seq")
        .unique(KEY, keep="first", maintain_order=True)
    )
    named = first.with_columns(
        kind=pl.lit(_ORIGINAL), created_at="at", importance_given="importance", content_hash=pl.lit(None, pl.String)
    )
    inferred = [
        pl.lit(None, pl.Boolean).alias("memory_type_inferred"),
        pl.lit(None, pl.Boolean).alias("category_inferred"),
    ]
    return _complete(named.with_columns(inferred))


def _about(happened: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Events about known memories that count, `at` the creation at the earliest."""
    return (
        happened.join(known, on=KEY)
        .filter(pl.col("original") | (pl.col("at") > pl.col("created_at")))
        .with_columns(pl.max_horizontal("at", "created_at").alias("at"))
    )


def _updated(memories: pl.DataFrame, happened: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Give each field the value that was given last."""
    updates = _about(happened.filter(_of(EventType.UPDATED)).select(*KEY, "at", "seq", *_GIVEN), known)
    if updates.is_empty():
        return memories
    last = (
        updates.sort("at", "seq")
        .group_by(KEY)
        .agg(
            pl.col(_GIVEN).drop_nulls().last().name.suffix("_given"),
            changed_at=pl.col("at").max(),
        )
    )
    changed = memories.join(last, on=KEY, how="left", maintain_order="left").with_columns(
        content_hash=pl.when(pl.col("content_given").is_null()).then("content_hash"),
        updated_at=pl.coalesce("changed_at", "updated_at"),
        **{name: pl.coalesce(f"{name}_given", name) for name in _GIVEN},
    )
    return changed.with_columns(protected_reason=pl.when("protected").then("protected_reason")).select(memories.columns)


def _used(memories: pl.DataFrame, happened: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Count accesses and feedback. What is delivered twice counts once."""
    feedback = _of(EventType.FEEDBACK)
    uses = (
        happened.filter(_of(EventType.ACCESSED) | feedback)
        .select("event_id", "ordinal", *KEY, "at", "seq", "session_id", wrong=feedback & ~pl.col("helpful"))
        .filter(pl.col("wrong").is_not_null())
        .sort("seq", "ordinal")
        .unique(["profile_id", "event_id", "ordinal"], keep="first", maintain_order=True)
    )
    row = known.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    uses = _about(uses, row)
    if uses.is_empty():
        return memories
    wrong = np.bincount(uses.filter("wrong")["row"].to_numpy(), minlength=memories.height)
    accesses = uses.filter(~pl.col("wrong")).sort("row", "at", "seq", "ordinal")
    gain, energy, last = _touches(accesses, row["created_at"].dt.epoch("us").to_numpy())
    counts = accesses.group_by("row").agg(accessed=pl.len(), sessions=pl.col("session_id").drop_nulls().n_unique())
    counted = row.select("row").join(counts, on="row", how="left", maintain_order="left").fill_null(0)
    touched = counted["accessed"] > 0
    return memories.with_columns(
        confidence=(pl.col("confidence") - pl.Series(wrong / WRONG_TO_NOTHING)).clip(lower_bound=0.0),
        access_count=pl.col("access_count") + counted["accessed"],
        access_sessions=counted["sessions"],
        stability_gain=pl.Series(gain),
        energy_base=pl.Series(energy),
        energy_at=pl.Series(last).cast(pl.Datetime("us", "UTC")),
        last_accessed_at=pl.when(touched).then(pl.Series(last).cast(pl.Datetime("us", "UTC"))),
    )


def _touches(
    accesses: pl.DataFrame, created: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Stability gained, energy at the last touch, and instant of the last touch, of each memory.

    Stability grows with each access by 0.1 * min(2, days since the access before / 7) (cognitive-memory). Energy is the
    sum over creation and accesses of exp(-0.5 * hours since) (three-tier), in closed form.

    Args:
        accesses: `row` of the memory and `at`, sorted by them.
        created: creation of each memory, in microseconds.
    """
    row, at = accesses["row"].to_numpy(), accesses["at"].dt.epoch("us").to_numpy()
    first = np.ones(len(row), dtype=bool)
    first[1:] = row[1:] != row[:-1]
    before = np.where(first, created[row], np.concatenate([at[:1], at[:-1]]))
    gains = 0.1 * np.minimum(2.0, (at - before) / DAY / 7.0)
    last = created.copy()
    last[row] = at
    hourly = -ENERGY_DECAY["working"] * 24.0 / DAY
    echoes = _sums(row, np.exp(hourly * (last[row] - at)), len(created))
    return _sums(row, gains, len(created)), np.exp(hourly * (last - created)) + echoes, last


def _sums(row: NDArray[np.int64], values: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """Sum the values of each row, in the order given; without any value NumPy would count integers."""
    return np.bincount(row, values, minlength=rows).astype(np.float64, copy=False)


def _described(memories: pl.DataFrame) -> pl.DataFrame:
    """Give originals a type and category, inferred from the text where none is known, and new texts their hash."""
    original = memories.filter(pl.col("kind") == _ORIGINAL).with_columns(
        memory_type=classification.canonical_type(pl.col("memory_type")),
        category=classification.canonical_category(pl.col("category")),
    )
    described = original.with_columns(
        memory_type_inferred=pl.col("memory_type").is_null(), category_inferred=pl.col("category").is_null()
    )
    for column, inferred in (("memory_type", classification.memory_type), ("category", classification.category)):
        read = (
            described.filter(pl.col(column).is_null())
            .select("content")
            .unique()
            .with_columns(inferred(pl.col("content")).alias("inferred"))
        )
        described = (
            described.join(read, on="content", how="left", maintain_order="left")
            .with_columns(pl.coalesce(column, "inferred").alias(column))
            .drop("inferred")
        )
    every = pl.concat([described, memories.filter(pl.col("kind") != _ORIGINAL)])
    texts = every.select("speaker", "content").iter_rows()
    hashes = pl.Series([identity.content_hash(*text) for text in texts], dtype=pl.String)
    return every.with_columns(content_hash=pl.coalesce("content_hash", hashes))


def _asserted(happened: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Edges that agents asserted between known memories; the last assertion of an edge gives its weight."""
    undirected = pl.col("edge_type").is_in(UNDIRECTED)
    smaller, larger = pl.min_horizontal("memory_id", "target_id"), pl.max_horizontal("memory_id", "target_id")
    ends = known.rename({"memory_id": "target_id"})
    said = (
        _about(happened.filter(_of(EventType.LINKED), pl.col("memory_id") != pl.col("target_id")), known)
        .drop("created_at", "original")
        .join(ends, on=["profile_id", "target_id"])
        .filter(pl.col("original") | (pl.col("at") > pl.col("created_at")))
        .with_columns(pl.max_horizontal("at", "created_at").alias("at"), pl.col("edge_type").str.to_uppercase())
        .with_columns(
            source=pl.when(undirected).then(smaller).otherwise("memory_id"),
            target=pl.when(undirected).then(larger).otherwise("target_id"),
        )
    )
    edges = (
        said.sort("at", "seq")
        .group_by(deciding.EDGE_KEY)
        .agg(
            kind=pl.col("edge_kind").drop_nulls().last(),
            base_weight=pl.col("weight").drop_nulls().last().fill_null(1.0),
            discovered_at=pl.col("at").min(),
            last_strengthened_at=pl.col("at").max(),
        )
    )
    return TABLES["decided_edges"].conform(
        edges.with_columns(
            weight="base_weight",
            origin=pl.lit("asserted"),
            confidence=pl.lit(None),
            similarity=pl.lit(None),
            algorithm=pl.lit("agent"),
            co_count=pl.lit(0),
            plan_id=pl.lit(""),
        )
    )


def _moved(memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Let the last decision about each memory say where it stands, and bring back originals whose summary fails them.

    A summary stands for what an original said when it was merged, for as long as the summary is live: an original that
    an agent has changed since, or whose summary has left the live set, is live again.
    """
    said = {**deciding.MOVE, **deciding.SAID}
    last = (
        ordered.filter(pl.col("action").is_in(MOVES))
        .unique(KEY, keep="last", maintain_order=True)
        .select(
            *KEY,
            *(value.name.suffix("_after") for value in deciding.read("after", said)),
            moved_by="plan_id",
            moved_at="as_of",
            turn="turn",
        )
    )
    gone = last.filter(~pl.col("lifecycle_after").is_in(LIVE)).select(
        "profile_id", superseded_by="memory_id", gone="turn", gone_at="moved_at"
    )
    moved = pl.col("moved_at").is_not_null()
    stands = (
        memories.join(last, on=KEY, how="left", maintain_order="left")
        .with_columns(
            *(pl.when(moved).then(f"{name}_after").otherwise(name).alias(name) for name in deciding.MOVE),
            lifecycle_since=pl.coalesce("moved_at", "lifecycle_since"),
            plan_id=pl.coalesce("moved_by", "plan_id"),
        )
        .join(gone, on=["profile_id", "superseded_by"], how="left", maintain_order="left")
    )
    return _restored(stands).select(memories.columns)


def _restored(stands: pl.DataFrame) -> pl.DataFrame:
    """Bring back superseded originals that were changed since (`_after`), or whose summary is `gone` since a turn."""
    differs = [pl.col(name).ne_missing(pl.col(f"{name}_after")) for name in deciding.SAID]
    changed = pl.col("content_hash_after").is_not_null() & pl.any_horizontal(differs)
    alone = pl.col("gone") > pl.col("turn").fill_null(-1)
    back = (pl.col("kind") == _ORIGINAL) & (pl.col("superseded_kind") == "summary") & (changed | alone)
    back = back.fill_null(value=False)
    return stands.with_columns(
        lifecycle=pl.when(back).then(pl.lit(Lifecycle.ACTIVE.value)).otherwise("lifecycle"),
        lifecycle_since=pl.when(back)
        .then(pl.max_horizontal("lifecycle_since", "updated_at", "gone_at"))
        .otherwise("lifecycle_since"),
        superseded_by=pl.when(~back).then("superseded_by"),
        superseded_kind=pl.when(~back).then("superseded_kind"),
    )


def _connected(edges: pl.DataFrame, memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Add the edges that were decided, take away those that were pruned or that a deleted memory had.

    What stood before has turn -1. An edge stands unless a later turn pruned it or deleted one of its ends; of two that
    are the same, what an agent asserted goes before what was decided, and the later before the earlier.
    """
    stood = edges.with_columns(turn=pl.lit(-1, pl.Int64))
    candidates = pl.concat([stood, _decided(memories, ordered).select(stood.columns)])
    by_agent = pl.col("origin") == "asserted"
    pruned = (
        ordered.filter(_is(Action.PRUNE))
        .with_columns(*deciding.read("after", {"edge_type": pl.String()}))
        .group_by("profile_id", "edge_type", source="memory_id", target="target_id")
        .agg(pruned=pl.col("turn").max())
    )
    deleted = ordered.filter(_is(Action.DELETE)).group_by(KEY).agg(deleted=pl.col("turn").max())
    standing = candidates.join(pruned, on=deciding.EDGE_KEY, how="left", maintain_order="left").filter(
        by_agent | pl.col("pruned").is_null() | (pl.col("pruned") < pl.col("turn"))
    )
    for end in ("source", "target"):
        standing = (
            standing.join(deleted.rename({"memory_id": end}), on=["profile_id", end], how="left", maintain_order="left")
            .filter(pl.col("deleted").is_null() | (pl.col("deleted") < pl.col("turn")))
            .drop("deleted")
        )
    return TABLES["decided_edges"].conform(
        standing.sort(by_agent, "turn").unique(deciding.EDGE_KEY, keep="last", maintain_order=True)
    )


def _decided(memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Edges that decisions make between memories that existed by then, with their `turn`."""
    links = ordered.filter(_is(Action.LINK)).select(
        "profile_id", "plan_id", "turn", "as_of", *deciding.read("after", deciding.EDGE)
    )
    summaries = ordered.filter(_is(Action.SUMMARISE)).with_columns(
        *deciding.read("after", {name: deciding.SUMMARY[name] for name in ("kind", "members")})
    )
    memberships = summaries.explode("members").select(
        *("profile_id", "plan_id", "turn", "as_of", "kind"),
        source="memory_id",
        target="members",
        edge_type=pl.lit("SUMMARIZES"),
        weight=pl.lit(MEMBER_WEIGHT),
        base_weight=pl.lit(MEMBER_WEIGHT),
        algorithm=pl.lit("summary"),
        discovered_at="as_of",
        last_strengthened_at="as_of",
        co_count=pl.lit(0, pl.Int64),
    )
    found = pl.concat([links, memberships], how="diagonal").with_columns(origin=pl.lit("decided"))
    for end in ("source", "target"):
        born = memories.select("profile_id", "created_at", memory_id="memory_id").rename({"memory_id": end})
        found = (
            found.join(born, on=["profile_id", end], maintain_order="left")
            .filter(pl.col("created_at") <= pl.col("as_of"))
            .drop("created_at")
        )
    return found
