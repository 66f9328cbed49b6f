"""The data dictionary: what each table and macro of a snapshot holds, told from the schemas.

The same text becomes comments in the database, the table `data_dictionary` and the page `docs/data-dictionary.md`. What
is not here: how a snapshot is made (`lake/snapshot.py`), its macros (`lake/snapshot_macros.py`), and the tables
themselves (`schemas/`; here stand only those that a snapshot alone has).
"""

import inspect
from dataclasses import dataclass
from typing import Final

import dataframely as dy
import polars as pl

from memory_pipeline.lake.snapshot_macros import MACROS
from memory_pipeline.schemas import TABLES, Decisions, Memories, Summaries


class CurrentMemories(Memories):
    """Live memories whose facts hold at the profile's as_of: what a newer memory changed is not among them."""


class AllSummaries(Summaries):
    """Every summary made so far, live or not."""

    lifecycle = dy.String(description="active, warm, cold, stub, archived, expired, deleted or erased.")
    created_at = dy.Datetime(time_zone="UTC", time_unit="us", description="When it was made.")


class LeftMemories(dy.Schema):
    """Every memory that has left the live set so far, with the decision that took it out."""

    profile_id = dy.String(primary_key=True, description="Tenant that owns the row.")
    memory_id = dy.String(primary_key=True, description="The memory.")
    lifecycle = dy.String(description="What became of it: cold, stub, archived, expired, deleted or erased.")
    left_at = dy.Datetime(time_zone="UTC", time_unit="us", description="Since when.")
    action = dy.String(nullable=True, description="supersede, delete or archive; empty without a decision.")
    rule = dy.String(nullable=True, description="Rule that decided, such as archive_threshold.")
    reason = dy.String(nullable=True, description="One sentence a person can read.")
    summary_id = dy.String(nullable=True, description="Summary or newer memory that takes its place.")
    strength = dy.Float64(min=0.0, max=1.0, nullable=True, description="Its score when it was decided.")
    threshold = dy.Float64(min=0.0, max=1.0, nullable=True, description="The threshold it fell below.")
    decision_id = dy.String(nullable=True, description="The decision.")
    plan_id = dy.String(nullable=True, description="Plan of the decision.")


class AllDecisions(Decisions):
    """Every committed change, one row each, also those that were undone."""

    reverted = dy.Bool(description="An undo masks it.")


class SnapshotInfo(dy.Schema):
    """What this snapshot shows, one row a profile; a single row without a profile when the store is empty."""

    name = dy.String(description="Name of the snapshot.")
    ledger_position = dy.Int64(min=0, description="Position of the ledger that it shows.")
    created_at = dy.Datetime(time_zone="UTC", time_unit="us", description="When the snapshot was made.")
    profile_id = dy.String(nullable=True, description="The tenant.")
    as_of = dy.Datetime(
        time_zone="UTC",
        time_unit="us",
        nullable=True,
        description="Clock of the profile's last run.",
    )
    plan_id = dy.String(nullable=True, description="Plan of that run.")
    memories = dy.Int64(min=0, description="Memories, live or not.")
    live = dy.Int64(min=0, description="Live memories.")


class CommittedScores(TABLES["score_history"].schema):  # type: ignore[misc]
    """What every memory scored after each run that stands: how it faded, and by which score."""


class AllRecalls(dy.Schema):
    """What was asked of the memories, what came back, and whether it helped: up to the export, not to the last run.

    Only an exported file has it, so that `evaluate` can ask the same again.
    """

    profile_id = dy.String(primary_key=True, description="Tenant that owns the row.")
    seq = dy.Int64(primary_key=True, min=1, description="Position in the ledger.")
    ordinal = dy.Int64(primary_key=True, min=0, description="Place of the memory within the event.")
    occurred_at = dy.Datetime(time_zone="UTC", time_unit="us", description="When it was asked or said.")
    session_id = dy.String(nullable=True, description="Session in which it was.")
    memory_id = dy.String(description="A memory that came back, or of which it was said whether it helped.")
    query = dy.String(nullable=True, description="What was asked.")
    rank = dy.Int64(nullable=True, min=0, description="Rank of the memory in the answer, from 1.")
    helpful = dy.Bool(nullable=True, description="Whether it helped; null: nobody said so here.")


class DataDictionary(dy.Schema):
    """Every column of this snapshot."""

    table_name = dy.String(primary_key=True, description="Table or view.")
    column_name = dy.String(primary_key=True, description="The column.")
    type = dy.String(description="Its type in SQL.")
    unit = dy.String(nullable=True, description="Unit or range of its values; instants are UTC.")
    description = dy.String(description="What it means.")


@dataclass(frozen=True)
class Relation:
    """One table or view of a snapshot."""

    name: str
    schema: type[dy.Schema]
    is_view: bool = False

    @property
    def description(self) -> str:
        """One sentence on what the rows are."""
        return _about(self.schema)

    @property
    def types(self) -> dict[str, str]:
        """SQL type of each column, in order."""
        return {name: sql_type(column.dtype) for name, column in self.schema.columns().items()}


RELATIONS: Final[dict[str, Relation]] = {
    relation.name: relation
    for relation in (
        Relation("memories", Memories),
        Relation("current_memories", CurrentMemories, is_view=True),
        *(
            Relation(name, TABLES[name].schema)
            for name in (
                "scored_memories",
                "association_edges",
                "clusters",
                "cluster_members",
                "merge_refusals",
                "memory_importance",
                "core_memory_blocks",
                "tier_changes",
                "fact_changes",
                "consolidation_runs",
                "dead_letters",
            )
        ),
        Relation("summaries", AllSummaries),
        Relation("archived_set", LeftMemories),
        Relation("decisions", AllDecisions),
        Relation("vectors", TABLES["vectors"].schema, is_view=True),
        Relation("score_history", CommittedScores, is_view=True),
        Relation("snapshot_info", SnapshotInfo),
        Relation("data_dictionary", DataDictionary),
    )
}
"""Everything that can be selected from in a snapshot."""

RECALLS: Final = Relation("recalls", AllRecalls)
"""What an exported file has beside them."""

_SQL_TYPES: Final[dict[pl.DataType, str]] = {
    pl.String(): "VARCHAR",
    pl.Boolean(): "BOOLEAN",
    pl.Int64(): "BIGINT",
    pl.Float64(): "DOUBLE",
    pl.Float32(): "FLOAT",
    pl.Binary(): "BLOB",
    pl.Datetime("us", "UTC"): "TIMESTAMP",
}
_UNITS: Final[dict[str, str]] = {
    "seq": "ledger position",
    "base_seq": "ledger position",
    "commit_seq": "ledger position",
    "head": "ledger position",
    "ledger_position": "ledger position",
    "ordinal": "place",
    "rank": "place",
    "similarity": "cosine, -1..1",
    "cohesion": "cosine, -1..1",
    "tokens": "tokens",
    "duration_seconds": "seconds",
    "vector": "length 1",
}


def sql_type(dtype: pl.DataType) -> str:
    """Return the type of a snapshot's column; instants are TIMESTAMP in UTC, so that no reader needs a time zone."""
    return f"{sql_type(_inner(dtype))}[]" if isinstance(dtype, pl.List) else _SQL_TYPES[dtype]


def rows() -> pl.DataFrame:
    """The table `data_dictionary`: one row for each column of each table and view of a snapshot."""
    return pl.DataFrame(
        [
            (relation.name, name, sql_type(column.dtype), _unit(name, column), column.description)
            for relation in RELATIONS.values()
            for name, column in relation.schema.columns().items()
        ],
        schema=["table_name", "column_name", "type", "unit", "description"],
        orient="row",
    )


def documentation() -> str:
    """The page `docs/data-dictionary.md`, in Markdown."""
    kept = [
        _section(relation.name, relation.schema, is_view=relation.is_view)
        for relation in (*RELATIONS.values(), RECALLS)
    ]
    macros = [f"| `{macro.signature}` | {_cell(macro.description)} |" for macro in MACROS]
    shown = {(relation.name, schema) for relation in RELATIONS.values() for schema in relation.schema.__mro__}
    lake = [_section(table.name, table.schema) for table in TABLES.values() if (table.name, table.schema) not in shown]
    return "\n".join(
        [
            "# Data dictionary",
            "",
            "Made from the schemas in `memory_pipeline/schemas/` and `memory_pipeline/lake/dictionary.py`.",
            "Every instant is UTC, to the microsecond. A memory is identified by `profile_id` and `memory_id`.",
            "",
            "## The snapshot",
            "",
            "`snapshots/memories.duckdb` in the data folder, opened with `duckdb -readonly` or",
            '`duckdb.connect("memories.duckdb", read_only=True)`. DuckDB 1.0 and later read it: every table, view and',
            "macro was queried with 1.0 to 1.5 and 2.0. The same text stands in its table `data_dictionary`.",
            "After `ATTACH`, a macro needs a `USE` of the attached name first. Vectors stay in Parquet beside it;",
            "an exported file has them within. A snapshot never changes: open the link again to see the newest one.",
            "",
            "| macro | returns |",
            "|---|---|",
            *macros,
            *kept,
            "",
            "## The lake",
            "",
            "Tables between the stages of a run; a snapshot does not have them in this form.",
            *lake,
            "",
        ]
    )


def _section(name: str, schema: type[dy.Schema], *, is_view: bool = False) -> str:
    columns = [
        f"| `{column}` | {sql_type(definition.dtype)} | {_unit(column, definition) or ''} "
        f"| {_cell(definition.description or '')} |"
        for column, definition in schema.columns().items()
    ]
    title = f"\n### {name}{' (view)' if is_view else ''}\n\n{_about(schema)}\n"
    return "\n".join([title, "| column | type | unit | meaning |", "|---|---|---|---|", *columns])


def _unit(name: str, column: dy.Column) -> str | None:
    """Unit of a column: by its name where that says it, else from its type and range."""
    least, most = getattr(column, "min", None), getattr(column, "max", None)
    if name in _UNITS:
        return _UNITS[name]
    if isinstance(column, dy.Datetime):
        return "UTC"
    if name.endswith("_days"):
        return "days"
    if "JSON" in (column.description or ""):
        return "JSON"
    if isinstance(column, dy.Float64) and least is not None and most is not None:
        return f"{least:g}..{most:g}"
    return "count" if isinstance(column, dy.Int64) else None


def _about(schema: type[dy.Schema]) -> str:
    return " ".join((inspect.getdoc(schema) or "").split())


def _inner(dtype: pl.List) -> pl.DataType:
    inner = dtype.inner
    return inner if isinstance(inner, pl.DataType) else inner()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
