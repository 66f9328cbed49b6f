"""Related words: what a memory says in other words than the question, by the thesaurus.

What is not here: the words that both share (`matching`) and the thesaurus itself (`text/embed/thesaurus`).
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.postings import Keys, keys, saturated
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.text.embed.thesaurus import thesaurus

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST: Final = 32
"""Words of a question that are looked for in other words: the rarest."""


@dataclass(frozen=True, slots=True, eq=False)
class Related:
    """Words that go with those of a question.

    Attributes:
        asked: places of the question's words for which there may be others.
        keys: words of the index that go with any of these, ascending.
        close: [asked, keys]: how close each is, 0..1.
        rates: share of the pieces in which each of `keys` stands.
    """

    asked: Integers
    keys: Keys
    close: Floats
    rates: Floats

    @classmethod
    def of(cls, index: Index, question: Question) -> Self:
        """Look them up. Cost: about 1 ms."""
        asked = np.sort(np.argsort(-question.emphasis, kind="stable")[:_MOST])
        others, close = thesaurus().close([question.stems[place] for place in asked])
        found = _keys()[others]
        frequencies = index.postings.frequencies(found)
        there = np.flatnonzero(frequencies)
        there = there[np.argsort(found[there])]
        rates = frequencies[there] / max(1, len(index.postings.number))
        return cls(asked, found[there], close[:, there], rates)

    def told(self, index: Index, question: Question) -> Floats:
        """How much each memory tells of the question, in its words or others: over all of them that stand there.

        A word of the question counts as much as its emphasis, another as much as it is close to those; both by their
        inverse document frequencies, as in a cosine of vectors of words, but no other as rarer than the one asked for.

        Returns:
            One number a memory. Cost: proportional to the postings of all these words.
        """
        postings = index.postings
        number = len(postings.number)
        held = np.concatenate([postings.frequencies(question.keys), self.rates * number])
        rarity = np.log1p((number - held + 0.5) / (held + 0.5))
        own, others = np.split(rarity, [len(question.keys)])
        instead = question.emphasis[self.asked] @ (self.close * np.minimum(own[self.asked, np.newaxis], others))
        weights = np.concatenate([question.emphasis * own, instead]) * rarity
        found = postings.weighed(np.concatenate([question.keys, self.keys]), weights)
        return np.asarray(np.bincount(index.pieces.row, found, index.memories.height), dtype=np.float64)

    def of_pieces(
        self, index: Index, question: Question, pieces: Integers, words: tuple[Integers, Keys], shares: Floats
    ) -> Floats:
        """BM25 of pieces by words that only go with those of the question.

        Each word of the question counts by the word of the piece that is closest to it, unless it stands there itself.
        It counts the more, the rarer in the index the words are that go with it, and the more rarely it stands there
        itself: a word that is found needs no other.

        Args:
            index: the memories.
            question: what is asked.
            pieces: some pieces.
            words: the words of these pieces: place in `pieces`, ascending, and word.
            shares: [pieces, words of the question]: the words that stand there themselves.

        Returns:
            One number a piece. Cost: about 1 ms for a few hundred pieces.
        """
        at, given = words
        place = np.searchsorted(self.keys[:-1], given)
        there = np.flatnonzero(self.keys[place] == given) if len(self.keys) else place[:0]
        if not len(there):
            return np.zeros(len(pieces))
        holders, starts = np.unique(at[there], return_index=True)
        nearest = np.zeros((len(pieces), len(self.asked)))
        nearest[holders] = np.maximum.reduceat(self.close[:, place[there]], starts, axis=1).T
        nearest[shares[:, self.asked] > 0] = 0.0
        postings = index.postings
        number = len(postings.number)
        itself = postings.frequencies(question.keys[self.asked])
        without = np.exp(np.log1p(-self.close * np.minimum(self.rates, 1.0 - 1e-9)).sum(axis=1))
        spread = number * (1.0 - without * (1.0 - np.minimum(itself / number, 1.0)))
        weights = question.emphasis[self.asked] * np.log1p((number - spread + 0.5) / (spread + 0.5)) / (1.0 + itself)
        own = saturated(np.ones(len(pieces)), postings.lengths[pieces], postings.mean)
        return np.asarray((nearest @ weights) * own, dtype=np.float64)


@cache
def _keys() -> Keys:
    """The words of the thesaurus as keys, in their order there."""
    return keys(list(thesaurus().places))
