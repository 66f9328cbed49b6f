"""The ledger: exactly once, in order, for threads and processes alike, with clear words when it fails."""

import hashlib
import json
import os
import resource
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from lake_rows import PROCESSES, T0, accessed, batch, commit_of, revert, stored, updated

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import activity, commits, database, tables
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.event import COLUMNS, DeadLetter, Event
from memory_pipeline.ledger.ledger import Appended, Ledger
from memory_pipeline.ledger.payloads import Stored
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.schemas import TABLES, EventType


@pytest.fixture
def ledger(home: Path) -> Iterator[Ledger]:
    with Ledger.at(home) as opened:
        yield opened


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(4, mp_context=PROCESSES) as pool:
        yield pool


def append_batches(home: Path, batches: list[list[int]]) -> list[Appended]:
    with Ledger.at(home) as ledger:
        return [ledger.append([stored(number) for number in numbers]) for numbers in batches]


def test_an_event_is_applied_once_however_often_it_comes(ledger: Ledger) -> None:
    assert ledger.append(batch(3)) == Appended(3, 0, 3)
    assert ledger.append([stored(2), stored(3), stored(3)]) == Appended(1, 2, ledger.position())
    assert ledger.append([]) == Appended(0, 0, ledger.position())
    assert [row[1] for row in ledger.read()] == [f"e-ana-{number}" for number in range(4)]


def test_an_event_id_is_its_profiles_own(ledger: Ledger) -> None:
    """So that no profile can take an id before another uses it, or learn that another has used it."""
    told = [stored(1, profile_id=name).model_copy(update={"event_id": "same"}) for name in ("ana", "bo")]
    assert ledger.append(told[:1]).accepted == 1
    assert ledger.append(told[1:]) == Appended(accepted=1, duplicates=0, last_seq=2)
    assert ledger.append(told) == Appended(accepted=0, duplicates=2, last_seq=2)
    with pytest.raises(KnownMemory, match="event_id is 'same', which another event of the profile has"):
        ledger.append([stored(2).model_copy(update={"event_id": "same"})])


def test_rows_come_back_as_they_went_in(ledger: Ledger) -> None:
    events = [*batch(2), updated("u")]
    ledger.append(events)
    assert [row[1:] for row in ledger.read()] == [event.row() for event in events]
    assert len(ledger.read()[0]) == 1 + len(COLUMNS)
    assert [row[0] for row in ledger.read(after=1, until=2)] == [2]
    assert [row[0] for row in ledger.read(limit=1)] == [1]


def test_an_event_of_the_pipeline_is_refused(ledger: Ledger) -> None:
    event = Event(event_id="x", event_type=EventType.RUN_COMMITTED, occurred_at=T0, recorded_at=T0, payload={})
    with pytest.raises(ValueError, match=r"run\.committed.*only the pipeline writes"):
        ledger.append([stored(1), event])
    assert ledger.position() == 0


@examples(4)
@given(st.lists(st.lists(st.lists(st.integers(0, 30), max_size=8), max_size=4), min_size=3, max_size=3))
def test_any_interleaving_of_processes_gives_the_same_events(
    workers: ProcessPoolExecutor, work: list[list[list[int]]]
) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        done = list(workers.map(append_batches, [home] * 3, work))
        with Ledger.at(home) as ledger:
            rows = ledger.read()
    wanted = {f"e-ana-{number}" for batches in work for numbers in batches for number in numbers}
    assert sorted(row[1] for row in rows) == sorted(wanted)
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert sum(appended.accepted for answers in done for appended in answers) == len(wanted)
    for answers in done:
        assert [one.last_seq for one in answers] == sorted(one.last_seq for one in answers)


def append_tens(home: Path, origin: str, batches: int) -> list[int]:
    with Ledger.at(home) as ledger:
        tens = [
            [stored(number, origin=origin, profile_id=origin) for number in range(n, n + 10)] for n in range(batches)
        ]
        return [ledger.append(ten).last_seq for ten in tens]


@pytest.mark.drill
@pytest.mark.parametrize("batches", [8, 400])
def test_positions_of_many_writers_have_no_gaps_and_are_in_the_order_of_commits(
    home: Path, workers: ProcessPoolExecutor, batches: int
) -> None:
    names = [f"w{number}" for number in range(4)]
    with Ledger.at(home) as ledger:
        writing = [workers.submit(append_tens, home, name, batches) for name in names]
        prefixes = []
        while not all(one.done() for one in writing):
            prefixes.append([row[:2] for row in ledger.read()])
        rows = [row[:2] for row in ledger.read()]
    assert [seq for seq, _ in rows] == [*range(1, 1 + 4 * (9 + batches))]
    assert all(prefix == rows[: len(prefix)] for prefix in prefixes), "nothing comes to lie before what was seen"
    at = {event_id: seq for seq, event_id in rows}
    for name, answers in zip(names, (one.result() for one in writing), strict=True):
        assert all(at[f"{name}-{name}-{n + 9}"] <= answers[n] for n in range(batches))
        assert answers == sorted(answers)


@pytest.mark.drill
def test_what_was_once_seen_up_to_a_position_never_changes(home: Path) -> None:
    finished = threading.Event()

    def write(ledger: Ledger, origin: str) -> None:
        for number in range(0, 200, 10):
            ledger.append([stored(n, origin=origin) for n in range(number, number + 10)])

    def watch(ledger: Ledger) -> list[list[str]]:
        seen = []
        while not finished.is_set():
            seen.append([row[1] for row in ledger.read(until=ledger.position())])
        return seen

    with Ledger.at(home) as ledger, ThreadPoolExecutor(5) as threads:
        watching = threads.submit(watch, ledger)
        for writing in [threads.submit(write, ledger, origin) for origin in "abc"]:
            writing.result()
        finished.set()
        final = [row[1] for row in ledger.read()]
        assert len(final) == 600
        for prefix in watching.result():
            assert prefix == final[: len(prefix)]


def test_a_forked_child_may_use_the_ledger_of_its_parent(home: Path) -> None:
    process = PROCESSES.Process(target=fork_and_append, args=(home,))
    process.start()
    process.join()
    assert process.exitcode == 0
    with Ledger.at(home) as ledger:
        assert [row[1] for row in ledger.read()] == ["e-ana-0", "e-ana-1", "e-ana-2"]


def fork_and_append(home: Path) -> None:
    with Ledger.at(home) as ledger:
        ledger.append([stored(0)])
        child = os.fork()
        if not child:
            ledger.append([stored(1)])
            ledger.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        ledger.append([stored(2)])


def test_heads_move_with_commits_reverts_and_updates_only(home: Path) -> None:
    with Lake(home) as lake:
        ledger = lake.ledger
        ledger.append([stored(0), stored(0, profile_id="bo")])
        assert ledger.heads() == {"ana": 0, "bo": 0}
        ledger.append([updated("u")])
        assert ledger.heads() == {"ana": 3, "bo": 0}
        position = lake.commit(commit_of(lake, ["bo"], "p"))["bo"]
        assert ledger.heads(["bo", "nobody"]) == {"bo": position, "nobody": 0}
        at = revert(ledger, "bo", ["p/0"], reason="wrong", occurred_at=T0, recorded_at=T0)
        assert ledger.heads() == {"ana": 3, "bo": at}


def test_profiles_count_what_agents_wrote(ledger: Ledger) -> None:
    ledger.append([*batch(3), updated("u"), stored(9, profile_id="bo")])
    revert(ledger, "ana", ["d"], reason="wrong", occurred_at=T0 + timedelta(days=9), recorded_at=T0)
    assert ledger.profiles().drop("last_recorded_at").rows() == [
        ("ana", 3, 4, T0),
        ("bo", 1, 5, T0 + timedelta(minutes=9)),
    ]
    ledger.append([accessed("late", "m0", "m1", occurred_at=T0, recorded_at=T0)])
    assert [ledger.waiting(after) for after in (0, 4, 5, 7)] == [(6, 1), (2, 1), (1, 1), (0, 0)]


def test_the_digest_names_the_agents_events_in_their_order(tmp_path: Path) -> None:
    events = batch(10_000)
    digests = []
    for name, size in (("a", 10_000), ("b", 3_000), ("c", 7_001)):
        with Ledger.at(tmp_path / name) as ledger:
            for start in range(0, len(events), size):
                ledger.append(events[start : start + size])
                if name == "c":
                    revert(ledger, "ana", ["d"], reason="wrong", occurred_at=T0, recorded_at=T0)
            digests.append(ledger.digest())
            assert ledger.digest(0) == "00" * 32
    state = bytes(32)
    for event in events:
        state = hashlib.sha256(state + event.event_id.encode()).digest()
    assert digests == [state.hex()] * 3


def test_the_digest_of_a_position_does_not_change_as_the_ledger_grows(ledger: Ledger) -> None:
    ledger.append(batch(9_000))
    before = [ledger.digest(seq) for seq in (1, 500, 8_999, 9_000)]
    assert len(set(before)) == 4
    ledger.append(batch(9_000, profile_id="bo"))
    assert [ledger.digest(seq) for seq in (1, 500, 8_999, 9_000)] == before
    assert ledger.digest() != before[-1]


def test_a_letter_is_buried_once(ledger: Ledger) -> None:
    letter = DeadLetter("file.jsonl:3", "no JSON", b"{\xff", T0)
    ledger.add_dead_letters([letter, letter])
    ledger.add_dead_letters([letter])
    ledger.add_dead_letters([])
    assert ledger.dead_letters().rows(named=True) == [
        {
            "letter_id": letter.letter_id,
            "received_at": T0,
            "origin": "file.jsonl:3",
            "reason": "no JSON",
            "raw": b"{\xff",
            "noise": False,
        }
    ]


def test_an_empty_ledger_gives_empty_tables_with_their_types(ledger: Ledger) -> None:
    for name, frame in {
        "decisions": ledger.decisions(),
        "reverted": ledger.reverted(),
        "consolidation_runs": ledger.runs(),
        "dead_letters": ledger.dead_letters(),
    }.items():
        assert frame.equals(TABLES[name].empty())
        assert frame.schema == TABLES[name].empty().schema
    assert ledger.profiles().height == ledger.position() == ledger.attempts().height == 0
    assert ledger.heads() == {}


def test_a_revert_masks_decisions_from_its_instant_and_position_on(ledger: Ledger) -> None:
    day = timedelta(days=1)
    first = revert(ledger, "ana", ["b", "a", "a"], reason="wrong", occurred_at=T0 + day, recorded_at=T0)
    second = revert(ledger, "ana", ["a"], reason="again", occurred_at=T0, recorded_at=T0)
    assert ledger.reverted().rows() == [("ana", "a", first), ("ana", "b", first)]
    assert ledger.reverted(seq=first).rows() == [("ana", "a", first), ("ana", "b", first)]
    assert ledger.reverted(as_of=T0).rows() == [("ana", "a", second)]
    assert ledger.reverted(seq=0).height == 0


def test_a_ledger_of_a_newer_version_is_refused(home: Path) -> None:
    with Ledger.at(home) as ledger, ledger.writing() as transaction:
        transaction.connection.exec_driver_sql("UPDATE meta SET value = '99' WHERE key = 'schema'")
    with pytest.raises(LakeError, match=r"version 99.*upgrade memory-pipeline"):
        Ledger.at(home)


def test_a_ledger_of_an_earlier_version_is_upgraded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger.at(home).close()
    statement = "ALTER TABLE attempts ADD COLUMN place TEXT DEFAULT 'here' NOT NULL"
    monkeypatch.setitem(tables.UPGRADES, tables.SCHEMA + 1, (statement,))
    monkeypatch.setattr(database, "SCHEMA", tables.SCHEMA + 1)
    for _ in range(2):  # only once
        with Ledger.at(home) as ledger, ledger.writing() as transaction:
            commits.note(transaction, "run", "committed", started_at=T0)
    with Ledger.at(home) as ledger, ledger.reading() as transaction:
        assert transaction.connection.exec_driver_sql("SELECT place FROM attempts").scalars().all() == ["here"] * 2


def test_letters_of_an_earlier_version_say_which_are_no_memories(home: Path) -> None:
    letters = [DeadLetter("one", "no JSON", b"{", T0), DeadLetter("two", "it only acknowledges", b"{}", T0, noise=True)]
    with Ledger.at(home) as ledger:
        ledger.add_dead_letters(letters)
        with ledger.writing() as transaction:
            for statement in (
                "UPDATE dead_letters SET reason = 'left out: ' || reason WHERE noise = 1",
                "ALTER TABLE dead_letters DROP COLUMN noise",
                "UPDATE meta SET value = '5' WHERE key = 'schema'",
            ):
                transaction.connection.exec_driver_sql(statement)
    with Ledger.at(home) as ledger:
        assert ledger.dead_letters(noise=True)["reason"].to_list() == ["it only acknowledges"]
        assert ledger.dead_letters(noise=False)["reason"].to_list() == ["no JSON"]


def test_any_text_comes_back_as_it_was_told(ledger: Ledger) -> None:
    text = "a\0b \x1f \\ \\N \t\n 'q' \"q\" {1} é 日本 \U0001f600"
    event = stored(1).model_copy(update={"payload": Stored(content=text, metadata={"\0": text})})
    ledger.append([event])
    (row,) = ledger.read()
    assert row[1:] == event.row()
    assert json.loads(row[-1])["content"] == text
    assert ledger.append([event]).duplicates == 1


def test_text_is_ordered_by_code_points(ledger: Ledger) -> None:
    names = ["B", "a", "b", "\u00e4", "_", "a b"]
    ledger.append([stored(1, profile_id=name) for name in names])
    assert ledger.profiles()["profile_id"].to_list() == sorted(names)
    with ledger.reading() as transaction:
        assert activity.profiles_with_memories(transaction)["profile_id"].to_list() == sorted(names)


def test_a_file_that_is_no_ledger_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no database at all, but long enough to look like one " * 50)
    with pytest.raises(LakeError, match=r"not a database.*backup"):
        Ledger.at(tmp_path)


def test_a_home_that_is_a_file_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("", "utf-8")
    with pytest.raises(LakeError, match="choose another folder"):
        Ledger.at(tmp_path / "home")


def test_a_writer_does_not_wait_for_ever_and_readers_do_not_wait_at_all(home: Path) -> None:
    with Ledger.at(home) as busy, Ledger.at(home, timeout=0) as ledger, busy.writing():
        assert ledger.position() == 0
        with pytest.raises(LakeError, match=r"stayed locked.*try again"):
            ledger.append(batch(1))


def test_a_full_disk_is_named_with_a_remedy_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    with Ledger.at(tmp_path) as ledger:
        ledger.append(batch(10))
    process = PROCESSES.Process(target=append_on_a_full_disk, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 0
    with Ledger.at(tmp_path) as ledger:
        assert ledger.position() == 10


def test_a_disk_without_inodes_is_named_as_what_stops_the_database(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "ledger.sqlite").mkdir()  # the database can open no file, as where there is no inode for its own
    with pytest.raises(LakeError, match="check that the folder exists"):
        Ledger.at(tmp_path)
    disk = list(os.statvfs(tmp_path))
    disk[5:8] = 400, 0, 0
    monkeypatch.setattr(database.os, "statvfs", lambda _: os.statvfs_result(disk))
    with pytest.raises(LakeError, match="free some disk space or inodes"):
        Ledger.at(tmp_path)


def append_on_a_full_disk(home: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    with Ledger.at(home) as ledger, pytest.raises(LakeError, match=r"disk.*try again"):
        ledger.append(batch(5_000, origin="more"))


def test_a_ledger_that_was_replaced_under_a_program_takes_and_tells_nothing_more(tmp_path: Path) -> None:
    with Ledger.at(tmp_path / "home") as ledger:
        ledger.append(batch(1))
        (tmp_path / "home").rename(tmp_path / "aside")
        with Ledger.at(tmp_path / "home") as restored:
            assert restored.position() == 0
        for wanted in (lambda: ledger.append(batch(2)), ledger.position):
            with pytest.raises(LakeError, match="was removed or replaced while this program had it open; start"):
                wanted()
    with Ledger.at(tmp_path / "aside") as aside:
        assert aside.position() == 1
