"""Features of a pair of memories that depend on the others of the profile: cosines, ranks and what lies between.

A newer memory that is nearest to an older one, and nearer than all between, is likelier to be about the same fact than
one of many alike. Not here: the vectors (`text/embed/encoder`), and what the two texts share (`relation_features`,
`alignment`).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.arrays import Floats, Marks, Matrix, Rows, places

NAMES: Final = (
    *("reader_cosine", "cosine_above_older", "cosine_above_newer", "rank_among_older", "rank_among_newer"),
    *("between_nearer_to_older", "between_nearer_to_newer", "places_apart"),
)
"""Names of the features."""
NEAREST: Final = 8
"""Number of nearest older memories that a memory is compared with."""
_ROWS_AT_ONCE: Final = 1024
_CELLS_AT_ONCE: Final = 1 << 19
"""Cosines of pairs with their rivals that are compared at once: few enough to stay near the processor."""
_DIGITS: Final = 4
"""Decimals of a cosine: differences of rounding between processors lie far below."""
_UNIT: Final = np.float32(10**_DIGITS)
"""What cosines are multiplied by to compare them as whole numbers, which takes a third of the time."""


def nearest(vectors: Matrix, profile: Rows) -> Rows:
    """Return the pairs of each memory with the `NEAREST` older ones of its profile, [n, 2], older first.

    Vectors are unit rows of the memories, by profile, whose ascending number each has, and time; a zero row is near to
    nothing. Cost: the products of all vectors of a profile, in blocks: about 0.5 s for 10,000 memories. Ties go to the
    later.
    """
    found = [np.empty((0, 2), dtype=np.int64)]
    for start, end in _spans(profile):
        for low in range(start, end, _ROWS_AT_ONCE):
            high = min(low + _ROWS_AT_ONCE, end)
            cosines = np.round(vectors[low:high] @ vectors[start:high].T, _DIGITS)
            own = cosines[:, low - start :]
            own[np.triu_indices(high - low)] = 0
            width = min(NEAREST, high - start)
            least = np.partition(cosines, -width, axis=1)[:, [-width]]
            newer, older = np.nonzero((cosines >= least) & (cosines > 0))
            order = np.lexsort((-older, -cosines[newer, older], newer))
            best = order[places(newer[order]) < NEAREST]
            found.append(np.stack([older[best] + start, newer[best] + low], axis=1))
    pairs = np.concatenate(found)
    result: Rows = pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
    return result


def features(vectors: Matrix, profile: Rows, older: Rows, newer: Rows) -> Floats:
    """Return the features of pairs of memories of one profile each, [pairs, features], as `nearest` takes them.

    Cost: the products of all vectors of a profile, in blocks, and a comparison of each pair with all memories of the
    profile: 0.2 s for 20,000 pairs of 2,000 memories, 0.1 s for 14,000 pairs of 50 profiles of 40.
    """
    result = np.zeros((len(older), len(NAMES)))
    by_newer, by_older = newer.argsort(kind="stable"), older.argsort(kind="stable")
    sides = ((by_newer, newer[by_newer], True), (by_older, older[by_older], False))
    for start, end in _spans(profile):
        for low in range(start, end, _ROWS_AT_ONCE):
            high = min(low + _ROWS_AT_ONCE, end)
            cosines = vectors[low:high] @ vectors[start:end].T
            np.rint(np.multiply(cosines, _UNIT, out=cosines), out=cosines)
            units = cosines.astype(np.int16)
            for order, rows, of_newer in sides:
                part = order[slice(*np.searchsorted(rows, (low, high)))]
                _fill(result, part, units, low - start, older[part] - start, newer[part] - start, of_newer=of_newer)
    result[:, 7] = np.log1p(newer - older)
    return result


def _fill(
    table: Floats, pairs: Rows, units: NDArray[np.int16], low: int, older: Rows, newer: Rows, *, of_newer: bool
) -> None:
    """Fill the features that come from the cosines of one side of the pairs with all memories of the profile.

    The pairs are rows of the table, sorted by that side; the cosines are those of some memories, from `low` on, in
    units of `_UNIT`, and where they are of the newer ones, rivals come before them.
    """
    at_once = max(1, _CELLS_AT_ONCE // units.shape[1])
    for start in range(0, len(pairs), at_once):
        part = slice(start, start + at_once)
        one, other = (newer[part], older[part]) if of_newer else (older[part], newer[part])
        # Rows are sorted, so that only columns near the ends of the range need a mask.
        first, end = (0, int(one[-1])) if of_newer else (int(one[0]) + 1, units.shape[1])
        rivals, places = units[one - low, first:end], np.arange(first, end)
        edge = slice(int(one[0]), None) if of_newer else slice(0, int(one[-1]) + 1 - first)
        beyond = places[edge] >= one[:, np.newaxis] if of_newer else places[edge] <= one[:, np.newaxis]
        rivals[:, edge][beyond] = -_UNIT
        pair = np.arange(len(one))
        own = rivals[pair, other - first]
        nearer, before = _counted(rivals > own[:, np.newaxis], other - first)
        rivals[pair, other - first] = 0
        at, cosine = pairs[part], own / _UNIT
        table[at, 1 if of_newer else 2] = cosine - np.maximum(rivals.max(axis=1), 0) / _UNIT
        table[at, 3 if of_newer else 4] = nearer
        table[at, 6 if of_newer else 5] = nearer - before if of_newer else before
        if of_newer:
            table[at, 0] = cosine


def _counted(marks: Marks, places: Rows) -> tuple[Rows, Rows]:
    """Return the number of marks in each row, and how many are before a place in it."""
    packed = np.packbits(marks, axis=1)
    bits = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    bits[:, : packed.shape[1]] = packed
    counts = np.bitwise_count(bits.view(np.uint64)).cumsum(axis=1, dtype=np.int64)
    row, (word, bit) = np.arange(len(bits)), np.divmod(places, 64)
    own = bits.reshape(len(bits), -1, 8)[row, word]
    after = np.clip(8 * (np.arange(8) + 1) - bit[:, np.newaxis], 0, 8)  # bits of each byte from the place on
    behind = np.bitwise_count(own & ((1 << after) - 1).astype(np.uint8)).sum(axis=1, dtype=np.int64)
    return counts[:, -1], counts[row, word] - behind


def _spans(profile: Rows) -> list[tuple[int, int]]:
    """Return first row and end of each profile."""
    starts = np.flatnonzero(np.diff(profile, prepend=-1))
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(profile)], strict=True))
