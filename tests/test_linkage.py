"""Components, unions under limits, average linkage and cohesion."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from memory_pipeline.consolidation import components, similarity
from memory_pipeline.consolidation.groups import linkage

NO_ROWS = np.empty(0, dtype=np.int64)


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


@st.composite
def graphs(draw):
    """A number of rows and distinct pairs of them, in any order and direction."""
    rng = generator(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, 30))
    left, right = np.nonzero(np.triu(rng.random((n, n)) < draw(st.sampled_from([0.02, 0.1, 0.3, 1.0])), k=1))
    order, swap = rng.permutation(len(left)), rng.random(len(left)) < 0.5
    return n, np.where(swap, left, right)[order], np.where(swap, right, left)[order]


@st.composite
def clouds(draw):
    """Rows in loose bunches, some of them unknown, some equal."""
    rng = generator(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(0, 45)), draw(st.sampled_from([2, 3, 6]))
    vectors = rng.standard_normal((6, d))[rng.integers(0, 6, n)] + draw(
        st.sampled_from([0.2, 0.6])
    ) * rng.standard_normal((n, d))
    vectors[rng.random(n) < 0.05] = 0
    if n and draw(st.booleans()):
        vectors[rng.random(n) < 0.4] = vectors[0]
    return vectors.astype(np.float32)


def linked(vectors, minimum, max_size=None, budget=1024):
    pairs = similarity.threshold_join(vectors, np.zeros(len(vectors), dtype=np.int64), minimum)
    return linkage.average_linkage(
        vectors,
        pairs.left,
        pairs.right,
        pairs.similarity,
        minimum=minimum,
        max_size=max_size,
        memory_budget_mb=budget,
    )


def merged_one_by_one(vectors, minimum, max_size):
    """Average linkage by its definition: the mean of all pairs anew at each step."""
    clusters = [[row] for row in range(len(vectors))]
    unknown = similarity.unknown(vectors)
    cosines = np.full((len(vectors), len(vectors)), -np.inf)
    known = np.flatnonzero(~unknown)
    cosines[np.ix_(known, known)] = similarity.similarity_matrix(vectors[known])
    while True:
        best = (float(np.float32(minimum)) - 1e-12, None)
        for i, one in enumerate(clusters):
            for other in clusters[i + 1 :]:
                mean = cosines[np.ix_(one, other)].mean()
                if mean > best[0] + (1e-12 if best[1] else 0) and len(one) + len(other) <= max_size:
                    best = (mean, (one, other))
        if best[1] is None:
            return clusters
        one, other = best[1]
        one.extend(other)
        clusters.remove(other)


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@given(graphs())
def test_components_are_those_of_networkx_named_by_their_smallest_row(graph):
    n, left, right = graph
    labels = components.components(n, left, right)
    peer = nx.Graph()
    peer.add_nodes_from(range(n))
    peer.add_edges_from(zip(left.tolist(), right.tolist(), strict=True))
    assert as_sets(labels) == {frozenset(part) for part in nx.connected_components(peer)}
    assert all(np.flatnonzero(labels == label)[0] == label for label in np.unique(labels))


@given(clouds(), st.sampled_from([0.3, 0.75, 0.85, 0.99]), st.sampled_from([1, 2, 3, 5, 45]))
def test_average_linkage_merges_the_closest_clusters_while_they_are_close_and_small_enough(vectors, minimum, max_size):
    labels = linked(vectors, minimum, max_size)
    assert as_sets(labels) == {frozenset(cluster) for cluster in merged_one_by_one(vectors, minimum, max_size)}
    assert all(np.flatnonzero(labels == label)[0] == label for label in np.unique(labels))


@pytest.mark.parametrize("minimum", [0.2, 0.5, 0.8])
def test_average_linkage_without_a_limit_is_that_of_scipy(minimum):
    rng = generator(3)
    vectors = (rng.standard_normal((20, 8))[rng.integers(0, 20, 600)] + 0.8 * rng.standard_normal((600, 8))).astype(
        "f4"
    )
    distances = 1 - similarity.similarity_matrix(vectors).astype(np.float64)
    tree = hierarchy.linkage(squareform(distances, checks=False), "average")
    labels = linked(vectors, minimum)
    assert as_sets(labels) == as_sets(hierarchy.fcluster(tree, 1 - minimum, "distance"))
    assert 5 < len(as_sets(labels)) < 590


@given(clouds(), st.integers(0, 2**32))
def test_average_linkage_does_not_depend_on_the_order_of_pairs(vectors, seed):
    pairs = similarity.threshold_join(vectors, np.zeros(len(vectors), dtype=np.int64), 0.7)
    order = generator(seed).permutation(len(pairs))
    found = linkage.average_linkage(
        vectors, pairs.right[order], pairs.left[order], pairs.similarity[order], minimum=0.7, max_size=6
    )
    assert np.array_equal(found, linked(vectors, 0.7, 6))


def test_equal_rows_fill_clusters_in_their_order():
    labels = linked(np.ones((7, 2), dtype=np.float32), 0.9, 3)
    assert labels.tolist() == [0, 0, 0, 3, 3, 3, 6]


def test_a_chain_is_not_one_cluster():
    angles = np.deg2rad(np.arange(0, 180, 20))
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    pairs = similarity.threshold_join(vectors, np.zeros(9, dtype=np.int64), 0.9)
    assert (components.components(9, pairs.left, pairs.right) == 0).all()
    assert len(as_sets(linked(vectors, 0.9))) == 5


@pytest.mark.parametrize("max_size", [None, 20])
def test_a_component_too_large_for_the_budget_is_linked_the_same(max_size):
    rng = generator(5)
    vectors = (0.7 + rng.standard_normal((600, 6))).astype(np.float32)
    pairs = similarity.threshold_join(vectors, np.zeros(600, dtype=np.int64), 0.8)
    assert np.bincount(components.components(600, pairs.left, pairs.right)).max() > 500
    assert np.array_equal(linked(vectors, 0.8, max_size, budget=1), linked(vectors, 0.8, max_size))


def test_equal_rows_too_many_for_the_budget_fill_clusters():
    labels = linked(np.ones((500, 3), dtype=np.float32), 0.9, 20, budget=1)
    assert np.bincount(labels).max() == 20
    assert len(as_sets(labels)) == 25


def test_pairs_below_the_minimum_do_not_link():
    vectors = np.eye(3, dtype=np.float32)
    found = linkage.average_linkage(
        vectors, np.array([0, 1]), np.array([1, 2]), np.zeros(2, dtype=np.float32), minimum=0.5
    )
    assert found.tolist() == [0, 1, 2]


def joined(vectors, minimum):
    pairs = similarity.threshold_join(vectors, np.zeros(len(vectors), dtype=np.int64), minimum)
    return pairs.left, pairs.right, pairs.similarity


@given(clouds(), st.sampled_from([None, 1, 2, 5, 7]), st.sampled_from(["single", "average"]), st.integers(0, 2**32))
def test_a_row_that_counts_for_many_gives_the_groups_of_the_many(vectors, max_size, method, seed):
    """Copies in runs of the largest size, of which only the last run is open, group as if each were a row."""
    rng = generator(seed)
    vectors = np.unique(vectors[~similarity.unknown(vectors)], axis=0)
    close = np.any(np.triu(vectors @ vectors.T / np.outer(*[similarity.lengths(vectors)] * 2) > 1 - 1e-6, k=1), axis=0)
    vectors = vectors[~close]
    source = np.repeat(np.arange(len(vectors)), rng.integers(1, 9, len(vectors)))
    source = source[rng.permutation(len(source))]
    limit = len(source) + 1 if max_size is None else max_size
    turn = np.array([np.count_nonzero(source[:index] == one) // limit for index, one in enumerate(source)], dtype=int)
    run = source * (len(source) + 1) + turn
    _, first, of = np.unique(run, return_index=True, return_inverse=True)
    heads = first[of]
    sizes = np.bincount(heads, minlength=len(source))
    nodes = np.flatnonzero((sizes > 0) & (sizes < limit))

    def groups(rows, counts):
        left, right, near = joined(vectors[rows], 0.6)
        if method == "single":
            return linkage.united(len(rows), left, right, near, max_size=max_size, sizes=counts)
        return linkage.average_linkage(vectors[rows], left, right, near, minimum=0.6, max_size=max_size, sizes=counts)

    labels = np.arange(len(source))
    labels[nodes] = nodes[groups(source[nodes], sizes[nodes])] if len(nodes) else nodes
    assert as_sets(labels[heads]) == as_sets(groups(source, None))


def test_unions_are_split_at_the_loosest_pairs():
    left, right = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])
    close = np.array([0.9, 0.7, 0.8, 0.95])
    assert linkage.united(6, left, right, close).tolist() == [0, 0, 0, 0, 0, 5]
    assert linkage.united(6, left, right, close, max_size=3).tolist() == [0, 0, 2, 2, 2, 5]
    assert linkage.united(6, right, left, close, max_size=3).tolist() == [0, 0, 2, 2, 2, 5]
    apart = np.array([0]), np.array([4])
    assert linkage.united(6, left, right, close, apart=apart).tolist() == [0, 0, 2, 2, 2, 5]
    near = np.array([0, 3]), np.array([1, 4])
    assert linkage.united(6, left, right, close, apart=near).tolist() == [0, 1, 1, 1, 4, 5]
    weights = np.array([1, 1, 2, 1, 1, 9])
    assert linkage.united(6, left, right, close, max_size=3, sizes=weights).tolist() == [0, 0, 2, 3, 3, 5]


@given(clouds(), st.sampled_from([None, 2, 4]), st.integers(0, 2**32))
def test_unions_depend_on_the_set_of_pairs_alone_and_hold_their_limits(vectors, max_size, seed):
    rng = generator(seed)
    left, right, near = joined(vectors, 0.7)
    apart = np.flatnonzero(rng.random(len(left)) < 0.2)
    apart = left[apart], right[apart]
    labels = linkage.united(len(vectors), left, right, near, apart=apart, max_size=max_size)
    order = rng.permutation(len(left))
    turned = linkage.united(
        len(vectors), right[order], left[order], near[order], apart=(apart[1][::-1], apart[0][::-1]), max_size=max_size
    )
    assert np.array_equal(labels, turned)
    assert (labels[apart[0]] != labels[apart[1]]).all()
    assert max_size is None or np.bincount(labels, minlength=1).max() <= max_size
    assert all(np.flatnonzero(labels == label)[0] == label for label in np.unique(labels))


@given(clouds(), st.integers(1, 5), st.integers(0, 2**32))
def test_cohesion_is_the_mean_over_all_pairs_of_a_group(vectors, count, seed):
    labels = generator(seed).integers(0, count, len(vectors)) * 3 - 3
    found = linkage.cohesion(labels, vectors)
    for label in np.unique(labels):
        rows = np.flatnonzero((labels == label) & ~similarity.unknown(vectors))
        left, right = np.triu_indices(len(rows), k=1)
        own = found[labels == label]
        if len(left):
            mean = similarity.pair_similarity(vectors, rows[left], rows[right]).astype(np.float64).mean()
            assert np.abs(own - mean).max() < 1e-6
            assert np.abs(own).max() <= 1.0
        else:
            assert np.isnan(own).all()


def test_cohesion_of_wide_vectors():
    vectors = generator(1).standard_normal((50, 200)).astype(np.float32)
    matrix = similarity.similarity_matrix(vectors).astype(np.float64)
    expected = (matrix.sum() - 50) / (50 * 49)
    assert linkage.cohesion(np.zeros(50, dtype=np.int64), vectors) == pytest.approx(expected, abs=1e-7)


def test_nothing_groups_into_nothing():
    vectors = np.empty((0, 4), dtype=np.float32)
    assert components.components(0, NO_ROWS, NO_ROWS).shape == (0,)
    assert linked(vectors, 0.5).shape == (0,)
    assert linkage.cohesion(NO_ROWS, vectors).shape == (0,)


def test_wrong_input_is_refused():
    one, two = np.array([0]), np.array([1])
    vectors, close = np.ones((2, 2), dtype=np.float32), np.ones(1, dtype=np.float32)
    with pytest.raises(ValueError, match="outside"):
        components.components(1, one, two)
    with pytest.raises(ValueError, match="two ends"):
        components.components(2, one, NO_ROWS)
    with pytest.raises(ValueError, match="itself"):
        linkage.average_linkage(vectors, one, one, close, minimum=0.5)
    with pytest.raises(ValueError, match="max_size"):
        linkage.average_linkage(vectors, one, two, close, minimum=0.5, max_size=0)
