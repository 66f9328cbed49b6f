"""Dagster's SQLite storage for tests: databases are copied rather than migrated, and what a run prints is not captured.

Dagster makes four databases by their migrations for an instance and its first run, and starts four processes that copy
what a run prints. Importing this module changes it in this process; processes that a test starts have the real one.
"""

import shutil
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from dagster._core.storage import local_compute_log_manager
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

_make = DagsterSqliteStorage.__init__
_migrate = SqliteEventLogStorage._initdb  # noqa: SLF001


def _init(self, base_dir, *args, **options):
    if not Path(base_dir, "history").exists():
        shutil.copytree(_fresh(), base_dir, dirs_exist_ok=True, ignore=shutil.ignore_patterns("run.db"))
    _make(self, base_dir, *args, **options)


def _initdb(self, engine, **options):
    if (path := Path(engine.url.database)).exists():
        _migrate(self, engine, **options)
    else:
        shutil.copyfile(_fresh() / "history" / "runs" / "run.db", path)


@cache
def _fresh():
    """Make the databases of an instance and of a run, once a process."""
    folder = tempfile.mkdtemp()
    SqliteEventLogStorage._initdb = _migrate  # noqa: SLF001
    storage = DagsterSqliteStorage.__new__(DagsterSqliteStorage)
    _make(storage, folder)
    with storage.event_log_storage.run_connection("run"):
        pass
    SqliteEventLogStorage._initdb = _initdb  # noqa: SLF001
    return Path(folder)


def prepare(home):
    """Give a store that has none the databases that a process of its own would make at its first run."""
    shutil.copytree(_fresh(), home / "dagster", ignore=shutil.ignore_patterns("run.db"))


@contextmanager
def _not_captured(_, path):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()
    yield


DagsterSqliteStorage.__init__ = _init
SqliteEventLogStorage._initdb = _initdb  # noqa: SLF001
local_compute_log_manager.mirror_stream_to_file = _not_captured
