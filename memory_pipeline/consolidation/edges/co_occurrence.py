"""Pairs of rows that occur near each other in a group: memories used together, entities mentioned together.

Works on plain integer arrays with bounded scratch memory; no pair is made in Python. Not here: which groups there are
(`coactivation`, `co_recall`, `similarity_edges`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_BLOCK: Final = 1 << 24
"""Pairs counted at once; bounds the scratch memory to about half a gigabyte."""


@dataclass(frozen=True, slots=True, eq=False)
class CoOccurrences:
    """Pairs of rows that co-occur, each once, sorted by (left, right); left < right. int64 arrays of equal length."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    times: NDArray[np.int64]
    """Number of groups in which they co-occur."""
    first: NDArray[np.int64]
    """Place that completes their first co-occurrence."""
    last: NDArray[np.int64]
    """Place that completes their last co-occurrence."""

    def __len__(self) -> int:
        return len(self.left)

    def take(self, chosen: NDArray[np.bool_]) -> "CoOccurrences":
        """Return the pairs selected by a mask."""
        columns = (self.left, self.right, self.times, self.first, self.last)
        return CoOccurrences(*(column[chosen] for column in columns))


def count_pairs(rows: NDArray[np.int64], groups: NDArray[np.int64], *, count: int, reach: int) -> CoOccurrences:
    """Count in how many groups each pair of rows co-occurs, and at which places.

    Two rows co-occur in a group if they are at most `reach` places of that group apart; the later of their two places
    completes the pair.

    Args:
        rows: row number at each place, 0 to count - 1; a row appears at most once in a group.
        groups: non-negative code of each place. The places of a group are in order, but need not be contiguous.

    Cost: a sort of the pairs, at most `reach` per place, about 0.1 µs each.
    """
    order = ordered(groups, np.arange(len(groups)))
    rows, ahead = rows[order], _ahead(groups[order], reach)
    through = np.cumsum(ahead)
    cuts = np.searchsorted(through, np.arange(_BLOCK, int(ahead.sum()), _BLOCK), side="right").tolist()
    blocks = [slice(*bounds) for bounds in pairwise([0, *cuts, len(rows)])]
    parts = [_counted(rows, order, ahead, block, count) for block in blocks]
    codes, times, first, last = _combined(parts)
    left, right = np.divmod(codes, max(1, count))
    return CoOccurrences(left, right, times, first, last)


def lagged(groups: NDArray[np.integer[Any]], reach: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the earlier and the later places of pairs at most `reach` apart in a group, lag by lag.

    The places of a group, of which `groups` has the code of each, are contiguous. Cost: linear in the pairs.
    """
    return _lagged(_ahead(groups, reach), slice(0, len(groups)))


def ordered(major: NDArray[np.int64], minor: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the minor numbers sorted by (major, minor); both are non-negative."""
    return _sorted(major.copy(), minor)[1]


def _ahead(groups: NDArray[np.integer[Any]], reach: int) -> NDArray[np.int64]:
    """Return the number of places of its group that follow each place, at most `reach`."""
    starts = np.flatnonzero(_changes(groups))
    sizes = np.diff(starts, append=len(groups))
    ahead: NDArray[np.int64] = np.minimum(np.repeat(starts + sizes, sizes) - np.arange(len(groups)) - 1, reach)
    return ahead


def _lagged(ahead: NDArray[np.int64], block: slice) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return pairs whose earlier place lies in a block, lag by lag."""
    earlier, left = np.arange(block.start, block.stop), ahead[block]
    for lag in range(1, int(left.max(initial=0)) + 1):
        inside = left >= lag
        earlier, left = earlier[inside], left[inside]
        yield earlier, earlier + lag


def _counted(
    rows: NDArray[np.int64], order: NDArray[np.int64], ahead: NDArray[np.int64], block: slice, count: int
) -> tuple[NDArray[np.int64], ...]:
    """Return each pair of a block once, as left * count + right, with its count, first and last place in the block."""
    codes, places = np.empty((2, int(ahead[block].sum())), dtype=np.int64)
    start = 0
    for earlier, later in _lagged(ahead, block):
        part = slice(start, start + len(earlier))
        codes[part] = np.minimum(rows[earlier], rows[later]) * count + np.maximum(rows[earlier], rows[later])
        places[part] = order[later]
        start = part.stop
    codes, places = _sorted(codes, places)
    starts = np.flatnonzero(_changes(codes))
    ends = np.append(starts[1:], len(codes))[: len(starts)]
    return codes[starts], ends - starts, places[starts], places[ends - 1]


def _sorted(major: NDArray[np.int64], minor: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort pairs of numbers by both; overwrite the array `major`.

    Where both numbers fit in one integer, sorting that is several times faster than an indirect sort.
    """
    shift = int(minor.max(initial=0)).bit_length()
    if int(major.max(initial=0)).bit_length() + shift > 63:  # noqa: PLR2004
        order = np.lexsort((minor, major))
        return major[order], minor[order]
    major <<= shift
    major |= minor
    major.sort()
    return major >> shift, major & ((1 << shift) - 1)


def _changes(sorted_codes: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Mask of the positions at which a new code begins."""
    result = np.ones(len(sorted_codes), dtype=np.bool_)
    np.not_equal(sorted_codes[1:], sorted_codes[:-1], out=result[1:])
    return result


def _combined(parts: list[tuple[NDArray[np.int64], ...]]) -> tuple[NDArray[np.int64], ...]:
    """Merge counts of blocks: each code once, with times added, the earliest first and the latest last place."""
    if len(parts) == 1:
        return parts[0]
    codes, times, first, last = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(_changes(codes))
    return (
        codes[starts],
        np.add.reduceat(times[order], starts),
        np.minimum.reduceat(first[order], starts),
        np.maximum.reduceat(last[order], starts),
    )
