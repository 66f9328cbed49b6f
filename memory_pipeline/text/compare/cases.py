"""Cases: two statements that may be about one thing, and what is found of them.

What is not here: the rules that find something (`fact_rules`, `denial_rules`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.parse.content_words import key
from memory_pipeline.text.parse.statements import Statement

Roots = frozenset[str]

RARE: Final = 100
"""Weight of a word that is not known."""
SOME: Final = 50
LEAST_SHARED: Final = 35
"""Weight of shared words from which two statements are compared, in hundredths of a rare word."""
_SHOWN: Final = 120
"""Most letters of a statement that are shown as its value."""
_WORDS: Final = re.compile(r"[^\W_]+(?:['.][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Finding:
    """How a newer statement relates to an older one.

    Attributes:
        relation: update or conflict.
        rule: what gave it away.
        attribute: what the two are about, in words of the older.
        value: what the older says.
        other_value: what the newer says.
        confidence: 0..1.
    """

    relation: str
    rule: str
    attribute: str
    value: str
    other_value: str
    confidence: float


@dataclass(frozen=True)
class Case:
    """An older and a newer statement that may be about one thing.

    Attributes:
        old: the older.
        new: the newer.
        weights: what roots say, in hundredths of a rare word.
        times: when each was said.
    """

    old: Statement
    new: Statement
    weights: Mapping[str, int]
    times: tuple[datetime | None, datetime | None] = (None, None)

    @cached_property
    def shared(self) -> Roots:
        """What both are about."""
        return self.old.topic & self.new.topic

    def weight(self, roots: Roots) -> int:
        """What these roots say together."""
        return sum(self.weights.get(root, RARE) for root in roots)

    def likeness(self, without: Roots = frozenset()) -> float:
        """Share of the smaller topic that both have."""
        one, other = self.old.topic - without, self.new.topic - without
        smaller = min(self.weight(one), self.weight(other))
        return self.weight(one & other) / smaller if smaller else 1.0

    def context(self, without: Roots = frozenset()) -> int:
        """Weight of what both are about, with what the clauses beside them add, and with the dates they share."""
        old, new = self.old, self.new
        beside = ((old.topic | old.around) & (new.topic | new.around)) - self.shared - without
        return self.weight(self.shared - without) + self.weight(beside) // 2 + SOME * len(old.when & new.when)

    def found(self, rule: str, about: Roots, values: tuple[str, str], confidence: float, *, update: bool) -> Finding:
        """A finding on these roots."""
        shown = " ".join(dict.fromkeys(one for one in _WORDS.findall(self.old.low) if words.root(key(one)) in about))
        return Finding("update" if update else "conflict", rule, shown, *values, confidence)

    @property
    def both(self) -> tuple[str, str]:
        """Both statements as values."""
        return self.old.low[:_SHOWN], self.new.low[:_SHOWN]


def strong(roots: Roots) -> bool:
    """There is a word among them that not many statements share."""
    return bool(roots - words.GENERIC)
