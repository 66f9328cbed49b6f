"""Measures of an undirected weighted graph: PageRank, communities, degrees.

Rows are numbers 0 to n - 1; edges are given by their two ends and their weights, finite and not negative. Parallel ones
in either direction count as one with the summed weight; loops are ignored. A result depends on the set of edges and not
on their order, and the result for one connected part never depends on the others. Not here: which edges count.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from memory_pipeline.consolidation.components import check_ends, components

_GAIN: Final = 1e-9
"""Relative gain by which a label must beat the present one; smaller differences are rounding."""


def pagerank(
    n: int,
    source: NDArray[np.integer[Any]],
    target: NDArray[np.integer[Any]],
    weight: NDArray[np.float64],
    *,
    groups: NDArray[np.integer[Any]],
    damping: float = 0.85,
    tolerance: float = 1e-10,
    max_iterations: int = 100,
) -> NDArray[np.float64]:
    """Return the PageRank of each row within its group; the ranks of a group sum to 1.

    A walker follows an edge in proportion to its weight with probability `damping`, else jumps to a random row of its
    group; from a row without edges it always jumps (Page, Brin, Motwani and Winograd, 1999). On an undirected graph the
    eigenvalues of the walk are real, so Chebyshev polynomials accelerate the iteration (Golub and Varga, 1961): at
    damping .85 the error falls by .557 per step instead of .85. Each group stops when it has converged, independently
    of the others.

    Args:
        groups: group of each row, integers [n]; no edge may join two groups.
        damping: probability of following an edge, 0 to below 1.
        tolerance: a group has converged when the absolute changes of its ranks sum to less.
        max_iterations: maximum number of steps.

    Returns:
        float64 [n]. Costs O(n + edges) per step.

    Raises:
        ValueError: an end lies outside the rows, an edge joins two groups, or a weight or `damping` is out of range.
    """
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping is {damping}; it must be at least 0 and below 1")
    graph = _adjacency(n, source, target, weight)
    if len(groups) != n or (groups[source] != groups[target]).any():
        raise ValueError(
            "an edge joins two groups, or groups does not have one code a row; a graph stays within its profile"
        )
    codes, group = np.unique(groups, return_inverse=True)
    jump = 1.0 / np.bincount(group)[group]
    strength = graph.sum(axis=1)
    share = np.divide(damping, strength, out=np.zeros(n), where=strength > 0)
    dangling = np.where(strength > 0, 0.0, damping)
    previous, rank = jump, jump
    moving = np.ones(len(codes), dtype=np.bool_)
    omega = 1.0
    for step in range(max_iterations):
        jumping = np.bincount(group, weights=dangling * rank, minlength=len(codes))
        followed = graph @ (share * rank) + (jumping[group] + 1.0 - damping) * jump
        updated = np.where(moving[group], omega * (followed - previous) + previous, rank)
        change = np.bincount(group, weights=np.abs(updated - rank), minlength=len(codes))
        previous, rank = rank, updated
        moving &= change >= tolerance
        if not moving.any():
            break
        omega = 1.0 / (1.0 - damping**2 * (omega if step else 2.0) / 4.0)
    return rank


def label_propagation(
    n: int,
    source: NDArray[np.integer[Any]],
    target: NDArray[np.integer[Any]],
    weight: NDArray[np.float64],
    *,
    max_iterations: int = 50,
) -> NDArray[np.int64]:
    """Return communities: each row adopts the label of largest weight among its neighbours, until none changes.

    All rows move at once (Raghavan, Albert and Kumara, 2007), except that if one of two neighbours wants the label that
    the other is leaving, only the smaller row moves. The weight inside communities therefore grows with every step and
    cannot oscillate. Ties: the present label, else the one nearest in number to the row, counted within its component
    (so that no single label wins every tie), else the smallest.

    Returns:
        The smallest row of its community for each row, int64 [n]. Communities are connected; a row without edges is its
        own community. Each step costs O(edges·log edges) in the edges whose ends still move.

    Raises:
        ValueError: an end lies outside the rows, or a weight is out of range.
    """
    graph = _adjacency(n, source, target, weight).tocoo()
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(components(n, graph.row, graph.col), kind="stable")] = np.arange(n)
    row, near = place[graph.row], place[graph.col]
    labels = np.arange(n)
    wanted, changed = labels.copy(), np.ones(n, dtype=np.bool_)
    for _ in range(max_iterations):
        asked = changed.copy()
        asked[row[changed[near]]] = True  # only they may want another label than before
        among = np.flatnonzero(asked[row])
        wanted[asked] = _wanted(labels, row[among], near[among], graph.data[among])[asked]
        moves = wanted != labels
        clash = moves[row] & moves[near] & ((wanted[row] == labels[near]) | (wanted[near] == labels[row]))
        moves[row[clash & (near < row)]] = False
        if not moves.any():
            break
        labels, changed = np.where(moves, wanted, labels), moves
    inside = labels[row] == labels[near]
    return components(n, graph.row[inside], graph.col[inside])


def degrees(n: int, source: NDArray[np.integer[Any]], target: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the number of distinct neighbours of each row, int64 [n]; every edge counts, whatever its weight."""
    graph = _adjacency(n, source, target, np.ones(len(source)))
    counts: NDArray[np.int64] = np.diff(graph.indptr).astype(np.int64)
    return counts


def _wanted(
    labels: NDArray[np.int64], row: NDArray[np.int64], near: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the label each row would adopt: the heaviest among its neighbours, or its own if none is heavier."""
    wanted = labels.copy()
    if not len(row):
        return wanted
    order = np.lexsort((labels[near], row))
    owner, label = row[order], labels[near][order]
    starts = np.flatnonzero(np.diff(owner, prepend=-1) | np.diff(label, prepend=-1))
    owner, label = owner[starts], label[starts]
    totals = np.add.reduceat(weights[order], starts)
    heaviest, own = np.zeros(len(labels)), np.zeros(len(labels))
    np.maximum.at(heaviest, owner, totals)
    present = label == labels[owner]
    own[owner[present]] = totals[present]
    better = totals >= heaviest[owner] * (1.0 - _GAIN)
    better &= (heaviest > own * (1.0 + 2 * _GAIN))[owner]
    owner, label = owner[better], label[better]
    order = np.lexsort((label, np.abs(label - owner), owner))[::-1]
    wanted[owner[order]] = label[order]  # the nearest of a row is written last
    return wanted


def _adjacency(
    n: int, source: NDArray[np.integer[Any]], target: NDArray[np.integer[Any]], weight: NDArray[np.float64]
) -> csr_array:
    """Return the symmetric matrix of summed weights, neighbours ascending; independent of the order of edges."""
    check_ends(n, source, target)
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise ValueError("a weight is negative, NaN or infinite; leave such edges out")
    real = np.flatnonzero((source != target) & (weight > 0))
    low, high = np.minimum(source, target)[real], np.maximum(source, target)[real]
    order = np.lexsort((weight[real], high, low))
    low, high = low[order], high[order]
    starts = np.flatnonzero((np.diff(low, prepend=-1) != 0) | (np.diff(high, prepend=-1) != 0))
    sums = np.add.reduceat(weight[real][order], starts) if len(starts) else np.empty(0)
    low, high = low[starts], high[starts]
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    return csr_array((np.concatenate([sums, sums]), ends), shape=(n, n))
