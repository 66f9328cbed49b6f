"""Which memories rise, and why: to a higher tier by energy, to warm by use, to core by long use.

What is not here: how energy is reckoned (`energy`), what falls (`forgetting`), and what a promotion does to a memory
(`projection`).
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.consolidation.state import energy
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, EventType, Lifecycle
from memory_pipeline.settings import Policy

HIGHER: Final = {"working": "short_term", "short_term": "long_term"}
"""The tier above each tier; nothing is above the last."""

_RAISED: Final = ("tier", "at", "energy", "lifecycle", "category")
"""What a promotion can change."""


def promote(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    events: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    edges: pl.DataFrame,
    fact_changes: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Choose what rises, of live memories whose place no summary takes.

    - Tiers (three-tier): from working to short_term at the first touch (creation, access or reinforcement) that leaves
      more energy than `short_term_energy`, and from short_term to long_term likewise at `long_term_energy`. Touches
      count from the last change of tier on, its own instant included. When a session ends, its working memories need
      only more than `session_end_energy` at that instant. The change takes effect at the instant that called for it, so
      it does not matter how often anybody looks; one tier a run, and at most `promotion_batch` changes a profile.
    - Warm (SuperLocalMemory): active memories with enough accesses and confidence that hold at `as_of`.
    - Core (cognitive-memory): with enough accesses, stability and sessions.

    A memory that a newer one contradicts or ends becomes neither warm nor core; its tier says how it was used, and
    depends on neither.

    Args:
        memories: table `memories`.
        scored: table `scored_memories`, for the stability.
        events: table `events`; only session.ended is read.
        accesses: table `accesses`.
        tier_changes: table `tier_changes`.
        edges: table `association_edges`; only REINFORCES and CONTRADICTS are read.
        fact_changes: table `fact_changes` of the same run: what a newer memory ends.
        policy: bounds, and which promotions there are.
        as_of: the one clock of the run.
        plan_id: plan that the rows belong to.

    Returns:
        Table `promotions`, one row a memory; what stays as it is, is null there. Several rules of one memory are joined
        by a plus sign.

    Cost: that of `energy.history` for memories below the highest tier, else linear.
    """
    able = memories.filter(pl.col("lifecycle").is_in(LIVE), pl.col("superseded_kind").ne_missing(pl.lit("summary")))
    standing = able.filter(pl.col("superseded_by").is_null())
    ended = fact_changes.filter(pl.col("relation") == "update", pl.col("at") <= pl.lit(as_of, dtype=INSTANT))
    disputed = pl.concat([_contradicted(memories, edges).select(KEY), ended.select(KEY)])
    agreed = standing.join(disputed, on=KEY, how="anti", maintain_order="left")
    rising = []
    if policy.promote_tiers:
        rising.append(_tiers(able, events, accesses, tier_changes, edges, policy, as_of))
    if policy.promote_warm:
        rising.append(_warm(agreed, policy, as_of))
    if policy.promote_core:
        rising.append(_core(agreed, scored, policy))
    empty = TABLES["promotions"].empty().drop("plan_id")
    joined = (
        pl.concat([empty, *rising], how="diagonal")
        .group_by(KEY, maintain_order=True)
        .agg(pl.col(_RAISED).drop_nulls().first(), pl.col("rule").str.join("+"), pl.col("reason").str.join(" "))
    )
    return TABLES["promotions"].conform(joined.with_columns(plan_id=pl.lit(plan_id)))


def holds(as_of: datetime) -> pl.Expr:
    """Whether the fact of a memory holds at an instant: from `valid_from` on, until just before `valid_until`."""
    now = pl.lit(as_of, dtype=INSTANT)
    begun = pl.col("valid_from").is_null() | (pl.col("valid_from") <= now)
    ended = pl.col("valid_until").is_not_null() & (pl.col("valid_until") <= now)
    return begun & ~ended


def _contradicted(memories: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Memories that stand in conflict with a live one; a mere contrast is none."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(KEY)
    conflicts = edges.filter(pl.col("edge_type") == "CONTRADICTS", pl.col("kind").ne_missing(pl.lit("contrast")))
    ends = [("source", "target"), ("target", "source")]
    pairs = [conflicts.select("profile_id", pl.col(one).alias("memory_id"), other=other) for one, other in ends]
    return pl.concat(pairs).join(live, left_on=["profile_id", "other"], right_on=KEY, how="semi")


def _tiers(
    able: pl.DataFrame,
    events: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    edges: pl.DataFrame,
    policy: Policy,
    as_of: datetime,
) -> pl.DataFrame:
    """The next tier of each memory whose energy once was enough, at the first instant at which it was."""
    below = able.filter(pl.col("tier").is_in(list(HIGHER)))
    own = below.select(*KEY, "created_at", "tier_since", "session_id", before="tier")
    bound = pl.col("before").replace_strict(
        {"working": policy.short_term_energy, "short_term": policy.long_term_energy}, return_dtype=pl.Float64
    )
    touches = (
        energy.history(below, accesses, edges, tier_changes)
        .unique([*KEY, "at"], keep="last", maintain_order=True)
        .join(own, on=KEY)
        .with_columns(bound=bound, rule=pl.lit("energy"))
    )
    ends = _session_ends(own, events)
    parting = energy.at(below, accesses, edges, tier_changes, ends).with_columns(
        bound=pl.lit(policy.session_end_energy), rule=pl.lit("session_end")
    )
    columns = (*KEY, "created_at", "tier_since", "before", "at", "energy", "bound", "rule")
    reached = (
        pl.concat([touches.select(columns), parting.select(columns)])
        .filter(pl.col("at") >= pl.col("tier_since"), pl.col("at") <= as_of, pl.col("energy") > pl.col("bound"))
        .sort(*KEY, "at", "rule")
        .unique(KEY, keep="first", maintain_order=True)
        .sort("profile_id", "energy", "created_at", "memory_id", descending=[False, True, False, False])
    )
    if policy.promotion_batch:
        reached = reached.group_by("profile_id", maintain_order=True).head(policy.promotion_batch)
    ended = pl.when(pl.col("rule") == "session_end").then(pl.lit(", when its session ended,")).otherwise(pl.lit(""))
    return reached.with_columns(tier=pl.col("before").replace_strict(HIGHER, return_dtype=pl.String)).select(
        *(*KEY, "tier", "at", "energy", "rule"),
        reason=pl.format(
            "Energy {} at {}{} is above {}: it rises from {} to {}.",
            pl.col("energy").round(4),
            pl.col("at").dt.strftime("%Y-%m-%d %H:%M:%S"),
            ended,
            "bound",
            "before",
            "tier",
        ),
    )


def _session_ends(own: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """When the session of each working memory ended, since the memory was made; it can end more than once."""
    ends = events.filter(pl.col("event_type") == EventType.SESSION_ENDED.value).select(
        "profile_id", "session_id", at=pl.min_horizontal("occurred_at", "recorded_at")
    )
    return (
        own.filter(pl.col("before") == "working")
        .join(ends, on=["profile_id", "session_id"])
        .filter(pl.col("at") >= pl.col("created_at"))
    )


def _warm(agreed: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Active memories that are used, trusted and hold."""
    return agreed.filter(
        pl.col("lifecycle") == Lifecycle.ACTIVE.value,
        pl.col("access_count") >= policy.promotion_min_access,
        pl.col("confidence") >= policy.promotion_min_confidence,
        holds(as_of),
    ).select(
        *KEY,
        lifecycle=pl.lit(Lifecycle.WARM.value),
        rule=pl.lit("used"),
        reason=pl.format(
            "{} accesses, confidence {}, and it holds: it becomes warm.", "access_count", pl.col("confidence").round(4)
        ),
    )


def _core(agreed: pl.DataFrame, scored: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Memories that were used again and again, over several sessions."""
    return (
        agreed.filter(
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
                "{} accesses over {} sessions, stability {}: it becomes core.",
                "access_count",
                "access_sessions",
                pl.col("stability").round(4),
            ),
        )
    )
