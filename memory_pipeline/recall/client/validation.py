"""Checks the arguments of the client before anything is read or written; each check raises ValueError with the name.

Not here: the fields and limits of events (`ledger/event`) and of filters (`recall/filters`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypedDict

from pydantic import TypeAdapter, ValidationError

from memory_pipeline.consolidation import expiry
from memory_pipeline.ledger.event import Event, InvalidEvent, parse
from memory_pipeline.ledger.payloads import Identifier
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.ledger.validation_errors import WHOLE_LETTERS, nearest, shown
from memory_pipeline.recall.filters import Filters, instant
from memory_pipeline.recall.rank.ranking import RANKINGS
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import Policy, Settings
from memory_pipeline.text import credentials
from memory_pipeline.text.parse import written_days


class MemoryFields(TypedDict, total=False):
    """Optional fields of a new memory (see `docs/event-format.md`, at memory.stored).

    `project` is stored in the metadata: what the text instructs holds in that project alone. `expires_in` is how long
    the memory is kept, a timedelta or a text such as "30 days": it is stored as the end of its validity, from which on
    it is hidden.
    """

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
    project: str
    expires_in: timedelta | str


_ID: Final[TypeAdapter[str]] = TypeAdapter(Identifier)
_FIELDS: Final = ("text", "supersedes", *MemoryFields.__annotations__)
_INSTANTS: Final = ("occurred_at", "valid_from", "valid_until")
_EVENT_FIELDS: Final = frozenset(_FIELDS) & frozenset(Event.model_fields)
"""Fields of the event itself rather than of its payload."""


def stored_event(row: Mapping[str, Any] | str, now: datetime, zone: tzinfo) -> dict[str, Any]:
    """Return the fields of the event that stores a memory, said `now` unless the row or its text says when.

    A row is a text, or a mapping with `text` and the names of `MemoryFields`, in which None is ignored. A past day at
    the head of the text dates it. Raises ValueError: the row is neither, has an unknown field, or expires in no time
    that can be read.
    """
    fields = {"text": row} if isinstance(row, str) else row
    if not isinstance(fields, Mapping):
        raise ValueError(f"it is {shown(row)}; give a text, or a mapping with text")  # noqa: TRY004 - one class of error
    if unknown := [name for name in fields if name not in _FIELDS]:
        raise ValueError(f"{shown(unknown[0])} is not a field of a memory; {nearest(unknown[0], _FIELDS)}")
    text = fields.get("text")
    check_text("text", text)
    present = zoned({name: value for name, value in fields.items() if value is not None}, zone)
    if "occurred_at" not in present and (day := written_days.said_on(str(text), now=now, zone=zone)):
        present["occurred_at"] = day
    payload = {
        name: as_list(value) if name == "tags" else value
        for name, value in present.items()
        if name not in {*_EVENT_FIELDS, "text", "supersedes", "project", "expires_in"}
    }
    if (project := present.get("project")) is not None:
        check_id("project", project)
        given = payload.get("metadata", {})
        payload["metadata"] = {**given, "project": project} if isinstance(given, Mapping) else given
    if (expires_in := present.get("expires_in")) is not None:
        payload = expiry.limited(payload, expires_in, instant("occurred_at", present.get("occurred_at")) or now)
    event_fields = {name: value for name, value in present.items() if name in _EVENT_FIELDS}
    return {"event_type": EventType.STORED.value, **event_fields, "payload": {**payload, "content": text}}


def parse_event(fields: Mapping[str, Any], at: datetime, settings: Settings) -> Event:
    """Parse an event recorded at an instant, and check its texts and tags against the limits of the settings."""
    try:
        return parse(fields, recorded_at=at, origin="memory client", settings=settings)
    except InvalidEvent as error:  # of the caller's own arguments: where they come from says nothing
        raise ValueError(error.reason) from error


class InvalidRow(ValueError):
    """A row of several cannot be stored; the message names it, its field and the remedy."""

    def __init__(self, row: Any, position: int, reason: str) -> None:
        """Say which row it is, counted from 0, and why."""
        super().__init__(f"rows[{position}]: {reason}")
        self.row, self.reason = row, reason


class TooManyRows(ValueError):
    """There are more rows than one call may store."""

    def __init__(self, most: int) -> None:
        """Say how many it may."""
        super().__init__(f"rows has more than max_batch = {most} memories; store them in several calls")
        self.most = most


def as_rows(rows: Any, most: int) -> list[Any]:
    """Return an iterable of at most `most` rows as a list; refuse a single text or mapping."""
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise ValueError(f"rows is {shown(rows)}; give a list of texts, or of mappings with text")  # noqa: TRY004
    listed = [*islice(rows, most + 1)]
    if len(listed) > most:
        raise TooManyRows(most)
    return listed


def numbered(make: Callable[[Any], Event], row: Any, position: int) -> Event:
    """Make the event of a row; raises InvalidRow if it is invalid."""
    try:
        return make(row)
    except ValueError as error:
        raise InvalidRow(row, position, str(error)) from error


@contextmanager
def naming_rows(rows: Sequence[Any], places: Sequence[int] | None = None) -> Iterator[None]:
    """Raise InvalidRow if the ledger refuses an event; `places` says which row each is of, if not in order."""
    try:
        yield
    except KnownMemory as error:
        refused = [at if places is None else places[at] for at in error.refused]
        raise InvalidRow(rows[min(refused)], min(refused), str(error)) from error


def check_opening(home: Any, settings: Any) -> None:
    """Check the data folder and the settings with which a client is opened."""
    if not isinstance(home, str | Path | None):
        raise ValueError(f"home is {shown(home)}; give the path of a data folder, or leave it out")  # noqa: TRY004
    if not isinstance(settings, Settings | None):
        raise ValueError(f"settings is {shown(settings)}; give Settings, or leave it out")  # noqa: TRY004


def check_recall(query: Any, *, most: int, k: Any, token_budget: Any, min_score: Any, ranking: Any) -> None:
    """Check the arguments of a recall, and that the query has at most `most` characters."""
    check_text("query", query)
    if len(query) > most:
        raise ValueError(f"query has {len(query):,} characters, more than max_text_characters = {most}; shorten it")
    check_count("k", k)
    if token_budget is not None:
        check_count("token_budget", token_budget)
    if min_score is not None and (
        not isinstance(min_score, int | float) or isinstance(min_score, bool) or not 0 <= min_score <= 1
    ):
        raise ValueError(f"min_score is {shown(min_score)}; give a number from 0 to 1, or leave it out")
    if ranking not in RANKINGS:
        raise ValueError(f"ranking is {shown(ranking)}; {nearest(ranking, RANKINGS)}")


def conditions(filters: Filters | Mapping[str, Any] | None, most: int, zone: tzinfo) -> Filters:
    """Return the filters of a call, each with at most `most` values, its instants without an offset in a time zone."""
    wanted = Filters.of(filters).in_zone(zone)
    for name in ("tags", "memory_types"):
        if (count := len(getattr(wanted, name) or ())) > most:
            raise ValueError(f"filters.{name} has {count:,} entries, more than max_tags = {most}; give fewer")
    return wanted


def given_ids(**ids: str | None) -> dict[str, str]:
    """Return the ids that are not None, by name; refuse what is no id, or a credential."""
    given = {name: value for name, value in ids.items() if value is not None}
    for name, value in given.items():
        check_id(name, value)
        credentials.refuse(name, value)
    return given


def zoned(values: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return fields of a memory, with instants that have no offset in a time zone."""
    return dict(values) | {name: _in_zone(values[name], zone) for name in _INSTANTS if name in values}


def _in_zone(value: Any, zone: tzinfo) -> Any:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value  # refused when the event is parsed
    return parsed.replace(tzinfo=zone) if isinstance(parsed, datetime) and parsed.tzinfo is None else value


def past_instant(as_of: Any, now: datetime, zone: tzinfo) -> datetime | None:
    """Return the instant of a past state in UTC, without an offset one of a time zone; None stays None."""
    at = instant("as_of", as_of, zone)
    if at is not None and at > now:
        raise ValueError(f"as_of is {at.isoformat()}, which lies in the future; give an instant up to now")
    return at


def read_clock(clock: Callable[[], Any]) -> datetime:
    """Return the time of a clock, a function, in UTC; refuse one without a time zone."""
    remedy = "give a function that returns a datetime with a time zone"
    if not callable(clock):
        raise ValueError(f"clock is {shown(clock)}; {remedy}")  # noqa: TRY004 - one class of error
    if not isinstance(at := clock(), datetime) or at.tzinfo is None:
        raise ValueError(f"clock returns {shown(at)}; {remedy}")
    return at.astimezone(UTC)


def check_bool(name: str, value: Any) -> None:
    """Refuse an argument that is not True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {shown(value)}; give True or False")  # noqa: TRY004 - one class of error


def check_id(name: str, value: Any) -> None:
    """Refuse an argument that is not an id: no string, blank, too long, or with control characters."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {shown(value)}; give an id")
    try:
        _ID.validate_python(value)
    except ValidationError:
        raise ValueError(
            f"{name} is {shown(value)}; give an id of at most 256 characters, without control characters"
        ) from None


def check_count(name: str, value: Any) -> None:
    """Refuse an argument that is not a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {shown(value)}; give a whole number of at least 1")


def check_text(name: str, value: Any) -> None:
    """Refuse an argument that is not a text: no string, blank, or with an unpaired surrogate."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {shown(value)}; give a text that is not blank")
    if value.encode(errors="replace").decode() != value:
        raise ValueError(f"{name} is {shown(value)}; give {WHOLE_LETTERS}")


def profile_names(profiles: Any) -> tuple[str, ...]:
    """Return the names of profiles to search together, a list of ids, each once, in order."""
    if isinstance(profiles, str) or not isinstance(profiles, Sequence) or not profiles:
        raise ValueError(f"profiles is {shown(profiles)}; give a list of profiles, or leave it out")
    for name in profiles:
        check_id("profiles", name)
    return tuple(dict.fromkeys(profiles))


def check_embedders(policies: Mapping[str, Policy]) -> None:
    """Refuse to search profiles together whose vectors, of several embedders, cannot be compared."""
    by_embedder = {policy.embedder: name for name, policy in policies.items()}
    if len(by_embedder) > 1:
        named = ", ".join(f"{name!r} has {embedder}" for embedder, name in sorted(by_embedder.items()))
        raise ValueError(f"profiles with different embedders cannot be searched together: {named}; use one embedder")


def as_list(value: Any) -> Any:
    """Return a collection as a list, and anything else, text and mappings included, as it is."""
    return [*value] if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else value
