"""Kills at every kind of moment of everything that writes: no acknowledged event is lost, nothing is torn or doubled.

Each operation is done once to count its steps (files, locks, statements, commits, requests for objects), then killed
at moments spread over them, in a process of its own over a copy of the store: in a folder, with its ledger on
PostgreSQL, or with its lake on object storage. Afterwards the store is whole, the operation can be done again,
and a night over it decides what it decides on a store that nobody killed.
"""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import homes
import in_place
import polars as pl
import pytest
import reliability
from crashing import outcome, steps_of
from encoders import encoder

from memory_pipeline.consolidation.state import foldings, projection
from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import WRITE_SECONDS
from memory_pipeline.ledger.event import Event
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.runs import rebuild, undo
from memory_pipeline.schemas import EventType

MOMENTS = {"folder": 30, "PostgreSQL": 6, "object storage": 6}
"""Kills of each operation, by where the store is."""
WATCHED = ("open", "os.", "fcntl.", "sqlite3.", "shutil.")
TOLD = homes.events(profiles=1, memories=60)
BEFORE, LATER = TOLD[: len(TOLD) // 2], TOLD[len(TOLD) // 2 :]
ERASED = next(str(event.memory_id) for event in BEFORE if event.event_type == EventType.STORED)
DAY = timedelta(days=1)
MADE = {"plan_id", "event_id", "seq"}
"""Columns that say which run or position something came from."""
NEWS = TOLD[0].model_copy(update={"event_id": "news", "memory_id": "news", "occurred_at": homes.NIGHT + DAY})
FIRST = "run"
"""The run of the night before."""
MODEL = "CRASH_DRILL_MODEL"
"""Environment variable that names the embedder to move to."""
REMEMBERED = "The boiler was serviced by the plumber from Kirkwall."


def _import(home: Path) -> None:
    with Lake(home) as lake:
        import_events(lake.ledger, LATER, batch=10)


def _remember(home: Path) -> None:
    with MemoryClient(home, profile_id="sample-1") as client:
        client.remember(REMEMBERED, occurred_at=homes.NIGHT)


def _project(home: Path) -> None:
    with Lake(home) as lake:
        import_events(lake.ledger, LATER, batch=500)
        lake.project()


def _run(home: Path) -> None:
    with Lake(home) as lake:
        homes.night(lake, as_of=homes.NIGHT + DAY, run_id="killed")


def _snapshot(home: Path) -> None:
    with Lake(home) as lake:
        homes.night(lake, as_of=homes.NIGHT + DAY, run_id="killed")
        snapshot.publish(lake)


def _maintain(home: Path) -> None:
    with Lake(home) as lake:
        compaction.compact(lake.ledger, lake.store, before=homes.NIGHT)
        compaction.archive(lake.ledger, lake.store, before=homes.NIGHT)
        lake.sweep(older_than=-DAY)


def _erase(home: Path) -> None:
    with Lake(home) as lake:
        erase_memories(lake, profile_id="sample-1", memory_ids=[ERASED], now=homes.NIGHT)


def _undo(home: Path) -> None:
    with Lake(home) as lake:
        undo.undo(lake, FIRST, profile_id="sample-1", now=homes.NIGHT + DAY)


def _move(home: Path) -> None:
    file = home / "memory_pipeline.toml"
    before = file.read_text("utf-8") if file.exists() else ""  # the address of the ledger or of the lake
    if "[policy]" not in before:
        file.write_text(f"{before}\n[policy]\nembedder = {json.dumps(os.environ[MODEL])}\n", "utf-8")
    with Lake(home) as lake:
        moving = homes.settings(home)
        homes.night(lake, as_of=homes.NIGHT + DAY, run_id="killed", policy=moving, task="reembed")


OPERATIONS = (_import, _remember, _project, _run, _snapshot, _maintain, _erase, _undo, _move)


Begin = Callable[[Path], Path]
"""Puts a store after a night and with a snapshot in a folder, and returns the folder."""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("begun") / "home")


@pytest.fixture(scope="module", autouse=True)
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    words = sorted({word for event in TOLD for word in re.findall(r"\w+", str(event.payload))})
    os.environ[MODEL] = f"local:{encoder(tmp_path_factory.mktemp('models') / 'tiny', words=words)}"
    yield
    del os.environ[MODEL]


def filled(home: Path) -> Path:
    with homes.filled(home, BEFORE) as lake:
        homes.night(lake, run_id=FIRST)
        snapshot.publish(lake)
    return home


@pytest.fixture
def begin(place: str, placed: Callable[[Path], Path], begun: Path) -> Begin:
    if place == "folder":
        return lambda home: shutil.copytree(begun, home, symlinks=True)
    return lambda home: filled(placed(home))


@dataclass(frozen=True)
class Dying:
    """Does some work and is killed at a step; at step 0, tells how many there are."""

    work: Callable[[Path], None]
    environment: Mapping[str, str] = field(default_factory=lambda: {**os.environ})

    def __call__(self, home: Path, last_step: int, sender: Connection) -> None:
        os.environ.update(self.environment)
        sender.send(steps_of(lambda: self.work(home), last_step, *WATCHED))


def known(home: Path) -> list[str]:
    """Ids of the events in a store's ledger, in order."""
    own = (home / "ledger.sqlite").exists()  # a server notices a little later that a client is gone
    with Lake(home, timeout=0 if own else WRITE_SECONDS) as lake:
        assert lake.verify().is_empty()
        in_place.same(lake)
        return [row[1] for row in lake.ledger.read()]


def remembered(home: Path) -> bool:
    with Lake(home) as lake:
        return lake.ledger.profiles()["memories"].sum() > memories(BEFORE)


def undone(home: Path) -> bool:
    with Lake(home) as lake:
        return "reverted" in lake.ledger.runs(["sample-1"]).filter(run_id=FIRST)["outcome"]


ONCE: Mapping[Callable[[Path], None], Callable[[Path], bool]] = {_remember: remembered, _undo: undone}
"""Operations that are not repeated once they are done, and what tells that they are."""


def memories(told: list[Event]) -> int:
    return len({event.memory_id for event in told if event.event_type == EventType.STORED})


def decided(home: Path) -> dict[str, pl.DataFrame]:
    """The tables after one more night, which a rebuild from event zero gives too, less ids and positions of runs."""
    with Lake(home) as lake:
        lake.ledger.append([NEWS])  # without news the night would publish nothing
        homes.night(lake, as_of=homes.NIGHT + 2 * DAY, run_id="next")
        tables = homes.published(lake, but=("profiles", "consolidation_plan"))
        assert rebuild.rebuild(lake, "sample-1")["memories"].equals(tables["memories"])
        content = tables["memories"].filter(kind="original").select("content", "lifecycle").sort("content")
        if REMEMBERED in content["content"]:  # under an id of its own in each store
            return {"content": content}
        assert tables["foldings"].select("profile_id", "read").equals(_read(lake))
        tables["foldings"] = tables["foldings"].drop("read")  # a digest of ids, those of decisions among them
        return {name: rows.drop(*(MADE & set(rows.columns))) for name, rows in tables.items()}


def _read(lake: Lake) -> pl.DataFrame:
    """What the ledger gives a fold to read after that night."""
    after = homes.NIGHT + 3 * DAY
    in_force = projection.unmasked(lake.ledger.decisions(as_of=after), lake.ledger.reverted())
    return foldings.digests(lake.events(as_of=after), in_force).sort("profile_id")


@pytest.mark.drill
@pytest.mark.parametrize("work", OPERATIONS)
def test_a_kill_at_any_step_loses_nothing_and_tears_nothing(
    begin: Begin, place: str, tmp_path: Path, work: Callable[[Path], None], request: pytest.FixtureRequest
) -> None:
    whole = begin(tmp_path / "whole")
    acknowledged = known(whole)
    steps = outcome(Dying(work), whole, 0)
    assert steps is not None
    undisturbed, lost, doubled = decided(whole), 0, 0
    for moment in range(MOMENTS[place]):
        home = begin(tmp_path / str(moment))
        assert outcome(Dying(work), home, 1 + moment * (steps - 1) // (MOMENTS[place] - 1)) == -signal.SIGKILL
        found = known(home)
        lost += len(set(acknowledged) - set(found))
        doubled += len(found) - len(set(found))
        assert (found[: len(acknowledged)], doubled) == (acknowledged, 0), "all that was there is, in its order, once"
        if work not in ONCE or not ONCE[work](home):
            work(home)
        homes.same(decided(home), undisturbed)
        shutil.rmtree(home)
    name = f"killed at any step, {place}: {work.__name__.strip('_')}"
    reliability.record(request, name, kills=MOMENTS[place], steps=steps, events_lost=lost, events_doubled=doubled)
