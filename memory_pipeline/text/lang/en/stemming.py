"""Stems of English words, by suffix rules and short lists of exceptions.

Not here: segmentation into words (`parse/tokens`), synonyms and irregular verbs (`lemmas`).
"""

import re
from typing import Final

from memory_pipeline.text import word_cache
from memory_pipeline.text.lang.en.lexicon import LISTS

_WORDS: Final = LISTS.section("stems")
DIGITS_OF: Final = {word: str(value) for value, word in enumerate(LISTS.listed("numbers")[:13])}
"""Number words up to twelve and their digits."""

_CLITICS: Final = ("'s", "'ll", "'re", "'ve", "'d", "'m", "'")

_SUFFIXES: Final = ("ing", "edly", "ed", "ly")

_SUFFIXES_AFTER_E: Final = ("ing", "edly", "ed")

_SHORT_SYLLABLE: Final = re.compile(r"[^aeiouy]+[aeiouy][^aeiouywx]")
"""One short syllable, as in "car" and "hop", where a final e makes another word (Porter 1980)."""

_CACHED_WORDS: Final = 1 << 17

_MIN_LETTERS: Final = 3
"""Shorter words have no suffix, and no stem is shorter."""

_SEVERAL_SYLLABLES: Final = re.compile(r"[aeiouy][^aeiouy]+[aeiouy]")
"""More than one syllable."""

_EXCEPTIONS: Final = {form: base for base, *forms in map(str.split, _WORDS.expressions("exceptions")) for form in forms}
"""Forms that the suffix rules would not reduce to their word."""

_UNINFLECTED: Final = _WORDS.words("uninflected")
"""Words that only look inflected."""

_VOWELS: Final = frozenset("aeiouy")


@word_cache.kept(_CACHED_WORDS)
def stem(word: str) -> str:
    """Reduce a lower-case word to its stem.

    Strips clitics, plural, -ed, -ing, -ly and a final e, unless the rest would be another word (hop of hope); "don't"
    becomes "not" and "two" becomes "2". Words with a digit are names or numbers and are returned unchanged.
    """
    if word.endswith("n't"):
        return "not"
    word = without_clitic(word)
    if len(word) <= _MIN_LETTERS or not word.isascii() or any(map(str.isdigit, word)):
        return DIGITS_OF.get(word, word)
    if word in DIGITS_OF:
        return DIGITS_OF[word]
    word = _EXCEPTIONS.get(word, word)
    return _restore_root(*_without_suffix(_singular(word)))


def without_clitic(word: str) -> str:
    """Return the word without its clitic; a number without its thousands separators."""
    for clitic in _CLITICS if "'" in word else ():
        if word.endswith(clitic):
            return word.removesuffix(clitic)
    return word.replace(",", "") if word[:1].isdigit() else word


def _singular(word: str) -> str:
    """Return the word without its plural ending."""
    if word in _UNINFLECTED:
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:  # noqa: PLR2004
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] not in "siu" else word


def _without_suffix(word: str) -> tuple[str, bool]:
    """Return the word without its last suffix, and whether the rest may have lost a final e."""
    if word not in _UNINFLECTED and not word.endswith("eed"):
        for ending in _SUFFIXES:
            root = word.removesuffix(ending)
            if root != word and len(root) >= _MIN_LETTERS and _VOWELS & set(root):
                return root, ending in _SUFFIXES_AFTER_E or root[-1] == "e"
    return word, word[-1] == "e"


def _restore_root(root: str, silent_e: bool) -> str:
    """Undo doubled consonants and y→i, and drop or restore a final e where the root would be another word."""
    if len(root) > _MIN_LETTERS:
        if root[-1] == root[-2] and (root[-1] not in "lsz" or (root[-1] == "l" and _SEVERAL_SYLLABLES.search(root))):
            root, silent_e = root[:-1], False
        if root[-1] == "y":
            return root[:-1] + "i"
    without_e = root.removesuffix("e") if len(root) > _MIN_LETTERS else root
    return without_e + "e" if silent_e and _SHORT_SYLLABLE.fullmatch(without_e) else without_e
