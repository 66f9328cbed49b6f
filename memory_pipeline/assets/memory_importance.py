"""`memory_importance`: how central each memory is."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import pipeline


@table
def memory_importance(
    each: Each,
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
) -> pl.DataFrame:
    """Importance, PageRank, community and neighbours of each live memory."""
    return each(pipeline.measure, memories, enrichment, decided_edges, derived_edges)
