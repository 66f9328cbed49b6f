"""The trees that judge pairs: the arrays say what the trees say, and what was read of two texts is recorded once."""

from datetime import timedelta

import frames
import homes
import numpy as np
import polars as pl
import pytest
from frames import ago
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import change_detection
from memory_pipeline.ledger.event import parse
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import alignment, relation_trees
from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.compare.relation_trees import OF_PAIRS

TEXTS = ("The kiln is fired on Mondays.", "The kiln has a new door.", "We fire the kiln on Fridays from this week.")


def leaf(grown, root, row):
    """Return the value of the leaf that a row of features reaches, one step at a time."""
    node = root
    while grown.feature[node] >= 0:
        left = row[grown.feature[node]] <= grown.threshold[node]
        node = grown.left[node] if left else grown.right[node]
    return grown.value[node]


@given(st.lists(st.tuples(*[st.floats(0, 1)] * len(OF_PAIRS)), min_size=1, max_size=5))
def test_an_update_of_a_part_is_an_update(probabilities):
    told = np.array(probabilities)
    found = relation_trees.merged(told)
    part, all_of_it = (told[:, OF_PAIRS.index(name)] for name in (relation_trees.PARTIAL, "update"))
    assert found.shape == (len(told), len(RELATIONS))
    assert np.allclose(found[:, RELATIONS.index("update")], part + all_of_it)
    assert np.allclose(found.sum(axis=1), told.sum(axis=1))


@given(st.lists(st.tuples(*[st.integers(-9, 9)] * len(relation_trees.SCORES)), min_size=1, max_size=5))
def test_an_update_is_of_all_as_far_as_the_reader_scores_it_above_one_of_a_part(scores):
    told = np.array(scores, dtype=np.float64)
    whole = relation_trees.whole(told)
    part, all_of_it = (told[:, relation_trees.SCORES.index(f"reader_{name}")] for name in ("partial", "update"))
    assert ((whole > 0) & (whole < 1)).all()
    assert ((whole > 0.5) == (all_of_it > part)).all()


@given(st.integers(0, 2**32 - 1))
def test_each_pair_reaches_the_leaves_that_its_features_lead_to(seed):
    grown = relation_trees.trees()
    rng = np.random.default_rng(seed)
    spread = np.zeros(len(grown.names))
    inner = grown.feature >= 0
    np.maximum.at(spread, grown.feature[inner], np.abs(grown.threshold[inner]))
    rows = rng.uniform(-0.2, 1.2, size=(3, len(grown.names))) * spread
    sums = np.array(
        [
            [
                sum(leaf(grown, root, row) for root in grown.roots[index :: len(OF_PAIRS)])
                for index, _ in enumerate(OF_PAIRS)
            ]
            for row in rows
        ]
    )
    expected = np.exp(sums) / np.exp(sums).sum(axis=1, keepdims=True)
    assert relation_trees.scores(np.ascontiguousarray(rows.T), grown) == pytest.approx(expected)
    probability = relation_trees.probabilities(rows, grown)
    assert probability.sum(axis=1) == pytest.approx(1)
    assert (probability >= 0).all()
    first = relation_trees.first_probabilities(rows)
    assert first.sum(axis=1) == pytest.approx(1)
    assert (np.isclose(first, probability).all(axis=1) | (1 - first[:, -1] < relation_trees.POSSIBLE)).all()


def test_a_higher_score_is_never_less_sure():
    grown = relation_trees.trees()
    assert (np.diff(grown.known, axis=1) >= 0).all()
    assert (np.diff(grown.share, axis=1) >= 0).all()
    assert grown.share.max() < 1


def test_a_feature_that_nothing_computes_is_named():
    with pytest.raises(ValueError, match=r"the trees read .*log_days"):
        relation_trees.first_probabilities(np.zeros((1, 1)))


def compared(**kept):
    memories = frames.memories({"content": text, "created_at": ago(9 - n)} for n, text in enumerate(TEXTS))
    empty = [TABLES[name].empty() for name in ("enrichment", "vectors")]
    return change_detection.compare(memories, *empty, Policy(), as_of=frames.AS_OF, plan_id="plan", **kept)


def test_pairs_of_texts_are_read_once():
    first = compared()
    assert first.pair_readings.filter(pl.col("model") == alignment.MODEL).height == len(TEXTS)
    again = compared(recorded=first.pair_readings)
    assert again.pair_readings.is_empty()
    assert again.fact_changes.equals(first.fact_changes)
    part = compared(recorded=first.pair_readings.head(1))
    assert part.pair_readings.sort("model", "older_hash", "newer_hash").equals(
        first.pair_readings.tail(-1).sort("model", "older_hash", "newer_hash")
    )
    assert part.fact_changes.equals(first.fact_changes)


def test_readings_of_another_version_do_not_count():
    first = compared()
    other = first.pair_readings.with_columns(model=pl.lit("alignment 0"), numbers=pl.lit([0.0]))
    assert compared(recorded=other).pair_readings.equals(first.pair_readings)


def stored(name, content, day):
    event = {
        "event_type": "memory.stored",
        "memory_id": name,
        "profile_id": "ida",
        "occurred_at": homes.START + timedelta(days=day),
        "payload": {"content": content},
    }
    return parse(event, recorded_at=homes.RECORDED, origin="test", future=None)


@pytest.mark.drill
def test_a_second_night_and_a_rebuild_read_nothing_anew(tmp_path):
    told = [stored(f"m{index}", text, index) for index, text in enumerate(TEXTS)]
    with homes.filled(tmp_path / "home", told) as lake:
        homes.night(lake, as_of=homes.RECORDED, run_id="one")
        first = lake.read("pair_readings")
        assert first.filter(pl.col("model") == alignment.MODEL).height == len(TEXTS)
        homes.night(lake, as_of=homes.RECORDED, run_id="two")
        assert lake.read("pair_readings").equals(first)


@given(st.lists(st.tuples(st.integers(0, 6), st.floats(0, 1)), max_size=30))
def test_of_each_newer_memory_the_likeliest_possible_pairs_are_read(pairs):
    newer = np.array([row for row, _ in pairs], dtype=np.int64)
    related = np.round(np.array([share for _, share in pairs]), 3)
    probability = np.stack([related, 0 * related, 0 * related, 1 - related], axis=1).reshape(-1, 4)
    read = relation_trees.worth_reading(probability, newer)
    for row in set(newer.tolist()):
        best = sorted(related[newer == row].tolist(), reverse=True)[: relation_trees.MOST_READ]
        found = sorted(related[read[newer[read] == row]].tolist(), reverse=True)
        assert found == [value for value in best if value >= relation_trees.POSSIBLE]
