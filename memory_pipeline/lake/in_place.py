"""Lets other programs read the files in place: the DuckLake catalogue (`ledger/ducklake.py`) records where they are."""

from contextlib import suppress

from memory_pipeline.lake.files import TABLES_PREFIX
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.ledger import catalog, ducklake
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.disk import writable
from memory_pipeline.ledger.ledger import Ledger


def update(ledger: Ledger, store: ObjectStore) -> None:
    """Fill the catalogue if it is missing or of another version, and record the new location of a moved store.

    A data folder that is read-only stays as it is. If recording a move fails, as on a full disk, the next opening
    records it; nothing in this program reads the catalogue. Raises LakeError: the catalogue is missing, and the store
    cannot be written.
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
