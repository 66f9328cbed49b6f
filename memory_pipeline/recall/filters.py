"""Conditions on the memories of a recall or a list, and instants as callers give them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from memory_pipeline.ledger.payloads import canonical_json, read_json
from memory_pipeline.ledger.validation_errors import nearest, shown


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Conditions on the memories of a recall or a list; all must hold, and None admits everything.

    Instants may be ISO 8601 text; without an offset they are of the setting `timezone` of the client that is asked. A
    single memory type or tag may be a plain string. Raises ValueError for a value of the wrong kind, which it names.
    """

    session_id: str | None = None
    """Stored in this session."""
    agent_id: str | None = None
    """Stored by this agent."""
    user_id: str | None = None
    """Stored for this person."""
    memory_types: tuple[str, ...] | None = None
    """Of one of these types; case is ignored."""
    tags: tuple[str, ...] | None = None
    """With at least one of these tags."""
    since: datetime | None = None
    """Said at this instant or later; what was stored without saying when was said when it was stored."""
    until: datetime | None = None
    """Said before this instant."""
    speaker: str | None = None
    """Said by this speaker; case is ignored."""
    metadata: Mapping[str, Any] | str | None = None
    """With these values in the metadata, each equal to the stored one or in the stored list; of a list, any of it.

    A mapping or JSON text; kept as JSON text.
    """

    def __post_init__(self) -> None:
        for name in ("session_id", "agent_id", "user_id", "speaker"):
            if (value := getattr(self, name)) is not None and not _is_word(value):
                raise ValueError(f"filters.{name} is {shown(value)}; give a text that is not blank, or leave it out")
        for name in ("memory_types", "tags"):
            object.__setattr__(self, name, _words(name, getattr(self, name)))
        object.__setattr__(self, "metadata", _object(self.metadata))
        for name in ("since", "until"):
            object.__setattr__(self, name, instant(f"filters.{name}", getattr(self, name), None))
        since, until = self.since, self.until
        comparable = since and until and (since.tzinfo is None) == (until.tzinfo is None)
        if since and until and comparable and until <= since:
            raise ValueError(
                f"filters.until is {until.isoformat()}, which is not after filters.since; give a later instant"
            )

    def in_zone(self, zone: tzinfo) -> "Filters":
        """Return the filters with instants in UTC, those without an offset read in a time zone."""
        if self.since is None and self.until is None:
            return self
        since, until = instant("filters.since", self.since, zone), instant("filters.until", self.until, zone)
        return replace(self, since=since, until=until)

    @staticmethod
    def of(filters: "Filters | Mapping[str, Any] | None") -> "Filters":
        """Return filters, converted from a mapping if need be; raises ValueError for an unknown name."""
        if isinstance(filters, Filters):
            return filters
        if not isinstance(filters, Mapping | None):
            raise ValueError(f"filters is {shown(filters)}; give Filters or a mapping")  # noqa: TRY004 - one class of error
        names = [field.name for field in fields(Filters)]
        if unknown := [name for name in filters or {} if name not in names]:
            raise ValueError(f"filters.{unknown[0]} is not a filter; {nearest(unknown[0], names)}")
        return Filters(**(filters or {}))


def instant(name: str, value: Any, zone: tzinfo | None = UTC) -> datetime | None:
    """Return an instant in UTC, parsed if it is ISO 8601 text, such as a day; None stays None.

    One without an offset is of the zone; without a zone it stays without. Raises ValueError: the value is neither an
    instant nor text of one; names it.
    """
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
        if parsed is None:
            return None
        if isinstance(parsed, datetime):
            known = parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
            return known.astimezone(UTC) if known.tzinfo else known
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is {shown(value)}; give an instant such as 2026-01-31T12:00:00Z")


def _object(value: Any) -> str | None:
    """Return an object of JSON values as canonical text; an empty object or list would admit nothing."""
    if value is None:
        return None
    try:
        read = read_json(value) if isinstance(value, str) else value
        if isinstance(read, Mapping) and read and [] not in read.values():
            return canonical_json(dict(read))
    except ValueError:
        pass
    raise ValueError(f'filters.metadata is {shown(value)}; give an object such as {{"project": "shop"}}')


def _words(name: str, value: Any) -> tuple[str, ...] | None:
    """Return one string or several as a tuple; an empty collection would admit nothing and is refused."""
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else value
    if words is None or (isinstance(words, tuple) and words and all(map(_is_word, words))):
        return words
    raise ValueError(f"filters.{name} is {shown(value)}; give a list of texts that are not blank, or leave it out")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
