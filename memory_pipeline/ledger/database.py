"""The ledger's database: what opening it, its transactions and its locks guarantee, wherever it is kept.

Not here: its tables (`ledger/tables.py`), SQLite and PostgreSQL themselves (`ledger/sqlite_database.py`,
`ledger/postgres_database.py`), and what the rows mean (`ledger/ledger.py`).
"""

import errno
import math
import os
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import filelock
import sqlalchemy as sa
from polars.exceptions import ComputeError

from memory_pipeline.ledger.disk import private
from memory_pipeline.ledger.tables import META, SCHEMA, UPGRADES

WRITE_SECONDS: Final = 120.0
"""How long a writer waits for its turn."""

WRITERS: Final = 0
"""Number of the lock that writers hold."""

ERASURES: Final = 1
"""Number of the lock that erasures hold."""

_PROFILES: Final = 2
"""Number of the first lock of profiles."""

_PROFILE_LOCKS: Final = 64
"""Locks that all profiles share: those with the same hash share one."""

_LOCKED: Final = "another program holds the ledger; let it finish or end it, then try again"
ROOM: Final = "free some disk space or inodes"
_FULL: Final = f"{ROOM}, then try again"
_UNWRITABLE: Final = "make the folder and its files writable for this user"
_UNREACHABLE: Final = "check the setting ledger, and that the server runs and takes this user"
_FAILED: Final = "the disk failed: check its space and health, then try again"
_CLOSED: Final = "check that the folder exists and is writable for this user"
_REMEDIES: Final = (
    ("failed to resolve host", _UNREACHABLE),  # these two first: they quote names, in which other signs may stand
    ("connect", _UNREACHABLE),
    ("lock", _LOCKED),
    ("full", _FULL),
    ("readonly", _UNWRITABLE),
    ("unable to open", _CLOSED),
    ("malformed", "the ledger is damaged: replace ledger.sqlite with a backup"),
    ("no such table", "the file is empty or no ledger: replace ledger.sqlite with a backup"),
    ("not a database", "the file is not a ledger: replace ledger.sqlite with a backup"),
    ("no space left", "free some disk space on the server, then try again"),
    ("read-only", "name the primary server in the setting ledger: this one is a replica"),
    ("permission denied", "let this user create and change tables in its schema"),
    ("already exists", "the schema has tables of another program: give the ledger a database of its own"),
    ("nul (0x00)", "leave the character out: PostgreSQL cannot store it"),
    ("disk i/o", _FAILED),
)
TIMED_OUT: Final = "lock timeout"
"""Part of PostgreSQL's message when a lock is not released in time."""
_SPARE_BYTES: Final = 1_000_000
"""Free space below which a failing disk is a full one."""
_SPARE_INODES: Final = 3
"""Free inodes below which it is: SQLite's own files beside a database."""
_SYSTEM_REMEDIES: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _UNWRITABLE),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "the data folder's name is taken by a file; choose another folder"),
    **dict.fromkeys(
        (errno.EMFILE, errno.ENFILE), "too many files are open; raise the limit (ulimit -n), then try again"
    ),
    errno.ENOENT: "a file of the lake is missing; `memory-pipeline doctor` says which and how to repair it",
}


class UnknownMemory(ValueError):
    """No memory is stored under that id of a memory, user or profile."""


class LakeError(RuntimeError):
    """The store cannot be read or written; the message names the remedy."""


class LostConnection(LakeError):
    """The connection to the ledger's server was lost; it is unknown whether the last commit succeeded."""


class MissingFile(LakeError):
    """A file of the lake is gone: lost, or replaced since it was looked up."""


@dataclass(frozen=True)
class Transaction:
    """An open transaction. Other rooms pass it on, so that several changes are one; only this room looks inside."""

    connection: sa.Connection


@contextmanager
def explained(home: Path) -> Iterator[None]:
    """Turn failures of disk, file and lock into a one-line error with a remedy.

    Raises LakeError: a failure with a known remedy; others pass unchanged.
    """
    try:
        yield
    except filelock.Timeout as error:
        raise LakeError(f"{home}: the ledger stayed locked for too long: {_LOCKED}") from error
    except (sa.exc.OperationalError, sa.exc.DatabaseError) as error:
        cause = " ".join(str(error.orig).split())
        if error.connection_invalidated:
            raise LostConnection(f"{home}: the connection to the ledger's server was lost: try again") from error
        remedy = next((remedy for sign, remedy in _REMEDIES if sign in cause.lower()), None)
        if remedy is None:
            raise
        if TIMED_OUT in cause:
            cause = "the ledger stayed locked for too long"
        if remedy in (_FAILED, _CLOSED) and full(home):  # no room for SQLite's own files
            cause, remedy = "database or disk is full", _FULL
        raise LakeError(f"{home}: {cause}: {remedy}") from error
    except (OSError, ComputeError) as error:
        cause, remedy, number = _cause_and_remedy(error)
        if remedy is None:
            raise
        kind = MissingFile if number == errno.ENOENT else LakeError
        raise kind(f"{home}: {cause}: {remedy}") from error


def full(home: Path) -> bool:
    """Return whether the disk of a folder has hardly a byte or an inode left; where none are counted, 0 of 0."""
    if not home.is_dir():
        return False
    disk = os.statvfs(home)
    return disk.f_bavail * disk.f_frsize < _SPARE_BYTES or (disk.f_files > 0 and disk.f_favail < _SPARE_INODES)


def database_problem(error: Exception) -> str | None:
    """Return the message of a database of another program that is damaged, full or in use; None for other errors."""
    return str(error.orig) if isinstance(error, sa.exc.DatabaseError) else None


def _cause_and_remedy(error: OSError | ComputeError) -> tuple[str, str | None, int | None]:
    """Return the message of a file error, its remedy and its number, if known; Polars puts that into its message."""
    message = str(error).splitlines()[0]
    quoted = re.search(r"\(os error (\d+)\)", message)
    number = getattr(error, "errno", None) or (int(quoted[1]) if quoted else None)
    if number is None and isinstance(error, ComputeError):
        return message, "a file of the lake is damaged; `memory-pipeline doctor` says which and how to mend it", None
    return message, _SYSTEM_REMEDIES.get(number or 0), number


def among(column: sa.Column[str], values: Collection[str] | None) -> sa.ColumnElement[bool]:
    """Return the condition that `column` is one of `values`, or no condition if `values` is None.

    Beyond a thousand values there is no condition either, since databases limit the number of parameters: callers
    filter the result again.
    """
    return sa.true() if values is None or len(values) > 1000 else column.in_(sorted(values))  # noqa: PLR2004


class Database(ABC):
    """The database of one store; safe to share between threads and across a fork. Methods raise as `explained` does.

    Attributes:
        home: data folder.
        name: its name in messages: the name of its file, or its address without a password.
        files: paths of its files in the data folder.
        beyond_erasure: where the server may keep erased texts that no statement reaches.
    """

    home: Path
    name: str
    files: tuple[Path, ...] = ()
    beyond_erasure: tuple[str, ...] = ()

    def __init__(self, home: Path, *, timeout: float = WRITE_SECONDS) -> None:
        """Open the database, creating it if it is missing; `timeout` is how many seconds a writer waits for its turn.

        Raises LakeError: it cannot be opened, or was written by a newer version.
        """
        self.home = home.resolve()
        self._timeout = timeout
        with explained(self.home):
            private(self.home)
            self._open()
        with self.reading() as transaction:
            version = _version(transaction)
        if version > SCHEMA:
            self.close()
            raise LakeError(
                f"{self}: its tables have version {version}, this program reads up to {SCHEMA}; upgrade memory-pipeline"
            )
        if version < SCHEMA:
            self._upgrade()

    def _upgrade(self) -> None:
        """Upgrade the tables to this version, unless another process has done so meanwhile."""
        with self.writing() as transaction:
            for number in range(_version(transaction) + 1, SCHEMA + 1):
                for statement in UPGRADES[number]:
                    transaction.connection.exec_driver_sql(statement)
            transaction.connection.execute(META.update().where(META.c.key == "schema").values(value=str(SCHEMA)))

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that sees one state, whatever others commit meanwhile; it never waits for writers."""
        with explained(self.home), self._reading() as connection:
            yield Transaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open the only transaction that may write; it commits at the end, and an exception rolls it back."""
        with explained(self.home), self._writing() as connection:
            yield Transaction(connection)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep all other writers out across several transactions."""
        with explained(self.home), self._lock(WRITERS):
            self._check_place()
            yield

    @contextmanager
    def holding(self, profiles: Collection[str]) -> Iterator[None]:
        """Keep others from changing memories of some profiles, even while others write; a dead process holds nothing.

        Take it before the lock of writers, never within. Cost: some 50 µs per profile.
        """
        numbers = sorted({zlib.crc32(profile_id.encode()) % _PROFILE_LOCKS for profile_id in profiles})
        with ExitStack() as held:
            with explained(self.home):
                for number in numbers:
                    held.enter_context(self._lock(_PROFILES + number))
            yield

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Keep other erasures out; a dead process holds nothing."""
        with ExitStack() as held:
            with explained(self.home):
                held.enter_context(self._lock(ERASURES))
            yield

    def remove_unfinished(self, *, before: float = math.inf) -> list[Path]:  # noqa: ARG002 - not every kind leaves any
        """Remove what crashes left of databases that were being created, if unchanged since `before` (Unix time)."""
        return []

    @abstractmethod
    def __str__(self) -> str:
        """Return where it is, without a password."""

    @abstractmethod
    def shrink(self) -> bool:
        """Reclaim the space of removed rows, unless the ledger is in use; return whether it was done."""

    def purge(self) -> bool:
        """Remove all traces of deleted or changed rows from its files, unless it is in use; return whether it did."""
        return self.shrink()

    @abstractmethod
    def copy(self, file: Path) -> None:
        """Copy the database as it is at one moment to a new SQLite file; others may read and write meanwhile."""

    @abstractmethod
    def problem(self) -> str | None:
        """Return the first problem that a quick check finds, or None."""

    @abstractmethod
    def close(self) -> None:
        """Close this process's connections; the next use opens new ones."""

    @abstractmethod
    def _open(self) -> None:
        """Create the tables if there are none, and remember which database was opened."""

    @abstractmethod
    def _check_place(self) -> None:
        """Refuse a database that was removed or replaced, as by a restore: anything written to it would be lost."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sa.Connection]:
        """Open a transaction for `reading`."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[sa.Connection]:
        """Open a transaction for `writing`."""

    @abstractmethod
    def _lock(self, number: int) -> AbstractContextManager[object]:
        """Hold a lock that a thread may take again while it holds it."""


def _version(transaction: Transaction) -> int:
    return int(transaction.connection.scalar(sa.select(META.c.value).where(META.c.key == "schema")) or 0)
