"""How recalling two memories together strengthens their link, and how it fades in between."""

import math
from datetime import timedelta

import frames
import polars as pl
import pytest
import uses
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.edges import associations, co_recall, neighbours
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

TEXTLESS = {"similar_edges": False, "reference_edges": False}
IDLE = Policy(associations=("co_recall",), co_recall_gain=0.05, **TEXTLESS)
LIFETIME = Policy(associations=("co_recall",), co_recall_gain=0.1, link_lifetime_days=90, **TEXTLESS)


def link(**columns):
    defaults = {"source": "a", "target": "b", "edge_type": "ASSOCIATED", "origin": "decided", "base_weight": 0.7}
    return frames.edges([defaults | {"discovered_at": ago(100)} | columns])


def recalled(*days, ids=("a", "b"), **columns):
    return uses.accesses({"ids": list(ids), "at": ago(day), **columns} for day in days)


def present(edges, accesses, policy=IDLE, as_of=AS_OF):
    return associations.decay(associations.strengthen(edges, accesses, policy, as_of=as_of), policy, as_of=as_of)


def alone(accesses, *, names="ab", decided=None, policy=LIFETIME, as_of=AS_OF):
    """Links that recalls alone have made."""
    memories = frames.memories([{"memory_id": name} for name in names])
    return associations.derive(
        memories,
        frames.enrichment({}, of=memories),
        neighbours.compare(memories, frames.vectors({}, of=memories), policy).neighbours,
        accesses,
        frames.edges([]) if decided is None else decided,
        policy,
        as_of=as_of,
    )


# What a recall does to a link that there is


def test_a_recall_adds_to_the_weight_of_that_instant():
    edge = associations.strengthen(link(), recalled(20), IDLE, as_of=AS_OF).row(0, named=True)
    assert edge["base_weight"] == edge["weight"] == pytest.approx(0.7 * math.exp(-0.8) + 0.05)
    assert edge["last_strengthened_at"] == ago(20)
    assert edge["discovered_at"] == ago(100)
    assert edge["co_count"] == 1


def test_recalls_less_than_thirty_days_apart_add_up_to_at_most_one():
    edge = associations.strengthen(link(), recalled(*range(99, 89, -1)), IDLE, as_of=AS_OF).row(0, named=True)
    assert edge["base_weight"] == 1.0
    assert edge["co_count"] == 10
    few = associations.strengthen(link(), recalled(99, 98), IDLE, as_of=AS_OF)
    assert few["base_weight"].item() == pytest.approx(0.8)


def test_with_a_lifetime_a_link_fades_from_the_first_day_on():
    weights = [associations.decay(link(), LIFETIME, as_of=ago(100 - days))["weight"].item() for days in (0, 1, 90)]
    assert weights == pytest.approx([0.7, 0.7 * math.exp(-1 / 90), 0.7 * math.exp(-1)])
    strengthened = present(link(), recalled(10), LIFETIME)["weight"].item()
    assert strengthened == pytest.approx((0.7 * math.exp(-1) + 0.1) * math.exp(-1 / 9))


def test_reading_a_link_again_and_again_at_one_instant_changes_nothing():
    edges = present(link(discovered_at=ago(30), base_weight=0.8), recalled(), LIFETIME)
    for _ in range(3):
        edges = present(edges, recalled(), LIFETIME)
        assert edges["weight"].item() == pytest.approx(0.8 * math.exp(-1 / 3))
        assert edges["base_weight"].item() == 0.8


@pytest.mark.parametrize(
    "columns",
    [{"origin": "asserted"}, {"origin": "derived"}, {"edge_type": "DISCOVERED"}, {"profile_id": "q"}, {"target": "c"}],
)
def test_nothing_but_a_decided_link_of_those_two_is_strengthened(columns):
    edges = link(**columns)
    assert_frame_equal(associations.strengthen(edges, recalled(20), IDLE, as_of=AS_OF), edges)


@pytest.mark.parametrize(
    "accesses",
    [
        recalled(20, ids="a"),
        recalled(100),
        recalled(120),
        pl.concat([recalled(20, ids="a"), recalled(20, ids="b", seq=9)]),
    ],
)
def test_only_one_event_that_names_both_after_the_link_was_made_strengthens_it(accesses):
    edges = link()
    assert_frame_equal(associations.strengthen(edges, accesses, IDLE, as_of=AS_OF), edges)


def test_events_of_two_profiles_with_one_number_are_two_events():
    accesses = pl.concat([recalled(20, ids="a"), recalled(20, ids="b", profile_id="q")])
    edges = pl.concat([link(), link(profile_id="q")])
    assert_frame_equal(associations.strengthen(edges, accesses, IDLE, as_of=AS_OF), edges)


def test_a_policy_without_co_recall_strengthens_nothing():
    policy = IDLE.model_copy(update={"associations": ("auto_link",)})
    assert_frame_equal(associations.strengthen(link(), recalled(20), policy, as_of=AS_OF), link())


def test_memories_far_apart_in_a_long_answer_were_not_recalled_together():
    names = [f"m{n:03}" for n in range(300)]
    edges = pl.concat([link(source="m000", target="m100"), link(source="m000", target="m101")])
    found = associations.strengthen(edges, recalled(20, ids=names), IDLE, as_of=AS_OF)
    assert found["co_count"].to_list() == [1, 0]
    ends = frames.memories([{"memory_id": name} for name in names]).select("profile_id", "memory_id")
    assert len(co_recall.recalls(ends, recalled(20, ids=names))) == sum(min(n, co_recall.REACH) for n in range(300))


INSTANTS = st.lists(st.floats(0, 150), max_size=8)
POLICIES = st.sampled_from([IDLE, LIFETIME])


@given(INSTANTS, POLICIES, st.floats(0, 1))
def test_strength_is_that_of_a_diary_kept_by_hand(days, policy, base):
    expected, before = base, ago(100)
    for day in sorted((day for day in days if ago(day) > ago(100)), reverse=True):
        idle = (ago(day) - before) / timedelta(days=1)
        lifetime, late = policy.link_lifetime_days, idle >= policy.edge_decay_days
        left = math.exp(-idle / lifetime) if lifetime else math.exp(-0.01 * idle) if late else 1.0
        expected, before = min(1.0, expected * left + policy.co_recall_gain), ago(day)
    edge = associations.strengthen(link(base_weight=base), recalled(*days), policy, as_of=AS_OF)
    assert edge["base_weight"].item() == pytest.approx(expected)
    assert edge["last_strengthened_at"].item() == before


@given(INSTANTS, st.lists(st.floats(0, 120), max_size=4), POLICIES)
def test_any_cadence_of_runs_gives_the_same_strength(days, runs, policy):
    accesses, edges = recalled(*days), link()
    for run in sorted(runs, reverse=True):
        edges = present(edges, accesses, policy, as_of=AS_OF - timedelta(days=run))
    assert_frame_equal(present(edges, accesses, policy), present(link(), accesses, policy), check_exact=True)


@given(st.lists(st.tuples(st.lists(st.sampled_from("abcd"), min_size=1), st.integers(0, 90)), max_size=8), st.randoms())
def test_order_of_rows_and_other_profiles_change_nothing(events, random):
    accesses = uses.accesses({"ids": ids, "at": ago(days)} for ids, days in events)
    foreign = accesses.with_columns(profile_id=pl.lit("q"))
    edges = pl.concat([link(source=one, target=other) for one, other in ("ab", "ac", "bd", "cd")])
    both = TABLES["association_edges"].conform(pl.concat([edges, edges.with_columns(profile_id=pl.lit("q"))]))
    order = list(range(2 * len(accesses)))
    random.shuffle(order)
    mixed = associations.strengthen(both[::-1], pl.concat([accesses, foreign])[order], IDLE, as_of=AS_OF)
    expected = associations.strengthen(edges, accesses, IDLE, as_of=AS_OF)
    assert_frame_equal(mixed.filter(profile_id="p").sort("source", "target"), expected, check_exact=True)


# Links that recalls make


def test_with_a_lifetime_recalls_make_a_link_of_their_own():
    found = alone(recalled(60, 30))
    edge = found.row(0, named=True)
    assert (edge["source"], edge["target"], edge["edge_type"], edge["origin"]) == ("a", "b", "ASSOCIATED", "derived")
    assert edge["base_weight"] == pytest.approx(0.1 * math.exp(-1 / 3) + 0.1)
    assert edge["weight"] == pytest.approx(edge["base_weight"] * math.exp(-1 / 3))
    assert (edge["discovered_at"], edge["last_strengthened_at"], edge["co_count"]) == (ago(60), ago(30), 2)


def test_it_can_be_followed_once_it_is_strong_enough():
    found = pl.concat([alone(recalled(*[1] * times, ids=ids), names=ids) for ids, times in (("ab", 3), ("cd", 4))])
    assert found["weight"].to_list() == pytest.approx([0.3 * math.exp(-1 / 90), 0.4 * math.exp(-1 / 90)])
    assert found.filter(associations.is_usable(LIFETIME))["source"].to_list() == ["c"]
    assert found.filter(associations.is_usable(IDLE)).height == 2


def test_without_a_lifetime_recalls_make_no_link():
    assert alone(recalled(1, 2, 3), policy=IDLE).is_empty()


@pytest.mark.parametrize("origin", ["asserted", "decided"])
def test_a_link_that_there_is_gets_no_second_one(origin):
    assert alone(recalled(1, 2, 3), decided=link(origin=origin)).is_empty()
    assert len(alone(recalled(1, 2, 3), decided=link(profile_id="q"))) == 1


def test_a_link_of_recalls_long_ago_is_gone():
    assert alone(recalled(70, 70)).is_empty() is False
    assert alone(recalled(200)).is_empty()


@given(INSTANTS)
def test_a_link_made_by_recalls_is_one_that_started_at_nothing(days):
    found = alone(recalled(*days))
    first = max(days, default=0.0)
    started = link(base_weight=0.0, discovered_at=ago(first) - timedelta(microseconds=1))
    expected = present(started, recalled(*days), LIFETIME).filter(~associations.has_faded(LIFETIME))
    assert found["weight"].to_list() == pytest.approx(expected["weight"].to_list())
    assert found["co_count"].to_list() == expected["co_count"].to_list()
