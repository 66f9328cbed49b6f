"""Clusters as AutoMem finds them.

Two differences are deliberate: what is archived is not live and joins no cluster, and the design's smallest cluster has
five members where the release deployed three (given here).
"""

from datetime import datetime

import frames
import polars as pl
import pytest
from frames import ago
from grouping import grouped

from memory_pipeline.settings import Policy, preset


def clustered(memories, vectors, relevance, **thresholds):
    """Members, dominant type and span of each cluster, and the sentence that stands for it."""
    policy = Policy(**preset("automem") | thresholds)
    _, clusters, made = grouped(memories, policy, vectors=vectors, relevance=relevance)
    columns = ("members", "dominant_type", "temporal_span_days", "kind", "content")
    return made.join(clusters, on=["profile_id", "cluster_id"]).select(columns).sort("members").rows(named=True)


def relevances(rows):
    return pl.DataFrame(rows, schema={"memory_id": pl.String, "stored_relevance": pl.Float64}, orient="row")


# Our own inputs and numbers


def test_the_threshold_is_inclusive_and_unknown_vectors_join_nothing():
    rows = ["a", "b", "c", "zero", "short", "none", "dull"]
    memories = frames.memories(
        {"memory_id": name, "content": f"note {name}", "created_at": ago(10 + index)} for index, name in enumerate(rows)
    )
    vectors = {
        "a": [1.0, 0.0, 0.0],
        "b": [0.75, 0.6614378277661477, 0.0],
        "c": [0.75, -0.6614378277661477, 0.0],
        "zero": [0.0, 0.0, 0.0],
        "short": [1.0, 0.0],
        "dull": [1.0, 0.0, 0.0],
    }
    relevance = relevances([(name, 0.3 if name == "dull" else 0.5) for name in rows])
    (found,) = clustered(memories, vectors, relevance, cluster_min_size=3)
    assert found["members"] == ["a", "b", "c"]
    assert found["dominant_type"] == "Context"
    assert found["temporal_span_days"] == 2.0
    assert found["kind"] == "meta_pattern"
    assert found["content"].startswith("Pattern of 3 memories about note")
    assert clustered(memories, vectors, relevance, cluster_min_size=4) == []


def test_the_dominant_type_is_the_most_frequent_and_ties_are_alphabetical():
    types = {"a": "Insight", "b": "Habit", "c": "Habit", "d": "Insight", "e": "Context"}
    memories = frames.memories(
        {"memory_id": name, "content": f"note {name}", "memory_type": kind} for name, kind in types.items()
    )
    vectors = {name: [1.0, index / 100.0] for index, name in enumerate(types)}
    (found,) = clustered(memories, vectors, relevances([(name, 0.5) for name in types]))
    assert found["dominant_type"] == "Habit"


# The release's cases


@pytest.mark.parametrize(
    ("case_id", "ours"),
    [("automem-16", [["a", "b", "c"]]), ("automem-17", [["a", "b", "c"], ["s", "t", "u"]])],
)
def test_clusters_of_the_release(real_system, case_id, ours):
    """Ours: the archived memory of case 16 is in no cluster."""
    case = real_system("automem")[case_id]
    rows = case["inputs"]["memories"]
    memories = frames.memories(
        {
            "memory_id": row["id"],
            "content": row["content"],
            "memory_type": row["type"] or "Memory",
            "importance_given": row["importance"],
            "confidence": row["confidence"],
            "created_at": datetime.fromisoformat(row["timestamp"]),
            "lifecycle": "archived" if row["archived"] else "active",
        }
        for row in rows
    )
    found = clustered(
        memories,
        {row["id"]: row["embedding"] for row in rows if row["embedding"]},
        relevances([(row["id"], row["relevance_score"]) for row in rows]),
        cluster_similarity=case["inputs"]["similarity_threshold"],
        cluster_min_size=case["inputs"]["min_cluster_size"],
    )
    assert [cluster["members"] for cluster in found] == ours
    archived = {row["id"] for row in rows if row["archived"]}
    for cluster, theirs in zip(found, case["expected"]["clusters"], strict=True):
        assert set(cluster["members"]) == set(theirs["memory_ids"]) - archived
        assert cluster["dominant_type"] == theirs["dominant_type"]
        assert cluster["temporal_span_days"] == theirs["time_span_days"]
