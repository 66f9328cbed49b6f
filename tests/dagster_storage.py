"""Dagster's SQLite storage for tests: databases are copied rather than migrated, and never synced to disk.

Dagster's own makes four databases by their migrations for an instance and its first run, opens, syncs and closes one
for each of the 600 events of a run, and starts four processes that copy what a run prints: together that takes twice as
long as the run itself. Importing this module changes it in this process; processes that a test starts have the real
one.
"""

import shutil
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from dagster._core.storage import local_compute_log_manager
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

_make = DagsterSqliteStorage.__init__
_connected = SqliteEventLogStorage._connect  # noqa: SLF001
_dispose = SqliteEventLogStorage.dispose


def _init(self, base_dir, *args, **options):
    if not Path(base_dir, "history").exists():
        shutil.copytree(_fresh(), base_dir, dirs_exist_ok=True, ignore=shutil.ignore_patterns("run.db"))
    _make(self, base_dir, *args, **options)


@contextmanager
def _connect(self, shard):
    with self._db_lock:
        engines = self.__dict__.setdefault("_engines", {})
        if shard not in engines:
            path = Path(self.path_for_shard(shard))
            if not path.exists():
                shutil.copyfile(_fresh() / "history" / "runs" / "run.db", path)
            engines[shard] = _engine(self.conn_string_for_shard(shard))
        with engines[shard].begin() as connection:
            yield connection


def _engine(address):
    engine = sa.create_engine(address, poolclass=sa.StaticPool, connect_args={"check_same_thread": False})
    sa.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
    return engine


def _close(self):
    for engine in self.__dict__.pop("_engines", {}).values():
        engine.dispose()
    _dispose(self)


@cache
def _fresh():
    """Make the databases of an instance and of a run, once a process."""
    folder = tempfile.mkdtemp()
    storage = DagsterSqliteStorage.__new__(DagsterSqliteStorage)
    _make(storage, folder)
    with _connected(storage.event_log_storage, "run"):
        pass
    return Path(folder)


@contextmanager
def _not_captured(_, path):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()
    yield


DagsterSqliteStorage.__init__ = _init
SqliteEventLogStorage._connect = _connect  # noqa: SLF001
SqliteEventLogStorage.dispose = _close
local_compute_log_manager.mirror_stream_to_file = _not_captured
