"""Static rarity of English words: a prior from word lists instead of corpus counts.

Rarities are whole hundredths, so that sums are exact in any order. Not here: the lists (`lexicon`).
"""

from typing import Final

from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, SMALL_TALK, STOP_WORDS
from memory_pipeline.text.lang.en.stemming import stem
from memory_pipeline.text.lang.folding import fold_text
from memory_pipeline.text.lang.pack import RARITY_LETTER, RARITY_NUMBER, RARITY_UNLISTED

RARITY_SMALL_TALK: Final = 20
_BANDS: Final = (40, 55, 65)
"""Hundredths: the logarithm of a word's frequency rank over that of a rare word, rounded to a few steps."""

_STEM_RARITIES: Final = {
    stem(word): value for band, value in reversed(list(zip(COMMON_WORDS, _BANDS, strict=True))) for word in sorted(band)
}
"""Rarity of each listed stem; a stem in two bands has that of the more common one."""


def is_common(word: str) -> bool:
    """Return whether a word, in any case, is an ordinary word rather than a name."""
    low = fold_text(word)
    return low in STOP_WORDS or low in SMALL_TALK or stem(low) in _STEM_RARITIES


def rarity(word: str, root: str) -> int:
    """Return the rarity of a lower-case word with this stem, in hundredths; 0 for a stop word."""
    if word in STOP_WORDS:
        return 0
    if word in SMALL_TALK:
        return RARITY_SMALL_TALK
    if word[0].isdigit():
        return RARITY_NUMBER
    if len(word) == 1:
        return RARITY_LETTER
    return _STEM_RARITIES.get(root, RARITY_UNLISTED)
