"""Writes summaries: one memory in place of many, in the words of its members or of a model.

Not here: which memories belong together (`clustering`), which summaries are due and what they inherit (`lineage`), how
an extract is worded (`extracts`), what a model is asked (`prompting`), and what becomes of the members (`forgetting`).
"""

from typing import Final

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.groups import lineage
from memory_pipeline.consolidation.groups.lineage import CLUSTER, SUMMARY
from memory_pipeline.consolidation.groups.strategies import KINDS, STRATEGIES, summary_kind
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.consolidation.summaries import extracts, prompting
from memory_pipeline.schemas import LIVE, TABLES, Completions, Frame, Lifecycle, Memories
from memory_pipeline.settings import Policy
from memory_pipeline.text import content_hash

RULES: Final = "rules"
"""Value of `compiled_by` for a summary that no model worded."""
AGENT: Final = "agent"
"""Level of an agent's summary."""
LEVELS: Final = ("episode", "session", AGENT)
"""Kinds of summaries of episodes."""
THEME_WORDS: Final = 3
"""Number of words of a cluster's label that a sentence names."""


def summarise(
    clusters: Frame[schemas.Clusters],
    cluster_members: Frame[schemas.ClusterMembers],
    memories: Frame[schemas.Memories],
    scored: Frame[schemas.ScoredMemories],
    enrichment: Frame[schemas.Enrichment],
    completions: Frame[schemas.Completions],
    policy: Policy,
    *,
    plan_id: str,
    outdated: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return table `summaries`: of the clusters that have none yet, without those that are live already.

    Each clustering method has its kind of summary. A compression or consolidation supersedes its members, and is made
    only if its text holds all their dates, numbers and names; the members of all other summaries stay live, and none of
    them is `outdated` (default: none is). Unless the policy asks for it, such a summary is made only in a model's
    words; an answer that lacks or invents a fact is refused, and rules word the summary. A summary replaces a live one
    of its kind if their members overlap by half (Jaccard), or if it contains all members of that one, and an agent's
    summary replaces every live one of the same agent; but only if each member that left for the replaced summary still
    has a summary then.

    Raises ValueError: a member is not an original memory. Cost: about 1 s per 1,000 clusters of 17 short texts.
    """
    members = lineage.due(clusters, cluster_members, memories, scored, enrichment, policy, outdated=outdated)
    if members.is_empty():
        return TABLES["summaries"].empty()
    texts = _worded(members, completions, policy)
    groups = lineage.inherited(members).join(clusters.select(*CLUSTER, asked=lineage.asked(policy)), on=CLUSTER)
    worded = (
        groups.join(texts, on=SUMMARY, how="left", maintain_order="left")
        .join(_replaced(groups, memories), on=SUMMARY, how="left", maintain_order="left")
        .filter(
            pl.when("supersedes").then("complete").otherwise(pl.col("asked") | (pl.col("compiled_by") != RULES)),
        )
    )
    return TABLES["summaries"].conform(
        worded.with_columns(
            pl.col("replaces").fill_null([]),
            content_hash.content_hashes(worded["speaker"], worded["content"]),
            plan_id=pl.lit(plan_id),
        )
    )


def stale(
    memories: Frame[schemas.Memories],
    clusters: Frame[schemas.Clusters],
    cluster_members: Frame[schemas.ClusterMembers],
    policy: Policy,
    *,
    outdated: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return live summaries with an outdated member, that the policy no longer makes, or whose cluster is gone.

    A cluster is gone when no present one of its kind shares half of its members. A superseding summary is never stale.
    A summary of an episode, a session, an agent or a unit with a member that has left the live set is stale only if a
    member is outdated: it may be all that remains of the one that left. Returns profile_id, memory_id and reason,
    sorted.
    """
    kinds = [strategy.kind for strategy in STRATEGIES.values() if not strategy.supersedes]
    live = pl.col("lifecycle").is_in(LIVE)
    beside = memories.filter(live & pl.col("kind").is_in([*kinds, *LEVELS]))
    by_member = beside.select(*KEY, "members").explode("members")
    old = memories.select(KEY).clear() if outdated is None else outdated
    untrue = by_member.join(old.rename({"memory_id": "members"}), on=["profile_id", "members"], how="semi").select(KEY)
    complete = beside.join(_with_departed_member(memories), on=KEY, how="anti")
    unasked = complete.join(clusters.filter(~lineage.wanted(policy)), on=CLUSTER, how="semi")
    unclustered = complete.join(clusters, on=CLUSTER, how="anti")
    present = (
        cluster_members.join(clusters.select(*CLUSTER, kind=summary_kind()), on=CLUSTER)
        .group_by("profile_id", "kind", summary_id="cluster_id")
        .agg(members="memory_id")
    )
    continued = _shared(present, unclustered).filter(_half()).select("profile_id", memory_id="old_id")
    reasons = {
        "A member of it is outdated.": untrue.unique(),
        "The policy makes no such summaries.": unasked.select(KEY),
        "The cluster that it stood for is gone.": unclustered.join(continued, on=KEY, how="anti").select(KEY),
    }
    given = [frame.with_columns(reason=pl.lit(reason)) for reason, frame in reasons.items()]
    return pl.concat(given).unique(KEY, keep="first", maintain_order=True).sort(KEY)


def _with_departed_member(memories: Frame[Memories]) -> pl.DataFrame:
    """Return summaries of episodes, sessions, agents and units with a member that is neither live nor deleted."""
    departed = memories.filter(~pl.col("lifecycle").is_in([*LIVE, Lifecycle.DELETED.value])).select(
        "profile_id", members="memory_id"
    )
    has_members = pl.col("kind").is_in([*LEVELS, STRATEGIES["coactivation"].kind])
    members = memories.filter(has_members).select(*KEY, "members").explode("members")
    return members.join(departed, on=["profile_id", "members"], how="semi").select(KEY).unique()


def _worded(members: pl.DataFrame, completions: Frame[Completions], policy: Policy) -> pl.DataFrame:
    """Return the text of each summary: summary_id, content, index_text, complete, compiled_by and fallback."""
    members_asked = members.select(*CLUSTER, "memory_id", "created_at", "speaker", "content")
    answers = prompting.accepted(members_asked, completions, policy).rename({"content": "answer"})
    by_summary = answers.join(members.select(*CLUSTER, "summary_id").unique(), on=CLUSTER).drop("cluster_id")
    accepted = pl.col("answer").is_not_null()
    return (
        _by_rules(members, policy)
        .join(by_summary, on=SUMMARY, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("answer", "content").alias("content"),
            pl.col("complete") | accepted,
            compiled_by=pl.when(accepted).then(pl.lit(policy.llm_model, pl.String)).otherwise(pl.lit(RULES)),
        )
    )


def _by_rules(members: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the text of each summary by rules: summary_id, content, index_text and complete."""
    versions = lineage.without_shared_speaker(members).with_columns(whole=pl.col("kind") == KINDS["near_duplicates"])
    texts = extracts.extracts(versions, joined=policy.summary_text == "concat")
    if policy.summary_text != "sentence":
        return texts
    patterns = members.filter(pl.col("kind") == KINDS["similarity_components"])
    return texts.join(_sentences(patterns), on=SUMMARY, how="left", maintain_order="left").with_columns(
        content=pl.coalesce("sentence", "content")
    )


def _sentences(members: pl.DataFrame) -> pl.DataFrame:
    """Return one sentence per group, with the gist of the member that best matches its theme (the oldest on a tie)."""
    theme = pl.col("keywords").list.set_intersection(pl.col("label").str.to_lowercase().str.split(", ")).list.len()
    best = members.sort(theme, descending=True, maintain_order=True).group_by(SUMMARY).first()
    columns = ("cluster_size", "label", "temporal_span_days", "dominant_type", "gist")
    sentences = [_sentence(*row) for row in best.select(columns).iter_rows()]
    return best.select(*SUMMARY, sentence=pl.Series(sentences, dtype=pl.String))


def _sentence(size: int, label: str, days: float, dominant_type: str, gist: str | None) -> str:
    *words, last = label.split(", ")[:THEME_WORDS]
    theme = f"{', '.join(words)} and {last}" if words else last
    span = "within a day" if days < 1.0 else f"over {round(days, 1):g} days"
    return f"Pattern of {size} memories about {theme} {span}, mostly {dominant_type}: {gist or ''}".rstrip(": ")


def _replaced(groups: pl.DataFrame, memories: Frame[Memories]) -> pl.DataFrame:
    """Return the live summaries that each new one replaces: profile_id, summary_id, replaces."""
    live = pl.col("lifecycle").is_in(LIVE)
    live_summaries = memories.filter(live & (pl.col("kind") != "original"))
    shared = _shared(groups, live_summaries).filter(_half() | (pl.col("shared") == pl.col("old_size")))
    replaceable = pl.concat(
        [shared.select(*SUMMARY, "old_id"), _of_same_agent(groups, live_summaries, memories)]
    ).unique()
    covered = groups.filter(pl.col("supersedes") | (pl.col("kind") == AGENT)).explode("members")
    stranded = (
        memories.filter(~live & (pl.col("lifecycle") != Lifecycle.DELETED.value) & (pl.col("kind") == "original"))
        .join(covered.select("profile_id", memory_id="members"), on=KEY, how="anti")
        .select("profile_id", old_id="superseded_by")
    )
    return (
        replaceable.join(stranded, on=["profile_id", "old_id"], how="anti")
        .group_by(SUMMARY)
        .agg(replaces=pl.col("old_id").sort())
    )


def _of_same_agent(groups: pl.DataFrame, old: pl.DataFrame, memories: Frame[Memories]) -> pl.DataFrame:
    """Return the live summaries of the agent whose summary is new: profile_id, summary_id, old_id."""
    session = ["profile_id", "session_id"]
    in_sessions = memories.filter((pl.col("kind") == ORIGINAL) & pl.col("session_id").is_not_null())
    owners = (
        in_sessions.sort(*session, "created_at", "memory_id")
        .group_by(session)
        .agg(owner=pl.col("agent_id").drop_nulls().first())
    )
    owned = in_sessions.join(owners, on=session).select("profile_id", "owner", members="memory_id")

    def by_owner(rows: pl.DataFrame, name: str) -> pl.DataFrame:
        agent_members = rows.filter(pl.col("kind") == AGENT).select("profile_id", "members", name).explode("members")
        return (
            agent_members.join(owned, on=["profile_id", "members"])
            .select("profile_id", name, "owner")
            .drop_nulls()
            .unique()
        )

    former = by_owner(old.with_columns(old_id="memory_id"), "old_id")
    return by_owner(groups, "summary_id").join(former, on=["profile_id", "owner"]).select(*SUMMARY, "old_id")


def _shared(groups: pl.DataFrame, old: pl.DataFrame) -> pl.DataFrame:
    """Count the members that groups and live summaries share, by kind: `SUMMARY`, old_id, shared, size and old_size."""
    ours = groups.select(*SUMMARY, "kind", "members", size=pl.col("members").list.len())
    theirs = old.select("profile_id", "kind", "members", old_id="memory_id", old_size=pl.col("members").list.len())
    return (
        ours.explode("members")
        .join(theirs.explode("members"), on=["profile_id", "kind", "members"])
        .group_by(*SUMMARY, "old_id", "size", "old_size")
        .agg(shared=pl.len())
    )


def _half() -> pl.Expr:
    """Return whether the Jaccard index is at least one half, in integer arithmetic."""
    return 3 * pl.col("shared") >= pl.col("size") + pl.col("old_size")
