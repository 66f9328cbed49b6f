"""PageRank, communities and degrees."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation.edges import graph

NO_ROWS = np.empty(0, dtype=np.int64)


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


@st.composite
def graphs(draw):
    """Rows in groups, weighted edges within them, some repeated, reversed, to themselves or of weight 0."""
    rng = generator(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 40))
    groups = rng.integers(0, draw(st.integers(1, 3)), n) * 5
    source, target = rng.integers(0, n, (2, draw(st.sampled_from([0, n // 2, n, 4 * n]))))
    inside = groups[source] == groups[target]
    weight = rng.choice([0.0, 0.3, 0.5, 1.0, 2.0], len(source))
    return n, source[inside], target[inside], weight[inside], groups


def peer_of(n, source, target, weight):
    peer = nx.Graph()
    peer.add_nodes_from(range(n))
    for one, other, value in zip(source.tolist(), target.tolist(), weight.tolist(), strict=True):
        if one != other and value > 0:
            before = peer.get_edge_data(one, other, {"weight": 0.0})["weight"]
            peer.add_edge(one, other, weight=before + value)
    return peer


@given(graphs(), st.sampled_from([0.0, 0.5, 0.85]))
def test_pagerank_is_that_of_networkx_in_each_group(case, damping):
    n, source, target, weight, groups = case
    found = graph.pagerank(n, source, target, weight, groups=groups, damping=damping)
    peer = peer_of(n, source, target, weight)
    for code in np.unique(groups):
        rows = np.flatnonzero(groups == code).tolist()
        expected = nx.pagerank(peer.subgraph(rows), alpha=damping, tol=1e-13, max_iter=5000)
        assert found[rows] == pytest.approx([expected[row] for row in rows], abs=1e-8)
        assert found[rows].sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_pagerank_of_larger_graphs_is_that_of_networkx(seed):
    peer = nx.barabasi_albert_graph(2000, 3, seed=seed)
    source, target = np.array(peer.edges).T
    weight = generator(seed).random(len(source))
    nx.set_edge_attributes(peer, dict(zip(peer.edges, weight.tolist(), strict=True)), "weight")
    expected = nx.pagerank(peer, tol=1e-13, max_iter=5000)
    found = graph.pagerank(2000, source, target, weight, groups=np.zeros(2000, dtype=np.int64))
    assert np.abs(found - [expected[row] for row in range(2000)]).max() < 1e-10


@pytest.mark.parametrize("count", [2, 3, 50])
def test_pagerank_converges_where_a_walk_oscillates(count):
    source, target = np.zeros(count - 1, dtype=np.int64), np.arange(1, count)
    found = graph.pagerank(count, source, target, np.ones(count - 1), groups=np.zeros(count, dtype=np.int64))
    leaf = (0.15 / count + 0.85 / (count - 1) * found[0]) if count > 2 else 0.5
    assert found[1:] == pytest.approx(leaf, abs=1e-10)


@given(graphs(), st.integers(0, 2**32))
def test_measures_depend_on_the_set_of_edges_alone(case, seed):
    n, source, target, weight, groups = case
    rng = generator(seed)
    order, swap = rng.permutation(len(source)), rng.random(len(source)) < 0.5
    other = (np.where(swap, source, target)[order], np.where(swap, target, source)[order])
    ranks = graph.pagerank(n, source, target, weight, groups=groups)
    assert np.array_equal(graph.pagerank(n, *other, weight[order], groups=groups), ranks)
    labels = graph.label_propagation(n, source, target, weight)
    assert np.array_equal(graph.label_propagation(n, *other, weight[order]), labels)
    assert np.array_equal(graph.degrees(n, *other), graph.degrees(n, source, target))


@given(graphs())
def test_a_group_gets_the_same_numbers_alone_and_among_others(case):
    n, source, target, weight, groups = case
    ranks = graph.pagerank(n, source, target, weight, groups=groups)
    labels = graph.label_propagation(n, source, target, weight)
    for code in np.unique(groups):
        rows = np.flatnonzero(groups == code)
        own = groups[source] == code
        ends = np.searchsorted(rows, source[own]), np.searchsorted(rows, target[own])
        alone = graph.pagerank(len(rows), *ends, weight[own], groups=groups[rows])
        assert np.array_equal(alone, ranks[rows])
        assert np.array_equal(rows[graph.label_propagation(len(rows), *ends, weight[own])], labels[rows])


@given(graphs())
def test_communities_are_connected_and_named_by_their_smallest_row(case):
    n, source, target, weight, _ = case
    labels = graph.label_propagation(n, source, target, weight)
    peer = peer_of(n, source, target, weight)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        assert rows[0] == label
        assert nx.is_connected(peer.subgraph(rows.tolist()))


@given(graphs())
def test_propagation_comes_to_rest(case):
    n, source, target, weight, _ = case
    bounded = graph.label_propagation(n, source, target, weight)
    assert np.array_equal(graph.label_propagation(n, source, target, weight, max_iterations=100_000), bounded)


@pytest.mark.parametrize(
    "peer",
    [
        nx.path_graph(2),
        nx.cycle_graph(8),
        nx.star_graph(30),
        nx.complete_bipartite_graph(20, 20),
        nx.grid_2d_graph(12, 12),
    ],
)
@pytest.mark.parametrize("weights", ["equal", "alternating"])
def test_propagation_ends_where_synchronous_steps_oscillate(peer, weights):
    peer = nx.convert_node_labels_to_integers(peer)
    source, target = np.array(peer.edges).T
    weight = np.ones(len(source)) if weights == "equal" else 1.0 + np.arange(len(source)) % 2
    n = len(peer)
    labels = graph.label_propagation(n, source, target, weight)
    assert np.array_equal(graph.label_propagation(n, source, target, weight, max_iterations=10_000), labels)
    assert len(np.unique(labels)) < n


def test_propagation_finds_planted_communities():
    peer = nx.random_partition_graph([40] * 25, 0.4, 0.002, seed=4)
    source, target = np.array(peer.edges).T
    labels = graph.label_propagation(1000, source, target, np.ones(len(source)))
    assert np.array_equal(labels, np.repeat(np.arange(0, 1000, 40), 40))


def test_propagation_stops_at_its_bound():
    source, target = np.arange(99), np.arange(1, 100)
    labels = graph.label_propagation(100, source, target, np.ones(99), max_iterations=0)
    assert np.array_equal(labels, np.arange(100))


def test_heavier_edges_decide():
    labels = graph.label_propagation(5, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]), np.array([1.0, 0.2, 1.0, 1.0]))
    assert labels.tolist() == [0, 0, 2, 2, 2]


@given(graphs())
def test_degrees_count_distinct_neighbours(case):
    n, source, target, weight, _ = case
    peer = peer_of(n, source, target, np.ones_like(weight))
    assert graph.degrees(n, source, target).tolist() == [peer.degree(row) for row in range(n)]


def test_an_empty_graph():
    none = np.empty(0)
    assert graph.pagerank(0, NO_ROWS, NO_ROWS, none, groups=NO_ROWS).shape == (0,)
    assert graph.label_propagation(0, NO_ROWS, NO_ROWS, none).shape == (0,)
    assert graph.degrees(3, NO_ROWS, NO_ROWS).tolist() == [0, 0, 0]
    assert graph.pagerank(4, NO_ROWS, NO_ROWS, none, groups=np.array([1, 1, 1, 2])) == pytest.approx([1 / 3] * 3 + [1])


def test_wrong_input_is_refused():
    one, two, weight = np.array([0]), np.array([1]), np.ones(1)
    with pytest.raises(ValueError, match="two groups"):
        graph.pagerank(2, one, two, weight, groups=np.array([0, 1]))
    with pytest.raises(ValueError, match="damping"):
        graph.pagerank(2, one, two, weight, groups=np.zeros(2, dtype=np.int64), damping=1.0)
    with pytest.raises(ValueError, match="weight"):
        graph.label_propagation(2, one, two, -weight)
    with pytest.raises(ValueError, match="outside"):
        graph.label_propagation(1, one, two, weight)
