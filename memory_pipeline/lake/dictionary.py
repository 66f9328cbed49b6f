"""Describes every table, view and macro of a snapshot, from the schemas.

The same text becomes comments in the database, the table `data_dictionary` and, by `make docs`, the page
`docs/data-dictionary.md`.
"""

from functools import cache
from typing import Final

import dataframely as dy
import polars as pl

from memory_pipeline.lake.snapshot_schemas import RELATIONS, sql_type

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
    "retention_rate": "per day",
    "recency_rate": "per hour",
    "energy_rate": "per hour",
    "vector": "length 1",
    "key": "place",
    "cost": "currency of the prices in the settings",
    "score": "by its ranking",
    "stability_gain": "0..1",
    "energy": "1 at creation",
    "energy_base": "1 at creation",
}
_NUMBERS: Final[dict[str, str]] = {"strength": "sessions"}
"""Units of columns whose numbers have no bounds, where another table has bounded ones of that name."""
_SUFFIXES: Final = ("days", "tokens", "factor")
"""Units that column names may end with, after an underscore."""


@cache
def rows() -> pl.DataFrame:
    """Return the table `data_dictionary`: one row per column of each table and view of a snapshot."""
    return pl.DataFrame(
        [
            (
                relation.name,
                name,
                sql_type(column.dtype),
                unit(name, column),
                key.index(name) + 1 if name in key else None,
                column.nullable,
                column.description,
            )
            for relation in RELATIONS.values()
            for key in (relation.key,)  # once a relation: its schema is searched for it
            for name, column in relation.columns.items()
        ],
        schema=["table_name", "column_name", "type", "unit", "key", "nullable", "description"],
        orient="row",
    )


def unit(name: str, column: dy.Column) -> str | None:
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
    return "count" if isinstance(column, dy.Int64) else _NUMBERS.get(name) if isinstance(column, dy.Float64) else None
