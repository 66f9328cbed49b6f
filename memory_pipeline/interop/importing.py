"""Imports a stream of events and dead letters into the ledger in batches.

Here: the import loop and what the formats share: stable event ids, conversations as events, reading of JSON files. Not
here: the formats (`locomo.py`, `beam.py`, `jsonl.py`).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from memory_pipeline.ledger.event import DeadLetter, Event, InvalidEvent, check_sizes, parse
from memory_pipeline.ledger.ledger import Appended, Ledger
from memory_pipeline.ledger.payloads import Stored, Updated
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import Settings

_NAMESPACE: Final = UUID("6c1d3c1e-3f52-5a0b-9a52-6f0d9b1f7a11")
_BATCH_CHARACTERS: Final = 16_000_000
"""Most characters per batch, so that files with very long lines need no more memory."""


class Imported(Event):
    """An event together with its source."""

    origin: str
    """File and position that it was read from."""
    raw: bytes
    """The bytes at that position."""

    @classmethod
    def of(cls, event: Event, origin: str, raw: bytes) -> "Imported":
        """Return a valid event with its source attached."""
        return cls.model_construct(**vars(event), origin=origin, raw=raw)


SHOWN_REFUSALS: Final = 20
"""Refused events that a report names; all of them are dead letters."""


@dataclass(frozen=True)
class RefusedEvent:
    """Why an event was refused."""

    origin: str
    """Where it came from: file and line."""
    reason: str
    """Field, value and remedy."""


@dataclass(frozen=True)
class ImportReport:
    """Result of an import."""

    accepted: int = 0
    duplicates: int = 0
    """Events that the ledger already had."""
    dead_letters: int = 0
    profiles: tuple[str, ...] = field(default=(), compare=False)
    """Profiles of the accepted events and duplicates, sorted; reports with equal counts are equal."""
    refused: tuple[RefusedEvent, ...] = field(default=(), compare=False)
    """The first `SHOWN_REFUSALS` events that became dead letters."""


def import_events(
    ledger: Ledger,
    events: Iterable[Event | DeadLetter],
    *,
    batch: int = 5000,
    settings: Settings | None = None,
    progress: Callable[[ImportReport], None] | None = None,
) -> ImportReport:
    """Append a stream of events to the ledger, store refused ones as dead letters, and return the counts.

    An event that stores a different text under the id of an existing memory is refused too; if that memory was erased,
    the dead letter does not keep the text. Only one batch is held in memory. An import that was interrupted can be run
    again: events that are already in the ledger count as duplicates.

    Args:
        ledger: ledger to append to.
        events: output of an importer.
        batch: events that become durable together.
        settings: settings that limit texts and tags; default: no limits. An event over them is refused.
        progress: called after each batch with the report so far.
    """
    report = ImportReport()
    for batch_events, unreadable in _batches(_of_size(events, settings), batch):
        appended, taken, conflicts = _append(ledger, batch_events)
        letters = unreadable + conflicts
        ledger.add_dead_letters(letters)
        report = ImportReport(
            report.accepted + appended.accepted,
            report.duplicates + appended.duplicates,
            report.dead_letters + len(letters),
            tuple(sorted({*report.profiles, *(event.profile_id for event in taken)})),
            (*report.refused, *(RefusedEvent(letter.origin, letter.reason) for letter in letters))[:SHOWN_REFUSALS],
        )
        if progress is not None:
            progress(report)
    return report


def _of_size(events: Iterable[Event | DeadLetter], settings: Settings | None) -> Iterator[Event | DeadLetter]:
    """Turn events with too long a text or too many tags into dead letters."""
    for event in events:
        if settings is None or isinstance(event, DeadLetter):
            yield event
            continue
        try:
            check_sizes(event, settings)
        except ValueError as error:
            yield _dead_letter(event, str(error), raw=True)
        else:
            yield event


def _append(ledger: Ledger, events: list[Event]) -> tuple[Appended, list[Event], list[DeadLetter]]:
    """Append the valid events of a batch; return the counts, these events, and dead letters for the others."""
    letters = list[DeadLetter]()
    while True:
        try:
            return ledger.append(events), events, letters
        except KnownMemory as error:
            letters += [
                _dead_letter(events[place], refusal.reason, raw=not refusal.erased)
                for place, refusal in error.refused.items()
            ]
            events = [event for place, event in enumerate(events) if place not in error.refused]


def _dead_letter(event: Event, why: str, *, raw: bool) -> DeadLetter:
    """Return the dead letter for a valid event, with its bytes if `raw`."""
    if isinstance(event, Imported):
        origin, received = event.origin, event.raw
    else:
        origin, received = f"event {event.event_id}", event.model_dump_json(exclude_none=True).encode()
    return DeadLetter(origin, why, received if raw else b"", event.recorded_at)


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


def stable_id(*parts: str) -> str:
    """Return an event id (uuid5) that depends on these parts alone."""
    return str(uuid5(_NAMESPACE, json.dumps(parts)))


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation, not yet validated."""

    memory_id: str
    session_id: str
    occurred_at: datetime
    speaker: Any
    content: Any
    origin: str
    source: Any
    """The turn as parsed from the file, for dead letters."""


@dataclass(frozen=True)
class Conversation:
    """One conversation to be imported into one profile."""

    file_format: str
    """Name of the format; also the `source` of the memories."""
    name: str
    """Id of the conversation within the format."""
    profile: str
    recorded_at: datetime

    def events(self, turns: Iterable[Turn | DeadLetter]) -> Iterator[Event | DeadLetter]:
        """Yield a stored memory per turn, and session start and end events around the turns of each session.

        Invalid turns and turns with a duplicate id become dead letters.
        """
        seen: set[str] = set()
        last: Turn | None = None
        for turn in turns:
            if isinstance(turn, DeadLetter):
                yield turn
                continue
            if last is None or turn.session_id != last.session_id:
                if last is not None:
                    yield self._session_event(EventType.SESSION_ENDED, last)
                yield self._session_event(EventType.SESSION_STARTED, turn)
            last = turn
            if turn.memory_id in seen:
                reason = f"{turn.memory_id!r} names two turns; give each turn its own id"
                yield dead_letter(turn.source, reason=reason, recorded_at=self.recorded_at, origin=turn.origin)
            else:
                seen.add(turn.memory_id)
                yield self._stored(turn)
        if last is not None:
            yield self._session_event(EventType.SESSION_ENDED, last)

    def _stored(self, turn: Turn) -> Event | DeadLetter:
        payload = {"content": turn.content, "speaker": turn.speaker, "source": self.file_format}
        return self._event(EventType.STORED, turn, turn.memory_id, {"memory_id": turn.memory_id, "payload": payload})

    def _session_event(self, event_type: EventType, turn: Turn) -> Event | DeadLetter:
        return self._event(event_type, turn, turn.session_id, {})

    def _event(self, event_type: EventType, turn: Turn, subject: str, fields: Mapping[str, Any]) -> Event | DeadLetter:
        raw = {
            "event_id": stable_id(self.file_format, self.profile, self.name, event_type.value, subject),
            "profile_id": self.profile,
            "event_type": event_type.value,
            "occurred_at": turn.occurred_at,
            "session_id": turn.session_id,
            **fields,
        }
        try:
            event = parse(raw, recorded_at=self.recorded_at, origin=turn.origin, future=None)
        except InvalidEvent as error:
            return dead_letter(turn.source, reason=error.reason, recorded_at=self.recorded_at, origin=turn.origin)
        return Imported.of(event, turn.origin, _raw(turn.source))


def dead_letter(source: object, *, reason: str, recorded_at: datetime, origin: str) -> DeadLetter:
    """Return the dead letter for a part of a JSON file."""
    return DeadLetter(origin, reason, _raw(source), recorded_at)


def _raw(source: object) -> bytes:
    return json.dumps(source, ensure_ascii=True).encode()


def file_name(path: Path) -> str:
    """Return the name of a file for use in origins; undecodable bytes are replaced."""
    return path.name.encode(errors="replace").decode()


def json_file(path: Path) -> Any:
    """Parse a JSON file.

    Raises:
        ValueError: the file cannot be read or is not JSON.
    """
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable JSON file") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON in UTF-8 ({error}); name a file of the right format") from error
