"""`association_edges`: the whole association graph."""

import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.assets.tables import table
from memory_pipeline.consolidation import pipeline


@table
def association_edges(
    store: Store,
    profiles: pl.DataFrame,
    decided_edges: pl.DataFrame,
    derived_edges: pl.DataFrame,
    proposed_edges: pl.DataFrame,
) -> pl.DataFrame:
    """Derived, decided and proposed edges at their present weight."""
    return store.each(profiles, pipeline.associate, decided_edges, derived_edges, proposed_edges)
