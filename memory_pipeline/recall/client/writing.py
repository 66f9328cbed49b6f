"""Stores what a client is given: memories without what they quote of others, and events of any kind."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from memory_pipeline.consolidation import core_memory
from memory_pipeline.ledger.event import Event
from memory_pipeline.ledger.payloads import Stored
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client import quotations, validation
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.client.quotations import Separated
from memory_pipeline.recall.client.validation import as_rows, check_id, stored_event
from memory_pipeline.recall.models import Memory
from memory_pipeline.recall.reviews import Remembered
from memory_pipeline.schemas import EventType
from memory_pipeline.text import quoting

Events = Iterable[Mapping[str, Any]]


def remember(own: OpenProfile, row: Mapping[str, Any], supersedes: str | None) -> Remembered:
    """Store one memory (see `MemoryClient.remember`)."""
    own.check()
    event = own.event(stored_event(row, own.now(), own.zone))
    if supersedes is not None:
        own.lake.ledger.append([event, _superseding(own, event, supersedes)])
        return Remembered(memory_id=str(event.memory_id), likely=())
    (found,) = _separated(own, [event])
    if found.event is not None:
        own.lake.ledger.append([found.event])
    return _told_apart(own, [event], [found])[0]


def store(own: OpenProfile, rows: Iterable[Mapping[str, Any] | str]) -> list[Remembered]:
    """Store several memories (see `MemoryClient.store`)."""
    own.check()
    given = as_rows(rows, own.settings.max_batch)
    events = [
        validation.numbered(lambda row: own.event(stored_event(row, own.now(), own.zone)), row, position)
        for position, row in enumerate(given)
    ]
    answered, read = list[Event](), list[int]()
    for position, row in enumerate(given):
        older = row.get("supersedes") if isinstance(row, Mapping) else None
        if older is None:
            read.append(position)
        else:
            answered.append(validation.numbered(partial(_superseding, own, events[position]), older, position))
    found = [Separated(event, ()) for event in events]
    for position, one in zip(read, _separated(own, [events[index] for index in read]), strict=True):
        found[position] = one
    stored = {position: one.event for position, one in enumerate(found) if one.event is not None}
    with validation.naming_rows(given, [*stored]):
        own.lake.ledger.append([*stored.values(), *answered])
    return _told_apart(own, events, found)


def append(own: OpenProfile, events: Events | Callable[[], Events]) -> list[Remembered]:
    """Append events of several kinds (see `MemoryClient.append`)."""
    own.check()
    with own.lake.ledger.database.holding([own.profile_id]) if callable(events) else nullcontext():
        rows = as_rows(events() if callable(events) else events, own.settings.max_batch)
        parsed = [validation.numbered(own.given_event, row, position) for position, row in enumerate(rows)]
        as_given = [Separated(event, ()) for event in parsed]
        found = as_given if callable(events) else _separated(own, parsed)
        stored = {position: one.event for position, one in enumerate(found) if one.event is not None}
        with validation.naming_rows(rows, [*stored]):
            own.lake.ledger.append([*stored.values()])
    new = [index for index, event in enumerate(parsed) if event.event_type is EventType.STORED]
    return _told_apart(own, [parsed[index] for index in new], [found[index] for index in new])


def update(own: OpenProfile, memory_id: str, changes: dict[str, Any]) -> Memory:
    """Change a memory and return it (see `MemoryClient.update`)."""
    content = changes["content"]
    if isinstance(content, str) and quoting.may_quote(content, by_agent=False):
        changes["content"], quoted = _own_words(own, memory_id, content)
        if quoted:
            kept = own.memory(memory_id).metadata if changes["metadata"] is None else changes["metadata"]
            changes["metadata"] = {**(kept or {}), quotations.QUOTED: quoted}
    return own.write_about(memory_id, EventType.UPDATED, validation.zoned(changes, own.zone))


def _own_words(own: OpenProfile, memory_id: str, content: str) -> tuple[str, list[str]]:
    """Return the new text of a memory without what it quotes of other memories, and their ids.

    Raises ValueError if it says nothing else.
    """
    event = own.event(stored_event({"memory_id": memory_id, "text": content}, own.now(), own.zone))
    (found,) = _separated(own, [event])
    if found.quoted and found.event is None:
        raise ValueError(
            f"content only quotes {', '.join(map(shown, found.quoted[:3]))}; give the new text in its own words"
        )
    payload = None if found.event is None else found.event.payload
    return (payload.content if isinstance(payload, Stored) else content), [*found.quoted]


def _separated(own: OpenProfile, events: Sequence[Event]) -> list[Separated]:
    """Return new memories without what they quote of stored ones."""
    headings = core_memory.names(own.policy)
    return quotations.separated(events, own.cache.current, headings, filters=own.settings.filter_noise)


def _superseding(own: OpenProfile, event: Event, older: Any) -> Event:
    """Return the answer that a new memory replaces an older one."""
    check_id("supersedes", older)
    own.memory(older, name="supersedes")
    return own.answer(older, str(event.memory_id), "update")


def _told_apart(own: OpenProfile, events: Sequence[Event], found: Sequence[Separated]) -> list[Remembered]:
    """Keep what is not stored of new memories among the dead letters, and return what became of each."""
    own.lake.ledger.add_dead_letters([one.left_out for one in found if one.left_out is not None])
    return [
        Remembered(
            memory_id=one.quoted[0] if one.event is None and one.quoted else str(event.memory_id),
            likely=(),
            quoted=one.quoted,
            stored=one.event is not None,
            left_out=None if one.left_out is None else one.left_out.reason,
        )
        for event, one in zip(events, found, strict=True)
    ]
