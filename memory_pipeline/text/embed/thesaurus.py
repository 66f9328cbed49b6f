"""Thesaurus: semantic closeness of words by shared topics.

`models/thesaurus.txt` names topics ("pet animal: dog leash vet") and word families of one root ("decide decision"). A
word is a vector over these and one dimension of its own; it has more weight in a topic that it names than in one that
it belongs to. The closeness of two words is the product of their vectors over the square roots of their lengths, at
most 1; by cosine, a word of many topics would be close to none. Words that a line declares separate ("/ cat dog") are
not close, whatever they share. Not here: the weight of closeness in ranking (`recall/rank/related_words`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, Self

import numpy as np

from memory_pipeline.settings.model_files import thesaurus_lines
from memory_pipeline.text.arrays import Floats, Integers, ranges
from memory_pipeline.text.lang.en.stemming import stem

FAMILY_WEIGHT: Final = 2.0
NAME_WEIGHT: Final = 1.0
MEMBER_WEIGHT: Final = 0.5
"""Weight of a word in a family, in a topic that it names, and in a topic that it belongs to."""
SELF_WEIGHT: Final = 1.0
"""Weight of the word's own dimension: sharing their only topic does not make two words the same."""
MIN_CLOSENESS: Final = 0.2
"""Words less close than this are unrelated."""


class Cells(NamedTuple):
    """The cells of a matrix that are not empty, row by row, as in SciPy's `csr_array`, which takes long to import."""

    data: Floats
    indices: Integers
    """Column of each cell, ascending within a row."""
    indptr: Integers
    """First cell of each row, and their number at the end."""
    shape: tuple[int, int]

    @classmethod
    def of(cls, data: Floats, rows: Integers, columns: Integers, shape: tuple[int, int]) -> Self:
        """Return the matrix of these cells, each of which occurs once."""
        order = np.lexsort((columns, rows))
        indptr = np.searchsorted(rows[order], np.arange(shape[0] + 1))
        return cls(data[order], columns[order], indptr, shape)

    @property
    def rows(self) -> Integers:
        """Row of each cell."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    @property
    def transposed(self) -> Self:
        """The transpose."""
        return type(self).of(self.data, self.indices, self.rows, self.shape[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class Thesaurus:
    """Words and their topics.

    Attributes:
        places: row of each stem in `topics`.
        apart: [stems, separating lines] as 0 or 1; and its transpose.
        topics: [stems, topics and families]: weights over the square root of the row's length, which includes the
            word's own dimension; and its transpose.
    """

    places: dict[str, int]
    topics: tuple[Cells, Cells]
    apart: tuple[Cells, Cells]

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        """Parse lines: "names: words" of a topic, the words of a family, or "/" and separated words.

        Skips empty lines and "#" comments.
        """
        root = cache(stem)  # a word occurs in five lines on average
        weights: dict[tuple[str, int], float] = {}
        separated: list[set[str]] = []
        for topic, line in enumerate(lines):
            if line.startswith("/"):
                separated.append({root(word) for word in line[1:].split()})
            elif line.strip() and not line.startswith("#"):
                names, colon, words = line.partition(":")
                weights |= {(root(word), topic): MEMBER_WEIGHT for word in words.split()}
                weights |= {(root(word), topic): NAME_WEIGHT if colon else FAMILY_WEIGHT for word in names.split()}
        stems = {word for word, _ in weights}.union(*separated)
        places = {word: place for place, word in enumerate(sorted(stems))}
        rows = np.array([places[word] for word, _ in weights], dtype=np.int64)
        columns = np.array([topic for _, topic in weights], dtype=np.int64)
        values = np.array(list(weights.values()), dtype=np.float64)
        norms = (np.bincount(rows, values**2, len(places)) + SELF_WEIGHT**2) ** 0.25
        shape = len(places), int(columns.max(initial=0)) + 1
        scaled = Cells.of(values * (1.0 / norms)[rows], rows, columns, shape)
        members = [(places[word], at) for at, words in enumerate(separated) for word in sorted(words)]
        listed = np.array(members, dtype=np.int64).reshape(-1, 2)
        separation = Cells.of(np.ones(len(members)), listed[:, 0], listed[:, 1], (len(places), max(1, len(separated))))
        return cls(places, (scaled, scaled.transposed), (separation, separation.transposed))

    def close(self, stems: Sequence[str]) -> tuple[Integers, Floats]:
        """Find the words that are close to any of some stems: rows in `topics`, ascending, and [stems, words found].

        That is the closeness of each, `MIN_CLOSENESS` to 1; 0 for the stem itself, below the minimum, and for unknown
        stems. Cost: about 0.05 ms per stem.
        """
        listed = [(row, self.places[word]) for row, word in enumerate(stems) if word in self.places]
        if not listed:
            return np.zeros(0, dtype=np.int64), np.zeros((len(stems), 0))
        rows, places = np.array(listed, dtype=np.int64).T
        row, word, closeness = _products(places, *self.topics)
        apart_row, apart_word, _ = _products(places, *self.apart)
        width = len(self.places)
        apart = np.isin(row * width + word, apart_row * width + apart_word)
        is_close = (closeness >= MIN_CLOSENESS) & (places[row] != word) & ~apart
        close_words, column = np.unique(word[is_close], return_inverse=True)
        close = np.zeros((len(stems), len(close_words)))
        close[rows[row[is_close]], column] = np.minimum(closeness[is_close], 1.0)
        return close_words, close


def _products(places: Integers, one: Cells, other: Cells) -> tuple[Integers, Integers, Floats]:
    """Return the cells of `one[places] @ other` that are not empty: row, column and value. For few rows."""
    row, inner, weight = _cells(places, one)
    owner, column, values = _cells(inner, other)
    width = max(other.shape[1], 1)
    cells, at = np.unique(row[owner] * width + column, return_inverse=True)
    sums = np.bincount(at, weight[owner] * values, len(cells)).astype(np.float64)  # of no cells: whole numbers
    return cells // width, cells % width, sums


def _cells(rows: Integers, matrix: Cells) -> tuple[Integers, Integers, Floats]:
    """Return the cells of some rows of a matrix, row by row: position in `rows`, column and value."""
    begin, sizes = matrix.indptr[rows], matrix.indptr[rows + 1] - matrix.indptr[rows]
    at = ranges(begin, sizes)
    return np.repeat(np.arange(len(rows)), sizes), matrix.indices[at], matrix.data[at]


@cache
def thesaurus() -> Thesaurus:
    """Return the thesaurus of the package. Cost: 0.3 s, once."""
    return Thesaurus.of(thesaurus_lines())
