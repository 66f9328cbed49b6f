"""Dagster's own storage of runs and events, with databases kept open while this process executes a run.

Dagster opens, syncs and closes a database for each of the 700 events of a run, which takes as long as the run itself.
Half of them say that an input was loaded, and are written together with the event after them. The files stay the same:
the UI, the daemon and other processes read and write them as before.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

from dagster._core.events import DagsterEventType
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData

from memory_pipeline.ledger import sqlite_file

_OF_INPUTS: Final = (DagsterEventType.LOADED_INPUT, DagsterEventType.STEP_INPUT)
"""Events that wait for the next one. A process that is killed loses those of the step at work; they hold no results."""


def kept_open(reference: InstanceRef) -> InstanceRef:
    """Return the reference of an instance that keeps its databases open; storage other than SQLite is left as it is."""
    storage = reference.storage_data
    if storage is None or storage.class_name != DagsterSqliteStorage.__name__:
        return reference
    kept = ConfigurableClassData(__name__, KeptSqliteStorage.__name__, storage.config_yaml)
    return reference._replace(storage_data=kept)


class KeptEventLog(SqliteEventLogStorage):
    """Event log that keeps two databases open: the index of all runs, and the events of the run used last."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Create the index if it is missing; open nothing."""
        self._kept: dict[str, Any] = {}
        self._tables: set[str] = set()
        self._waiting: dict[str, list[dict[str, Any]]] = {}
        super().__init__(base_dir, inst_data)

    @property
    def kept(self) -> set[str]:
        """Names of the open databases."""
        return set(self._kept)

    def has_table(self, table_name: str) -> bool:
        """Return whether the index has a table; a table once found is not looked up again."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event; those of inputs wait for the next use of their run's database."""
        if event.dagster_event_type not in _OF_INPUTS:
            super().store_event(event)
            return
        with self._db_lock:
            self._waiting.setdefault(event.run_id, []).append(self._event_to_row(event))

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Any]:
        with self._db_lock:
            if shard not in self._kept:
                self._close(self.kept - {INDEX_SHARD_NAME} if shard != INDEX_SHARD_NAME else set())
                engine = sqlite_file.kept_open(Path(self.path_for_shard(shard)))
                if shard not in self._initialized_dbs:
                    self._initdb(engine)
                    self._initialized_dbs.add(shard)
                self._kept[shard] = engine
            self._write_waiting(shard)
            with self._kept[shard].begin() as connection:
                yield connection

    def _write_waiting(self, shard: str) -> None:
        if rows := self._waiting.get(shard):
            with self._kept[shard].begin() as connection:
                connection.execute(SqlEventLogStorageTable.insert(), rows)
            del self._waiting[shard]

    def _close(self, shards: set[str]) -> None:
        for shard in shards:
            self._write_waiting(shard)
            self._kept.pop(shard).dispose()

    def dispose(self) -> None:
        """Write what waits, and close both databases."""
        for run_id in [*self._waiting]:
            with self.run_connection(run_id):
                pass
        with self._db_lock:
            self._close(self.kept)
        super().dispose()


class KeptSqliteStorage(DagsterSqliteStorage):
    """Dagster's storage in SQLite files, with an event log that keeps them open."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        """Create the databases of an instance if they are missing."""
        super().__init__(base_dir, inst_data)
        self._event_log_storage = KeptEventLog(str(Path(base_dir, "history", "runs")))

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """Make the storage from Dagster's configuration."""
        return cls.from_local(inst_data=inst_data, **config_value)
