"""Payloads of old events that compaction moves from the database to files: which are due, and marking them as moved."""

from collections.abc import Iterator
from datetime import datetime

import sqlalchemy as sa

from memory_pipeline.ledger import catalog
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.event import PIPELINE, micros
from memory_pipeline.ledger.tables import EVENTS, MOVED


def due(transaction: Transaction, *, before: datetime, limit: int) -> list[tuple[str, int, str]]:
    """Return profile, position and payload of the first projected agents' events recorded before an instant."""
    query = sa.select(EVENTS.c.profile_id, EVENTS.c.seq, EVENTS.c.payload).where(*_due(transaction, before))
    return [tuple(row) for row in transaction.connection.execute(query.order_by(EVENTS.c.seq).limit(limit))]


def mark_moved(transaction: Transaction, *, before: datetime, first: int, last: int) -> int:
    """Empty the payloads that are due between two positions, both included, and return their number."""
    condition = (*_due(transaction, before), EVENTS.c.seq.between(first, last))
    return transaction.connection.execute(EVENTS.update().where(*condition).values(payload=MOVED)).rowcount


def last_moved(transaction: Transaction, *, before: datetime) -> int:
    """Return the last position of an event with a moved payload that was recorded before an instant; 0 if none was."""
    condition = (EVENTS.c.recorded_at < micros(before), EVENTS.c.payload == MOVED)
    return transaction.connection.scalar(sa.select(sa.func.max(EVENTS.c.seq)).where(*condition)) or 0


def _due(transaction: Transaction, before: datetime) -> Iterator[sa.ColumnElement[bool]]:
    yield EVENTS.c.seq <= catalog.mark(transaction, Mark.PROJECTED)
    yield EVENTS.c.recorded_at < micros(before)
    yield EVENTS.c.event_type.not_in(PIPELINE)
    yield EVENTS.c.payload != MOVED
