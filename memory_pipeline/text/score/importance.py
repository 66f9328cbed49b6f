"""Importance: how much a memory matters, 0..1, by rule from its text and joined with what the agent gave.

What is not here: how central a memory is among others (`consolidation/edges/centrality`).
"""

from typing import Final

import polars as pl

KEY: Final = ("profile_id", "memory_id")
UNKNOWN: Final = 0.5
"""Importance of a memory whose text was never enriched."""

BASE: Final = 0.08
MASS: Final = 0.42
"""Most that telling words add; a text reaches 63 % of it at `MASS_SCALE`."""
MASS_SCALE: Final = 900.0
"""Hundredths of rarity: nine rare words."""
FIRST_PERSON: Final = 0.12
DATES: Final = 0.12
NAMES: Final = 0.08
NUMBERS: Final = 0.08
DENIAL: Final = 0.02
CUE: Final = 0.16
"""A decision, an insight, a preference, a habit, a promise."""
QUESTION: Final = -0.18
"""Nothing but a question."""
SMALL_TALK: Final = -0.20
"""Nothing but greetings, thanks and praise; less in proportion to their share of the words."""


def rule() -> pl.Expr:
    """Importance by rule, 0..1, an expression over the features of a text.

    A sum of the weights above: rarity mass (saturating), first person, dates, names, numbers, denial and a cue raise
    it, a mere question and small talk lower it. Columns: `mass` (hundredths of rarity over distinct words),
    `small_talk` (share of the words, 0..1), `first_person`, `cue`, `only_asks` (Boolean), and those of `facts`.
    """
    telling = 1.0 - (pl.col("mass") * (-1.0 / MASS_SCALE)).exp()
    score = (
        BASE
        + MASS * telling
        + FIRST_PERSON * pl.col("first_person")
        + DATES * (pl.col("dates").list.len() > 0)
        + NAMES * (pl.col("entities").list.len() > 0)
        + NUMBERS * (pl.col("numbers").list.len() > 0)
        + DENIAL * pl.col("negated")
        + CUE * pl.col("cue")
        + QUESTION * pl.col("only_asks")
        + SMALL_TALK * pl.col("small_talk")
    )
    return score.clip(0.0, 1.0)


def effective(memories: pl.DataFrame, enrichment: pl.DataFrame) -> pl.DataFrame:
    """Importance that counts: as given, else the mean of hint and rule, else the rule, else 0.5.

    Args:
        memories: rows of `memories`.
        enrichment: rows of `enrichment`; a memory whose text is not in it has no rule importance.

    Returns:
        profile_id, memory_id, importance (0..1), one row a memory, in the order of `memories`.
    """
    rules = enrichment.select("profile_id", "content_hash", "rule_importance")
    known = memories.join(rules, on=["profile_id", "content_hash"], how="left", maintain_order="left")
    by_rule = pl.col("rule_importance").fill_null(UNKNOWN)
    hinted = (pl.col("importance_hint") + by_rule) / 2.0
    return known.select(*KEY, importance=pl.coalesce("importance_given", hinted, by_rule))
