"""Sentences of a memory that no longer hold, and how the text that recall shows marks them.

Not here: which sentences those are (`consolidation`), and memories that have ended as a whole (`rank/ranking`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ClosedStatement:
    """A sentence of a memory that a newer memory has outdated, while the rest of the memory still holds."""

    sentence: str
    valid_until: datetime
    """When it ceased to hold."""
    closed_by: str
    """The newer memory."""


def closed_statements(rows: Iterable[Mapping[str, Any]] | None, now: datetime | None = None) -> list[ClosedStatement]:
    """Return the sentences of a row of `memories` (column `closed_statements`) that hold no longer at an instant.

    Args:
        rows: the column; None: no sentence.
        now: the instant; None: whenever they end.
    """
    statements = [ClosedStatement(**row) for row in rows or ()]
    return [statement for statement in statements if now is None or statement.valid_until <= now]


def marked(text: str, statements: Iterable[ClosedStatement]) -> str:
    """Return a text with "[outdated since 2026-03-01]" after each of these sentences that it contains."""
    days = {_plain(one.sentence): f"{one.valid_until:%Y-%m-%d}" for one in statements if one.sentence.strip()}
    if not days:
        return text
    longest_first = sorted(days, key=len, reverse=True)
    pattern = "|".join(r"\s+".join(map(re.escape, sentence.split())) for sentence in longest_first)
    return re.sub(pattern, lambda found: f"{found[0]} [outdated since {days[_plain(found[0])]}]", text)


def _plain(text: str) -> str:
    return " ".join(text.split())
