"""Runs that leave tables as they stood: what a task has no use for is neither made nor changed."""

from datetime import UTC, datetime, timedelta

import homes
import polars as pl
import pytest
import sampling

from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.runs import commit, rebuild, undo
from memory_pipeline.schemas import Action

NOW = datetime(2026, 7, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
FOUND = ("derived_edges", "fact_changes", "clusters", "cluster_members", "merge_refusals")


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A store after a first whole run."""
    home = tmp_path_factory.mktemp("once")
    with homes.filled(home, homes.events(profiles=2, memories=60)) as lake:
        homes.night(lake, as_of=homes.NIGHT - timedelta(days=20), run_id="first")
    return home


@pytest.fixture(scope="module")
def twice(once, tmp_path_factory):
    """A store after two whole runs."""
    home = tmp_path_factory.mktemp("twice")
    with homes.copied(once, home) as lake:
        homes.night(lake, as_of=homes.NIGHT, run_id="second")
    return home


@pytest.fixture
def lake(tmp_path):
    with homes.filled(tmp_path, homes.events(profiles=2, memories=60)) as opened:
        yield opened


def test_what_a_task_has_no_use_for():
    idle = {
        task: {name for stage in pipeline.idle(task) for name in stage.gives if name not in stage.recorded}
        for task in TASKS
    }
    assert idle["full"] == idle["tick"] - {"fact_changes"} == idle["reflect"] == set()
    assert idle["lightweight"] == set(FOUND)
    assert idle["promote"] == idle["decay"] == set(FOUND) - {"derived_edges"}
    for task, actions in TASKS.items():
        assert ("clusters" in idle[task]) == (not actions & {Action.SUMMARISE, Action.SUPERSEDE, Action.ARCHIVE})


@pytest.mark.parametrize("task", sampling.first("lightweight", "promote", "decay", "creative"))
def test_a_run_keeps_what_it_has_no_use_for_and_a_rebuild_gives_the_same(twice, tmp_path, task):
    with homes.copied(twice, tmp_path) as lake:
        keeps_what_it_has_no_use_for(lake, task)


def keeps_what_it_has_no_use_for(lake, task):
    before = homes.published(lake)
    homes.night(lake, as_of=homes.NIGHT + HOUR, run_id="third", task=task)
    after = homes.published(lake)
    for stage in pipeline.idle(task):
        for name in stage.gives:
            assert name in stage.recorded or after[name].equals(before[name]), name
    assert set(after["scored_memories"]["as_of"]) == {homes.NIGHT + HOUR}
    for profile_id in ("sample-1", "sample-2"):
        rebuilt = rebuild.rebuild(lake, profile_id)
        for name in commit.PUBLISHED:
            assert rebuilt[name].equals(lake.read(name, profiles=[profile_id])), name
    undo.undo(lake, "third", now=NOW)
    homes.same(before, homes.published(lake))


def test_the_first_run_of_a_profile_makes_everything_whatever_its_task(lake):
    homes.night(lake, run_id="first", task="lightweight")
    made = homes.published(lake)
    assert all(made[name].height for name in ("derived_edges", "clusters", "cluster_members"))
    homes.night(lake, as_of=homes.NIGHT + HOUR, run_id="second", task="lightweight")
    for name in FOUND:
        assert lake.read(name).equals(made[name]), name
    assert rebuild.rebuild(lake, "sample-1")["clusters"].equals(lake.read("clusters", profiles=["sample-1"]))


def test_a_run_that_is_undone_below_one_that_kept_its_tables(once, tmp_path):
    with homes.copied(once, tmp_path) as lake:
        undone_below_one_that_kept_its_tables(lake)


def undone_below_one_that_kept_its_tables(lake):
    merge = lake.ledger.decisions().filter((pl.col("action") == "summarise") & (pl.col("rule") == "compression"))
    homes.night(lake, as_of=homes.NIGHT, run_id="second", task="lightweight")
    row = merge.row(0, named=True)
    undo.undo(lake, row["memory_id"], profile_id=row["profile_id"], cascade=True, now=NOW)
    rebuilt = rebuild.rebuild(lake, row["profile_id"])
    for name in commit.PUBLISHED:
        assert rebuilt[name].equals(lake.read(name, profiles=[row["profile_id"]])), name
