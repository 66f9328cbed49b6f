import math
from datetime import timedelta

import frames
import numpy as np
import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.columns import days_between
from memory_pipeline.schemas import INSTANT, TABLES
from memory_pipeline.settings import Policy

SHARES = st.floats(0.0, 1.0)
DAYS = st.floats(0.0, 4000.0)
NUMBERS = ["relevance", "retention", "recency", "energy", "strength", "stability", "access_factor"]


@st.composite
def stores(draw, profile="p"):
    rows = [
        {
            "profile_id": profile,
            "memory_id": f"m{index}",
            "created_at": ago(draw(DAYS)),
            "last_accessed_at": draw(st.none() | DAYS.map(ago)),
            "access_count": draw(st.integers(0, 500)),
            "importance_given": draw(SHARES),
            "confidence": draw(SHARES),
            "category": draw(st.sampled_from(sorted(scoring.RETENTION_DAYS))),
            "tier": draw(st.sampled_from(sorted(scoring.ENERGY_DECAY))),
            "stability_gain": draw(st.floats(0.0, 3.0)),
            "energy_base": draw(st.floats(0.0, 500.0)),
            "memory_type": draw(st.sampled_from(["Decision", "Context"])),
            "protected": draw(st.booleans()),
        }
        for index in range(draw(st.integers(0, 8)))
    ]
    return frames.memories(rows)


POLICIES = st.builds(
    Policy,
    strength=st.sampled_from(["relevance", "retention", "recency_importance", "energy"]),
    base_decay_rate=st.floats(0.0, 10.0),
    access_base=SHARES,
    access_weight=SHARES,
    importance_floor_factor=SHARES,
    relationship_preservation=SHARES,
    decay_importance_threshold=st.none() | SHARES,
    retention_curve=st.sampled_from(["exponential", "power"]),
    recency_stability=st.sampled_from(["linear", "log"]),
    recency_base_hours=st.floats(0.1, 1000.0),
    recency_access_hours=st.floats(0.0, 100.0),
    protected_importance=st.none() | SHARES,
    grace_period_days=st.floats(0.0, 400.0),
)


def scored(memories, policy=None, *, importance=None, edges=None, as_of=AS_OF):
    return scoring.score(
        memories,
        frames.importance(memories) if importance is None else importance,
        frames.edges([]) if edges is None else edges,
        policy or Policy(),
        as_of=as_of,
        plan_id="plan",
    )


def only(row, policy=None, **given_importance):
    memories = frames.memories([row])
    return scored(memories, policy, importance=frames.importance(memories, **given_importance)).row(0, named=True)


@given(stores(), POLICIES)
def test_every_score_stays_in_its_range_and_no_number_is_nan(memories, policy):
    result = scored(memories, policy)
    assert TABLES["scored_memories"].violations(result).is_empty()
    assert np.isfinite(result.select(pl.col(pl.Float64)).to_numpy()).all()
    assert (result["relevance"] >= policy.importance_floor_factor * result["importance"] - 1e-12).all()
    assert (result["is_protected"] == result["protection_reason"].is_not_null()).all()


@given(stores(), POLICIES, st.timedeltas(timedelta(0), timedelta(days=3000)))
def test_no_score_rises_with_time_alone(memories, policy, later):
    now, then = scored(memories, policy), scored(memories, policy, as_of=AS_OF + later)
    for name in NUMBERS:
        assert (then[name] <= now[name]).all(), name


@given(stores(), stores(profile="q"), POLICIES, st.randoms())
def test_order_of_rows_and_other_profiles_change_nothing(memories, others, policy, random):
    alone = scored(memories, policy)
    together = pl.concat([memories, others])
    places = list(range(len(together)))
    random.shuffle(places)
    mixed = scored(together[places], policy, importance=frames.importance(together)[::-1])
    assert_frame_equal(mixed.filter(pl.col("profile_id") == "p"), alone, check_exact=True)


def test_only_live_memories_are_scored():
    lifecycles = ["active", "warm", "cold", "stub", "archived", "expired", "deleted"]
    memories = frames.memories([{"memory_id": name, "lifecycle": name} for name in lifecycles])
    assert scored(memories)["memory_id"].to_list() == ["active", "warm"]


def test_an_empty_store_gives_an_empty_table():
    result = scored(frames.memories([]))
    assert result.is_empty()
    assert TABLES["scored_memories"].violations(result).is_empty()


def test_a_memory_without_importance_is_refused_by_name():
    memories = frames.memories([{"memory_id": "lost"}])
    with pytest.raises(ValueError, match=r"'lost' of profile 'p' has no row in memory_importance"):
        scored(memories, importance=frames.importance(memories).clear())


def test_relevance_is_the_product_of_its_factors():
    row = {"created_at": ago(10), "last_accessed_at": ago(5), "confidence": 0.8, "importance_given": 0.5}
    result = only(row, relationship_count=pl.lit(3))
    assert result["age_factor"] == pytest.approx(math.exp(-0.1))
    assert result["access_factor"] == pytest.approx(math.exp(-0.25))
    assert result["relationship_factor"] == pytest.approx(1 + 0.3 * math.log(4))
    assert result["importance_factor"] == 1.0
    assert result["confidence_factor"] == pytest.approx(0.94)
    assert result["relevance"] == pytest.approx(math.exp(-0.35) * (1 + 0.3 * math.log(4)) * 0.94)


@pytest.mark.parametrize(
    ("last_accessed_at", "idle", "factor"),
    [
        (AS_OF, 0.0, 1.0),
        (ago(hours=23.999), 23.999 / 24, 1.0),
        (ago(1), 1.0, math.exp(-0.05)),
        (None, 100.0, math.exp(-5.0)),
        (AS_OF + timedelta(days=3), 0.0, 1.0),
    ],
)
def test_access_counts_in_full_for_less_than_a_day_and_creation_stands_in_for_it(last_accessed_at, idle, factor):
    result = only({"last_accessed_at": last_accessed_at})
    assert result["idle_days"] == pytest.approx(idle)
    assert result["access_factor"] == pytest.approx(factor)


def test_ages_are_fractional_and_never_negative():
    assert only({"created_at": ago(hours=36)})["age_days"] == 1.5
    assert only({"created_at": AS_OF + timedelta(days=2)})["age_days"] == 0.0


@pytest.mark.parametrize(
    ("category", "days", "expected"),
    [
        ("episodic", 1.0, math.exp(-1 / (0.2 * 2.0 * 45))),
        ("semantic", 1.0, math.exp(-1 / (0.2 * 2.0 * 120))),
        ("opinion", 1.0, math.exp(-1 / (0.2 * 2.0 * 120))),
        ("something else", 1.0, math.exp(-1 / (0.2 * 2.0 * 45))),
        ("procedural", 5000.0, 1.0),
        ("episodic", 5000.0, 0.02),
        ("core", 5000.0, 0.60),
    ],
)
def test_retention_follows_the_category_and_never_falls_below_its_floor(category, days, expected):
    row = {"category": category, "last_accessed_at": ago(days), "importance_given": 0.5, "stability_gain": -0.05}
    assert only(row)["retention"] == pytest.approx(expected)


@pytest.mark.parametrize("curve", ["exponential", "power"])
@pytest.mark.parametrize(
    ("category", "floor"), [("episodic", 0.02), ("semantic", 0.02), ("core", 0.60), ("procedural", None)]
)
def test_the_instant_at_which_retention_reaches_its_floor(curve, category, floor):
    row = {"category": category, "importance_given": 0.5, "last_accessed_at": ago(3)}
    policy, memories = Policy(retention_curve=curve), frames.memories([row])
    reached = scored(memories, policy)["floored_at"].item()
    if floor is None:
        assert reached is None
        return
    just_before = scored(memories, policy, as_of=reached - timedelta(minutes=1))["retention"].item()
    then = scored(memories, policy, as_of=reached)["retention"].item()
    assert floor == pytest.approx(then, abs=1e-9)
    assert just_before > floor + 1e-9


@given(stores(), POLICIES, st.timedeltas(timedelta(0), timedelta(days=3000)))
def test_the_floor_is_reached_at_an_instant_that_no_look_moves(memories, policy, later):
    """The release counts how often it looked instead: seven looks at one instant make seven days at the floor."""
    looks = [scored(memories, policy, as_of=AS_OF + part * later)["floored_at"] for part in (0.0, 0.3, 0.3, 1.0)]
    assert all(look.equals(looks[0]) for look in looks)


@pytest.mark.parametrize(("stability", "hours"), [("linear", 100 + 10 * 7), ("log", 100 + 10 * math.log(8))])
def test_recency_lasts_as_the_policy_says(stability, hours):
    policy = Policy(recency_base_hours=100, recency_access_hours=10, recency_stability=stability)
    row = {"last_accessed_at": ago(hours=60), "access_count": 7}
    assert only(row, policy)["recency"] == pytest.approx(math.exp(-60 / hours))


def test_what_is_less_important_than_the_threshold_stops_to_fade_when_it_is_not_used():
    policy = Policy(decay_importance_threshold=0.3)
    used = {"created_at": ago(10), "last_accessed_at": ago(4), "importance_given": 0.29}
    row = only(used, policy)
    assert (row["age_days"], row["idle_days"]) == (10.0, 4.0)
    assert (row["age_factor"], row["access_factor"]) == (pytest.approx(math.exp(-0.06)), 1.0)
    never = only({"created_at": ago(10), "importance_given": 0.29}, policy)
    assert (never["age_factor"], never["access_factor"]) == (1.0, 1.0)
    at_the_threshold = only(used | {"importance_given": 0.3}, policy)
    assert at_the_threshold["age_factor"] == pytest.approx(math.exp(-0.1))
    unset = only(used)
    assert unset["access_factor"] == pytest.approx(math.exp(-0.2))


@given(stores(), POLICIES, st.lists(st.integers(0, 900), max_size=4))
def test_scores_depend_on_the_instant_and_not_on_looks_before(memories, policy, days):
    once = scored(memories, policy, as_of=AS_OF + timedelta(days=900))
    for day in sorted(days):
        scored(memories, policy, as_of=AS_OF + timedelta(days=day))
    assert_frame_equal(scored(memories, policy, as_of=AS_OF + timedelta(days=900)), once, check_exact=True)


def test_stability_starts_from_importance_or_from_the_members_and_is_at_most_one():
    assert only({"importance_given": 0.5, "stability_gain": 0.25})["stability"] == pytest.approx(0.5)
    assert only({"importance_given": 0.5, "stability_gain": 9.0})["stability"] == 1.0
    assert only({"kind": "compression", "stability_given": 0.4, "stability_gain": 0.1})["stability"] == 0.5


def test_recency_counts_from_the_last_touch_and_lasts_longer_with_each_access():
    assert only({"created_at": ago(7)})["recency"] == pytest.approx(math.exp(-1))
    assert only({"last_accessed_at": ago(hours=10), "access_count": 3})["recency"] == pytest.approx(math.exp(-10 / 240))
    assert only({"created_at": ago(2), "last_accessed_at": ago(30)})["recency"] == pytest.approx(math.exp(-48 / 168))


@pytest.mark.parametrize(("tier", "rate"), [("working", 0.5), ("short_term", 0.05), ("long_term", 0.001)])
def test_energy_decays_from_its_base_by_tier(tier, rate):
    result = only({"tier": tier, "energy_base": 3.0, "energy_at": ago(hours=7)})
    assert result["energy"] == pytest.approx(3.0 * math.exp(-rate * 7))


@pytest.mark.parametrize(
    ("strength", "expected"),
    [
        ("relevance", "relevance"),
        ("retention", "retention"),
        ("energy", lambda row: row["energy"] / (1 + row["energy"])),
        ("recency_importance", lambda row: (row["recency"] + row["importance"]) / 2),
    ],
)
def test_strength_is_the_score_that_the_policy_names(strength, expected):
    row = only({"created_at": ago(3), "importance_given": 0.4}, Policy(strength=strength))
    assert row["strength"] == (row[expected] if isinstance(expected, str) else pytest.approx(expected(row)))


CAUSED = frames.edges(
    [{"source": f"effect{n}", "target": "cause", "edge_type": "CAUSED_BY", "origin": "derived"} for n in range(3)]
)
EVERYTHING = {
    "memory_id": "cause",
    "protected": True,
    "protected_reason": "legal hold",
    "importance_given": 0.7,
    "created_at": ago(89.9),
    "memory_type": "Insight",
    "category": "core",
}


STEPS = [
    ({}, "legal hold"),
    ({"protected_reason": None}, "explicitly protected"),
    ({"protected": False}, "importance at least 0.7"),
    ({"importance_given": 0.69}, "younger than 90 days"),
    ({"created_at": ago(90)}, "protected type: Insight"),
    ({"memory_type": "Context"}, "core"),
    ({"category": "episodic"}, "cause of at least 3 live memories"),
]
"""Takes one reason after the other away from `EVERYTHING`; beside it the reason that is then the first."""


@pytest.mark.parametrize("taken", range(len(STEPS)))
def test_protection_names_the_first_reason_that_applies(taken):
    row = dict(EVERYTHING)
    for change, _ in STEPS[: taken + 1]:
        row |= change
    effects = [{"memory_id": f"effect{n}"} for n in range(3)]
    result = scored(frames.memories([row, *effects]), edges=CAUSED).filter(pl.col("memory_id") == "cause")
    assert result["protection_reason"].to_list() == [STEPS[taken][1]]


FIRM = [
    ({"importance_given": 0.7}, "importance at least 0.7"),
    ({"memory_type": "Insight"}, "protected type: Insight"),
    ({"protected": True}, "explicitly protected"),
    ({"category": "core"}, "core"),
    ({"memory_id": "cause"}, "cause of at least 3 live memories"),
]
"""Rows that a token budget never archives, and why."""


@pytest.mark.parametrize(("row", "reason"), FIRM)
def test_what_was_marked_as_important_holds_against_a_token_budget(row, reason):
    effects = [{"memory_id": f"effect{n}"} for n in range(3)]
    memories = frames.memories([{"memory_id": "m", "created_at": ago(1)} | row, *effects])
    for policy, said in ((Policy(), None), (Policy(token_budget=0.5), reason)):
        result = scored(memories, policy, edges=CAUSED).row(
            by_predicate=pl.col("memory_id") == row.get("memory_id", "m"), named=True
        )
        assert (result["is_protected"], result["budget_protected"]) == (True, True)
        assert said is None or result["protection_reason"] == said


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"created_at": ago(1)}, "younger than 90 days"),
        ({"memory_type": "Decision", "memory_type_inferred": True}, "protected type: Decision"),
        ({"importance_hint": 0.9}, "importance at least 0.7"),
        ({"kind": "episode", "importance_given": 0.9, "stability_given": 0.3}, "importance at least 0.7"),
    ],
)
def test_age_and_what_rules_worked_out_give_way_to_a_token_budget(row, reason):
    of = {"importance_unraised": pl.lit(0.8)} if "importance" in reason else {}
    for budget, end in ((None, ""), (100, "; a token budget goes before that")):
        result = only({"created_at": ago(200)} | row, Policy(token_budget=budget), **of)
        assert (result["is_protected"], result["budget_protected"]) == (True, False)
        assert result["protection_reason"] == reason + end


def test_what_a_policy_switches_off_does_not_protect():
    policy = Policy(
        protect_flagged=False,
        protected_importance=None,
        grace_period_days=0,
        protected_types=(),
        protect_core=False,
        protected_causes=None,
    )
    effects = [{"memory_id": f"effect{n}"} for n in range(3)]
    assert not scored(frames.memories([EVERYTHING, *effects]), policy, edges=CAUSED)["is_protected"].any()


def test_importance_that_was_raised_by_centrality_scores_and_does_not_protect():
    policy = Policy(grace_period_days=0)
    row = only({}, policy, importance=pl.lit(1.0), importance_unraised=pl.lit(0.6))
    assert (row["importance_factor"], row["is_protected"]) == (1.5, False)
    assert only({}, policy, importance=pl.lit(1.0), importance_unraised=pl.lit(0.7))["is_protected"]


def test_types_protect_whatever_their_case():
    assert only({"memory_type": "Decision"}, Policy(protected_types=("DECISION",)))["is_protected"]


def test_only_live_effects_make_a_cause():
    effects = [{"memory_id": f"effect{n}", "lifecycle": "archived" if n == 0 else "active"} for n in range(3)]
    result = scored(frames.memories([{"memory_id": "cause"}, *effects]), edges=CAUSED)
    assert not result["is_protected"].any()


def test_a_summary_that_stands_for_superseded_members_is_protected():
    rows = [
        {"memory_id": "sum", "kind": "compression", "stability_given": 0.3},
        {"memory_id": "free", "kind": "meta_pattern", "stability_given": 0.3},
        {"memory_id": "a", "lifecycle": "archived", "superseded_by": "sum", "superseded_kind": "summary"},
        {"memory_id": "b", "superseded_by": "free", "superseded_kind": "update"},
        {"profile_id": "q", "memory_id": "a", "superseded_by": "free", "superseded_kind": "summary"},
    ]
    reasons = dict(scored(frames.memories(rows)).filter(profile_id="p").select("memory_id", "protection_reason").rows())
    assert reasons == {"sum": "summary", "free": None, "b": None}


@pytest.mark.parametrize(
    ("hours", "tier"),
    [
        (0, "hot"),
        (23.99, "hot"),
        (24, "warm"),
        (167.99, "warm"),
        (168, "cold"),
        (719.99, "cold"),
        (720, "archive"),
        (10_000, "archive"),
    ],
)
def test_tiers_by_age_include_their_lower_bound(hours, tier):
    assert only({"created_at": ago(hours=hours)})["age_tier"] == tier


def test_whole_days_are_exact_for_a_century():
    days = range(36_600)
    instants = pl.DataFrame({"at": [ago(day) for day in days]}, schema={"at": INSTANT})
    assert instants.select(days_between(pl.col("at"), pl.lit(AS_OF, INSTANT))).to_series().to_list() == list(days)


def test_a_score_does_not_depend_on_how_many_rows_are_scored_with_it():
    rows = [
        {
            "memory_id": f"m{index:03}",
            "created_at": ago(index * 1.2345678),
            "last_accessed_at": ago(index * 0.7654321) if index % 3 else None,
            "access_count": index % 7,
            "importance_given": index / 50,
            "category": sorted(scoring.RETENTION_DAYS)[index % 5],
        }
        for index in range(50)
    ]
    together = scored(frames.memories(rows))
    single = [frames.memories([row]) for row in rows]
    assert_frame_equal(together, pl.concat([scored(memory) for memory in single]), check_exact=True)
    assert_frame_equal(together, scored(pl.concat(single)), check_exact=True)
