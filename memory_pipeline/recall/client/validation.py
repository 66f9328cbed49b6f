"""What is checked at the client's door, before anything is read or written.

What is not here: the fields and limits of events themselves (`ledger/event`), and of filters (`answers`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypedDict

from memory_pipeline.ledger.event import Event, parse
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.ledger.validation_errors import WHOLE_LETTERS, nearest, shown
from memory_pipeline.recall.models import instant
from memory_pipeline.recall.rank.ranking import RANKINGS
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import Settings


class Fields(TypedDict, total=False):
    """What can be said about a memory beside its text (see `docs/event-format.md`, at memory.stored)."""

    memory_id: str
    event_id: str
    occurred_at: datetime | str
    session_id: str
    agent_id: str
    user_id: str
    instance_id: str
    parent_event_id: str
    speaker: str
    memory_type: str
    category: str
    importance: float
    importance_hint: float
    confidence: float
    valid_from: datetime | str
    valid_until: datetime | str
    protected: bool
    protected_reason: str
    tags: Iterable[str]
    metadata: Mapping[str, Any]
    source: str


_FIELDS: Final = ("text", *Fields.__annotations__)
_BESIDE: Final = frozenset(_FIELDS) & frozenset(Event.model_fields)
"""Fields that stand beside the payload of an event, not in it."""


def stored(row: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return what the event says that stores a memory.

    Args:
        row: its text, or a mapping with `text` and the names of `Fields`; what is None is left out.

    Raises:
        ValueError: it is neither, or names an unknown field.
    """
    given = {"text": row} if isinstance(row, str) else row
    if not isinstance(given, Mapping):
        raise ValueError(f"it is {shown(row)}; give a text, or a mapping with text")  # noqa: TRY004 - one class of error
    if unknown := [name for name in given if name not in _FIELDS]:
        raise ValueError(f"{shown(unknown[0])} is no field of a memory; {nearest(unknown[0], _FIELDS)}")
    text = given.get("text")
    spoken("text", text)
    kept = {name: value for name, value in given.items() if value is not None}
    payload = {
        name: as_list(value) if name == "tags" else value
        for name, value in kept.items()
        if name not in {*_BESIDE, "text"}
    }
    beside = {name: value for name, value in kept.items() if name in _BESIDE}
    return {"event_type": EventType.STORED.value, **beside, "payload": {**payload, "content": text}}


def said(given: Mapping[str, Any], at: datetime) -> Event:
    """Return the event that says something at an instant.

    Raises:
        ValueError: a value is out of range; names it.
    """
    return parse(given, recorded_at=at, origin="memory client")


def several(rows: Any) -> list[Any]:
    """Return rows of any kind of collection as a list.

    Raises:
        ValueError: they are one text or one mapping, or nothing that can be gone through.
    """
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ValueError(f"rows is {shown(rows)}; give a list of texts, or of mappings with text")  # noqa: TRY004
    return [*rows]


@contextmanager
def by_row() -> Iterator[None]:
    """Name the row that the ledger cannot take.

    Raises:
        ValueError: there is one; names row and field.
    """
    try:
        yield
    except KnownMemory as error:
        raise ValueError(f"rows[{min(error.refused)}]: {error}") from error


def check_opening(home: Any, settings: Any) -> None:
    """Check the data folder and the settings with which a client is opened.

    Raises:
        ValueError: the folder is not a path, or the settings are not `Settings`.
    """
    if not isinstance(home, str | Path | None):
        raise ValueError(f"home is {shown(home)}; give the path of a data folder, or leave it out")  # noqa: TRY004 - one class of error
    if not isinstance(settings, Settings | None):
        raise ValueError(f"settings is {shown(settings)}; give Settings, or leave it out")  # noqa: TRY004 - one class of error


def check_recall(query: Any, *, k: Any, token_budget: Any, min_score: Any, ranking: Any) -> None:
    """Check the arguments of a recall.

    Raises:
        ValueError: an argument is out of range; names it.
    """
    spoken("query", query)
    whole("k", k)
    if token_budget is not None:
        whole("token_budget", token_budget)
    if min_score is not None and (
        not isinstance(min_score, int | float) or isinstance(min_score, bool) or not 0 <= min_score <= 1
    ):
        raise ValueError(f"min_score is {shown(min_score)}; give a number from 0 to 1, or leave it out")
    if ranking not in RANKINGS:
        raise ValueError(f"ranking is {shown(ranking)}; {nearest(ranking, RANKINGS)}")


def past(as_of: Any, now: datetime) -> datetime | None:
    """Return the instant whose state is asked for, in UTC; None stays None.

    Raises:
        ValueError: it is no instant, or lies in the future.
    """
    read = instant("as_of", as_of)
    if read is not None and read > now:
        raise ValueError(f"as_of is {read.isoformat()}, which lies in the future; give an instant up to now")
    return read


def told(clock: Callable[[], Any]) -> datetime:
    """Return what a clock tells, in UTC.

    Raises:
        ValueError: it is no clock, or tells no instant with a time zone.
    """
    wanted = "give a function that returns a datetime with a time zone"
    if not callable(clock):
        raise ValueError(f"clock is {shown(clock)}; {wanted}")  # noqa: TRY004 - one class of error
    if not isinstance(at := clock(), datetime) or at.tzinfo is None:
        raise ValueError(f"clock tells {shown(at)}; {wanted}")
    return at.astimezone(UTC)


def switch(name: str, value: Any) -> None:
    """Check that an argument is True or False.

    Raises:
        ValueError: it is neither.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {shown(value)}; give True or False")  # noqa: TRY004 - one class of error


def named(name: str, value: Any) -> None:
    """Check that an argument is an id.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {shown(value)}; give an id")


def whole(name: str, value: Any) -> None:
    """Check that an argument is a whole number from 1.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {shown(value)}; give a whole number from 1")


def spoken(name: str, value: Any) -> None:
    """Check that an argument is a text.

    Raises:
        ValueError: it is none, is blank, or holds half of a surrogate pair.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {shown(value)}; give a text that is not blank")
    if value.encode(errors="replace").decode() != value:
        raise ValueError(f"{name} is {shown(value)}; give {WHOLE_LETTERS}")


def as_list(value: Any) -> Any:
    """Return a collection as a list, and anything else, text and mappings included, as it is."""
    return [*value] if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else value
