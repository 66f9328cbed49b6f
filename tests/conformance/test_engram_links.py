"""Similarity edges as ADR-0008 prunes them once their memories are no longer new."""

import math

import frames
import pytest
import uses
from frames import AS_OF, ago

from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.settings import Policy, preset

ENGRAM = Policy(**(preset("engram") | {"similar_to_threshold": 0.5}))


def kept(cosine, *hours):
    """Whether two memories of these ages and this cosine are joined by SIMILAR_TO."""
    memories = frames.memories(
        [{"memory_id": name, "created_at": ago(hours=age)} for name, age in zip("ab", hours, strict=True)]
    )
    edges = associations.derive(
        memories,
        frames.enrichment({}, of=memories),
        neighbours.compare(
            memories, frames.vectors({"a": [1.0, 0.0], "b": [cosine, math.sqrt(1.0 - cosine**2)]}, of=memories), ENGRAM
        ).neighbours,
        uses.accesses([]),
        frames.edges([]),
        ENGRAM,
        as_of=AS_OF,
    )
    return not edges.is_empty()


@pytest.mark.parametrize(
    ("cosine", "hours", "expected"), [(0.65, (2, 20), True), (0.65, (2, 30), False), (0.75, (30, 150), True)]
)
def test_a_day_prunes_weak_similarity(cosine, hours, expected):
    assert kept(cosine, *hours) is expected


def test_edges_of_the_design(real_system):
    case = real_system("engram")["adr-prune-1"]
    rows = case["input"]["events"]
    gone = [row["id"] for row in rows if not kept(row["similarity"], row["age_hours"], row["age_hours"])]
    assert gone == case["expected"]["delete_edges"]
