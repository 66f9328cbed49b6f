"""Compaction: what old events said moves from the ledger's database to immutable files, losslessly.

The ledger keeps a row for every event for ever: its id (so that a second delivery is recognised), when it happened and
what it concerns. Only the payload, which is nearly all of its size, moves to the table `payloads`; whoever reads events
gets it from there. Beyond an optional ceiling whole events are written to `archive/` before their payloads leave the
store; the table `events` is then the checkpoint from which every rebuild starts. Consolidation does neither; the daily
maintenance does.
What is not here: removing what must be forgotten for good.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.lake import catalog, files, publishing
from memory_pipeline.lake.catalog import Mark
from memory_pipeline.ledger.database import EVENTS, MOVED, LakeError, explained
from memory_pipeline.ledger.event import COLUMNS, PIPELINE, micros
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.schemas import TABLES

MOVED_AT_ONCE: Final = 50_000
"""Events of one file and one transaction: bounds memory, and how long writers wait."""


def compact(ledger: Ledger, *, before: datetime) -> int:
    """Move the payloads of projected events that were recorded before an instant, and give the space back.

    Each lot is written aside, then moved in one transaction: a crash at any point leaves every payload readable in
    exactly one place. Cost: some 10 µs an event; giving the space back copies what is left of the database.

    Args:
        ledger: the ledger.
        before: timezone-aware.

    Returns:
        How many events were moved.

    Raises:
        LakeError: the store cannot be written.
    """
    moved = 0
    while lot := _move(ledger, before):
        moved += lot
    if moved:
        publishing.merge_small(ledger, TABLES["payloads"])
        ledger.shrink()
    return moved


def archive(ledger: Ledger, *, before: datetime) -> Path | None:
    """Write compacted events that were recorded before an instant to a file of their own, then let their payloads go.

    The file in `archive/` has the columns of the ledger's events, payloads included, so that it can be read by itself
    and carried away. It is durable before anything is removed.

    Args:
        ledger: the ledger.
        before: timezone-aware.

    Returns:
        The file, or None if nothing was that old.

    Raises:
        LakeError: the store cannot be written, or somebody else compacts it at the same time.
    """
    with ledger.reading() as connection:
        seen = catalog.visible(connection, "payloads")
        old = (EVENTS.c.recorded_at < micros(before), EVENTS.c.payload == MOVED)
        last = connection.scalar(sa.select(sa.func.max(EVENTS.c.seq)).where(*old))
    paths = [ledger.home / file.path for file in seen]
    kept = files.collect(paths, TABLES["payloads"]).sort(TABLES["payloads"].key)
    due = kept.filter(pl.col("seq") <= (last or 0))
    if due.is_empty():
        return None
    first, final = int(due["seq"].min()), int(due["seq"].max())  # type: ignore[arg-type]
    archived = set(due["seq"])
    rows = [row for row in ledger.read(first - 1, until=final) if row[0] in archived]
    whole = pl.DataFrame(rows, schema=["seq", *COLUMNS], orient="row")
    file = ledger.home / "archive" / f"events-{first:012d}-{final:012d}.parquet"
    file.parent.mkdir(exist_ok=True)
    with explained(ledger.home):
        files.replace(file, whole)
    rest = kept.join(due, on=TABLES["payloads"].key, how="anti", maintain_order="left")
    with publishing.tidy(ledger) as written:
        if rest.height:
            written.append(files.write(publishing.folder(ledger.home, "payloads"), rest))
        with ledger.writing() as connection:
            if not catalog.still_visible(connection, seen):
                raise LakeError(f"{ledger.home}: somebody else compacts the ledger at the same time; try again later")
            catalog.forget(connection, seen, ledger.home)
            for one in written:
                catalog.add(connection, "payloads", one, ledger.home, seq=1)
    return file


def moved_payloads(ledger: Ledger, positions: Collection[int]) -> dict[int, str]:
    """Read the payloads at some positions from the table `payloads` and, where it lacks them, from the archives."""
    with ledger.reading() as connection:
        paths = [ledger.home / file.path for file in catalog.visible(connection, "payloads")]
    wanted = pl.col("seq").is_between(min(positions), max(positions))
    present = [path for path in paths if path.is_file()]
    with explained(ledger.home):
        rows = files.collect(present, TABLES["payloads"], wanted, columns=["profile_id", "seq", "payload"])
        payloads = dict(rows.select("seq", "payload").iter_rows())
        for file in sorted(ledger.home.glob("archive/events-*.parquet")) if set(positions) - set(payloads) else ():
            archived = pl.read_parquet(file, columns=["seq", "payload"]).filter(wanted)
            payloads |= dict(archived.iter_rows())
    return payloads


def _move(ledger: Ledger, before: datetime) -> int:
    """Move one lot of payloads and return how many."""
    with ledger.reading() as connection:
        due = _due(before, catalog.marked(connection, Mark.PROJECTED))
        query = sa.select(EVENTS.c.profile_id, EVENTS.c.seq, EVENTS.c.payload).where(*due)
        rows = connection.execute(query.order_by(EVENTS.c.seq).limit(MOVED_AT_ONCE)).fetchall()
    if not rows:
        return 0
    frame = TABLES["payloads"].conform(
        pl.DataFrame([tuple(row) for row in rows], schema=TABLES["payloads"].empty().schema, orient="row")
    )
    first, last = rows[0].seq, rows[-1].seq
    with publishing.tidy(ledger) as written:
        written.append(files.write(publishing.folder(ledger.home, "payloads"), frame))
        with ledger.writing() as connection:
            stretch = (*due, EVENTS.c.seq.between(first, last))
            changed = connection.execute(EVENTS.update().where(*stretch).values(payload=MOVED)).rowcount
            if changed != len(rows):
                raise LakeError(f"{ledger.home}: somebody else compacts the ledger at the same time; try again later")
            catalog.add(connection, "payloads", written[0], ledger.home, seq=first)
    return len(rows)


def _due(before: datetime, projected: int) -> Iterable[sa.ColumnElement[bool]]:
    """Agents' events with a payload of their own that are old enough and stand in the table `events`."""
    return (
        EVENTS.c.seq <= projected,
        EVENTS.c.recorded_at < micros(before),
        EVENTS.c.event_type.not_in(PIPELINE),
        EVENTS.c.payload != MOVED,
    )
