"""Recall indexes kept beside the store, one file for each profile, so that opening a store need not build them.

They hold texts. So the name of a file says up to which erasure it was made, an erasure removes them all, and one that
was being written meanwhile is not kept.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from memory_pipeline.ledger import catalog, disk
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.ledger import Ledger

FOLDER: Final = "index"
"""Folder of the indexes in the data folder."""

_SUFFIX: Final = ".npz"


def erased(ledger: Ledger) -> int:
    """Return the position of the last erasure."""
    return ledger.mark(Mark.ERASED)


def path(home: Path, profile_id: str, *, made_by: str, erased: int) -> Path:
    """Return the path of an index; `made_by` digests what it depends on, `erased` is the last erasure's position."""
    return home / FOLDER / f"{_name(profile_id)}-{made_by[:16]}-{erased}{_SUFFIX}"


def exists(home: Path, profile_id: str) -> bool:
    """Return whether an index of a profile is kept, whatever it was made by and when."""
    return any((home / FOLDER).glob(f"{_name(profile_id)}-*{_SUFFIX}"))


def keep(ledger: Ledger, target: Path, write: Callable[[BinaryIO], None], *, erased: int) -> bool:
    """Write a profile's index, unless something was erased meanwhile, and remove its other ones; return whether it did.

    It does not in a folder or a ledger that this user cannot write, or on a full disk. `write` writes the content to an
    open file, `target` (see `path`); `erased` is the position of the last erasure before the state that the index holds
    was read.
    """
    if not disk.writable(ledger.home):
        return False
    with suppress(OSError, LakeError), disk.aside(target.parent) as file:
        with file.open("xb") as opened:
            # From here on an erasure finds the file by its name, and a crash leaves nothing that it has not seen.
            if ledger.mark(Mark.ERASED) != erased:
                return False
            write(opened)
        with ledger.writing() as transaction:
            if catalog.mark(transaction, Mark.ERASED) != erased:
                return False
            file.replace(target)
        for other in target.parent.glob(f"{target.name.partition('-')[0]}-*{_SUFFIX}"):
            if other != target:
                other.unlink(missing_ok=True)
        return True
    return False


def outdated(home: Path, *, erased: int) -> list[str]:
    """Return the names of indexes that were made before the last erasure, and the remains of unfinished ones."""
    files = sorted((home / FOLDER).glob("*"))
    return [file.name for file in files if not file.name.endswith(f"-{erased}{_SUFFIX}")]


def _name(profile_id: str) -> str:
    return hashlib.sha256(profile_id.encode()).hexdigest()[:16]
