"""What every test can ask for. Being here, it also puts this folder on the path: `import frames` works anywhere."""

import ast
import gc
import json
import os
import shutil
from datetime import timedelta
from functools import cache
from pathlib import Path

import example_counts
import pytest
import reliability
from filelock import FileLock
from hypothesis import settings

for name in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(
        name, "1"
    )  # the workers of a test run share the cores: their threads would wait for each other

# Stores of tests keep the embedder without weights: it is fast, and what the tests expect was worked out with it.
os.environ["MEMORY_PIPELINE_EMBEDDER"] = "hashing"

import readings  # noqa: E402 - the variables above are read when NumPy is loaded

readings.keep()
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [readings.STARTED, os.environ.get("PYTHONPATH")]))

gc.disable()  # until all tests are collected: what imports and collection make stays
example_counts.register()

SHARED = Path(__file__).parents[2] / "shared" / "conformance"


@pytest.fixture(scope="session")
def real_system():
    """Read what a real system does, by its name: cases by id. Skips where the folder of cases is not there."""

    def read(name):
        if not SHARED.is_dir():
            pytest.skip(
                f"no cases of real systems in {SHARED}; the tests with our own numbers cover the same behaviour"
            )
        cases = json.loads((SHARED / f"{name}.json").read_text("utf-8"))["cases"]
        return {case["id"]: case for case in cases}

    return read


@pytest.fixture(scope="session")
def consolidated(tmp_path_factory):
    """Folder of a closed store to copy: two profiles after one run, `night`, and its snapshot."""
    import homes  # noqa: PLC0415 - `--quick` imports no more than it tests

    from memory_pipeline.lake import snapshot  # noqa: PLC0415

    def build(folder):
        with homes.filled(folder, homes.events(memories=60)) as lake:
            homes.night(lake, run_id="night")
            snapshot.publish(lake)

    return made_once(of_all_workers(tmp_path_factory) / "consolidated", build)


def of_all_workers(tmp_path_factory):
    """Return the folder that the workers of a test run share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def made_once(folder, build):
    """Return a store that the first worker to ask builds; the others wait for it."""
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"):
        if not (folder / "made").exists():
            build(folder / "data")
            (folder / "made").touch()
    return folder / "data"


@pytest.fixture
def uncollected():
    """Keep the garbage collector from a test that fills the stack: a finaliser that starts on top of it fails."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def unpublished(monkeypatch):
    """Make no snapshot of what a client changes, a quarter of a small run, for tests that read none.

    Returns what would have been published so far, as `publish_after` names it.
    """
    done = []
    monkeypatch.setattr("memory_pipeline.lake.snapshot.publish_after", lambda _, change: done.append(change))
    return done


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A PostgreSQL server, one for all workers of a test run."""
    import postgres_server  # noqa: PLC0415 - only where a test asks for it

    with postgres_server.running(of_all_workers(tmp_path_factory) / "postgres") as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.drill)])
def home(request, tmp_path):
    """Data folder of an empty store, whose ledger is in a file or, in drills, on a server."""
    return request.getfixturevalue("postgres").home(tmp_path) if request.param == "postgresql" else tmp_path


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory):
    """A server of object storage, one for each worker of a test run."""
    import s3_server  # noqa: PLC0415 - only where a test asks for it

    with s3_server.running(tmp_path_factory.mktemp("s3") / "server") as server:
        yield server


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The server of object storage, as the variables of this test name it, without faults."""
    s3_server.faults.clear()
    s3_server.requests.clear()
    monkeypatch.setattr("memory_pipeline.lake.s3_object_store._PAUSE", timedelta(milliseconds=10))
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.drill)])
def lake_home(request, tmp_path):
    """Data folder of an empty store, whose lake is in it or, in drills, on a server."""
    return request.getfixturevalue("s3").home(tmp_path) if request.param == "s3" else tmp_path


@pytest.fixture(params=["folder", "PostgreSQL", "object storage"])
def place(request):
    """Where a store is: in its folder, its ledger on PostgreSQL, or its lake on object storage."""
    return request.param


@pytest.fixture
def placed(place, request):
    """Function that lets the store of a data folder be at `place`, and returns the folder."""
    if place == "folder":
        return lambda folder: folder
    return request.getfixturevalue({"PostgreSQL": "postgres", "object storage": "s3"}[place]).home


LONGEST = (
    *("test_crash_drill.py", "test_year.py", "test_erasure_properties.py", "test_busy_store.py"),  # of a drill
    *("test_daemon.py", "test_ui.py", "test_erasure_crash.py", "test_trimming_runs.py"),  # likewise
    *("test_presets.py", "test_properties.py", "test_starving.py", "test_upkeep.py"),  # likewise
    *("test_web_pages.py", "test_erasure.py", "test_cli.py", "test_mcp.py", "test_core_profile.py", "test_pages.py"),
    *("test_crash_commit.py", "test_crash_run.py", "test_backup.py", "test_engines.py", "test_facts.py"),
    *("test_lake.py", "test_snapshot.py", "test_summarising.py", "test_answers.py", "test_cli_recall.py"),
    *("test_evaluation_stores.py", "test_cli_evaluate.py", "test_dreaming.py", "test_llm_openai.py"),
    *("test_client.py", "test_assets.py", "test_completion_run.py", "test_http.py", "test_sensors.py"),
    *("test_host_project.py", "test_launch.py", "test_doctor.py", "test_examples.py", "test_s3.py"),
    *("test_postgres.py", "test_other_duckdb.py", "test_correction_protocol.py", "test_evaluation_replay.py"),
    *("test_erasure_people.py", "test_history.py", "test_kept_tables.py"),
)
"""Files that take longest, or wait most for other processes: begun first, so that no worker is left with one alone."""


def pytest_collection_modifyitems(items):
    """Begin with the longest files; the others keep their order."""
    places = {name: index for index, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # looking for cycles as often as Python does takes a fifteenth of all time
    gc.enable()


def pytest_unconfigure():
    gc.unfreeze()  # else DuckDB complains of its own types when the process ends


ONE_RUN = "test_one_run.py"
"""The tests that `--quick` runs besides those of the pure rooms."""
PURE = {"schemas", "settings", "text", "llm", "consolidation"}


def pytest_configure(config):
    if config.getoption("quick"):
        settings.load_profile(example_counts.QUICK)
    if config.getoption("markexpr") == "not drill" and in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


IN_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own there
"""Where Linux keeps files in memory: the stores of a push lie there, since a disk is waited for as long as computed.

Those of a drill lie on the disk.
"""
ROOM = 4 * 2**30
"""Bytes that have to be free there; a push writes a third of it, and keeps what failed."""


def in_memory():
    return os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="only the tests of the pure rooms, and one run")
    parser.addoption("--reliability", metavar="FILE", help="write the figures of the drills as a page, if all passed")


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    """Print the figures of drills, and write their page where all passed; a worker of several knows only its own."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    passed = terminalreporter.getreports("passed")
    drills = reliability.gathered(passed)
    for line in reliability.lines(drills) if drills else ():
        terminalreporter.write_line(line)
    whole = exitstatus == pytest.ExitCode.OK and not terminalreporter.getreports("failed")
    if (file := config.getoption("reliability")) and drills and whole:
        reliability.write(Path(file), drills, len(passed))


def pytest_ignore_collect(collection_path, config):
    """Leave out, before they are imported, files that use more than the pure rooms."""
    if not config.getoption("quick") or collection_path.suffix != ".py" or collection_path.name == ONE_RUN:
        return None
    return True if rooms(collection_path) - PURE else None


@cache
def rooms(path):
    """Return the rooms that a test file uses, itself or through the helpers beside it."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    found = {name.split(".")[1] for name in names if name.startswith("memory_pipeline.")}
    folders = (Path(__file__).parent, Path(__file__).parents[1] / "research")
    helpers = {folder / f"{name.split('.')[0]}.py" for name in names for folder in folders}
    return found.union(*(rooms(helper) for helper in helpers if helper.is_file()))
