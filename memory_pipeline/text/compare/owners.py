"""Owners: detects that one text is about somebody and the other about something of theirs ("Ben" and "Ben's wife").

Not here: other differences between two texts (`merge_guard`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from memory_pipeline.text.lang.en.lemmas import FUNCTION_LEMMAS, lemma

_POSSESSIVE: Final = re.compile(
    r"(?=(?:\b(?P<person>my|our|your|his|their)|(?<!['\w])(?P<name>[^\W\d_]+)'s?)\s+"
    r"(?:(?:own|old|elder|older|younger|late|dear) )?(?P<thing>[^\W\d_]+))"
)
"""An owner and the thing owned."""
_OWNERS: Final = {"my": "i", "our": "we", "your": "you", "his": "he", "their": "they"}
_PERSONAL_PRONOUNS: Final = {
    person: re.compile(rf"\b(?:{forms})\b(?!-)")
    for person, forms in (("i", "i|me"), ("we", "we|us"), ("you", "you"), ("he", "he|him"), ("they", "they|them"))
}
"""Pronouns of the owners themselves, without possessives."""
_OWN_ATTRIBUTES: Final = frozenset({"name", "age", "birthday", "height", "weight", "size", "color"})
"""Attributes: a statement about them is about their owner."""


def differing_owners(
    texts: Sequence[str], surplus: Sequence[Counter[str]]
) -> tuple[Sequence[str], Sequence[str]] | None:
    """Find an owner that one text is about while the other is about the thing owned.

    Args:
        texts: two similar texts.
        surplus: lemmas that each text has more often than the other.

    Returns:
        The distinguishing word of each text; None if there is none. Cost: some µs per possessive.
    """
    lows = [text.lower().replace("\u2019", "'") for text in texts]
    for place, low in enumerate(lows):
        for match in _POSSESSIVE.finditer(low):
            thing = lemma(match["thing"])
            if not surplus[place][thing] or thing in _OWN_ATTRIBUTES or thing in FUNCTION_LEMMAS:
                continue
            owner = _OWNERS.get(match["person"]) or match["name"]
            pronoun = _PERSONAL_PRONOUNS.get(owner) or re.compile(rf"\b{owner}\b(?!'s? )")
            if len(pronoun.findall(lows[1 - place])) > len(pronoun.findall(low)):
                return ([thing], [owner]) if place == 0 else ([owner], [thing])
    return None
