"""Links between memories about the same fact: which memories contradict or may have outdated which.

A possible repetition moves nothing in an answer. An update too unsure for a link marks no memory and lowers the score
of the older one; so does a link too unsure to be shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation.edges.edge_rows import PROPOSED
from memory_pipeline.ledger.event import micros
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.rank.changes import UNRELATED
from memory_pipeline.text.arrays import Floats, Integers
from memory_pipeline.text.compare.judge import ASIDE
from memory_pipeline.text.lang.registry import ENGLISH

Links = dict[str, list[str]]

SHOWN: Final = 0.7
"""Least confidence of a link that answers show. In stores that no judge has learned from nine in ten of these are true;
of all links, which set the order of answers and are asked about, four in five (`research/README.md`)."""

DOUBT: Final = "DOUBT"
"""Type, in a table of links, of an update too unsure for a link (`fact_changes`)."""
BESIDE: Final = "BESIDE"
"""Type of a newer memory that only plans, supposes, reports or asks what the older one states."""
_UNSAID: Final = {"doubt": DOUBT, "update": PROPOSED["update"], ASIDE: BESIDE}
"""Type of a link for what `fact_changes` has and no edge says."""

_NONE: Final = pl.DataFrame(
    schema={"edge_type": pl.String, "memory_id": pl.String, "other_id": pl.String, "shown": pl.Boolean}
)
"""A table without links."""


@dataclass(frozen=True, slots=True, eq=False)
class FactLinks:
    """For each memory the ids of those linked to it, sorted."""

    conflicts: Links = field(default_factory=dict)
    """Memories that contradict it."""
    newer: Links = field(default_factory=dict)
    """Newer memories that may have outdated it."""
    perhaps: Links = field(default_factory=dict)
    """Newer memories that may have outdated it, those for which this is too unsure for a link, and older ones that
    state what it only plans, supposes, reports or asks."""
    beside: Links = field(default_factory=dict)
    """Newer memories that only plan, suppose, report or ask what it states."""
    next: Links = field(default_factory=dict)
    """Others that may have outdated what it may have outdated: of a chain of values, the later ones follow it."""
    newer_shown: Links = field(default_factory=dict)
    """Of `newer` those that an answer names."""
    conflicts_shown: Links = field(default_factory=dict)
    """Of `conflicts` those that an answer names."""
    compared_until: int = 0
    """Ledger position up to which a judge that reads has compared memories for changes."""
    read: frozenset[str] = frozenset()
    """Later memories that it has compared since."""
    table: pl.DataFrame = field(default_factory=lambda: _NONE)
    """What they were made of (see `pairs`)."""

    @classmethod
    def of(cls, links: pl.DataFrame, *, compared_until: int = 0) -> "FactLinks":
        """Return the links of a table as `pairs` returns it."""
        if links.is_empty():
            return cls(compared_until=compared_until)
        of_types = {name: links.filter(pl.col("edge_type") == name) for name in (*PROPOSED.values(), DOUBT, BESIDE)}
        linked, doubts = (
            of_types[name].select(memory_id="other_id", other_id="memory_id") for name in (PROPOSED["update"], DOUBT)
        )
        asides = of_types[BESIDE].select("memory_id", "other_id")
        updates, conflicts = (of_types[PROPOSED[kind]].filter("shown") for kind in ("update", "conflict"))
        return cls(
            conflicts=_by_memory(_both_ways(of_types[PROPOSED["conflict"]])),
            newer=_by_memory(linked),
            perhaps=_by_memory(pl.concat([linked, doubts, asides])),
            beside=_by_memory(asides.select(memory_id="other_id", other_id="memory_id")),
            next=_by_memory(_of_one_chain(linked, pl.concat([linked, doubts]))),
            newer_shown=_by_memory(updates.select(memory_id="other_id", other_id="memory_id")),
            conflicts_shown=_by_memory(_both_ways(conflicts)),
            compared_until=compared_until,
            table=links,
        )

    def joined(self, links: pl.DataFrame, read: Iterable[str]) -> "FactLinks":
        """Return these links and further ones (see `of`), which are all that there is of some later memories."""
        added = FactLinks.of(links)
        kinds = [one.name for one in fields(self) if isinstance(getattr(self, one.name), dict)]
        united: dict[str, Any] = {kind: _united(getattr(self, kind), getattr(added, kind)) for kind in kinds}
        asides = {name for names in added.beside.values() for name in names}
        for older in (added.perhaps.keys() & self.newer.keys()) - asides:
            united["next"] = _united(united["next"], dict.fromkeys(self.newer[older], added.perhaps[older]))
        return replace(self, read=self.read.union(read), **united)

    def outdated(
        self, index: Index, memory_ids: Sequence[str], now: datetime, *, doubts: bool = False
    ) -> list[list[str]]:
        """Return for each memory the live newer ones, valid by now, that may have outdated it.

        With `doubts`, those too unsure for a link count too.
        """
        by_memory = self.perhaps if doubts else self.newer
        newer = sorted({name for memory in memory_ids for name in by_memory.get(memory, ())})
        if not newer:
            return [[] for _ in memory_ids]
        rows = index.row_ids.rows(newer)
        holding = (rows >= 0) & index.live[rows] & (index.validity[0][rows] <= micros(now))
        standing = {name for name, holds in zip(newer, holding, strict=True) if holds}
        return [[name for name in by_memory.get(memory, ()) if name in standing] for memory in memory_ids]

    def followed(self, index: Index, memory_ids: Sequence[str]) -> list[list[str]]:
        """Return for each memory the live ones said later that may have outdated what it has outdated."""
        found = [self.next.get(memory, ()) for memory in memory_ids]
        if not any(found):
            return [[] for _ in memory_ids]
        names = sorted({name for others in found for name in others} | set(memory_ids))
        rows = dict(zip(names, index.row_ids.rows(names).tolist(), strict=True))
        said = {name: int(index.created[row]) for name, row in rows.items() if row >= 0 and index.live[row]}
        return [
            [name for name in others if name in said and said[name] > said.get(memory, 0)]
            for memory, others in zip(memory_ids, found, strict=True)
        ]

    def plausible(self, index: Index, rows: Integers, newer: Sequence[Sequence[str]]) -> Floats | None:
        """Return the weight, 0..1, of one memory as a later state of another, [rows, rows], the earlier one first.

        It is less where a judge has compared the two and found no change (see `outdated` for those that are `newer`),
        and 0 where the newer states nothing. None: it has compared none. Texts that are not in English are compared by
        no judge.
        """
        memories = index.memories[rows, ["memory_id", "seq", "closed_by"]]
        first, _ = index.passages.bounds(rows)
        spoken = index.passages.languages.gather(first).fill_null(next(iter(index.passages.spoken), ENGLISH))
        known = (memories["seq"] <= self.compared_until) | memories["memory_id"].is_in(list(self.read))
        compared = (known & (spoken == ENGLISH)).to_numpy()
        if not compared.any():
            return None
        place = {name: at for at, name in enumerate(memories["memory_id"])}
        weights = np.where(compared & compared[:, np.newaxis], UNRELATED, 1.0)
        for at, (names, closer) in enumerate(zip(newer, memories["closed_by"], strict=True)):
            weights[at, [place[name] for name in (*names, closer) if name in place]] = 1.0
        for at, name in enumerate(memories["memory_id"]):
            weights[at, [place[aside] for aside in self.beside.get(name, ()) if aside in place]] = 0.0
        return weights


def pairs(edges: pl.DataFrame, changes: pl.DataFrame | None = None, judged: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the links about facts among edges, and updates that no edge says.

    Columns: `edge_type`, `memory_id`, `other_id` and `shown` (whether it is sure enough for a mark), each pair once:
    contradictions, repetitions, and updates, doubts and asides with the newer memory first. Edges CONTRADICTS of the
    kind contrast are left out: they are not about a fact.

    Args:
        edges: `source`, `target`, `edge_type` and `kind`; beside `judged` also `origin`.
        changes: as `as_links` takes them, of pairs that no edge links (doubt, update, aside); default: none.
        judged: `memory_id`, `other_id` and `confidence` of pairs that a run has judged; default, and of edges that
            somebody asserted: every edge is sure.
    """
    contrast = (pl.col("edge_type") == PROPOSED["conflict"]) & (pl.col("kind").ne_missing(pl.lit("conflict")))
    about_facts = edges.filter(pl.col("edge_type").is_in(list(PROPOSED.values())), ~contrast)
    found = about_facts.select(
        pl.exclude("source", "target", "kind"), memory_id="source", other_id="target", shown=pl.lit(value=True)
    )
    if judged is not None:
        unsure = judged.filter(pl.col("confidence") < SHOWN).select("memory_id", "other_id")
        unsure = _both_ways(unsure).unique().with_columns(sure=pl.lit(value=False))
        found = found.join(unsure, on=["memory_id", "other_id"], how="left").with_columns(
            shown=pl.col("sure").fill_null(value=True) | (pl.col("origin") != "decided")
        )
    found = found.select("edge_type", "memory_id", "other_id", "shown")
    if changes is not None:
        found = pl.concat([found, as_links(changes.filter(pl.col("relation").is_in(list(_UNSAID))))])
    ends = ["edge_type", "memory_id", "other_id"]
    return found.group_by(ends).agg(pl.col("shown").any()).sort(ends)


def as_links(changes: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `fact_changes` (both ids, the older first, relation, confidence) as links, the newer first."""
    kind = pl.col("relation").replace_strict(PROPOSED | _UNSAID, return_dtype=pl.String)
    return changes.select(
        edge_type=kind, memory_id="other_id", other_id="memory_id", shown=pl.col("confidence") >= SHOWN
    )


def _of_one_chain(linked: pl.DataFrame, possible: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of memories that may have outdated the same one, of which the first is linked to it."""
    others = possible.rename({"other_id": "next_id"})
    both = linked.join(others, on="memory_id").filter(pl.col("other_id") != pl.col("next_id"))
    return both.select(memory_id="other_id", other_id="next_id")


def _both_ways(links: pl.DataFrame) -> pl.DataFrame:
    linked = links.select("memory_id", "other_id")
    return pl.concat([linked, linked.select(memory_id="other_id", other_id="memory_id")])


def _united(one: Links, other: Links) -> Links:
    return one | {name: sorted({*one.get(name, ()), *found}) for name, found in other.items()}


def _by_memory(links: pl.DataFrame) -> Links:
    ordered = links.unique().sort("memory_id", "other_id")
    return dict(ordered.group_by("memory_id", maintain_order=True).agg("other_id").iter_rows())
