"""What callers say of memories, over HTTP and MCP alike: a memory to store, and which memories may be named.

What is not here: bodies of one face alone (`http_memories`), and what is done with them (`recall.client`).
"""

from collections.abc import Collection
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from memory_pipeline.ledger.payloads import Instant

MANY: Final = 1_000
"""Memories that one request may store."""

Id = Annotated[str, Field(min_length=1)]


class Told(BaseModel):
    """What a caller says; unknown names and other types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class NewMemory(Told):
    """A memory to store. What is left out is read out of the text or set by rule."""

    text: Id = Field(description="What to remember.")
    memory_id: Id | None = Field(None, description="Its id; default: a new one.")
    event_id: Id | None = Field(None, description="Idempotency key: the same one again stores nothing.")
    occurred_at: Instant | None = Field(None, description="When it was said; default: now.")
    session_id: Id | None = Field(None, description="Session it belongs to.")
    agent_id: Id | None = Field(None, description="Agent that stores it.")
    user_id: Id | None = Field(None, description="Person it belongs to.")
    speaker: Id | None = Field(None, description="Who said it.")
    memory_type: Id | None = Field(None, description="Decision, Insight, Pattern, Preference, ...")
    importance: float | None = Field(None, ge=0, le=1, description="How important.")
    confidence: float | None = Field(None, ge=0, le=1, description="How certain.")
    valid_from: Instant | None = Field(None, description="It holds from this instant on.")
    valid_until: Instant | None = Field(None, description="It holds until this instant.")
    protected: bool | None = Field(None, description="Never archive, trim or delete it.")
    protected_reason: str | None = Field(None, description="Why.")
    tags: list[str] | None = Field(None, description="Words to find it by.")
    metadata: dict[str, Any] | None = Field(None, description="Whatever else, kept as it is.")
    source: str | None = Field(None, description="Where it comes from.")


class Conditions(Told):
    """Which memories may be named; all conditions must hold."""

    session_id: str | None = Field(None, description="Stored in this session.")
    agent_id: str | None = Field(None, description="Stored by this agent.")
    user_id: str | None = Field(None, description="Belongs to this person.")
    speaker: str | None = Field(None, description="Said by this speaker.")
    memory_types: list[str] | None = Field(None, min_length=1, description="Of one of these types.")
    tags: list[str] | None = Field(None, min_length=1, description="With one of these tags at least.")
    since: Instant | None = Field(None, description="Stored at this instant or later.")
    until: Instant | None = Field(None, description="Stored before this instant.")


def given(said: BaseModel, *, but: Collection[str] = ()) -> dict[str, Any]:
    """Return what was said, by name; what was left out stays out."""
    return {
        name: value
        for name in type(said).model_fields
        if (value := getattr(said, name)) is not None and name not in but
    }
