"""Sets back the instants of events that were recorded by a clock that ran ahead.

Beside an erasure this is the only change of events that stand in the ledger: their instants are wrong, and everything
else about them stays. Not here: runs of that clock, which are undone (`runs/undo`), and events that agents themselves
date into the future, which are refused.
"""

from datetime import datetime

import sqlalchemy as sa

from memory_pipeline.ledger import catalog
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.event import CLOCK_SKEW, PIPELINE, micros
from memory_pipeline.ledger.ledger import position_in
from memory_pipeline.ledger.tables import EVENTS
from memory_pipeline.schemas import EventType


def ahead(transaction: Transaction, now: datetime) -> dict[str, int]:
    """Return how many memories of each profile were stored by a clock that ran ahead of `now`.

    Cost: reads the instants of all events.
    """
    stored = (_ahead(now), EVENTS.c.event_type == EventType.STORED.value)
    counted = sa.select(EVENTS.c.profile_id, sa.func.count().label("memories")).where(*stored)
    query = counted.group_by(EVENTS.c.profile_id)
    rows = transaction.connection.execute(query.order_by(EVENTS.c.profile_id))
    return {row.profile_id: row.memories for row in rows}


def set_back(transaction: Transaction, now: datetime) -> int:
    """Date the events that a clock recorded ahead of `now` to when they were recorded, and return their number.

    Each comes a microsecond before what was recorded next, by a clock that was right, or else before `now`: nothing
    outranks what is newer. What was said to have occurred earlier keeps that instant.
    """
    latest, connection, dated = micros(now), transaction.connection, list[dict[str, int]]()
    first = sa.select(sa.func.min(EVENTS.c.seq)).where(_ahead(now)).scalar_subquery()
    columns = (EVENTS.c.seq, EVENTS.c.occurred_at, EVENTS.c.recorded_at, _ahead(now).label("ahead"))
    rows = connection.execute(sa.select(*columns).where(EVENTS.c.seq >= first).order_by(EVENTS.c.seq.desc()))
    for seq, occurred, recorded, is_ahead in rows:
        if is_ahead:
            latest -= 1
            dated.append({"position": seq, "recorded": latest, "occurred": min(occurred, latest)})
        else:
            latest = min(latest, recorded)
    new: dict[str, sa.BindParameter[int]] = {
        "recorded_at": sa.bindparam("recorded"),
        "occurred_at": sa.bindparam("occurred"),
    }
    if dated:
        connection.execute(EVENTS.update().where(EVENTS.c.seq == sa.bindparam("position")).values(new), dated)
        catalog.set_mark(transaction, Mark.ERASED, position_in(transaction))  # who read them before reads again
    return len(dated)


def _ahead(now: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(EVENTS.c.recorded_at > micros(now + CLOCK_SKEW), EVENTS.c.event_type.not_in(PIPELINE))
