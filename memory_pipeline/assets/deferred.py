"""`deferred`: what the run's time budget leaves for the next one."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def deferred(
    each: Each,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    memory_importance: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """Memories beyond the run's row limit, least important last; they come first in the next run."""
    return each(stages.defer, profiles, memories, memory_importance, decisions, reverted)
