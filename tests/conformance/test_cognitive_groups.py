"""Consolidation of fading memories as cognitive-memory does it.

Two differences are deliberate: memories take their turns by age and id, where the engine goes by the order in which its
store lists them; and the text of a group tells its members in order of time, where the engine begins with the one that
took the others.
"""

from datetime import UTC, datetime, timedelta

import frames
import pytest
from frames import ago
from grouping import grouped

from memory_pipeline.settings import Policy, preset


def consolidated(memories, vectors, **thresholds):
    """Scored memories, members of each group in the order of age, and the summaries."""
    scored, _, made = grouped(memories, Policy(**preset("cognitive") | thresholds), vectors=vectors)
    return scored, sorted(made["members"].to_list()), made


def faded(*names, **columns):
    """Memories last used 20 days ago, one second younger each: retention is at .04."""
    rows = (
        {
            "memory_id": name,
            "content": f"note {name}",
            "importance_given": 0.2,
            "stability_given": 0.1,
            "created_at": ago(60) + timedelta(seconds=index),
            "last_accessed_at": ago(20),
            **columns,
        }
        for index, name in enumerate(names)
    )
    return frames.memories(rows)


# Our own inputs and numbers


def test_five_fading_memories_become_one():
    memories = faded("e", "d", "c", "b", "a", "f")
    scored, groups, made = consolidated(memories, {name: [1.0, 0.0] for name in "abcdef"})
    assert scored["retention"].max() == pytest.approx(0.041810692337960705)
    assert groups == [["a", "b", "c", "d", "e"]]
    (row,) = made.rows(named=True)
    assert row["kind"] == "consolidation"
    assert row["supersedes"]
    assert row["content"] == "Summary: note e | note d | note c | note b | note a"
    assert row["compiled_by"] == "rules"
    assert row["fallback"] is None


def test_a_retention_of_one_fifth_is_not_yet_fading():
    """exp(-days / 6.3) with importance .2: below .2 after 10.14 days."""
    vectors = {name: [1.0, 0.0] for name in "abcde"}
    assert consolidated(faded(*"abcde", last_accessed_at=ago(10.13)), vectors)[1] == []
    assert len(consolidated(faded(*"abcde", last_accessed_at=ago(10.15)), vectors)[1]) == 1


def test_what_a_consolidation_inherits():
    memories = frames.memories(
        {
            "memory_id": f"m{index}",
            "content": f"note {index}",
            "importance_given": 0.1 * index,
            "stability_given": 0.02 * index,
            "access_count": 9 - index,
            "confidence": 0.5 + 0.1 * index,
            "category": "semantic",
            "last_accessed_at": ago(300),
        }
        for index in range(5)
    )
    _, _, made = consolidated(memories, {f"m{index}": [1.0, 0.0] for index in range(5)})
    (row,) = made.rows(named=True)
    assert (row["importance"], row["access_count"], row["confidence"], row["category"]) == (0.4, 9, 0.5, "semantic")
    assert row["stability"] == pytest.approx(0.04)


# The engine's cases

CASES = {
    "cogmem-07": [],
    "cogmem-08": [[f"a{place:02}" for place in range(5)], [f"a{place:02}" for place in range(5, 10)]],
    "cogmem-10": [["seed", "x0", "x1", "x2", "x3"]],
    "cogmem-11": [["c", "n40", "n44", "p40", "p44"]],
    "cogmem-13": [["far0", "far1", "far2", "near0", "near1"]],
    "cogmem-14": [["a", "b", "c", "d", "e"]],
    "cogmem-16": [["a", "b", "d"], ["c", "e", "f"]],
}
"""Groups by age and id where all are of one age."""


def told(case, *, listed):
    """The memories of a case; if `listed`, a microsecond younger each, so that age says what their order said."""
    return frames.memories(
        {
            "memory_id": row["id"],
            "content": row["content"],
            "category": row["category"],
            "importance_given": row["importance"],
            "stability_given": row["stability"],
            "access_count": row["access_count"],
            "created_at": instant(row["created_at"]) + timedelta(microseconds=index * listed),
            "last_accessed_at": instant(row["last_accessed_at"]),
        }
        for index, row in enumerate(case["inputs"]["memories"])
    )


def instant(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def tuned(case):
    names = {
        "consolidation_group_size": "fading_size",
        "consolidation_similarity_threshold": "fading_similarity",
        "consolidation_retention_threshold": "fading_retention",
    }
    return {names[name]: value for name, value in case["inputs"]["config"].items()}


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_groups_of_the_engine_where_age_follows_its_order(real_system, case_id):
    case = real_system("cognitive")[case_id]
    vectors = {row["id"]: row["embedding"] for row in case["inputs"]["memories"]}
    scored, groups, made = consolidated(told(case, listed=True), vectors, **tuned(case))
    policy = Policy(**preset("cognitive") | tuned(case))
    fading = scored.filter(scored["retention"] < policy.fading_retention)
    core = {row["id"] for row in case["inputs"]["memories"] if row["category"] == "core"}
    assert set(fading["memory_id"]) - core == set(case["expected"]["fading_before"])
    assert groups == sorted(sorted(group) for group in case["expected"]["groups"])
    assert sorted(name for members in groups for name in members) == sorted(case["expected"]["superseded"])
    assert made["supersedes"].all()
    assert policy.superseded_lifecycle == "cold"


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_groups_of_the_engine_by_age_and_id(real_system, case_id):
    case = real_system("cognitive")[case_id]
    vectors = {row["id"]: row["embedding"] for row in case["inputs"]["memories"]}
    _, groups, _ = consolidated(told(case, listed=False), vectors, **tuned(case))
    assert groups == CASES[case_id]


def test_the_summary_of_the_engine(real_system):
    """Ours takes the most frequent type of its members and the earliest start of their validity as well."""
    case = real_system("cognitive")["cogmem-17"]
    vectors = {row["id"]: row["embedding"] for row in case["inputs"]["memories"]}
    _, groups, made = consolidated(told(case, listed=False), vectors)
    (row,), (theirs,) = made.rows(named=True), case["expected"]["summaries"]
    assert groups == case["expected"]["groups"]
    for name in ("content", "category", "importance", "access_count", "members", "valid_until"):
        assert row[name] == theirs[name]
    assert row["stability"] == pytest.approx(theirs["stability"])
