"""Attributes: what a clause says that somebody or something has, as subject, attribute and value.

"We moved to Denver" and "I live in Boston" are two values of one attribute of one subject. What is not here: amounts
and dates (`statements`), and what follows from two values (`changes`).
"""

import re
from dataclasses import dataclass
from typing import Final

import polars as pl

from memory_pipeline.text import change_words as words
from memory_pipeline.text.lexicon import STOP_WORDS
from memory_pipeline.text.meanings import key

_WORD: Final = r"[^\s,.;:!?()\"]+"
_VALUE: Final = rf"(?P<value>(?:(?:dr|mr|mrs|ms|st)\. )?{_WORD}(?:[ ](?:(?:dr|mr|mrs|ms|st)\. )?{_WORD}){{0,6}})"
_ADVERBS: Final = r"(?: (?:now|currently|actually|officially|finally|recently|just|still|also|already|temporarily|permanently|back|over|down|up|out|here|right|full-time|part-time|going to be|being))*"
_BE: Final = (
    r"(?:\b(?:is|are|was|were|am|will be|has become|have become|became|becomes|has been|have been)\b|(?<=he)'s\b|(?<=it)'s\b"
    r"|(?<=that)'s\b|'m\b|'re\b|'ll be\b)"
)

PATTERNS: Final = {
    "home": (
        rf"\b(?:live|lives|lived|living|reside|resides|residing|based|settled|settling|moved|moving|relocated|relocating"
        rf"|staying){_ADVERBS}(?: with [a-z]+ [a-z]+)? (?:in|to|at|near|into|outside) {_VALUE}"
    ),
    "work": (
        rf"\b(?:(?:work|works|working|worked|job|position|role|internship|interning|employed|career|gig|started|starting)"
        rf"(?: [a-z-]+){{0,4}}? (?:at|for)|joined|joining|hired by|(?:offer|job) from) {_VALUE}"
    ),
    "role": rf"\b(?:work|works|working|job|hired|employed|position|role|title)(?: [a-z]+){{0,2}}? (?:as|is) (?:a |an |the ){_VALUE}|\bpromoted to {_VALUE}",
    "study": rf"\b(?:i study|studying|studies|majoring in|major in|major(?: is|'s)?(?: from {_WORD})? to|degree in) {_VALUE}",
    "prefer": rf"\b(?:prefer|prefers|preferred|preferring) {_VALUE}",
    "drive": rf"\b(?:drive|drives|driving|car is) (?:a|an|my|his|her|the) (?:new |used |old )?{_VALUE}",
    "school": rf"\b(?:goes|go|going|attend|attends|attending|enrolled|transferred|transferring|switched|moved)(?: [a-z']+){{0,3}}? (?:to |in |at )?(?P<value>(?:{_WORD} ){{1,4}}(?:elementary|school|academy|college|university|kindergarten|daycare|high|preschool))\b",
    "plan": r"\b(?:on|upgraded to|downgraded to|switched to|moved to|chose|have|using) (?:the|a|an|my|our) (?P<value>[a-z-]+(?: [a-z-]+)?) (?:plan|tier|package|subscription|membership)\b",
    "commute": rf"\bcommute by (?P<way>{_WORD})|\b(?:(?:take|takes|taking|ride|rides|catch) (?:the )?(?P<value>bus|train|subway|metro|tram|ferry|bike)|(?P<verb>drive|bike|cycle|walk|run|commute by {_WORD})s?) to (?:work|school|campus|the office)",
    "birthplace": rf"\b(?:born|grew up|raised) in {_VALUE}",
    "place": rf"{_BE}(?: (?:held|located|hosted|based|happening|taking place|moved|relocated|being held))?{_ADVERBS} (?:in|at|on) {_VALUE}|\b(?:moved|relocated|takes place|take place) (?:to|in|at) {_VALUE}",
    "name": rf"\b(?:named|called|name is|name's|name (?:the |our |my |her |him )(?:baby|dog|cat|puppy|kitten|son|daughter|boat)?) ?{_VALUE}",
    "set": rf"\b(?:changed|switched|updated|set|renamed|reset|swapped|changing|switching|moved) (?:the |my |our |his |her |their )?(?P<subject>(?:{_WORD} ){{1,4}}?)(?:from .{{1,40}}? )?to {_VALUE}",
    "is": rf"(?P<subject>.+?) ?{_BE}{_ADVERBS} {_VALUE}",
}
"""How clauses say what somebody or something has; `subject` is what stands before unless the pattern has its own."""

_COMPILED: Final = {
    name: [re.compile(one) for one in re.split(r"\|(?=\\b(?:promoted to|\(\?:moved\|relocated\|takes))", pattern)]
    for name, pattern in PATTERNS.items()
}
_FRAMED: Final = ("home", "work", "role", "study", "prefer", "drive", "commute", "birthplace", "name")
"""Attributes of persons: told apart by their pattern alone."""
_TELLTALES: Final = {
    "home": r"(?-u:\b)(?:liv|resid|based|settl|mov|relocat|stay)[a-z]*(?-u:\b)",
    "work": r"(?-u:\b)(?:work|job|position|role|intern|employ|career|start|join|hired|offer)[a-z]*(?-u:\b)",
    "role": r"(?-u:\b)(?:promoted|(?:work|job|hired|employed|position|role|title)[a-z]* .{0,20}(?:as|is) )",
    "study": r"(?-u:\b)(?:study|studies|studying|major[a-z]*|degree)(?-u:\b)",
    "prefer": r"(?-u:\b)prefer[a-z]*(?-u:\b)",
    "drive": r"(?-u:\b)(?:driv[a-z]*|car|traded)(?-u:\b)",
    "school": r"(?-u:\b)(?:elementary|school|academy|college|university|kindergarten|daycare|high|preschool)(?-u:\b)",
    "plan": r"(?-u:\b)(?:plan|tier|package|subscription|membership)(?-u:\b)",
    "commute": r"(?-u:\b)commute|to (?:work|school|campus|the office)(?-u:\b)",
    "birthplace": r"(?-u:\b)(?:born|grew up|raised) in(?-u:\b)",
    "name": r"(?-u:\b)(?:name|name's|named|called)(?-u:\b)",
}
"""What a clause must hold for the pattern to be tried on it; also what makes two clauses worth comparing."""
_GIVING: Final = (
    r"(?-u:\b)(?:is|are|was|were|am|will be|became|becomes|become|been|changed|switched|updated|set|renamed|reset|swapped|moved"
    r"|changing|switching|relocated|held|takes? place)(?-u:\b)|'(?:s|m|re)(?-u:\b)"
)
_CUT: Final = re.compile(
    r"\s(?:and|but|because|so|since|now|that|which|who|where|when|while|if|with|instead|rather|last|this|next|these|after"
    r"|before|anymore|in (?:january|february|march|april|may|june|july|august|september|october|november|december|[0-9]+)"
    r"|by|from|for|as|until|at the moment|right|starting|to)\b.*$"
)
_MOST_WORDS: Final = 6
_MOST_NAMED: Final = 4
"""Words of a subject."""
_PERSON: Final = frozenset(
    {"i", "we", "he", "she", "they", "you", "i'm", "i've", "i'll", "we're", "we've", "we'll", "he's", "she's"}
)
_TIMES: Final = re.compile(
    r"^(?:the )?(?:[0-9]{1,2}(?::[0-9]{2})?\s?(?:am|pm)|noon|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february"
    r"|march|april|may|june|july|august|september|october|november|december|tomorrow|today|next|this|last|[0-9$€£])\b"
)
_CONTEXT: Final = re.compile(r" (?:in|with|for|at|on|during|over|than|to)\b")
_PLACED: Final = re.compile(r"(?:in|at|on|to|for|from|held|not|about|under|over|of|[a-z]+ing)\b")
_IDLE: Final = words.IDLE | words.GENERIC


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a clause gives to an attribute; words stand as roots.

    Attributes:
        attribute: place, work, role, ... or is.
        subject: whose it is; empty for the speaker.
        value: what it is.
        shown: the value as written.
        context: what is said of when, where and for what.
    """

    attribute: str
    subject: frozenset[str]
    value: frozenset[str]
    shown: str
    context: frozenset[str]


def attributes(low: pl.Series) -> pl.Series:
    """Attributes that each clause may give a value to: a list of names a clause."""
    return pl.select(
        pl.concat_list(
            pl.when(pl.lit(low.str.contains(pattern))).then(pl.lit(name))
            for name, pattern in sorted(_TELLTALES.items())
        ).list.drop_nulls()
    ).to_series()


def gives(low: pl.Series) -> pl.Series:
    """Whether each clause may say what something is, or is set to."""
    return low.str.contains(_GIVING)


def claims(low: str) -> tuple[Claim, ...]:
    """What one clause, in lower case, says that somebody or something has."""
    found = []
    for name, patterns in _COMPILED.items():
        for pattern in patterns:
            match = pattern.search(low)
            if match is None:
                continue
            given = match.groupdict()
            shown = given.get("value") or given.get("verb") or given.get("way") or ""
            subject = given.get("subject") or low[: match.start()]
            found += _claimed(name, subject, shown)
            break
    return tuple(dict.fromkeys(found))


def _claimed(name: str, subject: str, shown: str) -> list[Claim]:
    shown = _CUT.sub("", f" {shown.removeprefix('with ').removeprefix('by ')}").strip()
    narrow = _CONTEXT.search(shown) if name in {"is", "prefer"} else None
    context = _roots(shown[narrow.start() :]) if narrow else frozenset()
    value, whose = _roots(shown[: narrow.start()] if narrow else shown), _roots(subject)
    if not value or len(value) > _MOST_WORDS or _TIMES.match(shown) or (name == "is" and _PLACED.match(shown)):
        return []
    if name in {"home", "place"}:
        return [Claim("place", whose, value, shown, context)] if name == "home" or whose else []
    if name not in {"is", "set"}:
        return [Claim(name, whose, value, shown, context)]
    if not whose or len(whose) > _MOST_NAMED or any(word[0].isdigit() for word in whose):
        return []
    turned = [Claim("is", value, whose, subject.strip(), context)] if name == "is" and len(whose) <= _MOST_WORDS else []
    return [Claim("is", whose, value, shown, context), *turned]


def _roots(text: str) -> frozenset[str]:
    """Roots of the telling words of a phrase."""
    plain = (word.strip("'") for word in re.findall(r"[^\s,.;:!?()\"]+", text))
    bare = (word.removesuffix("'s") for word in plain)
    return (
        frozenset(words.root(key(word)) for word in bare if word and word not in STOP_WORDS and word not in _PERSON)
        - _IDLE
    )
