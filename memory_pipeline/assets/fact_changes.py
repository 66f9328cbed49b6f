"""`fact_changes`: facts that a newer memory states anew or contradicts."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def fact_changes(
    each: Each,
    memories: pl.DataFrame,
    deferred: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
) -> pl.DataFrame:
    """Pairs of memories that state different values of one fact, and which of them holds."""
    return each(stages.compare, memories, deferred, enrichment, vectors, decided_edges, derived_edges)
