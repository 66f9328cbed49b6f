"""Parquet files of the lake: named after their content, never changed."""

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from typing import Any, Final

import polars as pl
from polars.exceptions import ComputeError, InvalidOperationError, PanicException

from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.ledger.catalog import NewFile
from memory_pipeline.ledger.ducklake import field_id
from memory_pipeline.schemas import Table

TABLES_PREFIX: Final = "lake/"
"""Keys of the tables' files start with it."""

_ROW_GROUP: Final = 65_536


def write(store: ObjectStore, table_name: str, frame: pl.DataFrame) -> NewFile:
    """Store a frame as a new file of a table, named after its content and a random suffix.

    The bytes depend on the rows alone, neither on threads nor on the frame's memory layout. Polars writes strings with
    a dictionary where that is smaller, and floats, hence vectors, always plainly.
    """
    data = _parquet(frame)
    digest = hashlib.sha256(data).hexdigest()
    key = f"{TABLES_PREFIX}{table_name}/{digest[:16]}-{secrets.token_hex(4)}.parquet"
    store.put(key, data)
    return NewFile(key, frame.height, digest, len(data))


def replace(store: ObjectStore, key: str, frame: pl.DataFrame) -> None:
    """Store a frame under a key, in place of what was there."""
    store.put(key, _parquet(frame))


def collect(
    store: ObjectStore,
    keys: Sequence[str],
    table: Table,
    *conditions: pl.Expr,
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return the rows of files that meet the conditions, with the current columns or those given; none without files.

    Columns that an older file lacks are null, or have the value in `table.lacking`. Conditions are pushed down to the
    files' statistics, so that most of a file without a match is not read. Raises ComputeError: a file is damaged.
    """
    if not keys:
        return table.empty().select(columns) if columns else table.empty()
    rows = pl.scan_parquet(
        [store.uri(key) for key in keys],
        storage_options=dict(store.scan_options) or None,
        credential_provider=None,
        schema=table.types,
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert", extra_struct_fields="ignore"),
        glob=False,
        hive_partitioning=False,
    )
    with store.scanning(), _damage_named():
        return rows.filter(*conditions).with_columns(_lacking(table)).select(columns or pl.all()).collect()


def with_current_columns(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return rows that an older version may have written, with the current columns as `collect` gives them."""
    current = rows.lazy().match_to_schema(table.types, missing_columns="insert", extra_columns="ignore")
    return current.with_columns(_lacking(table)).collect()


def read(store: ObjectStore, key: str, *, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the rows of an object that others may replace meanwhile, as one of them wrote it; by default all columns.

    Raises FileNotFoundError: there is no such object. ComputeError: it is damaged.
    """
    with store.get(key) as file, _damage_named():
        return pl.read_parquet(file.read(), columns=None if columns is None else list(columns))


def checksum(store: ObjectStore, key: str) -> str:
    """Return the SHA-256 of a file's bytes, 64 hex digits; raises FileNotFoundError if there is no such file."""
    with store.get(key) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _damage_named() -> Iterator[None]:
    """Turn the errors that Polars raises for some damaged files into the one for all others."""
    try:
        yield
    except (InvalidOperationError, PanicException) as error:
        raise ComputeError(f"parquet: {error}") from error


def _lacking(table: Table) -> list[pl.Expr]:
    """Return the columns of a table that have a value where an older file lacks them."""
    return [pl.col(name).fill_null(value) for name, value in table.lacking.items()]


def _parquet(frame: pl.DataFrame) -> memoryview:
    buffer = BytesIO()
    frame.rechunk().write_parquet(
        buffer,
        compression="zstd",
        compression_level=1,
        row_group_size=_ROW_GROUP,
        arrow_schema=_with_field_ids(tuple(frame.schema.items())),
    )
    return buffer.getbuffer()


@cache
def _with_field_ids(columns: tuple[tuple[str, pl.DataType], ...]) -> Any:
    """Return the Arrow schema of columns and types, with the Parquet field ids by which other programs find columns."""
    import pyarrow as pa  # noqa: PLC0415 - takes 40 ms, and only what writes files needs it

    def numbered(field: Any, path: str) -> Any:
        kind = field.type
        if pa.types.is_struct(kind):
            kind = pa.struct([numbered(part, f"{path}.{part.name}") for part in kind])
        elif pa.types.is_large_list(kind):
            kind = pa.large_list(numbered(kind.value_field.with_name("element"), f"{path}.element"))
        return pa.field(field.name, kind, field.nullable, {"PARQUET:field_id": str(field_id(path))})

    plain = pl.DataFrame(schema=dict(columns)).to_arrow(compat_level=pl.CompatLevel.newest()).schema
    return pa.schema([numbered(field, field.name) for field in plain])
