"""Orders the pairs of memories of which a run is unsure by what an answer is worth, and says what is asked of them.

People and agents work through it with `review`, a language model in a run (`model_judge`). Not here: which pairs are
possible (`judging`), and what an answer does (`state/answers`).
"""

from typing import Final, NamedTuple

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import LIVE
from memory_pipeline.text.score.sections import HEALTH

ANSWERS: Final = {"update": "update", "doubt": "update", "duplicate": "repeat", "conflict": "conflict"}
"""The answer that each relation of `fact_changes` suggests."""


class Floor(NamedTuple):
    """What a pair must come to for somebody to be asked about it."""

    worth: float
    likelihood: float


PEOPLE: Final = Floor(worth=0.5, likelihood=0.35)
"""A pair that is likelier than not, or less likely and of some weight; below this likelihood three in four differ."""
AGENTS: Final = Floor(worth=0.25, likelihood=0.25)
"""An agent reads a pair for some 65 tokens; of those that people are not asked about more than every third is related
(`research/README.md`)."""

SURE_REPEAT: Final = 0.75
"""Least likelihood of a repetition at which the judge tells it from a denial: below, "I love it" and "I hate it" are
alike to it."""
_ASKED: Final = {
    "update": "does the newer replace the older",
    "partial": "does the newer replace a part of the older",
    "repeat": "do both say the same",
    "conflict": "do they contradict each other",
}
_EITHER: Final = "do both say the same, or does one deny or replace the other?"

_HEALTH: Final = 1.0
"""What it adds to the weight of a pair that it is about somebody's health."""
_USE: Final = 0.1
"""What each recall of its memories adds."""
_MOST_USES: Final = 5
"""Recalls that count, so that no habit of asking outweighs what is sure."""
_TEXT: Final = ("profile_id", "content_hash")


def is_open(relation: str, confidence: float) -> bool:
    """Return whether a pair may say the opposite as well as the same."""
    return relation == "repeat" and confidence < SURE_REPEAT


def asked(relation: str, confidence: float) -> str:
    """Return what is asked about a pair of memories by the likeliest answer, and how likely (0..1) that is."""
    if is_open(relation, confidence):
        return _EITHER
    return f"{_ASKED[relation]}? {confidence:.0%} likely"


def ranked(
    pairs: pl.DataFrame, memories: pl.DataFrame, sentences: pl.DataFrame, *, floor: Floor | None = None
) -> pl.DataFrame:
    """Order pairs of memories by what an answer is worth, by their `likelihood`.

    That is how likely they are related, times their weight: 1, more if they are about somebody's health (by table
    `core_sentences`), and more for each time that they were recalled. Pairs of which a memory is no longer live are
    left out, and those of the same words: a run merges them, or they tell of two occasions; and what does not come to
    the floor. Cost: two joins of the pairs with the memories.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE), pl.col("superseded_by").is_null())
    known = live.select(*KEY, "content_hash", used="access_count").join(
        _about_health(sentences).with_columns(health=pl.lit(value=True)), on=list(_TEXT), how="left"
    )
    rows = pairs
    for side, end in (("older", "memory_id"), ("newer", "other_id")):
        of_side = known.select(
            "profile_id",
            *(pl.col(name).alias(f"{side}_{name}") for name in ("used", "health", "content_hash")),
            end="memory_id",
        )
        rows = rows.join(of_side.rename({"end": end}), on=["profile_id", end])
    health = pl.coalesce("older_health", "newer_health", pl.lit(value=False))
    used = (pl.col("older_used") + pl.col("newer_used")).clip(upper_bound=_MOST_USES)
    worth = pl.col("likelihood") * (1 + _HEALTH * health + _USE * used)
    least = floor or Floor(0.0, 0.0)
    asked = (pl.col("worth") >= least.worth) & (pl.col("likelihood") >= least.likelihood)
    other_words = pl.col("older_content_hash") != pl.col("newer_content_hash")
    kept = rows.with_columns(worth=worth).filter(other_words, asked)
    return kept.sort("worth", *KEY, "other_id", descending=[True, False, False, False]).select(pairs.columns)


def _about_health(sentences: pl.DataFrame) -> pl.DataFrame:
    """Return the texts that state something about somebody's health: profile_id, content_hash."""
    texts = sentences.explode("texts").drop_nulls("texts").unnest("texts")
    stated = texts.explode("sentences").drop_nulls("sentences").unnest("sentences")
    return stated.filter(pl.col("section") == HEALTH).select(_TEXT).unique()
