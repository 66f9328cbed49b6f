"""The ledger's database as a SQLite file of the data folder, for the programs of one machine."""

import math
import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import filelock
import sqlalchemy as sa

from memory_pipeline.ledger import ducklake
from memory_pipeline.ledger.database import (
    ERASURES,
    WRITE_SECONDS,
    WRITERS,
    Database,
    LakeError,
    Transaction,
    explained,
)
from memory_pipeline.ledger.disk import private, sync, writable
from memory_pipeline.ledger.tables import META, METADATA, SCHEMA
from memory_pipeline.settings.values import LEDGER_FILE

FILE_NAME: Final = LEDGER_FILE
"""Name of the database's file in the data folder."""

_FILES: Final = (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", "ledger.lock")
UNFINISHED: Final = ".ledger-"
"""Prefix of the folders in which a database is created."""

_LOCK: Final = "ledger.lock"
_LOCK_FILES: Final = {WRITERS: _LOCK, ERASURES: "erasure.lock"}
_POLL_SECONDS: Final = 0.005
_CACHE_KIB: Final = 65_536
_CHECKPOINT_PAGES: Final = 8_000
"""Size of the write-ahead log, in pages, at which it is copied into the database: 32 MB."""


class SQLiteDatabase(Database):
    """Connections to `<home>/ledger.sqlite`, one pool per process."""

    name = FILE_NAME

    def __init__(self, home: Path, *, timeout: float = WRITE_SECONDS) -> None:
        """Open the file, creating it if it is missing (see `Database`)."""
        self.file = home.resolve() / FILE_NAME
        self.files = tuple(self.file.with_name(name) for name in _FILES)
        self._log = self.file.with_name(f"{FILE_NAME}-wal")
        self._handles: dict[int, _Handle] = {}
        self._finalizer = weakref.finalize(self, _dispose, self._handles)
        super().__init__(home, timeout=timeout)

    def __str__(self) -> str:
        return str(self.file)

    def _open(self) -> None:
        if not self.file.exists():
            with self._lock(WRITERS):
                create(self.file)
        self._opened = _identity(self.file)

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        self._check_place()
        with self._handle.engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        with (
            self._lock(WRITERS),
            self._handle.engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            self._check_place()
            yield connection

    def _check_place(self) -> None:
        if _identity(self.file) != self._opened:
            raise LakeError(
                f"{self.file} was removed or replaced while this program had it open; start the program again"
            )
        if set(self._handle.logs.values()) - {_identity(self._log)}:
            raise LakeError(
                f"{self.file}: its log was removed while this program had it open, as by another library that reads "
                "the file in the same process; let others read it from a process of their own, and start this again"
            )

    def _lock(self, number: int) -> filelock.BaseFileLock:
        locks = self._handle.locks
        if number not in locks:
            name = _LOCK_FILES.get(number) or f"locks/{number - len(_LOCK_FILES):02}.lock"
            (self.home / name).parent.mkdir(exist_ok=True)
            lock = filelock.FileLock(self.home / name, timeout=self._timeout, poll_interval=_POLL_SECONDS)
            locks.setdefault(number, lock)
        return locks[number]

    def shrink(self) -> bool:
        """Rewrite the file without its free pages and empty its write-ahead log (see `Database.shrink`)."""
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
        """Copy the file, page by page (see `Database.copy`)."""
        with explained(self.home):
            raw = self._handle.engine.raw_connection()
            try:
                with closing(sqlite3.connect(file)) as target:
                    raw.driver_connection.backup(target)  # type: ignore[union-attr]
                sync(file)
            finally:
                raw.close()

    def problem(self) -> str | None:
        """Return what SQLite's quick check finds in the file, or None."""
        with self.reading() as transaction:
            finding = str(transaction.connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
        return None if finding == "ok" else finding

    def remove_unfinished(self, *, before: float = math.inf) -> list[Path]:
        """Remove what crashes left of databases that were being created, if unchanged since `before` (Unix time)."""
        with explained(self.home):
            abandoned = [path for path in sorted(self.home.glob(f"{UNFINISHED}*")) if _changed(path) < before]
            for path in abandoned:
                shutil.rmtree(path, ignore_errors=True)
        return abandoned

    def close(self) -> None:
        """Close this process's connections; the next use opens new ones."""
        _dispose(self._handles)

    @property
    def _handle(self) -> "_Handle":
        """Connections and locks of this process: a child must neither use nor close those of its parent."""
        handle = self._handles.get(os.getpid())
        return handle or self._handles.setdefault(os.getpid(), self._connected())

    def _connected(self) -> "_Handle":
        handle = _Handle(_engine(self.file))

        @sa.event.listens_for(handle.engine, "connect")
        def _note_log(connection: Any, _record: object) -> None:
            connection.execute("PRAGMA schema_version").fetchone()  # opens the log, unless the file is immutable
            log = None if "immutable" in handle.engine.url.query else _identity(self._log)
            if log is not None:  # a read-only folder may have none
                handle.logs[id(connection)] = log

        @sa.event.listens_for(handle.engine, "close")
        def _forget_log(connection: Any, _record: object) -> None:
            handle.logs.pop(id(connection), None)  # closed after an interrupt, the last one takes its log away

        return handle


@dataclass(frozen=True)
class _Handle:
    """Connections and locks of one process."""

    engine: sa.Engine
    locks: dict[int, filelock.BaseFileLock] = field(default_factory=dict)
    logs: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Write-ahead log of each open connection; they differ if another one took the first one's place."""


@contextmanager
def beginning(home: Path) -> Iterator[None]:
    """Keep others from beginning a ledger in a folder that has none; they then use the one that was begun meanwhile.

    Raises LakeError: see `explained`.
    """
    with ExitStack() as held:
        with explained(home):
            private(home)
            held.enter_context(filelock.FileLock(home / _LOCK, timeout=WRITE_SECONDS, poll_interval=_POLL_SECONDS))
        yield


@contextmanager
def filled(file: Path) -> Iterator[sa.Connection]:
    """Create a ledger's file with no rows but its version, and yield a transaction that fills it."""
    create(file)
    engine = _engine(file)
    try:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection
    finally:
        engine.dispose()


def _identity(file: Path) -> tuple[int, int] | None:
    """Return the identity of a file, which is stable while it is renamed or open; None if it is missing."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


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
    """Return how to open a database; SQLite must be told that a folder is read-only."""
    if not file.exists() or writable(file.parent):
        return sa.URL.create("sqlite", database=str(file))
    log = file.with_name(f"{file.name}-wal")
    mode = {"mode": "ro"} if log.exists() and log.stat().st_size else {"immutable": "1"}
    return sa.URL.create("sqlite", database=file.as_uri(), query={**mode, "uri": "true"})


def create(file: Path) -> None:
    """Create an empty ledger aside and move it into place, so that no process opens half of one."""
    if file.exists():
        return
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=file.parent) as folder:
        aside = Path(folder) / file.name
        aside.write_bytes(_empty())
        sync(aside)
        aside.rename(file)
    sync(file.parent)


@cache
def _empty() -> bytes:
    """Return the file of an empty ledger; its DuckLake catalogue is filled, for files whose location is to be noted."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE_NAME
        engine = _engine(file)
        with engine.begin() as connection:
            METADATA.create_all(connection)
            connection.execute(META.insert().values(key="schema", value=str(SCHEMA)))
            ducklake.fill(Transaction(connection), "", files=[], sizes={}, oldest=0)
        raw = engine.raw_connection()
        raw.cursor().execute("PRAGMA journal_mode=WAL")
        raw.close()
        engine.dispose()
        return file.read_bytes()
