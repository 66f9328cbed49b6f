"""Links between memories about the same fact: which memories contradict or may have outdated which.

A possible repetition moves nothing in an answer.

Not here: how the links are found (`consolidation`), and how an answer is ordered (`selection`, `redundancy`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import polars as pl

from memory_pipeline.consolidation.edges.edge_rows import PROPOSED
from memory_pipeline.recall.index.memory_index import Index

Links = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class FactLinks:
    """For each memory the ids of those linked to it, sorted."""

    conflicts: Links = field(default_factory=dict)
    """Memories that contradict it."""
    newer: Links = field(default_factory=dict)
    """Newer memories that may have outdated it."""

    @classmethod
    def of(cls, links: pl.DataFrame | None) -> "FactLinks":
        """Return the links of a table of `edge_type`, `memory_id` and `other_id` (see `pairs`); None: no links."""
        if links is None or links.is_empty():
            return cls()
        parts = {relation: links.filter(pl.col("edge_type") == name) for relation, name in PROPOSED.items()}
        return cls(
            conflicts=_by_memory(_both_ways(parts["conflict"])),
            newer=_by_memory(parts["update"].select(memory_id="other_id", other_id="memory_id")),
        )

    def outdated(self, index: Index, memory_ids: Sequence[str], now: datetime) -> list[list[str]]:
        """Return for each memory the live newer ones, valid by now, that may have outdated it."""
        newer = sorted({name for memory in memory_ids for name in self.newer.get(memory, ())})
        if not newer:
            return [[] for _ in memory_ids]
        rows = index.row_ids.rows(newer)
        known = rows >= 0
        valid = index.memories[rows[known], ["valid_from"]].to_series()
        begun = (valid.is_null() | (valid <= now)).to_numpy()
        holding = np.zeros(len(newer), dtype=np.bool_)
        holding[known] = index.live[rows[known]] & begun
        standing = {name for name, holds in zip(newer, holding, strict=True) if holds}
        return [[name for name in self.newer.get(memory, ()) if name in standing] for memory in memory_ids]


def pairs(edges: pl.DataFrame) -> pl.DataFrame:
    """Return the links about facts among edges.

    Args:
        edges: `source`, `target`, `edge_type` and `kind`, of any origin.

    Returns:
        `edge_type`, `memory_id`, `other_id`, each pair once: contradictions, repetitions, and updates with the newer
        memory first. Edges CONTRADICTS of the kind contrast are left out: they are not about a fact.
    """
    contrast = (pl.col("edge_type") == PROPOSED["conflict"]) & (pl.col("kind").ne_missing(pl.lit("conflict")))
    about_facts = edges.filter(pl.col("edge_type").is_in(list(PROPOSED.values())), ~contrast)
    columns = ("edge_type", "memory_id", "other_id")
    return about_facts.rename({"source": "memory_id", "target": "other_id"}).select(columns).unique().sort(columns)


def _both_ways(links: pl.DataFrame) -> pl.DataFrame:
    linked = links.select("memory_id", "other_id")
    return pl.concat([linked, linked.select(memory_id="other_id", other_id="memory_id")])


def _by_memory(links: pl.DataFrame) -> Links:
    ordered = links.unique().sort("memory_id", "other_id")
    return dict(ordered.group_by("memory_id", maintain_order=True).agg("other_id").iter_rows())
