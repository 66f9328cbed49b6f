"""Lines of the log, in AutoMem's words."""

import homes
import polars as pl
import pytest

from memory_pipeline.runs import log
from memory_pipeline.settings import Policy, preset

DEFAULT, AUTOMEM = Policy(), Policy(**preset("automem"))


def said(task="full", actions=(), live=None, policy=DEFAULT, seconds=0.84, names=("p",)):
    profiles = pl.DataFrame(
        [{"profile_id": name, "task": task, "scope": "all", "policy_hash": policy.digest} for name in names]
    )
    types = dict.fromkeys(("profile_id", "memory_id", "action", "status"), pl.String)
    plan = pl.DataFrame([("p", f"m{index}", *one) for index, one in enumerate(actions)], schema=types, orient="row")
    counts = {"p": 1542} if live is None else live
    return log.lines(profiles, plan, counts, {policy.digest: policy}, seconds=seconds)


@pytest.mark.parametrize(("task", "word"), [("decay", "Decay"), ("full", "Full"), ("lightweight", "Lightweight")])
def test_every_task_says_how_much_it_did_and_how_long_it_took(task, word):
    assert said(task)[-1] == f"[consolidation] {word} complete: 1542 processed, 0.8s elapsed"


def test_what_was_decided_is_told_by_task():
    actions = [("archive", "proposed")] * 12 + [("delete", "proposed")] * 3 + [("link", "proposed")] * 3
    actions += [("summarise", "proposed")] * 2 + [("supersede", "proposed")] * 5 + [("prune", "held")]
    assert said(actions=actions) == [
        "[consolidation] Creative task: discovered 3 new associations",
        "[consolidation] Cluster task: created 2 summaries, superseded 5 memories",
        "[consolidation] Forget task: archived 12, deleted 3",
        "[consolidation] Full complete: 1542 processed, 0.8s elapsed",
    ]


def test_what_is_switched_off_is_named_where_a_task_would_have_done_it():
    off = "core_blocks, fact_changes, promote_tiers, promote_warm, promote_core"
    assert said(policy=AUTOMEM)[0] == f"[consolidation] Skipped for p: {off} switched off"
    assert said("lightweight", policy=AUTOMEM)[0] == "[consolidation] Skipped for p: core_blocks switched off"
    assert len(said("decay", policy=AUTOMEM)) == 1


def test_several_profiles_are_one_run():
    assert said(live={"p": 2, "q": 3}, names=("q", "p")) == [
        "[consolidation] Full complete: 5 processed, 0.8s elapsed",
    ]


@pytest.mark.drill
def test_the_lines_of_a_real_run(tmp_path):
    with homes.filled(tmp_path, homes.events(memories=12)) as lake:
        tables = homes.night(lake)
        policy = homes.settings(tmp_path).policy
        live = {"sample-1": 30, "sample-2": 30}
        found = log.lines(tables["profiles"], tables["consolidation_plan"], live, {policy.digest: policy}, seconds=1.0)
    assert found[-1] == "[consolidation] Full complete: 60 processed, 1.0s elapsed"
    assert any("Creative task: discovered" in line for line in found)
