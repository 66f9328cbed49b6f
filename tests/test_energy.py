import math
from datetime import timedelta

import frames
import polars as pl
import pytest
from frames import ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.state import energy
from memory_pipeline.schemas import INSTANT, TABLES

HOUR = timedelta(hours=1)
START = ago(100)
RATES = {"working": 0.5, "short_term": 0.05, "long_term": 0.001}


def at(hours):
    return START + hours * HOUR


def table(name, rows):
    empty = TABLES[name].empty()
    return TABLES[name].conform(pl.DataFrame(list(rows), schema=empty.schema))


def accesses(*rows):
    """Table `accesses`: (memory, hours after START[, profile])."""
    return table(
        "accesses",
        (
            {
                "profile_id": profile[0] if profile else "p",
                "seq": seq,
                "ordinal": 0,
                "memory_id": name,
                "at": at(hours),
                "session_id": None,
                "expanded": False,
                "times": 1,
            }
            for seq, (name, hours, *profile) in enumerate(rows, 1)
        ),
    )


def rises(*rows):
    """Table `tier_changes`: (memory, hours after START, tier)."""
    below = {"short_term": "working", "long_term": "short_term"}
    return table(
        "tier_changes",
        (
            {
                "profile_id": "p",
                "memory_id": name,
                "at": at(hours),
                "from_tier": below[tier],
                "to_tier": tier,
                "edge_type": "PROMOTED_TO",
                "energy": 2.5,
                "plan_id": "plan",
            }
            for name, hours, tier in rows
        ),
    )


def reinforced(*rows):
    """Edges: (newer memory, older memory, hours after START, cosine)."""
    return frames.edges(
        {
            "source": source,
            "target": target,
            "edge_type": "REINFORCES",
            "origin": "decided",
            "base_weight": 0.5,
            "similarity": cosine,
            "discovered_at": at(hours),
        }
        for source, target, hours, cosine in rows
    )


def memories(*names, created=0):
    return frames.memories([{"memory_id": name, "created_at": at(created)} for name in names])


NOTHING = (accesses(), reinforced(), rises())


def asked(*rows):
    """Memories and hours after START at which to tell their energy."""
    schema = {"profile_id": pl.String, "memory_id": pl.String, "at": INSTANT}
    return pl.DataFrame([("p", name, at(hours)) for name, hours in rows], schema=schema, orient="row")


def told(of, used, edges, risen, *rows):
    return energy.at(of, used, edges, risen, asked(*rows)).select("energy", "tier").rows()


def test_every_touch_adds_to_what_is_left():
    history = energy.history(memories("a"), accesses(("a", 2), ("a", 2)), reinforced(("b", "a", 3, 0.8)), rises())
    left = math.exp(-1)
    assert history.select("ordinal", "at", "tier").rows() == [
        (0, at(0), "working"),
        (1, at(2), "working"),
        (2, at(2), "working"),
        (3, at(3), "working"),
    ]
    assert history["amount"].to_list() == pytest.approx([1.0, 1.0, 1.0, 0.4])
    assert history["energy"].to_list() == pytest.approx(
        [1.0, left + 1, left + 2, (left + 2) * math.exp(-0.5) + 0.4], abs=1e-7
    )


def test_each_stretch_of_time_fades_at_the_rate_of_its_tier():
    risen = rises(("a", 2, "short_term"), ("a", 12, "long_term"))
    used = accesses(("a", 2), ("a", 32))
    rows = told(memories("a"), used, reinforced(), risen, ("a", 1), ("a", 2), ("a", 12), ("a", 31), ("a", 32))
    at_two = math.exp(-1) + 1
    at_twelve = at_two * math.exp(-0.5)
    assert [tier for _, tier in rows] == ["working", "short_term", "long_term", "long_term", "long_term"]
    assert [value for value, _ in rows] == pytest.approx(
        [math.exp(-0.5), at_two, at_twelve, at_twelve * math.exp(-0.019), at_twelve * math.exp(-0.02) + 1]
    )


def test_a_promotion_that_is_decided_later_holds_from_its_own_instant_on():
    used = accesses(("a", 0), ("a", 0), ("a", 10))
    before = energy.history(memories("a"), used, reinforced(), rises())
    after = energy.history(memories("a"), used, reinforced(), rises(("a", 0, "short_term")))
    assert before["energy"].to_list() == pytest.approx([1.0, 2.0, 3.0, 1 + 3 * math.exp(-5)])
    assert after["energy"].to_list() == pytest.approx([1.0, 2.0, 3.0, 1 + 3 * math.exp(-0.5)])


def test_the_latest_energy_stands_at_the_last_touch_or_change_of_tier():
    risen = rises(("b", 4, "short_term"))
    found = energy.latest(memories("a", "b"), accesses(("a", 3), ("b", 1)), reinforced(), risen)
    assert found.select("memory_id", "tier", "tier_since", "energy_at").rows() == [
        ("a", "working", at(0), at(3)),
        ("b", "short_term", at(4), at(4)),
    ]
    assert found["energy_base"].to_list() == pytest.approx([1 + math.exp(-1.5), (1 + math.exp(-0.5)) * math.exp(-1.5)])


def test_hourly_looks_do_not_compound():
    """The published query decays what it has already decayed: 0.049787 after three looks in three hours."""
    of = memories("a")
    looks = told(of, *NOTHING, *(("a", hours) for hours in (1, 2, 3)))
    assert looks[-1][0] == pytest.approx(0.22313, abs=1e-6)
    assert told(of, *NOTHING, ("a", 3)) == looks[-1:]


def test_an_untouched_memory_is_spent_after_4_6_hours_and_years_overflow_nothing():
    of = memories("a")
    used = accesses(*(("a", 24.0 * day) for day in range(0, 36_500, 365)))
    ((spent, _),) = told(of, *NOTHING, ("a", math.log(10) / 0.5))
    assert spent == pytest.approx(0.1)
    assert energy.history(of, used, reinforced(), rises())["energy"].to_list() == pytest.approx([1.0, 2.0, *[1.0] * 99])
    assert told(of, used, reinforced(), rises(), ("a", 24.0 * 40_000)) == [(0.0, "working")]


def test_a_cosine_that_is_not_known_reinforces_nothing():
    edges = reinforced(("b", "a", 1, None), ("c", "a", 1, math.nan), ("d", "a", 1, math.inf))
    assert energy.history(memories("a"), accesses(), edges, rises()).height == 1


def test_what_precedes_the_creation_counts_as_at_the_creation():
    of = memories("a", created=5)
    history = energy.history(of, accesses(("a", 2)), reinforced(("b", "a", 1, 1.0)), rises(("a", 3, "short_term")))
    assert history["at"].to_list() == [at(5)] * 3
    assert history["energy"].to_list() == [1.0, 2.0, 2.5]
    assert history["tier"].to_list() == ["short_term"] * 3


def test_who_is_not_there_has_no_energy():
    of = memories("a", created=5)
    assert told(of, *NOTHING, ("a", 4), ("a", 5), ("x", 9)) == [(None, None), (1.0, "working"), (None, None)]
    assert told(of.clear(), *NOTHING) == []
    for empty in (energy.history(of.clear(), *NOTHING), energy.latest(of.clear(), *NOTHING)):
        assert empty.is_empty()
        assert {"profile_id", "memory_id", "tier"} <= set(empty.columns)


def test_profiles_do_not_meet():
    of = frames.memories({"memory_id": "a", "created_at": START, "profile_id": profile} for profile in "pq")
    found = energy.latest(of, accesses(("a", 0, "q")), reinforced(("b", "a", 0, 1.0)), rises(("a", 0, "short_term")))
    assert found.select("profile_id", "tier", "energy_base").rows() == [("p", "short_term", 1.5), ("q", "working", 2.0)]


NAMES = st.sampled_from(["a", "b"])
HOURS = st.integers(0, 4 * 60).map(lambda quarters: quarters / 4)
STORES = st.tuples(
    st.lists(st.tuples(NAMES, HOURS), max_size=25),
    st.lists(st.tuples(NAMES, HOURS, st.floats(0, 1, width=32)), max_size=5),
    st.lists(st.tuples(NAMES, HOURS, st.sampled_from(["short_term", "long_term"])), max_size=4),
)


def built(store):
    used, strengthened, risen = store
    edges = reinforced(*((f"n{n}", *row) for n, row in enumerate(strengthened)))
    steps = {(name, tier): (name, hours, tier) for name, hours, tier in risen}
    return memories("a", "b"), accesses(*used), edges, rises(*steps.values())


def plainly(store, name, hours):
    """The definition: the sum over all touches of their amount, faded hour by hour at the rate of the tier then."""
    used, strengthened, risen = store
    steps = {(who, tier): since for who, since, tier in risen}
    short = min(steps.get((name, "short_term"), math.inf), steps.get((name, "long_term"), math.inf))
    ends = [0.0, short, max(short, steps.get((name, "long_term"), math.inf)), math.inf]

    def left(since):
        stretches = zip(RATES.values(), ends[:-1], ends[1:], strict=True)
        return math.exp(-sum(rate * max(0.0, min(hours, e) - max(since, s)) for rate, s, e in stretches))

    touches = [(0.0, 1.0), *((then, 1.0) for who, then in used if who == name)]
    touches += [(then, 0.5 * cosine) for who, then, cosine in strengthened if who == name]
    return sum(amount * left(then) for then, amount in touches if then <= hours)


@given(STORES, st.lists(st.tuples(NAMES, HOURS), min_size=1, max_size=5))
def test_energy_is_the_sum_of_what_is_left_of_every_touch(store, rows):
    found = [value for value, _ in told(*built(store), *rows)]
    assert found == pytest.approx([plainly(store, *row) for row in rows], rel=1e-9)


@given(STORES)
def test_history_latest_and_any_instant_agree(store):
    tables = built(store)
    history = energy.history(*tables)
    final = history.unique(["memory_id", "at"], keep="last", maintain_order=True)
    rows = [(name, (then - START) / HOUR) for name, then in final.select("memory_id", "at").iter_rows()]
    again = energy.at(*tables, asked(*rows))
    assert again["energy"].to_list() == final["energy"].to_list()
    assert again["tier"].to_list() == final["tier"].to_list()
    latest = energy.latest(*tables)
    stands = energy.at(*tables, latest.select("profile_id", "memory_id", at="energy_at"))
    assert stands["energy"].to_list() == latest["energy_base"].to_list()
    assert stands["tier"].to_list() == latest["tier"].to_list()


@given(STORES, st.randoms(use_true_random=False))
def test_rows_in_any_order_and_other_memories_change_no_bit(store, random):
    of, used, edges, risen = built(store)
    shuffled = []
    for frame in (used, edges, risen):
        places = list(range(frame.height))
        random.shuffle(places)
        shuffled.append(frame[places])
    whole = energy.history(of, used, edges, risen)
    assert_frame_equal(energy.history(of[::-1], *shuffled), whole, check_exact=True)
    alone = pl.concat(energy.history(of.filter(pl.col("memory_id") == name), used, edges, risen) for name in "ab")
    assert_frame_equal(alone, whole, check_exact=True)


def test_a_memory_among_many_has_the_energy_it_has_alone():
    rows = [(f"m{n % 37:02}", (n * 7919) % 4001 / 8) for n in range(3000)]
    of = memories(*(f"m{n:02}" for n in range(37)))
    used = accesses(*rows)
    whole = energy.latest(of, used, reinforced(), rises())
    alone = [energy.latest(of[index], used, reinforced(), rises()) for index in range(37)]
    assert_frame_equal(pl.concat(alone), whole, check_exact=True)
