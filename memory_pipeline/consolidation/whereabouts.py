"""Where a line of notes stands: its file and the headings above it, which are part of what it says.

Equal lines under two headings, or in two files, state different facts. Importers keep both in the metadata of a memory;
memories from elsewhere stand nowhere. Not here: how notes are read (`interop/markdown`).
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

SEPARATOR: Final = " \u203a "
"""Stands between the headings above a memory where they are shown, and before its text."""

_JOIN: Final = " / "
"""Stands between the headings in the metadata."""
_LONGEST: Final = 60
"""Characters of a heading that are shown."""
_DATE: Final = r"[0-9]{4}[-_./]?[0-9]{2}[-_./]?[0-9]{2}"


def file() -> pl.Expr:
    """Return the file of each memory that is a part of it, by its column `metadata`; null without one.

    A file with name and description is one memory as a whole, which another file may repeat.
    """
    whole = _value("name").is_not_null() & _value("description").is_not_null()
    return pl.when(~whole).then(_value("file"))


def heading() -> pl.Expr:
    """Return the headings of each memory by its column `metadata`, without dates; null without any."""
    named = _value("heading").str.replace_all(_DATE, "").str.strip_chars(" /")
    return pl.when(named != "").then(named)


def searched() -> pl.Expr:
    """Return the words by which each memory is found: the headings above it, then its text or that of its index."""
    text = pl.coalesce("index_text", "content")
    named = _value("heading").str.replace_all(_JOIN, SEPARATOR, literal=True)
    return pl.when(named != "").then(named + "\n" + text).otherwise(text)


def shown_path(metadata: Mapping[str, Any] | None) -> str | None:
    """Return the headings above a memory as people read them, without those that are only a date; None without any."""
    named = (metadata or {}).get("heading")
    if not isinstance(named, str):
        return None
    parts = [" ".join(part.split())[:_LONGEST] for part in named.split(_JOIN)]
    return SEPARATOR.join(part for part in parts if part and not re.fullmatch(_DATE, part)) or None


def below(path: str | None, text: str) -> str:
    """Return a text behind the headings above it."""
    return text if path is None else f"{path}{SEPARATOR}{text}"


def shown_below(column: str) -> pl.Expr:
    """Return the texts of a column behind the headings above their memories (see `shown_path`)."""
    part = pl.element().str.replace_all(r"\s+", " ").str.strip_chars().str.slice(0, _LONGEST)
    named = part.filter(~part.str.contains(f"^(?:{_DATE})?$"))
    path = _value("heading").str.split(_JOIN).list.eval(named).list.join(SEPARATOR)
    return pl.when(path != "").then(path + SEPARATOR + pl.col(column)).otherwise(column).alias(column)


def _value(name: str) -> pl.Expr:
    return pl.col("metadata").str.json_path_match(f"$.{name}")
