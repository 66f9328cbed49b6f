"""The formats that can be imported: what each reads, how it is told from others, and its options.

Not here: the formats themselves, one module each, and the import loop (`importing.py`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop import (
    beam,
    jsonl,
    locomo,
    markdown,
)
from memory_pipeline.interop.items import Item
from memory_pipeline.interop.sampling import Sample, sample
from memory_pipeline.ledger.ledger import Ledger


@dataclass(frozen=True)
class Format:
    """A format that can be imported."""

    name: str
    title: str
    """What it is, for a list: begins with a capital, no full stop."""
    reads: str
    """Which files or folders, for messages: "give {reads}"."""
    events: Callable[..., Iterator[Item]]
    """Takes the path, `recorded_at` and the options."""
    detect: Callable[[Sample], bool]
    """Tells whether a path looks like it."""
    options: tuple[str, ...] = ("profile",)
    """Names of the options it takes (see `OPTIONS`)."""
    checks: bool = False
    """Whether `events` itself refuses a path of another format."""
    asks_ledger: bool = False
    """Whether it takes the ledger, to recognise what it imported before."""


OPTIONS: Final[Mapping[str, str]] = {
    "profile": "Profile to import into; default: the user whom a record names, else one named after the format.",
    "name": "Name by which later imports know this folder; default: where it is.",
}
"""Options by name, and their meaning."""

FLAGS: Final = frozenset({"assistant", "episodes", "observations"})
"""Options without a value."""
OPTION_TYPES: Final[Mapping[str, type]] = dict.fromkeys(OPTIONS, str) | {}


FORMATS: Final[Mapping[str, Format]] = {
    one.name: one
    for one in (
        Format(
            "markdown",
            "A folder of Markdown notes: MEMORY.md, auto memory, memory tools, wikis, our own export",
            "a folder with .md files, or one such file",
            markdown.events,
            lambda seen: any(name.lower().endswith(markdown.SUFFIXES) for name in seen.names),
            options=("profile", "name"),
            asks_ledger=True,
        ),
        Format(
            "jsonl",
            "Our own events, one JSON object per line (docs/event-format.md)",
            "a file of JSON lines with event_type",
            jsonl.events,
            lambda seen: any(one.objects and "event_type" in one.objects[0] for one in seen.heads),
            options=(),
            checks=True,
        ),
        Format(
            "locomo",
            "Conversations in LoCoMo's format; each becomes a profile",
            "a file in the LoCoMo layout",
            locomo.events,
            lambda seen: any(one.has("session_1", "session_1_date_time") for one in seen.heads),
            checks=True,
        ),
        Format(
            "beam",
            "Chats in BEAM's format; each becomes a profile",
            "a file in the BEAM layout",
            beam.events,
            lambda seen: any(one.has("messages", "day", "session", "role") for one in seen.heads),
            checks=True,
        ),
    )
}
"""The formats by name."""


def detect(path: Path) -> list[Format]:
    """Return the formats that a path looks like, the most telling first.

    Raises:
        ValueError: it cannot be read.
    """
    seen = sample(path)
    return sorted((one for one in FORMATS.values() if one.detect(seen)), key=lambda one: one is FORMATS["markdown"])


def events(
    form: Format, path: Path, *, recorded_at: datetime, ledger: Ledger | None = None, **options: Any
) -> Iterator[Item]:
    """Return what a path holds in a format.

    Args:
        form: the format.
        path: file or folder.
        recorded_at: time of the import.
        ledger: ledger that is imported into; None: it does not exist yet.
        options: those that the format takes.

    Raises:
        ValueError: the path cannot be read, or holds nothing of that format. Raised before the first event.
    """
    if not form.checks and not form.detect(sample(path)):
        likely = next(iter(detect(path)), None)
        remedy = f"it looks like {likely.name}" if likely else f"give {form.reads}"
        raise ValueError(f"{path}: holds nothing of the format {form.name}; {remedy}")
    known = {"ledger": ledger} if form.asks_ledger else {}
    return form.events(path, recorded_at=recorded_at, **known, **options)
