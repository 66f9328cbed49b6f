"""The quota of a run: how many memories of a profile may leave at once without a summary that stands for them.

Not here: what leaves (`planning` and the stages before), and how a held plan is told (`telling`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import LIVE

FLOOR: Final = 20
"""Number of memories that may leave in a run whatever their share, unless they are more than half."""


def figures(plan: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return how many live originals each profile has, and how many of them a plan removes without a summary.

    A memory with a summary is not lost, and a summary that leaves still has its members. One row per profile with live
    originals: `profile_id`, `live`, `leaving`, `share` (0..1).
    """
    originals = state.memories.filter(pl.col("lifecycle").is_in(LIVE), pl.col("kind") == "original").select(KEY)
    lost = plan.filter(pl.col("action").is_in(list(decision_json.LEAVES)) & pl.col("target_id").is_null())
    leaving = originals.join(lost, on=KEY, how="semi").group_by("profile_id").agg(leaving=pl.len().cast(pl.Int64))
    return (
        originals.group_by("profile_id")
        .agg(live=pl.len().cast(pl.Int64))
        .join(leaving, on="profile_id", how="left")
        .with_columns(pl.col("leaving").fill_null(0))
        .with_columns(share=pl.col("leaving") / pl.col("live"))
        .sort("profile_id")
    )


def hold(plan: pl.DataFrame, profiles: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return a plan in which each profile that would lose too many memories at once has all its decisions `held`.

    Other profiles are not affected. `max_archived_share` of `profiles` is the share of live originals that may leave
    without a summary; `state` is that before the plan.
    """
    if plan.is_empty():
        return plan
    exceeding = figures(plan, state).join(profiles, on="profile_id").filter(pl.col("leaving") > _most())
    held = pl.col("profile_id").is_in(exceeding["profile_id"].implode())
    return plan.with_columns(status=pl.when(held).then(pl.lit("held")).otherwise("status"))


def held_profiles(plan: pl.DataFrame, profiles: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return the profiles that a plan holds back, with the numbers of their quota; `state` is that before the plan.

    `profile_id`, `decisions` (held back), `live`, `leaving`, `share` and `max_archived_share`, one row per profile.
    """
    held = plan.filter(pl.col("status") == "held")
    counts = held.group_by("profile_id").len("decisions")
    proposed = held.with_columns(status=pl.lit("proposed"))
    return (
        counts.join(figures(proposed, state), on="profile_id")
        .join(profiles.select("profile_id", "max_archived_share"), on="profile_id")
        .sort("profile_id")
    )


def spare(decided: pl.DataFrame, profiles: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return how many more originals each profile may lose before its plan is held: what a token budget may archive.

    `decided` are all other decisions at the same instant, `profiles` as for `hold`. One row per profile with live
    originals: `profile_id`, `spare`.
    """
    counted = figures(decided, state).join(profiles.select("profile_id", "max_archived_share"), on="profile_id")
    return counted.select("profile_id", spare=(_most() - pl.col("leaving")).clip(0))


def _most() -> pl.Expr:
    """Return the maximum number of originals that may leave; rounding error never lowers a whole number."""
    share = (pl.col("live") * pl.col("max_archived_share") + 1e-9).floor().cast(pl.Int64)
    return pl.max_horizontal(share, (pl.col("live") // 2).clip(1, FLOOR))
