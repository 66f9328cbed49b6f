"""Thesaurus: how close words are by what they speak of.

`models/thesaurus.txt` names topics ("pet animal: dog leash vet") and families of words of one root ("decide decision").
A word is a vector over these and over a meaning of its own; what names a topic has more weight there than what belongs
to it. Two words are as close as the product of their vectors over the square roots of their lengths, at most 1: a word
of many topics would be close to none by their cosine. Words that a line tells apart ("/ cat dog") are not close,
whatever they share. What is not here: what closeness is worth to a question
(`recall/rank/related_words`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memory_pipeline.settings.model_files import thesaurus_lines
from memory_pipeline.text.lang.en.stemming import stem

FAMILY: Final = 2.0
NAMES: Final = 1.0
BELONGS: Final = 0.5
"""Weight of a word in a family, in a topic that it names, and in one that it belongs to."""
OWN: Final = 1.0
"""Weight of its own meaning: words that are known from one topic alone are not the same for that."""
LEAST: Final = 0.2
"""Words less close than this have nothing to do with each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Thesaurus:
    """Words and what they speak of.

    Attributes:
        places: row of each stem in `topics`.
        apart: [stems, lines that tell words apart]: which stand in which; and its transpose.
        topics: [stems, topics and families]: weights over the square root of the row's length, in which its own meaning
            counts; and its transpose.
    """

    places: dict[str, int]
    topics: tuple[sparse.csr_array, sparse.csr_array]
    apart: tuple[sparse.csr_array, sparse.csr_array]

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        """Read lines: "names: words" of a topic, the words of a family, or "/" and words told apart.

        Empty lines and "#" comments are skipped.
        """
        weights: dict[tuple[str, int], float] = {}
        told_apart: list[set[str]] = []
        for topic, line in enumerate(lines):
            if line.startswith("/"):
                told_apart.append({stem(word) for word in line[1:].split()})
            elif line.strip() and not line.startswith("#"):
                names, colon, words = line.partition(":")
                weights |= {(stem(word), topic): BELONGS for word in words.split()}
                weights |= {(stem(word), topic): NAMES if colon else FAMILY for word in names.split()}
        known = {word for word, _ in weights}.union(*told_apart)
        places = {word: place for place, word in enumerate(sorted(known))}
        rows = [places[word] for word, _ in weights]
        columns = [topic for _, topic in weights]
        shape = len(places), max(columns, default=0) + 1
        found = sparse.csr_array((np.array(list(weights.values()), dtype=np.float64), (rows, columns)), shape=shape)
        roots = (found.power(2).sum(axis=1) + OWN**2) ** 0.25
        scaled = sparse.csr_array(found.multiply((1.0 / roots)[:, np.newaxis]))
        members = [(places[word], at) for at, words in enumerate(told_apart) for word in sorted(words)]
        stands = np.array(members, dtype=np.int64).reshape(-1, 2).T
        among = sparse.csr_array(
            (np.ones(len(members)), (stands[0], stands[1])), shape=(len(places), max(1, len(told_apart)))
        )
        return cls(places, (scaled, sparse.csr_array(scaled.T)), (among, sparse.csr_array(among.T)))

    def close(self, stems: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Words that are close to any of some stems.

        Returns:
            Their rows in `topics`, ascending, and [stems, these]: how close each is to each, `LEAST` to 1; 0 for
            itself, if less close, and if unknown. Cost: about 0.05 ms a stem.
        """
        known = [(row, self.places[word]) for row, word in enumerate(stems) if word in self.places]
        if not known:
            return np.zeros(0, dtype=np.int64), np.zeros((len(stems), 0))
        rows, places = np.array(known, dtype=np.int64).T
        topics, words = self.topics
        found = topics[places] @ words
        among, within = self.apart
        found = (found - found.multiply((among[places] @ within) > 0)).tocoo()
        near = (found.data >= LEAST) & (places[found.row] != found.col)
        others, at = np.unique(found.col[near], return_inverse=True)
        close = np.zeros((len(stems), len(others)))
        close[rows[found.row[near]], at] = np.minimum(found.data[near], 1.0)
        return others.astype(np.int64), close


@cache
def thesaurus() -> Thesaurus:
    """The one that ships. Cost: 0.3 s, once."""
    return Thesaurus.of(thesaurus_lines())
