"""The reflection sensor in a running daemon: real ticks, real runs in processes of their own."""

import dagster as dg
import homes
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
        tick for state in states for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=3)
    ]
    return [tick for tick in ticks if tick.skip_reason == "no profile has crossed its reflection threshold"]


def test_the_reflection_sensor_fires_again_after_a_failed_run_and_once_for_one_crossing(lake):
    home = lake.home
    (home / "runs").write_text("in the way", "utf-8")  # where a run stages its tables: the first run fails
    command = ("dagster-daemon", "run")
    with (
        launch.instance(home) as instance,
        servers.served(home, *command, sensor_seconds=1, reflection_threshold=THRESHOLD) as daemon,
    ):

        def wait(condition):
            return servers.until(daemon, condition, seconds=SECONDS, log=home / "server.log")

        failed = wait(lambda: runs(instance, dg.DagsterRunStatus.FAILURE))
        assert lake.ledger.runs().is_empty()
        assert failed[0].tags["dagster/sensor_name"] == "reflection"
        (home / "runs").unlink()
        (done,) = wait(lambda: runs(instance, dg.DagsterRunStatus.SUCCESS))
        assert set(lake.ledger.runs().select("run_id", "task", "trigger").rows()) == {
            (done.run_id, "reflect", "sensor")
        }
        wait(lambda: len(quiet_ticks(instance)) == 3)
        assert [run.run_id for run in runs(instance, dg.DagsterRunStatus.SUCCESS)] == [done.run_id]
        assert lake.ledger.runs().height == 2
