"""Receipt of an erasure: as values, as JSON and as lines of text."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from memory_pipeline.ledger import payloads

NOT_COVERED: Final = (
    "backups, also those of memory-pipeline backup, and copies of the data folder: remove those made before",
    "exports (files of other tools, events, tables, snapshots, dead letters) and folders that a dream wrote",
    "other profiles of the store: what was said there, and questions asked there, also of several profiles together",
    "plan files and reports written outside the data folder",
    "logs and memories of the agents themselves, and what a language model's provider keeps",
    "ids of memories and events, which keep what was erased from coming back, even if they contain a person's id",
    "names of profiles, even if they are a person's id, and the hashes in ids of decisions and summaries",
    "ids of people, sessions and agents, unless a person or a whole profile is erased",
    "the settings file, and what other people said of the person, in texts, tags and metadata",
    "programs that have a removed snapshot open, which read its old state until they close it",
    "disk blocks that the file system has freed but not yet overwritten",
)
"""What an erasure does not reach."""


def other_questions(profile_id: str, since: datetime, *, unspaced: bool = False) -> str:
    """Describe the questions asked since the memories became known that an erasure may miss, and how to erase them.

    With `unspaced`, some text is in a script without spaces, in which short names cannot be told from words.
    """
    short = (
        " or in a name of two letters without a common Chinese surname (of Thai, Lao, Khmer and Burmese: of three)"
        if unspaced
        else ""
    )
    return (
        "questions asked since the first of these memories was stored, before or after this erasure, which may say the "
        f"same in other words{short}; redact all of them with: "
        f"memory-pipeline erase --profile {profile_id} --questions-since {payloads.written(since)}"
    )


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What an erasure changed, by count and name, and what it does not cover; names are ids and paths, never texts."""

    profile_id: str
    at: datetime
    """When the memories were erased; when erasing them again, the time of the first erasure."""
    reason: str
    erased: tuple[str, ...] = ()
    """Memories that were erased."""
    already: tuple[str, ...] = ()
    """Memories that had been erased before."""
    remade: tuple[str, ...] = ()
    """Summaries that were rewritten from their remaining members."""
    dropped: tuple[str, ...] = ()
    """Summaries that were removed because fewer than two of their members remain."""
    restored: tuple[str, ...] = ()
    """Remaining members of removed summaries, which are live again."""
    blocks: tuple[str, ...] = ()
    """Core memory blocks that were recompiled or emptied."""
    owners: tuple[str, ...] = ()
    """Whose memory the profile, or that of one of its users, is from now on, where the former owner's words that told
    so were erased; "nobody" if no speaker remains. The setting `owner` decides otherwise."""
    same_text: tuple[str, ...] = ()
    """Other memories with exactly the same text; they belong to others and stay."""
    people: tuple[str, ...] = ()
    """What stands for the ids of the erased people now: salted hashes."""
    events: int = 0
    """Number of events whose content was removed."""
    queries: int = 0
    """Number of events about other memories of which only the query or metadata was removed."""
    decisions: int = 0
    """Number of decisions that were redacted or rewritten."""
    dead_letters: tuple[str, ...] = ()
    """Refused events that were removed."""
    files_rewritten: tuple[str, ...] = ()
    files_removed: tuple[str, ...] = ()
    snapshots_removed: tuple[str, ...] = ()
    snapshot: str | None = None
    """Snapshot that was built afterwards."""
    caches: tuple[str, ...] = ()
    """Staging folders, indexes and logs that were removed or masked."""
    not_covered: tuple[str, ...] = NOT_COVERED
    salt: str = ""
    """Salt of the digests in the ledger, 32 hex digits, stored nowhere else: with it and a text, the digest of the text
    can be checked. Empty if a crash interrupted the erasure, or nothing was erased."""

    def to_dict(self) -> dict[str, Any]:
        """Return every field in JSON types."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return fields | {"at": payloads.written(self.at)}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Receipt":
        """Return the receipt that `to_dict` returned as `document`."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**fields | {"at": datetime.fromisoformat(document["at"])})

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def lines(self) -> list[str]:
        """Return the receipt as lines of text for a terminal."""
        redacted = f"events {self.events}, queries of other events {self.queries}, decisions {self.decisions}"
        lists = {
            "summaries rewritten": self.remade,
            "summaries removed": self.dropped,
            "members restored": self.restored,
            "core memory blocks recompiled": self.blocks,
            "memory that is somebody else's from now on (the setting owner decides otherwise), now of": self.owners,
            "ids of people replaced by": self.people,
            "dead letters removed": self.dead_letters,
            "snapshots removed": self.snapshots_removed,
            "caches and logs cleaned": self.caches,
        }
        return [
            f"erased in profile {self.profile_id} at {self.at.isoformat()}: {_listed(self.erased)} ({self.reason})",
            *([f"erased before: {_listed(self.already)}"] if self.already else []),
            f"redacted: {redacted}",
            *(f"{name}: {_listed(ids)}" for name, ids in lists.items() if ids),
            f"files: {len(self.files_rewritten)} rewritten, {len(self.files_removed)} removed",
            *([f"same text remains in: {_listed(self.same_text)}"] if self.same_text else []),
            *([f"salt of the digests, stored nowhere else: {self.salt}"] if self.salt else []),
            "not covered:",
            *(f"  {item}" for item in self.not_covered),
        ]


def _listed(names: Collection[str]) -> str:
    first = sorted(names)[:10]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return f"{', '.join(first)}{more}" if names else "nothing"
