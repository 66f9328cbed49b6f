"""Extracts: texts made of what many memories say, in their own words, that keep every date, number and name.

Memories are cut into sentences. First come those that hold the facts, then, as far as the budget goes, those that add
most to what is said already; they stand in order of time, with day and speaker. What is not here: which memories belong
together (`clustering`), and what else a summary is (`summarising`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

import polars as pl

from memory_pipeline.text import dates, facts, meanings, tokens

LEAST_BUDGET: Final = 64
"""Tokens that an extract may always have; a longer one half of its members' tokens."""
INDEX_WORDS: Final = 64
FACTS: Final = ("numbers", "dates", "entities")
_GROUP: Final = ["profile_id", "summary_id"]
_ENDS: Final = ((r"([.!?…;]+[\"')\]]*)\s+", "$1\n"), (r"([。！？])", "$1\n"))
"""Where a text is cut: behind a full stop with a space after it, and behind a wide one."""
_FRESH: Final = 0.5
"""Share of a sentence's weight that must be new; less would say the same again."""
_DAY_TOKENS: Final = 6
_SPEAKER_TOKENS: Final = 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a member, with what it holds."""

    order: int
    member: int
    day: str
    speaker: str | None
    text: str
    tokens: int
    facts: frozenset[str]
    words: dict[str, int]
    """Content words with their weight, hundredths."""
    passing: bool
    """It names a day that only the day of speaking tells."""


@dataclass(slots=True)
class Draft:
    """Sentences chosen so far, and what they hold together."""

    budget: int
    chosen: list[Sentence] = field(default_factory=list)
    facts: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    shown: set[str | int] = field(default_factory=set)
    spent: int = 0

    def cost(self, sentence: Sentence) -> int:
        """Tokens that a sentence would add, those for its day and speaker included."""
        day = 0 if sentence.day in self.shown else _DAY_TOKENS
        return sentence.tokens + day + (0 if sentence.member in self.shown else _SPEAKER_TOKENS)

    def add(self, sentence: Sentence) -> None:
        """Take a sentence in."""
        self.spent += self.cost(sentence)
        self.chosen.append(sentence)
        self.facts |= sentence.facts
        self.words |= sentence.words.keys()
        self.shown |= {sentence.day, sentence.member}
