"""Sentences of a memory that no longer hold, or may no longer hold, and their marks in the text that recall shows."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ClosedStatement:
    """A sentence of a memory that a newer memory has outdated, while the rest of the memory still holds."""

    sentence: str
    valid_until: datetime
    """When it ceased to hold."""
    closed_by: str
    """The newer memory."""


@dataclass(frozen=True, kw_only=True)
class DoubtedSentence:
    """A sentence of a memory that a newer memory may have outdated, while the rest of the memory still holds."""

    sentence: str
    since: datetime
    """When the newer memory began to hold."""


def closed_statements(
    rows: Iterable[Mapping[str, Any]] | None, now: datetime | None = None, zone: tzinfo = UTC
) -> list[ClosedStatement]:
    """Return the sentences of a row of `memories` that no longer hold at an instant, or all, with days of a zone."""
    statements = [ClosedStatement(**{**row, "valid_until": row["valid_until"].astimezone(zone)}) for row in rows or ()]
    return [statement for statement in statements if now is None or statement.valid_until <= now]


def marked(text: str, statements: Iterable[ClosedStatement]) -> str:
    """Return a text with "[outdated since 2026-03-01]" after each of these sentences that it contains."""
    days = {_plain(one.sentence): f"outdated since {one.valid_until:%Y-%m-%d}" for one in statements}
    return _with_marks(text, days)


def doubted(text: str, sentences: Iterable[DoubtedSentence]) -> str:
    """Return a text with "[possibly outdated since 2026-03-01]" after each of these sentences that it contains."""
    days = {_plain(one.sentence): f"possibly outdated since {one.since:%Y-%m-%d}" for one in sentences}
    return _with_marks(text, days)


def _with_marks(text: str, marks: Mapping[str, str]) -> str:
    """Return a text with a mark in brackets after each sentence that has one."""
    longest_first = sorted(filter(None, marks), key=len, reverse=True)
    if not longest_first:
        return text
    pattern = "|".join(r"\s+".join(map(re.escape, sentence.split())) for sentence in longest_first)
    return re.sub(pattern, lambda found: f"{found[0]} [{marks[_plain(found[0])]}]", text)


def _plain(text: str) -> str:
    return " ".join(text.split())
