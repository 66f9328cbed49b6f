"""Groups taken greedily: each row in turn takes its first free neighbours, however close they are.

Rows are numbers 0 to n - 1 and a grouping is one label a row. What does not live here: which rows are neighbours
(`similarity`), and groups that do not depend on an order (`grouping`).
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.consolidation.groups.grouping import check_distinct, check_ends


def greedy_groups(
    nodes: NDArray[np.integer[Any]],
    left: NDArray[np.integer[Any]],
    right: NDArray[np.integer[Any]],
    size: int,
    *,
    fill: bool = False,
    apart: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]] | None = None,
) -> NDArray[np.int64]:
    """Groups taken greedily: each free row in turn takes its first free neighbours.

    Rows of one node are neighbours, and so are rows of nodes that make a pair. A row that finds fewer than `size - 1`
    free neighbours takes none, and all of them stay free for later rows. What counts is the order of the rows, not how
    close they are. A neighbour that must stay apart from one taken before it is passed over.

    Args:
        nodes: The node of each row, 0 to the number of nodes - 1; rows take and are taken in the order of this array.
        left: One node of each pair of neighbours, each pair once.
        right: The other node.
        size: Rows of a group, the taking row included; at least 2.
        fill: Take all free neighbours instead of the first `size - 1`.
        apart: Pairs of rows that no group may hold together: both ends. Each such row is a node of its own.

    Returns:
        The row that took it (its own number for that row, and for a row in no group) for each row, int64 [n].
        Costs O(n + pairs·size), whatever the number of rows in a node.

    Raises:
        ValueError: If a pair repeats, `size` is below 2, or a row of `apart` shares its node.
    """
    if size < 2:  # noqa: PLR2004
        message = f"size is {size}; a group has at least 2 rows"
        raise ValueError(message)
    n = len(nodes)
    counts = np.bincount(nodes)
    check_distinct(len(counts), left, right)
    enemies = _enemies(nodes, counts, apart)
    free = _Free.of(nodes, counts)
    around = _Neighbours.of(len(counts), left, right)
    wanted = n if fill else size - 1
    reach = counts.copy()
    np.add.at(reach, left, counts[right])
    np.add.at(reach, right, counts[left])
    spent = reach < size
    labels = np.arange(n)
    for row, node in enumerate(nodes.tolist()):
        if spent[node] or not free.row[row]:
            continue
        near = free.first(around.of_node(node), wanted + 1)
        group = _agreeing(row, near[near != row], enemies, wanted)
        if len(group) < size:
            spent[node] = not enemies  # what is free only dwindles, so no later row of this node would find more
            continue
        labels[group] = row
        free.take(group, nodes)
    return labels


@dataclass(frozen=True, slots=True, eq=False)
class _Free:
    """Rows that nobody has taken, by node: those of a node stand in order from its head to its end."""

    row: NDArray[np.bool_]
    rows: NDArray[np.int64]
    heads: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: NDArray[np.integer[Any]], counts: NDArray[np.int64]) -> "_Free":
        ends = np.cumsum(counts)
        return cls(np.ones(len(nodes), dtype=np.bool_), np.argsort(nodes, kind="stable"), ends - counts, ends)

    def first(self, nodes: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The first free rows of some nodes together, in order; of each node at most `count`."""
        stops = np.minimum(self.heads[nodes] + count, self.ends[nodes])
        lengths = stops - self.heads[nodes]
        offsets = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(self.heads[nodes] - offsets, lengths)
        return np.sort(self.rows[places])

    def take(self, rows: NDArray[np.int64], nodes: NDArray[np.integer[Any]]) -> None:
        """Take rows away: what stands before one in its node moves up into its place."""
        self.row[rows] = False
        for row in rows.tolist():
            node = nodes[row]
            head = self.heads[node]
            place = head + np.searchsorted(self.rows[head : self.ends[node]], row)
            self.rows[head + 1 : place + 1] = self.rows[head:place].copy()
            self.heads[node] = head + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """The nodes next to each node, itself included."""

    nodes: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def of(cls, n: int, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> "_Neighbours":
        ends, others = np.concatenate([np.arange(n), left, right]), np.concatenate([np.arange(n), right, left])
        return cls(others[np.argsort(ends, kind="stable")], np.cumsum(np.bincount(ends, minlength=n)))

    def of_node(self, node: int) -> NDArray[np.int64]:
        return self.nodes[self.stops[node - 1] if node else 0 : self.stops[node]]


def _enemies(
    nodes: NDArray[np.integer[Any]],
    counts: NDArray[np.int64],
    apart: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]] | None,
) -> dict[int, set[int]]:
    """The rows that each row must stay apart from."""
    enemies: dict[int, set[int]] = defaultdict(set)
    if apart is None:
        return enemies
    check_ends(len(nodes), *apart)
    for one, other in zip(apart[0].tolist(), apart[1].tolist(), strict=True):
        enemies[one].add(other)
        enemies[other].add(one)
    if shared := [row for row in enemies if counts[nodes[row]] > 1]:
        message = f"row {shared[0]} must stay apart from others but shares its node; give it a node of its own"
        raise ValueError(message)
    return enemies


def _agreeing(row: int, near: NDArray[np.int64], enemies: dict[int, set[int]], wanted: int) -> NDArray[np.int64]:
    """A row and the first `wanted` of its neighbours, none of them an enemy of another."""
    if enemies.keys().isdisjoint((row, *near.tolist())) if enemies else True:
        return np.concatenate([[row], near[:wanted]])
    group = [row]
    for other in near.tolist():
        if len(group) > wanted:
            break
        if enemies.get(other, set()).isdisjoint(group):
            group.append(other)
    return np.array(group)
