"""Records in a folder what a dream changed in it, so that it can be undone.

Not here: what changes (`interop/dreaming.py`), and writing files (`folder.py`).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

import pydantic

from memory_pipeline.interop.exports.folder import replace_file

NAME: Final = ".memory-pipeline-dream.json"
"""Name of the file in the folder."""


@dataclass(frozen=True)
class DreamRecord:
    """The last dream of a folder that was applied."""

    profile_id: str
    run_id: str | None
    """Run that decided it; None if an earlier run did."""
    before: Mapping[str, str | None]
    """Text of every file that changed as it was before; None: there was none."""
    after: Mapping[str, str | None]
    """SHA-256 of these files as the dream left them; None: it removed the file."""
    position: int = 0
    """Position of the ledger after the dream."""

    @classmethod
    def of(
        cls,
        profile_id: str,
        run_id: str | None,
        texts: Mapping[str, str],
        changed: Mapping[str, str | None],
        *,
        position: int,
    ) -> Self:
        """Return the record of changes of the texts of files."""
        before = {path: texts.get(path) for path in changed}
        after = {path: _hash(text) for path, text in changed.items()}
        return cls(profile_id, run_id, before, after, position)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the record in a folder; a ValueError says that there is none, or that it is damaged."""
        try:
            return pydantic.TypeAdapter(cls).validate_json((folder / NAME).read_bytes())
        except FileNotFoundError:
            raise ValueError(f"{folder}: no dream was applied to it that can be undone") from None
        except ValueError as error:
            raise ValueError(f"{folder / NAME} is damaged; undo the run itself: memory-pipeline undo RUN") from error

    def write(self, folder: Path) -> None:
        """Write the record into a folder, in place of an earlier one."""
        replace_file(folder / NAME, (json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n").encode())

    def changed_since(self, folder: Path) -> list[str]:
        """Return the files that are neither as the dream left them nor as they were before.

        A process that was killed has left some as the one and some as the other.
        """
        now = {path: _text(folder / path) for path in self.after}
        return [path for path, text in now.items() if text != self.before.get(path) and _hash(text) != self.after[path]]


def remove(folder: Path) -> None:
    """Remove the record from a folder."""
    (folder / NAME).unlink(missing_ok=True)


def _text(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def _hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
