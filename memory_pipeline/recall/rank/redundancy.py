"""Redundancy: what an answer would say twice is left to its end.

Memories of the same words, and summaries that only repeat their members. What is not here: the scores (`features`), and
which of several values comes first (`selecting`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.passages import CUES
from memory_pipeline.text.parse import tokens

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

REPEATED: Final = 0.5
"""Share of its score that a memory keeps when a better one has the same words."""
TOLD: Final = 0.8
"""A summary adds nothing when so much of its members is told already."""
_DENIES: Final = CUES.index("denies")
_DENIED: Final = np.uint64(0x9E3779B97F4A7C15)
"""What a denial adds to the print of words, of which "not" is none."""
_DAY: Final = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}:", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Told:
    """What a memory tells.

    Attributes:
        memory_id: itself.
        summary: it tells what others say.
        sources: ids of the originals that speak in it.
        before: ids of the memories that come before it in an answer.
        words: its words, and the name of who says it.
    """

    memory_id: str
    summary: bool
    sources: frozenset[str]
    before: frozenset[str]
    words: frozenset[str]


def without_repeats(index: Index, rows: Integers, scores: Floats, order: Integers, depth: int) -> Floats:
    """Lower the scores of those among the first `depth` whose words, denied or not, a better one has in that order."""
    head = order[:depth]
    first, last = index.pieces.bounds(rows[head])
    sizes = last - first
    pieces = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    owner = np.repeat(np.arange(len(head)), sizes)
    at, keys, counts = index.postings.words_of(pieces)
    prints = np.zeros(len(head), dtype=np.uint64)
    np.add.at(prints, owner[at], keys * (2 * counts.astype(np.uint64) + 1))
    denied = np.unique(owner[index.pieces.cues[pieces, _DENIES] > 0])
    prints[denied] += np.where(prints[denied] > 0, _DENIED, np.uint64(0))
    _, group, many = np.unique(prints, return_inverse=True, return_counts=True)
    alike = np.flatnonzero((many[group] > 1) & (prints > 0))
    lowered = scores.copy()
    if len(alike):  # texts are read only where there is one to compare
        words = tokens.content_stems(index.memories[rows[head[alike]], "content"]).to_list()
        told = pl.DataFrame({"print": prints[alike], "words": [" ".join(one) for one in words]})
        lowered[head[alike[~told.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()]]] *= REPEATED
    return lowered


def originals(index: Index, rows: Integers) -> Marks:
    """Whether each memory is an original, or took the place of some, and no summary beside them."""
    shown = index.memories[rows, ["kind", "said_at"]].iter_rows()
    return np.array([kind == ORIGINAL or said is not None for kind, said in shown], dtype=np.bool_)


def summaries_behind(index: Index, rows: Integers, order: Integers, k: int) -> Integers:
    """Put summaries behind what they repeat of the first `k`, and behind all else if that leaves them nothing to add.

    They repeat their members that are live, and what a member said that another memory has closed since: that other
    comes first, too. They add nothing when most of their members, or all of their words, are told before them.

    Args:
        index: the index.
        rows: candidates.
        order: their places, best first.
        k: how many are wanted.

    Cost: texts and members are read only where a summary is among the first `k`.
    """
    left, spent = order.tolist(), list[int]()
    known: dict[int, _Told] = {}
    while not originals(index, rows[left[:k]]).all():
        known |= _read(index, rows, [at for at in left[:k] if at not in known])
        head = _behind([known[at] for at in left[:k]])
        left[:k] = [left[place] for place in head]
        empty = _adding_nothing([known[at] for at in left[:k]])
        if not empty:
            break
        spent += [left[place] for place in empty]
        left = [at for place, at in enumerate(left) if place not in set(empty)]
    return np.array(left + spent, dtype=np.int64)


def _behind(told: Sequence[_Told]) -> list[int]:
    """Places in the order in which each summary follows what comes before it."""
    place = {one.memory_id: at for at, one in enumerate(told)}
    after = [max([at, *(place[name] for name in one.before & place.keys())]) for at, one in enumerate(told)]
    return sorted(range(len(told)), key=lambda at: (after[at], after[at] != at, at))


def _adding_nothing(told: Sequence[_Told]) -> list[int]:
    """Places of the summaries that say nothing which those before them do not."""
    found: list[int] = []
    sources, words = set[str](), set[str]()
    for place, one in enumerate(told):
        shared = len(one.sources & sources)
        if one.summary and (shared >= TOLD * max(1, len(one.sources)) or (shared and one.words <= words)):
            found.append(place)
        else:
            sources |= one.sources
            words |= one.words
    return found


def _read(index: Index, rows: Integers, places: Sequence[int]) -> dict[int, _Told]:
    """What the candidates at some places tell."""
    shown = index.memories[rows[places], ["memory_id", "kind", "said_at", "members", "content", "speaker"]]
    told = shown.with_columns(_speaks_for_itself().alias("own")).drop("said_at")
    found = {}
    for place, (memory_id, kind, members, content, speaker, own) in zip(places, told.iter_rows(), strict=True):
        said = content if kind == ORIGINAL else _DAY.sub("", content)
        words = frozenset(_WORD.findall(f"{speaker or ''} {said}".casefold()))
        sources, before = frozenset([memory_id]), frozenset[str]()
        if kind != ORIGINAL:
            sources = _sources(index, members)
            before = frozenset() if own else _repeated(index, sources)
        found[place] = _Told(memory_id, not own, sources, before, words)
    return found


def _sources(index: Index, members: Sequence[str]) -> frozenset[str]:
    """Originals among members, and those of the summaries among them."""
    found, seen, asked = set[str](), set[str](), set(members)
    while asked:
        seen |= asked
        known = index.places.rows(sorted(asked))
        rows = index.memories[known[known >= 0], ["memory_id", "kind", "members"]]
        deeper = rows.filter(pl.col("kind") != ORIGINAL)
        found |= asked - set(deeper["memory_id"])
        asked = set(deeper["members"].explode().drop_nulls()) - seen
    return frozenset(found)


def _repeated(index: Index, sources: frozenset[str]) -> frozenset[str]:
    """Those of a summary's sources that are live, and what has closed any or taken its place."""
    known = index.places.rows(sorted(sources))
    rows = known[known >= 0]
    said = index.memories[rows, ["memory_id", "closed_by", "superseded_by"]]
    others = pl.concat([said["closed_by"].alias("superseded_by"), said["superseded_by"]]).drop_nulls()
    return frozenset(said["memory_id"].filter(pl.Series(index.live[rows]))) | frozenset(others)


def _speaks_for_itself() -> pl.Expr:
    return (pl.col("kind") == ORIGINAL) | pl.col("said_at").is_not_null()
