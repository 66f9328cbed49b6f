"""The published ranking formulas, as functions of what is known about each memory.

All take and return float64 arrays, one number a memory; NaN stands for unknown. What is not here: the default ranking,
how the factors come about (`consolidation/scoring` has recency, retention and relevance over time), and what is done
with a ranking.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Marks = NDArray[np.bool_]

WEIGHTS: Final = {"recency": 1.0, "importance": 1.0, "relevance": 1.0, "affinity": 0.5}
"""Weights of the factors of `weighted_mean` unless others are given."""
UNKNOWN_RELEVANCE: Final = 0.5
RECENT_SESSION_DAYS: Final = 7.0
RETURNS: Final = 3.0
"""Returns within one session from which recurrence is full."""
RETENTION_EXPONENT: Final = 0.3


def relevance(cosine: Numbers) -> Numbers:
    """Cosine of query and memory, held to 0..1; 0.5 where it is unknown (ADR-0008)."""
    return np.where(np.isnan(cosine), UNKNOWN_RELEVANCE, np.clip(cosine, 0.0, 1.0))


def session_proximity(*, same_session: Marks, same_user: Marks, days: Numbers, reached: Marks) -> Numbers:
    """How near the session of each memory is to the one that asks (ADR-0008).

    Args:
        same_session: the memory was stored in the session that asks.
        same_user: it was stored for the user who asks; all false for an anonymous query.
        days: age of its session, in days.
        reached: it is another user's, but a SIMILAR_TO edge leads to it from a memory of the user who asks.

    Returns:
        1 for the same session, .7 for another of the user up to 7 days old, .3 for an older one and for another user's
        memory that was reached, else 0.
    """
    own = np.where(days <= RECENT_SESSION_DAYS, 0.7, 0.3)
    return np.where(same_user, np.where(same_session, 1.0, own), np.where(reached, 0.3, 0.0))


def recurrence(returns: Numbers) -> Numbers:
    """How often a memory already came back in this session: min(1, returns / 3) (ADR-0008)."""
    return np.minimum(1.0, returns * (1.0 / RETURNS))


def entity_overlap(asked: pl.Series, mentioned: pl.Series) -> Numbers:
    """Share of the entities asked for that each memory mentions; 0 where none are asked for.

    Args:
        asked: a list of names a memory: those of the query or of its user.
        mentioned: a list of names a memory: its own.
    """
    names = pl.DataFrame({"asked": asked.list.unique(), "mentioned": mentioned})
    count = pl.col("asked").list.len()
    shared = pl.col("asked").list.set_intersection("mentioned").list.len()
    share = pl.when(count > 0).then(shared * (1.0 / count)).otherwise(0.0)
    return names.select(share.cast(pl.Float64).fill_null(0.0)).to_series().to_numpy()


def affinity(proximity: Numbers, recurring: Numbers, overlap: Numbers) -> Numbers:
    """What a memory means to the user who asks: .4 proximity + .3 recurrence + .3 entity overlap (ADR-0008)."""
    return 0.4 * proximity + 0.3 * recurring + 0.3 * overlap


def weighted_mean(
    recency: Numbers,
    importance: Numbers,
    relevant: Numbers,
    affine: Numbers | None = None,
    *,
    weights: Mapping[str, float] | None = None,
) -> Numbers:
    """Score of ADR-0008: the weighted sum of the factors over the sum of the weights in play.

    Args:
        recency: 0..1, as in `scored_memories`.
        importance: 0..1.
        relevant: what `relevance` returns.
        affine: what `affinity` returns; None when nobody in particular asks: the factor is then left out.
        weights: weights other than `WEIGHTS`, by factor.

    Returns:
        0..1; 0 where all weights are 0.

    Raises:
        ValueError: a weight is negative or not a number, or belongs to no factor.
    """
    factors = {"recency": recency, "importance": importance, "relevance": relevant}
    if affine is not None:
        factors["affinity"] = affine
    own = {**WEIGHTS, **(weights or {})}
    for name, weight in own.items():
        if name not in WEIGHTS:
            raise ValueError(f"weight {name!r} belongs to no factor; there are {', '.join(WEIGHTS)}")
        if not 0.0 <= weight < float("inf"):
            raise ValueError(f"weight {name} is {weight}; give a number that is not negative")
    whole = sum(own[name] for name in factors)
    total: Numbers = np.zeros(len(recency))
    for name, values in factors.items():
        total = total + own[name] * values
    return total / whole if whole else total


def retained(cosine: Numbers, retention: Numbers) -> Numbers:
    """Score of cognitive-memory: cosine * retention^0.3; unknown where the cosine is."""
    return np.asarray(cosine * np.power(retention, RETENTION_EXPONENT), dtype=np.float64)


def fading(cosine: Numbers, relevance_factor: Numbers) -> Numbers:
    """Score of AutoMem: relevance of the memory at this time * cosine; unknown where the cosine is."""
    return np.asarray(cosine * relevance_factor, dtype=np.float64)
