"""Where a line of notes stands: its file and the headings above it, which are part of what it says.

Equal lines under two headings, or in two files, state different facts. Importers keep both in the metadata of a memory;
memories from elsewhere stand nowhere. Not here: how notes are read (`interop/markdown`).
"""

from typing import Final

import polars as pl

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


def _value(name: str) -> pl.Expr:
    return pl.col("metadata").str.json_path_match(f"$.{name}")
