"""Sensors and schedules on a real instance: what makes them ask for a run, and what makes them ask again."""

import json
from datetime import UTC, datetime, timedelta

import alerts
import dagster as dg
import homes
import launches
import pytest
import sampling

from memory_pipeline import build_defs
from memory_pipeline.assets.namespace import Namespace, job_of
from memory_pipeline.assets.resources import Run, Store
from memory_pipeline.jobs import schedules
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, live_runs
from memory_pipeline.sensors import failures
from memory_pipeline.sensors.requests import in_flight
from memory_pipeline.settings import SettingsError, alert_address, salvaged

NOW = datetime(2026, 6, 2, tzinfo=UTC)
QUIET = {
    "nightly_run": False,
    "reflection": False,
    "session_trigger": False,
    "scheduled_sessions": 0,
    "step_count_trigger": 0,
    "idle_timeout_seconds": 0,
    "decay_interval_seconds": 0,
    "creative_interval_seconds": 0,
    "cluster_interval_seconds": 0,
}
REFLECTING = {"reflection": True, "reflection_threshold": 20}


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.fixture
def kept(tmp_path_factory):
    """An instance with a folder: the tick of a schedule opens it anew."""
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def history():
    return homes.events(memories=10)


@pytest.fixture
def lake(tmp_path, history):
    chosen(tmp_path, **REFLECTING)
    with homes.filled(tmp_path, history) as opened:
        yield opened


@pytest.fixture
def after_night(consolidated, tmp_path):
    """A store after a full run, which counts as a reflection."""
    chosen(tmp_path, **REFLECTING)
    with homes.copied(consolidated, tmp_path) as opened:
        yield opened


def chosen(home, *, top="", **policy):
    """Let only what is named trigger anything."""
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in (QUIET | policy).items())
    (home / "memory_pipeline.toml").write_text(f"{top}\n[policy]\n{lines}\n", "utf-8")


def defs(home):
    return build_defs(settings=homes.settings(home), key_prefix="", start=True)


def tick(home, instance, name, *, definitions=None):
    """Evaluate a sensor as its daemon does; returns what it requests, and why it does not."""
    definitions = definitions or defs(home)
    with dg.build_sensor_context(instance=instance, resources=definitions.resources) as context:
        result = definitions.get_repository_def().get_sensor_def(name).evaluate_tick(context)
    return result.run_requests, result.skip_message


def struck(home, instance, schedule, at):
    """Evaluate a schedule at an instant; returns what it requests, and why it does not."""
    given = {"instance": instance, "scheduled_execution_time": at, "resources": defs(home).resources}
    with dg.build_schedule_context(**given) as context:
        result = schedule.evaluate_tick(context)
    return result.run_requests, result.skip_message


def scheduled(home):
    shared = {"settings": homes.settings(home), "names": Namespace(), "start": True, "alert_url": lambda: None}
    return schedules.schedules(failures.Automation(**shared))


def interval(home, name):
    found = {one.name: one for one in scheduled(home)}
    return found["reconsolidate_interval" if name == "reconsolidate" else "task_intervals"]


def carried_out(home, instance, request, job):
    """Run what was requested."""
    definition = defs(home).resolve_job_def(job)
    return definition.execute_in_process(
        instance=instance, run_config=launches.QUIET | dict(request.run_config), raise_on_error=False
    )


def made(lake, given, *, run_id="requested"):
    """Make a run of this configuration without Dagster."""
    store = Store(lake.home, Run(**given), homes.settings(lake.home))
    consolidate.consolidate(lake, store.settings, store.participants(), run_id=run_id)
    store.close()


def asked(request):
    return request.run_config["resources"]["run"]["config"]


def remembered(lake, number, *, importance=0.5, at=NOW, kind="memory.stored", **event):
    payload = {"content": f"We moved the launch to day {number}.", "importance": importance}
    history = {
        "event_id": f"new-{number}",
        "event_type": kind,
        "profile_id": "sample-1",
        "occurred_at": at,
        "payload": payload if kind == "memory.stored" else {},
    } | event
    lake.ledger.append([parse(history, recorded_at=at, origin="test")])


# --- reflection


@pytest.mark.drill
def test_reflection_asks_once_for_all_that_crossed_the_threshold_and_again_only_after_a_failure(lake, instance):
    (request,), skipped = tick(lake.home, instance, "reflection")
    assert skipped is None
    assert asked(request)["profiles"] == ["sample-1", "sample-2"]
    assert (asked(request)["task"], asked(request)["trigger"]) == ("reflect", "sensor")
    assert request.run_key is None
    in_the_way = lake.home / "runs"
    in_the_way.write_text("where a run stages its tables", "utf-8")
    assert not carried_out(lake.home, instance, request, "task").success
    in_the_way.unlink()
    (again,), _ = tick(lake.home, instance, "reflection")
    assert asked(again) == asked(request)
    made(lake, asked(again))
    assert set(lake.ledger.runs()["task"]) == {"reflect"}
    assert tick(lake.home, instance, "reflection") == ([], "nothing is due")


@pytest.mark.drill
def test_reflection_asks_again_for_the_next_crossing_and_only_for_that_profile(after_night, instance):
    assert not tick(after_night.home, instance, "reflection")[0]
    for number in range(2):
        remembered(after_night, number, importance=1.0)
    assert not tick(after_night.home, instance, "reflection")[0], "20 does not exceed 20"
    remembered(after_night, 3, importance=0.1)
    (request,), _ = tick(after_night.home, instance, "reflection")
    assert asked(request)["profiles"] == ["sample-1"]


def test_reflection_waits_for_a_run_that_would_do_it(lake, instance):
    definitions = defs(lake.home)
    for task, tags in (("reflect", {"memory_pipeline/task": "reflect"}), ("full", {})):
        for status in (dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED):
            job = definitions.resolve_job_def(job_of(task))
            run = instance.create_run_for_job(job, status=status, tags=tags)
            assert in_flight(instance, Namespace.of(""), task) == run.run_id
            assert in_flight(instance, Namespace.of(""), "decay") is None
            requests, skipped = tick(lake.home, instance, "reflection", definitions=definitions)
            assert not requests
            assert skipped == f"run {run.run_id} has not ended"
            instance.report_run_canceled(run)
    server = instance.create_run_for_job(definitions.resolve_job_def("full"), status=dg.DagsterRunStatus.STARTED)
    with live_runs.held(lake.home, server.run_id):
        assert (
            tick(lake.home, instance, "reflection", definitions=definitions)[1] == f"run {server.run_id} has not ended"
        )
    (lake.home / "dagster" / "live" / server.run_id).touch()  # what a process leaves that is killed
    assert tick(lake.home, instance, "reflection", definitions=definitions)[0]
    assert instance.get_run_by_id(server.run_id).status == dg.DagsterRunStatus.FAILURE
    assert live_runs.abandoned(lake.home) == []


@pytest.mark.drill
def test_reflection_can_be_switched_off_and_be_made_by_hand_all_the_same(lake, instance):
    for switch in ("reflection", "enabled"):
        chosen(lake.home, **REFLECTING | {switch: False})
        assert not tick(lake.home, instance, "reflection")[0]
    chosen(lake.home, **REFLECTING | {"reflection": False, "enabled": False})
    made(lake, {"task": "reflect", "as_of": homes.NIGHT.isoformat()})
    assert lake.ledger.runs()["outcome"].to_list() == ["committed", "committed"]


# --- the other sensors


def test_every_sensor_of_an_empty_store_asks_for_nothing(tmp_path, instance):
    definitions = defs(tmp_path)
    names = {one.name for one in definitions.get_repository_def().sensor_defs} - {"failures", "held"}
    assert names == {"projection", "reflection", "sessions", "activity", "ingestion"}
    for name in names:
        assert not tick(tmp_path, instance, name, definitions=definitions)[0], name


@pytest.mark.parametrize(
    ("name", "task", "policy", "calls"),
    [
        ("sessions", "full", {"session_trigger": True}, {"kind": "session.ended", "session_id": "s"}),
        pytest.param(
            *("sessions", "full", {"scheduled_sessions": 1}, {"kind": "session.ended", "session_id": "s"}),
            marks=pytest.mark.drill,
        ),
        pytest.param("activity", "lightweight", {"step_count_trigger": 1}, {}, marks=pytest.mark.drill),
        pytest.param("activity", "lightweight", {"idle_timeout_seconds": 300}, {}, marks=pytest.mark.drill),
        pytest.param("ingestion", "tick", {"ingestion_cycles": 1}, {}, marks=pytest.mark.drill),
    ],
    ids=["session_end", "sessions", "steps", "idle", "ingestion"],
)
def test_a_sensor_asks_once_for_the_profile_in_which_something_happened(
    after_night, instance, name, task, policy, calls
):
    lake = after_night
    chosen(lake.home, **policy)
    assert defs(lake.home).get_repository_def().get_sensor_def(name).job_name == job_of(task)
    assert not tick(lake.home, instance, name)[0]
    remembered(lake, 1, **calls)
    (request,), _ = tick(lake.home, instance, name)
    assert (asked(request)["profiles"], asked(request)["task"]) == (["sample-1"], task)
    assert request.tags["memory_pipeline/task"] == task
    made(lake, asked(request))
    runs = lake.ledger.runs().filter(run_id="night").height
    assert (runs, lake.ledger.runs()["task"].to_list().count(task)) == (2, 1 + 2 * (task == "full"))
    assert not tick(lake.home, instance, name)[0]
    chosen(lake.home, enabled=False, **policy)
    remembered(lake, 2, **calls)
    assert not tick(lake.home, instance, name)[0]


def test_a_pause_is_no_pause_while_something_happens(after_night, instance):
    chosen(after_night.home, idle_timeout_seconds=300)
    remembered(after_night, 1, at=datetime.now(UTC))
    assert not tick(after_night.home, instance, "activity")[0]


@pytest.mark.drill
def test_a_backlog_that_one_profile_cannot_get_done_does_not_keep_the_others_waiting(lake, instance):
    chosen(lake.home, session_trigger=True)
    definitions = defs(lake.home)
    job, ended = definitions.resolve_job_def("full"), dg.DagsterEventType

    def sessions():
        return tick(lake.home, instance, "sessions", definitions=definitions)

    def ran(event_type, *, ago):
        run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
        end = (datetime.now(UTC) - ago).timestamp()
        instance.report_dagster_event(dg.DagsterEvent(event_type.value, "full"), run.run_id, timestamp=end)

    (first,), _ = sessions()
    assert asked(first)["profiles"] == ["sample-1", "sample-2"]
    for _ in range(2):
        ran(ended.PIPELINE_FAILURE, ago=timedelta(hours=1))
    (one,), _ = sessions()
    assert asked(one)["profiles"] == ["sample-1"]
    ran(ended.PIPELINE_FAILURE, ago=timedelta(0))
    assert sessions()[1].startswith("3 runs failed in a row; the next is tried at ")
    made(lake, asked(one))
    ran(ended.PIPELINE_SUCCESS, ago=timedelta(0))
    (rest,), _ = sessions()
    assert asked(rest)["profiles"] == ["sample-2"]


# --- projection


def test_new_events_are_projected_by_the_tick_itself_without_a_run(lake, instance):
    waiting, _ = lake.waiting()
    requests, skipped = tick(lake.home, instance, "projection")
    assert not requests
    assert skipped == f"{waiting} new events are in the lake, up to position {lake.ledger.position()}"
    assert lake.waiting() == (0, 0)
    assert tick(lake.home, instance, "projection") == ([], "no new events")
    assert not instance.get_runs()


def test_a_commit_of_the_pipeline_is_no_new_event(after_night, instance):
    assert tick(after_night.home, instance, "projection") == ([], "no new events")


# --- the nightly run


def test_the_nightly_run_is_as_of_its_tick_and_late_ticks_keep_theirs(lake, instance):
    chosen(lake.home, nightly_run=True)
    (schedule,) = (one for one in scheduled(lake.home) if one.name == "nightly")
    for late in range(3):
        at = homes.NIGHT - timedelta(days=late)
        (request,), _ = struck(lake.home, instance, schedule, at)
        assert datetime.fromisoformat(asked(request)["as_of"]) == at
        assert asked(request)["trigger"] == "schedule"
        assert asked(request)["profiles"] == ["sample-1", "sample-2"]


def test_the_nightly_run_of_a_store_in_shards_is_one_run_for_each(lake, instance):
    chosen(lake.home, top="shards = 4", nightly_run=True)
    (schedule,) = (one for one in scheduled(lake.home) if one.name == "nightly")
    requests, _ = struck(lake.home, instance, schedule, homes.NIGHT)
    assert [asked(request)["profiles"] for request in requests] == [["sample-1"], ["sample-2"]]
    shards = [request.tags["memory_pipeline/shard"] for request in requests]
    assert len(set(shards)) == 2
    assert {int(number) for number in shards} < set(range(4))


@pytest.mark.parametrize("switch", sampling.first("nightly_run", "enabled"))
def test_the_nightly_run_leaves_out_whom_it_does_not_concern(lake, instance, switch):
    chosen(lake.home, nightly_run=True)
    own = f"[profiles.sample-2]\n{switch} = false\n"
    with (lake.home / "memory_pipeline.toml").open("a", encoding="utf-8") as file:
        file.write(own)
    (schedule,) = (one for one in scheduled(lake.home) if one.name == "nightly")
    assert asked(struck(lake.home, instance, schedule, homes.NIGHT)[0][0])["profiles"] == ["sample-1"]
    chosen(lake.home, **{"nightly_run": True, switch: False})
    assert struck(lake.home, instance, schedule, homes.NIGHT) == (
        [],
        "no profile with a memory has a nightly run",
    )


@pytest.mark.drill
def test_a_tick_before_the_last_commit_of_a_profile_leaves_it_alone_and_succeeds(lake):
    homes.night(lake, profiles=["sample-1"])
    made(lake, {"as_of": (homes.NIGHT - homes.days(1)).isoformat(), "trigger": "schedule"})
    runs = lake.ledger.runs().sort("commit_seq").select("profile_id", "trigger").rows()
    assert runs == [("sample-1", "manual"), ("sample-2", "schedule")]


@pytest.mark.drill
def test_a_night_that_failed_is_asked_for_again_and_one_that_was_made_is_not(lake, instance):
    long_ago = (datetime.now(UTC) - timedelta(hours=12)).hour  # at its own hour a run is still awaited
    chosen(lake.home, top=f'nightly = "0 {long_ago} * * *"', nightly_run=True)
    assert asked(tick(lake.home, instance, "sessions")[0][0])["profiles"] == ["sample-1", "sample-2"]
    homes.night(lake, as_of=datetime.now(UTC))
    assert not tick(lake.home, instance, "sessions")[0]


# --- intervals


@pytest.mark.drill
@pytest.mark.parametrize(
    ("task", "seconds", "cron"),
    [
        ("decay", 3_600, "*/6 * * * *"),
        pytest.param("promote", 600, "* * * * *", marks=pytest.mark.drill),
        pytest.param("decay", 86_400, "0 * * * *", marks=pytest.mark.drill),
        pytest.param("reconsolidate", 21_600, "*/30 * * * *", marks=pytest.mark.drill),
    ],
)
def test_a_task_of_an_interval_runs_at_its_tick_and_not_again_before_the_next(lake, kept, task, seconds, cron):
    chosen(lake.home, **{f"{task}_interval_seconds": seconds})
    schedule = interval(lake.home, task)
    task = "full" if task == "reconsolidate" else task
    assert (schedule.job_name, schedule.cron_schedule) == (job_of(task), cron)
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
    (request,), _ = struck(lake.home, kept, schedule, homes.NIGHT)
    expected = {"profiles": ["sample-1", "sample-2"], "task": task, "trigger": "schedule"}
    assert {name: asked(request).get(name, "full") for name in expected} == expected
    made(lake, asked(request))
    assert lake.ledger.runs()["as_of"].unique().to_list() == [homes.NIGHT]
    for passed, due in ((seconds - 1, False), (seconds, True), (50 * seconds, True)):
        requests, _ = struck(lake.home, kept, schedule, homes.NIGHT + timedelta(seconds=passed))
        assert len(requests) == due, "however many ticks were missed, one run catches up"


@pytest.mark.drill
def test_a_task_that_failed_is_due_again(lake, kept):
    chosen(lake.home, decay_interval_seconds=3_600)
    schedule = interval(lake.home, "decay")
    (request,), _ = struck(lake.home, kept, schedule, homes.NIGHT)
    in_the_way = lake.home / "runs"
    in_the_way.write_text("where a run stages its tables", "utf-8")
    assert not carried_out(lake.home, kept, request, "task").success
    assert struck(lake.home, kept, schedule, homes.NIGHT + timedelta(minutes=6))[0]


def test_every_schedule_is_listed_and_says_what_it_does(lake):
    chosen(lake.home, promote_interval_seconds=600, decay_interval_seconds=5_400)
    found = {one.name: one for one in scheduled(lake.home) if one.name != "nightly"}
    assert {name: one.description for name, one in found.items()} == {
        "reconsolidate_interval": "Off: no policy sets reconsolidate_interval_seconds.",
        "task_intervals": "Runs promote every 10 minutes under preset default; decay every 90 minutes under preset "
        "default.",
    }
    running = {name for name, one in found.items() if one.default_status == dg.DefaultScheduleStatus.RUNNING}
    assert running == {"task_intervals"}


@pytest.mark.drill
def test_tasks_of_one_schedule_are_asked_for_each_by_its_own_interval(lake, kept):
    chosen(lake.home, promote_interval_seconds=600, decay_interval_seconds=5_400)
    schedule = interval(lake.home, "promote")
    first, _ = struck(lake.home, kept, schedule, homes.NIGHT)
    assert sorted((asked(one)["task"], one.tags["memory_pipeline/task"]) for one in first) == [
        ("decay", "decay"),
        ("promote", "promote"),
    ]
    for number, request in enumerate(first):
        made(lake, asked(request), run_id=f"first-{number}")
    (later,), _ = struck(lake.home, kept, schedule, homes.NIGHT + timedelta(seconds=600))
    assert asked(later)["task"] == "promote"
    made(lake, asked(later), run_id="later")
    assert struck(lake.home, kept, schedule, homes.NIGHT + timedelta(seconds=601)) == ([], "nothing is due")


# --- failures


@pytest.fixture
def receiver():
    with alerts.receiving() as received:
        yield received


def reported(home, instance, result, capfd, *, definitions=None):
    """Evaluate the failure sensor for a failed run and return what it logged."""
    definitions = definitions or defs(home)
    (event,) = (one for one in result.all_events if one.is_run_failure)
    built = dg.build_run_status_sensor_context(
        "failures",
        dagster_event=event,
        dagster_run=instance.get_run_by_id(result.run_id),
        dagster_instance=instance,
        resources=definitions.resources,
        partition_key=None,
    )
    capfd.readouterr()
    with built.for_run_failure() as context:
        definitions.get_repository_def().get_sensor_def("failures")(context)
    return [line for line in "".join(capfd.readouterr()).splitlines() if "[consolidation]" in line]


@pytest.fixture(scope="module")
def failed(tmp_path_factory, history):
    """A store, an instance, and a run of a profile that is not there."""
    home = tmp_path_factory.mktemp("failed")
    homes.filled(home, history).close()
    with dg.DagsterInstance.ephemeral() as opened:
        yield home, opened, launches.run(home, opened, profiles=["nobody"], trigger="sensor")


def test_a_failed_run_is_logged_and_reported_with_profile_reason_and_remedy(failed, receiver, capfd):
    (home, _, result), (address, came) = failed, receiver
    chosen(home, top=f'alert_url = "{address}/alert"')
    (line,) = reported(*failed, capfd)
    reason, remedy = "profile 'nobody' has no memory", "correct the name: `memory-pipeline profiles` lists them"
    assert line.endswith(f"[consolidation] full failed for nobody: {reason}; {remedy}")
    ((kind, document),) = came
    assert kind == "application/json"
    assert datetime.fromisoformat(document.pop("failed_at"))
    assert document == {
        "job": "full",
        "run_id": result.run_id,
        "task": "full",
        "trigger": "sensor",
        "profiles": ["nobody"],
        "reason": reason,
        "remedy": remedy,
        "retried": False,
    }


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/alert", "{receiver}/broken"])
def test_a_report_that_cannot_be_made_is_logged_and_no_failure(failed, receiver, capfd, address):
    chosen(failed[0], top=f'alert_url = "{address.format(receiver=receiver[0])}"')
    lines = reported(*failed, capfd)
    assert len(lines) == 2
    assert "posting to alert_url failed: " in lines[1]
    assert "alert" not in lines[1].partition("told: ")[2], "an address can be a secret"


@pytest.mark.drill
def test_an_address_that_is_set_later_is_told_too(failed, receiver, capfd, monkeypatch):
    home, address = failed[0], receiver[0]
    chosen(home)
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(home))
    loaded = build_defs(key_prefix="")
    chosen(home, top=f'alert_url = "{address}/alert"')
    reported(*failed, capfd, definitions=loaded)
    assert len(receiver[1]) == 1
    chosen(home, top='alert_url = "nowhere"')
    lines = reported(*failed, capfd, definitions=loaded)
    assert "alert_url could not be read: " in lines[1]


def test_without_an_address_a_failure_is_only_logged(failed, capfd):
    chosen(failed[0])
    assert len(reported(*failed, capfd)) == 1


def test_a_report_says_that_the_run_is_tried_again(failed, capfd, monkeypatch):
    home, instance, result = failed
    instance.add_run_tags(result.run_id, {"dagster/will_retry": "true"})
    history = []
    monkeypatch.setattr(failures, "post", lambda _, found: history.append(found))
    chosen(home, top='alert_url = "http://127.0.0.1:9"')
    reported(*failed, capfd)
    instance.add_run_tags(result.run_id, {"dagster/will_retry": "false"})
    assert [one["retried"] for one in history] == [True]


WRONG = ["token_bugdet = .5", "nightly = 'never'", "keep_snapshots = 0", "[policy]\ntoken_bugdet = 0.5", "[policy"]


@pytest.mark.drill
@pytest.mark.parametrize("wrong", sampling.first(*WRONG))
def test_wrong_settings_fail_a_run_once_with_their_reason_and_do_not_silence_the_alarm(
    wrong, receiver, tmp_path, monkeypatch, capfd
):
    """Neither when the settings were wrong as Dagster loaded the definitions, nor when they became so later."""
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(tmp_path))
    homes.filled(tmp_path, homes.events(profiles=1, memories=2, days=1)).close()
    loaded_before = build_defs(key_prefix="")
    (tmp_path / "memory_pipeline.toml").write_text(f'alert_url = "{receiver[0]}/alert"\n{wrong}\n', "utf-8")
    for definitions in (loaded_before, build_defs(key_prefix="")):
        receiver[1].clear()
        with dg.DagsterInstance.ephemeral() as instance:
            result = definitions.resolve_job_def("full").execute_in_process(
                instance=instance, run_config=launches.QUIET, raise_on_error=False
            )
            assert not result.success
            assert instance.get_run_by_id(result.run_id).tags.get("dagster/will_retry", "false") == "false"
            reported(tmp_path, instance, result, capfd, definitions=definitions)
        ((_, document),) = receiver[1]
        assert "memory_pipeline.toml" in document["reason"]
        assert document["retried"] is False


@pytest.mark.parametrize("name", sampling.first("sessions", "projection", "reflection"))
def test_a_tick_that_fails_reaches_the_alarm_once(name, receiver, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(tmp_path))
    monkeypatch.setattr(failures, "_told", {})
    (tmp_path / "memory_pipeline.toml").write_text(f'alert_url = "{receiver[0]}/alert"\n[policy', "utf-8")
    definitions = build_defs(key_prefix="")
    for _ in range(2):
        with dg.DagsterInstance.ephemeral() as instance, pytest.raises(SettingsError, match="TOML"):
            tick(tmp_path, instance, name, definitions=definitions)
    ((_, document),) = receiver[1]
    assert document["tick"] == name
    assert "cannot be read as TOML" in document["reason"]


def test_the_address_of_the_alarm_is_read_by_itself(tmp_path):
    file = tmp_path / "memory_pipeline.toml"
    file.write_text('token_bugdet = .5\nalert_url = "http://a"\n[policy]\nalert_url = "http://b"\n', "utf-8")
    assert alert_address(tmp_path, environment={}) == "http://a"
    own = {"MEMORY_PIPELINE_ALERT_URL": "http://c", "MEMORY_PIPELINE_NONSENSE": "1"}
    assert alert_address(tmp_path, environment=own) == "http://c"
    assert alert_address(tmp_path / "none", environment={}) is None
    with pytest.raises(SettingsError, match="alert_url"):
        alert_address(tmp_path, environment={"MEMORY_PIPELINE_ALERT_URL": "nowhere"})
    file.write_bytes('\ufeffalert_url = "http://d"\nkeep_snapshots = 3\nkeep_snapshots = 4\n'.encode())
    assert alert_address(tmp_path, environment={}) == "http://d", (
        "some editors begin a file with a mark of its encoding"
    )
    file.write_text('shards = [\n["a"],\nalert_url = "http://f"\n[policy\nalert_url = "http://b"\n', "utf-8")
    assert alert_address(tmp_path, environment={}) == "http://f", "a list that does not end is no table"
    file.write_text('[policy]\nalert_url = "http://g"\n', "utf-8")
    assert alert_address(tmp_path, environment={}) == "http://g", "the run says that it does not belong there"
    file.write_text('keep_snapshots = 3\n[policy.\n[[profiles\nalert_url = "http://h"\n', "utf-8")
    assert alert_address(tmp_path, environment={}) == "http://h"
    file.write_bytes('alert_url = "http://e"\ntoken_bugdet = .5\n'.encode("utf-16"))
    assert alert_address(tmp_path, environment={}) == "http://e", "as some shells write"
    file.write_text("timezone = 'Mars'\nnightly = '1 1 * * *'\nkeep_snapshots = 0\n", "utf-8")
    valid = salvaged(tmp_path, environment={})
    assert (valid.timezone, valid.nightly, valid.keep_snapshots) == ("UTC", "1 1 * * *", 30)
