"""The definitions as Dagster sees them: graph, descriptions, checks, names, and the two ways to load them."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import homes
import pytest
import reference_pages
import sampling
import yaml

from memory_pipeline import Settings, build_defs
from memory_pipeline.assets import catalogue
from memory_pipeline.assets.catalogue import GROUPS
from memory_pipeline.consolidation import pipeline
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import program

ROOT = homes.HERE.parent
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return build_defs(settings=Settings(home=tmp_path_factory.mktemp("home")), key_prefix="").get_repository_def()


@pytest.fixture(scope="module")
def graph(repository):
    return repository.asset_graph


def nodes(graph):
    return {key.to_user_string(): graph.get(key) for key in graph.get_all_asset_keys()}


def parents(node):
    return {key.to_user_string() for key in node.parent_keys}


def test_assets_are_the_published_tables_the_commit_and_the_snapshot(graph):
    assert set(nodes(graph)) == {*catalogue.TABLES, "consolidation_commit", "snapshot"}
    assert not [name for name in catalogue.TABLES if TABLES[name].write_mode == "per_run"]
    assert len(nodes(graph)) < 30


def test_every_stage_runs_in_one_step_after_those_whose_tables_it_takes():
    made = {*catalogue.LEDGER, *pipeline.SOURCES}
    ran = [stage for stages in catalogue.STAGES.values() for stage in stages]
    for stage in ran:
        assert set(stage.takes) <= made, stage.name
        made |= set(stage.gives)
    assert sorted(stage.name for stage in ran) == sorted(stage.name for stage in pipeline.ORDER)


def ancestors(graph, name):
    above = parents(nodes(graph)[name])
    return above.union(*(ancestors(graph, one) for one in above))


def test_the_lineage_of_an_asset_holds_what_its_stage_takes(graph):
    for name, stage in catalogue.STAGE_OF.items():
        if name in catalogue.TABLES:
            taken = {*stage.takes} & {*catalogue.TABLES} - {*stage.gives}
            assert taken <= ancestors(graph, name), name


def test_no_arrow_of_the_graph_follows_from_others(graph):
    for name, node in nodes(graph).items():
        direct = parents(node)
        assert not [one for one in direct for other in direct - {one} if one in ancestors(graph, other)], name


def test_the_graph_begins_with_the_ledger_and_ends_with_the_snapshot(graph):
    assert not parents(nodes(graph)["events"])
    assert ancestors(graph, "snapshot") == set(nodes(graph)) - {"snapshot"}
    assert parents(nodes(graph)["snapshot"]) == {"consolidation_commit"}


def test_the_groups_read_as_a_line(graph):
    made = nodes(graph)
    order = list(GROUPS)
    for name, node in made.items():
        for parent in parents(node):
            assert order.index(made[parent].group_name) <= order.index(node.group_name), (parent, name)


def test_every_asset_is_described_versioned_and_grouped_and_full_runs_are_watched(graph):
    for name, node in nodes(graph).items():
        spec = node.to_asset_spec()
        assert spec.description, name
        assert spec.code_version == program.digest()[:12], name
        assert spec.kinds, name
        assert bool(spec.freshness_policy) == (name == "consolidation_commit"), name
    groups = {name: node.group_name for name, node in nodes(graph).items()}
    assert set(groups.values()) == set(GROUPS)


def test_every_table_documents_its_columns(graph):
    for name, node in nodes(graph).items():
        if name not in TABLES:
            continue
        columns = {column.name: column for column in node.metadata["dagster/column_schema"].columns}
        documented = TABLES[name].schema.columns()
        assert list(columns) == list(documented), name
        for column, definition in documented.items():
            assert columns[column].description == definition.description
            assert columns[column].constraints.nullable == definition.nullable


def test_every_table_has_the_blocking_check_of_its_schema(graph):
    checks = {(key.asset_key.to_user_string(), key.name) for key in graph.asset_check_keys}
    tables = {name for name in nodes(graph) if name in TABLES}
    assert checks == {(name, "schema_and_grain") for name in tables} | {
        ("consolidation_plan", "invariants"),
        ("consolidation_plan", "quota"),
    }
    blocking = {key for key in graph.asset_check_keys if graph.get_check_spec(key).blocking}
    assert {key.name for key in graph.asset_check_keys - blocking} == {"quota"}
    assert all(graph.get_check_spec(key).description for key in graph.asset_check_keys)


def test_names_of_jobs_schedules_and_sensors(repository):
    jobs = {job.name for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert jobs == {"full", "preview", "apply", "task", "undo", "maintenance"}
    assert {(one.name, one.job_name) for one in repository.schedule_defs} == {
        ("nightly", "full"), ("reconsolidate_interval", "full"), ("task_intervals", "task"),
        ("maintenance_daily", "maintenance"),
    }  # fmt: skip
    asking = [one for one in repository.sensor_defs if one.name not in {"failures", "held"}]
    assert {(one.name, one.job_name) for one in asking} == {
        ("projection", "full"), ("reflection", "task"), ("sessions", "full"), ("activity", "task"),
        ("ingestion", "task"),
    }  # fmt: skip
    assert all(one.description for one in [*repository.schedule_defs, *repository.sensor_defs])


def test_nothing_starts_by_itself_unless_asked(repository):
    automatic = [*repository.schedule_defs, *repository.sensor_defs]
    assert {one.default_status.value for one in automatic} == {"STOPPED"}


def test_everything_automatic_is_on_when_asked_but_for_intervals_that_no_policy_asks_for(tmp_path):
    repository = build_defs(settings=Settings(home=tmp_path), key_prefix="", start=True).get_repository_def()
    automatic = [*repository.schedule_defs, *repository.sensor_defs]
    off = {one.name for one in automatic if one.default_status.value != "RUNNING"}
    assert off == {"reconsolidate_interval", "task_intervals"}


def test_a_job_that_commits_takes_its_turn_and_is_retried_whole_after_a_crash(repository):
    for job in repository.get_all_jobs():
        if job.name.startswith("__") or job.name in {"preview", "maintenance"}:
            continue
        assert job.tags["memory_pipeline/writes"] == "true", job.name
        assert job.tags["dagster/retry_strategy"] == "ALL_STEPS"
        assert job.tags["dagster/retry_on_asset_or_op_failure"] == "false"
        assert int(job.tags["dagster/max_retries"]) > 0
        assert int(job.tags["dagster/max_runtime"]) > 0, "a run whose machine went down must not be waited for"


@pytest.mark.parametrize("job", ["full", "apply", "task"])
def test_a_job_that_commits_runs_every_step_and_evaluates_the_checks_itself(repository, graph, job):
    layer = repository.get_job(job).asset_layer
    assert layer.selected_asset_keys == graph.get_all_asset_keys()


def test_jobs_run_in_one_process(repository):
    jobs = [job for job in repository.get_all_jobs() if not job.name.startswith("__")]
    assert {job.executor_def.name for job in jobs} == {"in_process"}


def test_a_preview_touches_no_asset(repository):
    assert not repository.get_job("preview").asset_layer.executable_asset_keys


def test_schedules_and_sensors_follow_the_settings(tmp_path):
    settings = Settings(home=tmp_path, nightly="5 4 * * *", timezone="Europe/Berlin", sensor_seconds=7)
    repository = build_defs(settings=settings, key_prefix="").get_repository_def()
    nightly = repository.get_schedule_def("nightly")
    assert (nightly.cron_schedule, nightly.execution_timezone) == ("5 4 * * *", "Europe/Berlin")
    assert {sensor.minimum_interval_seconds for sensor in repository.sensor_defs} == {7}


@pytest.mark.parametrize(
    ("preset", "running"),
    sampling.first_row(
        ("automem", {"task_intervals": ["decay every day", "creative every 7 days", "cluster every 30 days"]}),
        ("three_tier", {"task_intervals": ["promote every 10 minutes", "decay every hour", "cluster every hour"]}),
        ("engram", {"reconsolidate_interval": ["full every 6 hours"]}),
    ),
)
def test_the_schedules_of_a_preset_are_on_and_say_how_often(tmp_path, preset, running):
    (tmp_path / "memory_pipeline.toml").write_text(f'[policy]\npreset = "{preset}"\n', "utf-8")
    repository = build_defs(settings=homes.settings(tmp_path), key_prefix="", start=True).get_repository_def()
    found = {one.name: one for one in repository.schedule_defs if "_interval" in one.name}
    on = {name: one.description for name, one in found.items() if one.default_status.value == "RUNNING"}
    assert set(running) <= set(on)
    for name, every in running.items():
        assert all(f"{one} under preset {preset}" in on[name] for one in every)


def test_both_ways_to_load_name_the_same_module():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["dagster"]
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text("utf-8"))["load_from"]
    assert location["python_module"] == {
        "module_name": tool["module_name"], "location_name": tool["code_location_name"],
    }  # fmt: skip


@pytest.mark.drill
@pytest.mark.parametrize("options", sampling.first([], ["-w", "workspace.yaml"]))
def test_the_definitions_validate(options, tmp_path):
    done = subprocess.run(
        [BIN / "dagster", "definitions", "validate", *options],
        cwd=ROOT,
        env=os.environ | {"MEMORY_PIPELINE_HOME": str(tmp_path), "DAGSTER_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Validation successful for code location memory_pipeline" in done.stderr + done.stdout


def test_the_instance_configuration_of_the_repository_is_the_one_that_ships():
    assert (ROOT / "dagster.yaml").resolve() == ROOT / "memory_pipeline" / "dagster.yaml"


FIRST_STEPS = """
import os, sys, memory_pipeline
assert not {"dagster", "duckdb"} & set(sys.modules)
wrong = os.environ.pop("MEMORY_PIPELINE_NO_SUCH_SETTING")
memory_pipeline.MemoryClient(sys.argv[1]).remember("Ana keeps bees.")
memory_pipeline.Answer, memory_pipeline.Memory, memory_pipeline.UnknownMemory
assert "dagster" not in sys.modules
os.environ["MEMORY_PIPELINE_NO_SUCH_SETTING"] = wrong
import memory_pipeline.definitions
"""


def test_neither_the_package_nor_a_client_loads_dagster_and_no_import_reads_settings(tmp_path):
    wrong = {"MEMORY_PIPELINE_NO_SUCH_SETTING": "1"}
    subprocess.run([sys.executable, "-c", FIRST_STEPS, tmp_path / "data"], env=os.environ | wrong, check=True)


@pytest.mark.parametrize("page", reference_pages.PAGES)
def test_a_page_made_from_the_code_is_up_to_date(page):
    assert (ROOT / "docs" / page).read_text("utf-8") == reference_pages.PAGES[page](), "write it with: make docs"
