"""The event: its model, its validation (`parse`) and its typed table (`frame`).

Not here: payloads (`ledger/payloads.py`), and folding events (`consolidation/state/projection.py`).
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from operator import attrgetter
from typing import Any, Final, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from uuid6 import uuid7

from memory_pipeline.ledger.payloads import (
    PAYLOADS,
    WRITTEN,
    Accessed,
    Erased,
    Feedback,
    Identifier,
    Instant,
    Linked,
    Payload,
    Resolved,
    Session,
    Stored,
    Updated,
    canonical_json,
    read_json,
    rewritten,
    written,
)
from memory_pipeline.ledger.validation_errors import nearest, reason, shown
from memory_pipeline.schemas import INSTANT, TABLES, Events, EventType
from memory_pipeline.settings import Settings
from memory_pipeline.text import credentials

DEFAULT_PROFILE: Final = "default"
"""Profile of an event that names none."""

CLOCK_SKEW: Final = timedelta(minutes=5)
"""How far ahead of the ledger's clock a live event may lie."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Origin of the ledger's microseconds."""

_MICROSECOND: Final = timedelta(microseconds=1)
_QUOTED: Final = re.compile(r'"([^"\\]{1,256})"')
"""A quoted text that may be an id."""


class InvalidEvent(ValueError):
    """An event is refused; `reason` says field, value and remedy in one sentence."""

    def __init__(self, reason: str, origin: str) -> None:
        super().__init__(reason, origin)
        self.reason = reason

    def __str__(self) -> str:
        return "{1}: {0}".format(*self.args)


@dataclass(frozen=True)
class DeadLetter:
    """A refused event, exactly as received."""

    origin: str
    """Where it came from: a file and line, an API call."""
    reason: str
    """What is wrong with it and how to fix it."""
    raw: bytes
    """The bytes as received."""
    received_at: datetime
    """When it was refused, UTC."""
    noise: bool = False
    """Whether it is a valid event of a text that is no memory, rather than a refused one."""

    def without_credentials(self) -> Self:
        """Return the letter with its credentials redacted."""
        raw = credentials.redacted(self.raw.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        return replace(self, raw=raw, reason=credentials.redacted(self.reason))

    def without_text(self) -> Self:
        """Return the letter without what was received, whose memory was erased."""
        reason = "it is about a memory that was erased, and was refused; nothing of it is kept"
        return replace(self, raw=b"", reason=reason, noise=False)

    def memories(self) -> set[str]:
        """Return the ids by which what was received may name a memory or its event; of no object, all it quotes."""
        try:
            read = read_json(self.raw.decode())
        except ValueError:
            read = None
        if not isinstance(read, Mapping):
            return set(_QUOTED.findall(self.raw.decode(errors="replace")))
        payload = read.get("payload")
        named = [read.get("memory_id"), read.get("event_id"), read.get("id")]
        if isinstance(payload, Mapping):
            recalled = payload.get("memory_ids")
            named += [payload.get("memory_id"), payload.get("target_id")]
            named += recalled if isinstance(recalled, list) else []
        return {name for name in named if isinstance(name, str)}

    @property
    def letter_id(self) -> str:
        """Return the SHA-256 of origin and bytes, 64 hex digits, so that the same letter is stored once."""
        return hashlib.sha256(self.origin.encode() + b"\0" + self.raw).hexdigest()


def micros(at: datetime) -> int:
    """Convert a timezone-aware instant to microseconds since 1970-01-01 UTC, the ledger's form."""
    return (at - EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """Convert microseconds since 1970-01-01 UTC to an instant."""
    return EPOCH + microseconds * _MICROSECOND


PIPELINE: Final = (EventType.RUN_COMMITTED.value, EventType.RUN_REVERTED.value, EventType.ERASED.value)
"""Types of events that only the pipeline writes; they do not count as activity."""

ABOUT_A_MEMORY: Final = {
    EventType.STORED,
    EventType.UPDATED,
    EventType.ERASED,
    EventType.LINKED,
    EventType.RESOLVED,
    EventType.FEEDBACK,
}
SESSIONS: Final = {EventType.SESSION_STARTED, EventType.SESSION_ENDED}

_OPTIONAL: Final = ("session_id", "agent_id", "user_id", "instance_id", "parent_event_id", "memory_id")
_IDS: Final = attrgetter(*_OPTIONAL)
COLUMNS: Final = ("event_id", "profile_id", "event_type", "occurred_at", "recorded_at", *_OPTIONAL, "payload")
"""Columns of an event's row in the ledger, in order, after `seq`."""


class Event(BaseModel):
    """One valid event."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    event_id: Identifier = Field(
        description="Idempotency key: an event counts once in its profile, however often it is delivered."
    )
    profile_id: Identifier = Field(DEFAULT_PROFILE, description="Tenant that owns the event.")
    event_type: EventType = Field(description="What happened.")
    occurred_at: Instant = Field(description="When it happened; if left out, when it was recorded.")
    recorded_at: Instant = Field(description="When the ledger recorded it; a value from outside is replaced.")
    session_id: Identifier | None = Field(None, description="Session in which it happened.")
    agent_id: Identifier | None = Field(None, description="Agent that writes it.")
    user_id: Identifier | None = Field(None, description="Person the agent serves.")
    instance_id: Identifier | None = Field(None, description="Process that writes it.")
    parent_event_id: Identifier | None = Field(None, description="Event that caused this one.")
    memory_id: Identifier | None = Field(None, description="Memory concerned, unique within its profile.")
    payload: Stored | Accessed | Updated | Linked | Resolved | Session | Feedback | Erased | dict[str, Any] = Field(
        description="Payload of the type of event, as below."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        model = Erased if self.event_type == EventType.ERASED else PAYLOADS.get(self.event_type, dict)
        if type(self.payload) is not model:
            raise ValueError(f"payload is not a {model.__name__}; give the payload of {self.event_type.value}")
        if self.event_type in ABOUT_A_MEMORY and self.memory_id is None:
            raise ValueError(f"memory_id is missing; name the memory that {self.event_type.value} is about")
        if self.event_type in SESSIONS and self.session_id is None:
            raise ValueError(f"session_id is missing; name the session that {self.event_type.value} is about")
        if self.event_type not in ABOUT_A_MEMORY and self.memory_id is not None:
            remedy = (
                "name the memories in payload.memory_ids" if self.event_type == EventType.ACCESSED else "leave it out"
            )
            raise ValueError(f"memory_id has no meaning in {self.event_type.value}; {remedy}")
        if isinstance(self.payload, Linked | Resolved) and self.payload.target_id == self.memory_id:
            raise ValueError("payload.target_id is the memory itself; name two different memories")
        return self

    def payload_json(self) -> str:
        """Return the payload as canonical JSON without null fields; instants in UTC with microseconds."""
        if isinstance(self.payload, dict):
            return canonical_json(self.payload)
        fields = ((name, getattr(self.payload, name)) for name in type(self.payload).model_fields)
        return canonical_json(
            {name: written(v) if isinstance(v, datetime) else v for name, v in fields if v is not None}
        )

    def row(self) -> tuple[str | int | None, ...]:
        """Return the ledger's row, in the order of COLUMNS: instants in microseconds since 1970, payload as JSON."""
        instants = micros(self.occurred_at), micros(self.recorded_at)
        return (self.event_id, self.profile_id, self.event_type.value, *instants, *_IDS(self), self.payload_json())


def check_sizes(event: Event, settings: Settings) -> None:
    """Raise ValueError, with a remedy, for a text or tags above the settings `max_text_characters` and `max_tags`."""
    values = event.payload if isinstance(event.payload, dict) else vars(event.payload)
    most = settings.max_text_characters
    for name, text in values.items():
        if isinstance(text, str) and len(text) > most:
            raise ValueError(
                f"payload.{name} has {len(text):,} characters, more than max_text_characters = {most}; split it into "
                "several memories, or raise the setting"
            )
    if (count := len(values.get("tags") or ())) > (most := settings.max_tags):
        raise ValueError(
            f"payload.tags has {count:,} tags, more than max_tags = {most}; give fewer, or raise the setting"
        )


def parse(
    raw: bytes | str | Mapping[str, Any],
    *,
    recorded_at: datetime,
    origin: str,
    future: timedelta | None = CLOCK_SKEW,
    event_id: str | None = None,
    settings: Settings | None = None,
) -> Event:
    """Parse and validate an event, or refuse it with one clear reason.

    An instant without offset is UTC. A null field counts as left out. A stored memory without `memory_id` takes the id
    of its event. The memory may be named in the payload instead of beside it.

    Args:
        raw: a JSON object, as bytes, text or parsed.
        recorded_at: the ledger's clock; the default of `occurred_at`.
        origin: where it came from, for the error message.
        future: how far `occurred_at` may lie after `recorded_at`; None (importers) moves a later one back to it.
        event_id: id of an event without one; default a new uuid7.
        settings: limit texts and tags, and say whether credentials are redacted; default: no limits, and they are.

    Raises InvalidEvent: it is invalid; `reason` names field, value and remedy.
    """
    try:
        fields = {name: value for name, value in _object(raw).items() if value is not None}
        event_type = _event_type(fields.get("event_type"))
        if settings is None or settings.redact_credentials:
            fields = _without_credentials(fields)
        payload = _payload(PAYLOADS[event_type], event_type, fields)
        defaults: dict[str, Any] = {"occurred_at": recorded_at}
        if "event_id" not in fields:
            defaults["event_id"] = event_id or str(uuid7())
        if event_type == EventType.STORED:
            defaults["memory_id"] = fields.get("event_id", defaults.get("event_id"))
        event = Event.model_validate(
            defaults | fields | {"event_type": event_type, "recorded_at": recorded_at, "payload": payload}
        )
        if settings is not None:
            check_sizes(event, settings)
        return _in_time(event, future)
    except ValidationError as error:
        raise InvalidEvent(reason(error, Event), origin) from error
    except ValueError as error:
        raise InvalidEvent(str(error), origin) from error


def _without_credentials(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event with redacted texts; refuse ids that are credentials."""
    for name in sorted(fields.keys() & Event.model_fields.keys() - {"payload"}):
        if isinstance(value := fields[name], str):
            credentials.refuse(name, value)
    if "payload" not in fields:
        return fields
    return fields | {"payload": rewritten(fields["payload"], credentials.redacted)}


def _object(raw: bytes | str | Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        text = raw.decode() if isinstance(raw, bytes) else raw
        read = read_json(text) if isinstance(text, str) else text
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8; write the event as UTF-8") from error
    except ValueError as error:
        raise ValueError(f"the event is not JSON ({error}); write one JSON object") from error
    if not isinstance(read, Mapping):
        raise ValueError(f"the event is {shown(read)}; write one JSON object")  # noqa: TRY004 - one class of error
    return read


def _event_type(value: Any) -> EventType:
    if value is None:
        raise ValueError(f"event_type is missing; give one of {', '.join(PAYLOADS)}")
    try:
        event_type = EventType(value)
    except ValueError:
        raise ValueError(f"event_type is {shown(value)}; {nearest(value, PAYLOADS)}") from None
    if event_type not in PAYLOADS:
        raise ValueError(
            f"event_type is {event_type.value!r}, which only the pipeline writes; choose one of {', '.join(PAYLOADS)}"
        )
    return event_type


def _payload(model: type[Payload], event_type: EventType, fields: dict[str, Any]) -> Payload:
    """Validate the payload; a memory named in it moves to `fields`."""
    document = fields.get("payload", {})
    if not isinstance(document, Mapping):
        raise ValueError(f"payload is {shown(document)}; give a JSON object")  # noqa: TRY004 - one class of error
    payload = {name: value for name, value in document.items() if value is not None}
    if event_type in ABOUT_A_MEMORY and "memory_id" in payload:
        if fields.setdefault("memory_id", payload["memory_id"]) != payload["memory_id"]:
            raise ValueError(
                f"payload.memory_id is {shown(payload['memory_id'])}, memory_id is "
                f"{shown(fields['memory_id'])}; name the memory once"
            )
        del payload["memory_id"]
    if misplaced := sorted(fields.keys() & model.model_fields.keys()):
        raise ValueError(f"{misplaced[0]} is beside the payload; move it to payload.{misplaced[0]}")
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        raise ValueError(reason(error, model, prefix="payload.")) from error


def _in_time(event: Event, future: timedelta | None) -> Event:
    late = event.occurred_at - event.recorded_at
    if late <= (future or timedelta(0)):
        return event
    if future is None:
        return event.model_copy(update={"occurred_at": event.recorded_at})
    raise ValueError(
        f"occurred_at is {written(event.occurred_at)}, {late} after the ledger's clock; correct the sender's clock"
    )


_PAYLOAD_TYPES: Final = {
    name: column.dtype
    for name, column in Events.columns().items()
    if any(name in model.model_fields for model in PAYLOADS.values())
} | {
    "valid_from": pl.String(),
    "valid_until": pl.String(),
    "kind": pl.String(),
    "memory_ids": pl.List(pl.String()),
    "ranks": pl.List(pl.Int64()),
    "scores": pl.List(pl.Float64()),
    "counts": pl.List(pl.Int64()),
    "expanded": pl.List(pl.String()),
    "erased_at": pl.String(),
}
"""JSON types of every field of a payload."""


def named(row: Sequence[Any]) -> dict[str, Any]:
    """Return a ledger row, `seq` and then COLUMNS, by column."""
    return dict(zip(("seq", *COLUMNS), row, strict=True))


def frame(rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """Convert ledger rows to the table `events`, one row per event and memory that it names. Cost: some 3 µs a row.

    Rows are `seq` and `Event.row()`. The pipeline's events have null payload columns, and so have redacted ones except
    for `erased_at` and the memories that an access named.
    """
    types = {"seq": pl.Int64, **dict.fromkeys(COLUMNS, pl.String), "occurred_at": pl.Int64, "recorded_at": pl.Int64}
    table = pl.DataFrame([tuple(row) for row in rows], schema=types, orient="row")
    if table.is_empty():
        return TABLES["events"].empty()
    pipeline = pl.col("event_type").is_in(PIPELINE)
    lines = table.select(pl.when(pipeline).then(pl.lit("{}")).otherwise("payload")).to_series().to_list()
    payloads = pl.read_ndjson(BytesIO("\n".join(lines).encode()), schema=_PAYLOAD_TYPES)
    events = (
        table.drop("payload")
        .hstack(payloads.rename({"kind": "edge_kind", "expanded": "expanded_ids"}))
        .with_columns(
            pl.col("occurred_at", "recorded_at").cast(INSTANT),
            pl.col("valid_from", "valid_until", "erased_at").str.to_datetime(WRITTEN, time_unit="us", time_zone="UTC"),
            ordinal=pl.lit(0, pl.Int64),
            rank=pl.lit(None, pl.Int64),
            score=pl.lit(None, pl.Float64),
            expanded=pl.lit(None, pl.Boolean),
            times=pl.lit(None, pl.Int64),
        )
    )
    named, place = pl.col("memory_ids"), pl.col("ordinal")
    lists = {"memory_id": "memory_ids", "rank": "ranks", "score": "scores", "times": "counts"}
    accesses = (
        events.filter(named.is_not_null())
        .with_columns(ordinal=pl.int_ranges(0, named.list.len()))
        .explode("ordinal")
        .with_columns(pl.col(each).list.get(place, null_on_oob=True).alias(name) for name, each in lists.items())
        .with_columns(expanded=pl.col("expanded_ids").list.contains(pl.col("memory_id")).fill_null(value=False))
    )
    return TABLES["events"].conform(pl.concat([events.filter(named.is_null()), accesses]))
