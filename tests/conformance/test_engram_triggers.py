"""The reflection trigger of ADR-0008 (Engram): the importance stored since the last reflection, strictly above 150."""

import polars as pl
import pytest
from frames import AS_OF, ago

from memory_pipeline.consolidation import triggers
from memory_pipeline.settings import Policy, preset

ENGRAM = Policy(**preset("engram"))


def fired(importance_score=0.0, *, last=0.0, policy=ENGRAM):
    """Triggers of a profile that was consolidated `last` hours ago."""
    row = dict.fromkeys(triggers.ACTIVITY, 0) | {"profile_id": "p", "importance_score": importance_score}
    row |= {"first_event_at": ago(9), "last_event_at": ago(1)}
    activity = pl.DataFrame([row], schema=triggers.ACTIVITY)
    past = pl.DataFrame([("p", "full", ago(hours=last), 1)], schema=triggers.PROGRESS, orient="row")
    return set(triggers.due(activity, past, {"p": policy}, now=AS_OF)["trigger"])


def reflects(importance):
    """Whether memories of these importances call for a reflection, as they are summed and as it is decided."""
    rows = {"profile_id": "p", "kind": "original", "seq": range(1, len(importance) + 1), "importance": importance}
    memories = pl.DataFrame(rows, schema_overrides={"seq": pl.Int64, "importance": pl.Float64})
    sums = triggers.reflection(memories, {}, threshold=0.0)
    return "reflection" in fired(sums["importance_score"].sum() if sums.height else 0.0)


def adding_up_to(total):
    whole, rest = divmod(total, 10.0)
    return [1.0] * int(whole) + [rest / 10.0]


@pytest.mark.parametrize(("total", "expected"), [(149.99, False), (150, False), (150.01, True), (400, True)])
def test_a_reflection_needs_more_than_the_threshold(total, expected):
    assert reflects(adding_up_to(total)) is expected


def test_a_reflection_counts_importance_not_memories():
    assert not reflects([0.05] * 200)
    assert reflects([1.0] * 16)


def test_reconsolidation_is_due_every_six_hours():
    assert fired(last=6) == {"interval"}
    assert fired(last=5.9) == set()


def test_thresholds_as_the_text_states_them(real_system):
    case = real_system("engram")["adr-refl-1"]
    for total, expected in zip(case["input"]["importance_sums"], case["expected_by_adr_text"], strict=True):
        assert reflects(adding_up_to(total)) is expected


def test_the_number_of_events_of_a_session_decides_nothing(real_system):
    """Ours: the importance since the last reflection, wherever stored; fifteen events of importance 10 are 150."""
    case = real_system("engram")["adr-refl-2"]
    for count in case["input"]["session_event_counts"]:
        assert not reflects([0.4] * count)
    assert not reflects([1.0] * 15)
    assert reflects([1.0] * 15 + [0.1])
