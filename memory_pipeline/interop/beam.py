"""Imports BEAM chats: long conversations between a user and an assistant.

A file is one chat: `chat` and `messages`, each with `id`, `session`, `day`, `role`, `content`. Each message becomes a
stored memory; questions are not imported.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.conversations import Conversation, Turn
from memory_pipeline.interop.items import dead_letter, file_name, json_file
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import LONGEST
from memory_pipeline.ledger.event import DeadLetter, Event
from memory_pipeline.ledger.validation_errors import shown

_MESSAGE: Final = timedelta(minutes=1)
"""Time between two messages; the files have only dates."""


def detect(seen: Sample) -> bool:
    """Return whether a path is in BEAM's layout."""
    return any(one.has("messages", "day", "session", "role") for one in seen.heads)


def events(path: Path, *, recorded_at: datetime, profile: str | None = None) -> Iterator[Event | DeadLetter]:
    """Yield the events of a chat in order; message i is dated i minutes after 08:00 of its day.

    The default profile is `beam-<chat>`; memory ids are message ids. A malformed message becomes a dead letter.

    Raises:
        ValueError: the file cannot be read, is not JSON or has another layout. Raised before the first event.
    """
    document = json_file(path)
    messages = document.get("messages") if isinstance(document, Mapping) else None
    if not isinstance(messages, list) or not messages:
        raise ValueError(f"{path}: has no list of messages; give a file in the BEAM layout")
    name = str(document.get("chat", path.stem))
    if len(name) > LONGEST:
        raise ValueError(f"{path}: chat is longer than {LONGEST} characters; shorten it")
    origin = f"{file_name(path)}:messages"
    turns = (_turn(message, index, f"{origin}[{index}]", recorded_at) for index, message in enumerate(messages))
    return Conversation("beam", name, profile or f"beam-{name}", recorded_at).events(turns)


def _turn(message: Any, number: int, origin: str, recorded_at: datetime) -> Turn | DeadLetter:
    try:
        at = datetime.fromisoformat(message["day"]).replace(tzinfo=UTC) + timedelta(hours=8) + number * _MESSAGE
        message_id, session = (_label(message[name], name) for name in ("id", "session"))
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        reason = f"the message is {shown(message)} ({error}); give it an id, a session and a day like 2026-01-31"
        return dead_letter(message, reason=reason, recorded_at=recorded_at, origin=origin)
    return Turn(message_id, session, at, message.get("role"), message.get("content"), origin, message)


def _label(value: object, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(f"{name} is {shown(value)}")
    return str(value)
