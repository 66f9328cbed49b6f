"""Promotion and expiry as the three-tier design states them: in place, by energy just after a touch."""

import frames
import polars as pl
import pytest
from decided import decisions
from frames import AS_OF, ago
from uses import accesses, risen, table

from memory_pipeline.consolidation import forgetting, promotion, scoring
from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

POLICY = Policy(**preset("three_tier"))


def charged(name, energy, at, **fields):
    """A memory with energy 1, and the accesses and reinforcements that give it this energy at an instant."""
    whole = int(energy)
    row = {"memory_id": name, "created_at": at, "access_count": whole - 1, **fields}
    share = round(energy - whole, 6)
    edge = {"target": name, "edge_type": "REINFORCES", "similarity": share, "discovered_at": at}
    edges = [{"source": source, **edge} for source in ("new", "newer") if share]
    return row, [{"ids": [name], "at": at}] * (whole - 1), edges


def promoted(rows, *, changes=None, ends=(), as_of=AS_OF):
    """Promotions of memories given as `charged` makes them."""
    memories = frames.memories(row for row, _, _ in rows)
    events = table("events", ends)
    scored = memories.select("profile_id", "memory_id", stability=pl.lit(0.5))
    return promotion.promote(
        memories,
        scored,
        events,
        accesses(use for _, uses, _ in rows for use in uses),
        TABLES["tier_changes"].empty() if changes is None else changes,
        frames.edges(edge for _, _, edges in rows for edge in edges),
        TABLES["fact_changes"].empty(),
        POLICY,
        as_of=as_of,
        plan_id="plan",
    )


def ended(session_id, at):
    """A row of table `events`: a session ends."""
    return {
        "seq": 99,
        "ordinal": 0,
        "event_id": "end",
        "profile_id": "p",
        "event_type": "session.ended",
        "occurred_at": at,
        "recorded_at": at,
        "session_id": session_id,
    }


# Our own inputs and numbers


@pytest.mark.parametrize(("tier", "bound"), [("working", 2.0), ("short_term", 5.0)])
def test_the_threshold_is_strict(tier, bound):
    rows = [charged(f"m{energy}", energy, ago(1), tier=tier) for energy in (bound - 0.1, bound, bound + 0.01)]
    changes = risen({row["memory_id"]: ago(1) for row, _, _ in rows}) if tier == "short_term" else None
    found = promoted(rows, changes=changes)
    assert found["memory_id"].to_list() == [f"m{bound + 0.01}"]
    assert found["energy"].item() == pytest.approx(bound + 0.01, abs=1e-7)


def test_a_memory_rises_in_place_and_takes_its_history_along():
    row, uses, edges = charged("m", 2.5, ago(1))
    row |= {"session_id": "s", "access_count": 4}
    uses = [{"ids": ["m"], "at": ago(9)}, {"ids": ["m"], "at": ago(5)}, *uses, {"ids": ["m"], "at": ago(1)}]
    row["created_at"] = ago(20)
    found = promoted([(row, uses, edges)])
    memories = frames.memories([row])
    state = projection.State(memories, TABLES["decided_edges"].empty(), accesses(uses))
    after = projection.apply(state, decisions(decision_rows.promotions(found, memories)))
    (now,) = after.memories.rows(named=True)
    assert (now["tier"], now["tier_since"]) == ("short_term", ago(1))
    kept = ("memory_id", "created_at", "access_count", "session_id", "lifecycle")
    assert {name: now[name] for name in kept} == {name: memories[name].item() for name in kept}
    (change,) = after.tier_changes.rows(named=True)
    assert (change["edge_type"], change["from_tier"], change["to_tier"]) == ("PROMOTED_TO", "working", "short_term")
    assert (change["at"], change["energy"]) == (ago(1), pytest.approx(2.5, abs=1e-7))


def test_one_run_lifts_a_memory_by_one_tier():
    row, uses, _ = charged("m", 7.0, ago(1))
    first = promoted([(row, uses, [])])
    assert first["tier"].to_list() == ["short_term"]
    second = promoted([(row | {"tier": "short_term"}, uses, [])], changes=risen({"m": ago(1)}))
    assert second["tier"].to_list() == ["long_term"]


def expired(hours):
    memories = frames.memories([{"memory_id": "m", "created_at": ago(hours=hours)}])
    known = frames.importance(memories)
    scored = scoring.score(memories, known, frames.edges([]), POLICY, as_of=AS_OF, plan_id="plan")
    found = forgetting.select(scored, memories, frames.summaries([]), POLICY, as_of=AS_OF, plan_id="plan")
    return found["action"].to_list() == ["expire"]


def test_an_untouched_working_memory_lasts_less_than_five_hours():
    assert not expired(4.6051)
    assert expired(4.6052)


def test_a_session_that_ends_lets_its_memories_rise_with_less():
    rows = [
        charged(name, energy, ago(1), session_id=name[0]) for name, energy in (("s1", 1.6), ("s2", 1.5), ("t", 1.9))
    ]
    found = promoted(rows, ends=[ended("s", ago(1))])
    assert found.select("memory_id", "rule").rows() == [("s1", "session_end")]


# The design's cases

TIERS = {"working": "working", "shortTerm": "short_term", "longTerm": "long_term"}


def test_promotion_of_the_design(real_system):
    case = real_system("three_tier")["tt-promo-2"]
    energies = case["input"]["shortTerm_energies"]
    rows = [charged(f"m{index}", energy, ago(1), tier="short_term") for index, energy in enumerate(energies)]
    found = promoted(rows, changes=risen({f"m{index}": ago(1) for index in range(len(energies))}))
    assert [f"m{index}" in set(found["memory_id"]) for index in range(len(energies))] == case["expected"]["promoted"]


def test_lineage_of_the_design(real_system):
    """Ours: in place. The design makes a new memory without the old one's accesses and links."""
    case = real_system("three_tier")["tt-promo-3"]
    row, uses, edges = charged("m", case["input"]["energy"], ago(1), tier=TIERS[case["input"]["tier"]])
    row["access_count"] = case["input"]["accessCount"]
    found = promoted([(row, uses, edges)])
    memories = frames.memories([row])
    state = projection.State(memories, TABLES["decided_edges"].empty(), accesses(uses))
    after = projection.apply(state, decisions(decision_rows.promotions(found, memories)))
    (change,) = after.tier_changes.rows(named=True)
    (now,) = after.memories.rows(named=True)
    expected = case["expected"]
    assert change["edge_type"] == expected["edge"]["type"]
    assert change["energy"] == pytest.approx(expected["edge"]["energy"], abs=1e-7)
    assert now["tier"] == TIERS[expected["new"]["tier"]]
    assert (now["created_at"], now["access_count"]) == (row["created_at"], case["input"]["accessCount"])


def test_cascade_of_the_design(real_system):
    """Ours as resolved: the literal text lifts it twice in one job."""
    case = real_system("three_tier")["tt-promo-5"]
    row, uses, _ = charged("m", case["input"]["energy"], ago(1), tier=TIERS[case["input"]["tier"]])
    first = promoted([(row, uses, [])])["tier"].item()
    second = promoted([(row | {"tier": first}, uses, [])], changes=risen({"m": ago(1)}))["tier"].item()
    assert [first, second] == [TIERS[case["expected"][f"after_pass_{run}"]] for run in (1, 2)]


def test_expiry_of_the_design(real_system):
    hours = real_system("three_tier")["tt-expire-2"]["expected"]["hours_until_expiry"]
    assert not expired(hours - 1e-4)
    assert expired(hours + 1e-4)


def test_session_end_of_the_design(real_system):
    case = real_system("three_tier")["tt-session-1"]
    rows = [charged(row["id"], row["energy"], ago(1), session_id=row["session"]) for row in case["input"]["working"]]
    found = promoted(rows, ends=[ended(case["input"]["endingSession"], ago(1))])
    assert found["memory_id"].to_list() == case["expected"]["promoted"]
