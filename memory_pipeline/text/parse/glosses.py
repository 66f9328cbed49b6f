"""Translates closed-class words into English: months, weekdays, number words, denials, question words.

One set of patterns then reads dates, numbers, denials and the kind of question in each language that has a pack. Not
here: the words (`lang/<code>/pack`) and the patterns (`facts`, `dates`, `recall/index/queries`).
"""

import re
from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import Final

import polars as pl

from memory_pipeline.text.lang.pack import MONTHS
from memory_pipeline.text.lang.registry import ENGLISH, PACKS, pack

_MONTHS: Final = "|".join(MONTHS)
_DATE_FORMS: Final = (
    (re.compile(rf"\b([0-9]{{1,2}})(?:\.|er|º|°)? *(?:de |di |d')?({_MONTHS})\b"), r"\1 \2"),
    (re.compile(rf"\b({_MONTHS}) +(?:de |del |di )([0-9]{{4}})\b"), r"\1 \2"),
    (re.compile(r"([0-9]{4})年 *([0-9]{1,2})月 *([0-9]{1,2})[日号]"), lambda found: f" {_date(*found.groups())} "),
    (re.compile(r"([0-9]{1,2})月 *([0-9]{1,2})[日号]"), lambda found: f" {_day_of_month(*found.groups())} "),
)
"""Word orders of dates in other languages, with English words, and the English order."""


def glossed(low: pl.Series, languages: pl.Series) -> pl.Series:
    """Translate the words for dates, numbers and denials in texts of other languages into English.

    `low` is normalised by `tokens.fold`. Texts in English or in a language without a pack are unchanged. Cost: about 10
    µs per text in another language.
    """
    foreign = (languages.is_in([code for code in PACKS if code != ENGLISH])).fill_null(value=False)
    places = foreign.arg_true()
    if not len(places):
        return low
    pairs = zip(low.gather(places).to_list(), languages.gather(places).to_list(), strict=True)
    return low.scatter(places, [gloss(text, code) for text, code in pairs])


def gloss(low: str, language: str, *, question: bool = False) -> str:
    """Translate the closed-class words of one text normalised by `tokens.fold` into English.

    Those of a question include question words.
    """
    words = _words(language, question)
    if not words:
        return low
    text = _scanner(language, question).sub(lambda found: words[found[0]], low)
    for pattern, replacement in _DATE_FORMS:
        text = pattern.sub(replacement, text)
    return text


def _date(year: str, month: str, day: str) -> str:
    """Return a date in normal form."""
    return f"{year}-{month:0>2}-{day:0>2}"


def _day_of_month(month: str, day: str) -> str:
    """Return a day of a month as written in English; the numbers themselves if there is no such month."""
    return f"{MONTHS[int(month) - 1]} {day}" if 1 <= int(month) <= len(MONTHS) else f"{month} {day}"


@cache
def _words(language: str, question: bool) -> Mapping[str, str]:
    """Return words and phrases of a language with their English translation."""
    language_pack = pack(language)
    if language_pack.code != language or language == ENGLISH:
        return {}
    tables = (dict.fromkeys(language_pack.negations, "not"), language_pack.number_words, language_pack.date_words)
    listed = dict(chain.from_iterable(table.items() for table in tables))
    listed |= language_pack.question_words if question else {}
    return {word: f" {english} " for word, english in listed.items()} if language_pack.unspaced else listed


@cache
def _scanner(language: str, question: bool) -> re.Pattern[str]:
    """Return the pattern of the words of a language, longest first."""
    words = sorted(_words(language, question), key=lambda word: (-len(word), word))
    either = "|".join(map(re.escape, words))
    return re.compile(either if pack(language).unspaced else rf"\b(?:{either})\b")
