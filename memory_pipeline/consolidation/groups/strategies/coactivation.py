"""Co-activation units (three-tier): components over the sessions that two memories share.

Not here: how shared sessions are counted (`edges.coactivation`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.groups import linkage
from memory_pipeline.consolidation.groups.strategies.strategy import (
    ClusteringInput,
    ClusteringResult,
    Strategy,
    grouped,
)


def find(inputs: ClusteringInput) -> ClusteringResult:
    """Group live memories connected by pairs that share more than `coactivation_min` sessions.

    A component larger than `cluster_max_size` is split: the pairs with the most shared sessions are united first.
    Strength is the largest number of shared sessions within a group, first_coactivated_at the start of its first link.
    Costs O(edges).
    """
    rows = inputs.rows(pl.col("live"), compared=False)
    frequent = (pl.col("edge_type") == "COACTIVATED") & (pl.col("co_count") > inputs.policy.coactivation_min)
    links = (
        inputs.links(rows, frequent)
        .group_by("left", "right")
        .agg(pl.col("co_count").max().cast(pl.Float64), pl.col("discovered_at").min())
        .sort("left", "right")
    )
    left, right, counts = (links[name].to_numpy() for name in ("left", "right", "co_count"))
    labels = linkage.united(len(rows), left, right, counts, max_size=inputs.policy.cluster_max_size)
    bonds = (
        links.with_columns(group=pl.Series(rows[labels[left]], dtype=pl.Int64))
        .filter(pl.Series(labels[left] == labels[right], dtype=pl.Boolean))
        .group_by("group")
        .agg(strength=pl.col("co_count").max(), first_coactivated_at=pl.col("discovered_at").min())
    )
    return ClusteringResult(grouped(rows, labels, 2).join(bonds, on="group", how="left", maintain_order="left"))


STRATEGY: Final = Strategy(find, "unit", order=40)
