"""`clusters`: groups of memories, who is in them, and near duplicates that were not merged."""

import polars as pl

from memory_pipeline.assets.tables import Each, tables
from memory_pipeline.consolidation import pipeline


@tables(
    clusters="Groups of near duplicates and of similar memories.",
    cluster_members="Who is in which cluster.",
    merge_refusals="Near duplicates that state different facts, and where they differ.",
)
def clusters(
    each: Each,
    memories: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Group memories by each method of the policy; nothing ever joins two profiles."""
    return each(pipeline.cluster, memories, scored_memories, enrichment, vectors)
