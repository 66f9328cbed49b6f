"""`proposed_edges`: associations that the plan would add."""

import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.assets.tables import table
from memory_pipeline.consolidation import pipeline


@table
def proposed_edges(
    store: Store,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    scored_memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
    vectors: pl.DataFrame,
) -> pl.DataFrame:
    """Creative associations between sampled memories that nothing links yet."""
    return store.each(profiles, pipeline.discover, memories, scored_memories, decided_edges, derived_edges, vectors)
