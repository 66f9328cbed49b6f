"""What the ledger knows of the memories that a batch of events is about, and which of these events it cannot take.

A memory is stored once. The same again is harmless, but a second text under its id would be lost, since memories are
folded from the first event that stores them: it is refused. So is whatever is stored under the id of an erased memory.
An event that comes twice under its id counts once (`ledger/ledger.py`), but must not be another one's either.
What is not here: what is said of a memory afterwards.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.ledger.database import EVENTS
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.schemas import EventType

Memory = tuple[str, str]
"""Profile and id."""
Row = Mapping[str, Any]
"""An event as the ledger keeps it, by column."""

_AT_ONCE: Final = 500
"""Parameters of one query."""


@dataclass(frozen=True)
class Refusal:
    """Why an event cannot be taken."""

    reason: str
    """Field, value and remedy in one sentence."""
    erased: bool
    """Its memory was erased: what it says must not be kept anywhere."""


class KnownMemory(ValueError):
    """Events of a batch store memories that the ledger knows otherwise; nothing of the batch was kept.

    Attributes:
        refused: the events, by their place in the batch.
    """

    def __init__(self, refused: Mapping[int, Refusal]) -> None:
        super().__init__(next(iter(refused.values())).reason)
        self.refused = refused


@dataclass(frozen=True)
class Known:
    """Those of some memories that the ledger knows."""

    erased: Collection[Memory]
    stored: Mapping[Memory, Sequence[int]]
    """By memory, the positions of the events that store it."""


def look_up(connection: sa.Connection, rows: Sequence[Row]) -> Known:
    """Find the memories that events are about in the ledger.

    Cost: a look into an index for each memory, some 2 µs where it is new.
    """
    named = {(row["profile_id"], row["memory_id"]) for row in rows if row["memory_id"] is not None}
    erased, stored = set[Memory](), dict[Memory, list[int]]()
    for profile_id in sorted({profile_id for profile_id, _ in named}):
        for some in _lots(sorted(memory_id for owner, memory_id in named if owner == profile_id)):
            # Types are sorted out here: asked for them too, SQLite might read all events of the profile of one type.
            query = sa.select(EVENTS.c.memory_id, EVENTS.c.event_type, EVENTS.c.seq)
            own = (EVENTS.c.profile_id == profile_id, EVENTS.c.memory_id.in_(some))
            for memory_id, kind, seq in connection.execute(query.where(*own)):
                if kind == EventType.STORED.value:
                    stored.setdefault((profile_id, memory_id), []).append(seq)
                elif kind == EventType.ERASED.value:
                    erased.add((profile_id, memory_id))
    return Known(erased, stored)


def check(
    connection: sa.Connection,
    rows: Sequence[Row],
    known: Known,
    filled: Callable[[list[tuple[Any, ...]]], list[tuple[Any, ...]]],
) -> None:
    """Check that no event stores what is known otherwise; the first of a batch counts.

    Args:
        connection: sees the ledger, and keeps other writers out.
        rows: the batch.
        known: what the ledger knows of its memories.
        filled: fills in payloads that have moved, in rows that begin with the position and end with the payload.

    Raises:
        KnownMemory: one does.
    """
    told = {place: row for place, row in enumerate(rows) if row["event_type"] == EventType.STORED.value}
    at = [seq for memory in {_memory(row) for row in told.values()} for seq in known.stored.get(memory, ())]
    columns = [EVENTS.c[name] for name in ("seq", "event_id", "profile_id", "memory_id", "payload")]
    before = [
        tuple(row)
        for some in _lots(sorted(at))
        for row in connection.execute(sa.select(*columns).where(EVENTS.c.seq.in_(some)).order_by(EVENTS.c.seq))
    ]
    delivered = {event_id for _, event_id, *_ in before}
    said = dict[Memory, list[str]]()
    for _, _, profile_id, memory_id, payload in filled(before):
        said.setdefault((profile_id, memory_id), []).append(payload)
    refused = dict[int, Refusal]()
    for place, row in told.items():
        memory = _memory(row)
        if memory in known.erased:
            if row["event_id"] not in delivered:
                refused[place] = _erased(row)
        elif row["payload"] not in said.setdefault(memory, [row["payload"]]):
            refused[place] = _otherwise(row, said[memory][0])
    if refused:
        raise KnownMemory(refused)


def check_stored(connection: sa.Connection, rows: Sequence[Row]) -> None:
    """Check, after a batch of which some events were known by their ids, that every memory that it stores is there.

    Raises:
        KnownMemory: an event that stores one has the id of an event that says something else.
    """
    stored = look_up(connection, rows).stored
    refused = {
        place: Refusal(
            f"event_id is {shown(row['event_id'])}, which another event has; give this one another, or leave it out",
            erased=False,
        )
        for place, row in enumerate(rows)
        if row["event_type"] == EventType.STORED.value and _memory(row) not in stored
    }
    if refused:
        raise KnownMemory(refused)


def about(profile_id: str, memory_id: str) -> str:
    """Return how the reason begins of every event that was refused because of a memory."""
    return f"memory_id is {memory_id!r}, under which profile {profile_id!r} "


def _memory(row: Row) -> Memory:
    return row["profile_id"], row["memory_id"]


def _otherwise(row: Row, first: str) -> Refusal:
    new, old = json.loads(row["payload"]), json.loads(first)
    changed = next(name for name in ("content", *sorted(new | old)) if new.get(name) != old.get(name))
    what = "another text" if changed == "content" else f"the same text and another {changed}"
    return Refusal(
        f"{about(*_memory(row))}has {what}; change that memory with update, or give this one another memory_id",
        erased=False,
    )


def _erased(row: Row) -> Refusal:
    return Refusal(
        f"{about(*_memory(row))}had a memory that was erased; give this one another memory_id",
        erased=True,
    )


def _lots(values: list[Any]) -> Iterator[list[Any]]:
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))
