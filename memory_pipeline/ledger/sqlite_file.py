"""Opens SQLite files that other programs write, such as Dagster's storage, and rewrites texts in them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from memory_pipeline.ledger.database import ROOM, LakeError, full

BESIDE: Final = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database, and removes when its last user closes it."""

_PATIENCE: Final = 30.0
"""Seconds to wait for a database in use by others before it is an error."""

Change = tuple[str, tuple[str, int]]
"""A statement and its values."""


def is_database(path: Path) -> bool:
    """Return whether a file is a SQLite database."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
    return False


def kept_open(path: Path) -> sa.Engine:
    """Return an engine that keeps one connection to a database; threads use it one at a time.

    A transaction does not wait for the disk: with a write-ahead log, as the database should have, a power failure loses
    the last ones, and nothing else does.
    """
    options = {"timeout": _PATIENCE, "check_same_thread": False}
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.StaticPool, connect_args=options)
    sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=NORMAL"))
    return engine


def rewrite_texts(path: Path, rewrite: Callable[[str], str], *, holds: Callable[[Path], bool]) -> bool:
    """Rewrite the text cells of a database row by row, and leave no trace of the old ones on free pages or in the log.

    `rewrite` returns the new text of a cell; `holds` says whether the bytes of a file, the database or one beside it,
    hold text to rewrite. Returns whether there was any; there is none if the database is gone. Raises LakeError: there
    was, but the database is damaged or in use for too long, or the disk is full.
    """
    with suppress(FileNotFoundError):
        path = path.resolve(strict=True)
        try:
            # Unlike a path, a URI in this mode never creates a file that was removed a moment ago.
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", timeout=_PATIENCE, uri=True)) as connection:
                connection.isolation_level = None
                files = [path, *(path.with_name(path.name + suffix) for suffix in BESIDE)]
                if not _changes(connection, rewrite) and not any(holds(file) for file in files):
                    return False
                _rewrite(connection, rewrite)
                return True
        except sqlite3.Error as error:
            path.stat()
            remedy = "let programs that use it finish, or remove it if it is damaged, then erase again"
            if full(path.parent):  # no room for SQLite's own files
                remedy = f"{ROOM}, then erase again"
            raise LakeError(f"{path}: {error}: nothing was erased; {remedy}") from error
    return False


def _rewrite(connection: sqlite3.Connection, rewrite: Callable[[str], str]) -> None:
    connection.execute("PRAGMA secure_delete=ON")
    connection.execute("BEGIN IMMEDIATE")
    for statement, values in _changes(connection, rewrite):  # again: others may have written since
        connection.execute(statement, values)
    connection.execute("COMMIT")
    connection.execute("VACUUM")
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("its old pages, which hold erased text, are still being read")


def _changes(connection: sqlite3.Connection, rewrite: Callable[[str], str]) -> list[Change]:
    return [change for table in _tables(connection) for change in _table_changes(connection, table, rewrite)]


def _tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%WITHOUT ROWID%'")
    return [name for (name,) in names.fetchall() if not name.startswith("sqlite_")]


def _table_changes(connection: sqlite3.Connection, table: str, rewrite: Callable[[str], str]) -> Iterator[Change]:
    name = table.replace('"', '""')
    columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
    rows = connection.execute(f'SELECT rowid, * FROM "{name}"')  # noqa: S608
    for rowid, *cells in rows.fetchall():
        for column, cell in zip(columns, cells, strict=True):
            if isinstance(cell, str) and (new := rewrite(cell)) != cell:
                yield f'UPDATE "{name}" SET "{column}" = ? WHERE rowid = ?', (new, rowid)  # noqa: S608
