"""The ledger's database on a PostgreSQL server, by the setting `ledger`.

Writers take an advisory lock that ends with their transaction, so that positions are given in the order of commits;
longer locks belong to the session, and writes under them go through that session: a writer that loses it can write
nothing more.
"""

import os
import threading
import time
import weakref
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from memory_pipeline.ledger import sqlite_database
from memory_pipeline.ledger.database import (
    TIMED_OUT,
    WRITE_SECONDS,
    WRITERS,
    Database,
    LakeError,
    LostConnection,
    explained,
)
from memory_pipeline.ledger.disk import sync
from memory_pipeline.ledger.sqlite_database import SQLiteDatabase
from memory_pipeline.ledger.statements import insert_many
from memory_pipeline.ledger.tables import META, METADATA, SCHEMA, STORE_KEY
from memory_pipeline.settings.extras import pip_install

_CONNECT_SECONDS: Final = 10
_AT_ONCE: Final = 5_000
"""Rows of a copy that are held in memory."""
_PATIENCE: Final = 5.0
"""Seconds that rewriting a table waits for its readers, while others wait behind it."""
_READERS_PATIENCE: Final = 30.0
"""Seconds that an erasure waits for transactions that began before it."""
_TURN: Final = 3.0
"""Seconds that one statement waits for a lock: the lock's holder may be an erasure, which waits for such statements."""
_PAUSE: Final = 0.02

_HERE: Final = "quote_ident(current_schema())"
_EVENTS: Final = sa.text(f"SELECT to_regclass({_HERE} || '.events')::oid")
_META: Final = sa.text(f"SELECT to_regclass({_HERE} || '.meta') IS NOT NULL")
_STORE: Final = sa.select(META.c.value).where(META.c.key == STORE_KEY)
_LIMIT: Final = sa.text("SELECT set_config('lock_timeout', :limit, :local)")
_TAKE: Final = sa.text("SELECT pg_advisory_lock(:store, :number)")
_TAKE_FOR_TRANSACTION: Final = sa.text("SELECT pg_advisory_xact_lock(:store, :number)")
_NOW: Final = sa.text("SELECT pg_current_xact_id()::text")
_OLDER: Final = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' "
    "AND pid <> pg_backend_pid() AND age(backend_xmin) >= age(CAST(:now AS xid))"
)
_RELEASE: Final = sa.text("SELECT pg_advisory_unlock(:store, :number)")


class PostgresDatabase(Database):
    """Connections to a schema of a PostgreSQL database, one pool per process."""

    beyond_erasure = ("the write-ahead log, replicas and backups of the PostgreSQL server",)

    def __init__(self, home: Path, address: str, *, timeout: float = WRITE_SECONDS) -> None:
        """Open the database at a URL of `settings.ledger_address`, creating missing tables (see `Database`)."""
        self._address, self.name = address, name(address)
        self._handles: dict[int, _Handle] = {}
        self._finalizer = weakref.finalize(self, _dispose, self._handles)
        super().__init__(home, timeout=timeout)

    def __str__(self) -> str:
        return self.name

    def _open(self) -> None:
        with self._handle.engine.begin() as connection:
            schema, encoding = connection.execute(
                sa.text("SELECT current_schema(), current_setting('server_encoding')")
            ).one()
            if schema is None or encoding != "UTF8":
                problem = "its search_path names no schema" if schema is None else f"its encoding is {encoding}"
                raise LakeError(f"{self}: {problem}; give the ledger a database with the encoding UTF8 and a schema")
            self._store = zlib.crc32(f"memory-pipeline {schema}".encode()) - 2**31
            if not connection.scalar(_META):
                self._create(connection)
            self._opened = connection.scalar(_EVENTS)

    def _create(self, connection: sa.Connection) -> None:
        """Create the tables, unless another process has done so meanwhile; none is visible before the others."""
        connection.execute(_TAKE_FOR_TRANSACTION, {"store": self._store, "number": WRITERS})
        if not connection.scalar(_META):
            METADATA.create_all(connection, checkfirst=False)
            connection.execute(META.insert().values(key="schema", value=str(SCHEMA)))

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._handle.engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        # Each statement sees what is committed by then, so everything since the lock was taken: others cannot write.
        with self._session() as connection, connection.begin():
            connection.execute(_LIMIT, {"limit": _milliseconds(self._timeout), "local": True})
            connection.execute(_TAKE_FOR_TRANSACTION, {"store": self._store, "number": WRITERS})
            self._check(connection)
            yield connection

    def _check_place(self) -> None:
        with self._handle.engine.connect() as connection:
            self._check(connection)

    def _check(self, connection: sa.Connection) -> None:
        if connection.scalar(_EVENTS) != self._opened:
            raise LakeError(
                f"{self}: its tables were removed or replaced while this program had them open; start the program again"
            )

    @contextmanager
    def _lock(self, number: int) -> Iterator[None]:
        key = {"store": self._store, "number": number}
        with self._session() as connection:
            self._take(connection, key)
            try:
                yield
            finally:
                if not connection.invalidated:  # a lost session holds nothing
                    with suppress(sa.exc.DBAPIError), connection.begin():
                        connection.execute(_RELEASE, key)

    def _take(self, connection: sa.Connection, key: Mapping[str, int]) -> None:
        deadline = time.monotonic() + self._timeout
        while True:
            left = deadline - time.monotonic()
            try:
                with connection.begin():
                    connection.execute(_LIMIT, {"limit": _milliseconds(min(left, _TURN)), "local": True})
                    connection.execute(_TAKE, key)
            except sa.exc.OperationalError as error:
                if left <= _TURN or TIMED_OUT not in str(error.orig):
                    raise
            else:
                return

    @contextmanager
    def _session(self) -> Iterator[sa.Connection]:
        """Yield the connection through which this thread holds locks and writes, opened on first use."""
        own = self._handle.own
        if (held := getattr(own, "connection", None)) is not None:
            if held.invalidated:  # it would be opened again, without the locks
                raise LostConnection(f"{self}: the connection that held the store's locks was lost: try again")
            yield held
            return
        with self._handle.engine.connect() as connection:
            own.connection = connection
            try:
                yield connection
            finally:
                own.connection = None

    def shrink(self) -> bool:
        """Let new rows take the place of removed ones, without blocking others (see `Database.shrink`)."""
        return self._vacuum("VACUUM (ANALYZE)")

    def purge(self) -> bool:
        """Rewrite the tables, once no transaction reads an earlier state of them (see `Database.purge`)."""
        if not self._unread():  # before other writers are kept out: while they wait, they count as readers
            return False
        with self.exclusive():
            return self._vacuum("VACUUM (FULL, ANALYZE)")

    def _unread(self) -> bool:
        """Wait for transactions that began before the last change: the server keeps the old rows for them."""
        with explained(self.home), self._handle.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as on:
            now = {"now": on.scalar(_NOW)}
            deadline = time.monotonic() + _READERS_PATIENCE
            while on.scalar(_OLDER, now):
                if time.monotonic() > deadline:
                    return False
                time.sleep(_PAUSE)
        return True

    def _vacuum(self, statement: str) -> bool:
        with explained(self.home), self._handle.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as on:
            on.execute(_LIMIT, {"limit": f"{_PATIENCE}s", "local": False})
            try:
                for table in METADATA.sorted_tables:
                    on.exec_driver_sql(f"{statement} {table.name}")
            except sa.exc.OperationalError as error:
                if TIMED_OUT not in str(error.orig):
                    raise
                return False
            finally:
                on.execute(_LIMIT, {"limit": "0", "local": False})
        return True

    def copy(self, file: Path) -> None:
        """Write a SQLite ledger with the same rows (see `Database.copy`), for `load`."""
        with self.reading() as source, sqlite_database.filled(file) as target:
            _copy_rows(source.connection, target)
        sync(file)

    def load(self, file: Path) -> None:
        """Load all rows of a copy of a ledger, upgrading an older version first.

        Raises LakeError: see `explained`; nothing was loaded.
        """
        source = SQLiteDatabase(file.parent)
        try:
            with source.reading() as given, self.writing() as transaction:
                if transaction.connection.scalar(_STORE) is not None:
                    raise LakeError(f"{self}: already holds a store; name another ledger")
                _copy_rows(given.connection, transaction.connection)
                for table in METADATA.sorted_tables:
                    if (column := table.autoincrement_column) is not None:
                        sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
                        transaction.connection.execute(sa.select(sa.func.setval(sequence, sa.func.max(column))))
        finally:
            source.close()

    def problem(self) -> str | None:
        """Return None: the server checks its own pages, if its data checksums are on."""
        return None

    def close(self) -> None:
        """Close this process's connections; the next use opens new ones."""
        _dispose(self._handles)

    @property
    def _handle(self) -> "_Handle":
        """Connections of this process: a child must neither use nor close those of its parent."""
        handle = self._handles.get(os.getpid())
        return handle or self._handles.setdefault(os.getpid(), _Handle(_engine(self._address)))


@dataclass(frozen=True)
class _Handle:
    """Connections of one process."""

    engine: sa.Engine
    own: threading.local = field(default_factory=threading.local)
    """The connection of a thread, while it holds a lock or writes."""


def _dispose(handles: dict[int, _Handle]) -> None:
    handle = handles.pop(os.getpid(), None)
    if handle is not None:
        handle.engine.dispose()


def _milliseconds(seconds: float) -> str:
    return f"{max(1, int(1000 * seconds))}ms"  # 0 would be no limit


def name(address: str) -> str:
    """Return the address of a database without its password."""
    return sa.make_url(address).render_as_string(hide_password=True)


def exists(home: Path, address: str) -> bool:
    """Return whether a database holds the ledger of a store; tables that a restore left empty do not count.

    Raises LakeError: it cannot be reached.
    """
    engine = _engine(address)
    try:
        with explained(home), engine.connect() as connection:
            return bool(connection.scalar(_META)) and connection.scalar(_STORE) is not None
    finally:
        engine.dispose()


def _engine(address: str) -> sa.Engine:
    try:
        return sa.create_engine(
            sa.make_url(address).set(drivername="postgresql+psycopg"),
            pool_size=0,  # as many as threads read at once
            hide_parameters=True,  # an error must not quote memories
            pool_pre_ping=True,  # a connection that was lost while unused is opened again
            connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "memory-pipeline"},
        )
    except ModuleNotFoundError as error:
        raise LakeError(
            f"ledger = {name(address)}: the package psycopg is missing; {pip_install('postgres')}"
        ) from error


def _copy_rows(source: sa.Connection, target: sa.Connection) -> None:
    """Copy all rows of a ledger into one that holds only its version."""
    target.execute(META.delete())
    for table in METADATA.sorted_tables:
        query = sa.select(table).order_by(*table.primary_key).execution_options(yield_per=_AT_ONCE)
        for part in source.execute(query).partitions():
            insert_many(target, table, [dict(row._mapping) for row in part])  # noqa: SLF001 - SQLAlchemy's public name
