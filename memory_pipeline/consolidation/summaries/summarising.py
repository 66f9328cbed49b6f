"""Summaries: one memory that stands for many, in the words of its members or of a model.

What is not here: which memories belong together (`clustering`), which summaries are due and what they inherit
(`lineage`), how an extract is worded (`wording`), what a model is asked (`prompting`), and what becomes of the members
(`forgetting`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.groups import lineage
from memory_pipeline.consolidation.groups.lineage import CLUSTER, SUMMARY
from memory_pipeline.consolidation.groups.strategies import KINDS, STRATEGIES, summary_kind
from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.consolidation.summaries import extracts, prompting
from memory_pipeline.schemas import LIVE, TABLES, Lifecycle
from memory_pipeline.settings import Policy
from memory_pipeline.text import content_hash

RULES: Final = "rules"
"""Who words a summary that no model does."""
AGENT: Final = "agent"
LEVELS: Final = ("episode", "session", AGENT)
"""Kinds of summaries that tell what happened."""
THEME_WORDS: Final = 3
"""Words of a cluster's label that a sentence names."""


def summarise(
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    completions: pl.DataFrame,
    policy: Policy,
    *,
    plan_id: str,
) -> pl.DataFrame:
    """Make the summaries of clusters that have none yet.

    Each method of clustering has its kind of summary. A compression or consolidation supersedes its members, and is
    made only if its text holds every date, number and name of theirs; under all others the members stay. A summary
    replaces a live one of its kind if half of all members of either are members of both, or if it has all members of
    that one, and that of an agent every live one of this agent; but only if every member that has left for the sake of
    that one still has a summary then.

    Args:
        clusters: table `clusters`.
        cluster_members: table `cluster_members`.
        memories: table `memories`, with the members and the live summaries.
        scored: table `scored_memories` of the same state; members that are not live have no row there.
        enrichment: table `enrichment`, with the texts of the members.
        completions: table `completions`: what the policy's model answered, if it has one. An answer that lacks or
            invents a fact is not taken, and rules word the summary.
        policy: which methods get a summary, and how it is worded.
        plan_id: plan that the rows belong to.

    Returns:
        Table `summaries`, without those that are live already.

    Raises:
        ValueError: a member is no original memory.

    Cost: about 1 s for 1,000 clusters of 17 short texts.
    """
    members = lineage.due(clusters, cluster_members, memories, scored, enrichment, policy)
    texts = _worded(members, completions, policy)
    groups = lineage.inherited(members)
    made = (
        groups.join(texts, on=SUMMARY, how="left", maintain_order="left")
        .join(_replaced(groups, memories), on=SUMMARY, how="left", maintain_order="left")
        .filter(~pl.col("supersedes") | pl.col("complete"))
    )
    return TABLES["summaries"].conform(
        made.with_columns(
            pl.col("replaces").fill_null([]),
            content_hash.content_hashes(made["speaker"], made["content"]),
            plan_id=pl.lit(plan_id),
        )
    )


def stale(memories: pl.DataFrame, clusters: pl.DataFrame, cluster_members: pl.DataFrame) -> pl.DataFrame:
    """Live summaries whose cluster is gone and whose members no present cluster of their kind shares by half.

    A summary that superseded its members is never stale, and one of an episode, a session, an agent or a unit is not
    while a member of it has left the live set: it may be all that is left of it.

    Args:
        memories: table `memories`.
        clusters: table `clusters`, of the same state.
        cluster_members: table `cluster_members`.

    Returns:
        profile_id, memory_id and reason, sorted.
    """
    kinds = [strategy.kind for strategy in STRATEGIES.values() if not strategy.supersedes]
    live = pl.col("lifecycle").is_in(LIVE)
    alone = (
        memories.filter(live & pl.col("kind").is_in([*kinds, *LEVELS]))
        .join(clusters, on=CLUSTER, how="anti")
        .join(_last_words(memories), on=KEY, how="anti")
    )
    present = (
        cluster_members.join(clusters.select(*CLUSTER, kind=summary_kind()), on=CLUSTER)
        .group_by("profile_id", "kind", summary_id="cluster_id")
        .agg(members="memory_id")
    )
    heirs = _shared(present, alone).filter(_half()).select("profile_id", memory_id="old_id")
    return (
        alone.join(heirs, on=KEY, how="anti")
        .select(*KEY, reason=pl.lit("The cluster that it stood for is gone."))
        .sort(KEY)
    )


def _last_words(memories: pl.DataFrame) -> pl.DataFrame:
    """Summaries of episodes, sessions, agents and units with a member that is neither live nor deleted."""
    left = memories.filter(~pl.col("lifecycle").is_in([*LIVE, Lifecycle.DELETED.value])).select(
        "profile_id", members="memory_id"
    )
    telling = pl.col("kind").is_in([*LEVELS, STRATEGIES["coactivation"].kind])
    told = memories.filter(telling).select(*KEY, "members").explode("members")
    return told.join(left, on=["profile_id", "members"], how="semi").select(KEY).unique()


def _worded(members: pl.DataFrame, completions: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """The text of each summary: summary_id, content, index_text, complete, compiled_by and fallback."""
    asked = members.select(*CLUSTER, "memory_id", "created_at", "speaker", "content")
    answers = prompting.accepted(asked, completions, policy).rename({"content": "answer"})
    named = answers.join(members.select(*CLUSTER, "summary_id").unique(), on=CLUSTER).drop("cluster_id")
    taken = pl.col("answer").is_not_null()
    return (
        _by_rules(members, policy)
        .join(named, on=SUMMARY, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("answer", "content").alias("content"),
            pl.col("complete") | taken,
            compiled_by=pl.when(taken).then(pl.lit(policy.llm_model, pl.String)).otherwise(pl.lit(RULES)),
        )
    )


def _by_rules(members: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """The text of each summary by rules: summary_id, content, index_text and complete."""
    versions = lineage.unnamed(members).with_columns(whole=pl.col("kind") == KINDS["near_duplicates"])
    texts = extracts.extracts(versions, joined=policy.summary_text == "concat")
    if policy.summary_text != "sentence":
        return texts
    patterns = members.filter(pl.col("kind") == KINDS["similarity_components"])
    return texts.join(_sentences(patterns), on=SUMMARY, how="left", maintain_order="left").with_columns(
        content=pl.coalesce("sentence", "content")
    )


def _sentences(members: pl.DataFrame) -> pl.DataFrame:
    """Each group in a sentence, with the gist of the member that shows its theme best (the oldest of several)."""
    theme = pl.col("keywords").list.set_intersection(pl.col("label").str.split(", ")).list.len()
    best = members.sort(theme, descending=True, maintain_order=True).group_by(SUMMARY).first()
    told = ("cluster_size", "label", "temporal_span_days", "dominant_type", "gist")
    sentences = [_sentence(*row) for row in best.select(told).iter_rows()]
    return best.select(*SUMMARY, sentence=pl.Series(sentences, dtype=pl.String))


def _sentence(size: int, label: str, days: float, dominant_type: str, gist: str | None) -> str:
    *words, last = label.split(", ")[:THEME_WORDS]
    theme = f"{', '.join(words)} and {last}" if words else last
    span = "within a day" if days < 1.0 else f"over {round(days, 1):g} days"
    return f"Pattern of {size} memories about {theme} {span}, mostly {dominant_type}: {gist or ''}".rstrip(": ")


def _replaced(groups: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """The live summaries that each new one takes the place of: profile_id, summary_id, replaces."""
    live = pl.col("lifecycle").is_in(LIVE)
    old = memories.filter(live & (pl.col("kind") != "original"))
    shared = _shared(groups, old).filter(_half() | (pl.col("shared") == pl.col("old_size")))
    own = pl.concat([shared.select(*SUMMARY, "old_id"), _of_same_agent(groups, old, memories)]).unique()
    held = groups.filter(pl.col("supersedes") | (pl.col("kind") == AGENT)).explode("members")
    stranded = (
        memories.filter(~live & (pl.col("lifecycle") != Lifecycle.DELETED.value) & (pl.col("kind") == "original"))
        .join(held.select("profile_id", memory_id="members"), on=KEY, how="anti")
        .select("profile_id", old_id="superseded_by")
    )
    return (
        own.join(stranded, on=["profile_id", "old_id"], how="anti")
        .group_by(SUMMARY)
        .agg(replaces=pl.col("old_id").sort())
    )


def _of_same_agent(groups: pl.DataFrame, old: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """The live summaries of the agent whose summary is new: profile_id, summary_id, old_id."""
    session = ["profile_id", "session_id"]
    named = memories.filter((pl.col("kind") == ORIGINAL) & pl.col("session_id").is_not_null())
    owners = (
        named.sort(*session, "created_at", "memory_id")
        .group_by(session)
        .agg(owner=pl.col("agent_id").drop_nulls().first())
    )
    owned = named.join(owners, on=session).select("profile_id", "owner", members="memory_id")

    def told(rows: pl.DataFrame, name: str) -> pl.DataFrame:
        own = rows.filter(pl.col("kind") == AGENT).select("profile_id", "members", name).explode("members")
        return own.join(owned, on=["profile_id", "members"]).select("profile_id", name, "owner").drop_nulls().unique()

    former = told(old.with_columns(old_id="memory_id"), "old_id")
    return told(groups, "summary_id").join(former, on=["profile_id", "owner"]).select(*SUMMARY, "old_id")


def _shared(groups: pl.DataFrame, old: pl.DataFrame) -> pl.DataFrame:
    """How many members groups and live summaries of their kind share: summary_id, old_id, shared, size and old_size."""
    ours = groups.select(*SUMMARY, "kind", "members", size=pl.col("members").list.len())
    theirs = old.select("profile_id", "kind", "members", old_id="memory_id", old_size=pl.col("members").list.len())
    return (
        ours.explode("members")
        .join(theirs.explode("members"), on=["profile_id", "kind", "members"])
        .group_by(*SUMMARY, "old_id", "size", "old_size")
        .agg(shared=pl.len())
    )


def _half() -> pl.Expr:
    """Jaccard index of at least one half, in whole numbers."""
    return 3 * pl.col("shared") >= pl.col("size") + pl.col("old_size")
