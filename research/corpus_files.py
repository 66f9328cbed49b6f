"""Reads the corpus: situations and episodes, as `research/corpus/README.md` describes them.

Raises ValueError with file and line for anything that is not of the format.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from memory_pipeline.evaluation.conversations import TURNS
from memory_pipeline.evaluation.labelled_stores import LabelledStore, Pair

FOLDER: Final = Path(__file__).parent / "corpus"
KINDS: Final = {"U": "update", "P": "partial", "D": "repeat", "C": "conflict", "N": "none"}
_RELATIONS: Final = {
    "update": "update",
    "partial": "weak update",
    "repeat": "duplicate",
    "conflict": "contradiction",
    "lookalike": "lookalike",
}
_NOTE: Final = re.compile(r"(\d+) (\d{4}-\d\d-\d\d) (\S+) (.+)")


class Situation(NamedTuple):
    """A fact, and newer notes with how each relates to it (`KINDS`)."""

    fact: str
    notes: tuple[tuple[str, str], ...]


def situations(folder: Path = FOLDER / "situations") -> list[Situation]:
    """Read all situations, by file. A speaker stands before a bar; the reader sees a colon there, as in memories."""
    found: list[Situation] = []
    for path in sorted(folder.glob("*.txt")):
        fact, notes = "", list[tuple[str, str]]()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            kind, _, text = line.partition(" ")
            text = re.sub(r"^(\S{1,20})\| ", r"\1: ", text.strip())
            if not text or (kind != "O" and (kind not in KINDS or not fact)):
                raise ValueError(f"{path.name}, line {number}: {line!r} begins with none of O {' '.join(KINDS)}")
            if kind == "O":
                if fact:
                    found.append(Situation(fact, tuple(notes)))
                fact, notes = text, []
            else:
                notes.append((KINDS[kind], text))
        if fact:
            found.append(Situation(fact, tuple(notes)))
    return found


def episodes(folder: Path = FOLDER / "episodes") -> list[LabelledStore]:
    """Read all episodes, by file."""
    return [store for path in sorted(folder.glob("*.txt")) for store in _episodes(path)]


def _episodes(path: Path) -> Iterator[LabelledStore]:
    name, lines = "", list[tuple[int, str]]()
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("EPISODE "):
            name, lines = line.removeprefix("EPISODE ").partition(" | ")[0].strip(), []
        elif line.strip() == "END":
            yield _store(path, name, lines)
        elif line.strip():
            lines.append((number, line.strip()))


def _store(path: Path, name: str, lines: list[tuple[int, str]]) -> LabelledStore:
    turns: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    relations = defaultdict[str, set[Pair]](set)
    known: dict[str, datetime] = {}
    for number, line in lines:
        where = f"{path.name}, line {number}: {line!r}"
        if note := _NOTE.fullmatch(line):
            at = datetime.fromisoformat(note[2]).replace(hour=8, tzinfo=UTC) + timedelta(minutes=len(turns))
            if turns and at <= turns[-1]["at"]:
                raise ValueError(f"{where} is earlier than the note before it")
            speaker = None if note[3] == "-" else note[3]
            session = f"{name} {note[2]}"
            turns.append({"id": note[1], "at": at, "session_id": session, "speaker": speaker, "content": note[4]})
            known[note[1]] = at
        elif line.startswith("REL "):
            kind, one, other = line.split()[1:4]
            if kind not in _RELATIONS or not {one, other} <= known.keys() or int(one) >= int(other):
                raise ValueError(f"{where} is no relation of an older and a newer note")
            relations[_RELATIONS[kind]].add((one, other))
        elif line.startswith("Q "):
            parts = [part.strip() for part in line.removeprefix("Q ").split("|", 4)]
            if len(parts) < 4:
                raise ValueError(f"{where} has not kind, question, gold and stale")
            gold, stale = (re.findall(r"\d+", part) for part in parts[2:4])
            if not {*gold, *stale} <= known.keys():
                raise ValueError(f"{where} names a note that does not exist")
            asked = {"id": f"{name}-q{len(questions) + 1}", "qtype": parts[0], "question": parts[1]}
            at = turns[-1]["at"] + timedelta(hours=12)
            questions.append(asked | {"at": at, "gold": [[one] for one in gold], "stale": stale})
        else:
            raise ValueError(f"{where} is no note, relation or question")
    pairs = defaultdict(frozenset[Pair], {kind: frozenset(of_kind) for kind, of_kind in relations.items()})
    return LabelledStore(name, pl.DataFrame(turns, schema=TURNS), pairs, questions)
