from datetime import timedelta

import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import triggers

SCHEMA = {"profile_id": pl.String, "kind": pl.String, "seq": pl.Int64, "importance": pl.Float64}


def stored(*rows):
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def due(memories, reflected=None, threshold=150.0):
    return triggers.reflection(memories, reflected or {}, threshold=threshold).rows()


@pytest.mark.parametrize(("total", "expected"), [(149.9, False), (150.0, False), (150.1, True)])
def test_a_reflection_needs_strictly_more_than_the_threshold(total, expected):
    rows = [("p", "original", place, 1.0) for place in range(1, 15)]
    rows.append(("p", "original", 15, (total - 140.0) / 10))
    assert bool(due(stored(*rows))) == expected


def test_a_reflection_counts_originals_after_the_last_one_by_ledger_position():
    memories = stored(
        ("p", "original", 3, 0.4),
        ("p", "original", 4, 0.5),
        ("p", "original", 9, 0.7),
        ("p", "meta_pattern", 8, 1.0),
        ("q", "original", 5, 0.1),
        ("r", "original", 6, 0.9),
    )
    assert due(memories, {"p": 3, "r": 6, "unknown": 1}, threshold=0.5) == [("p", 12.0, 2), ("q", 1.0, 1)]


def test_noise_of_adding_up_does_not_trigger_a_reflection():
    assert due(stored(*(("p", "original", place, 0.01) for place in range(1, 1501)))) == []


def test_nothing_stored_triggers_no_reflection():
    assert due(stored()) == []


@given(st.lists(st.tuples(st.sampled_from("pq"), st.floats(0, 1)), max_size=30), st.randoms())
def test_the_sum_depends_neither_on_the_order_nor_on_other_profiles(rows, random):
    memories = stored(*((profile, "original", place, value) for place, (profile, value) in enumerate(rows, start=1)))
    places = list(range(len(memories)))
    random.shuffle(places)
    expected = due(memories, threshold=1.0)
    assert due(memories[places], threshold=1.0) == expected
    alone = due(memories.filter(pl.col("profile_id") == "p"), threshold=1.0)
    assert alone == [row for row in expected if row[0] == "p"]


@pytest.mark.parametrize(
    ("last", "interval", "expected"),
    [
        (ago(hours=1), 86_400, AS_OF + timedelta(hours=23)),
        (ago(1), 86_400, AS_OF),
        (ago(400), 86_400, AS_OF),
        (None, 86_400, AS_OF),
        (ago(400), 0, None),
        (None, 0, None),
    ],
)
def test_a_task_is_due_an_interval_after_its_last_success_or_at_once_or_never(last, interval, expected):
    assert triggers.next_due(last, interval, AS_OF) == expected


@pytest.mark.parametrize(
    ("events", "accesses", "last", "expected"),
    [
        (0, 0, None, False),
        (1, 0, AS_OF, True),
        (3, 2, AS_OF, True),
        (2, 2, ago(hours=5 / 60), True),
        (2, 2, ago(hours=4.9 / 60), False),
        (2, 2, None, True),
    ],
)
def test_new_events_are_projected_at_once_and_accesses_alone_every_five_minutes(events, accesses, last, expected):
    assert triggers.projection(events, accesses, last=last, now=AS_OF) is expected
