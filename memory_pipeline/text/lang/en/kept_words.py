"""Closed classes of English words that decide which sentences of a memory a token budget cannot part.

Each is an expression over folded text (`tokens.fold`) for the regular expressions of Polars. Not here: which sentences
are worth most (`consolidation/worth`, `text/score/clause_value`).
"""

from typing import Final


def _any_of(expressions: str) -> str:
    parts = (" ".join(one.split()) for one in expressions.split(";"))
    return rf"(?-u:\b)(?:{'|'.join(parts)})(?-u:\b)"


_TURNS: Final = r"""
    not; never; no; none; nobody; nothing; nowhere; neither; nor; cannot; without; hardly; barely; [a-z]+n't; except;
    unless; otherwise; instead; therefore; thus
"""
HOLDS: Final = r"\d|" + _any_of(f"{_TURNS}; only; if; until; whether; provided; as long as; in case; must; may; should")
"""Marks of sentences that a text cannot lose: a figure, a negation, a condition."""

PERSONS: Final = _any_of("he; she; him; her; hers; he's; she's; he'd; she'd; he'll; she'll; himself; herself")
"""Pronouns of somebody named before."""

_MEANT: Final = _any_of(f"it; its; they; them; theirs; it's; it'll; they're; they've; they'd; they'll; such; {_TURNS}")
_STARTS: Final = (
    r"^\W*(?:he|she|it|they|this|that|these|those|his|her|its|their|him|them|then|so|but|and|or|also|however|because|"
    r"which|who|there|both|each|another|such|same|it's|he's|she's|they're|that's|later|afterwards|meanwhile|yet|still|"
    r"someone|somebody|everyone|everybody|(?:some|one|two|most|all|any) of|"
    r"the (?:first|second|third|others?|last|latter|former|rest|same|next)|"
    r"[a-z]+ed (?:for|by|with|in|at|to|from|on|out|off|up|and))(?-u:\b)"
)
DEPENDS: Final = f"{_STARTS}|{_MEANT}|{PERSONS}"
"""A sentence whose subject or other half is in the one before, or that qualifies what was said before."""
