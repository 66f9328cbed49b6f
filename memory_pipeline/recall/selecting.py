"""Selecting: from scored candidates to an answer in order.

What says the same words is given once before all else; of memories that state one thing with different values, the
newest comes first if the question asks for now; the other side of a known contradiction comes along. What is not here:
the scores (`features`, `named`).
"""

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.recall.features import Candidates
from memory_pipeline.recall.index import Index
from memory_pipeline.recall.questions import Question

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

FRESH_WITHIN: Final = 5
"""The newest comes first among so many best."""
SAME_SHARE: Final = 0.5
"""Memories state one thing when they match the question at least this well, compared with the best of them."""
REPEATED: Final = 0.5
"""Share of its score that a memory keeps when a better one has the same words."""


def ordered(index: Index, rows: Integers, scores: Floats) -> Integers:
    """Places of candidates, best first; ties by age and id."""
    ids = np.array(index.memories["memory_id"].gather(rows).to_list(), dtype=np.str_)
    return np.lexsort((ids, index.created[rows], -scores))


def without_repeats(index: Index, rows: Integers, scores: Floats, order: Integers, depth: int) -> Floats:
    """Lower the scores of those among the first `depth` whose words a better one has already."""
    head = order[:depth]
    first, last = index.pieces.bounds(rows[head])
    sizes = last - first
    pieces = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    owner = np.repeat(np.arange(len(head)), sizes)
    at, keys, counts = index.postings.words_of(pieces)
    prints = np.zeros(len(head), dtype=np.uint64)
    np.add.at(prints, owner[at], keys * (2 * counts.astype(np.uint64) + 1))
    _, firsts = np.unique(prints, return_index=True)
    repeated = np.ones(len(head), dtype=np.bool_)
    repeated[firsts] = False
    lowered = scores.copy()
    lowered[head[repeated & (prints > 0)]] *= REPEATED
    return lowered


def newest_first(
    index: Index, question: Question, rows: Integers, order: Integers, found: Candidates, ended: Marks
) -> Integers:
    """Put the newest first among the best that state the same thing.

    They match the question about as well as the best of them, come from one speaker and have the kind of answer asked
    for. What a newer memory has closed comes behind it, wherever both are.

    Args:
        index: the index.
        question: what is asked.
        rows: candidates.
        order: their places, best first.
        found: their features.
        ended: those whose validity has ended.
    """
    lexical = found.feature("lexical")
    head = order[:FRESH_WITHIN]
    able = head[found.feature("kind")[head] > 0] if question.kind and question.kind != "wish" else head
    if len(able):
        able = able[index.speaker[rows[able]] == index.speaker[rows[able[0]]]]
        able = able[lexical[able] >= SAME_SHARE * lexical[able].max()]
    changed = order.copy()
    changed[np.flatnonzero(np.isin(order, able))] = able[
        np.lexsort((np.arange(len(able)), -index.created[rows[able]], ended[able]))
    ]
    return _behind_closers(index, rows, changed)


def _behind_closers(index: Index, rows: Integers, order: Integers) -> Integers:
    """Put the memory that closed another right before it, where it would come later."""
    named = index.memories.select("memory_id", "closed_by")[rows]
    place = {memory: at for at, memory in enumerate(named["memory_id"])}
    closers = {at: place[by] for at, by in enumerate(named["closed_by"]) if by in place}
    if not closers:
        return order
    placed: dict[int, None] = {}
    for at in order.tolist():
        chain = [at]
        while chain[-1] in closers and closers[chain[-1]] not in chain:
            chain.append(closers[chain[-1]])
        placed |= dict.fromkeys(one for one in reversed(chain) if one not in placed)
    return np.array(list(placed), dtype=np.int64)


def with_partners(order: Integers, partners: dict[int, list[int]], first: int) -> Integers:
    """Bring the partners of each of the `first` best along, right behind it."""
    placed: dict[int, None] = {}
    for rank, at in enumerate(order.tolist()):
        group = [at, *partners.get(at, [])] if rank < first else [at]
        placed |= dict.fromkeys(one for one in group if one not in placed)
    return np.array(list(placed), dtype=np.int64)


def closed(memories: pl.DataFrame, now: datetime) -> pl.Series:
    """Whether each memory's validity has ended by `now`."""
    return memories.select((pl.col("valid_until") <= now).fill_null(value=False)).to_series()
