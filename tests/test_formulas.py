"""The published ranking formulas."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.recall.rank import formulas

SHARE = st.floats(0.0, 1.0)


def array(*numbers):
    return np.array(numbers, dtype=np.float64)


def marks(*values):
    return np.array(values, dtype=np.bool_)


def proximity(*, same_session=False, same_user=False, days=0.0, reached=False):
    found = formulas.session_proximity(
        same_session=marks(same_session), same_user=marks(same_user), days=array(days), reached=marks(reached)
    )
    return found.tolist()[0]


def test_relevance_is_a_clamped_cosine_and_neutral_where_unknown():
    assert formulas.relevance(array(0.4, -0.2, 1.2, float("nan"))).tolist() == [0.4, 0.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"same_session": True, "same_user": True}, 1.0),
        ({"same_user": True, "days": 7.0}, 0.7),
        ({"same_user": True, "days": 7.01}, 0.3),
        ({"same_user": False, "reached": True}, 0.3),
        ({"same_user": False}, 0.0),
        ({"same_session": True, "same_user": False}, 0.0),
    ],
)
def test_session_proximity(row, expected):
    assert proximity(**row) == expected


def test_recurrence_is_full_at_three_returns():
    assert formulas.recurrence(array(0, 1, 3, 9)).tolist() == pytest.approx([0.0, 1 / 3, 1.0, 1.0])


def overlap(asked, mentioned):
    columns = (pl.Series([names], dtype=pl.List(pl.String)) for names in (asked, mentioned))
    return formulas.entity_overlap(*columns).item()


@pytest.mark.parametrize(
    ("asked", "mentioned", "expected"),
    [
        (["Ada", "Oslo"], ["Ada"], 1 / 2),
        (["Ada", "Oslo", "Bo"], ["Ada", "Bo", "Cy"], 2 / 3),
        (["Ada"], ["Ada", "Bo", "Cy"], 1 / 3),
        (["Ada", "Ada"], ["Ada", "Ada"], 1.0),
        (["Ada"], [], 0.0),
        ([], ["Ada"], 0.0),
        ([], [], 0.0),
        (None, ["Ada"], 0.0),
    ],
)
def test_entity_overlap_is_the_share_of_the_larger_set(asked, mentioned, expected):
    """ADR-0008: shared_entities / max(user_entities, node_entities)."""
    assert overlap(asked, mentioned) == pytest.approx(expected)


def test_affinity_counts_in_the_score():
    same = (array(0.5, 0.5), array(0.5, 0.5), array(0.5, 0.5))
    near = formulas.affinity(array(1.0, 0.0), array(0.0, 0.0), array(0.0, 0.0))
    first, second = formulas.weighted_mean(*same, near)
    assert first > second


def test_affinity_is_left_out_when_nobody_in_particular_asks():
    best = array(1.0)
    assert formulas.weighted_mean(best, best, best).tolist() == [1.0]
    assert formulas.weighted_mean(best, best, best, array(0.0)).tolist() == pytest.approx([3 / 3.5])


def test_weights_that_are_all_zero_give_zero():
    weights = dict.fromkeys(formulas.WEIGHTS, 0.0)
    assert formulas.weighted_mean(array(1.0), array(1.0), array(1.0), array(1.0), weights=weights).tolist() == [0.0]


@pytest.mark.parametrize(
    ("weights", "said"),
    [({"recency": -1.0}, "recency is -1"), ({"novelty": 1.0}, "'novelty' is not a factor; choose one of")],
)
def test_a_bad_weight_is_refused_by_name(weights, said):
    with pytest.raises(ValueError, match=said):
        formulas.weighted_mean(array(1.0), array(1.0), array(1.0), weights=weights)


@given(st.lists(st.tuples(SHARE, SHARE, SHARE, SHARE), min_size=1, max_size=6))
def test_the_mean_lies_between_its_factors_whatever_stands_beside(rows):
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    plain = formulas.weighted_mean(*columns[:3])
    assert all(min(row[:3]) - 1e-12 <= score <= max(row[:3]) + 1e-12 for row, score in zip(rows, plain, strict=True))
    alone = [formulas.weighted_mean(*(array(one) for one in row))[0] for row in rows]
    assert formulas.weighted_mean(*columns).tolist() == alone


def test_scores_of_the_other_designs():
    assert formulas.retained(array(0.8, 0.8), array(1.0, 0.2)).tolist() == pytest.approx([0.8, 0.8 * 0.2**0.3])
    assert formulas.fading(array(0.8, 0.5), array(0.25, 1.0)).tolist() == pytest.approx([0.2, 0.5])
    assert np.isnan(formulas.retained(array(float("nan")), array(0.5))).all()
