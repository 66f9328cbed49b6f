"""Query expansion: memories that express the query in related words, by the thesaurus."""

from dataclasses import dataclass
from functools import cache
from typing import Final, Self

import numpy as np

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.postings import keys, saturated
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.text.arrays import Floats, Integers, Keys
from memory_pipeline.text.embed.thesaurus import thesaurus
from memory_pipeline.text.lang.registry import ENGLISH

_MOST: Final = 32
"""Most words of a query to expand: the rarest."""


@dataclass(frozen=True, slots=True, eq=False)
class RelatedWords:
    """Words of the index that are related to those of a query.

    Attributes:
        asked: positions of the expanded words among the query's words.
        keys: related words that occur in the index, ascending.
        close: [asked, keys]: closeness of each pair, 0..1.
        rates: share of the passages that contain each of `keys`.
    """

    asked: Integers
    keys: Keys
    close: Floats
    rates: Floats

    @classmethod
    def of(cls, index: Index, question: Question) -> Self:
        """Look up the related words of a query; one in another language than English has none. Cost: about 1 ms."""
        most = _MOST if question.language == ENGLISH else 0
        asked = np.sort(np.argsort(-question.emphasis, kind="stable")[:most])
        others, close = thesaurus().close([question.stems[place] for place in asked])
        related = _keys()[others]
        frequencies = index.postings.frequencies(related)
        present = np.flatnonzero(frequencies)
        present = present[np.argsort(related[present])]
        rates = frequencies[present] / max(1, len(index.postings.number))
        return cls(asked, related[present], close[:, present], rates)

    def expanded_scores(self, index: Index, question: Question) -> Floats:
        """Sum the weights of the query's words and their related words over each passage.

        A word of the query weighs its emphasis, a related word its closeness to those; both times their inverse
        document frequencies, as in a cosine of word vectors, but a related word counts as no rarer than the word asked
        for. Cost: proportional to the postings of all these words.
        """
        postings = index.postings
        frequencies = np.concatenate([postings.frequencies(question.keys), self.rates * len(postings.number)])
        rarity = postings.rarity(frequencies)
        exact, related = np.split(rarity, [len(question.keys)])
        substitutes = question.emphasis[self.asked] @ (self.close * np.minimum(exact[self.asked, np.newaxis], related))
        weights = np.concatenate([question.emphasis * exact, substitutes]) * rarity
        return np.asarray(postings.weighed(np.concatenate([question.keys, self.keys]), weights), dtype=np.float64)

    def of_passages(
        self, index: Index, question: Question, passages: Integers, words: tuple[Integers, Keys], shares: Floats
    ) -> Floats:
        """Score passages by BM25 on related words alone. Cost: about 1 ms for a few hundred passages.

        Each word of the query counts by the closest word of the passage, unless the passage contains the word itself
        (`shares`, [passages, words of the query], is positive). It counts more, the rarer its related words are in the
        index and the rarer it is itself: a word that the memories use needs no substitute. The words of the passages
        are position, ascending, and word.
        """
        at, passage_words = words
        place = np.searchsorted(self.keys[:-1], passage_words)
        hits = np.flatnonzero(self.keys[place] == passage_words) if len(self.keys) else place[:0]
        if not len(hits):
            return np.zeros(len(passages))
        holders, starts = np.unique(at[hits], return_index=True)
        nearest = np.zeros((len(passages), len(self.asked)))
        nearest[holders] = np.maximum.reduceat(self.close[:, place[hits]], starts, axis=1).T
        nearest[shares[:, self.asked] > 0] = 0.0
        postings = index.postings
        number = len(postings.number)
        exact = postings.frequencies(question.keys[self.asked])
        without = np.exp(np.log1p(-self.close * np.minimum(self.rates, 1.0 - 1e-9)).sum(axis=1))
        spread = number * (1.0 - without * (1.0 - np.minimum(exact / number, 1.0)))
        weights = question.emphasis[self.asked] * postings.rarity(spread) / (1.0 + exact)
        lengths = saturated(np.ones(len(passages)), postings.lengths[passages], postings.mean)
        return np.asarray((nearest @ weights) * lengths, dtype=np.float64)


@cache
def _keys() -> Keys:
    """Return the words of the thesaurus as keys, in its order."""
    return keys(list(thesaurus().places))
