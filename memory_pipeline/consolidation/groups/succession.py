"""Which cluster became which: compares the clusters of a profile before and after a commit.

Not here: finding clusters (`clustering`), and what a summary inherits from its members (`lineage`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import TABLES

_CLUSTER: Final = ["profile_id", "cluster_id"]
_FOUND_BY: Final = ["profile_id", "method", "level"]


def succession(
    profiles: pl.DataFrame,
    *,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
    earlier_clusters: pl.DataFrame,
    earlier_members: pl.DataFrame,
) -> pl.DataFrame:
    """Return table `cluster_lineage`: which clusters ended, which are new, and what members new ones have of the ended.

    Clusters of the same members keep their id, and have no row. Only clusters of one method, and one level, are
    compared. `profiles` is table `profiles` of the commit, for its clock and its plans; clusters and members are tables
    after it and, the earlier ones, before it.

    Cost: linear in the clusters, and in the members of those that changed.
    """
    new = clusters.join(earlier_clusters, on=_CLUSTER, how="anti").select(
        *_CLUSTER, "method", "level", size="cluster_size"
    )
    ended = earlier_clusters.join(clusters, on=_CLUSTER, how="anti").select(
        *_FOUND_BY, previous_id="cluster_id", previous_size="cluster_size"
    )
    now = members.join(new, on=_CLUSTER)
    then = earlier_members.rename({"cluster_id": "previous_id"}).join(ended, on=["profile_id", "previous_id"])
    pairs = (
        now.join(then, on=[*KEY, "method", "level"], nulls_equal=True)
        .group_by(*_FOUND_BY, "previous_id", "cluster_id")
        .agg(pl.col("previous_size", "size").first(), shared_members=pl.len())
    )
    formed = new.join(pairs, on=_CLUSTER, how="anti")
    dissolved = ended.join(pairs, on=["profile_id", "previous_id"], how="anti")
    return TABLES["cluster_lineage"].conform(
        pl.concat([pairs, formed, dissolved], how="diagonal_relaxed")
        .with_columns(pl.col("shared_members", "previous_size", "size").fill_null(0).cast(pl.Int64))
        .with_columns(change=_change())
        .sort(*_FOUND_BY, "previous_id", "cluster_id", nulls_last=True)
        .join(profiles.select("profile_id", "plan_id", "as_of"), on="profile_id", maintain_order="left")
        .with_columns(ordinal=pl.int_range(pl.len()).over("profile_id"))
    )


def _change() -> pl.Expr:
    """Return what happened between the two clusters of a row."""
    sources = pl.col("previous_id").count().over("profile_id", "cluster_id")
    heirs = pl.col("cluster_id").count().over("profile_id", "previous_id")
    return (
        pl.when(pl.col("previous_id").is_null())
        .then(pl.lit("formed"))
        .when(pl.col("cluster_id").is_null())
        .then(pl.lit("dissolved"))
        .when((sources > 1) & (heirs > 1))
        .then(pl.lit("regrouped"))
        .when(sources > 1)
        .then(pl.lit("merged"))
        .when(heirs > 1)
        .then(pl.lit("split"))
        .when(pl.col("size") > pl.col("previous_size"))
        .then(pl.lit("grown"))
        .when(pl.col("size") < pl.col("previous_size"))
        .then(pl.lit("shrunk"))
        .otherwise(pl.lit("exchanged"))
    )
