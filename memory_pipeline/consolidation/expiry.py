"""Memories that are stored for a time: how long, and which of them are over.

Such a memory ceases to hold at its `valid_until`, and its metadata says that nobody wants to read it afterwards: unlike
a fact that was true once, it is shown no more. Not here: facts that ended (`promotion`, `change_detection`).
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY

EXPIRES: Final = "expires"
"""Key of the metadata; true for a memory that is hidden once its validity has ended."""

_UNITS: Final = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_WRITTEN: Final = re.compile(rf"\s*([0-9]{{1,9}})\s*({'|'.join(_UNITS)})s?\s*", re.ASCII | re.IGNORECASE)


def limited(payload: Mapping[str, Any], expires_in: Any, since: datetime) -> dict[str, Any]:
    """Return the payload of memory.stored of a memory that is kept for a time (see `end`) since it was said.

    Metadata that is no object stays, to be refused. Raises ValueError: the time cannot be read, or the end of its
    validity is given too.
    """
    if payload.get("valid_until") is not None:
        raise ValueError("expires_in and valid_until cannot be combined; give one of them")
    given = payload.get("metadata") or {}
    metadata = {**given, EXPIRES: True} if isinstance(given, Mapping) else given
    return {**payload, "valid_until": end(expires_in, since), "metadata": metadata}


def end(expires_in: Any, since: datetime) -> datetime:
    """Return when a memory is over that is kept for a timedelta, or a text such as "36 hours", "30 days" or "2 weeks".

    Raises ValueError: it is neither, not longer than nothing, or ends after the year 9999.
    """
    try:
        if (lasts := length(expires_in)) is not None and lasts > timedelta():
            return since + lasts
    except OverflowError:
        pass
    given = str(expires_in) if isinstance(expires_in, timedelta) else repr(expires_in)[:60]
    raise ValueError(f'expires_in is {given}; give a duration such as "36 hours", "30 days" or "2 weeks"')


def length(duration: Any) -> timedelta | None:
    """Return how long a duration is; None if it is neither a timedelta nor a text such as "30 days".

    Raises OverflowError: it is longer than a timedelta can be.
    """
    if isinstance(duration, timedelta):
        return duration
    read = _WRITTEN.fullmatch(duration) if isinstance(duration, str) else None
    return None if read is None else int(read[1]) * _UNITS[read[2].lower()]


def expiring(memories: pl.DataFrame) -> pl.Series:
    """Return which memories are hidden once their validity has ended, and summaries of one that is."""
    # Metadata is canonical JSON, of which hardly any has the key: the others are not parsed.
    named = memories.filter(pl.col("metadata").str.contains(f'"{EXPIRES}":true', literal=True))
    found = named.filter(pl.col("metadata").str.json_path_match(f"$.{EXPIRES}") == "true").select(KEY)
    if found.is_empty():
        return pl.repeat(value=False, n=memories.height, eager=True).alias("expires")
    new = found
    while new.height:
        made = memories.filter(pl.col("members").list.len() > 0).select(*KEY, "members").explode("members")
        of_these = made.join(new.rename({"memory_id": "members"}), on=["profile_id", "members"], how="semi")
        new = of_these.select(KEY).unique(maintain_order=True).join(found, on=KEY, how="anti")
        found = pl.concat([found, new])
    return (
        memories.select(KEY)
        .join(found.with_columns(expires=True), on=KEY, how="left", maintain_order="left")["expires"]
        .fill_null(value=False)
    )
