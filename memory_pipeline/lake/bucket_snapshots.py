"""Snapshots in the bucket of the lake, which any DuckDB with the extension httpfs attaches by address.

`snapshots/<name>.duckdb` and, for the newest, `snapshots/memories.duckdb` are copies of the data folder's snapshots
whose views read `snapshots/files/` of the bucket. Readers need no access to the data folder. The bucket follows the
data folder: `snapshots/index.json` says of which files its objects are copies, and is written after them, so whatever
is interrupted is noticed and done by the next call.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from memory_pipeline.lake import snapshot_file
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.ledger import disk
from memory_pipeline.ledger.database import LakeError

PREFIX: Final = "snapshots/"
NEWEST: Final = f"{PREFIX}memories.duckdb"
"""Key of the newest snapshot."""
_INDEX: Final = f"{PREFIX}index.json"
_FILES: Final = f"{PREFIX}files/"


@dataclass(frozen=True, kw_only=True)
class _Copy:
    """An object that is a copy of a snapshot of the data folder."""

    of: str
    """The snapshot's file: name, size and instant of its last change."""
    size: int
    """Bytes of the object."""
    files: tuple[str, ...]
    """Keys of the Parquet files that its views read."""


def follow(store: ObjectStore, snapshots: Sequence[Path]) -> None:
    """Make the bucket's snapshots those of the data folder, of which the newest is the last.

    Cost: one list and one object are read; each snapshot that the bucket lacks is copied and sent, the newest twice,
    and so are its Parquet files that are not there yet. Raises LakeError: the server cannot be reached, or refuses.
    """
    index, there = _read(store), _sizes(store)
    wanted = _wanted(snapshots, index)
    for key in _lacking(index, there, wanted):
        files = _files(wanted[key])
        for name, path in files.items():
            if there.get(name) != path.stat().st_size:
                store.send(path, name)
                there[name] = path.stat().st_size
        with _relinked(store, wanted[key], files) as copy:
            store.send(copy, key)
            index[key] = _Copy(of=_identity(wanted[key]), size=copy.stat().st_size, files=tuple(files))
        there[key] = index[key].size
        _write(store, index)
    if any(key not in wanted for key in index):
        index = {key: copy for key, copy in index.items() if key in wanted}
        _write(store, index)
    for key in _surplus(index, there, wanted):
        store.delete(key)
    if not wanted:
        store.delete(_INDEX)


def differs(store: ObjectStore, snapshots: Sequence[Path]) -> str | None:
    """Return how the bucket's snapshots differ from those of the data folder, or None; arguments as of `follow`.

    Raises LakeError: the server cannot be reached, or refuses.
    """
    index, there = _read(store), _sizes(store)
    wanted = _wanted(snapshots, index)
    lacking, surplus = _lacking(index, there, wanted), _surplus(index, there, wanted)
    if lacking:
        return f"{store.uri(lacking[0])} is missing or no copy of {wanted[lacking[0]].name}"
    return f"{store.uri(surplus[0])} is not in use any more" if surplus else None


def _wanted(snapshots: Sequence[Path], index: Mapping[str, _Copy]) -> dict[str, Path]:
    """Return the snapshot that each object is a copy of, the newest last.

    A snapshot that was never copied and that nobody can read, since its data folder was moved, is left out.
    """
    copied = {copy.of for copy in index.values()}
    wanted = {f"{PREFIX}{path.name}": path for path in snapshots if _identity(path) in copied or _is_whole(path)}
    if wanted:
        wanted[NEWEST] = list(wanted.values())[-1]
    return wanted


def _is_whole(snapshot: Path) -> bool:
    """Return whether a snapshot can be read, with all its files."""
    with suppress(LakeError):
        return all(path.is_file() for paths in snapshot_file.linked(snapshot).values() for path in paths)
    return False


def _lacking(index: Mapping[str, _Copy], there: Mapping[str, int], wanted: Mapping[str, Path]) -> list[str]:
    """Return the keys of copies that are not there whole, with all files that they read."""
    return [
        key
        for key, path in wanted.items()
        if not (copy := index.get(key))
        or copy.of != _identity(path)
        or there.get(key) != copy.size
        or not there.keys() >= set(copy.files)
    ]


def _surplus(index: Mapping[str, _Copy], there: Mapping[str, int], wanted: Mapping[str, Path]) -> list[str]:
    """Return the keys of objects that no copy needs, databases before the files that they read."""
    read = {file for key in wanted if key in index for file in index[key].files}
    needed = {*wanted, *read, _INDEX}
    return sorted(there.keys() - needed, key=lambda key: (key.startswith(_FILES), key))


def _read(store: ObjectStore) -> dict[str, _Copy]:
    """Read the index; an object that is none counts as missing."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError, AttributeError), store.get(_INDEX) as file:
        return {key: _Copy(**(copy | {"files": tuple(copy["files"])})) for key, copy in json.load(file).items()}
    return {}


def _write(store: ObjectStore, index: Mapping[str, _Copy]) -> None:
    store.put(_INDEX, json.dumps({key: asdict(copy) for key, copy in sorted(index.items())}).encode())


def _sizes(store: ObjectStore) -> dict[str, int]:
    return {stored.key: stored.size for stored in store.list(PREFIX)}


def _identity(snapshot: Path) -> str:
    status = snapshot.stat()
    return f"{snapshot.name} {status.st_size} {status.st_mtime_ns}"


def _files(snapshot: Path) -> dict[str, Path]:
    """Return the Parquet files that a snapshot's views read, by their keys; files of one name are the same."""
    linked = snapshot_file.linked(snapshot)
    return {f"{_FILES}{table}/{path.name}": path for table, paths in linked.items() for path in paths}


@contextmanager
def _relinked(store: ObjectStore, snapshot: Path, files: Mapping[str, Path]) -> Iterator[Path]:
    """Yield a copy of a snapshot whose views read the bucket."""
    from memory_pipeline.lake.fetched_files import FetchedFiles  # noqa: PLC0415 - imports a large library

    with disk.aside(snapshot.parent) as copy:
        shutil.copyfile(snapshot, copy)
        with snapshot_file.database(copy) as connection:
            connection.register_filesystem(FetchedFiles({store.uri(key): path for key, path in files.items()}))
            for table, paths in snapshot_file.linked(snapshot).items():
                places = [store.uri(f"{_FILES}{table}/{path.name}") for path in paths]
                snapshot_file.link(connection, table, paths, places=places)
        yield copy
