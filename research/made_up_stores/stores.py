"""Reads the made-up stores: `*.txt` beside this module, one store per file.

A memory is a line `ID DAY SPEAKER TEXT`, in order of time; the speaker is `-` if no one speaks. Relations to earlier
memories follow after ` <- `: `update`, `partial` (an update of a part only), `duplicate`, `conflict` (nothing says
which is right), `lookalike` (both are true and neither replaces the other), each with an ID. A question is a line
`? TYPE DAY TEXT <- GOLD not STALE`: groups of memories that answer it, alternatives of a group joined by `|`, or
`none`; then the outdated ones. The first line says what the store is. Not here: what is fitted on them
(`fit_trees`, `fit_changes`).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import polars as pl
from labelled_stores import LabelledStore

from memory_pipeline.evaluation.conversations import TURNS
from memory_pipeline.evaluation.decided_pairs import Pair

_START: Final = datetime(2025, 1, 1, 8, tzinfo=UTC)
_EVENING: Final = timedelta(hours=12)
_KINDS: Final = {
    "update": "update",
    "partial": "weak update",
    "duplicate": "duplicate",
    "conflict": "contradiction",
    "lookalike": "lookalike",
}
"""Relation of a file to its name in `LabelledStore.relations`."""
_MEMORY: Final = re.compile(r"(?P<id>m\d+) (?P<day>\d+) (?P<speaker>\S+) (?P<text>.*?)(?: <- (?P<relations>.*))?")
_QUESTION: Final = re.compile(
    r"\? (?P<qtype>\w+) (?P<day>\d+) (?P<text>.*) <- (?P<gold>none|m[m\d| ]*?)(?: not (?P<stale>[m\d ]+))?"
)
_RELATION: Final = re.compile(r"(\w+) (m\d+)(?:, |$)")


@cache
def load() -> tuple[LabelledStore, ...]:
    """Return all stores, by name.

    Raises:
        ValueError: a line is neither a memory nor a question, or names a memory that does not exist.
    """
    folder = resources.files(__package__)
    texts = {
        Path(entry.name).stem: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".txt")
    }
    return tuple(parse(name, text) for name, text in sorted(texts.items()))


def parse(name: str, text: str) -> LabelledStore:
    """Return the store of a file.

    Raises:
        ValueError: see `load`.
    """
    turns: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    relations = defaultdict[str, set[Pair]](set)
    known = set[str]()
    for number, line in enumerate(text.splitlines(), 1):
        origin = f"{name}.txt, line {number}"
        if found := _MEMORY.fullmatch(line):
            for kind, older in _relations(found["relations"] or "", origin):
                relations[kind].add((_known(older, known, origin), found["id"]))
            known.add(found["id"])
            turns.append(_turn(name, found, len(turns)))
        elif found := _QUESTION.fullmatch(line):
            gold = [] if found["gold"] == "none" else [group.split("|") for group in found["gold"].split()]
            stale = (found["stale"] or "").split()
            for one in (*(one for group in gold for one in group), *stale):
                _known(one, known, origin)
            at = _START + timedelta(days=int(found["day"])) + _EVENING
            asked = {
                "id": f"{name}-q{len(questions) + 1}",
                "qtype": found["qtype"],
                "question": found["text"],
                "at": at,
            }
            questions.append(asked | {"gold": gold, "stale": stale})
        elif line and not line.startswith("=="):
            raise ValueError(f"{origin}: {line!r} is neither a memory nor a question; see {__name__}")
    pairs = defaultdict(frozenset[Pair], {kind: frozenset(of_kind) for kind, of_kind in relations.items()})
    return LabelledStore(name, pl.DataFrame(turns, schema=TURNS), pairs, questions)


def _relations(text: str, origin: str) -> Iterator[tuple[str, str]]:
    rest = _RELATION.sub("", text)
    found = _RELATION.findall(text)
    if rest or any(kind not in _KINDS for kind, _ in found):
        raise ValueError(f"{origin}: relations {text!r}; give {', '.join(_KINDS)} and an id, separated by commas")
    return ((_KINDS[kind], older) for kind, older in found)


def _known(memory: str, known: set[str], origin: str) -> str:
    if memory not in known:
        raise ValueError(f"{origin}: {memory} is not an earlier memory of the store")
    return memory


def _turn(name: str, found: re.Match[str], place: int) -> dict[str, Any]:
    return {
        "id": found["id"],
        "at": _START + timedelta(days=int(found["day"]), minutes=place),
        "session_id": f"{name} {found['day']}",
        "speaker": None if found["speaker"] == "-" else found["speaker"],
        "content": found["text"],
    }
