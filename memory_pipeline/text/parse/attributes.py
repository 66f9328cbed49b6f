"""Attributes: claims that somebody or something has a value of an attribute, as subject, attribute and value.

"We moved to Denver" and "I live in Boston" give two values of one attribute of one subject. Not here: amounts and dates
(`quantities`, `dates`), and what follows from two values (`compare/changes`).
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS

_WORD: Final = r"[^\s,.;:!?()\"]+"
_TITLE: Final = r"(?:(?:dr|mr|mrs|ms|st)\. )?"
_VALUE: Final = rf"(?P<value>{_TITLE}{_WORD}(?: {_TITLE}{_WORD}){{0,6}})"
_ADVERBS: Final = (
    r"(?: (?:now|currently|actually|officially|finally|recently|just|still|also|already|temporarily|permanently|back"
    r"|over|down|up|out|here|right|full-time|part-time|going to be|being))*"
)
_BE: Final = (
    r"(?:\b(?:is|are|was|were|am|will be|has become|have become|became|becomes|has been|have been)\b|(?<=he)'s\b"
    r"|(?<=it)'s\b|(?<=that)'s\b|'m\b|'re\b|'ll be\b)"
)
_SCHOOLS: Final = r"(?:elementary|school|academy|college|university|kindergarten|daycare|high|preschool)"
_PLANS: Final = r"(?:plan|tier|package|subscription|membership)"
_COMMUTE: Final = r"to (?:work|school|campus|university|uni|college|the office)"

_LIVE: Final = (
    "live|lives|lived|living|reside|resides|residing|based|settled|settling|moved|moving|relocated|relocating"
)
_WORK: Final = "work|works|working|worked|job|position|role|internship|interning|employed|career|gig|started|starting"
_GO: Final = "goes|go|going|attend|attends|attending|enrolled|transferred|transferring|switched|moved"
_BE_ON: Final = "on|upgraded to|downgraded to|switched to|moved to|chose|have|using"
_STUDY: Final = "i study|studying|studies|majoring in|major in"
_NAME: Final = "name (?:the |our |my |her |him )(?:baby|dog|cat|puppy|kitten|son|daughter|boat)?"
_HELD: Final = "held|located|hosted|based|happening|taking place|moved|relocated|being held"
_SET: Final = "changed|switched|updated|set|renamed|reset|swapped|changing|switching|moved"
_OWN: Final = "(?:the|my|our|his|her|their)"
_HAS_BEEN: Final = "(?:(?:has|have|was|is|got|been|just|recently) )"
_SUCCEEDS: Final = r"(?:(?:has taken|took|takes|is taking) over as|(?:was|is|has been) (?:appointed|elected)(?: as)?)"
_YOUTH: Final = "(?:spent )?(?:my|our|his|her|their) (?:[a-z]+ )?childhood"
_RIDE: Final = (
    "(?:take|takes|taking|ride|rides|catch) (?:(?:the|my|a) )?(?P<value>bus|train|subway|metro|tram|ferry|bike)"
)

_PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "home": (rf"\b(?:{_LIVE}|staying){_ADVERBS}(?: with [a-z]+ [a-z]+)? (?:in|to|at|near|into|outside) {_VALUE}",),
    "work": (rf"\b(?:(?:{_WORK})(?: [a-z-]+){{0,4}}? (?:at|for)|joined|joining|hired by|(?:offer|job) from) {_VALUE}",),
    "role": (
        rf"\b(?:{_WORK}|hired|title)(?: [a-z]+){{0,2}}? (?:as|is) (?:a |an |the ){_VALUE}",
        rf"\bpromoted to {_VALUE}",
    ),
    "study": (rf"\b(?:{_STUDY}|major(?: is|'s)?(?: from {_WORD})? to|degree in) {_VALUE}",),
    "prefer": (rf"\b(?:prefer|prefers|preferred|preferring) {_VALUE}",),
    "drive": (rf"\b(?:drive|drives|driving|car is) (?:a|an|my|his|her|the) (?:new |used |old )?{_VALUE}",),
    "school": (rf"\b(?:{_GO})(?: [a-z']+){{0,3}}? (?:to |in |at )?(?P<value>(?:{_WORD} ){{1,4}}{_SCHOOLS})\b",),
    "plan": (rf"\b(?:{_BE_ON}) (?:the|a|an|my|our) (?P<value>[a-z-]+(?: [a-z-]+)?) {_PLANS}\b",),
    "commute": (
        rf"\bcommute by (?P<value>{_WORD})",
        rf"\b{_RIDE} {_COMMUTE}",
        rf"\b(?P<value>drive|bike|cycle|walk|run)s? {_COMMUTE}",
    ),
    "birthplace": (rf"\b(?:born|grew up|raised|{_YOUTH})(?: and raised)? in {_VALUE}",),
    "place": (
        rf"{_BE}(?: (?:{_HELD}))?{_ADVERBS} (?:in|at|on) {_VALUE}",
        rf"\b(?:moved|relocated|takes place|take place) (?:to|in|at) {_VALUE}",
    ),
    "name": (
        rf"\brenamed (?:{_OWN} )?(?P<subject>(?:{_WORD} ){{1,3}}?)(?:from .{{1,40}}? )?(?:to|as) {_VALUE}",
        rf"\b(?:named|called|name is|name's|{_NAME}) ?{_VALUE}",
    ),
    "set": (
        rf"\b(?:{_SET}) (?:{_OWN} )?(?P<subject>(?:{_WORD} ){{1,4}}?)(?:from .{{1,40}}? )?to {_VALUE}",
        rf"^(?P<subject>.+?) {_HAS_BEEN}*(?:{_SET}) (?:from .{{1,40}}? )?to {_VALUE}",
    ),
    "is": (
        rf"^(?P<subject>(?:{_WORD} ){{0,4}}{_WORD}): {_VALUE}",
        rf"(?P<subject>.+?) {_SUCCEEDS}(?: the)?(?: new)? {_VALUE}",
        rf"(?P<subject>.+?) ?{_BE}{_ADVERBS} {_VALUE}",
    ),
}
"""How clauses assign a value; `subject` is the text before the match unless the pattern has its own."""
_COMPILED_PATTERNS: Final = {name: tuple(re.compile(one) for one in patterns) for name, patterns in _PATTERNS.items()}
_TRIGGERS: Final = {
    "home": r"(?-u:\b)(?:liv|resid|based|settl|mov|relocat|stay)[a-z]*(?-u:\b)",
    "work": r"(?-u:\b)(?:work|job|position|role|intern|employ|career|start|join|hired|offer)[a-z]*(?-u:\b)",
    "role": r"(?-u:\b)(?:promoted|(?:work|job|hired|employed|position|role|title)[a-z]* .{0,20}(?:as|is) )",
    "study": cues.any_of("study; studies; studying; major[a-z]*; degree"),
    "prefer": cues.any_of("prefer[a-z]*"),
    "drive": cues.any_of("driv[a-z]*; car"),
    "school": rf"(?-u:\b){_SCHOOLS}(?-u:\b)",
    "plan": rf"(?-u:\b){_PLANS}(?-u:\b)",
    "commute": rf"(?-u:\b)(?:commute|{_COMMUTE})(?-u:\b)",
    "birthplace": cues.any_of("born in; grew up in; raised in; childhood in"),
    "name": cues.any_of("name; name's; named; called; renamed"),
}
"""What a clause contains that may assign a value to an attribute."""
_ASSIGNING: Final = (
    r"(?-u:\b)(?:is|are|was|were|am|will be|became|becomes|become|been|changed|switched|updated|set|renamed|reset"
    r"|swapped|moved|changing|switching|relocated|held|takes? place|over as)(?-u:\b)|'(?:s|m|re)(?-u:\b)|^[^:]{1,40}: "
)
_MONTHS: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
_VALUE_END: Final = re.compile(
    r"\s(?:and|but|because|so|since|now|that|which|who|where|when|while|if|with|instead|rather|last|this|next|these"
    rf"|after|before|anymore|in (?:{_MONTHS}|[0-9]+)|by|from|for|as|until|at the moment|right|starting|to)\b.*$"
)
"""End of a value: conjunctions, adverbs of time, prepositions."""
_CONTEXT: Final = re.compile(r" (?:in|with|for|at|on|during|over|than|to)\b")
_NOT_A_VALUE: Final = re.compile(r"(?:in|at|on|to|for|from|held|not|about|under|over|of|[a-z]+ing)\b")
_DEFINITE: Final = re.compile(r"(?:(?:and|but|so|now|well|actually),? )*(?:my|our|the|his|her|their|your|[a-z]+'s)\b")
_LEADING_ADVERBS: Final = re.compile(
    r"^(?:(?:.* )?(?:and|but|so|well|now|actually|oh|these days|nowadays|lately|currently|as of [a-z0-9]+"
    r"|at the moment),? )+"
)
_OFFICE: Final = re.compile(r"(?!(?:an?|one|no) )[a-z'-]+ of [a-z]")
"""A role that one person holds at a time needs no article: "CEO of Nordwind"."""
_BARE_NOUNS: Final = re.compile(r"(?:new )?(?![a-z]+ing )[a-z'-]+(?: [a-z'-]+){0,2}$")
_PLURAL: Final = re.compile(r"[a-z]{3,}(?<!s)(?<!u)(?<!i)s$")
_NO_VALUE: Final = re.compile(r"(?:one of|some of|part of|among|what|how|why|where|when|that|like|so|such|too|very)\b")
"""Phrases that give no value."""
_MAX_VALUE_WORDS: Final = 6
_MAX_SUBJECT_WORDS: Final = 4
"""Most words of a subject."""
_PRONOUNS: Final = frozenset({"i", "we", "he", "she", "they", "you"})
_IDENTIFIER: Final = re.compile(r"(?:[0-9]+-[0-9-]*[0-9]|[^\s]*@[^\s]*)$")
"""A number that identifies rather than counts, of a phone or a passport, or an email address."""
_TIMES: Final = re.compile(
    r"^(?:the )?(?:[0-9]{1,2}(?::[0-9]{2})?\s?(?:am|pm)|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|{_MONTHS}|tomorrow|today|next|this|last|[0-9$€£])\b"
)
_TOKEN: Final = re.compile(r"[^\s,.;:!?()\"]+")
_POSTMODIFIER: Final = re.compile(r" (?:from|of|in|at|on|with|by|for|near|who|that|which)\b")
"""What narrows down the noun before it."""
_PRONOUNS_AND_TITLES: Final = _PRONOUNS | {
    "dr",
    "mr",
    "mrs",
    "ms",
    "i'm",
    "i've",
    "i'll",
    "we're",
    "we've",
    "we'll",
    "he's",
    "she's",
}
_UNINFORMATIVE: Final = words.CHANGE_WORDS | words.GENERIC


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a clause assigns to an attribute; words stand as roots.

    Attributes:
        attribute: place, work, role, ... or is.
        subject: whose attribute it is; empty for the speaker.
        value: the value.
        shown: the value as written.
        context: when, where and for what the value holds.
        is_definite: the subject is definite, with a possessive or an article.
        head: the head noun of the subject: "docs" of "our API docs from May"; empty for the speaker.
    """

    attribute: str
    subject: frozenset[str]
    value: frozenset[str]
    shown: str
    context: frozenset[str]
    is_definite: bool
    head: str


def scan(low: pl.Series) -> pl.DataFrame:
    """Scan clauses for claims: the `attributes` that they may give, and `assigns`, whether they assign anything."""
    matched = [
        pl.when(pl.lit(low.str.contains(pattern))).then(pl.lit(name)) for name, pattern in sorted(_TRIGGERS.items())
    ]
    named = pl.select(pl.concat_list(matched).list.drop_nulls()).to_series()
    return pl.DataFrame({"attributes": named, "assigns": low.str.contains(_ASSIGNING)})


def extract_claims(low: str, candidates: Collection[str], *, assigns: bool) -> tuple[Claim, ...]:
    """Return the claims of one clause.

    Args:
        low: the clause, folded.
        candidates: its `attributes` found by `scan`.
        assigns: whether it may assign a value to anything.
    """
    found_claims: list[Claim] = []
    for name, patterns in _COMPILED_PATTERNS.items():
        if name not in candidates and (name in _TRIGGERS or not assigns):
            continue
        match = next((hit for pattern in patterns if (hit := pattern.search(low))), None)
        if match is not None:
            subject = match.groupdict().get("subject") or low[: match.start()]
            found_claims += _claims(name, subject, match["value"])
    return tuple(dict.fromkeys(found_claims))


def _claims(name: str, subject: str, shown: str) -> list[Claim]:
    """Return the claims of one match: none if the value says nothing, two where subject and value may be exchanged."""
    if _NO_VALUE.match(shown):
        return []
    shown = _VALUE_END.sub("", f" {shown.removeprefix('with ').removeprefix('by ')}").strip()
    context_match = _CONTEXT.search(shown) if name in {"is", "prefer"} else None
    context = _roots(shown[context_match.start() :]) if context_match else frozenset()
    value, owner, head = (
        _roots(shown[: context_match.start()] if context_match else shown),
        _roots(subject),
        _head(subject),
    )
    subject = _LEADING_ADVERBS.sub("", subject.strip())
    is_definite = bool((_DEFINITE.match(subject) or _BARE_NOUNS.match(subject)) and not _PLURAL.search(subject))
    if (
        not value
        or len(value) > _MAX_VALUE_WORDS
        or (_TIMES.match(shown) and not _IDENTIFIER.match(shown))
        or (name == "is" and _NOT_A_VALUE.match(shown))
    ):
        return []
    if name in {"home", "place"}:
        return [Claim("place", owner, value, shown, context, is_definite, head)] if name == "home" or owner else []
    if name not in {"is", "set"}:
        return [Claim(name, owner, value, shown, context, is_definite, head)]
    if not owner or len(owner) > _MAX_SUBJECT_WORDS or any(word[0].isdigit() for word in owner):
        return []
    claim = Claim("is", owner, value, shown, context, is_definite or name == "set", head)
    is_office = _OFFICE.match(shown) and _head(shown) in words.SINGLE_VALUED
    inverse = Claim(
        "is", value, owner, subject.strip(), context, bool(is_office or _DEFINITE.match(shown)), _head(shown)
    )
    return [claim, inverse] if name == "is" else [claim]


def _head(phrase: str) -> str:
    """Return the root of the last content word before a preposition; empty if there is none."""
    nucleus = _POSTMODIFIER.split(phrase.strip(), maxsplit=1)[0]
    return next((root for word in reversed(_TOKEN.findall(nucleus)) for root in _roots(word)), "")


def _roots(text: str) -> frozenset[str]:
    """Return the roots of the content words of a phrase."""
    tokens = (word.strip("'").removesuffix("'s") for word in _TOKEN.findall(text))
    content = (word for word in tokens if word and word not in STOP_WORDS and word not in _PRONOUNS_AND_TITLES)
    return frozenset(words.word_root(word) for word in content) - _UNINFORMATIVE
