"""Reads the day that notes were written on: from the name of their file, a heading, or the beginning of a line.

Not here: which of several dates counts (`interop/markdown`), and dates within texts (`dates`).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from typing import Final, NamedTuple

from memory_pipeline.text.lang.pack import MONTHS, WEEKDAYS
from memory_pipeline.text.lang.registry import PACKS

_DIGITS: Final = r"(?P<year>(?:19|20)[0-9]{2})(?P<mark>[-_./]?)(?P<month>[0-9]{2})(?P=mark)(?P<day>[0-9]{2})"
_UNPADDED: Final = r"(?P<year>(?:19|20)[0-9]{2})(?P<mark>[-_/])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})"
"""Not with full stops: 2026.3.1 is a version of a program."""
_MONTH: Final = rf"(?P<name>{'|'.join(rf'{name[:3]}(?:{name[3:]})?' for name in MONTHS)})\.?"
_DAY: Final = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er|\.)?"
_YEAR: Final = r"(?P<year>(?:19|20)[0-9]{2})"
_LATE: Final = r"1[3-9]|2[0-9]|3[01]"
"""Days that are no month, so that a date in digits with the year last has one meaning."""
_WEEKDAY: Final = (
    rf"(?:(?:(?:{'|'.join(rf'{name[:3]}(?:{name[3:]})?' for name in WEEKDAYS)})\.?,?|[^\W\d_]{{2,3}}\.?,)[ _]+)?"
)
"""A weekday, or a short one of any language before a comma ("So., 1. Februar 2026")."""
_OPENING: Final = r"[\[(]{0,2}"
_ENDS: Final = r"(?:_?[0-9]{4}(?:[0-9]{2})?)?(?:T[0-9]|[^\w./]|[_.](?![0-9])|\Z)"
"""What follows a date: a time, or anything that is no further part of a number, word or path."""
_WEEK: Final = r"(?P<year>(?:19|20)[0-9]{2})-?W(?P<week>[0-9]{2})(?:-?(?P<of_week>[1-7]))?(?![\w-]*[0-9])"
"""A week of ISO 8601, or a day of one: notes of a week are of its Monday."""
_IN_DIGITS: Final = (_DIGITS, _UNPADDED, _WEEK)
_IN_WORDS: Final = (
    rf"{_DAY}[ _-](?:(?:de|of)[ _])?{_MONTH},?[ _-](?:de[ _])?{_YEAR}(?!\w)",
    rf"{_MONTH}[ _-]{_DAY},?[ _-]{_YEAR}(?!\w)",
    rf"{_YEAR}\.?[ _-]{_MONTH}[ _-]{_DAY}(?!\w)",
    r"(?P<day>[0-9]{1,2})\.[ ]?(?P<month>[0-9]{1,2})\.[ ]?" + _YEAR + r"(?!\w)",
    rf"(?P<day>{_LATE})(?P<mark>[-/])(?P<month>[0-9]{{1,2}})(?P=mark){_YEAR}(?!\w)",
    rf"(?P<month>[0-9]{{1,2}})(?P<mark>[-/])(?P<day>{_LATE})(?P=mark){_YEAR}(?!\w)",
    _YEAR + r"年(?P<month>[0-9]{1,2})月(?P<day>[0-9]{1,2})日",
)
_FORMS: Final = tuple(
    re.compile(_OPENING + _WEEKDAY + form, re.IGNORECASE)
    for form in (*(form + _ENDS for form in _IN_DIGITS), *_IN_WORDS)
)
_BEFORE_ENTRY: Final = r"(?P<box>\[[ xX]\][ ]+)?(?P<opening>[\[(*_`]*)"
"""What stands before the day of an entry: the box of a task, brackets, signs of bold type."""
_TIME: Final = r"(?P<time>[ T][0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?Z?)?"
_AFTER_ENTRY: Final = (
    _TIME + r"(?:(?P<closing>[\])*_`]+)[:,]?(?:\s+|\Z)|[*_`]*(?:[:,]|[ ][-\u2013\u2014|])[*_`]*(?:\s+|\Z)"
    r"|\uff1a|[ ]*(?:\n|\Z))"
)
"""What ends the day of an entry, after a time: a bracket or sign that was opened, a colon, comma or dash, the line."""
_BEFORE_CAPITAL: Final = _TIME + r"(?P<space>[ ]+)(?=\S)"
"""A day in digits may also stand right before a capital, as in logs: "2026-03-01 Sold the boat"."""
_ENTRIES: Final = tuple(
    re.compile(_BEFORE_ENTRY + _WEEKDAY + form, re.IGNORECASE)
    for form in (
        *(form + _AFTER_ENTRY for form in (*_IN_DIGITS, *_IN_WORDS)),
        *(form + _BEFORE_CAPITAL for form in _IN_DIGITS),
    )
)
_HEADING_ENDS: Final = tuple(
    re.compile(rf"(?:(?<=[ ][-\u2013\u2014][ ])|(?<=[ ]\()){form}\)?\Z") for form in (_DIGITS, _WEEK)
)
"""A date at the end of a heading counts behind a dash or in parentheses."""
_AT_END: Final = tuple(
    re.compile(rf"(?<=[\w:,] ){_WEEKDAY}{form}\Z", re.IGNORECASE) for form in (_DIGITS, _UNPADDED, _WEEK, *_IN_WORDS)
)
"""Behind words it may be the day that they are about: "Meeting 2026-03-01" and "Due 2026-03-01"."""
_IN_NAMES: Final = tuple(
    re.compile(rf"(?<![^\W_])(?<![0-9]\.){form}", re.IGNORECASE)
    for form in (*(form + _ENDS for form in (_DIGITS, _UNPADDED, _WEEK)), *_IN_WORDS)
)
"""The name of a file or folder may have its date anywhere: "Meeting 2026-03-01 notes"."""
_FOLDERS: Final = re.compile(
    rf"(?:\A|/){_YEAR}[/-](?P<month>[0-9]{{2}})(?:[ _-][^\W\d_]+)?[/-](?P<day>[0-9]{{2}})(?:[ _-][^\W\d_]+)?\Z"
)
_ANY_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")
_SIGNS: Final = re.compile(r"\A[^\w(\[]+")
"""Signs before a date, such as a picture."""
_LETTERS: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
_WORDS: Final[Mapping[str, str]] = {
    word: english
    for pack in PACKS.values()
    for word, english in pack.date_words.items()
    if english in {*MONTHS, *WEEKDAYS}
}
"""Months and weekdays of other languages, and the English words for them."""
_A_LOG: Final = 2
"""Least number of lines with days that show that a list goes by them."""
_JUST_BEFORE: Final = timedelta(seconds=1)
_NO_END: Final = datetime.max.replace(tzinfo=UTC)
_LONGEST: Final = 200
"""Most characters of a heading or name that is read."""


def day_of(
    file: str, headings: Sequence[str], *, until: datetime, of_their_day: Callable[[str], bool]
) -> datetime | None:
    """Return the first moment (UTC) of the day that notes were written on, by where they stand; None if nothing says.

    The innermost heading with a date counts (headings come outermost first), else the name of the file, else that of
    the innermost folder. Days after `until` do not count: nobody has written on them yet. `of_their_day` is asked about
    headings that end with a day behind words, which may be about that day (see `headings.of_their_day`).
    """
    *folders, name = file.split("/")
    stem = name.rpartition(".")[0] or name
    found = [_of_heading(heading, of_their_day) for heading in reversed(headings)]
    found += [_first((*_FORMS, *_IN_NAMES), stem), _first([_FOLDERS], "/".join([*folders, stem]))]
    found += [_first((*_FORMS, *_IN_NAMES), name) for name in reversed(folders)]
    days = (datetime.combine(day, time(), UTC) for day in found if day is not None)
    return next((day for day in days if day <= until), None)


@dataclass(frozen=True)
class Entry:
    """A text that bears its day at its head, as entries of a log do."""

    day: datetime
    """Its first moment (UTC)."""
    said: str
    """The text without the day; with it, where a time or the box of a task stands there too, or nothing else."""


def entry(text: str, *, until: datetime) -> Entry | None:
    """Return a text, a list item or paragraph, as an entry of a log; None if it bears no day up to `until` at its head.

    A day that is a part of what is said ("2026-03-01 is the deadline"), one of several or the first of a span, is none.
    """
    begins = unicodedata.normalize("NFC", text[:_LONGEST])
    if not _ANY_YEAR.search(begins):
        return None
    for words in dict.fromkeys((begins, _in_english(begins))):
        for form in _ENTRIES:
            match = form.match(words)
            if match is None or (day := _day(match.groupdict())) is None:
                continue
            parts, rest = match.groupdict(), words[match.end() :]
            opened = parts.get("closing") is None or bool(parts["opening"])
            capital = parts.get("space") is None or rest[:1].isupper()
            if opened and capital and not any(other.match(rest) for other in _FORMS):
                moment = datetime.combine(day, time(), UTC)
                said = text if parts["box"] or parts["time"] else _behind(match[0], text)
                return Entry(moment, said or text) if moment <= until else None
    return None


def said_on(text: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """Return the first moment of the past day that a text bears at its head (see `entry`); None if it bears none.

    `now` is when it is said: the time of today, and of a day to come, counts before its beginning.
    """
    found = entry(text, until=_NO_END)
    if found is None or found.day.date() >= now.astimezone(zone).date():
        return None
    return found.day.replace(tzinfo=zone)


def _behind(head: str, text: str) -> str:
    """Return what a text says behind its head, which may be written in another form or language."""
    return next(
        text[end:].strip()
        for end in range(len(text) + 1)
        if head in (plain := unicodedata.normalize("NFC", text[:end]), _in_english(plain))
    )


def is_entry(line: str) -> bool:
    """Return whether a line bears its day at its head (see `entry`)."""
    return entry(line, until=_NO_END) is not None


def written_by(days: Sequence[datetime | None]) -> list[datetime | None]:
    """Return by when each line of a list was written: on its own day, else, between two with one, by the later of them.

    That a list goes by days show at least two of them, in order, the newest first or last. In any other, and before the
    first and after the last line with a day, lines without one may have been written at any time.
    """
    borne = [(place, day) for place, day in enumerate(days) if day is not None]
    in_order = sorted(day for _, day in borne)
    descending = bool(borne) and borne[0][1] > borne[-1][1]
    if len(borne) < _A_LOG or [day for _, day in borne] != (in_order[::-1] if descending else in_order):
        return [*days]
    found = [*days]
    for (place, above), (end, below) in pairwise(borne):
        found[place + 1 : end] = [max(above, below) - _JUST_BEFORE] * (end - place - 1)
    return found


def _of_heading(heading: str, of_their_day: Callable[[str], bool]) -> date | None:
    """Return the day of a heading that what stands below it is of; None if there is none."""
    if day := _first((*_FORMS, *_HEADING_ENDS), heading):
        return day
    behind = _found(_AT_END, heading)
    return behind.day if behind and of_their_day(f"{behind.words}{behind.day}") else None


class _Found(NamedTuple):
    """A day in a name, and the words before it."""

    words: str
    day: date


def _first(forms: Sequence[re.Pattern[str]], text: str) -> date | None:
    """Return the day that a name begins with, or ends with where a form says so."""
    found = _found(forms, text)
    return found and found.day


def _found(forms: Sequence[re.Pattern[str]], text: str) -> _Found | None:
    plain = _SIGNS.sub("", unicodedata.normalize("NFC", text)).strip(" *_")
    if len(plain) > _LONGEST:
        return None
    for words in dict.fromkeys((plain, _in_english(plain))):
        for form in forms:
            match = form.match(words) if form in _FORMS else form.search(words)
            if match and (day := _day(match.groupdict())):
                return _Found(words[: match.start()], day)
    return None


def _in_english(text: str) -> str:
    """Return a text with the months and weekdays of any language that has a pack in English."""
    return _LETTERS.sub(lambda match: _WORDS.get(match[0].lower(), match[0]), text)


def _day(parts: dict[str, str | None]) -> date | None:
    name = (parts.get("name") or "")[:3].lower()
    month = next((at for at, known in enumerate(MONTHS, start=1) if name and known.startswith(name)), 0)
    try:
        if week := parts.get("week"):
            return date.fromisocalendar(int(parts["year"] or 0), int(week), int(parts["of_week"] or 1))
        return date(int(parts["year"] or 0), month or int(parts.get("month") or 0), int(parts["day"] or 0))
    except ValueError:
        return None
