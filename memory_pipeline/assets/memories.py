"""`memories`: the fold of the ledger, and the edges it names."""

import dagster as dg
import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.consolidation import pipeline


@dg.multi_asset(
    outs={
        "memories": dg.AssetOut(description="Every memory, original or summary: the fold of events and decisions."),
        "decided_edges": dg.AssetOut(description="Edges that agents asserted or earlier runs decided, undecayed."),
    }
)
def memories(
    store: Store, profiles: pl.DataFrame, events: pl.DataFrame, decisions: pl.DataFrame, reverted: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fold the ledger into the state before this run."""
    return store.each(profiles, pipeline.project, events, decisions, reverted)
