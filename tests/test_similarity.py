"""Exact joins, nearest neighbours and stored similarities."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.similarity import Pairs

THRESHOLDS = st.sampled_from([-1.0, -0.3, 0.0, 0.5, 0.7, 0.75, 0.85, 0.99, 1.0])


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


@st.composite
def tables(draw, most=60):
    """Rows with duplicates, scaled copies, near copies, and rows that are zero, NaN or infinite; up to three groups."""
    rng = generator(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(0, most)), draw(st.sampled_from([1, 2, 3, 8, 17]))
    vectors = rng.standard_normal((n, d)).astype(np.float32)
    if n:
        vectors[rng.random(n) < 0.2] = vectors[0]
        near = rng.random(n) < 0.2
        vectors[near] = vectors[rng.integers(0, n, near.sum())] + np.float32(0.05) * vectors[near]
        vectors[rng.random(n) < 0.1] *= np.float32(3)
        vectors[rng.random(n) < 0.1] = 0
        vectors[rng.random(n) < 0.05, 0] = np.nan
        vectors[rng.random(n) < 0.05, -1] = np.inf
    groups = rng.integers(0, draw(st.integers(1, 3)), n) * 7 - 7
    return vectors, groups


def clustered(n, d, seed=0, rank=12):
    """Rows around n / 30 centres in a space of moderate dimension, with a little of every direction."""
    rng = generator(seed)
    scale = np.where(np.arange(d) < rank, 1.0, 0.1)
    centres = rng.standard_normal((n // 30 + 1, d))
    rows = (centres[rng.integers(0, len(centres), n)] + 0.5 * rng.standard_normal((n, d))) * scale
    return (rows @ np.linalg.qr(rng.standard_normal((d, d)))[0]).astype(np.float32)


def brute(vectors, groups, minimum):
    """Every pair of one group with its stored similarity, without any candidate selection."""
    left, right = np.nonzero(np.triu(groups[:, None] == groups, k=1))
    values = similarity.pair_similarity(vectors, left, right)
    kept = similarity.reaches(values, minimum)
    return Pairs(left[kept], right[kept], values[kept])


def same(found, expected):
    return all(
        np.array_equal(getattr(found, name), getattr(expected, name)) for name in ("left", "right", "similarity")
    )


def dense(vectors, groups, minimum):
    """The pairs that a float64 product finds, and those too close to the threshold for it to say."""
    units = vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    rows = np.arange(len(units))
    cosines = np.where((rows[:, None] < rows) & (groups[:, None] == groups), units @ units.T, -2)
    return cosines > minimum + 1e-7, np.abs(cosines - minimum) <= 1e-7


@given(tables(), THRESHOLDS)
def test_a_join_finds_exactly_the_pairs_that_reach_the_threshold(table, minimum):
    vectors, groups = table
    assert same(
        similarity.threshold_join(vectors, groups, minimum, memory_budget_mb=1), brute(vectors, groups, minimum)
    )


@given(tables(most=40))
def test_a_stored_similarity_is_the_cosine_rounded_once(table):
    vectors, _ = table
    known = vectors[~similarity.unknown(vectors)].astype(np.float64)
    units = known / np.linalg.norm(known, axis=1, keepdims=True)
    left, right = np.triu_indices(len(known), k=1)
    found = similarity.pair_similarity(known.astype(np.float32), left, right)
    assert np.abs(found - (units @ units.T)[left, right]).max(initial=0) <= 2.0**-24


@given(tables(), st.integers(0, 2**32), THRESHOLDS)
def test_the_order_of_rows_changes_nothing(table, seed, minimum):
    vectors, groups = table
    order = generator(seed).permutation(len(vectors))
    whole = similarity.threshold_join(vectors, groups, minimum)
    found = similarity.threshold_join(vectors[order], groups[order], minimum, memory_budget_mb=1)
    ends = np.sort(np.stack([order[found.left], order[found.right]]), axis=0)
    back = np.lexsort((ends[1], ends[0]))
    assert same(Pairs(ends[0][back], ends[1][back], found.similarity[back]), whole)


@given(tables(), THRESHOLDS)
def test_no_pair_crosses_a_group_or_holds_an_unknown_row(table, minimum):
    vectors, groups = table
    found = similarity.threshold_join(vectors, groups, minimum)
    assert (groups[found.left] == groups[found.right]).all()
    assert not similarity.unknown(vectors)[np.concatenate([found.left, found.right])].any()


@pytest.mark.parametrize(
    ("cosine", "other"), [(0.75, 0.6614378277661477), (0.75, -0.6614378277661477), (0.7, 0.714142842854285)]
)
def test_a_cosine_on_the_threshold_counts(cosine, other):
    vectors = np.array([[1, 0], [cosine, other]], dtype=np.float32)
    groups = np.zeros(2, dtype=np.int64)
    assert len(similarity.threshold_join(vectors, groups, cosine)) == 1
    assert len(similarity.threshold_join(vectors, groups, cosine + 1e-6)) == 0


@pytest.mark.parametrize(
    ("dimension", "minimum"),
    [
        pytest.param(48, 0.3, id="prefix with many candidates"),
        pytest.param(48, 0.75, id="prefix", marks=pytest.mark.drill),
        pytest.param(12, 0.9, id="whole rows", marks=pytest.mark.drill),
    ],
)
def test_large_groups_are_joined_exactly(dimension, minimum):
    rng = generator(1)
    vectors = clustered(6000, dimension)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    aside = units[1000:1500] - (units[1000:1500] * units[:500]).sum(axis=1, keepdims=True) * units[:500]
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    vectors[500:1000] = minimum * units[:500] + (1 - minimum**2) ** 0.5 * aside  # on the threshold, but for rounding
    vectors[rng.integers(0, 6000, 50)] = vectors[0]
    groups = (rng.random(6000) < 0.05).astype(np.int64)
    found = similarity.threshold_join(vectors, groups, minimum)
    sure, unsure = dense(vectors, groups, minimum)
    assert unsure.sum() > 100
    mask = np.zeros_like(sure)
    mask[found.left, found.right] = True
    assert mask.sum() == len(found)
    assert np.array_equal(mask & ~unsure, sure & ~unsure)
    assert (
        similarity.reaches(similarity.pair_similarity(vectors, *np.nonzero(unsure)), minimum).sum()
        == (mask & unsure).sum()
    )
    assert np.array_equal(found.similarity, similarity.pair_similarity(vectors, found.left, found.right))


def test_the_rows_of_a_large_group_are_joined_alike_whatever_is_added():
    vectors, groups = clustered(7000, 40, seed=3), np.arange(7000) % 50 // 49
    whole = similarity.threshold_join(vectors, groups, 0.8, memory_budget_mb=8)
    old = similarity.threshold_join(vectors[:4000], groups[:4000], 0.8)
    kept = whole.right < 4000
    assert same(old, Pairs(whole.left[kept], whole.right[kept], whole.similarity[kept]))


def test_fresh_rows_are_compared_with_all_others_and_these_not_again():
    vectors, groups = clustered(3000, 40, seed=5), np.r_[np.zeros(2800, np.int64), np.arange(200) // 3 + 1]
    whole = similarity.threshold_join(vectors, groups, 0.8)
    for fresh in (np.arange(3000) % 11 == 5, np.arange(3000) == 2999, np.zeros(3000, dtype=np.bool_)):
        kept = fresh[whole.left] | fresh[whole.right]
        found = similarity.threshold_join(vectors, groups, 0.8, fresh=fresh, memory_budget_mb=8)
        assert same(found, Pairs(whole.left[kept], whole.right[kept], whole.similarity[kept]))


CHILD = """
import hashlib, sys
import numpy as np
from memory_pipeline.consolidation.similarity import similarity_matrix, threshold_join, top_k
vectors = np.load(sys.stdin.buffer)
groups = np.zeros(len(vectors), dtype=np.int64)
pairs = threshold_join(vectors, groups, 0.7)
nearest = top_k(vectors[:500], vectors, groups[:500], groups, 5)
arrays = [pairs.left, pairs.right, pairs.similarity, nearest.right, similarity_matrix(vectors[:700])]
print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
"""


@pytest.mark.drill
def test_the_number_of_threads_changes_nothing(tmp_path):
    np.save(tmp_path / "vectors.npy", clustered(6000, 40, seed=5))
    digests = set()
    for threads in ("1", "2"):
        with (tmp_path / "vectors.npy").open("rb") as stream:
            environment = os.environ | {"OPENBLAS_NUM_THREADS": threads}
            done = subprocess.run(
                [sys.executable, "-c", CHILD], stdin=stream, env=environment, capture_output=True, check=True
            )
        digests.add(done.stdout.strip())
    assert len(digests) == 1
    assert len(digests.pop()) == len(hashlib.sha256().hexdigest())


@given(tables(most=50), tables(most=20), st.integers(1, 6), THRESHOLDS)
def test_the_nearest_rows_are_those_of_a_full_search(table, asked, k, minimum):
    vectors, groups = table
    queries, groups_q = asked
    queries = np.resize(queries, (len(queries), vectors.shape[1]))
    found = similarity.top_k(queries, vectors, groups_q, groups, k, minimum)
    both = np.concatenate([vectors, queries])
    for query in range(len(queries)):
        rows = np.flatnonzero(groups == groups_q[query])
        values = similarity.pair_similarity(both, rows, np.full(len(rows), len(vectors) + query))
        kept = np.flatnonzero(similarity.reaches(values, minimum))
        order = kept[np.lexsort((rows[kept], -values[kept]))][:k]
        mine = found.left == query
        assert np.array_equal(found.right[mine], rows[order])
        assert np.array_equal(found.similarity[mine], values[order])


def test_the_nearest_rows_can_leave_the_query_itself_out():
    vectors = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [np.nan, 0]], dtype=np.float32)
    groups = np.zeros(5, dtype=np.int64)
    found = similarity.top_k(vectors, vectors, groups, groups, 2, 0.5, exclude=np.arange(5))
    assert found.left.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.right.tolist() == [1, 2, 0, 2, 0, 1]


def test_the_nearest_rows_of_a_large_table_are_exact():
    vectors = clustered(5000, 24, seed=7)
    vectors[2000:2100] = vectors[0]
    groups = np.zeros(5000, dtype=np.int64)
    found = similarity.top_k(vectors[:1100], vectors, groups[:1100], groups, 10, 0.2)
    values = similarity.similarity_matrix(vectors)[:1100]
    order = np.argsort(-values, axis=1, kind="stable")[:, :10]
    assert np.array_equal(found.right.reshape(1100, 10), order)
    assert np.array_equal(found.similarity.reshape(1100, 10), np.take_along_axis(values, order, axis=1))


@given(tables(most=40))
def test_a_matrix_holds_the_stored_similarities(table):
    vectors = table[0][~similarity.unknown(table[0])]
    rows, columns = np.indices((len(vectors), len(vectors))).reshape(2, -1)
    expected = similarity.pair_similarity(vectors, rows, columns)
    assert np.array_equal(similarity.similarity_matrix(vectors).ravel(), expected)


def test_unknown_rows_have_no_similarity():
    vectors = np.array([[1, 0], [0, 0], [np.nan, 1], [np.inf, 1], [1e-30, 0], [3e38, 3e38]], dtype=np.float32)
    assert similarity.unknown(vectors).tolist() == [False, True, True, True, False, False]
    found = similarity.pair_similarity(vectors, np.zeros(6, dtype=np.int64), np.arange(6))
    assert np.isnan(found).tolist() == [False, True, True, True, False, False]
    assert found[4] == 1.0
    assert not similarity.reaches(found, -1.0)[1]


def test_a_column_becomes_a_matrix_with_unknown_rows_for_what_does_not_fit():
    column = pl.Series([[1.0, 2.0], None, [3.0], [None, 4.0], [5.0, 6.0]], dtype=pl.List(pl.Float32))
    found = similarity.matrix(column)
    assert found.dtype == np.float32
    assert similarity.unknown(found).tolist() == [False, True, True, True, False]
    assert found[4].tolist() == [5.0, 6.0]
    assert similarity.matrix(column.clear()).shape == (0, 0)
    assert similarity.matrix(pl.Series([None], dtype=pl.List(pl.Float32))).shape == (1, 0)


@examples(2)
@given(st.sampled_from([np.nan, 1.5, -2.0]))
def test_a_threshold_that_is_no_cosine_is_refused(minimum):
    with pytest.raises(ValueError, match="minimum"):
        similarity.threshold_join(np.ones((2, 2), np.float32), np.zeros(2, np.int64), minimum)


def test_wrong_input_is_refused():
    vectors, groups = np.ones((2, 2), np.float32), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="float32 matrix"):
        similarity.threshold_join(vectors.astype(np.float64), groups, 0.5)
    with pytest.raises(ValueError, match="groups"):
        similarity.threshold_join(vectors, groups[:1], 0.5)
    with pytest.raises(ValueError, match="groups"):
        similarity.threshold_join(vectors, groups.astype(np.float64), 0.5)
    with pytest.raises(ValueError, match="memory_budget_mb"):
        similarity.threshold_join(vectors, groups, 0.5, memory_budget_mb=0)
    with pytest.raises(ValueError, match="k is 0"):
        similarity.top_k(vectors, vectors, groups, groups, 0)
    with pytest.raises(ValueError, match="row 1"):
        similarity.similarity_matrix(np.array([[1], [0]], np.float32))
