"""Detects quotes of erased memories in other texts, and masks them.

A quote is a rare word, or a phrase of four words, that an erased text has and no remaining text has. What remaining
memories say as well does not identify the erased ones, and neither do common words. Chinese and Japanese are written
without spaces: a letter is a word there, and three in a row a rare one; of Thai, Lao, Khmer and Burmese six. A question
may inflect a rare word, and name somebody in two letters, of Thai and the like in four.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self
from urllib.parse import quote, unquote_plus

import polars as pl

from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, SMALL_TALK, STOP_WORDS
from memory_pipeline.text.lang.unspaced import UnspacedPack
from memory_pipeline.text.lang.word_lists import WordLists

PHRASE_LENGTH: Final = 4
"""Number of consecutive words that two people are unlikely to choose by chance; a shorter text of two words or more
counts as one phrase."""
MIN_WORD_LENGTH: Final = 3
"""Minimum number of letters or digits of a rare word."""
MIN_STEM_LENGTH: Final = 5
"""Minimum number of letters that two inflections of a word share."""
MAX_ENDING_LENGTH: Final = 2
"""Maximum number of letters after those."""
MASK: Final = "[erased]"
"""Replaces erased words."""

_UNSPACED: Final = "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Han, Hiragana and Katakana, as a class of letters in a regular expression."""
_ALPHABETS: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer: written without spaces, too."""
_UNSPACED_LETTER: Final = re.compile(f"[{_UNSPACED}{_ALPHABETS}]")
_MARKS: Final = "".join(
    chr(code)
    for code in range(0x300, 0x1E00)
    if unicodedata.category(chr(code)).startswith("M") and not re.match(f"[{_ALPHABETS}]", chr(code))
)
"""Marks that are written with a letter, such as the vowels of Hindi; `re` does not count them as part of a word."""
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}](?:[^\W{_UNSPACED}]|[{_MARKS}])*")
_PACKS: Final = (UnspacedPack.of("zh"), UnspacedPack.of("ja"))
_SURNAMES: Final = frozenset("".join(WordLists.of("zh").listed("surnames")))
_GRAMMAR: Final = frozenset().union(*(pack.stop_words.union(*pack.question_words) for pack in _PACKS))
"""Letters that mostly serve grammar or questions; they identify nothing."""
_RARE_LETTERS: Final = re.compile(rf"(?=((?:(?![{''.join(sorted(_GRAMMAR))}])[{_UNSPACED}]){{{MIN_WORD_LENGTH}}}))")
"""Other letters in a row, from each position where they begin."""
_KATAKANA: Final = "\u30a1-\u30ff"
_SHORT: Final = re.compile(
    rf"(?=([{''.join(sorted(_SURNAMES))}](?![{''.join(sorted(_GRAMMAR))}\u3040-\u30ff])[{_UNSPACED}]"
    rf"|(?<![{_KATAKANA}])[{_KATAKANA}]{{2}}(?![{_KATAKANA}])|[{_ALPHABETS}]{{4}}))"
)
"""What may be a name: a Chinese surname with a letter, a word of two Katakana, four letters of Thai and the like."""
_RARE_RUNS: Final = re.compile(rf"(?=([{_ALPHABETS}]{{6}}))")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[ntr])")
_ADDRESS: Final = re.compile(r"[^\s\"'<>]+")
"""What a log separates an address by; one with `%` may be written as requests write it."""
_ADDRESS_SIGNS: Final = "/?&=:@!$()*+,;[]"
_COMMON: Final = frozenset(SMALL_TALK).union(STOP_WORDS, *COMMON_WORDS, *(pack.date_words for pack in _PACKS))

Words = tuple[str, ...]


@dataclass(frozen=True)
class Quotes:
    """Words and phrases that identify erased texts, in lower case and one encoding of their letters."""

    words: frozenset[str]
    """Rare words that only erased texts have."""
    phrases: frozenset[Words]
    """Phrases that only erased texts have."""
    stems: frozenset[str] = frozenset()
    """Stems of the rare words that no remaining or common word has, and what may be a short name."""

    unspaced: bool = False
    """Some erased text is in a script without spaces, in which shorter names are not found."""
    ids: frozenset[str] = frozenset()
    """Ids of erased people, in any case of letters; not as a part of a longer word."""

    @classmethod
    def of(cls, erased: Iterable[str], remaining: Iterable[str]) -> Self:
        """Collect the words and phrases of erased texts that no remaining text has. Cost: some 5 µs a word of both."""
        words, phrases, names, unspaced = set[str](), set[Words](), set[str](), False
        for text in erased:
            text_words = _words(text)
            words |= _rare(text, text_words)
            names |= _names(text)
            unspaced = unspaced or _UNSPACED_LETTER.search(text) is not None
            phrases |= {
                phrase
                for phrase in _phrases(text_words, min(PHRASE_LENGTH, len(text_words)))
                if _is_distinctive(phrase)
            }
        stems, lengths = _stems(words) - _stems(_COMMON) | names, {len(phrase) for phrase in phrases}
        for text in remaining:
            text_words = _words(text)
            rare = _rare(text, text_words)
            words -= rare
            stems -= _stems(rare) | _names(text)
            for length in lengths:
                phrases.difference_update(_phrases(text_words, length))
        return cls(frozenset(words), frozenset(phrases), frozenset(stems), unspaced)

    def in_text(self, text: str | None) -> bool:
        """Return whether a text contains a rare word or a phrase."""
        text = text or ""
        text_words = _words(text)
        return not self.words.isdisjoint(_rare(text, text_words)) or self._has_phrase(text_words)

    def in_question(self, text: str) -> bool:
        """Return whether a text has a rare word, also with another ending, a short name, a phrase, or an id."""
        if self.names_person(text):
            return True
        stems = _stems(_rare(text, _words(text))) | _names(text)
        return self.in_text(text) or not self.stems.isdisjoint(stems)

    def verbatim(self, text: str) -> bool:
        """Return whether a text contains a phrase, or an id; single words do not count."""
        return self.names_person(text) or any(self._has_phrase(_words(one)) for one in _spellings(text))

    def in_questions(self, texts: pl.Series) -> pl.Series:
        """Return `in_question` of each text, False for null; each distinct text is searched once."""
        results = {text: self.in_question(text) for text in texts.unique().drop_nulls()}
        if not results:
            return texts.is_null() & False
        return texts.replace_strict(results, default=False, return_dtype=pl.Boolean)

    def masked(self, text: str) -> str:
        """Return a text with `MASK` in place of every phrase and id, also within addresses of requests."""
        if "%" in text:
            text = _ADDRESS.sub(self._masked_address, text)
        masked = self._masked(text if self._id is None else self._id.sub(MASK, text))
        return self._masked(_plain(text)) if self.verbatim(masked) else masked

    def _masked_address(self, found: re.Match[str]) -> str:
        address = unquote_plus(found.group())
        if "%" not in found.group() or not self.verbatim(address):
            return found.group()
        return quote(self.masked(address), safe=_ADDRESS_SIGNS)

    def _masked(self, text: str) -> str:
        """Return a text masked word by word as it is written; half-width letters may be other words than full ones."""
        matches = list(_WORD.finditer(text))
        text_words = [_folded(match.group()) for match in matches]
        hidden = {
            index
            for length in self._lengths
            for start in range(len(text_words) - length + 1)
            if tuple(text_words[start : start + length]) in self.phrases
            for index in range(start, start + length)
        }
        parts, end = list[str](), 0
        for index in sorted(hidden):
            if index - 1 not in hidden:
                parts += [text[end : matches[index].start()], MASK]
            end = matches[index].end()
        return "".join([*parts, text[end:]])

    def _has_phrase(self, text_words: list[str]) -> bool:
        return any(not self.phrases.isdisjoint(_phrases(text_words, length)) for length in self._lengths)

    def names_person(self, text: str) -> bool:
        """Return whether a text contains the id of an erased person."""
        return self._id is not None and any(self._id.search(one) for one in _spellings(text))

    @cached_property
    def _id(self) -> re.Pattern[str] | None:
        ids = "|".join(re.escape(one) for one in sorted(self.ids, key=lambda one: (-len(one), one)))
        return re.compile(rf"(?<![^\W_])(?:{ids})(?![^\W_])", re.IGNORECASE) if ids else None

    @cached_property
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


def _spellings(text: str) -> tuple[str, ...]:
    """Return a text, and how it reads if it holds addresses of requests, in which letters are written as `%40`."""
    return (text, unquote_plus(text)) if "%" in text else (text,)


def _words(text: str) -> list[str]:
    if text.isascii():  # several times as fast
        return _WORD.findall(text.lower())
    return [_folded(word) for word in _WORD.findall(_plain(text))]


def _plain(text: str) -> str:
    """Return a text in one encoding of its letters: keyboards and file systems write `ü` in two ways, `ｶ` in two."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else _plain(_plain(word).casefold())


def _rare(text: str, text_words: Iterable[str]) -> set[str]:
    """Return the rare words of a text."""
    long, text = {word for word in text_words if len(word) >= MIN_WORD_LENGTH}, _plain(text)
    return long.union(_RARE_LETTERS.findall(text), _RARE_RUNS.findall(text)) - _COMMON


def _names(text: str) -> set[str]:
    """Return what may be short names in a text written without spaces."""
    return set(_SHORT.findall(_plain(text))) - _COMMON


def _stems(words: Iterable[str]) -> set[str]:
    """Return words of `MIN_STEM_LENGTH` letters or more with and without their last letters."""
    lengths = range(MAX_ENDING_LENGTH + 1)
    return {word[: len(word) - cut] for word in words for cut in lengths if len(word) - cut >= MIN_STEM_LENGTH}


def _is_distinctive(phrase: Words) -> bool:
    """Return whether a phrase has two words that are more than letters of grammar."""
    return sum(word not in _GRAMMAR for word in phrase) > 1


def _phrases(words: list[str], length: int) -> Iterator[Words]:
    """Yield every phrase of `length` words; a single word is not a phrase."""
    return zip(*(words[start:] for start in range(length)), strict=False) if length > 1 else iter(())
