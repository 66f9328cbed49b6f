"""The ledger's database: its tables, its connections, and the lock that serialises writers.

Here: columns and indexes, opening, read and write transactions, and error messages for a failing disk or file.
Not here: what the rows mean (`ledger/ledger.py`, `ledger/catalog.py`, `ledger/commits.py`).
"""

import errno
import math
import os
import re
import shutil
import sqlite3
import tempfile
import weakref
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import filelock
import sqlalchemy as sa
from polars.exceptions import ComputeError
from sqlalchemy.dialects import postgresql, sqlite

from memory_pipeline.ledger.disk import private, sync, writable
from memory_pipeline.schemas import Decisions, EventType

SCHEMA: Final = 5
"""Version of the tables below; a ledger with a higher version is refused, one with a lower version is upgraded."""

_EVENTS_3: Final = """CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, event_id TEXT NOT NULL, profile_id TEXT NOT NULL,
    event_type TEXT NOT NULL, occurred_at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, session_id TEXT,
    agent_id TEXT, user_id TEXT, instance_id TEXT, parent_event_id TEXT, memory_id TEXT, payload TEXT NOT NULL,
    UNIQUE (profile_id, event_id)
)"""
_UPGRADES: Final = {
    2: ("ALTER TABLE runs ADD COLUMN scope TEXT NOT NULL DEFAULT 'all'",),
    3: (  # an event's id is unique within its profile; SQLite changes a constraint only by copying the table
        "DROP INDEX events_by_memory",
        "DROP INDEX events_by_type",
        "DROP INDEX events_reverted",
        "ALTER TABLE events RENAME TO events_before",
        _EVENTS_3,
        "INSERT INTO events SELECT * FROM events_before ORDER BY seq",
        "DROP TABLE events_before",
        "CREATE INDEX events_by_memory ON events (profile_id, memory_id)",
        "CREATE INDEX events_by_type ON events (profile_id, event_type, seq)",
        "CREATE INDEX events_reverted ON events (seq) WHERE event_type = 'run.reverted'",
    ),
    4: ("ALTER TABLE runs ADD COLUMN version TEXT DEFAULT '' NOT NULL",),
    5: ("CREATE INDEX events_by_recording ON events (profile_id, recorded_at)",),
}
"""SQL that upgrades a ledger to a version from the version before it."""

WRITE_SECONDS: Final = 120.0
"""How long a writer waits for its turn."""

FILE_NAME: Final = "ledger.sqlite"
"""Name of the database's file in the data folder."""

_LOCK: Final = "ledger.lock"
"""Name of the file in the data folder whose lock serialises writers."""

_UNFINISHED: Final = ".ledger-"
"""How the names of folders begin in which a database is created."""

_PROFILE_LOCKS: Final = 64
"""Locks that all profiles share: those with the same hash share one."""

_POLL_SECONDS: Final = 0.005
_CACHE_KIB: Final = 65_536
_CHECKPOINT_PAGES: Final = 8_000
"""Size of the write-ahead log, in pages, at which it is copied into the database: 32 MB."""

METADATA: Final = sa.MetaData()

_BIG: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""64 bits in every database: SQLite autoincrements only columns declared INTEGER."""


def _text(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable, **options)


def _whole(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[int]:
    return sa.Column(name, _BIG, nullable=nullable, **options)


REVERTED: Final = sa.literal_column(f"'{EventType.RUN_REVERTED.value}'", sa.Text)
"""Event type of an undo as a literal: a partial index does not serve a query that compares with a parameter."""

EVENTS: Final = sa.Table(
    "events",
    METADATA,
    sa.Column("seq", _BIG, primary_key=True, autoincrement=True),
    _text("event_id"),
    _text("profile_id"),
    _text("event_type"),
    _whole("occurred_at"),
    _whole("recorded_at"),
    _text("session_id", nullable=True),
    _text("agent_id", nullable=True),
    _text("user_id", nullable=True),
    _text("instance_id", nullable=True),
    _text("parent_event_id", nullable=True),
    _text("memory_id", nullable=True),
    _text("payload"),
    sa.UniqueConstraint("profile_id", "event_id"),
    sa.Index("events_by_memory", "profile_id", "memory_id"),
    sa.Index("events_by_type", "profile_id", "event_type", "seq"),
    sa.Index("events_by_recording", "profile_id", "recorded_at"),
    sqlite_autoincrement=True,
)
"""Events. Instants are microseconds since 1970-01-01 UTC, here and below."""

_UNDOES: Final = EVENTS.c.event_type == REVERTED
sa.Index("events_reverted", EVENTS.c.seq, sqlite_where=_UNDOES, postgresql_where=_UNDOES)

DIGESTS: Final = sa.Table("digests", METADATA, _whole("seq", primary_key=True, autoincrement=False), _text("digest"))
"""Digests of the agents' events up to some positions, from which any later digest is computed quickly."""

RUNS: Final = sa.Table(
    "runs",
    METADATA,
    _text("profile_id", primary_key=True),
    _text("plan_id", primary_key=True),
    _text("run_id"),
    _text("task"),
    _text("scope", server_default="all"),
    _text("trigger"),
    _text("preset"),
    _text("policy_hash"),
    _whole("as_of"),
    _whole("base_seq"),
    _whole("commit_seq"),
    _whole("committed_at"),
    _text("outcome"),
    _whole("memories"),
    _whole("decisions"),
    _whole("held"),
    sa.Column("duration_seconds", sa.Double, nullable=False),
    _text("version", server_default=""),
)
"""One row a run and profile."""

DECISIONS: Final = sa.Table(
    "decisions",
    METADATA,
    _text("profile_id", primary_key=True),
    _text("decision_id", primary_key=True),
    *(
        _whole(name) if name in {"ordinal", "as_of", "seq"} else _text(name, nullable=column.nullable)
        for name, column in Decisions.columns().items()
        if name not in {"profile_id", "decision_id"}
    ),
    sa.ForeignKeyConstraint(["profile_id", "plan_id"], ["runs.profile_id", "runs.plan_id"]),
    sa.Index("decisions_by_plan", "profile_id", "plan_id"),
    sa.Index("decisions_by_seq", "profile_id", "seq"),
    sa.Index("decisions_by_instant", "as_of"),
)
"""Committed decisions, and those that the quota held back."""

FILES: Final = sa.Table(
    "files",
    METADATA,
    sa.Column("id", _BIG, primary_key=True, autoincrement=True),
    _whole("added_seq"),
    _whole("removed_seq", nullable=True),
    _text("table_name"),
    _whole("bucket"),
    _text("path", unique=True),
    _whole("rows"),
    _text("sha256"),
    sa.Index("files_by_table", "table_name", "removed_seq"),
    sqlite_autoincrement=True,
)
"""Catalogue of the lake: a file is visible from position `added_seq` until before `removed_seq`."""

DEAD_LETTERS: Final = sa.Table(
    "dead_letters",
    METADATA,
    _text("letter_id", primary_key=True),
    _whole("received_at"),
    _text("origin"),
    _text("reason"),
    sa.Column("raw", sa.LargeBinary, nullable=False),
)
"""Refused events."""

ATTEMPTS: Final = sa.Table(
    "attempts",
    METADATA,
    sa.Column("id", _BIG, primary_key=True, autoincrement=True),
    _text("run_id"),
    _text("instance"),
    _whole("started_at"),
    _text("phase"),
    _text("outcome"),
)
"""Attempts to commit, and their outcomes."""

META: Final = sa.Table("meta", METADATA, _text("key", primary_key=True), _text("value"))
"""Schema version, marks of the catalogue, and the pending erasure."""

_REMEDIES: Final = (
    ("lock", "another program holds the ledger; let it finish or end it, then try again"),
    ("full", "free some disk space, then try again; nothing was half written"),
    ("readonly", "make the folder and its files writable for this user"),
    ("unable to open", "check that the folder exists and is writable for this user"),
    ("malformed", "the ledger is damaged: replace ledger.sqlite with a backup"),
    ("no such table", "the file is empty or no ledger: replace ledger.sqlite with a backup"),
    ("not a database", "the file is not a ledger: replace ledger.sqlite with a backup"),
    ("disk i/o", "the disk failed: check its space and health, then try again"),
)
_SPARE_BYTES: Final = 1_000_000
"""Free space below which a failing disk is a full one."""
_SYSTEM_REMEDIES: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _REMEDIES[1][1]),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _REMEDIES[2][1]),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "the data folder's name is taken by a file; choose another folder"),
    errno.ENOENT: "a file of the lake is missing; `memory-pipeline doctor` says which and how to mend it",
}


MOVED: Final = ""
"""Stands in place of a payload that compaction moved to a file; no payload is empty, since no fields are `{}`."""


class UnknownMemory(ValueError):
    """No memory is stored under that id of a memory, user or profile."""


class LakeError(RuntimeError):
    """The store cannot be read or written; the message names the remedy."""


class MissingFile(LakeError):
    """A file of the lake is gone: lost, or replaced since it was looked up."""


@dataclass(frozen=True)
class Transaction:
    """An open transaction. Other rooms pass it on, so that several changes are one; only this room looks inside."""

    connection: sa.Connection


@contextmanager
def explained(home: Path) -> Iterator[None]:
    """Turn failures of disk, file and lock into a one-line error with a remedy.

    Raises:
        LakeError: a failure with a known remedy; others pass unchanged.
    """
    try:
        yield
    except filelock.Timeout as error:
        raise LakeError(f"{home}: the ledger stayed locked for too long: {_REMEDIES[0][1]}") from error
    except (sa.exc.OperationalError, sa.exc.DatabaseError) as error:
        cause = str(error.orig)
        remedy = next((remedy for sign, remedy in _REMEDIES if sign in cause.lower()), None)
        if remedy is None:
            raise
        if remedy == _REMEDIES[-1][1] and shutil.disk_usage(home).free < _SPARE_BYTES:  # no room for SQLite's own files
            cause, remedy = "database or disk is full", _REMEDIES[1][1]
        raise LakeError(f"{home}: {cause}: {remedy}") from error
    except (OSError, ComputeError) as error:
        cause, remedy, number = _cause_and_remedy(error)
        if remedy is None:
            raise
        kind = MissingFile if number == errno.ENOENT else LakeError
        raise kind(f"{home}: {cause}: {remedy}") from error


def database_problem(error: Exception) -> str | None:
    """Return what a database of another program said that is damaged, full or in use; None for any other error."""
    return str(error.orig) if isinstance(error, sa.exc.DatabaseError) else None


def _cause_and_remedy(error: OSError | ComputeError) -> tuple[str, str | None, int | None]:
    """Return the message of a file error, its remedy and its number, if known; Polars puts that into its message."""
    message = str(error).splitlines()[0]
    quoted = re.search(r"\(os error (\d+)\)", message)
    number = getattr(error, "errno", None) or (int(quoted[1]) if quoted else None)
    if number is None and isinstance(error, ComputeError):
        return message, "a file of the lake is damaged; `memory-pipeline doctor` says which and how to mend it", None
    return message, _SYSTEM_REMEDIES.get(number or 0), number


def insert_new(transaction: Transaction, table: sa.Table) -> sa.Insert:
    """Return an insert that skips rows whose key exists, in the dialect of the connection."""
    if transaction.connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def among(column: sa.Column[str], values: Collection[str] | None) -> sa.ColumnElement[bool]:
    """Return the condition that `column` is one of `values`, or no condition if `values` is None.

    Beyond a thousand values there is no condition either, since databases limit the number of parameters: callers
    filter the result again.
    """
    return sa.true() if values is None or len(values) > 1000 else column.in_(sorted(values))  # noqa: PLR2004


class Database:
    """Connections to `<home>/ledger.sqlite`, one pool a process; safe to share between threads and across a fork."""

    def __init__(self, home: Path, *, timeout: float = WRITE_SECONDS) -> None:
        """Open the database, creating it if it is missing.

        Args:
            home: data folder.
            timeout: seconds that a writer waits for its turn.

        Raises:
            LakeError: it cannot be opened, or was written by a newer version.
        """
        self.home = home.resolve()
        self.file = self.home / FILE_NAME
        self._timeout = timeout
        self._handles: dict[int, _Handle] = {}
        self._finalizer = weakref.finalize(self, _dispose, self._handles)
        with explained(self.home):
            private(self.home)
            if not self.file.exists():
                with self._handle.lock:
                    _create(self.file)
            self._opened = _identity(self.file)
        with self.reading() as transaction:
            version = _version(transaction)
        if version > SCHEMA:
            self.close()
            raise LakeError(
                f"{self.file}: its tables have version {version}, this program knows {SCHEMA}; upgrade memory-pipeline"
            )
        if version < SCHEMA:
            self._upgrade()

    def _upgrade(self) -> None:
        """Upgrade the tables to this version, unless another process has done so meanwhile."""
        with self.writing() as transaction:
            for number in range(_version(transaction) + 1, SCHEMA + 1):
                for statement in _UPGRADES[number]:
                    transaction.connection.exec_driver_sql(statement)
            transaction.connection.execute(META.update().where(META.c.key == "schema").values(value=str(SCHEMA)))

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that sees one state, whatever others commit meanwhile; it never waits for writers.

        Raises:
            LakeError: see `explained`.
        """
        self._check_place()
        with explained(self.home), self._handle.engine.connect() as connection:
            yield Transaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open the only transaction that may write; it commits at the end, and an exception rolls it back.

        Raises:
            LakeError: see `explained`.
        """
        handle = self._handle
        with (
            explained(self.home),
            handle.lock,
            handle.engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            self._check_place()
            yield Transaction(connection)

    def _check_place(self) -> None:
        """Refuse to go on with a file that is no longer the store's: what is written to it would be lost.

        Raises:
            LakeError: it was removed or replaced, as by a restore while a server runs.
        """
        if _identity(self.file) != self._opened:
            raise LakeError(
                f"{self.file} was removed or replaced while this program had it open; start the program again"
            )

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep all other writers out across several transactions.

        Raises:
            LakeError: see `explained`.
        """
        with explained(self.home), self._handle.lock:
            self._check_place()
            yield

    @contextmanager
    def holding(self, profiles: Collection[str]) -> Iterator[None]:
        """Keep others from changing memories of some profiles, even while others write; a dead process holds nothing.

        Take it before the lock of writers, never within. Cost: some 50 µs a profile.

        Raises:
            LakeError: see `explained`.
        """
        numbers = sorted({zlib.crc32(profile_id.encode()) % _PROFILE_LOCKS for profile_id in profiles})
        with ExitStack() as held:
            with explained(self.home):
                for number in numbers:
                    held.enter_context(self._profile_lock(number))
            yield

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Keep other erasures out; a dead process holds nothing.

        Raises:
            LakeError: see `explained`.
        """
        with ExitStack() as held:
            with explained(self.home):
                held.enter_context(self._lock(self.home / "erasure.lock"))
            yield

    def _profile_lock(self, number: int) -> filelock.BaseFileLock:
        locks = self._handle.profile_locks
        if number not in locks:
            folder = self.home / "locks"
            folder.mkdir(exist_ok=True)
            locks.setdefault(number, self._lock(folder / f"{number:02}.lock"))
        return locks[number]

    def _lock(self, file: Path) -> filelock.BaseFileLock:
        return filelock.FileLock(file, timeout=self._timeout, poll_interval=_POLL_SECONDS)

    def shrink(self) -> bool:
        """Rewrite the file without its free pages and empty its write-ahead log, unless the ledger is in use.

        Returns:
            Whether it was done: removed rows are then in neither file.

        Raises:
            LakeError: see `explained`.
        """
        with self.exclusive():
            raw = self._handle.engine.raw_connection()
            try:
                raw.cursor().execute("VACUUM")
                busy, *_ = raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError as error:
                if "lock" not in str(error):
                    raise
                return False
            finally:
                raw.close()
        return not busy

    def copy(self, file: Path) -> None:
        """Copy the database as it is at one moment to a new file; others may read and write meanwhile.

        Raises:
            LakeError: see `explained`.
        """
        with explained(self.home):
            raw = self._handle.engine.raw_connection()
            try:
                with closing(sqlite3.connect(file)) as target:
                    raw.driver_connection.backup(target)  # type: ignore[union-attr]
                sync(file)
            finally:
                raw.close()

    def problem(self) -> str | None:
        """Return the first problem that SQLite's quick check finds in the file, or None.

        Raises:
            LakeError: see `explained`.
        """
        with self.reading() as transaction:
            finding = str(transaction.connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
        return None if finding == "ok" else finding

    def remove_unfinished(self, *, before: float = math.inf) -> list[Path]:
        """Remove what crashes left of databases that were being created, if unchanged since `before` (Unix time)."""
        with explained(self.home):
            abandoned = [path for path in sorted(self.home.glob(f"{_UNFINISHED}*")) if _changed(path) < before]
            for path in abandoned:
                shutil.rmtree(path, ignore_errors=True)
        return abandoned

    def close(self) -> None:
        """Close this process's connections; the next use opens new ones."""
        _dispose(self._handles)

    @property
    def _handle(self) -> "_Handle":
        """Connections and lock of this process: a child must neither use nor close those of its parent."""
        handle = self._handles.get(os.getpid())
        if handle is None:
            lock = self._lock(self.home / _LOCK)
            handle = self._handles.setdefault(os.getpid(), _Handle(_engine(self.file), lock, {}))
        return handle


@dataclass(frozen=True)
class _Handle:
    """Connections and locks of one process."""

    engine: sa.Engine
    lock: filelock.BaseFileLock
    profile_locks: dict[int, filelock.BaseFileLock]


def _identity(file: Path) -> tuple[int, int] | None:
    """Return what identifies a file whatever its name, and as long as somebody has it open; None if it is missing."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _version(transaction: Transaction) -> int:
    return int(transaction.connection.scalar(sa.select(META.c.value).where(META.c.key == "schema")) or 0)


def _changed(folder: Path) -> float:
    """Return when a folder or a file in it was last written; infinity if it is gone."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.glob("*")))
    except FileNotFoundError:
        return math.inf


def _dispose(handles: dict[int, _Handle]) -> None:
    handle = handles.pop(os.getpid(), None)
    if handle is not None:
        handle.engine.dispose()


def _engine(file: Path) -> sa.Engine:
    engine = sa.create_engine(
        _url(file),
        pool_size=0,  # as many as threads read at once
        connect_args={"timeout": 30.0, "isolation_level": None},
    )

    @sa.event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")  # erased text must not survive on free pages
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # Python's driver begins a transaction only at the first write, so reads would not see one state.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _url(file: Path) -> sa.URL:
    """Return how to open a database; in a folder that cannot be written SQLite must be told so."""
    if not file.exists() or writable(file.parent):
        return sa.URL.create("sqlite", database=str(file))
    log = file.with_name(f"{file.name}-wal")
    mode = {"mode": "ro"} if log.exists() and log.stat().st_size else {"immutable": "1"}
    return sa.URL.create("sqlite", database=file.as_uri(), query={**mode, "uri": "true"})


@contextmanager
def beginning(home: Path) -> Iterator[None]:
    """Keep others from beginning a ledger in a folder that has none; they go on with the one that is there then.

    Raises:
        LakeError: see `explained`.
    """
    with ExitStack() as held:
        with explained(home):
            private(home)
            held.enter_context(filelock.FileLock(home / _LOCK, timeout=WRITE_SECONDS, poll_interval=_POLL_SECONDS))
        yield


def _create(file: Path) -> None:
    """Create an empty ledger aside and move it into place, so that nobody ever opens half of one."""
    if file.exists():
        return
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=file.parent) as folder:
        engine = _engine(Path(folder) / file.name)
        with engine.begin() as connection:
            METADATA.create_all(connection)
            connection.execute(META.insert().values(key="schema", value=str(SCHEMA)))
        raw = engine.raw_connection()
        raw.cursor().execute("PRAGMA journal_mode=WAL")
        raw.close()
        engine.dispose()
        (Path(folder) / file.name).rename(file)
    sync(file.parent)
