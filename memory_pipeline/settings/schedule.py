"""Validates cron expressions and computes their next tick. Not here: the schedules (`sensors/`)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_CRON_FIELDS: Final = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_CRON_PART: Final = re.compile(r"(\d{1,2})|(?:\*|(\d{1,2})-(\d{1,2}))(?:/(\d{1,2}))?", re.ASCII)
_CRON_DAYS: Final = 366 * 8 + 2
"""Days within which every date occurs, even 29 February around a century that is not a leap year."""


def cron(text: str) -> str:
    """Return a valid cron expression: minute, hour, day of the month, month, day of the week (0 is Sunday)."""
    _cron_sets(text)
    return text


def next_tick(expression: str, timezone: str, after: datetime) -> datetime | None:
    """Return the first tick of a cron expression after an aware instant, in UTC; None if there is none.

    If both the day of the month and the day of the week are restricted, a day that matches either is enough.
    """
    minutes, hours, days, months, weekdays = _cron_sets(expression)
    _, _, day_text, _, weekday_text = expression.split()
    zone = ZoneInfo(timezone)
    either = "*" not in (day_text, weekday_text)
    local = after.astimezone(zone)
    for later in range(_CRON_DAYS):
        day = local.date() + timedelta(days=later)
        fits = (day.day in days, day.isoweekday() % 7 in weekdays)
        if day.month not in months or not (any(fits) if either else all(fits)):
            continue
        for hour in sorted(hours):
            for minute in sorted(minutes):
                tick = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).astimezone(UTC)
                if tick > after:
                    return tick
    return None


def _cron_sets(expression: str) -> list[set[int]]:
    texts = expression.split()
    if len(texts) != len(_CRON_FIELDS):
        raise ValueError("give five fields: minute, hour, day of the month, month, day of the week")
    sets = [_cron_set(text, *limits) for text, limits in zip(texts, _CRON_FIELDS, strict=True)]
    sets[-1] = {weekday % 7 for weekday in sets[-1]}
    return sets


def _cron_set(text: str, what: str, low: int, high: int) -> set[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        match = _CRON_PART.fullmatch(part)
        single, first, last, step = match.groups() if match else (None,) * 4
        start, end = int(single or first or low), int(single or last or high)
        # Dagster takes a range of a single number to mean every number.
        if match is None or (first and first == last) or not low <= start <= end <= high or int(step or 1) == 0:
            raise ValueError(f"{what} {part!r}: give *, a number or a range from {low} to {high}, such as */5 or 1-5")
        numbers |= set(range(start, end + 1, int(step or 1)))
    return numbers
