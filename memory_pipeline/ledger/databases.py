"""Opens the database of a data folder's ledger: a SQLite file of the folder, or the one that a setting names."""

import shutil
import tempfile
from pathlib import Path

from memory_pipeline.ledger import postgres_database
from memory_pipeline.ledger.database import WRITE_SECONDS, Database, LakeError
from memory_pipeline.ledger.disk import sync
from memory_pipeline.ledger.postgres_database import PostgresDatabase
from memory_pipeline.ledger.sqlite_database import FILE_NAME, UNFINISHED, SQLiteDatabase
from memory_pipeline.ledger.sqlite_file import BESIDE
from memory_pipeline.settings import SQLITE, ledger_address


def opened(home: Path, *, address: str | None = None, timeout: float = WRITE_SECONDS) -> Database:
    """Open the database of a data folder's ledger, creating it if it is missing; a writer waits `timeout` seconds.

    The address is a value of the setting `ledger`; default: that of the environment or the folder's settings file.

    Raises:
        LakeError: it cannot be opened, or was written by a newer version.
        SettingsError: the setting is invalid.
    """
    place = address or ledger_address(home)
    if place == SQLITE:
        return SQLiteDatabase(home, timeout=timeout)
    if (home / FILE_NAME).exists():
        raise LakeError(
            f"{home}: has a ledger of its own, {FILE_NAME}, and the setting ledger names another; move the store with "
            "backup and restore-backup (docs/deployment.md), or unset ledger"
        )
    return PostgresDatabase(home, place, timeout=timeout)


def exists(home: Path, address: str | None = None) -> bool:
    """Return whether a data folder has a ledger, without creating one; address and SettingsError as for `opened`.

    Raises LakeError: the server that the setting names cannot be reached.
    """
    place = address or ledger_address(home)
    return (home / FILE_NAME).is_file() if place == SQLITE else postgres_database.exists(home, place)


def name(address: str) -> str:
    """Return the name of a ledger in messages: its file's name, or its address without a password."""
    return FILE_NAME if address == SQLITE else postgres_database.name(address)


def restore(home: Path, copy: Path) -> None:
    """Make the ledger of a data folder, which has none, from a copy of one (see `Database.copy`).

    Raises LakeError: the copy cannot be read, or the disk or the database cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=home) as folder:
        aside = Path(folder) / FILE_NAME
        shutil.copyfile(copy, aside)
        sync(aside)
        if (place := ledger_address(home)) == SQLITE:
            for suffix in BESIDE:  # SQLite would take the log of a lost ledger for that of the restored one
                (home / f"{FILE_NAME}{suffix}").unlink(missing_ok=True)
            aside.rename(home / FILE_NAME)
            sync(home)
        else:
            PostgresDatabase(home, place).load(aside)
