"""Summaries: one memory that stands for many, with what it inherits from them.

A summary is made of originals only, never of other summaries, and its id follows from its members and their texts: the
same group gives the same summary at any instant. What is not here: which memories belong together (`clustering`), how
an extract is worded (`wording`), and what becomes of the members (`forgetting`).
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import polars as pl

from memory_pipeline.consolidation import wording
from memory_pipeline.consolidation.clustering import KINDS, SUPERSEDING
from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.lake.schemas import LIVE, TABLES, Lifecycle
from memory_pipeline.settings import Policy
from memory_pipeline.text import identity, importance

META_PATTERN: Final = "MetaPattern"
"""Type of the memory that stands for a cluster whose members stay."""
THEME_WORDS: Final = 3
"""Words of a cluster's label that a sentence names."""
_CLUSTER: Final = ["profile_id", "cluster_id"]
_SUMMARY: Final = ["profile_id", "summary_id"]
_TEXT: Final = ["profile_id", "content_hash"]


def summarise(
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    policy: Policy,
    *,
    plan_id: str,
) -> pl.DataFrame:
    """Make the summaries of clusters that have none yet.

    Clusters of near duplicates give a compression, which supersedes its members; clusters of similar memories give a
    meta pattern, whose members stay. A summary replaces a live one of its kind if half of all members of either are
    members of both, or if it has all members of that one; a compression only if every archived member still has a
    summary then.

    From its members a summary inherits the largest importance and access count, the mean stability, the smallest
    confidence, the earliest start of validity, its end if they share it, explicit protection, and their most frequent
    category (a meta pattern is semantic).

    Args:
        clusters: table `clusters`.
        cluster_members: table `cluster_members`.
        memories: table `memories`, with the members and the live summaries.
        scored: table `scored_memories` of the same state; members that are not live have no row there.
        enrichment: table `enrichment`, with the texts of the members.
        policy: how meta patterns are worded.
        plan_id: plan that the rows belong to.

    Returns:
        Table `summaries`, without those that are live already.

    Raises:
        ValueError: a member is no original memory.

    Cost: about 1 s for 1,000 clusters of 17 short texts.
    """
    members = _members(clusters, cluster_members, memories, scored, enrichment)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", summary_id="memory_id")
    members = members.join(live, on=_SUMMARY, how="anti", maintain_order="left")
    texts = wording.extracts(members)
    if policy.summary_text == "sentence":
        texts = texts.join(_sentences(members.filter(~pl.col("whole"))), on=_SUMMARY, how="left").with_columns(
            content=pl.coalesce("sentence", "content")
        )
    groups = _inherited(members)
    made = groups.join(texts, on=_SUMMARY, how="left", maintain_order="left").join(
        _replaced(groups, memories), on=_SUMMARY, how="left", maintain_order="left"
    )
    nobody = pl.Series([None] * len(made), dtype=pl.String)
    return TABLES["summaries"].conform(
        made.with_columns(
            pl.col("replaces").fill_null([]),
            identity.content_hashes(nobody, made["content"]),
            plan_id=pl.lit(plan_id),
        )
    )


def stale(memories: pl.DataFrame, clusters: pl.DataFrame, cluster_members: pl.DataFrame) -> pl.DataFrame:
    """Live meta patterns whose cluster is gone and whose members no present cluster shares by half.

    Args:
        memories: table `memories`.
        clusters: table `clusters`, of the same state.
        cluster_members: table `cluster_members`.

    Returns:
        profile_id, memory_id and reason, sorted.
    """
    kind = KINDS["similarity_components"]
    alone = memories.filter(pl.col("lifecycle").is_in(LIVE) & (pl.col("kind") == kind)).join(
        clusters, on=_CLUSTER, how="anti"
    )
    present = (
        cluster_members.join(clusters.select(*_CLUSTER, "method"), on=_CLUSTER)
        .with_columns(kind=pl.col("method").replace_strict(KINDS, return_dtype=pl.String))
        .group_by("profile_id", "kind", summary_id="cluster_id")
        .agg(members="memory_id")
    )
    heirs = _shared(present, alone).filter(_half()).select("profile_id", memory_id="old_id")
    return (
        alone.join(heirs, on=KEY, how="anti")
        .select(*KEY, reason=pl.lit("The cluster that it stood for is gone."))
        .sort(KEY)
    )


def summary_id(method: str, kind: str, members: Iterable[str], content_hashes: Iterable[str]) -> str:
    """Id of a summary: 32 hex digits of the SHA-256 of method, kind, and its members' sorted ids and texts."""
    parts = ["\x1f".join(part) for part in ((method, kind), members, content_hashes)]
    return hashlib.sha256("\x1e".join(parts).encode()).hexdigest()[:32]


def _members(
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
) -> pl.DataFrame:
    """One row a cluster and member, by cluster and age, with the id of the summary and all that it needs to know."""
    originals = memories.filter(pl.col("kind") == "original").drop("kind", "cluster_id", "plan_id", "members")
    if strange := cluster_members.join(originals, on=KEY, how="anti").rows(named=True):
        raise ValueError(
            f"memory {strange[0]['memory_id']!r} of cluster {strange[0]['cluster_id']!r} is no original memory; "
            "cluster the memories of the same state"
        )
    rated = importance.effective(originals, enrichment).rename({"importance": "effective"})
    about = clusters.select(*_CLUSTER, "method", "label", "dominant_type", "cluster_size", "temporal_span_days")
    facts = enrichment.select(*_TEXT, "keywords", "entities", "numbers", "dates", "tokens", "gist")
    members = (
        cluster_members.join(about, on=_CLUSTER)
        .join(originals, on=KEY)
        .join(rated, on=KEY)
        .join(scored.select(*KEY, "importance", "stability"), on=KEY, how="left")
        .join(facts, on=_TEXT, how="left")
        .with_columns(
            pl.col("keywords", "entities", "numbers", "dates").fill_null([]),
            pl.col("tokens").fill_null(0),
            pl.coalesce("importance", "effective").alias("importance"),
            kind=pl.col("method").replace_strict(KINDS, return_dtype=pl.String),
            whole=pl.col("method").is_in(SUPERSEDING),
        )
        .with_columns(
            pl.coalesce("stability", (0.1 + 0.3 * pl.col("importance") + pl.col("stability_gain")).clip(0.0, 1.0))
        )
        .sort(*_CLUSTER, "created_at", "memory_id")
    )
    groups = members.group_by(_CLUSTER, maintain_order=True).agg(
        pl.col("method", "kind").first(), pl.col("memory_id", "content_hash").sort()
    )
    ids = [summary_id(*row) for row in groups.select("method", "kind", "memory_id", "content_hash").iter_rows()]
    named = groups.select(*_CLUSTER, summary_id=pl.Series(ids, dtype=pl.String))
    return members.join(named, on=_CLUSTER, how="left", maintain_order="left")


def _inherited(members: pl.DataFrame) -> pl.DataFrame:
    """One row a summary: what it takes over from its members."""
    return (
        members.group_by(_SUMMARY, maintain_order=True)
        .agg(
            pl.col("cluster_id", "kind", "dominant_type").first(),
            pl.col("whole").first().alias("supersedes"),
            pl.col("memory_id").sort().alias("members"),
            pl.col("importance", "access_count").max(),
            pl.col("stability").mean().clip(0.0, 1.0),
            pl.col("confidence", "valid_from").min(),
            pl.when(pl.col("valid_until").n_unique() == 1).then(pl.col("valid_until").first()).alias("valid_until"),
            pl.col("protected").any(),
            pl.col("protected_reason").filter(pl.col("protected")).drop_nulls().first(),
            pl.col("category").mode().sort().first(),
        )
        .with_columns(
            memory_type=pl.when("supersedes").then("dominant_type").otherwise(pl.lit(META_PATTERN)),
            category=pl.when("supersedes").then("category").otherwise(pl.lit("semantic")),
        )
    )


def _sentences(members: pl.DataFrame) -> pl.DataFrame:
    """Each group in a sentence, with the gist of the member that shows its theme best (the oldest of several)."""
    theme = pl.col("keywords").list.set_intersection(pl.col("label").str.split(", ")).list.len()
    best = members.sort(theme, descending=True, maintain_order=True).group_by(_SUMMARY).first()
    told = ("cluster_size", "label", "temporal_span_days", "dominant_type", "gist")
    sentences = [_sentence(*row) for row in best.select(told).iter_rows()]
    return best.select(*_SUMMARY, sentence=pl.Series(sentences, dtype=pl.String))


def _sentence(size: int, label: str, days: float, dominant_type: str, gist: str | None) -> str:
    *words, last = label.split(", ")[:THEME_WORDS]
    theme = f"{', '.join(words)} and {last}" if words else last
    span = "within a day" if days < 1.0 else f"over {round(days, 1):g} days"
    return f"Pattern of {size} memories about {theme} {span}, mostly {dominant_type}: {gist or ''}".rstrip(": ")


def _replaced(groups: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """The live summaries that each new one takes the place of: profile_id, summary_id, replaces."""
    live = pl.col("lifecycle").is_in(LIVE)
    old = memories.filter(live & pl.col("kind").is_in(list(KINDS.values())))
    shared = _shared(groups, old).filter(_half() | (pl.col("shared") == pl.col("old_size")))
    held = groups.filter("supersedes").explode("members").select("profile_id", memory_id="members")
    stranded = (
        memories.filter(pl.col("lifecycle") == Lifecycle.ARCHIVED.value)
        .join(held, on=KEY, how="anti")
        .select("profile_id", old_id="superseded_by")
    )
    return (
        shared.join(stranded, on=["profile_id", "old_id"], how="anti")
        .group_by(_SUMMARY)
        .agg(replaces=pl.col("old_id").sort())
    )


def _shared(groups: pl.DataFrame, old: pl.DataFrame) -> pl.DataFrame:
    """How many members groups and live summaries of their kind share: summary_id, old_id, shared, size and old_size."""
    ours = groups.select(*_SUMMARY, "kind", "members", size=pl.col("members").list.len())
    theirs = old.select("profile_id", "kind", "members", old_id="memory_id", old_size=pl.col("members").list.len())
    return (
        ours.explode("members")
        .join(theirs.explode("members"), on=["profile_id", "kind", "members"])
        .group_by(*_SUMMARY, "old_id", "size", "old_size")
        .agg(shared=pl.len())
    )


def _half() -> pl.Expr:
    """Jaccard index of at least one half, in whole numbers."""
    return 3 * pl.col("shared") >= pl.col("size") + pl.col("old_size")
