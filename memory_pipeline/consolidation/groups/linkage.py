"""Groups rows by pairs: components, unions under limits, average linkage, and cohesion.

Rows are numbers 0 to n - 1 and a grouping is one label per row, so callers keep their own tables. A result depends on
the set of pairs and not on their order. Not here: which pairs there are (`similarity`), which groups are large enough
or worth a summary (the stages), and greedy groups (`greedy`).
"""

from collections import defaultdict
from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.consolidation import similarity as vector_similarity
from memory_pipeline.consolidation.components import check_distinct, check_ends, components, distinct

_SLACK: Final = 1e-12
"""Rounding error by which a mean may fall short of the threshold."""
_CELL_BYTES: Final = 24
"""Scratch bytes per cell while a component is linked: its similarity in float32 and float64, and a block."""
_COLUMNS: Final = 64
"""Coordinates of unit vectors summed at once; bounds the scratch memory to 512 bytes per row."""


def united(
    n: int,
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    similarity: NDArray[np.floating[Any]],
    *,
    apart: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]] | None = None,
    max_size: int | None = None,
    sizes: NDArray[np.integer[Any]] | None = None,
) -> NDArray[np.int64]:
    """Return components of pairs, split so that none contains a pair of `apart` or exceeds `max_size`.

    Where a component would, the closest pairs are united first, ties to the smallest rows, and a pair that would
    violate a limit is skipped.

    Args:
        apart: pairs of rows that no group may contain together: both ends.
        max_size: largest group; None: no limit.
        sizes: number of members that each row counts as; None: 1.

    Returns:
        The smallest row of its group for each row, int64 [n]. Costs O(n + pairs), and about 2 µs for each pair of a
        component that has to be split.

    Raises:
        ValueError: an end lies outside the rows.
    """
    labels = components(n, left, right)
    weights = np.ones(n, dtype=np.int64) if sizes is None else sizes.astype(np.int64)
    limit = int(weights.sum()) if max_size is None else max_size
    totals = np.zeros(n, dtype=np.int64)
    np.add.at(totals, labels, weights)
    broken = totals > limit
    conflicts: dict[int, set[int]] = defaultdict(set)
    if apart is not None:
        check_ends(n, *apart)
        together = labels[apart[0]] == labels[apart[1]]
        broken[labels[apart[0][together]]] = True
        for first_row, second_row in zip(apart[0][together].tolist(), apart[1][together].tolist(), strict=True):
            conflicts[first_row].add(second_row)
            conflicts[second_row].add(first_row)
    split = np.flatnonzero(broken[labels])
    inside = np.flatnonzero(broken[labels[left]])
    low, high = np.minimum(left[inside], right[inside]), np.maximum(left[inside], right[inside])
    order = np.lexsort((high, low, -similarity[inside]))
    roots = _roots(low[order].tolist(), high[order].tolist(), conflicts, weights, limit)
    _, first, group = np.unique([roots.get(row, row) for row in split.tolist()], return_index=True, return_inverse=True)
    labels[split] = split[first[group]] if len(split) else split
    return labels


def average_linkage(
    vectors: NDArray[np.float32],
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    similarity: NDArray[np.float32],
    *,
    minimum: float,
    max_size: int | None = None,
    sizes: NDArray[np.integer[Any]] | None = None,
    memory_budget_mb: int = 1024,
) -> NDArray[np.int64]:
    """Return clusters by average linkage: the closest two clusters merge while their mean cosine reaches `minimum`.

    The mean runs over all pairs between the two clusters, including those below the threshold. Two clusters that would
    exceed `max_size` together never merge. For equal means, the cluster with the smallest member merges first, with the
    partner whose smallest member is smallest. Clusters whose mean reaches `minimum` contain at least one pair that
    does, so each component of the threshold graph is linked separately.

    A small enough component in which every pair reaches `minimum` is one cluster at once; the others cost O(m²·d) for
    their cosines and about O(m²) to link m rows. A component whose matrix exceeds the budget is linked from the top:
    first whatever merges within the pieces that its closest pairs hold together, then, with the clusters found so far
    in place of rows, what merges at lower means. Either way the closest merge first, so the clusters are the same
    except for equal means; a mean between clusters is then rounded to float32.

    Args:
        left: one row of each pair that reaches `minimum`, each pair once, as a join returns them; `right` has the
            other, `similarity` the stored one.
        minimum: smallest mean cosine between two clusters that merge, inclusive.
        max_size: maximum number of members of a cluster; None: no limit.
        sizes: how many equal members each row stands for; None: 1. Equal members merge before all others, so the
            clusters are those of the members themselves, without the pairs among them.
        memory_budget_mb: bound on the scratch memory of one component.

    Returns:
        The smallest member of its cluster for each row, int64 [n].

    Raises:
        ValueError: a row number lies outside the vectors, a pair repeats, or a limit is out of range.
    """
    if not 0.0 <= minimum <= 1.0 or (max_size is not None and max_size < 1) or memory_budget_mb < 1:
        message = (
            f"minimum is {minimum}, max_size {max_size} and memory_budget_mb {memory_budget_mb};"
            " give a mean from 0 to 1, and at least 1 of the others"
        )
        raise ValueError(message)
    check_distinct(len(vectors), left, right)
    weights = np.ones(len(vectors), dtype=np.int64) if sizes is None else sizes.astype(np.int64)
    limit = int(weights.sum()) if max_size is None else max_size
    threshold = float(np.float32(minimum))
    clusters = _Clusters.of(np.arange(len(vectors)), vectors, weights)
    ends, means = np.sort(np.stack([left, right]), axis=0), similarity.astype(np.float64)
    while True:
        eligible = (means >= threshold - _SLACK) & (clusters.sizes[ends].sum(axis=0) <= limit)
        pieces = _Pieces.of(len(clusters.sizes), ends[:, eligible], means[eligible], threshold, memory_budget_mb)
        labels = clusters.labels[_merge(clusters, pieces, limit)][clusters.cluster_of]
        if (pieces.floor == threshold).all():
            return labels
        clusters = _Clusters.of(labels, vectors, weights)
        ends = distinct(len(clusters.sizes), clusters.cluster_of[left], clusters.cluster_of[right])
        means = clusters.means(ends)


def cohesion(labels: NDArray[np.integer[Any]], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean cosine over all pairs of its group for each row, float64 [n], -1 to 1 or NaN.

    With s the sum of a group's m unit vectors, the mean is (s·s - m) / (m·(m - 1)). Unknown vectors are ignored; a
    group with fewer than two known ones has NaN. Costs O(n·d).
    """
    known = np.flatnonzero(~vector_similarity.unknown(vectors))
    groups, group, counts = np.unique(labels[known], return_inverse=True, return_counts=True)
    paired = np.flatnonzero(counts[group] > 1)
    paired = paired[np.argsort(group[paired], kind="stable")]
    groups, counts = groups[counts > 1], counts[counts > 1]
    sums = _sums(vectors, known[paired], counts, np.ones(len(paired), dtype=np.int64))
    means = (np.einsum("ij,ij->i", sums, sums) - counts) / (counts * (counts - 1))
    result = np.full(len(labels), np.nan)
    inside = np.flatnonzero(np.isin(labels, groups))
    result[inside] = np.clip(means[np.searchsorted(groups, labels[inside])], -1.0, 1.0)
    return result


def _roots(
    left: list[int], right: list[int], conflicts: dict[int, set[int]], weights: NDArray[np.int64], limit: int
) -> dict[int, int]:
    """Unite the ends of pairs in order unless a limit would be violated; return the root of each row."""
    parents: dict[int, int] = {}
    sizes = weights.tolist()

    def root(row: int) -> int:
        while (parent := parents.get(row, row)) != row:
            parents[row] = row = parents.get(parent, parent)
        return row

    for first, second in zip(left, right, strict=True):
        root_kept, root_merged = sorted((root(first), root(second)), key=lambda row: (-len(conflicts[row]), row))
        if (
            root_kept == root_merged
            or root_merged in conflicts[root_kept]
            or sizes[root_kept] + sizes[root_merged] > limit
        ):
            continue
        parents[root_merged] = root_kept
        sizes[root_kept] += sizes[root_merged]
        for conflict in conflicts.pop(root_merged):
            conflicts[conflict].discard(root_merged)
            conflicts[conflict].add(root_kept)
            conflicts[root_kept].add(conflict)
    return {row: root(row) for row in parents}


@dataclass(frozen=True, slots=True, eq=False)
class _Clusters:
    """Clusters found so far, each as one point: the mean of two is their cosine times both scales."""

    labels: NDArray[np.int64]
    cluster_of: NDArray[np.int64]
    sizes: NDArray[np.int64]
    points: NDArray[np.float32]
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, labels: NDArray[np.int64], vectors: NDArray[np.float32], weights: NDArray[np.int64]) -> "_Clusters":
        """Return the clusters by the label of each row; a single row is exactly its own point."""
        heads, cluster_of, counts = np.unique(labels, return_inverse=True, return_counts=True)
        sizes = np.zeros(len(heads), dtype=np.int64)
        np.add.at(sizes, cluster_of, weights)
        many = np.flatnonzero(counts > 1)
        rows = np.flatnonzero(counts[cluster_of] > 1)
        rows = rows[np.argsort(cluster_of[rows], kind="stable")]
        sums = _sums(vectors, rows, counts[many], weights[rows])
        points, scales = vectors[heads] if len(many) else vectors, np.ones(len(heads))
        points[many], scales[many] = sums, np.sqrt(np.einsum("ij,ij->i", sums, sums)) / sizes[many]
        return cls(heads, cluster_of, sizes, points, scales)

    def means(self, ends: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean cosine over all pairs between two clusters, for pairs of clusters [2, pairs]."""
        cosines = vector_similarity.pair_similarity(self.points, ends[0], ends[1])
        means: NDArray[np.float64] = cosines * (self.scales[ends[0]] * self.scales[ends[1]])
        return means

    def matrix(self, selected: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean cosines between all pairs of the selected clusters."""
        cosines = vector_similarity.similarity_matrix(self.points[selected])
        means: NDArray[np.float64] = cosines * np.outer(self.scales[selected], self.scales[selected])
        return means


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """Components small enough to be linked: label and floor of each cluster, and the edges of each label."""

    labels: NDArray[np.int64]
    floor: NDArray[np.float64]
    edges: NDArray[np.int64]

    @classmethod
    def of(
        cls, n: int, ends: NDArray[np.int64], means: NDArray[np.float64], threshold: float, memory_budget_mb: int
    ) -> "_Pieces":
        """Drop the looser half of a large component's pairs until its pieces fit; the floor is the loosest kept."""
        most = isqrt((memory_budget_mb << 20) // _CELL_BYTES)
        floor = np.full(n, threshold)
        while True:
            labels = components(n, ends[0], ends[1])
            large = np.flatnonzero(np.bincount(labels, minlength=n) > most)
            if not len(large):
                return cls(labels, floor, np.bincount(labels[ends[0]], minlength=n))
            keep = ~np.isin(labels[ends[0]], large)
            for label in large:
                members = np.flatnonzero(labels[ends[0]] == label)
                closer = members[np.lexsort((ends[1, members], ends[0, members], -means[members]))][: len(members) // 2]
                keep[closer] = True
                floor[labels == label] = means[closer[-1]]
            ends, means = ends[:, keep], means[keep]


def _merge(clusters: _Clusters, pieces: _Pieces, limit: int) -> NDArray[np.int64]:
    """Return the average linkage of every piece: the smallest cluster that each cluster is now part of."""
    n = len(pieces.labels)
    counts = np.bincount(pieces.labels, minlength=n)
    members = np.zeros(n, dtype=np.int64)
    np.add.at(members, pieces.labels, clusters.sizes)
    whole = (members <= limit) & (pieces.edges == counts * (counts - 1) // 2)
    result = np.where(whole[pieces.labels], pieces.labels, np.arange(n))
    rest = np.flatnonzero(~whole[pieces.labels])
    rest = rest[np.argsort(pieces.labels[rest], kind="stable")]
    for piece in np.split(rest, np.flatnonzero(np.diff(pieces.labels[rest])) + 1) if len(rest) else ():
        slots = _link(clusters.matrix(piece), clusters.sizes[piece], float(pieces.floor[piece[0]]), limit)
        result[piece] = piece[slots]
    return result


def _link(means: NDArray[np.float64], sizes: NDArray[np.int64], minimum: float, limit: int) -> NDArray[np.int64]:
    """Return the average linkage from the means of all pairs, which it overwrites: the first position of each cluster.

    The mean of two means never exceeds the larger one, so the best partner that a row once had remains an upper bound.
    A row is examined again only when its bound is the highest of all; two clusters too large for each other are
    excluded for good, since clusters only grow.
    """
    labels = np.arange(len(means))
    removed = np.zeros(len(means))  # -inf where a cluster was merged away; its column is never written again
    if 2 * sizes.max() > limit:
        means[np.add.outer(sizes, sizes) > limit] = -np.inf
    np.fill_diagonal(means, -np.inf)
    bounds = means.max(axis=1)
    while True:
        row = int(bounds.argmax())
        if bounds[row] < minimum - _SLACK:
            return labels
        candidates = means[row] + removed
        partner = int(candidates.argmax())
        if candidates[partner] < bounds[row]:
            bounds[row] = candidates[partner]
            continue
        target, merged_row = min(row, partner), max(row, partner)
        total = sizes[target] + sizes[merged_row]
        removed[merged_row] = -np.inf
        merged = (sizes[target] * means[target] + sizes[merged_row] * means[merged_row]) / total + removed
        merged[sizes + total > limit] = -np.inf
        means[target] = means[:, target] = merged
        bounds[target], bounds[merged_row] = merged.max(), -np.inf
        sizes[target] = total
        labels[labels == merged_row] = target


def _sums(
    vectors: NDArray[np.float32], rows: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return weighted sums of unit vectors over runs of known rows, `counts` rows each."""
    sums = np.empty((len(counts), vectors.shape[1]))
    lengths = vector_similarity.lengths(vectors)[rows, None] / weights[:, None]
    starts = np.cumsum(counts) - counts
    for column in range(0, vectors.shape[1] if len(counts) else 0, _COLUMNS):
        columns = slice(column, column + _COLUMNS)
        sums[:, columns] = np.add.reduceat(vectors[rows, columns] / lengths, starts, axis=0)
    return sums
