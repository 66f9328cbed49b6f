"""What a plan decides of memories that leave, rise, are closed or told of in blocks, and what of it can be undone."""

import json
from datetime import timedelta

import polars as pl
import pytest
from frames import AS_OF, ago
from planned import (
    MERGE,
    NO_DECISIONS,
    commit,
    compiled,
    found,
    memory,
    merged,
    profiles,
    propose,
    revert,
    rows,
    said,
    stands,
    state,
    superseded,
)
from polars.testing import assert_frame_equal
from uses import accesses

from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.consolidation.plans import dependants, invariants, plan_document, planning, quota
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import LIVE, TABLES, Action
from memory_pipeline.settings import Policy

EVENT = {"memory_id": "a", "other_id": "b"}
ORDER = ("delete", "archive", "expire", "cold", "stub")


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_a_memory_gets_one_decision_the_strongest(first):
    before = state("a", "b")
    wishes = [{"memory_id": "a", "action": action} for action in reversed(ORDER[first:])]
    expected = [] if ORDER[first] == "stub" else [(ORDER[first], "a", None)]
    assert said(propose(before, leaving=wishes)) == expected
    summary = {"summary_id": "S", "members": ["a", "b"]}
    both = propose(before, summaries=[summary], leaving=[*wishes, superseded("a", "S")])
    assert said(both) == [("summarise", "S", None), ("supersede", "a", "S")]


@pytest.mark.parametrize("action", ["delete", "archive", "expire", "cold"])
def test_what_leaves_does_not_rise_and_is_closed_unless_nothing_of_it_stays(action):
    before = state("a", "b")
    wishes = {"changes": [EVENT], "risen": [{"memory_id": "a"}, {"memory_id": "b"}]}
    plan = propose(before, **wishes, leaving=[{"memory_id": "a", "action": action}])
    closing = [] if action == "delete" else [("close", "a", "b")]
    assert said(plan) == [*closing, (action, "a", None), ("promote", "b", None)]
    assert said(propose(before, **wishes)) == [("close", "a", "b"), ("promote", "a", None), ("promote", "b", None)]


def test_a_merge_waits_for_the_closing_of_a_member():
    before, merge = state("a", "b", "c"), {"summaries": [{"summary_id": "S", "members": ["a", "c"]}]}
    leaving = [superseded("a", "S"), superseded("c", "S")]
    merged = [("summarise", "S", None), ("supersede", "a", "S"), ("supersede", "c", "S")]
    assert said(propose(before, **merge, leaving=leaving)) == merged
    closing = {"changes": [EVENT]}
    assert said(propose(before, **closing, **merge, leaving=leaving)) == [("close", "a", "b")]


def test_the_newer_of_two_facts_may_leave_in_the_run_that_closes_the_older():
    plan = propose(state("a", "b"), changes=[EVENT], leaving=[{"memory_id": "b", "action": "expire"}])
    assert said(plan) == [("close", "a", "b"), ("expire", "b", None)]


def test_a_plan_closes_raises_compiles_and_puts_to_rest():
    before = state("a", "b", "c", "d", {"memory_id": "e", "lifecycle": "cold", "content": "x" * 300})
    wishes = {
        "changes": [EVENT],
        "risen": [{"memory_id": "b"}, {"memory_id": "b", "lifecycle": "warm"}],
        "leaving": [
            {"memory_id": "c", "action": "expire"},
            {"memory_id": "d", "action": "cold"},
            {"memory_id": "e", "action": "stub"},
        ],
        "blocks": [{}],
        "late": [{"memory_id": "b", "place": 4}],
    }
    plan = propose(before, **wishes)
    assert said(plan) == [
        ("close", "a", "b"),
        ("expire", "c", None),
        ("cold", "d", None),
        ("stub", "e", None),
        ("promote", "b", None),
        ("promote", "b", None),
        ("compile", "user_profile", None),
        ("defer", "b", None),
    ]
    assert TABLES["consolidation_plan"].violations(plan).is_empty()
    after = planning.post_state(before, plan, NO_DECISIONS)
    assert stands(after) == {"a": "active", "b": "warm", "c": "expired", "d": "cold", "e": "stub"}
    old, new = memory(after, "a"), memory(after, "b")
    assert (old["valid_until"], old["superseded_by"], old["superseded_kind"]) == (ago(1), "b", "update")
    assert (new["tier"], new["tier_since"], new["superseded_by"]) == ("short_term", ago(2), None)
    assert memory(after, "e")["content"] == "[archived] " + "x" * 200
    assert after.tier_changes.select("memory_id", "to_tier", "edge_type").rows() == [("b", "short_term", "PROMOTED_TO")]
    assert_frame_equal(after.blocks, compiled([{"plan_id": plan["plan_id"][0]}], "core_memory_blocks"))
    settled = {"leaving": wishes["leaving"], "changes": wishes["changes"]}
    assert propose(after, **settled, of=profiles(as_of=AS_OF + timedelta(days=1))).is_empty()


def test_what_is_merged_goes_cold_where_the_policy_says_so_and_then_becomes_a_stub():
    before = state("a", "b", "c")
    cold = planning.post_state(before, propose(before, **MERGE, superseded_lifecycle="cold"), NO_DECISIONS)
    assert stands(cold) == {"a": "cold", "b": "cold", "c": "active", "S": "active"}
    stub = planning.post_state(cold, propose(cold, leaving=[{"memory_id": "a", "action": "stub"}]), NO_DECISIONS)
    assert stands(stub) == {"a": "stub", "b": "cold", "c": "active", "S": "active"}
    assert (memory(stub, "a")["superseded_by"], memory(stub, "a")["content"]) == ("S", "[archived] note a")


def test_what_a_summary_stands_for_does_not_count_for_the_quota():
    before = state(*({"memory_id": f"m{index:03}"} for index in range(100)))
    summary = {"summary_id": "S", "members": ["m000", "m001"], "supersedes": False}
    of = profiles(max_archived_share=0.1)
    for target, held in (("S", False), (None, True)):
        wishes = [{"memory_id": f"m{index:03}", "target_id": target} for index in range(50)]
        plan = quota.hold(propose(before, summaries=[summary], leaving=wishes, of=of), of, before)
        assert set(plan["status"]) == {"held" if held else "proposed"}
        assert quota.figures(plan, before)["leaving"].to_list() == [50 if held else 0]
    after = planning.post_state(before, propose(before, summaries=[summary], leaving=wishes[:1], of=of), NO_DECISIONS)
    assert memory(after, "m000")["superseded_by"] is None


@pytest.mark.parametrize("action", ["delete", "archive", "expire", "cold"])
def test_every_way_out_counts_for_the_quota_and_what_is_cold_already_does_not(action):
    before = state(*({"memory_id": f"m{index:03}"} for index in range(30)), {"memory_id": "x", "lifecycle": "cold"})
    of = profiles(max_archived_share=0.1)
    wishes = [{"memory_id": f"m{index:03}", "action": action} for index in range(21)]
    plan = quota.hold(
        propose(before, leaving=[*wishes, {"memory_id": "x", "action": "stub"}], changes=[EVENT], of=of), of, before
    )
    assert quota.figures(plan, before).rows() == [("p", 30, 21, 21 / 30)]
    assert set(plan["status"]) == {"held"}
    assert_frame_equal(planning.post_state(before, plan, NO_DECISIONS).memories, before.memories)


WISHES = {
    "close": {"changes": [EVENT]},
    "promote": {"risen": [{"memory_id": "a"}]},
    "compile": {"blocks": [{}]},
    "expire": {"leaving": [{"memory_id": "a", "action": "expire"}]},
    "cold": {"leaving": [{"memory_id": "a", "action": "cold"}]},
}


@pytest.mark.parametrize("action", WISHES)
def test_what_was_undone_is_not_proposed_again_unless_asked_for(action):
    before, wishes = state("a", "b"), WISHES[action]
    decided = commit(propose(before, **wishes), 101)
    assert decided["action"].to_list() == [action]
    known = {"decisions": decided, "reverted": revert(decided)}
    tomorrow = {"as_of": AS_OF + timedelta(days=1), "seq": 105}
    assert propose(before, **wishes, **known, of=profiles(**tomorrow)).is_empty()
    again = propose(before, **wishes, **known, of=profiles(**tomorrow, retry_reverted=True))
    assert again["action"].to_list() == [action]
    assert propose(before, **wishes, committed=decided, decisions=decided).is_empty()


def test_what_was_undone_is_proposed_for_another_text():
    for action, texts in (("close", "ab"), ("cold", "a"), ("expire", "a")):
        decided = commit(propose(state("a", "b"), **WISHES[action]), 101)
        known = {"decisions": decided, "reverted": revert(decided)}
        for name in texts:
            changed = state({"memory_id": name, "content": "new"}, *set("ab") - {name})
            assert propose(changed, **WISHES[action], **known)["action"].to_list() == [action]
    decided = commit(propose(state("a"), blocks=[{}]), 101)
    other = {"blocks": [{"content": "Ada lives in Bath."}], "decisions": decided, "reverted": revert(decided)}
    assert propose(state("a"), **other)["action"].to_list() == ["compile"]


def test_an_undone_promotion_does_not_come_back_in_company():
    before = state("a")
    decided = commit(propose(before, risen=[{"memory_id": "a"}]), 101)
    company = {
        "memory_id": "a",
        "tier": "short_term",
        "at": ago(2),
        "energy": 2.5,
        "lifecycle": "warm",
        "rules": ["energy", "used"],
        "reasons": ["It has energy enough to rise.", "It is used."],
    }
    plan = propose(before, risen=[company], decisions=decided, reverted=revert(decided))
    assert plan.select("rule", "reason").rows() == [("used", "It is used.")]
    assert memory(planning.post_state(before, plan, NO_DECISIONS), "a")["tier"] == "working"


def test_a_block_that_tells_of_a_summary_which_is_not_made_keeps_its_text():
    before, decided, after = merged()
    telling, plain = {"members": ["S"]}, {"block": "project_context", "members": ["c"]}
    wishes = {**MERGE, "blocks": [telling, plain]}
    assert ("compile", "user_profile", None) in said(propose(before, **wishes))
    undone = propose(before, **wishes, decisions=decided, reverted=revert(decided))
    assert said(undone) == [("compile", "project_context", None)]
    light = propose(before, **wishes, actions=TASKS["lightweight"])
    assert said(light) == [("compile", "project_context", None)]
    assert len(said(propose(after, blocks=[telling, plain]))) == 2
    emptied = propose(before, blocks=[{"members": [], "content": ""}])
    assert said(emptied) == [("compile", "user_profile", None)]


def test_a_summary_that_would_take_nobodys_place_is_not_made():
    before = state("a", "b", "c")
    summary = {"summary_id": "S", "members": ["a", "b"]}
    assert propose(before, summaries=[summary]).is_empty()
    assert said(propose(before, summaries=[summary | {"supersedes": False}])) == [("summarise", "S", None)]


def test_an_auto_link_comes_back_after_it_was_pruned_and_others_do_not():
    auto = {"edge_type": "ASSOCIATED", "kind": None, "algorithm": "auto_link"}
    for fields, back in ((auto, [("link", "a", "b")]), ({}, [])):
        before = state("a", "b")
        link = commit(propose(before, links=[found("a", "b", **fields)]), 101)
        linked = projection.apply(before, link)
        later, latest = (profiles(seq=100 + days, as_of=AS_OF + timedelta(days=days)) for days in (9, 20))
        faded = [found("a", "b", **fields, weight=0.01)]
        past = pl.concat([link, commit(propose(linked, faded=faded, decisions=link, of=later), 110)])
        pruned = projection.apply(linked, past)
        assert pruned.edges.is_empty()
        assert said(propose(pruned, links=[found("a", "b", **fields)], decisions=past, of=latest)) == back
        undone = {"decisions": link, "reverted": revert(link)}
        assert propose(before, links=[found("a", "b", **fields)], **undone).is_empty()


def test_on_a_promotion_builds_the_next_and_on_the_cold_that_a_memory_became_a_stub():
    steps = [
        {"risen": [{"memory_id": "a"}, {"memory_id": "b"}], "leaving": [{"memory_id": "c", "action": "cold"}]},
        {"risen": [{"memory_id": "a", "tier": "long_term", "at": ago(1), "energy": 5.5}]},
        {"leaving": [{"memory_id": "c", "action": "stub"}], "blocks": [{}], "changes": [EVENT]},
    ]
    before, lots = state("a", "b", "c"), []
    for index, wishes in enumerate(steps):
        of = profiles(as_of=AS_OF + timedelta(days=index), seq=100 + index)
        lots.append(commit(propose(before, **wishes, of=of), 101 + index))
        before = projection.apply(before, lots[-1])
    assert stands(before)["c"] == "stub"
    assert memory(before, "a")["tier"] == "long_term"
    decisions = pl.concat(lots)

    def built_on(action, name):
        chosen = decisions.filter(pl.col("action") == action, pl.col("memory_id") == name)
        return said(dependants.of(decisions, chosen.filter(pl.col("seq") == pl.col("seq").min())))

    assert built_on("promote", "a") == [("promote", "a", None)]
    assert built_on("promote", "b") == []
    assert built_on("cold", "c") == [("stub", "c", None)]
    assert built_on("stub", "c") == []
    assert built_on("close", "a") == []
    first = decisions.filter(pl.col("memory_id") == "a", pl.col("seq") == 101)
    undone = decisions.join(first, on="decision_id", how="anti")
    assert memory(projection.apply(state("a", "b", "c"), undone), "a")["tier"] == "working"


@pytest.mark.parametrize("task", TASKS)
def test_a_task_decides_only_its_own(task):
    names = [{"memory_id": name} for name in "abcdefgh"]
    faded = found("a", "c", edge_type="ASSOCIATED")
    before = state(*names, {"memory_id": "z", "lifecycle": "cold"}, edges=[faded])
    leaving = [{"memory_id": name, "action": action} for name, action in zip("efghz", ORDER[:4], strict=False)]
    wishes = {
        "summaries": [{"summary_id": "S", "members": ["a", "b"]}],
        "leaving": [superseded("a", "S"), *leaving, {"memory_id": "z", "action": "stub"}],
        "links": [found("c", "d")],
        "faded": [faded | {"weight": 0.01}],
        "changes": [{"memory_id": "b", "other_id": "c"}],
        "risen": [{"memory_id": "d"}],
        "cut": [{"memory_id": "d", "content_hash": memory(before, "d")["content_hash"]}],
        "blocks": [{"members": ["d"]}],
        "late": [{"memory_id": "d", "place": 0}],
    }
    everything = set(Action) - {Action.WITHDRAW}
    plan = propose(before, **wishes, actions=TASKS[task])
    assert set(plan["action"]) == {action.value for action in TASKS[task] & everything}
    decided = commit(propose(before, **wishes), 101)
    assert set(decided["action"]) == {action.value for action in everything}
    later = propose(before, committed=decided, decisions=decided, actions=TASKS[task], of=profiles(seq=101))
    own = decided.filter(pl.col("action").is_in([action.value for action in TASKS[task]]))
    withdrawn = own.height if Action.WITHDRAW in TASKS[task] else 0
    assert later["action"].to_list() == ["withdraw"] * withdrawn


def scored(before, protected=()):
    """Scores of the live memories, as far as the checks read them."""
    kept = pl.col("memory_id").is_in(list(protected))
    return before.memories.filter(pl.col("lifecycle").is_in(LIVE)).select(
        "profile_id",
        "memory_id",
        strength=pl.lit(0.5),
        is_protected=kept,
        budget_protected=pl.lit(value=False),
        protection_reason=pl.when(kept).then(pl.lit("younger than 90 days")),
    )


def broken(before, plan, *, protected=(), policy=None, present=None):
    bad = invariants.violations(
        plan,
        before if present is None else present,
        profiles(),
        policy=policy or Policy(),
        scored=scored(before, protected),
        post=planning.post_state(before, plan, NO_DECISIONS),
        retrievable=before.memories.select("profile_id", "memory_id"),
    )
    return bad.select("check", "memory_id").rows()


@pytest.mark.parametrize("action", ["expire", "cold"])
def test_no_protected_memory_expires_or_goes_cold(action):
    before = state("a", "b")
    plan = propose(before, leaving=[{"memory_id": "a", "action": action}])
    assert broken(before, plan, protected=["a"]) == [("protected", "a")]
    assert broken(before, plan, protected=["b"]) == []


@pytest.mark.parametrize("fields", [{"protected": True}, {"category": "core"}])
def test_no_memory_that_nothing_may_supersede_becomes_a_stub(fields):
    before = state({"memory_id": "a", "lifecycle": "cold", **fields}, {"memory_id": "b", "lifecycle": "cold"})
    plan = propose(before, leaving=[{"memory_id": name, "action": "stub"} for name in "ab"])
    assert broken(before, plan) == [("protected", "a")]
    assert broken(before, plan, policy=Policy(protect_flagged=False, protect_core=False)) == []


def test_blocks_name_memories_of_their_profile_and_closings_both():
    before = state("a", "b", {"memory_id": "z", "profile_id": "q"})
    plan = propose(before, blocks=[{"members": ["a", "b"]}], changes=[EVENT], risen=[{"memory_id": "a"}])
    assert broken(before, plan) == []
    swapped = plan.with_columns(pl.col("after").str.replace('"a","b"', '"a","z"', literal=True))
    assert broken(before, swapped) == [("isolation", "z")]
    strange = plan.with_columns(target_id=pl.when(pl.col("action") == "close").then(pl.lit("z")))
    assert broken(before, strange) == [("isolation", "z")]


def test_a_plan_carries_what_a_model_answered():
    plan, of = propose(state("a", "b"), **WISHES["close"]), profiles()
    answers = rows(
        "completions",
        [{"request_hash": "h", "content": "Zürich …"}, {"request_hash": "g", "content": None, "outcome": "timeout"}],
        model="m",
        purpose="summary",
        outcome="answered",
        input_tokens=5,
        output_tokens=7,
        cost=0.1 + 0.2,
    )
    document = json.loads(json.dumps(plan_document.write(plan, of, answers)))
    assert_frame_equal(plan_document.carried(document), answers)
    assert_frame_equal(plan_document.read(document)[0], plan)
    document["completions"][0]["content"] = "otherwise"
    with pytest.raises(ValueError, match="changed since it was written"):
        plan_document.read(document)
    for without in (plan_document.write(plan, of), plan_document.write(plan, of, answers.clear())):
        assert "completions" not in without
        assert_frame_equal(plan_document.carried(without), answers.clear())


def test_what_rests_wakes_and_can_be_put_to_rest_again():
    used = AS_OF + timedelta(days=1)
    before = state({"memory_id": "a", "last_accessed_at": used}, "b", accesses=accesses([{"ids": ["a"], "at": used}]))
    wishes = {"leaving": [{"memory_id": name, "action": "cold"} for name in "ab"]}
    decided = commit(propose(state("a", "b"), **wishes), 101)
    after = projection.apply(before, decided)
    assert stands(after) == {"a": "active", "b": "cold"}
    later = profiles(as_of=AS_OF + timedelta(days=9), seq=105)
    assert said(propose(after, **wishes, decisions=decided, of=later)) == [("cold", "a", None)]
