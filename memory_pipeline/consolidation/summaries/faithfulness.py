"""Faithfulness: does a text written by a model say what it was written from, and nothing else?

Numbers, dates and names are compared in normal form. A date may be said in another way as long as it is the same day
("March 12, 2024" and, under "In March 2024", "Mar 12"; "yesterday" and the day before it was said). What is not here:
how texts are read (`text/parse/facts`, `text/parse/dates`), and extracts, which are made of the members' own sentences
(`wording`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import polars as pl

from memory_pipeline.text.parse import dates, facts

_SHOWN: Final = 3
"""Facts that a reason names."""
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_LINK: Final = re.compile(r"(?:https?://|www\.)[^\s<>\"')\]]+|[\w.+-]+@[\w-]+\.[\w.-]+", re.IGNORECASE)
_DATE: Final = re.compile(r"(?P<year>[0-9]{4}|-)(?:-(?P<month>[0-9]{2}))?(?:-(?P<day>[0-9]{2}))?")
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")
_NO_NAMES: Final = frozenset(
    {
        *("additionally", "afterwards", "consequently", "conversely", "furthermore", "later", "meanwhile", "moreover"),
        *("nevertheless", "nonetheless", "notably", "subsequently", "several", "participants", "preferences"),
        *("assistant", "project", "speaker", "speakers", "user", "users"),
    }
)
"""Words that summaries use, often at the start of a sentence, and that name nobody."""

Parts = tuple[str, str, str]
"""Year, month and day as written; empty where a date does not name them."""


@dataclass(frozen=True)
class Source:
    """What one memory says that a text may repeat.

    Attributes:
        numbers: its numbers in normal form.
        dates: its dates in normal form, each with all ways of naming the same span.
        names: its names.
        words: all its words, and its speaker's, in lower case.
        links: its web and mail addresses, in lower case.
        day: the day it was said, if that is known.
    """

    numbers: frozenset[str]
    dates: dict[str, frozenset[str]]
    names: frozenset[str]
    words: frozenset[str]
    links: frozenset[str]
    day: str | None


def unfaithful(texts: pl.DataFrame, members: pl.DataFrame, *, on: list[str], whole: bool = True) -> pl.DataFrame:
    """Say what each text invents or leaves out.

    Args:
        texts: the columns `on`, and content.
        members: any number of rows a text: the columns `on`; content, speaker and created_at (null if unknown);
            numbers, dates and entities of the content (as in `enrichment`).
        on: columns that identify a text.
        whole: a text must hold every number, date and name of its members; else it may only not invent any.

    Returns:
        The columns `on`, and reason, such as "invented 2027" or "lacks 12 June": one row a text with a fault, in the
        order of `texts`. Cost: about 1.5 ms a text of ten members.
    """
    read = facts.facts(texts.select(*on, "content"))
    sources: dict[tuple[Any, ...], list[Source]] = {}
    for row in members.iter_rows(named=True):
        sources.setdefault(tuple(row[name] for name in on), []).append(_source(row))
    found = []
    for row in read.iter_rows(named=True):
        key = tuple(row[name] for name in on)
        own = sources.get(key, [])
        reasons = _told("invented", _invented(row, own)) or (_told("lacks", _lost(row, own)) if whole else None)
        if reasons:
            found.append((*key, reasons))
    schema = {name: texts.schema[name] for name in on} | {"reason": pl.String()}
    return pl.DataFrame(found, schema=schema, orient="row")


def _told(fault: str, found: Iterable[str]) -> str | None:
    shown = [_readable(fact) for fact in sorted(set(found))[:_SHOWN]]
    return f"{fault} {', '.join(shown)}" if shown else None


def _source(row: dict[str, Any]) -> Source:
    day = row["created_at"].date() if row["created_at"] else None
    text = f"{row['speaker'] or ''}\n{row['content'] or ''}"
    return Source(
        numbers=frozenset(row["numbers"] or ()),
        dates={said: frozenset({said, *(_meant(said, day) if day else ())}) for said in row["dates"] or ()},
        names=frozenset(row["entities"] or ()),
        words=frozenset(_words(text)),
        links=frozenset(_links(text)),
        day=day.isoformat() if day else None,
    )


def _meant(said: str, day: date) -> list[str]:
    """The day, month or year that a date means when it is said on a certain day."""
    span = dates.span(said, day)
    if span is None:
        return []
    first, end = span
    days = (end - first).days
    if days == 1:
        return [first.isoformat()]
    if first.day == end.day == 1 and days <= 31:  # noqa: PLR2004 - of the longest month
        return [f"{first:%Y-%m}"]
    return (
        [f"{first:%Y}"] if first.month == first.day == end.month == end.day == 1 and end.year - first.year == 1 else []
    )


def _invented(text: dict[str, Any], sources: list[Source]) -> list[str]:
    """Facts of a text that none of its members states."""
    numbers = {one for source in sources for one in source.numbers}
    said = {one for source in sources for ways in source.dates.values() for one in ways}
    allowed = said | {source.day for source in sources if source.day} | {one for one in numbers if _YEAR.fullmatch(one)}
    links = {one for source in sources for one in source.links}
    return [
        *(one for one in text["numbers"] if one not in numbers | said),
        *(one for one in text["dates"] if not any(_covers(other, one) for other in allowed)),
        *(name for name in text["entities"] if not _named(name, sources)),
        *(one for one in _links(text["content"]) if one not in links),
    ]


def _named(name: str, sources: list[Source]) -> bool:
    """Whether one memory has all words of a name, or it is none."""
    words = _words(name)
    return _NO_NAMES.issuperset(words) or any(source.words.issuperset(words) for source in sources)


def _lost(text: dict[str, Any], sources: list[Source]) -> list[str]:
    """Facts of the members that a text does not state."""
    numbers, said = set(text["numbers"]), set(text["dates"])
    words = f" {' '.join(_words(text['content']))} "
    years = said | numbers
    return [
        *(one for source in sources for one in source.numbers if one not in years and not _said(one, said)),
        *(
            one
            for source in sources
            for one, ways in source.dates.items()
            if one not in years and not any(_said(way, years) for way in ways)
        ),
        *(name for source in sources for name in source.names if f" {' '.join(_words(name))} " not in words),
    ]


def _said(one: str, said: set[str]) -> bool:
    """Whether dates say one: at once, or its year or month in one place and the rest in another."""
    if any(_covers(other, one) for other in said):
        return True
    parts = _parts(one)
    if parts is None or not all(parts):
        return False
    year, month, day = parts
    return f"--{month}-{day}" in said and any(other.startswith(year) for other in said)


def _covers(full: str, part: str) -> bool:
    """Whether a date in normal form is the same as another or names all that the other names."""
    if full == part:
        return True
    ours, theirs = _parts(full), _parts(part)
    return bool(
        ours
        and theirs
        and all(not theirs_own or theirs_own == own for own, theirs_own in zip(ours, theirs, strict=True))
    )


def _parts(said: str) -> Parts | None:
    """Year, month and day of a date in normal form; None for all that has other words."""
    found = _DATE.fullmatch(said)
    return None if found is None else (found["year"].strip("-"), found["month"] or "", found["day"] or "")


def _words(text: str) -> list[str]:
    found = _WORD.findall(text.replace("\u2019", "'").lower())
    return [word.removesuffix("'s") for word in found]


def _links(text: str) -> list[str]:
    return [found.rstrip(".,;:!?").lower() for found in _LINK.findall(text)]


def _readable(fact: str) -> str:
    """A date without a year as people write it; all else as it is."""
    parts = _parts(fact)
    if parts is None or parts[0] or not parts[1]:
        return fact
    month = dates.MONTHS[int(parts[1]) - 1].capitalize()
    return f"{int(parts[2])} {month}" if parts[2] else month
