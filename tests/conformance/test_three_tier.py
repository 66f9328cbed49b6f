"""Energy as the three-tier design states it: closed form, hours times the constant of the tier."""

from datetime import timedelta

import frames
import polars as pl
import pytest
from frames import AS_OF, ago

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

TIERS = {"working": "working", "shortTerm": "short_term", "longTerm": "long_term"}


def scored(tier, base, hours, *, as_of=AS_OF, lifecycle="active"):
    """Scores of a memory whose energy was `base` so many hours ago."""
    at = AS_OF - timedelta(hours=hours)
    row = {"tier": TIERS[tier], "energy_base": base, "energy_at": at, "created_at": at, "lifecycle": lifecycle}
    memories = frames.memories([row])
    return scoring.score(
        memories,
        frames.importance(memories),
        frames.edges([]),
        Policy(**preset("three_tier")),
        as_of=as_of,
        plan_id="plan",
    )


@pytest.mark.parametrize(
    ("tier", "base", "hours", "expected"),
    [
        ("working", 1.0, 1, 0.606531),
        ("working", 1.0, 4.6, 0.100259),
        ("working", 1.0, 4.60517, 0.1),
        ("working", 1.0, 4.7, 0.095369),
        ("working", 2.0, 1, 1.213061),
        ("shortTerm", 3.0, 24, 0.903583),
        ("shortTerm", 3.0, 48, 0.272154),
        ("longTerm", 6.0, 720, 2.920514),
    ],
)
def test_energy(tier, base, hours, expected):
    assert scored(tier, base, hours)["energy"].item() == pytest.approx(expected, abs=1e-6)


def test_strength_is_the_energy_between_zero_and_one():
    row = scored("working", 3.0, 0).row(0, named=True)
    assert row["strength"] == row["energy"] / (1 + row["energy"]) == 0.75


START = ago(30)


def folded(*hours):
    """A memory that was created at START and accessed so many hours later."""
    table = TABLES["events"]
    stored = {"event_type": "memory.stored", "occurred_at": START, "content": "x"}
    accessed = [
        {"event_type": "memory.accessed", "occurred_at": START + timedelta(hours=after), "content": None}
        for after in hours
    ]
    rows = [
        {"seq": seq, "event_id": f"e{seq}", "ordinal": 0, "profile_id": "p", "memory_id": "m", "recorded_at": AS_OF}
        | row
        for seq, row in enumerate([stored, *accessed], 1)
    ]
    events = table.conform(pl.DataFrame(rows, schema=table.empty().schema))
    return projection.project(events).memories.row(0, named=True)


@pytest.mark.parametrize(("hours", "energy"), [((), 1.0), ((0, 0), 3.0), ((2,), 1.367879), ((1, 2), 1.974410)])
def test_every_access_adds_one_to_what_is_left(hours, energy):
    """Ours: accesses are counted from 0, the creation is none; what is left depends on no run in between."""
    row = folded(*hours)
    assert (row["tier"], row["access_count"]) == ("working", len(hours))
    assert row["energy_base"] == pytest.approx(energy, abs=1e-6)


def test_accesses_of_the_design(real_system):
    cases = real_system("three_tier")
    created, twice = folded(), folded(0, 0)
    theirs = cases["tt-create-1"]["expected"]
    assert (created["tier"], created["energy_base"]) == (theirs["tier"], theirs["energy"])
    assert created["access_count"] == theirs["accessCount"] - 1
    theirs = cases["tt-access-2"]["expected"]
    assert (twice["energy_base"], twice["access_count"]) == (theirs["energy"], theirs["accessCount"] - 1)
    case = cases["tt-access-3"]
    late = folded(case["input"]["access_at_h"])
    assert late["energy_base"] == pytest.approx(case["expected"]["energy"], abs=1e-6)


def test_energy_of_the_design(real_system):
    """Ours: what has left the live set has no score, so nothing of it decays (tt-decay-7)."""
    cases = real_system("three_tier")
    rows = cases["tt-decay-1"]["input"]["rows"]
    found = [scored(*row)["energy"].item() for row in rows]
    assert found == pytest.approx(cases["tt-decay-1"]["expected"], abs=1e-6)
    for case_id in ("tt-decay-3", "tt-decay-6"):
        given = cases[case_id]["input"]
        energy = scored(given["tier"], given["energy"], given["hours"])["energy"].item()
        assert energy == pytest.approx(cases[case_id]["expected"], abs=1e-6)
    given = cases["tt-decay-4"]["input"]
    hours = given["decay_run_every_hours"] * given["runs"]
    energy = scored(given["tier"], given["energy"], hours)["energy"].item()
    assert energy == pytest.approx(cases["tt-decay-4"]["expected"], abs=1e-6)
    given = cases["tt-decay-7"]["input"]
    assert scored("working", given["energy"], given["hours"], lifecycle="expired").is_empty()
    expiry = cases["tt-expire-2"]["expected"]["hours_until_expiry"]
    assert scored("working", 1.0, expiry)["energy"].item() == pytest.approx(0.1, abs=1e-6)
