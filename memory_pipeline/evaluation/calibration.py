"""Calibrates similarity thresholds: distribution of nearest-neighbour cosines and share above each threshold.

Thresholds belong to an embedder; cosines of different embedders are not comparable. Not here: the thresholds
(`settings/policy.py`).
"""

from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import similarity
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings import Policy

QUANTILES: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
THRESHOLDS: Final = (
    "similar_to_threshold",
    "auto_link_similarity",
    "reinforcement_similarity",
    "duplicate_similarity",
    "cluster_similarity",
    "fading_similarity",
)
"""Settings of a policy that are cosine thresholds."""


def nearest(memories: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> pl.Series:
    """Return the cosine of each live memory of one profile to its nearest neighbour, ascending.

    Cost: one matrix product of all live memories with each other.
    """
    own = vectors.filter(pl.col("model") == policy.embedder).select("profile_id", "content_hash", "vector")
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort("memory_id")
    embedded = live.join(own, on=["profile_id", "content_hash"], maintain_order="left")
    if embedded.height < 2:  # noqa: PLR2004
        return pl.Series("cosine", [], pl.Float64)
    rows = similarity.matrix(embedded["vector"])
    one_group = np.zeros(len(rows), dtype=np.int64)
    pairs = similarity.top_k(rows, rows, one_group, one_group, 1, exclude=np.arange(len(rows)))
    return pl.Series("cosine", pairs.similarity, pl.Float64).sort()


def quantiles(cosines: pl.Series) -> pl.DataFrame:
    """Return the quantiles of the cosines: `share` of the memories and the `cosine` that they stay below."""
    values = [cosines.quantile(share, "lower") for share in QUANTILES]
    return pl.DataFrame({"share": QUANTILES, "cosine": values}, schema={"share": pl.Float64, "cosine": pl.Float64})


def reached(cosines: pl.Series, policy: Policy) -> pl.DataFrame:
    """Return for each threshold of a policy its `value` and the `share` of memories with a neighbour at or above it."""
    values = [float(getattr(policy, name)) for name in THRESHOLDS]
    shares = [float((cosines >= value).mean() or 0.0) for value in values]  # type: ignore[arg-type]
    return pl.DataFrame({"setting": THRESHOLDS, "value": values, "share": shares})
