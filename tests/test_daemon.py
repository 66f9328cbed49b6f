"""The triggers in a running daemon: real ticks, real runs in processes of their own."""

from contextlib import contextmanager
from datetime import UTC, datetime

import alerts
import dagster as dg
import homes
import launches
import pytest
import servers

from memory_pipeline.ledger.event import parse
from memory_pipeline.service import launch

POLICY = """
alert_url = "{address}"
start_automation = true
[policy]
nightly_run = false
reflection_threshold = 20
session_trigger = false
scheduled_sessions = 0
step_count_trigger = 0
idle_timeout_seconds = 0
decay_interval_seconds = 0
creative_interval_seconds = 0
cluster_interval_seconds = 0
[profiles.sample-1]
step_count_trigger = 50
[profiles.sample-2]
session_trigger = true
promote_interval_seconds = {promote}
"""


@pytest.fixture
def lake(tmp_path):
    """A store whose events are projected and without an end of a session, so that only the reflection is due."""
    told = [event for event in homes.events(memories=30) if event.event_type != "session.ended"]
    with homes.filled(tmp_path, told) as opened:
        opened.project()
        yield opened


def runs(instance, status, task="reflect"):
    return instance.get_runs(filters=dg.RunsFilter(tags={"memory_pipeline/task": task}, statuses=[status]))


def quiet_ticks(instance, sensor="reflection"):
    """The last two ticks of a sensor, as far as they found nothing due."""
    states = [state for state in instance.all_instigator_state() if state.name == sensor]
    ticks = [
        tick for state in states for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=2)
    ]
    return [tick for tick in ticks if tick.skip_reason == "nothing is due"]


def tell(lake, event_type, count, profile_id):
    now = datetime.now(UTC)
    events = [
        {
            "event_type": event_type,
            "profile_id": profile_id,
            "session_id": "today",
            "payload": {"content": f"Trifle {n}", "importance": 0.0} if event_type == "memory.stored" else {},
        }
        for n in range(count)
    ]
    lake.ledger.append([parse(event, recorded_at=now, origin="test") for event in events])


def committed(lake, task):
    """Profiles of the committed runs of a task, and what started them."""
    return sorted(lake.ledger.runs().filter(task=task).select("profile_id", "trigger").rows())


@contextmanager
def daemon(home, *, address="http://127.0.0.1:9", promote=0):
    """Run the daemon over a home; yields its instance and a function that waits for a condition."""
    (home / "memory_pipeline.toml").write_text(POLICY.format(address=address, promote=promote), "utf-8")
    command = ("dagster-daemon", "run")
    with (
        launch.instance(home) as instance,
        servers.served(home, *command, sensor_seconds=1) as process,
    ):
        yield (
            instance,
            lambda condition: servers.until(process, condition, home=home),
        )


@pytest.mark.drill
def test_every_kind_of_trigger_fires_when_it_should_and_stays_quiet_when_not(lake):
    stage = lake.home / "runs"
    stage.write_text("in the way", "utf-8")  # where a run stages its tables: the first run fails
    success = dg.DagsterRunStatus.SUCCESS
    with (
        alerts.receiving() as (address, came),
        daemon(lake.home, address=address, promote=60) as (instance, wait),
    ):
        failed = wait(lambda: runs(instance, dg.DagsterRunStatus.FAILURE))
        assert lake.ledger.runs().is_empty()
        assert failed[0].tags["dagster/sensor_name"] == "reflection"
        report = wait(lambda: [one for _, one in came if one["task"] == "reflect"])[0]
        assert (report["profiles"], report["task"]) == (["sample-1", "sample-2"], "reflect")
        stage.unlink()

        wait(lambda: runs(instance, success))  # a failed reflection fires again
        assert committed(lake, "reflect") == [("sample-1", "sensor"), ("sample-2", "sensor")]
        wait(lambda: len(quiet_ticks(instance)) == 2)  # and once for one crossing
        assert len(runs(instance, success)) == 1

        wait(lambda: committed(lake, "promote"))  # by the schedule of its interval, for the one who asks for it
        assert set(committed(lake, "promote")) == {("sample-2", "schedule")}
        assert all(clock.second == 0 for clock in lake.ledger.runs().filter(task="promote")["as_of"])

        tell(lake, "session.ended", 1, "sample-1")
        tell(lake, "session.ended", 1, "sample-2")
        wait(lambda: committed(lake, "full"))
        tell(lake, "memory.stored", 20, "sample-1")  # the fiftieth
        wait(lambda: committed(lake, "lightweight"))
        wait(lambda: lake.waiting() == (0, 0))  # by the sensor itself: no run projects
        for sensor in ("sessions", "activity"):
            wait(lambda sensor=sensor: len(quiet_ticks(instance, sensor)) == 2)
        assert committed(lake, "full") == [("sample-2", "sensor")]
        assert committed(lake, "lightweight") == [("sample-1", "sensor")]


@pytest.mark.drill
def test_a_run_of_the_daemon_that_another_commit_overtakes_plans_again(lake):
    homes.enriched(lake)  # so that the run writes nothing before its commit
    with daemon(lake.home) as (instance, wait):
        with lake.ledger.exclusive():
            late = wait(lambda: launches.committing(instance))
            homes.night(lake)
        (done,) = wait(lambda: runs(instance, dg.DagsterRunStatus.SUCCESS))
        assert done.run_id == late
        assert not runs(instance, dg.DagsterRunStatus.FAILURE)
    assert lake.ledger.attempts()["outcome"].to_list() == ["committed", "conflict", "committed"]
