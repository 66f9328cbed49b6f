"""Importance: how much a memory matters, 0..1, by rule from its text, combined with what the agent gave.

Not here: centrality among other memories (`consolidation/edges/centrality`).
"""

from typing import Final

import polars as pl

KEY: Final = ("profile_id", "memory_id")
UNKNOWN: Final = 0.5
"""Importance of a memory whose text was never enriched."""

BASE: Final = 0.08
MASS: Final = 0.42
"""Maximum that content words add; a text reaches 63 % of it at `MASS_SCALE`."""
MASS_SCALE: Final = 900.0
"""Hundredths of rarity: nine rare words."""
FIRST_PERSON: Final = 0.12
DATES: Final = 0.12
NAMES: Final = 0.08
NUMBERS: Final = 0.08
NEGATION: Final = 0.02
QUESTION: Final = -0.18
"""Added if the text is only a question."""
SMALL_TALK: Final = -0.20
"""Added for greetings, thanks and praise, in proportion to their share of the words."""


def rule() -> pl.Expr:
    """Return the rule importance, 0..1: an expression over the features of a text.

    A weighted sum: rarity mass (saturating), first person, dates, names, numbers and negation raise it; a mere
    question and small talk lower it. Columns: `mass` (hundredths of rarity over distinct words), `small_talk` (share of
    the words, 0..1), `first_person`, `only_asks` (Boolean), and those of `facts`.
    """
    saturation = 1.0 - (pl.col("mass") * (-1.0 / MASS_SCALE)).exp()
    score = (
        BASE
        + MASS * saturation
        + FIRST_PERSON * pl.col("first_person")
        + DATES * (pl.col("dates").list.len() > 0)
        + NAMES * (pl.col("entities").list.len() > 0)
        + NUMBERS * (pl.col("numbers").list.len() > 0)
        + NEGATION * pl.col("negated")
        + QUESTION * pl.col("only_asks")
        + SMALL_TALK * pl.col("small_talk")
    )
    return score.clip(0.0, 1.0)


def effective(memories: pl.DataFrame, enrichment: pl.DataFrame) -> pl.DataFrame:
    """Return the effective importance: as given, else the mean of the hint and what is known of the text, else that.

    Of a text it is known what the reader says, else the importance by rule (none where `enrichment` has no row), else
    0.5. Returns profile_id, memory_id, importance (0..1), one row per memory, in the order of `memories`.
    """
    rules = enrichment.select("profile_id", "content_hash", "rule_importance")
    joined = memories.join(rules, on=["profile_id", "content_hash"], how="left", maintain_order="left")
    of_text = pl.coalesce("importance_read", "rule_importance", pl.lit(UNKNOWN))
    hinted = (pl.col("importance_hint") + of_text) / 2.0
    return joined.select(*KEY, importance=pl.coalesce("importance_given", hinted, of_text))
