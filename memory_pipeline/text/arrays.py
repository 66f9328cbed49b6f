"""Types of arrays, and what NumPy lacks: runs of rows under one key, the softmax, and the threads of its products."""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

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
