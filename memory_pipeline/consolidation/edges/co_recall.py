"""Memories that one answer recalled together, and how that strengthens the link between them.

A link's strength follows from its base and all recalls since, in closed form: nothing is written when something is
read, and nothing that was decayed is decayed again.
What is not here: how a link fades between two recalls (`associations`), and what sessions have in common
(`coactivation`).
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation.edges import pairing
from memory_pipeline.consolidation.scoring import KEY

REACH: Final = 100
"""How many places apart two memories of one answer may stand to count as recalled together: an answer of up to 101
memories counts every pair."""


def recalls(ends: pl.DataFrame, accesses: pl.DataFrame) -> pl.DataFrame:
    """Every time that two of some memories were accessed by the same event.

    Args:
        ends: `profile_id`, `memory_id` of the memories that count, sorted by both.
        accesses: table `accesses`.

    Returns:
        `left`, `right` (rows of `ends`, left < right) and `at` in microseconds, one row a pair and event, sorted. A
        memory that an event names twice counts where it stands first.

    Cost: linear in the pairs, at most `REACH` an access.
    """
    rows = ends.select(*KEY, row=pl.int_range(pl.len()))
    named = (
        accesses.join(rows, on=KEY)
        .sort("profile_id", "seq", "ordinal")
        .unique(["seq", "row"], keep="first", maintain_order=True)
        .select("row", "ordinal", event=pl.struct("profile_id", "seq").rle_id(), at=pl.col("at").dt.epoch("us"))
    )
    row, event, place, at = (named[name].to_numpy() for name in ("row", "event", "ordinal", "at"))
    none = np.empty(0, dtype=np.int64)
    found = [(none, none, none)]
    for one, other in pairing.lagged(event, REACH):
        near = place[other] - place[one] <= REACH
        first, second = one[near], other[near]
        low, high = np.minimum(row[first], row[second]), np.maximum(row[first], row[second])
        found.append((low, high, np.maximum(at[first], at[second])))
    left, right, instant = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((instant, right, left))
    return pl.DataFrame({"left": left[order], "right": right[order], "at": instant[order]})


def strengths(
    base: NDArray[np.float64], link: NDArray[np.int64], share: NDArray[np.float64], *, gain: float
) -> NDArray[np.float64]:
    """Strength of each link after its last recall: at each, min(1, what was left of it + gain).

    Args:
        base: strength of each link before its first recall.
        link: the link of each recall, sorted; the recalls of a link by time.
        share: what was left of the strength since the recall before, or since the base, 0..1.
        gain: what a recall adds.

    Cost: linear in the recalls, in as many steps as the most recalled link has recalls.
    """
    result = base.copy()
    nth = np.arange(len(link)) - np.searchsorted(link, link)
    order = np.argsort(nth, kind="stable")
    for turn in np.split(order, np.flatnonzero(np.diff(nth[order])) + 1):
        result[link[turn]] = np.minimum(1.0, result[link[turn]] * share[turn] + gain)
    return result
