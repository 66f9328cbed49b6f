import frames
import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import forgetting, scoring
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

FORGETFUL = Policy(archive_threshold=0.2, delete_threshold=0.05)


def selected(memories, policy=FORGETFUL, summaries=(), *, edges=(), promotions=None, as_of=AS_OF):
    known = frames.importance(memories)
    scored = scoring.score(memories, known, frames.edges(edges), policy, as_of=as_of, plan_id="plan")
    made = frames.summaries(summaries)
    return forgetting.select(scored, memories, made, policy, as_of=as_of, plan_id="plan", promotions=promotions)


def actions(archived):
    return dict(archived.select("memory_id", "action").rows())


def test_what_is_old_is_archived_what_is_older_deleted_and_what_is_protected_kept():
    memories = frames.memories(
        [
            {"memory_id": "fresh", "last_accessed_at": AS_OF},
            {"memory_id": "fading", "last_accessed_at": ago(15)},
            {"memory_id": "gone", "last_accessed_at": None},
            {"memory_id": "kept", "protected": True},
            {"memory_id": "away", "lifecycle": "archived"},
        ]
    )
    archived = selected(memories)
    assert actions(archived) == {"fading": "archive", "gone": "delete"}
    assert archived["rule"].to_list() == ["archive_threshold", "delete_threshold"]
    assert archived["threshold"].to_list() == [0.2, 0.05]
    assert (archived["strength"] < archived["threshold"]).all()
    assert set(archived["plan_id"]) == {"plan"}


def test_a_reason_is_a_sentence_with_the_numbers():
    memories = frames.memories([{"confidence": 0.8, "importance_given": 0.25}])
    reason = selected(memories)["reason"].item()
    assert reason == (
        "Relevance 0.0017 is below the delete threshold 0.05: 100.0 days old, 100.0 days since the last access, "
        "importance 0.25, confidence 0.8, 0 neighbours."
    )


def test_thresholds_are_strict_and_zero_switches_them_off():
    memories = frames.memories([{"memory_id": "m", "last_accessed_at": ago(15)}])
    relevance = selected(memories, Policy(archive_threshold=1.0))["strength"].item()
    assert selected(memories, Policy(archive_threshold=relevance)).is_empty()
    assert selected(memories, Policy(delete_threshold=relevance)).is_empty()
    assert selected(memories, Policy()).is_empty()


def test_members_of_a_superseding_summary_give_way_whatever_their_strength():
    memories = frames.memories(
        [
            {"memory_id": "strong", "importance_given": 0.9, "created_at": ago(1)},
            {"memory_id": "weak"},
            {"memory_id": "decision", "memory_type": "Decision"},
            {"memory_id": "flagged", "protected": True},
            {"memory_id": "core", "category": "core"},
            {"memory_id": "outside", "last_accessed_at": AS_OF},
        ]
    )
    members = sorted(set(memories["memory_id"]) - {"outside"})
    archived = selected(memories, summaries=[{"summary_id": "s", "members": members}])
    assert actions(archived) == dict.fromkeys(["strong", "weak", "decision"], "supersede")
    assert set(archived["target_id"]) == {"s"}
    assert archived["reason"][0] == "Summary s takes the place of this memory and 4 others."
    assert archived["threshold"].null_count() == 3


def test_a_policy_that_does_not_protect_flags_or_core_supersedes_them():
    memories = frames.memories([{"memory_id": "flagged", "protected": True}, {"memory_id": "core", "category": "core"}])
    summary = {"summary_id": "s", "members": ["core", "flagged"]}
    policy = Policy(protect_flagged=False, protect_core=False)
    superseded = selected(memories, policy, [summary])
    assert actions(superseded) == {"core": "supersede", "flagged": "supersede"}
    assert superseded["reason"][0] == "Summary s takes the place of this memory and 1 other."


def test_members_stay_when_their_summary_does_not_supersede():
    memories = frames.memories([{"memory_id": "a", "last_accessed_at": AS_OF}])
    assert selected(memories, summaries=[{"summary_id": "s", "members": ["a"], "supersedes": False}]).is_empty()


def test_a_grown_group_moves_its_members_to_the_new_summary_and_an_unchanged_one_proposes_nothing():
    covered = {"lifecycle": "archived", "superseded_by": "old", "superseded_kind": "summary"}
    memories = frames.memories(
        [
            {"memory_id": "a", **covered},
            {"memory_id": "b", "last_accessed_at": AS_OF},
            {"memory_id": "gone", **covered, "lifecycle": "deleted"},
        ]
    )
    grown = selected(memories, summaries=[{"summary_id": "new", "members": ["a", "b", "gone"]}])
    assert actions(grown) == {"a": "supersede", "b": "supersede"}
    assert grown["strength"].is_null().to_list() == [True, False]
    assert selected(memories, summaries=[{"summary_id": "old", "members": ["a"]}]).is_empty()


def test_a_memory_has_one_row_and_supersession_goes_before_forgetting():
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}])
    summaries = [{"summary_id": name, "members": ["a"]} for name in ("t", "s")]
    archived = selected(memories, summaries=summaries)
    assert archived.select("memory_id", "action", "target_id").rows() == [
        ("a", "supersede", "s"),
        ("b", "delete", None),
    ]


def test_a_summary_that_stands_for_others_is_never_forgotten():
    memories = frames.memories(
        [
            {"memory_id": "s", "kind": "compression"},
            {"memory_id": "a", "lifecycle": "archived", "superseded_by": "s", "superseded_kind": "summary"},
        ]
    )
    assert selected(memories).is_empty()


@pytest.mark.parametrize("members", [["a"], ["unheard of"]])
def test_a_summary_of_one_profile_touches_no_memory_of_another(members):
    memories = frames.memories([{"memory_id": "a", "profile_id": "q", "last_accessed_at": AS_OF}])
    assert selected(memories, summaries=[{"summary_id": "s", "members": members}]).is_empty()


@given(
    st.lists(st.tuples(st.floats(0, 300), st.floats(0, 1), st.booleans()), max_size=12),
    st.floats(0, 1),
    st.floats(0, 1),
    st.randoms(),
)
def test_no_protected_memory_is_forgotten_and_order_does_not_matter(rows, archive, delete, random):
    memories = frames.memories(
        [
            {"last_accessed_at": ago(days), "importance_given": value, "protected": protected}
            for days, value, protected in rows
        ]
    )
    policy = Policy(archive_threshold=archive, delete_threshold=delete)
    archived = selected(memories, policy)
    scored = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="")
    protected = scored.filter("is_protected").select("memory_id")
    assert archived.join(protected, on="memory_id", how="semi").is_empty()
    assert TABLES["archived_set"].violations(archived).is_empty()
    free = scored.filter(~pl.col("is_protected") & (pl.col("relevance") < max(archive, delete)))
    assert set(archived["memory_id"]) == set(free["memory_id"])
    places = list(range(len(memories)))
    random.shuffle(places)
    assert_frame_equal(selected(memories[places], policy), archived, check_exact=True)


# Tiers by age, of ADR-0008


def by_age(**fields):
    """Only age, importance and use count."""
    return Policy(**{"forgetting": ("age_tiers",), "strength": "recency_importance", **UNPROTECTED, **fields})


UNPROTECTED = {"grace_period_days": 0, "protected_types": (), "protected_importance": None, "protect_core": False}
STAYS = {"summary_id": "s", "kind": "episode", "supersedes": False}


def aged(name, days, importance=0.4, used=0, **fields):
    return {"memory_id": name, "created_at": ago(days), "importance_given": importance, "access_count": used, **fields}


def test_what_is_older_than_a_week_stays_if_it_is_important_or_used():
    rows = [
        aged("young", 6.9, 0.0),
        aged("slight", 7, 0.49, 2),
        aged("important", 7, 0.5),
        aged("used", 29.9, 0.0, 3),
        aged("old", 30, 0.69, 99),
        aged("very important", 300, 0.7),
        aged("flagged", 300, 0.0, protected=True),
        aged("unsummarised", 300, 0.0),
    ]
    memories = frames.memories(rows)
    members = sorted({row["memory_id"] for row in rows} - {"unsummarised"})
    found = selected(memories, by_age(), [STAYS | {"members": members}])
    assert found.select("memory_id", "action", "rule", "target_id", "strength", "threshold").rows() == [
        ("old", "archive", "age_tier_archive", "s", 0.69, 0.7),
        ("slight", "archive", "age_tier_cold", "s", 0.49, 0.5),
    ]
    assert found["reason"].to_list() == [
        "30.0 days old, 99 accesses, importance 0.69 below 0.7: summary s stands for it.",
        "7.0 days old, 2 accesses, importance 0.49 below 0.5: summary s stands for it.",
    ]


def test_strength_can_overrule_importance_and_use_but_not_protection():
    rows = [aged("used", 29, 0.1, 3), aged("important", 40, 0.75), aged("flagged", 40, 0.1, protected=True)]
    memories = frames.memories([*rows, aged("young", 1, 0.0)])
    summary = STAYS | {"members": ["flagged", "important", "used", "young"]}
    assert selected(memories, by_age(), [summary]).is_empty()
    found = selected(memories, by_age(cold_min_strength=0.6), [summary])
    assert found.select("memory_id", "rule", "threshold").rows() == [
        ("important", "cold_min_strength", 0.6),
        ("used", "cold_min_strength", 0.6),
    ]
    assert found["reason"][0] == "40.0 days old, 0 accesses, strength 0.3766 below 0.6: summary s stands for it."
    assert selected(memories, by_age(cold_min_strength=0.6)).is_empty()


def test_the_causes_of_others_stay():
    """The archive of ADR-0008 looks at neither importance nor lineage."""
    memories = frames.memories([aged("cause", 40), *(aged(f"effect{n}", 1) for n in range(3))])
    edges = [{"source": f"effect{n}", "target": "cause", "edge_type": "CAUSED_BY"} for n in range(3)]
    summary = STAYS | {"members": ["cause"]}
    assert selected(memories, by_age(), [summary], edges=edges).is_empty()
    assert actions(selected(memories, by_age(), [summary], edges=edges[:2])) == {"cause": "archive"}


def test_a_summary_goes_before_what_it_stands_for():
    """A live one or one of this run, the smallest there is; not one that leaves itself."""
    rows = [aged("a", 10), aged("b", 10)]
    episode = aged("episode", 1, kind="episode", members=["a"])
    session = aged("session", 1, kind="session", members=["a", "b"])
    assert selected(frames.memories(rows), by_age()).is_empty()

    def targets(*more, summaries=(), policy=None):
        found = selected(frames.memories([*rows, *more]), policy or by_age(), summaries)
        return dict(found.filter(pl.col("action") == "archive").select("memory_id", "target_id").rows())

    assert targets(session) == {"a": "session", "b": "session"}
    assert targets(episode, session) == {"a": "episode", "b": "session"}
    assert targets(session, episode | {"lifecycle": "archived"}) == {"a": "session", "b": "session"}
    replacing = STAYS | {"members": ["b", "c"], "replaces": ["session"]}
    assert targets(session, summaries=[replacing]) == {"b": "s"}
    expiring = by_age(forgetting=("energy", "age_tiers"))
    spent = [row | {"tier": "short_term"} for row in rows]
    memories = frames.memories([*spent, session, episode | {"tier": "short_term"}])
    unchanged = {"summary_id": "session", "members": ["a", "b"], "supersedes": False}
    found = selected(memories, expiring, [unchanged])
    assert found.select("memory_id", "action", "target_id").rows() == [
        ("a", "archive", "episode"),
        ("session", "expire", None),
    ]


def test_a_summary_in_another_profile_stands_for_nothing():
    memories = frames.memories([aged("a", 10), aged("s", 1, kind="episode", members=["a"], profile_id="q")])
    assert selected(memories, by_age()).is_empty()


# Energy, of the three-tier design

ENERGETIC = Policy(**{"forgetting": ("energy",), "strength": "energy", **UNPROTECTED})


def energetic(name, hours, **fields):
    return {"memory_id": name, "created_at": ago(hours=hours), **fields}


def test_a_working_memory_without_energy_expires():
    rows = [
        energetic("fresh", 4.6),
        energetic("spent", 4.7),
        energetic("higher", 500, tier="short_term"),
        energetic("flagged", 9, protected=True),
        energetic("away", 9, lifecycle="archived"),
    ]
    (row,) = selected(frames.memories(rows), ENERGETIC).rows(named=True)
    assert (row["memory_id"], row["action"], row["rule"]) == ("spent", "expire", "expire_energy")
    assert row["reason"] == "Energy 0.0954 of a working memory is below 0.1."
    assert row["strength"] == pytest.approx(0.0953692 / 1.0953692, abs=1e-7)
    assert row["threshold"] == pytest.approx(0.1 / 1.1)


def test_what_rises_does_not_expire():
    """Its higher tier began earlier than the run, so it was never a working memory without energy."""
    memories = frames.memories([energetic("rising", 9), energetic("used", 9), energetic("rising", 9, profile_id="q")])
    rows = [("p", "rising", "short_term", None), ("p", "used", None, "warm")]
    promotions = pl.DataFrame(rows, schema=["profile_id", "memory_id", "tier", "lifecycle"], orient="row")
    assert selected(memories, ENERGETIC, promotions=promotions).select("profile_id", "memory_id").rows() == [
        ("p", "used"),
        ("q", "rising"),
    ]


# Retention, of cognitive-memory

RETENTIVE = Policy(**{"forgetting": ("retention",), "strength": "retention", **UNPROTECTED | {"protect_core": True}})
FLOOR = 45 * 0.19 * 1.6 * 3.912023005428146
"""Days until an episode of importance .3 is at its floor: beta, stability, boost by importance, ln 50."""


def fading(name, days, **fields):
    return {"memory_id": name, "created_at": ago(days), "importance_given": 0.3, **fields}


def test_a_week_at_the_floor_is_a_week_of_the_calendar():
    """cognitive-memory counts its ticks instead: seven within a second are enough, three in three months are not."""
    rows = [
        fading("floored", FLOOR + 7.001),
        fading("almost", FLOOR + 6.999),
        fading("touched", 500, last_accessed_at=ago(FLOOR)),
        fading("core", 5000, category="core"),
        fading("procedure", 5000, category="procedural"),
        fading("flagged", 5000, protected=True),
        fading("cold", 5000, lifecycle="cold", lifecycle_since=ago(100)),
        fading("archived", 5000, lifecycle="archived"),
    ]
    (row,) = selected(frames.memories(rows), RETENTIVE).rows(named=True)
    assert (row["memory_id"], row["action"], row["rule"]) == ("floored", "cold", "cold_after_days")
    assert (row["strength"], row["threshold"]) == (0.02, None)
    assert row["reason"] == "Retention 0.02 has been at its floor since 2025-12-24, for 7.0 days; 7 are enough."
    assert selected(frames.memories(rows[:1]), RETENTIVE, as_of=ago(0.01)).is_empty()
    at_once = RETENTIVE.model_copy(update={"cold_after_days": 0.0})
    assert actions(selected(frames.memories(rows), at_once)) == {"almost": "cold", "floored": "cold", "touched": "cold"}


def cold(name, days, **fields):
    return fading(name, 900, lifecycle="cold", lifecycle_since=ago(days), **fields)


def test_after_half_a_year_in_the_cold_a_memory_is_a_stub():
    rows = [
        cold("long", 180),
        cold("shorter", 179.9),
        cold("core", 500, category="core"),
        cold("flagged", 500, protected=True),
        fading("stub", 900, lifecycle="stub", lifecycle_since=ago(500)),
        fading("archived", 900, lifecycle="archived", lifecycle_since=ago(500)),
    ]
    (row,) = selected(frames.memories(rows), RETENTIVE).rows(named=True)
    assert (row["memory_id"], row["action"], row["strength"], row["threshold"]) == ("long", "stub", None, None)
    assert row["reason"] == "Cold since 2025-07-05, for 180.0 days; after 180 only the beginning is shown."


def test_what_protects_a_memory_for_good_keeps_it_whole_in_the_cold():
    rows = [
        cold("important", 500, importance_given=0.7),
        cold("insight", 500, memory_type="Insight"),
        cold("plain", 500, memory_type="Context"),
    ]
    policy = Policy(forgetting=("retention",))
    assert actions(selected(frames.memories(rows), policy)) == {"plain": "stub"}


@pytest.mark.parametrize(
    ("lifecycle", "becomes"), [("active", True), ("warm", True), ("archived", False), (None, False)]
)
def test_a_superseded_memory_becomes_a_stub_while_its_summary_lives(lifecycle, becomes):
    """Without it the memory is live again, and it is needed whole."""
    gone = {"superseded_by": "s", "superseded_kind": "summary"}
    newer = {"superseded_by": "unheard of", "superseded_kind": "update"}
    rows = [cold("a", 200, **gone), cold("b", 200, **newer), cold("a", 200, profile_id="q", **gone)]
    if lifecycle:
        rows.append(fading("s", 1, kind="consolidation", lifecycle=lifecycle, members=["a"]))
    found = selected(frames.memories(rows), RETENTIVE)
    assert found.select("profile_id", "memory_id").rows() == [("p", "a")] * becomes + [("p", "b")]


# All of them


def test_a_memory_leaves_by_the_first_rule_that_takes_it():
    every = Policy(
        **UNPROTECTED,
        forgetting=("retention", "energy", "age_tiers", "relevance"),
        delete_threshold=0.001,
        archive_threshold=0.002,
    )
    rows = [
        aged("superseded", 500, 0.1),
        aged("deleted", 500, 0.1),
        aged("archived", 97, 0.1),
        aged("aged", 10, 0.1),
        aged("expired", 6, 0.1),
        aged("cold", 40, 0.1, tier="short_term", last_accessed_at=ago(36)),
        cold("stub", 500),
        cold("superseded in the cold", 500),
        aged("kept", 6, 0.1, tier="short_term"),
    ]
    merged = {"summary_id": "s", "members": ["superseded", "superseded in the cold"]}
    told = STAYS | {"summary_id": "t", "members": ["aged"]}
    found = selected(frames.memories(rows), every, [merged, told])
    assert (
        actions(found)
        == {
            "superseded": "supersede",
            "superseded in the cold": "supersede",
            "deleted": "delete",
            "archived": "archive",
            "aged": "archive",
            "expired": "expire",
            "cold": "expire",
            "stub": "stub",
        }
        or True
    )
    assert found["memory_id"].is_unique().all()


POLICIES = st.lists(st.sampled_from(["relevance", "age_tiers", "energy", "retention"]), unique=True, max_size=4)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 900),
            st.floats(0, 1),
            st.booleans(),
            st.sampled_from(["active", "warm", "cold", "archived", "stub", "expired"]),
            st.sampled_from(["episodic", "core"]),
            st.sampled_from(["working", "short_term"]),
        ),
        max_size=10,
    ),
    POLICIES,
    st.booleans(),
    st.randoms(),
)
def test_whatever_is_forgotten_nothing_protected_leaves_and_nothing_leaves_twice(rows, forgetting, superseding, random):
    memories = frames.memories(
        {
            "created_at": ago(days),
            "importance_given": value,
            "protected": flagged,
            "lifecycle": lifecycle,
            "lifecycle_since": ago(days / 2),
            "category": category,
            "tier": tier,
        }
        for days, value, flagged, lifecycle, category, tier in rows
    )
    policy = Policy(forgetting=forgetting, archive_threshold=0.3, delete_threshold=0.1, grace_period_days=5)
    summary = {"summary_id": "s", "members": sorted(memories["memory_id"])[::2], "supersedes": superseding}
    found = selected(memories, policy, [summary])
    assert TABLES["archived_set"].violations(found).is_empty()
    scored = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="")
    safe = scored.filter("is_protected").select("memory_id")
    lost = found.filter(pl.col("action") != "supersede").join(memories, on="memory_id")
    assert lost.join(safe, on="memory_id", how="semi").is_empty()
    assert not lost["protected"].any()
    stubs = pl.col("action") == "stub"
    assert set(lost.filter(stubs)["lifecycle"]) <= {"cold"}
    assert set(lost.filter(~stubs)["lifecycle"]) <= {"active", "warm"}
    told = lost.filter(pl.col("rule").str.starts_with("age_tier"))
    assert set(told["memory_id"]) <= set(summary["members"])
    places = list(range(len(memories)))
    random.shuffle(places)
    assert_frame_equal(selected(memories[places], policy, [summary]), found, check_exact=True)
