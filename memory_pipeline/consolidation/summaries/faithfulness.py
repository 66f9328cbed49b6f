"""Checks whether a text written by a model states what its sources state, and nothing else.

Numbers, dates and names are compared in normal form. A date may be written differently if it is the same day ("March
12, 2024" and, under "In March 2024", "Mar 12"; "yesterday" and the day before it was said). Not here: how texts are
parsed (`text/parse/facts`, `text/parse/dates`), and extracts, which consist of the members' own sentences (`extracts`).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import polars as pl

from memory_pipeline.text.lang.folding import fold_text
from memory_pipeline.text.lang.pack import MONTHS
from memory_pipeline.text.parse import dates, facts

_SHOWN: Final = 3
"""Maximum number of facts that a reason names."""
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
"""Words that summaries use, often at the start of a sentence, and that are not names."""

Parts = tuple[str, str, str]
"""Year, month and day as written; empty where a date does not have them."""


@dataclass(frozen=True)
class Source:
    """What one memory states that a text may repeat.

    Attributes:
        numbers: its numbers in normal form.
        dates: its dates in normal form, each with all ways of naming the same span.
        names: its names.
        words: all its words, and its speaker's, in lower case.
        links: its web and mail addresses, in lower case.
        day: the day it was said, if known.
    """

    numbers: frozenset[str]
    dates: dict[str, frozenset[str]]
    names: frozenset[str]
    words: frozenset[str]
    links: frozenset[str]
    day: str | None


def unfaithful(texts: pl.DataFrame, members: pl.DataFrame, *, on: list[str], whole: bool = True) -> pl.DataFrame:
    """Return what each text invents or leaves out.

    Args:
        texts: content, and the columns `on`, which identify a text.
        members: any number of rows per text: the columns `on`; content, speaker and created_at (null if unknown);
            numbers, dates and entities of the content (as in `enrichment`).
        whole: whether a text must hold every number, date and name of its members; otherwise it only must not invent
            any.

    Returns:
        The columns `on`, and reason, such as "invented 2027" or "lacks 12 June": one row per text with a fault, in the
        order of `texts`. Cost: about 1.5 ms per text of ten members.
    """
    read = facts.add_facts(texts.select(*on, "content"))
    sources: dict[tuple[Any, ...], list[Source]] = {}
    for row in members.iter_rows(named=True):
        sources.setdefault(tuple(row[name] for name in on), []).append(_source(row))
    faults = []
    for row in read.iter_rows(named=True):
        key = tuple(row[name] for name in on)
        text_sources = sources.get(key, [])
        reasons = _fault("invented", _invented(row, text_sources)) or (
            _fault("lacks", _lost(row, text_sources)) if whole else None
        )
        if reasons:
            faults.append((*key, reasons))
    schema = {name: texts.schema[name] for name in on} | {"reason": pl.String()}
    return pl.DataFrame(faults, schema=schema, orient="row")


def _fault(fault: str, facts_at_fault: Iterable[str]) -> str | None:
    """Return a reason that names the first few facts, or None if there are none."""
    shown = [_readable(fact) for fact in sorted(set(facts_at_fault))[:_SHOWN]]
    return f"{fault} {', '.join(shown)}" if shown else None


def _source(row: dict[str, Any]) -> Source:
    day = row["created_at"].date() if row["created_at"] else None
    text = f"{row['speaker'] or ''}\n{row['content'] or ''}"
    return Source(
        numbers=frozenset(row["numbers"] or ()),
        dates={written: frozenset({written, *(_meant(written, day) if day else ())}) for written in row["dates"] or ()},
        names=frozenset(row["entities"] or ()),
        words=frozenset(_words(text)),
        links=frozenset(_links(text)),
        day=day.isoformat() if day else None,
    )


def _meant(text: str, day: date) -> list[str]:
    """Return the day, month or year that a date means when it is said on a given day."""
    span = dates.span(text, day)
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
    """Return the facts of a text that no source states."""
    numbers = {fact for source in sources for fact in source.numbers}
    stated = {fact for source in sources for ways in source.dates.values() for fact in ways}
    allowed = (
        stated | {source.day for source in sources if source.day} | {fact for fact in numbers if _YEAR.fullmatch(fact)}
    )
    links = {fact for source in sources for fact in source.links}
    return [
        *(fact for fact in text["numbers"] if fact not in numbers | stated),
        *(fact for fact in text["dates"] if not any(_covers(other, fact) for other in allowed)),
        *(name for name in text["entities"] if not _named(name, sources)),
        *(fact for fact in _links(text["content"]) if fact not in links),
    ]


def _named(name: str, sources: list[Source]) -> bool:
    """Return whether one source has all words of a name, or they are not a name."""
    words = _words(name)
    return _NO_NAMES.issuperset(words) or any(source.words.issuperset(words) for source in sources)


def _lost(text: dict[str, Any], sources: list[Source]) -> list[str]:
    """Return the facts of the sources that a text does not state."""
    numbers, stated = set(text["numbers"]), set(text["dates"])
    words = f" {' '.join(_words(text['content']))} "
    years = stated | numbers
    return [
        *(
            fact
            for source in sources
            for fact in source.numbers
            if fact not in years and not _states_date(fact, stated)
        ),
        *(
            fact
            for source in sources
            for fact, ways in source.dates.items()
            if fact not in years and not any(_states_date(way, years) for way in ways)
        ),
        *(name for source in sources for name in source.names if f" {' '.join(_words(name))} " not in words),
    ]


def _states_date(wanted: str, stated: set[str]) -> bool:
    """Return whether dates state one date: in one place, or its year or month in one place and the rest in another."""
    if any(_covers(other, wanted) for other in stated):
        return True
    parts = _parts(wanted)
    if parts is None or not all(parts):
        return False
    year, month, day = parts
    return f"--{month}-{day}" in stated and any(other.startswith(year) for other in stated)


def _covers(full: str, part: str) -> bool:
    """Return whether a date in normal form equals another or names all parts that the other names."""
    if full == part:
        return True
    ours, theirs = _parts(full), _parts(part)
    return bool(
        ours
        and theirs
        and all(not their_part or their_part == our_part for our_part, their_part in zip(ours, theirs, strict=True))
    )


def _parts(text: str) -> Parts | None:
    """Return the year, month and day of a date in normal form; None for anything with other words."""
    found = _DATE.fullmatch(text)
    return None if found is None else (found["year"].strip("-"), found["month"] or "", found["day"] or "")


def _words(text: str) -> list[str]:
    found = _WORD.findall(fold_text(text))
    return [word.removesuffix("'s") for word in found]


def _links(text: str) -> list[str]:
    return [found.rstrip(".,;:!?").lower() for found in _LINK.findall(text)]


def _readable(fact: str) -> str:
    """Return a date without a year as people write it; anything else unchanged."""
    parts = _parts(fact)
    if parts is None or parts[0] or not parts[1]:
        return fact
    month = MONTHS[int(parts[1]) - 1].capitalize()
    return f"{int(parts[2])} {month}" if parts[2] else month
