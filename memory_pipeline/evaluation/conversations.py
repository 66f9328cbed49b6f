"""Conversations with questions about them, read from files.

Here: what a chat is, and the files of other people's conversations (LoCoMo, BEAM). Not here: stores and the pipeline's
own events (`sources.py`), chats made up by the project (`chats.py`), and importing memories for keeps (`interop/`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.interop import beam, locomo
from memory_pipeline.interop.importing import json_file
from memory_pipeline.ledger.event import DeadLetter, Event
from memory_pipeline.ledger.payloads import Stored

TURNS: Final = {
    "id": pl.String(),
    "at": pl.Datetime("us", "UTC"),
    "session_id": pl.String(),
    "speaker": pl.String(),
    "content": pl.String(),
}
"""Columns of `Chat.turns`, in order of time."""
_LISTS: Final = ("evidence", "original", "updated", "first", "second")
QUESTIONS: Final = {"id": pl.String(), "text": pl.String(), "kind": pl.String(), "answer": pl.String()} | dict.fromkeys(
    _LISTS, pl.List(pl.String())
)
"""Columns of `Chat.questions`. `evidence` holds ids of the turns that answer it; of a changed fact `original` and
`updated` those that say the older and the newer value, of a contradiction `first` and `second` the two sides; else
these are empty."""

_KINDS: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""Names of LoCoMo's categories."""
_EVIDENCE: Final = re.compile(r"D:?(\d+):0*(\d+)")
READ: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""When the events of a file are said to be recorded: after all of them, as nothing is recorded before it happens."""


@dataclass(frozen=True)
class Chat:
    """A conversation with questions about it."""

    chat_id: str
    turns: pl.DataFrame
    """Columns of `TURNS`."""
    questions: pl.DataFrame
    """Columns of `QUESTIONS`."""
    notes: tuple[str, ...] = ()
    """What a reader of figures about them must know: of the questions, and of what could not be read."""


def chat(chat_id: str, turns: Sequence[Mapping[str, Any]], questions: Iterable[Mapping[str, Any]]) -> Chat:
    """Return rows as a chat: what a question does not say is empty, its id is `<chat>-<kind>-<number>` unless given."""
    empty = {name: list[str]() for name in _LISTS} | {"answer": ""}
    rows = [
        {"id": f"{chat_id}-{question['kind']}-{number}"} | empty | dict(question)
        for number, question in enumerate(questions, 1)
    ]
    return Chat(chat_id, pl.DataFrame(turns, schema=TURNS), pl.DataFrame(rows, schema=QUESTIONS))


def load(path: Path) -> Chat:
    """Read one conversation of LoCoMo or BEAM (JSON).

    Turns that cannot be read are left out, and counted in a note. LoCoMo's turns stand a second apart, BEAM's messages
    a minute.

    Args:
        path: the file; of a list of LoCoMo conversations there must be one.

    Raises:
        ValueError: the file cannot be read, has another layout or no readable turn.
    """
    found = json_file(path)
    if isinstance(found, Mapping) and "messages" in found:
        asked = [_beam(question) for question in found.get("questions", [])]
        return _chat(path, str(found.get("chat", path.stem)), beam.events(path, recorded_at=READ), asked)
    one = found[0] if isinstance(found, list) and len(found) == 1 else found
    if not isinstance(one, Mapping):
        remedy = "give one file a conversation (LoCoMo, BEAM or JSONL)"
        raise ValueError(f"{path}: holds no single conversation; {remedy}")  # noqa: TRY004 - the file is wrong
    name = str(one.get("sample_id", path.stem))
    asked = [_locomo(question, f"{name}:q{place}") for place, question in enumerate(one.get("qa", []))]
    return _chat(path, name, locomo.events(path, recorded_at=READ), asked)


def left_out(letters: Sequence[tuple[str, str]], what: str) -> str:
    """Say how many parts of a file could not be read, and of the first of them why.

    Args:
        letters: origin and reason of each.
        what: the noun for one, whose plural takes an s.
    """
    count = f"1 {what} was" if len(letters) == 1 else f"{len(letters)} {what}s were"
    return f"{count} left out{', the first' if len(letters) > 1 else ''}: {': '.join(letters[0])}"


def unreadable(path: Path, letters: Sequence[tuple[str, str]]) -> ValueError:
    """Return the error for a file without any readable turn, with what is wrong first (see `left_out`)."""
    remedy = f"correct it, first {': '.join(letters[0])}" if letters else "name a LoCoMo, BEAM or event file"
    return ValueError(f"{path}: has no turn that can be read; {remedy}")


def _chat(path: Path, name: str, events: Iterable[Event | DeadLetter], questions: list[dict[str, Any]]) -> Chat:
    turns, letters = list[dict[str, Any]](), list[tuple[str, str]]()
    for event in events:
        if isinstance(event, DeadLetter):
            letters.append((event.origin, event.reason))
        elif isinstance(event.payload, Stored):
            turns.append(
                {
                    "id": event.memory_id,
                    "at": event.occurred_at,
                    "session_id": event.session_id,
                    "speaker": event.payload.speaker,
                    "content": event.payload.content,
                }
            )
    if not turns:
        raise unreadable(path, letters)
    known = {turn["id"] for turn in turns}
    for question in questions:
        for name_of in _LISTS:
            question[name_of] = [turn for turn in dict.fromkeys(question.get(name_of, ())) if turn in known]
    made = chat(name, sorted(turns, key=lambda turn: turn["at"]), questions)
    return replace(made, notes=(left_out(letters, "turn"),)) if letters else made


def _locomo(question: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = question.get("evidence", [])
    evidence = [f"D{session}:{turn}" for text in given for session, turn in _EVIDENCE.findall(str(text))]
    return dict.fromkeys(_LISTS, ()) | {
        "id": name,
        "text": str(question.get("question", "")),
        "kind": _KINDS.get(question.get("category", 0), "other"),
        "answer": str(question.get("answer", question.get("adversarial_answer", ""))),
        "evidence": evidence,
    }


def _beam(question: Mapping[str, Any]) -> dict[str, Any]:
    lists = {name: [str(turn) for turn in question.get(name, ())] for name in _LISTS}
    return lists | {
        "id": str(question["id"]),
        "text": str(question["question"]),
        "kind": str(question["type"]),
        "answer": str(question.get("answer", "")),
    }
