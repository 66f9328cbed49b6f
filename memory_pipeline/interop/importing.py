"""How every importer works: a stream of events and dead letters goes into the ledger in batches.

Here: the loop, and what the formats share: ids that stay the same however often a file is read, conversations as
events, the reading of whole JSON files. Not here: any format (`locomo.py`, `beam.py`, `jsonl.py`).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from memory_pipeline.ledger.event import DeadLetter, Event, InvalidEvent, parse
from memory_pipeline.ledger.ledger import Appended, Ledger
from memory_pipeline.ledger.payloads import Stored, Updated
from memory_pipeline.ledger.references import KnownMemory, Refusal
from memory_pipeline.schemas import EventType

_NAMESPACE: Final = UUID("6c1d3c1e-3f52-5a0b-9a52-6f0d9b1f7a11")
_BATCH_CHARACTERS: Final = 16_000_000
"""Text that one batch holds at most, so that a file of very long lines needs no more memory than any other."""


class Imported(Event):
    """An event, and what it was read from."""

    origin: str
    """Where it stood."""
    raw: bytes
    """The bytes as they stood there."""

    @classmethod
    def of(cls, event: Event, origin: str, raw: bytes) -> "Imported":
        """Return a valid event with what it was read from."""
        return cls.model_construct(**vars(event), origin=origin, raw=raw)


@dataclass(frozen=True)
class ImportReport:
    """What became of a stream of events."""

    accepted: int = 0
    duplicates: int = 0
    """Events that the ledger already had."""
    dead_letters: int = 0


def import_events(
    ledger: Ledger,
    events: Iterable[Event | DeadLetter],
    *,
    batch: int = 5000,
    progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Append a stream of events to the ledger and bury what was refused; return how many of each.

    An event that stores another text under the id of a known memory is refused as well; what is said under the id of
    an erased memory is not kept even so. Nothing but one batch is held in memory. After a crash at any point the same
    import may simply be run again: what is there already counts as a duplicate.

    Args:
        ledger: where the events go.
        events: what an importer yields.
        batch: events that become durable together.
        progress: called after each batch with the report so far.
    """
    report = ImportReport()
    for read, refused in _batches(events, batch):
        done, known = _append(ledger, read)
        letters = refused + known
        ledger.bury(letters)
        report = ImportReport(
            report.accepted + done.accepted,
            report.duplicates + done.duplicates,
            report.dead_letters + len(letters),
        )
        if progress is not None:
            progress(report)
    return report


def _append(ledger: Ledger, events: list[Event]) -> tuple[Appended, list[DeadLetter]]:
    """Append what the ledger can take of a batch, and return the letters of the rest."""
    letters = list[DeadLetter]()
    while True:
        try:
            return ledger.append(events), letters
        except KnownMemory as error:
            letters += [_letter(events[place], refused) for place, refused in error.refused.items()]
            events = [event for place, event in enumerate(events) if place not in error.refused]


def _letter(event: Event, refused: Refusal) -> DeadLetter:
    if isinstance(event, Imported):
        origin, raw = event.origin, event.raw
    else:
        origin, raw = f"event {event.event_id}", event.model_dump_json(exclude_none=True).encode()
    return DeadLetter(origin, refused.reason, b"" if refused.erased else raw, event.recorded_at)


def _batches(items: Iterable[Event | DeadLetter], most: int) -> Iterator[tuple[list[Event], list[DeadLetter]]]:
    events, letters, characters = list[Event](), list[DeadLetter](), 0
    for item in items:
        if isinstance(item, DeadLetter):
            letters.append(item)
            characters += len(item.raw)
        else:
            events.append(item)
            characters += len(item.payload.content or "") if isinstance(item.payload, Stored | Updated) else 0
        if len(events) + len(letters) >= most or characters >= _BATCH_CHARACTERS:
            yield events, letters
            events, letters, characters = [], [], 0
    if events or letters:
        yield events, letters


def identity(*parts: str) -> str:
    """Return the id that an event with these parts always has: the same parts, the same uuid5."""
    return str(uuid5(_NAMESPACE, json.dumps(parts)))


@dataclass(frozen=True)
class Turn:
    """What somebody said in a conversation, before it is checked."""

    memory_id: str
    session_id: str
    occurred_at: datetime
    speaker: Any
    content: Any
    origin: str
    said: Any
    """The turn as it stands in the file."""


@dataclass(frozen=True)
class Conversation:
    """Turns of one conversation, read from one format into one profile."""

    form: str
    """Name of the format; also the `source` of the memories."""
    name: str
    """Id of the conversation within the format."""
    profile: str
    recorded_at: datetime

    def events(self, turns: Iterable[Turn | DeadLetter]) -> Iterator[Event | DeadLetter]:
        """Yield a stored memory for each turn, and the start and end of each session around its turns.

        A turn that cannot be stored becomes a dead letter, as does one whose id was used before.
        """
        seen: set[str] = set()
        last: Turn | None = None
        for turn in turns:
            if isinstance(turn, DeadLetter):
                yield turn
                continue
            if last is None or turn.session_id != last.session_id:
                if last is not None:
                    yield self._edge(EventType.SESSION_ENDED, last)
                yield self._edge(EventType.SESSION_STARTED, turn)
            last = turn
            if turn.memory_id in seen:
                reason = f"{turn.memory_id!r} names two turns; give each turn its own id"
                yield refuse(turn.said, reason=reason, recorded_at=self.recorded_at, origin=turn.origin)
            else:
                seen.add(turn.memory_id)
                yield self._stored(turn)
        if last is not None:
            yield self._edge(EventType.SESSION_ENDED, last)

    def _stored(self, turn: Turn) -> Event | DeadLetter:
        payload = {"content": turn.content, "speaker": turn.speaker, "source": self.form}
        return self._event(EventType.STORED, turn, turn.memory_id, {"memory_id": turn.memory_id, "payload": payload})

    def _edge(self, event_type: EventType, turn: Turn) -> Event | DeadLetter:
        return self._event(event_type, turn, turn.session_id, {})

    def _event(self, event_type: EventType, turn: Turn, about: str, more: Mapping[str, Any]) -> Event | DeadLetter:
        raw = {
            "event_id": identity(self.form, self.profile, self.name, event_type.value, about),
            "profile_id": self.profile,
            "event_type": event_type.value,
            "occurred_at": turn.occurred_at,
            "session_id": turn.session_id,
            **more,
        }
        try:
            event = parse(raw, recorded_at=self.recorded_at, origin=turn.origin, future=None)
        except InvalidEvent as error:
            return refuse(turn.said, reason=error.reason, recorded_at=self.recorded_at, origin=turn.origin)
        return Imported.of(event, turn.origin, _raw(turn.said))


def refuse(said: object, *, reason: str, recorded_at: datetime, origin: str) -> DeadLetter:
    """Return the dead letter of a part of a JSON file."""
    return DeadLetter(origin, reason, _raw(said), recorded_at)


def _raw(said: object) -> bytes:
    return json.dumps(said, ensure_ascii=True).encode()


def file_name(path: Path) -> str:
    """Return the name of a file as an origin shows it, always valid text."""
    return path.name.encode(errors="replace").decode()


def json_file(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises:
        ValueError: the file cannot be read or is not JSON.
    """
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable JSON file") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON in UTF-8 ({error}); name a file of the right format") from error
