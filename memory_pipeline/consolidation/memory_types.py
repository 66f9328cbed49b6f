"""Types, categories, importance and more that no agent gave: what the reader says of the texts of memories.

Not here: what the reader's labels mean (`text/classification`), and the readings themselves (`core_sentences`).
"""

from typing import Final

import polars as pl

from memory_pipeline.schemas import TABLES
from memory_pipeline.text import classification

_TEXT: Final = ["profile_id", "content_hash"]
_READ: Final = {"importance_read": pl.col("importance_said"), "refers_back": pl.col("refers_back_said")}
"""Columns of what was read, and what is read of a text."""
_NAMED: Final = {"memory_type": classification.FALLBACK_TYPE, "category": classification.FALLBACK_CATEGORY}


def named(memories: pl.DataFrame, sentences: pl.DataFrame) -> pl.DataFrame:
    """Return memories with the type and category that no agent gave, and more, by what was read of them.

    Texts without a row of `core_sentences` keep the plain type and category. Cost: about 10 µs per text that was read.
    """
    texts = sentences.select("profile_id", "texts").explode("texts").drop_nulls("texts").unnest("texts")
    said = classification.inferred(texts["numbers"])
    read = texts.select(_TEXT).hstack(said.select(pl.all().name.suffix("_said")))
    known = memories.join(read, on=_TEXT, how="left", maintain_order="left")
    values = {
        name: pl.when(f"{name}_inferred").then(pl.coalesce(f"{name}_said", pl.lit(plain))).otherwise(name)
        for name, plain in _NAMED.items()
    }
    return TABLES["memories"].conform(known.with_columns(**values, **_READ))


def taken_over(memories: pl.DataFrame, published: pl.DataFrame) -> pl.DataFrame:
    """Return memories that were folded again, with what the last run, which published them, read of the texts."""
    said = published.filter(pl.col("importance_read").is_not_null()).select(
        *_TEXT,
        "memory_id",
        pl.col(*_READ, *_NAMED, *(f"{name}_inferred" for name in _NAMED)).name.suffix("_said"),
    )
    known = memories.join(said, on=[*_TEXT, "memory_id"], how="left", maintain_order="left")
    values = {
        name: pl.when(pl.col(f"{name}_inferred") & pl.col(f"{name}_inferred_said")).then(f"{name}_said").otherwise(name)
        for name in _NAMED
    }
    read = {name: pl.col(f"{name}_said") for name in _READ}
    return known.with_columns(**values, **read).select(memories.columns)
