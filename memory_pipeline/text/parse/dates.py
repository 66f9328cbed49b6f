"""Dates as people write them: how they are found, their normal form, and the span of time they mean.

Normal forms: `2024-03-12`, `2024-03`, `2024`, `1990s`; without a year `--03-12` and `--03`; for everything relative the
words themselves (`yesterday`, `last friday`, `2 weeks ago`, `summer 2023`). What is not here: times of the day, which
count as numbers (`facts`).
"""

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Final

import polars as pl

from memory_pipeline.schemas import INSTANT
from memory_pipeline.text.parse.tokens import by_row

Match = re.Match[str]
Rule = tuple[str, Callable[[Match], list[str]]]
Span = tuple[date, date]
"""First day and the day after the last."""

SPANS: Final = pl.List(pl.Struct({"start": INSTANT, "end": INSTANT}))
MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""First month of each, as on the northern half of the earth."""
_COUNTS: Final = {
    word: count
    for count, words in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
} | {"a couple of": 2, "a couple": 2, "couple of": 2, "couple": 2}
_FEW: Final = frozenset({"a few", "few", "several"})
_TURNS: Final = {"past": "last", "previous": "last", "coming": "next", "following": "next", "each": "every"}
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


def _any(words: Iterable[str]) -> str:
    """Alternatives of a pattern, longest first."""
    return "|".join(sorted(sorted(words), key=len, reverse=True))


_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_PLAIN_MONTH: Final = f"(?P<month>{_any(set(MONTHS) - {'march', 'may'})})"
_WEEKDAY: Final = f"(?P<weekday>(?:{_any(WEEKDAYS)})s?|tues?|thur?s?|fri)"
_DAY: Final = r"(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?"
_LAST_DAY: Final = r"(?: *(?:-|\u2013|to|and) *(?P<last>[12][0-9]|3[01]|[1-9])(?:st|nd|rd|th)?\b)?"
_YEAR: Final = r"(?P<year>(?:19|20)[0-9]{2})"
_LEAD: Final = (
    r"(?:in|on|since|until|till|by|during|before|after|around|circa|from|of|to|through|year|early|late|mid)(?: +|-)"
    r"(?:the +|early +|late +|mid[- ]+)?"
)
_TURN: Final = r"(?P<turn>last|past|previous|this|next|coming|following|every|each)"
_PERIOD: Final = f"(?P<period>{_any(_DAY_PARTS | set(SEASONS))}|week|weekend|month|quarter|year|decade)"
_COUNT: Final = f"(?P<count>[0-9]{{1,3}}|{_any(_FEW | set(_COUNTS))})"
_UNIT: Final = r"(?P<unit>day|week|weekend|month|year|decade)s?"


def resolve(dates: pl.Series, instants: pl.Series) -> pl.Series:
    """Turn dates into the spans of time they mean, seen from the memories' own time.

    Args:
        dates: a list of normal forms a memory, as in `enrichment`.
        instants: when each memory was stored (UTC).

    Returns:
        A list of {start, end} a memory, end exclusive, sorted; dates that name no span ("every monday") are left out.
        What could be past or future ("friday", "march") is the nearest, the past on a tie. Cost: one call of Python
        per distinct pair of date and day.
    """
    mentions = (
        pl.DataFrame(
            {"row": pl.int_range(len(dates), dtype=pl.UInt32, eager=True), "date": dates, "day": instants.dt.date()}
        )
        .explode("date")
        .drop_nulls()
    )
    pairs = mentions.select("date", "day").unique()
    found = [span(*pair) or (None, None) for pair in pairs.iter_rows()]
    known = pairs.with_columns(
        pl.Series(name, [pair[at] for pair in found], dtype=pl.Date).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        for at, name in enumerate(("start", "end"))
    )
    lists = (
        mentions.join(known, on=["date", "day"], how="inner")
        .drop_nulls("start")
        .group_by("row")
        .agg(pl.struct("start", "end").unique().sort().alias("spans"))
    )
    return by_row(lists, len(dates))["spans"].cast(SPANS)


def span(text: str, day: date, *, past: bool = False) -> Span | None:
    """First day and day after the last of a date in normal form, seen from `day`; None when it names no span.

    What could be past or future ("friday", "march") is the nearest; with `past` the last that has begun.
    """
    try:
        return _absolute_span(text, day, past=past) or _relative_span(text, day, past=past)
    except (ValueError, OverflowError):  # beyond the calendar
        return None


def _absolute_span(text: str, day: date, *, past: bool) -> Span | None:
    if found := re.fullmatch(r"([0-9]{4})s", text):
        return _unit("decade", date(int(found[1]), 1, 1))
    if found := re.fullmatch(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?", text):
        year, month, of_month = (int(part) if part else None for part in found.groups())
        return _unit("day" if of_month else "month" if month else "year", date(year or 1, month or 1, of_month or 1))
    if found := re.fullmatch(r"--([0-9]{2})(?:-([0-9]{2}))?", text):
        unit, of_month = ("day", int(found[2])) if found[2] else ("month", 1)
        years = range(max(day.year - 4, 1), min(day.year + 5, 9999))  # four years hold a 29 February
        starts = [date(year, int(found[1]), of_month) for year in years if _day(year, int(found[1]), of_month)]
        return _nearest([_unit(unit, start) for start in starts], day, past=past)
    return None


def _relative_span(text: str, day: date, *, past: bool) -> Span | None:
    if text in _NAMED_DAYS:
        return _unit("day", day, _NAMED_DAYS[text])
    if text in WEEKDAYS:
        shifts = range(-6, 1) if past else range(-3, 4)
        return next(_unit("day", day, shift) for shift in shifts if _weekday(day, shift) == text)
    if found := re.fullmatch(r"([0-9]+|few) ([a-z]+?)s? ago|in ([0-9]+|few) ([a-z]+?)s?", text):
        count, unit, sign = (found[1], found[2], -1) if found[1] else (found[3], found[4], 1)
        near, far = (2, 5) if count == "few" else (int(count), int(count))
        first, last = sorted((sign * near, sign * far))
        return _unit(unit, day, first)[0], _unit(unit, day, last)[1]
    if found := re.fullmatch(r"(spring|summer|autumn|fall|winter) ([0-9]{4})", text):
        return _season(found[1], int(found[2]))
    head, _, what = text.partition(" ")
    return _turned_span(head, what, day) if head in _SHIFTS and what else None


def _turned_span(turn: str, what: str, day: date) -> Span | None:
    """Span of "last", "this" or "next" something."""
    if what in WEEKDAYS:
        if turn == "this":
            return _unit("day", day, WEEKDAYS.index(what) - day.weekday())
        shifts = range(-7, 0) if turn == "last" else range(1, 8)
        return next(_unit("day", day, shift) for shift in shifts if _weekday(day, shift) == what)
    if what in _DAY_PARTS:
        return _unit("day", day, _SHIFTS[turn])
    if what not in MONTHS and what not in SEASONS:
        return _unit(what, day, _SHIFTS[turn])
    years = range(day.year - 2, day.year + 3)
    whole = [
        _season(what, year) if what in SEASONS else _unit("month", date(year, MONTHS.index(what) + 1, 1))
        for year in years
    ]
    if turn == "this":
        return whole[2]
    return [one for one in whole if one[1] <= day][-1] if turn == "last" else next(one for one in whole if one[0] > day)


def _unit(unit: str, day: date, shift: int = 0) -> Span:
    """The day, week (from Monday), weekend, month, quarter, year or decade around `day`, `shift` of them later."""
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


def _season(name: str, year: int) -> Span:
    start = date(year, SEASONS[name], 1)
    return start, _unit("month", start, 2)[1]


def _weekday(day: date, shift: int) -> str:
    return WEEKDAYS[(day.weekday() + shift) % 7]


def _nearest(candidates: list[Span], day: date, *, past: bool) -> Span:
    """The span nearest to `day`, of those that have begun if `past`; the earlier one on a tie."""
    begun = [one for one in candidates if one[0] <= day] if past else candidates
    return min(begun, key=lambda one: (max((one[0] - day).days, (day - one[1]).days + 1, 0), one))


def _month_of(match: Match) -> int:
    return next(at for at, name in enumerate(MONTHS, start=1) if name.startswith(match["month"][:3]))


def _absolute(match: Match) -> list[str]:
    """Year, month and day as far as the words give them; an impossible day leaves nothing."""
    given = match.groupdict()
    month = int(given["digits"]) if given.get("digits") else _month_of(match)
    year, days = given.get("year"), [int(day) for day in (given.get("day"), given.get("last")) if day]
    if not days:
        return [f"{year}-{month:02}" if year else f"--{month:02}"]
    return [text for day in days if (text := _day(int(year) if year else None, month, day))]


def _day(year: int | None, month: int, day: int) -> str:
    """Normal form of a day, empty if there is no such day."""
    try:
        date(2000 if year is None else year, month, day)
    except ValueError:
        return ""
    return f"--{month:02}-{day:02}" if year is None else f"{year:04}-{month:02}-{day:02}"


def _slashed(match: Match) -> list[str]:
    """Read 3/12/2024 month first unless that is impossible, 12.3.2024 day first."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["number"])
    if len(match["number"]) == 2:  # noqa: PLR2004
        year += 2000 if year < 70 else 1900  # noqa: PLR2004
    text = _day(year, second, first) if match["mark"] == "." or first > len(MONTHS) else _day(year, first, second)
    return [text] if text else []


def _years(match: Match) -> list[str]:
    return [year for year in (match["year"], match.groupdict().get("last")) if year]


def _turned(match: Match) -> list[str]:
    """A week day, month or period, with last, this, next or every in front if that was said."""
    given = match.groupdict()
    what = given.get("period") or given.get("weekday")
    if given.get("weekday"):
        what = next(name for name in WEEKDAYS if name.startswith(match["weekday"][:3]))
    turn = given.get("turn")
    return [" ".join(filter(None, (_TURNS.get(str(turn), turn), what or MONTHS[_month_of(match) - 1])))]


def _counted(match: Match) -> list[str]:
    """So many days, weeks or months back or ahead."""
    words = match["count"]
    count = "few" if words in _FEW else str(int(words) if words.isdigit() else _COUNTS[words])
    unit = match["unit"] + ("" if count == "1" else "s")
    return [f"{count} {unit} ago" if match.groupdict().get("back") else f"in {count} {unit}"]


def _words(match: Match) -> list[str]:
    return [" ".join(match[0].removeprefix("the ").replace(" of ", " ").split())]


RULES: Final[tuple[Rule, ...]] = (
    (rf"(?:{_LEAD})?{_YEAR}[-/.](?P<digits>0[1-9]|1[0-2])[-/.]{_DAY}(?:t[0-9:.]+z?)?\b", _absolute),
    (
        rf"(?:{_LEAD})?(?P<first>[0-9]{{1,2}})(?P<mark>[/.])(?P<second>[0-9]{{1,2}})[/.](?P<number>[0-9]{{4}}|[0-9]{{2}})\b",
        _slashed,
    ),
    (rf"(?:{_LEAD})?{_YEAR}-(?P<digits>0[1-9]|1[0-2])\b", _absolute),
    (rf"(?:{_LEAD})?{_MONTH} +(?:the +)?{_DAY}\b{_LAST_DAY}(?:,? +{_YEAR}\b)?", _absolute),
    (rf"(?:{_LEAD})?{_DAY} +(?:of +)?{_MONTH}(?:,? +{_YEAR})?\b", _absolute),
    (rf"(?:{_LEAD})?{_MONTH},? +(?:of +)?{_YEAR}\b", _absolute),
    (rf"(?:{_any(SEASONS)}) +(?:of +)?{_YEAR}\b", _words),
    (r"(?:the +)?day +(?:before +yesterday|after +tomorrow)\b", _words),
    (rf"{_COUNT} +{_UNIT} +(?:(?P<back>ago|back|earlier)|later|from +now)\b", _counted),
    (rf"in +{_COUNT} +{_UNIT}\b", _counted),
    (rf"{_TURN} +{_WEEKDAY}\b", _turned),
    (rf"{_TURN} +{_PERIOD}\b", _turned),
    (rf"{_TURN} +{_MONTH}\b", _turned),
    (rf"(?:{_LEAD}){_MONTH}\b", _absolute),
    (rf"{_PLAIN_MONTH}\b", _absolute),
    (rf"{_WEEKDAY}\b", _turned),
    (rf"(?:{_any(_NAMED_DAYS)})\b", _words),
    (r"(?P<year>(?:19|20)[0-9]0s)\b", _years),
    (rf"(?:{_LEAD})?{_YEAR} *[-\u2013] *(?P<last>(?:19|20)[0-9]{{2}})\b", _years),
    (rf"(?:{_LEAD}){_YEAR}\b", _years),
)
"""Patterns over lower-case text, the first that fits counts, and what makes normal forms of their matches."""
