"""`archived_set` and `trims`: what leaves the live set, what is left of texts, and why."""

import polars as pl

from memory_pipeline.assets.tables import Each, tables
from memory_pipeline.consolidation import stages


@tables(
    archived_set="Memories that a summary takes the place of or that fell below a threshold; never a protected one.",
    trims="What recall shows of memories from this run on, so that they fit the token budget.",
)
def archived_set(
    each: Each,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    summaries: pl.DataFrame,
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    deferred: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What the policy forgets: whole memories, and words for which the budget has no room."""
    return each(
        stages.forget,
        profiles,
        memories,
        decided_edges,
        accesses,
        tier_changes,
        scored_memories,
        enrichment,
        summaries,
        clusters,
        cluster_members,
        fact_changes,
        promotions,
        deferred,
        decisions,
        reverted,
    )
