"""The pipeline in somebody else's project: as a component, beside other definitions, under other executors and IO."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import homes
import launches
import polars as pl
import pytest
from dagster._core.instance.ref import InstanceRef
from dagster.components.testing import create_defs_folder_sandbox

from memory_pipeline import Settings, build_defs
from memory_pipeline.assets.namespace import Namespace, is_own
from memory_pipeline.components import MemoryPipelineComponent
from memory_pipeline.consolidation import pipeline
from memory_pipeline.runs.commit import PUBLISHED
from memory_pipeline.service import asset_check_gate

EXAMPLE = homes.HERE.parent / "examples" / "dagster_project"
BIN = Path(sys.executable).parent
AS_OF = homes.NIGHT.isoformat()
PREFIX = "memory"

pytestmark = pytest.mark.filterwarnings("ignore::dagster_shared.utils.warnings.BetaWarning")
"""Components mark the lines of their YAML by a class that Dagster calls beta."""


@pytest.fixture(scope="module")
def history():
    return homes.events(profiles=1, memories=10)


@pytest.fixture
def lake(tmp_path, history):
    with homes.filled(tmp_path / "store", history) as opened:
        yield opened


@pytest.fixture(scope="module")
def expected(tmp_path_factory, history):
    """The published tables of a run without Dagster."""
    with homes.filled(tmp_path_factory.mktemp("expected"), history) as opened:
        homes.night(opened)
        return homes.published(opened)


@pytest.fixture
def project(tmp_path):
    """A copy of the example, with its source on the path of child processes."""
    copy = tmp_path / "project"
    shutil.copytree(EXAMPLE, copy)
    (tmp_path / "dagster").mkdir()
    return copy


def tool(project, *words):
    """Run Dagster's own command line inside a project."""
    paths = [str(project / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [BIN / "dg", *words],
        cwd=project,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "DAGSTER_HOME": str(project.parent / "dagster")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.drill
def test_dagsters_own_command_lists_a_fresh_project(project):
    listed = json.loads(tool(project, "list", "defs", "--json"))
    assert {"events", "memory/events", "memory/snapshot", "memory_report"} <= {
        asset["asset_key"] for asset in listed["assets"]
    }
    assert {"full", "memory_full", "memory_preview"} <= {job["name"] for job in listed["jobs"]}


@pytest.mark.drill
def test_dagsters_own_commands_check_and_launch_a_fresh_project(project):
    assert "All component YAML validated successfully" in tool(project, "check", "yaml")
    with homes.filled(project / "data", homes.events(profiles=1, memories=5)) as lake:
        tool(project, "launch", "--job", "memory_full")
        assert lake.ledger.runs()["task"].to_list() == ["full"]


@pytest.mark.drill
@pytest.mark.parametrize("words", [["list", "defs"], ["check", "defs"], ["check", "yaml"], ["launch"]])
def test_dagsters_own_commands_work_in_this_repository(tmp_path, monkeypatch, words):
    if words == ["launch"]:
        words = ["launch", "--job", "full"]
        homes.filled(tmp_path, homes.events(profiles=1, memories=5)).close()
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    done = subprocess.run([BIN / "dg", *words], cwd=EXAMPLE.parent.parent, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_scaffolder_writes_a_component_that_loads():
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(component_cls=MemoryPipelineComponent)
        with sandbox.load_component_and_build_defs(defs_path=folder) as (component, definitions):
            assert (component.home, component.preset, component.start) == ("data", "default", False)
            assert definitions.resolve_job_def("memory_pipeline_full")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"preset": "dance"}, "preset 'dance' is unknown"),
        ({"profiles": {"ana": {"dance": 1}}}, "setting .profiles.ana. dance is unknown"),
        ({"schedules": {"nightly": "whenever"}}, "nightly = 'whenever'"),
        ({"key_prefix": "my-memory"}, "key_prefix 'my-memory' is not a Dagster name"),
    ],
)
def test_a_wrong_attribute_is_refused_by_name(attributes, message):
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(
            component_cls=MemoryPipelineComponent,
            defs_yaml_contents={
                "type": "memory_pipeline.components.MemoryPipelineComponent", "attributes": attributes,
            },
        )  # fmt: skip
        with (
            pytest.raises(Exception, match="MemoryPipelineComponent") as caught,
            sandbox.load_component_and_build_defs(defs_path=folder),
        ):
            pass
    error, chain = caught.value, []
    while error is not None:
        chain.append(str(error))
        error = error.__cause__
    assert re.search(message, "\n".join(chain))


def test_a_component_gives_policies_and_schedules(tmp_path):
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(
            component_cls=MemoryPipelineComponent,
            defs_yaml_contents={
                "type": "memory_pipeline.components.MemoryPipelineComponent",
                "attributes": {
                    "home": str(tmp_path),
                    "preset": "automem",
                    "schedules": {"nightly": "5 4 * * *", "timezone": "Europe/Berlin"},
                    "key_prefix": ["team", "memory"],
                    "start": True,
                    "owners": ["team:agents"],
                },
            },
        )
        with sandbox.load_component_and_build_defs(defs_path=folder) as (_, definitions):
            repository = definitions.get_repository_def()
    nightly = repository.get_schedule_def("team_memory_nightly")
    assert (nightly.cron_schedule, nightly.execution_timezone) == ("5 4 * * *", "Europe/Berlin")
    assert nightly.default_status == dg.DefaultScheduleStatus.RUNNING
    daily = repository.get_schedule_def("team_memory_task_intervals")
    assert daily.default_status == dg.DefaultScheduleStatus.RUNNING, "automem decays by an interval of its own"
    assert repository.asset_graph.get(dg.AssetKey(["team", "memory", "memories"])).owners == ["team:agents"]


def test_the_pipeline_joins_a_project_with_the_same_names_and_leaves_its_own_alone(monkeypatch, project):
    monkeypatch.syspath_prepend(str(project / "src"))
    monkeypatch.chdir(project)
    module = importlib.import_module("agent_platform.definitions")
    definitions = module.defs()
    if callable(definitions):
        definitions = definitions()
    dg.Definitions.validate_loadable(definitions)
    theirs = {key.to_user_string() for key in definitions.resolve_job_def("full").asset_layer.selected_asset_keys}
    assert theirs == {"events"}
    own = definitions.resolve_job_def("memory_full")
    assert {key.path[0] for key in own.asset_layer.selected_asset_keys} == {"memory"}
    assert own.executor_def.name == "in_process"
    assert definitions.executor.name == "multiprocess"
    statuses = {
        one.default_status.value
        for one in (*definitions.get_repository_def().schedule_defs, *definitions.get_repository_def().sensor_defs)
    }
    assert statuses == {"STOPPED"}


@pytest.mark.drill
@pytest.mark.parametrize("prefix", ["memory_pipeline", "own/memory", ""])
def test_the_gate_finds_the_run_of_a_host_project(prefix, lake, tmp_path, monkeypatch):
    """In the instance that the environment names, under the project's key prefix."""
    folder = tmp_path / "host"
    folder.mkdir()
    settings = homes.settings(lake.home)
    definitions = build_defs(settings=settings, key_prefix=prefix.split("/"))
    name = "_".join([*filter(None, prefix.split("/")), "full"])
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder))) as instance:
        result = definitions.resolve_job_def(name).execute_in_process(instance=instance, run_config=launches.QUIET)
    with pytest.raises(ValueError, match=r"has finished in .*DAGSTER_HOME.*--key-prefix"):
        asset_check_gate.evaluate(settings, key_prefix=prefix)
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    for run_id in (None, result.run_id):
        rows = asset_check_gate.evaluate(settings, run_id, key_prefix=prefix)
        assert rows
        assert {row["outcome"] for row in rows} == {"passed"}
        assert {row["run_id"] for row in rows} == {result.run_id}
    with pytest.raises(ValueError, match="run 'nowhere' is unknown in"):
        asset_check_gate.evaluate(settings, "nowhere", key_prefix=prefix)
    assert asset_check_gate.evaluate(settings, result.run_id) == rows, "the prefix is read from the run"
    with pytest.raises(
        ValueError, match=f"no run of the job other_full has finished in .*, where {name} ran" if prefix else "other"
    ):
        asset_check_gate.evaluate(settings, key_prefix="other")


@pytest.mark.parametrize(
    ("place", "said"), [("nowhere", "is no folder"), ("file", "is no folder"), ("folder", "holds no Dagster instance")]
)
def test_the_gate_names_a_dagster_home_that_has_no_instance_and_begins_none(place, said, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / place))
    with pytest.raises(ValueError, match=rf"DAGSTER_HOME is '.*', which {said}.*; correct it"):
        asset_check_gate.evaluate(homes.settings(tmp_path / "folder" / "data"))
    assert not (tmp_path / "nowhere").exists()
    assert list((tmp_path / "folder").iterdir()) == []


def test_maintenance_and_alerts_leave_the_runs_of_the_host_alone():
    names = Namespace.of(PREFIX)
    with dg.DagsterInstance.ephemeral() as instance:
        theirs = instance.create_run_for_job(dg.job(name="full")(lambda: None))
        ours = instance.create_run_for_job(dg.job(name="memory_full")(lambda: None))
        assert not is_own(theirs, names)
        assert is_own(ours, names)


def job_of_environment():
    """The job `full` of the home that the environment names, every step in a process of its own."""
    definitions = build_defs(
        settings=Settings(home=Path(os.environ["MEMORY_PIPELINE_HOME"])),
        key_prefix=PREFIX,
        executor=dg.multiprocess_executor.configured({"max_concurrent": 2}),
    )
    return definitions.resolve_job_def("memory_full")


def config(**run):
    return launches.QUIET | {"resources": {"memory_run": {"config": {"as_of": AS_OF} | run}}}


@pytest.mark.drill
def test_steps_in_processes_of_their_own_give_the_same_tables(tmp_path, lake, expected, monkeypatch):
    """Each step imports everything anew, which takes minutes; a push proves the same of steps that share only files."""
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(lake.home))
    monkeypatch.chdir(homes.HERE)  # where the processes find this module
    with (
        dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
        dg.execute_job(dg.reconstructable(job_of_environment), instance, run_config=config()) as result,
    ):
        assert result.success, launches.why(result)
    homes.same(homes.published(lake), expected)


class ParquetFiles(dg.ConfigurableIOManager):
    """An IO manager as a host project may have one: it knows frames, and dictionaries of them, not the pipeline."""

    folder: str

    def handle_output(self, context, obj):
        folder = Path(self.folder, *context.get_identifier())
        folder.mkdir(parents=True)
        for name, frame in (obj if isinstance(obj, dict) else {"": obj}).items():
            frame.write_parquet(folder / f"{name}.parquet")

    def load_input(self, context):
        folder = Path(self.folder, *context.get_identifier())
        return {path.stem: pl.read_parquet(path) for path in folder.iterdir()}


@pytest.mark.drill
@pytest.mark.parametrize("kind", ["Parquet files", "pickled files", "memory"])
def test_another_io_manager_takes_the_place_of_the_pipelines_own(tmp_path, lake, expected, kind):
    managers = {
        "pickled files": lambda: dg.FilesystemIOManager(base_dir=str(tmp_path / "io")),
        "Parquet files": lambda: ParquetFiles(folder=str(tmp_path / "io")),
        "memory": dg.InMemoryIOManager,
    }
    definitions = build_defs(
        settings=homes.settings(lake.home), key_prefix=PREFIX, resources={"io_manager": managers[kind]()}
    )
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions.resolve_job_def("memory_full").execute_in_process(
            instance=instance, run_config=config(), raise_on_error=False
        )
        assert result.success, launches.why(result)
    homes.same(homes.published(lake), expected)
    staged = lake.home / "runs"
    assert not staged.exists() or not list(staged.rglob("*.parquet")), "nothing is staged behind the IO manager's back"


def test_a_resource_that_the_pipeline_has_not_is_refused(tmp_path):
    with pytest.raises(ValueError, match="resources names 'frames'; the pipeline has run, store, io_manager"):
        build_defs(settings=Settings(home=tmp_path), resources={"frames": dg.InMemoryIOManager()})


@pytest.mark.drill
def test_an_asset_of_the_host_takes_a_published_table_as_its_input(lake, expected):
    @dg.asset(ins={"memories": dg.AssetIn([PREFIX, "memories"])})
    def count(memories: pl.DataFrame) -> int:
        return memories.height

    pipeline_defs = build_defs(settings=homes.settings(lake.home), key_prefix=PREFIX)
    definitions = dg.Definitions.merge(dg.Definitions(assets=[count]), pipeline_defs)
    homes.night(lake)
    with dg.DagsterInstance.ephemeral() as instance:
        job = definitions.resolve_implicit_global_asset_job_def().get_subset(asset_selection={count.key})
        result = job.execute_in_process(instance=instance)
    assert result.output_for_node("count") == expected["memories"].height > 0


def test_every_stage_comes_after_those_whose_tables_it_takes():
    made = set(pipeline.SOURCES)
    for stage in pipeline.ORDER:
        assert set(stage.takes) <= made, stage.name
        made |= set(stage.gives)
    assert set(PUBLISHED) <= made
