"""Reads the corpus: situations and episodes, as `research/corpus/README.md` describes them.

Raises ValueError with file and line for anything that is not of the format.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from labelled_stores import LabelledStore

from memory_pipeline.evaluation.conversations import TURNS
from memory_pipeline.evaluation.decided_pairs import Pair, in_order
from memory_pipeline.text.parse.sentences import split_sentences
from memory_pipeline.text.score.sentence_kinds import GROUPS

FOLDER: Final = Path(__file__).parent / "corpus"
KINDS: Final = {"U": "update", "P": "partial", "D": "repeat", "C": "conflict", "N": "none"}
_RELATIONS: Final = {
    "update": "update",
    "partial": "weak update",
    "repeat": "duplicate",
    "conflict": "contradiction",
    "lookalike": "lookalike",
}
_ONE_WAY: Final = frozenset({"update", "partial"})
"""Relations that hold from the older to the newer note alone."""
LEARNED: Final = ("a", "b", "c", "e", "f", "g", "h", "i", "j", "q", "r", "s", "u", "v", "w")
"""Files of episodes that the network learns from; on the others its scores are honest."""
OTHERS: Final = ("d", "l", "o", "p", "t", "x", "y", "z")
"""Files of episodes in English that the trees learn from and the network does not."""
RANKED: Final = tuple(f"{writer}{part}" for writer in "abcd" for part in "abc")
"""Files of episodes from which the trees, the ranking of notes and the sections of core memory have learned."""
LATEST: Final = tuple(f"{writer}{part}" for writer in "ef" for part in "abc")
"""Files of episodes from which the trees alone have learned."""
UNREAD: Final = ("k", "n", "ad", "bd", "cd", "dd", "ed")
"""Files of episodes that nothing has learned from."""
HALVES: Final = 2
"""Networks for pairs that are trained, each on a part of the stores (`half`)."""
MEASURED: Final = ("i", "m", "o", "q", "s", "u", "w")
"""Files of `sentences/` that nothing learns from."""
UNCHANGED: Final = {
    **dict.fromkeys(("quote", "hypothetical", "third", "exception", "other", "beside"), "lookalike"),
    "part": "partial",
    "repeat": "repeat",
    "conflict": "conflict",
}
"""Kinds of corrections after which the older note holds as before, of `part` all but a part of it, and how the newer
note relates to it; after all other kinds it is an update."""
UNLABELLED: Final = -1
"""Place of a label that nobody gave."""
_AT_ONCE: Final = 10
"""Corrections that make one store."""
_LATER: Final = (0, 0, 1, 12, 45)
"""Days after the older notes of a scenario alone that its newer ones come: in turn."""
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


class Labelled(NamedTuple):
    """A sentence in context, and its label in each of `GROUPS`."""

    text: str
    """The sentence, after its speaker."""
    before: str
    """The sentence before it in its note; empty for the first."""
    labels: tuple[int, ...]


class Core(NamedTuple):
    """What the labels of an episode say of its notes."""

    labels: dict[str, list[tuple[int, ...]]]
    """Labels of each note, one of each sentence."""
    core: tuple[str, ...]
    """Notes to read first at the end of the episode."""


def episodes(folder: Path = FOLDER / "episodes", *, files: Container[str] | None = None) -> list[LabelledStore]:
    """Read the episodes of some files; default: all."""
    paths = [path for path in sorted(folder.glob("*.txt")) if files is None or path.stem in files]
    return [store for path in paths for store in _episodes(path)]


def corrections(
    folder: Path = FOLDER / "corrections", *, files: Container[str], at_once: int = _AT_ONCE, others: bool = True
) -> list[LabelledStore]:
    """Read the corrections of some files, some scenarios a store: first the older notes, twelve days later the newer.

    Fewer than ten are told as somebody tries a memory: in no session, a moment to weeks after the older notes. A value
    that comes back (`back`) is left out: the return repeats what was outdated in between.

    Args:
        folder: holds the files.
        files: names of files.
        at_once: scenarios that make one store.
        others: whether the notes that nothing changes (`X`) are in it.
    """
    found = []
    for path in sorted(folder.glob("*.txt")):
        if path.stem in files:
            told = [one for one in scenarios(path) if one["kind"] != "back"]
            told = told if others else [one | {"X": []} for one in told]
            parts = [told[start : start + at_once] for start in range(0, len(told), at_once)]
            for place, part in enumerate(parts):
                name = f"corrections-{path.stem}-{place * at_once // _AT_ONCE}"
                if at_once == _AT_ONCE:
                    found.append(_of_scenarios(name, part))
                else:
                    name = f"{name}.{place}{'' if others else ' alone'}"
                    later = _of_scenarios(name, part, days=_LATER[place % len(_LATER)])
                    found.append(replace(later, turns=later.turns.with_columns(session_id=pl.lit(None, pl.String))))
    return found


def half(name: str) -> int:
    """Return which of the networks for pairs has not read the store of a name: for one scenario, that of its ten."""
    return int(hashlib.sha1(name.partition(".")[0].encode(), usedforsecurity=False).hexdigest(), 16) % HALVES


def answers(path: Path = FOLDER / "answers.jsonl") -> dict[str, dict[str, str]]:
    """Read what a language model answered about pairs of notes: by store, by the name of the pair, a JSON array.

    A line has the store, and the object that `model_judge` asks for about one pair.
    """
    found: dict[str, dict[str, str]] = {}
    for line in path.read_text("utf-8").splitlines():
        answer = json.loads(line)
        store = answer.pop("store")
        found.setdefault(store, {})[answer["pair"]] = json.dumps([answer], ensure_ascii=False)
    return found


def scenarios(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the scenarios of a file: their kind, and the lines of each letter."""
    scenario: dict[str, Any] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        word, _, text = line.partition(" ")
        if not word:
            continue
        if word == "SCENARIO":
            scenario = {"kind": text.split()[1], "O": [], "X": [], "N": [], "Q": [], "R": []}
        elif word == "END":
            yield scenario
        elif word not in scenario:
            raise ValueError(f"{path.name}, line {number}: {line!r} is no note or question of a scenario")
        else:
            scenario[word].append(text)


def _of_scenarios(name: str, told: list[dict[str, Any]], *, days: int = 12) -> LabelledStore:
    begin = date(2025, 3, 3)
    notes = [(begin, text) for one in told for text in (*one["O"], *one["X"])]
    before = np.cumsum([0, *(len(one["O"]) + len(one["X"]) for one in told)])
    notes += [(begin + timedelta(days), text) for one in told for text in one["N"]]
    lines = [f"{number} {day} - {text}" for number, (day, text) in enumerate(notes, 1)]
    lines += [
        f"REL {UNCHANGED.get(one['kind'], 'update')} {before[place] + 1} {before[-1] + place + 1}"
        for place, one in enumerate(told)
    ]
    return _store(FOLDER / "corrections", name, list(enumerate(lines, 1)))


def sentences(files: Container[str], *, names: Container[str] | None = None) -> list[Labelled]:
    """Read the labelled sentences: those of `sentences/`, and those of the notes of some files of episodes.

    Notes of which the labels and the program count different sentences are left out.

    Args:
        files: files of episodes.
        names: files of `sentences/`; default: all but those that only measure.
    """
    found_files = sorted((FOLDER / "sentences").glob("*.txt"))
    paths = [path for path in found_files if (path.stem not in MEASURED if names is None else path.stem in names)]
    found = [one for path in paths for one in _notes(path)]
    given = labels()
    for store in episodes(files=files):
        core = given.get(store.name)
        for note, speaker, text in store.turns.select("id", "speaker", "content").iter_rows():
            found += _in_context(speaker, text, core.labels.get(note, []) if core else [])
    return found


def references(name: str) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    """Read the texts of a file of `references/`, and for each 1 if it only refers back, 0 if it has a value."""
    path = FOLDER / "references" / f"{name}.txt"
    lines = [line.partition(" ") for line in path.read_text("utf-8").splitlines()]
    for number, (kind, _, text) in enumerate(lines, 1):
        if kind not in {"R", "V"} or not text:
            raise ValueError(f"{path.name}, line {number}: {kind!r} is neither R nor V before a text")
    return [text for _, _, text in lines], np.array([kind == "R" for kind, _, _ in lines], dtype=np.float64)


def labels() -> dict[str, Core]:
    """Read the labels of all episodes, by name of the episode: those beside the notes, else the first reader's."""
    paths = [FOLDER / "labels" / "second.txt", FOLDER / "labels" / "first.txt", *(FOLDER / "episodes").glob("*.txt")]
    found: dict[str, Core] = {}
    for path in paths:
        found |= _labels(path)
    return found


def words(label: tuple[int, ...]) -> dict[str, str]:
    """Return the label of a sentence in words, by group; `-` for one that nobody gave."""
    return {
        name: known[place] if place != UNLABELLED else "-"
        for (name, known), place in zip(GROUPS.items(), label, strict=True)
    }


def _labels(path: Path) -> dict[str, Core]:
    """Read the labels of a file; an episode without labels is left out."""
    found: dict[str, Core] = {}
    name, of_notes, core = "", dict[str, list[tuple[int, ...]]](), tuple[str, ...]()
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("EPISODE "):
            name, of_notes, core = line.removeprefix("EPISODE ").partition(" | ")[0].strip(), {}, ()
        elif line.startswith("L "):
            note, _, given = line.removeprefix("L ").partition(" ")
            of_notes[note] = _label(given, f"{path.name}, line {number}")
        elif line.startswith("CORE"):
            core = tuple(line.split()[1:])
        elif line.strip() == "END" and of_notes:
            found[name] = Core(of_notes, core)
    return found


def _notes(path: Path) -> Iterator[Labelled]:
    note: tuple[str | None, str] | None = None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("NOTE "):
            speaker, _, text = line.removeprefix("NOTE ").partition("|")
            note = (None if speaker.strip() in {"-", ""} else speaker.strip(), text.strip())
        elif line.startswith("L ") and note:
            yield from _in_context(*note, _label(line.removeprefix("L "), f"{path.name}, line {number}"))


def _label(given: str, where: str) -> list[tuple[int, ...]]:
    """Return the labels of each sentence: the place of each in its group, `UNLABELLED` for `-`."""
    result = []
    for group in given.split(";"):
        words = group.split()
        if len(words) != len(GROUPS) or any(
            word not in (*known, "-") for word, known in zip(words, GROUPS.values(), strict=True)
        ):
            raise ValueError(f"{where}: {group.strip()!r} is not one label each of {', '.join(GROUPS)}")
        known_words = zip(words, GROUPS.values(), strict=True)
        result.append(tuple(UNLABELLED if word == "-" else known.index(word) for word, known in known_words))
    return result


def _in_context(speaker: str | None, text: str, given: list[tuple[int, ...]]) -> list[Labelled]:
    parts = split_sentences(pl.Series([text]))["sentence"].str.strip_chars().to_list()
    if len(parts) != len(given):
        return []
    spoken = f"{speaker}: " if speaker else ""
    befores = ["", *parts[:-1]]
    return [Labelled(spoken + part, before, label) for part, before, label in zip(parts, befores, given, strict=True)]


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
            relations[_RELATIONS[kind]].add((one, other) if kind in _ONE_WAY else in_order(one, other))
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
        elif not line.startswith(("L ", "CORE")):
            raise ValueError(f"{where} is no note, relation, question or label")
    pairs = defaultdict(frozenset[Pair], {kind: frozenset(of_kind) for kind, of_kind in relations.items()})
    return LabelledStore(name, pl.DataFrame(turns, schema=TURNS), pairs, questions)
