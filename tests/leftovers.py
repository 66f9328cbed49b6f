"""Where a word is still to be found in a data folder: every file, by its own reader and byte by byte."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl


def found(home: Path, *words: str) -> list[str]:
    """Name every file, and place within it, that holds one of the words in any case."""
    low = [word.lower() for word in words]
    return [
        f"{path.relative_to(home)}: {place}"
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.is_symlink()
        for place, text in (*read(path), ("name", path.name), ("bytes", path.read_bytes().decode("latin-1")))
        if any(word in text.lower() or _double(word) in text.lower() for word in low)
    ]


def _double(word: str) -> str:
    """A word as UTF-8 bytes that were read as Latin-1."""
    return word.encode().decode("latin-1").lower()


def read(path: Path) -> Iterator[tuple[str, str]]:
    """Yield what a file says, table by table."""
    head = path.read_bytes()[:16]
    if head.startswith(b"PAR1"):
        yield "parquet", _said(pl.read_parquet(path))
    elif head.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
            for name, sql in names:
                yield f"schema of {name}", str(sql)
                if str(sql).upper().startswith("CREATE TABLE"):
                    rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()  # noqa: S608
                    yield name, "\n".join(_text(cell) for row in rows for cell in row)
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as connection:
            for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall():
                yield name, _said(connection.sql(f'FROM "{name}"').pl())


def _said(frame: pl.DataFrame) -> str:
    return "\n".join(_text(cell) for row in frame.iter_rows() for cell in row)


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
