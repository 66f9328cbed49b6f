"""Recognises pairs of statements that cannot repeat or contradict each other, however similar their words are.

"I live in Ghent" and "I no longer live in Ghent" are not repetitions; weights of two days do not contradict each other,
nor repeat each other if the words are the same. English only. Not here: how likely a relation is (`relation_model`).
"""

import re
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.text.compare import standing
from memory_pipeline.text.compare.relation_reading import Reading
from memory_pipeline.text.lang.en.stances import STANCES

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

_PATTERNS: Final = tuple(re.compile(pattern) for pattern in STANCES.values())
_DAY: Final = 86_400_000_000


def differ(low: pl.Series, older: Rows, newer: Rows) -> tuple[Mask, Mask, Mask]:
    """Compare the stances of statements.

    Args:
        low: statements, folded.
        older: index of the older statement of each pair.
        newer: index of the newer one.

    Returns:
        Whether one denies, limits, doubts or intends what the other states; whether only one denies; whether only the
        newer says that something has ended or resumed. Cost: about 10 µs per statement that is in a pair.
    """
    rows, place = np.unique(np.concatenate([older, newer]), return_inverse=True)
    found = np.array([[bool(p.search(text)) for p in _PATTERNS] for text in low.gather(rows)], dtype=np.bool_)
    stances = found.reshape(len(rows), len(_PATTERNS))[place]
    was, now = stances[: len(older)], stances[len(older) :]
    kinds = list(STANCES)
    changing = [kinds.index(kind) for kind in ("ended", "resumed")]
    changed: Mask = np.any(now[:, changing] & ~was[:, changing], axis=1)
    other: Mask = was != now
    turned: Mask = np.any(other, axis=1)
    return turned, other[:, kinds.index("denied")], changed


def same_words(reading: Reading, left: Rows, right: Rows) -> Mask:
    """Return whether two statements consist of the same content words."""
    words = reading.words
    shared = np.asarray(words[left].multiply(words[right]).sum(axis=1)).ravel()
    sizes = np.asarray(words.sum(axis=1)).ravel()
    equal: Mask = (shared == sizes[left]) & (shared == sizes[right])
    return equal


def of_other_occasions(reading: Reading, left: Rows, right: Rows) -> tuple[Mask, Mask]:
    """Return whether two statements report the same on two days, and whether both measure something on two days.

    Args:
        reading: the memories.
        left: index of one statement of each pair.
        right: index of the other.

    Cost: about 40 µs per statement that is in a pair.
    """
    rows, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    texts = reading.statements["low"].gather(rows)
    stands = standing.are_standing(texts).to_numpy()[place].reshape(2, -1)
    measures = standing.are_readings(texts).to_numpy()[place].reshape(2, -1)
    days = reading.statements["at"].to_numpy() // _DAY
    on_two_days = days[left] != days[right]
    return on_two_days & same_words(reading, left, right) & ~stands.any(axis=0), on_two_days & measures.all(axis=0)
