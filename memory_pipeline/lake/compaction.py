"""Compaction: moves the payloads of old events from the ledger's database to immutable files, losslessly.

The ledger keeps a row for every event forever: its id (to recognise a second delivery), when it happened and what it
concerns. Only the payload, nearly all of its size, moves to the table `payloads`; reading events fetches it from there.
Beyond an optional age, whole events are written to `archive/` before their payloads leave the store; the table `events`
is then the checkpoint from which every rebuild starts. Only the daily maintenance compacts and archives.
"""

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.lake import files, publishing
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.ledger import catalog, moved_payloads, redaction
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import LakeError, MissingFile, explained
from memory_pipeline.ledger.event import COLUMNS
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.schemas import TABLES

MOVED_AT_ONCE: Final = 50_000
"""Events of one file and one transaction: bounds memory, and how long writers wait."""

ARCHIVE_PREFIX: Final = "archive/"
"""Keys of the archives start with it."""

_TYPES: Final = dict.fromkeys(("seq", *COLUMNS), pl.String()) | dict.fromkeys(
    ("seq", "occurred_at", "recorded_at"), pl.Int64()
)
"""Columns of an archive; a type inferred from the first rows would not fit a later event that has what they lack."""


def compact(ledger: Ledger, store: ObjectStore, *, before: datetime) -> int:
    """Move the payloads of projected events recorded before an instant, shrink the database, and return their number.

    Each batch is written to a file, then moved in one transaction: after a crash at any point every payload is readable
    in exactly one place. Cost: about 10 µs per event; shrinking copies the rest of the database. Raises LakeError: the
    store cannot be written.
    """
    total = 0
    while moved := _move(ledger, store, before):
        total += moved
    if total:
        publishing.merge_small(ledger, store, table=TABLES["payloads"])
        ledger.database.shrink()
    return total


def archive(ledger: Ledger, store: ObjectStore, *, before: datetime) -> str | None:
    """Write compacted events that were recorded before an instant to a file of their own, then drop their payloads.

    The file in `archive/` has the columns of the ledger's events, payloads included, so that it can be read by itself
    and moved elsewhere. It is durable before anything is removed. Returns its key, or None if no event was that old, or
    an erasure is not finished. Raises LakeError: the store cannot be written, or another process is compacting it.
    """
    with ledger.exclusive():  # so that no erasure redacts meanwhile what the file is to hold
        with ledger.reading() as transaction:
            unfinished = redaction.profile_with_unfinished_erasure(transaction)
        return None if unfinished else _archive(ledger, store, before)


def _archive(ledger: Ledger, store: ObjectStore, before: datetime) -> str | None:
    table = TABLES["payloads"]
    with ledger.reading() as transaction:
        visible = catalog.visible(transaction, table.name)
        last = moved_payloads.last_moved(transaction, before=before)
    payloads = files.collect(store, [file.key for file in visible], table).sort(table.key)
    due = payloads.filter(pl.col("seq") <= last)
    if due.is_empty():
        return None
    first, final = int(due["seq"].min()), int(due["seq"].max())  # type: ignore[arg-type]
    key = f"{ARCHIVE_PREFIX}events-{first:012d}-{final:012d}.parquet"
    with explained(ledger.home):
        files.replace(store, key, _whole_events(ledger, due["seq"]))
    rest = payloads.join(due, on=table.key, how="anti", maintain_order="left")
    with publishing.unlisted_removed(ledger, store) as written:
        if rest.height:
            written.append(files.write(store, table.name, rest))
        with ledger.writing() as transaction:
            if not catalog.still_visible(transaction, visible):
                raise LakeError(f"{ledger.home}: another process is compacting the ledger; try again later")
            publishing.forget_files(transaction, store, visible)
            for file in written:
                publishing.add_file(transaction, store, table_name=table.name, file=file, seq=1)
    return key


def archives(store: ObjectStore) -> list[str]:
    """Return the keys of the archives, oldest first."""
    stored = store.list(f"{ARCHIVE_PREFIX}events-")
    return [archived.key for archived in stored if archived.key.endswith(".parquet")]


def read_payloads(store: ObjectStore, ledger: Ledger, positions: Collection[int]) -> dict[int, str]:
    """Read the payloads at some positions from the table `payloads` and, where it lacks them, from the archives."""
    keys = _payload_files(ledger)
    while True:
        payloads = dict[int, str]()
        with suppress(MissingFile):
            payloads = _payloads_in(ledger, store, keys, positions)
        before, keys = keys, _payload_files(ledger)
        if payloads.keys() >= set(positions) or keys == before:
            return payloads


def _payload_files(ledger: Ledger) -> list[str]:
    with ledger.reading() as transaction:
        return [file.key for file in catalog.visible(transaction, "payloads")]


def _payloads_in(ledger: Ledger, store: ObjectStore, keys: list[str], positions: Collection[int]) -> dict[int, str]:
    present = [key for key in keys if store.exists(key)]
    between = pl.col("seq").is_between(min(positions), max(positions))
    with explained(ledger.home):
        rows = files.collect(store, present, TABLES["payloads"], between, columns=["profile_id", "seq", "payload"])
        payloads = dict(rows.select("seq", "payload").iter_rows())
        for key in archives(store) if set(positions) - set(payloads) else ():
            archived = files.read(store, key, columns=["seq", "payload"]).filter(between)
            payloads |= dict(archived.iter_rows())
    return payloads


def _whole_events(ledger: Ledger, positions: pl.Series) -> pl.DataFrame:
    wanted = set(positions)
    rows = [row for row in ledger.read(min(wanted) - 1, until=max(wanted)) if row[0] in wanted]
    return pl.DataFrame(rows, schema=_TYPES, orient="row")


def _move(ledger: Ledger, store: ObjectStore, before: datetime) -> int:
    """Move one batch of payloads and return their number."""
    table = TABLES["payloads"]
    with ledger.reading() as transaction:
        erased = catalog.mark(transaction, Mark.ERASED)
        rows = moved_payloads.due(transaction, before=before, limit=MOVED_AT_ONCE)
    if not rows:
        return 0
    first, last = rows[0][1], rows[-1][1]
    with publishing.unlisted_removed(ledger, store) as written:
        frame = table.conform(pl.DataFrame(rows, schema=table.types, orient="row"))
        written.append(files.write(store, table.name, frame))
        with ledger.writing() as transaction:
            if catalog.mark(transaction, Mark.ERASED) != erased:
                return 0  # some of them may be redacted by now; the next maintenance moves them
            if moved_payloads.mark_moved(transaction, before=before, first=first, last=last) != len(rows):
                raise LakeError(f"{ledger.home}: another process is compacting the ledger; try again later")
            publishing.add_file(transaction, store, table_name=table.name, file=written[0], seq=first)
    return len(rows)
