"""`clusters`: groups of memories, who is in them, and near duplicates that were not merged."""

import polars as pl

from memory_pipeline.assets.tables import Each, tables
from memory_pipeline.consolidation import stages


@tables(
    clusters="Groups of near duplicates and of similar memories.",
    cluster_members="Who is in which cluster.",
    merge_refusals="Near duplicates that state different facts, and where they differ.",
)
def clusters(
    each: Each,
    memories: pl.DataFrame,
    deferred: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    association_edges: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Group memories by each method of the policy; nothing ever joins two profiles."""
    return each(stages.cluster, memories, deferred, scored_memories, enrichment, vectors, association_edges)
