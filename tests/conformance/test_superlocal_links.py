"""Links of SuperLocalMemory: how they decay, and which a new memory gets."""

import math
import re
from datetime import timedelta

import frames
import polars as pl
import pytest
import uses
from frames import AS_OF, ago

from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

SUPERLOCAL = Policy(**preset("superlocal"))


def linked(rows):
    """Decided links of `a`: (other end, weight, days old, days since it was strengthened)."""
    return frames.edges(
        {
            "source": "a",
            "target": target,
            "edge_type": "ASSOCIATED",
            "origin": "decided",
            "base_weight": weight,
            "discovered_at": ago(age),
            "last_strengthened_at": ago(idle),
        }
        for target, weight, age, idle in rows
    )


def decayed(edges, as_of=AS_OF):
    """Weights by target after one run; null where the link is pruned."""
    now = associations.decay(edges, SUPERLOCAL, as_of=as_of)
    gone = set(associations.faded(now, SUPERLOCAL)["target"])
    return {target: None if target in gone else weight for target, weight in now.select("target", "weight").rows()}


def discover(memories, vectors):
    return associations.discover(
        memories,
        memories.select("profile_id", "memory_id", relevance=pl.lit(0.5)),
        frames.edges([]),
        frames.vectors(vectors, of=memories),
        neighbours.compare(memories, frames.vectors(vectors, of=memories), SUPERLOCAL).neighbours,
        uses.accesses([]),
        uses.risen({}),
        TABLES["fact_changes"].empty(),
        SUPERLOCAL,
        as_of=AS_OF,
        plan_id="plan",
    )


def to_new(old, new="n"):
    """Links that a memory gets to older ones, which have these cosines to it and are at right angles otherwise."""
    rows = [{"memory_id": name, "created_at": ago(5)} for name in old]
    memories = frames.memories([*rows, {"memory_id": new, "created_at": ago(1)}])
    size = len(old) + 1
    vectors = {new: [1.0] + [0.0] * (size - 1)}
    for index, (name, cosine) in enumerate(old.items(), start=1):
        vectors[name] = [cosine] + [
            math.sqrt(max(0.0, 1.0 - cosine**2)) if at == index else 0.0 for at in range(1, size)
        ]
    found = discover(memories, vectors)
    mine = found.filter((pl.col("source") == new) | (pl.col("target") == new))
    other = pl.when(pl.col("source") == new).then("target").otherwise("source")
    return dict(mine.select(other.alias("other"), "weight").rows())


# Our own inputs and numbers


@pytest.mark.parametrize(
    ("weight", "idle", "expected"),
    [
        (0.6, 29.9, 0.6),
        (0.6, 30, 0.44449093),
        (0.6, 90, 0.24394180),
        (0.055, 9, 0.055),
        (0.07, 34, None),
        (1, 300, None),
    ],
)
def test_an_idle_link_decays_by_its_real_idle_time(weight, idle, expected):
    found = decayed(linked([("b", weight, 400, idle)]))["b"]
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_second_run_decays_nothing_again():
    edges = linked([("b", 0.6, 90, 90)])
    assert decayed(associations.decay(edges, SUPERLOCAL, as_of=AS_OF)) == decayed(edges)
    often = edges
    for days in range(90, -1, -1):
        often = associations.decay(often, SUPERLOCAL, as_of=AS_OF - timedelta(days=days))
    assert decayed(often) == decayed(edges)


def test_a_new_memory_is_linked_to_what_is_near():
    assert to_new({"same": 1.0, "near": 0.75, "just": 0.71, "far": 0.65}) == {
        "same": 1.0,
        "near": pytest.approx(0.75),
        "just": pytest.approx(0.71),
    }


def test_no_link_leads_to_another_profile():
    memories = frames.memories([{"memory_id": "n"}, {"memory_id": "x", "profile_id": "q"}])
    assert discover(memories, {"n": [1.0], "x": [1.0]}).is_empty()


def test_ten_links_are_the_most():
    assert len(to_new({f"o{index:02}": 0.99 - index / 100 for index in range(13)})) == 10


def test_recalling_both_ends_adds_a_twentieth():
    edges = linked([("b", 0.7, 20, 20)])
    accesses = uses.accesses([{"ids": ["a", "b"], "at": ago(day)} for day in (9, 3)])
    found = associations.strengthen(edges, accesses, SUPERLOCAL, as_of=AS_OF)
    assert found["weight"].to_list() == pytest.approx([0.8])


# What SuperLocalMemory itself does, read from its cases


def given(text):
    """A link as the cases describe it: weight, days old, and days since it was strengthened if it was."""
    weight, age, *idle = (float(number) for number in re.findall(r"\d*\.\d+|\d+", text))
    return weight, age, idle[0] if idle else age


@pytest.mark.parametrize("runs", [1, 2])
def test_decay_of_idle_links(real_system, runs):
    """Ours, and the wiki's: by the real idle time and from the base, so a second run changes nothing (slm-decay-2)."""
    cases = real_system("superlocal")
    case = cases["slm-decay-1"]
    edges = linked((name[-1], *given(text)) for name, text in case["input"]["edges"].items())
    for _ in range(runs - 1):
        edges = associations.decay(edges, SUPERLOCAL, as_of=AS_OF)
    expected = {name[-1]: value for name, value in case["expected_by_wiki"].items()}
    assert decayed(edges) == {
        name: None if isinstance(value, str) else pytest.approx(value, abs=1e-6) for name, value in expected.items()
    }
    assert decayed(edges)["b"] == pytest.approx(cases["slm-decay-2"]["expected_by_wiki"]["a-b"], abs=1e-6)


def test_links_of_a_new_fact(real_system):
    """Ours, and the wiki's: none to another profile. The weight is the cosine, not rounded."""
    case = real_system("superlocal")["slm-link-1"]
    cosines = {name: cosine for name, cosine in case["input"]["cosines"].items() if "another profile" not in name}
    found = to_new(cosines)
    assert sorted(found) == case["expected_by_wiki"]["linked"]
    assert found == {name: pytest.approx(cosines[name]) for name in found}
    foreign = frames.memories([{"memory_id": "n"}, {"memory_id": "x-other", "profile_id": "other"}])
    assert discover(foreign, {"n": [1.0], "x-other": [1.0]}).is_empty()


def test_most_links_of_a_new_fact(real_system):
    case = real_system("superlocal")["slm-link-2"]
    similar = {f"o{index:02}": 0.9 for index in range(case["input"]["similar_facts"])}
    assert len(to_new(similar)) == case["expected_by_wiki"]["links"]


def test_the_link_after_two_runs_is_the_link_after_one(real_system):
    """Ours: the weight of 60 idle days, which SuperLocalMemory reaches by its second run of 30 days each."""
    case = real_system("superlocal")["slm-idem-1"]
    weight, age = case["input"]["association_edge"]["hot-cool"]
    edges = linked([("cool", weight, *[float(age.split()[0])] * 2)])
    once = associations.decay(edges, SUPERLOCAL, as_of=AS_OF)
    assert decayed(once) == decayed(edges)
    assert decayed(edges)["cool"] == pytest.approx(case["expected_by_code"]["after_run_2"]["edge"], abs=1e-4)
