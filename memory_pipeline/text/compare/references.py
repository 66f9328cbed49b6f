"""Texts that give a value only by reference to what was said before ("Rent: as last year.").

Such a text neither replaces nor denies what it refers to. English only.
"""

from typing import Final

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import FEW, in_python
from memory_pipeline.text.lang.en.relation_cues import REFERS_BACK
from memory_pipeline.text.parse import tokens

LONGEST: Final = 120
"""Greatest length in characters of a text that only refers back."""
_LABEL_ALONE: Final = r"[:\x{ff1a}][^\p{L}\p{N}]*$"


def refer_back(texts: pl.Series) -> pl.Series:
    """Return whether each text is short and refers to something said before. Cost: about 2 µs per text."""
    low = tokens.fold(texts)
    if len(low) <= FEW:
        search = in_python(REFERS_BACK).search
        found = [len(text) <= LONGEST and search(text) is not None for text in low.to_list()]
        return pl.Series(low.name, found, dtype=pl.Boolean)
    return (low.str.len_chars() <= LONGEST) & low.str.contains(REFERS_BACK)


def give_nothing_else(texts: pl.Series) -> pl.Series:
    """Return whether each text is a label whose only value is a reference. Cost: about 10 µs per text."""
    return refer_back(texts) & without(texts).str.contains(_LABEL_ALONE)


def without(texts: pl.Series) -> pl.Series:
    """Return the folded texts without what refers back."""
    return tokens.fold(texts).str.replace_all(REFERS_BACK, " ")


def subjects(texts: pl.Series) -> list[frozenset[str]]:
    """Return the content words of each text without those of a reference. Cost: about 20 µs per text."""
    return [frozenset(words) for words in tokens.content_stems(without(texts)).to_list()]
