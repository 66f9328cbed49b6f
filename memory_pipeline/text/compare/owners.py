"""Owners: does one text tell of somebody what the other tells of what is theirs ("Ben" and "Ben's wife")?

What is not here: what else tells two texts apart (`differences`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from memory_pipeline.text.parse.content_words import UNPLACED, key

_OWNED: Final = re.compile(
    r"(?=(?:\b(?P<person>my|our|your|his|their)|(?<!['\w])(?P<name>[^\W\d_]+)'s?)\s+"
    r"(?:(?:own|old|elder|older|younger|late|dear) )?(?P<thing>[^\W\d_]+))"
)
"""Somebody or something, and what is theirs."""
_OWNERS: Final = {"my": "i", "our": "we", "your": "you", "his": "he", "their": "they"}
_STANDING: Final = {
    person: re.compile(rf"\b(?:{forms})\b(?!-)")
    for person, forms in (("i", "i|me"), ("we", "we|us"), ("you", "you"), ("he", "he|him"), ("they", "they|them"))
}
"""How persons stand for themselves, not for what is theirs."""
_ATTRIBUTES: Final = frozenset({"name", "age", "birthday", "height", "weight", "size", "color"})
"""What is said of them is said of their owner."""


def other_owners(texts: Sequence[str], more: Sequence[Counter[str]]) -> tuple[Sequence[str], Sequence[str]] | None:
    """Find the owner that one text tells of, and the owned thing that the other tells of instead.

    Args:
        texts: two that say much the same.
        more: meanings that each says more often than the other.

    Returns:
        What tells them apart, of each text; None if they tell of the same. Cost: some µs a possessive.
    """
    lows = [text.lower().replace("\u2019", "'") for text in texts]
    for place, low in enumerate(lows):
        for match in _OWNED.finditer(low):
            thing = key(match["thing"])
            if not more[place][thing] or thing in _ATTRIBUTES or thing in UNPLACED:
                continue
            owner = _OWNERS.get(match["person"]) or match["name"]
            stands = _STANDING.get(owner) or re.compile(rf"\b{owner}\b(?!'s? )")
            if len(stands.findall(lows[1 - place])) > len(stands.findall(low)):
                return ([thing], [owner]) if place == 0 else ([owner], [thing])
    return None
