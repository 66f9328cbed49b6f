"""Parquet files of the lake: written aside, synced, named after their content, never changed.

Here: bytes on the disk. What is not here: which files are seen (`lake/catalog.py`) and what is in them
(`lake/tables.py`).
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl

from memory_pipeline.ledger.disk import aside, sync
from memory_pipeline.schemas import Table

_ROW_GROUP: Final = 65_536


@dataclass(frozen=True)
class Written:
    """A finished file that nobody sees yet."""

    path: Path
    """Where it is."""
    rows: int
    """How many rows it has."""
    sha256: str
    """SHA-256 of its bytes, 64 hex digits; equal for equal tables."""


def write(folder: Path, frame: pl.DataFrame) -> Written:
    """Write a frame to a new file in `folder`, named after its content and a random suffix, and sync it.

    The bytes depend on the rows alone: neither on threads nor on how the frame lies in memory. Polars writes strings
    with a dictionary where that is smaller, and floats, hence vectors, always plainly.
    """
    with aside(folder) as path:
        _put(frame, path)
        digest = checksum(path)
        final = folder / f"{digest[:16]}-{secrets.token_hex(4)}.parquet"
        path.rename(final)
    sync(folder)
    return Written(final, frame.height, digest)


def replace(path: Path, frame: pl.DataFrame) -> None:
    """Write a frame to `path` in one step: a reader finds the old file, the new one, or none, but never a part."""
    with aside(path.parent) as unfinished:
        _put(frame, unfinished)
        unfinished.replace(path)
    sync(path.parent)


def collect(
    paths: Sequence[Path], table: Table, *conditions: pl.Expr, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return the rows of files that fulfil the conditions; columns that an older file lacks are null.

    Args:
        paths: the files; none gives the empty table.
        table: what the files hold.
        conditions: looked up in the files' statistics first, so that a file that has no such row is hardly read.
        columns: which columns to read; default all.
    """
    if not paths:
        return table.empty().select(columns or pl.all())
    rows = pl.scan_parquet(
        list(paths),
        schema=_types(table),
        missing_columns="insert",
        extra_columns="ignore",
        glob=False,
        hive_partitioning=False,
    )
    return rows.filter(*conditions).select(columns or pl.all()).collect()


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _types(table: Table) -> pl.Schema:
    return table.empty().schema


def _put(frame: pl.DataFrame, path: Path) -> None:
    frame.rechunk().write_parquet(path, compression="zstd", compression_level=1, row_group_size=_ROW_GROUP)
    sync(path)
