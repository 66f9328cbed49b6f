"""Determines which summaries are due, who their members are, and what a summary inherits from them.

A summary is made of originals only, never of other summaries. Not here: its id (`state.derived_ids`), which memories
belong together (`clustering`), and how a summary is worded (`extracts`, `prompting`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.groups.strategies import SUPERSEDING, summary_kind
from memory_pipeline.consolidation.state.derived_ids import summary_id
from memory_pipeline.schemas import LIVE, ClusterMembers, Clusters, Enrichment, Frame, Memories
from memory_pipeline.settings import Policy
from memory_pipeline.text.score import commands, importance

META_PATTERN: Final = "MetaPattern"
"""Memory type of the summary of a cluster of similar memories."""
CLUSTER: Final = ["profile_id", "cluster_id"]
SUMMARY: Final = ["profile_id", "summary_id"]
VOICE: Final = ("speaker", "agent_id", "user_id", "session_id", "tags", "said_at", "metadata")
"""Columns that record who said a memory, when and where."""
LEAST_MEMBERS: Final = 3
"""Minimum number of members, outdated ones excluded, of a summary that stays beside them."""
LEAST_SAID: Final = 0.3
"""Minimum importance, by its text, of a member that says something; below it are greetings, jokes and answers out of
context."""
_TEXT: Final = ["profile_id", "content_hash"]


def due(
    clusters: Frame[Clusters],
    cluster_members: Frame[ClusterMembers],
    memories: Frame[Memories],
    scored: pl.DataFrame,
    enrichment: Frame[Enrichment],
    policy: Policy,
    *,
    outdated: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the members of every summary that is due: of clusters that get one and whose summary is not live already.

    Under a token budget only superseding summaries are due, since others repeat their members. A summary that stays
    beside its members leaves out those that are `outdated` (default: none) and, unless the policy summarises every
    group, those that say next to nothing; it is then due only if `LEAST_MEMBERS` remain. A group with a member that
    instructs a model gets no summary, since that would copy words meant for a model into another memory.

    Returns:
        One row per summary and member, by cluster and age: summary_id, cluster_id, kind, method, supersedes, and the
        description of the cluster; of the member all columns of `memories`, the facts of its text, `importance` and
        `stability` (from the ledger alone if it is not live).

    Raises:
        ValueError: a member is not an original memory.
    """
    fits = pl.lit(policy.token_budget is None) | pl.col("method").is_in(SUPERSEDING)
    members = _members(clusters.filter(wanted(policy), fits), cluster_members, memories)
    commanding = members.filter(commands.commands_a_model(members["content"])).select(CLUSTER)
    members = rated(members.join(commanding, on=CLUSTER, how="anti", maintain_order="left"), scored, enrichment)
    members = _speaking(members, policy, outdated)
    groups = members.group_by(CLUSTER, maintain_order=True).agg(
        pl.col("method", "kind").first(), pl.col("memory_id", "content_hash").sort()
    )
    ids = [summary_id(*row) for row in groups.select("method", "kind", "memory_id", "content_hash").iter_rows()]
    named = groups.select(*CLUSTER, summary_id=pl.Series(ids, dtype=pl.String))
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", summary_id="memory_id")
    return members.join(named.join(live, on=SUMMARY, how="anti"), on=CLUSTER, maintain_order="left")


def wanted(policy: Policy) -> pl.Expr:
    """Return whether a row of `clusters` gets a summary; where `asked` does not hold, only one worded by a model."""
    due_anyway = pl.col("method").is_in(SUPERSEDING) | pl.lit(policy.llm_model is not None)
    return pl.col("method").is_in(policy.summarised) & (due_anyway | asked(policy))


def asked(policy: Policy) -> pl.Expr:
    """Return whether the policy asks for the summary of a row of `clusters` that stays beside its members."""
    match policy.summaries:
        case "all":
            return pl.lit(value=True)
        case "asked":
            named = [name.lower() for name in policy.summaries_asked]
            words = pl.col("label").str.to_lowercase().str.extract_all(r"[^\s,]+")
            return pl.col("cluster_id").is_in(named) | (words.list.set_intersection(named).list.len() > 0)
        case _:
            return pl.lit(value=False)


def _speaking(members: pl.DataFrame, policy: Policy, outdated: pl.DataFrame | None) -> pl.DataFrame:
    """Return the members that each summary covers; see `due`."""
    beside = ~pl.col("supersedes")
    if outdated is not None:
        old = outdated.with_columns(old=pl.lit(value=True))
        members = members.join(old, on=KEY, how="left", maintain_order="left")
        members = members.filter(~(beside & pl.col("old").fill_null(value=False))).drop("old")
    if policy.summaries == "all":
        return members
    says = pl.coalesce("importance_read", "rule_importance", pl.lit(importance.UNKNOWN)) >= LEAST_SAID
    return members.filter(~beside | says).filter(~beside | (pl.len().over(CLUSTER) >= LEAST_MEMBERS))


def inherited(members: pl.DataFrame) -> pl.DataFrame:
    """Return what each summary inherits from its members, which are as `due` returns them (cognitive-memory).

    The largest importance and access count, the mean stability, the smallest confidence, the earliest start of
    validity, its end if all share it, explicit protection, and the most frequent type and category (ties alphabetical);
    a meta pattern has its own type and is semantic. A superseding summary also inherits speaker, time and place (see
    `voice`); one beside its members holds until the first of them ends. One row per summary, in the order of `members`.
    """
    pattern = pl.col("kind") == "meta_pattern"
    return (
        members.group_by(SUMMARY, maintain_order=True)
        .agg(
            pl.col("cluster_id", "kind", "supersedes", "dominant_type").first(),
            pl.col("memory_id").sort().alias("members"),
            pl.col("importance", "access_count").max(),
            pl.col("stability").mean().clip(0.0, 1.0),
            pl.col("confidence", "valid_from").min(),
            pl.when(~pl.col("supersedes").first() | (pl.col("valid_until").n_unique() == 1))
            .then(pl.col("valid_until").min())
            .alias("valid_until"),
            pl.col("protected").any(),
            pl.col("protected_reason").filter(pl.col("protected")).drop_nulls().first(),
            pl.col("category").mode().sort().first(),
            *voice(),
        )
        .with_columns(pl.when("supersedes").then(name).alias(name) for name in VOICE)
        .with_columns(
            pl.col("tags").fill_null([]),
            memory_type=pl.when(pattern).then(pl.lit(META_PATTERN)).otherwise("dominant_type"),
            category=pl.when(pattern).then(pl.lit("semantic")).otherwise("category"),
        )
    )


def voice() -> list[pl.Expr]:
    """Return aggregations that give a superseding memory its speaker, time and place; rows are its members by age.

    Speaker, agent, user, project, file and headings if all members share them; session and instant of the newest; all
    tags. Columns as in `VOICE`.
    """
    shared = (
        pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)
        for name in ("speaker", "agent_id", "user_id")
    )
    tags = pl.col("tags").list.explode(keep_nulls=False, empty_as_null=False).unique().sort()
    said_at = pl.col("created_at").max().alias("said_at")
    return [*shared, pl.col("session_id").last(), tags, said_at, whereabouts.shared()]


def without_shared_speaker(members: pl.DataFrame) -> pl.DataFrame:
    """Remove the speaker of members whose superseding memory has the same speaker: its text need not repeat it."""
    shared = pl.col("supersedes") & (pl.col("speaker").n_unique().over(SUMMARY) == 1)
    return members.with_columns(speaker=pl.when(~shared).then("speaker"))


def _members(clusters: pl.DataFrame, cluster_members: Frame[ClusterMembers], memories: Frame[Memories]) -> pl.DataFrame:
    """Return one row per cluster and member, by cluster and age."""
    originals = memories.filter(pl.col("kind") == "original").drop("kind", "cluster_id", "plan_id", "members")
    if unknown := cluster_members.join(originals, on=KEY, how="anti").rows(named=True):
        raise ValueError(
            f"memory {unknown[0]['memory_id']!r} of cluster {unknown[0]['cluster_id']!r} is not an original memory; "
            "cluster the memories of the same state"
        )
    described = clusters.select(
        *(*CLUSTER, "method", "label", "dominant_type", "cluster_size", "temporal_span_days"),
        kind=summary_kind(),
        supersedes=pl.col("method").is_in(SUPERSEDING),
    )
    return cluster_members.join(described, on=CLUSTER).join(originals, on=KEY).sort(*CLUSTER, "created_at", "memory_id")


def rated(members: pl.DataFrame, scored: pl.DataFrame, enrichment: Frame[Enrichment]) -> pl.DataFrame:
    """Add the facts of the members' texts, and their scores, derived from the ledger where they have none."""
    rated = importance.effective(members.unique(KEY), enrichment).rename({"importance": "effective"})
    read = ("keywords", "entities", "numbers", "dates", "tokens", "gist", "rule_importance")
    facts = enrichment.select(*_TEXT, *read)
    initial = (0.1 + 0.3 * pl.col("importance") + pl.col("stability_gain")).clip(0.0, 1.0)
    return (
        members.join(rated, on=KEY, maintain_order="left")
        .join(scored.select(*KEY, "importance", "stability"), on=KEY, how="left", maintain_order="left")
        .join(facts, on=_TEXT, how="left", maintain_order="left")
        .with_columns(
            pl.col("keywords", "entities", "numbers", "dates").fill_null([]),
            pl.col("tokens").fill_null(0),
            pl.coalesce("importance", "effective").alias("importance"),
        )
        .with_columns(pl.coalesce("stability", initial))
    )
