"""AutoMem's scheduler: each task by its own interval, and the history that its status shows.

Its history also keeps runs that failed, and a failed run moves the time of the last run on; ours does neither.
"""

import json
from datetime import datetime, timedelta

import homes
import pytest

from memory_pipeline.runs import consolidate, due_work, inputs, status

DAY = timedelta(days=1)
TASKS = ("decay", "creative", "cluster", "forget")


@pytest.fixture(scope="module")
def told():
    return homes.events(profiles=1, memories=12, days=9)


@pytest.fixture
def lake(tmp_path, told):
    with homes.filled(tmp_path, told) as opened:
        yield opened


def settings(lake, **policy):
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in ({"preset": "automem"} | policy).items())
    (lake.home / "memory_pipeline.toml").write_text(f"[policy]\n{lines}\n", "utf-8")
    return homes.settings(lake.home)


def run(lake, task, at, *, fails=False):
    """Run a task through to its commit; one that fails stops before it."""
    own = settings(lake)
    profiles = inputs.select_profiles(lake, own, as_of=at, task=task)
    if fails:
        consolidate.preview(lake, own, profiles)
    else:
        consolidate.consolidate(lake, own, profiles, run_id=f"{task} {at}")


def due(lake, at, **policy):
    found = due_work.due(lake, settings(lake, **policy), now=at)
    return set(found["task"]) - {"projection"}


def test_each_task_is_due_by_its_own_interval(lake):
    at = homes.NIGHT
    assert due(lake, at) == {"decay", "creative", "cluster"}
    run(lake, "full", at)
    assert due(lake, at + DAY - timedelta(seconds=1)) == set()
    assert due(lake, at + DAY) == {"decay"}
    assert due(lake, at + 7 * DAY) == {"decay", "creative"}
    assert due(lake, at + 400 * DAY) == {"decay", "creative", "cluster"}
    assert due(lake, at + DAY, decay_interval_seconds=0) == set()
    assert due(lake, at + DAY, forget_interval_seconds=86_400) == {"decay", "forget"}


@pytest.mark.drill
def test_a_run_that_failed_is_due_again(lake):
    run(lake, "full", homes.NIGHT)
    run(lake, "decay", homes.NIGHT + DAY, fails=True)
    assert due(lake, homes.NIGHT + DAY) == {"decay"}
    run(lake, "decay", homes.NIGHT + DAY)
    assert due(lake, homes.NIGHT + DAY) == set()


@pytest.mark.drill
def test_the_history_of_the_release(lake, real_system):
    """Ours: a run that failed or has no task that we know leaves no trace, and does not move the last run on."""
    case = real_system("automem")["automem-25"]
    made = [
        one
        for one in case["inputs"]["runs"]
        if one["success"] and not one["dry_run"] and one["mode"] in {"full", *TASKS}
    ]
    for one in made:
        run(lake, one["mode"], datetime.fromisoformat(one["started_at"]))
    found = status.summary(lake, settings(lake), now=homes.NIGHT)
    kept = [(task, at) for task, good, at in case["expected"]["kept"] if good and task != "bogus"]
    shown = [(row["task"], row["as_of"].isoformat()) for row in found["history"]]
    assert shown[: len(kept)] == kept
    assert len(shown) == min(len(made), case["inputs"]["history_limit"])
    for task in TASKS:
        assert found[f"last_{task}"].isoformat() == case["expected"]["control"][f"{task}_last_run"]


@pytest.mark.drill
def test_a_last_run_that_failed_does_not_count_as_the_last(lake, real_system):
    """Ours: of the 25 runs of decay every second failed, and so the last decay is the last that succeeded."""
    runs = [one for one in real_system("automem")["automem-25"]["inputs"]["runs"] if one["mode"] == "decay"][:4]
    for one in runs:
        run(lake, "decay", datetime.fromisoformat(one["started_at"]), fails=not one["success"])
    last = status.summary(lake, settings(lake), now=homes.NIGHT)["last_decay"]
    assert last.isoformat() == runs[2]["started_at"]
