"""`scored_memories`: every score of every live memory."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def scored_memories(
    each: Each,
    memories: pl.DataFrame,
    memory_importance: pl.DataFrame,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
) -> pl.DataFrame:
    """Relevance, retention, recency and energy with each factor, and why a memory is protected."""
    return each(stages.score, memories, memory_importance, decided_edges, derived_edges)
