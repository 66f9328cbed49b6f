"""What agents wrote, as memories: their texts, uses and links, before any run decided anything about them.

Events count by when they happened and their ledger position, so it does not matter in which order they arrive or are
given; what is delivered twice counts once.
What is not here: what runs decided (`applying`), how energy is reckoned (`energy`), and who reads all this
(`projection`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation.edges.edge_rows import UNDIRECTED
from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.scoring import DAY, KEY
from memory_pipeline.schemas import TABLES, EventType, Lifecycle
from memory_pipeline.text import classification, content_hash

ORIGINAL: Final = "original"
"""Kind of a memory that an agent stored."""

TOMBSTONE: Final = "[erased]"
"""Stands where an erased memory's text stood."""

WRONG_TO_NOTHING: Final = 10
"""So often must somebody say that a memory was wrong until full confidence is gone."""

DIRECT_GAIN: Final = 0.1
"""Stability that an access gains a week after the one before; twice as much from two weeks on."""

EXPANDED_GAIN: Final = 0.03
"""The same for an access that reached the memory only over an association."""

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
    """Table `decided_edges`: those that agents asserted."""
    accesses: pl.DataFrame
    """Table `accesses`."""


def fold(events: pl.DataFrame, summaries: pl.DataFrame) -> Written:
    """Fold events about originals, and about summaries that decisions made.

    An event about an original counts whenever it happened, at the earliest at the creation. An event about a summary
    counts if it happened later than the summary: an earlier one was about one that was undone since. Of a memory that
    was erased only a tombstone is left, at any instant, and no event about it counts.

    Args:
        events: table `events`; other events than agents' have no effect.
        summaries: table `memories`: summaries as they were made.
    """
    happened = events.with_columns(at=pl.min_horizontal("occurred_at", "recorded_at"))
    stored = _stored(happened)
    erased = stored.join(_erased(happened), on=KEY, maintain_order="left")
    stored = stored.join(erased, on=KEY, how="anti", maintain_order="left")
    memories = pl.concat([stored, summaries.join(stored, on=KEY, how="anti").join(erased, on=KEY, how="anti")])
    known = memories.select(*KEY, "created_at", original=pl.col("kind") == ORIGINAL)
    updated = _updated(memories, happened, known)
    uses = _uses(happened, known)
    accesses = TABLES["accesses"].conform(uses.filter(~pl.col("wrong")))
    used = _used(updated, accesses, uses.filter("wrong"))
    described = pl.concat([TABLES["memories"].conform(_described(used)), _tombstones(erased)])
    return Written(TABLES["memories"].conform(described), _asserted(happened, known), accesses)


def complete(memories: pl.DataFrame) -> pl.DataFrame:
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
        "tier_since": pl.col("created_at"),
        "reinforcement_count": pl.lit(0),
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
        kind=pl.lit(ORIGINAL), created_at="at", importance_given="importance", content_hash=pl.lit(None, pl.String)
    )
    inferred = [
        pl.lit(None, pl.Boolean).alias("memory_type_inferred"),
        pl.lit(None, pl.Boolean).alias("category_inferred"),
    ]
    return complete(named.with_columns(inferred))


def _erased(happened: pl.DataFrame) -> pl.DataFrame:
    """Memories that were erased, and since when: nothing that was or will be said about them counts."""
    gone = happened.filter(_of(EventType.STORED), pl.col("erased_at").is_not_null())
    return gone.group_by(KEY).agg(gone_at=pl.col("erased_at").min())


def _tombstones(erased: pl.DataFrame) -> pl.DataFrame:
    """What is left of erased memories: that there was one, and when it came and went."""
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


def _about(happened: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Events about known memories that count, `at` the creation at the earliest."""
    return (
        happened.join(known, on=KEY)
        .filter(pl.col("original") | (pl.col("at") > pl.col("created_at")))
        .with_columns(pl.max_horizontal("at", "created_at").alias("at"))
    )


def _updated(memories: pl.DataFrame, happened: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Give each field the value that was given last."""
    updates = _about(happened.filter(_of(EventType.UPDATED)).select(*KEY, "at", "seq", *_UPDATABLE), known)
    if updates.is_empty():
        return memories
    last = (
        updates.sort("at", "seq")
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


def _uses(happened: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Accesses and feedback about known memories, each once: a helpful feedback is an access, a `wrong` one is none."""
    feedback = _of(EventType.FEEDBACK)
    uses = (
        happened.filter(_of(EventType.ACCESSED) | feedback)
        .select(
            *("event_id", "ordinal", *KEY, "at", "seq", "session_id"),
            expanded=pl.col("expanded").fill_null(value=False) & ~feedback,
            wrong=feedback & ~pl.col("helpful"),
        )
        .filter(pl.col("wrong").is_not_null())
        .sort("seq", "ordinal")
        .unique(["profile_id", "event_id", "ordinal"], keep="first", maintain_order=True)
    )
    return _about(uses, known)


def _used(memories: pl.DataFrame, accesses: pl.DataFrame, wrong: pl.DataFrame) -> pl.DataFrame:
    """Count what memories were used, by whom and when, and how stable that made them."""
    rows = memories.select(*KEY, "created_at").with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    doubts = wrong.join(rows, on=KEY)["row"].to_numpy()
    used = accesses.join(rows, on=KEY).sort("row", "at", "seq", "ordinal")
    gains = _sums(used["row"].to_numpy(), _gains(used), len(rows))
    counts = used.group_by("row").agg(
        accessed=pl.len(), sessions=pl.col("session_id").drop_nulls().n_unique(), last=pl.col("at").max()
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
    """Stability that each access gains: by the days since the access before, else since the creation.

    That is `DIRECT_GAIN` or `EXPANDED_GAIN` times min(2, days / 7) (cognitive-memory 0.4.0).

    Args:
        used: `row` of the memory, `at`, `created_at`, `expanded`; sorted by the first two.
    """
    row, at, created = (used[name].to_physical().to_numpy() for name in ("row", "at", "created_at"))
    first = np.ones(len(row), dtype=bool)
    first[1:] = row[1:] != row[:-1]
    before = np.where(first, created, np.concatenate([at[:1], at[:-1]]))
    gain = np.where(used["expanded"].to_numpy(), EXPANDED_GAIN, DIRECT_GAIN)
    return gain * np.minimum(2.0, (at - before) / DAY / 7.0)


def _sums(row: NDArray[np.int64], values: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """Sum the values of each row, in the order given; without any value NumPy would count integers."""
    return np.bincount(row, values, minlength=rows).astype(np.float64, copy=False)


def _described(memories: pl.DataFrame) -> pl.DataFrame:
    """Give originals a type and category, inferred from the text where none is known, and new texts their hash."""
    original = memories.filter(pl.col("kind") == ORIGINAL).with_columns(
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
    every = pl.concat([described, memories.filter(pl.col("kind") != ORIGINAL)])
    texts = every.select("speaker", "content").iter_rows()
    hashes = pl.Series([content_hash.content_hash(*text) for text in texts], dtype=pl.String)
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
        .group_by(decision_rows.EDGE_KEY)
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
