"""Scores every live memory, with all factors, and says whether and why it is protected.

Four published scores stand side by side: relevance (AutoMem), retention (cognitive-memory), recency (Engram, ADR-0008)
and energy (three-tier). All are closed forms of what the ledger's fold gives, so a score depends only on the instant
and never on earlier runs. Not here: graph centrality (`edges.centrality`), and what follows from a score (`forgetting`,
`clustering`).

Formulas multiply by reciprocals instead of dividing. Polars divides exactly by a column, but multiplies by the
reciprocal when it sees that the divisor is one value (a literal, a single row, a column that happens to be constant),
so the last bit of a quotient would depend on which rows stand beside it.
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import DAY, KEY, days_between
from memory_pipeline.consolidation.state.energy import ENERGY_DECAY
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Frame, Memories
from memory_pipeline.settings import Policy

RETENTION_DAYS: Final[dict[str, float]] = {
    "episodic": 45.0,
    "semantic": 120.0,
    "core": 120.0,
    "opinion": 120.0,
    "procedural": float("inf"),
}
"""Time scale of the forgetting curve in days. Procedural memories are never forgotten; an unlisted category decays
like an episode."""

RETENTION_FLOORS: Final[dict[str, float]] = {"core": 0.60}
"""Lower bound of retention per category; other categories use `RETENTION_FLOOR`."""

RETENTION_FLOOR: Final = 0.02

POWER: Final = 1.4427
"""Exponent of the power curve of retention, 1 / ln 2."""

YIELDS: Final = "; a token budget goes before that"
"""Suffix of a protection reason that a token budget overrides."""

READ: Final = (
    *(*KEY, "kind", "memory_type", "memory_type_inferred", "category", "tier", "importance_given", "confidence"),
    *("created_at", "last_accessed_at", "access_count", "stability_given", "stability_gain", "energy_base"),
    *("energy_at", "lifecycle", "superseded_kind", "superseded_by", "protected", "protected_reason"),
)
"""Columns of `memories` that scores and protection depend on."""

MEASURED: Final = (*KEY, "importance", "importance_unraised", "relationship_count")
"""Columns of `memory_importance` that they depend on."""

AGE_TIERS: Final[dict[str, float]] = {"hot": 1.0, "warm": 7.0, "cold": 30.0}
"""Age in days at which each tier ends, exclusive; older memories are in tier `archive` (ADR-0008)."""


def score(
    memories: Frame[schemas.Memories],
    importance: Frame[schemas.MemoryImportance],
    edges: Frame[schemas.AssociationEdges],
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Score every live memory: table `scored_memories`, one row each. Of the edges only CAUSED_BY is read.

    Ages are fractional days at `as_of` and never negative. Raises ValueError: a live memory has no row in `importance`.
    Cost: linear, about half a microsecond per memory; twice that if the tables are in different orders.
    """
    live = _measured(memories.filter(pl.col("lifecycle").is_in(LIVE)).select(READ), importance)
    if unmeasured := live.filter(pl.col("importance").is_null()).head(1).rows(named=True):
        raise ValueError(
            f"memory {unmeasured[0]['memory_id']!r} of profile {unmeasured[0]['profile_id']!r} has no row in "
            "memory_importance; compute memory_importance from the same memories first"
        )
    caused = edges.filter(pl.col("edge_type") == "CAUSED_BY").select("profile_id", "source", "target")
    scored = (
        live.join(_effects(live, caused), on=KEY, how="left", maintain_order="left")
        .join(_supersedes(memories), on=KEY, how="left", maintain_order="left")
        .pipe(factors, policy, as_of=as_of)
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


def _measured(live: pl.DataFrame, importance: pl.DataFrame) -> pl.DataFrame:
    """Add importance and relationships to live memories; null for a memory without a row.

    Tables are in canonical order, so nearly always row stands beside row, and comparing the keys is a hundredth of the
    cost of a join.
    """
    measured = importance.select(MEASURED)
    if live.select(KEY).equals(measured.select(KEY)):
        return live.hstack(measured.drop(KEY))
    return live.join(measured, on=KEY, how="left", validate="1:1", maintain_order="left")


def factors(memories: pl.DataFrame, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Add the four published scores with their factors to memories in any lifecycle.

    The memories have `importance` and `relationship_count` (see `centrality.relations`).
    """
    return (
        memories.with_columns(_ages(as_of))
        .with_columns(*_relevance_factors(policy), *_curves(policy))
        .with_columns(_relevance(policy), *_pace())
        .with_columns(_retention(policy))
    )


def _ages(as_of: datetime) -> list[pl.Expr]:
    """Time since creation, last use and last touch, in days or hours."""
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
    """Return factors of AutoMem's relevance.

    AutoMem's design has access_base 0 and access_weight 1; its release 0.16 has 0.3 and 0.3. A memory below the
    importance threshold does not decay further: it keeps the age and idle time of its last use.
    """
    frozen = (pl.col("importance") < pl.lit(policy.decay_importance_threshold, pl.Float64)).fill_null(value=False)
    age = pl.when(frozen).then("used_age_days").otherwise("age_days")
    idle = pl.when(frozen).then(0.0).otherwise("idle_days")
    access = pl.when(idle < 1.0).then(1.0).otherwise((-0.05 * idle).exp())
    return [
        (-policy.base_decay_rate * age).exp().alias("age_factor"),
        (policy.access_base + policy.access_weight * access).alias("access_factor"),
        (1.0 + policy.relationship_preservation * pl.col("relationship_count").log1p()).alias("relationship_factor"),
        (0.5 + pl.col("importance")).alias("importance_factor"),
        (0.7 + 0.3 * pl.col("confidence")).alias("confidence_factor"),
    ]


def _relevance(policy: Policy) -> pl.Expr:
    """Return AutoMem's relevance: the product of its factors, at least the importance floor and at most 1."""
    product = pl.col("age_factor") * pl.col("access_factor") * pl.col("relationship_factor")
    product = product * pl.col("importance_factor") * pl.col("confidence_factor")
    floor = policy.importance_floor_factor * pl.col("importance")
    return pl.max_horizontal(product, floor).clip(upper_bound=1.0).alias("relevance")


def _curves(policy: Policy) -> list[pl.Expr]:
    """Return the stability (cognitive-memory), recency (ADR-0008), energy (three-tier) and age tier."""
    initial = pl.coalesce("stability_given", 0.1 + 0.3 * pl.col("importance"))
    decay = pl.col("tier").replace_strict(ENERGY_DECAY, return_dtype=pl.Float64)
    access_count = pl.col("access_count")
    growth = access_count.log1p() if policy.recency_stability == "log" else access_count
    lifetime = policy.recency_base_hours + policy.recency_access_hours * growth
    tiers = [pl.when(pl.col("age_days") < end).then(pl.lit(tier)) for tier, end in AGE_TIERS.items()]
    return [
        (initial + pl.col("stability_gain")).clip(upper_bound=1.0).alias("stability"),
        (1.0 / lifetime).alias("recency_rate"),
        (-pl.col("untouched_hours") * (1.0 / lifetime)).exp().alias("recency"),
        decay.alias("energy_rate"),
        (pl.col("energy_base") * (-decay * pl.col("energy_hours")).exp()).alias("energy"),
        pl.coalesce(*tiers, pl.lit("archive")).alias("age_tier"),
    ]


def _pace() -> list[pl.Expr]:
    """Return how fast each memory is forgotten, and its floor: `rate` in days, `retention_rate` per day."""
    category = pl.col("category")
    scale = category.replace_strict(RETENTION_DAYS, default=RETENTION_DAYS["episodic"], return_dtype=pl.Float64)
    floor = category.replace_strict(RETENTION_FLOORS, default=RETENTION_FLOOR, return_dtype=pl.Float64)
    boost = (1.0 + 2.0 * pl.col("importance")).clip(upper_bound=3.0)
    rate = pl.col("stability").clip(lower_bound=0.01) * boost * scale
    return [rate.alias("rate"), (1.0 / rate).alias("retention_rate"), floor.alias("retention_floor")]


def _retention(policy: Policy) -> list[pl.Expr]:
    """Return the forgetting curve of cognitive-memory, and when it reaches its floor if the memory is not used.

    The rate is S * B * scale days. The exponential curve exp(-days / rate) reaches a floor f after rate * ln(1 / f)
    days; the power curve (1 + days / rate) ** -POWER does so after rate * (f ** (-1 / POWER) - 1) days.
    """
    rate, floor = pl.col("rate"), pl.col("retention_floor")
    spent = pl.col("idle_days") * pl.col("retention_rate")
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
    """Return the score that the policy decides by."""
    if policy.strength == "energy":
        return 1.0 - 1.0 / (1.0 + pl.col("energy"))
    if policy.strength == "recency_importance":
        return 0.5 * (pl.col("recency") + pl.col("importance"))
    return pl.col(policy.strength)


def _protection(policy: Policy) -> pl.Expr:
    """Return the first protection reason that applies, else null.

    Under a token budget, reasons that the budget must respect come first; the others get the suffix `YIELDS`. Reasons
    quote the policy's bounds and not the memory's own values, so that rows can be grouped by reason.
    """
    reasons = _reasons(policy)
    first = [pl.when(applies).then(reason) for applies, _, reason in reasons]
    if policy.token_budget is None:
        return pl.coalesce(first)
    firm = [pl.when(holds).then(reason) for _, holds, reason in reasons]
    return pl.coalesce(*firm, pl.coalesce(first) + YIELDS)


def _firm(policy: Policy) -> pl.Expr:
    """Return whether a protection reason applies that a token budget must respect."""
    return pl.any_horizontal(holds.fill_null(value=False) for _, holds, _ in _reasons(policy))


def _reasons(policy: Policy) -> list[tuple[pl.Expr, pl.Expr, pl.Expr]]:
    """Return protection reasons in order: whether each applies, whether it holds against a token budget, its text.

    A token budget is set by a person, so age does not protect from it (a young store could never meet its budget), nor
    does anything inferred from a text. An unset bound compares to null and protects nothing.
    """
    types = [name.lower() for name in policy.protected_types]
    importance, flagged, core = pl.lit(policy.protected_importance), _flagged(policy), _core(policy)
    typed, original = pl.col("memory_type").str.to_lowercase().is_in(types), pl.col("kind") == "original"
    young = pl.col("age_days") < policy.grace_period_days
    cause = pl.col("effects") >= pl.lit(policy.protected_causes)
    stated = pl.coalesce("protected_reason", pl.lit("explicitly protected"))
    return [
        (flagged, flagged, stated),
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
    """Return whether a row of `memories` must not be superseded even by a summary: explicitly protected, or core."""
    return _flagged(policy) | _core(policy)


def _flagged(policy: Policy) -> pl.Expr:
    return pl.col("protected") & policy.protect_flagged


def _core(policy: Policy) -> pl.Expr:
    return (pl.col("category") == "core") & policy.protect_core


def _effects(live: pl.DataFrame, caused: pl.DataFrame) -> pl.DataFrame:
    """Count the live memories that each memory caused: in-degree over CAUSED_BY, which points from effect to cause."""
    sources = caused.select("profile_id", memory_id="source").unique()
    present = live.select(KEY).join(sources, on=KEY, how="semi")  # few are causes: hash those, not all memories
    return (
        caused.join(present, left_on=["profile_id", "source"], right_on=KEY, how="semi")
        .group_by("profile_id", memory_id="target")
        .agg(effects=pl.col("source").n_unique())
    )


def _supersedes(memories: Frame[Memories]) -> pl.DataFrame:
    """Return summaries that superseded a memory, which would have to return if the summary left."""
    return (
        memories.filter(pl.col("superseded_kind") == "summary")
        .select("profile_id", memory_id="superseded_by", supersedes=pl.lit(True))
        .unique()
    )
