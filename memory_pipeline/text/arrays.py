"""Types of arrays, and what NumPy lacks: runs, fingerprints of rows and texts, the softmax, threads of products."""

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_AT_ONCE: Final = 4096
"""Rows fingerprinted at once; bounds the scratch memory."""

Integers = NDArray[np.int64]
Rows = Integers
"""Numbers of rows of a table."""
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
Keys = NDArray[np.uint64]
"""Hashes, such as those of the stems of words."""
Matrix = NDArray[np.float32]
"""Vectors, one of them, or cosines."""


def ranges(begin: Integers, sizes: Integers) -> Integers:
    """Concatenate ranges of whole numbers with the given starts and sizes."""
    return np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))


def places(keys: Integers) -> Integers:
    """Return the place of each row among those of its key, from 0; the keys are sorted."""
    begins = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return np.arange(len(keys)) - np.repeat(begins, np.diff(begins, append=len(keys)))


def last_of_each(keys: Integers, order: Integers, count: int) -> Integers:
    """Return for each key below `count` the position that comes last in an order of the rows; -1 without any."""
    last = np.full(count, -1)
    last[keys[order]] = order
    return last


def fingerprints(rows: NDArray[np.unsignedinteger]) -> Integers:
    """Return a number for each row of whole numbers that depends on all of them: equal rows have equal ones.

    Two rows that differ have the same one once in some 10^19 pairs. Cost: about a microsecond for a row of 384.
    """
    factors = _scattered(rows.shape[1]) | np.uint64(1)
    numbers = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        numbers[part] = (rows[part].astype(np.uint64) @ factors).view(np.int64)
    return numbers


def text_fingerprints(texts: Iterable[str]) -> Integers:
    """Return a number for each text: equal texts have equal ones, two others once in some 10^19 pairs."""
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<i8")


def _scattered(count: int) -> Keys:
    """Return numbers that look random: the generator SplitMix64 (Steele et al. 2014)."""
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@cache
def libraries() -> ThreadpoolController:
    """Return what limits the threads of matrix products."""
    return ThreadpoolController()


def product_threads() -> int:
    """Return the number of threads of a matrix product."""
    products = libraries().select(user_api="blas").info()
    return max((int(library["num_threads"]) for library in products), default=1)


def softmax(scores: Floats) -> Floats:
    """Return the probabilities that add up to 1 in each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    result: Floats = powers / powers.sum(axis=1, keepdims=True)
    return result
