"""Accesses are written behind the caller's back, and are never lost without a word; many share a store."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import filelock
import polars as pl
import pytest
from waiting import PATIENCE

from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger.event import parse
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.recall.client import access_writer
from memory_pipeline.recall.client.access_writer import AccessWriter
from memory_pipeline.recall.client.memory_client import MemoryClient

pytestmark = pytest.mark.usefixtures("unpublished")


def accesses(home):
    with Lake(home) as lake:
        return lake.events().filter(pl.col("event_type") == "memory.accessed")


@pytest.fixture
def until(monkeypatch):
    """Wait for what the writing thread does: after each of its attempts it is looked at whether it came about."""
    attempts = threading.Semaphore(0)
    write = AccessWriter._write  # noqa: SLF001

    def attempt(writer):
        try:
            write(writer)
        finally:
            attempts.release()

    monkeypatch.setattr(AccessWriter, "_write", attempt)

    def wait(holds):
        while not holds():
            assert attempts.acquire(timeout=PATIENCE), "it did not come about"

    return wait


def event(number):
    said = {"event_type": "memory.accessed", "event_id": f"e{number}", "payload": {"memory_ids": ["m"]}}
    return parse(said, recorded_at=parse.__globals__["EPOCH"], origin="test")


@pytest.fixture
def ledger(tmp_path):
    with Ledger.at(tmp_path, timeout=0.05) as opened:
        yield opened


@pytest.fixture
def writer(ledger):
    made = AccessWriter(ledger)
    yield made
    made.close()


def test_accesses_are_written_without_being_asked_for(tmp_path, until):
    with MemoryClient(tmp_path) as client:
        client.remember("Ana moved to Lisbon.")
        client.recall("Ana")
        until(lambda: accesses(tmp_path).height == 1)


def test_many_recalls_make_few_transactions(writer, ledger, monkeypatch):
    batches = []
    append = ledger.append
    monkeypatch.setattr(ledger, "append", lambda events: batches.append(len(events)) or append(events))
    for number in range(300):
        writer.submit(lambda number=number: event(number))
    writer.flush()
    assert ledger.position() == 300
    assert len(batches) < 30


def test_a_forgotten_client_writes_what_is_left(tmp_path, until):
    client = MemoryClient(tmp_path)
    client.remember("Ana moved to Lisbon.")
    client.recall("Ana")
    del client
    until(lambda: accesses(tmp_path).height == 1)


def test_a_busy_ledger_delays_accesses_and_no_recall(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember("Ana moved to Lisbon.")
        with filelock.FileLock(tmp_path / "ledger.lock"):
            for _ in range(20):
                assert len(client.recall("Ana")) == 1
            assert accesses(tmp_path).is_empty()
        client.flush()
        assert accesses(tmp_path).height == 20


def test_a_failure_is_told_to_the_next_caller_and_mended_by_itself(writer, ledger, monkeypatch, until):
    monkeypatch.setattr(access_writer, "RETRY_SECONDS", 0.01)
    with filelock.FileLock(ledger.home / "ledger.lock"):
        writer.submit(lambda: event(1))
        until(lambda: writer._failure is not None)  # noqa: SLF001 - what a caller would hear of
        with pytest.raises(LakeError, match=r"accesses not written yet: 1; .*locked"):
            writer.check()
        with pytest.raises(LakeError, match="locked"):
            writer.flush()
    until(lambda: ledger.position() == 1)
    writer.flush()
    writer.check()
    assert ledger.position() == 1, "it counts once"


def test_a_failure_that_a_retry_has_mended_is_told_to_nobody(writer, ledger, monkeypatch, until):
    monkeypatch.setattr(access_writer, "RETRY_SECONDS", 0.01)
    with filelock.FileLock(ledger.home / "ledger.lock"):
        writer.submit(lambda: event(1))
        until(lambda: writer._failure is not None)  # noqa: SLF001 - what a caller would hear of
    until(lambda: ledger.position() == 1)
    until(lambda: writer._failure is None)  # noqa: SLF001
    writer.check()


def test_what_cannot_be_written_at_the_end_is_told(ledger):
    writer = AccessWriter(ledger)
    with filelock.FileLock(ledger.home / "ledger.lock"):
        writer.submit(lambda: event(1))
        writer.submit(lambda: event(2))
        with pytest.raises(LakeError, match="accesses that could not be written and are lost: 2"):
            writer.close()
    writer.close()


def test_threads_recall_and_remember_at_once(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember("Ana moved to Lisbon.")

        def work(number):
            new = client.remember(f"Ana bought the book number {number} in Lisbon.")
            found = client.recall(f"Which book number {number} did Ana buy?", 100)
            assert new in [one.memory_id for one in found], number
            client.feedback(new, helpful=True)
            return new

        with ThreadPoolExecutor(6) as pool:
            made = list(pool.map(work, range(18)))
        assert len(set(made)) == 18
        assert len(client.list(limit=1000)) == 19
        client.flush()
        named = dict(accesses(tmp_path).group_by("memory_id").len().iter_rows())
        assert {one: client.get(one).access_count for one in made} == {one: named[one] + 1 for one in made}
    assert accesses(tmp_path)["event_id"].n_unique() == 18


@pytest.mark.drill
def test_a_run_and_recalls_go_on_at_once(tmp_path):
    with MemoryClient(tmp_path) as client:
        ids = client.remember_many([f"Ana read the book number {number} in Lisbon." for number in range(8)])
        failed, stop = [], threading.Event()

        def look():
            while not stop.is_set():
                known = {one.memory_id for one in client.list(limit=1000, deep=True)}
                if not set(ids) <= known or not client.recall("Which book?"):
                    failed.append(known)

        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            client.consolidate()
        stop.set()
        for thread in threads:
            thread.join()
        assert not failed


PROCESS = """
import sys
from memory_pipeline import MemoryClient
client = MemoryClient(sys.argv[1])
for number in range(4):
    new = client.remember(f"Process two wrote note {number} about gardening.")
    assert new in [one.memory_id for one in client.recall(f"process two note {number} gardening", 50)]
"""


@pytest.mark.drill
def test_two_processes_share_a_store_and_the_end_of_either_writes_what_is_left(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember("Ana moved to Lisbon.")
        client.recall("gardening")
        running = subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path)])
        for number in range(4):
            new = client.remember(f"Process one wrote note {number} about gardening.")
            assert new in [one.memory_id for one in client.recall(f"process one note {number} gardening", 50)]
        assert running.wait(PATIENCE) == 0
        assert len(client.list(limit=50)) == 9
        assert len(client.recall("note about gardening", 50)) >= 8
    assert accesses(tmp_path)["event_id"].n_unique() == 10


KILLED = """
import sys
from memory_pipeline import MemoryClient
client = MemoryClient(sys.argv[1])
client.remember("Ana moved to Lisbon.")
print("ready", flush=True)
while True:
    client.recall("Ana")
    print(client.remember("Ana went for a walk."), flush=True)
"""


@pytest.mark.drill
def test_a_kill_tears_nothing(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    process.stdout.readline()
    while not accesses(tmp_path).height > 5:
        assert process.stdout.readline(), "it ended by itself"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with MemoryClient(tmp_path) as client:
        assert len(client.recall("Ana", 5)) > 0
        assert client.consolidate().run_id is not None
        with Lake(tmp_path) as lake:
            assert lake.verify().is_empty()
            counted = lake.read("memories").filter(pl.col("kind") == "original")
        named = accesses(tmp_path).group_by("memory_id").len()
        assert dict(counted.filter(pl.col("access_count") > 0).select("memory_id", "access_count").iter_rows()) == dict(
            named.iter_rows()
        )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_forked_child_is_refused_and_writes_nothing(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember("Ana moved to Lisbon.")
        with filelock.FileLock(tmp_path / "ledger.lock"):
            client.recall("Ana")
            child = os.fork()
            if child == 0:
                try:
                    client.recall("Ana")
                except RuntimeError as error:
                    client.close()
                    os._exit(0 if "open another one" in str(error) else 2)
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    assert accesses(tmp_path).height == 1
