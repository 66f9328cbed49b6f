"""Sets back the instants of events that were recorded by a clock that ran ahead.

Beside an erasure this is the only change of events that stand in the ledger: their instants are wrong, and everything
else about them stays. Not here: runs of that clock, which are undone (`runs/undo`), and events that agents themselves
date into the future, which are refused.
"""

import json
from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.consolidation.expiry import EXPIRES
from memory_pipeline.ledger import catalog, payloads
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.event import CLOCK_SKEW, PIPELINE, micros
from memory_pipeline.ledger.ledger import position_in
from memory_pipeline.ledger.statements import note, noted
from memory_pipeline.ledger.tables import EVENTS, MOVED
from memory_pipeline.schemas import EventType

_UNSHOWN: Final = "dated_back"
"""Key in the table `meta`: profiles with events that were dated back, until their tables are published with them."""


def ahead(transaction: Transaction, now: datetime) -> dict[str, int]:
    """Return how many memories of each profile a clock ahead of `now` stored. Cost: reads all events' instants."""
    stored = (_ahead(now), EVENTS.c.event_type == EventType.STORED.value)
    counted = sa.select(EVENTS.c.profile_id, sa.func.count().label("memories")).where(*stored)
    query = counted.group_by(EVENTS.c.profile_id)
    rows = transaction.connection.execute(query.order_by(EVENTS.c.profile_id))
    return {row.profile_id: row.memories for row in rows}


def set_back(transaction: Transaction, now: datetime) -> Counter[str]:
    """Date the events that a clock recorded ahead of `now` to when they were recorded; return how many by profile.

    Each comes a microsecond before what was recorded next, by a clock that was right, or else before `now`: nothing
    outranks what is newer. What was said to have occurred earlier keeps that instant. A memory that was stored for a
    time ends as much earlier as it is dated back. `unshown` names the profiles from then on.
    """
    latest, connection, dated = micros(now), transaction.connection, list[dict[str, Any]]()
    counts = Counter[str]()
    first = sa.select(sa.func.min(EVENTS.c.seq)).where(_ahead(now)).scalar_subquery()
    payload = sa.case((_ahead(now), EVENTS.c.payload))
    columns = (EVENTS.c.seq, EVENTS.c.profile_id, EVENTS.c.occurred_at, EVENTS.c.recorded_at, payload)
    rows = connection.execute(sa.select(*columns).where(EVENTS.c.seq >= first).order_by(EVENTS.c.seq.desc()))
    for seq, profile_id, occurred, recorded, text in rows:
        if text is None:
            latest = min(latest, recorded)
            continue
        latest -= 1
        counts[profile_id] += 1
        then = min(occurred, latest)
        ends = _ending(text, timedelta(microseconds=occurred - then))
        dated.append({"position": seq, "recorded": latest, "occurred": then, "text": ends})
    new: dict[str, sa.BindParameter[Any]] = {
        "recorded_at": sa.bindparam("recorded"),
        "occurred_at": sa.bindparam("occurred"),
        "payload": sa.bindparam("text"),
    }
    if dated:
        connection.execute(EVENTS.update().where(EVENTS.c.seq == sa.bindparam("position")).values(new), dated)
        catalog.set_mark(transaction, Mark.ERASED, position_in(transaction))  # who read them before reads again
        note(transaction, _UNSHOWN, json.dumps(sorted({*unshown(transaction), *counts})))
    return counts


def unshown(transaction: Transaction) -> list[str]:
    """Return the profiles with events that were dated back and that no published table shows at their new instant."""
    return list(json.loads(noted(transaction, _UNSHOWN) or "[]"))


def set_shown(transaction: Transaction, profiles: Collection[str]) -> None:
    """Note that the tables of profiles were published with what was dated back."""
    left = [name for name in unshown(transaction) if name not in profiles]
    note(transaction, _UNSHOWN, json.dumps(left) if left else None)


def _ending(payload: str, earlier: timedelta) -> str:
    """Return a payload that, if it is of a memory stored for a time, ends so much earlier."""
    if payload == MOVED or EXPIRES not in payload:
        return payload
    document = json.loads(payload)
    metadata, until = document.get("metadata"), document.get("valid_until")
    if until is None or not (isinstance(metadata, str) and json.loads(metadata).get(EXPIRES) is True):
        return payload
    return payloads.canonical_json(
        document | {"valid_until": payloads.written(datetime.fromisoformat(until) - earlier)}
    )


def _ahead(now: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(EVENTS.c.recorded_at > micros(now + CLOCK_SKEW), EVENTS.c.event_type.not_in(PIPELINE))
