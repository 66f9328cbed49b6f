"""Dates in texts: patterns, normal forms, and resolution to spans of time.

Normal forms: `2024-03-12`, `2024-03`, `2024`, `1990s`; without a year `--03-12` and `--03`; relative dates keep their
words (`yesterday`, `last friday`, `2 weeks ago`, `summer 2023`). Not here: times of day, which count as numbers
(`facts`).
"""

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Final

import polars as pl

from memory_pipeline.schemas import INSTANT
from memory_pipeline.text.lang.pack import MONTHS, WEEKDAYS
from memory_pipeline.text.parse.tokens import align_rows

Match = re.Match[str]
Rule = tuple[str, Callable[[Match], list[str]]]
Span = tuple[date, date]
"""First day and the day after the last."""

SPANS: Final = pl.List(pl.Struct({"start": INSTANT, "end": INSTANT}))
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""First month of each season, as in the northern hemisphere."""
_COUNTS: Final = {
    word: count
    for count, words in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
} | {"a couple of": 2, "a couple": 2, "couple of": 2, "couple": 2}
_FEW: Final = frozenset({"a few", "few", "several"})
_MODIFIER_SYNONYMS: Final = {"past": "last", "previous": "last", "coming": "next", "following": "next", "each": "every"}
_SHIFTS: Final = {"last": -1, "this": 0, "next": 1}
_DAY_PARTS: Final = frozenset({"night", "morning", "afternoon", "evening", "day"})
_NAMED_DAYS: Final = {
    "today": 0,
    "tonight": 0,
    "yesterday": -1,
    "tomorrow": 1,
    "day before yesterday": -2,
    "day after tomorrow": 2,
}


def _alternatives(words: Iterable[str]) -> str:
    """Return the alternation of words, longest first."""
    return "|".join(sorted(sorted(words), key=len, reverse=True))


_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_PLAIN_MONTH: Final = f"(?P<month>{_alternatives(set(MONTHS) - {'march', 'may'})})"
_WEEKDAY: Final = f"(?P<weekday>(?:{_alternatives(WEEKDAYS)})s?|tues?|thur?s?|fri)"
_DAY: Final = r"(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?"
_LAST_DAY: Final = r"(?: *(?:-|\u2013|to|and) *(?P<last>[12][0-9]|3[01]|[1-9])(?:st|nd|rd|th)?\b)?"
_YEAR: Final = r"(?P<year>(?:19|20)[0-9]{2})"
_LEAD: Final = (
    r"(?:in|on|since|until|till|by|during|before|after|around|circa|from|of|to|through|year|early|late|mid)(?: +|-)"
    r"(?:the +|early +|late +|mid[- ]+)?"
)
_MODIFIER: Final = r"(?P<modifier>last|past|previous|this|next|coming|following|every|each)"
_PERIOD: Final = f"(?P<period>{_alternatives(_DAY_PARTS | set(SEASONS))}|week|weekend|month|quarter|year|decade)"
_COUNT: Final = f"(?P<count>[0-9]{{1,3}}|{_alternatives(_FEW | set(_COUNTS))})"
_UNIT: Final = r"(?P<unit>day|week|weekend|month|year|decade)s?"


def resolve(dates: pl.Series, instants: pl.Series) -> pl.Series:
    """Resolve dates to the spans of time they denote, relative to the time of their memories.

    Args:
        dates: list of normal forms per memory, as in `enrichment`.
        instants: when each memory was stored (UTC).

    Returns a sorted list of {start, end} per memory, end exclusive; dates without a span ("every monday") are left out.
    A date that may be past or future ("friday", "march") resolves to the nearest, the past on a tie. Cost: one Python
    call per distinct pair of date and day.
    """
    mentions = (
        pl.DataFrame(
            {"row": pl.int_range(len(dates), dtype=pl.UInt32, eager=True), "date": dates, "day": instants.dt.date()}
        )
        .explode("date")
        .drop_nulls()
    )
    pairs = mentions.select("date", "day").unique()
    spans = [span(*pair) or (None, None) for pair in pairs.iter_rows()]
    resolved = pairs.with_columns(
        pl.Series(name, [pair[at] for pair in spans], dtype=pl.Date).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        for at, name in enumerate(("start", "end"))
    )
    lists = (
        mentions.join(resolved, on=["date", "day"], how="inner")
        .drop_nulls("start")
        .group_by("row")
        .agg(pl.struct("start", "end").unique().sort().alias("spans"))
    )
    return align_rows(lists, len(dates))["spans"].cast(SPANS)


def span(text: str, day: date, *, past: bool = False) -> Span | None:
    """Resolve a date in normal form, seen from `day`, to its first day and the day after its last.

    None if it has no span. A date that may be past or future ("friday", "march") resolves to the nearest; with `past`
    to the last that has begun.

    Examples:
        >>> wednesday = date(2026, 5, 6)
        >>> [str(day) for day in span("friday", wednesday)]
        ['2026-05-08', '2026-05-09']
        >>> [str(day) for day in span("friday", wednesday, past=True)]
        ['2026-05-01', '2026-05-02']
    """
    try:
        return _absolute_span(text, day, past=past) or _relative_span(text, day, past=past)
    except (ValueError, OverflowError):  # outside the calendar
        return None


def _absolute_span(text: str, day: date, *, past: bool) -> Span | None:
    """Return the span of a calendar date, or None."""
    if match := re.fullmatch(r"([0-9]{4})s", text):
        return _unit_span("decade", date(int(match[1]), 1, 1))
    if match := re.fullmatch(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?", text):
        year, month, day_of_month = (int(part) if part else None for part in match.groups())
        return _unit_span(
            "day" if day_of_month else "month" if month else "year", date(year or 1, month or 1, day_of_month or 1)
        )
    if match := re.fullmatch(r"--([0-9]{2})(?:-([0-9]{2}))?", text):
        unit, day_of_month = ("day", int(match[2])) if match[2] else ("month", 1)
        years = range(max(day.year - 4, 1), min(day.year + 5, 9999))  # four years include a 29 February
        starts = [
            date(year, int(match[1]), day_of_month) for year in years if _day_form(year, int(match[1]), day_of_month)
        ]
        return _nearest([_unit_span(unit, start) for start in starts], day, past=past)
    return None


def _relative_span(text: str, day: date, *, past: bool) -> Span | None:
    """Return the span of a relative date, or None."""
    if text in _NAMED_DAYS:
        return _unit_span("day", day, _NAMED_DAYS[text])
    if text in WEEKDAYS:
        shifts = range(-6, 1) if past else range(-3, 4)
        return next(_unit_span("day", day, shift) for shift in shifts if _weekday_of(day, shift) == text)
    if match := re.fullmatch(r"([0-9]+|few) ([a-z]+?)s? ago|in ([0-9]+|few) ([a-z]+?)s?", text):
        count, unit, sign = (match[1], match[2], -1) if match[1] else (match[3], match[4], 1)
        near, far = (2, 5) if count == "few" else (int(count), int(count))
        first, last = sorted((sign * near, sign * far))
        return _unit_span(unit, day, first)[0], _unit_span(unit, day, last)[1]
    if match := re.fullmatch(r"(spring|summer|autumn|fall|winter) ([0-9]{4})", text):
        return _season_span(match[1], int(match[2]))
    modifier, _, unit_name = text.partition(" ")
    return _modified_span(modifier, unit_name, day) if modifier in _SHIFTS and unit_name else None


def _modified_span(modifier: str, name: str, day: date) -> Span | None:
    """Return the span of "last", "this" or "next" something."""
    if name in WEEKDAYS:
        if modifier == "this":
            return _unit_span("day", day, WEEKDAYS.index(name) - day.weekday())
        shifts = range(-7, 0) if modifier == "last" else range(1, 8)
        return next(_unit_span("day", day, shift) for shift in shifts if _weekday_of(day, shift) == name)
    if name in _DAY_PARTS:
        return _unit_span("day", day, _SHIFTS[modifier])
    if name not in MONTHS and name not in SEASONS:
        return _unit_span(name, day, _SHIFTS[modifier])
    years = range(day.year - 2, day.year + 3)
    candidates = [
        _season_span(name, year) if name in SEASONS else _unit_span("month", date(year, MONTHS.index(name) + 1, 1))
        for year in years
    ]
    if modifier == "this":
        return candidates[2]
    return (
        [candidate for candidate in candidates if candidate[1] <= day][-1]
        if modifier == "last"
        else next(candidate for candidate in candidates if candidate[0] > day)
    )


def _unit_span(unit: str, day: date, shift: int = 0) -> Span:
    """Return the day, week (from Monday), weekend, month, quarter, year or decade around `day`, `shift` units later."""
    if unit == "day":
        start = day + timedelta(days=shift)
        return start, start + timedelta(days=1)
    if unit in {"week", "weekend"}:
        start = day + timedelta(days=7 * shift - day.weekday())
        return (
            (start, start + timedelta(days=7))
            if unit == "week"
            else (start + timedelta(days=5), start + timedelta(days=7))
        )
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    first = (day.year * 12 + day.month - 1) // months * months + shift * months
    return date(first // 12, first % 12 + 1, 1), date((first + months) // 12, (first + months) % 12 + 1, 1)


def _season_span(name: str, year: int) -> Span:
    """Return the three months of a season."""
    start = date(year, SEASONS[name], 1)
    return start, _unit_span("month", start, 2)[1]


def _weekday_of(day: date, shift: int) -> str:
    """Return the weekday `shift` days after `day`."""
    return WEEKDAYS[(day.weekday() + shift) % 7]


def _nearest(candidates: list[Span], day: date, *, past: bool) -> Span:
    """Return the span nearest to `day`, of those that have begun if `past`; the earlier one on a tie."""
    eligible = [one for one in candidates if one[0] <= day] if past else candidates
    return min(eligible, key=lambda one: (max((one[0] - day).days, (day - one[1]).days + 1, 0), one))


def _month_number(match: Match) -> int:
    """Return the month of a match, 1..12."""
    return next(at for at, name in enumerate(MONTHS, start=1) if name.startswith(match["month"][:3]))


def _calendar_date(match: Match) -> list[str]:
    """Return the year, month and day as far as given; an impossible day yields nothing."""
    groups = match.groupdict()
    month = int(groups["digits"]) if groups.get("digits") else _month_number(match)
    year, days = groups.get("year"), [int(day) for day in (groups.get("day"), groups.get("last")) if day]
    if not days:
        return [f"{year}-{month:02}" if year else f"--{month:02}"]
    return [text for day in days if (text := _day_form(int(year) if year else None, month, day))]


def _day_form(year: int | None, month: int, day: int) -> str:
    """Return the normal form of a day; empty if there is no such day."""
    try:
        date(2000 if year is None else year, month, day)
    except ValueError:
        return ""
    return f"--{month:02}-{day:02}" if year is None else f"{year:04}-{month:02}-{day:02}"


def _numeric_date(match: Match) -> list[str]:
    """Read 3/12/2024 month first unless that is impossible, 12.3.2024 day first."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["number"])
    if len(match["number"]) == 2:  # noqa: PLR2004
        year += 2000 if year < 70 else 1900  # noqa: PLR2004
    text = (
        _day_form(year, second, first)
        if match["mark"] == "." or first > len(MONTHS)
        else _day_form(year, first, second)
    )
    return [text] if text else []


def _years(match: Match) -> list[str]:
    """Return one or two years."""
    return [year for year in (match["year"], match.groupdict().get("last")) if year]


def _modified(match: Match) -> list[str]:
    """Return a weekday, month or period with its "last", "this", "next" or "every"."""
    groups = match.groupdict()
    period = groups.get("period") or groups.get("weekday")
    if groups.get("weekday"):
        period = next(name for name in WEEKDAYS if name.startswith(match["weekday"][:3]))
    modifier = groups.get("modifier")
    return [
        " ".join(
            filter(None, (_MODIFIER_SYNONYMS.get(str(modifier), modifier), period or MONTHS[_month_number(match) - 1]))
        )
    ]


def _offset(match: Match) -> list[str]:
    """Return a number of days, weeks or months ago or ahead."""
    words = match["count"]
    count = "few" if words in _FEW else str(int(words) if words.isdigit() else _COUNTS[words])
    unit = match["unit"] + ("" if count == "1" else "s")
    return [f"{count} {unit} ago" if match.groupdict().get("back") else f"in {count} {unit}"]


def _as_written(match: Match) -> list[str]:
    """Return the words of a match, without articles."""
    return [" ".join(match[0].removeprefix("the ").replace(" of ", " ").split())]


RULES: Final[tuple[Rule, ...]] = (
    (rf"(?:{_LEAD})?{_YEAR}[-/.](?P<digits>0[1-9]|1[0-2])[-/.]{_DAY}(?:t[0-9:.]+z?)?\b", _calendar_date),
    (
        rf"(?:{_LEAD})?(?P<first>[0-9]{{1,2}})(?P<mark>[/.])(?P<second>[0-9]{{1,2}})[/.](?P<number>[0-9]{{4}}|[0-9]{{2}})\b",
        _numeric_date,
    ),
    (rf"(?:{_LEAD})?{_YEAR}-(?P<digits>0[1-9]|1[0-2])\b", _calendar_date),
    (rf"(?:{_LEAD})?{_MONTH} +(?:the +)?{_DAY}\b{_LAST_DAY}(?:,? +{_YEAR}\b)?", _calendar_date),
    (rf"(?:{_LEAD})?{_DAY} +(?:of +)?{_MONTH}(?:,? +{_YEAR})?\b", _calendar_date),
    (rf"(?:{_LEAD})?{_MONTH},? +(?:of +)?{_YEAR}\b", _calendar_date),
    (rf"(?:{_alternatives(SEASONS)}) +(?:of +)?{_YEAR}\b", _as_written),
    (r"(?:the +)?day +(?:before +yesterday|after +tomorrow)\b", _as_written),
    (rf"{_COUNT} +{_UNIT} +(?:(?P<back>ago|back|earlier)|later|from +now)\b", _offset),
    (rf"in +{_COUNT} +{_UNIT}\b", _offset),
    (rf"{_MODIFIER} +{_WEEKDAY}\b", _modified),
    (rf"{_MODIFIER} +{_PERIOD}\b", _modified),
    (rf"{_MODIFIER} +{_MONTH}\b", _modified),
    (rf"(?:{_LEAD}){_MONTH}\b", _calendar_date),
    (rf"{_PLAIN_MONTH}\b", _calendar_date),
    (rf"{_WEEKDAY}\b", _modified),
    (rf"(?:{_alternatives(_NAMED_DAYS)})\b", _as_written),
    (r"(?P<year>(?:19|20)[0-9]0s)\b", _years),
    (rf"(?:{_LEAD})?{_YEAR} *[-\u2013] *(?P<last>(?:19|20)[0-9]{{2}})\b", _years),
    (rf"(?:{_LEAD}){_YEAR}\b", _years),
)
"""Patterns over folded text and the functions that normalise their matches; the first pattern that matches applies."""
