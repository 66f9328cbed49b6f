"""The store described for a person: what ran last, what is due next, for whom and why."""

import json
from datetime import timedelta

import homes
import pytest

from memory_pipeline.consolidation import triggers
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import status, undo

NOW = homes.NIGHT + timedelta(hours=1)


@pytest.fixture(scope="module")
def after_a_night(tmp_path_factory):
    folder = tmp_path_factory.mktemp("night")
    with homes.filled(folder, homes.events(memories=6)) as opened:
        homes.night(opened)
    return folder


@pytest.fixture
def ran(after_a_night, tmp_path):
    """A store after the run `run` of the night."""
    with homes.copied(after_a_night, tmp_path) as opened:
        yield opened


@pytest.fixture
def lake(tmp_path):
    with homes.filled(tmp_path, homes.events(memories=6)) as opened:
        yield opened


def told(lake, *, now=NOW, profile_id=None, **policy):
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in policy.items())
    (lake.home / "memory_pipeline.toml").write_text(f"[policy]\n{lines}\n", "utf-8")
    return status.summary(lake, homes.settings(lake.home), now=now, profile_id=profile_id)


def by_task(rows):
    return {row["task"]: (row["last"], row["next_due"]) for row in rows}


@pytest.mark.drill
def test_automem_has_its_names_its_intervals_and_its_history(lake):
    homes.night(lake, as_of=homes.NIGHT - homes.days(2))
    for day in (1, 0):
        homes.night(lake, as_of=homes.NIGHT - homes.days(day), task="decay", run_id=f"decay {day}")
    found = told(lake, preset="automem", history_limit=3)
    assert found["last_decay"] == homes.NIGHT
    assert found["last_creative"] == found["last_cluster"] == found["last_forget"] == homes.NIGHT - homes.days(2)
    tasks = by_task(found["tasks"])
    assert set(tasks) == set(triggers.TASKS)
    assert tasks["decay"][1] == homes.NIGHT + homes.days(1)
    assert tasks["creative"][1] == homes.NIGHT + homes.days(5)
    assert tasks["cluster"][1] == homes.NIGHT + homes.days(28)
    assert tasks["forget"][1] is None
    assert [row["task"] for row in found["history"]] == ["decay", "decay", "decay"]
    names = {"task", "ran_at", "memories_processed", "duration_seconds"}
    assert names <= set(found["history"][0])


def test_where_everything_runs_nightly_everything_is_next_due_that_night(ran):
    tasks = by_task(told(ran)["tasks"])
    assert {due for _, due in tasks.values()} == {homes.NIGHT + homes.days(1)}
    assert {last for task, (last, _) in tasks.items()} == {homes.NIGHT}


def test_a_run_that_was_undone_is_no_last_run_but_is_not_due_again(ran):
    due = {task: next_due for task, (_, next_due) in by_task(told(ran)["tasks"]).items()}
    undo.undo(ran, "run", now=NOW)
    found = told(ran)
    assert {last for last, _ in by_task(found["tasks"]).values()} == {None}
    assert {task: next_due for task, (_, next_due) in by_task(found["tasks"]).items()} == due
    assert found["last_decay"] is None
    assert {row["outcome"] for row in found["history"]} == {"reverted"}


@pytest.mark.drill
def test_every_profile_says_what_is_due_for_it_and_why(lake):
    homes.night(lake, profiles=["sample-1"])
    policy = {"step_count_trigger": 5, "session_trigger": False, "scheduled_sessions": 0, "nightly_run": False}
    one, two = told(lake, now=homes.RECORDED, **policy)["profiles"]
    assert {row["trigger"] for row in one["due"]} == {"decay", "creative"}
    reason = "20 memories stored since the last lightweight run (threshold 5)"
    assert {"trigger": "steps", "task": "lightweight", "reason": reason} in two["due"]
    assert by_task(one["tasks"])["decay"][0] == homes.NIGHT
    assert by_task(two["tasks"])["decay"][0] is None


def test_a_profile_that_is_not_enabled_is_never_due(lake):
    (row, _) = told(lake, enabled=False)["profiles"]
    assert row["enabled"] is False
    assert row["due"] == []
    assert {due for _, due in by_task(row["tasks"]).values()} == {None}


def test_what_waits_is_counted_and_aged(lake):
    assert told(lake, now=homes.RECORDED + timedelta(seconds=90))["waiting_seconds"] == 90.0


def test_nothing_waits_after_a_run(ran):
    assert told(ran)["waiting_seconds"] == 0.0


def test_a_name_that_nobody_has_is_refused_and_names_no_other(lake):
    with pytest.raises(ValueError, match="correct the name: `memory-pipeline profiles`"):
        told(lake, profile_id="sample1")


def test_an_empty_store_can_be_described(tmp_path):
    with Lake(tmp_path) as empty:
        found = told(empty)
    assert (found["profiles"], found["history"], found["waiting_seconds"]) == ([], [], 0.0)
    assert {last for last, _ in by_task(found["tasks"]).values()} == {None}


def test_a_file_that_is_there_twice_counts_once(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 1000)
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert status.disk_bytes(tmp_path) == 1000
