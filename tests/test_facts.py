"""What a run tells Dagster: an asset is materialised if it changed, with a version of its content, else not."""

import asyncio
from datetime import UTC, datetime, timedelta

import dagster as dg
import homes
import launches
import pytest
from dagster._core.definitions.data_version import DATA_VERSION_TAG
from dagster._core.definitions.freshness import FreshnessState
from dagster._core.definitions.freshness_evaluator import TimeWindowFreshnessPolicyEvaluator
from dagster._core.loader import LoadingContextForTest
from dagster._core.test_utils import freeze_time

from memory_pipeline import Settings, build_defs
from memory_pipeline.assets import catalogue
from memory_pipeline.consolidation import pipeline
from memory_pipeline.jobs.maintenance import Undo
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import changes
from memory_pipeline.settings import Policy

REPORT = dg.AssetKey("report")
COMMIT = dg.AssetKey("consolidation_commit")


@dg.asset(deps=["snapshot"], automation_condition=dg.AutomationCondition.eager())
def report():
    """What a host makes of the snapshot."""


def remembered(lake, text, *, at):
    event = {"event_type": "memory.stored", "profile_id": "sample-1", "occurred_at": at, "payload": {"content": text}}
    lake.ledger.append([parse(event, recorded_at=at, origin="test")])


class Host:
    """A project around the pipeline, and the nights that pass in it."""

    def __init__(self, lake, instance):
        self.lake, self.instance, self.night = lake, instance, 0
        pipeline_defs = build_defs(settings=homes.settings(lake.home), key_prefix="")
        self.definitions = dg.Definitions.merge(dg.Definitions(assets=[report]), pipeline_defs)
        self.cursor = None
        self.automation()

    def automation(self):
        """How often the host's own asset is to run now."""
        evaluated = dg.evaluate_automation_conditions(
            defs=self.definitions,
            instance=self.instance,
            asset_selection=dg.AssetSelection.assets(REPORT),
            cursor=self.cursor,
        )
        self.cursor = evaluated.cursor
        return evaluated.get_num_requested(REPORT)

    def run(self, task="full"):
        """Run a task a day later; returns what was materialised, by name."""
        self.night += 1
        as_of = (homes.NIGHT + homes.days(self.night)).isoformat()
        job = "full" if task == "full" else "task"
        result = launches.run(self.lake.home, self.instance, job, as_of=as_of, task=task)
        assert result.success, launches.why(result)
        self.run_id = result.run_id
        made = result.get_asset_materialization_events()
        self.made = {event.asset_key.path[-1]: event.materialization for event in made}
        return self.made

    def settle(self):
        """Let nights pass until one is idle; `made` is then what that one materialised, `position` where it began."""
        while self.run().keys() - {"consolidation_commit"}:
            self.automation()
            self.position = self.lake.ledger.position()
        self.automation()  # Dagster forgets an update that the tick after a request sees


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A store after a first night and a quiet one."""
    home = tmp_path_factory.mktemp("host")
    homes.settings(home)
    with homes.filled(home, homes.events(memories=5)) as lake, dg.DagsterInstance.ephemeral() as instance:
        opened = Host(lake, instance)
        opened.settle()
        yield opened


def test_an_idle_night_materialises_nothing_but_its_record_and_starts_nothing_of_the_host(host):
    assert set(host.made) == {"consolidation_commit"}
    assert host.made["consolidation_commit"].metadata["decisions"].value == 0
    assert host.lake.ledger.position() > host.position
    assert host.automation() == 0


@pytest.mark.drill
def test_a_night_that_changed_something_starts_the_hosts_asset_once(host):
    remembered(host.lake, "Ana moved to Porto.", at=homes.NIGHT + homes.days(host.night))
    made = host.run()
    assert {"events", "memories", "enrichment", "vectors", "scored_memories", "snapshot"} <= set(made)
    versions = {name: one.tags[DATA_VERSION_TAG] for name, one in made.items()}
    assert all(versions.values())
    published = changes.versions(host.lake, catalogue.TABLES)
    assert all(versions[name] == published[name].digest for name in set(made) & set(published))
    assert (host.automation(), host.automation()) == (1, 0)


@pytest.mark.drill
def test_after_what_a_new_memory_leads_to_nights_are_idle_again(host):
    remembered(host.lake, "Ana keeps a boat in Porto.", at=homes.NIGHT + homes.days(host.night))
    host.settle()
    assert host.automation() == 0


@pytest.mark.drill
def test_a_partial_run_materialises_its_own_assets_and_none_of_stages_that_it_skips(host):
    remembered(host.lake, "Ana keeps bees.", at=homes.NIGHT + homes.days(host.night))
    made = host.run("decay")
    skipped = {name for stage in pipeline.idle("decay") for name in stage.gives}
    assert {"memories", "scored_memories"} <= set(made)
    assert not set(made) & (skipped | {"clusters", "fact_changes", "consolidation_commit"})
    assert set(host.run("decay")) == set()


@pytest.mark.drill
def test_a_run_is_found_by_its_tags_and_its_record_has_them_too(host):
    made = host.run()["consolidation_commit"]
    tags = host.instance.get_run_by_id(host.run_id).tags
    for name in ("task", "preset", "as_of", "plan_id"):
        assert tags[f"memory_pipeline/{name}"] == made.metadata[name].value
    assert "memory_pipeline/profile" not in tags, "there are two"
    found = host.instance.get_runs(filters=dg.RunsFilter(tags={"memory_pipeline/task": "full"}))
    assert host.run_id in {run.run_id for run in found}


def freshness(host, *, later):
    """What Dagster says of the record of full runs, some time from now."""
    node = host.definitions.resolve_asset_graph().get(COMMIT)
    with freeze_time(datetime.now(UTC) + later):
        evaluated = TimeWindowFreshnessPolicyEvaluator().evaluate_freshness(LoadingContextForTest(host.instance), node)
        return asyncio.run(evaluated)


@pytest.mark.drill
def test_partial_runs_leave_the_record_of_full_runs_to_turn_stale(host):
    full = host.instance.get_latest_materialization_event(COMMIT)
    host.run("promote")
    assert host.instance.get_latest_materialization_event(COMMIT).run_id == full.run_id
    noted = host.instance.fetch_observations(COMMIT, limit=1).records[0]
    assert noted.run_id == host.run_id
    assert noted.asset_observation.metadata["task"].value == "promote"
    states = {hours: freshness(host, later=timedelta(hours=hours)) for hours in (1, 27, 37)}
    assert states == {1: FreshnessState.PASS, 27: FreshnessState.WARN, 37: FreshnessState.FAIL}


def test_only_a_deployment_with_nightly_runs_expects_them(tmp_path):
    for preset, nightly in (("default", True), ("automem", False)):
        policy = Policy.model_validate({"preset": preset, "nightly_run": nightly})
        definitions = build_defs(settings=Settings(home=tmp_path, policy=policy), key_prefix="")
        assert bool(definitions.resolve_asset_graph().get(COMMIT).freshness_policy) == nightly


@pytest.mark.drill
def test_an_undo_tells_what_it_changed(host):
    runs = host.lake.ledger.runs()
    target = runs.filter(runs["decisions"] > 0).sort("commit_seq")["run_id"][-1]
    result = host.definitions.resolve_job_def("undo").execute_in_process(
        instance=host.instance,
        run_config=launches.QUIET | {"ops": {"revert": {"config": Undo(target=target).model_dump()}}},
        raise_on_error=False,
    )
    assert result.success, launches.why(result)
    made = launches.materialized(result)
    assert "snapshot" in made
    assert made <= {*catalogue.TABLES, "snapshot"}
    assert host.automation() == 1
