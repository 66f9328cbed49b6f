"""Links of cognitive-memory: made by retrieving two memories together, fading from the first day on."""

import math

import frames
import pytest
import uses
from frames import AS_OF, ago

from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.settings import Policy, preset

COGNITIVE = Policy(**preset("cognitive"))


def decayed(weight, days):
    edge = {"source": "a", "target": "b", "edge_type": "ASSOCIATED", "origin": "decided", "base_weight": weight}
    return associations.decay(frames.edges([edge | {"discovered_at": ago(days)}]), COGNITIVE, as_of=AS_OF)


def retrieved(times):
    """The link of two memories that were retrieved together so often at one instant."""
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}])
    return associations.derive(
        memories,
        frames.enrichment({}, of=memories),
        neighbours.compare(memories, frames.vectors({}, of=memories), COGNITIVE).neighbours,
        uses.accesses([{"ids": ["b", "a"], "at": AS_OF}] * times),
        frames.edges([]),
        COGNITIVE,
        as_of=AS_OF,
    )


@pytest.mark.parametrize(("weight", "days"), [(0.9, 0), (0.9, 45), (0.6, 62), (0.6, 63), (0.4, -2)])
def test_a_link_fades_with_a_lifetime_of_ninety_days(weight, days):
    edges = decayed(weight, days)
    expected = weight * math.exp(-max(days, 0) / 90)
    assert edges["weight"].item() == pytest.approx(expected)
    assert edges.filter(associations.is_usable(COGNITIVE)).height == (expected >= 0.3)


def test_reading_a_link_does_not_fade_it_again():
    edges = decayed(0.6, 20)
    for _ in range(3):
        edges = associations.decay(edges, COGNITIVE, as_of=AS_OF)
    assert edges["weight"].item() == decayed(0.6, 20)["weight"].item()


def test_retrieving_two_memories_together_strengthens_their_link_up_to_one():
    weights = [retrieved(times)["weight"].item() for times in (1, 4, 9, 11)]
    assert weights == pytest.approx([0.1, 0.4, 0.9, 1.0])
    assert retrieved(1).select("source", "target").rows() == [("a", "b")]


def test_links_of_cognitive_memory(real_system):
    """Ours: reading writes nothing back, so every read gives the first; one row stands for both directions."""
    case = real_system("cognitive")["cogmem-23"]
    for (weight, days), expected in zip(case["inputs"]["weights_and_days"], case["expected"]["decayed"], strict=True):
        if days is not None:  # every link of ours has a date
            assert decayed(weight, days)["weight"].item() == pytest.approx(expected, abs=1e-9)
    repeat = case["inputs"]["repeat"]
    edges = decayed(repeat["weight"], repeat["days"])
    for _ in range(repeat["reads"]):
        edges = associations.decay(edges, COGNITIVE, as_of=AS_OF)
        assert edges["weight"].item() == pytest.approx(case["expected"]["repeat"][0], abs=1e-9)
    weights = [retrieved(times)["weight"].item() for times in range(1, case["inputs"]["strengthen_times"] + 1)]
    assert weights == pytest.approx(case["expected"]["strengthened"], abs=1e-9)
    assert weights[-1] == case["expected"]["reverse"]
