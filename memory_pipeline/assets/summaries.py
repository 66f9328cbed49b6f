"""`summaries`: one text for many memories."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def summaries(
    each: Each,
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    memories: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    completions: pl.DataFrame,
) -> pl.DataFrame:
    """Summaries of clusters that have none yet, from the originals only, with every date, number and name."""
    return each(stages.summarise, clusters, cluster_members, memories, scored_memories, enrichment, completions)
