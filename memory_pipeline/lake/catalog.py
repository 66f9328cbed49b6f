"""The catalogue of the lake: which files make up a table at a ledger position.

A file is seen from `added_seq` on and before `removed_seq`. Files are added and removed in the same transaction as the
events that caused it, so that all tables change at once. What is not here: reading and writing the files.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.lake.files import Written
from memory_pipeline.ledger.database import FILES, META, LakeError


class Mark(StrEnum):
    """A position that the catalogue keeps."""

    PROJECTED = "projected"
    """Up to where the table `events` holds the ledger."""
    OLDEST = "oldest"
    """From where on tables can be read as they were."""
    ERASED = "erased"
    """Where the last erasure stands in the ledger: whoever keeps a text from before it lets go of it."""


@dataclass(frozen=True)
class File:
    """A file of a table."""

    id: int
    added_seq: int
    removed_seq: int | None
    table_name: str
    bucket: int
    """0: rows of any profile; n > 0: rows of the profiles of that bucket."""
    path: Path
    """Relative to the data folder."""
    rows: int
    sha256: str


_FILE: Final = [FILES.c[name] for name in File.__dataclass_fields__]


def visible(connection: sa.Connection, table_name: str, seq: int | None = None) -> list[File]:
    """Return the files of a table as of a position, default the newest, in the order of their making."""
    if seq is None:
        seen: sa.ColumnElement[bool] = FILES.c.removed_seq.is_(None)
    else:
        seen = (FILES.c.added_seq <= seq) & (FILES.c.removed_seq.is_(None) | (FILES.c.removed_seq > seq))
    query = sa.select(*_FILE).where(FILES.c.table_name == table_name, seen).order_by(FILES.c.id)
    return [_file(row) for row in connection.execute(query)]


def every(connection: sa.Connection) -> list[File]:
    """Return all files that are seen at any position."""
    return [_file(row) for row in connection.execute(sa.select(*_FILE).order_by(FILES.c.id))]


def referenced(connection: sa.Connection, paths: Collection[str]) -> set[str]:
    """Return those of the given paths that the catalogue names."""
    return set(connection.scalars(sa.select(FILES.c.path).where(FILES.c.path.in_(paths))))


def still_visible(connection: sa.Connection, files: Collection[File]) -> bool:
    """Say whether nobody has removed any of the files."""
    ids = [file.id for file in files]
    query = sa.select(sa.func.count()).where(FILES.c.id.in_(ids), FILES.c.removed_seq.is_(None))
    return connection.scalars(query).one() == len(ids)


def add(connection: sa.Connection, table_name: str, written: Written, home: Path, *, seq: int, bucket: int = 0) -> None:
    """Let a file be seen from position `seq` on.

    Raises:
        LakeError: the file is gone: a sweep that allowed no time for unfinished work has removed it.
    """
    if not written.path.is_file():
        raise LakeError(f"{written.path} was swept before it could be published; try again, and sweep older files only")
    connection.execute(
        FILES.insert().values(
            added_seq=seq,
            table_name=table_name,
            bucket=bucket,
            path=written.path.relative_to(home).as_posix(),
            rows=written.rows,
            sha256=written.sha256,
        )
    )


def remove(connection: sa.Connection, files: Iterable[File], *, seq: int) -> None:
    """Let files be seen no longer from position `seq` on; before it they stay."""
    ids = [file.id for file in files]
    connection.execute(FILES.update().where(FILES.c.id.in_(ids)).values(removed_seq=seq))


def forget(connection: sa.Connection, gone: Iterable[File], home: Path) -> None:
    """Let files be seen at no position any more. A sweep spares them for a while: somebody may be reading them."""
    for file in gone:
        with suppress(FileNotFoundError):
            os.utime(home / file.path)
        connection.execute(FILES.delete().where(FILES.c.id == file.id))


def replaced_before(connection: sa.Connection, seq: int) -> list[File]:
    """Return the files that are seen only before a position."""
    query = sa.select(*_FILE).where(FILES.c.removed_seq <= seq).order_by(FILES.c.id)
    return [_file(row) for row in connection.execute(query)]


def marked(connection: sa.Connection, mark: Mark) -> int:
    """Return a kept position; 0 at first."""
    return int(connection.scalar(sa.select(META.c.value).where(META.c.key == mark)) or 0)


def keep_from(connection: sa.Connection, seq: int) -> None:
    """Say from which position on tables can be read as they were; it never goes back."""
    set_mark(connection, Mark.OLDEST, max(seq, marked(connection, Mark.OLDEST)))


def set_mark(connection: sa.Connection, mark: Mark, seq: int) -> None:
    """Keep a position."""
    connection.execute(META.delete().where(META.c.key == mark))
    connection.execute(META.insert().values(key=mark.value, value=str(seq)))


def _file(row: Sequence[Any]) -> File:
    number, added_seq, removed_seq, table_name, bucket, path, rows, sha256 = row
    return File(number, added_seq, removed_seq, table_name, bucket, Path(path), rows, sha256)
