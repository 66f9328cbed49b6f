"""Folds the events of agents into memories, accesses and asserted edges, before any decision of a run.

Events count by when they occurred and their ledger position, so the order of arrival does not matter; an event
delivered twice counts once. Not here: decisions (`lifecycle`), energy (`energy`), and the complete state
(`projection`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation.columns import DAY, KEY
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.schemas import TABLES, EventType, Lifecycle
from memory_pipeline.text import classification, content_hash

ORIGINAL: Final = "original"
"""Kind of a memory that an agent stored."""
FACT: Final = "fact"
"""Kind of a memory that states one fact of an original, in the words of a language model."""

TOMBSTONE: Final = "[erased]"
"""Replaces the text of an erased memory."""

UNDIRECTED: Final = (
    "SIMILAR_TO",
    "REFERENCES",
    "DISCOVERED",
    "CONTRADICTS",
    "COACTIVATED",
    "ASSOCIATED",
    "SHORTCUT",
    "MAY_REPEAT",
    "DISTINCT",
)
"""Edge types without a direction."""

WRONG_TO_NOTHING: Final = 10
"""Number of `wrong` feedbacks that reduce full confidence to 0."""

DIRECT_GAIN: Final = 0.1
"""Stability gained by an access 7 days after the previous one, at most twice that (cognitive-memory)."""

EXPANDED_GAIN: Final = 0.03
"""Same for an access that reached the memory only through an association."""

USES: Final = (EventType.ACCESSED.value, EventType.FEEDBACK.value)
"""Types of events by which memories are used."""

READ: Final = (
    EventType.STORED.value,
    EventType.UPDATED.value,
    EventType.LINKED.value,
    EventType.RESOLVED.value,
    *USES,
)
"""Types of events that the fold reads; no other has an effect on the state."""

_UPDATABLE: Final = {
    "content": "content",
    "importance": "importance_given",
    "tags": "tags",
    "metadata": "metadata",
    "valid_from": "valid_from",
    "valid_until": "valid_until",
    "protected": "protected",
    "protected_reason": "protected_reason",
}
"""Fields of an update and the columns of `memories` that they set."""


@dataclass(frozen=True)
class Written:
    """What agents wrote."""

    memories: pl.DataFrame
    """Table `memories`; energy and tier are those of a new memory."""
    edges: pl.DataFrame
    """Table `decided_edges`: the edges that agents asserted."""
    accesses: pl.DataFrame
    """Table `accesses`."""


def fold(events: pl.DataFrame, summaries: pl.DataFrame) -> Written:
    """Fold events about originals, and about the summaries that decisions made, which are as they were made.

    An event about an original counts at the creation at the earliest, whenever it occurred. An event about a summary
    counts if it occurred after the summary was made: an earlier one concerned a summary undone since. An erased memory
    is only a tombstone, at any instant, and no event about it counts. Of all events only those of agents have an
    effect.
    """
    dated = _dated(events)
    stored = _stored(dated)
    erased = stored.join(_erased(dated), on=KEY, maintain_order="left")
    stored = stored.join(erased, on=KEY, how="anti", maintain_order="left")
    memories = pl.concat([stored, summaries.join(stored, on=KEY, how="anti").join(erased, on=KEY, how="anti")])
    creations = memories.select(*KEY, "created_at", original=pl.col("kind") == ORIGINAL)
    updated = _updated(memories, dated, creations)
    access_events = _uses(dated, creations)
    accesses = TABLES["accesses"].conform(access_events.filter(~pl.col("wrong")))
    used = _used(updated, accesses, access_events.filter("wrong"))
    described = pl.concat([TABLES["memories"].conform(_described(used)), _tombstones(erased)])
    return Written(TABLES["memories"].conform(described), _asserted(dated, creations), accesses)


def accesses(events: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return table `accesses`, as `fold` does, of memories whose state is known, from events of the types `USES`."""
    there = memories.filter(pl.col("lifecycle") != Lifecycle.ERASED.value)
    creations = there.select(*KEY, "created_at", original=pl.col("kind") == ORIGINAL)
    return TABLES["accesses"].conform(_uses(_dated(events), creations).filter(~pl.col("wrong")))


def _dated(events: pl.DataFrame) -> pl.DataFrame:
    """Add the instant at which each event counts."""
    return events.with_columns(at=pl.min_horizontal("occurred_at", "recorded_at"))


def complete(memories: pl.DataFrame) -> pl.DataFrame:
    """Add the default values of a memory that has no history yet."""
    table = TABLES["memories"]
    defaults = {
        "confidence": pl.lit(0.5),
        "protected": pl.lit(False),
        "tags": pl.lit([], pl.List(pl.String)),
        "access_count": pl.lit(0),
        "access_sessions": pl.lit(0),
        "stability_gain": pl.lit(0.0),
        "energy_base": pl.lit(1.0),
        "energy_at": pl.col("created_at"),
        "tier": pl.lit("working"),
        "tier_since": pl.col("created_at"),
        "reinforcement_count": pl.lit(0),
        "lifecycle": pl.lit(Lifecycle.ACTIVE.value),
        "lifecycle_since": pl.col("created_at"),
        "members": pl.lit([], pl.List(pl.String)),
    }
    filled = memories.with_columns(
        pl.col(name).fill_null(value) if name in memories.columns else value.alias(name)
        for name, value in defaults.items()
    )
    missing = [pl.lit(None).alias(name) for name in table.schema.columns() if name not in filled.columns]
    return table.conform(filled.with_columns(missing))


def _of(kind: EventType) -> pl.Expr:
    return pl.col("event_type") == kind.value


def _stored(dated: pl.DataFrame) -> pl.DataFrame:
    """Return one memory per id, from the first event that stored it; columns that say what was inferred are null."""
    first = (
        dated.filter(_of(EventType.STORED) & pl.col("memory_id").is_not_null())
        .sort("at", "seq")
        .unique(KEY, keep="first", maintain_order=True)
    )
    named = first.with_columns(
        kind=pl.lit(ORIGINAL), created_at="at", importance_given="importance", content_hash=pl.lit(None, pl.String)
    )
    inferred = [
        pl.lit(None, pl.Boolean).alias("memory_type_inferred"),
        pl.lit(None, pl.Boolean).alias("category_inferred"),
    ]
    return complete(named.with_columns(inferred))


def _erased(dated: pl.DataFrame) -> pl.DataFrame:
    """Return erased memories and when they were erased; no event about them counts."""
    erased = dated.filter(_of(EventType.STORED), pl.col("erased_at").is_not_null())
    return erased.group_by(KEY).agg(gone_at=pl.col("erased_at").min())


def _tombstones(erased: pl.DataFrame) -> pl.DataFrame:
    """Return rows of erased memories: only that there was one, and when it came and went."""
    rows = erased.select(
        *KEY,
        *("seq", "created_at"),
        kind=pl.lit(ORIGINAL),
        content=pl.lit(TOMBSTONE),
        content_hash=pl.lit(content_hash.content_hash(None, TOMBSTONE)),
        memory_type=pl.lit(classification.FALLBACK_TYPE),
        memory_type_inferred=pl.lit(value=True),
        category=pl.lit(classification.FALLBACK_CATEGORY),
        category_inferred=pl.lit(value=True),
        event_id=pl.lit(""),
        lifecycle=pl.lit(Lifecycle.ERASED.value),
        lifecycle_since="gone_at",
    )
    return complete(rows)


def _about(dated: pl.DataFrame, creations: pl.DataFrame) -> pl.DataFrame:
    """Return events about known memories that count, dated by the creation at the earliest.

    Those before it keep their order by `happened`, the instant without this bound.
    """
    return (
        dated.join(creations, on=KEY)
        .filter(pl.col("original") | (pl.col("at") > pl.col("created_at")))
        .with_columns(pl.max_horizontal("at", "created_at").alias("at"), happened="at")
    )


def _updated(memories: pl.DataFrame, dated: pl.DataFrame, creations: pl.DataFrame) -> pl.DataFrame:
    """Set each field to the value given last."""
    updates = _about(dated.filter(_of(EventType.UPDATED)).select(*KEY, "at", "seq", *_UPDATABLE), creations)
    if updates.is_empty():
        return memories
    last = (
        updates.sort("happened", "seq")
        .group_by(KEY)
        .agg(
            pl.col(*_UPDATABLE).drop_nulls().last().name.suffix("_said"),
            changed_at=pl.col("at").max(),
        )
    )
    changed = memories.join(last, on=KEY, how="left", maintain_order="left").with_columns(
        content_hash=pl.when(pl.col("content_said").is_null()).then("content_hash"),
        updated_at=pl.coalesce("changed_at", "updated_at"),
        **{column: pl.coalesce(f"{field}_said", column) for field, column in _UPDATABLE.items()},
    )
    return changed.with_columns(protected_reason=pl.when("protected").then("protected_reason")).select(memories.columns)


def _uses(dated: pl.DataFrame, creations: pl.DataFrame) -> pl.DataFrame:
    """Return accesses and feedback about known memories, each once; helpful feedback is an access, `wrong` is not."""
    feedback = _of(EventType.FEEDBACK)
    uses = (
        dated.filter(_of(EventType.ACCESSED) | feedback)
        .select(
            *("event_id", "ordinal", *KEY, "at", "seq", "session_id"),
            expanded=pl.col("expanded").fill_null(value=False) & ~feedback,
            times=pl.col("times").fill_null(1),
            wrong=feedback & ~pl.col("helpful"),
        )
        .filter(pl.col("wrong").is_not_null())
        .sort("seq", "ordinal")
        .unique(["profile_id", "event_id", "ordinal"], keep="first", maintain_order=True)
    )
    return _about(uses, creations)


def _used(memories: pl.DataFrame, accesses: pl.DataFrame, wrong: pl.DataFrame) -> pl.DataFrame:
    """Add access counts, confidence and stability gain from accesses and feedback.

    Accesses that were only counted (`times`) raise the count; whatever depends on instants uses only the last one.
    """
    rows = memories.select(*KEY, "created_at").with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    doubts = wrong.join(rows, on=KEY)["row"].to_numpy()
    used = accesses.join(rows, on=KEY).sort("row", "at", "seq", "ordinal")
    gains = _sums(used["row"].to_numpy(), _gains(used), len(rows))
    counts = used.group_by("row").agg(
        accessed=pl.col("times").sum(), sessions=pl.col("session_id").drop_nulls().n_unique(), last=pl.col("at").max()
    )
    counted = rows.select("row").join(counts, on="row", how="left", maintain_order="left")
    doubted = _sums(doubts, np.ones(len(doubts)), len(rows)) / WRONG_TO_NOTHING
    return memories.with_columns(
        confidence=(pl.col("confidence") - pl.Series(doubted)).clip(lower_bound=0.0),
        access_count=pl.col("access_count") + counted["accessed"].fill_null(0),
        access_sessions=counted["sessions"].fill_null(0),
        stability_gain=pl.Series(gains),
        last_accessed_at=counted["last"],
    )


def _gains(used: pl.DataFrame) -> NDArray[np.float64]:
    """Return the stability gained by each access, from the days since the previous access or the creation.

    `DIRECT_GAIN` or `EXPANDED_GAIN` times min(2, days / 7) (cognitive-memory 0.4.0). `used` is sorted by the memory's
    `row` and by `at`.
    """
    row, at, created = (used[name].to_physical().to_numpy() for name in ("row", "at", "created_at"))
    first = np.ones(len(row), dtype=bool)
    first[1:] = row[1:] != row[:-1]
    before = np.where(first, created, np.concatenate([at[:1], at[:-1]]))
    gain = np.where(used["expanded"].to_numpy(), EXPANDED_GAIN, DIRECT_GAIN)
    return gain * np.minimum(2.0, (at - before) / DAY / 7.0)


def _sums(row: NDArray[np.int64], values: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """Sum the values of each row in the given order."""
    # Without any value NumPy would count integers.
    return np.bincount(row, values, minlength=rows).astype(np.float64, copy=False)


def _described(memories: pl.DataFrame) -> pl.DataFrame:
    """Add the type and category of a text that was not read where an agent gave none, and the hash of new texts."""
    original = memories.filter(pl.col("kind") == ORIGINAL).with_columns(
        memory_type=classification.canonical_type(pl.col("memory_type")),
        category=classification.canonical_category(pl.col("category")),
    )
    described = original.with_columns(
        memory_type_inferred=pl.col("memory_type").is_null(), category_inferred=pl.col("category").is_null()
    )
    described = described.with_columns(
        pl.col("memory_type").fill_null(classification.FALLBACK_TYPE),
        pl.col("category").fill_null(classification.FALLBACK_CATEGORY),
    )
    described_all = pl.concat([described, memories.filter(pl.col("kind") != ORIGINAL)])
    spoken = described_all.select("speaker", "content").iter_rows()
    hashes = pl.Series([content_hash.content_hash(*text) for text in spoken], dtype=pl.String)
    return described_all.with_columns(content_hash=pl.coalesce("content_hash", hashes))


def _asserted(dated: pl.DataFrame, creations: pl.DataFrame) -> pl.DataFrame:
    """Return edges that agents asserted between known memories; the last assertion of an edge sets its weight."""
    undirected = pl.col("edge_type").is_in(UNDIRECTED)
    smaller, larger = pl.min_horizontal("memory_id", "target_id"), pl.max_horizontal("memory_id", "target_id")
    ends = creations.rename({"memory_id": "target_id"})
    assertions = (
        _about(dated.filter(_of(EventType.LINKED), pl.col("memory_id") != pl.col("target_id")), creations)
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
        assertions.sort("happened", "seq")
        .group_by(decision_json.EDGE_KEY)
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
