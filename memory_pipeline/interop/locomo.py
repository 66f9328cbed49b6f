"""Imports LoCoMo conversations: two people talking in dated sessions.

A file is one conversation (`speaker_a`, `speaker_b`, `session_1`, `session_1_date_time`, ...) or a list of
`{sample_id, conversation}`. Each turn becomes a stored memory; questions, summaries and pictures are not imported.
"""

import re
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

_SESSION: Final = re.compile(r"session_(\d+)", re.ASCII)
_WHEN: Final = re.compile(
    r"(0?[1-9]|1[0-2]):(\d\d) ?([ap])m on (\d{1,2}) ([a-z]+),? ([12]\d{3})", re.ASCII | re.IGNORECASE
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TURN: Final = timedelta(seconds=1)
"""Time between two turns; the files have only the start of each session."""


def detect(seen: Sample) -> bool:
    """Return whether a path is in LoCoMo's layout."""
    return any(one.has("session_1", "session_1_date_time") for one in seen.heads)


def events(path: Path, *, recorded_at: datetime, profile: str | None = None) -> Iterator[Event | DeadLetter]:
    """Yield the events of every conversation in a file, session by session, one second per turn.

    The default profile is `locomo-<id>`; memory ids are the turns' `dia_id`. A malformed turn becomes a dead letter;
    a session with a malformed date becomes one dead letter as a whole.

    Raises:
        ValueError: the file cannot be read, is not JSON or has another layout, or a profile is given for several
            conversations. Raised before the first event.
    """
    conversations = _conversations(path)
    if any(len(name) > LONGEST for name, _ in conversations):
        raise ValueError(f"{path}: a sample_id is longer than {LONGEST} characters; shorten it")
    if profile is not None and len(conversations) > 1:
        raise ValueError(
            f"{path}: holds {len(conversations)} conversations; leave the profile out, so that each gets its own"
        )
    return (
        event
        for index, (name, conversation) in enumerate(conversations)
        for event in Conversation("locomo", name, profile or f"locomo-{name}", recorded_at).events(
            _turns(conversation, f"{file_name(path)}[{index}]", recorded_at)
        )
    )


def when(text: object) -> datetime | None:
    """Parse a time such as "1:56 pm on 8 May, 2023" as UTC; None if the text is not one."""
    match = _WHEN.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or match[5][:3].lower() not in _MONTHS:
        return None
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    try:
        month = _MONTHS.index(match[5][:3].lower()) + 1
        return datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=UTC)
    except ValueError:
        return None


def _conversations(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    document = json_file(path)
    named: list[tuple[str, Any]]
    if isinstance(document, Mapping) and "conversation" not in document:
        named = [(path.stem, document)]
    else:
        entries = document if isinstance(document, list) else [document]
        named = [
            (str(entry.get("sample_id", path.stem)), entry.get("conversation"))
            for entry in entries
            if isinstance(entry, Mapping)
        ]
        if not named or len(named) < len(entries) or len(dict(named)) < len(named):
            raise ValueError(f"{path}: is not a list of conversations; give each a unique sample_id and a conversation")
    for name, conversation in named:
        if not isinstance(conversation, Mapping) or not any(_SESSION.fullmatch(key) for key in conversation):
            raise ValueError(f"{path}: {name} has no session_1, session_2, ...; give a file in the LoCoMo layout")
    return named


def _turns(conversation: Mapping[str, Any], origin: str, recorded_at: datetime) -> Iterator[Turn | DeadLetter]:
    for key in sorted(filter(_SESSION.fullmatch, conversation), key=lambda key: int(key[8:])):
        turns, date = conversation[key], conversation.get(f"{key}_date_time")
        start, reason = when(date), ""
        if start is None:
            reason = f"{key}_date_time is {shown(date)}; write it like '1:56 pm on 8 May, 2023'"
        elif not isinstance(turns, list):
            reason = f"{key} is {shown(turns)}; give a list of turns"
        else:
            for index, turn in enumerate(turns):
                yield _turn(turn, key, start + index * _TURN, f"{origin}:{key}[{index}]", recorded_at)
        if reason:
            source = {f"{key}_date_time": date, key: turns}
            yield dead_letter(source, reason=reason, recorded_at=recorded_at, origin=f"{origin}:{key}")


def _turn(turn: object, session_id: str, at: datetime, origin: str, recorded_at: datetime) -> Turn | DeadLetter:
    if not isinstance(turn, Mapping) or not isinstance(turn.get("dia_id"), str):
        reason = "dia_id is missing; give each turn its dia_id, a string"
        return dead_letter(turn, reason=reason, recorded_at=recorded_at, origin=origin)
    text, caption = turn.get("text"), turn.get("blip_caption")
    if isinstance(text, str) and isinstance(caption, str):
        text = f"{text.strip()} [shares {caption.strip()}]".strip()
    return Turn(turn["dia_id"], session_id, at, turn.get("speaker"), text, origin, turn)
