"""Packs of languages that are written without spaces: characters and pairs of characters serve as words.

Pairs do about as well as a segmenter in retrieval (Nie and Ren 1999) and need no dictionary. Not here: the characters
of each language (`<code>.toml`) and how texts are cut into pairs (`parse/tokens`).
"""

from dataclasses import dataclass
from typing import Final, Self

from memory_pipeline.text.lang.pack import RARITY_NUMBER, RARITY_UNLISTED, WordPack, dates, safety
from memory_pipeline.text.lang.word_lists import WordLists

_DIGITS: Final = "一二三四五六七八九"
_TENS: Final = ("", "十", "二十", "三十")
_DATED: Final = {
    f"{tens}{one}{unit}": f"{10 * ten + place}{unit}"
    for ten, tens in enumerate(_TENS)
    for place, one in enumerate(("", *_DIGITS))
    for unit in "月日号"
    if tens or one
}
"""Months and days in numerals, and the same in digits: 十二月 is 12月."""
_LETTER: Final = 15
"""Rarity of a single character, which has many meanings."""
_PAIR: Final = 90
_HALF: Final = 45
"""Rarity of a pair of characters, and of a pair with one that mostly serves grammar."""


@dataclass(frozen=True, eq=False)
class UnspacedPack(WordPack):
    """A language written without spaces, whose stop words are the characters that mostly serve grammar."""

    unspaced: bool = True

    @classmethod
    def of(cls, code: str) -> Self:
        """Return the pack of a language that has word lists."""
        lists = WordLists.of(code)
        return cls(
            code=code,
            stop_words=frozenset("".join(lists.listed("function_letters"))),
            negations=lists.words("negations"),
            date_words=_DATED | dates(lists),
            question_words=lists.table("questions"),
            safety=safety(lists),
        )

    def stem(self, word: str) -> str:
        """Return the word itself: it has no endings."""
        return word

    def rarity(self, word: str, stem: str) -> int:  # noqa: ARG002 - a word is its own stem
        """Return how rare a character, pair or foreign word is, in hundredths; 0 if it is only grammar."""
        of_grammar = sum(letter in self.stop_words for letter in word)
        if of_grammar == len(word):
            return 0
        if word[0].isdigit():
            return RARITY_NUMBER
        if word.isascii():
            return RARITY_UNLISTED
        if len(word) == 1:
            return _LETTER
        return _HALF if of_grammar else _PAIR
