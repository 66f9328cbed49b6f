"""A DuckLake catalogue of the lake, beside our own: with it, any reader of DuckLake reads the store where it is.

Every change of `catalog` is made here too, in the same transaction. A ledger position is a snapshot; only those are
listed at which the files of a table changed. Nothing of this program reads the catalogue; what others write to it is
lost when it is filled again.
"""

import uuid
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any, Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.ledger.database import LakeError, Transaction
from memory_pipeline.ledger.ducklake_tables import (
    COLUMNS,
    FILES,
    FORMAT,
    MAPPINGS,
    METADATA,
    NAMES,
    OPTIONS,
    SCHEMAS,
    SNAPSHOTS,
    TABLES,
)
from memory_pipeline.ledger.tables import EVENTS, File
from memory_pipeline.ledger.tables import FILES as CATALOGUE
from memory_pipeline.schemas import TABLES as DEFINITIONS

_FOLDER: Final = "lake/"
"""Keys of files are this, the name of their table, a slash, and their own name."""

_PROGRAM: Final = "memory-pipeline "
"""What a catalogue of ours says it was created by, before the version of its columns."""

_IDS: Final = uuid.UUID("5b3f0c5e-6a64-4a0b-9a53-0e7f5f5c2f0d")
"""Namespace of the ids of schema and tables."""

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEXT_ID: Final = 2**31
"""A writer would go on from here: no id of ours is as high."""
_HASH_BITS: Final = 28
"""Bits of a field id below its depth: DuckDB reads columns in the order of their parents' ids, so those are lower."""
_ROWS: Final = 2**32
"""More rows than a file has: each file numbers its own from a multiple of this on."""

_TYPES: Final = {
    pl.String: "varchar",
    pl.Int64: "int64",
    pl.Float64: "float64",
    pl.Float32: "float32",
    pl.Boolean: "boolean",
    pl.Binary: "blob",
    pl.Datetime: "timestamptz",
    pl.List: "list",
    pl.Struct: "struct",
}


def field_id(path: str) -> int:
    """Return the Parquet field id of a column: a hash of its path, so that it stays when others are added.

    The path is names from the column inwards, separated by dots; the elements of a list are named `element`.
    """
    return path.count(".") << _HASH_BITS | zlib.crc32(path.encode()) & (1 << _HASH_BITS) - 1


def place(transaction: Transaction) -> str | None:
    """Return the URL of the folder of the catalogue's files; None if it has to be filled. Cost: one millisecond.

    Raises LakeError: the database holds the DuckLake catalogue of another program.
    """
    if not _exists(transaction):
        return None
    options = dict(transaction.connection.execute(sa.select(OPTIONS.c.key, OPTIONS.c.value)).all())
    if not (made_by := options.get("created_by", "another program")).startswith(_PROGRAM):
        raise LakeError(
            f"the ledger's database holds a DuckLake catalogue of {made_by}, which stays as it is; "
            "give the ledger a schema of its own"
        )
    own, ours = (_extent(transaction, ids) for ids in (FILES.c.data_file_id, CATALOGUE.c.id))
    return options["data_path"] if options["created_by"] == _made_by() and own == ours else None


def move(transaction: Transaction, url: str) -> None:
    """Note that the files are in another folder."""
    transaction.connection.execute(OPTIONS.update().where(OPTIONS.c.key == "data_path").values(value=url))


def fill(transaction: Transaction, url: str, *, files: Sequence[File], sizes: Mapping[str, int], oldest: int) -> None:
    """Create the catalogue, or recreate it, of all files of ours below a folder (its URL ends with a slash).

    `sizes` are in bytes, by key; a file that is lost has none. Tables can be read from position `oldest` on. Cost: some
    20 ms, and 20 µs per file.
    """
    connection = transaction.connection
    if _exists(transaction):
        for table in METADATA.sorted_tables:
            connection.execute(table.delete())
    else:
        METADATA.create_all(connection, checkfirst=False)
    rows = _description(url) | {
        SNAPSHOTS: [_snapshot(0, _START)],
        FILES: [_file(file, sizes.get(file.key, 0)) for file in files],
    }
    for table, given in rows.items():
        if given:
            connection.execute(table.insert(), given)
    for seq in sorted({seq for file in files for seq in (file.added_seq, file.removed_seq) if seq is not None}):
        _list(transaction, seq)
    expire(transaction, oldest)


def add(transaction: Transaction, files: Sequence[File], *, sizes: Sequence[int], seq: int) -> None:
    """Make files visible from position `seq` on; their sizes are in bytes."""
    rows = [_file(file, size) for file, size in zip(files, sizes, strict=True)]
    transaction.connection.execute(FILES.insert(), rows)
    _list(transaction, seq)


def remove(transaction: Transaction, ids: Collection[int], *, seq: int) -> None:
    """Hide files from position `seq` on."""
    transaction.connection.execute(FILES.update().where(FILES.c.data_file_id.in_(ids)).values(end_snapshot=seq))
    _list(transaction, seq)


def forget(transaction: Transaction, file_id: int) -> None:
    """Drop a file, so that no snapshot has it."""
    transaction.connection.execute(FILES.delete().where(FILES.c.data_file_id == file_id))


def expire(transaction: Transaction, oldest: int) -> None:
    """Drop the snapshots before the one that shows the tables as of position `oldest`."""
    kept = sa.select(sa.func.max(SNAPSHOTS.c.snapshot_id)).where(SNAPSHOTS.c.snapshot_id <= oldest).scalar_subquery()
    transaction.connection.execute(SNAPSHOTS.delete().where(SNAPSHOTS.c.snapshot_id < kept))


def _exists(transaction: Transaction) -> bool:
    return sa.inspect(transaction.connection).has_table(OPTIONS.name)


def _extent(transaction: Transaction, ids: sa.ColumnElement[int]) -> sa.Row[int, int | None]:
    """Return number and highest of some ids: they differ where an earlier version changed our catalogue alone."""
    return transaction.connection.execute(sa.select(sa.func.count(ids), sa.func.max(ids))).one()


def _list(transaction: Transaction, seq: int) -> None:
    """List a snapshot, unless it lies before the newest: what is added to the past is seen from there on."""
    connection = transaction.connection
    if seq > connection.scalars(sa.select(sa.func.max(SNAPSHOTS.c.snapshot_id))).one():
        last = sa.select(EVENTS.c.recorded_at).where(EVENTS.c.seq <= seq).order_by(EVENTS.c.seq.desc()).limit(1)
        recorded = connection.scalar(last) or 0
        connection.execute(SNAPSHOTS.insert().values(_snapshot(seq, _START + timedelta(microseconds=recorded))))


def _snapshot(seq: int, at: datetime) -> dict[str, Any]:
    return {
        "snapshot_id": seq,
        "snapshot_time": at,
        "schema_version": _version(),
        "next_catalog_id": _NEXT_ID,
        "next_file_id": _NEXT_ID,
    }


def _file(file: File, size: int) -> dict[str, Any]:
    table_id = field_id(file.table_name)
    return {
        "data_file_id": file.id,
        "table_id": table_id,
        "begin_snapshot": file.added_seq,
        "end_snapshot": file.removed_seq,
        "file_order": file.id,
        "path": file.key.removeprefix(f"{_FOLDER}{file.table_name}/"),
        "path_is_relative": True,
        "file_format": "parquet",
        "record_count": file.rows,
        "file_size_bytes": size,
        "row_id_start": file.id * _ROWS,
        "mapping_id": table_id,
    }


@cache
def _tables() -> tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]:
    """Return the tables that are stored in files, each with names and types of its columns."""
    return tuple(
        (name, tuple((column, definition.dtype) for column, definition in table.schema.columns().items()))
        for name, table in DEFINITIONS.items()
        if table.write_mode not in {"in_ledger", "per_run"}
    )


@cache
def _version() -> int:
    """Return a number that changes with the columns of any table: readers keep those of a version."""
    return zlib.crc32(repr(_tables()).encode())


def _made_by() -> str:
    return f"{_PROGRAM}{_version()}"


@cache
def _all_columns() -> list[dict[str, Any]]:
    """Return the rows of the columns of all tables, those within others included."""
    return [
        {"table_id": field_id(name), "column_order": order} | column
        for name, given in _tables()
        for order, column in enumerate(chain.from_iterable(_columns(name, *pair) for pair in given), 1)
    ]


def _description(url: str) -> dict[sa.Table, list[dict[str, Any]]]:
    """Return the rows that say which tables and columns there are."""
    options = {"version": FORMAT, "created_by": _made_by(), "data_path": url, "encrypted": "false"}
    ids = {name: field_id(name) for name, _ in _tables()}
    return {
        OPTIONS: [{"key": key, "value": value} for key, value in options.items()],
        SCHEMAS: [
            {
                "schema_id": 0,
                "schema_uuid": str(_IDS),
                "begin_snapshot": 0,
                "schema_name": "main",
                "path": _FOLDER,
                "path_is_relative": True,
            }
        ],
        TABLES: [
            {
                "table_id": table_id,
                "table_uuid": str(uuid.uuid5(_IDS, name)),
                "begin_snapshot": 0,
                "schema_id": 0,
                "table_name": name,
                "path": f"{name}/",
                "path_is_relative": True,
            }
            for name, table_id in ids.items()
        ],
        COLUMNS: _all_columns(),
        MAPPINGS: [{"mapping_id": table_id, "table_id": table_id, "type": "map_by_name"} for table_id in ids.values()],
        NAMES: [
            {
                "mapping_id": column["table_id"],
                "column_id": column["column_id"],
                "source_name": column["column_name"],
                "target_field_id": column["column_id"],
                "parent_column": column["parent_column"],
                "is_partition": False,
            }
            for column in _all_columns()
        ],
    }


def _columns(table: str, name: str, dtype: Any, *, within: str = "") -> Iterator[dict[str, Any]]:
    """Yield a column and those within it, as rows of the catalogue."""
    path = f"{within}.{name}" if within else name
    # What readers put where an older file lacks the column: no format of theirs for lists, and booleans as numbers.
    default = None if within or dtype == pl.List else DEFINITIONS[table].lacking.get(name)
    yield {
        "column_id": field_id(path),
        "begin_snapshot": 0,
        "column_name": name,
        "column_type": _TYPES[dtype.base_type()],
        "initial_default": None if default is None else str(default + 0),
        "nulls_allowed": True,
        "parent_column": field_id(within) if within else None,
    }
    inner = [pl.Field("element", dtype.inner)] if isinstance(dtype, pl.List) else getattr(dtype, "fields", ())
    for part in inner:
        yield from _columns(table, part.name, part.dtype, within=path)
