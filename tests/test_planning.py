import json
from datetime import timedelta

import frames
import polars as pl
import pytest
from example_counts import examples
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from planned import (
    MERGE,
    MERGED,
    NO_DECISIONS,
    NO_REVERTS,
    POLICY,
    commit,
    found,
    merged,
    profiles,
    propose,
    revert,
    said,
    stands,
    state,
    superseded,
)
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.plans import dependants, invariants, plan_document, planning, quota
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import LIVE, TABLES, Action
from memory_pipeline.settings import Policy


def test_decisions_are_numbered_in_order_of_application_and_say_why():
    before = state("a", "b", "c", "d", edges=[found("a", "c", edge_type="ASSOCIATED")])
    plan = propose(
        before,
        **MERGE | {"leaving": [*MERGE["leaving"], {"memory_id": "c"}, {"memory_id": "d", "action": "delete"}]},
        links=[found("c", "d")],
        faded=[found("a", "c", edge_type="ASSOCIATED", weight=0.04)],
    )
    assert said(plan) == [
        ("link", "c", "d"),
        ("prune", "a", "c"),
        *MERGED,
        ("delete", "d", None),
        ("archive", "c", None),
    ]
    assert plan.sort("ordinal")["ordinal"].to_list() == list(range(7))
    assert set(plan["status"]) == {"proposed"}
    assert TABLES["consolidation_plan"].violations(plan).is_empty()
    by_action = {row["action"]: row for row in plan.sort("ordinal").iter_rows(named=True)}
    assert json.loads(by_action["archive"]["factors"]) == {"strength": 0.1, "threshold": 0.2}
    assert json.loads(by_action["archive"]["before"])["lifecycle"] == "active"
    assert by_action["archive"]["after"] == '{"lifecycle":"archived","superseded_by":null,"superseded_kind":null}'
    assert by_action["link"]["rule"] == "creative_association.shares_theme"
    assert json.loads(by_action["prune"]["factors"])["weight"] == 0.04
    assert "faded from 0.8 to 0.04" in by_action["prune"]["reason"]


def test_a_plan_makes_summaries_moves_memories_and_changes_edges():
    before = state(
        "a", "b", "c", "d", edges=[found("a", "c", edge_type="ASSOCIATED"), found("c", "d", origin="asserted")]
    )
    plan = propose(
        before,
        **MERGE | {"leaving": [*MERGE["leaving"], {"memory_id": "d", "action": "delete"}]},
        links=[found("a", "b", similarity=0.7000000001)],
        faded=[found("a", "c", edge_type="ASSOCIATED"), found("c", "d")],
    )
    after = planning.post_state(before, plan, NO_DECISIONS)
    assert stands(after) == {"a": "archived", "b": "archived", "c": "active", "d": "deleted", "S": "active"}
    a = after.memories.row(by_predicate=pl.col("memory_id") == "a", named=True)
    assert (a["superseded_by"], a["superseded_kind"], a["lifecycle_since"]) == ("S", "summary", AS_OF)
    edges = after.edges.select("source", "target", "edge_type", "kind", "origin", "weight")
    assert edges.rows() == [
        ("S", "a", "SUMMARIZES", "compression", "decided", 0.8),
        ("S", "b", "SUMMARIZES", "compression", "decided", 0.8),
        ("a", "b", "DISCOVERED", "shares_theme", "decided", 0.8),
    ]
    assert TABLES["memories"].violations(after.memories).is_empty()
    assert TABLES["decided_edges"].violations(after.edges).is_empty()


def test_a_summary_inherits_what_its_row_says():
    before = state("a", "b")
    wanted = {
        "kind": "meta_pattern",
        "memory_type": "MetaPattern",
        "content": 'Zürich: "3 notes"\n… ok',
        "importance": 0.1 + 0.2,
        "stability": 1 / 3,
        "access_count": 7,
        "confidence": 0.9,
        "valid_from": ago(3),
        "protected": True,
        "protected_reason": "a member is",
        "supersedes": False,
    }
    plan = propose(before, summaries=[{"summary_id": "S", "members": ["a", "b"], "cluster_id": "C", **wanted}])
    made = planning.post_state(before, plan, NO_DECISIONS).memories.row(
        by_predicate=pl.col("memory_id") == "S", named=True
    )
    assert {name: made[name] for name in wanted.keys() & made.keys()} == {
        name: wanted[name] for name in wanted.keys() & made.keys()
    }
    assert (made["importance_given"], made["stability_given"]) == (0.1 + 0.2, 1 / 3)
    assert (made["members"], made["cluster_id"], made["index_text"]) == (["a", "b"], "C", "summary")
    assert made["created_at"] == made["energy_at"] == made["lifecycle_since"] == AS_OF
    assert (made["event_id"], made["plan_id"], made["seq"]) == (plan["decision_id"][0], plan["plan_id"][0], 100)


def test_what_the_state_already_is_makes_no_decision():
    before, _, after = merged()
    gone = state({"memory_id": "x", "lifecycle": "archived"}, {"memory_id": "y", "lifecycle": "deleted"})
    assert propose(after, **MERGE).is_empty()
    assert propose(gone, leaving=[{"memory_id": "x"}, {"memory_id": "y"}, superseded("y", "S")]).is_empty()
    linked = state("a", "b", edges=[found("a", "b")])
    assert propose(linked, links=[found("a", "b", base_weight=0.2)], faded=[found("a", "c")]).is_empty()
    assert propose(before).is_empty()


def test_a_memory_gets_one_decision_supersede_before_delete_before_archive():
    _, _, after = merged()
    plan = propose(
        after,
        summaries=[{"summary_id": "T", "members": ["a", "b", "c"], "replaces": ["S"]}],
        leaving=[superseded("a", "T"), {"memory_id": "S", "rule": "stale_summary"}, {"memory_id": "c"}],
    )
    assert said(plan)[1:] == [("supersede", "S", "T"), ("supersede", "a", "T"), ("archive", "c", None)]


def test_ids_depend_on_what_is_decided_and_signatures_not_on_the_plan():
    before = state("a", "b", "c")
    one, two = propose(before, **MERGE), propose(before, **MERGE, of=profiles(seq=101))
    assert one["signature"].sort().to_list() == two["signature"].sort().to_list()
    assert set(one["decision_id"]).isdisjoint(two["decision_id"])
    changed = state({"memory_id": "a", "content": "other"}, "b", "c")
    assert set(propose(changed, **MERGE)["signature"]) & set(one["signature"]) == {
        row["signature"] for row in one.iter_rows(named=True) if row["memory_id"] != "a"
    }


def test_a_second_run_at_the_same_instant_finds_nothing_to_do():
    before, decided, _ = merged()
    assert propose(before, **MERGE, committed=decided, decisions=decided).is_empty()


def test_what_is_no_longer_desired_at_the_same_instant_is_withdrawn():
    before, decided, _ = merged()
    plan = propose(before, leaving=[{"memory_id": "c"}], committed=decided, decisions=decided, of=profiles(seq=101))
    withdrawn = plan.filter(pl.col("action") == "withdraw")
    assert set(withdrawn["target_id"]) == set(decided["decision_id"])
    assert stands(planning.post_state(before, plan, decided)) == {"a": "active", "b": "active", "c": "archived"}
    both = pl.concat([decided, commit(plan, 102)])
    present = projection.unmasked(both, NO_REVERTS)
    assert stands(projection.apply(before, present)) == {"a": "active", "b": "active", "c": "archived"}
    again = propose(before, leaving=[{"memory_id": "c"}], committed=present, decisions=both, of=profiles(seq=102))
    assert again.is_empty()
    undone = projection.unmasked(both, revert(commit(plan, 102)))
    assert stands(projection.apply(before, undone))["a"] == "archived"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, ": cosine 0.8, confidence 0.8."),
        ({"confidence": None}, ": cosine 0.8."),
        ({"similarity": None}, ", confidence 0.8."),
        ({"similarity": None, "confidence": None}, "."),
    ],
)
def test_the_reason_of_a_link_has_what_is_known_of_it(known, said):
    plan = propose(state("a", "b"), links=[found("a", "b", **known)])
    assert plan["reason"].to_list() == [f"a and b are linked as DISCOVERED/shares_theme{said}"]


def test_a_task_decides_only_what_it_may_and_withdraws_nothing_of_other_tasks():
    before, decided, _ = merged()
    plan = propose(
        before, links=[found("a", "b")], leaving=[{"memory_id": "c"}], committed=decided, decisions=decided,
        actions=frozenset({Action.LINK}),
    )  # fmt: skip
    assert said(plan) == [("link", "a", "b")]


def test_what_a_summary_covers_leaves_only_if_the_summary_is_made():
    """The preset engram archives what a summary covers; the task that forgets makes no summaries."""
    covered = [{"memory_id": "a", "target_id": "S"}, {"memory_id": "c", "target_id": "T"}]
    known = state("a", "b", "c", {"memory_id": "T", "kind": "episode", "members": ["c"]})
    wished = {"summaries": [{"summary_id": "S", "members": ["a", "b"], "supersedes": False}], "leaving": covered}
    assert said(propose(known, **wished)) == [("summarise", "S", None), ("archive", "a", "S"), ("archive", "c", "T")]
    forgetting = frozenset({Action.ARCHIVE, Action.DELETE})
    assert said(propose(known, **wished, actions=forgetting)) == [("archive", "c", "T")]


def test_what_was_undone_is_not_proposed_again_unless_asked_for_or_the_text_has_changed():
    before, decided, _ = merged()
    known = {"decisions": decided, "reverted": revert(decided)}
    assert propose(before, **MERGE, **known).is_empty()
    assert said(propose(before, **MERGE, **known, of=profiles(retry_reverted=True))) == MERGED
    one = {"decisions": decided, "reverted": revert(decided.filter(pl.col("memory_id") == "a"))}
    assert said(propose(before, **MERGE, **one)) == [MERGED[0], MERGED[2]]
    changed = state({"memory_id": "a", "content": "other"}, "b", "c")
    assert said(propose(changed, **MERGE, **one)) == MERGED


def test_what_was_undone_and_then_made_again_is_no_longer_barred():
    before, decided, _ = merged()
    reverted = revert(decided)
    again = commit(
        propose(before, **MERGE, decisions=decided, reverted=reverted, of=profiles(seq=105, retry_reverted=True)), 106
    )
    both = pl.concat([decided, again])
    present = projection.unmasked(both, reverted)
    assert set(present["decision_id"]) == set(again["decision_id"])
    assert propose(
        before, **MERGE, committed=present, decisions=both, reverted=reverted, of=profiles(seq=106)
    ).is_empty()


def test_an_undone_summary_supersedes_nothing_and_replaces_nothing():
    before, decided, _ = merged()
    reverted = revert(decided.filter(pl.col("action") == "summarise"))
    assert projection.unmasked(decided, reverted).is_empty()
    after = projection.apply(before, projection.unmasked(decided, reverted))
    assert stands(after) == {"a": "active", "b": "active", "c": "active"}
    assert propose(before, **MERGE, decisions=decided, reverted=reverted).is_empty()


def test_a_summary_that_is_desired_again_comes_back():
    _, _, after = merged()
    grown = propose(after, summaries=[{"summary_id": "T", "members": ["a", "b", "c"], "replaces": ["S"]}])
    replaced = planning.post_state(after, grown, NO_DECISIONS)
    assert (stands(replaced)["S"], stands(replaced)["T"]) == ("archived", "active")
    back = propose(replaced, summaries=[{"summary_id": "S", "members": ["a", "b"], "replaces": ["T"]}])
    assert said(back) == [("summarise", "S", None), ("supersede", "T", "S")]
    assert json.loads(back.sort("ordinal")["before"][0])["superseded_by"] == "T"
    restored = planning.post_state(replaced, back, NO_DECISIONS)
    assert (stands(restored)["S"], stands(restored)["T"]) == ("active", "archived")


def test_events_about_a_summary_count_from_its_creation():
    stored = [{"event_type": "memory.stored", "memory_id": name, "content": name} for name in "ab"]
    accesses = [
        {"event_type": "memory.accessed", "memory_id": "S", "occurred_at": AS_OF + timedelta(days=day)}
        for day in (-1, 0, 1)
    ]
    stream = ledger([*stored, *accesses])
    decided = commit(propose(projection.project(stream), **MERGE), 101)
    made = projection.fold(stream, decided).memories.row(by_predicate=pl.col("memory_id") == "S", named=True)
    assert (made["access_count"], made["last_accessed_at"]) == (1, AS_OF + timedelta(days=1))


def test_an_asserted_edge_is_neither_pruned_nor_overridden():
    before = state("a", "b", edges=[found("a", "b", origin="asserted")])
    link = commit(propose(state("a", "b"), links=[found("a", "b", base_weight=0.3)]), 101)
    cut = commit(propose(projection.apply(state("a", "b"), link), faded=[found("a", "b", weight=0.01)]), 102)
    assert cut.height == 1
    for decided in (link, cut, pl.concat([link, cut])):
        assert_frame_equal(projection.apply(before, decided).edges, before.edges)


def many(count, **fields):
    return [{"memory_id": f"m{index:03}", **fields} for index in range(count)]


@pytest.mark.parametrize(
    ("live", "leaving", "share", "held"),
    [
        *((100, 21, 0.1, True), (100, 20, 0.1, False), (400, 40, 0.1, False), (400, 41, 0.1, True)),
        *((11, 6, 0.1, True), (11, 5, 0.1, False), (2, 1, 0.1, False), (100, 20, 0.0, False), (100, 90, 1.0, False)),
    ],
)
def test_a_profile_that_would_lose_too_much_is_held_back(live, leaving, share, held):
    before = state(*many(live))
    of = profiles(max_archived_share=share)
    plan = quota.hold(propose(before, leaving=many(leaving), of=of), of, before)
    assert set(plan["status"]) == {"held" if held else "proposed"}
    figures = quota.figures(plan, before).row(0, named=True)
    assert figures == {"profile_id": "p", "live": live, "leaving": leaving, "share": leaving / live}
    assert planning.live(planning.post_state(before, plan, NO_DECISIONS).memories) == {
        "p": live if held else live - leaving
    }


@pytest.mark.parametrize(
    ("live", "leaving", "share", "spare"),
    [(100, 0, 0.1, 20), (100, 8, 0.1, 12), (100, 30, 0.1, 0), (400, 15, 0.1, 25), (100, 5, 0.29, 24), (30, 5, 1.0, 25)],
)
def test_what_is_spare_may_leave_too_and_no_more(live, leaving, share, spare):
    before, of = state(*many(live)), profiles(max_archived_share=share)
    assert quota.spare(propose(before, leaving=many(leaving), of=of), of, before).rows() == [("p", spare)]
    for more, held in ((0, leaving > 20), (1, share < 1.0)):
        plan = propose(before, leaving=many(min(leaving + spare + more, live)), of=of)
        assert (set(quota.hold(plan, of, before)["status"]) == {"held"}) is held


def test_a_held_profile_changes_nothing_for_others_and_merged_memories_do_not_count():
    before = state(*many(50), *many(50, profile_id="q"))
    of = profiles("p", "q")
    summary = {"summary_id": "S", "profile_id": "q", "members": ["m000", "m001"]}
    merging = [superseded(f"m{index:03}", "S", profile_id="q") for index in range(40)]
    plan = propose(before, leaving=[*many(30), *merging], summaries=[summary], of=of)
    checked = quota.hold(plan, of, before)
    assert dict(checked.group_by("profile_id").agg(pl.col("status").unique().first()).rows()) == {
        "p": "held",
        "q": "proposed",
    }
    alone = plan.filter(pl.col("profile_id") == "q")
    one, other = planning.post_state(before, checked, NO_DECISIONS), planning.post_state(before, alone, NO_DECISIONS)
    assert_frame_equal(one.memories, other.memories)
    assert_frame_equal(one.edges, other.edges)
    assert planning.live(one.memories) == {"p": 50, "q": 11}


def broken(before, plan, *, policy=POLICY, post=None, found_by_search=("S", "T"), scored=None, of=None):
    after = planning.post_state(before, plan, NO_DECISIONS) if post is None else post
    everything = scores(before) if scored is None else scored
    retrievable = (
        before.memories.select("profile_id", "memory_id")
        .clear()
        .vstack(
            pl.DataFrame(
                [("p", name) for name in found_by_search],
                schema={"profile_id": pl.String, "memory_id": pl.String},
                orient="row",
            )
        )
    )
    return invariants.violations(
        plan,
        before,
        profiles() if of is None else of,
        policy=policy,
        scored=everything,
        post=after,
        retrievable=retrievable,
    )


def scores(before, protected=(), **columns):
    """Scores of the live memories, as far as the checks read them."""
    return before.memories.filter(pl.col("lifecycle").is_in(LIVE)).select(
        "profile_id",
        "memory_id",
        strength=pl.lit(columns.get("strength", 0.5)),
        is_protected=pl.col("memory_id").is_in(list(protected)),
        budget_protected=pl.lit(value=False),
        protection_reason=pl.when(pl.col("memory_id").is_in(list(protected))).then(pl.lit("younger than 90 days")),
    )


def test_a_good_plan_breaks_nothing():
    before = state("a", "b", "c")
    plan = propose(before, **MERGE, links=[found("a", "c")])
    assert broken(before, plan, scored=scores(before, protected=["a", "b"])).is_empty()
    assert broken(before, plan.clear()).columns == ["profile_id", "check", "memory_id", "detail"]


def test_no_protected_memory_is_archived_or_deleted():
    before = state("a", "b")
    for action in ("archive", "delete"):
        plan = propose(before, leaving=[{"memory_id": "a", "action": action}])
        bad = broken(before, plan, scored=scores(before, protected=["a"]))
        assert bad.rows() == [
            ("p", "protected", "a", f"{action} by rule archive_threshold, but it is protected: younger than 90 days.")
        ]
        assert broken(before, plan.with_columns(status=pl.lit("held"))).is_empty()


def test_only_explicit_protection_and_core_bar_supersession():
    before = state({"memory_id": "a", "protected": True}, {"memory_id": "b", "category": "core"}, "c")
    plan = propose(before, **MERGE)
    assert broken(before, plan)["memory_id"].to_list() == ["a", "b"]
    free = Policy(protect_core=False, protect_flagged=False)
    assert broken(before, plan, policy=free).is_empty()


def test_a_summary_may_be_replaced_and_a_stale_one_archived_whatever_protects_it():
    before = state(
        "a",
        "b",
        {"memory_id": "S", "kind": "meta_pattern", "protected": True, "importance_given": 0.9, "stability_given": 0.5},
    )
    scored = scores(before, protected=["S"])
    replaced = propose(before, summaries=[{"summary_id": "T", "members": ["a", "b"], "replaces": ["S"]}])
    stale = propose(before, leaving=[{"memory_id": "S", "rule": "stale_summary"}])
    assert broken(before, replaced, scored=scored).is_empty()
    assert broken(before, stale, scored=scored).is_empty()


def test_nothing_meets_another_profile():
    before = state("a", "b", {"memory_id": "z", "profile_id": "q"})
    plan = propose(
        before,
        links=[found("a", "z")],
        summaries=[{"summary_id": "S", "members": ["b", "z"], "supersedes": False}],
        leaving=[superseded("b", "elsewhere")],
    )
    bad = broken(before, plan)
    assert bad.filter(pl.col("check") == "isolation").select("memory_id", "detail").rows() == [
        ("elsewhere", "supersede names a memory that the profile does not have."),
        ("z", "link names a memory that the profile does not have."),
        ("z", "summarise names a memory that the profile does not have."),
    ]
    crossed = State(before.memories, TABLES["decided_edges"].conform(frames.edges([found("a", "z")])))
    assert broken(before, plan.clear(), post=crossed)["check"].to_list() == ["isolation"]
    assert broken(before, propose(before, links=[found("a", "b")]), of=profiles("q"))["check"].to_list() == [
        "isolation"
    ]


def test_a_superseded_memory_needs_a_live_summary_that_a_search_finds():
    before, _, after = merged()
    plan = propose(before, **MERGE)
    bad = broken(before, plan, found_by_search=())
    assert bad.rows() == [("p", "retrievable", name, "No search finds its summary S.") for name in ("a", "b")]
    lost = propose(after, leaving=[{"memory_id": "S", "rule": "stale_summary"}])
    assert broken(after, lost).is_empty()
    back = planning.post_state(after, lost, NO_DECISIONS)
    assert stands(back) == {"S": "archived", "a": "active", "b": "active", "c": "active"}
    missing = broken(before, plan.filter(pl.col("action") == "supersede"))
    assert missing.filter(pl.col("check") == "retrievable")["memory_id"].to_list() == ["a", "b"]


def test_every_number_is_finite():
    before = state("a", "b", edges=[found("a", "b")])
    nothing = propose(before)
    nan = before.edges.with_columns(weight=pl.lit(float("nan")))
    assert broken(before, nothing, post=State(before.memories, nan))["check"].to_list() == ["finite"]
    infinite = before.memories.with_columns(energy_base=pl.lit(float("inf")))
    assert broken(before, nothing, post=State(infinite, before.edges))["memory_id"].to_list() == ["a", "b"]
    assert broken(before, nothing, scored=scores(before, strength=float("nan")))["check"].to_list() == ["finite"] * 2
    plan = propose(before, leaving=[{"memory_id": "a"}])
    spelled = plan.with_columns(factors=pl.lit('{"strength":NaN}'))
    assert broken(before, spelled)["check"].to_list() == ["finite"]
    unknown = propose(before, links=[found("b", "a", base_weight=float("nan"), weight=0.2)])
    assert broken(before, unknown)["check"].to_list() == ["finite"]


def test_nothing_is_lost_doubled_or_made_up():
    before = state("a", "b")
    plan = propose(before).clear()

    def checks(memories):
        return broken(before, plan, post=State(memories, before.edges)).select("check", "memory_id").unique().rows()

    assert checks(before.memories.filter(pl.col("memory_id") == "b")) == [("conservation", "a")]
    assert checks(pl.concat([before.memories, before.memories.head(1)])) == [("conservation", "a")]
    assert checks(state("a", "b", "c").memories) == [("conservation", "c")]
    assert checks(state("a", {"memory_id": "b", "lifecycle": "limbo"}).memories) == [("conservation", "b")]
    summary = propose(before, **MERGE)
    assert broken(before, summary, post=before).select("check", "memory_id").rows() == [("conservation", "S")]


def test_no_memory_is_decided_twice():
    before = state("a", "b")
    one, two = (propose(before, leaving=[{"memory_id": "a", "action": action}]) for action in ("archive", "delete"))
    bad = broken(before, pl.concat([one, two]))
    assert bad.select("check", "memory_id").rows() == [("decided_twice", "a")]


def test_a_plan_survives_its_portable_form_and_a_changed_one_is_refused():
    before = state("a", "b", "c")
    of = profiles()
    plan = propose(before, **MERGE, links=[found("a", "c", confidence=0.1 + 0.2)])
    document = json.loads(json.dumps(plan_document.write(plan, of)))
    decisions, participants = plan_document.read(document)
    assert_frame_equal(decisions, plan)
    assert_frame_equal(participants, of)
    document["plan"][0]["memory_id"] = "z"
    with pytest.raises(ValueError, match="changed since it was written"):
        plan_document.read(document)
    with pytest.raises(ValueError, match="format is None"):
        plan_document.read({})
    empty, _ = plan_document.read(plan_document.write(plan.clear(), of))
    assert_frame_equal(empty, plan.clear())


def test_a_plan_id_depends_on_ledger_policy_clock_and_position():
    ids = {
        planning.plan_id("l", "p", AS_OF, 1),
        planning.plan_id("m", "p", AS_OF, 1),
        planning.plan_id("l", "q", AS_OF, 1),
        planning.plan_id("l", "p", ago(1), 1),
        planning.plan_id("l", "p", AS_OF, 2),
    }
    assert {len(one) for one in ids} == {32}
    assert len(ids) == 5
    assert planning.plan_id("l", "p", AS_OF, 1) in ids


def test_decisions_build_on_a_summary_on_what_replaces_it_and_on_an_edge():
    _, first, after = merged()
    second = commit(
        propose(
            after,
            summaries=[{"summary_id": "T", "members": ["a", "b", "c"], "replaces": ["S"]}],
            links=[found("a", "b")],
        ),
        102,
    )
    later = projection.apply(after, second)
    third = commit(propose(later, faded=[found("a", "b", weight=0.01)]), 103)
    decisions = pl.concat([first, second, third])

    def built_on(*names):
        return sorted(said(dependants.of(decisions, decisions.filter(pl.col("memory_id").is_in(names)))))

    assert built_on("S") == [("supersede", "a", "S"), ("supersede", "b", "S")]
    summary = decisions.filter(pl.col("action") == "summarise", pl.col("memory_id") == "S")
    assert sorted(said(dependants.of(decisions, summary))) == [
        ("supersede", "S", "T"),
        ("supersede", "a", "S"),
        ("supersede", "b", "S"),
    ]
    link = decisions.filter(pl.col("action") == "link")
    assert said(dependants.of(decisions, link)) == [("prune", "a", "b")]
    assert dependants.of(decisions, third).is_empty()


def ledger(rows):
    table = TABLES["events"]
    complete = [
        {"profile_id": "p", "ordinal": 0, "seq": index, "event_id": f"e{index}", "occurred_at": ago(50), **row}
        for index, row in enumerate(rows, 1)
    ]
    return table.conform(
        pl.DataFrame(
            [{"recorded_at": AS_OF + timedelta(days=99), **row} for row in complete], schema=table.empty().schema
        )
    )


ORIGINALS = st.sampled_from(["a", "b", "c", "d"])
SUMMARIES = st.sampled_from(["S", "T"])
PROFILES = st.sampled_from(["p", "q"])
DAYS = st.integers(0, 4)
INSTANTS = st.integers(-4, 16).map(lambda quarters: AS_OF + timedelta(hours=6 * quarters))
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "profile_id": PROFILES,
            "memory_id": ORIGINALS | SUMMARIES,
            "target_id": ORIGINALS | SUMMARIES,
            "event_type": st.sampled_from(["memory.accessed", "memory.updated", "link.asserted"]),
            "occurred_at": INSTANTS,
            "edge_type": st.sampled_from(["DISCOVERED", "RELATES_TO"]),
            "content": st.sampled_from([None, "new"]),
        }
    ),
    max_size=12,
)
WISHES = st.fixed_dictionaries(
    {
        "summaries": st.lists(
            st.fixed_dictionaries(
                {"profile_id": PROFILES, "summary_id": SUMMARIES, "replaces": st.lists(SUMMARIES, max_size=1)}
            ),
            max_size=2,
            unique_by=lambda row: (row["profile_id"], row["summary_id"]),
        ),
        "leaving": st.lists(
            st.builds(
                lambda action, summary, **row: (
                    superseded(target_id=summary, **row) if action == "supersede" else {"action": action, **row}
                ),
                st.sampled_from(["archive", "delete", "supersede", "expire", "cold", "stub"]),
                SUMMARIES,
                profile_id=PROFILES,
                memory_id=ORIGINALS,
            ),
            max_size=4,
            unique_by=lambda row: (row["profile_id"], row["memory_id"]),
        ),
        "links": st.lists(
            st.builds(found, ORIGINALS, ORIGINALS, profile_id=PROFILES),
            max_size=3,
            unique_by=lambda row: (row["profile_id"], row["source"], row["target"]),
        ),
        "changes": st.lists(
            st.fixed_dictionaries(
                {"profile_id": PROFILES, "memory_id": ORIGINALS, "other_id": ORIGINALS, "at": INSTANTS}
            ),
            max_size=2,
            unique_by=lambda row: (row["profile_id"], row["memory_id"]),
        ),
        "risen": st.lists(
            st.fixed_dictionaries(
                {
                    "profile_id": PROFILES,
                    "memory_id": ORIGINALS | SUMMARIES,
                    "tier": st.sampled_from([None, "short_term", "long_term"]),
                    "at": INSTANTS,
                    "energy": st.just(2.5),
                    "lifecycle": st.sampled_from([None, "warm"]),
                    "category": st.sampled_from([None, "core"]),
                }
            ),
            max_size=2,
            unique_by=lambda row: (row["profile_id"], row["memory_id"]),
        ),
        "blocks": st.lists(
            st.fixed_dictionaries(
                {
                    "profile_id": PROFILES,
                    "content": st.sampled_from(["", "text", "other"]),
                    "members": st.lists(ORIGINALS | SUMMARIES, max_size=2),
                }
            ),
            max_size=2,
            unique_by=lambda row: row["profile_id"],
        ),
        "late": st.lists(
            st.fixed_dictionaries({"profile_id": PROFILES, "memory_id": ORIGINALS, "place": st.integers(0, 3)}),
            max_size=2,
            unique_by=lambda row: (row["profile_id"], row["memory_id"]),
        ),
    }
)
RUNS = st.lists(st.tuples(DAYS, WISHES, st.booleans(), st.sets(st.integers(0, 30), max_size=3)), min_size=1, max_size=4)
STORED = [
    {"event_type": "memory.stored", "memory_id": name, "profile_id": profile, "content": f"note {name}"}
    for name in "abcd"
    for profile in "pq"
]


def desired(wishes, before, as_of):
    """Stage outputs that a run could have: summaries of two memories, and only what exists is superseded."""
    made = [
        {**row, "members": ["a", "b"], "replaces": [name for name in row["replaces"] if name != row["summary_id"]]}
        for row in wishes["summaries"]
    ]
    known = {(row["profile_id"], row["summary_id"]) for row in made} | set(
        before.memories.filter(pl.col("lifecycle") == "active").select("profile_id", "memory_id").iter_rows()
    )
    leaving = [
        row
        for row in wishes["leaving"]
        if row["action"] != "supersede" or (row["profile_id"], row["target_id"]) in known
    ]
    links = [{**row, "discovered_at": as_of} for row in wishes["links"] if row["source"] != row["target"]]
    return {
        "summaries": [
            {**row, "replaces": [name for name in row["replaces"] if (row["profile_id"], name) in known]}
            for row in made
        ],
        "leaving": leaving,
        "links": links,
        "changes": [row for row in wishes["changes"] if row["memory_id"] != row["other_id"] and row["at"] <= as_of],
        "risen": [row for row in wishes["risen"] if row["at"] <= as_of],
        "blocks": wishes["blocks"],
        "late": wishes["late"],
        "faded": before.edges.filter(pl.col("origin") == "decided", pl.col("edge_type") == "DISCOVERED")
        .head(1)
        .to_dicts(),
    }


def same(one, other):
    """Both states hold the same tables, to the bit."""
    for name in ("memories", "edges", "accesses", "tier_changes", "blocks"):
        assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)


@examples(2)
@given(EVENTS, RUNS)
def test_a_history_of_runs_folds_to_what_each_run_published(rows, runs):
    stream = ledger([*STORED, *rows])
    decisions, reverted, days, seq = NO_DECISIONS, NO_REVERTS, 0, 100
    for later, wishes, retry, undone in runs:
        days, seq = max(days, later), seq + 2
        as_of = AS_OF + timedelta(days=days)
        events = stream.filter(pl.col("occurred_at") <= as_of)
        reverted = pl.concat(
            [reverted, revert(decisions.filter(pl.int_range(pl.len()).is_in(list(undone))), seq)]
        ).unique()
        reverted = reverted.unique(["profile_id", "decision_id"])
        standing = projection.unmasked(decisions, reverted)
        before = projection.fold(events, standing.filter(pl.col("as_of") < as_of))
        known = {
            "of": profiles("p", "q", as_of=as_of, seq=seq, retry_reverted=retry),
            "committed": standing.filter(pl.col("as_of") == as_of),
            "reverted": reverted,
        }
        wanted = desired(wishes, before, as_of)
        plan = propose(before, **wanted, **known, decisions=decisions)
        published = planning.post_state(before, plan, known["committed"])
        decisions = pl.concat([decisions, commit(plan, seq + 1)])
        present = projection.unmasked(decisions, reverted)
        rebuilt = projection.fold(events, present)
        same(published, rebuilt)
        known |= {"committed": present.filter(pl.col("as_of") == as_of)}
        assert propose(before, **wanted, **known, decisions=decisions).is_empty()
        ids = before.memories.select("profile_id", "memory_id")
        assert ids.join(rebuilt.memories, on=["profile_id", "memory_id"], how="anti").is_empty()
        assert not rebuilt.memories.select("profile_id", "memory_id").is_duplicated().any()
        assert TABLES["decided_edges"].violations(rebuilt.edges).is_empty()


@examples(2)
@given(EVENTS, RUNS, st.integers(1, 2))
def test_decisions_can_be_applied_in_two_lots(rows, runs, cut):
    start = projection.project(ledger([*STORED, *rows]))
    lots, before = [], start
    for index, (_, wishes, _, _) in enumerate(runs):
        as_of = AS_OF + timedelta(days=10 + index)
        of = profiles("p", "q", as_of=as_of, seq=100 + index)
        lots.append(commit(propose(before, **desired(wishes, before, as_of), of=of), 101 + index))
        before = projection.apply(before, lots[-1])
    first, second = (pl.concat([NO_DECISIONS, *part]) for part in (lots[:cut], lots[cut:]))
    whole = projection.apply(start, pl.concat([second, first]))
    halves = projection.apply(projection.apply(start, first), second)
    same(whole, halves)


def test_a_pruned_pair_comes_back_only_for_a_new_text():
    before = state("a", "b")
    link = commit(propose(before, links=[found("a", "b")]), 101)
    linked = projection.apply(before, link)
    cut = commit(propose(linked, faded=[found("a", "b", weight=0.01)], decisions=link), 102)
    past = pl.concat([link, cut])
    pruned = projection.apply(linked, cut)
    assert propose(pruned, links=[found("a", "b")], decisions=past).is_empty()
    changed = State(
        pruned.memories.with_columns(
            content_hash=pl.when(pl.col("memory_id") == "a").then(pl.lit("new")).otherwise("content_hash")
        ),
        pruned.edges,
    )
    assert said(propose(changed, links=[found("a", "b")], decisions=past)) == [("link", "a", "b")]
