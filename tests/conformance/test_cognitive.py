"""Retention as cognitive-memory computes it."""

import math
from datetime import UTC, datetime

import frames
import pytest
from frames import AS_OF, ago

from memory_pipeline.consolidation import scoring
from memory_pipeline.settings import Policy


def retention(rows):
    memories = frames.memories(rows)
    result = scoring.score(
        memories, frames.importance(memories), frames.edges([]), Policy(), as_of=AS_OF, plan_id="plan"
    )
    return dict(result.select("memory_id", "retention").rows())


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


@pytest.mark.parametrize("case_id", ["cogmem-01", "cogmem-02", "cogmem-04"])
def test_retention_of_the_release(real_system, case_id):
    """Ours: a memory without any date cannot be stored, so those rows are left out."""
    case = real_system("cognitive")[case_id]
    expected = case.get("expected_0_4_0", case["expected"])["retention"]
    dated = [row for row in case["inputs"]["memories"] if row["created_at"]]
    found = retention(
        {
            "memory_id": row["id"],
            "category": row["category"],
            "importance_given": row["importance"],
            "stability_given": row["stability"],
            "created_at": instant(row["created_at"]),
            "last_accessed_at": instant(row["last_accessed_at"]),
        }
        for row in dated
    )
    assert found == pytest.approx({row["id"]: expected[row["id"]] for row in dated}, abs=1e-9)


def instant(text):
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)
