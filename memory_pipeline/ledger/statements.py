"""Statements that SQLite and PostgreSQL word differently: inserts that skip what exists, new positions, many rows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.tables import EVENTS, META

Row = Mapping[str, Any]
"""A row by column."""
Pair = tuple[str, str]
"""A profile, and an id in it."""

_AT_ONCE: Final = 500
"""Parameters of one query."""


def insert_new(transaction: Transaction, table: sa.Table) -> sa.Insert:
    """Return an insert that skips rows whose key exists, in the dialect of the connection."""
    if _is_postgres(transaction.connection):
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def add_events(transaction: Transaction, rows: Sequence[Row]) -> None:
    """Append events whose id their profile does not have yet, at the next positions, in the order given.

    Rows have the columns of the table `events` but `seq`. Positions have no gaps: SQLite numbers the rows that it
    inserts; a sequence of PostgreSQL would also count those that it skips, so the positions are given there, which the
    lock of writers makes safe.
    """
    connection = transaction.connection
    if not _is_postgres(connection):
        connection.execute(insert_new(transaction, EVENTS), rows)
        return
    new = dict[Pair, Row]()
    for row in rows:
        new.setdefault((row["profile_id"], row["event_id"]), row)
    columns = (EVENTS.c.profile_id, EVENTS.c.event_id)
    known = set(rows_at(transaction, EVENTS.c.event_id, new, columns))
    fresh = [row for key, row in new.items() if key not in known]
    last = connection.scalar(sa.select(sa.func.max(EVENTS.c.seq))) or 0
    insert_many(connection, EVENTS, ({"seq": seq, **row} for seq, row in enumerate(fresh, last + 1)))


def insert_many(connection: sa.Connection, table: sa.Table, rows: Iterable[Row]) -> None:
    """Insert many rows that give every column; PostgreSQL takes them as one COPY."""
    names = [column.name for column in table.c]
    if not _is_postgres(connection):
        if given := list(rows):
            connection.execute(table.insert(), given)
        return
    columns = ", ".join(f'"{name}"' for name in names)
    copy = f"COPY {table.name} ({columns}) FROM STDIN"
    with connection.connection.cursor() as cursor, cursor.copy(copy) as sink:  # type: ignore[attr-defined]
        for row in rows:
            sink.write_row([row[name] for name in names])


def rows_at(
    transaction: Transaction, key: sa.Column[str], pairs: Collection[Pair], columns: Sequence[sa.Column[Any]]
) -> Iterator[tuple[Any, ...]]:
    """Yield columns of the events that match any of the pairs of profile and another column; both begin an index.

    Cost: an index look-up for each pair; one query in PostgreSQL, some thousand pairs a query in SQLite.
    """
    if not pairs:
        return
    if _is_postgres(transaction.connection):
        texts = postgresql.ARRAY(sa.Text)
        given = sa.func.unnest(*(sa.literal(list(side), texts) for side in zip(*pairs, strict=True)))
        wanted = given.table_valued("profile_id", "value", name="given").render_derived()
        here = (EVENTS.c.profile_id == wanted.c.profile_id) & (key == wanted.c.value)
        yield from map(tuple, transaction.connection.execute(sa.select(*columns).join(wanted, here)))
        return
    by_profile = defaultdict[str, list[str]](list)
    for profile_id, value in pairs:
        by_profile[profile_id].append(value)
    for profile_id, values in sorted(by_profile.items()):
        for batch in batched(sorted(values)):
            condition = (EVENTS.c.profile_id == profile_id, key.in_(batch))
            yield from map(tuple, transaction.connection.execute(sa.select(*columns).where(*condition)))


def batched(values: list[Any]) -> Iterator[list[Any]]:
    """Yield parts of a list that one query can take as parameters."""
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))


def frame(rows: Iterable[Sequence[Any]], types: Mapping[str, Any]) -> pl.DataFrame:
    """Return rows, whose instants are microseconds, as a frame with columns of these types."""
    integers = {name: pl.Int64 if isinstance(kind, pl.Datetime) else kind for name, kind in types.items()}
    read = pl.DataFrame([tuple(row) for row in rows], schema=integers, orient="row")
    return read.cast({name: kind for name, kind in types.items() if isinstance(kind, pl.Datetime)})


def noted(transaction: Transaction, key: str) -> str | None:
    """Return the value of a key in the table `meta`, or None."""
    return transaction.connection.scalar(sa.select(META.c.value).where(META.c.key == key))


def note(transaction: Transaction, key: str, value: str | None) -> None:
    """Set the value of a key in the table `meta`; None removes it."""
    transaction.connection.execute(META.delete().where(META.c.key == key))
    if value is not None:
        transaction.connection.execute(META.insert().values(key=key, value=value))


def _is_postgres(connection: sa.Connection) -> bool:
    return connection.dialect.name == "postgresql"
