"""Finds the memories that the rules may judge: those in a language that has a pack with full rules.

A memory in another language is not closed, linked as a possible update, trimmed, or merged except with exact copies.
Not here: how a language is identified (`text/lang/identification`).
"""

import polars as pl

from memory_pipeline.text.lang import identification


def judged(memories: pl.DataFrame, enrichment: pl.DataFrame) -> pl.Series:
    """Return which memories the rules may judge; one without a row of `enrichment` counts as too short to identify.

    A text too short to identify is read in the language of most memories of its profile.
    """
    keys = ["profile_id", "content_hash"]
    identified = memories.select(keys).join(
        enrichment.select(*keys, "language"), on=keys, how="left", maintain_order="left"
    )
    return identification.judged(identified)
