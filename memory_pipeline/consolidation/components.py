"""Pairs of rows as a graph: checks of their ends, and connected components.

Rows are numbers 0 to n - 1. Not here: groupings under limits (`groups.linkage`), and graph measures (`edges.graph`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from memory_pipeline.text.arrays import Integers


def check_ends(n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> None:
    """Raise ValueError unless left and right have equal length and contain only rows 0 to n - 1."""
    if len(left) != len(right):
        raise ValueError(f"left has {len(left)} ends and right {len(right)}; give two ends for each pair")
    if len(left) and not 0 <= min(left.min(), right.min()) <= max(left.max(), right.max()) < n:
        raise ValueError(f"a pair has an end outside of the rows 0 to {n - 1}; number rows from 0")


def check_distinct(n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> None:
    """Raise ValueError unless each pair joins two different rows from 0 to n - 1 and occurs once."""
    check_ends(n, left, right)
    if distinct(n, left, right).shape[1] < len(left):
        raise ValueError("a pair repeats or joins a row to itself; give each pair of two rows once")


def distinct(n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> Integers:
    """Return each pair of two different rows once, [2, pairs], the smaller row first."""
    low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
    keys = np.sort((low * n + high)[low < high])  # np.unique hashes first, which costs many times as much
    return np.stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], max(n, 1)))


def components(n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> Integers:
    """Return for each of n rows the smallest row of its connected component, by the two ends of each edge, int64 [n].

    Costs O(n + edges). Raises ValueError: an end lies outside the rows.
    """
    check_ends(n, left, right)
    edges = coo_array((np.ones(len(left), dtype=np.bool_), (left, right)), shape=(n, n))
    _, codes = connected_components(edges, directed=False)
    _, smallest = np.unique(codes, return_index=True)
    labels: Integers = smallest[codes]
    return labels
