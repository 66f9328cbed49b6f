"""Promotes memories: to a higher tier by energy, to warm by use, to core by long-term use.

Not here: how energy is computed (`state.energy`), what leaves the live set (`forgetting`), and what a promotion changes
in the state (`state.projection`).
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import currency
from memory_pipeline.consolidation.columns import KEY, counted
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.consolidation.state import energy
from memory_pipeline.schemas import (
    INSTANT,
    LIVE,
    TABLES,
    Accesses,
    Events,
    EventType,
    Frame,
    Lifecycle,
    Memories,
    TierChanges,
)
from memory_pipeline.settings import Policy

HIGHER: Final = {"working": "short_term", "short_term": "long_term"}
"""Next tier up; the highest tier has none."""

_RAISED: Final = ("tier", "at", "energy", "lifecycle", "category")
"""Columns that a promotion can change."""


def promote(
    memories: Frame[schemas.Memories],
    scored: Frame[schemas.ScoredMemories],
    events: Frame[schemas.Events],
    accesses: Frame[schemas.Accesses],
    tier_changes: Frame[schemas.TierChanges],
    edges: Frame[schemas.AssociationEdges],
    fact_changes: Frame[schemas.FactChanges],
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Select promotions among live memories that no summary has superseded.

    - Tiers (three-tier): working becomes short_term at the first touch (creation, access or reinforcement) that leaves
      more than `short_term_energy`; short_term becomes long_term likewise at `long_term_energy`. Touches count from the
      last tier change on, inclusive. At the end of a session its working memories need only `session_end_energy`. A
      change takes effect at the instant that triggered it, so the cadence of runs does not matter; each run raises a
      memory by one tier, and at most `promotion_batch` memories per profile.
    - Warm (SuperLocalMemory): active memories with enough accesses and confidence that are valid at `as_of`.
    - Core (cognitive-memory): memories with enough accesses, stability and sessions.

    A memory that a newer one contradicts or updates becomes neither warm nor core. Its tier only reflects use and is
    not affected. Table `promotions` has one row per memory; a column that does not change is null, and several rules
    for one memory are joined by a plus sign. Of the events only session.ended is read, of the edges only REINFORCES and
    CONTRADICTS. Cost: that of `energy.history` for memories below the highest tier, else linear.
    """
    candidates = memories.filter(
        pl.col("lifecycle").is_in(LIVE), pl.col("superseded_kind").ne_missing(pl.lit("summary"))
    )
    current = candidates.filter(pl.col("superseded_by").is_null())
    ended = fact_changes.filter(
        pl.col("relation") == "update",
        "decided",
        pl.col("statement").is_null(),
        pl.col("at") <= pl.lit(as_of, dtype=INSTANT),
    )
    disputed = pl.concat([_contradicted(memories, edges).select(KEY), ended.select(KEY)])
    undisputed = current.join(disputed, on=KEY, how="anti", maintain_order="left")
    rising = []
    if policy.promote_tiers:
        rising.append(_tiers(candidates, events, accesses, tier_changes, edges, policy, as_of))
    if policy.promote_warm:
        rising.append(_warm(undisputed, policy, as_of))
    if policy.promote_core:
        rising.append(_core(undisputed, scored, policy))
    empty = TABLES["promotions"].empty().drop("plan_id", "rules", "reasons")
    joined = (
        pl.concat([empty, *rising], how="diagonal")
        .group_by(KEY, maintain_order=True)
        .agg(
            pl.col(_RAISED).drop_nulls().first(),
            pl.col("rule").str.join("+"),
            pl.col("reason").str.join(" "),
            rules=pl.col("rule"),
            reasons=pl.col("reason"),
        )
    )
    return TABLES["promotions"].conform(joined.with_columns(plan_id=pl.lit(plan_id)))


def _contradicted(memories: Frame[Memories], edges: pl.DataFrame) -> pl.DataFrame:
    """Return memories in conflict with a live memory; neither CONTRADICTS/contrast nor a mere proposal counts."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(KEY)
    conflicts = edges.filter(
        pl.col("edge_type") == "CONTRADICTS", pl.col("kind").ne_missing(pl.lit("contrast")), ~edge_rows.is_fact_link()
    )
    ends = [("source", "target"), ("target", "source")]
    pairs = [conflicts.select("profile_id", pl.col(one).alias("memory_id"), other=other) for one, other in ends]
    return pl.concat(pairs).join(live, left_on=["profile_id", "other"], right_on=KEY, how="semi")


def _tiers(
    candidates: pl.DataFrame,
    events: Frame[Events],
    accesses: Frame[Accesses],
    tier_changes: Frame[TierChanges],
    edges: pl.DataFrame,
    policy: Policy,
    as_of: datetime,
) -> pl.DataFrame:
    """Return the next tier of each memory whose energy exceeded the threshold, at the first instant at which it did."""
    below = candidates.filter(pl.col("tier").is_in(list(HIGHER)))
    starts = below.select(*KEY, "created_at", "tier_since", "session_id", before="tier")
    bound = pl.col("before").replace_strict(
        {"working": policy.short_term_energy, "short_term": policy.long_term_energy}, return_dtype=pl.Float64
    )
    touches = (
        energy.history(below, accesses, edges, tier_changes)
        .unique([*KEY, "at"], keep="last", maintain_order=True)
        .join(starts, on=KEY)
        .with_columns(bound=bound, rule=pl.lit("energy"))
    )
    ends = _session_ends(starts, events)
    at_session_end = energy.at(below, accesses, edges, tier_changes, ends).with_columns(
        bound=pl.lit(policy.session_end_energy), rule=pl.lit("session_end")
    )
    columns = (*KEY, "created_at", "tier_since", "before", "at", "energy", "bound", "rule")
    reached = (
        pl.concat([touches.select(columns), at_session_end.select(columns)])
        .filter(pl.col("at") >= pl.col("tier_since"), pl.col("at") <= as_of, pl.col("energy") > pl.col("bound"))
        .sort(*KEY, "at", "rule")
        .unique(KEY, keep="first", maintain_order=True)
        .sort("profile_id", "energy", "created_at", "memory_id", descending=[False, True, False, False])
    )
    if policy.promotion_batch:
        reached = reached.group_by("profile_id", maintain_order=True).head(policy.promotion_batch)
    suffix = pl.when(pl.col("rule") == "session_end").then(pl.lit(", when its session ended,")).otherwise(pl.lit(""))
    return reached.with_columns(tier=pl.col("before").replace_strict(HIGHER, return_dtype=pl.String)).select(
        *(*KEY, "tier", "at", "energy", "rule"),
        reason=pl.format(
            "Energy {} at {}{} is above {}: it rises from {} to {}.",
            pl.col("energy").round(4),
            pl.col("at").dt.strftime("%Y-%m-%d %H:%M:%S"),
            suffix,
            "bound",
            "before",
            "tier",
        ),
    )


def _session_ends(starts: pl.DataFrame, events: Frame[Events]) -> pl.DataFrame:
    """Return the ends of the session of each working memory since its creation; a session can end more than once."""
    ends = events.filter(pl.col("event_type") == EventType.SESSION_ENDED.value).select(
        "profile_id", "session_id", at=pl.min_horizontal("occurred_at", "recorded_at")
    )
    return (
        starts.filter(pl.col("before") == "working")
        .join(ends, on=["profile_id", "session_id"])
        .filter(pl.col("at") >= pl.col("created_at"))
    )


def _warm(undisputed: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Return active memories that are used often enough, trusted and valid."""
    return undisputed.filter(
        pl.col("lifecycle") == Lifecycle.ACTIVE.value,
        pl.col("access_count") >= policy.promotion_min_access,
        pl.col("confidence") >= policy.promotion_min_confidence,
        currency.holds(as_of),
    ).select(
        *KEY,
        lifecycle=pl.lit(Lifecycle.WARM.value),
        rule=pl.lit("used"),
        reason=pl.format(
            "{}, confidence {}, and it is valid: it becomes warm.",
            counted("access_count", "access", "accesses"),
            pl.col("confidence").round(4),
        ),
    )


def _core(undisputed: pl.DataFrame, scored: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return memories used often enough over enough sessions."""
    return (
        undisputed.filter(
            pl.col("category") != "core",
            pl.col("access_count") >= policy.core_min_access,
            pl.col("access_sessions") >= policy.core_min_sessions,
        )
        .join(scored.select(*KEY, "stability"), on=KEY)
        .filter(pl.col("stability") >= policy.core_min_stability)
        .select(
            *KEY,
            category=pl.lit("core"),
            rule=pl.lit("core"),
            reason=pl.format(
                "{} over {}, stability {}: it becomes core.",
                counted("access_count", "access", "accesses"),
                counted("access_sessions", "session", "sessions"),
                pl.col("stability").round(4),
            ),
        )
    )
