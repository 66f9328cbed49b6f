"""A lake on object storage: the same tables, and a server that is slow, fails, or loses what it says.

What holds of a lake wherever it is is tried on both in `test_lake.py`, `test_lake_care.py` and `test_object_store.py`.
"""

import re
import shutil
import time
from datetime import timedelta

import duckdb
import homes
import in_place
import polars as pl
import pytest
from lake_rows import batch, commit_of, plans_seen, rows

from memory_pipeline.erasure import survivors
from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake import backup, compaction, identity, object_stores, snapshot
from memory_pipeline.lake.fetched_files import FetchedFiles
from memory_pipeline.lake.s3_object_store import S3ObjectStore
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.event import PIPELINE
from memory_pipeline.runs import undo
from memory_pipeline.service import doctor
from memory_pipeline.settings import SettingsError, lake_address, load

DAY = homes.days(1)
WORD = "zanzibarquux"


@pytest.fixture
def place(s3, tmp_path):
    """An empty data folder whose lake is on the server."""
    return s3.home(tmp_path / "data")


def lived(lake):
    """Let a store live through a night and its undo."""
    chosen = load(lake.home, environment={})
    homes.night(lake, run_id="one", policy=chosen)
    undo.undo(lake, "one", now=homes.NIGHT + DAY)
    in_place.same(lake)
    return seen(lake)


def seen(lake):
    """What the store says; the pipeline's own events have ids of chance and of the clock."""
    events = lake.events().filter(~pl.col("event_type").is_in(PIPELINE))
    return homes.published(lake) | {name: lake.read(name) for name in ("decisions", "reverted")} | {"events": events}


def unwell(home):
    return [one.detail for one in doctor.examine(load(home, environment={}), repair=False) if not one.well]


def test_what_is_stored_there_is_read_as_from_the_disk(place, tmp_path):
    history = homes.events(memories=10)
    with homes.filled(tmp_path / "disk", history) as lake, homes.filled(place, history) as there:
        tables = []
        for one in (lake, there):
            homes.enriched(one)
            tables.append({name: one.read(name) for name in ("events", "enrichment", "vectors")})
        homes.same(*tables)
        in_place.same(there)
        assert there.verify().is_empty()
        assert not {"lake", "runs", "archive", "store.json"} & {path.name for path in place.iterdir()}


@pytest.mark.drill
def test_a_store_lives_there_as_on_the_disk(place, tmp_path, s3):
    history = homes.events(memories=10)
    with homes.filled(tmp_path / "disk", history) as lake, homes.filled(place, history) as there:
        wanted = lived(lake)
        homes.same(lived(there), wanted)
        early = lake.ledger.runs()["commit_seq"].min()
        homes.same(*({name: one.read(name, seq=early) for name in homes.commit.PUBLISHED} for one in (there, lake)))
        assert in_place.read(there, "memories").equals(there.read("memories"))
        first = snapshot.publish(there)
        assert snapshot.problem(first) is None
        assert not {"lake", "runs", "archive", "store.json"} & {path.name for path in place.iterdir()}
        assert unwell(place) == []
        s3.requests.clear()
        keys = {"vectors": there.keys("vectors")}
        again = snapshot.build(place, {}, keys, store=there.store, name="000000000001-b", created_at=homes.NIGHT)
        assert snapshot.problem(again) is None
        assert s3.requests == [], "the files that an earlier snapshot has are not fetched again"


@pytest.mark.drill
def test_an_erasure_reaches_everything_there(place):
    history = homes.events(memories=5)
    with homes.filled(place, history) as lake:
        memory = lake.ledger.append([homes.parse(_said(), recorded_at=homes.RECORDED, origin="t", future=None)])
        assert memory.accepted == 1
        homes.night(lake, policy=load(place, environment={}))
        compaction.compact(lake.ledger, lake.store, before=homes.RECORDED + DAY)
        assert compaction.archive(lake.ledger, lake.store, before=homes.RECORDED + DAY)
        staged = lake.read("memories")
        lake.stage("live", "memories", staged)
        snapshot.publish(lake)
        assert {"snapshots", "lake", "archive", "runs"} == {key.partition("/")[0] for key in holding(lake)}
        receipt = erase_memories(lake, profile_id="sample-1", memory_ids=["secret"], now=homes.RECORDED)
        assert {name.partition("/")[0] for name in receipt.files_rewritten} == {"lake", "archive"}
        assert "old versions, unfinished uploads, replicas and backups of the bucket of the lake" in receipt.not_covered
        assert holding(lake) == []
        assert survivors.survivors(lake) == {}
        assert lake.verify().is_empty()
        assert 0 < lake.staged("live", "memories").height < staged.height, "rows of others stay"
        assert unwell(place) == []


def _said():
    payload = {"content": f"The {WORD} opens at noon, said the keeper of the harbour."}
    kept = {"event_id": "said", "memory_id": "secret", "profile_id": "sample-1", "occurred_at": "2026-04-01T00:00:00Z"}
    return {"event_type": "memory.stored", "payload": payload, **kept}


def holding(lake):
    """Return the objects that hold the erased word, read back as tables, and snapshots with it."""
    found = [stored.key for stored in lake.store.list("snapshots/") if stored.key.endswith(".duckdb")]
    found = [key for key in found if WORD.encode() in lake.store.get(key).read()]
    for stored in lake.store.list(""):
        if stored.key.endswith(".parquet"):
            with lake.store.get(stored.key) as file:
                frame = pl.read_parquet(file.read())
            if WORD in str(frame.to_dicts()):
                found.append(stored.key)
    return found


@pytest.mark.drill
def test_the_bucket_has_the_snapshots_of_the_data_folder(place, s3):
    with homes.filled(place, homes.events(memories=5)) as lake:
        homes.night(lake, policy=load(place, environment={}))
        assert published(lake) == {}
        lake.project()
        lake.store = S3ObjectStore(lake_address(place), retries=0, seconds=5)
        s3.faults[:] = [("POST", "503"), ("PUT", "503")]
        with pytest.raises(LakeError, match=r"the run is committed, only its snapshot is missing .*doctor --repair$"):
            snapshot.publish_after(lake, "the run is committed")
        s3.faults.clear()
        lake.store = object_stores.opened(place)
        first = snapshot.newest(place)
        (problem,) = unwell(place)
        assert re.fullmatch(rf"s3://.*/{first.name} is missing .*; publish again with: .*doctor --repair", problem)
        homes.night(lake, as_of=homes.NIGHT + DAY, run_id="two", policy=load(place, environment={}))
        second = snapshot.publish(lake)
        assert published(lake) == {first.name: 10, second.name: 15, "memories.duckdb": 15}, "what failed came along"
        assert unwell(place) == []
        s3.requests.clear()
        assert snapshot.publish(lake) == second
        assert {request.split()[0] for request in s3.requests} <= {"GET", "HEAD"}, "nothing is sent again"
        assert snapshot.drop_newer(lake, int(first.stem.partition("-")[0])) == [second]
        assert published(lake) == {first.name: 10, "memories.duckdb": 10}
        again = snapshot.publish(lake)
        assert snapshot.prune(lake, 1) == [first]
        assert published(lake) == {again.name: 15, "memories.duckdb": 15}
        folder = again.parent / "files" / again.stem
        read = {f"snapshots/files/{path.relative_to(folder)}" for path in folder.glob("*/*")}
        assert {one.key for one in lake.store.list("snapshots/files/")} == read, "files that no snapshot reads are gone"


@pytest.mark.drill
def test_what_is_lost_or_made_anew_is_published_again(place):
    with homes.filled(place, homes.events(memories=5)) as lake:
        for night in range(2):
            at = homes.NIGHT + homes.days(night)
            homes.night(lake, as_of=at, run_id=f"night {night}", policy=load(place, environment={}))
        snapshot.publish(lake)
        whole = {**published(lake)}
        assert set(whole.values()) == {15}, "one profile has nothing to decide in the second night"
        for lost in ("snapshots/files/", "snapshots/memories", "snapshots/index", "snapshots/0"):
            lake.store.delete(lake.store.list(lost)[0].key)
            assert len(unwell(place)) == 1, lost
            assert doctor.examine(load(place, environment={}), repair=True)
            assert (published(lake), unwell(place)) == (whole, []), lost
        lake.store.put("snapshots/memories.duckdb", b"half")
        assert len(unwell(place)) == 1
        assert snapshot.publish(lake)
        assert published(lake) == whole
        assert lake.drop_scores(older_than=timedelta(0), now=homes.NIGHT + homes.days(9)) == 10
        shutil.rmtree(place / "snapshots")
        snapshot.publish(lake)
        assert set(published(lake).values()) == {5}, "made anew from the scores that are left"
        broken = place / "snapshots" / "000000000001-moved.duckdb"
        broken.write_bytes(b"of a folder that was moved")
        newest = snapshot.publish(lake)
        assert set(published(lake)) == {newest.name, "memories.duckdb"}, "one that nobody can read is left out"
        assert unwell(place) == []


def published(lake):
    """Return the snapshots in the bucket, with the scores that each finds there."""
    files, found = {}, {}
    for stored in lake.store.list("snapshots/files/"):
        files[lake.store.uri(stored.key)] = lake.home / "fetched" / stored.key
        files[lake.store.uri(stored.key)].parent.mkdir(parents=True, exist_ok=True)
        files[lake.store.uri(stored.key)].unlink(missing_ok=True)
        lake.store.fetch(stored.key, files[lake.store.uri(stored.key)])
    for stored in lake.store.list("snapshots/"):
        if stored.key.endswith(".duckdb"):
            lake.store.fetch(stored.key, lake.home / "fetched.duckdb")
            with duckdb.connect(lake.home / "fetched.duckdb", read_only=True) as connection:
                connection.register_filesystem(FetchedFiles(files))
                ((count,),) = connection.sql("SELECT count(*) FROM score_history").fetchall()
            found[stored.key.removeprefix("snapshots/")] = count
    shutil.rmtree(lake.home / "fetched", ignore_errors=True)
    return found


@pytest.mark.drill
def test_a_store_moves_there_and_back(s3, tmp_path):
    with homes.filled(tmp_path / "disk", homes.events(memories=12, profiles=1)) as lake:
        homes.night(lake)
        wanted = seen(lake)
        backup.back_up(lake, tmp_path / "backup", now=homes.RECORDED)
    there = s3.home(tmp_path / "there")
    backup.restore(tmp_path / "backup", there)
    with Lake(there) as lake:
        homes.same(seen(lake), wanted)
        backup.back_up(lake, tmp_path / "of the server", now=homes.RECORDED)
    with pytest.raises(ValueError, match="holds the lake of a store: name another one in"):
        backup.restore(tmp_path / "of the server", tmp_path / "back")
    assert not list((tmp_path / "back").glob("*"))
    (tmp_path / "back").mkdir(exist_ok=True)
    (tmp_path / "back/memory_pipeline.toml").write_text('lake = "local"', "utf-8")
    backup.restore(tmp_path / "of the server", tmp_path / "back")
    with Lake(tmp_path / "back") as lake:
        homes.same(seen(lake), wanted)
        assert lake.verify().is_empty()


@pytest.mark.drill
def test_a_program_that_looks_elsewhere_begins_no_other_lake(place, s3, tmp_path, monkeypatch):
    with Lake(place) as lake:
        lake.commit(commit_of(lake, ["ana"], "p"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "memory_pipeline.toml").write_text((place / "memory_pipeline.toml").read_text("utf-8"), "utf-8")
    with pytest.raises(identity.Mismatch, match=r"is missing, but its lake exists: .* in the setting lake"):
        Lake(other)
    monkeypatch.setenv("MEMORY_PIPELINE_LAKE", s3.address())
    with pytest.raises(identity.Mismatch, match=r"belongs to a lake elsewhere, .*; correct the setting lake"):
        Lake(place)
    monkeypatch.setenv("MEMORY_PIPELINE_LAKE", "local")
    with pytest.raises(LakeError, match=r"its lake is s3://.*, says lake\.address, .* set lake"):
        Lake(place)
    with Lake(tmp_path / "disk") as lake:
        lake.commit(commit_of(lake, ["ana"], "p"))
    monkeypatch.setenv("MEMORY_PIPELINE_LAKE", s3.address())
    with pytest.raises(LakeError, match="has files of its own, lake/"):
        Lake(tmp_path / "disk")


@pytest.mark.parametrize(
    "value", ["s3://", "s3://UPPER/x", "s3://key:hush@bucket/x", "s3://b/x", "s3://bucket/../x", "x"]
)
def test_an_address_is_checked(value, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_PIPELINE_LAKE", value)
    with pytest.raises(
        SettingsError, match=r"environment MEMORY_PIPELINE_LAKE: lake = .*not a lake; write local"
    ) as said:
        lake_address(tmp_path)
    assert "hush" not in str(said.value)


# --- faults


FAULTS = {
    "PUT": ("500", "503", "slow", "partial", "lost"),
    "GET": ("500", "503", "slow", "cut", "lost"),
    "HEAD": ("500", "503", "lost"),
    "DELETE": ("500", "503", "lost"),
}


@pytest.mark.drill
def test_every_request_survives_every_fault(place, s3):
    store = object_stores.opened(place)
    for method, faults in FAULTS.items():
        for fault in faults:
            store.put("lake/a/1", b"old" * 1000)
            s3.faults[:] = [(method, fault)]
            store.put("lake/a/1", b"new" * 1000)
            with store.get("lake/a/1") as file:
                assert file.read() == b"new" * 1000, (method, fault)
            assert store.exists("lake/a/1")
            assert [one.key for one in store.list("lake/")] == ["lake/a/1"]
            store.delete("lake/a/1")
            assert not store.exists("lake/a/1")
            assert s3.faults == [], (method, fault)


@pytest.mark.drill
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_large_file_arrives_whole_through_every_fault(place, s3, tmp_path, method):
    store, data = object_stores.opened(place), bytes(range(256)) * 60_000  # two parts
    (tmp_path / "file").write_bytes(data)
    for fault in FAULTS["PUT"]:
        s3.faults[:] = [(method, fault)]
        store.send(tmp_path / "file", "snapshots/1")
        with store.get("snapshots/1") as file:
            assert file.read() == data, fault
        assert s3.faults == [], fault
        store.delete("snapshots/1")


@pytest.mark.drill
def test_a_commit_under_faults_loses_and_tears_nothing(place, s3):
    with Lake(place) as lake:
        lake.commit(commit_of(lake, ["ana"], "before"))
        lake.ledger.append(batch(5))
        s3.faults[:] = [(method, fault) for method in FAULTS for one in FAULTS[method] for fault in (one, "none")]
        lake.project()
        lake.append("vectors", rows("vectors", "ana", "v"))
        lake.commit(commit_of(lake, ["ana"], "after"))
        assert [fault for fault in s3.faults if fault[0] in {"PUT", "HEAD"}] == []
        s3.faults.clear()
        assert plans_seen(lake, lake.ledger.position()) == {"ana": {"after"}}
        assert lake.verify().is_empty()
        assert lake.sweep(older_than=-DAY) == [], "what was tried again left nothing"


@pytest.mark.drill
@pytest.mark.parametrize("fault", FAULTS["GET"])
def test_a_scan_survives_a_fault(place, s3, fault):
    with Lake(place) as lake:
        lake.append("vectors", rows("vectors", "ana", "v"))
        s3.faults[:] = [("GET", fault)]
        assert lake.read("vectors").height == 2
        assert s3.faults == []


@pytest.mark.drill
def test_a_server_that_stays_away_is_one_sentence_and_nothing_is_committed(place, s3):
    with Lake(place) as lake:
        lake.commit(commit_of(lake, ["ana"], "p"))
        lake.store = S3ObjectStore(lake_address(place), retries=1, seconds=1)
        for method in ("PUT", "GET"):
            s3.faults[:] = [(method, "503")] * 50
            began = time.monotonic()
            with pytest.raises(
                LakeError, match=r"lake = s3://.*503.*: check AWS_ENDPOINT_URL, .*then try again$"
            ) as said:
                lake.commit(commit_of(lake, ["ana"], "q"))
            assert len(str(said.value).splitlines()) == 1
            assert time.monotonic() - began < 10
            s3.faults.clear()
        assert plans_seen(lake, lake.ledger.position()) == {"ana": {"p"}}
        assert lake.verify().is_empty()
        lake.sweep(older_than=-DAY)
        lake.commit(commit_of(lake, ["ana"], "r"))


@pytest.mark.drill
def test_wrong_names_and_keys_have_remedies_of_their_own(place, monkeypatch):
    missing = S3ObjectStore("s3://no-such-bucket", retries=0)
    with pytest.raises(LakeError, match=r"create the bucket, or correct the setting lake$"):
        missing.list("lake/")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(LakeError, match="check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        Lake(place)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(LakeError, match="check AWS_ENDPOINT_URL"):
        S3ObjectStore("s3://memories", retries=0).exists("x")
