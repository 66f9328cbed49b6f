"""Which memories the rules may judge: those in a language that has a pack with full rules.

What is in another language is neither closed, merged (exact copies apart), linked as a possible update nor trimmed. Not
here: how a language is identified (`text/lang/identification`).
"""

import polars as pl

from memory_pipeline.text.lang import identification


def judged(memories: pl.DataFrame, enrichment: pl.DataFrame) -> pl.Series:
    """Tell which memories the rules may judge.

    Args:
        memories: profile_id, content_hash.
        enrichment: table `enrichment`; a memory that it lacks counts as one too short to tell.

    Returns:
        A Boolean for each row of `memories`. What is too short to tell is read in the language of most memories of its
        profile.
    """
    keys = ["profile_id", "content_hash"]
    known = memories.select(keys).join(enrichment.select(*keys, "language"), on=keys, how="left", maintain_order="left")
    return identification.judged(known)
