"""Where copies of the store's texts were written, so that the receipt of an erasure can name them."""

import json
from datetime import datetime
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from memory_pipeline.ledger.database import META, Transaction
from memory_pipeline.ledger.payloads import canonical_json, written

_PREFIX: Final = "export "
"""Beginning of the keys in the table `meta`; the rest is the path."""


def note(transaction: Transaction, path: Path, *, at: datetime, profile_id: str | None = None) -> None:
    """Note that a copy was written to a path outside the store.

    Args:
        transaction: writes the ledger.
        path: file or folder.
        at: when it was written.
        profile_id: whose texts it holds; None: everybody's.
    """
    key = f"{_PREFIX}{path.resolve()}"
    transaction.connection.execute(META.delete().where(META.c.key == key))
    transaction.connection.execute(META.insert().values(key=key, value=canonical_json([written(at), profile_id])))


def noted(transaction: Transaction, profile_id: str) -> list[tuple[Path, str]]:
    """Return the paths of copies that may hold texts of a profile and are still there, and when they were written."""
    query = sa.select(META.c.key, META.c.value).where(META.c.key.startswith(_PREFIX)).order_by(META.c.key)
    found = [
        (Path(key.removeprefix(_PREFIX)), *json.loads(value)) for key, value in transaction.connection.execute(query)
    ]
    return [(path, at) for path, at, owner in found if owner in {None, profile_id} and path.exists()]
