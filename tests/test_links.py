"""Links that a run decides: auto-links, reinforcements and conflicts."""

import math
from datetime import timedelta

import frames
import numpy as np
import polars as pl
import pytest
import uses
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

LINKS = Policy(associations=("auto_link", "co_recall"))
REINFORCES = Policy(associations=("reinforcement",))


def angle(degrees):
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def at_cosine(cosine):
    """A vector of float32 numbers whose cosine to (1, 0) rounds to just that."""
    return [cosine, math.sqrt(1.0 - cosine**2)]


def discover(memories, vectors, *, edges=(), accesses=None, tiers=None, changes=None, policy=LINKS, as_of=AS_OF):
    return associations.discover(
        memories,
        memories.select("profile_id", "memory_id", relevance=pl.lit(0.5)),
        frames.edges(edges) if not isinstance(edges, pl.DataFrame) else edges,
        frames.vectors(vectors, of=memories),
        neighbours.compare(memories, frames.vectors(vectors, of=memories), policy).neighbours,
        uses.accesses([]) if accesses is None else accesses,
        uses.risen({}) if tiers is None else tiers,
        TABLES["fact_changes"].empty() if changes is None else changes,
        policy,
        as_of=as_of,
        plan_id="plan",
    )


def ends(edges):
    return edges.select("source", "target").rows()


def aging(*names, **columns):
    """Memories created one day after the other, the last one a day ago."""
    count = len(names)
    return frames.memories(
        [{"memory_id": name, "created_at": ago(count - place), **columns} for place, name in enumerate(names)]
    )


# Auto-links


def test_a_memory_is_linked_to_those_before_it_from_the_threshold_on():
    cosines = {"near": 0.8, "edge": 0.7, "far": 0.69, "none": 0.0}
    memories = aging(*cosines, "new")
    found = discover(memories, {name: at_cosine(cosine) for name, cosine in cosines.items()} | {"new": [1.0, 0.0]})
    mine = found.filter((pl.col("source") == "new") | (pl.col("target") == "new")).sort("weight")
    assert ends(mine) == [("edge", "new"), ("near", "new")]
    assert mine["weight"].to_list() == pytest.approx([0.7, 0.8])
    assert mine["similarity"].cast(pl.Float64).to_list() == mine["weight"].to_list()


def test_a_link_dates_from_the_later_memory_and_is_decided_by_its_plan():
    edge = discover(aging("a", "b"), {"a": [1.0], "b": [1.0]}).row(0, named=True)
    assert (edge["edge_type"], edge["algorithm"], edge["origin"], edge["plan_id"]) == (
        "ASSOCIATED",
        "auto_link",
        "decided",
        "plan",
    )
    assert edge["discovered_at"] == edge["last_strengthened_at"] == ago(1)
    assert edge["weight"] == edge["base_weight"] == 1.0


@pytest.mark.parametrize("most", [None, 10])
def test_each_memory_is_linked_to_its_nearest_older_ones(most):
    names = [f"o{place:02}" for place in range(15)]
    memories, policy = aging(*names, "z"), LINKS.model_copy(update={"auto_link_neighbours": most} if most else {})
    vectors = {name: angle(place) for place, name in enumerate(names)} | {"z": angle(0)}
    found, count = discover(memories, vectors, policy=policy), most or 3
    assert [one for one, other in ends(found) if other == "z"] == names[:count]
    assert [one for one, other in ends(found) if other == "o14"] == names[14 - count : 14]


def test_of_equally_near_ones_the_oldest_are_linked():
    memories = aging("z", "y", "x", "new")
    policy = LINKS.model_copy(update={"auto_link_neighbours": 2})
    found = discover(memories, {name: [1.0] for name in ("z", "y", "x", "new")}, policy=policy)
    assert [pair for pair in ends(found) if "new" in pair] == [("new", "y"), ("new", "z")]


def test_summaries_are_linked_too_but_not_to_their_members():
    memories = aging("a", "b", "c", "s").with_columns(
        kind=pl.when(memory_id="s").then(pl.lit("episode")).otherwise("kind")
    )
    members = [{"source": "s", "target": name, "edge_type": "SUMMARIZES", "origin": "decided"} for name in "ab"]
    vectors = {"a": angle(0), "b": angle(90), "c": angle(45), "s": angle(44)}
    assert ends(discover(memories, vectors, edges=members)) == [("a", "c"), ("b", "c"), ("c", "s")]


@pytest.mark.parametrize("vector", [None, [0.0, 0.0], [1.0, 0.0, 0.0]])
@pytest.mark.parametrize("policy", [LINKS, REINFORCES])
def test_no_link_rests_on_an_unknown_cosine(vector, policy):
    memories = aging("a", "b", "c")
    vectors = {"a": angle(0), "b": angle(1)} | ({"c": vector} if vector else {})
    tiers = uses.risen({"a": ago(9), "b": ago(9)})
    assert {frozenset(pair) for pair in ends(discover(memories, vectors, tiers=tiers, policy=policy))} == {
        frozenset("ab")
    }


def test_only_live_memories_of_one_profile_are_linked():
    rows = [{"memory_id": "a"}, {"memory_id": "b", "profile_id": "q"}, {"memory_id": "c", "lifecycle": "archived"}]
    memories = frames.memories(rows)
    assert discover(memories, {name: [1.0] for name in "abc"}).is_empty()


@pytest.mark.parametrize("origin", ["asserted", "decided"])
@pytest.mark.parametrize("pair", ["ab", "ba"])
def test_a_pair_that_has_such_a_link_gets_no_second_one(origin, pair):
    memories = aging("a", "b")
    edges = [{"source": pair[0], "target": pair[1], "edge_type": "ASSOCIATED", "origin": origin}]
    assert discover(memories, {"a": [1.0], "b": [1.0]}, edges=edges).is_empty()
    other = [edges[0] | change for change in ({"edge_type": "DISCOVERED"}, {"profile_id": "q"}, {"origin": "derived"})]
    assert len(discover(memories, {"a": [1.0], "b": [1.0]}, edges=other)) == 1


def test_a_link_that_has_faded_is_not_proposed_unless_it_was_recalled():
    memories = frames.memories([{"memory_id": name, "created_at": ago(400)} for name in "ab"])
    vectors = {"a": [1.0], "b": [1.0]}
    assert discover(memories, vectors).is_empty()
    accesses = uses.accesses([{"ids": ["a", "b"], "at": ago(1)}])
    edges = discover(memories, vectors, accesses=accesses)
    assert edges["weight"].to_list() == [1.0]
    now = associations.strengthen(edges, accesses, LINKS, as_of=AS_OF)
    assert now["weight"].to_list() == pytest.approx([math.exp(-3.99) + 0.05])


# Runs at any cadence come to the same links


@st.composite
def stores(draw):
    """Up to eight memories with directions, and answers that recalled some of them."""
    created = draw(st.lists(st.integers(0, 500), min_size=2, max_size=8))
    memories = frames.memories(
        [{"memory_id": f"m{place}", "created_at": ago(days)} for place, days in enumerate(created)]
    )
    vectors = {name: angle(draw(st.integers(0, 60))) for name in memories["memory_id"]}
    answers = draw(st.lists(st.tuples(st.lists(st.sampled_from(memories["memory_id"].to_list())), st.integers(0, 500))))
    born = dict(memories.select("memory_id", "created_at").rows())
    events = [
        {"ids": [name for name in dict.fromkeys(ids) if born[name] <= ago(days)], "at": ago(days)}
        for ids, days in answers
    ]
    return memories, vectors, uses.accesses(events)


def run(memories, vectors, accesses, decided, policy, as_of):
    """One run: what it decides is added, what has faded is pruned. Returns decided edges as the ledger holds them."""
    known, used = memories.filter(pl.col("created_at") <= as_of), accesses.filter(pl.col("at") <= as_of)
    proposed = discover(known, vectors, edges=decided, accesses=used, policy=policy, as_of=as_of)
    standing = associations.strengthen(decided, used, policy, as_of=as_of)
    gone = associations.faded(associations.decay(standing, policy, as_of=as_of), policy)
    kept = decided.join(gone, on=TABLES["decided_edges"].key, how="anti")
    return TABLES["decided_edges"].conform(pl.concat([kept, proposed]))


@given(stores(), st.lists(st.integers(0, 500), max_size=5), st.sampled_from([2, 10]))
def test_any_cadence_of_runs_drains_to_the_same_links(store, runs, neighbours):
    memories, vectors, accesses = store
    policy = LINKS.model_copy(update={"auto_link_neighbours": neighbours})
    decided = frames.edges([])
    for days in sorted(runs, reverse=True):
        decided = run(memories, vectors, accesses, decided, policy, AS_OF - timedelta(days=days))
    often = run(memories, vectors, accesses, decided, policy, AS_OF)
    once = run(memories, vectors, accesses, frames.edges([]), policy, AS_OF)
    assert_frame_equal(often, once, check_exact=True)
    assert_frame_equal(run(memories, vectors, accesses, once, policy, AS_OF), once, check_exact=True)


@given(stores(), st.randoms())
def test_order_of_rows_and_other_profiles_change_no_link(store, random):
    memories, vectors, accesses = store
    policy = Policy(associations=("auto_link", "reinforcement", "co_recall"))
    tiers = uses.risen({"m0": ago(450), "m1": ago(100)})
    foreign = [frame.with_columns(profile_id=pl.lit("q")) for frame in (memories, accesses)]
    order = list(range(2 * len(memories)))
    random.shuffle(order)
    mixed = discover(
        pl.concat([memories, foreign[0]])[order],
        vectors,
        accesses=pl.concat([accesses, foreign[1]])[::-1],
        tiers=pl.concat([tiers, tiers.with_columns(profile_id=pl.lit("q"))]),
        policy=policy,
    )
    alone = discover(memories, vectors, accesses=accesses, tiers=tiers, policy=policy)
    assert_frame_equal(mixed.filter(profile_id="p"), alone, check_exact=True)
    assert TABLES["proposed_edges"].violations(mixed).is_empty()


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_links_are_those_of_a_search_by_hand(seed, neighbours):
    rng = np.random.Generator(np.random.PCG64(seed))
    names = [f"m{place:02}" for place in range(14)]
    points = rng.normal(size=(14, 3)).astype(np.float32)
    days = rng.integers(1, 5, 14)
    memories = frames.memories(
        [{"memory_id": name, "created_at": ago(int(day))} for name, day in zip(names, days, strict=True)]
    )
    policy = LINKS.model_copy(update={"auto_link_neighbours": neighbours})
    order = sorted(range(14), key=lambda place: (-days[place], names[place]))
    units = points.astype(np.float64) / np.linalg.norm(points.astype(np.float64), axis=1)[:, None]
    expected = set()
    for rank, new in enumerate(order):
        near = [(float(units[new] @ units[old]), old) for old in order[:rank]]
        best = sorted((pair for pair in near if pair[0] >= 0.7), reverse=True)[:neighbours]
        expected |= {tuple(sorted((names[new], names[old]))) for _, old in best}
    assert set(ends(discover(memories, dict(zip(names, points.tolist(), strict=True)), policy=policy))) == expected


# Reinforcement


def test_a_new_memory_reinforces_an_older_one_of_a_higher_tier():
    memories = aging("short", "long", "working", "exact", "late", "new")
    cosines = {"short": 0.8, "long": 0.71, "working": 0.99, "exact": 0.7, "late": 0.9}
    tiers = pl.concat(
        [
            uses.risen({"short": ago(2), "exact": ago(2), "late": ago(0.5)}),
            uses.risen({"long": ago(1)}, tier="long_term"),
        ]
    )
    vectors = {name: at_cosine(cosine) for name, cosine in cosines.items()} | {"new": [1.0, 0.0]}
    found = discover(memories, vectors, tiers=tiers, policy=REINFORCES)
    assert ends(found.filter(pl.col("source") == "new")) == [("new", "long"), ("new", "short")]
    assert ends(found) == ends(found.filter(pl.col("source").is_in(["new", "late"])))
    edge = found.filter(source="new", target="short").row(0, named=True)
    assert (edge["edge_type"], edge["algorithm"]) == ("REINFORCES", "reinforcement")
    assert edge["weight"] == edge["similarity"] == pytest.approx(0.8)
    assert edge["discovered_at"] == ago(1)


def test_a_pair_is_reinforced_once_and_in_one_direction():
    memories, vectors = aging("a", "b"), {"a": [1.0], "b": [1.0]}
    tiers = uses.risen({"a": ago(2), "b": ago(1.5)})
    found = discover(memories, vectors, tiers=tiers, policy=REINFORCES)
    assert ends(found) == [("b", "a")]
    assert discover(memories, vectors, edges=found, tiers=tiers, policy=REINFORCES).is_empty()


def test_a_summary_reinforces_nothing():
    memories = aging("a", "s").with_columns(kind=pl.when(memory_id="s").then(pl.lit("episode")).otherwise("kind"))
    tiers = uses.risen({"a": ago(2)})
    assert discover(memories, {"a": [1.0], "s": [1.0]}, tiers=tiers, policy=REINFORCES).is_empty()


def test_a_tier_in_another_profile_counts_for_nothing():
    tiers = uses.risen({"a": ago(2)}).with_columns(profile_id=pl.lit("q"))
    assert discover(aging("a", "b"), {"a": [1.0], "b": [1.0]}, tiers=tiers, policy=REINFORCES).is_empty()


# Conflicts


def test_a_conflict_of_facts_is_a_contradiction_and_an_update_is_none():
    memories = aging("b", "a")
    none = Policy(associations=())
    edge = discover(memories, {}, changes=uses.changed("b", "a", "conflict"), policy=none).row(0, named=True)
    assert (edge["source"], edge["target"], edge["edge_type"], edge["kind"]) == ("a", "b", "CONTRADICTS", "conflict")
    assert (edge["weight"], edge["confidence"]) == (1.0, None)
    assert edge["similarity"] == pytest.approx(0.9)
    assert edge["discovered_at"] == ago(1)
    assert discover(memories, {}, changes=uses.changed("b", "a", "update"), policy=none).is_empty()


def test_a_conflict_that_is_known_is_not_proposed_again():
    changes = uses.changed("a", "b", "conflict", similarity=None)
    memories = aging("a", "b")
    found = discover(memories, {}, changes=changes)
    assert found["similarity"].to_list() == [None]
    assert discover(memories, {}, edges=found, changes=changes).is_empty()


def test_a_conflict_goes_before_a_contrast():
    memories = aging("a", "b", memory_type="Decision")
    policy = Policy(associations=("creative",), creative_contrast=True)
    vectors = {"a": angle(0), "b": angle(90)}
    assert discover(memories, vectors, policy=policy)["kind"].to_list() == ["contrast"]
    changes = uses.changed("a", "b", "conflict")
    assert discover(memories, vectors, changes=changes, policy=policy)["kind"].to_list() == ["conflict"]


def test_an_empty_store_proposes_nothing():
    assert discover(frames.memories([]), {}, policy=Policy()).is_empty()
