"""Erasures beside two consolidating processes and a reader: nobody fails, and the words are nowhere afterwards."""

from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import in_place
import pytest
from lake_rows import PROCESSES
from leftovers import found

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.erasure.survivors import survivors
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import Event, parse
from memory_pipeline.runs import consolidate, inputs
from memory_pipeline.settings import load

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SECRETS = 8
OTHERS = 10
OVER = "over"
"""File that ends the others' work, once everything is erased."""


def stored(profile_id: str, number: int, content: str) -> Event:
    raw = {"event_type": "memory.stored", "event_id": f"{profile_id}{number}", "profile_id": profile_id}
    rest = {"memory_id": f"m{number}", "payload": {"content": content}}
    return parse(raw | rest, recorded_at=NOW - timedelta(days=30), origin="test")


def erase_all(home: Path) -> int:
    try:
        with Lake(home) as lake:
            for number in range(SECRETS):
                erase_memories(lake, profile_id="p", memory_ids=[f"m{number}"], now=NOW)
    finally:
        (home.parent / OVER).touch()
    return SECRETS


def consolidate_all(home: Path, name: str) -> int:
    """Run all profiles again and again; every run must succeed, and commits what nobody else did."""
    runs = 0
    while not runs or not (home.parent / OVER).exists():
        runs += 1
        with Lake(home) as lake:
            settings = load(home, environment={})
            profiles = inputs.select_profiles(lake, settings, as_of=datetime.now(UTC))
            consolidate.consolidate(lake, settings, profiles, run_id=f"{name}{runs}")
            snapshot.publish(lake)
    return runs


def read_all(home: Path) -> int:
    """Read another profile again and again; it is always whole."""
    reads = 0
    with Lake(home) as lake:
        while not reads or not (home.parent / OVER).exists():
            reads += 1
            assert lake.events(profiles=["q"]).filter(event_type="memory.stored").height == OTHERS
            assert lake.read("memories", profiles=["q"]).filter(kind="original").height in {0, OTHERS}
            lake.read("enrichment", profiles=["q"])
    return reads


@pytest.mark.drill
def test_erasures_beside_runs_and_readers_break_nobody_and_leave_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Lake(home) as lake:
        lake.ledger.append(
            [stored("p", n, f"Doctor Zwirblquax saw Ana in Lyon about knee {n}") for n in range(SECRETS)]
        )
        lake.ledger.append([stored("p", SECRETS, "Bo likes green tea in the morning")])
        lake.ledger.append([stored("q", n, f"Rowing club {n} meets at the harbour") for n in range(OTHERS)])
    with ProcessPoolExecutor(4, mp_context=PROCESSES) as pool:
        work = [pool.submit(erase_all, home), pool.submit(read_all, home)]
        work += [pool.submit(consolidate_all, home, name) for name in ("one", "two")]
        assert all(done.result() for done in work)
    with Lake(home) as lake:
        assert survivors(lake) == {}
        assert lake.verify().is_empty()
        in_place.same(lake)
    assert found(home, "zwirblquax") == []
