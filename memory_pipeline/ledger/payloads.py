"""Payload models by event type, with the limits and meaning of their fields, and canonical JSON."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from memory_pipeline.ledger.validation_errors import TOO_DEEP
from memory_pipeline.schemas import EventType
from memory_pipeline.text.classification import CATEGORIES, MEMORY_TYPES

WRITTEN: Final = "%Y-%m-%dT%H:%M:%S%.6fZ"
"""Format of an instant in JSON."""

MAX_LEVELS: Final = 100
"""Objects and lists that metadata may hold within each other: what reads them, level by level, has room for more."""

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """Serialise a value as JSON with sorted keys, no spaces and no needless escapes: equal values give equal text.

    Raises ValueError: the value holds NaN, an infinity, an unpaired surrogate or a type that JSON lacks.
    """
    try:
        text = _CANONICAL.encode(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"cannot be written as JSON ({error})") from error
    return text


def _instant(value: object) -> object:
    """Parse an instant; anything else is passed on to pydantic's strict check, which refuses it."""
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(instant, datetime):
            return value
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return value


def _moment(value: object) -> object:
    """Parse an instant as `_instant` does, but leave one without an offset to whoever knows the reader's time zone."""
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return instant if isinstance(instant, datetime) and instant.tzinfo is None else _instant(instant)


def written(instant: datetime) -> str:
    """Format a UTC instant for JSON, with microseconds."""
    return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _metadata(value: object) -> object:
    """Turn metadata into canonical JSON text: a string column in every table."""
    read = read_json(value) if isinstance(value, str) else value
    if not isinstance(read, Mapping):
        raise ValueError("metadata must be a JSON object")  # noqa: TRY004 - one class of error
    if deeper(read, MAX_LEVELS):
        raise PydanticCustomError(TOO_DEEP, f"is nested more than {MAX_LEVELS} levels deep; give it fewer")
    return canonical_json(dict(read))


def deeper(document: object, most: int) -> bool:
    """Return whether a document has more than `most` levels of objects and lists."""
    level: list[object] = [document]
    for _ in range(most + 1):
        level = [inner for part in level for inner in _within(part)]
    return bool(level)


def rewritten(value: Any, rewrite: Callable[[str], str]) -> Any:
    """Return a JSON value with every text rewritten, field names included."""
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, Mapping):
        return {rewritten(name, rewrite): rewritten(inner, rewrite) for name, inner in value.items()}
    return [rewritten(inner, rewrite) for inner in value] if isinstance(value, list | tuple) else value


def _within(value: object) -> Collection[object]:
    """Return the values that an object or a list holds itself."""
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def read_json(text: str) -> Any:
    """Parse JSON, refusing the NaN and Infinity that Python's parser accepts.

    Raises ValueError: it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


Identifier = Annotated[str, Field(strict=True, max_length=256, pattern=r"^\P{Cc}*[^\p{Cc}\s]\P{Cc}*$")]
Text = Annotated[str, Field(strict=True, pattern=r"\S")]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Switch = Annotated[bool, Field(strict=True)]
Instant = Annotated[datetime, Field(strict=True), BeforeValidator(_instant, json_schema_input_type=datetime)]
Moment = Annotated[datetime, Field(strict=True), BeforeValidator(_moment, json_schema_input_type=datetime)]
"""An instant that somebody asks about or states; without an offset it is one of the setting `timezone`."""
Rank = Annotated[int, Field(strict=True, ge=1, le=10**9)]
Answer = Literal["update", "partial", "repeat", "conflict", "none", "open"]
Metadata = Annotated[str, BeforeValidator(_metadata, json_schema_input_type=dict[str, Any])]


class Payload(BaseModel):
    """Payload of one type of event; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    example: ClassVar[dict[str, Any]] = {}
    """A valid payload, for the reference page."""


class Noted(Payload):
    """A payload with free metadata."""

    metadata: Metadata | None = Field(
        None, description=f"Anything else worth keeping: a JSON object, at most {MAX_LEVELS} levels deep."
    )


class _Validity(Payload):
    valid_from: Instant | None = Field(None, description="Since when the fact holds.")
    valid_until: Instant | None = Field(None, description="Until when the fact holds (exclusive).")
    protected: Switch | None = Field(None, description="true prevents archiving and deletion.")
    protected_reason: Text | None = Field(None, description="Why it is protected.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.valid_from and self.valid_until and self.valid_until < self.valid_from:
            raise ValueError(
                f"valid_until is {written(self.valid_until)}, before valid_from; give an instant after "
                f"{written(self.valid_from)} or leave it out"
            )
        return self


class Stored(_Validity, Noted):
    """A memory is stored."""

    example: ClassVar[dict[str, Any]] = {"content": "Ana chose the green kitchen tiles.", "importance": 0.8}
    content: Text = Field(description="The text of the memory.")
    speaker: Identifier | None = Field(None, description="Who said it.")
    memory_type: Identifier | None = Field(
        None, description=f"{', '.join(MEMORY_TYPES)}, in any case; others are inferred."
    )
    category: Identifier | None = Field(None, description=f"{', '.join(CATEGORIES)}, in any case; others are inferred.")
    importance: Share | None = Field(None, description="How important it is; computed from the text if left out.")
    importance_hint: Share | None = Field(None, description="Averaged with the importance computed from the text.")
    confidence: Share | None = Field(None, description="How sure the agent is; 0.5 if left out.")
    tags: tuple[Identifier, ...] | None = Field(None, description="Labels to filter by.")
    source: Text | None = Field(None, description="Where the memory came from.")


class Accessed(Noted):
    """Memories are recalled."""

    example: ClassVar[dict[str, Any]] = {
        "memory_ids": ["m1", "m2"],
        "query": "which tiles?",
        "ranks": [1, 2],
        "scores": [0.71, 0.4],
        "unsure": False,
    }
    memory_ids: tuple[Identifier, ...] = Field(min_length=1, description="The memories recalled, each once.")
    query: Text | None = Field(None, description="Query that led to them.")
    ranks: tuple[Rank, ...] | None = Field(None, description="Rank of each in the answer, from 1, in the same order.")
    scores: tuple[float, ...] | None = Field(None, description="Score of each by its ranking, in the same order.")
    unsure: Switch | None = Field(None, description="Whether perhaps none of them answers the query.")
    counts: tuple[Rank, ...] | None = Field(
        None,
        description="How often each was recalled up to then, in the same order, for accesses whose instants are not "
        "known; once each if left out.",
    )
    expanded: tuple[Identifier, ...] | None = Field(
        None, description="Those of them that were reached only through an association."
    )

    @model_validator(mode="after")
    def _aligned(self) -> Self:
        if len(set(self.memory_ids)) < len(self.memory_ids):
            raise ValueError("payload.memory_ids names a memory twice; name each memory once")
        for name, each in (("ranks", self.ranks), ("scores", self.scores), ("counts", self.counts)):
            if each is not None and len(each) != len(self.memory_ids):
                raise ValueError(
                    f"payload.{name} has {len(each)} entries for {len(self.memory_ids)} memory_ids; "
                    "give one per memory or leave it out"
                )
        if strangers := sorted(set(self.expanded or ()) - set(self.memory_ids)):
            raise ValueError(
                f"payload.expanded names {strangers[0]!r}, which is not in payload.memory_ids; name memories recalled"
            )
        return self


class Updated(_Validity):
    """A memory is changed; fields left out keep their values."""

    example: ClassVar[dict[str, Any]] = {"valid_until": "2026-03-01T00:00:00Z"}
    content: Text | None = Field(None, description="The new text.")
    importance: Share | None = Field(None, description="The new importance.")
    tags: tuple[Identifier, ...] | None = Field(
        None, description="The new tags, all of them; an empty list clears them."
    )
    metadata: Metadata | None = Field(None, description="The new metadata, replacing the old object as a whole.")

    @model_validator(mode="after")
    def _changes(self) -> Self:
        if all(getattr(self, name) is None for name in type(self).model_fields):
            raise ValueError(f"payload changes nothing; give at least one of {', '.join(type(self).model_fields)}")
        return self


class Linked(Noted):
    """A link from the memory to another one is asserted."""

    example: ClassVar[dict[str, Any]] = {"target_id": "m2", "edge_type": "RELATES_TO", "weight": 0.9}
    target_id: Identifier = Field(description="The memory the link points at.")
    edge_type: Identifier = Field(description="The type of the link, such as RELATES_TO or CONTRADICTS.")
    kind: Identifier | None = Field(None, description="Finer kind, such as conflict.")
    weight: Share | None = Field(None, description="How strong the link is.")


class Resolved(Noted):
    """Somebody says how a memory relates to an older one; the last answer of the highest authority counts."""

    example: ClassVar[dict[str, Any]] = {"target_id": "m0", "relation": "update", "answered_by": "owner"}
    target_id: Identifier = Field(description="The older memory, or the other one if neither replaces the other.")
    relation: Answer = Field(
        description="update: the memory replaces the older one; partial: it replaces `statement` only; repeat: both "
        "say the same; conflict: they cannot both be true; none: neither replaces nor repeats the other; open: "
        "withdraws the answer."
    )
    statement: Text | None = Field(
        None, description="With partial: the sentences of the older memory that no longer hold, one per line."
    )
    answered_by: Literal["owner", "agent", "model"] = Field(
        "agent", description="Who says so. The owner outranks an agent, an agent outranks a language model."
    )

    @model_validator(mode="after")
    def _names_what_ends(self) -> Self:
        if (self.relation == "partial") != (self.statement is not None):
            raise ValueError(
                "payload.statement goes with relation = partial, and partial with a statement; give the sentences that "
                "no longer hold, or relation = update for all of it"
            )
        return self


class Session(Noted):
    """A session starts or ends."""


class Feedback(Noted):
    """A memory is rated as helpful or not."""

    example: ClassVar[dict[str, Any]] = {"helpful": True}
    helpful: Switch = Field(description="true counts as an access, false lowers the confidence.")


class Erased(Payload):
    """A memory is erased for good; written by the pipeline alone."""

    example: ClassVar[dict[str, Any]] = {"reason": "asked for by Ana", "digests": {"memory.stored 4": "9f86d0…"}}
    reason: Text = Field(description="Why.")
    digests: dict[str, str] = Field(
        description="Salted SHA-256 of each redacted payload, by type and ledger position. The receipt has the salt."
    )


ERASED: Final = "erased"
"""Field of a redacted payload, or of a redacted document of a decision: the salted SHA-256 of the original."""

WORDLESS: Final = {
    EventType.ACCESSED.value: ("memory_ids", "ranks", "scores", "unsure", "counts", "expanded"),
    EventType.LINKED.value: ("target_id", "edge_type", "kind", "weight"),
    EventType.FEEDBACK.value: ("helpful",),
}
"""Fields without text, by type: what an event about other memories keeps."""

SALT_BYTES: Final = 16
"""Length of the salt of digests, in bytes."""


def digest(text: str, *, salt: bytes) -> str:
    """Return the salted SHA-256 of a redacted text, 64 hex digits."""
    return hashlib.sha256(salt + text.encode()).hexdigest()


def redacted(payload: str, *, salt: bytes, at: datetime, keep: Collection[str] = ()) -> str:
    """Return a payload, as canonical JSON, with its fields but `keep` replaced by a digest; it is erased at `at`."""
    remaining = {name: value for name, value in json.loads(payload).items() if name in keep} if keep else {}
    return canonical_json(remaining | {ERASED: digest(payload, salt=salt), "erased_at": written(at)})


PAYLOADS: Final[dict[EventType, type[Payload]]] = {
    EventType.STORED: Stored,
    EventType.ACCESSED: Accessed,
    EventType.UPDATED: Updated,
    EventType.LINKED: Linked,
    EventType.RESOLVED: Resolved,
    EventType.SESSION_STARTED: Session,
    EventType.SESSION_ENDED: Session,
    EventType.FEEDBACK: Feedback,
}
"""Payloads that agents may write; of the pipeline's events, memory.erased has `Erased` and run.* carry free JSON."""
