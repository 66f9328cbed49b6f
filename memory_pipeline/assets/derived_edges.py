"""`derived_edges`: associations that follow from the memories themselves."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import pipeline


@table
def derived_edges(each: Each, memories: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """FOLLOWS, CAUSED_BY, SIMILAR_TO and REFERENCES: recomputed by every run, never decided."""
    return each(pipeline.derive, memories, enrichment, vectors)
