"""Language packs: the protocol, and packs made of word lists and a Snowball stemmer.

Not here: which pack reads a text (`registry`, `identification`) and the words of each language (`<code>.toml`).
"""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self

import Stemmer

from memory_pipeline.text.lang.word_lists import WordLists

RARITY_NUMBER: Final = 70
"""Rarity of a figure."""
RARITY_LETTER: Final = 50
"""Rarity of a word of one letter."""
RARITY_UNLISTED: Final = 100
"""Rarity of a word that is in no list."""
NEVER: Final = r"[^\s\S]"
"""Pattern that matches nothing."""
_NO_LISTS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("stop_words", "negations", "numbers", "safety", "safety_inside"), ""),
    **dict.fromkeys(("dates", "larger_numbers", "questions", "elides"), ()),
}
"""Lists of a language of which only the words of dates are known."""
_ELISION: Final = re.compile(r"^\w{1,7}'(?=\w)")
"""An article, pronoun or preposition that has lost its vowel before the word: l', qu', dell'."""
_LOCAL: Final = threading.local()


class LanguagePack(Protocol):
    """What the pipeline knows about one language. Pure: the same word always gives the same answer."""

    @property
    def code(self) -> str:
        """ISO 639-1 code of the language."""

    @property
    def judges(self) -> bool:
        """Whether the rules read its texts well enough to close, merge and trim them."""

    @property
    def unspaced(self) -> bool:
        """Whether it is written without spaces, so that pairs of characters serve as words."""

    @property
    def stop_words(self) -> frozenset[str]:
        """Function words, lower-case; they carry no topic."""

    @property
    def negations(self) -> frozenset[str]:
        """Words that deny something, lower-case."""

    @property
    def date_words(self) -> Mapping[str, str]:
        """Months, weekdays, "today" and their like, lower-case, and the English word for each."""

    @property
    def number_words(self) -> Mapping[str, str]:
        """Number words, lower-case, and their digits."""

    @property
    def question_words(self) -> Mapping[str, str]:
        """Words that show what a question asks for, and "now", lower-case, and the English for each."""

    @property
    def safety(self) -> str:
        """Pattern over folded text for what does harm if forgotten: health, prohibitions, law, payment."""

    def stem(self, word: str) -> str:
        """Reduce a lower-case word to its stem; a number word becomes its digits."""

    def written(self, word: str) -> str:
        """Return a lower-case word as a reader would list it: whole, without clitics."""

    def rarity(self, word: str, stem: str) -> int:
        """Return how rare a lower-case word with this stem is, in hundredths; 0 for a stop word."""


MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


_LEFT_OUT: Final = "-"
"""Stands in a list in order for a word that has another meaning more often."""


def dates(lists: WordLists) -> dict[str, str]:
    """Return the English of the months, weekdays and other words of dates of a language."""
    pairs = [
        *zip(lists.spellings("months"), MONTHS, strict=False),
        *zip(lists.spellings("weekdays"), WEEKDAYS, strict=True),
    ]
    named = {word: english for spellings, english in pairs for word in spellings if word != _LEFT_OUT}
    return named | lists.table("dates")


def numbers(lists: WordLists) -> dict[str, str]:
    """Return the digits of the number words of a language."""
    counted = [(word, str(value)) for value, words in enumerate(lists.spellings("numbers")) for word in words]
    return {word: digits for word, digits in counted if word != _LEFT_OUT} | lists.table("larger_numbers")


def safety(lists: WordLists) -> str:
    """Return the pattern of what does harm if forgotten: beginnings of words, and what may also stand inside."""
    roots = "|".join(lists.listed("safety")).replace("_", " ")
    inside = lists.listed("safety_inside")
    return "|".join([*([rf"(?:^|[^\p{{L}}])(?:{roots})"] if roots else []), *inside]) or NEVER


@dataclass(frozen=True, eq=False)
class WordPack:
    """A language known by word lists and the Snowball stemmer of its family; no rule judges its texts."""

    code: str
    algorithm: str = ""
    """Name of the Snowball stemmer; empty for none."""
    stop_words: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    date_words: Mapping[str, str] = field(default_factory=dict)
    number_words: Mapping[str, str] = field(default_factory=dict)
    question_words: Mapping[str, str] = field(default_factory=dict)
    safety: str = NEVER
    elides: bool = False
    """Whether "l'" and its like are cut from the word after them."""
    unspaced: bool = False
    judges: bool = False

    @classmethod
    def of(cls, code: str) -> Self:
        """Return the pack of a language that has word lists; of all but those of dates it may have none."""
        lists = WordLists({**_NO_LISTS, **WordLists.of(code).lists})
        return cls(
            code=code,
            algorithm=lists.text("stemmer"),
            stop_words=lists.words("stop_words"),
            negations=lists.words("negations"),
            date_words=dates(lists),
            number_words=numbers(lists),
            question_words=lists.table("questions"),
            safety=safety(lists),
            elides=lists.has("elides"),
        )

    def written(self, word: str) -> str:
        """Return a lower-case word without an elided article or pronoun: "atelier" of "l'atelier"."""
        return _ELISION.sub("", word) if self.elides else word

    def stem(self, word: str) -> str:
        """Reduce a lower-case word to its Snowball stem; a number word becomes its digits."""
        word = self.written(word)
        if word[:1].isdigit():
            return word.replace(",", "")
        if digits := self.number_words.get(word):
            return digits
        return snowball(self.algorithm, word) if self.algorithm else word

    def rarity(self, word: str, stem: str) -> int:  # noqa: ARG002 - no list of common stems
        """Return how rare a lower-case word is, in hundredths; 0 for a stop word."""
        if word in self.stop_words or self.written(word) in self.stop_words:
            return 0
        if word[:1].isdigit():
            return RARITY_NUMBER
        return RARITY_LETTER if len(word) == 1 else RARITY_UNLISTED


def snowball(algorithm: str, word: str) -> str:
    """Return the stem of a lower-case word by a Snowball algorithm, such as "german" (Porter 2001)."""
    stemmers: dict[str, Stemmer.Stemmer] = _LOCAL.__dict__.setdefault("stemmers", {})  # one is not safe among threads
    if algorithm not in stemmers:
        stemmers[algorithm] = Stemmer.Stemmer(algorithm)
    return str(stemmers[algorithm].stemWord(word))
