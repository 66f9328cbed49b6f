"""Backups: a copy of ledger and lake as of one ledger position, and stores restored from it.

A backup is a folder with the ledger, the files that its catalogue names, archives and settings, and a list of them with
checksums, written last: without that list it is incomplete. Snapshots and indexes are left out, since they can be
rebuilt; tokens and Dagster's history belong to the machine.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

import pydantic

from memory_pipeline.lake import files, identity, in_place, object_stores, snapshot
from memory_pipeline.lake.compaction import ARCHIVE_PREFIX, archives
from memory_pipeline.lake.object_store import LocalObjectStore, ObjectStore
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import catalog, databases, disk, erasure_guards
from memory_pipeline.ledger.commits import VERSION
from memory_pipeline.ledger.database import LakeError, explained
from memory_pipeline.ledger.sqlite_database import FILE_NAME, SQLiteDatabase, beginning
from memory_pipeline.ledger.store_identity import Identity, of_ledger
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.settings import SETTINGS_FILE, SQLITE, lake_address, ledger_address

LIST: Final = identity.BACKUP_LIST
"""Name of the file that lists what a backup holds."""


@dataclass(frozen=True, kw_only=True)
class Backup:
    """What a backup holds."""

    store: str
    """Id of the store."""
    position: int
    """Ledger position: every event up to it is in the backup."""
    made_at: str
    """When it was made, ISO 8601."""
    version: str
    """Version of this program that made it."""
    files: Mapping[str, str]
    """SHA-256 of each file by its key."""


def back_up(lake: Lake, folder: Path, *, now: datetime) -> Backup:
    """Copy a store, as of one ledger position, into a missing or empty folder outside it; others may go on meanwhile.

    Erasures wait until it is done. Erasures do not reach backups: delete those made earlier. Cost: that of copying all
    files; memory for the largest one.

    Raises:
        ValueError: the folder is not empty, or lies in the store.
        Conflict: an erasure was interrupted; the files may still hold its texts.
        LakeError: a file of the store is missing or damaged, or the disk is full; the backup is not complete.
    """
    folder = folder.resolve()
    if folder.is_relative_to(lake.home):
        raise ValueError(f"{folder} lies in the store; choose a folder outside {lake.home}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} exists and is not empty; choose another folder for the backup")
    target = LocalObjectStore(folder)
    with explained(lake.home), lake.ledger.database.erasing():
        erasure_guards.refuse(lake.ledger)
        disk.private(folder)
        lake.ledger.note_export(folder, at=now)  # first: an erasure that waits for the backup names it
        lake.ledger.database.copy(folder / FILE_NAME)
        own, expected = _listed(folder)
        keys, local = [*expected, *archives(lake.store)], LocalObjectStore(lake.home)
        copied = {FILE_NAME: files.checksum(target, FILE_NAME)}
        copied |= {key: _copied(lake.store, target, key, expected.get(key)) for key in keys}
        if local.exists(SETTINGS_FILE):
            copied[SETTINGS_FILE] = _copied(local, target, SETTINGS_FILE, None)
        backup = Backup(store=own.store, position=own.position, made_at=now.isoformat(), version=VERSION, files=copied)
        target.put(LIST, json.dumps(asdict(backup), indent=1).encode())
    return backup


def restore(folder: Path, home: Path) -> Backup:
    """Make a store from a backup in a data folder without one, with every event up to its position, and its snapshot.

    Ledger and lake are created where the settings say: those of `home`, which stay, or those of the backup if `home`
    has none. A new epoch begins, so that files or a ledger from after the backup are never mistaken for this store's.
    The ledger is written last: an interrupted restore can be repeated.

    Raises:
        ValueError: there is no complete backup in `folder`, its list names foreign files, or there is a store in
            `home`; nothing is written then.
        LakeError: a file of the backup is missing or damaged, the disk is full, or `home` has a path as `check_path`
            refuses; there is no store in `home` then, unless the message says that only its snapshot is missing.
    """
    folder, home = folder.resolve(), home.resolve()
    backup = _read_list(folder)
    identity.check_path(home)
    settings = home if (home / SETTINGS_FILE).exists() else folder
    address = ledger_address(settings)
    source, local = LocalObjectStore(folder), LocalObjectStore(home)
    target = object_stores.opened(home, address=lake_address(settings))
    _check_free(home, address, target)
    with explained(folder):
        _check(backup, folder, source)
    with beginning(home), explained(home):
        _check_free(home, address, target)  # again: another process may have begun a store there
        for key, checksum in backup.files.items():
            if key == SETTINGS_FILE:
                if settings == folder:
                    _copied(source, local, key, checksum)
            elif key != FILE_NAME:
                _copied(source, target, key, checksum)
        databases.restore(home, folder / FILE_NAME)
    with Lake(home, checked=False) as lake:
        identity.accept_older(lake.ledger, lake.store)
        in_place.update(lake.ledger, lake.store)
        snapshot.publish_after(lake, f"{home} is restored")
    return backup


def _check_free(home: Path, address: str, store: ObjectStore) -> None:
    """Refuse a folder, database or lake elsewhere that holds anything that a restore would mix with its own."""
    if databases.exists(home, address) or any(home.glob("snapshots/*.duckdb")):
        raise ValueError(
            f"{home} holds a store or its snapshots: restore into another folder, or move {databases.name(address)}, "
            "lake/, runs/, snapshots/ and archive/ away first"
            + ("" if address == SQLITE else f"; another ledger can be named in {home / SETTINGS_FILE}")
        )
    if store.elsewhere and store.exists(identity.KEY):
        raise ValueError(
            f"{store.uri('')} holds the lake of a store: name another one in {home / SETTINGS_FILE}, or, if that store "
            f"is gone, delete its {identity.KEY}, lake/, runs/, archive/ and snapshots/ first"
        )


def _listed(folder: Path) -> tuple[Identity, dict[str, str]]:
    """Return identity and catalogued files, with their checksums, of the ledger in a folder."""
    database = SQLiteDatabase(folder)
    try:
        with database.reading() as transaction:
            return of_ledger(transaction), {file.key: file.sha256 for file in catalog.every(transaction)}
    finally:
        database.close()


def _copied(source: ObjectStore, target: ObjectStore, key: str, expected: str | None) -> str:
    """Copy an object and return its checksum; refuse one with another checksum than expected."""
    with source.get(key) as file:
        data = file.read()
    checksum = hashlib.sha256(data).hexdigest()
    if expected not in (None, checksum):
        raise LakeError(f"{source.uri(key)} is damaged; `memory-pipeline doctor` says how to repair a store")
    target.put(key, data)
    return checksum


def _read_list(folder: Path) -> Backup:
    """Return the list of a backup's contents; refuse one that is missing or damaged."""
    try:
        backup = pydantic.TypeAdapter(Backup).validate_json((folder / LIST).read_bytes())
        backup.files[FILE_NAME]
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{folder} holds no complete backup: {folder / LIST} is missing or damaged; name another backup"
        ) from error
    return backup


def _check(backup: Backup, folder: Path, source: ObjectStore) -> None:
    """Check that a list names exactly what a backup of its ledger holds, so that nothing else is ever written."""
    if files.checksum(source, FILE_NAME) != backup.files[FILE_NAME]:
        raise LakeError(f"{source.uri(FILE_NAME)} is damaged; name another backup")
    catalogued = catalog.keys_in(folder / FILE_NAME)
    known = {key for key in catalogued if _is_below(key, files.TABLES_PREFIX)} | {FILE_NAME, SETTINGS_FILE}
    foreign = [key for key in backup.files if key not in known and not _is_below(key, f"{ARCHIVE_PREFIX}events-")]
    if foreign:
        raise ValueError(
            f"{folder / LIST} names {shown(foreign[0])}, which no backup holds: the list was changed; nothing was "
            "written; name another backup"
        )
    if missing := sorted(catalogued - backup.files.keys()):
        raise ValueError(f"{folder / LIST} lacks {shown(missing[0])}, which its ledger needs; name another backup")


def _is_below(key: str, prefix: str) -> bool:
    """Return whether a key is that of a Parquet file of the store, with a prefix, and leads nowhere else."""
    parts = PurePosixPath(key).parts
    return key.startswith(prefix) and key.endswith(".parquet") and ".." not in parts and "\\" not in key
