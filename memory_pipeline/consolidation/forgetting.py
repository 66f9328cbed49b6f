"""Which memories leave the live set, and why.

What is not here: when a summary is made or has gone stale (`summarising`), what protects a live memory (`scoring`),
where a superseded memory goes (`deciding`), and how many memories may leave in one run (`planning`).
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.scoring import KEY, bars_supersession, days_between
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Action, Lifecycle
from memory_pipeline.settings import Policy

_DAY: Final = "%Y-%m-%d"


def select(
    scored: pl.DataFrame,
    memories: pl.DataFrame,
    summaries: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
    promotions: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Choose what leaves the live set: members of superseding summaries, then what the policy forgets.

    - supersede: every member of a summary that supersedes, also one that an older summary already stands for. Only
      explicit protection and core bar it, since the summary inherits every other protection. And what has left for the
      sake of a summary which gives way to another that has it as a member.
    - relevance (AutoMem): delete, then archive, what is strictly less relevant than the policy's threshold; a threshold
      of 0 switches a rule off.
    - age_tiers (ADR-0008): archive what is older than a week and neither important nor used, what is older than 30 days
      and not very important, and of both also what is weaker than `cold_min_strength`; always only if a summary that
      stays has it as a member. That summary is its `target_id`.
    - energy (three-tier): expire working memories with less energy than `expire_energy`.
    - retention (cognitive-memory): cold, what has been at the floor of its forgetting curve for `cold_after_days`;
      stub, what has been cold for `stub_after_days` and, if a summary took its place, has that one live. Never core.

    Protection bars all but supersession. A memory has one row at most, by the first of supersede, delete, archive,
    expire, cold and stub.

    Args:
        scored: table `scored_memories`.
        memories: table `memories`, of the same state.
        summaries: table `summaries` of the same run, and live ones that stay as they are.
        policy: what is forgotten, from which bounds on, and what is protected.
        as_of: the one clock of the run.
        plan_id: plan that the rows belong to.
        promotions: table `promotions` of the same run: a working memory whose tier rises, which takes effect earlier
            than the run, does not expire. None: no tier rises.

    Returns:
        Table `archived_set`. `strength` is the score that a rule looked at (energy as energy / (1 + energy)), else the
        strength of the memory, null if it was not live; `threshold` is the bound that it fell below, if any.

    Cost: linear.
    """
    known = memories.select(*KEY, "category", "access_count", "tier")
    free = scored.filter(~pl.col("is_protected")).join(known, on=KEY, how="left", maintain_order="left")
    leaving = [_superseded(scored, memories, summaries, policy), _handed_on(memories, summaries)]
    if "relevance" in policy.forgetting:
        leaving.append(_irrelevant(free, Action.DELETE, policy.delete_threshold))
        leaving.append(_irrelevant(free, Action.ARCHIVE, policy.archive_threshold))
    if "energy" in policy.forgetting:
        leaving.append(_spent(free, promotions, policy))
    if "retention" in policy.forgetting:
        leaving += [_faded(free, policy, as_of), _stubs(memories, policy, as_of)]
    if "age_tiers" in policy.forgetting:
        staying = _staying(memories, summaries, pl.concat([rows.select(KEY) for rows in leaving]))
        leaving.append(_aged(free, staying, policy))
    place = pl.col("action").replace_strict({action.value: place for place, action in enumerate(Action)})
    first = pl.concat(leaving, how="diagonal").sort(place, maintain_order=True)
    chosen = first.unique(KEY, keep="first", maintain_order=True)
    return TABLES["archived_set"].conform(chosen.with_columns(plan_id=pl.lit(plan_id)))


def _superseded(scored: pl.DataFrame, memories: pl.DataFrame, summaries: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Members that a summary takes the place of; of two such summaries, the one with the smaller id."""
    members = (
        summaries.filter("supersedes")
        .select("profile_id", "members", target_id="summary_id", others=pl.col("members").list.len() - 1)
        .explode("members")
        .rename({"members": "memory_id"})
    )
    return (
        memories.filter((pl.col("lifecycle") != Lifecycle.DELETED.value) & ~bars_supersession(policy))
        .join(members, on=KEY)
        .filter(pl.col("superseded_by").ne_missing(pl.col("target_id")))
        .join(scored.select(*KEY, "strength"), on=KEY, how="left")
        .sort(*KEY, "target_id")
        .select(
            *KEY,
            "target_id",
            "strength",
            action=pl.lit(Action.SUPERSEDE.value),
            rule=pl.lit("superseded_by_summary"),
            reason=pl.format("Summary {} takes the place of this memory and {} others.", "target_id", "others"),
            threshold=pl.lit(None, pl.Float64),
        )
    )


def _handed_on(memories: pl.DataFrame, summaries: pl.DataFrame) -> pl.DataFrame:
    """Memories that have left for the sake of a summary, if another one takes its place that tells of them too."""
    heirs = summaries.filter(~pl.col("supersedes")).select(
        "profile_id", "members", superseded_by="replaces", target_id="summary_id"
    )
    left = memories.filter(~pl.col("lifecycle").is_in([*LIVE, Lifecycle.DELETED.value]), pl.col("kind") == ORIGINAL)
    return (
        left.select(*KEY, "superseded_by")
        .join(heirs.explode("superseded_by").drop_nulls(), on=["profile_id", "superseded_by"])
        .filter(pl.col("memory_id").is_in(pl.col("members")))
        .sort(*KEY, "target_id")
        .select(
            *KEY,
            "target_id",
            strength=pl.lit(None, pl.Float64),
            action=pl.lit(Action.SUPERSEDE.value),
            rule=pl.lit("replaced_by_summary"),
            reason=pl.format("Summary {} takes the place of {}, which stood for it.", "target_id", "superseded_by"),
            threshold=pl.lit(None, pl.Float64),
        )
    )


def _irrelevant(free: pl.DataFrame, action: Action, threshold: float) -> pl.DataFrame:
    """Memories with a relevance below the threshold."""
    return free.filter(pl.col("relevance") < threshold).select(
        *KEY,
        action=pl.lit(action.value),
        rule=pl.lit(f"{action.value}_threshold"),
        reason=pl.format(
            f"Relevance {{}} is below the {action.value} threshold {threshold:g}: {{}} days old, {{}} days since "
            "the last access, importance {}, confidence {}, {} neighbours.",
            pl.col("relevance").round(4),
            pl.col("age_days").round(1),
            pl.col("idle_days").round(1),
            pl.col("importance").round(2),
            pl.col("confidence").round(2),
            "relationship_count",
        ),
        strength="relevance",
        threshold=pl.lit(threshold),
    )


def _spent(free: pl.DataFrame, promotions: pl.DataFrame | None, policy: Policy) -> pl.DataFrame:
    """Working memories whose energy is used up."""
    least = policy.expire_energy
    spent = free.filter((pl.col("tier") == "working") & (pl.col("energy") < least))
    if promotions is not None:
        spent = spent.join(promotions.drop_nulls("tier"), on=KEY, how="anti")
    return spent.select(
        *KEY,
        action=pl.lit(Action.EXPIRE.value),
        rule=pl.lit("expire_energy"),
        reason=pl.format(f"Energy {{}} of a working memory is below {least:g}.", pl.col("energy").round(4)),
        strength=1.0 - 1.0 / (1.0 + pl.col("energy")),
        threshold=pl.lit(1.0 - 1.0 / (1.0 + least)),
    )


def _faded(free: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Memories that have been at the floor of their forgetting curve for long enough, counted by the calendar."""
    now = pl.lit(as_of, dtype=INSTANT)
    days = days_between(pl.col("floored_at"), now)
    return free.filter(
        pl.col("category") != "core", pl.col("floored_at") <= now, days >= policy.cold_after_days
    ).select(
        *KEY,
        action=pl.lit(Action.COLD.value),
        rule=pl.lit("cold_after_days"),
        reason=pl.format(
            f"Retention {{}} has been at its floor since {{}}, for {{}} days; {policy.cold_after_days:g} are enough.",
            pl.col("retention").round(4),
            pl.col("floored_at").dt.strftime(_DAY),
            days.round(1),
        ),
        strength="retention",
        threshold=pl.lit(None, pl.Float64),
    )


def _stubs(memories: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Memories that have been cold for long enough.

    What is cold has no score, so of the protections those count that need none. One that a summary took the place of
    comes back when the summary leaves, so that it is cut short only while the summary lives and tells what it said.
    """
    days = days_between(pl.col("lifecycle_since"), pl.lit(as_of, dtype=INSTANT))
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(
        "profile_id", superseded_by="memory_id", replaced=pl.lit(True)
    )
    return (
        memories.filter(
            pl.col("lifecycle") == Lifecycle.COLD.value,
            pl.col("category") != "core",
            days >= policy.stub_after_days,
            ~_kept_unscored(policy),
        )
        .join(live, on=["profile_id", "superseded_by"], how="left", maintain_order="left")
        .filter(pl.col("superseded_kind").ne_missing("summary") | pl.col("replaced"))
        .select(
            *KEY,
            action=pl.lit(Action.STUB.value),
            rule=pl.lit("stub_after_days"),
            reason=pl.format(
                f"Cold since {{}}, for {{}} days; after {policy.stub_after_days:g} only the beginning is shown.",
                pl.col("lifecycle_since").dt.strftime(_DAY),
                days.round(1),
            ),
            strength=pl.lit(None, pl.Float64),
            threshold=pl.lit(None, pl.Float64),
        )
    )


def _kept_unscored(policy: Policy) -> pl.Expr:
    """Whether a row of `memories` is protected by what the agent said of it."""
    types = [name.lower() for name in policy.protected_types]
    important = pl.col("importance_given") >= pl.lit(policy.protected_importance, pl.Float64)
    typed = pl.col("memory_type").str.to_lowercase().is_in(types)
    return bars_supersession(policy) | important.fill_null(value=False) | typed


def _staying(memories: pl.DataFrame, summaries: pl.DataFrame, leaving: pl.DataFrame) -> pl.DataFrame:
    """Members of summaries that are live after this run, each with the smallest of them: KEY, target_id."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE) & (pl.col("kind") != "original"))
    replaced = summaries.select("profile_id", memory_id="replaces").explode("memory_id").drop_nulls()
    after = pl.concat(
        [summaries.select("profile_id", "members", memory_id="summary_id"), live.select(*KEY, "members")],
        how="diagonal",
    )
    return (
        after.join(pl.concat([replaced, leaving]), on=KEY, how="anti")
        .select("profile_id", "members", target_id="memory_id", size=pl.col("members").list.len())
        .sort("profile_id", "size", "target_id")
        .explode("members")
        .select("profile_id", "target_id", memory_id="members")
        .unique(KEY, keep="first", maintain_order=True)
    )


def _aged(free: pl.DataFrame, staying: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Members of summaries that are old, and not important, used or strong enough for their age."""
    cold = pl.col("age_tier") == "cold"
    bound = pl.when(cold).then(policy.cold_keep_importance).otherwise(policy.archive_keep_importance)
    unused = ~cold | (pl.col("access_count") < policy.cold_keep_access)
    old = free.filter(pl.col("age_tier").is_in(["cold", "archive"])).with_columns(
        slight=(pl.col("importance") < bound) & unused, weak=pl.col("strength") < policy.cold_min_strength
    )

    def told(slight: pl.Expr | str, weak: pl.Expr | str) -> pl.Expr:
        return pl.when("slight").then(slight).otherwise(weak)

    return (
        old.filter(pl.col("slight") | pl.col("weak"))
        .join(staying, on=KEY, maintain_order="left")
        .with_columns(
            action=pl.lit(Action.ARCHIVE.value),
            rule=told(pl.concat_str(pl.lit("age_tier_"), "age_tier"), pl.lit("cold_min_strength")),
            looked_at=told(pl.lit("importance"), pl.lit("strength")),
            strength=told("importance", "strength"),
            threshold=told(bound, pl.lit(policy.cold_min_strength)),
        )
        .select(
            *(*KEY, "target_id", "action", "rule", "strength", "threshold"),
            reason=pl.format(
                "{} days old, {} accesses, {} {} below {}: summary {} stands for it.",
                pl.col("age_days").round(1),
                "access_count",
                "looked_at",
                pl.col("strength").round(4),
                "threshold",
                "target_id",
            ),
        )
    )
