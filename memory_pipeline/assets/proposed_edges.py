"""`proposed_edges`: associations that the plan would add."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import pipeline


@table
def proposed_edges(
    each: Each,
    memories: pl.DataFrame,
    scored_memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
    vectors: pl.DataFrame,
) -> pl.DataFrame:
    """Creative associations between sampled memories that nothing links yet."""
    return each(pipeline.discover, memories, scored_memories, decided_edges, derived_edges, vectors)
