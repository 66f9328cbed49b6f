"""Ranks memories by what a token budget keeps first: what is asked for, what harms when forgotten, what stands.

Not here: what a memory is worth within its rank (`text/score/clause_value`) and what a budget has room for
(`trimming`).
"""

from datetime import datetime
from enum import IntEnum
from typing import Final

import polars as pl

from memory_pipeline.consolidation import components
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import INSTANT, LIVE, Lifecycle
from memory_pipeline.text.lang.en.kept_words import STANDING
from memory_pipeline.text.lang.registry import SAFETY
from memory_pipeline.text.parse.tokens import fold

ASKED_FOR: Final = 1.0
"""Least use of a memory that counts as asked for: once first in an answer or marked helpful, or more often below."""
_ROUNDS: Final = 4
"""Longest chain of updates along which a rank is handed on."""


class Rank(IntEnum):
    """What a token budget keeps, first to last; within a rank, worth decides."""

    ASKED = 0
    """Recalled or marked helpful."""
    ASKED_OUTDATED = 1
    """Likewise, but a newer memory says otherwise or the same."""
    SAFETY = 2
    """Health and medication, prohibitions, legal matters, payments."""
    STANDING = 3
    """Identity, standing instructions, rules and preferences."""
    REPEATED = 4
    """The newest copy of what was told more than once."""
    CURRENT = 5
    """The present value of what changed."""
    REST = 6
    OUTDATED = 7
    """A newer memory says otherwise, or says the same; or its validity has ended."""


OUTDATED: Final = (Rank.ASKED_OUTDATED.value, Rank.OUTDATED.value)
"""Ranks of what a newer memory outdates or repeats."""


def ranked(
    memories: pl.DataFrame,
    edges: pl.DataFrame,
    fact_changes: pl.DataFrame,
    accesses: pl.DataFrame,
    *,
    as_of: datetime,
) -> pl.DataFrame:
    """Rank memories by what a token budget keeps first.

    The newest copy of a fact stands for all copies and has their use. The newer side of an update, sure or only likely,
    ranks at least as high as the older one; so a budget always loses the older side and the further copies first. What
    is outdated only in part ranks by what still holds.

    Args:
        memories: table `memories`.
        edges: edges between them; MAY_UPDATE (newer to older) and MAY_REPEAT are read.
        fact_changes: table `fact_changes`; updates and duplicates are read.
        accesses: table `accesses`. An access counts 1 / (1 + its position in the answer); one that only an association
            led to does not count.
        as_of: instant of the run.

    Returns:
        profile_id, memory_id, rank (`Rank`) and use (the sum over accesses), one row per memory, in the order of
        `memories`. Cost: linear, about 5 µs a memory.
    """
    there = memories.filter(~pl.col("lifecycle").is_in([Lifecycle.DELETED.value, Lifecycle.ERASED.value]))
    updates, copies = _updates(there, edges, fact_changes), _copies(there, edges, fact_changes)
    pairs = pl.concat([updates, copies])
    ended = memories.filter(pl.col("valid_until") <= pl.lit(as_of, dtype=INSTANT))
    ranks = (
        _first_ranks(memories, accesses, copies)
        .join(_named(updates, newer=Rank.CURRENT), on=KEY, how="left")
        .join(_named(copies, newer=Rank.REPEATED), on=KEY, how="left", suffix="_copy")
        .join(pl.concat([_named(pairs, older=True), ended.select(*KEY, older=True)]).unique(), on=KEY, how="left")
        .with_columns(rank=pl.min_horizontal("rank", "newer", "newer_copy"))
    )
    for _ in range(_ROUNDS):
        ranks = _handed_on(ranks, pairs)
    outdated = pl.when(pl.col("rank") == Rank.ASKED).then(Rank.ASKED_OUTDATED.value).otherwise(Rank.OUTDATED.value)
    final = ranks.with_columns(rank=pl.when(pl.col("older")).then(outdated).otherwise("rank"))
    return memories.select(KEY).join(final.select(*KEY, "rank", "use"), on=KEY, how="left", maintain_order="left")


def _named(pairs: pl.DataFrame, **value: Rank | bool) -> pl.DataFrame:
    """Return the memories at the named end of pairs, each once: KEY, and a value in a column of that name."""
    ((end, given),) = value.items()
    marked = pl.lit(given.value if isinstance(given, Rank) else given)
    return pairs.select("profile_id", pl.col(end).alias("memory_id"), marked.alias(end)).unique()


def _first_ranks(memories: pl.DataFrame, accesses: pl.DataFrame, copies: pl.DataFrame) -> pl.DataFrame:
    """Return KEY, the use of each memory, which includes that of its copies, and its rank by use and text."""
    direct = accesses.filter(~pl.col("expanded")).select(*KEY, use=1.0 / (1.0 + pl.col("ordinal")))
    of_copies = direct.join(copies, left_on=KEY, right_on=["profile_id", "older"]).select(
        "profile_id", "use", memory_id="newer"
    )
    use = pl.concat([direct.select(*KEY, "use"), of_copies.select(*KEY, "use")]).group_by(KEY).agg(pl.col("use").sum())
    low = fold(memories["content"])
    asks = low.str.ends_with("?")
    said = memories.select(
        KEY, safety=low.str.contains(SAFETY) & ~asks, standing=low.str.contains(STANDING) & ~asks
    ).join(use, on=KEY, how="left", maintain_order="left")
    return said.select(
        *KEY,
        use=pl.col("use").fill_null(0.0),
        rank=pl.when(pl.col("use") >= ASKED_FOR)
        .then(Rank.ASKED.value)
        .when("safety")
        .then(Rank.SAFETY.value)
        .when("standing")
        .then(Rank.STANDING.value)
        .otherwise(Rank.REST.value),
    )


def _handed_on(ranks: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Raise the rank of each newer memory to that of the older ones that it outdates or repeats."""
    inherited = (
        pairs.join(ranks.select("profile_id", "rank", older="memory_id"), on=["profile_id", "older"])
        .group_by("profile_id", memory_id="newer")
        .agg(inherited=pl.col("rank").min())
    )
    return (
        ranks.join(inherited, on=KEY, how="left", maintain_order="left")
        .with_columns(rank=pl.min_horizontal("rank", "inherited"))
        .drop("inherited")
    )


def _updates(memories: pl.DataFrame, edges: pl.DataFrame, fact_changes: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of which the newer says otherwise than all of the older: profile_id, older, newer."""
    closed = memories.filter(pl.col("superseded_kind") == "update")
    pairs = pl.concat(
        [
            edges.filter(pl.col("edge_type") == "MAY_UPDATE").select("profile_id", older="target", newer="source"),
            _changed(fact_changes, "update"),
            closed.select("profile_id", older="memory_id", newer="superseded_by"),
        ]
    ).unique()
    in_part = _changed(fact_changes.filter(pl.col("statement").is_not_null()), "update")
    return _in_time(pairs.join(in_part, on=["profile_id", "older", "newer"], how="anti"), memories)


def _copies(memories: pl.DataFrame, edges: pl.DataFrame, fact_changes: pl.DataFrame) -> pl.DataFrame:
    """Return live memories that a newer live one repeats, with the newest of the copies: profile_id, older, newer."""
    pairs = pl.concat(
        [
            edges.filter(pl.col("edge_type") == "MAY_REPEAT").select("profile_id", older="source", newer="target"),
            _changed(fact_changes, "duplicate"),
        ]
    ).unique()
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort("profile_id", "created_at", "memory_id")
    node = live.select(*KEY).with_row_index("node")
    ends = pairs
    for end in ("older", "newer"):
        ends = ends.join(
            node.select("profile_id", pl.col("memory_id").alias(end), pl.col("node").alias(f"{end}_node")),
            on=["profile_id", end],
        )
    labels = components.components(len(node), ends["older_node"].to_numpy(), ends["newer_node"].to_numpy())
    grouped = node.with_columns(group=pl.Series(labels)).with_columns(kept=pl.col("memory_id").last().over("group"))
    copies = grouped.filter(pl.col("kept") != pl.col("memory_id"))
    return copies.select("profile_id", older="memory_id", newer="kept")


def _changed(fact_changes: pl.DataFrame, relation: str) -> pl.DataFrame:
    of_relation = fact_changes.filter(pl.col("relation") == relation)
    return of_relation.select("profile_id", older="memory_id", newer="other_id")


def _in_time(pairs: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Keep pairs whose memories exist and whose newer one is not the earlier of the two, so that no circle remains."""
    for end in ("older", "newer"):
        at = memories.select("profile_id", pl.col("memory_id").alias(end), pl.col("created_at").alias(f"{end}_at"))
        pairs = pairs.join(at, on=["profile_id", end])
    later = pl.col("older_at") < pl.col("newer_at")
    in_time = later | ((pl.col("older_at") == pl.col("newer_at")) & (pl.col("older") < pl.col("newer")))
    return pairs.filter(in_time).select("profile_id", "older", "newer")
