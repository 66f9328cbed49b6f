"""Compares centrality, communities, components and groupings with networkx and SciPy in one run.

    python benchmarks/graph_metrics.py [--full]

Prints CPU seconds, the ratio to the peer and the growth from one size to the next. Where the peer computes the same
thing, the results are compared; label propagation has many right answers, so there the modularity of both is printed.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from memory_pipeline.consolidation import components, similarity
from memory_pipeline.consolidation.edges import graph
from memory_pipeline.consolidation.groups import linkage

SIZES = (1_000, 10_000, 50_000)
LINKAGE_SIZES = (500, 1_000, 2_000, 4_000)
PART = 25


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def planted(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return communities of 25 rows with about 8 edges a row inside and 1 outside; weights .3 to 1."""
    rng = np.random.default_rng(n)
    inside = rng.integers(0, n, 4 * n)
    source = np.concatenate([inside, rng.integers(0, n, n // 2)])
    near = np.minimum(inside // PART * PART + rng.integers(0, PART, 4 * n), n - 1)
    target = np.concatenate([near, rng.integers(0, n, n // 2)])
    edges = np.unique(np.sort(np.stack([source, target])[:, source != target], axis=0), axis=1)
    return edges[0], edges[1], rng.uniform(0.3, 1.0, edges.shape[1])


def peer_of(n: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray) -> nx.Graph:
    peer = nx.Graph()
    peer.add_nodes_from(range(n))
    peer.add_weighted_edges_from(zip(source.tolist(), target.tolist(), weight.tolist(), strict=True))
    return peer


def modularity(n: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of the weight inside communities beyond what chance would put there (Newman, 2004)."""
    strength = np.bincount(source, weight, n) + np.bincount(target, weight, n)
    inside = weight[labels[source] == labels[target]].sum() / weight.sum()
    return float(inside - ((np.bincount(labels, strength, n) / (2 * weight.sum())) ** 2).sum())


def measures(n: int) -> dict[str, tuple[float, float, str]]:
    """Return our seconds and the peer's, and how the results compare, for each measure of one graph."""
    source, target, weight = planted(n)
    edges, peer = (n, source, target), peer_of(n, source, target, weight)
    rows = np.zeros(n, dtype=np.int64)
    ranks, rank_seconds = timed(lambda: graph.pagerank(*edges, weight, groups=rows))
    expected, peer_rank_seconds = timed(lambda: nx.pagerank(peer, tol=1e-13, max_iter=1000))
    difference = np.abs(ranks - [expected[row] for row in range(n)]).max()
    labels, label_seconds = timed(lambda: graph.label_propagation(*edges, weight))
    parts, peer_label_seconds = timed(
        lambda: list(nx.algorithms.community.asyn_lpa_communities(peer, weight="weight", seed=1))
    )
    peer_labels = np.empty(n, dtype=np.int64)
    for part in parts:
        peer_labels[list(part)] = min(part)
    quality = f"modularity {modularity(*edges, weight, labels):.3f}, peer {modularity(*edges, weight, peer_labels):.3f}"
    found, component_seconds = timed(lambda: components.components(*edges))
    count, peer_component_seconds = timed(lambda: nx.number_connected_components(peer))
    assert count == len(np.unique(found))
    assert difference < 1e-10
    return {
        "pagerank": (rank_seconds, peer_rank_seconds, f"largest difference {difference:.0e}"),
        "label propagation": (label_seconds, peer_label_seconds, quality),
        "components": (component_seconds, peer_component_seconds, f"both {count}"),
    }


def linkages(n: int) -> dict[str, tuple[float, float, str]]:
    """Return the average linkage of one loose component, without and with a limit, against SciPy's tree and its cut."""
    vectors = (1.0 + np.random.default_rng(n).standard_normal((n, 48))).astype(np.float32)
    pairs = similarity.threshold_join(vectors, np.zeros(n, dtype=np.int64), 0.6)

    def ours(max_size: int | None) -> np.ndarray:
        return linkage.average_linkage(
            vectors, pairs.left, pairs.right, pairs.similarity, minimum=0.6, max_size=max_size
        )

    def peer() -> np.ndarray:
        distances = 1.0 - similarity.similarity_matrix(vectors).astype(np.float64)
        return hierarchy.fcluster(
            hierarchy.linkage(squareform(distances, checks=False), "average"), 1.0 - np.float32(0.6), "distance"
        )

    labels, seconds = timed(lambda: ours(None))
    expected, peer_seconds = timed(peer)
    limited, limited_seconds = timed(lambda: ours(30))
    clusters = len(np.unique(labels))
    assert clusters == len(np.unique(expected)) == len(np.unique(np.stack([labels, expected]), axis=1).T)
    return {
        "average linkage": (seconds, peer_seconds, f"both {clusters} clusters"),
        "average linkage, at most 30": (limited_seconds, peer_seconds, f"{len(np.unique(limited))} clusters"),
    }


def compare(measure: Callable[[int], dict[str, tuple[float, float, str]]], sizes: tuple[int, ...]) -> None:
    print(f"\n{'measure':28} {'rows':>8} {'ours s':>8} {'peer s':>8} {'peer/ours':>10}  growth")
    before: dict[str, tuple[int, float]] = {}
    for n in sizes:
        for name, (seconds, peer_seconds, remark) in measure(n).items():
            rows, past = before.get(name, (n, seconds))
            growth = "" if rows == n else f"n^{np.log(seconds / past) / np.log(n / rows):.2f}"
            ratio = peer_seconds / seconds
            print(
                f"{name:28} {n:8} {seconds:8.3f} {peer_seconds:8.3f} {ratio:10.1f}  {growth:>6}  {remark}", flush=True
            )
            before[name] = n, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also 100,000 rows (minutes)")
    compare(measures, (*SIZES, 100_000) if parser.parse_args().full else SIZES)
    compare(linkages, LINKAGE_SIZES)


if __name__ == "__main__":
    main()
