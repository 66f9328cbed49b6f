"""Features of a pair of memories that depend on the others of the profile: cosines, ranks and what lies between.

A newer memory that is nearest to an older one, and nearer than all between, is likelier to be about the same fact than
one of many alike. Not here: the vectors (`text/embed/encoder`), and what the two texts share (`relation_features`,
`alignment`).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

NAMES: Final = (
    *("reader_cosine", "cosine_above_older", "cosine_above_newer", "rank_among_older", "rank_among_newer"),
    *("between_nearer_to_older", "between_nearer_to_newer", "places_apart"),
)
"""Names of the features."""
NEAREST: Final = 8
"""Number of nearest older memories that a memory is compared with."""
_ROWS_AT_ONCE: Final = 1024
_DIGITS: Final = 4
"""Decimals of a cosine: differences of rounding between processors lie far below."""


def nearest(vectors: NDArray[np.float32], profile: Rows) -> Rows:
    """Return the pairs of each memory with the `NEAREST` older ones of its profile, [n, 2], older first.

    Args:
        vectors: unit rows of the memories, by profile and time; a zero row is near to nothing.
        profile: number of the profile of each, ascending.

    Cost: the products of all vectors of a profile, in blocks: about 0.5 s for 10,000 memories. Ties go to the later.
    """
    found = [np.empty((0, 2), dtype=np.int64)]
    for start, end in _spans(profile):
        for low in range(start, end, _ROWS_AT_ONCE):
            high = min(low + _ROWS_AT_ONCE, end)
            cosines = np.round(vectors[low:high] @ vectors[start:high].T, _DIGITS)
            rows, older = np.arange(low, high), np.arange(start, high)
            cosines[(older >= rows[:, np.newaxis]) | (cosines <= 0)] = -1
            width = min(NEAREST, high - start)
            # Ties are broken before the selection: later memories get a little more than any rounded difference.
            keys = cosines.astype(np.float64) * 10**_DIGITS + older / (10.0 * max(high, 1))
            best = np.argpartition(-keys, width - 1, axis=1)[:, :width]
            kept = np.take_along_axis(cosines, best, axis=1) > 0
            newer = np.broadcast_to(rows[:, np.newaxis], best.shape)[kept]
            found.append(np.stack([best[kept] + start, newer], axis=1))
    pairs = np.concatenate(found)
    result: Rows = pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
    return result


def features(vectors: NDArray[np.float32], profile: Rows, older: Rows, newer: Rows) -> Floats:
    """Return the features of pairs of memories of one profile each, [pairs, features].

    Args:
        vectors: as in `nearest`.
        profile: as in `nearest`.
        older: row of the older memory of each pair.
        newer: row of the newer, as many.

    Cost: for each pair a comparison with every memory of the profile.
    """
    result = np.zeros((len(older), len(NAMES)))
    for start, end in _spans(profile):
        here = np.flatnonzero((newer >= start) & (newer < end))
        for side in (newer, older):
            order = here[np.argsort(side[here], kind="stable")]
            for low in range(0, len(order), _ROWS_AT_ONCE):
                part = order[low : low + _ROWS_AT_ONCE]
                rows, place = np.unique(side[part], return_inverse=True)
                cosines = np.round(vectors[rows] @ vectors[start:end].T, _DIGITS)[place]
                _fill(result, part, cosines, older[part] - start, newer[part] - start, of_newer=side is newer)
    result[:, 7] = np.log1p(newer - older)
    return result


def _fill(
    table: Floats, pairs: Rows, cosines: NDArray[np.float32], older: Rows, newer: Rows, *, of_newer: bool
) -> None:
    """Fill the features that come from the cosines of one side of the pairs with all memories of the profile."""
    places = np.arange(cosines.shape[1])
    own = np.take_along_axis(cosines, (older if of_newer else newer)[:, np.newaxis], axis=1)
    before = places < newer[:, np.newaxis]
    after = places > older[:, np.newaxis]
    rivals = (before if of_newer else after) & (places != (older if of_newer else newer)[:, np.newaxis])
    nearer = rivals & (cosines > own)
    highest = np.where(rivals, cosines, 0).max(axis=1, initial=0.0)
    between = (cosines > own) & before & after
    table[pairs, 1 if of_newer else 2] = own[:, 0] - highest
    table[pairs, 3 if of_newer else 4] = nearer.sum(axis=1)
    table[pairs, 6 if of_newer else 5] = between.sum(axis=1)
    if of_newer:
        table[pairs, 0] = own[:, 0]


def _spans(profile: Rows) -> list[tuple[int, int]]:
    """Return first row and end of each profile."""
    starts = np.flatnonzero(np.diff(profile, prepend=-1))
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(profile)], strict=True))
