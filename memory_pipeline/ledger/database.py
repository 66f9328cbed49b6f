"""The ledger's database: its tables, its connections, and the one lock that puts writers in line.

Here: columns and indexes, opening, read and write transactions, and what is said when the disk or the file fails.
What is not here: what the rows mean (`ledger/ledger.py`, `lake/catalog.py`, `ledger/commits.py`).
"""

import errno
import os
import re
import sqlite3
import tempfile
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import filelock
import sqlalchemy as sa
from polars.exceptions import ComputeError
from sqlalchemy.dialects import postgresql, sqlite

from memory_pipeline.ledger.disk import sync
from memory_pipeline.schemas import Decisions, EventType

SCHEMA: Final = 2
"""Version of the tables below; a ledger of a higher one is refused, one of a lower one is brought to it."""

_UPGRADES: Final = {2: "ALTER TABLE runs ADD COLUMN scope TEXT NOT NULL DEFAULT 'all'"}
"""What makes a ledger one of a version, from the one before."""

WRITE_SECONDS: Final = 120.0
"""How long a writer waits for the one before it."""

_POLL_SECONDS: Final = 0.005
_CACHE_KIB: Final = 65_536
_CHECKPOINT_PAGES: Final = 8_000
"""Pages of the write-ahead log that are moved into the database at once: 32 MB."""

METADATA: Final = sa.MetaData()

_BIG: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""64 bits everywhere: SQLite numbers rows only in a column of type INTEGER."""


def _text(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable, **options)


def _whole(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[int]:
    return sa.Column(name, _BIG, nullable=nullable, **options)


REVERTED: Final = sa.literal_column(f"'{EventType.RUN_REVERTED.value}'", sa.Text)
"""Type of an undo, written out, since an index over part of a table serves no query with a parameter in its place."""

EVENTS: Final = sa.Table(
    "events",
    METADATA,
    sa.Column("seq", _BIG, primary_key=True, autoincrement=True),
    _text("event_id", unique=True),
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
    sa.Index("events_by_memory", "profile_id", "memory_id"),
    sa.Index("events_by_type", "profile_id", "event_type", "seq"),
    sqlite_autoincrement=True,
)
"""What happened. Instants are microseconds since 1970-01-01 UTC, here and below."""

_UNDOES: Final = EVENTS.c.event_type == REVERTED
sa.Index("events_reverted", EVENTS.c.seq, sqlite_where=_UNDOES, postgresql_where=_UNDOES)

DIGESTS: Final = sa.Table("digests", METADATA, _whole("seq", primary_key=True, autoincrement=False), _text("digest"))
"""Digest of the agents' events up to some positions, so that any later one is near."""

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
)
"""What each run did for each profile."""

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
"""What was committed, and what the quota held back."""

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
"""The catalogue of the lake: a file is seen from position `added_seq` on and before `removed_seq`."""

LETTERS: Final = sa.Table(
    "dead_letters",
    METADATA,
    _text("letter_id", primary_key=True),
    _whole("received_at"),
    _text("origin"),
    _text("reason"),
    sa.Column("raw", sa.LargeBinary, nullable=False),
)
"""Events that were refused."""

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
"""Who tried to change the tables, and how it ended."""

META: Final = sa.Table("meta", METADATA, _text("key", primary_key=True), _text("value"))
"""Version of the tables, position of the projection."""

_REMEDIES: Final = (
    ("lock", "another program holds the ledger; let it finish or end it, then try again"),
    ("full", "free some disk space, then try again; nothing was half written"),
    ("readonly", "make the folder and its files writable for this user"),
    ("unable to open", "check that the folder exists and is writable for this user"),
    ("malformed", "the ledger is damaged: put a backup of ledger.sqlite in its place"),
    ("not a database", "the file is no ledger: put a backup of ledger.sqlite in its place"),
    ("disk i/o", "the disk failed: check its space and health, then try again"),
)
_SYSTEM_REMEDIES: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _REMEDIES[1][1]),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _REMEDIES[2][1]),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "the data folder's name is taken by a file; choose another folder"),
    errno.ENOENT: "a file of the lake is missing; `memory-pipeline doctor` says which and how to mend it",
}


MOVED: Final = ""
"""Stands in place of a payload that compaction moved to a file; no payload is empty, since no fields are `{}`."""


class UnknownMemory(ValueError):
    """Nothing is remembered under that id: of a memory, a person or a profile."""


class LakeError(RuntimeError):
    """The store cannot be read or written; the message says what to do about it."""


@contextmanager
def explained(home: Path) -> Iterator[None]:
    """Turn failures of disk, file and lock into one line with a remedy.

    Raises:
        LakeError: what failed and what to do about it.
    """
    try:
        yield
    except filelock.Timeout as error:
        raise LakeError(f"{home}: the ledger stayed locked for too long: {_REMEDIES[0][1]}") from error
    except (sa.exc.OperationalError, sa.exc.DatabaseError) as error:
        said = str(error.orig)
        remedy = next((remedy for sign, remedy in _REMEDIES if sign in said.lower()), None)
        if remedy is None:
            raise
        raise LakeError(f"{home}: {said}: {remedy}") from error
    except (OSError, ComputeError) as error:
        said, remedy = _unreadable(error)
        if remedy is None:
            raise
        raise LakeError(f"{home}: {said}: {remedy}") from error


def _unreadable(error: OSError | ComputeError) -> tuple[str, str | None]:
    """Return what the system, or Polars in its words, says of a file, and the remedy if there is one."""
    said = str(error).splitlines()[0]
    spoken = re.search(r"\(os error (\d+)\)", said)
    number = getattr(error, "errno", None) or (int(spoken[1]) if spoken else None)
    if number is None and isinstance(error, ComputeError):
        return said, "a file of the lake is damaged; `memory-pipeline doctor` says which and how to mend it"
    return said, _SYSTEM_REMEDIES.get(number or 0)


def insert_new(connection: sa.Connection, table: sa.Table) -> sa.Insert:
    """Return an insert that skips rows whose key is there already, in the dialect of the connection."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def among(column: sa.Column[str], values: Collection[str] | None) -> sa.ColumnElement[bool]:
    """Return the condition that `column` is one of `values`; None is no condition.

    Past a thousand values it is none either, since databases bound the number of parameters: callers filter again.
    """
    return sa.true() if values is None or len(values) > 1000 else column.in_(sorted(values))  # noqa: PLR2004


class Database:
    """Connections to `<home>/ledger.sqlite`, one pool a process; safe to share between threads and across a fork."""

    def __init__(self, home: Path, *, timeout: float = WRITE_SECONDS) -> None:
        """Open the database, after making it if it is not there.

        Args:
            home: data folder.
            timeout: seconds that a writer waits for the one before it.

        Raises:
            LakeError: it cannot be opened, or was made by a newer version.
        """
        self.home = home.resolve()
        self.file = self.home / "ledger.sqlite"
        self._timeout = timeout
        self._handles: dict[int, _Handle] = {}
        self._finalizer = weakref.finalize(self, _dispose, self._handles)
        with explained(self.home):
            self.home.mkdir(parents=True, exist_ok=True)
            if not self.file.exists():
                with self._handle.lock:
                    _create(self.file)
        with self.reading() as connection:
            version = int(connection.scalar(sa.select(META.c.value).where(META.c.key == "schema")) or 0)
        if version > SCHEMA:
            self.close()
            raise LakeError(
                f"{self.file}: its tables have version {version}, this program knows {SCHEMA}; upgrade memory-pipeline"
            )
        if version < SCHEMA:
            self._upgrade()

    def _upgrade(self) -> None:
        """Bring the tables of an older version to this one; of several that open it, the first does so."""
        with self.writing() as connection:
            version = int(connection.scalar(sa.select(META.c.value).where(META.c.key == "schema")) or 0)
            for number in range(version + 1, SCHEMA + 1):
                connection.exec_driver_sql(_UPGRADES[number])
            connection.execute(META.update().where(META.c.key == "schema").values(value=str(SCHEMA)))

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection that sees one state, whatever others commit meanwhile; it waits for nobody.

        Raises:
            LakeError: see `explained`.
        """
        with explained(self.home), self._handle.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give the one connection that may write; what it did is committed at the end, or undone by an exception.

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
            yield connection

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep all other writers out, over several transactions.

        Raises:
            LakeError: see `explained`.
        """
        with explained(self.home), self._handle.lock:
            yield

    def shrink(self) -> bool:
        """Write the file anew without what was removed and empty its write-ahead log, unless the ledger is in use.

        Returns:
            Whether it was done: nothing that was removed is left in either file.

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

    def close(self) -> None:
        """Close this process's connections; the next use opens new ones."""
        _dispose(self._handles)

    @property
    def _handle(self) -> "_Handle":
        """What this process holds: a child must neither use nor close what its parent opened."""
        handle = self._handles.get(os.getpid())
        if handle is None:
            lock = filelock.FileLock(self.home / "ledger.lock", timeout=self._timeout, poll_interval=_POLL_SECONDS)
            handle = self._handles.setdefault(os.getpid(), _Handle(_engine(self.file), lock))
        return handle


@dataclass(frozen=True)
class _Handle:
    """Connections and lock of one process."""

    engine: sa.Engine
    lock: filelock.BaseFileLock


def _dispose(handles: dict[int, _Handle]) -> None:
    handle = handles.pop(os.getpid(), None)
    if handle is not None:
        handle.engine.dispose()


def _engine(file: Path) -> sa.Engine:
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(file)),
        pool_size=0,  # as many as threads read at once
        connect_args={"timeout": 30.0, "isolation_level": None},
    )

    @sa.event.listens_for(engine, "connect")
    def _settle(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")  # what is erased must not be left on free pages
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # Python's own handling would begin a transaction only at the first write: reads would not see one state.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _create(file: Path) -> None:
    """Make an empty ledger aside and move it into place, so that nobody ever sees half of one."""
    if file.exists():
        return
    with tempfile.TemporaryDirectory(prefix=".ledger-", dir=file.parent) as folder:
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
