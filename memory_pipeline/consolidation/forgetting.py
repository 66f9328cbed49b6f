"""Selects the memories that leave the live set, and why.

Not here: when a summary is made or is stale (`summarising`), what protects a live memory (`scoring`), the lifecycle of
superseded memories (`decision_rows`), and the quota of one run (`planning`).
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import KEY, counted, days_between
from memory_pipeline.consolidation.scoring import bars_supersession
from memory_pipeline.consolidation.state.folding import FACT, ORIGINAL
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Action, Frame, Lifecycle, Memories
from memory_pipeline.settings import Policy

_DAY: Final = "%Y-%m-%d"


def select(
    scored: Frame[schemas.ScoredMemories],
    memories: Frame[schemas.Memories],
    summaries: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
    promotions: Frame[schemas.Promotions] | None = None,
) -> pl.DataFrame:
    """Select what leaves the live set: members of superseding summaries, then what the policy forgets.

    - supersede: every member of a superseding summary, even if an older summary supersedes it already. Only explicit
      protection and core prevent it, since the summary inherits every other protection. Also memories whose summary is
      replaced by another one that has them as members.
    - relevance (AutoMem): delete, then archive, what is strictly less relevant than the policy's threshold; 0 disables
      a rule.
    - age_tiers (Engram, ADR-0008): archive memories older than a week that are neither important nor used, memories
      older than 30 days that are not very important, and those of either age weaker than `cold_min_strength`; only if a
      summary that stays has the memory as a member. That summary is the `target_id`.
    - energy (three-tier): expire working memories with less energy than `expire_energy`.
    - retention (cognitive-memory): cold after `cold_after_days` at the floor of the forgetting curve; stub after
      `stub_after_days` of being cold, for a superseded memory only while its summary is live. Never core.

    Protection prevents everything but supersession. Each memory has at most one row, by the first of supersede, delete,
    archive, expire, cold and stub. The summaries are those of the same run, and the live ones that stay. A working
    memory whose tier rises by the promotions of the run does not expire, because these take effect before it.

    Of table `archived_set`, `strength` is the score that the rule used (energy as energy / (1 + energy)), else the
    memory's strength, null if it was not live; `threshold` is the bound that the score fell below, if any. Cost:
    linear.
    """
    uses = memories.select(*KEY, "category", "access_count", "tier")
    unprotected = scored.filter(~pl.col("is_protected")).join(uses, on=KEY, how="left", maintain_order="left")
    none = TABLES["archived_set"].empty().drop("plan_id")
    leaving = [none, _superseded(scored, memories, summaries, policy), _handed_on(memories, summaries)]
    if "relevance" in policy.forgetting:
        leaving.append(_irrelevant(unprotected, Action.DELETE, policy.delete_threshold))
        leaving.append(_irrelevant(unprotected, Action.ARCHIVE, policy.archive_threshold))
    if "energy" in policy.forgetting:
        leaving.append(_spent(unprotected, promotions, policy))
    if "retention" in policy.forgetting:
        leaving += [_faded(unprotected, policy, as_of), _stubs(memories, policy, as_of)]
    if "age_tiers" in policy.forgetting:
        covered = _covered(memories, summaries, pl.concat([rows.select(KEY) for rows in leaving]))
        leaving.append(_aged(unprotected, covered, policy))
    rank = pl.col("action").replace_strict({action.value: rank for rank, action in enumerate(Action)})
    ranked = pl.concat(leaving, how="diagonal").sort(rank, maintain_order=True)
    chosen = ranked.unique(KEY, keep="first", maintain_order=True)
    return TABLES["archived_set"].conform(chosen.with_columns(plan_id=pl.lit(plan_id)))


def _superseded(
    scored: pl.DataFrame, memories: Frame[Memories], summaries: pl.DataFrame, policy: Policy
) -> pl.DataFrame:
    """Return members of superseding summaries; of two such summaries the one with the smaller id wins."""
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
            reason=pl.format(
                "Summary {} takes the place of this memory and {}.", "target_id", counted("others", "other", "others")
            ),
        )
    )


def _handed_on(memories: Frame[Memories], summaries: pl.DataFrame) -> pl.DataFrame:
    """Return memories whose superseding summary is now replaced by another one that has them as members."""
    replacements = summaries.filter(~pl.col("supersedes")).select(
        "profile_id", "members", superseded_by="replaces", target_id="summary_id"
    )
    departed = memories.filter(~pl.col("lifecycle").is_in([*LIVE, Lifecycle.DELETED.value]), pl.col("kind") == ORIGINAL)
    return (
        departed.select(*KEY, "superseded_by")
        .join(replacements.explode("superseded_by").drop_nulls(), on=["profile_id", "superseded_by"])
        .filter(pl.col("memory_id").is_in(pl.col("members")))
        .sort(*KEY, "target_id")
        .select(
            *KEY,
            "target_id",
            action=pl.lit(Action.SUPERSEDE.value),
            rule=pl.lit("replaced_by_summary"),
            reason=pl.format("Summary {} takes the place of {}, which stood for it.", "target_id", "superseded_by"),
        )
    )


def _irrelevant(unprotected: pl.DataFrame, action: Action, threshold: float) -> pl.DataFrame:
    """Return memories with a relevance below the threshold."""
    return unprotected.filter(pl.col("relevance") < threshold).select(
        *KEY,
        action=pl.lit(action.value),
        rule=pl.lit(f"{action.value}_threshold"),
        reason=pl.format(
            f"Relevance {{}} is below the {action.value} threshold {threshold:g}: {{}} days old, {{}} days since "
            "the last access, importance {}, confidence {}, {}.",
            pl.col("relevance").round(4),
            pl.col("age_days").round(1),
            pl.col("idle_days").round(1),
            pl.col("importance").round(2),
            pl.col("confidence").round(2),
            counted("relationship_count", "neighbour", "neighbours"),
        ),
        strength="relevance",
        threshold=pl.lit(threshold),
    )


def _spent(unprotected: pl.DataFrame, promotions: pl.DataFrame | None, policy: Policy) -> pl.DataFrame:
    """Return working memories whose energy is below the threshold."""
    minimum = policy.expire_energy
    spent = unprotected.filter((pl.col("tier") == "working") & (pl.col("energy") < minimum))
    if promotions is not None:
        spent = spent.join(promotions.drop_nulls("tier"), on=KEY, how="anti")
    return spent.select(
        *KEY,
        action=pl.lit(Action.EXPIRE.value),
        rule=pl.lit("expire_energy"),
        reason=pl.format(f"Energy {{}} of a working memory is below {minimum:g}.", pl.col("energy").round(4)),
        strength=1.0 - 1.0 / (1.0 + pl.col("energy")),
        threshold=pl.lit(1.0 - 1.0 / (1.0 + minimum)),
    )


def _faded(unprotected: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Return memories that have been at the floor of their forgetting curve for `cold_after_days`."""
    now = pl.lit(as_of, dtype=INSTANT)
    days = days_between(pl.col("floored_at"), now)
    return unprotected.filter(
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
    )


def _stubs(memories: Frame[Memories], policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Return memories that have been cold for `stub_after_days`.

    Cold memories have no score, so only protections that need none apply. A superseded memory comes back when its
    summary leaves, so its text is cut only while the summary is live.
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
            ~_protected_without_score(policy),
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
        )
    )


def _protected_without_score(policy: Policy) -> pl.Expr:
    """Return whether a row of `memories` is protected by what an agent stated about it."""
    types = [name.lower() for name in policy.protected_types]
    important = pl.col("importance_given") >= pl.lit(policy.protected_importance, pl.Float64)
    typed = pl.col("memory_type").str.to_lowercase().is_in(types)
    return bars_supersession(policy) | important.fill_null(value=False) | typed


def _covered(memories: Frame[Memories], summaries: pl.DataFrame, leaving: pl.DataFrame) -> pl.DataFrame:
    """Return the members of summaries that are live after this run, each with its smallest summary: KEY, target_id."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE) & ~pl.col("kind").is_in([ORIGINAL, FACT]))
    replaced = summaries.select("profile_id", memory_id="replaces").explode("memory_id").drop_nulls()
    after = pl.concat(
        [
            summaries.filter(pl.col("kind").ne_missing(FACT)).select("profile_id", "members", memory_id="summary_id"),
            live.select(*KEY, "members"),
        ],
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


def _aged(unprotected: pl.DataFrame, covered: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return covered memories that are old and not important, used or strong enough for their age."""
    cold = pl.col("age_tier") == "cold"
    bound = pl.when(cold).then(policy.cold_keep_importance).otherwise(policy.archive_keep_importance)
    unused = ~cold | (pl.col("access_count") < policy.cold_keep_access)
    old = unprotected.filter(pl.col("age_tier").is_in(["cold", "archive"])).with_columns(
        unimportant=(pl.col("importance") < bound) & unused, weak=pl.col("strength") < policy.cold_min_strength
    )

    def by_rule(unimportant: pl.Expr | str, weak: pl.Expr | str) -> pl.Expr:
        return pl.when("unimportant").then(unimportant).otherwise(weak)

    return (
        old.filter(pl.col("unimportant") | pl.col("weak"))
        .join(covered, on=KEY, maintain_order="left")
        .with_columns(
            action=pl.lit(Action.ARCHIVE.value),
            rule=by_rule(pl.concat_str(pl.lit("age_tier_"), "age_tier"), pl.lit("cold_min_strength")),
            score=by_rule(pl.lit("importance"), pl.lit("strength")),
            strength=by_rule("importance", "strength"),
            threshold=by_rule(bound, pl.lit(policy.cold_min_strength)),
        )
        .select(
            *(*KEY, "target_id", "action", "rule", "strength", "threshold"),
            reason=pl.format(
                "{} days old, {}, {} {} below {}: summary {} stands for it.",
                pl.col("age_days").round(1),
                counted("access_count", "access", "accesses"),
                "score",
                pl.col("strength").round(4),
                "threshold",
                "target_id",
            ),
        )
    )
