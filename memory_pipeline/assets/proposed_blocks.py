"""`proposed_blocks`: core memory blocks with a new text."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def proposed_blocks(
    each: Each,
    memories: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    core_memory_blocks: pl.DataFrame,
    completions: pl.DataFrame,
    summaries: pl.DataFrame,
    archived_set: pl.DataFrame,
    fact_changes: pl.DataFrame,
) -> pl.DataFrame:
    """Core memory blocks whose text the plan would change."""
    return each(
        stages.compile_blocks,
        memories,
        scored_memories,
        enrichment,
        core_memory_blocks,
        completions,
        summaries,
        archived_set,
        fact_changes,
    )
