"""Import of BEAM chats: long conversations of a user and an assistant.

A file is one chat: `chat` and `messages` of `id`, `session`, `day`, `role`, `content`. Each message becomes a stored
memory; the questions stay out.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.importing import Conversation, Turn, file_name, json_file, refuse
from memory_pipeline.ledger.event import DeadLetter, Event
from memory_pipeline.ledger.validation_errors import shown

_MORNING: Final = timedelta(hours=8)
_MESSAGE: Final = timedelta(minutes=1)
"""Time from one message of the chat to the next; the data give days only."""


def events(path: Path, *, recorded_at: datetime, profile: str | None = None) -> Iterator[Event | DeadLetter]:
    """Yield the events of a chat in order: message i of the chat at 08:00 of its day and i minutes.

    The profile is `beam-<chat>` unless given, the memory's id is the message's. A malformed message becomes a dead
    letter.

    Args:
        path: the file.
        recorded_at: the clock of the import.
        profile: tenant for the chat.

    Raises:
        ValueError: the file cannot be read, is not JSON or has another layout; at once, before the first event.
    """
    found = json_file(path)
    messages = found.get("messages") if isinstance(found, Mapping) else None
    if not isinstance(messages, list) or not messages:
        raise ValueError(f"{path}: has no list of messages; name a file in the layout of BEAM")
    name = str(found.get("chat", path.stem))
    origin = f"{file_name(path)}:messages"
    turns = (_turn(message, place, f"{origin}[{place}]", recorded_at) for place, message in enumerate(messages))
    return Conversation("beam", name, profile or f"beam-{name}", recorded_at).events(turns)


def _turn(message: Any, place: int, origin: str, recorded_at: datetime) -> Turn | DeadLetter:
    try:
        at = datetime.fromisoformat(message["day"]).replace(tzinfo=UTC) + _MORNING + place * _MESSAGE
        number, session = (_label(message[name], name) for name in ("id", "session"))
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        reason = f"the message is {shown(message)} ({error}); give it an id, a session and a day like 2026-01-31"
        return refuse(message, reason=reason, recorded_at=recorded_at, origin=origin)
    return Turn(number, session, at, message.get("role"), message.get("content"), origin, message)


def _label(value: object, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"{name} is {shown(value)}")
    return str(value)
