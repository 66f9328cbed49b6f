"""Recency, tiers by age and the reflection trigger as ADR-0008 (Engram) states them."""

import math
from datetime import timedelta

import frames
import polars as pl
import pytest
from frames import AS_OF

from memory_pipeline.consolidation import scoring, triggers
from memory_pipeline.settings import Policy, preset


def touched(hours, accesses=0, accessed=None):
    return {
        "created_at": AS_OF - timedelta(hours=hours),
        "access_count": accesses,
        "last_accessed_at": None if accessed is None else AS_OF - timedelta(hours=accessed),
    }


ENGRAM = Policy(**preset("engram"))


def column(rows, name, policy=ENGRAM):
    memories = frames.memories([{"memory_id": f"m{index:02}", **row} for index, row in enumerate(rows)])
    result = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="plan")
    return result[name].to_list()


def fires(importance):
    rows = {"profile_id": "p", "kind": "original", "seq": range(1, len(importance) + 1), "importance": importance}
    return not triggers.reflection(pl.DataFrame(rows), {}, threshold=150.0).is_empty()


def adding_up_to(total):
    """Importances whose scores (x 10) add up to `total`."""
    whole, rest = divmod(total, 10.0)
    return [1.0] * int(whole) + [rest / 10.0]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (touched(0), 1.0),
        (touched(24), 0.866878),
        (touched(168), 0.367879),
        (touched(116.448726), 0.5),
        (touched(720, accessed=10), 0.942213),
        (touched(-1), 1.0),
    ],
)
def test_recency(row, expected):
    assert column([row], "recency") == pytest.approx([expected], abs=1e-6)


def test_tiers():
    hours = [0, 23.99, 24, 167.99, 168, 719.99, 720, 10_000]
    tiers = ["hot", "hot", "warm", "warm", "cold", "cold", "archive", "archive"]
    assert column([touched(age) for age in hours], "age_tier") == tiers


def test_a_reflection_needs_more_than_150():
    assert [fires(adding_up_to(total)) for total in (149.9, 150.0, 150.1)] == [False, False, True]


def test_recency_with_other_constants():
    policy = Policy(**preset("engram"), recency_base_hours=100, recency_access_hours=10)
    assert column([touched(60, 2, accessed=60)], "recency", policy) == pytest.approx([math.exp(-0.5)])
    log = policy.model_copy(update={"recency_stability": "log"})
    assert column([touched(60, 2)], "recency", log) == pytest.approx([math.exp(-60 / (100 + 10 * math.log(3)))])


def test_a_lifetime_of_zero_is_refused():
    """Ours: release f641a0f takes it and gives 0."""
    with pytest.raises(ValueError, match="recency_base_hours"):
        Policy(recency_base_hours=0)


def test_a_lifetime_of_zero_of_the_release(real_system):
    """Ours: the release takes it and gives 0; here it cannot be set."""
    given = real_system("engram")["adr-rec-8"]["input"]
    with pytest.raises(ValueError, match="recency_base_hours"):
        Policy(recency_base_hours=given["S_base"], recency_access_hours=given["S_boost"])


def test_recency_of_the_release(real_system):
    cases = real_system("engram")
    rows = [touched(row["hours_since_occurred"], row["access_count"]) for row in cases["adr-rec-1"]["input"]["rows"]]
    assert column(rows, "recency") == pytest.approx(cases["adr-rec-1"]["expected_by_adr_text"], abs=1e-6)
    for case_id in ("adr-rec-5", "adr-rec-7"):
        given = cases[case_id]["input"]
        row = touched(given["hours_since_occurred"], given.get("access_count", 0), given.get("last_accessed_hours_ago"))
        assert column([row], "recency") == pytest.approx([cases[case_id]["expected"]], abs=1e-6)


def test_tiers_of_the_release(real_system):
    case = real_system("engram")["adr-tier-1"]
    assert column([touched(age) for age in case["input"]["age_hours"]], "age_tier") == case["expected"]


def test_reflection_by_the_text(real_system):
    """Ours: strictly more, as the text says; and by importance, not by the number of events (adr-refl-2)."""
    cases = real_system("engram")
    sums = cases["adr-refl-1"]["input"]["importance_sums"]
    assert [fires(adding_up_to(total)) for total in sums] == cases["adr-refl-1"]["expected_by_adr_text"]
    counts = cases["adr-refl-2"]["input"]["session_event_counts"]
    assert [fires([0.1] * count) for count in counts] == [False, False, False]
    assert [fires([0.5] * count) for count in counts] == [False, False, True]
