"""Traces of erased memories: what betrays that another text quotes one.

A trace is a rare word, or a run of four words, that an erased text has and no text that stays has. What other memories
say as well tells nothing of the erased ones, and common words tell nothing at all.
What is not here: where traces are looked for, and what becomes of a text that has one (`erasure/erase.py`).
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import polars as pl

from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, SMALL_TALK, STOP_WORDS

RUN: Final = 4
"""Words in a row that nobody says twice by chance; a shorter text counts as a whole, from two words on."""
TELLING: Final = 3
"""Letters or digits from which on a word can tell anything."""
MASK: Final = "[erased]"
"""Stands in a log where erased words stood."""

_WORD: Final = re.compile(r"\w+")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[ntr])")
_COMMON: Final = frozenset(COMMON_WORDS) | frozenset(SMALL_TALK) | frozenset(STOP_WORDS)

Words = tuple[str, ...]


@dataclass(frozen=True)
class Traces:
    """What betrays erased texts."""

    words: frozenset[str]
    """Rare words that only they have, in lower case."""
    runs: frozenset[Words]
    """Runs of words that only they have, in lower case."""

    @classmethod
    def of(cls, erased: Iterable[str], kept: Iterable[str]) -> Self:
        """Collect the traces of texts that go, among texts that stay.

        Cost: linear in the words of both, some 5 µs each.
        """
        words, runs = set[str](), set[Words]()
        for text in erased:
            said = _words(text)
            words |= {word for word in said if len(word) >= TELLING and word not in _COMMON}
            runs |= set(_runs(said, min(RUN, len(said))))
        lengths = {len(run) for run in runs}
        for text in kept:
            said = _words(text)
            words.difference_update(said)
            for length in lengths:
                runs.difference_update(_runs(said, length))
        return cls(frozenset(words), frozenset(runs))

    def in_text(self, text: str | None) -> bool:
        """Say whether a text has a trace."""
        said = _words(text or "")
        return not self.words.isdisjoint(said) or self._in_a_row(said)

    def verbatim(self, text: str) -> bool:
        """Say whether a text has a run of erased words; single words are no sign."""
        return self._in_a_row(_words(text))

    def in_texts(self, texts: pl.Series) -> pl.Series:
        """Say of each text whether it has a trace; null has none. Each distinct text is looked at once."""
        known = {text: self.in_text(text) for text in texts.unique().drop_nulls()}
        return texts.replace_strict(known, default=False, return_dtype=pl.Boolean) if known else texts.is_null() & False

    def masked(self, text: str) -> str:
        """Return a text with `MASK` in the place of every run of erased words."""
        found = list(_WORD.finditer(text))
        said = [match.group().lower() for match in found]
        hidden = {
            place
            for length in self._lengths()
            for start in range(len(said) - length + 1)
            if tuple(said[start : start + length]) in self.runs
            for place in range(start, start + length)
        }
        parts, end = list[str](), 0
        for place in sorted(hidden):
            if place - 1 not in hidden:
                parts += [text[end : found[place].start()], MASK]
            end = found[place].end()
        return "".join([*parts, text[end:]])

    def _in_a_row(self, said: list[str]) -> bool:
        return any(not self.runs.isdisjoint(_runs(said, length)) for length in self._lengths())

    def _lengths(self) -> set[int]:
        return {len(run) for run in self.runs}


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, names of fields too."""
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
    """Return what bytes say: the texts of a JSON document, else the bytes as UTF-8, with and without its escapes."""
    text = raw.decode("utf-8", "replace")
    try:
        return "\n".join(strings(json.loads(text)))
    except (ValueError, RecursionError):
        plain = _ESCAPE.sub(lambda code: chr(int(code[1], 16)) if code[1] else " ", text)
        return f"{text}\n{plain}"


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _runs(words: list[str], length: int) -> Iterator[Words]:
    """Yield every run of so many words; one word is none."""
    return zip(*(words[start:] for start in range(length)), strict=False) if length > 1 else iter(())
