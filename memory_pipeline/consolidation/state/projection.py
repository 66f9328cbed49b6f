"""The state of every memory: a pure fold of what agents wrote and what runs decided.

Events are folded by (when they happened, ledger position), so it does not matter in which order they arrive or are
given; decisions are applied on top, by (clock of the run, ledger position, action, place in the plan). The same `apply`
makes the state after a plan, so a snapshot equals a rebuild.
What is not here: which events and decisions belong to a state (the caller filters them), what a decision's JSON holds
(`deciding`), what agents wrote (`folding`), where decisions leave a memory (`settling`), how energy is reckoned
(`energy`), and edges that follow from the memories themselves (`associations`).
"""

from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.consolidation.state import energy, folding, lifecycle
from memory_pipeline.schemas import TABLES, Action

MEMBER_WEIGHT: Final = 0.8
"""Weight of the edge from a summary to each of its members."""

ERASED: Final = '{"erased":'
"""How the documents of a decision begin that was erased, since they told of an erased memory."""

MOVES: Final = lifecycle.MOVES
"""Actions that set where a memory stands."""

_LINEAGE: Final = {"short_term": ("working", "PROMOTED_TO"), "long_term": ("short_term", "CRYSTALLIZED_INTO")}
"""Tier before, and name of the change, by the tier that a memory rises to."""


@dataclass(frozen=True)
class State:
    """Every memory, how it was used and rose, every edge that an agent asserted or a run decided, and the blocks."""

    memories: pl.DataFrame
    """Table `memories`."""
    edges: pl.DataFrame
    """Table `decided_edges`, at the weight last given, undecayed."""
    accesses: pl.DataFrame = field(default_factory=TABLES["accesses"].empty)
    """Table `accesses`."""
    tier_changes: pl.DataFrame = field(default_factory=TABLES["tier_changes"].empty)
    """Table `tier_changes`."""
    blocks: pl.DataFrame = field(default_factory=TABLES["core_memory_blocks"].empty)
    """Table `core_memory_blocks`."""


def fold(events: pl.DataFrame, decisions: pl.DataFrame) -> State:
    """Return the state after these events and decisions.

    Args:
        events: table `events` up to an instant and a ledger position; other events than agents' have no effect.
        decisions: table `decisions`, those in force at that state (see `unmasked`).

    Cost: sorts of the accesses, hash joins, and one SHA-256 a memory; a million events take a few seconds.
    """
    ordered = _ordered(decisions)
    return _applied(_written(events, lifecycle.made(ordered)), ordered)


def project(events: pl.DataFrame) -> State:
    """Return the state after these events alone, as if no run had decided anything."""
    return _applied(_written(events, TABLES["memories"].empty()), _ordered(TABLES["decisions"].empty()))


def _written(events: pl.DataFrame, summaries: pl.DataFrame) -> State:
    """Return what agents wrote, about summaries too."""
    written = folding.fold(events, summaries)
    state = State(lifecycle.unclosed(written.memories), written.edges, written.accesses)
    reckoned = energy.latest(state.memories, state.accesses, state.edges, state.tier_changes)
    return replace(state, memories=state.memories.with_columns(reckoned.drop(KEY)))


def unmasked(decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions in force: not undone, withdrawn or erased, and not for a summary that is not in force.

    Args:
        decisions: table `decisions`.
        reverted: table `reverted`; what it names counts as undone. An undone withdrawal withdraws nothing.
    """
    said = decisions.filter(~pl.col("after").str.starts_with(ERASED))
    standing = said.join(reverted, on=["profile_id", "decision_id"], how="anti")
    withdrawals = standing.filter(_is(Action.WITHDRAW)).select("profile_id", decision_id="target_id")
    standing = standing.join(withdrawals, on=["profile_id", "decision_id"], how="anti")
    summaries = decisions.filter(_is(Action.SUMMARISE)).select("profile_id", target_id="memory_id").unique()
    since = (
        standing.filter(_is(Action.SUMMARISE))
        .group_by("profile_id", target_id="memory_id")
        .agg(since=pl.col("seq").min())
    )
    orphans = (
        standing.filter(_is(Action.SUPERSEDE) | _is(Action.ARCHIVE))
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
    - supersede, delete, archive, expire, cold and stub move a memory; the last decision about it holds. A deleted one
      loses its edges; one that a summary stands for comes back once it is changed or the summary leaves the live set;
      one that expired, went cold or became a stub once an agent turns to it again;
    - close ends the validity of a memory whose fact a newer one states anew;
    - promote raises tier, lifecycle or category; a tier holds from its instant on, one step at a time;
    - compile gives a core memory block its text, also the empty one.

    Applying decisions in two lots, in order, is the same as applying them at once.
    """
    return _applied(state, _ordered(decisions))


def _applied(state: State, ordered: pl.DataFrame) -> State:
    new = lifecycle.made(ordered).join(state.memories, on=KEY, how="anti")
    known = pl.concat([state.memories, lifecycle.unclosed(new)])
    memories = lifecycle.settled(known, ordered, state.accesses)
    edges = _connected(state.edges, memories, ordered)
    tier_changes = _raised(state.tier_changes, memories, ordered)
    after = State(memories, edges, state.accesses, tier_changes, _compiled(state.blocks, ordered))
    return replace(after, memories=TABLES["memories"].conform(_charged(after, state)))


def _ordered(decisions: pl.DataFrame) -> pl.DataFrame:
    """Decisions in order of application, numbered by `turn` from 0."""
    place = pl.col("action").replace_strict(decision_rows.ORDER, return_dtype=pl.Int64)
    return (
        decisions.sort("as_of", "seq", place, "ordinal", "profile_id", "decision_id")
        .with_row_index("turn")
        .with_columns(pl.col("turn").cast(pl.Int64))
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
        .with_columns(*decision_rows.read("after", {"edge_type": pl.String()}))
        .group_by("profile_id", "edge_type", source="memory_id", target="target_id")
        .agg(pruned=pl.col("turn").max())
    )
    deleted = ordered.filter(_is(Action.DELETE)).group_by(KEY).agg(deleted=pl.col("turn").max())
    standing = candidates.join(pruned, on=decision_rows.EDGE_KEY, how="left", maintain_order="left").filter(
        by_agent | pl.col("pruned").is_null() | (pl.col("pruned") < pl.col("turn"))
    )
    for end in ("source", "target"):
        standing = (
            standing.join(deleted.rename({"memory_id": end}), on=["profile_id", end], how="left", maintain_order="left")
            .filter(pl.col("deleted").is_null() | (pl.col("deleted") < pl.col("turn")))
            .drop("deleted")
        )
    return TABLES["decided_edges"].conform(
        standing.sort(by_agent, "turn").unique(decision_rows.EDGE_KEY, keep="last", maintain_order=True)
    )


def _decided(memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Edges that decisions make between memories that existed by then, with their `turn`."""
    links = ordered.filter(_is(Action.LINK)).select(
        "profile_id", "plan_id", "turn", "as_of", *decision_rows.read("after", decision_rows.EDGE)
    )
    summaries = ordered.filter(_is(Action.SUMMARISE)).with_columns(
        *decision_rows.read("after", {name: decision_rows.SUMMARY[name] for name in ("kind", "members")})
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


def _raised(tier_changes: pl.DataFrame, memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Add the first promotion of each memory to each tier, of those that take it from the tier below.

    A change takes effect after the one before, by a microsecond at least: a promotion by one touch after another.
    """
    asked = (
        ordered.filter(_is(Action.PROMOTE))
        .select(
            *(*KEY, "turn", "plan_id", "as_of"),
            *decision_rows.read("after", {name: decision_rows.PROMOTED[name] for name in ("tier", "at", "energy")}),
        )
        .join(memories.select(*KEY, "created_at"), on=KEY)
        .filter(pl.col("as_of") >= pl.col("created_at"))
        .with_columns(at=pl.max_horizontal(pl.coalesce("at", "as_of"), "created_at"))
    )
    stood = tier_changes.with_columns(turn=pl.lit(-1, pl.Int64))
    for tier, (below, edge_type) in _LINEAGE.items():
        start = stood.filter(pl.col("to_tier") == below).select(*KEY, since="at", from_turn="turn")
        steps = asked.filter(pl.col("tier") == tier).join(start, on=KEY, how="left")
        if below in _LINEAGE:
            steps = steps.filter(pl.col("turn") > pl.col("from_turn"))
        new = (
            steps.join(stood.filter(pl.col("to_tier") == tier), on=KEY, how="anti")
            .sort("turn")
            .unique(KEY, keep="first", maintain_order=True)
            .with_columns(
                at=pl.max_horizontal("at", pl.col("since") + pl.duration(microseconds=1)),
                from_tier=pl.lit(below),
                to_tier=pl.lit(tier),
                edge_type=pl.lit(edge_type),
            )
        )
        stood = pl.concat([stood, new.select(stood.columns)])
    return TABLES["tier_changes"].conform(stood)


def _charged(after: State, before: State) -> pl.DataFrame:
    """Return the memories of `after` with the energy of those that were reinforced or rose otherwise than before."""
    was, now = _reinforcements(before.edges), _reinforcements(after.edges)
    concerned = pl.concat(
        [
            after.tier_changes.join(before.tier_changes, on=[*KEY, "to_tier"], how="anti").select(KEY),
            was.join(now, on=was.columns, how="anti").select(KEY),
            now.join(was, on=was.columns, how="anti").select(KEY),
        ]
    ).unique()
    own = after.memories.join(concerned, on=KEY, how="semi")
    counts = now.group_by(KEY).agg(
        reinforcement_count=pl.len().cast(pl.Int64), last_reinforced_at=pl.col("discovered_at").max()
    )
    reckoned = (
        energy.latest(own, after.accesses, after.edges, after.tier_changes)
        .join(counts, on=KEY, how="left")
        .with_columns(pl.col("reinforcement_count").fill_null(0), anew=pl.lit(value=True))
    )
    news = [name for name in reckoned.columns if name not in {*KEY, "anew"}]
    return after.memories.join(reckoned, on=KEY, how="left", suffix="_news", maintain_order="left").with_columns(
        pl.when("anew").then(f"{name}_news").otherwise(name).alias(name) for name in news
    )


def _reinforcements(edges: pl.DataFrame) -> pl.DataFrame:
    """What reinforced which memory, when and how much."""
    known = edges.filter(pl.col("edge_type") == "REINFORCES", pl.col("similarity").is_finite())
    return known.select("profile_id", "source", "discovered_at", "similarity", memory_id="target")


def _compiled(blocks: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Give each core memory block the text that was decided last; of an emptied one the version stays."""
    texts = (
        ordered.filter(_is(Action.COMPILE))
        .unique(KEY, keep="last", maintain_order=True)
        .select(
            "profile_id",
            "plan_id",
            *decision_rows.read("after", decision_rows.BLOCK),
            block="memory_id",
            compiled_at="as_of",
        )
    )
    stood = blocks.join(texts, on=["profile_id", "block"], how="anti")
    return TABLES["core_memory_blocks"].conform(pl.concat([stood, texts.select(stood.columns)]))
