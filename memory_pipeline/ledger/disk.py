"""Primitives of durable files: fsync, and writing a file aside before it takes its name.

Here: whatever must survive a power cut, for the ledger, the lake, tokens and settings. Not here: what the files hold.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def sync(path: Path) -> None:
    """Flush a file, or a folder's directory entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private(folder: Path) -> Path:
    """Create a data folder that only this user can enter, unless it exists; its files follow the umask."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def writable(folder: Path) -> bool:
    """Return whether this user may write to a folder; a data folder that is read-only can still be looked at."""
    return os.access(folder, os.W_OK)


@contextmanager
def aside(folder: Path) -> Iterator[Path]:
    """Yield an unused path in `folder` to write to, and remove what is still there on exit.

    Creates the folder if it is missing. The caller syncs the file and renames it, then syncs the folder.
    """
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        sync(folder.parent)
        sync(folder.parent.parent)
    path = folder / f".{secrets.token_hex(8)}.aside"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
