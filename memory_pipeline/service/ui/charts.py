"""Lays out charts in drawing units, with the marks of their axes. Pure; the templates draw them as inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from math import ceil, log10
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.schemas import LIVE

WIDTH: Final = 640
HEIGHT: Final = 160
"""Size of the area of a chart, in drawing units, without what stands beside its axes."""
_POINTS: Final = 120
"""Points of a line."""
_GAP: Final = 0.2
"""Share of a bar's slot that stays empty."""
_WIDEST: Final = 24.0
_UP: Final = 4
"""Most steps of the upright axis."""
_ALONG: Final = 3
"""Days that the level axis names."""


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A mark of an axis, and what it says."""

    at: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar of a chart."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Counts side by side."""

    bars: list[Bar]
    up: list[Tick]
    along: list[Tick]


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Memories over time, as two lines."""

    stored: str
    live: str
    """Points of the lines, as SVG writes them."""
    up: list[Tick]
    along: list[Tick]
    first: datetime
    last: datetime
    stored_now: int
    live_now: int


def bars(counts: Sequence[tuple[str, int]]) -> Bars | None:
    """Lay out one bar per count, side by side, each above its label; None without a count."""
    top, up = _up(max((count for _, count in counts), default=0))
    if not up:
        return None
    place = WIDTH / len(counts)
    width = min(place * (1 - _GAP), _WIDEST)
    drawn = [
        Bar(
            x=round(place * (number + 0.5) - width / 2, 1),
            y=round(HEIGHT * (1 - count / top), 1),
            width=round(width, 1),
            height=round(HEIGHT * count / top, 1),
            label=f"{label}: {count:,}",
        )
        for number, (label, count) in enumerate(counts)
        if count
    ]
    named = sorted({round(at) for at in np.linspace(0, len(counts) - 1, _ALONG)})
    return Bars(bars=drawn, up=up, along=[Tick(at=round(place * (at + 0.5), 1), label=counts[at][0]) for at in named])


def growth(memories: pl.DataFrame, zone: tzinfo) -> Growth | None:
    """Lay out stored and live memories over time, by `created_at`, `lifecycle`, `lifecycle_since`; None without any."""
    if memories.is_empty():
        return None
    came = memories["created_at"].sort()
    left = memories.filter(~pl.col("lifecycle").is_in(LIVE))["lifecycle_since"].sort()
    first, last = came[0], max([came[-1], *left[-1:]])
    span = max((last - first).total_seconds(), 1.0)
    seconds = np.linspace(0.0, span, _POINTS)
    stored, gone = (
        np.searchsorted((times - first).dt.total_microseconds().to_numpy() / 1e6, seconds, side="right")
        for times in (came, left)
    )
    top, up = _up(len(came))
    days = np.linspace(0.0, 1.0, _ALONG)
    return Growth(
        stored=_points(stored, top),
        live=_points(stored - gone, top),
        up=up,
        along=[
            Tick(at=round(WIDTH * at, 1), label=f"{(first + timedelta(seconds=span * at)).astimezone(zone):%Y-%m-%d}")
            for at in days
        ],
        first=first,
        last=last,
        stored_now=len(came),
        live_now=len(came) - len(left),
    )


def _up(most: int) -> tuple[float, list[Tick]]:
    """Return the number at the top of an upright axis, and its marks from 0 on, at round numbers."""
    if most <= 0:
        return 1.0, []
    power = 10 ** max(0, ceil(log10(most / _UP)) - 1)
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit * _UP >= most)
    steps = ceil(most / step)
    return float(step * steps), [
        Tick(at=round(HEIGHT * (1 - at / steps), 1), label=f"{step * at:,}") for at in range(steps + 1)
    ]


def _points(values: "np.ndarray[tuple[int], np.dtype[np.int64]]", top: float) -> str:
    places = np.linspace(0.0, WIDTH, len(values))
    heights = HEIGHT * (1 - values / top)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
