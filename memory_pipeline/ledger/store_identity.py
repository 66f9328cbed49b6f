"""The identity of a store, recorded in its ledger: an id that the first commit gives it, and an epoch.

Not here: the lake's copy, and what it means if the two differ (`lake/identity.py`).
"""

from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.ledger import position_in
from memory_pipeline.ledger.statements import note
from memory_pipeline.ledger.tables import META, STORE_KEY


class _Key(StrEnum):
    """Keys in the table `meta`."""

    STORE = STORE_KEY
    EPOCH = "epoch"


@dataclass(frozen=True)
class Identity:
    """Identity of a store at a time."""

    store: str
    """Id of the store, 32 hex digits; empty before the first commit."""
    epoch: int
    """How often an older ledger was accepted."""
    position: int
    """Ledger position."""


def of_ledger(transaction: Transaction) -> Identity:
    """Return the identity that the ledger holds."""
    query = sa.select(META.c.key, META.c.value).where(META.c.key.in_([key.value for key in _Key]))
    held = dict(transaction.connection.execute(query).all())
    return Identity(held.get(_Key.STORE, ""), int(held.get(_Key.EPOCH, 0)), position_in(transaction))


def record(transaction: Transaction, identity: Identity) -> None:
    """Write id and epoch in place of those that the ledger holds."""
    for key, value in ((_Key.STORE, identity.store), (_Key.EPOCH, str(identity.epoch))):
        note(transaction, key.value, value)
