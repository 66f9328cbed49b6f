"""`archived_set`: what leaves the live set, and why."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def archived_set(
    each: Each,
    scored_memories: pl.DataFrame,
    memories: pl.DataFrame,
    summaries: pl.DataFrame,
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    promotions: pl.DataFrame,
    deferred: pl.DataFrame,
) -> pl.DataFrame:
    """Memories that a summary takes the place of or that fell below a threshold; never a protected one."""
    return each(stages.forget, scored_memories, memories, summaries, clusters, cluster_members, promotions, deferred)
