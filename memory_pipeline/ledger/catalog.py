"""The catalogue of the lake: which files make up a table at a ledger position.

A file is visible from `added_seq` until before `removed_seq`. Files are added and removed in the transaction that
writes the events of the change, so that all tables change at once; so does the catalogue for other programs
(`ledger/ducklake.py`).
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from memory_pipeline.ledger import ducklake
from memory_pipeline.ledger.database import LakeError, Transaction
from memory_pipeline.ledger.statements import note, noted
from memory_pipeline.ledger.tables import FILES, File


class Mark(StrEnum):
    """A ledger position with a meaning of its own."""

    PROJECTED = "projected"
    """The table `events` holds the ledger up to here."""
    OLDEST = "oldest"
    """Tables can be read as of any position from here on."""
    ERASED = "erased"
    """Position of the last erasure: caches of text from before it must be dropped."""


@dataclass(frozen=True)
class NewFile:
    """A complete file that the catalogue does not list yet."""

    key: str
    """Key in the object store."""
    rows: int
    """Number of rows."""
    sha256: str
    """SHA-256 of its bytes, 64 hex digits; equal for equal tables."""
    size: int
    """Number of bytes."""


_LOST: Final = "lost"
"""Key in the table `meta`: tables of which files were forgotten and not made again yet."""

_GONE: Final = "gone"
"""Key in the table `meta`: how many rows of which tables were lost for good."""

_COLUMNS: Final = [FILES.c["path" if name == "key" else name] for name in File.__dataclass_fields__]


def visible(transaction: Transaction, table_name: str, seq: int | None = None) -> list[File]:
    """Return the files of a table as of a position, by default the newest, in the order in which they were added."""
    if seq is None:
        condition: sa.ColumnElement[bool] = FILES.c.removed_seq.is_(None)
    else:
        condition = (FILES.c.added_seq <= seq) & (FILES.c.removed_seq.is_(None) | (FILES.c.removed_seq > seq))
    return _files(transaction, FILES.c.table_name == table_name, condition)


def visible_by_table(transaction: Transaction, table_names: Collection[str]) -> dict[str, list[File]]:
    """Return the newest files of some tables, each table's in the order in which they were added; one statement."""
    found: dict[str, list[File]] = {name: [] for name in table_names}
    for file in _files(transaction, FILES.c.table_name.in_(list(found)), FILES.c.removed_seq.is_(None)):
        found[file.table_name].append(file)
    return found


def every(transaction: Transaction) -> list[File]:
    """Return all files that are visible at any position."""
    return _files(transaction)


def keys_in(file: Path) -> set[str]:
    """Return the keys that a copy of a ledger catalogues; the copy may be of an older version and is not changed.

    Raises LakeError: it is not a ledger, or damaged.
    """
    try:
        # Immutable: SQLite creates no log beside the file, which may be on a read-only medium.
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            return {str(key) for (key,) in connection.execute("SELECT path FROM files")}
    except sqlite3.Error as error:
        raise LakeError(f"{file}: {error}: it is damaged or not a ledger; name another backup") from error


def replaced_before(transaction: Transaction, seq: int) -> list[File]:
    """Return the files that are visible only before a position."""
    return _files(transaction, FILES.c.removed_seq <= seq)


def listed(transaction: Transaction, keys: Collection[str]) -> set[str]:
    """Return those of some keys that the catalogue lists."""
    return set(transaction.connection.scalars(sa.select(FILES.c.path).where(FILES.c.path.in_(keys))))


def still_visible(transaction: Transaction, files: Collection[File]) -> bool:
    """Return whether none of the files has been removed."""
    ids = [file.id for file in files]
    query = sa.select(sa.func.count()).where(FILES.c.id.in_(ids), FILES.c.removed_seq.is_(None))
    return transaction.connection.scalars(query).one() == len(ids)


def add(transaction: Transaction, files: Sequence[tuple[str, int, NewFile]], *, seq: int) -> None:
    """Make files, each with its table and bucket, visible from position `seq` on."""
    if not files:
        return
    rows = [
        {
            "added_seq": seq,
            "table_name": table_name,
            "bucket": bucket,
            "path": file.key,
            "rows": file.rows,
            "sha256": file.sha256,
        }
        for table_name, bucket, file in files
    ]
    insert = FILES.insert().returning(*_COLUMNS, sort_by_parameter_order=True)
    added = [File(*row) for row in transaction.connection.execute(insert, rows)]
    ducklake.add(transaction, added, sizes=[file.size for *_, file in files], seq=seq)


def remove(transaction: Transaction, files: Iterable[File], *, seq: int) -> None:
    """Hide files from position `seq` on; before it they stay visible."""
    if ids := [file.id for file in files]:
        transaction.connection.execute(FILES.update().where(FILES.c.id.in_(ids)).values(removed_seq=seq))
        ducklake.remove(transaction, ids, seq=seq)


def forget(transaction: Transaction, files: Iterable[File]) -> None:
    """Drop files from the catalogue, so that they are visible at no position."""
    for file in files:
        transaction.connection.execute(FILES.delete().where(FILES.c.id == file.id))
        ducklake.forget(transaction, file.id)


def lost(transaction: Transaction) -> list[str]:
    """Return the tables that lack rows since damaged files of them were forgotten; sorted."""
    return list(json.loads(noted(transaction, _LOST) or "[]"))


def set_lost(transaction: Transaction, table_names: Collection[str]) -> None:
    """Note which tables lack rows; none once they have been made again."""
    note(transaction, _LOST, json.dumps(sorted(table_names)) if table_names else None)


def gone(transaction: Transaction) -> dict[str, int]:
    """Return how many rows of which tables were lost for good: files held them that nothing can make again."""
    return dict(json.loads(noted(transaction, _GONE) or "{}"))


def add_gone(transaction: Transaction, rows: Mapping[str, int]) -> None:
    """Note that rows of tables are lost for good."""
    if rows:
        before = gone(transaction)
        total = before | {name: before.get(name, 0) + lost for name, lost in rows.items()}
        note(transaction, _GONE, json.dumps(total, sort_keys=True))


def mark(transaction: Transaction, name: Mark) -> int:
    """Return a marked position; 0 before it is set."""
    return int(noted(transaction, name.value) or 0)


def set_mark(transaction: Transaction, name: Mark, seq: int) -> None:
    """Mark a position."""
    note(transaction, name.value, str(seq))


def raise_oldest(transaction: Transaction, seq: int) -> None:
    """Move the oldest readable position to `seq`; it never moves back."""
    oldest = max(seq, mark(transaction, Mark.OLDEST))
    set_mark(transaction, Mark.OLDEST, oldest)
    ducklake.expire(transaction, oldest)


def _files(transaction: Transaction, *conditions: sa.ColumnElement[bool]) -> list[File]:
    query = sa.select(*_COLUMNS).where(*conditions).order_by(FILES.c.id)
    return [File(*row) for row in transaction.connection.execute(query)]
