"""Detects which runs have a live process: each holds a lock on a file named after it.

The kernel frees the lock of a process that was killed, so what remains is a file that anybody can lock.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from memory_pipeline.ledger.disk import writable


@contextlib.contextmanager
def held(home: Path, run_id: str) -> Iterator[None]:
    """Mark a run as executed by this process while the context lasts."""
    folder = _folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / run_id):
        yield
        (folder / run_id).unlink(missing_ok=True)


def abandoned(home: Path) -> list[str]:
    """Return the ids of runs whose process ended before the run did. Cost: one listing of a folder, mostly empty."""
    folder = _folder(home)
    if not (folder.is_dir() and writable(folder)):
        return []
    free = []
    for file in sorted(folder.iterdir()):
        with contextlib.suppress(Timeout), FileLock(file, timeout=0):
            free.append(file.name)
    return free


def forget(home: Path, run_id: str) -> None:
    """Stop returning a run as abandoned."""
    (_folder(home) / run_id).unlink(missing_ok=True)


def _folder(home: Path) -> Path:
    return home / "dagster" / "live"
