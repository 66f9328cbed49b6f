"""`memory_importance`: how central each memory is."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def memory_importance(
    each: Each,
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    derived_edges: pl.DataFrame,
    decided_edges: pl.DataFrame,
    accesses: pl.DataFrame,
) -> pl.DataFrame:
    """Importance, PageRank, community and neighbours of each live memory."""
    return each(stages.measure, memories, enrichment, derived_edges, decided_edges, accesses)
