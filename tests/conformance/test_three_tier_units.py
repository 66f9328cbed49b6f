"""Semantic units as the three-tier design clusters memories that are used together.

Its text makes a cluster of each pair; that three memories are one unit where two pairs share one is its own resolution,
and ours.
"""

import frames
from frames import ago
from grouping import grouped

from memory_pipeline.settings import Policy, preset


def strong(weights):
    return [
        {"source": one, "target": other, "edge_type": "COACTIVATED", "co_count": weight, "discovered_at": ago(weight)}
        for (one, other), weight in weights.items()
    ]


def units(weights, **columns):
    names = sorted({name for pair in weights for name in pair})
    memories = frames.memories({"memory_id": name, "content": f"We met {name} in Rome", **columns} for name in names)
    return grouped(memories, Policy(**preset("three_tier")), edges=strong(weights))[1:]


# Our own inputs and numbers


def test_memories_that_share_more_than_three_sessions_are_one_unit_and_stay():
    clusters, made = units({("k", "l"): 4, ("l", "m"): 7, ("m", "n"): 3})
    assert clusters.select("method", "cluster_size", "strength", "first_coactivated_at").rows() == [
        ("coactivation", 3, 7.0, ago(7))
    ]
    (row,) = made.rows(named=True)
    assert row["kind"] == "unit"
    assert row["members"] == ["k", "l", "m"]
    assert not row["supersedes"]
    assert row["memory_type"] == "Context"
    assert row["content"] == "2025-09-23: We met k in Rome. We met l in Rome. We met m in Rome."


# The design's case


def test_units_of_the_design(real_system):
    case = real_system("three_tier")["tt-cluster-1"]
    clusters, made = units({tuple(pair.split("-")): weight for pair, weight in case["input"]["weights"].items()})
    assert sorted(made["members"].to_list()) == case["expected"]["clusters"]
    assert sorted(clusters["strength"].to_list()) == [4.0, 5.0]
    assert case["expected"]["a"] is None
