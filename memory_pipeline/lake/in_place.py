"""Lets other programs read the files where they are: sees that the DuckLake catalogue is there and names their place.

Not here: the catalogue, and how each change is made there too (`ledger/ducklake.py`).
"""

from contextlib import suppress

from memory_pipeline.lake.files import TABLES_PREFIX
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.ledger import catalog, ducklake
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.disk import writable
from memory_pipeline.ledger.ledger import Ledger


def keep(ledger: Ledger, store: ObjectStore) -> None:
    """Fill the catalogue that is missing or of another version, and note that a store has moved.

    A data folder that is read-only stays as it is. A move that cannot be noted now, as on a full disk, is noted by the
    next opening: nothing of this program reads the catalogue.

    Raises:
        LakeError: the catalogue is missing, and the store cannot be written.
    """
    url = store.uri("") if store.elsewhere else f"file://{ledger.home}/"  # DuckDB decodes no percent signs
    with ledger.reading() as transaction:
        there = ducklake.place(transaction)
    if there == url or not writable(ledger.home):
        return
    can_wait = (LakeError,) if there else ()
    with suppress(*can_wait), ledger.writing() as transaction:
        there = ducklake.place(transaction)  # again: another process may have done it
        if there is None:
            ducklake.fill(
                transaction,
                url,
                files=catalog.every(transaction),
                sizes={stored.key: stored.size for stored in store.list(TABLES_PREFIX)},
                oldest=catalog.mark(transaction, Mark.OLDEST),
            )
        elif there != url:
            ducklake.move(transaction, url)
