"""Finds pairs of memories worth judging: those that share rare words, or frequent ones if they are near in time.

Not here: how memories are read (`relation_reading`), pairs whose vectors are near
(`consolidation/change_detection`), and what the two of a pair share (`relation_features`).
"""

from typing import Final

import numpy as np
from scipy import sparse

from memory_pipeline.text.arrays import Floats, Rows
from memory_pipeline.text.compare.relation_reading import LEAST_WEIGHT, Reading

MOST_SHARED: Final = 128
"""Maximum number of statements that share a word for it to pair all of them."""
NEAREST_BEFORE: Final = 12
"""Number of earlier statements that a more frequent word pairs a statement with."""
SHARING: Final = 4
"""Number of older memories that a memory is compared with because they share most of its words."""
_LEAST_SIMILARITY: Final = 0.03
_CONTEXT_WEIGHT: Final = 0.3
_ROWS_AT_ONCE: Final = 2048
_DIGITS: Final = 9
"""Decimals of a similarity that count: the rest depends on the order of its sum."""


def candidates(reading: Reading, *, most: int = SHARING) -> tuple[Rows, Rows]:
    """Return pairs of memories worth judging, (older, newer): for each the `most` older ones that share most with it.

    A word in more than `MOST_SHARED` statements pairs each of them only with the `NEAREST_BEFORE` statements before it,
    so that the cost is linear: about 0.1 ms per memory.
    """
    keys = _keys(reading)
    counts = np.bincount(keys.indices, minlength=keys.shape[1])
    rare = sparse.csr_array(keys @ sparse.diags_array((counts <= MOST_SHARED).astype(np.float64)))
    rare.eliminate_zeros()
    latest = _latest(keys, counts)
    memory = reading.statements["memory"].to_numpy()
    found = [np.empty((0, 2), dtype=np.int64)]
    for low in range(0, len(memory), _ROWS_AT_ONCE):
        part = slice(low, min(low + _ROWS_AT_ONCE, len(memory)))
        block = (rare[part] @ rare[: part.stop].T + latest[part, : part.stop]).tocoo()
        near = block.data >= _LEAST_SIMILARITY
        older, newer = memory[block.col[near]], memory[block.row[near] + low]
        earlier = older < newer
        found.append(_nearest(older[earlier], newer[earlier], block.data[near][earlier], most))
    return each_once(np.concatenate(found), len(reading.memories))


def each_once(pairs: Rows, count: int) -> tuple[Rows, Rows]:
    """Return pairs of rows, [n, 2], each once and in order, as two columns; `count` is the number of rows."""
    numbers = np.sort(pairs[:, 0] * count + pairs[:, 1])  # np.unique hashes first, which costs many times as much
    older, newer = np.divmod(numbers[np.diff(numbers, prepend=-1) > 0], max(count, 1))
    return older, newer


def _keys(reading: Reading) -> sparse.csr_array:
    """Return [statements, words and words of the context, by store]; the product of two rows is how much they share."""
    profile = reading.statements["profile_id"].to_numpy()
    parts = []
    for matrix, weight in ((reading.weighted, 1.0), (reading.context, _CONTEXT_WEIGHT)):
        total = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), LEAST_WEIGHT)
        scaled = matrix.tocoo()
        column = np.unique(profile[scaled.row] * matrix.shape[1] + scaled.col, return_inverse=True)[1]
        data = np.sqrt(weight * scaled.data / total[scaled.row])
        width = int(column.max(initial=0)) + 1
        parts.append(sparse.csr_array((data, (scaled.row, column)), shape=(matrix.shape[0], width)))
    return sparse.csr_array(sparse.hstack(parts))


def _latest(keys: sparse.csr_array, counts: Rows) -> sparse.csr_array:
    """Return how much each statement shares, by frequent words, with the latest statements before it."""
    often = sparse.csc_array(keys @ sparse.diags_array((counts > MOST_SHARED).astype(np.float64)))
    often.eliminate_zeros()
    column = np.repeat(np.arange(often.shape[1]), np.diff(often.indptr))
    rows, data = often.indices, often.data
    size = (keys.shape[0],) * 2
    shared = sparse.csr_array(size)
    for lag in range(1, NEAREST_BEFORE + 1):
        same = column[lag:] == column[:-lag]
        cells = data[lag:][same] * data[:-lag][same], (rows[lag:][same], rows[:-lag][same])
        shared = shared + sparse.csr_array(cells, shape=size)
    return sparse.csr_array(shared)


def _nearest(older: Rows, newer: Rows, similarity: Floats, most: int) -> Rows:
    """Return the `most` nearest older memories of each newer one, [n, 2]; ties go to the later one.

    The newer ones are in ascending order. Cost: a pass for each of the nearest, which takes a third of a sort.
    """
    left, begins = np.round(similarity, _DIGITS), np.flatnonzero(np.diff(newer, prepend=-1))
    sizes = np.diff(begins, append=len(newer))
    found = [np.empty((0, 2), dtype=np.int64)]
    for _ in range(most if len(newer) else 0):
        best = np.maximum.reduceat(left, begins)
        latest = np.maximum.reduceat(np.where(left == np.repeat(best, sizes), older, -1), begins)
        more = best > -np.inf
        found.append(np.stack([latest, newer[begins]], axis=1)[more])
        left[older == np.repeat(latest, sizes)] = -np.inf
    return np.concatenate(found)
