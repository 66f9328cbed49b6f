"""Facts: numbers, dates, names, denial and question, as a text states them.

One scan finds dates and numbers, so that the 12 of "March 12" is no number. What is not here: how dates (`dates`) and
names (`entities`) are read, and how the facts of two texts are compared (`differences`).
"""

import re
from decimal import Decimal
from functools import cache
from re import Pattern
from typing import Final

import polars as pl

from memory_pipeline.text.parse import dates, entities
from memory_pipeline.text.parse.dates import Match, Rule
from memory_pipeline.text.parse.tokens import by_row, fold

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
"""Longer rows of digits are identifiers and stay as they are."""

_DIGITS: Final = r"(?P<digits>[0-9]+(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)"
_SPELT: Final = (
    rf"(?P<spelt>(?:{'|'.join(_TENS)})(?:[- ](?:one|{'|'.join(_UNITS)})\b)?|{'|'.join((*_TEENS, *_UNITS))}|zero)"
)
_SCALE: Final = r"(?:dozen|hundred|thousand|million|billion)"
_UNIT: Final = r"(?: *(?:(?P<percent>%|per ?cent\b)|(?P<currency>dollar|buck|usd|euro|eur|gbp|quid)s?\b))?"
_HALF: Final = r"(?P<half>[ap])(?:\.m\.|\.?m\b)"

_NEGATION: Final = (
    r"(?-u:\b)(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly|barely|[a-z]+n't|unable to"
    r"|fail(?:s|ed)? to|(?:do|did|does|is|was|are|were|ca|wo|could|would|should|have|has|had|ai)nt)(?-u:\b)"
)
_NO_NEGATION: Final = (
    r"(?-u:\b)(?:no (?:problem|worries|doubt|wonder|matter|way|need to thank)|not (?:only|just|to mention)|nothing but"
    r"|whether or not|(?:can't|cannot|can not) (?:wait|believe|help but|thank)|don't (?:worry|forget|hesitate|mention)"
    r"|couldn't (?:agree|be happier|ask for)|why (?:not|don't))(?-u:\b)"
)
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
_ASKING: Final = rf"^\W*{_LEAD}"
_QUESTION_SENTENCE: Final = rf"\s*{_LEAD}[^.!?\n]*\?+|([^.!?\n]*?[,;:])\s*{_LEAD}[^.!?\n]*\?+|[^.!?\n]*\?+"
"""A sentence that asks, and what it states before it asks: "I never fly, so can we take the train?"."""
_ENDS_ASKING: Final = r"\?[^\p{L}\p{N}]*$"
_STATES: Final = r"[.!]+(?:\s|$|[\"')\]])"


def facts(texts: pl.DataFrame) -> pl.DataFrame:
    """Add what each text states: `numbers`, `dates`, `entities`, `negated`, `question`.

    Args:
        texts: any frame with `content`; null counts as empty.

    Returns:
        The frame with those five columns, as `enrichment` describes them. Cost: about 4 s for a million short texts
        on one core.
    """
    return texts.hstack(read(texts["content"], fold(texts["content"])))


def read(content: pl.Series, low: pl.Series) -> pl.DataFrame:
    """The columns that `facts` adds, from texts and the same as `tokens.fold` leaves them."""
    denying = statements(low).str.replace_all(_NO_NEGATION, " ").str.contains(_NEGATION)
    return _counted(low).with_columns(entities.names(content).alias("entities"), negated=denying, question=asks(low))


def dates_of(low: str) -> dict[str, list[str]]:
    """Dates in one text (as `tokens.fold` leaves it), as they are written, each with its normal forms."""
    return {found: forms for found in _scanned().findall(low) if (forms := _parse(found)[1])}


@cache
def _scanned() -> Pattern[str]:
    return re.compile(_SCAN.replace(r"(?-u:\b)", r"\b"), re.ASCII)


def statements(low: pl.Series) -> pl.Series:
    """Texts (as `tokens.fold` leaves them) without what they ask."""
    return low.str.replace_all(_QUESTION_SENTENCE, "$1 ")


def asks(low: pl.Series) -> pl.Series:
    """Whether each text (as `tokens.fold` leaves it) ends in a question, or begins like one and states nothing."""
    return low.str.contains(_ENDS_ASKING) | (low.str.contains(_ASKING) & ~low.str.contains(_STATES))


def _counted(low: pl.Series) -> pl.DataFrame:
    """Columns `numbers` and `dates` of lower-case texts."""
    found = (
        pl.DataFrame({"row": pl.int_range(len(low), dtype=pl.UInt32, eager=True), "found": low.str.extract_all(_SCAN)})
        .explode("found")
        .drop_nulls()
    )
    distinct = found["found"].unique()
    parsed = [_parse(one) for one in distinct.to_list()]
    known = pl.DataFrame(
        {
            "found": distinct,
            "numbers": pl.Series([numbers for numbers, _ in parsed], dtype=pl.List(pl.String)),
            "dates": pl.Series([found_dates for _, found_dates in parsed], dtype=pl.List(pl.String)),
        }
    )
    joined = found.join(known, on="found", how="inner")
    lists = joined.group_by("row").agg(
        pl.col(name).list.explode(keep_nulls=False, empty_as_null=False).unique().sort()
        for name in ("numbers", "dates")
    )
    return by_row(lists, len(low)).drop("row")


def _parse(found: str) -> tuple[list[str], list[str]]:
    """Numbers and dates in one match of the scan."""
    for pattern, read in dates.RULES:
        if match := re.fullmatch(pattern, found):
            return [], read(match)
    for pattern, read in _RULES:
        if match := re.fullmatch(pattern, found):
            return read(match), []
    return [], []


def _nothing(_: Match) -> list[str]:
    return []


def _as_written(match: Match) -> list[str]:
    return ["".join(match[0].split())]


def _time(match: Match) -> list[str]:
    """A time of day as HH:MM."""
    given = match.groupdict()
    if named := given.get("named"):
        return ["00:00" if named == "midnight" else "12:00"]
    hour = int(given["hour"]) if given.get("hour") else int(_spelt(str(given["spelt"])))
    if given.get("half"):
        hour = hour % 12 + (12 if given["half"] == "p" else 0)
    return [f"{hour:02}:{given.get('minute') or '00'}"]


def _part_of_hour(match: Match) -> list[str]:
    """Half past five, quarter to six: a time of day as HH:MM."""
    hour = int(match["hour"] or _spelt(match["spelt"]))
    minutes = 60 * hour + (30 if match["part"] == "half" else 15) * (1 if match["side"] == "past" else -1)
    return [f"{minutes // 60:02}:{minutes % 60:02}"]


def _and_part(match: Match) -> list[str]:
    """Seven and a half."""
    whole = Decimal(match["digits"].replace(",", "")) if match["digits"] else Decimal(_spelt(match["spelt"] or "one"))
    return [f"{whole + Decimal('0.5' if match['part'] == 'half' else '0.25'):f}"]


def _amount(match: Match) -> list[str]:
    """A number with its scale, sign of currency or per cent sign."""
    given = match.groupdict()
    digits, spelt = given.get("digits"), given.get("spelt")
    if digits and len(digits) > _EXACT_DIGITS:
        return [digits]
    value = Decimal(digits.replace(",", "")) if digits else Decimal(_spelt(spelt) if spelt else 1)
    for scale in (given.get("short"), given.get("scale")):
        value *= _SCALES.get(scale or "", 1)
    text = f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
    sign = given.get("sign") or _CURRENCIES.get(given.get("currency") or "", "")
    return [("-" if given.get("minus") else "") + sign + text + ("%" if given.get("percent") else "")]


def _range(match: Match) -> list[str]:
    unit = "%" if match["percent"] else ""
    return [match["first"] + unit, match["last"] + unit]


def _spelt(words: str) -> int:
    """Value of a number word such as twelve or forty-two."""
    return sum(_VALUES[word] for word in words.replace("-", " ").split())


_RULES: Final[tuple[Rule, ...]] = (
    (r"\b(?:https?://|www\.)[^\s]+", _nothing),
    (r"\b[a-z0-9._%+-]{1,64}@[a-z0-9.-]+\b", _nothing),
    (r"\b[a-z_][a-z_]*[0-9][a-z0-9_.]*\b", _nothing),
    (rf"\b(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::[0-5][0-9])?(?: *{_HALF}|\b)", _time),
    (rf"\b(?:(?P<hour>1[0-2]|0?[1-9])|{_SPELT}) *(?:{_HALF}|o'clock\b)", _time),
    (rf"\b(?:a )?(?P<part>half|quarter) (?P<side>past|to) (?:(?P<hour>1[0-2]|0?[1-9])|{_SPELT})\b", _part_of_hour),
    (rf"\b(?:{_DIGITS}|{_SPELT}|(?:an?|one)) and a (?P<part>half|quarter)\b", _and_part),
    (r"\b(?P<named>noon|midday|midnight)\b", _time),
    (r"\b[0-9]+(?:\.[0-9]+){2,}\b", _as_written),
    (r"\b[0-9]+(?:-[0-9]+){2,}\b", _as_written),
    (r"\b[0-9]+[/x][0-9]+\b", _as_written),
    (r"\b(?P<first>[0-9]+(?:\.[0-9]+)?)[-\u2013](?P<last>[0-9]+(?:\.[0-9]+)?)\b(?: ?(?P<percent>%))?", _range),
    (rf"(?P<sign>[$€£¥₹]) ?{_DIGITS}(?: ?(?P<short>k|mn?|bn?)\b)?(?: *(?P<scale>{_SCALE})\b)?", _amount),
    (rf"(?P<minus>[\s(]-){_DIGITS}\b{_UNIT}", _amount),
    (rf"\b(?:{_DIGITS}(?P<short>k|mn|bn)?|{_SPELT})\b(?:[ -](?P<scale>{_SCALE})\b)?{_UNIT}", _amount),
    (rf"\b(?:an?|one) +(?P<scale>{_SCALE})\b{_UNIT}", _amount),
    (rf"\b{_DIGITS}[a-z]{{1,4}}\b", _amount),
    (r"\b[0-9][0-9a-z_]*\b", _nothing),
)
"""Patterns over lower-case text, the first that fits counts, and what makes normal forms of their matches."""

_SCAN: Final = "|".join(
    re.sub(r"\(\?P<[a-z]+>", "(?:", pattern).replace(r"\b", r"(?-u:\b)")
    for pattern in (*(r"\b(?:" + pattern + ")" for pattern, _ in dates.RULES), *(pattern for pattern, _ in _RULES))
)
"""The same patterns in one, for the regular expressions of Polars, whose word boundaries are faster in ASCII."""
