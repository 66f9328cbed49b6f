"""Daily maintenance: the store stays small, and whatever was decided can still be undone exactly."""

from datetime import UTC, datetime, timedelta

import dagster as dg
import homes
import pytest
import sampling

from memory_pipeline import build_defs
from memory_pipeline.jobs import maintenance
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import LakeError
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import rebuild, status, undo
from memory_pipeline.service import launch

LONG_AGO = timedelta(days=400)


@pytest.fixture(scope="module")
def history():
    return homes.events(memories=5)


def kept(home, *, versions):
    (home / "memory_pipeline.toml").write_text(f"keep_snapshots = {versions}\n", "utf-8")
    return homes.settings(home)


def maintained(instance, settings):
    """Run the maintenance; returns what it says it did."""
    job = build_defs(settings=settings, key_prefix="").resolve_job_def("maintenance")
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    result = job.execute_in_process(instance=instance, run_config=quiet)
    (output,) = (event for event in result.all_events if event.is_successful_output)
    return {name: value.value for name, value in output.step_output_data.metadata.items()}


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


def nights(lake, count):
    """Run one night after another, each with a memory that is new: a night without any publishes nothing."""
    for night in range(count):
        content = f"Note number {night} is about the harbour."
        stored = {"event_type": "memory.stored", "profile_id": "sample-1", "payload": {"content": content}}
        lake.ledger.append([parse(stored, recorded_at=homes.NIGHT + homes.days(night - 1), origin="test", future=None)])
        homes.night(lake, as_of=homes.NIGHT + homes.days(night), run_id=f"run {night}")
        snapshot.publish(lake)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, history):
    """A store after three nights."""
    home = tmp_path_factory.mktemp("whole")
    with homes.filled(home, history) as lake:
        assert maintenance.oldest_kept(lake, 1) == 0
        nights(lake, 3)
    return home


@pytest.fixture
def lake(whole, tmp_path):
    with homes.copied(whole, tmp_path / "home") as opened:
        yield opened


@pytest.mark.drill
def test_versions_of_tables_are_kept_as_far_back_as_snapshots(lake, instance):
    first, second, last = sorted(lake.ledger.runs()["commit_seq"].unique())[::2]
    settings = kept(lake.home, versions=2)
    assert maintenance.oldest_kept(lake, 4) == 0, "fewer runs than are kept lose nothing"
    assert maintenance.oldest_kept(lake, 2) == second
    before = lake.read("scored_memories", seq=second)
    assert maintained(instance, settings)["snapshots_dropped"] == 1
    with pytest.raises(LakeError, match=f"ask for {second} or later"):
        lake.read("scored_memories", seq=first)
    homes.same({"scored_memories": lake.read("scored_memories", seq=second)}, {"scored_memories": before})
    assert lake.read("profiles", seq=first).height == 2, "an undo reads it"
    assert lake.verify().is_empty()
    assert len(list(lake.home.glob("snapshots/*.duckdb"))) == 3  # the link among them
    assert last > second


@pytest.fixture(scope="module")
def whole_and_swept(whole, tmp_path_factory):
    """A store after three nights, and the same one after its maintenance."""
    swept = tmp_path_factory.mktemp("swept")
    with homes.copied(whole, swept) as lake, dg.DagsterInstance.ephemeral() as instance:
        maintained(instance, kept(swept, versions=1))
        lake.sweep(older_than=-timedelta(days=1), oldest=maintenance.oldest_kept(lake, 1))
    return whole, swept


@pytest.mark.drill
@pytest.mark.parametrize("target", sampling.first("run 0", "run 1", "run 2"))
def test_an_old_run_can_still_be_undone_exactly(tmp_path, whole_and_swept, target):
    """With the versions of its tables gone, an undo publishes the very same tables as without any maintenance."""
    published = []
    for home in whole_and_swept:
        with homes.copied(home, tmp_path / home.name) as lake:
            undo.undo(lake, target, cascade=True, now=homes.RECORDED)
            published.append(homes.published(lake))
    homes.same(*published)


@pytest.mark.drill
@pytest.mark.parametrize("part", sampling.first("sweep", "compact", "archive"))
def test_a_part_that_fails_is_named_and_the_others_are_done(lake, instance, monkeypatch, part):
    def broken(*_given, **_options):
        raise OSError("no space left on device")

    settings = kept(lake.home, versions=1).model_copy(update={"ledger_archive_days": 1, "keep_runs_days": 0})
    monkeypatch.setattr(*{"sweep": (type(lake), "sweep")}.get(part, (maintenance.compaction, part)), broken)
    name = {"sweep": "files_swept", "compact": "payloads_moved", "archive": "archived"}[part]
    with pytest.raises(dg.Failure, match=f"{name}: OSError: no space left on device; the other parts are done"):
        maintained(instance, settings)
    assert len(list(lake.home.glob("snapshots/*.duckdb"))) == 2, "snapshots are dropped: one and the link are left"
    monkeypatch.undo()
    assert maintained(instance, settings)["runs_dropped"] == 1, "the failed one"


def published_files(home):
    """All files of the lake but those of the log of events, in which the run is one more."""
    return sorted(path for path in home.glob("lake/*/*") if path.parent.name != "events")


@pytest.mark.drill
def test_a_night_without_anything_new_publishes_nothing(tmp_path):
    with homes.filled(tmp_path, homes.events(profiles=1, memories=20)) as lake:
        for night in range(3):
            homes.night(lake, as_of=homes.NIGHT + homes.days(night), run_id=f"run {night}")
        snapshot.publish(lake)
        outcomes = lake.ledger.runs(["sample-1"]).sort("commit_seq")["outcome"].to_list()
        assert outcomes[-1] == "unchanged", "two nights in a row decided nothing"
        before, files = homes.published(lake), published_files(tmp_path)
        shown = snapshot.newest(tmp_path)
        homes.night(lake, as_of=homes.NIGHT + homes.days(4), run_id="idle")
        assert snapshot.publish(lake) == shown
        assert published_files(tmp_path) == files
        assert status.progress(lake)["last_as_of"].unique().to_list() == [homes.NIGHT + homes.days(4)]
        homes.same(homes.published(lake), before)
        assert rebuild.rebuild(lake, "sample-1")["scored_memories"].equals(
            lake.read("scored_memories", profiles=["sample-1"])
        )
        undo.undo(lake, "idle", now=homes.RECORDED)
        undo.undo(lake, "run 0", cascade=True, now=homes.RECORDED)
        homes.night(lake, as_of=homes.NIGHT + homes.days(5), run_id="after")
        assert lake.ledger.runs().filter(run_id="after")["outcome"].unique().to_list() == ["committed"]


def test_old_run_history_goes_and_the_disk_is_told(history, tmp_path):
    with homes.filled(tmp_path, history), launch.instance(tmp_path) as instance:
        settings = kept(tmp_path, versions=30)
        first = maintained(instance, settings)
        assert first["runs_dropped"] == 0
        assert first["disk_bytes"] > 0
        (run,) = instance.get_runs()
        left = [path.name for path in tmp_path.rglob(f"*{run.run_id}*")]
        assert f"{run.run_id}.db" in left, "Dagster keeps a file for each run"
        later = settings.model_copy(update={"keep_runs_days": 0})
        assert maintained(instance, later)["runs_dropped"] == 1
        assert not instance.has_run(run.run_id)
        assert not any(path.is_file() for path in tmp_path.rglob(f"*{run.run_id}*"))
        assert instance.get_run_records()[0].create_timestamp > datetime.now(UTC) - LONG_AGO
