"""Imports a stream of events and dead letters into the ledger in batches, or shows what an import would store.

Here: the import loop and its report. Not here: what the formats share (`items.py`, `records.py`), how known memories
are compared (`reconciling.py`), and the formats (`formats.py` lists them).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memory_pipeline.interop.items import Imported, Item, Noticed, Skipped
from memory_pipeline.interop.reconciling import Reconciled, reconcile
from memory_pipeline.ledger import profile_events
from memory_pipeline.ledger.event import DeadLetter, Event, check_sizes
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.payloads import Stored, Updated
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.recall.client.quotations import Separated
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import Settings

_BATCH: Final = 5000
"""Events that become durable together."""
_BATCH_CHARACTERS: Final = 16_000_000
"""Most characters per batch, so that files with very long lines need no more memory."""

QUOTATIONS: Final = "quotations of memories"
"""Left out of the texts of turns, which name the memories instead."""
ONLY_QUOTATIONS: Final = "turns that only quote memories"

NO_MEMORIES: Final = "turns that are no memories (see: memory-pipeline dead-letters list --noise)"

Separate = Callable[[Sequence[Event]], Sequence[Separated]]
"""Returns events, in order, without what their texts quote."""

SHOWN_REFUSALS: Final = 20
"""Refused events that a report names; all of them are dead letters."""


@dataclass(frozen=True)
class RefusedEvent:
    """Why an event was refused."""

    origin: str
    """Where it came from: file and line."""
    reason: str
    """Field, value and remedy."""


@dataclass(frozen=True)
class ImportReport:
    """Result of an import."""

    accepted: int = 0
    """New events; those of memories and others."""
    duplicates: int = 0
    """Events that the ledger already had, and memories that it has as the source has them."""
    dead_letters: int = 0
    profiles: tuple[str, ...] = field(default=(), compare=False)
    """Profiles of the accepted events and duplicates, sorted; reports with equal counts are equal."""
    refused: tuple[RefusedEvent, ...] = field(default=(), compare=False)
    """The first `SHOWN_REFUSALS` events that became dead letters."""
    skipped: Mapping[str, int] = field(default_factory=dict, compare=False)
    """How much of the source was left out on purpose, by what it is, sorted."""
    memories: int = field(default=0, compare=False)
    """Of the accepted events, those that store a memory; the others are accesses, links, sessions and changes."""
    noticed: Mapping[str, int] = field(default_factory=dict, compare=False)
    """What to know of what was read, with the count of each, sorted."""


@dataclass(frozen=True)
class Preview:
    """Preview of an import."""

    report: ImportReport
    """The counts it would give, as far as they are known without storing."""
    first: tuple[Event, ...]
    """The first events as they would be stored."""


def import_events(
    ledger: Ledger,
    events: Iterable[Item],
    *,
    batch: int = _BATCH,
    settings: Settings | None = None,
    progress: Callable[[ImportReport], None] | None = None,
    separate: Separate | None = None,
) -> ImportReport:
    """Append a stream of events to the ledger, store refused ones as dead letters, and return the counts.

    An event that stores a different text under the id of an existing memory is refused too; if that memory was erased,
    the dead letter does not keep the text. A memory given in its current state becomes an update if the ledger has
    another one. Only one batch is held in memory. An import that was interrupted can be run again: events that are
    already in the ledger count as duplicates.

    Args:
        batch: events that become durable together.
        settings: settings that limit texts and tags; default: no limits. An event over them is refused.
        progress: called after each batch with the report so far.
        separate: leaves out of texts what they quote of stored memories; default: texts stay as they are.
    """
    report = ImportReport()
    for items, reconciled in _read(ledger, events, settings, separate, batch):
        fresh = _new(ledger, reconciled.events)
        taken, new, conflicts = _append(ledger, reconciled.events)
        stored = _stored(fresh, taken)
        kept = [item for item in items if isinstance(item, DeadLetter)] + conflicts
        ledger.add_dead_letters(kept)
        letters = [letter for letter in kept if not letter.noise]
        report = _added(report, items, replace(reconciled, events=taken), new=new, stored=stored, letters=letters)
        if progress is not None:
            progress(report)
    return report


def preview_events(
    ledger: Ledger | None,
    events: Iterable[Item],
    *,
    settings: Settings | None = None,
    most: int = 10,
    separate: Separate | None = None,
) -> Preview:
    """Return what `import_events` would do with a ledger, if there is one yet, and store nothing.

    Args:
        most: how many events to return.
    """
    report, first = ImportReport(), list[Event]()
    for items, reconciled in _read(ledger, events, settings, separate, _BATCH):
        new = _new(ledger, reconciled.events)
        first += new[: most - len(first)]
        letters = [item for item in items if isinstance(item, DeadLetter) and not item.noise]
        report = _added(report, items, reconciled, new=len(new), stored=_stored(new, new), letters=letters)
    return Preview(report, tuple(first))


def _read(
    ledger: Ledger | None, events: Iterable[Item], settings: Settings | None, separate: Separate | None, batch: int
) -> Iterator[tuple[list[Item], Reconciled]]:
    """Yield batches, and what is to be appended for the events of each."""
    for read in _batches(_of_size(events, settings), batch):
        items = _own(read, separate)
        yield items, reconcile(ledger, [item for item in items if isinstance(item, Event)])


def _own(items: list[Item], separate: Separate | None) -> list[Item]:
    """Return a batch whose texts quote no stored memories; what is left out is counted."""
    events = [item for item in items if isinstance(item, Event)]
    if separate is None or not events:
        return items
    others: list[Item] = [item for item in items if not isinstance(item, Event)]
    found = separate(events)
    kept: list[Item] = [one.event for one in found if one.event is not None]
    quotations = sum(len(one.quoted) for one in found)
    only = sum(one.event is None for one in found if one.quoted)
    left_out = [(QUOTATIONS, quotations), (ONLY_QUOTATIONS, only), (NO_MEMORIES, len(found) - len(kept) - only)]
    letters = [one.left_out for one in found if one.left_out is not None]
    return [*kept, *others, *letters, *(Skipped(what, count) for what, count in left_out if count)]


def _added(
    report: ImportReport, items: list[Item], reconciled: Reconciled, *, new: int, stored: int, letters: list[DeadLetter]
) -> ImportReport:
    skipped, noticed = Counter(report.skipped) + reconciled.skipped, Counter(report.noticed)
    for item in items:
        if isinstance(item, Skipped | Noticed):
            (skipped if isinstance(item, Skipped) else noticed)[item.what] += item.count
    return ImportReport(
        report.accepted + new,
        report.duplicates + len(reconciled.known) + len(reconciled.events) - new,
        report.dead_letters + len(letters),
        tuple(sorted({*report.profiles, *(event.profile_id for event in (*reconciled.events, *reconciled.known))})),
        (*report.refused, *(RefusedEvent(letter.origin, letter.reason) for letter in letters))[:SHOWN_REFUSALS],
        dict(sorted(skipped.items())),
        report.memories + stored,
        dict(sorted(noticed.items())),
    )


def _stored(new: Iterable[Event], taken: Iterable[Event]) -> int:
    """Return how many of the new events store a memory and were taken."""
    kept = {(event.profile_id, event.event_id) for event in taken}
    return sum(event.event_type is EventType.STORED and (event.profile_id, event.event_id) in kept for event in new)


def _new(ledger: Ledger | None, events: list[Event]) -> list[Event]:
    """Return those events that the ledger lacks, each once."""
    seen = set[tuple[str, str]]()
    if ledger is not None:
        with ledger.reading() as transaction:
            for profile_id in sorted({event.profile_id for event in events}):
                ids = {event.event_id for event in events if event.profile_id == profile_id}
                seen |= {(profile_id, found) for found in profile_events.delivered(transaction, profile_id, ids)}
    new = list[Event]()
    for event in events:
        if (event.profile_id, event.event_id) not in seen:
            seen.add((event.profile_id, event.event_id))
            new.append(event)
    return new


def _of_size(events: Iterable[Item], settings: Settings | None) -> Iterator[Item]:
    """Turn events with too long a text or too many tags into dead letters."""
    for event in events:
        if settings is None or not isinstance(event, Event):
            yield event
            continue
        try:
            check_sizes(event, settings)
        except ValueError as error:
            yield _dead_letter(event, str(error), raw=True)
        else:
            yield event


def _append(ledger: Ledger, events: list[Event]) -> tuple[list[Event], int, list[DeadLetter]]:
    """Append the valid events of a batch; return these, how many were new, and dead letters for the others."""
    letters = list[DeadLetter]()
    while True:
        try:
            return events, ledger.append(events).accepted, letters
        except KnownMemory as error:
            letters += [
                _dead_letter(events[place], refusal.reason, raw=not refusal.erased)
                for place, refusal in error.refused.items()
            ]
            events = [event for place, event in enumerate(events) if place not in error.refused]


def _dead_letter(event: Event, why: str, *, raw: bool) -> DeadLetter:
    """Return the dead letter for a valid event, with its bytes if `raw`."""
    if isinstance(event, Imported):
        origin, received = event.origin, event.raw
    else:
        origin, received = f"event {event.event_id}", event.model_dump_json(exclude_none=True).encode()
    return DeadLetter(origin, why, received if raw else b"", event.recorded_at)


def _batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    batch, characters = list[Item](), 0
    for item in items:
        batch.append(item)
        if isinstance(item, DeadLetter):
            characters += len(item.raw)
        elif isinstance(item, Event):
            characters += len(item.payload.content or "") if isinstance(item.payload, Stored | Updated) else 0
            characters += len(item.raw) if isinstance(item, Imported) else 0
        if len(batch) >= most or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
