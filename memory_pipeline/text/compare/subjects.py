"""Whom a text is about: the owner of the memory, a person named first, or a relative of the owner.

Read from the beginning of the text alone: pronouns, "the user", possessives, kin and names. A text that begins
otherwise has no known subject. Not here: who speaks (`consolidation/ownership`).
"""

from functools import cache
from typing import Final

import polars as pl

from memory_pipeline.text.embed.thesaurus import thesaurus
from memory_pipeline.text.lang.en.core_cues import KIN
from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, STOP_WORDS

OWNER: Final = "\x00owner"
"""The owner of the memory: "I", "we", "the user"."""

_LABEL: Final = r"^(?:\p{L}+ ?){1,3}: +"
_OWNER: Final = r"^(?i:(?:the )?user(?-u:\b)|i(?-u:\b)|we(?-u:\b)|me(?-u:\b))"
_OWNERS: Final = r"^(?i:my|our|(?:the )?user['\x{2019}]s) "
_RELATIVE: Final = rf"{_OWNERS}(?:\p{{Ll}}+ ){{0,2}}?(?i:({KIN}))(?-u:\b)"
_NAMED: Final = rf"{_OWNERS}(?:\p{{Ll}}+ ){{0,2}}?(?i:{KIN}),? (\p{{Lu}}[\p{{L}}-]+(?: \p{{Lu}}[\p{{L}}-]+)*)"
_NAME: Final = r"^((?:\p{Lu}[\p{L}-]+\.? )*\p{Lu}[\p{L}-]+)(?:['\x{2019}]s)? \p{Ll}"


def subjects(texts: pl.Series) -> pl.Series:
    """Return the words that name the subject of each text, folded; an empty list where it is not known.

    Args:
        texts: strings.
    """
    text = pl.col("text").str.strip_chars().str.replace(_LABEL, "")
    frame = pl.DataFrame({"text": texts.fill_null("")}).with_columns(text=text)
    named = frame.select(
        pl.when(pl.col("text").str.contains(_OWNERS))
        .then(pl.col("text").str.extract(_NAMED))
        .otherwise(pl.col("text").str.extract(_NAME))
    ).to_series()
    words = named.fill_null("").str.to_lowercase().str.extract_all(r"[\p{L}-]+")
    names = words.list.set_difference(_plain()).list.sort()
    relative = pl.concat_list(pl.col("text").str.extract(_RELATIVE).str.to_lowercase())
    return frame.select(
        pl.when(names.list.len() > 0)
        .then(names)
        .when(pl.col("text").str.contains(_RELATIVE))
        .then(relative)
        .when(pl.col("text").str.contains(_OWNER))
        .then(pl.lit([OWNER]))
        .otherwise(pl.lit([], pl.List(pl.String)))
    ).to_series()


@cache
def _plain() -> list[str]:
    """Return words that are no names: those of English sentences and of the thesaurus."""
    return sorted({*thesaurus().places, *STOP_WORDS, *(word for group in COMMON_WORDS for word in group)})
