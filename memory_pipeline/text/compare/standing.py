"""Distinguishes lasting states ("Ann lives in Rome") from events and from measurements of one moment.

Stating a lasting state twice adds nothing; "took ibuprofen", "weight 71.2" and "paid 18.90" on two days are two doses,
weights and payments. Whatever is not surely lasting counts as an occasion. English only. Not here: whether two texts
say the same (`merge_guard`).
"""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en.lemmas import PAST, lemma
from memory_pipeline.text.lang.en.lexicon import LISTS, MONTHS, NUMBERS, WEEKDAYS
from memory_pipeline.text.parse.tokens import fold

COPIED_CHARACTERS: Final = 100
"""Length in characters from which equal texts are copies: nobody reports two occasions in so many equal words."""

_TOKEN: Final = re.compile(r"[$\u20ac\u00a3]?[0-9]+(?:[.,:/][0-9]+)*[^\W\d_]*%?|[^\W\d_]+(?:['.-][^\W_]+)*")
_FIGURE: Final = re.compile(r"[$\u20ac\u00a3]?[0-9]")
_TIME: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}(?:[ap]m)?|[0-9]{1,2}[ap]m|[0-9]{1,2}(?:st|nd|rd|th)")
_CLOCK: Final = frozenset({"am", "pm", "o'clock"})
_AT: Final = frozenset({"at", "until", "till", "by", "before", "after"})
_HOURS: Final = 24
_WORDS: Final = LISTS.section("standing")
_STATES: Final = re.compile(rf"\b(?:{'|'.join(_WORDS.expressions('states'))})\b")
"""Present forms of verbs of being, having and habitual action."""
_PASSING: Final = re.compile(
    rf"\b(?:{'|'.join((*_WORDS.expressions('passing'), *_WORDS.expressions('same_form')))})\b|\?"
)
"""What ties a statement to the day it was said, and verbs whose past tense looks like their present."""
_MEASURES: Final = _WORDS.words("measures")
"""Units of quantities that vary."""
_NAMING: Final = _WORDS.words("naming")
"""Nouns whose figures name a thing instead of measuring it."""
_AGREED: Final = _WORDS.words("agreed")
"""Words beside figures that are agreed on or demanded, and hold until they are changed."""
_BE: Final = frozenset({"is", "are", "am", "i'm", "we're", "they're", "you're", "he's", "she's", "it's", "be", "not"})


def are_standing(texts: pl.Series) -> pl.Series:
    """Return whether each text states only what lasts, and nothing that happened, was measured or was paid once.

    Cost: about 20 µs per text.
    """
    return pl.Series("standing", [_is_standing(text) for text in fold(texts).to_list()], dtype=pl.Boolean)


def _is_standing(low: str) -> bool:
    if not _STATES.search(low) or _PASSING.search(low):
        return False
    found = _TOKEN.findall(low)
    return not has_measure(found) and not _happened(found)


def _happened(tokens: Sequence[str]) -> bool:
    """Return whether a verb is in the past tense; a participle after "is" is not."""
    return any(
        lemma(word).endswith(PAST) and not (index and tokens[index - 1] in _BE)
        for index, word in enumerate(tokens)
        if word.isalpha()
    )


def has_measure(tokens: Sequence[str]) -> bool:
    """Return whether a figure among the words of a text measures or counts; see `is_measure`."""
    return any(is_measure(tokens, index) for index, word in enumerate(tokens) if word in NUMBERS or _FIGURE.match(word))


def is_measure(tokens: Sequence[str], index: int) -> bool:
    """Return whether a word, in lower case, is a figure, but no time, date, agreed amount or part of a name."""
    word = tokens[index]
    if not (_FIGURE.match(word) or word in NUMBERS) or _TIME.fullmatch(word) or not _AGREED.isdisjoint(tokens):
        return False
    following, before = [*tokens[index + 1 : index + 2]], [*tokens[max(index - 1, 0) : index]]
    if not _CLOCK.isdisjoint(following) or not {*MONTHS, *WEEKDAYS}.isdisjoint(following + before):
        return False
    if following and following[0] in _MEASURES:
        return True
    if word[0] in "$\u20ac\u00a3" or word[-1] == "%":
        return True
    digits = NUMBERS.get(word, word)
    on_the_hour = not _AT.isdisjoint(before) and digits.isdecimal() and int(digits) <= _HOURS
    return not on_the_hour and _NAMING.isdisjoint(tokens[:index])
