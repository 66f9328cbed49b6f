"""`memories`: the fold of the ledger, and all that belongs to a state of it."""

import polars as pl

from memory_pipeline.assets.tables import Each, tables
from memory_pipeline.consolidation import stages


@tables(
    memories="Every memory, original or summary: the fold of events and decisions.",
    decided_edges="Edges that agents asserted or earlier runs decided, undecayed.",
    accesses="Every access that counts, with its instant and session.",
    tier_changes="Every promotion to a higher tier of energy, with its instant.",
    core_memory_blocks="What an agent reads at the start of a session.",
)
def memories(
    each: Each, events: pl.DataFrame, decisions: pl.DataFrame, reverted: pl.DataFrame
) -> tuple[pl.DataFrame, ...]:
    """Fold the ledger into the state before this run."""
    return each(stages.project, events, decisions, reverted)
