"""Cue expressions by which a clause says or marks that something changes.

All are patterns over folded clauses for the regular expressions of Polars, whose word boundaries are faster in ASCII.
Not here: the cues of core facts (`core_cues`).
"""

from typing import Final

from memory_pipeline.text.lang.en.lexicon import LISTS

_WORDS: Final = LISTS.section("changes")
_MARKERS: Final = rf"(?i){_WORDS.any_of('nowadays')}|^\W*(?:sorry,? )?{_WORDS.any_of('opening')}[,:]?"
"""Expressions that mark a change and say nothing about what changes."""
CHANGING: Final = rf"{_MARKERS}|{_WORDS.any_of('changing')}"
"""Expressions that mark or say that something changes."""

CONDITION: Final = (
    r"\b(?:when|whenever|if|every time|each time|any ?time)(?: (?:i|we) (?:ask|request|inquire|want|need|talk|speak)"
    r"(?: (?:you|me|for|about|to|know|on|with|help|a|any|questions?|information))*)? ([^.,;:!?\n]+)"
)
"""Says when a standing rule applies; its one group is what a query must then be about."""
