"""`consolidation_plan`: what a run would change, before it changes anything."""

import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import pipeline


@table
def consolidation_plan(
    each: Each,
    store: Store,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    summaries: pl.DataFrame,
    archived_set: pl.DataFrame,
    proposed_edges: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """Proposed decisions, each with rule, reason and factors: the desired state less the present one."""
    plan = each(
        pipeline.plan,
        profiles,
        memories,
        decided_edges,
        summaries,
        archived_set,
        proposed_edges,
        decisions,
        reverted,
    )
    return store.agreed(plan)
