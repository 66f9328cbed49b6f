"""Schemas of every table of the pipeline: columns, types, units and meaning, in one place.

Validation, asset checks, the data dictionary and the empty tables of a first run are derived from these classes.
Not here: how a table is computed (`consolidation/`, `text/`), where it is stored (`lake/tables.py`), and tables that
only a snapshot has (`lake/snapshot_schemas.py`).
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, TypeVar, cast

import dataframely as dy
import polars as pl

from memory_pipeline.schemas._graph import *
from memory_pipeline.schemas._groups import *
from memory_pipeline.schemas._ledger import *
from memory_pipeline.schemas._memories import *
from memory_pipeline.schemas._proposals import *
from memory_pipeline.schemas._scores import *
from memory_pipeline.schemas._types import *


@dataclass(frozen=True)
class Table:
    """One table of the lake."""

    name: str
    schema: type[dy.Schema]
    write_mode: Literal["replaced", "accumulated", "appended", "moved", "in_ledger", "per_run"] = "replaced"
    """How rows are written. replaced: a commit replaces a profile's rows; accumulated: a commit adds rows; appended:
    the stage that computes rows adds them; moved: maintenance adds rows that it takes out of the ledger's database;
    in_ledger: the rows are in that database; per_run: the rows exist only within a run."""
    lacking: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Values, other than null, of columns that files of earlier versions lack."""
    version: int | None = None
    """Version of the parser whose rows are read (column `parser`); rows of other versions are ignored."""
    asked: bool = False
    """Whether the rows are answers of a language model, which no rebuild makes again."""

    @property
    def rebuilt(self) -> bool:
        """Whether lost rows are made again from the ledger; of others only a backup has a copy."""
        return self.write_mode in {"replaced", "appended"} and not self.asked

    @property
    def description(self) -> str:
        """What the table holds, in one line."""
        return (inspect.getdoc(self.schema) or "").partition("\n")[0]

    @property
    def key(self) -> list[str]:
        """Columns that identify a row; also the canonical sort order."""
        return list(_key(self.schema))

    @property
    def types(self) -> pl.Schema:
        """Columns with their types, in order."""
        return _types(self.schema)

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` with this table's columns, order, types and canonical row order.

        Raises:
            ValueError: a column is missing or cannot be cast without loss; names table and column.
        """
        types, columns = self.types, frame.columns
        if missing := [column for column in types if column not in columns]:
            raise ValueError(
                f"table {self.name}: column {missing[0]!r} is missing; a stage returns every column of the schema"
            )
        try:
            if columns != list(types):
                frame = frame.select(list(types))
            own = frame.schema
            if others := {column: kind for column, kind in types.items() if own[column] != kind}:
                frame = frame.cast(pl.Schema(others))
            return frame.sort(self.key) if frame.height > 1 else frame
        except pl.exceptions.InvalidOperationError as error:
            raise ValueError(f"table {self.name}: {error}") from error

    def violations(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rules that `frame` violates: `rule`, `rows` (how many) and `keys` (the first twenty)."""
        broken = list[tuple[str, int, list[str]]]()
        if frame.height or frame.schema != self.types:
            _, failure = self.schema.filter(frame)
            counts = failure.counts()
            details = failure.details() if counts else frame.clear()
            keys = pl.struct(self.key).cast(pl.String).head(20)
            broken = [
                (rule, rows, details.filter(pl.col(rule) == "invalid").select(keys).to_series().to_list())
                for rule, rows in counts.items()
            ]
        return pl.DataFrame(
            broken, schema={"rule": pl.String, "rows": pl.Int64, "keys": pl.List(pl.String)}, orient="row"
        )

    def empty(self) -> pl.DataFrame:
        """Return the table without rows, with its column types."""
        return _empty(self.schema).clone()


TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        Table("events", Events, write_mode="appended"),
        Table("payloads", Payloads, write_mode="moved"),
        Table("enrichment", Enrichment, write_mode="appended", version=PARSER),
        Table("vectors", Vectors, write_mode="appended"),
        Table("pair_readings", PairReadings, write_mode="appended"),
        Table("completions", Completions, write_mode="appended", asked=True),
        Table("verdicts", Verdicts, write_mode="appended", asked=True),
        Table("decisions", Decisions, write_mode="in_ledger"),
        Table("consolidation_runs", Runs, write_mode="in_ledger"),
        Table("dead_letters", DeadLetters, write_mode="in_ledger"),
        Table("reverted", Reverted, write_mode="in_ledger"),
        Table("profiles", Profiles, lacking={"caught_up": 0}),
        Table("memories", Memories),
        Table("decided_edges", DecidedEdges),
        Table("accesses", Accesses, write_mode="per_run"),
        Table("tier_changes", TierChanges),
        Table("core_memory_blocks", CoreMemoryBlocks),
        Table("foldings", Foldings),
        Table("core_sentences", CoreSentences),
        Table("neighbours", Neighbours, write_mode="per_run"),
        Table("comparisons", Comparisons),
        Table("derived_edges", DerivedEdges),
        Table("memory_importance", MemoryImportance),
        Table("scored_memories", ScoredMemories, lacking={"budget_protected": False}),
        Table("score_history", ScoreHistory, write_mode="accumulated"),
        Table("deferred", Deferred),
        Table("judgements", Judgements, lacking={"asked": [], "answered": []}),
        Table("change_odds", ChangeOdds, write_mode="per_run"),
        Table("fact_changes", FactChanges, lacking={"decided": True, "confidence": 1.0}),
        Table("proposed_edges", ProposedEdges),
        Table("association_edges", AssociationEdges),
        Table("clusters", Clusters),
        Table("cluster_members", ClusterMembers),
        Table("cluster_lineage", ClusterLineage, write_mode="accumulated"),
        Table("merge_refusals", MergeRefusals),
        Table("groupings", Groupings, lacking={"asked": [], "answered": []}),
        Table("summaries", Summaries, lacking={"tags": []}),
        Table("promotions", Promotions, lacking={"rules": [], "reasons": []}),
        Table("proposed_blocks", ProposedBlocks),
        Table("archived_set", ArchivedSet),
        Table("trims", Trims),
        Table("consolidation_plan", ConsolidationPlan),
        Table("rests", Rests, write_mode="per_run"),
        Table("settled_memories", SettledMemories, write_mode="per_run"),
        Table("settled_decided_edges", SettledDecidedEdges, write_mode="per_run"),
        Table("settled_accesses", SettledAccesses, write_mode="per_run"),
        Table("settled_tier_changes", SettledTierChanges, write_mode="per_run"),
        Table("settled_core_memory_blocks", SettledCoreMemoryBlocks, write_mode="per_run"),
        Table("settled_foldings", SettledFoldings, write_mode="per_run"),
        Table("settled_derived_edges", SettledDerivedEdges, write_mode="per_run"),
        Table("settled_memory_importance", SettledMemoryImportance, write_mode="per_run"),
        Table("settled_scored_memories", SettledScoredMemories, write_mode="per_run"),
        Table("settled_association_edges", SettledAssociationEdges, write_mode="per_run"),
        Table("settled_enrichment", SettledEnrichment, write_mode="per_run"),
        Table("settled_vectors", SettledVectors, write_mode="per_run"),
    )
}
"""Every table, in the order in which a run computes them."""


Frame = dy.DataFrame
"""A Polars frame of one schema: `Frame[Memories]`. A type checker tells the frames of two tables apart."""

S = TypeVar("S", bound=dy.Schema)

_BY_SCHEMA: Final = {table.schema: table for table in TABLES.values()}


def table_of(schema: type[dy.Schema]) -> Table:
    """Return the table of a schema; every table has a schema of its own.

    Raises:
        KeyError: the schema belongs to no table.
    """
    return _BY_SCHEMA[schema]


def conform(schema: type[S], frame: pl.DataFrame) -> Frame[S]:
    """Return `frame` as the table of `schema` (see `Table.conform`).

    Raises:
        ValueError: a column is missing or cannot be cast without loss; names table and column.
    """
    return cast("Frame[S]", table_of(schema).conform(frame))


def empty(schema: type[S]) -> Frame[S]:
    """Return the table of `schema` without rows, with its types."""
    return _empty(schema).clone()


@cache
def _key(schema: type[dy.Schema]) -> tuple[str, ...]:
    """Read the key of a schema once."""
    return tuple(schema.primary_key())


@cache
def _empty(schema: type[S]) -> Frame[S]:
    """Make the empty table once: building it costs milliseconds, and a run needs it a hundred times."""
    return schema.create_empty()


@cache
def _types(schema: type[dy.Schema]) -> pl.Schema:
    """Read the types of a schema once: asking a frame makes them anew."""
    return _empty(schema).schema
