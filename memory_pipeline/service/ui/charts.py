"""Lays out charts in drawing units. Pure; the templates draw them as inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.schemas import LIVE

WIDTH: Final = 640
HEIGHT: Final = 120
"""Size of a chart, in drawing units."""
_POINTS: Final = 120
"""Points of a line."""
_GAP: Final = 0.2
"""Share of a bar's slot that stays empty."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar of a chart."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Memories over time, as two lines."""

    stored: str
    live: str
    """Points of the lines, as SVG writes them."""
    first: datetime
    last: datetime
    stored_now: int
    live_now: int


def bars(counts: Sequence[tuple[str, int]]) -> list[Bar]:
    """Lay out one bar per count, side by side; the highest is as high as the chart."""
    most = max((count for _, count in counts), default=0)
    place = WIDTH / max(len(counts), 1)
    return [
        Bar(
            x=round(place * (number + _GAP / 2), 1),
            y=round(HEIGHT * (1 - count / most), 1),
            width=round(min(place * (1 - _GAP), 24), 1),
            height=round(HEIGHT * count / most, 1),
            label=f"{label}: {count}",
        )
        for number, (label, count) in enumerate(counts)
        if count
    ]


def growth(memories: pl.DataFrame) -> Growth | None:
    """Lay out the numbers of stored and live memories over time; None without a memory.

    Args:
        memories: `created_at`, `lifecycle`, `lifecycle_since`.
    """
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
    return Growth(
        stored=_points(stored, most=len(came)),
        live=_points(stored - gone, most=len(came)),
        first=first,
        last=last,
        stored_now=len(came),
        live_now=len(came) - len(left),
    )


def _points(values: "np.ndarray[tuple[int], np.dtype[np.int64]]", *, most: int) -> str:
    places = np.linspace(0.0, WIDTH, len(values))
    heights = HEIGHT * (1 - values / most)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
