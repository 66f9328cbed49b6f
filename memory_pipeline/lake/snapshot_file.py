"""Writes the DuckDB file of a snapshot: tables, views over Parquet files, macros and comments."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb
import polars as pl
import polars.selectors as cs

from memory_pipeline.lake.snapshot_macros import MACROS, quoted
from memory_pipeline.lake.snapshot_schemas import RELATIONS, Relation
from memory_pipeline.lake.snapshot_views import LINKED, VIEWS, column, linked_view, literal
from memory_pipeline.ledger.database import LakeError

STORAGE_VERSION: Final = "v1.0.0"
"""Storage format of the files: DuckDB 1.0 and every later version reads it."""
_ROW_GROUP: Final = 122_880
"""Rows of a row group, DuckDB's unit of storage."""
_FILE_IN_VIEW: Final = re.compile(r"'(/(?:[^']|'')*\.parquet)'")
"""A file in the text of a view."""
_LITERAL: Final = re.compile(r"\[([*?\[])\]")
"""A character that a path in a view takes literally."""

_BEGUN: Final[list[bytes]] = []
"""The file of a snapshot without rows, once one was made: half of the work on a small one."""


def database(file: Path) -> duckdb.DuckDBPyConnection:
    """Open a database file for writing in the storage format of `STORAGE_VERSION`."""
    return duckdb.connect(str(file), config={"storage_compatibility_version": STORAGE_VERSION})


def begun(file: Path) -> duckdb.DuckDBPyConnection:
    """Make the file of a snapshot without rows and linked files, and open it for writing."""
    if not _BEGUN:
        _begin(file)
        _BEGUN.append(file.read_bytes())
    file.write_bytes(_BEGUN[0])
    return database(file)


def _begin(file: Path) -> None:
    with database(file) as connection:
        connection.execute("BEGIN")
        for relation in RELATIONS.values():
            if not relation.is_view:
                _create_table(connection, relation)
        for table in LINKED:
            link(connection, table, (), places=())
        for view in VIEWS:
            connection.execute(view)
        for macro in MACROS:
            connection.execute(f"CREATE MACRO {macro.signature} AS TABLE {macro.query}")
            connection.execute(f"COMMENT ON MACRO TABLE {macro.name} IS {quoted(macro.description)}")
        for relation in RELATIONS.values():
            if relation.is_view and relation.name not in LINKED:
                _comment(connection, relation)
        connection.execute("COMMIT")


def write(
    connection: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame], linked: Mapping[str, Sequence[Path]]
) -> None:
    """Write rows of tables, and views over linked Parquet files (of `snapshot_views.LINKED`), into what was begun."""
    _fill(connection, [(RELATIONS[table], frame) for table, frame in frames.items()])
    connection.execute("BEGIN")
    for table, paths in linked.items():
        if paths:
            link(connection, table, paths, places=[str(path) for path in paths])
    connection.execute("COMMIT")


def link(connection: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path], *, places: Sequence[str]) -> None:
    """Let a view, one of `snapshot_views.LINKED`, read Parquet files at places: absolute paths, or addresses."""
    connection.execute(linked_view(RELATIONS[table], places, _columns(connection, paths)))
    _comment(connection, RELATIONS[table])


def linked(snapshot: Path) -> dict[str, list[Path]]:
    """Return the Parquet files that the views of a snapshot read, for each table that has any.

    Raises LakeError: the snapshot cannot be read.
    """
    try:
        with duckdb.connect(str(snapshot), read_only=True) as connection:
            views = connection.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    except duckdb.Error as error:
        raise LakeError(
            f"{snapshot} cannot be read: {str(error).splitlines()[0]}; remove it, then: memory-pipeline doctor --repair"
        ) from error
    found = {table: [Path(path) for path in files_in(sql)] for table, sql in views if table in LINKED}
    return {table: paths for table, paths in found.items() if paths}


def files_in(view: str) -> list[str]:
    """Return the files that the text of a view names."""
    return [_LITERAL.sub(r"\1", path.replace("''", "'")) for path in _FILE_IN_VIEW.findall(view)]


def _columns(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> set[str]:
    """Return the columns that at least one of some Parquet files has."""
    if not files:
        return set()
    names = connection.execute(f"SELECT DISTINCT name FROM parquet_schema({literal([str(path) for path in files])})")  # noqa: S608
    return {name for (name,) in names.fetchall()}


def create_tables(connection: duckdb.DuckDBPyConnection, tables: Sequence[tuple[Relation, pl.DataFrame]]) -> None:
    """Create tables from frames, with the columns, types and comments of their schemas."""
    for relation, _ in tables:
        _create_table(connection, relation)
    _fill(connection, tables)


def _create_table(connection: duckdb.DuckDBPyConnection, relation: Relation) -> None:
    columns = ", ".join(f"{column(name)} {kind}" for name, kind in relation.types.items())
    connection.execute(f"CREATE TABLE {relation.name} ({columns})")
    _comment(connection, relation)


def _fill(connection: duckdb.DuckDBPyConnection, tables: Sequence[tuple[Relation, pl.DataFrame]]) -> None:
    """Insert frames into empty tables in one transaction.

    DuckDB 1.0 cannot read a row group in which a column of lists has no element at all. Such a table is written with a
    row of one-element lists at the head of each row group, which is deleted once it is on disk.
    """
    lacking = [relation.name for relation, frame in tables if frame.height and _lacks_elements(frame)]
    connection.execute("BEGIN")
    for relation, frame in tables:
        if not frame.is_empty():
            _insert(connection, relation, _with_elements(frame) if relation.name in lacking else frame)
    connection.execute("COMMIT")
    if lacking:
        connection.execute("CHECKPOINT")
    for name in lacking:
        connection.execute(f"DELETE FROM {name} WHERE rowid % {_ROW_GROUP} = 0")  # noqa: S608


def _insert(connection: duckdb.DuckDBPyConnection, relation: Relation, frame: pl.DataFrame) -> None:
    columns = ", ".join(f"{column(name)}::{kind}" for name, kind in relation.types.items())
    connection.register("frame", frame)
    connection.execute(f"INSERT INTO {relation.name} SELECT {columns} FROM frame")  # noqa: S608
    connection.unregister("frame")


def _lacks_elements(frame: pl.DataFrame) -> bool:
    """Return whether a column of lists has no element in some row group."""
    lists = frame.select(cs.list().list.len())
    return any(not group[name].max() for group in lists.iter_slices(_ROW_GROUP) for name in lists.columns)


def _with_elements(frame: pl.DataFrame) -> pl.DataFrame:
    """Put a row of nulls and one-element lists before each run of rows that makes a row group with it."""
    lists = {name: [[None]] for name, kind in frame.schema.items() if isinstance(kind, pl.List)}
    head = pl.DataFrame({name: lists.get(name, [None]) for name in frame.columns}, schema=frame.schema)
    groups = frame.iter_slices(_ROW_GROUP - 1)
    return pl.concat([part for group in groups for part in (head, group)])


def _comment(connection: duckdb.DuckDBPyConnection, relation: Relation) -> None:
    """Comment a table or view and each of its columns."""
    kind = "VIEW" if relation.is_view else "TABLE"
    connection.execute(f"COMMENT ON {kind} {relation.name} IS {quoted(relation.description)}")
    for name, definition in relation.columns.items():
        text = quoted(definition.description or "")
        connection.execute(f"COMMENT ON COLUMN {relation.name}.{column(name)} IS {text}")
