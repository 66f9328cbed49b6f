"""Pairs of statements that may be about one thing, and what the rules find about them.

Not here: the rules (`change_rules`, `denial_rules`, `likely_changes`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.parse.statements import Statement

Roots = frozenset[str]

RARE_WEIGHT: Final = 100
"""Weight of an unknown word."""
HALF_WEIGHT: Final = 50
MIN_SHARED_WEIGHT: Final = 35
"""Weight of the shared words from which two statements are compared, in hundredths of a rare word."""
_MAX_EXCERPT: Final = 120
"""Characters of a statement that are reported as its value."""
_WORD: Final = re.compile(r"[^\W_]+(?:['.][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Finding:
    """How a newer statement relates to an older one.

    Attributes:
        relation: update or conflict.
        rule: name of the rule that applies.
        attribute: what the two are about, in words of the older.
        value: value in the older.
        other_value: value in the newer.
        confidence: 0..1.
    """

    relation: str
    rule: str
    attribute: str
    value: str
    other_value: str
    confidence: float


@dataclass(frozen=True)
class StatementPair:
    """An older and a newer statement that may be about one thing.

    Attributes:
        old: the older.
        new: the newer.
        weights: information of each root, in hundredths of a rare word.
        times: when each was said.
    """

    old: Statement
    new: Statement
    weights: Mapping[str, int]
    times: tuple[datetime | None, datetime | None] = (None, None)

    @cached_property
    def shared(self) -> Roots:
        """Topic roots of both."""
        return self.old.topic & self.new.topic

    def weight(self, roots: Roots) -> int:
        """Return summed weight of some roots."""
        return sum(self.weights.get(root, RARE_WEIGHT) for root in roots)

    def overlap(self, without: Roots = frozenset()) -> float:
        """Return the overlap coefficient of the two topics by weight: shared weight over that of the smaller topic."""
        one, other = self.old.topic - without, self.new.topic - without
        smaller = min(self.weight(one), self.weight(other))
        return self.weight(one & other) / smaller if smaller else 1.0

    def context_weight(self, without: Roots = frozenset()) -> int:
        """Return the weight of the shared topic, plus that of shared neighbouring topics (half) and of shared dates."""
        old, new = self.old, self.new
        neighbouring = ((old.topic | old.context_topic) & (new.topic | new.context_topic)) - self.shared - without
        return (
            self.weight(self.shared - without)
            + self.weight(neighbouring) // 2
            + HALF_WEIGHT * len(old.context_dates & new.context_dates)
        )

    def finding(self, rule: str, about: Roots, values: tuple[str, str], confidence: float, *, update: bool) -> Finding:
        """Return a finding about these roots."""
        attribute = " ".join(
            dict.fromkeys(word for word in _WORD.findall(self.old.low) if words.word_root(word) in about)
        )
        return Finding("update" if update else "conflict", rule, attribute, *values, confidence)

    @property
    def excerpts(self) -> tuple[str, str]:
        """Both statements as values."""
        return self.old.low[:_MAX_EXCERPT], self.new.low[:_MAX_EXCERPT]


def has_specific_root(roots: Roots) -> bool:
    """Return whether any of these roots is not generic."""
    return bool(roots - words.GENERIC)
