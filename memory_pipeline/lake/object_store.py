"""Object storage for the files of the lake, with an implementation on the local disk.

Keys are paths relative to the store, with slashes: `lake/<table>/<file>.parquet`, `runs/<run>/<table>.parquet`,
`archive/<file>.parquet`, and on a server also `snapshots/<name>.duckdb`.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

from memory_pipeline.ledger import disk

_ATTEMPTS: Final = 20
"""Attempts to write an object into a folder that concurrent deletions remove whenever it is empty."""


@dataclass(frozen=True)
class StoredObject:
    """An object of a store."""

    key: str
    modified: float
    """When it was last written or touched, Unix time in seconds."""
    size: int
    """Number of bytes."""


class ObjectStore(Protocol):
    """Objects by key. Several threads and processes may use one store at once.

    Attributes:
        elsewhere: whether the objects are outside the data folder, where another data folder could name them too.
        beyond_erasure: where a server may keep erased texts that no request reaches.
        scan_options: storage options with which Polars scans objects.
    """

    elsewhere: bool
    beyond_erasure: tuple[str, ...]
    scan_options: Mapping[str, Any]

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Write an object in one step, durably: readers see the old one, the new one or none, never a part."""

    def get(self, key: str) -> BufferedIOBase:
        """Open an object for reading, which the caller closes; raises FileNotFoundError if there is none."""

    def list(self, prefix: str) -> Sequence[StoredObject]:
        """Return the objects whose key starts with a prefix, by key, remains of interrupted writes included."""

    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""

    def exists(self, key: str) -> bool:
        """Return whether there is an object under a key."""

    def touch(self, key: str) -> None:
        """Set the modification time of an object to now, if it exists."""

    def fetch(self, key: str, path: Path) -> None:
        """Make an object that never changes a local file: a hard link or a copy; the caller syncs file and folder.

        Raises FileNotFoundError if there is no such object.
        """

    def send(self, path: Path, key: str) -> None:
        """Write an object from a local file, which may be larger than one request, with the guarantees of `put`."""

    def uri(self, key: str) -> str:
        """Return where Polars finds an object to scan: a path or a URI."""

    def scanning(self) -> AbstractContextManager[None]:
        """Turn what Polars raises while it scans objects into the errors of this store."""


class LocalObjectStore:
    """Objects as files below a folder."""

    elsewhere = False
    beyond_erasure: tuple[str, ...] = ()
    scan_options: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, root: Path) -> None:
        """Keep objects below `root`, an absolute path."""
        self._root = root

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Write the file aside, sync it and rename it."""
        path = self._root / key
        for _ in range(_ATTEMPTS - 1):
            with suppress(FileNotFoundError, FileExistsError):  # others empty the folder, and mkdir meets one just gone
                return _write(path, data)
        return _write(path, data)

    def get(self, key: str) -> BufferedIOBase:
        """Open the file."""
        return (self._root / key).open("rb")

    def list(self, prefix: str) -> Sequence[StoredObject]:
        """Walk the folder of the prefix."""
        return sorted(self._objects(prefix), key=lambda entry: entry.key)

    def delete(self, key: str) -> None:
        """Unlink the file, and remove its folder if that was the last one."""
        path = self._root / key
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()

    def exists(self, key: str) -> bool:
        """Return whether there is such a file."""
        return (self._root / key).is_file()

    def touch(self, key: str) -> None:
        """Set the file's modification time."""
        with suppress(FileNotFoundError):
            os.utime(self._root / key)

    def fetch(self, key: str, path: Path) -> None:
        """Link the file, or copy it where links are impossible."""
        try:
            path.hardlink_to(self._root / key)
        except OSError:
            shutil.copyfile(self._root / key, path)

    def send(self, path: Path, key: str) -> None:
        """Read the file and put that."""
        self.put(key, path.read_bytes())

    def uri(self, key: str) -> str:
        """Return the file's absolute path."""
        return str(self._root / key)

    def scanning(self) -> AbstractContextManager[None]:
        """Leave errors of files as they are."""
        return nullcontext()

    def _objects(self, prefix: str) -> Iterator[StoredObject]:
        for folder, _, names in os.walk(self._root / prefix.rpartition("/")[0]):
            for name in names:
                path = Path(folder, name)
                key = path.relative_to(self._root).as_posix()
                if key.startswith(prefix):
                    with suppress(FileNotFoundError):
                        status = path.stat()
                        yield StoredObject(key, status.st_mtime, status.st_size)


def _write(path: Path, data: bytes | memoryview) -> None:
    with disk.replacing(path) as unfinished:
        unfinished.write_bytes(data)
