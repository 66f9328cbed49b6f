"""Co-activation and reinforcement as the three-tier design states them."""

import math

import frames
import polars as pl
import pytest
import uses
from frames import AS_OF, ago

from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

THREE_TIER = Policy(**preset("three_tier"))
TIERS = {"shortTerm": "short_term", "longTerm": "long_term"}


def counts(sessions):
    """Common sessions of each pair, as `a-b`."""
    names = sorted({name for ids in sessions.values() for name in ids})
    memories = frames.memories([{"memory_id": name} for name in names])
    edges = associations.derive(
        memories,
        frames.enrichment({}, of=memories),
        neighbours.compare(memories, frames.vectors({}, of=memories), THREE_TIER).neighbours,
        uses.accesses({"session": session, "ids": [name]} for session, ids in sessions.items() for name in ids),
        frames.edges([]),
        THREE_TIER,
        as_of=AS_OF,
    ).filter(edge_type="COACTIVATED")
    return {f"{one}-{other}": count for one, other, count in edges.select("source", "target", "co_count").rows()}


def reinforced(old, edges=()):
    """What a new memory reinforces of old ones (tier, cosine): similarity by id. The old ones are unlike each other."""
    rows = [{"memory_id": name, "created_at": ago(9)} for name in old]
    memories = frames.memories([*rows, {"memory_id": "n", "created_at": ago(1)}])
    size = len(old) + 1
    vectors = {"n": [1.0] + [0.0] * (size - 1)}
    for index, (name, (_, cosine)) in enumerate(old.items(), start=1):
        vectors[name] = [cosine] + [math.sqrt(1.0 - cosine**2) * (at == index) for at in range(1, size)]
    risen = [uses.risen({name: ago(2)}, tier=TIERS[tier]) for name, (tier, _) in old.items() if tier in TIERS]
    found = associations.discover(
        memories,
        memories.select("profile_id", "memory_id", relevance=pl.lit(0.5)),
        frames.edges(edges),
        frames.vectors(vectors, of=memories),
        neighbours.compare(memories, frames.vectors(vectors, of=memories), THREE_TIER).neighbours,
        uses.accesses([]),
        pl.concat([uses.risen({}), *risen]),
        TABLES["fact_changes"].empty(),
        THREE_TIER,
        as_of=AS_OF,
        plan_id="plan",
    )
    assert set(found["edge_type"]) <= {"REINFORCES"}
    return dict(found.filter(source="n").select("target", "weight").rows())


def test_pairs_count_their_common_sessions():
    assert counts({"s": "xy", "t": "yxz", "u": "y"}) == {"x-y": 2, "x-z": 1, "y-z": 1}


def test_what_is_alike_and_of_a_higher_tier_is_reinforced():
    old = {"a": ("shortTerm", 0.75), "b": ("longTerm", 0.7), "c": ("working", 0.9), "d": ("longTerm", 0.95)}
    assert reinforced(old) == {"a": pytest.approx(0.75), "d": pytest.approx(0.95)}


def test_a_pair_is_reinforced_once():
    edge = {"source": "n", "target": "a", "edge_type": "REINFORCES", "origin": "decided"}
    assert reinforced({"a": ("shortTerm", 0.75)}, [edge]) == {}


def test_coactivation_of_the_design(real_system):
    case = real_system("three_tier")["tt-coact-1"]
    assert counts(case["input"]["sessions"]) == case["expected"]


def test_reinforcement_of_the_design(real_system):
    case = real_system("three_tier")["tt-reinf-1"]
    found = reinforced({row["id"]: (row["tier"], row["sim"]) for row in case["input"]["old"]})
    assert [f"n->{name} strength {weight:.2g}".replace("0.", ".") for name, weight in found.items()] == (
        case["expected"]["edges"]
    )
    assert found == {"o1": pytest.approx(0.8), "o4": pytest.approx(0.71)}
