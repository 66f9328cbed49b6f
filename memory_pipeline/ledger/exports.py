"""Where copies of the store's texts were written, so that the receipt of an erasure can name them."""

from datetime import datetime
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from memory_pipeline.ledger.database import META, Transaction
from memory_pipeline.ledger.payloads import written

_PREFIX: Final = "export "
"""Beginning of the keys in the table `meta`; the rest is the path."""


def note(transaction: Transaction, path: Path, *, at: datetime) -> None:
    """Note that a copy was written to a path outside the store."""
    key = f"{_PREFIX}{path.resolve()}"
    transaction.connection.execute(META.delete().where(META.c.key == key))
    transaction.connection.execute(META.insert().values(key=key, value=written(at)))


def noted(transaction: Transaction) -> list[tuple[Path, str]]:
    """Return the paths of copies that are still there, with the instants at which they were written."""
    query = sa.select(META.c.key, META.c.value).where(META.c.key.startswith(_PREFIX)).order_by(META.c.key)
    found = [(Path(key.removeprefix(_PREFIX)), at) for key, at in transaction.connection.execute(query)]
    return [(path, at) for path, at in found if path.exists()]
