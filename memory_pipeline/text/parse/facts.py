"""Extracts facts from texts: numbers, dates, names, negation and questions.

One scan finds dates and numbers, so that the 12 of "March 12" is not a number. Not here: parsing of dates (`dates`) and
names (`entities`), and comparison of the facts of two texts (`compare/merge_guard`).
"""

import re
from decimal import Decimal
from functools import cache
from re import Pattern
from typing import Final

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import are_few, found, in_python, suited
from memory_pipeline.text.parse import dates, entities
from memory_pipeline.text.parse.dates import Match, Rule
from memory_pipeline.text.parse.glosses import glossed
from memory_pipeline.text.parse.tokens import align_rows, fold

_UNITS: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS: Final = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES: Final = (
    {"zero": 0, "one": 1}
    | {word: value for value, word in enumerate((*_UNITS, *_TEENS), start=2)}
    | {word: 10 * value for value, word in enumerate(_TENS, start=2)}
)
_SCALES: Final = {
    "dozen": 12,
    "hundred": 100,
    "thousand": 10**3,
    "k": 10**3,
    "million": 10**6,
    "mn": 10**6,
    "m": 10**6,
    "billion": 10**9,
    "bn": 10**9,
    "b": 10**9,
}
_CURRENCIES: Final = {"dollar": "$", "buck": "$", "usd": "$", "euro": "€", "eur": "€", "gbp": "£", "quid": "£"}
_EXACT_DIGITS: Final = 24
"""Longer digit strings are identifiers and are kept as written."""

_DIGITS: Final = r"(?P<digits>[0-9]+(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)"
_NUMBER_WORDS: Final = (
    rf"(?P<spelt>(?:{'|'.join(_TENS)})(?:[- ](?:one|{'|'.join(_UNITS)})\b)?|{'|'.join((*_TEENS, *_UNITS))}|zero)"
)
_SCALE: Final = r"(?:dozen|hundred|thousand|million|billion)"
_UNIT: Final = r"(?: *(?:(?P<percent>%|per ?cent\b)|(?P<currency>dollar|buck|usd|euro|eur|gbp|quid)s?\b))?"
_HALF: Final = r"(?P<half>[ap])(?:\.m\.|\.?m\b)"

_NEGATION: Final = (
    r"(?-u:\b)(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly|barely|[a-z]+n't|unable to"
    r"|fail(?:s|ed)? to|(?:do|did|does|is|was|are|were|ca|wo|could|would|should|have|has|had|ai)nt)(?-u:\b)"
)
_NEGATION_IDIOMS: Final = (
    r"(?-u:\b)(?:no (?:problem|worries|doubt|wonder|matter|way|need to thank)|not (?:only|just|to mention)|nothing but"
    r"|whether or not|(?:can't|cannot|can not) (?:wait|believe|help but|thank)|don't (?:worry|forget|hesitate|mention)"
    r"|couldn't (?:agree|be happier|ask for)|why (?:not|don't))(?-u:\b)"
)
"""Phrases with a negator that do not negate anything."""
_AUXILIARY: Final = (
    r"(?:do|does|did|is|are|was|were|can|could|will|would|shall|should|have|has|had|am|may|might)(?:n't)?"
)
_SUBJECT: Final = (
    r"(?:i|you|he|she|it|we|they|there|this|that|these|those|the|a|an|my|your|his|her|our|their|any|anyone|anybody"
    r"|someone|anything|something)"
)
_LEAD: Final = (
    r"(?:(?:and|but|so|ok|okay|hey|hi|well|oh|wow)\W+)?(?:(?:who|what|when|where|why|how)(?:'s|'re|'d|'ll)?"
    rf" {_AUXILIARY} |(?:who|what|where|how)'(?:s|re) |(?:which|what|whose) [a-z]+ {_AUXILIARY} {_SUBJECT} "
    rf"|how (?:many|much|often|long|far|old|about) |what about |{_AUXILIARY} {_SUBJECT} )"
)
_QUESTION_START: Final = rf"^\W*{_LEAD}"
QUESTION: Final = rf"\s*{_LEAD}[^.!?\n]*\?+|([^.!?\n]*?[,;:])\s*{_LEAD}[^.!?\n]*\?+|[^.!?\n]*\?+"
"""A sentence with a question, and what it states before: "I never fly, so can we take the train?"."""
_QUESTION_END: Final = r"\?[^\p{L}\p{N}]*$"
_STATEMENT_END: Final = r"[.!]+(?:\s|$|[\"')\]])"


def add_facts(texts: pl.DataFrame) -> pl.DataFrame:
    """Add the facts of each text (`content`): `numbers`, `dates`, `entities`, `negated`, `question` (see `enrichment`).

    Cost: about 4 s for a million short texts on one core.
    """
    return texts.hstack(extract(texts["content"], fold(texts["content"])))


def extract(content: pl.Series, low: pl.Series, languages: pl.Series | None = None) -> pl.DataFrame:
    """Extract the columns of `add_facts` from texts and their `tokens.fold` form, by default as English."""
    low = low if languages is None else glossed(low, languages)
    if are_few(low) and are_few(content):
        return _of_few(content, low.to_list())
    denying = without_questions(low).str.replace_all(_NEGATION_IDIOMS, " ").str.contains(_NEGATION)
    return _numbers_and_dates(low).with_columns(
        entities.names(content).alias("entities"), negated=denying, question=are_questions(low)
    )


def _of_few(content: pl.Series, low: list[str]) -> pl.DataFrame:
    """Return the facts of a few ASCII texts."""
    parsed = [[_parse_match(match) for match in _scanner().findall(text)] for text in low]
    numbers, dates_ = ([sorted({form for match in text for form in match[side]}) for text in parsed] for side in (0, 1))
    stated = [in_python(QUESTION).sub(_before_question, text) if "?" in text else text for text in low]
    idioms, negation = in_python(_NEGATION_IDIOMS), in_python(_NEGATION)
    return pl.DataFrame(
        {
            "numbers": numbers,
            "dates": dates_,
            "entities": entities.names(content),
            "negated": [negation.search(idioms.sub(" ", text)) is not None for text in stated],
            "question": are_questions(pl.Series(low, dtype=pl.String)),
        },
        schema_overrides=dict.fromkeys(("numbers", "dates"), pl.List(pl.String)) | {"negated": pl.Boolean},
    )


def _before_question(match: Match) -> str:
    return f"{match[1] or ''} "


def dates_in(low: str) -> dict[str, list[str]]:
    """Return the dates in one text normalised by `tokens.fold`, as written, each with its normal forms."""
    return {text: forms for text in _scanner().findall(low) if (forms := _parse_match(text)[1])}


@cache
def _scanner() -> Pattern[str]:
    """Return the scan compiled for Python."""
    return re.compile(_SCAN.replace(r"(?-u:\b)", r"\b"), re.ASCII)


def without_questions(low: pl.Series) -> pl.Series:
    """Return texts normalised by `tokens.fold`, without their questions."""
    if not low.str.contains("?", literal=True).any():  # often so, and the pattern takes a millisecond to compile
        return low
    return low.str.replace_all(suited(QUESTION, low), "$1 ")


def are_questions(low: pl.Series) -> pl.Series:
    """Return whether each text in `tokens.fold` form ends in a question, or begins like one and states nothing."""
    signs = found(low, {"end": _QUESTION_END, "start": _QUESTION_START, "stated": _STATEMENT_END})
    return pl.Series(low.name, signs["end"] | (signs["start"] & ~signs["stated"]))


def _numbers_and_dates(low: pl.Series) -> pl.DataFrame:
    """Return numbers and dates of each text normalised by `tokens.fold`: normal forms, distinct and sorted."""
    matches = (
        pl.DataFrame({"row": pl.int_range(len(low), dtype=pl.UInt32, eager=True), "match": low.str.extract_all(_SCAN)})
        .explode("match")
        .drop_nulls()
    )
    distinct = matches["match"].unique()
    parsed = [_parse_match(text) for text in distinct.to_list()]
    values = pl.DataFrame(
        {
            "match": distinct,
            "numbers": pl.Series([numbers for numbers, _ in parsed], dtype=pl.List(pl.String)),
            "dates": pl.Series([forms for _, forms in parsed], dtype=pl.List(pl.String)),
        }
    )
    joined = matches.join(values, on="match", how="inner")
    lists = joined.group_by("row").agg(
        pl.col(name).list.explode(keep_nulls=False, empty_as_null=False).unique().sort()
        for name in ("numbers", "dates")
    )
    return align_rows(lists, len(low)).drop("row")


def _parse_match(text: str) -> tuple[list[str], list[str]]:
    """Return the numbers and dates in one match of the scan."""
    for pattern, normalise in dates.RULES:
        if match := re.fullmatch(pattern, text):
            return [], normalise(match)
    for pattern, normalise in _RULES:
        if match := re.fullmatch(pattern, text):
            return normalise(match), []
    return [], []


def _ignored(_: Match) -> list[str]:
    return []


def _as_written(match: Match) -> list[str]:
    return ["".join(match[0].split())]


def _time(match: Match) -> list[str]:
    """Return a time of day as HH:MM."""
    groups = match.groupdict()
    if name := groups.get("named"):
        return ["00:00" if name == "midnight" else "12:00"]
    hour = int(groups["hour"]) if groups.get("hour") else int(_number_word_value(str(groups["spelt"])))
    if groups.get("half"):
        hour = hour % 12 + (12 if groups["half"] == "p" else 0)
    return [f"{hour:02}:{groups.get('minute') or '00'}"]


def _part_of_hour(match: Match) -> list[str]:
    """Return a time of day as HH:MM: half past five, quarter to six."""
    hour = int(match["hour"] or _number_word_value(match["spelt"]))
    minutes = 60 * hour + (30 if match["part"] == "half" else 15) * (1 if match["side"] == "past" else -1)
    return [f"{minutes // 60:02}:{minutes % 60:02}"]


def _and_part(match: Match) -> list[str]:
    """Return a number with a fraction: seven and a half."""
    whole = (
        Decimal(match["digits"].replace(",", ""))
        if match["digits"]
        else Decimal(_number_word_value(match["spelt"] or "one"))
    )
    return [f"{whole + Decimal('0.5' if match['part'] == 'half' else '0.25'):f}"]


def _amount(match: Match) -> list[str]:
    """Return a number with its scale and its currency or per cent sign."""
    groups = match.groupdict()
    digits, number_words = groups.get("digits"), groups.get("spelt")
    if digits and len(digits) > _EXACT_DIGITS:
        return [digits]
    value = (
        Decimal(digits.replace(",", "")) if digits else Decimal(_number_word_value(number_words) if number_words else 1)
    )
    for scale in (groups.get("short"), groups.get("scale")):
        value *= _SCALES.get(scale or "", 1)
    text = f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
    sign = groups.get("sign") or _CURRENCIES.get(groups.get("currency") or "", "")
    return [("-" if groups.get("minus") else "") + sign + text + ("%" if groups.get("percent") else "")]


def _range(match: Match) -> list[str]:
    unit = "%" if match["percent"] else ""
    return [match["first"] + unit, match["last"] + unit]


def _number_word_value(words: str) -> int:
    """Return the value of a number word such as twelve or forty-two."""
    return sum(_VALUES[word] for word in words.replace("-", " ").split())


_RULES: Final[tuple[Rule, ...]] = (
    (r"\b(?:https?://|www\.)[^\s]+", _ignored),
    (r"\b[a-z0-9._%+-]{1,64}@[a-z0-9.-]+\b", _ignored),
    (r"\b[a-z_][a-z_]*[0-9][a-z0-9_.]*\b", _ignored),
    (rf"\b(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::[0-5][0-9])?(?: *{_HALF}|\b)", _time),
    (rf"\b(?:(?P<hour>1[0-2]|0?[1-9])|{_NUMBER_WORDS}) *(?:{_HALF}|o'clock\b)", _time),
    (
        rf"\b(?:a )?(?P<part>half|quarter) (?P<side>past|to) (?:(?P<hour>1[0-2]|0?[1-9])|{_NUMBER_WORDS})\b",
        _part_of_hour,
    ),
    (rf"\b(?:{_DIGITS}|{_NUMBER_WORDS}|(?:an?|one)) and a (?P<part>half|quarter)\b", _and_part),
    (r"\b(?P<named>noon|midday|midnight)\b", _time),
    (r"\b[0-9]+(?:\.[0-9]+){2,}\b", _as_written),
    (r"\b[0-9]+(?:-[0-9]+){2,}\b", _as_written),
    (r"\b[0-9]+[/x][0-9]+\b", _as_written),
    (r"\b(?P<first>[0-9]+(?:\.[0-9]+)?)[-\u2013](?P<last>[0-9]+(?:\.[0-9]+)?)\b(?: ?(?P<percent>%))?", _range),
    (rf"(?P<sign>[$€£¥₹]) ?{_DIGITS}(?: ?(?P<short>k|mn?|bn?)\b)?(?: *(?P<scale>{_SCALE})\b)?", _amount),
    (rf"(?P<minus>[\s(]-){_DIGITS}\b{_UNIT}", _amount),
    (rf"\b(?:{_DIGITS}(?P<short>k|mn|bn)?|{_NUMBER_WORDS})\b(?:[ -](?P<scale>{_SCALE})\b)?{_UNIT}", _amount),
    (rf"\b(?:an?|one) +(?P<scale>{_SCALE})\b{_UNIT}", _amount),
    (rf"\b{_DIGITS}[a-z]{{1,4}}\b", _amount),
    (r"\b[0-9][0-9a-z_]*\b", _ignored),
)
"""Patterns over folded text and the functions that normalise their matches; the first pattern that matches applies."""

_SCAN: Final = "|".join(
    re.sub(r"\(\?P<[a-z]+>", "(?:", pattern).replace(r"\b", r"(?-u:\b)")
    for pattern in (*(r"\b(?:" + pattern + ")" for pattern, _ in dates.RULES), *(pattern for pattern, _ in _RULES))
)
"""The same patterns as one alternation, for the regular expressions of Polars, whose word boundaries are faster in
ASCII."""
