"""Budgeting: what a run with too little time leaves for the next one.

What is not here: how much time there is, in memories (`triggers.row_limit`).
"""

import polars as pl

from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.schemas import LIVE, TABLES, Action


def deferred(
    profiles: pl.DataFrame, memories: pl.DataFrame, measured: pl.DataFrame, decisions: pl.DataFrame, *, plan_id: str
) -> pl.DataFrame:
    """Choose the live originals that exceed their profile's row limit.

    What has waited for the most runs in a row goes first, then the most important, then the most accessed, so that
    nothing waits for ever.

    Args:
        profiles: table `profiles`: `row_limit` (0 is no limit), and since when nothing has waited any more.
        memories: table `memories`.
        measured: table `memory_importance`, of the same state.
        decisions: decisions in force of earlier instants; what they deferred has waited.
        plan_id: plan that the rows belong to.

    Returns:
        Table `deferred`. Cost: a sort of the memories of profiles with a limit.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE) & (pl.col("kind") == "original"))
    ordered = (
        live.join(profiles.filter(pl.col("row_limit") > 0).select("profile_id", "row_limit"), on="profile_id")
        .join(measured.select(*KEY, "importance"), on=KEY)
        .join(_waited(decisions, profiles), on=KEY, how="left")
        .sort(
            "profile_id",
            -pl.col("waited").fill_null(0),
            -pl.col("importance"),
            -pl.col("access_count"),
            "created_at",
            "memory_id",
        )
        .with_columns(place=pl.int_range(pl.len()).over("profile_id"), plan_id=pl.lit(plan_id))
    )
    return TABLES["deferred"].conform(ordered.filter(pl.col("place") >= pl.col("row_limit")))


def _waited(decisions: pl.DataFrame, profiles: pl.DataFrame) -> pl.DataFrame:
    """How many of the last runs that deferred anything have deferred each memory, without a gap.

    A run that left nothing has caught up: what was deferred before it has not waited.
    """
    turns = (
        decisions.filter(pl.col("action") == Action.DEFER.value)
        .join(profiles.select("profile_id", pl.col("caught_up").fill_null(0)), on="profile_id")
        .filter(pl.col("seq") > pl.col("caught_up"))
        .select(*KEY, "seq")
        .unique()
    )
    ago = turns.with_columns(ago=pl.col("seq").rank("dense", descending=True).over("profile_id")).sort("ago")
    unbroken = pl.col("ago") == pl.int_range(1, pl.len() + 1).over(KEY)
    return ago.filter(unbroken).group_by(KEY).agg(waited=pl.len().cast(pl.Int64))
