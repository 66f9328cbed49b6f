"""Memories about one topic (AutoMem): components of similar vectors, or clusters by average linkage.

Not here: the comparison of vectors (`similarity`), and the linkage of rows (`linkage`).
"""

from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.groups import linkage
from memory_pipeline.consolidation.groups.strategies.strategy import (
    ClusteringInput,
    ClusteringResult,
    Reading,
    Rows,
    Space,
    Strategy,
    grouped,
    profiles,
)
from memory_pipeline.settings import Policy


def find(inputs: ClusteringInput) -> ClusteringResult:
    """Group live memories of relevance above `cluster_min_relevance` by a cosine of at least `cluster_similarity`.

    Linked by `policy.linkage`; a group has `cluster_min_size` to `cluster_max_size` members. Identical texts are united
    before all others, oldest first: the groups are the same as if all pairs were compared, but thousands of copies cost
    no more than one.
    """
    policy, rows = inputs.policy, _relevant(inputs)
    points = inputs.points[rows]
    heads = _copies(points, policy.cluster_max_size)
    sizes = np.bincount(heads, minlength=len(rows))
    open_ended = sizes > 0 if policy.cluster_max_size is None else (sizes > 0) & (sizes < policy.cluster_max_size)
    nodes = np.flatnonzero(open_ended)
    labels = np.arange(len(rows))
    labels[nodes] = nodes[_linked(inputs.space[rows[nodes]], profiles(points)[nodes], sizes[nodes], policy)]
    return ClusteringResult(grouped(rows, labels[heads], policy.cluster_min_size))


def reads(inputs: ClusteringInput) -> Reading:
    """Return all that `find` reads."""
    policy = inputs.policy
    settings = (policy.cluster_similarity, policy.cluster_min_size, policy.cluster_max_size, policy.linkage)
    return Reading(rows=_relevant(inputs), columns=("content_hash",), settings=settings)


def _relevant(inputs: ClusteringInput) -> Rows:
    return inputs.rows(pl.col("live") & (pl.col("relevance") > inputs.policy.cluster_min_relevance))


def _copies(points: pl.DataFrame, largest: int | None) -> Rows:
    """Return for each row the first row of its run; copies of one text form runs of at most `largest`."""
    text = ["profile_id", "content_hash"]
    position = pl.int_range(pl.len(), dtype=pl.Int64)
    turn = pl.lit(0, pl.Int64) if largest is None else position.over(text) // largest
    return (
        points.select(position.alias("position"), *text, turn=turn)
        .select(pl.col("position").first().over(*text, "turn"))
        .to_series()
        .to_numpy()
    )


def _linked(space: Space, profile: Rows, sizes: Rows, policy: Policy) -> Rows:
    """Return for each text, which counts for `sizes` memories, the first text of its cluster."""
    near = similarity.threshold_join(space, profile, policy.cluster_similarity)
    pairs = (near.left, near.right, near.similarity)
    if policy.linkage == "single":
        return linkage.united(len(space), *pairs, max_size=policy.cluster_max_size, sizes=sizes)
    return linkage.average_linkage(
        space, *pairs, minimum=policy.cluster_similarity, max_size=policy.cluster_max_size, sizes=sizes
    )


STRATEGY: Final = Strategy(find, "meta_pattern", order=30, reads=reads)
