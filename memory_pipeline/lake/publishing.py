"""How tables change: new files beside the old ones, then one transaction that makes them seen.

Here: adding rows, merging small files, and putting new rows of some profiles in the place of their old ones. All of it
is done again if somebody else published meanwhile. What is not here: the files' bytes (`lake/files.py`), which of them
are seen (`lake/catalog.py`) and what a commit writes beside them (`ledger/commits.py`).
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import polars as pl
import sqlalchemy as sa

from memory_pipeline.lake import catalog, files
from memory_pipeline.lake.catalog import File, Mark
from memory_pipeline.lake.files import Written
from memory_pipeline.ledger import commits
from memory_pipeline.ledger.database import LakeError, explained
from memory_pipeline.ledger.ledger import Ledger, position_in
from memory_pipeline.schemas import TABLES, Table

MERGE_FILES: Final = 16
"""Files of like size that a growing table may have; when there is one more, they become one."""

_LARGEST_MERGED: Final = 1_000_000
"""Files of more rows are left as they are."""

BUCKET_ROWS: Final = 1_000_000
"""A table of more rows is split into buckets of profiles."""

BUCKETS: Final = 16
"""Parts of such a table; a commit rewrites only the parts of its profiles."""

_ATTEMPTS: Final = 4
"""How often work is done again because others published meanwhile, before they are kept out."""

T = TypeVar("T")


@dataclass(frozen=True)
class _Change:
    """Files of a table that take the place of others."""

    table_name: str
    removed: list[File]
    added: list[tuple[int, Written]]
    """Bucket and file."""


def folder(home: Path, table_name: str) -> Path:
    """Return where the files of a table are."""
    return home / "lake" / table_name


def add_rows(ledger: Ledger, table: Table, rows: pl.DataFrame) -> int:
    """Add those rows whose key is new to a growing table, and return how many they are."""
    own = rows["profile_id"].unique().to_list()

    def attempt() -> int | None:
        with ledger.reading() as connection:
            seen = catalog.visible(connection, table.name)
        with tidy(ledger) as written:
            paths = [ledger.home / file.path for file in seen]
            known = files.collect(paths, table, pl.col("profile_id").is_in(own), columns=table.key)
            new = rows.join(known, on=table.key, how="anti", maintain_order="left")
            if new.is_empty():
                return 0
            written.append(files.write(folder(ledger.home, table.name), new))
            with ledger.writing() as connection:
                if catalog.visible(connection, table.name) != seen:
                    return None
                catalog.add(connection, table.name, written[0], ledger.home, seq=position_in(connection))
        return new.height

    return _persistently(ledger, attempt)


def merge_small(ledger: Ledger, table: Table) -> None:
    """Merge files of a growing table that are many and of like size; who reads the old ones goes on reading them.

    A row is rewritten once each time its file's size grows sixteenfold. The merged file is seen from the first
    position of any of its parts on: events say themselves from where on they count, and what is read out of a text
    depends on the text alone, so that nobody minds seeing it early.
    """
    with ledger.reading() as connection:
        seen = catalog.visible(connection, table.name)
    sizes: dict[int, list[File]] = {}
    for file in seen:
        if file.rows <= _LARGEST_MERGED:
            sizes.setdefault(file.rows.bit_length() // 4, []).append(file)
    for _, alike in sorted(sizes.items()):
        if len(alike) > MERGE_FILES:
            _merge(ledger, table, alike)


def add_events(ledger: Ledger, frame: pl.DataFrame, *, after: int) -> bool:
    """Add a stretch of the ledger to the table `events`; False if somebody else has added it meanwhile.

    Args:
        ledger: where the catalogue is.
        frame: all events after a position, up to some later one, in order.
        after: that position.
    """
    with tidy(ledger) as written:
        written.append(files.write(folder(ledger.home, "events"), frame))
        with ledger.writing() as connection:
            if catalog.marked(connection, Mark.PROJECTED) != after:
                return False
            catalog.add(connection, "events", written[0], ledger.home, seq=after + 1)
            catalog.set_mark(connection, Mark.PROJECTED, frame["seq"][-1])
    return True


def replace_rows(
    ledger: Ledger,
    profiles: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    record: Callable[[sa.Connection], dict[str, int]],
) -> dict[str, int]:
    """Put new rows of some profiles in the place of their old ones, and write to the ledger why: all or nothing.

    Rows of accrued tables are added; nothing of theirs is replaced.

    Args:
        ledger: where the catalogue is.
        profiles: whose rows, and the head from which they were made (the table `profiles`).
        tables: the new rows.
        record: writes the events of the change and returns the position of each profile's.

    Raises:
        Conflict: a head has moved.
    """
    own = profiles["profile_id"].to_list()
    new = {name: TABLES[name].conform(frame) for name, frame in tables.items()}

    def attempt() -> dict[str, int] | None:
        with ledger.reading() as connection:
            commits.verify(connection, profiles)
            seen = {name: catalog.visible(connection, name) for name in new}
        with tidy(ledger) as written:
            changes = [_merged(ledger.home, TABLES[name], seen[name], new[name], own, written) for name in new]
            with ledger.writing() as connection:
                commits.verify(connection, profiles)
                if not all(catalog.still_visible(connection, change.removed) for change in changes):
                    return None
                positions = record(connection)
                # Seen from the first of these positions on: whoever asks for any of them finds all tables changed.
                seq = min(positions.values())
                for change in changes:
                    catalog.remove(connection, change.removed, seq=seq)
                    for bucket, file in change.added:
                        catalog.add(connection, change.table_name, file, ledger.home, seq=seq, bucket=bucket)
        return positions

    return _persistently(ledger, attempt) if own else {}


def bucket_of(profile_id: str) -> int:
    """Return the part of a large table that holds a profile's rows, from 1."""
    return 1 + zlib.crc32(profile_id.encode()) % BUCKETS


def _merge(ledger: Ledger, table: Table, parts: Sequence[File]) -> None:
    with tidy(ledger) as written:
        rows = files.collect([ledger.home / file.path for file in parts], table).sort(table.key)
        written.append(files.write(folder(ledger.home, table.name), rows))
        with ledger.writing() as connection:
            if catalog.still_visible(connection, parts):
                seq = min(file.added_seq for file in parts)
                catalog.forget(connection, parts, ledger.home)
                catalog.add(connection, table.name, written[0], ledger.home, seq=seq)


def _merged(
    home: Path, table: Table, seen: Sequence[File], new: pl.DataFrame, own: Sequence[str], written: list[Written]
) -> _Change:
    """Write the files of a table with new rows of some profiles, and say which old files they replace."""
    if table.write_mode == "accrued":
        if new.height:
            written.append(files.write(folder(home, table.name), new))
        return _Change(table.name, removed=[], added=[(0, written[-1])] if new.height else [])
    split = any(file.bucket for file in seen)
    large = split or sum(file.rows for file in seen) + new.height > BUCKET_ROWS
    buckets = {bucket_of(profile_id) for profile_id in own}
    touched = [file for file in seen if file.bucket in buckets] if split else list(seen)
    others = files.collect([home / file.path for file in touched], table, ~pl.col("profile_id").is_in(own))
    rows = pl.concat([others, new]).sort(table.key) if others.height else new
    added = []
    for bucket, part in _parts(rows) if large else [(0, rows)]:
        if part.height:
            written.append(files.write(folder(home, table.name), part))
            added.append((bucket, written[-1]))
    same = {(file.bucket, file.sha256) for file in touched} & {(bucket, file.sha256) for bucket, file in added}
    return _Change(
        table.name,
        removed=[file for file in touched if (file.bucket, file.sha256) not in same],
        added=[(bucket, file) for bucket, file in added if (bucket, file.sha256) not in same],
    )


def _parts(rows: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """Split rows into buckets of profiles."""
    profiles = rows["profile_id"].unique().to_list()
    buckets = pl.DataFrame(
        {"profile_id": profiles, "bucket": [bucket_of(profile_id) for profile_id in profiles]},
        schema={"profile_id": pl.String, "bucket": pl.Int64},
    )
    placed = rows.join(buckets, on="profile_id", maintain_order="left")
    return [
        (int(bucket), part.drop("bucket"))
        for (bucket,), part in sorted(placed.partition_by("bucket", as_dict=True, maintain_order=True).items())
    ]


def _persistently(ledger: Ledger, attempt: Callable[[], T | None]) -> T:
    """Try until nobody else has published meanwhile; in the end keep the others out."""
    for turn in range(_ATTEMPTS + 1):
        with ledger.exclusive() if turn == _ATTEMPTS else nullcontext():
            result = attempt()
        if result is not None:
            return result
    raise LakeError(f"{ledger.home}: others published {_ATTEMPTS} times meanwhile; try again")


@contextmanager
def tidy(ledger: Ledger) -> Iterator[list[Written]]:
    """Collect files that are being written; in the end remove those that the catalogue does not name.

    The catalogue is asked, since only it knows whether an interrupted transaction went through.
    """
    written: list[Written] = []
    try:
        with explained(ledger.home):
            yield written
    finally:
        paths = {file.path.relative_to(ledger.home).as_posix(): file.path for file in written}
        with ledger.reading() as connection:
            kept = catalog.referenced(connection, paths)
        for name, path in paths.items():
            if name not in kept:
                path.unlink(missing_ok=True)
