"""Conversations of two people or of a user and an assistant, in which every turn becomes a memory.

Not here: the layouts of the files (`locomo.py`, `beam.py`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_pipeline.interop.items import Imported, dead_letter, raw_bytes, stable_id
from memory_pipeline.ledger.event import DeadLetter, Event, InvalidEvent, parse
from memory_pipeline.schemas import EventType


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
        return Imported.of(event, turn.origin, raw_bytes(turn.source))
