"""Greedy groups: who takes whom, in which order, and that copies and conflicts change nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.groups import greedy

NO_ROWS = np.empty(0, dtype=np.int64)


def angles(*degrees):
    turned = np.deg2rad(degrees)
    vectors = np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)
    pairs = similarity.threshold_join(vectors, np.zeros(len(degrees), dtype=np.int64), 0.70)
    return pairs.left, pairs.right


@pytest.mark.parametrize(
    ("degrees", "fill", "expected"),
    [
        pytest.param([0] * 12, False, [0] * 5 + [5] * 5 + [10, 11], id="exactly five, two are left"),
        pytest.param([0] * 12, True, [0] * 12, id="all that match"),
        pytest.param([0] * 4, False, [0, 1, 2, 3], id="four are no group"),
        pytest.param([0, 44, -44, 40, -40], False, [0] * 5, id="close to the first, not to each other"),
        pytest.param([0, 44, 44, 44, 1, 1, 1, 1], False, [0] * 5 + [5, 6, 7], id="the first ones, not the closest"),
        pytest.param([0, 30, 60, 62, 64, 66], False, [1, 1, 1, 1, 1, 5], id="one that fails leaves the others free"),
    ],
)
def test_groups_of_five(degrees, fill, expected):
    assert greedy.greedy_groups(np.arange(len(degrees)), *angles(*degrees), 5, fill=fill).tolist() == expected


def test_a_later_row_takes_an_earlier_one_that_is_still_free():
    left, right = np.array([0, 0, 1, 1, 2, 2, 4]), np.array([1, 3, 3, 2, 4, 5, 5])
    assert greedy.greedy_groups(np.arange(6), left, right, 3).tolist() == [0, 0, 2, 0, 2, 2]
    assert greedy.greedy_groups(np.arange(4), np.array([0, 2, 2]), np.array([2, 1, 3]), 4).tolist() == [2, 2, 2, 2]


def test_one_that_must_stay_apart_is_passed_over():
    apart = np.array([0, 2]), np.array([1, 3])
    assert greedy.greedy_groups(np.arange(12), *angles(*[0] * 12), 5, apart=apart).tolist() == [
        *(0, 1, 0, 1, 0, 0, 0, 1, 1, 1),  # 0 may not take 1, and having taken 2 not 3
        *(10, 11),
    ]


def one_by_one(near, size, fill, enemies):
    """The definition: for each row in turn a walk over all others."""
    n = len(near)
    labels = np.full(n, -1)
    for row in range(n):
        if labels[row] >= 0:
            continue
        group = [row]
        for other in range(n):
            full = len(group) == size and not fill
            if other != row and near[row, other] and labels[other] < 0 and not full:
                group += [other] if not any(enemies[other, one] for one in group) else []
        if len(group) >= size:
            labels[group] = row
    return np.where(labels < 0, np.arange(n), labels)


@given(st.integers(0, 2**32), st.integers(2, 6), st.booleans(), st.sampled_from([0.0, 0.02, 0.2]))
def test_copies_in_one_node_group_as_rows_of_their_own_would(seed, size, fill, conflict):
    rng = np.random.Generator(np.random.PCG64(seed))
    n = int(rng.integers(0, 30))
    enemies = np.triu(rng.random((n, n)) < conflict, k=1)
    apart = np.nonzero(enemies)
    enemies |= enemies.T
    drawn = rng.integers(0, max(1, n // 2), n)
    drawn = np.where(enemies.any(axis=1), n + np.arange(n), drawn)
    nodes = np.unique(drawn, return_inverse=True)[1]
    count = int(nodes.max(initial=-1)) + 1
    left, right = np.nonzero(np.triu(rng.random((count, count)) < rng.choice([0.05, 0.2, 0.6]), k=1))
    near = np.eye(count, dtype=bool)
    near[left, right] = near[right, left] = True
    order = rng.permutation(len(left))
    swap = rng.random(len(left)) < 0.5
    found = greedy.greedy_groups(
        nodes, np.where(swap, left, right)[order], np.where(swap, right, left)[order], size, fill=fill, apart=apart
    )
    assert np.array_equal(found, one_by_one(near[np.ix_(nodes, nodes)], size, fill, enemies))


def test_nothing_groups_into_nothing():
    assert greedy.greedy_groups(NO_ROWS, NO_ROWS, NO_ROWS, 2).shape == (0,)


def test_wrong_input_is_refused():
    one, two = np.array([0]), np.array([1])
    with pytest.raises(ValueError, match="repeats"):
        greedy.greedy_groups(np.arange(2), np.array([0, 1]), np.array([1, 0]), 2)
    with pytest.raises(ValueError, match="size"):
        greedy.greedy_groups(np.arange(2), one, two, 1)
    with pytest.raises(ValueError, match="shares its node"):
        greedy.greedy_groups(np.zeros(2, dtype=np.int64), NO_ROWS, NO_ROWS, 2, apart=(one, two))
