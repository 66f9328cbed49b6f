"""`enrichment` and `vectors`: what is read out of each new text, once."""

import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.assets.tables import Each, tables
from memory_pipeline.consolidation import stages


@tables(
    enrichment="Keywords, names, numbers, dates and rule importance of each text.",
    vectors="Embedding of each text.",
)
def enrichment(each: Each, store: Store, memories: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Enrich the texts that have no words or no vector yet."""
    known = (store.lake.read(name) for name in ("enrichment", "vectors"))
    return each(stages.enrich, memories, *known)
