"""Compares the current memories of a source with those in the ledger.

A source that is imported again may have changed a memory. What it says now is compared with what it said at the last
import, so that changes made here meanwhile stay where the source did not change too. Not here: the import loop
(`importing.py`).
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeGuard

import polars as pl

from memory_pipeline.consolidation.whereabouts import DATED_BY
from memory_pipeline.interop.items import Imported, ImportedAs, stable_id
from memory_pipeline.ledger import profile_events
from memory_pipeline.ledger.event import COLUMNS, Event, instant, micros
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.payloads import Stored, Updated, canonical_json
from memory_pipeline.schemas import Action, EventType

IMPORTER: Final = "import:"
"""Beginning of the `instance_id` of events that an importer of another system's memories makes."""
ERASED: Final = "memories that were erased here"

_UPDATABLE: Final = tuple(Updated.model_fields)
_CLEARED: Final[Mapping[str, Any]] = {"tags": [], "metadata": "{}", "protected": False}
"""Values by which an update clears a field; other fields cannot be cleared."""
_MADE_AS: Final[Mapping[str, str]] = {"importance": "importance_given"}
"""Fields that a decision has under another name."""
_TYPE, _MEMORY, _OCCURRED, _INSTANCE, _PAYLOAD = (
    1 + COLUMNS.index(name) for name in ("event_type", "memory_id", "occurred_at", "instance_id", "payload")
)


@dataclass
class _Known:
    """The state of a memory in the ledger."""

    in_source: dict[str, Any]
    """Its fields as the last import had them, or their current values if none had it."""
    now: dict[str, Any]
    """Its fields as agents and imports left them."""
    imported: bool
    """Whether an import wrote about it."""
    changed_at: int = 0
    """Instant of its last update, microseconds since 1970."""
    updates: int = 0
    erased: bool = False
    begun: bool = False
    """Whether its first state came just now, which its current one follows."""


@dataclass(frozen=True)
class Reconciled:
    """Events to append for what a source says now."""

    events: list[Event]
    known: list[Event]
    """Memories that the ledger has as they are."""
    skipped: Counter[str] = field(default_factory=Counter)


def reconcile(ledger: Ledger | None, events: Sequence[Event]) -> Reconciled:
    """Replace the current state of known memories by updates of what changed; other events stay.

    A new memory that its source says was changed after it was made is followed by an update at that instant. Of several
    states with different texts under one id the latest stands, of equally late ones the last; the others are skipped,
    which names the id.

    Cost: an index look-up for each memory that is `Imported` as a state.
    """
    known = _known(ledger, events) if ledger else {}
    result = Reconciled([], [])
    for event in _standing(events, result.skipped):
        if not isinstance(event, Imported) or event.imported_as is ImportedAs.EVENT or event.memory_id is None:
            result.events.append(event)
            _follow(known, event)
            continue
        memory = known.get((event.profile_id, event.memory_id))
        given = json.loads(event.payload_json())
        if memory is None:
            memory = _Known(given, dict(given), imported=True, begun=event.imported_as is ImportedAs.IF_NEW)
            known[event.profile_id, event.memory_id] = memory
            result.events.append(event)
            if event.states_change and event.changed_at and event.changed_at > event.occurred_at:
                result.events.append(_revision(event, memory, {"content": given["content"]}, event.changed_at))
        elif memory.erased:
            result.skipped[ERASED] += 1
        elif event.imported_as is ImportedAs.IF_NEW:
            result.known.append(event)
            memory.begun = True
        else:
            update = _update(event, given, memory, result.skipped)
            if update is not None:
                result.events.append(update)
            elif not memory.begun:
                result.known.append(event)
            memory.begun = False
    return result


def _standing(events: Sequence[Event], skipped: Counter[str]) -> list[Event]:
    """Return events without those states of a memory that another one of them, with another text, outdates."""
    latest = dict[tuple[str, str | None], Imported]()
    for event in events:
        if _is_state(event):
            key = event.profile_id, event.memory_id
            if key not in latest or _said_at(event) >= _said_at(latest[key]):
                latest[key] = event
    kept = list[Event]()
    for event in events:
        other = latest[event.profile_id, event.memory_id] if _is_state(event) else event
        if other is event or _text(other) == _text(event):
            kept.append(event)
        else:
            skipped[f"older states of memory {event.memory_id}, which the source has with different texts"] += 1
    return kept


def _is_state(event: Event) -> TypeGuard[Imported]:
    return isinstance(event, Imported) and event.imported_as is ImportedAs.STATE and event.memory_id is not None


def _said_at(event: Imported) -> datetime:
    return event.changed_at or event.occurred_at


def _text(event: Event) -> str | None:
    return event.payload.content if isinstance(event.payload, Stored) else None


def open_memories(ledger: Ledger | None, profile_id: str, instance_id: str) -> dict[str, dict[str, Any]]:
    """Return the memories that an importer stored and whose validity is open, as it last had them, in order."""
    if ledger is None:
        return {}
    with ledger.reading() as transaction:
        stored = profile_events.stored_by(transaction, profile_id, instance_id)
    known = _of_profile(ledger, profile_id, stored)
    return {
        memory_id: known[memory_id].in_source
        for memory_id in stored
        if not known[memory_id].erased and "valid_until" not in known[memory_id].now
    }


def fields_now(ledger: Ledger | None, profile_id: str, memory_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the fields of those memories that the ledger has, as agents and imports left them; none of erased ones."""
    known = _of_profile(ledger, profile_id, memory_ids) if ledger else {}
    return {memory_id: memory.now for memory_id, memory in known.items() if not memory.erased}


def _update(event: Imported, given: dict[str, Any], memory: _Known, skipped: Counter[str]) -> Event | None:
    changed = {
        name: given.get(name, _CLEARED.get(name))
        for name in sorted(given.keys() | memory.in_source.keys())
        if _compared(given, name) != _compared(memory.in_source, name)
    }
    if not memory.imported:  # exported from here: what it lacks was left out, not cleared
        changed = {name: value for name, value in changed.items() if name in given}
    fixed = {name for name in changed if name not in _UPDATABLE or changed[name] is None}
    changes = {name: value for name, value in changed.items() if name not in fixed and value != memory.now.get(name)}
    skipped["changes of fields that stay as first stored"] += bool(fixed)
    at = event.changed_at or event.recorded_at
    if not memory.imported and changes and micros(at) < memory.changed_at:
        skipped["changes of memories that were changed here later"] += 1
        return None
    memory.in_source, memory.imported = given, True
    if not changes:
        return None
    memory.now |= changes
    at = at if micros(at) > memory.changed_at else max(event.recorded_at, instant(memory.changed_at))
    return _revision(event, memory, changes, at)


def _compared(fields: Mapping[str, Any], name: str) -> object:
    """Return a field of a memory; what dated it when it was stored is no change of it, for its instant stays."""
    value = fields.get(name)
    if name != "metadata" or not isinstance(value, str) or DATED_BY not in value:
        return value
    return canonical_json({key: one for key, one in json.loads(value).items() if key != DATED_BY})


def _revision(event: Imported, memory: _Known, changes: dict[str, Any], at: datetime) -> Event:
    """Return the update of a memory that its source made at an instant."""
    memory.updates += 1
    memory.changed_at = micros(at)
    update = Event(
        event_id=stable_id(event.event_id, "update", str(memory.updates), json.dumps(changes, sort_keys=True)),
        profile_id=event.profile_id,
        event_type=EventType.UPDATED,
        occurred_at=at,
        recorded_at=event.recorded_at,
        instance_id=event.instance_id,
        memory_id=event.memory_id,
        payload=Updated.model_validate(changes),
    )
    return Imported.of(update, event.origin, event.raw)


def _follow(known: Mapping[tuple[str, str], _Known], event: Event) -> None:
    """Apply an update that the source itself records to its earlier state of a memory."""
    if event.event_type is EventType.UPDATED and (memory := known.get((event.profile_id, event.memory_id or ""))):
        changes = json.loads(event.payload_json())
        memory.in_source = memory.in_source | changes
        memory.now |= changes
        memory.changed_at = max(memory.changed_at, micros(event.occurred_at))


def _known(ledger: Ledger, events: Sequence[Event]) -> dict[tuple[str, str], _Known]:
    wanted: dict[str, set[str]] = {}
    for event in events:
        if isinstance(event, Imported) and event.imported_as is not ImportedAs.EVENT and event.memory_id is not None:
            wanted.setdefault(event.profile_id, set()).add(event.memory_id)
    return {
        (profile_id, memory_id): memory
        for profile_id, memory_ids in wanted.items()
        for memory_id, memory in _of_profile(ledger, profile_id, memory_ids).items()
    }


def _of_profile(ledger: Ledger, profile_id: str, memory_ids: Iterable[str]) -> dict[str, _Known]:
    wanted = set(memory_ids)
    with ledger.reading() as transaction:
        rows = profile_events.of_memories(transaction, profile_id, wanted)
        summaries = wanted & profile_events.summary_ids(transaction, profile_id)
    known = {
        name: _Known(fields, dict(fields), imported=False)
        for name, fields in _summaries(ledger, profile_id, summaries).items()
    }
    written = [row for row in rows if row[_TYPE] in {EventType.STORED.value, EventType.UPDATED.value}]
    for row in sorted(ledger.with_payloads(written), key=lambda row: (row[_OCCURRED], row[0])):
        _fold(known, row)
    for row in rows:
        if row[_TYPE] == EventType.ERASED.value:
            known[row[_MEMORY]] = _Known({}, {}, imported=False, erased=True)
    return known


def _fold(known: dict[str, _Known], row: Sequence[Any]) -> None:
    """Fold an event that stores or updates a memory into its known state."""
    fields = json.loads(row[_PAYLOAD])
    imported = (row[_INSTANCE] or "").startswith(IMPORTER)
    memory_id = row[_MEMORY]
    if row[_TYPE] == EventType.STORED.value:
        known.setdefault(memory_id, _Known(fields, dict(fields), imported=imported))
    elif memory := known.get(memory_id):
        memory.now |= fields
        memory.updates += 1
        memory.changed_at = max(memory.changed_at, row[_OCCURRED])
        if imported:
            memory.in_source = (memory.in_source if memory.imported else memory.now) | fields
            memory.imported = True
        elif not memory.imported:
            memory.in_source = dict(memory.now)


def _summaries(ledger: Ledger, profile_id: str, memory_ids: set[str]) -> dict[str, dict[str, Any]]:
    """Return the fields of some summaries as runs made them last, under the names of `memory.stored`."""
    if not memory_ids:
        return {}
    decisions = ledger.decisions(profiles=[profile_id]).filter(
        (pl.col("action") == Action.SUMMARISE.value) & pl.col("memory_id").is_in(sorted(memory_ids))
    )
    rows = decisions.sort("as_of", "seq").select("memory_id", "after").iter_rows()
    made = {name: json.loads(after) for name, after in rows}
    return {
        name: {field: value for field in Stored.model_fields if (value := row.get(_MADE_AS.get(field, field)))}
        for name, row in made.items()
        if row.get("content")
    }
