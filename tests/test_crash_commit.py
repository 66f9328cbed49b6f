"""Crashes: real processes, really killed (SIGKILL), in the middle of appends, projections and commits.

A worker counts its steps (files opened or renamed, locks taken, statements and commits sent to the database) and kills
itself at a given one, so that every kind of moment is met; others are killed from outside while they work.
"""

import shutil
import signal
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import in_place
import pytest
from crashing import moments, outcome, steps_of
from lake_rows import PROCESSES, commit_of, files_of, plans_seen, rows, stored

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import event
from memory_pipeline.schemas import TABLES

OWN = ["ana", "bo"]
MOMENTS = 12


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with events, a projection and a first commit."""
    home = tmp_path_factory.mktemp("begun")
    with Lake(home) as lake:
        work(lake, 1)
    return home


@pytest.fixture(scope="module")
def steps(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many steps the next round of work takes."""
    home = tmp_path_factory.mktemp("counted") / "home"
    shutil.copytree(begun, home)
    steps = outcome(work_and_die, home, 0)
    assert steps is not None
    assert steps > MOMENTS
    return steps


def work(lake: Lake, turn: int) -> None:
    """One round: everything that a day brings to the store."""
    for profile_id in OWN:
        lake.ledger.append([stored(number, profile_id=profile_id) for number in range(10 * turn, 10 * turn + 10)])
    lake.project()
    for name in ("enrichment", "vectors"):
        lake.append(name, rows(name, "ana", f"plan{turn}"))
    lake.commit(commit_of(lake, OWN, f"plan{turn}"))
    lake.project()


def started(target: Callable[..., None], *arguments: object) -> BaseProcess:
    process = PROCESSES.Process(target=target, args=arguments)
    process.start()
    return process


def work_and_die(home: Path, last_step: int, sender: Connection) -> None:
    """Do a round of work and be killed at a step; at step 0, tell how many steps there are."""
    with Lake(home) as lake:
        total = steps_of(lambda: work(lake, 2), last_step, "open", "os.", "fcntl.", "sqlite3.")
    sender.send(total)


def assert_whole(lake: Lake) -> None:
    """Nothing is torn: every file is there, every event once, and a commit is seen in all tables or in none."""
    assert lake.verify().is_empty()
    in_place.same(lake)
    ledger = lake.ledger.read()
    ids = [row[1] for row in ledger]
    assert len(ids) == len(set(ids))
    for profile_id in OWN:
        kept = [event_id for event_id in ids if event_id.startswith(f"e-{profile_id}-")]
        assert kept == [f"e-{profile_id}-{number}" for number in range(10, 10 + len(kept))]
        assert len(kept) % 10 == 0
    seq, plan_id = lake.ledger.runs().select("commit_seq", "plan_id").sort("commit_seq").row(-1)
    assert plans_seen(lake, seq) == {profile_id: {plan_id} for profile_id in OWN}
    assert set(lake.ledger.decisions()["plan_id"]) == set(lake.ledger.runs()["plan_id"])
    projected = lake.read("events")
    assert projected.equals(event.frame(ledger[: projected["seq"].n_unique()]))


@pytest.mark.parametrize("moment", moments(MOMENTS, pushed=(5,)))
def test_a_kill_at_any_step_leaves_all_or_nothing_and_the_work_can_go_on(
    begun: Path, steps: int, tmp_path: Path, moment: int
) -> None:
    home = tmp_path / "home"
    shutil.copytree(begun, home)
    assert outcome(work_and_die, home, 1 + moment * (steps - 1) // (MOMENTS - 1)) == -signal.SIGKILL
    with Lake(home, timeout=0) as lake:
        assert_whole(lake)
        if "plan2" not in set(lake.ledger.runs()["plan_id"]):
            work(lake, 2)
        lake.project()
        assert_whole(lake)
        assert set(lake.ledger.runs()["plan_id"]) == {"plan1", "plan2"}
        assert lake.ledger.profiles()["memories"].to_list() == [20, 20]
        assert lake.read("vectors").height == lake.read("enrichment").height == 4
        lake.sweep(older_than=timedelta(days=-1))
        assert lake.verify().is_empty()
        positions = range(lake.ledger.position() + 1)
        seen = {path for name in TABLES for position in positions for path in files_of(lake, name, position)}
        assert set(home.glob("lake/*/*")) == seen


@pytest.mark.drill
@pytest.mark.parametrize("kills", [(8,), (3, 8, 13)])
def test_kills_from_outside_leave_the_store_whole(begun: Path, tmp_path: Path, kills: tuple[int, ...]) -> None:
    home = tmp_path / "home"
    shutil.copytree(begun, home)
    for steps_done in kills:
        receiver, sender = PROCESSES.Pipe(duplex=False)
        with receiver, sender:
            process = started(keep_working, home, sender)
            for _ in range(steps_done):
                receiver.recv()
            process.kill()
            process.join()
        with Lake(home, timeout=0) as lake:
            assert_whole(lake)


def keep_working(home: Path, sender: Connection) -> None:
    with Lake(home) as lake:
        while True:
            for profile_id, memories in lake.ledger.profiles().select("profile_id", "memories").iter_rows():
                first = 10 + memories
                lake.ledger.append([stored(number, profile_id=profile_id) for number in range(first, first + 10)])
                sender.send("appended")
            lake.project()
            sender.send("projected")
            lake.commit(commit_of(lake, OWN, f"plan{lake.ledger.position()}"))
            sender.send("committed")


@pytest.mark.drill
def test_readers_never_see_half_a_commit(begun: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(begun, home)
    process = started(commit_often, home)
    seen = []
    with Lake(home) as lake:
        while process.is_alive() or not seen:
            position = lake.ledger.position()
            plans = plans_seen(lake, position)
            assert plans["ana"] == plans["bo"]
            seen += plans["ana"]
            assert len(plans["ana"]) == 1
        process.join()
        assert process.exitcode == 0
        assert plans_seen(lake, lake.ledger.position())["bo"] == {"plan9"}
    assert seen == sorted(seen)


def commit_often(home: Path) -> None:
    with Lake(home) as lake:
        for number in range(2, 10):
            lake.commit(commit_of(lake, OWN, f"plan{number}"))
