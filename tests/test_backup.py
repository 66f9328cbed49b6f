"""A backup is complete or none, holds every acknowledged event, and a restored store never meets its lost future."""

import hashlib
import json
import os
import re
import shutil
from datetime import UTC, datetime

import homes
import pytest
from commands import as_json, refused
from lake_rows import commit_of

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake import backup, identity, object_store, snapshot
from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger.event import parse
from memory_pipeline.service import doctor

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def stored(number):
    payload = {"content": f"Note {number} is about the harbour."}
    event = {"event_type": "memory.stored", "event_id": f"note-{number}", "profile_id": "sample-1", "payload": payload}
    return parse(event, recorded_at=NOW, origin="test", future=None)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store after a night and an event, its backup, and what the store had then; afterwards it went on."""
    folder = tmp_path_factory.mktemp("store")
    with homes.filled(folder / "data", homes.events(memories=8, profiles=1)) as lake:
        homes.settings(folder / "data", archive_threshold=0.01)
        homes.night(lake)
        snapshot.publish(lake)
        lake.ledger.append([stored(1)])
        made = backup.back_up(lake, folder / "backup", now=NOW)
        published, position = homes.published(lake), lake.ledger.position()
        lake.ledger.append([stored(2)])
        homes.night(lake, as_of=homes.NIGHT + homes.days(40), run_id="lost")
        snapshot.publish(lake)
    return folder, made, published, position


def test_a_restored_store_is_the_one_that_was_backed_up(store, tmp_path):
    folder, made, published, position = store
    assert made.position == position
    backup.restore(folder / "backup", tmp_path / "data")
    with Lake(tmp_path / "data") as lake:
        homes.same(homes.published(lake), published)
        assert lake.ledger.position() == position
        assert lake.ledger.append([stored(1)]).duplicates == 1, "an event after the last commit is there"
        assert lake.ledger.append([stored(2)]).accepted == 1
        settings = homes.settings(lake.home)
        assert settings.policy.archive_threshold == 0.01
        assert [finding.detail for finding in doctor.examine(settings, repair=False) if not finding.well] == []
        lake.commit(commit_of(lake, ["ana"], "again"))
        assert snapshot.newest(lake.home) != snapshot.publish(lake)


def test_a_restored_store_takes_nothing_of_its_lost_future(store, tmp_path):
    folder = store[0]
    shutil.copytree(folder / "data", tmp_path / "data", symlinks=True)
    with pytest.raises(ValueError, match="holds a store or its snapshots"):
        backup.restore(folder / "backup", tmp_path / "data")
    (tmp_path / "data/ledger.sqlite").rename(tmp_path / "lost.sqlite")
    with pytest.raises(ValueError, match="holds a store or its snapshots"):
        backup.restore(folder / "backup", tmp_path / "data")
    shutil.rmtree(tmp_path / "data/snapshots")  # lake/ and store.json of the lost future are still there
    backup.restore(folder / "backup", tmp_path / "data")
    with Lake(tmp_path / "data") as lake:
        assert "lost" not in lake.ledger.runs()["run_id"]
        assert identity.of_lake(lake.store).epoch == 1
        assert lake.verify().is_empty()
        assert lake.sweep(older_than=-homes.days(1)), "files that the catalogue does not name"
    shutil.copy(tmp_path / "lost.sqlite", tmp_path / "data/ledger.sqlite")
    with pytest.raises(LakeError, match="is older than the lake"):
        Lake(tmp_path / "data")


def test_nobody_begins_a_store_where_one_is_being_restored(store, tmp_path, monkeypatch):
    put, tried = object_store.LocalObjectStore.put, []

    def meanwhile(self, key, data):
        if not (tmp_path / "data/ledger.sqlite").exists():
            with pytest.raises(LakeError, match=r"stayed locked|ledger\.sqlite is missing, but its lake exists"):
                Lake(tmp_path / "data", timeout=0)
            tried.append(key)
        return put(self, key, data)

    monkeypatch.setattr(object_store.LocalObjectStore, "put", meanwhile)
    made = backup.restore(store[0] / "backup", tmp_path / "data")
    assert {*tried, "ledger.sqlite"} == {*made.files}, "at any time until the ledger takes its name"
    with Lake(tmp_path / "data") as lake:
        assert lake.ledger.position() == made.position


@pytest.mark.parametrize(
    ("name", "reason"),
    [(b"what?", "cannot have ?"), (b"a\\b", "cannot have \\"), (b"caf\xe9", "must be UTF-8; rename")],
)
def test_a_folder_whose_name_duckdb_cannot_read_is_refused(store, tmp_path, name, reason):
    home = tmp_path / os.fsdecode(name)
    with pytest.raises(LakeError, match=re.escape(reason)):
        backup.restore(store[0] / "backup", home)
    with pytest.raises(LakeError, match=re.escape(reason)):
        Lake(home)
    assert not home.exists()


def test_a_store_that_was_begun_before_the_restore_had_its_turn_is_left_alone(store, tmp_path, monkeypatch):
    def begun_meanwhile(*_):
        with Lake(tmp_path / "data") as lake:
            lake.ledger.append([stored(7)])

    monkeypatch.setattr(backup, "_check", begun_meanwhile)
    with pytest.raises(ValueError, match="holds a store"):
        backup.restore(store[0] / "backup", tmp_path / "data")
    with Lake(tmp_path / "data") as lake:
        assert lake.ledger.append([stored(7)]).duplicates == 1


def test_a_backup_that_is_not_complete_or_damaged_is_refused(store, tmp_path):
    folder, made, _, _ = store
    copy = tmp_path / "backup"
    shutil.copytree(folder / "backup", copy)
    damaged = next(copy.glob("lake/memories/*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with pytest.raises(LakeError, match="is damaged"):
        backup.restore(copy, tmp_path / "data")
    assert not (tmp_path / "data/ledger.sqlite").exists()
    (copy / backup.LIST).write_text("{", "utf-8")
    with pytest.raises(ValueError, match="holds no complete backup"):
        backup.restore(copy, tmp_path / "data")
    shutil.copy(folder / "backup" / backup.LIST, copy)
    shutil.copy(folder / "backup" / damaged.relative_to(copy), damaged)
    assert backup.restore(copy, tmp_path / "data") == made, "a restore that was interrupted is done again"


@pytest.mark.parametrize(
    "name",
    [
        "../escaped",
        "lake/../../escaped.parquet",
        "archive/events-/../../../escaped.parquet",
        "/absolute",
        "tokens.json",
        "dagster/dagster.yaml",
        "lake/memories/unknown.parquet",
    ],
)
def test_a_list_that_names_anything_else_is_refused_before_anything_is_written(store, tmp_path, name):
    copy = tmp_path / "in" / "backup"
    shutil.copytree(store[0] / "backup", copy)
    path = tmp_path / "absolute" if name == "/absolute" else copy / name
    for folder in (path.parent, copy / "archive/events-"):
        folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    listed = json.loads((copy / backup.LIST).read_bytes())
    listed["files"][str(path) if name == "/absolute" else name] = hashlib.sha256(b"x").hexdigest()
    (copy / backup.LIST).write_text(json.dumps(listed), "utf-8")
    with pytest.raises(ValueError, match="which no backup holds: the list was changed; nothing was written"):
        backup.restore(copy, tmp_path / "out" / "data")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("uncollected")
def test_a_damaged_list_is_named(store, tmp_path):
    copy = tmp_path / "backup"
    shutil.copytree(store[0] / "backup", copy)
    listed = json.loads((copy / backup.LIST).read_bytes())
    some = dict(list(listed["files"].items())[:1])
    wrong = [listed | {"files": [1]}, listed | {"files": {}}, listed | {"files": {"ledger.sqlite": 1}}, {}, [], None]
    for text in ["", "\ufffd{", "[" * 100_000, *map(json.dumps, wrong)]:
        (copy / backup.LIST).write_text(text, "utf-8")
        with pytest.raises(ValueError, match=r"backup\.json is missing or damaged; name another backup"):
            backup.restore(copy, tmp_path / "data")
    (copy / backup.LIST).write_text(json.dumps(listed | {"files": some}), "utf-8")
    with pytest.raises(ValueError, match=r"backup\.json lacks 'lake/.*, which its ledger needs; name another backup"):
        backup.restore(copy, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_backup_needs_an_empty_folder_outside_the_store(store, tmp_path):
    with Lake(store[0] / "data") as lake:
        with pytest.raises(ValueError, match="choose a folder outside"):
            backup.back_up(lake, lake.home / "backups", now=NOW)
        (tmp_path / "full").write_text("", "utf-8")
        for folder in (tmp_path, tmp_path / "full"):
            with pytest.raises(ValueError, match="exists and is not empty"):
                backup.back_up(lake, folder, now=NOW)


def test_a_backup_is_not_spoiled_by_looking_into_it(store, tmp_path):
    before = (store[0] / "backup/ledger.sqlite").read_bytes()
    for command in (("status",), ("recall", "harbour", "--profile", "sample-1"), ("remember", "x"), ("consolidate",)):
        assert "is a backup" in refused(*command, home=store[0] / "backup")
    assert (store[0] / "backup/ledger.sqlite").read_bytes() == before
    backup.restore(store[0] / "backup", tmp_path / "data")


@pytest.mark.drill
def test_both_are_commands(store, tmp_path):
    made = as_json("backup", str(tmp_path / "backup"), home=store[0] / "data")
    assert json.loads((tmp_path / "backup" / backup.LIST).read_bytes()) == made
    assert as_json("restore-backup", str(tmp_path / "backup"), home=tmp_path / "new")["position"] == made["position"]
    assert "holds a store" in refused("restore-backup", str(tmp_path / "backup"), home=tmp_path / "new")
    with Lake(tmp_path / "new") as lake:
        erase_memories(lake, profile_id="sample-1", memory_ids=["note-1"], now=NOW)
