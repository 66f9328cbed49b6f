"""When something is due: values in, values out.

Every function is told what happened since the last run that succeeded, never since the last one that was requested, so
that a run that failed is due again.
What is not here: who asks and what is launched (`sensors/`, `jobs/`).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import polars as pl

ACCESS_PAUSE: Final = timedelta(minutes=5)
"""Shortest time between two projections that accesses alone call for."""


def reflection(memories: pl.DataFrame, reflected: Mapping[str, int], *, threshold: float) -> pl.DataFrame:
    """Profiles in which enough of importance was stored since the last committed reflection (ADR-0008, Park et al.).

    Args:
        memories: `profile_id`, `kind`, `seq` (ledger position) and `importance` (0..1) of stored memories; only
            originals count, so that a reflection never calls for the next.
        reflected: ledger position up to which each profile was reflected on; a profile that is missing never was.
        threshold: sum of importance_score (importance x 10) that must be exceeded.

    Returns:
        `profile_id`, `importance_score` (the sum, to six decimals, so that float noise cannot tip it over) and
        `memories` (how many), sorted by profile; only profiles that are due.
    """
    since = pl.col("profile_id").replace_strict(dict(reflected), default=0, return_dtype=pl.Int64)
    return (
        memories.filter((pl.col("kind") == "original") & (pl.col("seq") > since))
        .sort("profile_id", "seq")
        .group_by("profile_id", maintain_order=True)
        .agg(
            importance_score=(10.0 * pl.col("importance")).sum().round(6),
            memories=pl.len().cast(pl.Int64),
        )
        .filter(pl.col("importance_score") > threshold)
    )


def next_due(last: datetime | None, interval_seconds: int, now: datetime) -> datetime | None:
    """When a task is next due: None for an interval of 0 (never), `now` for what never ran or is overdue.

    However many intervals were missed, one run catches up.
    """
    if interval_seconds == 0:
        return None
    return now if last is None else max(now, last + timedelta(seconds=interval_seconds))


def projection(new_events: int, new_accesses: int, *, last: datetime | None, now: datetime) -> bool:
    """Whether new events call for a projection: at once, but for accesses alone at most every five minutes.

    Args:
        new_events: events that agents wrote since the last projection.
        new_accesses: how many of them are accesses.
        last: when the last projection was done.
        now: the present.
    """
    if new_events > new_accesses:
        return True
    return new_accesses > 0 and (last is None or now - last >= ACCESS_PAUSE)
