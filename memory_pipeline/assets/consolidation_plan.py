"""`consolidation_plan`: what a run would change, before it changes anything."""

import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def consolidation_plan(
    each: Each,
    store: Store,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    core_memory_blocks: pl.DataFrame,
    summaries: pl.DataFrame,
    archived_set: pl.DataFrame,
    trims: pl.DataFrame,
    proposed_edges: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    proposed_blocks: pl.DataFrame,
    deferred: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """Proposed decisions, each with rule, reason and factors: the desired state less the present one."""
    plan = each(
        stages.plan,
        profiles,
        memories,
        decided_edges,
        accesses,
        tier_changes,
        core_memory_blocks,
        summaries,
        archived_set,
        trims,
        proposed_edges,
        fact_changes,
        promotions,
        proposed_blocks,
        deferred,
        decisions,
        reverted,
    )
    return store.agreed(plan)
