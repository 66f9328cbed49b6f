"""Dagster's event log for tests: one connection a database, kept while the instance lives, and never synced to disk.

Dagster's own opens, syncs and closes a SQLite database for each of the 250 events of a run, which takes twice as long
as the run itself. Importing this module changes it in this process; processes that a test starts have the real one.
"""

from contextlib import contextmanager

import sqlalchemy as sa
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

_dispose = SqliteEventLogStorage.dispose


@contextmanager
def _connect(self, shard):
    with self._db_lock:
        engines = self.__dict__.setdefault("_engines", {})
        if shard not in engines:
            engines[shard] = _engine(self.conn_string_for_shard(shard))
        if shard not in self._initialized_dbs:
            self._initdb(engines[shard])
            self._initialized_dbs.add(shard)
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


SqliteEventLogStorage._connect = _connect  # noqa: SLF001
SqliteEventLogStorage.dispose = _close
