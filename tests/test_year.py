"""A simulated year of nights with their maintenance: an idle store stays flat, a busy one grows with its events."""

import sys
from datetime import timedelta
from pathlib import Path

import homes
import pytest

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
            snapshot.prune(home, KEPT)
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


def rows(name, grown):
    """The table of a drill: sizes in MB after some nights."""
    at = [night for night in (10, 30, 90, 180, 365) if night <= len(grown)]
    return [f"| {name} | {night} | {sum(grown[night - 1].values()) / 1e6:.2f} |" for night in at]


def told(capsys, name, grown):
    """Show the rows of a drill, whatever pytest captures."""
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *rows(name, grown), ""]))


@pytest.mark.drill
def test_an_idle_store_stays_flat(tmp_path, capsys):
    grown = year(tmp_path, nights=365, a_day=0)
    told(capsys, "idle", grown)
    settled, last = grown[29], grown[-1]
    assert last["snapshots"] == settled["snapshots"]
    assert last["lake"] < 2 * settled["lake"], "the log of events has one row a night"
    assert last["ledger"] - settled["ledger"] < 2_000 * 335, "the ledger has one event a night"


@pytest.mark.drill
def test_a_busy_store_grows_with_its_events(tmp_path, capsys):
    grown = [sum(parts.values()) for parts in year(tmp_path, nights=120, a_day=2)]
    told(capsys, "busy", [{"all": size} for size in grown])
    first, second = grown[79] - grown[39], grown[119] - grown[79]
    assert second < 1.5 * first
