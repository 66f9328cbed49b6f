"""Memories that are used together: components over the sessions that two memories share.

What is not here: how shared sessions are counted (`associations`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.groups import grouping
from memory_pipeline.consolidation.groups.strategies.strategy import Found, Scene, Strategy, grouped


def find(scene: Scene) -> Found:
    """Group live memories that share more than `coactivation_min` sessions with one another, directly or in a chain.

    A component larger than `cluster_max_size` is split: the pairs with the most shared sessions unite first. Strength
    is the largest number of shared sessions within a group, first_coactivated_at when the first of its links came to
    be. Costs O(edges).
    """
    rows = scene.rows(pl.col("live"), compared=False)
    often = (pl.col("edge_type") == "COACTIVATED") & (pl.col("co_count") > scene.policy.coactivation_min)
    links = (
        scene.links(rows, often)
        .group_by("left", "right")
        .agg(pl.col("co_count").max().cast(pl.Float64), pl.col("discovered_at").min())
        .sort("left", "right")
    )
    left, right, counts = (links[name].to_numpy() for name in ("left", "right", "co_count"))
    labels = grouping.united(len(rows), left, right, counts, max_size=scene.policy.cluster_max_size)
    bonds = (
        links.with_columns(group=pl.Series(rows[labels[left]], dtype=pl.Int64))
        .filter(pl.Series(labels[left] == labels[right], dtype=pl.Boolean))
        .group_by("group")
        .agg(strength=pl.col("co_count").max(), first_coactivated_at=pl.col("discovered_at").min())
    )
    return Found(grouped(rows, labels, 2).join(bonds, on="group", how="left", maintain_order="left"))


STRATEGY: Final = Strategy(find, "unit", place=40)
