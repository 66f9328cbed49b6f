"""`promotions`: what rises in tier, lifecycle or category."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def promotions(
    each: Each,
    memories: pl.DataFrame,
    scored_memories: pl.DataFrame,
    events: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    association_edges: pl.DataFrame,
    fact_changes: pl.DataFrame,
) -> pl.DataFrame:
    """Memories that rise: by energy, by use, or to the core."""
    return each(
        stages.promote, memories, scored_memories, events, accesses, tier_changes, association_edges, fact_changes
    )
