"""Defers the memories that exceed what a run can process within its time budget.

Not here: how the time budget becomes a number of memories (`triggers.row_limit`).
"""

from typing import cast

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.schemas import LIVE, TABLES, Action, Frame


def deferred(
    profiles: Frame[schemas.Profiles],
    memories: Frame[schemas.Memories],
    measured: Frame[schemas.MemoryImportance],
    decisions: pl.DataFrame,
    *,
    plan_id: str,
) -> pl.DataFrame:
    """Select the live originals that exceed their profile's row limit (0: none): table `deferred`.

    Memories deferred by the most consecutive runs are processed first, then the most important, then the most accessed,
    so that no memory waits forever. The decisions, those in force from earlier instants, show how often each was
    deferred since the last run that deferred nothing (`caught_up`). Cost: a sort of the memories of profiles that have
    a limit.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE) & (pl.col("kind") == "original"))
    ranked = (
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
    return TABLES["deferred"].conform(ranked.filter(pl.col("place") >= pl.col("row_limit")))


def _waited(decisions: pl.DataFrame, profiles: pl.DataFrame) -> pl.DataFrame:
    """Count the consecutive latest runs that deferred each memory.

    Counting restarts after a run that deferred nothing.
    """
    deferrals = (
        decisions.filter(does(Action.DEFER))
        .join(profiles.select("profile_id", pl.col("caught_up").fill_null(0)), on="profile_id")
        .filter(pl.col("seq") > pl.col("caught_up"))
        .select(*KEY, "seq")
        .unique()
    )
    ranked = deferrals.with_columns(ago=pl.col("seq").rank("dense", descending=True).over("profile_id")).sort("ago")
    unbroken = pl.col("ago") == pl.int_range(1, pl.len() + 1).over(KEY)
    return ranked.filter(unbroken).group_by(KEY).agg(waited=pl.len().cast(pl.Int64))


def without(memories: Frame[schemas.Memories], deferred: Frame[schemas.Deferred]) -> Frame[schemas.Memories]:
    """Return the memories that are not deferred."""
    return cast("Frame[schemas.Memories]", memories.join(deferred, on=KEY, how="anti", maintain_order="left"))
