"""Every score of a live memory, with each of its factors, and whether and why it is protected.

Four published scores stand side by side: relevance, retention, recency and energy. All of them are closed forms of
what the ledger's fold knows about a memory, so a score depends on the instant alone and never on earlier runs.
What is not here: how central a memory is (`centrality`), and what follows from a score (`forgetting`, `clustering`).

No formula divides by anything but takes the product with a reciprocal. Polars divides exactly by a column, but by what
it knows to be one value (a constant, a single row, a column that happens to repeat one) it multiplies with the
reciprocal; the last bit of a quotient would depend on which rows stand beside it.
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.state.energy import ENERGY_DECAY
from memory_pipeline.schemas import INSTANT, LIVE, TABLES
from memory_pipeline.settings import Policy

KEY: Final = ["profile_id", "memory_id"]
DAY: Final = 86_400_000_000
"""Microseconds in a day."""

RETENTION_DAYS: Final[dict[str, float]] = {
    "episodic": 45.0,
    "semantic": 120.0,
    "core": 120.0,
    "opinion": 120.0,
    "procedural": float("inf"),
}
"""Time scale of the forgetting curve, in days: what is procedural is never forgotten, and a category that is not listed
is forgotten like an episode."""

RETENTION_FLOORS: Final[dict[str, float]] = {"core": 0.60}
"""Retention below which a category never falls; others stop at `RETENTION_FLOOR`."""

RETENTION_FLOOR: Final = 0.02

POWER: Final = 1.4427
"""Exponent of the power curve of retention, 1 / ln 2."""

YIELDS: Final = "; a token budget goes before that"
"""Ends a reason of protection that does not hold against the token budget that is set."""

AGE_TIERS: Final[dict[str, float]] = {"hot": 1.0, "warm": 7.0, "cold": 30.0}
"""Age in days at which each tier ends, exclusive; what is older is `archive`."""


def score(
    memories: pl.DataFrame,
    importance: pl.DataFrame,
    edges: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Score every live memory.

    Args:
        memories: table `memories`.
        importance: table `memory_importance`; one row for each live memory.
        edges: table `association_edges`; only CAUSED_BY is read.
        policy: constants of the formulas, the score that counts as `strength`, and what is protected.
        as_of: instant of the scores. Ages are fractional days, and nothing is younger than zero.
        plan_id: plan that the rows belong to.

    Returns:
        Table `scored_memories`, one row a live memory.

    Raises:
        ValueError: a live memory has no row in `importance`.

    Cost: linear, about a microsecond a memory; most of it is joining the tables.
    """
    known = importance.select(*KEY, "importance", "importance_unraised", "relationship_count")
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).join(
        known, on=KEY, how="left", validate="1:1", maintain_order="left"
    )
    if unknown := live.filter(pl.col("importance").is_null()).head(1).rows(named=True):
        raise ValueError(
            f"memory {unknown[0]['memory_id']!r} of profile {unknown[0]['profile_id']!r} has no row in "
            "memory_importance; compute memory_importance from the same memories first"
        )
    caused = edges.filter(pl.col("edge_type") == "CAUSED_BY").select("profile_id", "source", "target")
    scored = (
        live.join(_effects(live, caused), on=KEY, how="left", maintain_order="left")
        .join(_supersedes(memories), on=KEY, how="left", maintain_order="left")
        .with_columns(_ages(as_of))
        .with_columns(*_relevance_factors(policy), *_curves(policy))
        .with_columns(_relevance(policy), *_retention(policy))
        .with_columns(
            _strength(policy).alias("strength"),
            _firm(policy).alias("budget_protected"),
            _protection(policy).alias("protection_reason"),
            pl.lit(as_of, dtype=INSTANT).alias("as_of"),
            pl.lit(plan_id).alias("plan_id"),
        )
        .with_columns(pl.col("protection_reason").is_not_null().alias("is_protected"))
    )
    return TABLES["scored_memories"].conform(scored)


def days_between(earlier: pl.Expr, later: pl.Expr) -> pl.Expr:
    """Fractional days from `earlier` to `later`, never negative; whole days are exact up to a century."""
    return ((later - earlier).dt.total_microseconds() * (1.0 / DAY)).clip(lower_bound=0.0)


def _ages(as_of: datetime) -> list[pl.Expr]:
    now, created = pl.lit(as_of, dtype=INSTANT), pl.col("created_at")
    used = pl.coalesce("last_accessed_at", created)
    return [
        used.alias("used_at"),
        days_between(created, now).alias("age_days"),
        days_between(used, now).alias("idle_days"),
        days_between(created, pl.min_horizontal(used, now)).alias("used_age_days"),
        (24.0 * days_between(pl.max_horizontal("last_accessed_at", created), now)).alias("untouched_hours"),
        (24.0 * days_between(pl.col("energy_at"), now)).alias("energy_hours"),
    ]


def _relevance_factors(policy: Policy) -> list[pl.Expr]:
    """AutoMem: its design has access_base 0 and access_weight 1, its release 0.16 has .3 and .3.

    What is less important than the threshold keeps the age and idleness that it had when it was used last.
    """
    kept = (pl.col("importance") < pl.lit(policy.decay_importance_threshold, pl.Float64)).fill_null(value=False)
    age = pl.when(kept).then("used_age_days").otherwise("age_days")
    idle = pl.when(kept).then(0.0).otherwise("idle_days")
    access = pl.when(idle < 1.0).then(1.0).otherwise((-0.05 * idle).exp())
    return [
        (-policy.base_decay_rate * age).exp().alias("age_factor"),
        (policy.access_base + policy.access_weight * access).alias("access_factor"),
        (1.0 + policy.relationship_preservation * pl.col("relationship_count").log1p()).alias("relationship_factor"),
        (0.5 + pl.col("importance")).alias("importance_factor"),
        (0.7 + 0.3 * pl.col("confidence")).alias("confidence_factor"),
    ]


def _relevance(policy: Policy) -> pl.Expr:
    product = pl.col("age_factor") * pl.col("access_factor") * pl.col("relationship_factor")
    product = product * pl.col("importance_factor") * pl.col("confidence_factor")
    floor = policy.importance_floor_factor * pl.col("importance")
    return pl.max_horizontal(product, floor).clip(upper_bound=1.0).alias("relevance")


def _curves(policy: Policy) -> list[pl.Expr]:
    """Stability of retention (cognitive-memory), recency (ADR-0008), energy (three-tier) and the tier by age."""
    given = pl.coalesce("stability_given", 0.1 + 0.3 * pl.col("importance"))
    decay = pl.col("tier").replace_strict(ENERGY_DECAY, return_dtype=pl.Float64)
    uses = pl.col("access_count")
    lengthened = uses.log1p() if policy.recency_stability == "log" else uses
    lifetime = policy.recency_base_hours + policy.recency_access_hours * lengthened
    tiers = [pl.when(pl.col("age_days") < end).then(pl.lit(tier)) for tier, end in AGE_TIERS.items()]
    return [
        (given + pl.col("stability_gain")).clip(upper_bound=1.0).alias("stability"),
        (-pl.col("untouched_hours") * (1.0 / lifetime)).exp().alias("recency"),
        (pl.col("energy_base") * (-decay * pl.col("energy_hours")).exp()).alias("energy"),
        pl.coalesce(*tiers, pl.lit("archive")).alias("age_tier"),
    ]


def _retention(policy: Policy) -> list[pl.Expr]:
    """Forgetting curve of cognitive-memory, and the instant at which it reaches its floor if nothing happens.

    With a rate of S * B * scale days: exp(-days / rate), which reaches a floor f after rate * ln(1 / f) days; or the
    power curve (1 + days / rate) ** -POWER, which does so after rate * (f ** (-1 / POWER) - 1) days.
    """
    category = pl.col("category")
    scale = category.replace_strict(RETENTION_DAYS, default=RETENTION_DAYS["episodic"], return_dtype=pl.Float64)
    floor = category.replace_strict(RETENTION_FLOORS, default=RETENTION_FLOOR, return_dtype=pl.Float64)
    boost = (1.0 + 2.0 * pl.col("importance")).clip(upper_bound=3.0)
    rate = pl.col("stability").clip(lower_bound=0.01) * boost * scale
    spent = pl.col("idle_days") * (1.0 / rate)
    if policy.retention_curve == "power":
        curve, reached = (-POWER * spent.log1p()).exp(), (floor.log() * (-1.0 / POWER)).exp() - 1.0
    else:
        curve, reached = (-spent).exp(), -floor.log()
    days = rate * reached
    lasting = pl.duration(microseconds=(pl.when(days.is_finite()).then(days) * DAY).ceil().cast(pl.Int64))
    return [
        pl.max_horizontal(curve, floor).alias("retention"),
        (pl.col("used_at") + lasting).alias("floored_at"),
    ]


def _strength(policy: Policy) -> pl.Expr:
    if policy.strength == "energy":
        return 1.0 - 1.0 / (1.0 + pl.col("energy"))
    if policy.strength == "recency_importance":
        return 0.5 * (pl.col("recency") + pl.col("importance"))
    return pl.col(policy.strength)


def _protection(policy: Policy) -> pl.Expr:
    """First reason that applies, else null; under a token budget first those that hold against it, of others that.

    Reasons hold the policy's numbers, not the memory's, so that rows can be grouped by them; the memory's own numbers
    stand in the columns beside.
    """
    reasons = _reasons(policy)
    first = [pl.when(applies).then(reason) for applies, _, reason in reasons]
    if policy.token_budget is None:
        return pl.coalesce(first)
    firm = [pl.when(holds).then(reason) for _, holds, reason in reasons]
    return pl.coalesce(*firm, pl.coalesce(first) + YIELDS)


def _firm(policy: Policy) -> pl.Expr:
    """Whether a reason applies that holds against a token budget too."""
    return pl.any_horizontal(holds.fill_null(value=False) for _, holds, _ in _reasons(policy))


def _reasons(policy: Policy) -> list[tuple[pl.Expr, pl.Expr, pl.Expr]]:
    """What protects: whether it applies, whether it does so against a token budget too, and what it is called.

    Against a budget, which somebody has set, age is no reason, since a young store could never keep one, nor is what
    rules make of a text. A bound that is unset compares to null and so gives no reason.
    """
    types = [name.lower() for name in policy.protected_types]
    importance, flagged, core = pl.lit(policy.protected_importance), _flagged(policy), _core(policy)
    typed, original = pl.col("memory_type").str.to_lowercase().is_in(types), pl.col("kind") == "original"
    young = pl.col("age_days") < policy.grace_period_days
    cause = pl.col("effects") >= pl.lit(policy.protected_causes)
    said = pl.coalesce("protected_reason", pl.lit("explicitly protected"))
    return [
        (flagged, flagged, said),
        (
            pl.col("importance_unraised") >= importance,
            original & (pl.col("importance_given") >= importance),
            pl.lit(f"importance at least {policy.protected_importance}"),
        ),
        (young, pl.lit(value=False), pl.lit(f"younger than {policy.grace_period_days:g} days")),
        (typed, original & typed & ~pl.col("memory_type_inferred"), pl.format("protected type: {}", "memory_type")),
        (core, core, pl.lit("core")),
        (cause, cause, pl.lit(f"cause of at least {policy.protected_causes} live memories")),
        (pl.col("supersedes"), pl.col("supersedes"), pl.lit("summary")),
    ]


def bars_supersession(policy: Policy) -> pl.Expr:
    """Whether a row of `memories` may not even give way to a summary: explicitly protected, or core."""
    return _flagged(policy) | _core(policy)


def _flagged(policy: Policy) -> pl.Expr:
    return pl.col("protected") & policy.protect_flagged


def _core(policy: Policy) -> pl.Expr:
    return (pl.col("category") == "core") & policy.protect_core


def _effects(live: pl.DataFrame, caused: pl.DataFrame) -> pl.DataFrame:
    """How many live memories each memory caused: in-degree over CAUSED_BY, which points from effect to cause."""
    return (
        caused.join(live, left_on=["profile_id", "source"], right_on=KEY, how="semi")
        .group_by("profile_id", memory_id="target")
        .agg(effects=pl.col("source").n_unique())
    )


def _supersedes(memories: pl.DataFrame) -> pl.DataFrame:
    """Summaries in whose place a superseded memory would have to come back."""
    return (
        memories.filter(pl.col("superseded_kind") == "summary")
        .select("profile_id", memory_id="superseded_by", supersedes=pl.lit(True))
        .unique()
    )
