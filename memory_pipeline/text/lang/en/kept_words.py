"""Closed classes of English words that decide which sentences of a memory a token budget cannot part.

Each is an expression over folded text (`tokens.fold`) for the regular expressions of Polars. Not here: which sentences
are worth most (`consolidation/worth`, `text/score/clause_value`).
"""

from typing import Final

from memory_pipeline.text.lang.en.lexicon import LISTS

_WORDS: Final = LISTS.section("budget")
HOLDS: Final = r"\d|" + _WORDS.any_of("turns", "conditions")
"""Marks of sentences that a text cannot lose: a figure, a negation, a condition."""

PERSONS: Final = _WORDS.any_of("persons")
"""Pronouns of somebody named before."""

_MEANT: Final = _WORDS.any_of("meant", "turns")
_STARTS: Final = (
    r"^\W*(?:he|she|it|they|this|that|these|those|his|her|its|their|him|them|then|so|but|and|or|also|however|because|"
    r"which|who|there|both|each|another|such|same|it's|he's|she's|they're|that's|later|afterwards|meanwhile|yet|still|"
    r"someone|somebody|everyone|everybody|(?:some|one|two|most|all|any) of|"
    r"the (?:first|second|third|others?|last|latter|former|rest|same|next)|"
    r"[a-z]+ed (?:for|by|with|in|at|to|from|on|out|off|up|and))(?-u:\b)"
)
DEPENDS: Final = f"{_STARTS}|{_MEANT}|{PERSONS}"
"""A sentence whose subject or other half is in the one before, or that qualifies what was said before."""
