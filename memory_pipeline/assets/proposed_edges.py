"""`proposed_edges`: associations that the plan would add."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def proposed_edges(
    each: Each,
    memories: pl.DataFrame,
    deferred: pl.DataFrame,
    scored_memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
    vectors: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    fact_changes: pl.DataFrame,
) -> pl.DataFrame:
    """Creative associations, links of new memories, reinforcements and contradictions that nothing states yet."""
    return each(
        stages.discover,
        memories,
        deferred,
        scored_memories,
        decided_edges,
        derived_edges,
        vectors,
        accesses,
        tier_changes,
        fact_changes,
    )
