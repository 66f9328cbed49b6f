"""Checks a batch of events against the memories that the ledger already has.

A memory is stored once. Storing the same again is harmless, but a second text under its id would be lost, since
memories are folded from the first event that stores them: it is refused. So is storing under the id of an erased
memory, and an event with the id of a different event of the profile.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.statements import batched, rows_at
from memory_pipeline.ledger.tables import EVENTS
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.schemas import EventType

Memory = tuple[str, str]
"""Profile and memory id."""
Row = Mapping[str, Any]
"""An event's row in the ledger, by column."""


_OTHERS: Final = {
    EventType.ACCESSED.value: "memory_ids",
    EventType.LINKED.value: "target_id",
    EventType.RESOLVED.value: "target_id",
}
"""Where events name other memories."""
_WORDS: Final = ("query", "metadata", "statement")
"""Fields in which they may have words."""


@dataclass(frozen=True)
class Refusal:
    """Why an event is refused."""

    reason: str
    """Field, value and remedy in one sentence."""
    erased: bool
    """Its memory was erased: its payload must not be stored anywhere."""


class KnownMemory(ValueError):
    """Events of a batch contradict memories that the ledger has; nothing of the batch was appended.

    Attributes:
        refused: the refusals, by index in the batch.
    """

    def __init__(self, refused: Mapping[int, Refusal]) -> None:
        super().__init__(refused)
        self.refused = refused

    def __str__(self) -> str:
        return next(iter(self.refused.values())).reason


@dataclass(frozen=True)
class StoredMemories:
    """The given memories that the ledger has stored or erased."""

    erased: Collection[Memory]
    stored: Mapping[Memory, Sequence[int]]
    """Positions of the events that store it, by memory."""


def look_up(transaction: Transaction, rows: Sequence[Row]) -> StoredMemories:
    """Look up the memories that events are about. Cost: an index look-up for each memory, some 2 µs where it is new."""
    named = {(row["profile_id"], row["memory_id"]) for row in rows if row["memory_id"] is not None}
    named |= {(row["profile_id"], other) for row in rows for other in others(row)}
    erased, stored = set[Memory](), dict[Memory, list[int]]()
    # Types are filtered here: given them too, SQLite might read all events of one type of the profile.
    columns = [EVENTS.c[name] for name in ("profile_id", "memory_id", "event_type", "seq")]
    for profile_id, memory_id, event_type, seq in rows_at(transaction, EVENTS.c.memory_id, named, columns):
        if event_type == EventType.STORED.value:
            stored.setdefault((profile_id, memory_id), []).append(seq)
        elif event_type == EventType.ERASED.value:
            erased.add((profile_id, memory_id))
    return StoredMemories(erased, stored)


def others(row: Row) -> Collection[str]:
    """Return the other memories that an event with words is about: what it says may be theirs."""
    field = _OTHERS.get(row["event_type"])
    if field is None or not any(f'"{name}":' in row["payload"] for name in _WORDS):
        return ()
    named = json.loads(row["payload"]).get(field, ())
    return (named,) if isinstance(named, str) else named


def erased_among(transaction: Transaction, ids: Collection[str]) -> set[str]:
    """Return those of some ids that name an erased memory of any profile, or an event about one."""
    erased = EVENTS.alias()
    is_erased = erased.c.event_type == EventType.ERASED.value
    about = (erased.c.profile_id == EVENTS.c.profile_id) & (erased.c.memory_id == EVENTS.c.memory_id)
    profiles = sa.select(erased.c.profile_id).where(is_erased)  # events are found by profile and id
    of_events = sa.select(EVENTS.c.event_id).join(erased, about).where(is_erased, EVENTS.c.profile_id.in_(profiles))
    of_memories = sa.select(erased.c.memory_id).where(is_erased)
    return {
        found
        for batch in batched(sorted(ids))
        for named in (of_memories.where(erased.c.memory_id.in_(batch)), of_events.where(EVENTS.c.event_id.in_(batch)))
        for found in transaction.connection.scalars(named)
    }


def check(
    transaction: Transaction,
    rows: Sequence[Row],
    memories: StoredMemories,
    with_payloads: Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]],
) -> None:
    """Raise KnownMemory if an event stores a memory with another payload; within a batch the first event counts.

    `memories` are those of the batch, as far as the ledger has them; `with_payloads` is that of `Ledger`.
    """
    storing = {index: row for index, row in enumerate(rows) if row["event_type"] == EventType.STORED.value}
    seqs = [seq for memory in {_memory(row) for row in storing.values()} for seq in memories.stored.get(memory, ())]
    columns = [EVENTS.c[name] for name in ("seq", "event_id", "profile_id", "memory_id", "payload")]
    before = [
        tuple(row)
        for batch in batched(sorted(seqs))
        for row in transaction.connection.execute(
            sa.select(*columns).where(EVENTS.c.seq.in_(batch)).order_by(EVENTS.c.seq)
        )
    ]
    delivered = {(profile_id, event_id) for _, event_id, profile_id, *_ in before}
    payloads = dict[Memory, list[str]]()
    for _, _, profile_id, memory_id, payload in with_payloads(before):
        payloads.setdefault((profile_id, memory_id), []).append(payload)
    refused = dict[int, Refusal]()
    for index, row in storing.items():
        memory = _memory(row)
        if memory in memories.erased:
            if (row["profile_id"], row["event_id"]) not in delivered:
                reason = f"{about(*memory)}had a memory that was erased; give this one another memory_id"
                refused[index] = Refusal(reason, erased=True)
        elif row["payload"] not in payloads.setdefault(memory, [row["payload"]]):
            refused[index] = _different(row, payloads[memory][0])
    if refused:
        raise KnownMemory(refused)


def check_stored(transaction: Transaction, rows: Sequence[Row]) -> None:
    """Raise KnownMemory if a memory of an appended batch is not stored: its event has the id of a different event.

    Events with an existing id were skipped.
    """
    stored = look_up(transaction, rows).stored
    refused = {
        index: Refusal(
            f"event_id is {shown(row['event_id'])}, which another event of the profile has; give this one another, or "
            "leave it out",
            erased=False,
        )
        for index, row in enumerate(rows)
        if row["event_type"] == EventType.STORED.value and _memory(row) not in stored
    }
    if refused:
        raise KnownMemory(refused)


def about(profile_id: str, memory_id: str) -> str:
    """Return the beginning of the reason of every refusal because of a memory."""
    return f"memory_id is {memory_id!r}, under which profile {profile_id!r} "


def _memory(row: Row) -> Memory:
    return row["profile_id"], row["memory_id"]


def _different(row: Row, first: str) -> Refusal:
    new, old = json.loads(row["payload"]), json.loads(first)
    changed = next(name for name in ("content", *sorted(new | old)) if new.get(name) != old.get(name))
    difference = "another text" if changed == "content" else f"the same text and another {changed}"
    return Refusal(
        f"{about(*_memory(row))}has {difference}; change that memory with update, or give this one another memory_id",
        erased=False,
    )
