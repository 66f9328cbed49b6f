"""Crashes in the middle of an erasure: real processes, really killed, at any step; afterwards the words are nowhere."""

import shutil
import signal
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import in_place
import pytest
from crashing import moments, outcome, steps_of
from leftovers import found

from memory_pipeline.erasure.erase import erase_memories, resume_erasure
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, inputs, rebuild
from memory_pipeline.settings import load

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEXTS = {
    "a": "Ana met Doctor Zwirblquax in Lyon about her knee",
    "b": "Ana met Doctor Zwirblquax in Lyon about her knee.",
    "t": "Bo likes green tea in the morning",
    "u": "Bo likes green tea in the morning.",
}
WORDS = ("zwirblquax", "about her knee")
MOMENTS = 10


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which two pairs were merged, with two snapshots and a staging folder."""
    home = tmp_path_factory.mktemp("begun") / "home"
    at = NOW - timedelta(days=30)
    with Lake(home) as lake:
        for memory_id, text in TEXTS.items():
            raw = {"event_type": "memory.stored", "memory_id": memory_id, "payload": {"content": text}}
            lake.ledger.append([parse(raw | {"event_id": memory_id}, recorded_at=at, origin="test")])
        for day in (9, 5):
            settings = load(home, environment={})
            profiles = inputs.select_profiles(lake, settings, as_of=NOW - timedelta(days=day))
            tables = consolidate.consolidate(lake, settings, profiles, run_id=f"run{day}")
            snapshot.publish(lake)
        lake.stage("run5", "memories", tables["memories"])
    return home


@pytest.fixture(scope="module")
def steps(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many steps an erasure takes."""
    home = tmp_path_factory.mktemp("counted") / "home"
    shutil.copytree(begun, home, symlinks=True)
    steps = outcome(erase_and_die, home, 0)
    assert steps is not None
    assert steps > MOMENTS
    return steps


def erase_and_die(home: Path, last_step: int, sender: Connection) -> None:
    """Erase and be killed at a step; at step 0, tell how many steps there are."""
    with Lake(home) as lake:
        work = partial(erase_memories, lake, memory_ids=["a", "b"], now=NOW)
        total = steps_of(work, last_step, "os.", "fcntl.", "sqlite3.", "shutil.")
    sender.send(total)


@pytest.mark.drill
@pytest.mark.parametrize("moment", moments(MOMENTS, pushed=(8,)))
def test_a_kill_at_any_step_leaves_an_erasure_that_can_be_finished(
    begun: Path, steps: int, tmp_path: Path, moment: int
) -> None:
    home = tmp_path / "home"
    shutil.copytree(begun, home, symlinks=True)
    assert outcome(erase_and_die, home, 1 + moment * (steps - 1) // (MOMENTS - 1)) == -signal.SIGKILL
    with Lake(home, timeout=0) as lake:
        told = resume_erasure(lake) if moment % 2 else None
        receipt = erase_memories(lake, memory_ids=["a", "b"], now=NOW + timedelta(days=1))
        assert {*receipt.erased, *receipt.already} == {"a", "b"}
        assert told is None or told.erased == ("a", "b")
        assert resume_erasure(lake) is None
        assert lake.verify().is_empty()
        in_place.same(lake)
        assert lake.read("memories").height == 5
        again = rebuild.rebuild(lake, "default")["memories"]
        assert again.equals(lake.read("memories"))
    assert found(home, *WORDS) == []
