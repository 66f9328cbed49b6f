"""Clusters and their summaries for tests, as the stages of a run make them. No I/O, no randomness."""

from typing import NamedTuple

import frames
import polars as pl
from frames import AS_OF

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.consolidation.summaries import summarising
from memory_pipeline.schemas import TABLES
from memory_pipeline.text import enrich


class Grouped(NamedTuple):
    """What the stages made."""

    scored: pl.DataFrame
    clusters: pl.DataFrame
    summaries: pl.DataFrame


def grouped(memories, policy, *, vectors=None, edges=(), relevance=None):
    """Score, cluster and summarise memories; `stored_relevance` of `relevance` replaces the relevance of the scores."""
    enrichment = enrich.enrich(enrich.texts(memories))
    linked = frames.edges(edges)
    scored = scoring.score(memories, frames.importance(memories), linked, policy, as_of=AS_OF, plan_id="plan")
    if relevance is not None:
        scored = scored.join(relevance, on="memory_id", how="left").with_columns(
            relevance=pl.col("stored_relevance").fill_null(0.0)
        )
    known = frames.vectors(vectors or {}, of=memories)
    found = clustering.cluster(memories, scored, enrichment, known, linked, policy, as_of=AS_OF, plan_id="plan")
    made = summarising.summarise(
        found.clusters,
        found.cluster_members,
        memories,
        scored,
        enrichment,
        TABLES["completions"].empty(),
        policy,
        plan_id="plan",
    )
    return Grouped(scored, found.clusters, made)
