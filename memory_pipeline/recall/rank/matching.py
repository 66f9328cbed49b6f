"""Matches the words of a query against memories and sessions.

Not here: weighing matches against other features (`features`).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.postings import Keys, saturated
from memory_pipeline.recall.index.queries import Question

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The words of a query in every memory.

    Attributes:
        keys: the words, as hashes.
        weights: inverse document frequency of each word times its emphasis.
        shares: [memories, words]: BM25 term frequency factor of each word in the passage where it is highest.
        lexical: BM25 of each memory.
        topic: for each session, the weighted share of the words that occur somewhere in it.
    """

    keys: Keys
    weights: Floats
    shares: NDArray[np.float32]
    lexical: Floats
    topic: Floats

    @classmethod
    def of(cls, index: Index, question: Question) -> Self:
        """Look up the words of a query. Cost: proportional to their postings and the number of memories."""
        postings, row = index.postings, index.passages.row
        shares = np.zeros((index.memories.height, len(question.keys)), dtype=np.float32, order="F")
        weights = np.zeros(len(question.keys))
        topic = np.zeros(max(1, len(index.sessions.names)))
        lexical = np.zeros(index.memories.height)
        number, mean = len(postings.number), postings.mean
        for place, key in enumerate(question.keys):
            units, counts = postings.postings(key)
            weights[place] = question.emphasis[place] * np.log1p((number - len(units) + 0.5) / (len(units) + 0.5))
            factors = saturated(counts, postings.lengths[units], mean).astype(np.float32)
            owners = row[units]
            first = np.flatnonzero(np.diff(owners, prepend=-1))
            holders = owners[first]
            best = np.maximum.reduceat(factors, first) if len(first) else factors
            shares[holders, place] = best
            lexical[holders] += weights[place] * best
            sessions = index.sessions.number[holders]
            present = np.zeros(len(topic), dtype=np.bool_)
            present[sessions[sessions >= 0]] = True
            topic += weights[place] * present
        return cls(question.keys, weights, shares, lexical, topic * (1.0 / max(float(weights.sum()), 1e-9)))

    def of_passages(self, index: Index, passages: Integers, words: tuple[Integers, Keys, Floats]) -> Floats:
        """Return the BM25 term frequency factor of each word in some passages.

        Args:
            index: the memories.
            passages: the passages.
            words: what `Postings.words_of` returns for them.

        Returns:
            An array [passages, words].
        """
        shares = np.zeros((len(passages), len(self.keys)))
        at, keys, counts = words
        order = np.argsort(self.keys)
        place = np.searchsorted(self.keys[order], keys)
        place[place == len(order)] = 0
        asked = self.keys[order][place] == keys if len(order) else np.zeros(len(keys), dtype=np.bool_)
        lengths = index.postings.lengths[passages][at[asked]]
        shares[at[asked], order[place[asked]]] = saturated(counts[asked], lengths, index.postings.mean)
        return shares


def over_top(values: Floats) -> Floats:
    """Divide numbers by the largest; return them unchanged if none is positive."""
    top = float(values.max()) if len(values) else 0.0
    return values * (1.0 / top) if top > 0 else values
