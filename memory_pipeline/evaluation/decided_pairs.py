"""What a run decided about pairs of memories or linked, and for which memories another one stands.

Not here: the run (`simulation`), and pairs that people label (`pairs`, `answered_pairs`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

Pair = tuple[str, str]


@dataclass(frozen=True)
class Decided:
    """Pairs of memories that a run decided about or linked; sorted, unless an older and a newer one are told apart."""

    closed: frozenset[Pair]
    """Older, newer; by a memory that was merged with others, by each of them."""
    partly_closed: frozenset[Pair]
    """Older, newer, where only sentences of the older are closed."""
    merged: frozenset[Pair]
    may_update: frozenset[Pair]
    may_repeat: frozenset[Pair]
    contradicts: frozenset[Pair]


def decided(ids: Iterable[str], memories: pl.DataFrame, edges: pl.DataFrame) -> Decided:
    """Return what a run decided and linked about stored memories, from the tables after it."""
    known = set(ids)
    groups = [sorted(names & known) for names in standing(memories).values()]
    merged = {name: group for group in groups for name in group if len(group) > 1}
    closed = memories.filter(pl.col("closed_by").is_not_null()).select("memory_id", "closed_by")

    def linked(edge_type: str) -> frozenset[Pair]:
        of_type = edges.filter(pl.col("edge_type") == edge_type)
        return frozenset(in_order(*pair) for pair in of_type.select("source", "target").iter_rows())

    return Decided(
        frozenset(
            (older, newer) for older, by in closed.iter_rows() for newer in merged.get(by, [by]) if newer != older
        ),
        frozenset(closed_sentences(memories).select("memory_id", "closed_by").iter_rows()),
        frozenset((one, other) for group in groups for one in group for other in group if one < other),
        linked("MAY_UPDATE"),
        linked("MAY_REPEAT"),
        linked("CONTRADICTS"),
    )


def standing(memories: pl.DataFrame) -> dict[str, frozenset[str]]:
    """Return the memories that each memory stands for: itself, and those merged into it, closed or not."""
    merged = memories.filter(pl.col("superseded_by").is_not_null(), pl.col("superseded_kind") == "summary")
    over = dict(merged.select("memory_id", "superseded_by").iter_rows())
    stands: dict[str, set[str]] = {name: {name} for name in memories["memory_id"]}
    for name in over:
        end, seen = name, {name}
        while (end := over.get(end, "")) and end not in seen:
            stands.setdefault(end, {end}).add(name)
            seen.add(end)
    return {name: frozenset(names) for name, names in stands.items()}


def closed_sentences(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the closed sentences of memories: `memory_id`, `sentence`, `valid_until`, `closed_by`."""
    rows = memories.select("memory_id", "closed_statements").explode("closed_statements").drop_nulls()
    return rows.unnest("closed_statements")


def in_order(one: str, other: str) -> Pair:
    """Return a pair in which neither is the older."""
    return (one, other) if one < other else (other, one)
