"""Memories that one answer recalled together, and how that strengthens their link.

A link's strength is a closed form of its base and all recalls since: reading writes nothing, and decay is never applied
twice. Not here: how a link decays between two recalls (`associations`), and memories that share sessions
(`coactivation`).
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.edges import co_occurrence

REACH: Final = 100
"""Maximum distance of two memories in an answer that count as recalled together: an answer of up to 101 memories
counts every pair."""


def recalls(ends: pl.DataFrame, accesses: pl.DataFrame) -> pl.DataFrame:
    """List the events that accessed two of some memories, `ends`, together; these are sorted by profile and id.

    Returns:
        `left`, `right` (rows of `ends`, left < right) and `at` in microseconds, one row per pair and event, sorted. A
        memory that an event names twice counts at its first position.

    Cost: linear in the pairs, at most `REACH` per access.
    """
    rows = ends.select(*KEY, row=pl.int_range(pl.len()))
    recalled = (
        accesses.join(rows, on=KEY)
        .sort("profile_id", "seq", "ordinal")
        .unique(["seq", "row"], keep="first", maintain_order=True)
        .select("row", "ordinal", event=pl.struct("profile_id", "seq").rle_id(), at=pl.col("at").dt.epoch("us"))
    )
    row, event, place, at = (recalled[name].to_numpy() for name in ("row", "event", "ordinal", "at"))
    empty = np.empty(0, dtype=np.int64)
    parts = [(empty, empty, empty)]
    for earlier, later in co_occurrence.lagged(event, REACH):
        near = place[later] - place[earlier] <= REACH
        first, second = earlier[near], later[near]
        low, high = np.minimum(row[first], row[second]), np.maximum(row[first], row[second])
        parts.append((low, high, np.maximum(at[first], at[second])))
    left, right, instant = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((instant, right, left))
    return pl.DataFrame({"left": left[order], "right": right[order], "at": instant[order]})


def strengths(
    base: NDArray[np.float64], link: NDArray[np.int64], share: NDArray[np.float64], *, gain: float
) -> NDArray[np.float64]:
    """Return the strength of each link after its last recall; each recall makes it min(1, remaining strength + gain).

    Args:
        base: strength of each link before its first recall.
        link: link of each recall, sorted; the recalls of a link by time.
        share: share of the strength that remained since the previous recall, or since the base, 0..1.

    Cost: linear in the recalls, in as many steps as the most recalled link has recalls.
    """
    result = base.copy()
    nth = np.arange(len(link)) - np.searchsorted(link, link)
    order = np.argsort(nth, kind="stable")
    for step in np.split(order, np.flatnonzero(np.diff(nth[order])) + 1):
        result[link[step]] = np.minimum(1.0, result[link[step]] * share[step] + gain)
    return result
