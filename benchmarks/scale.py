"""Measures a store of many profiles: filling it, a night by shards, and what worker processes gain.

    python benchmarks/scale.py [--full] [--people N --each M]

First 100,000 memories of 50 people: in one process with one thread, in one with its usual threads, and with a worker
process for each core. Then the growth with the number of people of 50 memories each; `--full` adds 1,000,000 memories
of 20,000 people, by shards. CPU seconds include those of the workers; memory is the peak of the process that commits,
and of the largest worker.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from figures import figure, growth
from loky import get_reusable_executor
from sample import generate

from memory_pipeline.engine.cores import cores
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, inputs
from memory_pipeline.settings import load

NIGHT = datetime(2026, 5, 2, 2, tzinfo=UTC)
RECORDED = datetime(2026, 6, 1, tzinfo=UTC)
WORKERS = (
    "groups of profiles go to one worker process for each core; reading, "
    "the commit and the plan's checks stay in one process. On a machine whose two cores others use too, two workers "
    "cannot gain more; 1.2 to 1.8 were measured"
)
MILLION = (
    "9.98 CPU minutes on 2026-11-23, 18.3 on 2026-11-27, when the machine was slower: over 8,000 memories of 160 "
    "people the program of the first day then took 10.8 CPU seconds, that of the second 11.5"
)
SMALL = 50
"""Memories of each of many people."""
GROWTH = (20, 200, 2_000)
"""Numbers of people for the curve of growth."""
SERIES = f"first night, people of {SMALL} memories"
AT_ONCE = 500
"""People whose events are generated at once."""


WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def used() -> float:
    """Return the CPU seconds of this process and of its workers that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, WHO))


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Yield a dictionary that afterwards holds CPU and wall seconds of what was done inside."""
    spent = {"cpu": used(), "wall": time.perf_counter()}
    yield spent
    spent |= {"cpu": used() - spent["cpu"], "wall": time.perf_counter() - spent["wall"]}


def peak() -> float:
    """Return the gigabytes that this process, or its largest ended worker, had in memory at most."""
    return max(resource.getrusage(who).ru_maxrss for who in WHO) / 1e6


def filled(home: Path, people: int, each: int) -> Lake:
    lake = Lake(home)
    with timed() as spent:
        for first in range(0, people, AT_ONCE):
            made = generate(profiles=min(AT_ONCE, people - first), memories=each, days=100, seed=first)
            told = ({**event, "profile_id": f"{first:06d}-{event['profile_id']}"} for event in made)
            events = [parse(event, recorded_at=RECORDED, origin="sample", future=None) for event in told]
            import_events(lake.ledger, sorted(events, key=lambda event: event.occurred_at))
        lake.project()
    print(
        f"{people * each:,} memories of {people:,} people, {lake.ledger.position():,} events: generated, imported and "
        f"copied into the lake in {spent['cpu']:.0f} CPU s"
    )
    return lake


def night(lake: Lake, workers: int) -> dict[str, float]:
    """Consolidate, and return CPU and wall seconds."""
    settings = load(lake.home, environment={}).model_copy(update={"workers": workers})
    with timed() as spent:
        profiles = inputs.select_profiles(lake, settings, as_of=NIGHT)
        consolidate.consolidate(lake, settings, profiles, run_id="night", keep=["consolidation_plan"])
        if workers != 1:
            get_reusable_executor().shutdown(wait=True)  # so that their CPU seconds count
    print(
        f"  night, {workers} workers: {spent['cpu']:.0f} CPU s, {spent['wall']:.0f} s, peak {peak():.2f} GB", flush=True
    )
    return spent


def apart(people: int, each: int, workers: int, threads: str) -> dict[str, float]:
    """Return the CPU and wall seconds of a night in a process of its own.

    Args:
        people: number of people.
        each: memories of each.
        workers: worker processes.
        threads: threads of Polars; empty: as many as there are cores.
    """
    sizes = (f"--people={people}", f"--each={each}", f"--workers={workers}")
    limit = {"POLARS_MAX_THREADS": threads, "OPENBLAS_NUM_THREADS": threads} if threads else {}
    output = subprocess.check_output(  # noqa: S603 - this script
        [sys.executable, __file__, *sizes], env={**os.environ, **limit}, text=True
    )
    *lines, spent = output.splitlines()
    print("\n".join(lines), flush=True)
    return json.loads(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also a million memories of 20,000 people (half an hour)")
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--each", type=int, default=2_000)
    parser.add_argument("--workers", type=int, help="only one night, with so many workers")
    given = parser.parse_args()
    if given.workers:
        with tempfile.TemporaryDirectory() as home, filled(Path(home), given.people, given.each) as lake:
            print(json.dumps(night(lake, given.workers)))
        return
    work = f"night of {given.people * given.each:,} memories with {cores()} workers"
    ways = ((1, "1"), (1, ""), (cores(), ""))
    one, usual, several = (apart(given.people, given.each, *way)["wall"] for way in ways)
    figure(f"{work}, against one process with one thread", one / several, "x faster", at_least=1.8, tried=WORKERS)
    figure(f"{work}, against one process with its usual threads", usual / several, "x faster")
    for people in GROWTH:
        growth(SERIES, people * SMALL, apart(people, SMALL, 1, "")["cpu"])
    if given.full:
        with tempfile.TemporaryDirectory() as home, filled(Path(home), 20_000, SMALL) as lake:
            spent = night(lake, 1)
        figure("night of 1,000,000 memories of 20,000 people", spent["cpu"] / 60, "CPU min", at_most=15, tried=MILLION)
        figure("the same, memory at most", peak(), "GB", at_most=4)
        growth(SERIES, 20_000 * SMALL, spent["cpu"])


if __name__ == "__main__":
    main()
