"""English: the pack with full rules, which alone lets texts be closed, merged and trimmed."""

from dataclasses import dataclass, field
from typing import Final

from memory_pipeline.text.lang.en import rarity
from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, LISTS, STOP_WORDS
from memory_pipeline.text.lang.en.stemming import DIGITS_OF, stem, without_clitic
from memory_pipeline.text.lang.pack import NEVER


@dataclass(frozen=True, eq=False)
class EnglishPack:
    """English, known by the lists and rules of this package."""

    code: str = "en"
    judges: bool = True
    unspaced: bool = False
    stop_words: frozenset[str] = STOP_WORDS
    negations: frozenset[str] = LISTS.words("negations")
    date_words: dict[str, str] = field(default_factory=lambda: {word: word for word in DATE_WORDS})

    number_words: dict[str, str] = field(default_factory=lambda: dict(DIGITS_OF))
    question_words: dict[str, str] = field(default_factory=dict)

    safety: str = NEVER  # the reader says it

    def stem(self, word: str) -> str:
        """Reduce a lower-case word to its stem; a number word up to twelve becomes its digits."""
        return stem(word)

    def written(self, word: str) -> str:
        """Return a lower-case word without its clitic: "ana" of "ana's"."""
        return without_clitic(word)

    def rarity(self, word: str, stem: str) -> int:
        """Return how rare a lower-case word with this stem is, in hundredths; 0 for a stop word."""
        return rarity.rarity(word, stem)


PACK: Final = EnglishPack()
