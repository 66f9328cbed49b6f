"""Matches the words of a query against memories and sessions."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.postings import saturated
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.text.arrays import Floats, Integers, Keys, Matrix


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
    shares: Matrix
    lexical: Floats
    topic: Floats

    @classmethod
    def of(cls, index: Index, question: Question) -> Self:
        """Look up the words of a query. Cost: proportional to their postings and the number of memories."""
        postings = index.postings
        word, units, counts = postings.of_words(question.keys)
        found = np.bincount(word, minlength=len(question.keys))
        weights = question.emphasis * postings.rarity(found)
        factors = saturated(counts, postings.lengths[units], postings.mean).astype(np.float32)
        holders = index.passages.row[units]
        first = np.flatnonzero((np.diff(holders, prepend=-1) != 0) | (np.diff(word, prepend=-1) != 0))
        holders, word = holders[first], word[first]
        best = np.maximum.reduceat(factors, first) if len(first) else factors
        shares = np.zeros((index.memories.height, len(question.keys)), dtype=np.float32, order="F")
        shares[holders, word] = best
        lexical = np.bincount(holders, weights[word] * best, index.memories.height).astype(np.float64)
        size = max(1, len(index.sessions.names))
        session = index.sessions.number[holders]
        held = np.zeros(len(weights) * size, dtype=np.bool_)
        held[word[session >= 0] * size + session[session >= 0]] = True
        inside = np.flatnonzero(held)
        topic = np.bincount(inside % size, weights[inside // size], size).astype(np.float64)
        topic *= 1.0 / max(float(weights.sum()), 1e-9)
        return cls(question.keys, weights, shares, lexical, topic)

    def of_passages(self, index: Index, passages: Integers, words: tuple[Integers, Keys, Floats]) -> Floats:
        """Return the BM25 term frequency factor, [passages, words], of each word in passages with these `words_of`."""
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
