"""`derived_edges`: associations that follow from the memories and from how they are used."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def derived_edges(
    each: Each,
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    accesses: pl.DataFrame,
    decided_edges: pl.DataFrame,
) -> pl.DataFrame:
    """Order, cause, likeness, shared names and shared use: recomputed by every run, never decided."""
    return each(stages.derive, memories, enrichment, vectors, accesses, decided_edges)
