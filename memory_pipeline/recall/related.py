"""Related words: what a memory says in other words than the question, by the thesaurus.

What is not here: the words that both share (`matching`) and the thesaurus itself (`text/thesaurus`).
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.index import Index
from memory_pipeline.recall.postings import Keys, keys, saturated
from memory_pipeline.recall.questions import Question
from memory_pipeline.text.thesaurus import thesaurus

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST: Final = 32
"""Words of a question that are looked for in other words."""


def related(index: Index, question: Question, pieces: Integers, words: tuple[Integers, Keys], shares: Floats) -> Floats:
    """BM25 of pieces by words that only go with those of the question.

    Each word of the question counts by the word of the piece that is closest to it, unless it stands there itself. It
    counts the more, the rarer in the index the words are that go with it, and the more rarely it stands there itself:
    a word that is found needs no other. Of a long question the `_MOST` rarest words count.

    Args:
        index: the memories.
        question: what is asked.
        pieces: some pieces.
        words: the words of these pieces: place in `pieces`, ascending, and word.
        shares: [pieces, words of the question]: the words that stand there themselves.

    Returns:
        One number a piece. Cost: about 1 ms for a few hundred pieces.
    """
    ordered, by_key = _known()
    asked = np.sort(np.argsort(-question.emphasis, kind="stable")[:_MOST])
    close = thesaurus().closeness([question.stems[place] for place in asked])[:, by_key]
    at, given = words
    place = np.minimum(np.searchsorted(ordered, given), len(ordered) - 1)
    there = np.flatnonzero(ordered[place] == given)
    if not len(there) or not close.any():
        return np.zeros(len(pieces))
    holders, starts = np.unique(at[there], return_index=True)
    nearest = np.zeros((len(pieces), len(asked)))
    nearest[holders] = np.maximum.reduceat(close[:, place[there]], starts, axis=1).T
    nearest[shares[:, asked] > 0] = 0.0
    kept = np.flatnonzero(np.any(close, axis=0))
    postings = index.postings
    number = len(postings.number)
    rates = np.minimum(postings.frequencies(ordered[kept]) / max(1, number), 1.0 - 1e-9)
    apart = np.log1p(-close[:, kept] * rates).sum(axis=1)
    there_itself = postings.frequencies(question.keys[asked])
    spread = number * (1.0 - np.exp(apart) * (1.0 - np.minimum(there_itself / max(1, number), 1.0)))
    weights = question.emphasis[asked] * np.log1p((number - spread + 0.5) / (spread + 0.5)) / (1.0 + there_itself)
    own = saturated(np.ones(len(pieces)), postings.lengths[pieces], postings.mean)
    return np.asarray((nearest @ weights) * own, dtype=np.float64)


@cache
def _known() -> tuple[Keys, Integers]:
    """The thesaurus's words as keys, ascending, and the place of each there."""
    found = keys(list(thesaurus().places))
    order = np.argsort(found)
    return found[order], order
