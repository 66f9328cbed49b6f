"""`association_edges`: the whole association graph."""

import polars as pl

from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages


@table
def association_edges(
    each: Each,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
    proposed_edges: pl.DataFrame,
    accesses: pl.DataFrame,
) -> pl.DataFrame:
    """Derived, decided and proposed edges at their present weight."""
    return each(stages.associate, decided_edges, derived_edges, proposed_edges, accesses)
