"""Describes every table, view and macro of a snapshot, from the schemas.

The same text becomes comments in the database, the table `data_dictionary` and the page `docs/data-dictionary.md`.
Not here: the schemas (`schemas/`, `lake/snapshot_schemas.py`), the macros (`lake/snapshot_macros.py`), and how a
snapshot is written (`lake/snapshot.py`).
"""

from typing import Final

import dataframely as dy
import polars as pl

from memory_pipeline.lake.snapshot_macros import MACROS
from memory_pipeline.lake.snapshot_schemas import RECALLS, RELATIONS, Relation, sql_type
from memory_pipeline.schemas import TABLES

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
_SUFFIXES: Final = ("days", "tokens")
"""Units that column names may end with, after an underscore."""
_INTRODUCTION: Final = """# Data dictionary

Generated from the schemas in `memory_pipeline/schemas/` and `memory_pipeline/lake/snapshot_schemas.py`. Every instant
is UTC, to the microsecond. A memory is identified by `profile_id` and `memory_id`.

## The snapshot

Open `snapshots/memories.duckdb` in the data folder with `duckdb -readonly` or
`duckdb.connect("memories.duckdb", read_only=True)`. The file is in the storage format of DuckDB 1.0: every table, view
and macro was queried with DuckDB 1.0, 1.1, 1.2, 1.3, 1.4, 1.5 and 2.0. Its table `data_dictionary` holds this text.
After `ATTACH`, a macro needs a `USE` of the attached name first. `vectors`, `score_history` and `enrichment` read
Parquet files beside the snapshot; a file written by `snapshot --export` contains them. A snapshot never changes: open
the link again to see the newest one.
"""
_LAKE: Final = """
## The lake

Tables that the stages of a run pass on. A snapshot does not have them in this form; its `memories` differs only in
`summarises_cluster_id`, which is `cluster_id` in the lake."""


def rows() -> pl.DataFrame:
    """Return the table `data_dictionary`: one row per column of each table and view of a snapshot."""
    return pl.DataFrame(
        [
            (relation.name, name, sql_type(column.dtype), _unit(name, column), column.description)
            for relation in RELATIONS.values()
            for name, column in relation.columns.items()
        ],
        schema=["table_name", "column_name", "type", "unit", "description"],
        orient="row",
    )


def documentation() -> str:
    """Return the page `docs/data-dictionary.md`, in Markdown."""
    macros = [f"| `{macro.signature}` | {_cell(macro.description)} |" for macro in MACROS]
    relations = [*RELATIONS.values(), RECALLS]
    in_snapshot = {(relation.name, schema) for relation in RELATIONS.values() for schema in relation.schema.__mro__}
    lake_tables = [
        Relation(table.name, table.schema)
        for table in TABLES.values()
        if table.write_mode != "per_run" and (table.name, table.schema) not in in_snapshot
    ]
    return "\n".join(
        [
            _INTRODUCTION,
            "| macro | returns |",
            "|---|---|",
            *macros,
            *map(_section, relations),
            _LAKE,
            *map(_section, lake_tables),
            "",
        ]
    )


def _section(relation: Relation) -> str:
    columns = [
        f"| `{name}` | {sql_type(column.dtype)} | {_unit(name, column) or ''} | {_cell(column.description or '')} |"
        for name, column in relation.columns.items()
    ]
    title = f"\n### {relation.name}{' (view)' if relation.is_view else ''}\n\n{relation.description}\n"
    return "\n".join([title, "| column | type | unit | meaning |", "|---|---|---|---|", *columns])


def _unit(name: str, column: dy.Column) -> str | None:
    """Return the unit of a column: by its name where that decides it, else from its type and range."""
    minimum, maximum = getattr(column, "min", None), getattr(column, "max", None)
    if name in _UNITS:
        return _UNITS[name]
    if isinstance(column, dy.Datetime):
        return "UTC"
    if (unit := name.rpartition("_")[2]) in _SUFFIXES:
        return unit
    if (column.description or "").endswith("JSON."):
        return "JSON"
    if isinstance(column, dy.Float64) and minimum is not None and maximum is not None:
        return f"{minimum:g}..{maximum:g}"
    return "count" if isinstance(column, dy.Int64) else None


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
