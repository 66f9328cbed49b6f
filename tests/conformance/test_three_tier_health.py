"""Health of the three tiers: how many memories there are, and how their energy is distributed."""

import polars as pl

from memory_pipeline.runs import metrics

OURS = {"shortTerm": "short_term", "longTerm": "long_term"}


def health(rows):
    """Figures by tier, of memories as (tier, energy)."""
    frame = pl.DataFrame(
        [(OURS.get(tier, tier), energy) for tier, energy in rows],
        schema={"tier": pl.String, "energy": pl.Float64},
        orient="row",
    )
    return {row["tier"]: row for row in metrics.health(frame).iter_rows(named=True)}


def test_health_of_the_tiers():
    found = health([("short_term", 0.5), ("working", 2.0), ("working", 0.25), ("working", 0.75)])
    assert found["working"] == {"tier": "working", "count": 3, "mean": 1.0, "max": 2.0, "min": 0.25}
    assert found["short_term"] == {"tier": "short_term", "count": 1, "mean": 0.5, "max": 0.5, "min": 0.5}
    assert found["long_term"] == {"tier": "long_term", "count": 0, "mean": None, "max": None, "min": None}


def test_health_as_the_plan_queries_it(real_system):
    case = real_system("three_tier")["tt-health-1"]
    found = health(case["input"]["memories"])
    for tier, expected in case["expected"].items():
        ours = found[OURS.get(tier, tier)]
        assert (ours["count"], ours["mean"], ours["max"], ours["min"]) == (
            expected["count"],
            expected["avgEnergy"],
            expected["maxEnergy"],
            expected["minEnergy"],
        )
