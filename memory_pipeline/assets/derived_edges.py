"""`derived_edges`: associations that follow from the memories themselves."""

import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.assets.tables import table
from memory_pipeline.consolidation import pipeline


@table
def derived_edges(
    store: Store, profiles: pl.DataFrame, memories: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame
) -> pl.DataFrame:
    """FOLLOWS, CAUSED_BY, SIMILAR_TO and REFERENCES: recomputed by every run, never decided."""
    return store.each(profiles, pipeline.derive, memories, enrichment, vectors)
