"""What importers yield: events with their source, dead letters, and what they leave out.

Here: the items and what importers share to make them. Not here: the import loop (`importing.py`), records of foreign
stores (`records.py`), and the formats.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from memory_pipeline.ledger.event import DeadLetter, Event

_NAMESPACE: Final = UUID("6c1d3c1e-3f52-5a0b-9a52-6f0d9b1f7a11")


class ImportedAs(Enum):
    """How an imported event is treated."""

    EVENT = "event"
    """As it is: it happened, and counts once."""
    STATE = "state"
    """The memory's current state in the source: if the ledger has another one, the differences become an update."""
    IF_NEW = "if new"
    """The memory's first state, which its changes follow as events: stored only if the ledger lacks it."""


class Imported(Event):
    """An event together with its source."""

    origin: str
    """File and position that it was read from."""
    raw: bytes
    """The bytes at that position."""
    imported_as: ImportedAs = ImportedAs.EVENT
    changed_at: datetime | None = None
    """When the source last changed the memory."""
    states_change: bool = False
    """Whether the source itself states that instant; the date of a file is only a bound."""

    @classmethod
    def of(cls, event: Event, origin: str, raw: bytes, **state: Any) -> "Imported":
        """Return a valid event with its source, and those other fields here that are not the default."""
        return cls.model_construct(**vars(event), origin=origin, raw=raw, **state)


@dataclass(frozen=True)
class Skipped:
    """Something of a source that is left out on purpose."""

    what: str
    """In the plural, as a report names it: "messages of the assistant"."""
    count: int = 1


@dataclass(frozen=True)
class Noticed:
    """Something of what is taken that whoever imports it should know."""

    what: str
    """What stands behind a count of it: "without a date of their own, ..."."""
    count: int = 1


Item = Event | DeadLetter | Skipped | Noticed


def skipped(what: str, count: int) -> list[Item]:
    """Return what is left out, if there is anything."""
    return [Skipped(what, count)] if count > 0 else []


def stable_id(*parts: str) -> str:
    """Return an event id (uuid5) that depends on these parts alone."""
    return str(uuid5(_NAMESPACE, json.dumps(parts)))


def dead_letter(source: object, *, reason: str, recorded_at: datetime, origin: str) -> DeadLetter:
    """Return the dead letter for a part of a JSON file."""
    return DeadLetter(origin, reason, raw_bytes(source), recorded_at)


def raw_bytes(source: object) -> bytes:
    """Return a part of a JSON file as bytes, for its dead letter; empty if it is nested too deeply."""
    try:
        return json.dumps(source, ensure_ascii=True, default=repr).encode()
    except (RecursionError, ValueError, TypeError):
        return b""


def file_name(path: Path) -> str:
    """Return the name of a file for use in origins; undecodable bytes are replaced."""
    return path.name.encode(errors="replace").decode()


def json_file(path: Path) -> Any:
    """Parse a JSON file; a ValueError says why it cannot be read, or is not JSON."""
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable JSON file") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON in UTF-8 ({error}); name a file of the right format") from error
