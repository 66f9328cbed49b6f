"""Writes items as a database of LangGraph's SqliteStore, which opens it as its own."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from memory_pipeline.ledger.disk import replacing

MIGRATION: Final = 4
"""Last change of the layout that a database states; SqliteStore applies those after it when it is set up."""

_LAYOUT: Final = """
CREATE TABLE store_migrations (v INTEGER PRIMARY KEY);
CREATE TABLE store (
  prefix TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  expires_at TIMESTAMP, ttl_minutes REAL,
  PRIMARY KEY (prefix, key)
);
CREATE INDEX store_prefix_idx ON store (prefix);
CREATE INDEX idx_store_expires_at ON store (expires_at) WHERE expires_at IS NOT NULL;
"""

Row = tuple[str, str, bytes, str, str, str | None, float | None, str | None]
"""Prefix (the labels of the namespace joined by full stops), key, value (JSON), created, updated and, if it ends, when
(UTC) and after how many minutes, and what is kept beside the value (JSON), if anything."""


def write(path: Path, rows: Iterable[Row], *, table: str) -> None:
    """Write a new database of items; a file of that name is replaced once all rows are in it.

    `table` names a further table, which SqliteStore ignores: `prefix`, `key`, and what is beside the value.
    """
    with replacing(path) as draft, closing(sqlite3.connect(draft)) as connection, connection:
        connection.executescript(_LAYOUT)
        versions = ((version,) for version in range(MIGRATION + 1))
        connection.executemany("INSERT INTO store_migrations (v) VALUES (?)", versions)
        connection.execute(f'CREATE TABLE "{table}" (prefix TEXT, key TEXT, item TEXT, PRIMARY KEY (prefix, key))')
        for *item, beside in rows:
            connection.execute("INSERT INTO store VALUES (?, ?, ?, ?, ?, ?, ?)", item)
            if beside is not None:
                connection.execute(f'INSERT INTO "{table}" VALUES (?, ?, ?)', (*item[:2], beside))  # noqa: S608
