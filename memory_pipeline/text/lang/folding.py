"""The normal form in which all words are compared: NFKC, lower case, straight apostrophes."""

import re
import sys
import unicodedata
from typing import Final

import polars as pl

_APOSTROPHES: Final = "[\u2018\u2019\u02bc`]"
_ANY_APOSTROPHE: Final = re.compile(_APOSTROPHES)


def folded(texts: pl.Expr) -> pl.Expr:
    """Return texts in normal form; null becomes empty."""
    return texts.fill_null("").str.normalize("NFKC").str.to_lowercase().str.replace_all(_APOSTROPHES, "'")


_MARKS: Final = "[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]"
"""Accents of Latin, Greek and Cyrillic letters, and the points of Hebrew and Arabic."""
_SHORT_I: Final = "\u0438\u0306"
"""A letter of its own in Cyrillic, though it is written as another one with an accent."""
_LETTERS: Final = {
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "æ": "ae",
    "œ": "oe",
    "ß": "ss",
    "\u0131": "i",
    "ħ": "h",
    "ŧ": "t",
    "ŋ": "n",
    "\u03c2": "\u03c3",
    "\u0640": "",
}
"""Letters that are no accented ones, and how they are written where there is no key for them."""
_DIGITS: Final = {
    chr(code): str(unicodedata.digit(chr(code)))
    for code in range(0x80, sys.maxunicode + 1)
    if unicodedata.category(chr(code)) == "Nd"
}
"""Digits of other scripts."""
_PLAIN: Final = _LETTERS | _DIGITS


def plain(words: pl.Expr) -> pl.Expr:
    """Return words in normal form without accents, with ASCII digits, and with the letters that stand in for others."""
    apart = words.str.normalize("NFKD").str.replace_all(_SHORT_I, "\u0439", literal=True).str.replace_all(_MARKS, "")
    return apart.str.normalize("NFC").str.replace_many(list(_PLAIN), list(_PLAIN.values()))


def fold_text(text: str) -> str:
    """Return one text in normal form, equal to that of `folded`."""
    return _ANY_APOSTROPHE.sub("'", unicodedata.normalize("NFKC", text).lower())
