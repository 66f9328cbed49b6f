"""What the statements of two memories share in words, in numbers.

Of long memories those statements are compared that share most. Not here: how memories are read (`relation_reading`),
the choice of pairs of memories (`relation_candidates`), and what follows from the numbers (`relation_trees`).
"""

from typing import Final

import numpy as np
from scipy import sparse

from memory_pipeline.text.arrays import Floats, Rows, last_of_each, places
from memory_pipeline.text.compare.relation_reading import LEAST_WEIGHT, Reading, sums

NAMES: Final = (
    *("shared", "shared_old", "shared_new", "cosine", "names", "names_left_old", "names_left_new", "rarest"),
    "log_statement_pairs",
)
"""Names of the features."""
_PAIRS_AT_ONCE: Final = 20_000
"""Pairs whose features are computed at once; bounds the scratch memory."""


def nearest_statements(reading: Reading, older: Rows, newer: Rows) -> tuple[Rows, Rows]:
    """Return the statements of the older and of the newer memory of each pair that share most, by weight.

    Of equal ones the last. The pairs are rows of memories. Cost: about 3 µs per pair of statements, where a memory has
    several.
    """
    counts = np.diff(reading.start)
    several = np.flatnonzero(counts[older] * counts[newer] > 1)
    left, right = reading.start[older], reading.start[newer]
    pair, one, other = _crossed(reading.start, older[several], newer[several])
    shared = np.round(_dot(reading.words, reading.weighted, one, other), 9)
    best = last_of_each(pair, np.lexsort((np.arange(len(pair)), shared, pair)), len(several))
    left[several], right[several] = one[best], other[best]
    return left, right


def features(reading: Reading, statements: tuple[Rows, Rows], pairs: tuple[Rows, Rows]) -> Floats:
    """Return [pairs, `NAMES`] of pairs of memories, by row of the older and newer, and their nearest statements.

    The weight of shared words, and its share of the older's and of the newer's; the cosine of both; the weight of
    shared names, and of those that only one side has; that of the heaviest shared word; and the pairs of statements.
    Cost: about 3 µs per pair.
    """
    result = np.zeros((len(pairs[0]), len(NAMES)))
    total, named = sums(reading.weighted), sums(reading.names)
    norms = np.sqrt(sums(reading.weighted.power(2)))
    counts = np.diff(reading.start)
    for low in range(0, len(result), _PAIRS_AT_ONCE):
        part = slice(low, low + _PAIRS_AT_ONCE)
        older, newer = (side[part] for side in statements)
        both = sparse.csr_array(reading.words[older].multiply(reading.weighted[newer]))
        shared = sums(both)
        heaviest = np.asarray(both.max(axis=1).todense()).ravel() if both.nnz else np.zeros(len(older))
        names = _dot(reading.words, reading.names, older, newer)
        product = sums(sparse.csr_array(reading.weighted[older].multiply(reading.weighted[newer])))
        result[part] = np.stack(
            [
                np.log1p(shared),
                shared / np.maximum(total[older], LEAST_WEIGHT),
                shared / np.maximum(total[newer], LEAST_WEIGHT),
                product / np.maximum(norms[older] * norms[newer], 1e-9),
                names,
                np.log1p(np.maximum(named[older] - names, 0.0)),
                np.log1p(np.maximum(named[newer] - names, 0.0)),
                heaviest,
                np.log1p(counts[pairs[0][part]] * counts[pairs[1][part]]),
            ],
            axis=1,
        )
    return result


def _dot(one: sparse.csr_array, other: sparse.csr_array, left: Rows, right: Rows) -> Floats:
    """Return the product of row `left` of one matrix and row `right` of the other, for each pair."""
    result = np.zeros(len(left))
    filled = np.flatnonzero((np.diff(one.indptr)[left] > 0) & (np.diff(other.indptr)[right] > 0))
    for low in range(0, len(filled), _PAIRS_AT_ONCE):
        at = filled[low : low + _PAIRS_AT_ONCE]
        result[at] = sums(sparse.csr_array(one[left[at]].multiply(other[right[at]])))
    return result


def _crossed(start: Rows, older: Rows, newer: Rows) -> tuple[Rows, Rows, Rows]:
    """Return all pairs of the parts of each pair of wholes: its index, part of the older, part of the newer.

    `start` is the first part of each whole, and the number of parts at the end; a whole has at least one.
    """
    counts = np.diff(start)
    pair = np.repeat(np.arange(len(older)), counts[older] * counts[newer])
    within = places(pair)
    return pair, start[older[pair]] + within // counts[newer[pair]], start[newer[pair]] + within % counts[newer[pair]]
