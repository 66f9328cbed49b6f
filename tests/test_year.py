"""A simulated year of nights with their maintenance: an idle store stays flat, a busy one grows with its events."""

from datetime import timedelta
from pathlib import Path

import homes
import pytest
import reliability

from memory_pipeline.interop.importing import import_events
from memory_pipeline.jobs.maintenance import oldest_kept
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import status

KEPT = 5
"""Snapshots that are kept; the default of thirty only makes the start longer."""


def sizes(home: Path):
    """Bytes of each part of a store."""
    parts = {path.name: status.disk_bytes(path) for path in home.iterdir() if path.is_dir()}
    return parts | {"ledger": sum(path.stat().st_size for path in home.glob("ledger.sqlite*"))}


def year(home, *, nights, a_day):
    """Run nights with so many new memories before each; returns the sizes after every one."""
    with homes.filled(home, homes.events(memories=20, profiles=1)) as lake:
        compaction.compact(lake.ledger, lake.store, before=homes.NIGHT)
    grown = []
    for night in range(nights):
        at = homes.NIGHT + homes.days(night)
        with Lake(home) as lake:
            import_events(lake.ledger, [noted(night, number, at) for number in range(a_day)], batch=500)
            homes.night(lake, as_of=at, run_id=f"night {night}")
            snapshot.publish(lake)
            lake.sweep(older_than=-timedelta(days=1), oldest=oldest_kept(lake, KEPT))
            compaction.compact(lake.ledger, lake.store, before=at - timedelta(days=7))
            snapshot.prune(lake, KEPT)
        grown.append(sizes(home))
    return grown


def noted(night, number, at):
    things = ("harbour", "garden", "kitchen", "bicycle", "library", "orchard", "workshop")
    content = f"Visitor {night * 31 + number * 7} left {night + number} notes in the {things[night % len(things)]}."
    stored = {
        "event_type": "memory.stored",
        "profile_id": "sample-1",
        "session_id": f"day {night}",
        "payload": {"content": content},
    }
    return parse(stored, recorded_at=at - timedelta(hours=3), origin="made up", future=None)


@pytest.mark.drill
def test_an_idle_store_stays_flat(tmp_path, request):
    """Only a night in which time alone decides something, such as to let a faded link go, publishes anything."""
    grown = year(tmp_path, nights=365, a_day=0)
    with Lake(tmp_path) as lake:
        runs = lake.ledger.runs().sort("as_of")
    at = [night for night, outcome in enumerate(runs["outcome"]) if outcome != "unchanged"]
    assert runs.height == 365
    assert len(at) <= 8, "nights that published anything"
    assert len({parts["snapshots"] for parts in grown[at[-1] :]}) == 1
    assert grown[-1]["snapshots"] <= 1.1 * KEPT * grown[0]["snapshots"]
    assert most(grown[-60:], "lake") < 2 * most(grown[:60], "lake"), "the log of events has one row a night"
    assert grown[-1]["ledger"] - grown[29]["ledger"] < 2_000 * 335, "the ledger has one event a night"
    record(request, "an idle year of nights and maintenance", grown, nights_that_published=len(at))


@pytest.mark.drill
def test_a_busy_store_grows_with_its_events(tmp_path, request):
    grown = year(tmp_path, nights=120, a_day=2)
    sizes = [sum(parts.values()) for parts in grown]
    first, second = sizes[79] - sizes[39], sizes[119] - sizes[79]
    assert second < 1.5 * first
    record(request, "120 nights of two notes each, and maintenance", grown)


def most(grown, part):
    return max(parts[part] for parts in grown)


def record(request, name, grown, **figures):
    """Note the sizes after some nights."""
    at = [night for night in (30, 120, 365) if night <= len(grown)]
    megabytes = {f"after_{night}": f"{sum(grown[night - 1].values()) / 1e6:.1f} MB" for night in at}
    reliability.record(request, name, **figures, **megabytes)
