"""Reads the events of one profile: after a position, about a memory, or known at an instant."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.event import COLUMNS, instant
from memory_pipeline.ledger.statements import batched
from memory_pipeline.ledger.tables import DECISIONS, EVENTS
from memory_pipeline.schemas import Action, EventType

Row = tuple[Any, ...]
"""A row of the ledger: `seq`, then `event.COLUMNS`. Its payload may have moved (see `Ledger.with_payloads`)."""

_NOT_RUNS: Final = sorted(kind.value for kind in EventType if kind is not EventType.RUN_COMMITTED)
_PROFILE: Final = sa.bindparam("profile_id", type_=sa.Text())
_AFTER: Final = sa.bindparam("after", type_=sa.BigInteger())
_UNTIL: Final = sa.bindparam("until", type_=sa.BigInteger())
_AS_OF: Final = sa.bindparam("as_of", type_=sa.BigInteger())
_ROWS: Final = sa.select(*(EVENTS.c[name] for name in ("seq", *COLUMNS))).order_by(EVENTS.c.seq)
_BETWEEN: Final = _ROWS.where(
    EVENTS.c.seq > _AFTER,
    EVENTS.c.seq <= _UNTIL,
    EVENTS.c.profile_id.concat("") == _PROFILE,  # as an expression, or SQLite reads the whole profile by its index
)
_LATE: Final = _ROWS.where(
    EVENTS.c.profile_id == _PROFILE,
    EVENTS.c.recorded_at > _AS_OF,
    EVENTS.c.occurred_at > _AS_OF,
    EVENTS.c.seq <= _UNTIL,
)


def between(transaction: Transaction, profile_id: str, *, after: int, until: int) -> list[Row]:
    """Return the events of a profile after a position, up to another. Cost: linear in the events between the two."""
    return _rows(transaction, _BETWEEN, {"profile_id": profile_id, "after": after, "until": until})


def missed(transaction: Transaction, profile_id: str, *, base_seq: int, as_of: int) -> list[Row]:
    """Return the events up to `base_seq` that a run with the clock `as_of` (µs since 1970) left out: they came later.

    They may precede others that it read: clocks that ran ahead are set back. Cost: linear in the profile's events that
    were recorded after the run's clock.
    """
    if not base_seq:
        return []
    return _rows(transaction, _LATE, {"profile_id": profile_id, "as_of": as_of, "until": base_seq})


def quiet(transaction: Transaction, runs: Mapping[str, tuple[int, int]]) -> set[str]:
    """Return the profiles in which nothing but runs happened since the one of this position and clock (µs since 1970).

    Cost: for 500 profiles at once an index look-up for each kind of event, and what happened since the earliest run.
    """
    busy = set[str]()
    for profiles in batched(sorted(runs)):
        seqs, clocks = zip(*(runs[profile_id] for profile_id in profiles), strict=True)
        others = sa.select(EVENTS.c.profile_id, sa.func.max(EVENTS.c.seq)).where(
            EVENTS.c.profile_id.in_(profiles), EVENTS.c.event_type.in_(_NOT_RUNS), EVENTS.c.seq > min(seqs)
        )
        found = transaction.connection.execute(others.group_by(EVENTS.c.profile_id))
        busy |= {profile_id for profile_id, seq in found if seq > runs[profile_id][0]}
        late = sa.select(EVENTS.c.profile_id, EVENTS.c.seq, EVENTS.c.recorded_at, EVENTS.c.occurred_at).where(
            EVENTS.c.profile_id.in_(profiles),
            EVENTS.c.recorded_at > min(clocks),
            EVENTS.c.occurred_at > min(clocks),
            EVENTS.c.seq <= max(seqs),
        )
        for profile_id, seq, recorded_at, occurred_at in transaction.connection.execute(late):
            read_to, clock = runs[profile_id]
            if seq <= read_to and min(recorded_at, occurred_at) > clock:  # missed by the run: it came later
                busy.add(profile_id)
    return runs.keys() - busy


def of_memories(transaction: Transaction, profile_id: str, memory_ids: Collection[str]) -> list[Row]:
    """Return the events about some memories, in the order in which they arrived. Cost: an index look-up for each."""
    of_profile = _ROWS.where(EVENTS.c.profile_id == profile_id)
    batches = (of_profile.where(EVENTS.c.memory_id.in_(batch)) for batch in batched(sorted(memory_ids)))
    return [row for batch in batches for row in _rows(transaction, batch)]


def stored_by(transaction: Transaction, profile_id: str, instance_id: str) -> list[str]:
    """Return the memories that one writer stored. Cost: one pass over the memories of the profile."""
    query = sa.select(EVENTS.c.memory_id).where(
        EVENTS.c.profile_id == profile_id,
        EVENTS.c.event_type == EventType.STORED.value,
        EVENTS.c.instance_id == instance_id,
    )
    return list(transaction.connection.scalars(query.order_by(EVENTS.c.seq)))


def stored_since(transaction: Transaction, profile_id: str, recorded_at: int) -> set[str]:
    """Return the memories whose storing was recorded at an instant (microseconds since 1970) or later."""
    query = sa.select(EVENTS.c.memory_id).where(
        EVENTS.c.profile_id == profile_id,
        EVENTS.c.recorded_at >= recorded_at,
        EVENTS.c.event_type == EventType.STORED.value,
    )
    return set(transaction.connection.scalars(query))


def delivered(transaction: Transaction, profile_id: str, event_ids: Collection[str]) -> set[str]:
    """Return those of some event ids that the profile has."""
    ids = sa.select(EVENTS.c.event_id).where(EVENTS.c.profile_id == profile_id)
    return {
        found
        for batch in batched(sorted(event_ids))
        for found in transaction.connection.scalars(ids.where(EVENTS.c.event_id.in_(batch)))
    }


def about(
    transaction: Transaction, profile_id: str, memory_id: str, *, kinds: Collection[EventType], until: int | None = None
) -> list[Row]:
    """Return the events of some types about a memory, up to a position or the head."""
    condition = [EVENTS.c.profile_id == profile_id, EVENTS.c.memory_id == memory_id]
    if until is not None:
        condition.append(EVENTS.c.seq <= until)
    rows = _rows(transaction, _ROWS.where(*condition))
    # Filtered here: given types too, SQLite might read all events of these types.
    names, column = {kind.value for kind in kinds}, 1 + COLUMNS.index("event_type")
    return [row for row in rows if row[column] in names]


def stored_at(transaction: Transaction, profile_id: str, memory_id: str) -> datetime | None:
    """Return when a memory was stored by an agent, even if it was erased since; None if it never was."""
    stored = about(transaction, profile_id, memory_id, kinds=[EventType.STORED])
    return instant(stored[0][1 + COLUMNS.index("occurred_at")]) if stored else None


def answers(transaction: Transaction, profile_id: str, *, until: int) -> list[Row]:
    """Return the answers about pairs of memories up to a position. Cost: an index look-up for each."""
    answer = EVENTS.c.event_type == EventType.RESOLVED.value
    return _rows(transaction, _ROWS.where(EVENTS.c.profile_id == profile_id, answer, EVENTS.c.seq <= until))


def answers_by_id(transaction: Transaction, event_id: str, profile_id: str | None) -> list[Row]:
    """Return the answers with an event id, of one profile or of any; without a profile, by one pass over an index."""
    condition = [EVENTS.c.event_id == event_id, EVENTS.c.event_type == EventType.RESOLVED.value]
    if profile_id is not None:
        condition.append(EVENTS.c.profile_id == profile_id)
    return _rows(transaction, _ROWS.where(*condition))


def at(transaction: Transaction, seqs: Collection[int]) -> list[Row]:
    """Return the events at some positions, by position."""
    batches = (_ROWS.where(EVENTS.c.seq.in_(batch)) for batch in batched(sorted(seqs)))
    return [row for batch in batches for row in _rows(transaction, batch)]


def has_events(transaction: Transaction, profile_id: str, memory_ids: Collection[str], *, until: int) -> bool:
    """Return whether an event up to a position is about any of some memories."""
    found = sa.select(EVENTS.c.seq).where(EVENTS.c.profile_id == profile_id, EVENTS.c.seq <= until).limit(1)
    return any(
        transaction.connection.scalar(found.where(EVENTS.c.memory_id.in_(batch)))
        for batch in batched(sorted(memory_ids))
    )


def may_end_memories(transaction: Transaction, profile_id: str, *, after: int) -> bool:
    """Return whether an answer or an update, which may end a memory, was written after a position."""
    ending = EVENTS.c.event_type.in_([EventType.RESOLVED.value, EventType.UPDATED.value])
    query = sa.select(EVENTS.c.seq).where(EVENTS.c.seq > after, EVENTS.c.profile_id.concat("") == profile_id, ending)
    return transaction.connection.scalar(query.limit(1)) is not None


def id_at(transaction: Transaction, position: int) -> str | None:
    """Return the id of the newest event up to a position, of whichever profile; None if there is none."""
    query = sa.select(EVENTS.c.event_id).where(EVENTS.c.seq <= position).order_by(EVENTS.c.seq.desc()).limit(1)
    return transaction.connection.scalar(query)


def summary_ids(transaction: Transaction, profile_id: str) -> frozenset[str]:
    """Return the ids of all summaries that runs ever made for a profile."""
    condition = (DECISIONS.c.profile_id == profile_id, DECISIONS.c.action == Action.SUMMARISE.value)
    return frozenset(transaction.connection.scalars(sa.select(DECISIONS.c.memory_id).where(*condition)))


def changes_state(transaction: Transaction, profile_id: str, *, after: int, until: int, as_of: int) -> bool:
    """Return whether an event between two positions changes the state at an instant (microseconds since 1970)."""
    known = (EVENTS.c.occurred_at <= as_of) | (EVENTS.c.recorded_at <= as_of)
    erased = EVENTS.c.event_type == EventType.ERASED.value
    query = sa.select(EVENTS.c.seq).where(
        EVENTS.c.profile_id == profile_id, EVENTS.c.seq > after, EVENTS.c.seq <= until, known | erased
    )
    return transaction.connection.scalar(query.limit(1)) is not None


def profiles_storing(transaction: Transaction, memory_id: str) -> set[str]:
    """Return the profiles in which a memory of this id was stored. Cost: one pass over an index."""
    condition = (EVENTS.c.memory_id == memory_id, EVENTS.c.event_type == EventType.STORED.value)
    return set(transaction.connection.scalars(sa.select(EVENTS.c.profile_id).where(*condition)))


def _rows(transaction: Transaction, query: sa.Select[Any], values: Mapping[str, Any] | None = None) -> list[Row]:
    return [tuple(row) for row in transaction.connection.execute(query, values)]
