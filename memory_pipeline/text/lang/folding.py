"""The normal form in which all words are compared: NFKC, lower case, straight apostrophes."""

import re
import string
import unicodedata
from typing import Final

import polars as pl

_APOSTROPHES: Final = "[\u2018\u2019\u02bc`]"
_ANY_APOSTROPHE: Final = re.compile(_APOSTROPHES)


def folded(texts: pl.Expr) -> pl.Expr:
    """Return texts in normal form; null becomes empty."""
    return texts.fill_null("").str.normalize("NFKC").str.to_lowercase().str.replace_all(_APOSTROPHES, "'")


def fold_text(text: str) -> str:
    """Return one text in normal form, equal to that of `folded`."""
    return _ANY_APOSTROPHE.sub("'", unicodedata.normalize("NFKC", text).lower())


_MARKS: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
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
_PLAIN: Final = str.maketrans(
    _LETTERS | {letter.upper(): plain.capitalize() for letter, plain in _LETTERS.items() if letter in "øłđðþæœħŧŋ"}
)
_FULL_WIDTH: Final = {ord(letter) + 0xFEE0: letter for letter in string.ascii_letters}
_DIGIT: Final = re.compile(r"[^\D0-9]")


def keyed(text: str) -> str:
    """Return a text with letters of full width and digits of any script as they are on a keyboard.

    Examples:
        >>> keyed("\uff30\uff29\uff2e \uff14\uff17, \u0664\u0667")
        'PIN 47, 47'
    """
    return text if text.isascii() else _DIGIT.sub(_ascii_digit, text.translate(_FULL_WIDTH))


def _ascii_digit(found: re.Match[str]) -> str:
    return str(unicodedata.decimal(found[0]))


def plain(word: str) -> str:
    """Return a word without accents, with ASCII digits, and with the letters that stand in for others."""
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFKD", word).replace(_SHORT_I, "\u0439")
    whole = unicodedata.normalize("NFC", _MARKS.sub("", apart)).translate(_PLAIN)
    return _DIGIT.sub(_ascii_digit, whole)
