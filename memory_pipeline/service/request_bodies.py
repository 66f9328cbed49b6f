"""Request bodies shared by HTTP and MCP: a memory to store, and filters.

Not here: bodies that only HTTP takes (`http_memories`), and what is done with them (`recall/client`).
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memory_pipeline.ledger.payloads import Moment
from memory_pipeline.recall.reviews import Remembered

Id = Annotated[str, Field(min_length=1)]


class RequestBody(BaseModel):
    """A request body; refuses unknown fields and values of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class NewMemory(RequestBody):
    """A memory to store. Fields that are left out are read from the text or set by rule."""

    text: Id = Field(description="The text to remember.")
    memory_id: Id | None = Field(None, description="Its id; default: a new one.")
    event_id: Id | None = Field(None, description="Idempotency key: repeating it stores nothing.")
    occurred_at: Moment | None = Field(None, description="When it was said; default: a past day at its head, else now.")
    session_id: Id | None = Field(None, description="Session it was said in.")
    agent_id: Id | None = Field(None, description="Agent that stores it.")
    user_id: Id | None = Field(None, description="Person it belongs to.")
    speaker: Id | None = Field(None, description="Who said it.")
    memory_type: Id | None = Field(None, description="Decision, Insight, Pattern, Preference, ...")
    importance: float | None = Field(None, ge=0, le=1, description="Importance, 0..1.")
    confidence: float | None = Field(None, ge=0, le=1, description="Confidence, 0..1.")
    valid_from: Moment | None = Field(None, description="True from this instant on.")
    valid_until: Moment | None = Field(None, description="True until this instant.")
    expires_in: Id | None = Field(None, description='Hide it after a time such as "36 hours" or "30 days".')
    protected: bool | None = Field(None, description="Never archive, trim or delete it.")
    protected_reason: str | None = Field(None, description="Why it is protected.")
    tags: list[str] | None = Field(None, description="Tags to filter by.")
    metadata: dict[str, Any] | None = Field(None, description="Any other fields, stored unchanged.")
    source: str | None = Field(None, description="Where it comes from.")
    project: Id | None = Field(None, description="Project in which alone holds what it instructs.")
    supersedes: Id | None = Field(None, description="Memory that it replaces: that one no longer holds.")


AnsweredBy = Literal["owner", "agent", "model"]


class Conditions(RequestBody):
    """Filters; a memory must meet all of them."""

    session_id: str | None = Field(None, description="Stored in this session.")
    agent_id: str | None = Field(None, description="Stored by this agent.")
    user_id: str | None = Field(None, description="Belongs to this person.")
    speaker: str | None = Field(None, description="Said by this speaker.")
    memory_types: list[str] | None = Field(None, min_length=1, description="Any of these types.")
    tags: list[str] | None = Field(None, min_length=1, description="Any of these tags.")
    since: Moment | None = Field(None, description="Said at or after this instant.")
    until: Moment | None = Field(None, description="Said before this instant.")
    metadata: dict[str, Any] | None = Field(None, description="With these values in the metadata; of a list, any.")


def ids_of(stored: Sequence[Remembered]) -> dict[str, Any]:
    """Return the ids of stored memories and, by position, what a text quotes, and why it was left out, where it was."""
    quoted = {str(index): [*one.quoted] for index, one in enumerate(stored) if one.quoted}
    left_out = {str(index): one.left_out for index, one in enumerate(stored) if one.left_out}
    more = {"quoted": quoted, "left_out": left_out}
    return {"memory_ids": [one.memory_id for one in stored]} | {name: found for name, found in more.items() if found}


def present_fields(body: BaseModel, *, exclude: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields that are set, by name."""
    return {
        name: value
        for name in type(body).model_fields
        if (value := getattr(body, name)) is not None and name not in exclude
    }
