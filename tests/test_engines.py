"""Where a run is computed changes nothing: in this process, in several, on a Spark cluster, whole or by shards."""

import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import homes
import polars as pl
import pytest
import spark_server
import waiting

from memory_pipeline.consolidation.pipeline import IN_TURN
from memory_pipeline.engine import engines
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.engine.process_pool import ProcessPool
from memory_pipeline.engine.spark import Spark
from memory_pipeline.lake.publishing import shard_of
from memory_pipeline.runs import commit, inputs, rebuild, shards
from memory_pipeline.settings import Settings, SettingsError, load

POSITIONS = ("head", "since", "caught_up")
"""Columns of the table `profiles` that hold positions of earlier commits, which follow the order of the commits."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of three profiles before its first night."""
    home = tmp_path_factory.mktemp("store")
    with homes.filled(home, homes.events(profiles=3, memories=10)) as lake:
        lake.project()
    return home


@pytest.fixture(scope="module")
def in_turn(store, tmp_path_factory):
    """What a night publishes that is computed in turn, in one shard."""
    with homes.copied(store, tmp_path_factory.mktemp("in_turn")) as lake:
        return night(lake)


def night(lake, **chosen):
    homes.night(lake, policy=homes.settings(lake.home).model_copy(update=chosen))
    return published(lake)


def published(lake):
    tables = homes.published(lake)
    return tables | {"profiles": tables["profiles"].drop(POSITIONS)}


def same(one, other):
    """The tables are the same; with positions of commits left out, bytes of files cannot be compared."""
    homes.same(
        {name: one[name] for name in one if name != "profiles"},
        {name: other[name] for name in other if name != "profiles"},
    )
    assert one["profiles"].equals(other["profiles"])


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(engines, "_SMALLEST", 20)


def test_three_shards_publish_what_one_does(store, in_turn, tmp_path):
    with homes.copied(store, tmp_path) as lake:
        same(night(lake, shards=3), in_turn)


@pytest.mark.drill  # each push computes three shards in turn
@pytest.mark.usefixtures("small_parts")
def test_two_processes_and_two_shards_publish_what_one_process_does(store, in_turn, tmp_path):
    with homes.copied(store, tmp_path) as lake:
        same(night(lake, workers=2, shards=2), in_turn)
        rebuilt = rebuild.rebuild(lake, "sample-3")
        for name in commit.PUBLISHED:
            assert rebuilt[name].equals(lake.read(name, profiles=["sample-3"])), name


@pytest.mark.drill
@pytest.mark.usefixtures("small_parts")
def test_a_spark_cluster_publishes_what_one_process_does_and_several_of_its_workers_took_part(store, in_turn, tmp_path):
    with spark_server.running(tmp_path) as server, homes.copied(store, tmp_path / "store") as lake:
        same(night(lake, engine=server.address, workers=2, shards=2), in_turn)
        from pyspark.sql import SparkSession  # noqa: PLC0415 - after the engine, which says how it is imported

        assert len(server.workers()) > 1
        assert SparkSession.getActiveSession() is None  # an open one holds up the exit of this process for minutes
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as later:
        assert later.submit(int, "1").result() == 1, "the client left something that processes started later trip over"


@pytest.mark.drill
def test_a_cluster_that_cannot_be_reached_is_named(store, tmp_path):
    with homes.copied(store, tmp_path) as lake, pytest.raises(EngineError, match=r"^engine sc://127\.0\.0\.1:1: "):
        night(lake, engine="sc://127.0.0.1:1")
    assert lake.ledger.runs().is_empty()


class Doubled:
    """Computes each part twice, and takes the second result."""

    rows_at_once = 20

    def map(self, work, parts):
        for part, tables in parts:
            work(part, tables)
            yield work(part, tables)


class Losing:
    """Loses every part but the first."""

    rows_at_once = 20

    def map(self, work, parts):
        for index, (part, tables) in enumerate(parts):
            if index:
                raise EngineError("a task was lost")
            yield work(part, tables)


@pytest.mark.drill
def test_a_task_that_is_done_twice_or_lost_changes_nothing(store, in_turn, tmp_path, monkeypatch):
    with homes.copied(store, tmp_path / "twice") as lake, monkeypatch.context() as patched:
        patched.setattr(engines, "choose", lambda *_, **__: Doubled())
        same(night(lake, shards=2), in_turn)
    with homes.copied(store, tmp_path / "lost") as lake:
        with monkeypatch.context() as patched:
            patched.setattr(engines, "choose", lambda *_, **__: Losing())
            with pytest.raises(EngineError, match="a task was lost"):
                night(lake)
        assert lake.ledger.runs().is_empty()
        assert lake.read("memories").is_empty()
        same(night(lake), in_turn)


def test_a_part_of_a_large_store_is_no_larger_than_fits_in_memory_well():
    choose = partial(engines.choose, Settings(workers=2))
    assert [choose(memories=count).rows_at_once for count in (10_000, 100_000, 10_000_000)] == [2_000, 12_500, 25_000]


def ended(_part, _tables):
    os.kill(os.getpid(), signal.SIGKILL)


def refused(part, _tables):
    raise ValueError(f"no {part}")


def echoed(_part, tables):
    return tables


@pytest.mark.drill
def test_a_worker_that_is_killed_is_reported_with_the_remedy():
    with pytest.raises(
        EngineError, match="a worker process ended, most likely for lack of memory; set workers below 2"
    ):
        list(ProcessPool(2).map(ended, [("a", {})]))


def held(path, _tables):
    """Hold a lock until this process ends."""
    with Path(path).open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("held")
        file.flush()
        signal.pause()


@pytest.mark.drill
def test_workers_end_with_the_process_that_they_work_for(tmp_path):
    lock = tmp_path / "lock"
    lock.touch()
    begin = "import sys; sys.path.append('../research'); from test_engines import *; "
    script = f"{begin}list(ProcessPool(2).map(held, [({str(lock)!r}, {{}})]))"
    process = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parent, start_new_session=True)
    waiting.until(process, lambda: lock.read_text("utf-8") == "held")
    process.kill()
    process.wait()
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits for the worker's end


def test_results_come_in_order_few_parts_are_read_ahead_and_an_error_ends_the_run():
    read = []

    def parts():
        for number in range(8):
            read.append(number)
            yield number, {"numbers": pl.DataFrame({"n": [number]})}

    results = ProcessPool(2).map(echoed, parts())
    assert next(results)["numbers"]["n"].to_list() == [0]
    assert len(read) <= 3
    assert [result["numbers"]["n"][0] for result in results] == list(range(1, 8))
    with pytest.raises(ValueError, match="no a"):
        list(ProcessPool(2).map(refused, [("a", {}), ("b", {})]))


def test_the_engine_follows_the_settings_and_the_size(monkeypatch):
    monkeypatch.setattr(engines, "cores", lambda: 4)
    assert engines.choose(Settings(), memories=49_999) is IN_TURN
    assert engines.choose(Settings(), memories=50_000) == ProcessPool(4, rows_at_once=3_125)
    assert engines.choose(Settings(workers=1), memories=50_000) is IN_TURN
    assert engines.choose(Settings(workers=3), memories=10) == ProcessPool(3, rows_at_once=2_000)
    assert engines.choose(Settings(engine="sc://spark"), memories=64_000) == Spark("sc://spark", 8, rows_at_once=2_000)
    asking = Settings(workers=3, profiles={"p": Settings().policy.model_copy(update={"llm_model": "m"})})
    assert engines.choose(asking, memories=10) is IN_TURN


def test_a_store_has_a_shard_for_each_hundred_thousand_memories_unless_it_is_set():
    counts = [shards.count(Settings(), memories) for memories in (0, 100_000, 100_001, 200_001, 1_000_000)]
    assert counts == [1, 1, 2, 4, 16]
    assert shards.count(Settings(shards=3), 1_000_000) == 3


def test_a_run_of_some_shards_takes_their_profiles_and_no_others(store, tmp_path):
    with homes.copied(store, tmp_path) as lake:
        two = homes.settings(lake.home).model_copy(update={"shards": 2})
        chosen = partial(inputs.select_profiles, lake, as_of=homes.NIGHT)
        own = chosen(two, shards=[1])["profile_id"].to_list()
        assert own == [f"sample-{number}" for number in range(1, 4) if shard_of(f"sample-{number}", 2) == 1] != []
        assert chosen(two, shards=[0, 1])["profile_id"].len() == 3
        with pytest.raises(ValueError, match="shards is 2, and the store has shards 0 to 1; choose one of them"):
            chosen(two, shards=[2])
        with pytest.raises(ValueError, match="set the setting shards first"):
            chosen(homes.settings(lake.home), shards=[0])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("spark://h", "not an engine; write local, or the address of a Spark Connect server like sc://HOST:15002"),
        (
            "sc://h/;token=secret",
            "the token is in the address; set it in the variable SPARK_CONNECT_AUTHENTICATE_TOKEN",
        ),
    ],
)
def test_an_engine_that_is_none_is_refused_without_its_secret(tmp_path, value, problem):
    (tmp_path / "memory_pipeline.toml").write_text(f'engine = "{value}"\n', "utf-8")
    with pytest.raises(SettingsError) as refusal:
        load(tmp_path, environment={})
    assert problem in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.drill
def test_tasks_that_need_no_groups_take_them_from_the_last_run_in_other_processes_too(store, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "_SMALLEST", 20)
    later = datetime(2026, 5, 9, tzinfo=UTC)
    kept = []
    for number, workers in enumerate((1, 2)):
        with homes.copied(store, tmp_path / str(number)) as lake:
            chosen = homes.settings(lake.home).model_copy(update={"workers": workers})
            homes.night(lake, policy=chosen)
            homes.night(lake, policy=chosen, as_of=later, run_id="light", task="lightweight")
            kept.append(published(lake))
    same(*kept)
    assert kept[0]["clusters"].height > 0
