"""The identity of a store: which ledger a lake belongs to, and the last position of that ledger.

The ledger holds an id and an epoch; the lake holds a copy of both, with the position of its last commit. So a lake
whose ledger was lost or replaced by a backup is noticed, and files that only the lost one accounts for are not swept.
"""

import json
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from memory_pipeline.lake.files import TABLES_PREFIX
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.ledger import databases, disk
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.store_identity import Identity, of_ledger, record
from memory_pipeline.settings import ledger_address

KEY: Final = "store.json"
"""Key of the lake's copy: beside the tables, where no sweep or erasure looks."""

BACKUP_LIST: Final = "backup.json"
"""Key of the list of what a backup holds (see `lake/backup.py`); no store has one."""

_PARQUET: Final = ".parquet"


class Mismatch(LakeError):
    """Ledger and lake do not belong together, or are from different times; only `doctor` may open the store.

    Attributes:
        repairable: whether the ledger is an older state of the same store, which `doctor --repair` can accept.
    """

    def __init__(self, message: str, *, repairable: bool = False) -> None:
        super().__init__(message)
        self.repairable = repairable


def of_lake(store: ObjectStore) -> Identity | None:
    """Return the identity that the lake holds; None before the first commit. Raises Mismatch if it cannot be read."""
    if not store.exists(KEY):
        return None
    try:
        with store.get(KEY) as file:
            return Identity(**json.load(file))
    except (ValueError, TypeError) as error:
        where = store.uri(KEY)
        raise Mismatch(
            f"{where} is damaged ({error}): restore it from a backup, or remove it and commit again"
        ) from error


def refuse_backup(home: Path) -> None:
    """Raise LakeError for a backup: as a store it would change, if only by recording a recall."""
    if (home / BACKUP_LIST).is_file():
        raise LakeError(
            f"{home} is a backup, and using it as a store would change it: restore it into another "
            f"folder with: memory-pipeline --home NEW restore-backup {home}"
        )


def check_path(home: Path) -> None:
    """Refuse a data folder whose files DuckDB would not find: it reads UTF-8 only, and misreads question marks.

    It also takes a backslash for a slash, which leads to another folder. Raises LakeError: there is a question mark or
    a backslash in the path, or bytes that are not UTF-8.
    """
    path = disk.printable(home)
    if path != str(home):
        raise LakeError(f"{path}: the path of a data folder must be UTF-8; rename the folder, or choose another")
    for sign in "?\\":
        if sign in path:
            raise LakeError(
                f"{path}: a data folder cannot have {sign} in its path; rename the folder, or choose another"
            )


def check_ledger_there(home: Path, store: ObjectStore) -> None:
    """Raise Mismatch instead of beginning a new ledger beside the files of a lost one."""
    if store.exists(KEY) or any(stored.key.endswith(_PARQUET) for stored in store.list(TABLES_PREFIX)):
        name = databases.name(ledger_address(home))
        raise Mismatch(
            f"{home}: {name} is missing, but its lake exists: restore {name} from a backup, or {_way_out(store)} to "
            "start a new store"
        )


def check(home: object, ledger: Ledger, store: ObjectStore) -> None:
    """Raise Mismatch, which says what to do, if ledger and lake do not belong together or the ledger is older."""
    lake = of_lake(store)
    if lake is None:
        if store.elsewhere or not ledger.database.files:
            _claim(home, ledger, store)
        return
    with ledger.reading() as transaction:
        own = of_ledger(transaction)
    name = ledger.database.name
    if own.store != lake.store:
        place = store.uri("") if store.elsewhere else "lake/"
        raise Mismatch(
            f"{home}: {name} and {place} belong to different stores: restore the ledger of this lake, "
            f"or {_way_out(store)}; then run `memory-pipeline doctor`"
        )
    if own.epoch < lake.epoch or own.position < lake.position:
        raise Mismatch(
            f"{home}: {name} is older than the lake (position {own.position}, the lake has {lake.position}), as "
            "after restoring a backup of it alone: restore the newer one, or accept this one with "
            "`memory-pipeline doctor --repair`, which drops what is newer",
            repairable=True,
        )


def _claim(home: object, ledger: Ledger, store: ObjectStore) -> None:
    """Bind ledger and lake at once if one is outside the data folder, so that no other is ever taken for its own."""
    with ledger.writing() as transaction:
        own = of_ledger(transaction)
        if own.store:
            raise Mismatch(
                f"{home}: {ledger.database.name} belongs to a lake elsewhere, whose store.json says so, and "
                f"{store.uri(KEY)} is missing; correct the setting lake, open that data folder, or give "
                "this one a ledger of its own"
            )
        own = replace(own, store=secrets.token_hex(16))
        record(transaction, own)
        _put(store, own)


def _way_out(store: ObjectStore) -> str:
    """Return how to move a lake out of the way."""
    if store.elsewhere:
        return f"choose another place than {store.uri('')} in the setting lake"
    return "move lake/, runs/ and snapshots/ away"


def note(ledger: Ledger, store: ObjectStore, *, position: int) -> None:
    """Record in the lake that a commit was made at a position; the first commit gives the store its id."""
    with ledger.writing() as transaction:
        own = of_ledger(transaction)
        if not own.store:
            own = replace(own, store=secrets.token_hex(16))
            record(transaction, own)
        _put(store, replace(own, position=position))


def accept_older(ledger: Ledger, store: ObjectStore) -> int:
    """Accept an older ledger of the same store: a new epoch begins at its position, which is returned."""
    lake = of_lake(store)
    with ledger.writing() as transaction:
        own = of_ledger(transaction)
        own = replace(own, epoch=1 + max(own.epoch, lake.epoch if lake else 0))
        record(transaction, own)
        _put(store, own)
    return own.position


def _put(store: ObjectStore, identity: Identity) -> None:
    store.put(KEY, json.dumps(asdict(identity)).encode())
