"""The normal form in which all words are compared: NFKC, lower case, straight apostrophes."""

import re
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
