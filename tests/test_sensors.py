"""Sensors and schedules on a real instance: what makes them ask for a run, and what makes them ask again."""

from datetime import UTC, datetime, timedelta

import dagster as dg
import homes
import launches
import pytest

from memory_pipeline import build_defs
from memory_pipeline.lake.events import parse
from memory_pipeline.sensors.requests import in_flight

NOW = datetime(2026, 6, 2, tzinfo=UTC)


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.fixture(scope="module")
def told():
    return homes.events(memories=40)


@pytest.fixture
def lake(tmp_path, told):
    homes.settings(tmp_path, reflection_threshold=20)
    with homes.filled(tmp_path, told) as opened:
        yield opened


def defs(home):
    return build_defs(settings=homes.settings(home))


def tick(home, instance, name):
    """Evaluate a sensor as its daemon does; returns what it requests, and why it does not."""
    definitions = defs(home)
    with dg.build_sensor_context(instance=instance, resources=definitions.resources) as context:
        result = definitions.get_repository_def().get_sensor_def(name).evaluate_tick(context)
    return result.run_requests, result.skip_message


def carried_out(home, instance, request, job):
    """Run what was requested."""
    definition = defs(home).resolve_job_def(job)
    return definition.execute_in_process(
        instance=instance, run_config=launches.QUIET | dict(request.run_config), raise_on_error=False
    )


def asked(request):
    return request.run_config["resources"]["run"]["config"]


def remembered(lake, number, *, importance):
    event = {
        "event_id": f"new-{number}",
        "event_type": "memory.stored",
        "profile_id": "sample-1",
        "occurred_at": NOW.isoformat(),
        "memory_id": f"new-{number}",
        "payload": {"content": f"We moved the launch to day {number}.", "importance": importance},
    }
    lake.ledger.append([parse(event, recorded_at=NOW, origin="test")])


# --- reflection


def test_reflection_asks_once_for_all_profiles_that_crossed_the_threshold(lake, instance):
    (request,), skipped = tick(lake.home, instance, "reflection")
    assert skipped is None
    assert asked(request)["profiles"] == ["sample-1", "sample-2"]
    assert (asked(request)["task"], asked(request)["trigger"]) == ("reflect", "sensor")
    assert request.run_key is None


def test_reflection_does_not_ask_twice_for_one_crossing(lake, instance):
    (request,), _ = tick(lake.home, instance, "reflection")
    result = carried_out(lake.home, instance, request, "reflect")
    assert result.success, launches.why(result)
    assert set(lake.ledger.runs()["task"]) == {"reflect"}
    requests, skipped = tick(lake.home, instance, "reflection")
    assert not requests
    assert skipped == "no profile has crossed its reflection threshold"


def test_reflection_asks_again_for_the_next_crossing_and_only_for_that_profile(lake, instance):
    homes.night(lake)  # a full run counts as a reflection
    assert not tick(lake.home, instance, "reflection")[0]
    for number in range(2):
        remembered(lake, number, importance=1.0)
    assert not tick(lake.home, instance, "reflection")[0], "20 does not exceed 20"
    remembered(lake, 3, importance=0.1)
    (request,), _ = tick(lake.home, instance, "reflection")
    assert asked(request)["profiles"] == ["sample-1"]


def test_reflection_asks_again_after_a_run_that_failed(lake, instance):
    (request,), _ = tick(lake.home, instance, "reflection")
    lake.project()
    for path in lake.home.glob("lake/events/*.parquet"):
        kept = path.read_bytes()
        path.write_bytes(b"torn")
        assert not carried_out(lake.home, instance, request, "reflect").success
        path.write_bytes(kept)
    (again,), _ = tick(lake.home, instance, "reflection")
    assert asked(again) == asked(request)
    assert carried_out(lake.home, instance, again, "reflect").success
    assert not tick(lake.home, instance, "reflection")[0]


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED])
def test_reflection_waits_for_the_run_that_it_asked_for(lake, instance, status):
    run = instance.create_run_for_job(defs(lake.home).resolve_job_def("reflect"), status=status)
    assert in_flight(instance, "reflect") == run.run_id
    requests, skipped = tick(lake.home, instance, "reflection")
    assert not requests
    assert skipped == f"run {run.run_id} is still reflecting"
    instance.report_run_canceled(run)
    assert tick(lake.home, instance, "reflection")[0]


def test_reflection_can_be_switched_off(lake, instance):
    (lake.home / "memory_pipeline.toml").write_text("[policy]\nreflection = false\n", "utf-8")
    assert not tick(lake.home, instance, "reflection")[0]


def test_sensors_of_an_empty_store_ask_for_nothing(tmp_path, instance):
    for name in ("reflection", "arrivals"):
        assert not tick(tmp_path, instance, name)[0]


# --- arrivals


def test_arrivals_ask_for_a_projection_until_it_is_done(lake, instance, told):
    (request,), _ = tick(lake.home, instance, "arrivals")
    assert request.tags["memory_pipeline/events"] == str(len(told))
    assert carried_out(lake.home, instance, request, "projection").success
    assert lake.waiting() == (0, 0)
    assert lake.read("enrichment").height > 0
    requests, skipped = tick(lake.home, instance, "arrivals")
    assert not requests
    assert skipped == "0 new events, 0 of them accesses, which wait a little"


def test_arrivals_let_accesses_alone_wait_a_little(lake, instance):
    (request,), _ = tick(lake.home, instance, "arrivals")
    carried_out(lake.home, instance, request, "projection")
    access = {
        "event_type": "memory.accessed",
        "profile_id": "sample-1",
        "occurred_at": NOW.isoformat(),
        "payload": {"memory_ids": ["m"]},
    }
    lake.ledger.append([parse(access, recorded_at=NOW, origin="test")])
    requests, skipped = tick(lake.home, instance, "arrivals")
    assert not requests
    assert skipped == "1 new events, 1 of them accesses, which wait a little"
    remembered(lake, 1, importance=0.5)
    assert tick(lake.home, instance, "arrivals")[0]


def test_a_commit_of_the_pipeline_is_no_arrival(lake, instance):
    homes.night(lake)
    assert not tick(lake.home, instance, "arrivals")[0]


# --- schedules


def test_the_nightly_run_is_as_of_its_tick_and_late_ticks_keep_theirs(lake, instance):
    schedule = defs(lake.home).get_repository_def().get_schedule_def("nightly")
    for late in range(3):
        at = homes.NIGHT - timedelta(days=late)
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=at)
        (request,) = schedule.evaluate_tick(context).run_requests
        assert datetime.fromisoformat(asked(request)["as_of"]) == at
        assert asked(request)["trigger"] == "schedule"


def test_a_tick_before_the_last_commit_of_a_profile_leaves_it_alone_and_succeeds(lake, instance):
    homes.night(lake, profiles=["sample-1"])
    result = launches.run(lake.home, instance, as_of=(homes.NIGHT - homes.days(1)).isoformat(), trigger="schedule")
    assert result.success, launches.why(result)
    runs = lake.ledger.runs().sort("commit_seq").select("profile_id", "trigger").rows()
    assert runs == [("sample-1", "manual"), ("sample-2", "schedule")]
