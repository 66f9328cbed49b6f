"""What follows from the sessions in which memories were accessed: co-activation, and shortcuts through the graph.

Both are made anew by every run from all accesses, so reading never writes and no cadence of runs changes anything.
What is not here: what is recalled together in one answer (`co_recall`), and units of co-activated memories
(`clustering`).
"""

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from memory_pipeline.consolidation.edges import edge_rows, pairing
from memory_pipeline.consolidation.edges.pairing import Meetings
from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.schemas import INSTANT
from memory_pipeline.settings import Policy

REACH: Final = 100
"""How many of the memories before it in a session a memory counts as co-activated with. A session of up to 101 memories
counts every pair; a longer one makes at most a hundred a memory, not the square of its length."""

FULL_WEIGHT: Final = 10
"""Shared sessions from which a co-activation has the weight 1."""

NO_HOP: Final = ("COACTIVATED", "SHORTCUT", "SUMMARIZES")
"""Types that are no way between two memories: with them no shortcut would ever be needed."""

_BLOCK: Final = 1 << 16
"""Pairs whose neighbourhoods are compared at once."""


def sessions(live: pl.DataFrame, accesses: pl.DataFrame) -> tuple[Meetings, NDArray[np.int64]]:
    """Which memories were accessed in how many common sessions.

    Args:
        live: memories that count, sorted by profile and memory.
        accesses: table `accesses`; those without a session do not count.

    Returns:
        Pairs of rows of `live` of one profile, and for each place the instant in microseconds: when the first and the
        last of their common sessions came to hold both.

    Memories of a session stand in the order of their first access in it; those up to `REACH` places apart are a pair.
    """
    rows = live.select(*KEY, row=pl.int_range(pl.len()))
    session = ["profile_id", "session_id"]
    named = accesses.drop_nulls("session_id")
    numbers = named.select(session).unique().with_columns(session=pl.int_range(pl.len()))
    visits = (
        named.join(rows, on=KEY)
        .join(numbers, on=session)
        .group_by("session", "row")
        .agg(pl.col("at").min().dt.epoch("us"))
        .sort("at", "row")
    )
    row, group, at = (visits[name].to_numpy() for name in ("row", "session", "at"))
    return pairing.meetings(row, group, count=len(live), reach=REACH), at


def coactivated(live: pl.DataFrame, met: Meetings, at: NDArray[np.int64]) -> pl.DataFrame:
    """COACTIVATED edges: `co_count` common sessions, weight min(1, co_count / 10).

    `discovered_at` is when a session had accessed both for the first time, `last_strengthened_at` when one more did.
    """
    return _edges(live, met, at).with_columns(edge_type=pl.lit("COACTIVATED"), algorithm=pl.lit("shared_sessions"))


def shortcuts(
    live: pl.DataFrame, met: Meetings, at: NDArray[np.int64], edges: pl.DataFrame, policy: Policy
) -> pl.DataFrame:
    """SHORTCUT edges between memories that are used together and far apart in the graph.

    A pair gets one if at least `shortcut_accesses` sessions accessed both and every way between them over `edges` has
    more than `shortcut_hops` hops. Weight, count and instants are those of the co-activation.

    Args:
        live: memories that count, sorted by profile and memory; ways lead over these alone.
        met: common sessions of pairs of them, as of `sessions`.
        at: instants of its places.
        edges: edges that can be followed; those of the types in `NO_HOP` are no hops.
        policy: how often, and how far.
    """
    often = met.take(met.times >= policy.shortcut_accesses)
    hops = edges.filter(~pl.col("edge_type").is_in(NO_HOP))
    for end in ("source", "target"):
        rows = live.select("profile_id", pl.col("memory_id").alias(end), pl.int_range(pl.len()).alias(f"{end}_row"))
        hops = hops.join(rows, on=["profile_id", end])
    near = within(
        len(live),
        hops["source_row"].to_numpy(),
        hops["target_row"].to_numpy(),
        often.left,
        often.right,
        hops=policy.shortcut_hops,
    )
    return _edges(live, often.take(~near), at).with_columns(
        edge_type=pl.lit("SHORTCUT"), algorithm=pl.lit("shared_sessions")
    )


def within(
    n: int,
    source: NDArray[np.integer[Any]],
    target: NDArray[np.integer[Any]],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    *,
    hops: int,
) -> NDArray[np.bool_]:
    """Whether at most `hops` edges lead from the one row of each pair to the other.

    Half of the hops are gone from either end, and the two neighbourhoods compared, so that the usual two hops never
    look further than at direct neighbours. Costs the neighbourhoods of the pairs' ends.

    Args:
        n: number of rows.
        source: one end of each edge.
        target: the other end.
        left: one row of each pair.
        right: the other row.
        hops: at least 1.
    """
    ends = np.concatenate([source, target, np.arange(n)]), np.concatenate([target, source, np.arange(n)])
    step = csr_array((np.ones(len(ends[0]), dtype=np.int32), ends), shape=(n, n))
    step.data[:] = 1
    itself = eye_array(n, dtype=np.int32, format="csr")
    result = np.empty(len(left), dtype=np.bool_)
    for start in range(0, len(left), _BLOCK):
        part = slice(start, start + _BLOCK)
        here, there = step[left[part]], itself[right[part]]
        for hop in range(1, hops):
            if hop % 2:
                there = _spread(there, step)
            else:
                here = _spread(here, step)
        result[part] = here.multiply(there).sum(axis=1) > 0
    return result


def _spread(reached: csr_array, step: csr_array) -> csr_array:
    further = reached @ step
    further.data[:] = 1
    return further


def _edges(live: pl.DataFrame, met: Meetings, at: NDArray[np.int64]) -> pl.DataFrame:
    instants = pl.DataFrame({"discovered_at": at[met.first], "last_strengthened_at": at[met.last]}).cast(INSTANT)
    return (
        edge_rows.between(live, met.left, met.right)
        .drop("discovered_at")
        .hstack(instants)
        .with_columns(co_count=pl.Series(met.times))
        .with_columns(weight=(pl.col("co_count") * (1.0 / FULL_WEIGHT)).clip(upper_bound=1.0))
    )
