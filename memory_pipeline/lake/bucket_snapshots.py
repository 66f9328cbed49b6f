"""Snapshots in the bucket of the lake, which any DuckDB with the extension httpfs attaches by address.

`snapshots/<name>.duckdb` and, for the newest, `snapshots/memories.duckdb` are copies of the data folder's snapshots
whose views read `snapshots/files/` of the bucket. Readers need no access to the data folder. Not here: when snapshots
are written, and what they hold (`lake/snapshot.py`).
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from memory_pipeline.lake import snapshot_file
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.lake.snapshot_views import LINKED
from memory_pipeline.ledger import disk

PREFIX: Final = "snapshots/"
NEWEST: Final = f"{PREFIX}memories.duckdb"
"""Key of the newest snapshot."""


def publish(store: ObjectStore, snapshot: Path, *, newest: bool) -> None:
    """Put a snapshot of the data folder into the bucket, unless it is there.

    Files come before the views that read them, and the newest before its name, so that what is interrupted is found
    missing, and sent, by the next call.

    Args:
        store: the bucket.
        snapshot: the snapshot.
        newest: whether it is the newest one.

    Raises:
        LakeError: the server cannot be reached, or refuses.

    Cost: copying and sending the snapshot, twice if it is the newest, and its Parquet files that are not there yet.
    """
    if has(store, snapshot, newest=newest):
        return
    names = _names(snapshot, newest=newest)
    files = _files(snapshot)
    there = {stored.key for stored in store.list(f"{PREFIX}files/")}
    for key, path in files.items():
        if key not in there:
            store.send(path, key)
    with _copy(store, snapshot, files) as copy:
        for name in names:
            store.send(copy, name)


def has(store: ObjectStore, snapshot: Path, *, newest: bool) -> bool:
    """Return whether a snapshot of the data folder is in the bucket, under both names if it is the newest.

    Raises:
        LakeError: the server cannot be reached, or refuses.
    """
    return all(store.exists(name) for name in _names(snapshot, newest=newest))


def keep(store: ObjectStore, snapshots: Sequence[Path]) -> None:
    """Delete from the bucket the snapshots that are none of these, and the files that only those read.

    The newest goes if a later one than the last of these is deleted; publish that one again.

    Args:
        store: the bucket.
        snapshots: snapshots of the data folder.

    Raises:
        LakeError: the server cannot be reached, or refuses.
    """
    names = {f"{PREFIX}{path.name}" for path in snapshots}
    files = {key for path in snapshots for key in _files(path)}
    stored = [entry.key for entry in store.list(PREFIX) if entry.key != NEWEST]
    others = [key for key in stored if key.endswith(".duckdb") and key not in names]
    if not names or max(others, default="") > max(names):
        store.delete(NEWEST)
    for key in (*others, *(key for key in stored if not key.endswith(".duckdb") and key not in files)):
        store.delete(key)


def _names(snapshot: Path, *, newest: bool) -> list[str]:
    return [NEWEST] * newest + [f"{PREFIX}{snapshot.name}"]


def _files(snapshot: Path) -> dict[str, Path]:
    """Return the Parquet files of a snapshot by their keys; files of one name are the same."""
    folder = snapshot.parent / "files" / snapshot.stem
    return {f"{PREFIX}files/{path.parent.name}/{path.name}": path for path in sorted(folder.glob("*/*.parquet"))}


@contextmanager
def _copy(store: ObjectStore, snapshot: Path, files: Mapping[str, Path]) -> Iterator[Path]:
    """Yield a copy of a snapshot whose views read the bucket."""
    from memory_pipeline.lake.fetched_files import FetchedFiles  # noqa: PLC0415 - imports a large library

    with disk.aside(snapshot.parent) as copy:
        shutil.copyfile(snapshot, copy)
        with snapshot_file.database(copy) as connection:
            places = {store.uri(key): path for key, path in files.items()}
            connection.register_filesystem(FetchedFiles(places))
            for table in LINKED:
                own = {place: path for place, path in places.items() if path.parent.name == table}
                snapshot_file.link(connection, table, list(own.values()), places=list(own))
        yield copy
