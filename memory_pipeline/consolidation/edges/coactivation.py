"""Edges from sessions that accessed the same memories: co-activation and shortcuts.

Both are recomputed by every run from all accesses, so reading never writes and the cadence of runs does not matter. Not
here: memories recalled together by one answer (`co_recall`), and units of co-activated memories (`groups.clustering`).
"""

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.edges import co_occurrence, edge_rows
from memory_pipeline.consolidation.edges.co_occurrence import CoOccurrences
from memory_pipeline.schemas import INSTANT
from memory_pipeline.settings import Policy

REACH: Final = 100
"""Maximum distance, in order of first access within a session, of two co-activated memories. A session of up to 101
memories counts every pair; a longer one yields at most 100 pairs per memory instead of the square of its length."""

FULL_WEIGHT: Final = 10
"""Minimum number of shared sessions of a co-activation with weight 1."""

NO_HOP: Final = ("COACTIVATED", "SHORTCUT", "SUMMARIZES")
"""Edge types that do not count as a path; otherwise no shortcut would ever be needed."""

_BLOCK: Final = 1 << 16
"""Pairs whose neighbourhoods are compared at once."""


def sessions(live: pl.DataFrame, accesses: pl.DataFrame) -> tuple[CoOccurrences, NDArray[np.int64]]:
    """Count the sessions in which pairs of memories were accessed together.

    Memories of a session are ordered by their first access in it; those at most `REACH` positions apart form a pair.
    Accesses without a session do not count.

    Returns:
        Pairs of rows of `live` (sorted by profile and memory) within one profile, and for each place an instant in
        microseconds: when the first and the last of their common sessions came to contain both.
    """
    rows = live.select(*KEY, row=pl.int_range(pl.len()))
    session = ["profile_id", "session_id"]
    in_sessions = accesses.drop_nulls("session_id")
    numbers = in_sessions.select(session).unique().with_columns(session=pl.int_range(pl.len()))
    visits = (
        in_sessions.join(rows, on=KEY)
        .join(numbers, on=session)
        .group_by("session", "row")
        .agg(pl.col("at").min().dt.epoch("us"))
        .sort("at", "row")
    )
    row, group, at = (visits[name].to_numpy() for name in ("row", "session", "at"))
    return co_occurrence.count_pairs(row, group, count=len(live), reach=REACH), at


def coactivated(live: pl.DataFrame, met: CoOccurrences, at: NDArray[np.int64]) -> pl.DataFrame:
    """Return COACTIVATED edges (three-tier): `co_count` common sessions, weight min(1, co_count / 10).

    `discovered_at` is when a session had first accessed both, `last_strengthened_at` when the latest one had.
    """
    return _edges(live, met, at).with_columns(edge_type=pl.lit("COACTIVATED"), algorithm=pl.lit("shared_sessions"))


def shortcuts(
    live: pl.DataFrame, met: CoOccurrences, at: NDArray[np.int64], edges: pl.DataFrame, policy: Policy
) -> pl.DataFrame:
    """Return SHORTCUT edges (ADR-0008) between memories that are used together but far apart in the graph.

    A pair gets one if at least `shortcut_accesses` sessions accessed both and every path between them over `edges` has
    more than `shortcut_hops` hops. Weight, count and instants are those of the co-activation.

    Paths go over the memories of `live` alone; `met` and `at` are what `sessions` returns for them. Edges of the types
    in `NO_HOP` are ignored.
    """
    frequent = met.take(met.times >= policy.shortcut_accesses)
    hops = edge_rows.with_rows(edges.filter(~pl.col("edge_type").is_in(NO_HOP)), live)
    ends = hops["source_row"].to_numpy(), hops["target_row"].to_numpy()
    close = within(len(live), *ends, frequent.left, frequent.right, hops=policy.shortcut_hops)
    return _edges(live, frequent.take(~close), at).with_columns(
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
    """Mask of the pairs whose two rows are connected by at most `hops` edges.

    Half of the hops are walked from either end and the two neighbourhoods compared, so that the usual two hops only
    look at direct neighbours. Costs the neighbourhoods of the pairs' ends.

    Args:
        n: number of rows; `source` and `target` are the ends of each edge, `left` and `right` the rows of each pair.
        hops: at least 1.
    """
    ends = np.concatenate([source, target, np.arange(n)]), np.concatenate([target, source, np.arange(n)])
    step = csr_array((np.ones(len(ends[0]), dtype=np.int32), ends), shape=(n, n))
    step.data[:] = 1
    itself = eye_array(n, dtype=np.int32, format="csr")
    result = np.empty(len(left), dtype=np.bool_)
    for start in range(0, len(left), _BLOCK):
        part = slice(start, start + _BLOCK)
        from_left, from_right = step[left[part]], itself[right[part]]
        for hop in range(1, hops):
            if hop % 2:
                from_right = _spread(from_right, step)
            else:
                from_left = _spread(from_left, step)
        result[part] = from_left.multiply(from_right).sum(axis=1) > 0
    return result


def _spread(reached: csr_array, step: csr_array) -> csr_array:
    further = reached @ step
    further.data[:] = 1
    return further


def _edges(live: pl.DataFrame, met: CoOccurrences, at: NDArray[np.int64]) -> pl.DataFrame:
    instants = pl.DataFrame({"discovered_at": at[met.first], "last_strengthened_at": at[met.last]}).cast(INSTANT)
    return (
        edge_rows.between(live, met.left, met.right)
        .drop("discovered_at")
        .hstack(instants)
        .with_columns(co_count=pl.Series(met.times))
        .with_columns(weight=(pl.col("co_count") * (1.0 / FULL_WEIGHT)).clip(upper_bound=1.0))
    )
