"""Schemas of every table of the pipeline: columns, types, units and meaning, in one place.

Validation, asset checks, the data dictionary and the empty tables of a first run are derived from these classes.
Not here: how a table is computed (`consolidation/`, `text/`), where it is stored (`lake/tables.py`), and tables that
only a snapshot has (`lake/snapshot_schemas.py`).
"""

from dataclasses import dataclass
from typing import Final, Literal

import dataframely as dy
import polars as pl

from memory_pipeline.schemas._graph import Edges, MemoryImportance
from memory_pipeline.schemas._groups import ClusterMembers, Clusters, MergeRefusals, Summaries
from memory_pipeline.schemas._ledger import DeadLetters, Decisions, Events, Payloads, Profiles, Reverted, Runs
from memory_pipeline.schemas._memories import (
    Accesses,
    Completions,
    CoreMemoryBlocks,
    Enrichment,
    Memories,
    TierChanges,
    Vectors,
)
from memory_pipeline.schemas._proposals import ArchivedSet, Deferred, FactChanges, Promotions, Trims
from memory_pipeline.schemas._scores import ScoredMemories, ScoreHistory
from memory_pipeline.schemas._types import INSTANT, LIVE, Action, EventType, Lifecycle

__all__ = [
    "INSTANT",
    "LIVE",
    "TABLES",
    "Accesses",
    "Action",
    "ArchivedSet",
    "ClusterMembers",
    "Clusters",
    "Completions",
    "CoreMemoryBlocks",
    "DeadLetters",
    "Decisions",
    "Deferred",
    "Edges",
    "Enrichment",
    "EventType",
    "Events",
    "FactChanges",
    "Lifecycle",
    "Memories",
    "MemoryImportance",
    "MergeRefusals",
    "Payloads",
    "Profiles",
    "Promotions",
    "Reverted",
    "Runs",
    "ScoreHistory",
    "ScoredMemories",
    "Summaries",
    "Table",
    "TierChanges",
    "Trims",
    "Vectors",
]


@dataclass(frozen=True)
class Table:
    """One table of the lake."""

    name: str
    schema: type[dy.Schema]
    write_mode: Literal["replaced", "accumulated", "appended", "moved", "in_ledger", "per_run"] = "replaced"
    """How rows are written. replaced: a commit replaces a profile's rows; accumulated: a commit adds rows; appended:
    the stage that computes rows adds them; moved: maintenance adds rows that it takes out of the ledger's database;
    in_ledger: the rows are in that database; per_run: the rows exist only within a run."""

    @property
    def key(self) -> list[str]:
        """Columns that identify a row; also the canonical sort order."""
        return self.schema.primary_key()

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` with this table's columns, order, types and canonical row order.

        Raises:
            ValueError: a column is missing or cannot be cast without loss; names table and column.
        """
        types = pl.Schema({name: column.dtype for name, column in self.schema.columns().items()})
        if missing := [column for column in types if column not in frame.columns]:
            raise ValueError(
                f"table {self.name}: column {missing[0]!r} is missing; a stage returns every column of the schema"
            )
        try:
            return frame.select(pl.col(column).cast(kind) for column, kind in types.items()).sort(self.key)
        except pl.exceptions.InvalidOperationError as error:
            raise ValueError(f"table {self.name}: {error}") from error

    def violations(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rules that `frame` violates: `rule`, `rows` (how many) and `keys` (the first twenty)."""
        _, failure = self.schema.filter(frame)
        counts = failure.counts()
        details = failure.details() if counts else frame.clear()
        keys = pl.struct(self.key).cast(pl.String).head(20)
        return pl.DataFrame(
            [
                (rule, rows, details.filter(pl.col(rule) == "invalid").select(keys).to_series().to_list())
                for rule, rows in counts.items()
            ],
            schema={"rule": pl.String, "rows": pl.Int64, "keys": pl.List(pl.String)},
            orient="row",
        )

    def empty(self) -> pl.DataFrame:
        """Return the table without rows, with its column types."""
        return self.schema.create_empty()


TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        Table("events", Events, write_mode="appended"),
        Table("payloads", Payloads, write_mode="moved"),
        Table("enrichment", Enrichment, write_mode="appended"),
        Table("vectors", Vectors, write_mode="appended"),
        Table("completions", Completions, write_mode="appended"),
        Table("decisions", Decisions, write_mode="in_ledger"),
        Table("consolidation_runs", Runs, write_mode="in_ledger"),
        Table("dead_letters", DeadLetters, write_mode="in_ledger"),
        Table("reverted", Reverted, write_mode="in_ledger"),
        Table("profiles", Profiles),
        Table("memories", Memories),
        Table("decided_edges", Edges),
        Table("accesses", Accesses, write_mode="per_run"),
        Table("tier_changes", TierChanges),
        Table("core_memory_blocks", CoreMemoryBlocks),
        Table("derived_edges", Edges),
        Table("memory_importance", MemoryImportance),
        Table("scored_memories", ScoredMemories),
        Table("score_history", ScoreHistory, write_mode="accumulated"),
        Table("deferred", Deferred),
        Table("fact_changes", FactChanges),
        Table("proposed_edges", Edges),
        Table("association_edges", Edges),
        Table("clusters", Clusters),
        Table("cluster_members", ClusterMembers),
        Table("merge_refusals", MergeRefusals),
        Table("summaries", Summaries),
        Table("promotions", Promotions),
        Table("proposed_blocks", CoreMemoryBlocks),
        Table("archived_set", ArchivedSet),
        Table("trims", Trims),
        Table("consolidation_plan", Decisions),
    )
}
"""Every table, in the order in which a run computes them."""
