"""Primitives of durable files: fsync, and writing a file aside before it takes its name."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PAGE: Final = 4096


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


def printable(path: Path) -> str:
    """Return a path as text that can be written anywhere: bytes of its name that are not UTF-8 as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def without_zeros(path: Path) -> None:
    """Free the disk space of pages of zeros, where the file system can; the file reads as before.

    A database of small tables is mostly zeros: DuckDB gives each table blocks of its own. Cost: the file is copied.
    """
    with aside(path.parent) as copy:
        with path.open("rb") as source, copy.open("wb") as target:
            while page := source.read(_PAGE):
                if page.count(0) == len(page):
                    target.seek(len(page), os.SEEK_CUR)
                else:
                    target.write(page)
            target.truncate()
        copy.replace(path)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield an unused path to write a file to, which then takes the name `path`: others see the old file or all of it.

    It survives a power cut from then on. If writing fails, the old file stays. Creates the folder if it is missing.
    """
    with aside(path.parent) as unfinished:
        yield unfinished
        sync(unfinished)
        unfinished.replace(path)
    sync(path.parent)


@contextmanager
def aside(folder: Path) -> Iterator[Path]:
    """Yield an unused path in `folder` to write to, and remove what is still there on exit.

    Creates the folder if it is missing.
    """
    _make(folder)
    path = folder / f".{secrets.token_hex(8)}.aside"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _make(folder: Path) -> None:
    """Create a folder and those above it that are missing, so that they survive a power cut."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        sync(folder.parent)
