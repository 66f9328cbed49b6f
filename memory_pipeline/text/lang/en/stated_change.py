"""Words by which a sentence states outright that something has ended or has another value now.

Closed classes and broad word classes of English, for `compare/stated_changes`; verbs are named by their stems. Not
here: cues that only make a change likely (`relation_cues`).
"""

import re
from typing import Final

from memory_pipeline.text.lang.en.lexicon import LISTS

_WORDS: Final = LISTS.section("stated_change")


def _pattern(name: str, others: str = "(?!)") -> re.Pattern[str]:
    """Return the pattern of the expressions of a list, as whole words, or of others."""
    return re.compile(rf"\b(?:{'|'.join(_WORDS.expressions(name))})\b|{others}")


ENDING: Final = _WORDS.any_of("ending")
"""Cues of an ending."""
REPLACING: Final = _WORDS.any_of("replacing")
"""Cues of another value."""
PLACING: Final = _WORDS.any_of("placing")
"""Verbs that say where somebody is, who can be in one place at a time."""
OPEN: Final = _pattern("open", r"[?\"\u201c\u201d\u00ab*`<>{}=#_]|\w\(")
"""Marks of sentences that may not state how things are from now on: doubt, hearsay, jokes, plans, questions, the past,
exceptions, temporary states and passing reasons; and signs of code."""
RETRACTED: Final = _WORDS.any_of("retracted")
"""Words that retract the rest of a text."""
DENIED: Final = _pattern("denied")
"""Denials."""
SPELLED_OUT: Final = (
    (r"\bcannot\b", "can not"),
    (r"\bcan't\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"n't\b", " not"),
    (r"\bi'm\b", "i am"),
    (r"\b(he|she|it|that|there|this)'s\b", r"\1 is"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'ll\b", " will"),
    (r"\banymore\b", "any more"),
    (r"\bany longer\b", "any more"),
    (r"\bnowadays\b", "now"),
    (r"\bthese days\b", "now"),
    (r"\bfrom now on\b", "now"),
    (r"\bcalled off\b", "cancelled"),
    (r"\b(?:gave|given) up\b", "quit"),
)
"""Short forms and variants, and how they are read."""
BREAK: Final = re.compile(
    r"[;()\u2013\u2014]|[,:](?!\S)|\s-\s|\s(?:and|but|so|because|since|although|though|while|as of)\s"
)
"""Where a clause ends."""
DROPPED: Final = _WORDS.words("dropped")
"""Words that do not change what is stated."""
FORMS: Final = {
    form: base
    for base, forms in {
        "be": "am is are was were been being",
        "have": "has had",
        "do": "does did done doing",
        "get": "gets got gotten",
    }.items()
    for form in forms.split()
} | {"me": "i", "mine": "my"}
PAST: Final = _WORDS.words("past")
"""Past forms without a past ending."""
THIRD: Final = _WORDS.words("third")
"""Pronouns, whose reference is unknown."""
SPEAKING: Final = _WORDS.words("speaking")
"""Words that refer to somebody else when somebody else speaks."""
BOUNDARY: Final = _WORDS.words("boundary")
"""Words that open an addition to a statement, which says less without it."""
BEGINNINGS: Final = _WORDS.expressions("beginnings")
"""Verbs that give their subject a value."""
MOVES: Final = _WORDS.words("moves")
"""Verbs that give their subject another value."""
DIRECTIONS: Final = _WORDS.words("directions")
SWITCHES: Final = _WORDS.words("switches")
"""Verbs that give their subject another thing to use."""
USES: Final = _WORDS.words("uses")
PLACES: Final = frozenset({"live", "work"})
"""Verbs that give their subject one place at a time."""
PRACTICES: Final = _WORDS.words("practices")
"""Verbs of practices that one may quit."""
CALLED_OFF: Final = _WORDS.words("called_off")
"""Participles of what no longer takes place."""
CURRENCIES: Final = _WORDS.words("currencies")
PLACED: Final = _WORDS.words("placed")
"""Words before a value."""
UNITS: Final = _WORDS.words("units")
