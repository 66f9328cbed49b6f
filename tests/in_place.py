"""What the DuckLake catalogue of a store says, held against our own."""

from pathlib import Path
from tempfile import TemporaryDirectory

import ducklake
import ducklake.polars
import polars as pl
import sqlalchemy as sa

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import catalog
from memory_pipeline.ledger.ducklake_tables import FILES, METADATA, OPTIONS, SCHEMAS, SNAPSHOTS, TABLES
from memory_pipeline.schemas import TABLES as DEFINITIONS
from memory_pipeline.settings import SQLITE, ledger_address

KEPT = [name for name, table in DEFINITIONS.items() if table.write_mode not in {"in_ledger", "per_run"}]
"""Tables that are stored in files."""
REPLACED = [name for name in KEPT if DEFINITIONS[name].write_mode == "replaced" and name != "profiles"]
"""Tables of which past states are let go."""


def snapshots(lake: Lake) -> list[int]:
    """Positions that it lists, in order."""
    with lake.ledger.reading() as transaction:
        return sorted(transaction.connection.scalars(sa.select(SNAPSHOTS.c.snapshot_id)))


def values(lake: Lake) -> set[str]:
    """Every value that stands in it, as text."""
    with lake.ledger.reading() as transaction:
        tables = [transaction.connection.execute(sa.select(table)).all() for table in METADATA.sorted_tables]
    return {str(value) for rows in tables for row in rows for value in row}


def same(lake: Lake) -> None:
    """It lists the files that we do, now and as of each of its snapshots, and they are where it says."""
    columns = (TABLES.c.table_name, FILES.c.record_count, FILES.c.file_size_bytes, FILES.c.data_file_id)
    query = (
        sa.select(SCHEMAS.c.path + TABLES.c.path + FILES.c.path, *columns, FILES.c.begin_snapshot, FILES.c.end_snapshot)
        .join_from(FILES, TABLES, TABLES.c.table_id == FILES.c.table_id)
        .join(SCHEMAS, SCHEMAS.c.schema_id == TABLES.c.schema_id)
    )
    folder = lake.store.uri("") if lake.store.elsewhere else f"file://{lake.home}/"
    with lake.ledger.reading() as transaction:
        assert transaction.connection.scalars(sa.select(OPTIONS.c.value).where(OPTIONS.c.key == "data_path")).all() == [
            folder
        ]
        listed = transaction.connection.execute(query).all()
        sizes = {stored.key: stored.size for stored in lake.store.list("lake/")}
        ours = catalog.every(transaction)
        assert {(*row[:5],) for row in listed} == {
            (file.key, file.table_name, file.rows, sizes[file.key], file.id) for file in ours
        }
        for seq in (None, *snapshots(lake)):
            seen = {
                row.data_file_id
                for row in listed
                if (row.end_snapshot is None if seq is None else row.begin_snapshot <= seq)
                and (row.end_snapshot is None or seq is None or row.end_snapshot > seq)
            }
            wanted = {file.id for name in KEPT for file in catalog.visible(transaction, name, seq)}
            assert seen == wanted, f"as of {seq}"
        newest = snapshots(lake)[-1]
        assert newest >= max((seq for file in ours for seq in (file.added_seq, file.removed_seq or 0)), default=0)
        readable = catalog.mark(transaction, catalog.Mark.OLDEST)
        for seq in snapshots(lake):  # states that were let go are not offered
            for name in REPLACED if seq < readable else ():
                assert catalog.visible(transaction, name, seq) == catalog.visible(transaction, name, readable), seq


def read(lake: Lake, name: str, *, at: int | None = None) -> pl.DataFrame:
    """Return a table as the reader of Polars finds it, in our order.

    It brings a SQLite of its own, which must not open a file that this process has open: it gets a copy.
    """
    address = ledger_address(lake.home)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        if address == SQLITE:
            lake.ledger.database.copy(copy)
        url = f"sqlite:///{copy}" if address == SQLITE else address.replace("@/", "@localhost/")
        table = ducklake.connect(url, at=at, readonly=at is None).table(name)
        return ducklake.polars.read_ducklake(table).sort(DEFINITIONS[name].key)
