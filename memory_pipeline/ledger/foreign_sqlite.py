"""Reads tables of SQLite databases that other programs write, without ever writing to them."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

_AT_ONCE: Final = 1000
"""Rows fetched in one step."""
_PATIENCE: Final = 5.0
"""Seconds to wait for a database in use by others."""


class Unreadable(ValueError):
    """A database cannot be read; says which, why and what to do."""


def tables(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the columns of every table of a database, by table; views are left out.

    Raises Unreadable: it is not a database, damaged, or in use for too long.
    """
    with _opened(path) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {
            name: [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(name)})")] for (name,) in names
        }


def rows(path: Path, table: str, *, order: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table by column, blobs and damaged texts as bytes; none if there is no such table.

    Holds a thousand rows at a time, of one moment even while the database's program writes. They are sorted by the
    columns `order`, as far as the table has them. Raises Unreadable: as for `tables`.
    """
    known = tables(path).get(table)
    if known is None:
        return
    keys = ", ".join(_quoted(column) for column in order if column in known)
    query = f"SELECT * FROM {_quoted(table)}" + (f" ORDER BY {keys}" if keys else "")  # noqa: S608 - quoted names
    with _opened(path) as connection:
        connection.text_factory = _text
        cursor = connection.execute(query)
        names = [column[0] for column in cursor.description]
        while batch := cursor.fetchmany(_AT_ONCE):
            for row in batch:
                yield dict(zip(names, row, strict=True))


def count(path: Path, table: str) -> int:
    """Return how many rows a table has, without reading them; 0 if there is no such table. Raises as `tables` does."""
    if table not in tables(path):
        return 0
    with _opened(path) as connection:
        (found,) = connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()  # noqa: S608 - quoted name
        return int(found)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        # A database with a write-ahead log and no such file beside it is not in use; opened as usual, it would
        # be given one.
        with path.open("rb") as file:
            logs_ahead = file.read(20)[18:19] == b"\x02"
        mode = "immutable=1" if logs_ahead and not path.with_name(f"{path.name}-wal").exists() else "mode=ro"
        uri = f"{path.resolve().as_uri()}?{mode}"
        with closing(sqlite3.connect(uri, timeout=_PATIENCE, uri=True)) as connection:
            yield connection
    except OSError as error:
        raise Unreadable(f"{path}: cannot be read ({error.strerror}); name a readable file") from error
    except sqlite3.Error as error:
        why = f"cannot be read as an SQLite database ({error})"
        raise Unreadable(f"{path}: {why}; close the program that uses it, or give a copy of it") from error


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
