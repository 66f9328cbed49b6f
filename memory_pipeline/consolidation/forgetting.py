"""Which memories leave the live set, and why.

What is not here: when a summary is made or has gone stale (`summarising`), what protects a memory (`scoring`), and how
many memories may leave in one run (`planning`).
"""

import polars as pl

from memory_pipeline.consolidation.scoring import KEY, bars_supersession
from memory_pipeline.lake.schemas import TABLES, Action, Lifecycle
from memory_pipeline.settings import Policy


def select(
    scored: pl.DataFrame, memories: pl.DataFrame, summaries: pl.DataFrame, policy: Policy, *, plan_id: str
) -> pl.DataFrame:
    """Choose what leaves the live set: members of superseding summaries, then what has lost its relevance.

    - supersede: every member of a summary that supersedes, also one that an older summary already stands for. Only
      explicit protection and core bar it, since the summary inherits every other protection.
    - delete, archive: relevance strictly below the policy's threshold, and no protection (AutoMem's rule). A threshold
      of 0 switches a rule off.

    A memory has one row at most: supersede goes before delete, delete before archive.

    Args:
        scored: table `scored_memories`.
        memories: table `memories`, of the same state.
        summaries: table `summaries`, of the same run.
        policy: thresholds, and what is protected.
        plan_id: plan that the rows belong to.

    Returns:
        Table `archived_set`. `strength` is the relevance where a threshold decided, else the strength of the memory,
        null if it was not live.

    Cost: linear.
    """
    leaving = [
        _superseded(scored, memories, summaries, policy),
        _irrelevant(scored, Action.DELETE, policy.delete_threshold),
        _irrelevant(scored, Action.ARCHIVE, policy.archive_threshold),
    ]
    chosen = pl.concat(leaving, how="diagonal").unique(KEY, keep="first", maintain_order=True)
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
        )
    )


def _irrelevant(scored: pl.DataFrame, action: Action, threshold: float) -> pl.DataFrame:
    """Memories with a relevance below the threshold that nothing protects."""
    return scored.filter(~pl.col("is_protected") & (pl.col("relevance") < threshold)).select(
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
