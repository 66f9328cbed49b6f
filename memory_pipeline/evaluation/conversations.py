"""Conversations with questions, and readers for the LoCoMo and BEAM formats.

Not here: stores and event files (`sources.py`), and imports into a store
(`interop/`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.interop import beam, locomo
from memory_pipeline.interop.items import json_file
from memory_pipeline.ledger.event import DeadLetter, Event
from memory_pipeline.ledger.payloads import Stored

TURNS: Final = {
    "id": pl.String(),
    "at": pl.Datetime("us", "UTC"),
    "session_id": pl.String(),
    "speaker": pl.String(),
    "content": pl.String(),
}
"""Columns of `Chat.turns`, which is sorted by time."""
_LISTS: Final = ("evidence", "original", "updated", "first", "second")
QUESTIONS: Final = {"id": pl.String(), "text": pl.String(), "kind": pl.String(), "answer": pl.String()} | dict.fromkeys(
    _LISTS, pl.List(pl.String())
)
"""Columns of `Chat.questions`. `evidence` lists the turns that answer the question. For a changed fact, `original` and
`updated` list the turns with the older and the newer value; for a contradiction, `first` and `second` list those of
its two sides; otherwise these are empty."""

_KINDS: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""Names of the LoCoMo question categories."""
_EVIDENCE: Final = re.compile(r"D:?(\d+):0*(\d+)")
READ: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""Recording time of events from files: no event may be recorded before it occurs."""


@dataclass(frozen=True)
class Chat:
    """A conversation with questions."""

    chat_id: str
    turns: pl.DataFrame
    """Columns of `TURNS`."""
    questions: pl.DataFrame
    """Columns of `QUESTIONS`."""
    notes: tuple[str, ...] = ()
    """Caveats for readers of the figures: about the questions, and about unreadable parts."""


def chat(chat_id: str, turns: Sequence[Mapping[str, Any]], questions: Iterable[Mapping[str, Any]]) -> Chat:
    """Build a chat from rows; missing fields of a question are empty, its default id is `<chat>-<kind>-<number>`."""
    empty = {name: list[str]() for name in _LISTS} | {"answer": ""}
    rows = [
        {"id": f"{chat_id}-{question['kind']}-{number}"} | empty | dict(question)
        for number, question in enumerate(questions, 1)
    ]
    return Chat(chat_id, pl.DataFrame(turns, schema=TURNS), pl.DataFrame(rows, schema=QUESTIONS))


def load(path: Path) -> Chat:
    """Read one LoCoMo or BEAM conversation (JSON); a list of LoCoMo conversations must have exactly one.

    Unreadable turns are left out and counted in a note. LoCoMo turns are one second apart, BEAM messages one minute.
    Raises ValueError: the file cannot be read, has another layout or no readable turn.
    """
    document = json_file(path)
    if isinstance(document, Mapping) and "messages" in document:
        questions = [_beam(question) for question in document.get("questions", [])]
        return _chat(path, str(document.get("chat", path.stem)), beam.events(path, recorded_at=READ), questions)
    conversation = document[0] if isinstance(document, list) and len(document) == 1 else document
    if not isinstance(conversation, Mapping):
        remedy = "give one file per conversation (LoCoMo, BEAM or JSONL)"
        raise ValueError(f"{path}: holds no single conversation; {remedy}")  # noqa: TRY004 - the file is wrong
    name = str(conversation.get("sample_id", path.stem))
    questions = [_locomo(question, f"{name}:q{index}") for index, question in enumerate(conversation.get("qa", []))]
    return _chat(path, name, locomo.events(path, recorded_at=READ), questions)


def left_out(letters: Sequence[tuple[str, str]], what: str) -> str:
    """Return a note on the number of unreadable parts of a file (`what`, singular), with the reason for the first."""
    count = f"1 {what} was" if len(letters) == 1 else f"{len(letters)} {what}s were"
    return f"{count} left out{', the first' if len(letters) > 1 else ''}: {': '.join(letters[0])}"


def unreadable(path: Path, letters: Sequence[tuple[str, str]]) -> ValueError:
    """Return the error for a file without a readable turn, naming the first fault (see `left_out`)."""
    remedy = f"correct it, first {': '.join(letters[0])}" if letters else "give a LoCoMo, BEAM or event file"
    return ValueError(f"{path}: has no readable turn; {remedy}")


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
    ids = {turn["id"] for turn in turns}
    for question in questions:
        for column in _LISTS:
            question[column] = [turn for turn in dict.fromkeys(question.get(column, ())) if turn in ids]
    result = chat(name, sorted(turns, key=lambda turn: turn["at"]), questions)
    return replace(result, notes=(left_out(letters, "turn"),)) if letters else result


def _locomo(question: Mapping[str, Any], name: str) -> dict[str, Any]:
    references = question.get("evidence", [])
    evidence = [f"D{session}:{turn}" for text in references for session, turn in _EVIDENCE.findall(str(text))]
    return {
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
