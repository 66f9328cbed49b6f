"""Publishing: writes new files of a table and makes them visible in one transaction of the ledger.

Every change is retried if another process published meanwhile, or an erasure swept the new files. The transaction that
publishes refuses rows made from text that was erased after it was read.
"""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Final, TypeVar

import polars as pl

from memory_pipeline.lake import files
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.ledger import catalog, event, redaction
from memory_pipeline.ledger.catalog import Mark, NewFile
from memory_pipeline.ledger.database import LakeError, MissingFile, Transaction, explained
from memory_pipeline.ledger.ledger import Ledger, position_in
from memory_pipeline.ledger.lost_payloads import LostPayloads
from memory_pipeline.ledger.tables import File
from memory_pipeline.schemas import TABLES, Table

MERGE_FILES: Final = 16
"""Files of similar size that a growing table may have; one more, and they are merged."""

_LARGEST_MERGED: Final = 1_000_000
"""Files with more rows are left as they are."""

_WORTH_REWRITING: Final = 0.1
"""Share of its rows that a file must lose to be rewritten: so a table is at most a ninth larger than what it keeps."""

BUCKET_ROWS: Final = 250_000
"""A table with more rows is split into buckets of profiles."""

BUCKETS: Final = 16
"""Buckets of such a table; a commit rewrites only those of its profiles."""

_AT_ONCE: Final = 8
"""Files that a commit writes, or looks for, side by side: it mostly waits for the disk or the object store."""

_ATTEMPTS: Final = 4
"""Attempts while others publish, before they are locked out."""

T = TypeVar("T")


class _Swept(MissingFile):
    """A new file was swept before it could be published."""


@dataclass(frozen=True)
class _Change:
    """Files of a table that replace others."""

    table_name: str
    removed: list[File]
    added: list[tuple[int, NewFile]]
    """Bucket and file."""


def add_rows(ledger: Ledger, store: ObjectStore, *, table: Table, rows: pl.DataFrame, since: int) -> int:
    """Add the rows whose key is new to a growing table and return their number.

    Rows of profiles in which anything was erased after `since` are left out: the position up to which their sources
    were read.
    """

    def attempt() -> int | None:
        with ledger.reading() as transaction:
            before = catalog.visible(transaction, table.name)
            erased = redaction.erased_since(transaction, since)
        kept = rows.filter(~pl.col("profile_id").is_in(sorted(erased)))
        profiles = kept["profile_id"].unique().to_list()
        with unlisted_removed(ledger, store) as written:
            keys = [file.key for file in before]
            existing = files.collect(store, keys, table, pl.col("profile_id").is_in(profiles), columns=table.key)
            new = kept.join(existing, on=table.key, how="anti", maintain_order="left")
            if new.is_empty():
                return 0
            written.append(files.write(store, table.name, new))
            with ledger.writing() as transaction:
                if (
                    catalog.visible(transaction, table.name) != before
                    or redaction.erased_since(transaction, since) != erased
                ):
                    return None
                add_file(transaction, store, table_name=table.name, file=written[0], seq=position_in(transaction))
        return new.height

    return _until_published(ledger, attempt)


def merge_small(ledger: Ledger, store: ObjectStore, *, table: Table) -> None:
    """Merge the files of a growing table where many are of similar size; readers of the old files are not disturbed.

    A row is rewritten each time the size of its file grows sixteenfold. The merged file is visible from the first
    position of its parts, which is harmless: events carry their own position, and what is extracted from a text depends
    on that text alone.
    """
    with ledger.reading() as transaction:
        visible = catalog.visible(transaction, table.name)
    by_size: dict[int, list[File]] = {}
    for file in visible:
        if file.rows <= _LARGEST_MERGED:
            by_size.setdefault(file.rows.bit_length() // 4, []).append(file)
    for _, parts in sorted(by_size.items()):
        if len(parts) > MERGE_FILES:
            _merge(ledger, store, table, parts)


def drop_rows(ledger: Ledger, store: ObjectStore, *, table: Table, which: pl.Expr) -> int:
    """Drop rows of a growing table, from files that would lose many, and return their number; nothing brings them back.

    Readers of the old files are not disturbed.
    """
    with ledger.reading() as transaction:
        visible = catalog.visible(transaction, table.name)
    return sum(_drop(ledger, store, table, file, which) for file in visible)


def add_events(ledger: Ledger, store: ObjectStore, *, limit: int) -> int | None:
    """Add the next events of the ledger, at most `limit`, to the table `events`.

    Returns the position up to which the table was complete before, if no event is left; None while some may be.
    """
    with ledger.reading() as transaction:
        after, erased = (catalog.mark(transaction, name) for name in (Mark.PROJECTED, Mark.ERASED))
    rows = ledger.read(after, limit=limit)
    if not rows:
        return after
    with suppress(_Swept), unlisted_removed(ledger, store) as written:
        written.append(files.write(store, "events", event.frame(rows)))
        with ledger.writing() as transaction:
            now = (catalog.mark(transaction, name) for name in (Mark.PROJECTED, Mark.ERASED))
            if (after, erased) == tuple(now):  # else another process has added them, or an erasure redacted some
                add_file(transaction, store, table_name="events", file=written[0], seq=after + 1)
                catalog.set_mark(transaction, Mark.PROJECTED, rows[-1][0])
    return None


def replace_events(ledger: Ledger, store: ObjectStore, *, damaged: Collection[File], limit: int) -> None:
    """Replace damaged files of the table `events` by what the ledger holds at their positions, in one transaction.

    All other files are intact; a new one has at most `limit` events. Raises LakeError: some of these positions cannot
    be read again, or others published meanwhile; nothing was changed.
    """
    with ledger.reading() as transaction:
        visible = catalog.visible(transaction, "events")
        projected, erased = (catalog.mark(transaction, name) for name in (Mark.PROJECTED, Mark.ERASED))
    intact = [file.key for file in visible if file not in damaged]
    added, lost = list[int](), list[int]()
    with unlisted_removed(ledger, store) as written:
        held = files.collect(store, intact, TABLES["events"], columns=["seq"])["seq"]
        for after, until in _between(held, projected, limit):
            try:
                rows = ledger.read(after, until)
            except LostPayloads as error:
                lost.extend(error.positions)
                continue
            if rows:
                written.append(files.write(store, "events", event.frame(rows)))
                added.append(after + 1)
        if lost:
            raise LostPayloads(ledger.home, lost, "nothing was changed; restore lake/events,")
        with ledger.writing() as transaction:
            if not catalog.still_visible(transaction, visible) or catalog.mark(transaction, Mark.ERASED) != erased:
                raise LakeError(f"{ledger.home}: others published meanwhile, so nothing was changed; try again")
            forget_files(transaction, store, damaged)
            for seq, file in zip(added, written, strict=True):
                add_file(transaction, store, table_name="events", file=file, seq=seq)


def replace_rows(
    ledger: Ledger,
    store: ObjectStore,
    *,
    standing: Callable[[Transaction], Sequence[str]],
    tables: Mapping[str, pl.DataFrame],
    record: Callable[[Transaction, Sequence[str]], dict[str, int]],
    unchanged: Collection[str] = (),
) -> dict[str, int]:
    """Replace the rows of some profiles and record the change in the ledger, in one transaction.

    Rows of accumulated tables are added; none is replaced.

    Args:
        standing: returns the profiles whose rows may still be replaced, or raises Conflict; the others stay as they
            are.
        record: writes the events of the change of these profiles and returns the position of each one's.
        unchanged: profiles whose rows stay as they are; only the change is recorded.
    """
    others = ~pl.col("profile_id").is_in(sorted(unchanged))
    new = {name: TABLES[name].conform(frame.filter(others) if unchanged else frame) for name, frame in tables.items()}

    def attempt() -> dict[str, int] | None:
        with ledger.reading() as transaction:
            names = standing(transaction)
            before = catalog.visible_by_table(transaction, new)
        if not names:
            return {}
        changed = [name for name in names if name not in unchanged]
        of_changed = pl.col("profile_id").is_in(changed)
        own = {name: rows if rows.is_empty() else rows.filter(of_changed) for name, rows in new.items()}
        with unlisted_removed(ledger, store) as written:

            def write(name: str) -> _Change:
                return _changed(store, TABLES[name], before[name], own[name], changed, written)

            with ThreadPoolExecutor(_AT_ONCE) as threads:
                changes = list(threads.map(write, new if changed else ()))
            with ledger.writing() as transaction:
                removed = [file for change in changes for file in change.removed]
                if standing(transaction) != names or not catalog.still_visible(transaction, removed):
                    return None
                positions = record(transaction, names)
                _swap(transaction, store, changes, seq=min(positions.values()))
        return positions

    return _until_published(ledger, attempt)


def add_file(
    transaction: Transaction, store: ObjectStore, *, table_name: str, file: NewFile, seq: int, bucket: int = 0
) -> None:
    """Make a file visible from position `seq` on.

    Raises LakeError: the file was swept: by an erasure, or by a sweep that allowed no time for unfinished work.
    """
    if not store.exists(file.key):
        raise _swept(store, file)
    catalog.add(transaction, [(table_name, bucket, file)], seq=seq)


def forget_files(transaction: Transaction, store: ObjectStore, forgotten: Iterable[File]) -> None:
    """Drop files from the catalogue; touch them, so that sweeps spare them while they may still be read."""
    for file in forgotten:
        store.touch(file.key)
        catalog.forget(transaction, [file])


def bucket_of(profile_id: str) -> int:
    """Return the bucket of a large table that holds a profile's rows, from 1."""
    return 1 + shard_of(profile_id, BUCKETS)


def shard_of(profile_id: str, shards: int) -> int:
    """Return the shard of a profile, from 0: where `shards` divides `BUCKETS`, the files of a shard hold no other."""
    return zlib.crc32(profile_id.encode()) % shards


@contextmanager
def unlisted_removed(ledger: Ledger, store: ObjectStore) -> Iterator[list[NewFile]]:
    """Yield a list for new files; on exit, delete those that the catalogue does not list.

    Only the catalogue knows whether an interrupted transaction was committed.
    """
    written: list[NewFile] = []
    try:
        with explained(ledger.home):
            yield written
    finally:
        with ledger.reading() as transaction:
            listed = catalog.listed(transaction, [file.key for file in written])
        for file in written:
            if file.key not in listed:
                store.delete(file.key)


def _swap(transaction: Transaction, store: ObjectStore, changes: Sequence[_Change], *, seq: int) -> None:
    """Make all changes visible from the first position of a commit, so that any of its positions shows all of them."""
    added = [(change.table_name, bucket, file) for change in changes for bucket, file in change.added]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        present = threads.map(store.exists, [file.key for *_, file in added])
    catalog.remove(transaction, [file for change in changes for file in change.removed], seq=seq)
    for (*_, file), is_present in zip(added, present, strict=True):
        if not is_present:
            raise _swept(store, file)
    catalog.add(transaction, added, seq=seq)


def _swept(store: ObjectStore, file: NewFile) -> _Swept:
    return _Swept(f"{store.uri(file.key)} was swept before it could be published; try again")


def _merge(ledger: Ledger, store: ObjectStore, table: Table, parts: Sequence[File]) -> None:
    with suppress(MissingFile), unlisted_removed(ledger, store) as written:  # what was replaced meanwhile can wait
        rows = files.collect(store, [file.key for file in parts], table).sort(table.key)
        written.append(files.write(store, table.name, rows))
        with ledger.writing() as transaction:
            if catalog.still_visible(transaction, parts):
                seq = min(file.added_seq for file in parts)
                forget_files(transaction, store, parts)
                add_file(transaction, store, table_name=table.name, file=written[0], seq=seq)


def _drop(ledger: Ledger, store: ObjectStore, table: Table, file: File, which: pl.Expr) -> int:
    """Drop rows of one file, and return their number; 0 if they are too few, or the file was replaced meanwhile."""
    with suppress(MissingFile), unlisted_removed(ledger, store) as written:
        dropped = files.collect(store, [file.key], table, which, columns=["profile_id"]).height
        if dropped < max(1, file.rows * _WORTH_REWRITING):
            return 0
        if dropped < file.rows:
            written.append(files.write(store, table.name, files.collect(store, [file.key], table, ~which)))
        with ledger.writing() as transaction:
            if not catalog.still_visible(transaction, [file]):
                return 0
            forget_files(transaction, store, [file])
            for new in written:
                add_file(transaction, store, table_name=table.name, file=new, seq=file.added_seq)
        return dropped
    return 0


def _changed(
    store: ObjectStore,
    table: Table,
    before: Sequence[File],
    new: pl.DataFrame,
    profiles: Sequence[str],
    written: list[NewFile],
) -> _Change:
    """Write the files of a table with new rows of some profiles and return which files they replace."""

    def write(rows: pl.DataFrame, bucket: int) -> tuple[int, NewFile]:
        file = files.write(store, table.name, rows)
        written.append(file)
        return bucket, file

    if table.write_mode == "accumulated":
        return _Change(table.name, removed=[], added=[write(new, 0)] if new.height else [])
    split = any(file.bucket for file in before)
    large = split or sum(file.rows for file in before) + new.height > BUCKET_ROWS
    buckets = {bucket_of(profile_id) for profile_id in profiles}
    touched = [file for file in before if file.bucket in buckets] if split else list(before)
    others = files.collect(store, [file.key for file in touched], table, ~pl.col("profile_id").is_in(profiles))
    rows = pl.concat([others, new]).sort(table.key) if others.height else new
    added = [write(part, bucket) for bucket, part in (_by_bucket(rows) if large else [(0, rows)]) if part.height]
    same = {(file.bucket, file.sha256) for file in touched} & {(bucket, file.sha256) for bucket, file in added}
    return _Change(
        table.name,
        removed=[file for file in touched if (file.bucket, file.sha256) not in same],
        added=[(bucket, file) for bucket, file in added if (bucket, file.sha256) not in same],
    )


def _by_bucket(rows: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    profiles = rows["profile_id"].unique().to_list()
    buckets = pl.DataFrame(
        {"profile_id": profiles, "bucket": [bucket_of(profile_id) for profile_id in profiles]},
        schema={"profile_id": pl.String, "bucket": pl.Int64},
    )
    parts = rows.join(buckets, on="profile_id", maintain_order="left").partition_by(
        "bucket", as_dict=True, maintain_order=True
    )
    return [(int(bucket), part.drop("bucket")) for (bucket,), part in sorted(parts.items())]


def _between(held: pl.Series, last: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the position before and the last one of each unpublished range up to `last`, at most `limit` long."""
    ends = pl.concat([pl.Series([0]), held.unique().sort(), pl.Series([last + 1])]).rename("after").to_frame()
    gaps = ends.with_columns(next=pl.col("after").shift(-1)).filter(pl.col("next") > pl.col("after") + 1)
    for after, following in gaps.iter_rows():
        for start in range(after, following - 1, limit):
            yield start, min(start + limit, following - 1)


def _until_published(ledger: Ledger, attempt: Callable[[], T | None]) -> T:
    """Call `attempt` until no other process has published meanwhile; the last time, lock the others out."""
    problem = LakeError(f"{ledger.home}: others published {_ATTEMPTS} times meanwhile; try again")
    for number in range(_ATTEMPTS + 1):
        with ledger.exclusive() if number == _ATTEMPTS else nullcontext():
            try:
                result = attempt()
            except MissingFile as missing:  # an erasure swept it meanwhile, unless it is lost
                problem, result = missing, None
        if result is not None:
            return result
    raise problem
