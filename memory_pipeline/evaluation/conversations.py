"""Conversations with questions about them, read from files.

Here: what a chat is, and the files of other people's conversations (LoCoMo, BEAM) and of the pipeline's own event
format. Not here: stores (`stores.py`), how recalls become questions (`recalled.py`), chats made up by the project
(`chats.py`), and importing memories for keeps (`interop/`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation import recalled
from memory_pipeline.interop import beam, jsonl, locomo
from memory_pipeline.interop.importing import json_file
from memory_pipeline.lake import events as ledger_events
from memory_pipeline.lake.events import DeadLetter, Event
from memory_pipeline.lake.payloads import Stored

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
_READ: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""When the events of a file are said to be recorded: after all of them, as nothing is recorded before it happens."""


@dataclass(frozen=True)
class Chat:
    """A conversation with questions about it."""

    chat_id: str
    turns: pl.DataFrame
    """Columns of `TURNS`."""
    questions: pl.DataFrame
    """Columns of `QUESTIONS`."""
    note: str = ""
    """What a reader of figures about them must know of the questions."""


def chat(chat_id: str, turns: Sequence[Mapping[str, Any]], questions: Iterable[Mapping[str, Any]]) -> Chat:
    """Return rows as a chat: what a question does not say is empty, its id is `<chat>-<kind>-<number>` unless given."""
    empty = {name: list[str]() for name in _LISTS} | {"answer": ""}
    rows = [
        {"id": f"{chat_id}-{question['kind']}-{number}"} | empty | dict(question)
        for number, question in enumerate(questions, 1)
    ]
    return Chat(chat_id, pl.DataFrame(turns, schema=TURNS), pl.DataFrame(rows, schema=QUESTIONS))


def load(path: Path) -> Chat:
    """Read one conversation: LoCoMo or BEAM (JSON), or the pipeline's own events (JSON Lines).

    Turns that cannot be read are left out. LoCoMo's turns stand a second apart, BEAM's messages a minute. The questions
    of events are the recalls that say their query (see `recalled.questions`).

    Args:
        path: the file; of a list of LoCoMo conversations there must be one.

    Raises:
        ValueError: the file cannot be read, has another layout or no readable turn.
    """
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        told = list(jsonl.events(path, recorded_at=_READ))
        uses, note = recalled.questions(_uses(told))
        return replace(_chat(path, path.stem, told, uses), note=note)
    found = json_file(path)
    if isinstance(found, Mapping) and "messages" in found:
        asked = [_beam(question) for question in found.get("questions", [])]
        return _chat(path, str(found.get("chat", path.stem)), beam.events(path, recorded_at=_READ), asked)
    one = found[0] if isinstance(found, list) and len(found) == 1 else found
    if not isinstance(one, Mapping):
        remedy = "give one file a conversation (LoCoMo, BEAM or JSONL)"
        raise ValueError(f"{path}: holds no single conversation; {remedy}")  # noqa: TRY004 - the file is wrong
    name = str(one.get("sample_id", path.stem))
    asked = [_locomo(question, f"{name}:q{place}") for place, question in enumerate(one.get("qa", []))]
    return _chat(path, name, locomo.events(path, recorded_at=_READ), asked)


def _chat(path: Path, name: str, events: Iterable[Event | DeadLetter], questions: list[dict[str, Any]]) -> Chat:
    turns = [
        {
            "id": event.memory_id,
            "at": event.occurred_at,
            "session_id": event.session_id,
            "speaker": event.payload.speaker,
            "content": event.payload.content,
        }
        for event in events
        if not isinstance(event, DeadLetter) and isinstance(event.payload, Stored)
    ]
    if not turns:
        raise ValueError(f"{path}: has no turn that can be read; name a LoCoMo, BEAM or event file")
    known = {turn["id"] for turn in turns}
    for question in questions:
        for name_of in _LISTS:
            question[name_of] = [turn for turn in dict.fromkeys(question.get(name_of, ())) if turn in known]
    return chat(name, sorted(turns, key=lambda turn: turn["at"]), questions)


def _uses(told: Iterable[Event | DeadLetter]) -> pl.DataFrame:
    """Return the recalls and feedback of a file as the table `events` has them."""
    events = (event for event in told if not isinstance(event, DeadLetter) and event.event_type in recalled.USES)
    return ledger_events.frame((number, *event.row()) for number, event in enumerate(events, 1))


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
