"""A profile that the quota or an invariant holds back is heard: in the log, metrics, status, alert and next session."""

import json
import logging

import dagster as dg
import homes
import polars as pl
import pytest
from commands import as_json, call, text
from prometheus_client.parser import text_string_to_metric_families

from memory_pipeline import MemoryClient
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.runs import commit, metrics
from memory_pipeline.sensors import failures, held

ARCHIVING = """[profiles.sample-1]
archive_threshold = 1.0
protected_importance = ''
grace_period_days = 0
protected_types = []
protect_flagged = false
protected_causes = ''
"""
NOTICE = "Held back for sample-1: "


def archiving(home):
    """The settings of a store in which one profile is to lose nearly everything, and so nothing."""
    (home / "memory_pipeline.toml").write_text(ARCHIVING, "utf-8")
    return homes.settings(home)


@pytest.fixture(scope="module")
def said():
    """What the run of `home` logged."""
    return []


@pytest.fixture(scope="module")
def home(tmp_path_factory, said):
    """A store whose last run was held back, for one profile of two."""
    folder, heard, log = tmp_path_factory.mktemp("held"), logging.Handler(), logging.getLogger("memory_pipeline")
    heard.emit = said.append
    log.addHandler(heard)
    with homes.filled(folder, homes.events(memories=40)) as lake:
        plan = homes.night(lake, policy=archiving(folder))["consolidation_plan"]
        assert plan.filter(status="held")["profile_id"].unique().to_list() == ["sample-1"]
    log.removeHandler(heard)
    return folder


def sample(home, name):
    with homes.Lake(home) as lake:
        shown = metrics.render(lake, homes.settings(home), now=homes.RECORDED)
    families = text_string_to_metric_families(shown)
    return {tuple(one.labels.values()): one.value for family in families for one in family.samples if one.name == name}


def test_a_run_says_at_warning_level_which_profile_was_held(home, said):
    (record,) = (one for one in said if NOTICE in one.getMessage())
    assert home.is_dir()
    assert record.levelno == logging.WARNING
    assert "--max-archived-share" in record.getMessage()


def test_the_quota_holds_one_profile_and_lets_the_others_commit(home):
    with homes.Lake(home) as lake:
        outcomes = dict(lake.ledger.runs().select("profile_id", "outcome").iter_rows())
        assert outcomes == {"sample-1": "held", "sample-2": "committed"}
        assert lake.read("memories", profiles=["sample-1"]).filter(lifecycle="archived").is_empty()
        assert lake.ledger.decisions(profiles=["sample-2"]).height > 0


def test_status_metrics_and_the_next_session_say_so(home):
    rows = {row["profile_id"]: row["held"] for row in as_json("status", home=home)["profiles"]}
    assert rows["sample-1"] > 0
    assert NOTICE in text("status", home=home)
    assert sample(home, "memory_pipeline_held_profiles") == {(): 1.0}
    assert sample(home, "memory_pipeline_held_decisions_total") == {(): float(sum(rows.values()))}
    with MemoryClient(home, profile_id="sample-1") as client:
        opening = client.session_start()
        assert opening.notices[0].startswith(NOTICE)
        assert opening.notices[0] in opening.text()
    assert NOTICE in json.loads(call("session-start", "-p", "sample-1", "--json", home=home).stdout)["notices"][0]


def automation(settings, alert_url):
    return failures.Automation(settings=settings, names=Names(), start=False, alert_url=alert_url)


def test_the_alert_hears_of_a_held_run_and_of_no_other(home, monkeypatch):
    heard = []
    monkeypatch.setattr(failures, "post", lambda address, found: heard.append((address, found)))
    settings = homes.settings(home).model_copy(update={"alert_url": "http://127.0.0.1:9", "home": home})
    with dg.DagsterInstance.ephemeral() as instance:
        monkeypatch.setattr(held, "is_own", lambda *_: True)
        sensor = held.sensor(automation(settings, lambda: settings.alert_url))
        for run_id in ("run", "another"):
            run = dg.DagsterRun(job_name="full", run_id=run_id)
            success = dg.DagsterEvent(dg.DagsterEventType.PIPELINE_SUCCESS.value, "full")
            sensor(
                dg.build_run_status_sensor_context(
                    "held", dagster_event=success, dagster_run=run, dagster_instance=instance, partition_key=None
                )
            )
    ((address, found),) = heard
    assert (address, found["run_id"], [one["profile_id"] for one in found["held"]]) == (
        "http://127.0.0.1:9",
        "run",
        ["sample-1"],
    )
    assert found["held"][0]["reason"].startswith(NOTICE)


def test_a_tick_that_cannot_read_the_store_is_told_too(tmp_path, monkeypatch):
    heard = []
    monkeypatch.setattr(failures, "post", lambda _, found: heard.append(found))
    monkeypatch.setattr(failures, "_told", {})
    monkeypatch.setattr(held, "is_own", lambda *_: True)
    settings = homes.settings(tmp_path).model_copy(update={"home": tmp_path})
    homes.filled(tmp_path, homes.events(profiles=1, memories=2, days=1)).close()
    for file in tmp_path.glob("ledger*"):
        file.write_bytes(b"no database" * 1_000)
    sensor = held.sensor(automation(settings, lambda: "http://127.0.0.1:9"))
    with dg.DagsterInstance.ephemeral() as instance, pytest.raises(LakeError):
        sensor(
            dg.build_run_status_sensor_context(
                "held",
                dagster_event=dg.DagsterEvent(dg.DagsterEventType.PIPELINE_SUCCESS.value, "full"),
                dagster_run=dg.DagsterRun(job_name="full", run_id="run"),
                dagster_instance=instance,
                partition_key=None,
            )
        )
    assert [one["tick"] for one in heard] == ["held"]


class Names:
    def name(self, name):
        return name


@pytest.mark.drill
def test_a_plan_that_an_invariant_refuses_is_counted(tmp_path, monkeypatch):
    with homes.filled(tmp_path, homes.events(memories=10)) as lake:
        broken = pl.DataFrame({"check": ["c"], "profile_id": ["p"], "memory_id": ["m"], "detail": ["d"]})
        monkeypatch.setattr(commit, "violations", lambda *_: broken)
        with pytest.raises(commit.InvariantBroken):
            homes.night(lake)
    counted = sample(tmp_path, "memory_pipeline_commit_attempts_total")
    assert counted == {("committed",): 0.0, ("conflict",): 0.0, ("refused",): 1.0}


@pytest.mark.drill
def test_a_run_that_is_released_archives_and_takes_the_notice_back(home, tmp_path):
    with homes.copied(home, tmp_path / "copy") as lake:
        homes.night(lake, as_of=homes.NIGHT + homes.days(1), run_id="two", max_archived_share=1.0)
        assert lake.read("memories", profiles=["sample-1"]).filter(lifecycle="archived").height > 20
    assert {row["held"] for row in as_json("status", home=tmp_path / "copy")["profiles"]} == {0}
