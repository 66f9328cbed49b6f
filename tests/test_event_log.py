"""An event log that stays open has the files of Dagster's own, which others read, rewrite and remove meanwhile."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.events import DagsterEvent, DagsterEventType
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

from memory_pipeline.ledger.sqlite_file import rewrite_texts
from memory_pipeline.service import event_log, launch


@pytest.fixture
def kept(tmp_path):
    with launch.instance(tmp_path) as opened:
        yield opened


def say(instance, run_id, text):
    instance.report_engine_event(text, job_name="full", run_id=run_id)


def said(instance, run_id):
    return [entry.dagster_event.message for entry in instance.all_logs(run_id)]


def test_what_is_written_is_read_at_once_by_an_instance_that_opens_the_same_files(tmp_path, kept):
    say(kept, "a", "one")
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as other:
        assert type(other.event_log_storage) is not type(kept.event_log_storage)
        assert said(other, "a") == ["one"]
        say(other, "a", "two")
        say(kept, "a", "three")
        assert said(kept, "a") == said(other, "a") == ["one", "two", "three"]


def test_however_many_runs_are_looked_at_only_the_index_and_the_last_run_stay_open(kept):
    for run_id in "abab":
        say(kept, run_id, run_id)
    kept.event_log_storage.get_asset_records()
    assert kept.event_log_storage.kept == {"index", "b"}
    assert (said(kept, "a"), said(kept, "b")) == (["a", "a"], ["b", "b"])
    kept.event_log_storage.dispose()
    assert kept.event_log_storage.kept == set()


def step(instance, run_id, kind, name):
    """Report an event of a step; its message is `name`."""
    entry = EventLogEntry(
        error_info=None,
        level="debug",
        user_message=name,
        run_id=run_id,
        timestamp=0.0,
        step_key="scores",
        job_name="full",
        dagster_event=DagsterEvent(kind.value, "full", message=name, step_key="scores"),
    )
    instance.handle_new_event(entry)


def test_events_of_inputs_are_written_in_their_order_with_the_next_event(tmp_path, kept):
    start, loaded = DagsterEventType.STEP_START, DagsterEventType.LOADED_INPUT
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as other:
        for kind, name in ((start, "one"), (loaded, "two"), (loaded, "three")):
            step(kept, "a", kind, name)
        assert said(other, "a") == ["one"]
        step(kept, "a", start, "four")
        assert said(other, "a") == ["one", "two", "three", "four"]
        step(kept, "a", loaded, "five")
        assert said(kept, "a") == said(other, "a") == ["one", "two", "three", "four", "five"]
        step(kept, "a", loaded, "six")
        say(kept, "b", "another run")
        assert said(other, "a")[-1] == "six"
        for run_id in "ab":
            step(kept, run_id, loaded, "last")
        kept.event_log_storage.dispose()
        assert [said(other, run_id)[-1] for run_id in "ab"] == ["last", "last"]


def test_an_erasure_rewrites_a_database_that_stays_open(kept):
    say(kept, "a", "the secret word")
    file = Path(kept.event_log_storage.path_for_shard("a"))
    assert rewrite_texts(file, lambda text: text.replace("secret", "[erased]"), holds=lambda _: False)
    assert said(kept, "a") == ["the [erased] word"]


def test_a_storage_that_is_not_in_sqlite_files_stays(tmp_path):
    (tmp_path / "dagster.yaml").write_text(
        "storage:\n  postgres:\n    postgres_url: postgresql://localhost/dagster\n", "utf-8"
    )
    reference = InstanceRef.from_dir(str(tmp_path))
    assert event_log.kept_open(reference) == reference


def test_sqlite_files_stay_in_the_folder_that_the_configuration_names(tmp_path):
    (tmp_path / "dagster.yaml").write_text(f"storage:\n  sqlite:\n    base_dir: {tmp_path / 'elsewhere'}\n", "utf-8")
    storage = event_log.kept_open(InstanceRef.from_dir(str(tmp_path))).storage
    assert isinstance(storage, DagsterSqliteStorage)
    assert storage.event_log_storage.path_for_shard("a") == str(tmp_path / "elsewhere" / "history" / "runs" / "a.db")
