"""Counts what each policy would keep, link, merge and forget of the same memories over several nights, in memory.

Not here: how well the remaining memories answer questions (`experiment.py`) and printing (`service/`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

import polars as pl

from memory_pipeline.consolidation.state import projection
from memory_pipeline.evaluation.simulation import Events, memories, simulate
from memory_pipeline.schemas import LIVE, Action, EventType, Lifecycle
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens

NIGHTS: Final = 6
"""Default number of nights: enough to see memories fade, merge and come back."""
COLUMNS: Final[dict[str, str]] = {
    "preset": "Name of the preset.",
    "originals": "Memories that agents stored.",
    "live": "Originals that are still live.",
    "summaries": "Live summaries.",
    "tokens_share": "Tokens of all live memories including summaries, as a share of the stored tokens.",
    "edges": "Edges after the last run, including derived edges.",
    "links": "Edges that the runs decided.",
    "pruned": "Edges that the runs pruned.",
    "merged": "Originals superseded by a summary.",
    "closed": "Originals with a fact that a newer memory changed; they stay live.",
    "archived": "Archived without a summary.",
    "cold": "Cold or stubs without a summary.",
    "expired": "Expired for lack of energy.",
    "deleted": "Deleted.",
    "warm": "Live originals that became warm.",
    "promoted": "Promotions to a higher tier.",
    "core": "Originals of category core.",
    "blocks": "Characters of core memory.",
    "held": "Decisions held by the quota in the last run.",
    "seconds": "Wall time of all runs.",
}
"""Definition of each figure, by column."""


def compare(
    events: Events,
    policies: Mapping[str, Policy],
    *,
    nights: Sequence[datetime],
    progress: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    """Consolidate the same memories under each policy in memory, one full run per night, and count the outcomes.

    `nights` are the clocks of the runs, ascending; `progress` is called with the name of each policy before its runs.
    Returns one row per policy in the given order, columns as in `COLUMNS`. Raises ValueError: there are no nights, or
    nothing was stored before the last one.
    """
    if not nights or list(nights) != sorted(set(nights)):
        raise ValueError(f"nights = {list(nights)}: give one instant or more, ascending")
    if not memories(events(nights[-1])).height:
        raise ValueError(
            f"nothing had been stored by {nights[-1].isoformat()}; import memories or choose a later night"
        )
    rows = []
    for name, policy in policies.items():
        if progress is not None:
            progress(name)
        rows.append({"preset": name} | _figures(events, policy, nights))
    return pl.DataFrame(rows).select(list(COLUMNS))


def spread(events: pl.DataFrame, *, count: int = NIGHTS) -> list[datetime]:
    """Return nights that show a store's whole life: midnights in UTC, evenly from its first day to its last.

    They are at most `count`, one per day. Raises ValueError: nothing was stored, or `count` is not positive.
    """
    if count < 1:
        raise ValueError(f"count = {count}: give one night or more")
    own = events.filter(~pl.col("event_type").is_in([EventType.RUN_COMMITTED.value, EventType.RUN_REVERTED.value]))
    if not memories(own).height:
        raise ValueError("nothing has been stored; import memories first")
    first = cast("datetime", memories(own)["occurred_at"].dt.truncate("1d").min())
    last = cast("datetime", own["occurred_at"].dt.truncate("1d").max())
    days = (last - first).days + 1
    nights = min(count, days)
    return [first + timedelta(days=-(-days * index // nights)) for index in range(1, nights + 1)]


def _figures(events: Events, policy: Policy, nights: Sequence[datetime]) -> dict[str, Any]:
    """Run all nights under one policy and count the outcomes."""
    start = time.perf_counter()
    for night in simulate(events, policy, nights):
        last = night
    after = last.after
    seconds = time.perf_counter() - start
    in_force = projection.unmasked(last.decisions, last.tables["reverted"])
    decided = dict(in_force.group_by("action").len().iter_rows())
    return _counts(after["memories"], projection.project(last.tables["events"]).memories) | {
        "edges": after["association_edges"].height,
        "links": decided.get(Action.LINK.value, 0),
        "pruned": decided.get(Action.PRUNE.value, 0),
        "promoted": after["tier_changes"].height,
        "blocks": int(after["core_memory_blocks"]["content"].str.len_chars().sum()),
        "held": last.tables["consolidation_plan"].filter(pl.col("status") == "held").height,
        "seconds": round(seconds, 2),
    }


def _counts(remaining: pl.DataFrame, stored: pl.DataFrame) -> dict[str, Any]:
    """Count memories by outcome; `stored` holds the originals before any decision."""
    original, live = pl.col("kind") == "original", pl.col("lifecycle").is_in(LIVE)
    by_summary = (pl.col("superseded_kind") == "summary").fill_null(value=False)

    def gone(*lifecycles: Lifecycle) -> pl.Expr:
        return (original & ~by_summary & pl.col("lifecycle").is_in([lifecycle.value for lifecycle in lifecycles])).sum()

    counted = remaining.select(
        originals=original.sum(),
        live=(original & live).sum(),
        summaries=(~original & live).sum(),
        merged=(original & by_summary).sum(),
        closed=(original & (pl.col("superseded_kind") == "update")).sum(),
        archived=gone(Lifecycle.ARCHIVED),
        cold=gone(Lifecycle.COLD, Lifecycle.STUB),
        expired=gone(Lifecycle.EXPIRED),
        deleted=gone(Lifecycle.DELETED),
        warm=(original & (pl.col("lifecycle") == Lifecycle.WARM.value)).sum(),
        core=(original & (pl.col("category") == "core")).sum(),
    )
    tokens = int(count_tokens(remaining.filter(live)["content"]).sum())
    return counted.row(0, named=True) | {"tokens_share": tokens / max(1, int(count_tokens(stored["content"]).sum()))}
