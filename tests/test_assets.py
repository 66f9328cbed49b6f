"""The assets in real Dagster runs: the tables of a run without it, checks that stop, launches that publish nothing."""

import base64
import json
import re
import threading

import dagster as dg
import homes
import launches
import polars as pl
import pytest
import sampling

from memory_pipeline.assets import catalogue, checks, steps
from memory_pipeline.assets.consolidation import ASSETS
from memory_pipeline.assets.resources import Run, Store
from memory_pipeline.runs import commit, consolidate, inputs, rebuild
from memory_pipeline.schemas import TABLES
from memory_pipeline.service import actions, launch

AS_OF = homes.NIGHT.isoformat()
EVERY_CHECK = [
    *((name, "schema_and_grain") for name in catalogue.TABLES),
    ("consolidation_plan", "invariants"),
    ("consolidation_plan", "quota"),
]


@pytest.fixture(scope="module")
def instance():
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.fixture(scope="module")
def history():
    return homes.events(memories=12)


@pytest.fixture
def lake(tmp_path, history):
    with homes.filled(tmp_path, history) as opened:
        yield opened


@pytest.fixture
def larger(tmp_path):
    """A store in which a run finds something to merge, and has much to forget."""
    with homes.filled(tmp_path, homes.events(memories=25)) as opened:
        yield opened


@pytest.fixture(scope="module")
def finished(tmp_path_factory, history, instance):
    """A store after one full run, and that run."""
    with homes.filled(tmp_path_factory.mktemp("finished"), history) as opened:
        result = launches.run(opened.home, instance, as_of=AS_OF)
        assert result.success, launches.why(result)
        opened.project()
        yield opened, result


def texts(lake):
    """Every text of a store that metadata must not show."""
    return {content for content in lake.read("memories")["content"] if len(content) > 12}


def shown(result):
    """Everything that a run wrote into Dagster's metadata, pictures decoded."""
    events = [*result.get_asset_materialization_events(), *result.get_asset_check_evaluations()]
    said = "\n".join(
        json.dumps([str(value.value) for value in metadata.values()])
        for metadata in (
            event.metadata if isinstance(event, dg.AssetCheckEvaluation) else event.materialization.metadata
            for event in events
        )
    )
    pictures = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", said)
    return said + "".join(base64.b64decode(picture).decode() for picture in pictures)


def test_a_full_run_gives_the_tables_of_a_run_without_dagster(tmp_path, history, finished):
    with homes.filled(tmp_path, history) as lake:
        homes.night(lake)
        homes.same(homes.published(lake), homes.published(finished[0]))
        appended = {name: lake.read(name) for name in ("enrichment", "vectors")}
        homes.same(appended, {name: finished[0].read(name) for name in appended})


def test_a_rebuild_gives_what_a_run_through_dagster_published(finished):
    rebuilt = rebuild.rebuild(finished[0], "sample-1")
    for name in set(commit.PUBLISHED) - {"consolidation_plan"}:
        assert rebuilt[name].equals(finished[0].read(name, profiles=["sample-1"])), name


def test_every_table_reports_its_rows_and_key_figures(finished):
    lake, result = finished
    found = {
        event.asset_key.path[-1]: event.materialization.metadata for event in result.get_asset_materialization_events()
    }
    for name in set(found) & set(TABLES) - {"events"}:  # the run's own commit came after it was counted
        assert found[name]["dagster/row_count"].value == lake.read(name).height, name
    assert found["memories"]["live"].value > 0
    assert found["memories"]["dagster/row_count"].value == lake.read("memories").height
    assert found["clusters"]["largest"].value >= 2
    assert found["consolidation_commit"]["profiles"].value == 2
    assert found["snapshot"]["path"].value == str(max(lake.home.glob("snapshots/0*.duckdb")))


def test_no_metadata_holds_a_text_of_a_memory(finished):
    said = shown(finished[1])
    assert "data:image/svg+xml" in said
    assert not [text for text in texts(finished[0]) if text in said]


def test_every_check_of_a_full_run_passes(finished):
    made = launches.checked(finished[1])
    assert set(made) == set(EVERY_CHECK)
    assert all(one.passed for one in made.values())
    assert {name for (_, name), one in made.items() if not one.blocking} == {"quota"}


@pytest.mark.drill
@pytest.mark.parametrize(
    "chosen",
    sampling.first(
        [("memories", "schema_and_grain")],
        [("consolidation_plan", "quota")],
        [("clusters", "schema_and_grain"), ("consolidation_plan", "invariants")],
    ),
)
def test_a_check_executed_alone_evaluates_nothing_else_and_changes_nothing(finished, instance, chosen):
    lake, _ = finished
    before = launches.state(lake)
    result = launches.run(lake.home, instance, only=(), checks=chosen)
    assert result.success, launches.why(result)
    assert set(launches.checked(result)) == set(chosen)
    assert all(one.passed for one in launches.checked(result).values())
    assert not launches.materialized(result)
    assert launches.state(lake) == before


@pytest.mark.drill
@pytest.mark.parametrize("chosen", sampling.first(EVERY_CHECK, ()), ids=["assets and checks", "assets"])
def test_everything_launched_at_once_takes_its_turn_and_is_a_full_run(lake, chosen):
    """As by `Materialize all`, where no tag of a job helps; from the UI that launches the checks too."""
    with launch.instance(lake.home) as kept:
        result = launches.run(lake.home, kept, only=ASSETS, checks=chosen, as_of=AS_OF)
        assert result.success, launches.why(result)
        tags = kept.get_run_by_id(result.run_id).tags
        assert {limit.name: limit.limit for limit in kept.event_log_storage.get_pool_limits()} == {"writes": 1}
    assert tags["memory_pipeline/writes"] == "true"
    assert tags["dagster/retry_strategy"] == "ALL_STEPS"
    assert lake.ledger.runs()["task"].unique().to_list() == ["full"]
    assert len(lake.ledger.attempts()) == 1
    made = launches.checked(result)
    assert set(made) == set(EVERY_CHECK)
    assert all(one.passed for one in made.values())


@pytest.mark.drill
def test_a_place_that_an_ended_run_left_taken_is_freed(lake):
    with launch.instance(lake.home) as kept:
        storage = kept.event_log_storage
        storage.set_concurrency_slots("writes", 1)
        ended = kept.create_run_for_job(dg.job(name="ended")(lambda: None), status=dg.DagsterRunStatus.FAILURE)
        assert storage.claim_concurrency_slot("writes", ended.run_id, "consolidation.commit").is_claimed
        assert launches.run(lake.home, kept, as_of=AS_OF).success
        assert not storage.get_concurrency_run_ids()


@pytest.mark.drill
def test_a_commit_waits_while_another_run_of_the_instance_commits(lake):
    with launch.instance(lake.home) as kept:
        storage = kept.event_log_storage
        storage.set_concurrency_slots("writes", 1)
        other = kept.create_run_for_job(dg.job(name="other")(lambda: None), status=dg.DagsterRunStatus.STARTED)
        assert storage.claim_concurrency_slot("writes", other.run_id, "consolidation.commit").is_claimed
        done, heads = [], lake.ledger.heads()
        run = threading.Thread(target=lambda: done.append(launches.run(lake.home, kept, as_of=AS_OF)))
        run.start()
        while not storage.get_concurrency_info("writes").pending_step_count:
            run.join(0.05)
            assert run.is_alive(), done
        assert lake.ledger.heads() == heads
        storage.free_concurrency_slots_for_run(other.run_id)
        run.join()
        assert done[0].success, launches.why(done[0])
    assert lake.ledger.heads() != heads


def shown_plan(result):
    """The table of a plan that a run shows in Dagster."""
    shown = next(
        metadata["plan"]
        for event in result.all_events
        for metadata in (
            event.step_output_data.metadata
            if event.is_successful_output
            else event.materialization.metadata
            if event.is_step_materialization
            else {},
        )
        if "plan" in metadata
    )
    return [record.data for record in shown.records]


def test_a_preview_writes_nothing_touches_no_asset_and_shows_what_a_run_commits(lake, finished, instance):
    before, files = launches.state(lake), sorted(lake.home.rglob("*"))
    preview = launches.run(lake.home, instance, "preview", as_of=AS_OF)
    assert preview.success, launches.why(preview)
    assert not [event for event in preview.all_events if event.asset_key]
    assert instance.get_run_by_id(preview.run_id).tags["memory_pipeline/task"] == "preview"
    assert launches.state(lake) == before
    assert sorted(lake.home.rglob("*")) == files
    dry = actions.dry_run(homes.settings(lake.home), as_of=homes.NIGHT)["consolidation_plan"]
    assert launches.state(lake) == before
    assert sorted(lake.home.rglob("*")) == files
    done = finished[1]  # of a store that was told the same
    assert done.asset_value("consolidation_plan").equals(dry)
    assert {row["status"] for row in shown_plan(done)} == {"committed"}
    assert [row | {"status": "proposed"} for row in shown_plan(done)] == shown_plan(preview)
    assert sum(row["decisions"] for row in shown_plan(preview)) == dry.height > 0


@pytest.mark.drill
def test_a_failed_run_can_be_taken_up_where_it_failed(lake, instance, monkeypatch):
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(lake.home))
    job = dg.reconstructable(launches.unplugged)
    config = {"resources": {"run": {"config": {"as_of": AS_OF}}}}
    with dg.execute_job(job, instance, run_config=config) as failed:
        assert launches.why(failed) == {"consolidation.plan": "the plug was pulled"}
    again = dg.ReexecutionOptions.from_failure(failed.run_id, instance)
    with dg.execute_job(job, instance, run_config=config, reexecution_options=again) as result:
        assert result.success, launches.why(result)
        ran = [event.step_key for event in result.all_events if event.is_step_success]
    assert ran == ["consolidation.plan", "consolidation.commit", "consolidation.snapshot"]
    assert lake.ledger.runs()["run_id"].unique().to_list() == [result.run_id]
    assert lake.ledger.decisions().height > 0


# --- checks


def forged(result):
    """The tables of a run, with a decision in its plan that archives a protected memory."""
    tables = result
    protected = tables["scored_memories"].filter(pl.col("is_protected")).row(0, named=True)
    wrong = (
        tables["consolidation_plan"]
        .head(1)
        .with_columns(
            profile_id=pl.lit(protected["profile_id"]),
            plan_id=pl.lit(protected["plan_id"]),
            memory_id=pl.lit(protected["memory_id"]),
            target_id=pl.lit(None, pl.String),
            action=pl.lit("archive"),
            rule=pl.lit("archive_threshold"),
            after=pl.lit('{"lifecycle":"archived","superseded_by":null,"superseded_kind":null}'),
            decision_id=pl.lit("forged"),
        )
    )
    return tables | {"consolidation_plan": pl.concat([tables["consolidation_plan"], wrong])}, protected["memory_id"]


@pytest.mark.drill
def test_a_plan_that_breaks_an_invariant_fails_the_blocking_check_which_names_the_rows(lake, instance, monkeypatch):
    real = steps.pipeline.run

    def run(tables, policies, **options):
        made = real(tables, policies, **options)
        if "consolidation_plan" not in made:
            return made
        return made | {"consolidation_plan": forged(tables | made)[0]["consolidation_plan"]}

    monkeypatch.setattr(steps.pipeline, "run", run)
    before = launches.state(lake)
    result = launches.run(lake.home, instance, as_of=AS_OF)
    assert not result.success
    assert "break an invariant" in launches.why(result)["consolidation.plan"]
    invariants = launches.checked(result)["consolidation_plan", "invariants"]
    assert (invariants.passed, invariants.blocking) == (False, True)
    assert invariants.metadata["bad_rows"].value >= 1
    assert "consolidation_commit" not in launches.materialized(result)
    after = launches.state(lake)
    assert (after[2], after[3]) == (before[2], before[3])


def test_a_plan_that_breaks_an_invariant_is_refused_by_the_commit_too(lake):
    chosen = inputs.select_profiles(lake, homes.settings(lake.home), as_of=homes.NIGHT)
    tables, memory_id = forged(consolidate.preview(lake, homes.settings(lake.home), chosen))
    before = launches.state(lake)
    with pytest.raises(commit.InvariantBroken) as refused:
        commit.commit(lake, tables, inputs.policies(homes.settings(lake.home), chosen), run_id="forged")
    said = str(refused.value)
    assert re.search(rf"break an invariant: [0-9]+; the first: protected: profile '.*', memory '{memory_id}'", said)
    assert said.endswith("nothing was changed")
    assert launches.state(lake) == before


def with_a_row_twice(frame):
    return pl.concat([frame, frame.head(1)])


@pytest.mark.drill
@pytest.mark.parametrize("name", sampling.first("summaries", "memories", "association_edges"))
def test_a_table_that_breaks_its_schema_stops_what_comes_after_it(larger, instance, monkeypatch, name):
    real = steps.pipeline.run

    def run(tables, policies, **options):
        made = real(tables, policies, **options)
        return made | {name: with_a_row_twice(made[name])} if name in made else made

    monkeypatch.setattr(steps.pipeline, "run", run)
    before = launches.state(larger)
    result = launches.run(larger.home, instance, as_of=AS_OF)
    assert not result.success
    failed = launches.checked(result)[name, "schema_and_grain"]
    assert (failed.passed, failed.blocking) == (False, True)
    assert "primary_key" in failed.description
    assert not launches.materialized(result)
    (said,) = launches.why(result).values()
    assert said.startswith(f"table {name}: rules broken: ")
    after = launches.state(larger)
    assert (after[2], after[3]) == (before[2], before[3])
    assert larger.read("memories").is_empty()


@pytest.mark.parametrize("name", catalogue.TABLES)
def test_the_check_of_every_table_finds_a_row_that_is_there_twice(finished, name):
    rows = finished[0].read(name)
    if rows.is_empty():
        rows = TABLES[name].schema.sample(3)
    key = dg.AssetKey(name)
    assert checks.schema_and_grain_of(key, rows).passed
    bad = checks.schema_and_grain_of(key, with_a_row_twice(rows))
    assert not bad.passed
    assert "primary_key" in bad.description


@pytest.mark.drill
def test_a_quota_that_is_exceeded_fails_its_check_holds_one_profile_and_lets_the_others_commit(larger, instance):
    launches.forgetful(larger.home, "profiles.sample-1")
    result = launches.run(larger.home, instance, as_of=AS_OF)
    assert result.success, launches.why(result)
    check = launches.checked(result)["consolidation_plan", "quota"]
    assert (check.passed, check.blocking, check.severity) == (False, False, dg.AssetCheckSeverity.ERROR)
    assert check.description.startswith("held back: sample-1 would lose ")
    (record,) = check.metadata["held"].records
    assert record.data["leaving"] <= record.data["live"]
    assert record.data["share"] > record.data["max_archived_share"]
    assert dict(larger.ledger.runs().select("profile_id", "outcome").iter_rows()) == {
        "sample-1": "held",
        "sample-2": "committed",
    }
    store = Store(larger.home, Run(as_of=AS_OF, max_archived_share=1.0), homes.settings(larger.home))
    released = consolidate.consolidate(larger, store.settings, store.participants(), run_id="released")
    store.close()
    assert checks.quota_of(dg.AssetKey("consolidation_plan"), released["consolidation_plan"], released).passed
    assert larger.read("memories", profiles=["sample-1"]).filter(pl.col("lifecycle") == "archived").height > 20


@pytest.mark.drill
def test_a_run_in_which_nothing_is_due_succeeds_and_changes_nothing(finished, instance):
    lake, _ = finished
    before = lake.ledger.position()
    earlier = (homes.NIGHT - homes.days(1)).isoformat()
    result = launches.run(lake.home, instance, as_of=earlier, trigger="schedule")
    assert result.success, launches.why(result)
    assert all(one.passed for one in launches.checked(result).values())
    assert lake.ledger.position() == before


@pytest.mark.drill  # each push makes one in which no profile takes part, over a store that has some
def test_a_run_over_no_memories_at_all_succeeds(tmp_path, instance):
    result = launches.run(tmp_path, instance, as_of=AS_OF)
    assert result.success, launches.why(result)
    assert all(one.passed for one in launches.checked(result).values())
