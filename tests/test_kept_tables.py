"""Runs that leave tables as they stood: what a task has no use for is neither made nor changed."""

from datetime import UTC, datetime, timedelta

import homes
import polars as pl
import pytest

from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.runs import commit, rebuild, undo
from memory_pipeline.schemas import Action

NOW = datetime(2026, 7, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
PARTIAL = ("lightweight", "promote", "decay", "creative")
"""Tasks that leave some tables as they stood."""
FOUND = (
    *("comparisons", "derived_edges", "fact_changes", "judgements"),
    *("clusters", "cluster_members", "merge_refusals", "groupings"),
)


@pytest.fixture(scope="module")
def history():
    return homes.events(profiles=1, memories=60)


@pytest.fixture(scope="module")
def once(tmp_path_factory, history):
    """A store after a first whole run."""
    home = tmp_path_factory.mktemp("once")
    with homes.filled(home, history) as lake:
        homes.night(lake, as_of=homes.NIGHT - timedelta(days=20), run_id="first")
    return home


def test_what_a_task_has_no_use_for():
    idle = {task: {name for stage in pipeline.idle(task) for name in stage.reused} for task in TASKS}
    assert idle["full"] == idle["tick"] - {"fact_changes", "judgements"} == idle["reflect"] == set()
    assert idle["lightweight"] == set(FOUND)
    assert idle["promote"] == idle["decay"] == set(FOUND) - {"comparisons", "derived_edges"}
    for task, actions in TASKS.items():
        assert ("clusters" in idle[task]) == (not actions & {Action.SUMMARISE, Action.SUPERSEDE, Action.ARCHIVE})


@pytest.mark.drill
@pytest.mark.parametrize("task", PARTIAL)
def test_a_run_keeps_what_it_has_no_use_for_and_a_rebuild_and_its_undo_give_the_same(once, tmp_path, task):
    with homes.copied(once, tmp_path / "home") as lake:
        before = homes.published(lake)
        homes.night(lake, as_of=homes.NIGHT, run_id="second", task=task)
        after = homes.published(lake)
        for stage in pipeline.idle(task):
            for name in stage.reused:
                assert after[name].equals(before[name]), name
        assert set(after["scored_memories"]["as_of"]) == {homes.NIGHT}
        assert_rebuilt(lake)
    with homes.copied(tmp_path / "home", tmp_path / "undone") as lake:
        undo.undo(lake, "second", now=NOW)
        homes.same(before, homes.published(lake))


@pytest.mark.drill
@pytest.mark.parametrize("task", PARTIAL)
def test_a_rebuild_after_an_undo_below_a_run_that_kept_tables_gives_the_same(once, tmp_path, task):
    with homes.copied(once, tmp_path / "home") as lake:
        homes.night(lake, as_of=homes.NIGHT, run_id="second", task=task)
        decisions = lake.ledger.decisions()
        merge = decisions.filter((pl.col("action") == "summarise") & (pl.col("rule") == "compression"))["memory_id"][0]
        undo.undo(lake, merge, profile_id="sample-1", cascade=True, now=NOW)
        assert merge not in set(lake.read("memories")["memory_id"])
        assert_rebuilt(lake)


def assert_rebuilt(lake):
    rebuilt = rebuild.rebuild(lake, "sample-1")
    for name in commit.PUBLISHED:
        assert rebuilt[name].equals(lake.read(name)), name


@pytest.mark.drill
def test_the_first_run_of_a_profile_makes_everything_whatever_its_task(tmp_path, history):
    with homes.filled(tmp_path, history) as lake:
        homes.night(lake, run_id="first", task="lightweight")
        made = homes.published(lake)
        assert all(made[name].height for name in ("derived_edges", "clusters", "cluster_members"))
        homes.night(lake, as_of=homes.NIGHT + HOUR, run_id="second", task="lightweight")
        for name in FOUND:
            assert lake.read(name).equals(made[name]), name
        assert rebuild.rebuild(lake, "sample-1")["clusters"].equals(lake.read("clusters"))
