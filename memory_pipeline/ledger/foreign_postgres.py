"""Reads tables of PostgreSQL databases that other programs write: from a server, or from a dump by pg_dump.

A server is named by its URL, which is never printed: it may hold a password.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.ledger.foreign_sqlite import Unreadable
from memory_pipeline.settings.extras import pip_install

_URL: Final = re.compile(r"postgres(?:ql)?:/{1,2}(?=[^/])")
_AT_ONCE: Final = 1000
"""Rows fetched in one step."""
_COPY: Final = re.compile(r'COPY (?:"?\w+"?\.)?"?(\w+)"? \((.*)\) FROM stdin;')
_ESCAPED: Final = re.compile(r"\\(.)")
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def is_url(path: Path) -> bool:
    """Return whether a path is the URL of a server; a path keeps only one of its two slashes."""
    return _URL.match(str(path)) is not None


def tables(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the columns of every table in the search path of the database at a URL (see `is_url`), by table.

    Raises Unreadable: the server cannot be reached or refuses, or psycopg is not installed.
    """
    with _connected(path) as connection:
        found = sa.inspect(connection)
        return {name: [str(column["name"]) for column in found.get_columns(name)] for name in found.get_table_names()}


def rows(path: Path, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table by column, all of one moment, a thousand at a time; none if there is no such table.

    Raises Unreadable: as for `tables`.
    """
    with _connected(path) as connection:
        if not sa.inspect(connection).has_table(table):
            return
        layout = sa.Table(table, sa.MetaData(), autoload_with=connection)
        query = sa.select(layout).order_by(*layout.primary_key)
        streamed = connection.execution_options(yield_per=_AT_ONCE).execute(query)
        yield from (dict(row) for row in streamed.mappings())


@contextmanager
def _connected(path: Path) -> Iterator[sa.Connection]:
    url = _URL.sub("postgresql+psycopg://", str(path), count=1)
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="REPEATABLE READ")
        with engine.connect() as connection:
            connection.execute(sa.text("SET TRANSACTION READ ONLY"))
            yield connection
    except ImportError as error:
        raise Unreadable(f"psycopg is not installed; install it with: {pip_install('postgres')}") from error
    except (sa.exc.SQLAlchemyError, ValueError) as error:
        why = str(getattr(error, "orig", None) or "the URL is wrong").strip().splitlines()[0]
        raise Unreadable(
            f"the PostgreSQL server cannot be read ({why}); correct postgresql://USER@HOST:PORT/DATABASE, with the "
            "password in PGPASSWORD or ~/.pgpass"
        ) from None


def dumped(lines: Iterable[str], table: str) -> Iterator[dict[str, str | None]]:
    """Yield the rows of a table from a plain-text dump by COPY, not INSERT, by column; none if it has no such table."""
    columns: list[str] | None = None
    for line in lines:
        if columns is None:
            begun = _COPY.match(line)
            if begun and begun[1] == table:
                columns = [name.strip().strip('"') for name in begun[2].split(",")]
        elif line.rstrip("\r\n") == "\\.":
            columns = None
        else:
            yield dict(zip(columns, map(_value, line.rstrip("\r\n").split("\t")), strict=False))


def _value(written: str) -> str | None:
    """Return a value of a dump; None where the database has none."""
    if written == "\\N":
        return None
    return _ESCAPED.sub(lambda found: _LETTERS.get(found[1], found[1]), written)
