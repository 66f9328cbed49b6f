"""The receipt of an erasure, as values, as JSON and as lines of text.

What is not here: the erasure (`erasure/erase.py`).
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from memory_pipeline.ledger import payloads

NOT_COVERED: Final = (
    "backups and copies of the data folder",
    "snapshots and tables that were exported",
    "plan files and reports written elsewhere",
    "logs and memories of the agents themselves, and what a language model's provider keeps",
    "ids (of memories, events, sessions, agents, users) and the hashes in ids of decisions and summaries",
    "blocks that the file system has freed but not yet written over",
)
"""What an erasure does not reach."""


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What an erasure touched, by count and name, and what it does not cover. Names are ids and paths, never texts."""

    profile_id: str
    at: datetime
    """When the memories were erased; of a second erasure, when the first was."""
    reason: str
    erased: tuple[str, ...] = ()
    """Memories that were erased."""
    already: tuple[str, ...] = ()
    """Memories that had been erased before."""
    remade: tuple[str, ...] = ()
    """Summaries that were worded anew from the members they have left."""
    dropped: tuple[str, ...] = ()
    """Summaries that are gone, since fewer than two of their members are left."""
    restored: tuple[str, ...] = ()
    """Their members, which stand for themselves again."""
    blocks: tuple[str, ...] = ()
    """Core memory blocks that were compiled anew or emptied."""
    same_text: tuple[str, ...] = ()
    """Other memories that say the very same: they are others' and stay."""
    events: int = 0
    """Events that lost what they said."""
    queries: int = 0
    """Events about other memories that lost their query or metadata only."""
    decisions: int = 0
    """Decisions that lost their words or were worded anew."""
    dead_letters: tuple[str, ...] = ()
    """Refused events that were removed."""
    files_rewritten: tuple[str, ...] = ()
    files_removed: tuple[str, ...] = ()
    snapshots_removed: tuple[str, ...] = ()
    snapshot: str | None = None
    """The snapshot that was made anew."""
    caches: tuple[str, ...] = ()
    """Staging folders, indexes and logs that were removed or masked."""
    not_covered: tuple[str, ...] = NOT_COVERED
    salt: str = ""
    """Salt of the digests in the ledger, 32 hex digits, kept nowhere else: with it and a text, its digest can be
    checked. Empty if a crash came between, or nothing was erased."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return plain | {"at": payloads.written(self.at)}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Receipt":
        """Return the receipt that `to_dict` wrote."""
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**plain | {"at": datetime.fromisoformat(document["at"])})

    def lines(self) -> list[str]:
        """Return everything as text for a terminal."""
        counts = {"events": self.events, "queries": self.queries, "decisions": self.decisions}
        done = ", ".join(f"{count} {name}" for name, count in counts.items())
        return [
            f"erased in profile {self.profile_id} at {self.at.isoformat()}: {_listed(self.erased)} ({self.reason})",
            *([f"erased before: {_listed(self.already)}"] if self.already else []),
            f"without their words: {done}",
            *(
                f"{name.replace('_', ' ')}: {_listed(names)}"
                for name in ("remade", "dropped", "restored", "blocks", "dead_letters", "snapshots_removed", "caches")
                if (names := getattr(self, name))
            ),
            f"files: {len(self.files_rewritten)} rewritten, {len(self.files_removed)} removed",
            *([f"the same text stays in: {_listed(self.same_text)}"] if self.same_text else []),
            *([f"salt of the digests, kept nowhere else: {self.salt}"] if self.salt else []),
            "not covered:",
            *(f"  {what}" for what in self.not_covered),
        ]


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:10]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"{', '.join(shown)}{more}" if names else "nothing"
