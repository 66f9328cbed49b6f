"""Tiers and expiry through the fold of the ledger: however often runs look, the end is the same."""

from datetime import timedelta

import frames
import polars as pl
import pytest
from decided import decisions
from example_counts import examples
from frames import ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from uses import table

from memory_pipeline.consolidation import forgetting, promotion, scoring
from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

POLICY = Policy(**preset("three_tier"))
START, END = ago(10), 40
HOURS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 6.0, 6.5, 7.0, 20.0, 33.0])


def at(hours):
    return START + timedelta(hours=hours)


def event(place, kind, hours, **fields):
    return {
        "seq": place + 1,
        "ordinal": 0,
        "event_id": f"event {place}",
        "profile_id": "p",
        "event_type": kind,
        "occurred_at": at(hours),
        "recorded_at": at(hours),
        "session_id": "s",
        **fields,
    }


def happened(stored, used, ended):
    """Table `events`: when each memory was stored, when which was accessed, and when the session ended."""
    rows = [("memory.stored", hours, {"memory_id": f"m{n}", "content": f"note {n}"}) for n, hours in enumerate(stored)]
    rows += [
        ("memory.accessed", max(hours, stored[n % len(stored)]), {"memory_id": f"m{n % len(stored)}"})
        for n, hours in used
    ]
    rows += [("session.ended", hours, {}) for hours in ended]
    return table("events", (event(n, kind, hours, **fields) for n, (kind, hours, fields) in enumerate(rows)))


def run(events, made, hours, number):
    """The decisions of a run at that hour, which sees what had happened until then, and those before it."""
    as_of = at(hours)
    known = events.filter(pl.col("occurred_at") <= as_of)
    state = projection.fold(known, made)
    memories = state.memories
    edges = frames.edges([])
    scored = scoring.score(memories, frames.importance(memories), edges, POLICY, as_of=as_of, plan_id="plan")
    risen = promotion.promote(
        *(memories, scored, known, state.accesses, state.tier_changes, edges, TABLES["fact_changes"].empty(), POLICY),
        as_of=as_of,
        plan_id="plan",
    )
    none = frames.summaries([])
    leaving = forgetting.select(scored, memories, none, POLICY, as_of=as_of, plan_id="plan", promotions=risen)
    changes = [decision_rows.moves(leaving, none, memories), decision_rows.promotions(risen, memories)]
    return pl.concat([made, decisions(pl.concat(changes), as_of=as_of, seq=1_000 + number)])


def ending(events, looks):
    """Where every memory stands after runs at these hours, three at the end, and how it rose."""
    made = TABLES["decisions"].empty()
    for number, hours in enumerate([*sorted(looks), END, END + 0.001, END + 0.002]):
        made = run(events, made, hours, number)
    state = projection.fold(events, made)
    return state.memories.select("memory_id", "tier", "tier_since", "lifecycle"), state.tier_changes.drop("plan_id")


@examples(1)
@given(
    st.lists(HOURS, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), HOURS), max_size=16),
    st.lists(HOURS, max_size=2),
    st.lists(HOURS, max_size=3),
)
def test_tiers_and_expiry_do_not_depend_on_when_runs_look(stored, used, ended, looks):
    events = happened(stored, used, ended)
    for often, late in zip(ending(events, looks), ending(events, []), strict=True):
        assert_frame_equal(often, late, check_exact=True)


def energy(events, made, hours):
    """Energy of the only memory at that hour, as a run then scores it."""
    state = projection.fold(events.filter(pl.col("occurred_at") <= at(hours)), made)
    memories = state.memories
    scored = scoring.score(
        memories, frames.importance(memories), frames.edges([]), POLICY, as_of=at(hours), plan_id="plan"
    )
    return scored["energy"].item()


@pytest.mark.parametrize(("used", "expected"), [([], 0.22313), ([1], 0.59101)])
def test_hourly_runs_decay_energy_once(used, expected):
    """The literal text decays what it has already decayed, and gives 0.049787 after three hourly runs."""
    events = happened([0], [(0, hours) for hours in used], [])
    made = TABLES["decisions"].empty()
    energies = []
    for hour in (1, 2, 3):
        energies.append(energy(events, made, hour))
        made = run(events, made, hour, hour)
    assert energies == [energy(events, made.clear(), hour) for hour in (1, 2, 3)]
    assert energies[-1] == energy(events, made, 3) == pytest.approx(expected, abs=1e-6)


def test_a_burst_long_before_the_first_run_still_lifts_a_memory():
    """Ten hours later its energy as a working memory would be gone, but it has not been one since the burst."""
    events = happened([0, 0], [(0, 0)] * 3, [])
    where, changes = ending(events, [])
    assert where.select("memory_id", "tier", "lifecycle").rows() == [
        ("m0", "short_term", "active"),
        ("m1", "working", "expired"),
    ]
    assert changes.select("memory_id", "to_tier", "at", "energy").rows() == [("m0", "short_term", at(0), 4.0)]
