"""A store with many at work: every event is accounted for, nobody fails, and time does not wear it down."""

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path

import in_place
import numpy as np
import pytest
import reliability
import sample
from lake_rows import PROCESSES

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.erasure.survivors import survivors
from memory_pipeline.jobs import maintenance
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Conflict, Lake
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.runs import consolidate, inputs, rebuild, status
from memory_pipeline.settings import load

WRITERS, READERS, CONSOLIDATORS = 8, 4, 2
PROFILES = ("ana", "bo")
SECONDS = 60.0
ERASABLE = 90
"""Memories to erase, one after the other."""
DAYS = int(os.environ.get("SOAK_DAYS", "60"))
"""Simulated days of the soak."""
TEXTS = [
    event["payload"]["content"]
    for event in sample.generate(profiles=1, memories=400, days=100, seed=9)
    if event["event_type"] == "memory.stored"
]


_crew: list[Barrier] = []
"""Where a process of the crew waits for the others."""


def join(together: Barrier, environment: Mapping[str, str]) -> None:
    _crew.append(together)
    os.environ.update(environment)


def until_the_end(work: Callable[[int], object], *, most: int = sys.maxsize) -> list[float]:
    """Wait for the crew, then work for `SECONDS` or so many turns; returns how many seconds each took."""
    took = []
    _crew[0].wait()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and len(took) < most:
        start = time.perf_counter()
        work(len(took))
        took.append(time.perf_counter() - start)
    return took


def write(home: Path, number: int) -> tuple[list[str], list[float]]:
    """Remember, as an agent does, and say which memories were acknowledged."""
    made: list[str] = []
    profile_id = PROFILES[number % 2]
    with MemoryClient(home, profile_id=profile_id) as client:
        took = until_the_end(lambda turn: made.append(client.remember(f"Note {number}-{turn}: {TEXTS[turn % 90]}")))
    return [f"{profile_id}/{memory_id}" for memory_id in made], took


def read(home: Path, number: int) -> tuple[list[str], list[float]]:
    """Recall; what is found is whole."""
    with MemoryClient(home, profile_id=PROFILES[number % 2]) as client:
        return [], until_the_end(lambda turn: client.recall(TEXTS[turn % len(TEXTS)]).text())


def run(home: Path, number: int) -> tuple[list[str], list[float]]:
    """Consolidate; a run that others overtook too often is refused whole, and the next one is made."""
    refused = []

    def night(turn: int) -> None:
        with Lake(home) as lake:
            settings = load(home, environment={})
            profiles = inputs.select_profiles(lake, settings, as_of=datetime.now(UTC))
            try:
                consolidate.consolidate(lake, settings, profiles, run_id=f"{number}-{turn}")
            except Conflict:
                refused.append(f"{number}-{turn}")
            snapshot.publish(lake)

    return refused, until_the_end(night)


def erase(home: Path, _: int) -> tuple[list[str], list[float]]:
    """Erase one old memory after the other."""
    gone = []

    def one(turn: int) -> None:
        with Lake(home) as lake:
            erase_memories(lake, profile_id="ana", memory_ids=[f"old{turn}"], now=datetime.now(UTC))
        gone.append(f"old{turn}")

    return gone, until_the_end(one, most=ERASABLE)


@pytest.mark.drill
def test_many_at_work_on_one_store_account_for_every_event(
    place: str, placed: Callable[[Path], Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = placed(tmp_path / "home")
    with MemoryClient(home, profile_id="ana") as client:
        client.remember_many([{"text": f"Old {n}: {TEXTS[n]}", "memory_id": f"old{n}"} for n in range(ERASABLE)])
    with MemoryClient(home, profile_id="bo") as client:
        client.remember("Bo is here.", memory_id="first")
    crew = [write] * WRITERS + [read] * READERS + [run] * CONSOLIDATORS + [erase]
    together = PROCESSES.Barrier(len(crew))
    with ProcessPoolExecutor(
        len(crew), mp_context=PROCESSES, initializer=join, initargs=(together, {**os.environ})
    ) as pool:
        done = [pool.submit(work, home, number) for number, work in enumerate(crew)]
        results = [one.result() for one in done]
    written = [name for made, _ in results[:WRITERS] for name in made]
    turns = [took for _, took in results]
    assert all(turns), "nobody starved"
    refused = [name for made, _ in results[WRITERS + READERS : -1] for name in made]
    with Lake(home) as lake:
        assert lake.verify().is_empty()
        in_place.same(lake)
        assert lake.ledger.dead_letters().is_empty()
        stored = lake.events().filter(event_type="memory.stored")
        found = [f"{profile}/{memory}" for profile, memory in stored.select("profile_id", "memory_id").iter_rows()]
        assert sorted(found) == sorted([*written, "bo/first", *(f"ana/old{n}" for n in range(ERASABLE))])
        assert survivors(lake) == {}, "what was erased is in no table and no file of the lake"
        for profile_id in PROFILES:
            assert rebuild.rebuild(lake, profile_id)["memories"].equals(lake.read("memories", profiles=[profile_id]))
    reliability.record(
        request,
        f"{place}: {WRITERS} writers, {READERS} readers, {CONSOLIDATORS} consolidators, an eraser for {SECONDS:.0f} s",
        events_acknowledged=len(written),
        events_lost=len(set(written) - set(found)),
        recalls=sum(map(len, turns[WRITERS : WRITERS + READERS])),
        runs=sum(map(len, turns[WRITERS + READERS : -1])),
        runs_refused_whole=len(refused),
        erased=len(results[-1][0]),
        p99_of_a_write=f"{np.quantile(np.concatenate(turns[:WRITERS]), 0.99):.2f} s",
        longest_write=f"{max(map(max, turns[:WRITERS])):.2f} s",
    )


@dataclass(frozen=True)
class Wear:
    """What days of work cost."""

    latency: list[float]
    """Seconds of each recall."""
    resident: list[float]
    """Peak of the process's memory after each day, MB."""
    disk: list[int]
    """Bytes of the store after each day."""


def live(home: Path, days: range) -> Wear:
    """Each simulated day: notes, recalls, a night and the maintenance; for a process of its own."""
    start = datetime(2026, 3, 1, tzinfo=UTC) - timedelta(days=DAYS)  # an event of the future is refused
    wear = Wear([], [], [])
    with MemoryClient(home, profile_id="ana") as client:
        for day in days:
            at = start + timedelta(days=day)
            for hour in range(10):
                text = f"Day {day}: {TEXTS[(day * 10 + hour) % len(TEXTS)]}"
                client.remember(text, occurred_at=at + timedelta(hours=8 + hour))
            for question in range(10):
                began = time.perf_counter()
                client.recall(TEXTS[(day + question * 7) % len(TEXTS)])
                wear.latency.append(time.perf_counter() - began)
            client.flush()
            with Lake(home) as lake:
                settings = load(home, environment={})
                profiles = inputs.select_profiles(lake, settings, as_of=at + timedelta(days=1))
                consolidate.consolidate(lake, settings, profiles, run_id=f"night{day}")
                snapshot.publish(lake)
                compaction.compact(lake.ledger, lake.store, before=at - timedelta(days=settings.ledger_days))
                lake.sweep(older_than=timedelta(0), oldest=maintenance.oldest_kept(lake, settings.keep_snapshots))
                snapshot.prune(lake, settings.keep_snapshots)
            wear.disk.append(status.disk_bytes(home))
            wear.resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return wear


@pytest.mark.drill
def test_an_agent_at_work_day_after_day_wears_nothing_down(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Latency stays, the process holds no more than a fresh one, and the disk grows no faster than the events."""
    with ProcessPoolExecutor(1, mp_context=PROCESSES, max_tasks_per_child=1) as pool:
        wear = pool.submit(live, tmp_path / "home", range(DAYS)).result()
        fresh = pool.submit(live, tmp_path / "home", range(DAYS, DAYS + 3)).result()
    quarter = DAYS // 4
    first, last = statistics.median(wear.latency[: quarter * 10]), statistics.median(wear.latency[-quarter * 10 :])
    third, fourth = (wear.disk[end] - wear.disk[end - quarter] for end in (-1 - quarter, -1))
    assert last < 3 * first, "recall does not get slower with the days"
    assert wear.resident[-1] < 1.3 * fresh.resident[-1], "nothing is held but what the store needs"
    assert fourth < 2 * third, "the disk grows no faster"
    reliability.record(
        request,
        f"{DAYS} simulated days of ten notes, ten recalls, a night and maintenance",
        recall_p50_first_quarter=f"{first * 1000:.1f} ms",
        recall_p50_last_quarter=f"{last * 1000:.1f} ms",
        resident_after_a_quarter=f"{wear.resident[quarter]:.0f} MB",
        resident_at_the_end=f"{wear.resident[-1]:.0f} MB",
        resident_of_a_fresh_process_then=f"{fresh.resident[-1]:.0f} MB",
        disk_at_the_end=f"{wear.disk[-1] / 1e6:.1f} MB",
        growth_a_day_in_the_third_quarter=f"{third / quarter / 1e3:.0f} kB",
        growth_a_day_in_the_last_quarter=f"{fourth / quarter / 1e3:.0f} kB",
    )
