"""Objects are written in one step, listed by prefix, and their folders come and go unnoticed."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sampling

from memory_pipeline.lake import object_stores
from memory_pipeline.lake.object_store import LocalObjectStore


@pytest.fixture(params=sampling.first("local", "s3"))
def store(request, tmp_path):
    home = request.getfixturevalue("s3").home(tmp_path) if request.param == "s3" else tmp_path
    return object_stores.opened(home)


def test_an_object_is_what_was_put_last(store):
    assert not store.exists("lake/a/1.parquet")
    for data in (b"one", memoryview(b"two")):
        store.put("lake/a/1.parquet", data)
        with store.get("lake/a/1.parquet") as file:
            assert file.read() == bytes(data)
    store.delete("lake/a/1.parquet")
    store.delete("lake/a/1.parquet")
    store.touch("lake/a/1.parquet")
    assert not store.exists("lake/a/1.parquet")
    with pytest.raises(FileNotFoundError):
        store.get("lake/a/1.parquet")


def test_listing_is_by_prefix_and_in_order(store):
    for key in ("lake/b/2", "lake/a/1", "lakes/x", "runs/r/t"):
        store.put(key, b"")
    assert [stored.key for stored in store.list("lake/")] == ["lake/a/1", "lake/b/2"]
    assert [stored.key for stored in store.list("runs/r")] == ["runs/r/t"]
    assert store.list("archive/") == []


def test_touching_makes_an_object_younger(store):
    store.put("lake/a/1", b"one")
    (before,) = store.list("lake/")
    store.touch("lake/a/1")
    (after,) = store.list("lake/")
    assert after.modified >= before.modified
    assert after.key == "lake/a/1"
    store.delete("lake/a/1")
    assert store.list("lake/") == []


def test_an_object_becomes_a_file(store, tmp_path):
    store.put("lake/a/1", b"one")
    store.fetch("lake/a/1", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"one"
    with pytest.raises(FileNotFoundError):
        store.fetch("lake/a/2", tmp_path / "none")


def test_a_file_becomes_an_object(store, tmp_path):
    for data in (b"", b"one", bytes(range(256)) * 60_000):  # 15 MB: more than one part
        (tmp_path / "file").write_bytes(data)
        store.send(tmp_path / "file", "lake/a/1")
        with store.get("lake/a/1") as file:
            assert file.read() == data


def test_a_failed_write_leaves_nothing(tmp_path):
    store = LocalObjectStore(tmp_path)
    with pytest.raises(TypeError):
        store.put("lake/a/1", "text")
    assert store.list("lake/") == []
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        store.put("file/1", b"")


def test_writers_do_not_mind_that_others_empty_the_folder(store):
    def work(number):
        for _ in range(3 if store.elsewhere else 30):
            store.put(f"lake/a/{number}", b"data")
            store.delete(f"lake/a/{number}")
        store.put(f"lake/a/{number}", b"data")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert len(store.list("lake/a/")) == 4
