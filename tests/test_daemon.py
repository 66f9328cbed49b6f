"""The reflection sensor in a running daemon: real ticks, real runs in processes of their own."""

from contextlib import contextmanager

import dagster as dg
import homes
import launches
import pytest
import servers

from memory_pipeline.service import launch

SECONDS = 80
THRESHOLD = 20


@pytest.fixture
def lake(tmp_path):
    """A store whose events are projected, so that only the reflection is due."""
    with homes.filled(tmp_path, homes.events(memories=30)) as opened:
        opened.project()
        yield opened


def runs(instance, status):
    return instance.get_runs(filters=dg.RunsFilter(job_name="reflect", statuses=[status]))


def quiet_ticks(instance):
    """Ticks of the reflection sensor that found nothing due, newest first."""
    states = [state for state in instance.all_instigator_state() if state.name == "reflection"]
    ticks = [
        tick for state in states for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=2)
    ]
    return [tick for tick in ticks if tick.skip_reason == "no profile has crossed its reflection threshold"]


@contextmanager
def daemon(home):
    """Run the daemon over a home; yields its instance and a function that waits for a condition."""
    command = ("dagster-daemon", "run")
    with (
        launch.instance(home) as instance,
        servers.served(home, *command, sensor_seconds=1, reflection_threshold=THRESHOLD) as process,
    ):
        yield (
            instance,
            lambda condition: servers.until(process, condition, seconds=SECONDS, log=home / "server.log"),
        )


def test_the_reflection_sensor_fires_again_after_a_failed_run_and_once_for_one_crossing(lake):
    stage = lake.home / "runs"
    stage.write_text("in the way", "utf-8")  # where a run stages its tables: the first run fails
    with daemon(lake.home) as (instance, wait):
        failed = wait(lambda: runs(instance, dg.DagsterRunStatus.FAILURE))
        assert lake.ledger.runs().is_empty()
        assert failed[0].tags["dagster/sensor_name"] == "reflection"
        stage.unlink()
        (done,) = wait(lambda: runs(instance, dg.DagsterRunStatus.SUCCESS))
        assert set(lake.ledger.runs().select("run_id", "task", "trigger").rows()) == {
            (done.run_id, "reflect", "sensor")
        }
        wait(lambda: len(quiet_ticks(instance)) == 2)
        assert [run.run_id for run in runs(instance, dg.DagsterRunStatus.SUCCESS)] == [done.run_id]
        assert lake.ledger.runs().height == 2


def test_a_run_that_another_commit_overtakes_is_retried_whole_by_the_daemon(lake):
    launch.execute(homes.settings(lake.home), "projection")  # so that a run writes nothing before its commit
    with daemon(lake.home) as (instance, wait):
        with lake.ledger.exclusive():
            late = wait(lambda: launches.committing(instance))
            homes.night(lake)
        (done,) = wait(lambda: runs(instance, dg.DagsterRunStatus.SUCCESS))
        (failed,) = runs(instance, dg.DagsterRunStatus.FAILURE)
        assert failed.run_id == late
        assert done.parent_run_id == late
        assert done.tags["dagster/retry_number"] == "1"
        again = instance.all_logs(done.run_id, of_type=dg.DagsterEventType.STEP_START)
        assert {"events", "consolidation_plan", "consolidation_commit"} <= {entry.step_key for entry in again}
