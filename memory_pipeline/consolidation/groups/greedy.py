"""Greedy grouping: each row in turn takes its first free neighbours, however similar they are.

Rows are numbers 0 to n - 1 and a grouping is one label per row. Not here: which rows are neighbours (`similarity`), and
groupings that do not depend on an order (`linkage`).
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.consolidation.components import check_distinct, check_ends


def greedy_groups(
    nodes: NDArray[np.integer[Any]],
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    size: int,
    *,
    fill: bool = False,
    apart: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]] | None = None,
) -> NDArray[np.int64]:
    """Group rows greedily: each free row in turn takes its first free neighbours.

    Rows of one node are neighbours, and so are rows of nodes that form a pair. A row with fewer than `size - 1` free
    neighbours takes none, and all of them stay free for later rows. The order of the rows counts, not their similarity.
    A neighbour that must stay apart from one already taken is skipped.

    Args:
        nodes: node of each row, 0 to the number of nodes - 1; rows take and are taken in the order of this array.
        left: one node of each pair of neighbours, each pair once; `right` has the other.
        size: rows per group, including the taking row; at least 2.
        fill: take all free neighbours instead of the first `size - 1`.
        apart: pairs of rows that no group may contain together: both ends. Each such row is a node of its own.

    Returns:
        For each row the row that took it (itself if it took others or is in no group), int64 [n]. Costs O(n +
        pairs·size), however many rows a node has.

    Raises:
        ValueError: a pair repeats, `size` is below 2, or a row of `apart` shares its node.
    """
    if size < 2:  # noqa: PLR2004
        message = f"size is {size}; a group has at least 2 rows"
        raise ValueError(message)
    n = len(nodes)
    counts = np.bincount(nodes)
    check_distinct(len(counts), left, right)
    conflicts = _conflicts(nodes, counts, apart)
    free = _Free.of(nodes, counts)
    around = _Neighbours.of(len(counts), left, right)
    limit = n if fill else size - 1
    reach = counts.copy()
    np.add.at(reach, left, counts[right])
    np.add.at(reach, right, counts[left])
    exhausted = reach < size
    labels = np.arange(n)
    for row, node in enumerate(nodes.tolist()):
        if exhausted[node] or not free.row[row]:
            continue
        free_neighbours = free.first(around.of_node(node), limit + 1)
        group = _compatible(row, free_neighbours[free_neighbours != row], conflicts, limit)
        if len(group) < size:
            exhausted[node] = not conflicts  # free rows only decrease, so no later row of this node would find more
            continue
        labels[group] = row
        free.take(group, nodes)
    return labels


@dataclass(frozen=True, slots=True, eq=False)
class _Free:
    """Free rows by node: those of a node are contiguous and ascending from its head to its end."""

    row: NDArray[np.bool_]
    rows: NDArray[np.int64]
    heads: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> "_Free":
        ends = np.cumsum(counts)
        return cls(np.ones(len(nodes), dtype=np.bool_), np.argsort(nodes, kind="stable"), ends - counts, ends)

    def first(self, nodes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return the first free rows of several nodes together, ascending; at most `count` per node."""
        stops = np.minimum(self.heads[nodes] + count, self.ends[nodes])
        lengths = stops - self.heads[nodes]
        offsets = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(self.heads[nodes] - offsets, lengths)
        return np.sort(self.rows[places])

    def take(self, rows: NDArray[np.int64], nodes: NDArray[np.integer[Any]]) -> None:
        """Remove rows; the rows before one in its node shift by one position."""
        self.row[rows] = False
        for row in rows.tolist():
            node = nodes[row]
            head = self.heads[node]
            place = head + np.searchsorted(self.rows[head : self.ends[node]], row)
            self.rows[head + 1 : place + 1] = self.rows[head:place].copy()
            self.heads[node] = head + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """The neighbours of each node, itself included."""

    nodes: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def of(cls, n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> "_Neighbours":
        ends, others = np.concatenate([np.arange(n), left, right]), np.concatenate([np.arange(n), right, left])
        return cls(others[np.argsort(ends, kind="stable")], np.cumsum(np.bincount(ends, minlength=n)))

    def of_node(self, node: int) -> NDArray[np.int64]:
        return self.nodes[self.stops[node - 1] if node else 0 : self.stops[node]]


def _conflicts(
    nodes: NDArray[np.integer[Any]],
    counts: NDArray[np.int64],
    apart: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]] | None,
) -> dict[int, set[int]]:
    """Return for each row the rows that it must stay apart from."""
    conflicts: dict[int, set[int]] = defaultdict(set)
    if apart is None:
        return conflicts
    check_ends(len(nodes), *apart)
    for first, second in zip(apart[0].tolist(), apart[1].tolist(), strict=True):
        conflicts[first].add(second)
        conflicts[second].add(first)
    if shared := [row for row in conflicts if counts[nodes[row]] > 1]:
        message = f"row {shared[0]} must stay apart from others but shares its node; give it a node of its own"
        raise ValueError(message)
    return conflicts


def _compatible(
    row: int, neighbours: NDArray[np.int64], conflicts: dict[int, set[int]], limit: int
) -> NDArray[np.int64]:
    """Return a row and its first `limit` neighbours such that no two conflict."""
    if conflicts.keys().isdisjoint((row, *neighbours.tolist())) if conflicts else True:
        return np.concatenate([[row], neighbours[:limit]])
    group = [row]
    for other in neighbours.tolist():
        if len(group) > limit:
            break
        if conflicts.get(other, set()).isdisjoint(group):
            group.append(other)
    return np.array(group)
