"""`proposed_blocks`: core memory blocks with a new text."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def proposed_blocks(
    each: Each,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    core_memory_blocks: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    completions: pl.DataFrame,
    summaries: pl.DataFrame,
    archived_set: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """Core memory blocks whose text the plan would change."""
    return each(
        stages.compile_blocks,
        profiles,
        memories,
        decided_edges,
        accesses,
        tier_changes,
        core_memory_blocks,
        scored_memories,
        enrichment,
        completions,
        summaries,
        archived_set,
        fact_changes,
        promotions,
        decisions,
        reverted,
    )
