"""Redacts the ledger, the only change of rows already written: the transaction, and the note of what is left to do.

Not here: what is redacted, and how (`erasure/`).
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.ledger import catalog
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.event import COLUMNS, PIPELINE, Event
from memory_pipeline.ledger.ledger import position_in
from memory_pipeline.ledger.payloads import ERASED
from memory_pipeline.ledger.statements import add_events, note, noted
from memory_pipeline.ledger.tables import DEAD_LETTERS, DECISIONS, EVENTS, META, RUNS
from memory_pipeline.schemas import EventType

DOCUMENTS: Final = ("factors", "before", "after")
"""Columns of decisions that hold JSON documents."""

IDS: Final = ("session_id", "agent_id", "user_id", "instance_id")
"""Columns of events that may name a person."""

_PENDING: Final = "erasing"
"""Key of the pending erasure in the table `meta`."""


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """Changes of one erasure."""

    payloads: Mapping[int, str] = field(default_factory=dict)
    """New payloads, by position."""
    ids: Mapping[int, Mapping[str, str | None]] = field(default_factory=dict)
    """New values of `IDS`, by position."""
    scopes: Mapping[str, str] = field(default_factory=dict)
    """New scopes of the runs of `profile_id`, by their old ones."""
    profile_id: str = ""
    decisions: Sequence[Mapping[str, Any]] = ()
    """Rows of decisions with new signatures, reasons and documents."""
    dead_letters: Collection[str] = ()
    """Ids of the refused events to delete."""
    events: Sequence[Event] = ()
    """Events that record the erasure."""
    pending: str
    """What is left to do after the transaction, for `pending`."""


def apply(transaction: Transaction, redaction: Redaction) -> None:
    """Write the changes of an erasure, and note what is left to do."""
    connection = transaction.connection
    if redaction.payloads:
        update = EVENTS.update().where(EVENTS.c.seq == sa.bindparam("at")).values(payload=sa.bindparam("new"))
        connection.execute(update, [{"at": seq, "new": payload} for seq, payload in redaction.payloads.items()])
    if redaction.ids:
        columns = (
            EVENTS.update().where(EVENTS.c.seq == sa.bindparam("at")).values({n: sa.bindparam(f"new_{n}") for n in IDS})
        )
        connection.execute(
            columns, [{"at": seq} | {f"new_{name}": ids[name] for name in IDS} for seq, ids in redaction.ids.items()]
        )
    for old, new in redaction.scopes.items():
        of_profile = (RUNS.c.profile_id == redaction.profile_id, RUNS.c.scope == old)
        connection.execute(RUNS.update().where(*of_profile).values(scope=new))
    if redaction.decisions:
        _update_decisions(transaction, redaction.decisions)
    for letter_id in redaction.dead_letters:
        connection.execute(DEAD_LETTERS.delete().where(DEAD_LETTERS.c.letter_id == letter_id))
    if redaction.events:
        rows = [dict(zip(COLUMNS, event.row(), strict=True)) for event in redaction.events]
        add_events(transaction, rows)
    catalog.set_mark(transaction, Mark.ERASED, position_in(transaction))
    connection.execute(META.insert().values(key=_PENDING, value=redaction.pending))


def pending(transaction: Transaction) -> str | None:
    """Return what is left to do of an erasure that is not finished, or None."""
    return noted(transaction, _PENDING)


def profile_with_unfinished_erasure(transaction: Transaction) -> str | None:
    """Return the profile of an unfinished erasure, whose files may still hold erased texts; None without one."""
    text = pending(transaction)
    return None if text is None else str(json.loads(text)["receipt"]["profile_id"])


def erased_since(transaction: Transaction, seq: int) -> set[str]:
    """Return the profiles in which anything was erased after a position. Cost: one look-up if nothing was."""
    if catalog.mark(transaction, Mark.ERASED) <= seq:
        return set()
    erasures = sa.select(EVENTS.c.profile_id).where(EVENTS.c.seq > seq, EVENTS.c.event_type == EventType.ERASED.value)
    return set(transaction.connection.scalars(erasures))


def redacted_positions(transaction: Transaction, profile_id: str) -> list[int]:
    """Return the positions of a profile's redacted events. Cost: reads all its payloads."""
    redacted = EVENTS.c.payload.contains(f'"{ERASED}_at":"', autoescape=True)  # in a text its quotes are escaped
    condition = (EVENTS.c.profile_id == profile_id, EVENTS.c.event_type.not_in(PIPELINE), redacted)
    return list(transaction.connection.scalars(sa.select(EVENTS.c.seq).where(*condition).order_by(EVENTS.c.seq)))


def finish(transaction: Transaction) -> None:
    """Note that nothing is left to do."""
    note(transaction, _PENDING, None)


def decisions_of(transaction: Transaction, profile_id: str) -> list[dict[str, Any]]:
    """Return the rows of all decisions of a profile, those held back included."""
    query = sa.select(*DECISIONS.c).where(DECISIONS.c.profile_id == profile_id)
    return [dict(row) for row in transaction.connection.execute(query).mappings()]


def _update_decisions(transaction: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
    names = ("signature", "reason", *DOCUMENTS)
    key = (DECISIONS.c.profile_id == sa.bindparam("owner"), DECISIONS.c.decision_id == sa.bindparam("id"))
    values = [
        {"owner": row["profile_id"], "id": row["decision_id"]} | {f"new_{name}": row[name] for name in names}
        for row in rows
    ]
    update = DECISIONS.update().where(*key).values({name: sa.bindparam(f"new_{name}") for name in names})
    transaction.connection.execute(update, values)
