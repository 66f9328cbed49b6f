"""Orders the pairs of memories of which a run is unsure by what an answer is worth: one queue for all who answer.

People and agents work through it with `review`, a language model in a run (`model_judge`). Not here: which pairs are
possible (`judging`), and what an answer does (`state/answers`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import LIVE
from memory_pipeline.text.score.core_facts import HEALTH

ANSWERS: Final = {"update": "update", "doubt": "update", "duplicate": "repeat", "conflict": "conflict"}
"""The answer that each relation of `fact_changes` suggests."""
LIKELY: Final = 0.35
"""Minimum likelihood of a relation that somebody is asked about; a language model is asked about the others later."""

_TEXT: Final = ("profile_id", "content_hash")


def ranked(pairs: pl.DataFrame, memories: pl.DataFrame, sentences: pl.DataFrame) -> pl.DataFrame:
    """Order pairs of memories by what an answer is worth.

    Likely pairs come first; among them those about somebody's health, then those whose memories are asked for most,
    then the likeliest. The others follow in the same order. Pairs of which a memory is no longer live are left out.

    Args:
        pairs: profile_id, memory_id, other_id, likelihood (that they are related), and any other columns.
        memories: table `memories`.
        sentences: table `core_sentences`, for what is about health.

    Cost: two joins of the pairs with the memories.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE), pl.col("superseded_by").is_null())
    known = live.select(*KEY, "content_hash", used="access_count").join(
        _about_health(sentences).with_columns(health=pl.lit(value=True)), on=list(_TEXT), how="left"
    )
    rows = pairs
    for side, end in (("older", "memory_id"), ("newer", "other_id")):
        of_side = known.select(
            "profile_id", *(pl.col(name).alias(f"{side}_{name}") for name in ("used", "health")), end="memory_id"
        )
        rows = rows.join(of_side.rename({"end": end}), on=["profile_id", end])
    health = (pl.col("older_health") | pl.col("newer_health")).fill_null(value=False)
    used = pl.col("older_used") + pl.col("newer_used")
    order = [pl.col("likelihood") >= LIKELY, health, used, pl.col("likelihood")]
    return rows.sort(*order, *KEY, "other_id", descending=[*[True] * len(order), False, False, False]).select(
        pairs.columns
    )


def _about_health(sentences: pl.DataFrame) -> pl.DataFrame:
    """Return the texts that state something about somebody's health: profile_id, content_hash."""
    texts = sentences.explode("texts").drop_nulls("texts").unnest("texts")
    stated = texts.explode("sentences").drop_nulls("sentences").unnest("sentences")
    return stated.filter(pl.col("section") == HEALTH).select(_TEXT).unique()
