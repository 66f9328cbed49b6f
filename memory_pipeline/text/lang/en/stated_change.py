"""Words by which a sentence states outright that something has ended or has another value now.

Closed classes and broad word classes of English, for `compare/stated_changes`; verbs are named by their stems. Not
here: cues that only make a change likely (`relation_cues`).
"""

import re
from typing import Final

from memory_pipeline.text.lang.en.cues import any_of


def _words(expressions: str, others: str = "(?!)") -> re.Pattern[str]:
    """Return the pattern of whole-word expressions separated by semicolons, or of others."""
    listed = "|".join(" ".join(expression.split()) for expression in expressions.split(";"))
    return re.compile(rf"\b(?:{listed})\b|{others}")


ENDING: Final = any_of("""
no longer; any ?more; any longer; stopped; quit; gave up; given up; used to; cancel(?:l?ed)?; called off; scrapped
; discontinued""")
"""Cues of an ending."""
REPLACING: Final = any_of("""
moved; rescheduled; postponed; pushed; shifted; brought; changed; switched; migrated; raised; lowered
; increased; reduced; went; rose; fell; dropped; replaced; swapped; now; nowadays; these days""")
"""Cues of another value."""
PLACING: Final = any_of("lives?; living; works?; working")
"""Verbs that say where somebody is, who can be in one place at a time."""
OPEN: Final = _words(
    """
if; unless; whether; would; could; might; maybe; perhaps; probably; possibly; apparently; allegedly; seems?; supposedly
; think(?:s|ing)?; thought; believes?; guess; wonder(?:s|ed|ing)?; consider(?:s|ed|ing)?; hop(?:e|es|ed|ing); imagine
; wish(?:es)?; suppose; assum(?:e|es|ed|ing); dream(?:s|ed|t)?; said; says?; saying; told; tells?; heard; ask(?:s|ed)?
; claim(?:s|ed)?; reads?; wrote; should; almost; nearly; going to; gonna; want(?:s|ed)?; plan(?:s|ned|ning)?; intends?
; tr(?:y|ies|ied|ying); need(?:s|ed)?; pretend(?:s|ed)?; let's; what; why; how; who; where; when; every ?time; again
; back then; ago; last; once; until; till; yesterday; today; tonight; temporarily; for now; not yet; except; only
; apart from; other than; also; too; either; another; both; example; quote[ds]?; estimated?; offer(?:s|ed)?
; propos(?:e|es|ed|al); suggest(?:s|ed)?; as a (?:kid|child); in (?:19|20)[0-9][0-9]
; jok(?:e|es|ed|ing); kidding; teas(?:es|ed|ing); according to; rumou?rs?; lol; haha; wrong; mistaken
; while; during; because of; due to; as (?:i|we|he|she|it|they|you); in case; temporary; for the time being; this once
; (?:this|that|these|next) (?:time|morning|afternoon|evening|day|days|week|weekend|month|year|season|summer|winter
|spring|autumn); week [0-9]+; on (?:holidays?|vacation|leave)
; for (?:(?:a|an|the|this|one|two|some|few|my|our) )*(?:day|days|night|week|weekend|weeks|month|months|moment|holidays?
|summer|winter|spring|autumn|time)""",
    r"[?\"\u201c\u201d\u00ab*`<>{}=#_]|\w\(",
)
"""Marks of sentences that may not state how things are from now on: doubt, hearsay, jokes, plans, questions, the past,
exceptions, temporary states and passing reasons; and signs of code."""
RETRACTED: Final = any_of("""
kidding; jok(?:e|es|ed|ing); april fools?; not true; scratch that; never ?mind; ignore (?:that|this|it); false alarm
; i was wrong; i misread; i misheard; turned out (?:to be )?(?:false|wrong)""")
"""Words that retract the rest of a text."""
DENIED: Final = _words("not; no; never; none; nobody; nothing; neither; nor; cannot; [a-z]+n't; without; hardly")
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
DROPPED: Final = frozenset(
    """
    a an the actually still currently really just finally officially recently unfortunately sadly luckily fortunately
    always usually generally already okay ok well hey oh update correction note fyi btw please fully completely
    """.split()  # noqa: SIM905 - a long list is easier to read as text
)
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
PAST: Final = frozenset(
    """
    was were had did went got came took made gave began broke lost met paid ran saw sent spent felt kept held flew
    drove ate drank wrote grew knew brought caught taught won sold bought found said told rode swam sang slept spoke
    """.split()  # noqa: SIM905
)
"""Past forms without a past ending."""
THIRD: Final = frozenset("he she it they this that these those there one who which here".split())  # noqa: SIM905
"""Pronouns, whose reference is unknown."""
SPEAKING: Final = frozenset("i we my our us you your".split())  # noqa: SIM905
"""Words that refer to somebody else when somebody else speaks."""
BOUNDARY: Final = frozenset(
    """
    in on at for with to from by near of about around through during under over after before every each twice daily
    weekly most per via into together as
    """.split()  # noqa: SIM905
)
"""Words that open an addition to a statement, which says less without it."""
BEGINNINGS: Final = (
    *("take place", "be schedule", "be plan", "be set", "be due", "be", "start", "begin", "open", "close", "end"),
    *("finish", "leave", "arrive", "depart", "run", "last", "cost", "happen"),
)
"""Verbs that give their subject a value."""
MOVES: Final = frozenset(
    """
    moved rescheduled postponed pushed shifted brought changed raised lowered increased reduced went rose fell
    dropped switched
    """.split()  # noqa: SIM905
)
"""Verbs that give their subject another value."""
DIRECTIONS: Final = frozenset("back forward out up down".split())  # noqa: SIM905
SWITCHES: Final = frozenset("switched changed migrated swapped".split())  # noqa: SIM905
"""Verbs that give their subject another thing to use."""
USES: Final = frozenset("use drive take drink have be own ride play".split())  # noqa: SIM905
PLACES: Final = frozenset({"live", "work"})
"""Verbs that give their subject one place at a time."""
PRACTICES: Final = frozenset("drink eat play smoke do take practise practice have attend learn study use".split())  # noqa: SIM905
"""Verbs of practices that one may quit."""
CALLED_OFF: Final = frozenset("cancelled canceled scrapped discontinued".split())  # noqa: SIM905
"""Participles of what no longer takes place."""
CURRENCIES: Final = frozenset("euro euros eur dollar dollars usd pound pounds gbp franc francs percent".split())  # noqa: SIM905
PLACED: Final = frozenset("in on at to by for from until till be about around".split())  # noqa: SIM905
"""Words before a value."""
UNITS: Final = frozenset(
    """
    euro euros eur dollar dollars usd pound pounds gbp franc francs percent am pm o'clock hour hours minute minutes day
    week month year per each sharp monthly weekly yearly
    """.split()  # noqa: SIM905
)
