"""The published ranking formulas, over float64 arrays with one number for each memory; NaN stands for unknown.

Not here: the factors over time: recency, retention, relevance (`consolidation/scoring`).
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.text.arrays import Floats, Marks

WEIGHTS: Final = {"recency": 1.0, "importance": 1.0, "relevance": 1.0, "affinity": 0.5}
"""Default weights of the factors of `weighted_mean`."""
UNKNOWN_RELEVANCE: Final = 0.5
RECENT_SESSION_DAYS: Final = 7.0
RETURNS: Final = 3.0
"""Returns within one session at which recurrence reaches 1."""
RETENTION_EXPONENT: Final = 0.3


def relevance(cosine: Floats) -> Floats:
    """Clip the cosine of query and memory to 0..1; 0.5 where it is unknown (ADR-0008)."""
    return np.where(np.isnan(cosine), UNKNOWN_RELEVANCE, np.clip(cosine, 0.0, 1.0))


def session_proximity(*, same_session: Marks, same_user: Marks, days: Floats, reached: Marks) -> Floats:
    """Rate how close the session of each memory is to the asking session (ADR-0008).

    1 for the same session, .7 for another of the user up to 7 days old, .3 for an older one and for another user's
    memory that a SIMILAR_TO edge connects with one of the user's (`reached`), else 0. `same_user` is all False for an
    anonymous query; `days` is the age of each session in days.
    """
    other_session = np.where(days <= RECENT_SESSION_DAYS, 0.7, 0.3)
    return np.where(same_user, np.where(same_session, 1.0, other_session), np.where(reached, 0.3, 0.0))


def recurrence(returns: Floats) -> Floats:
    """Rate how often a memory was already returned in this session: min(1, returns / 3) (ADR-0008)."""
    return np.minimum(1.0, returns * (1.0 / RETURNS))


def entity_overlap(asked: pl.Series, mentioned: pl.Series) -> Floats:
    """Return the names that user and memory share, as a share of the longer list: shared / max(user's, memory's).

    Both are lists of names, one for each memory. 0 where either has none. Source: ADR-0008.
    """
    names = pl.DataFrame({"asked": asked.list.unique(), "mentioned": mentioned.list.unique()})
    counts = names.select(
        longer=pl.max_horizontal(pl.col("asked", "mentioned").list.len()),
        shared=pl.col("asked").list.set_intersection("mentioned").list.len(),
    ).select(pl.all().cast(pl.Float64).fill_null(0.0))
    return np.asarray(counts["shared"].to_numpy() / np.maximum(counts["longer"].to_numpy(), 1.0), dtype=np.float64)


def affinity(proximity: Floats, recurring: Floats, overlap: Floats) -> Floats:
    """Rate a memory for the asking user: .4 proximity + .3 recurrence + .3 entity overlap (ADR-0008)."""
    return 0.4 * proximity + 0.3 * recurring + 0.3 * overlap


def weighted_mean(
    recency: Floats,
    importance: Floats,
    relevant: Floats,
    affine: Floats | None = None,
    *,
    weights: Mapping[str, float] | None = None,
) -> Floats:
    """Return the score of ADR-0008, 0..1: the weighted mean of the factors; 0 where all weights are 0.

    Recency and importance are 0..1, the others what `relevance` and `affinity` return; None, for an anonymous query,
    leaves affinity out. `weights` replace those of `WEIGHTS`, by factor. Raises ValueError: a weight is negative or not
    finite, or there is no such factor.
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
    total: Floats = np.zeros(len(recency))
    for name, values in factors.items():
        total = total + effective[name] * values
    return total / weight_sum if weight_sum else total


def retained(cosine: Floats, retention: Floats) -> Floats:
    """Return the score of cognitive-memory: cosine * retention^0.3; unknown where the cosine is."""
    return np.asarray(cosine * np.power(retention, RETENTION_EXPONENT), dtype=np.float64)


def fading(cosine: Floats, relevance_factor: Floats) -> Floats:
    """Return the score of AutoMem: cosine * relevance at this time; unknown where the cosine is."""
    return np.asarray(cosine * relevance_factor, dtype=np.float64)
