"""Detects quotes of erased memories in other texts, and masks them.

A quote is a rare word, or a phrase of four words, that an erased text has and no remaining text has. What remaining
memories say as well does not identify the erased ones, and neither do common words.
Not here: which texts are searched, and what becomes of a text with a quote (`erasure/erase.py`).
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import polars as pl

from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, SMALL_TALK, STOP_WORDS

PHRASE_LENGTH: Final = 4
"""Number of consecutive words that two people hardly choose by chance; a shorter text of two words or more counts as
one phrase."""
MIN_WORD_LENGTH: Final = 3
"""Minimum number of letters or digits of a rare word."""
MASK: Final = "[erased]"
"""Replaces erased words."""

_WORD: Final = re.compile(r"\w+")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[ntr])")
_COMMON: Final = frozenset(COMMON_WORDS) | frozenset(SMALL_TALK) | frozenset(STOP_WORDS)

Words = tuple[str, ...]


@dataclass(frozen=True)
class Quotes:
    """Words and phrases that identify erased texts, in lower case."""

    words: frozenset[str]
    """Rare words that only erased texts have."""
    phrases: frozenset[Words]
    """Phrases that only erased texts have."""

    @classmethod
    def of(cls, erased: Iterable[str], remaining: Iterable[str]) -> Self:
        """Collect the words and phrases of erased texts that no remaining text has.

        Cost: linear in the words of both, some 5 µs each.
        """
        words, phrases = set[str](), set[Words]()
        for text in erased:
            text_words = _words(text)
            words |= {word for word in text_words if len(word) >= MIN_WORD_LENGTH and word not in _COMMON}
            phrases |= set(_phrases(text_words, min(PHRASE_LENGTH, len(text_words))))
        lengths = {len(phrase) for phrase in phrases}
        for text in remaining:
            text_words = _words(text)
            words.difference_update(text_words)
            for length in lengths:
                phrases.difference_update(_phrases(text_words, length))
        return cls(frozenset(words), frozenset(phrases))

    def in_text(self, text: str | None) -> bool:
        """Return whether a text contains a rare word or a phrase."""
        text_words = _words(text or "")
        return not self.words.isdisjoint(text_words) or self._has_phrase(text_words)

    def verbatim(self, text: str) -> bool:
        """Return whether a text contains a phrase; single words do not count."""
        return self._has_phrase(_words(text))

    def in_texts(self, texts: pl.Series) -> pl.Series:
        """Return `in_text` of each text, False for null; each distinct text is searched once."""
        results = {text: self.in_text(text) for text in texts.unique().drop_nulls()}
        if not results:
            return texts.is_null() & False
        return texts.replace_strict(results, default=False, return_dtype=pl.Boolean)

    def masked(self, text: str) -> str:
        """Return a text with `MASK` in place of every phrase."""
        matches = list(_WORD.finditer(text))
        text_words = [match.group().lower() for match in matches]
        hidden = {
            place
            for length in self._lengths()
            for start in range(len(text_words) - length + 1)
            if tuple(text_words[start : start + length]) in self.phrases
            for place in range(start, start + length)
        }
        parts, end = list[str](), 0
        for place in sorted(hidden):
            if place - 1 not in hidden:
                parts += [text[end : matches[place].start()], MASK]
            end = matches[place].end()
        return "".join([*parts, text[end:]])

    def _has_phrase(self, text_words: list[str]) -> bool:
        return any(not self.phrases.isdisjoint(_phrases(text_words, length)) for length in self._lengths())

    def _lengths(self) -> set[int]:
        return {len(phrase) for phrase in self.phrases}


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, field names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def readable(raw: bytes) -> str:
    """Return the texts of a JSON document, one a line; of other bytes their UTF-8 text, with and without escapes."""
    text = raw.decode("utf-8", "replace")
    try:
        return "\n".join(strings(json.loads(text)))
    except (ValueError, RecursionError):
        unescaped = _ESCAPE.sub(lambda code: chr(int(code[1], 16)) if code[1] else " ", text)
        return f"{text}\n{unescaped}"


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _phrases(words: list[str], length: int) -> Iterator[Words]:
    """Yield every phrase of `length` words; a single word is not a phrase."""
    return zip(*(words[start:] for start in range(length)), strict=False) if length > 1 else iter(())
