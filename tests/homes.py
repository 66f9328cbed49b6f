"""Real stores for tests: sample events imported into a real ledger, runs made by the real stages."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import sample

from memory_pipeline.consolidation import pipeline
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import Event, parse
from memory_pipeline.runs import commit, consolidate, inputs
from memory_pipeline.settings import Settings, load

HERE = Path(__file__).parent
START = datetime(2026, 1, 1, tzinfo=UTC)
NIGHT = datetime(2026, 5, 2, 2, tzinfo=UTC)
"""A night after all sample events."""
RECORDED = datetime(2026, 6, 1, tzinfo=UTC)


def events(*, profiles=2, memories=120, days=100, seed=3) -> list[Event]:
    history = sample.generate(profiles=profiles, memories=memories, days=days, seed=seed)
    return [parse(event, recorded_at=RECORDED, origin="sample", future=None) for event in history]


def filled(home: Path, history: list[Event]) -> Lake:
    lake = Lake(home)
    import_events(lake.ledger, history, batch=500)
    return lake


def settings(home: Path, **policy) -> Settings:
    if policy:
        lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in policy.items())
        (home / "memory_pipeline.toml").write_text(f"[policy]\n{lines}\n", "utf-8")
    return load(home, environment={})


def night(lake: Lake, *, as_of: datetime = NIGHT, run_id: str = "run", policy: Settings | None = None, **options):
    """Consolidate in this process; returns all tables of the run."""
    chosen = policy or settings(lake.home)
    profiles = inputs.select_profiles(lake, chosen, as_of=as_of, **options)
    return consolidate.consolidate(lake, chosen, profiles, run_id=run_id, keep=None)


def enriched(lake: Lake, *, as_of: datetime = NIGHT) -> None:
    """Project the events, and read and embed all texts, as a run does first; a run after it writes no such row."""
    lake.project()
    profiles = inputs.select_profiles(lake, settings(lake.home), as_of=as_of)
    tables = consolidate.preview(lake, settings(lake.home), profiles)
    for name in pipeline.RECORDED:
        lake.append(name, tables[name])


@contextmanager
def copied(home: Path, to: Path) -> Iterator[Lake]:
    """Open a copy of a closed store, so that tests share what it cost to make it."""
    shutil.copytree(home, to, symlinks=True, dirs_exist_ok=True)
    with Lake(to) as lake:
        yield lake


def published(lake: Lake, *, but: tuple[str, ...] = ()) -> dict[str, pl.DataFrame]:
    return {name: lake.read(name) for name in commit.PUBLISHED if name not in but}


def same(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> None:
    """Both hold the same tables, to the byte of their Arrow form."""
    assert one.keys() == other.keys()
    for name, frame in one.items():
        assert frame.equals(other[name]), f"table {name} differs"
        assert _bytes(frame) == _bytes(other[name]), f"table {name} differs in its bytes"


def _bytes(frame: pl.DataFrame) -> bytes:
    return frame.rechunk().write_ipc(None, compat_level=pl.CompatLevel.oldest()).getvalue()


def days(number: float) -> timedelta:
    return timedelta(days=number)
