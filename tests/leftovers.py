"""Where a word is still to be found in a data folder: every file, by its own reader and byte by byte.

A kind of file that has no reader here fails, so that a new one cannot be forgotten.
"""

import gzip
import json
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl

PLAIN = {"", ".err", ".lock", ".log", ".md", ".out", ".txt", ".yaml"}
"""Endings of files that are lines of text, or empty."""
BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files beside a database, which is read through them; they themselves are searched as bytes."""


class UnknownKind(Exception):
    """A file of a kind that nothing here reads."""


def found(home: Path, *words: str) -> list[str]:
    """Name every file, and place within it, that holds one of the words in any case.

    Raises:
        UnknownKind: a file has no reader.
    """
    forms = {form for word in words for form in (word.lower(), _double(word.lower()))}
    return [
        f"{path.relative_to(home)}: {place}"
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.is_symlink()
        for place, text in (*read(path), ("name", path.name), ("bytes", path.read_bytes().decode("latin-1")))
        if (low := text.lower()) and any(form in low for form in forms)
    ]


def _double(word: str) -> str:
    """A word as UTF-8 bytes that were read as Latin-1."""
    return word.encode().decode("latin-1").lower()


def read(path: Path) -> Iterator[tuple[str, str]]:
    """Yield what a file says, table by table.

    Raises:
        UnknownKind: nothing here reads it.
    """
    data = path.read_bytes()
    reader = next((reader for fits, reader in READERS if fits(path, data)), None)
    if reader is None:
        raise UnknownKind(
            f"{path} is of a kind that tests/leftovers.py cannot read: teach it, or erasure is not proven"
        )
    yield from reader(path, data)


def _parquet(path: Path, _: bytes) -> Iterator[tuple[str, str]]:
    yield "parquet", _said(pl.read_parquet(path))


def _sqlite(path: Path, _: bytes) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master").fetchall():
            yield f"schema of {name}", str(sql)
            if str(sql).upper().startswith("CREATE TABLE"):
                rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()  # noqa: S608
                yield name, "\n".join(_text(cell) for row in rows for cell in row)


def _duckdb(path: Path, _: bytes) -> Iterator[tuple[str, str]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall():
            yield name, _said(connection.sql(f'FROM "{name}"').pl())
        macros = connection.execute("SELECT macro_definition FROM duckdb_functions() WHERE NOT internal").fetchall()
        yield "macros", str(macros)


def _gzip(_: Path, data: bytes) -> Iterator[tuple[str, str]]:
    yield "gzip", gzip.decompress(data).decode("utf-8", "replace")


def _json(path: Path, data: bytes) -> Iterator[tuple[str, str]]:
    for line in [data] if path.suffix == ".json" else data.splitlines():
        yield "json", "\n".join(_leaves(json.loads(line)))


def _toml(_: Path, data: bytes) -> Iterator[tuple[str, str]]:
    yield "toml", "\n".join(_leaves(tomllib.loads(data.decode())))


def _plain(_: Path, data: bytes) -> Iterator[tuple[str, str]]:
    yield "text", data.decode("utf-8", "replace")


READERS = (
    (lambda _, data: data.startswith(b"PAR1"), _parquet),
    (lambda _, data: data.startswith(b"SQLite format 3"), _sqlite),
    (lambda _, data: data[8:12] == b"DUCK", _duckdb),
    (lambda _, data: data.startswith(b"\x1f\x8b"), _gzip),
    (lambda path, _: path.suffix in {".json", ".jsonl"}, _json),
    (lambda path, _: path.suffix == ".toml", _toml),
    (lambda path, data: not data or path.suffix in PLAIN or path.name.endswith(BESIDE), _plain),
)
"""What recognises a file by its path and bytes, and what reads it."""


def _leaves(document: object) -> Iterator[str]:
    """Yield keys and values of a document, without escapes."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from (str(key), *_leaves(value))
    elif isinstance(document, list):
        for value in document:
            yield from _leaves(value)
    else:
        yield str(document)


def _said(frame: pl.DataFrame) -> str:
    return "\n".join(_text(cell) for row in frame.iter_rows() for cell in row)


def _text(cell: object) -> str:
    """What a cell says; of one that holds a document, also without its escapes."""
    said = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
    if "\\" in said and said.lstrip()[:1] in {"{", "["}:
        try:
            return "\n".join((said, *_leaves(json.loads(said))))
        except ValueError:
            return said
    return said
