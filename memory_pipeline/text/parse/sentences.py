"""Splits texts into sentences; the only place that does so.

Lossless: the sentences of a text, joined, are the text. Not here: clauses within a sentence (`clauses`).
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

import numpy as np
import polars as pl
from sentencex import segment

from memory_pipeline.text.lang.registry import ENGLISH

_PART: Final = re.compile(r".*?(?:\n\s*|\u2026\s+|\Z)", re.DOTALL)
"""A part of a text up to the end of a line, or to an ellipsis, which may also mark an omission."""
_WINDOW: Final = 2_000
"""Characters read at once: `segment` searches the rest of its input for the end of each quotation."""

_TITLES: Final = ("Ms.", "Mx.", "Mme.", "Mlle.", "Messrs.", "Fr.", "Mt.")
"""Abbreviations before a name that `segment` takes for the end of a sentence in some language."""
_TITLE_ENDS: Final = tuple(f"{before}{title}" for title in _TITLES for before in " \n\t(\"'")


def split_sentences(texts: pl.Series, languages: pl.Series | None = None) -> pl.DataFrame:
    """Split each text into sentences; a line break and an ellipsis end one too.

    By default as English; the abbreviations of a language end no sentence. Returns row (index of the text), place (of
    the sentence in its text, from 0), sentence (as written, with trailing space). A text without letters or signs has
    none. Cost: about 8 s for a million short texts.
    """
    codes = [None] * len(texts) if languages is None else languages.to_list()
    parts = [list(sentences_of(text or "", code or ENGLISH)) for text, code in zip(texts.to_list(), codes, strict=True)]
    counts = pl.Series([len(part) for part in parts], dtype=pl.Int64)
    rows = pl.int_range(len(texts), dtype=pl.UInt32, eager=True).gather(np.repeat(np.arange(len(texts)), counts))
    places = pl.DataFrame({"row": rows}).select("row", pl.int_range(pl.len()).over("row").alias("place"))
    return places.with_columns(sentence=pl.Series(list(chain.from_iterable(parts)), dtype=pl.String))


def sentences_of(text: str, language: str) -> Iterator[str]:
    """Yield the sentences of one text; white space belongs to the sentence before it, or to the first."""
    pending = ""
    for part in _segments(text, language):
        for piece in filter(None, _PART.findall(part)) if "\n" in part or "\u2026" in part else (part,):
            if pending and not piece.isspace() and not pending.isspace() and not _ends_in_a_title(pending):
                yield pending
                pending = ""
            pending += piece
    if pending:
        yield pending


def _ends_in_a_title(text: str) -> bool:
    if not text.endswith((". ", ".")):
        return False
    written = text.rstrip()
    return written.endswith(_TITLE_ENDS) or written in _TITLES


def _segments(text: str, language: str) -> Iterator[str]:
    """Yield the segments of one text, read window by window, so that time grows with its length alone.

    A window begins where a segment begins, or continues one that is longer than a window; no segment is cut.
    """
    start, carried = 0, ""
    while len(text) - start > _WINDOW:
        *done, last = segment(language, text[start : start + _WINDOW])
        if not done:
            carried += last
            start += len(last)
            continue
        yield carried + done[0]
        yield from done[1:]
        carried = ""
        start += sum(map(len, done))
    first, *rest = segment(language, text[start:]) or [""]
    yield carried + first
    yield from rest
