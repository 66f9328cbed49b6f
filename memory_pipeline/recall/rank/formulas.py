"""The published ranking formulas.

All take and return float64 arrays with one number for each memory; NaN stands for unknown. Not here: the default
ranking (`features`) and the factors over time: recency, retention, relevance (`consolidation/scoring`).
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Marks = NDArray[np.bool_]

WEIGHTS: Final = {"recency": 1.0, "importance": 1.0, "relevance": 1.0, "affinity": 0.5}
"""Default weights of the factors of `weighted_mean`."""
UNKNOWN_RELEVANCE: Final = 0.5
RECENT_SESSION_DAYS: Final = 7.0
RETURNS: Final = 3.0
"""Returns within one session at which recurrence reaches 1."""
RETENTION_EXPONENT: Final = 0.3


def relevance(cosine: Numbers) -> Numbers:
    """Clip the cosine of query and memory to 0..1; 0.5 where it is unknown (ADR-0008)."""
    return np.where(np.isnan(cosine), UNKNOWN_RELEVANCE, np.clip(cosine, 0.0, 1.0))


def session_proximity(*, same_session: Marks, same_user: Marks, days: Numbers, reached: Marks) -> Numbers:
    """Rate how close the session of each memory is to the asking session (ADR-0008).

    Args:
        same_session: the memory was stored in the asking session.
        same_user: it was stored for the asking user; all False for an anonymous query.
        days: age of its session in days.
        reached: it is another user's, and a SIMILAR_TO edge connects it with a memory of the asking user.

    Returns:
        1 for the same session, .7 for another of the user up to 7 days old, .3 for an older one and for another user's
        reached memory, else 0.
    """
    other_session = np.where(days <= RECENT_SESSION_DAYS, 0.7, 0.3)
    return np.where(same_user, np.where(same_session, 1.0, other_session), np.where(reached, 0.3, 0.0))


def recurrence(returns: Numbers) -> Numbers:
    """Rate how often a memory was already returned in this session: min(1, returns / 3) (ADR-0008)."""
    return np.minimum(1.0, returns * (1.0 / RETURNS))


def entity_overlap(asked: pl.Series, mentioned: pl.Series) -> Numbers:
    """Return the names that user and memory share, as a share of the longer list: shared / max(user's, memory's).

    Source: ADR-0008. 0 where either has none.

    Args:
        asked: for each memory the list of names that the user is concerned with.
        mentioned: for each memory the list of names in it.
    """
    names = pl.DataFrame({"asked": asked.list.unique(), "mentioned": mentioned.list.unique()})
    counts = names.select(
        longer=pl.max_horizontal(pl.col("asked", "mentioned").list.len()),
        shared=pl.col("asked").list.set_intersection("mentioned").list.len(),
    ).select(pl.all().cast(pl.Float64).fill_null(0.0))
    return np.asarray(counts["shared"].to_numpy() / np.maximum(counts["longer"].to_numpy(), 1.0), dtype=np.float64)


def affinity(proximity: Numbers, recurring: Numbers, overlap: Numbers) -> Numbers:
    """Rate a memory for the asking user: .4 proximity + .3 recurrence + .3 entity overlap (ADR-0008)."""
    return 0.4 * proximity + 0.3 * recurring + 0.3 * overlap


def weighted_mean(
    recency: Numbers,
    importance: Numbers,
    relevant: Numbers,
    affine: Numbers | None = None,
    *,
    weights: Mapping[str, float] | None = None,
) -> Numbers:
    """Return the score of ADR-0008: the weighted mean of the factors.

    Args:
        recency: 0..1, as in `scored_memories`.
        importance: 0..1.
        relevant: what `relevance` returns.
        affine: what `affinity` returns; None for an anonymous query, which leaves the factor out.
        weights: weights by factor that replace those of `WEIGHTS`.

    Returns:
        0..1; 0 where all weights are 0.

    Raises:
        ValueError: a weight is negative or not finite, or there is no such factor.
    """
    factors = {"recency": recency, "importance": importance, "relevance": relevant}
    if affine is not None:
        factors["affinity"] = affine
    effective = {**WEIGHTS, **(weights or {})}
    for name, weight in effective.items():
        if name not in WEIGHTS:
            raise ValueError(f"{name!r} is not a factor; choose one of {', '.join(WEIGHTS)}")
        if not 0.0 <= weight < float("inf"):
            raise ValueError(f"weight {name} is {weight}; give a number that is not negative")
    weight_sum = sum(effective[name] for name in factors)
    total: Numbers = np.zeros(len(recency))
    for name, values in factors.items():
        total = total + effective[name] * values
    return total / weight_sum if weight_sum else total


def retained(cosine: Numbers, retention: Numbers) -> Numbers:
    """Return the score of cognitive-memory: cosine * retention^0.3; unknown where the cosine is."""
    return np.asarray(cosine * np.power(retention, RETENTION_EXPONENT), dtype=np.float64)


def fading(cosine: Numbers, relevance_factor: Numbers) -> Numbers:
    """Return the score of AutoMem: cosine * relevance at this time; unknown where the cosine is."""
    return np.asarray(cosine * relevance_factor, dtype=np.float64)
