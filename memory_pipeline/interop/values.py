"""Reads the values of other systems' stores: what does not fit is no value, and raises nothing.

Not here: the events that are made of them (`records.py`).
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memory_pipeline.interop.items import Item, raw_bytes, skipped, stable_id
from memory_pipeline.ledger.event import EPOCH
from memory_pipeline.ledger.payloads import canonical_json, written
from memory_pipeline.text import credentials
from memory_pipeline.text.classification import CATEGORIES, MEMORY_TYPES

LONGEST: Final = 256
"""Characters of an id, a name or a tag."""
MILLISECONDS: Final = 1e11
"""Epoch seconds lie below this number, epoch milliseconds above it."""
MOST_SHARED: Final = 2_000
"""Characters of what stands beside every memory of a record of several; more would multiply with their number."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_TYPES: Final = {name.lower(): name for name in MEMORY_TYPES}


def instant(value: object) -> datetime | None:
    """Return an instant as other systems write it, in UTC; None if it is not one.

    Takes epoch seconds and milliseconds, as number or text, and ISO 8601 with or without offset, a date alone as its
    first moment. Without an offset it is UTC, which is a convention: some systems write local time.
    """
    try:
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
            read = datetime.fromisoformat(value.strip())
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        seconds = float(value)
        if not math.isfinite(seconds):
            return None
        return EPOCH + timedelta(seconds=seconds / 1000 if abs(seconds) > MILLISECONDS else seconds)
    except (ValueError, OverflowError):
        return None


def text(value: object) -> str | None:
    """Return a text with half surrogate pairs and null characters replaced; None if it is not a text, or blank."""
    if not isinstance(value, str) or not value.strip():
        return None
    whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")


def label(value: object) -> str | None:
    """Return a name, id or tag that fits (see `payloads.Identifier`), shortened if need be; None if there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    fitting = (text(_CONTROL.sub(" ", credentials.redacted(str(value)))) or "").strip()[:LONGEST].strip()
    return fitting if any(not unicodedata.category(letter).startswith("C") for letter in fitting) else None


def identifier(value: object) -> str | None:
    """Return an id unchanged if it fits, else one made from it; None if there is none."""
    found = label(value)
    return found if found is None or found == str(value) else stable_id("id", str(value).encode(errors="replace").hex())


def labels(values: object) -> list[str]:
    """Return the names in a list, or a single name, each once."""
    listed = values if isinstance(values, Sequence) and not isinstance(values, str | bytes) else [values]
    return list(dict.fromkeys(found for value in listed if (found := label(value))))


def share(value: object) -> float | None:
    """Return a number from 0 to 1; None if it is not one or lies outside."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= 1 else None


def times(value: object) -> int:
    """Return a count; 0 if it is not one, or negative."""
    return min(max(value, 0), 10**9) if isinstance(value, int) and not isinstance(value, bool) else 0


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list | tuple) else ()


def kind_of(value: object) -> tuple[dict[str, str], list[str]]:
    """Return `memory_type` or `category` if a name is a known one, else the name as a tag."""
    name = label(value)
    if name is None:
        return {}, []
    if name.lower() in _TYPES:
        return {"memory_type": _TYPES[name.lower()]}, []
    return ({"category": name.lower()}, []) if name.lower() in CATEGORIES else ({}, [name])


def metadata_of(values: Mapping[str, Any], *, without: Iterable[str] = ()) -> dict[str, Any] | None:
    """Return those values that JSON can hold and that are not empty; None if there is none."""
    left_out = set(without)
    kept = {}
    for name, value in values.items():
        if str(name) in left_out or value in (None, "", [], {}, ()):
            continue
        try:
            canonical_json(value)
        except ValueError:
            continue
        kept[str(name)] = value
    return kept or None


def shared(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Item]]:
    """Return the values that may stand beside each of several memories, and what is left out: those too long for it."""
    kept, room = dict[str, Any](), MOST_SHARED
    for name, value in values.items():
        size = len(name) + len(raw_bytes(value))
        if size <= room:
            kept[name] = value
            room -= size
    return kept, skipped("values that are too long to stand beside each of several memories", len(values) - len(kept))


def unpacked(value: object) -> Any:
    """Return what a text says in JSON, None if it is no JSON; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str | bytes) else value
    except (ValueError, RecursionError):
        return None


def in_our_form(value: object) -> str | None:
    """Return an instant in our form; None if it is not one."""
    read = instant(value)
    return written(read) if read else None


def fields_of(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values that are fields of a memory under our names, in our form, and the others."""
    read: dict[str, Callable[[Any], Any]] = {
        **dict.fromkeys(("importance", "importance_hint", "confidence"), share),
        **dict.fromkeys(("valid_from", "valid_until"), in_our_form),
        "protected_reason": text,
        "memory_type": lambda value: kind_of(value)[0].get("memory_type"),
        "category": lambda value: kind_of(value)[0].get("category"),
        "tags": lambda value: labels(value) if isinstance(value, list) else None,
        "protected": lambda value: value if isinstance(value, bool) else None,
    }
    known = {name: found for name, form in read.items() if name in values and (found := form(values[name])) is not None}
    return known, {name: value for name, value in values.items() if name not in known}
