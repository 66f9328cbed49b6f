"""Which sentences of a text an agent should know before every session, and what kind of fact each is.

Not here: the cues of a language (`lang/en/core_cues`), and which of these facts still hold and come first
(`consolidation/core_memory`).
"""

from typing import Final

import polars as pl

from memory_pipeline.text.lang.en import core_cues
from memory_pipeline.text.parse import clauses, tokens

HEALTH: Final = "health_and_safety"
INSTRUCTION: Final = "standing_instructions"
PREFERENCE: Final = "preferences"
IDENTITY: Final = "user_profile"
PROJECT: Final = "current_projects"
"""Kinds of core facts, named after the block that holds them."""

LEAST_WORDS: Final = 4
"""Fewest words of a sentence that states something for good."""
MOST_WORDS: Final = 40
"""Longer sentences are lists or stories, of which a cue tells little."""


def core_facts(texts: pl.Series) -> pl.DataFrame:
    """Return the sentences of texts that state a core fact.

    A sentence that leans on the one before it ("It gives me hives.") stands with it. Questions, sentences about one
    day or one deed, and sentences without a cue state none.

    Args:
        texts: strings; null counts as empty.

    Returns:
        row (index of the text), place (of the sentence in it), sentence (on one line, as written), section (one of the
        kinds above), lasting (it tells what a body has for good), commands (it is an imperative), leans (nothing before
        it says whom its first words mean). Sorted by row and place. Cost: about 30 s for a million sentences.
    """
    said = _sentences(texts)
    low = tokens.fold(said["sentence"])
    words = low.str.count_matches(r"[\p{L}\p{N}]+")
    marks = pl.DataFrame({"low": low}).select(
        commands=_commands(pl.col("low")), lasting=_contains(pl.col("low"), core_cues.CHRONIC)
    )
    first_leans = said["sentence"].str.contains(core_cues.LEANING_START)
    said = said.hstack(marks).with_columns(section=_sections(low), leans=first_leans)
    return said.filter(pl.col("section").is_not_null() & words.is_between(LEAST_WORDS, MOST_WORDS))


def _sentences(texts: pl.Series) -> pl.DataFrame:
    """Return the sentences of each text, those that lean on the one before joined to it."""
    pieces = clauses.split_clauses(texts).with_columns(
        part=pl.col("ends").shift(1, fill_value=False).cum_sum().over("row")
    )
    line = pl.col("clause").str.join("").str.replace_all(r"\s+", " ").str.strip_chars()
    parts = pieces.group_by("row", "part", maintain_order=True).agg(line.alias("sentence"))
    parts = parts.filter(pl.col("sentence") != "")
    leans = pl.col("sentence").str.contains(core_cues.LEANING) & (pl.int_range(pl.len()).over("row") > 0)
    return (
        parts.with_columns(place=(~leans).cum_sum().over("row"))
        .group_by("row", "place", maintain_order=True)
        .agg(pl.col("sentence").str.join(" "))
    )


def _sections(low: pl.Series) -> pl.Series:
    """Return the kind of core fact that each folded sentence states; null for none."""
    frame = pl.DataFrame({"low": low, "past_free": low.str.replace_all(core_cues.PASSIVE, " ")})
    text = pl.col("low")
    once = _contains(text, core_cues.ONE_TIME) | pl.col("past_free").str.contains(core_cues.PAST)
    once &= ~text.str.contains(core_cues.STANDING)
    talk = text.str.contains(core_cues.SMALL_TALK) | text.str.contains(core_cues.ADDRESSED) | text.str.contains("!.*!")
    certain = ~text.str.contains(core_cues.SUPPOSED)
    taste = _contains(text, core_cues.PREFERENCE) & ~text.str.contains(core_cues.REACTION)
    cases = {
        HEALTH: (_contains(text, core_cues.CHRONIC) & certain)
        | (_contains(text, core_cues.DOSE) & ~talk & ~text.str.contains(core_cues.RELATIVE_DAY))
        | (_contains(text, core_cues.HEALTH) & ~once & ~talk),
        INSTRUCTION: (_contains(text, core_cues.INSTRUCTION) & certain) | _commands(text),
        PREFERENCE: taste & ~once & ~talk,
        IDENTITY: _contains(text, core_cues.IDENTITY) & ~once & ~talk,
        PROJECT: _contains(text, core_cues.PROJECT) & ~once & ~talk,
    }
    named = (pl.when(holds & ~text.str.contains(r"\?")).then(pl.lit(name)) for name, holds in cases.items())
    return frame.select(pl.coalesce(*named).alias("section")).to_series()


def _commands(text: pl.Expr) -> pl.Expr:
    """Return whether a folded sentence commands something."""
    return text.str.contains(core_cues.IMPERATIVE) & ~text.str.contains(core_cues.NO_COMMAND)


def _contains(text: pl.Expr, cues: str) -> pl.Expr:
    """Return whether a folded text contains a cue as whole words."""
    parts = "|".join(line.strip() for line in cues.strip().splitlines())
    return text.str.contains(rf"(?:^|[^\p{{L}}\p{{N}}])(?:{parts})(?:$|[^\p{{L}}\p{{N}}])")
