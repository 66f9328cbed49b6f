"""Records in a folder what a dream changed in it, so that it can be undone.

Not here: what changes (`interop/dreaming.py`), and writing files (`folder.py`).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

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

    @classmethod
    def of(
        cls, profile_id: str, run_id: str | None, texts: Mapping[str, str], changed: Mapping[str, str | None]
    ) -> Self:
        """Return the record of changes of the texts of files."""
        before = {path: texts.get(path) for path in changed}
        return cls(profile_id, run_id, before, {path: _hash(text) for path, text in changed.items()})

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the record in a folder.

        Raises:
            ValueError: there is none, or it is damaged.
        """
        try:
            return cls(**json.loads((folder / NAME).read_text("utf-8")))
        except FileNotFoundError:
            raise ValueError(f"{folder}: no dream was applied to it that can be undone") from None
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{folder / NAME} is damaged ({error}); undo the run itself: memory-pipeline undo"
            ) from error

    def write(self, folder: Path) -> None:
        """Write the record into a folder, in place of an earlier one."""
        (folder / NAME).write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", "utf-8", newline="\n")

    def changed_since(self, folder: Path) -> list[str]:
        """Return the files that are not as the dream left them."""
        return [path for path, digest in self.after.items() if _hash(_text(folder / path)) != digest]


def remove(folder: Path) -> None:
    """Remove the record from a folder."""
    (folder / NAME).unlink(missing_ok=True)


def _text(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else None


def _hash(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
