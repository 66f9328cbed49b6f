"""Retention, and the stability that recall adds to it, as cognitive-memory computes them."""

import math
from datetime import UTC, datetime, timedelta

import frames
import polars as pl
import pytest
from frames import AS_OF, ago

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset


def retention(rows, curve="exponential", column="retention"):
    memories = frames.memories(rows)
    policy = Policy(**preset("cognitive"), retention_curve=curve)
    result = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="plan")
    return dict(result.select("memory_id", column).rows())


@pytest.mark.parametrize(
    ("category", "days", "expected"),
    [
        ("episodic", 0, 1.0),
        ("episodic", 1, 0.8532265636477703),
        ("episodic", 20, 0.041810692337960705),
        ("episodic", 30, 0.02),
        ("semantic", 1, 0.9422130996789303),
        ("semantic", 20, 0.3040764312848333),
        ("core", 20, 0.6),
        ("procedural", 200, 1.0),
    ],
)
def test_forgetting_curve(category, days, expected):
    row = {"category": category, "last_accessed_at": ago(days), "importance_given": 0.2, "stability_given": 0.1}
    assert retention([row | {"memory_id": "m"}])["m"] == pytest.approx(expected, abs=1e-9)


def test_stability_below_one_hundredth_counts_as_one_hundredth():
    row = {"memory_id": "m", "last_accessed_at": ago(0.5), "importance_given": 0.0, "stability_given": 0.0}
    assert retention([row])["m"] == pytest.approx(math.exp(-0.5 / 0.45), abs=1e-9)


@pytest.mark.parametrize(
    ("category", "days", "expected"),
    [
        ("episodic", 0, 1.0),
        ("episodic", 1, (1 + 1 / 6.3) ** -1.4427),
        ("episodic", 20, (1 + 20 / 6.3) ** -1.4427),
        ("episodic", 90, 0.02),
        ("semantic", 90, (1 + 90 / 16.8) ** -1.4427),
        ("core", 90, 0.6),
        ("procedural", 900, 1.0),
    ],
)
def test_power_curve(category, days, expected):
    row = {"category": category, "last_accessed_at": ago(days), "importance_given": 0.2, "stability_given": 0.1}
    assert retention([row | {"memory_id": "m"}], "power")["m"] == pytest.approx(expected, abs=1e-9)


def events(rows):
    table = TABLES["events"]
    common = {"profile_id": "p", "ordinal": 0, "recorded_at": AS_OF, "memory_id": "m"}
    complete = [
        {"event_id": f"e{index}", "seq": index, "event_type": "memory.accessed", **common, **row}
        for index, row in enumerate(rows, 1)
    ]
    return table.conform(pl.DataFrame(complete, schema=table.empty().schema))


def gain(days, *, expanded):
    """Stability that a memory gains by an access so many days after the one before."""
    start = ago(100)
    stream = events(
        [
            {"event_type": "memory.stored", "content": "note", "occurred_at": start},
            {"occurred_at": start},
            {"occurred_at": start + timedelta(days=days), "expanded": expanded},
        ]
    )
    return projection.project(stream).memories["stability_gain"].item()


@pytest.mark.parametrize(
    ("days", "direct", "expanded"),
    [(0, 0.0, 0.0), (3.5, 0.05, 0.015), (7, 0.1, 0.03), (14, 0.2, 0.06), (99, 0.2, 0.06)],
)
def test_stability_that_an_access_gains(days, direct, expanded):
    assert gain(days, expanded=False) == pytest.approx(direct)
    assert gain(days, expanded=True) == pytest.approx(expanded)


def test_boost_of_the_release(real_system):
    """Release 0.4.0: an associative access counts .03. Promotion to core is tested with promotion."""
    for kind, days, stability, _ in real_system("cognitive")["cogmem-25"]["expected_0_4_0"]["boost"]:
        assert 0.2 + gain(days, expanded=kind == "associative") == pytest.approx(stability, abs=1e-9)


@pytest.mark.parametrize("case_id", ["cogmem-19", "cogmem-20"])
def test_time_at_the_floor_does_not_depend_on_how_often_one_looks(real_system, case_id):
    """Ours: days at the floor are days, not ticks. The memory of the case has lain there for years at any tick."""
    case = real_system("cognitive")[case_id]
    row = case["inputs"]["memories"][0]
    memory = {
        "memory_id": row["id"],
        "importance_given": row["importance"],
        "stability_given": row["stability"],
        "last_accessed_at": instant(row["last_accessed_at"]),
    }
    floored_at = retention([memory], column="floored_at")[row["id"]]
    days = 45 * 0.1 * 1.4 * math.log(50)
    assert floored_at - instant(row["last_accessed_at"]) == pytest.approx(
        timedelta(days=days), abs=timedelta(seconds=1)
    )


def test_power_curve_of_the_release(real_system):
    case = real_system("cognitive")["cogmem-05"]
    found = retention((as_stored(row) for row in case["inputs"]["memories"]), "power")
    assert found == pytest.approx(case["expected"]["retention"], abs=1e-9)


@pytest.mark.parametrize("case_id", ["cogmem-01", "cogmem-02", "cogmem-04"])
def test_retention_of_the_release(real_system, case_id):
    """Ours: a memory without any date cannot be stored, so those rows are left out."""
    case = real_system("cognitive")[case_id]
    expected = case.get("expected_0_4_0", case["expected"])["retention"]
    dated = [row for row in case["inputs"]["memories"] if row["created_at"]]
    found = retention(as_stored(row) for row in dated)
    assert found == pytest.approx({row["id"]: expected[row["id"]] for row in dated}, abs=1e-9)


def as_stored(row):
    return {
        "memory_id": row["id"],
        "category": row["category"],
        "importance_given": row["importance"],
        "stability_given": row["stability"],
        "created_at": instant(row["created_at"]),
        "last_accessed_at": instant(row["last_accessed_at"]),
    }


def instant(text):
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)
