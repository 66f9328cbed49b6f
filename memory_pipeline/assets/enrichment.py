"""`enrichment` and `vectors`: what is read out of each new text, once."""

import dagster as dg
import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.consolidation import pipeline


@dg.multi_asset(
    outs={
        "enrichment": dg.AssetOut(description="Keywords, names, numbers, dates and rule importance of each text."),
        "vectors": dg.AssetOut(description="Embedding of each text."),
    }
)
def enrichment(store: Store, profiles: pl.DataFrame, memories: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Enrich the texts that have no words or no vector yet."""
    known = (store.lake.read(name) for name in ("enrichment", "vectors"))
    return store.each(profiles, pipeline.enrich, memories, *known)
