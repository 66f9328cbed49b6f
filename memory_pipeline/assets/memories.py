"""`memories`: the fold of the ledger, and the edges it names."""

import polars as pl

from memory_pipeline.assets.tables import Each, tables
from memory_pipeline.consolidation import pipeline


@tables(
    memories="Every memory, original or summary: the fold of events and decisions.",
    decided_edges="Edges that agents asserted or earlier runs decided, undecayed.",
)
def memories(
    each: Each, events: pl.DataFrame, decisions: pl.DataFrame, reverted: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fold the ledger into the state before this run."""
    return each(pipeline.project, events, decisions, reverted)
