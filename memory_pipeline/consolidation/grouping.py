"""Groups of rows made from pairs: components, average linkage, greedy groups, and how tight a group is.

Rows are numbers 0 to n - 1 and a grouping is one label a row, so a caller keeps its own table beside it. A result
depends on the set of pairs, never on their order. What does not live here: which pairs there are (`similarity`), and
which groups are large enough, guarded or worth a summary (the stages).
"""

from math import isqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from memory_pipeline.consolidation import similarity as vector_similarity

_SLACK: Final = 1e-12
"""What the rounding of an average may fall short of the threshold."""
_CELL_BYTES: Final = 20
"""Scratch memory of one cell while a component is linked: its similarity in float32 and float64, and a block."""
_COLUMNS: Final = 64
"""Coordinates summed at once for the cohesion, which bounds its scratch memory to 512 bytes a row."""


def components(n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Connected components of a graph of n rows.

    Args:
        n: Number of rows.
        left: One end of each edge, 0 to n - 1.
        right: The other end.

    Returns:
        The smallest row number of its component for each row, int64 [n]. Costs O(n + edges).

    Raises:
        ValueError: If an end lies outside the rows.
    """
    _check_ends(n, left, right)
    edges = coo_array((np.ones(len(left), dtype=np.bool_), (left, right)), shape=(n, n))
    _, found = connected_components(edges, directed=False)
    _, smallest = np.unique(found, return_index=True)
    labels: NDArray[np.int64] = smallest[found]
    return labels


def average_linkage(
    vectors: NDArray[np.float32],
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    similarity: NDArray[np.float32],
    *,
    minimum: float,
    max_size: int | None = None,
    memory_budget_mb: int = 1024,
) -> NDArray[np.int64]:
    """Clusters by average linkage: the closest two merge while their mean cosine reaches `minimum`.

    The mean runs over all pairs between the two clusters, those below the threshold included. Two clusters that would
    be larger than `max_size` together never merge. Equal means: the cluster with the smallest member merges first,
    with the partner whose smallest member is smallest. Clusters whose mean reaches `minimum` hold at least one pair
    that does, so each component of the threshold graph is linked alone. A component in which every pair reaches
    `minimum` and which is small enough is one cluster at once; the others cost O(m²·d) for their cosines and O(m²) to
    link m rows. A component whose matrix does not fit in the budget is first split: its weaker half of pairs is
    dropped, again and again, until every piece fits.

    Args:
        vectors: float32 [n, d].
        left: One row of each pair that reaches `minimum`, each pair once, as a join returns them.
        right: The other row.
        similarity: Stored similarity of each pair; pairs below `minimum` are ignored.
        minimum: Smallest mean cosine between two clusters that merge, inclusive.
        max_size: Most members of a cluster; None: no limit.
        memory_budget_mb: Bound on scratch memory.

    Returns:
        The smallest member of its cluster for each row, int64 [n].

    Raises:
        ValueError: If a row number lies outside the vectors, a pair repeats or `max_size` is below 1.
    """
    n = len(vectors)
    limit = n if max_size is None else max_size
    if max_size is not None and max_size < 1:
        message = f"max_size is {max_size}; it must be at least 1"
        raise ValueError(message)
    near = vector_similarity.reaches(similarity, minimum)
    left, right, similarity = left[near], right[near], similarity[near]
    _check_distinct(n, left, right)
    most = isqrt((memory_budget_mb << 20) // _CELL_BYTES)
    labels, edges = _split(n, left, right, similarity, most)
    sizes = np.bincount(labels, minlength=n)
    whole = (sizes <= limit) & (edges == sizes * (sizes - 1) // 2)
    result = np.where(whole[labels], labels, np.arange(n))
    places = np.flatnonzero(~whole[labels])
    places = places[np.argsort(labels[places], kind="stable")]
    for members in np.split(places, np.flatnonzero(np.diff(labels[places])) + 1):
        cosines = vector_similarity.similarity_matrix(vectors[members]).astype(np.float64)
        result[members] = members[_link(cosines, float(np.float32(minimum)), limit)]
    return result


def greedy_groups(
    order: NDArray[np.integer[Any]],
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    size: int,
    *,
    fill: bool = False,
) -> NDArray[np.int64]:
    """Groups taken greedily: each free row in turn takes its first free neighbours.

    A row that finds fewer than `size - 1` free neighbours takes none, and all of them stay free for later rows. What
    counts is the order of the rows, not how close they are.

    Args:
        order: The rows 0 to n - 1 in the order in which they take and are taken.
        left: One row of each pair of neighbours, each pair once.
        right: The other row.
        size: Rows of a group, the taking row included; at least 2.
        fill: Take all free neighbours instead of the first `size - 1`.

    Returns:
        The row that took it (its own number for that row, and for a row in no group) for each row, int64 [n].
        Costs O(n + pairs·log pairs).

    Raises:
        ValueError: If `order` is no order of all rows, a pair repeats or `size` is below 2.
    """
    n = len(order)
    if size < 2:  # noqa: PLR2004
        message = f"size is {size}; a group has at least 2 rows"
        raise ValueError(message)
    if not np.array_equal(np.sort(order), np.arange(n)):
        message = f"order must hold each row from 0 to {n - 1} once"
        raise ValueError(message)
    _check_distinct(n, left, right)
    place = np.argsort(order)
    rows, others = np.concatenate([left, right]), np.concatenate([right, left])
    others = others[np.lexsort((place[others], rows))]
    degrees = np.bincount(rows, minlength=n)
    stops = np.cumsum(degrees)
    labels, free = np.arange(n), np.ones(n, dtype=np.bool_)
    for row in order[degrees[order] >= size - 1].tolist():
        if free[row]:
            near = others[stops[row] - degrees[row] : stops[row]]
            near = near[free[near]]
            if len(near) >= size - 1:
                taken = near if fill else near[: size - 1]
                labels[taken] = row
                free[taken] = free[row] = False
    return labels


def cohesion(labels: NDArray[np.integer[Any]], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Mean cosine over all pairs of each group, for each row that of its group.

    With s the sum of a group's m unit vectors, the mean is (s·s - m) / (m·(m - 1)). Unknown vectors do not count; a
    group with fewer than two known ones has NaN. Costs O(n·d).

    Args:
        labels: The group of each row, integers [n].
        vectors: float32 [n, d].

    Returns:
        float64 [n], -1 to 1 or NaN.
    """
    sizes = vector_similarity.lengths(vectors)
    known = np.flatnonzero(sizes)
    known = known[np.argsort(labels[known], kind="stable")]
    groups, starts, counts = np.unique(labels[known], return_index=True, return_counts=True)
    squares = np.zeros(len(groups))
    for column in range(0, vectors.shape[1] if len(groups) else 0, _COLUMNS):
        block = vectors[known, column : column + _COLUMNS] / sizes[known, None]
        sums = np.add.reduceat(block, starts, axis=0)
        squares += np.einsum("ij,ij->i", sums, sums)
    means = np.full(len(groups) + 1, np.nan)
    pairs = np.flatnonzero(counts > 1)
    means[pairs] = (squares[pairs] - counts[pairs]) / (counts[pairs] * (counts[pairs] - 1))
    place = np.searchsorted(groups, labels)
    place[~np.isin(labels, groups)] = len(groups)
    result: NDArray[np.float64] = np.clip(means[place], -1.0, 1.0)
    return result


def _split(
    n: int,
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    similarity: NDArray[np.float32],
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Components of at most `most` rows, and how many pairs each label has."""
    while True:
        labels = components(n, left, right)
        large = np.flatnonzero(np.bincount(labels, minlength=n) > most)
        if not len(large):
            return labels, np.bincount(labels[left], minlength=n)
        keep = ~np.isin(labels[left], large)
        for label in large:
            own = labels[left] == label
            closer = own & (similarity > np.median(similarity[own]))
            if not closer.any():  # pairs that do not differ: cut into runs of rows
                run = np.cumsum(labels == label) // (most + 1)
                closer = own & (run[left] == run[right])
            keep |= closer
        left, right, similarity = left[keep], right[keep], similarity[keep]


def _link(similarity: NDArray[np.float64], minimum: float, limit: int) -> NDArray[np.int64]:
    """Average linkage of one component, in place of its matrix: the smallest member of its cluster for each row.

    A mean of two means is never above the larger one, so the best partner that a row once had stays an upper bound. A
    row is looked at again only when its bound is the highest of all; two clusters too large for each other are barred
    for ever, because clusters only grow.
    """
    np.fill_diagonal(similarity, -np.inf)
    labels = np.arange(len(similarity))
    sizes = np.ones(len(similarity), dtype=np.int64)
    if limit < 2:  # noqa: PLR2004
        return labels
    bounds = similarity.max(axis=1)
    while True:
        row = int(bounds.argmax())
        partner = int(similarity[row].argmax())
        closest = similarity[row, partner]
        if bounds[row] < minimum - _SLACK:
            return labels
        if closest < bounds[row]:
            bounds[row] = closest
            continue
        kept, gone = min(row, partner), max(row, partner)
        total = sizes[kept] + sizes[gone]
        merged = (sizes[kept] * similarity[kept] + sizes[gone] * similarity[gone]) / total
        merged[sizes + total > limit] = -np.inf
        similarity[kept] = similarity[:, kept] = merged
        similarity[gone] = similarity[:, gone] = -np.inf
        bounds[kept], bounds[gone] = merged.max(), -np.inf
        sizes[kept] = total
        labels[labels == gone] = kept


def _check_ends(n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> None:
    if len(left) != len(right):
        message = f"left has {len(left)} ends and right {len(right)}; give two ends for each pair"
        raise ValueError(message)
    if len(left) and not 0 <= min(left.min(), right.min()) <= max(left.max(), right.max()) < n:
        message = f"a pair has an end outside of the rows 0 to {n - 1}; number rows from 0"
        raise ValueError(message)


def _check_distinct(n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> None:
    _check_ends(n, left, right)
    keys = np.minimum(left, right).astype(np.int64) * n + np.maximum(left, right)
    if (left == right).any() or len(np.unique(keys)) < len(keys):
        message = "a pair repeats or joins a row to itself; give each pair of two rows once"
        raise ValueError(message)
