"""Judges memories that no run has compared yet, each with the earlier ones nearest to it.

So a correction precedes what it corrects in the first answer, and a check tells what a new memory may replace. A
memory is judged once while its text is the same. Not here: what a run compares
(`consolidation/change_detection`), and what an answer makes of a relation (`rank`).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np
import polars as pl

from memory_pipeline.consolidation import core_sentences, judging, ownership, relation_guards, whereabouts
from memory_pipeline.consolidation.change_detection import unanswered
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.recall.rank import fact_links
from memory_pipeline.settings import Policy
from memory_pipeline.text.arrays import Floats, Rows
from memory_pipeline.text.compare import closeness, relation_reading
from memory_pipeline.text.compare.judge import ASIDE
from memory_pipeline.text.compare.judges import JUDGES
from memory_pipeline.text.embed import encoder
from memory_pipeline.text.lang import identification
from memory_pipeline.text.lang.registry import ENGLISH
from memory_pipeline.text.parse.speakers import USERS
from memory_pipeline.text.score import core_facts, sentence_kinds

Name = TypeVar("Name", str, int, tuple[str, str])
V = TypeVar("V")

COMPARED: Final = 6
"""Nearest memories that a new one is compared with."""
_LEAST_COSINE: Final = 0.3
"""Memories whose vectors, by the reader, are further apart than this are about different things."""
_LEAST: Final = dict.fromkeys(("update", "duplicate", "conflict"), judging.LEAST_ODDS)
"""Minimum confidence of a relation that is told."""
_DOUBTED: Final = 0.5
"""Lead of the owner over another person, or the reverse, up to which a query may ask about either: "Who is my doctor?"
asks about two."""
_KEPT: Final = 500
"""Memories whose relations a process keeps, the latest."""
_READ: Final = 2_000
"""Texts whose sentences a process keeps as it read them, the latest: each is compared with many others."""
FOUND: Final = pl.Schema(
    {
        "memory_id": pl.String(),
        "other_id": pl.String(),
        "relation": pl.String(),
        "confidence": pl.Float64(),
        "statement": pl.String(),
        "value": pl.String(),
        "other_value": pl.String(),
        "rule": pl.String(),
    }
)
"""The older memory of a pair, the newer, and of the columns of a judgement those that are used here."""


class FirstReading:
    """What the judge finds of memories that no run has compared. Threads may share it."""

    def __init__(self, policy: Policy, recorded: Callable[[], pl.DataFrame]) -> None:
        """Take the policy, which names the judge, and what returns table `core_sentences` as the last run left it."""
        self._policy = policy
        self._recorded = recorded
        self._sentences: pl.DataFrame | None = None
        self._found = OrderedDict[tuple[str, str], pl.DataFrame]()
        self._read = OrderedDict[str, pl.DataFrame]()
        self._told = OrderedDict[str, tuple[float, float]]()
        self._asked = OrderedDict[int, tuple[float, float]]()
        self._lock = threading.Lock()

    def pairs(self, index: Index, rows: Sequence[int]) -> pl.DataFrame:
        """Return how some memories relate to the live ones nearest to them: `FOUND`, unrelated pairs left out.

        Cost: about 0.2 CPU s for a memory that is compared for the first time, then none: it and the tokens of its
        neighbours are read, and pairs one by one. The first call reads table `core_sentences`.
        """
        names = index.memories[list(rows), ["memory_id", "content_hash"]].rows()
        known = {name: self._found.get(name) for name in names}
        new = {name: self._judged(index, row) for row, name in zip(rows, names, strict=True) if known[name] is None}
        self._keep(self._found, new, most=_KEPT)
        parts = [found for name in names if (found := new.get(name, known[name])) is not None]
        return pl.concat([FOUND.to_frame(), *parts]).unique(
            ["memory_id", "other_id"], keep="first", maintain_order=True
        )

    def others(self, query: str, index: Index, rows: Sequence[int]) -> Floats:
        """Return how surely a query asks about the owner while a memory tells of another person, or the reverse.

        And how surely each tells of another person, [rows, 2], 0..1; zeros where the query may ask about either. What a
        speaker with a name says is their own; whom it is about is not read. Cost: 10 ms for the query and each sentence
        that was not read yet.
        """
        words = hash(query)  # of the words themselves, which may be erased, nothing is kept
        asked = self._asked.get(words) or _asked(query)
        self._keep(self._asked, {words: asked}, most=_READ)
        owner, person = asked
        memories = index.memories[list(rows), ["content_hash", "content", "speaker"]]
        values = np.zeros((len(rows), 2))
        if not owner + person:
            return values
        for at, (name, content, speaker) in enumerate(memories.iter_rows()):
            if speaker is not None and speaker.strip().casefold() not in USERS:
                continue
            told = self._told.get(name) or _told(content)
            self._keep(self._told, {name: told}, most=_READ)
            values[at] = owner * told[1] + person * told[0], told[1]
        return values

    def forget(self) -> None:
        """Drop what was found: a run has compared the memories, or one was erased."""
        with self._lock:
            self._found.clear()
            self._read.clear()
            self._told.clear()
            self._asked.clear()
            self._sentences = None

    def links(self, index: Index, rows: Sequence[int], answered: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return what `pairs` finds as links about facts (see `fact_links.pairs`), as sure as those of a run.

        Pairs with an answer that counts (`answers.standing`) are left out.
        """
        found = self.pairs(index, rows).filter(judging.likely(self._policy))
        if found.height:
            found = unanswered(found.with_columns(profile_id=pl.lit(index.memories["profile_id"][0])), answered())
        kinds = found.select(judging.reported_as(self._policy)).to_series()
        return fact_links.as_links(found.with_columns(relation=kinds))

    def _judged(self, index: Index, row: int) -> pl.DataFrame:
        """Return what the judge finds between a memory and those nearest to it: `FOUND`."""
        members = np.append(_nearest(index, row), row)
        points = (
            index.memories[members]
            .with_columns(row=pl.Series(members), since=pl.coalesce("valid_from", SAID_AT))
            .filter(_comparable(index, members), pl.col("closed_by").is_null())
            .sort("since", "seq")
        )
        own = np.flatnonzero(points["row"] == row)
        others = np.delete(np.arange(points.height), own)
        if not (own.size and others.size) or encoder.missing():
            return FOUND.to_frame()
        older, newer = np.minimum(others, own), np.maximum(others, own)
        reading = relation_reading.read(points.select(list(relation_reading.MEMORY_COLUMNS)))
        numbers = core_sentences.numbers(reading.memories, self._sentences_of(reading.memories))
        near = closeness.of_few(reading, older, newer, numbers)
        judged = JUDGES[self._policy.judge].judge(reading, older, newer, closeness=near, least=_LEAST)
        related = (pl.col("relation") != "unrelated") | (pl.col("rule") == ASIDE)
        found = judged.with_columns(older=older, newer=newer).filter(related)
        if found.height:
            whose = index.memories.select(ownership.user())["user_id"]
            placed = points.with_columns(
                user_id=whose.gather(points["row"]),
                file=whereabouts.file(),
                heading=whereabouts.heading(),
                project=whereabouts.project(),
                undated=whereabouts.undated().fill_null(value=False),
            )
            ends = pl.concat([found["older"], found["newer"]]).unique().sort()
            found = relation_guards.permitted(found, placed, self._sentences_of(placed[ends]))
        named = {
            name: points["memory_id"].gather(found[side])
            for name, side in (("memory_id", "older"), ("other_id", "newer"))
        }
        return found.with_columns(**named).select(FOUND.names())

    def _sentences_of(self, memories: pl.DataFrame) -> pl.DataFrame:
        """Return table `core_sentences` of the texts of some memories: as read before, by a run or here, else read."""
        sentences = self._sentences
        if sentences is None:
            self._sentences = sentences = self._recorded()
        hashes = frozenset(memories["content_hash"])
        recorded = core_sentences.of_texts(sentences, hashes)
        known = pl.concat([recorded, *(read for text in sorted(hashes) if (read := self._read.get(text)) is not None)])
        read = core_sentences.sentences(memories, known)
        new = hashes - core_sentences.hashes_of(known)
        self._keep(self._read, {text: core_sentences.of_texts(read, [text]) for text in sorted(new)}, most=_READ)
        return read

    def _keep(self, kept: OrderedDict[Name, V], new: Mapping[Name, V], *, most: int) -> None:
        with self._lock:
            kept.update(new)
            while len(kept) > most:
                kept.popitem(last=False)


def _nearest(index: Index, row: int) -> Rows:
    """Return the live memories whose vectors are nearest to that of a memory, the nearest first."""
    vector = index.vectors.of(row)
    if vector is None:
        return np.zeros(0, dtype=np.int64)
    admitted = index.live & index.stands_alone
    admitted[row] = False
    found = index.vectors.nearest(vector, 4 * COMPARED, admitted)
    places = np.flatnonzero(admitted) if found is None else found
    of_all = index.vectors.cosines(vector)[places] if found is None else index.vectors.cosines_of(found, vector)
    cosines = np.nan_to_num(of_all, nan=-1.0)
    order = np.lexsort((places, -cosines))[:COMPARED]
    least = _LEAST_COSINE if index.model == encoder.NAME else 0.0
    return places[order[cosines[order] > least]]


def _comparable(index: Index, rows: Rows) -> pl.Series:
    """Return which memories the judge may read: in its language, and not said by an assistant."""
    passages = index.passages
    languages = passages.languages.gather(passages.bounds(rows)[0]).fill_null(next(iter(passages.spoken), ENGLISH))
    judged = identification.judged(
        pl.DataFrame({"profile_id": pl.repeat("", len(rows), eager=True), "language": languages})
    )
    return judged & ~pl.Series(index.by_assistant(rows))


def _asked(query: str) -> tuple[float, float]:
    """Return how surely a query asks about the owner of the memories, and about another person, each 0..1."""
    owner, person = next(iter(_whom(query)), (0.0, 0.0))
    if not owner + person:
        return 0.0, 0.0
    lead = (owner - person) / (owner + person)
    return max(0.0, (lead - _DOUBTED) / (1.0 - _DOUBTED)), max(0.0, (-lead - _DOUBTED) / (1.0 - _DOUBTED))


def _told(text: str) -> tuple[float, float]:
    """Return how surely all sentences of a text are about the owner, and about another person, each 0..1."""
    read = _whom(text)
    return min((owner for owner, _ in read), default=0.0), min((person for _, person in read), default=0.0)


def _whom(text: str) -> list[tuple[float, float]]:
    """Return how likely each sentence of a text is about the owner, and about another person."""
    _, read = core_facts.unpacked(core_facts.read(pl.Series([text])))
    both = (sentence_kinds.probability(read, "whom", label) for label in ("owner", "person"))
    return list(zip(*map(np.ndarray.tolist, both), strict=True))
