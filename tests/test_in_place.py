"""Other programs read a store where it is, through the DuckLake catalogue that every change keeps true.

DuckDB reads it in `test_other_duckdb.py`.
"""

from datetime import timedelta

import homes
import in_place
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from lake_rows import T0, batch, commit_of, rows

from memory_pipeline.lake import backup, compaction
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import catalog, ducklake
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.ducklake_tables import COLUMNS, FILES, METADATA, OPTIONS, TABLES

DAY = timedelta(1)


def lived(lake):
    """Let a store have events, rows that stages added, and two commits; return the positions of these."""
    lake.ledger.append(batch(5))
    lake.project()
    for name in ("vectors", "enrichment"):
        lake.append(name, rows(name, "ana", "v"))
    positions = [lake.commit(commit_of(lake, ["ana", "bo"], name, as_of=T0 + at * DAY)) for at, name in enumerate("pq")]
    return [min(by_profile.values()) for by_profile in positions]


@pytest.fixture(scope="module")
def home_and_positions(tmp_path_factory):
    """Folder of such a store, closed, to copy."""
    home = tmp_path_factory.mktemp("lived") / "home"
    with Lake(home) as lake:
        return home, lived(lake)


@pytest.fixture
def store(tmp_path, home_and_positions):
    """Such a store, and its positions."""
    home, positions = home_and_positions
    with homes.copied(home, tmp_path / "store") as lake:
        yield lake, positions


def test_every_table_reads_as_ours_now_and_as_of_each_commit(store):
    lake, positions = store
    in_place.same(lake)
    for name in in_place.KEPT:
        assert in_place.read(lake, name).equals(lake.read(name)), name
    for name in ("memories", "profiles", "score_history"):
        for seq in positions:
            assert in_place.read(lake, name, at=seq).equals(lake.read(name, seq=seq)), (name, seq)
    assert in_place.read(lake, "memories", at=positions[0])["plan_id"].unique().to_list() == ["p"]


@pytest.mark.drill
def test_a_ledger_on_a_server_has_it_too(postgres, tmp_path):
    with Lake(postgres.home(tmp_path)) as lake:
        first, second = lived(lake)
        in_place.same(lake)
        assert in_place.read(lake, "memories").equals(lake.read("memories"))
        assert in_place.read(lake, "memories", at=first).equals(lake.read("memories", seq=first))
        lake.sweep(oldest=second)
        _gets_it_again(lake)


def test_whatever_happens_to_files_is_seen_there(store):
    lake, positions = store
    with lake:
        for number in range(20):  # enough for a merge
            lake.append("vectors", rows("vectors", "ana", f"v{number}"))
        in_place.same(lake)
        lake.project()
        compaction.compact(lake.ledger, lake.store, before=T0 + 9 * DAY)
        compaction.archive(lake.ledger, lake.store, before=T0 + timedelta(minutes=3))
        in_place.same(lake)
        lake.commit(commit_of(lake, ["bo"], "r", as_of=T0 + 3 * DAY))
        lake.sweep(older_than=timedelta(0), oldest=positions[1])
        in_place.same(lake)
        assert in_place.snapshots(lake)[0] == positions[1]
        assert in_place.read(lake, "memories", at=positions[1]).equals(lake.read("memories", seq=positions[1]))
        (lake.home / lake.keys("memories")[0]).unlink()
        lake.mend()
        in_place.same(lake)
        assert in_place.read(lake, "memories").equals(lake.read("memories"))
        assert in_place.read(lake, "vectors").height == lake.read("vectors").height == 42


def test_a_store_that_moves_takes_it_along(store, tmp_path):
    lake, _ = store
    wanted = lake.read("memories")
    in_place.same(lake)  # a copy of another
    backup.back_up(lake, tmp_path / "backup", now=T0)
    backup.restore(tmp_path / "backup", tmp_path / "än other")
    with Lake(tmp_path / "än other") as restored:
        in_place.same(restored)
        assert in_place.read(restored, "memories").equals(wanted)


def test_a_store_that_moves_while_nobody_may_write_can_be_read(store, tmp_path):
    lake, positions = store
    lake.close()
    with homes.copied(lake.home, tmp_path / "moved") as moved, moved.ledger.exclusive():
        with moved.ledger.writing() as transaction:
            ducklake.move(transaction, "file:///elsewhere/")
        with Lake(moved.home, timeout=0.01) as reader:
            assert min(reader.ledger.runs()["commit_seq"]) == positions[0]
        with moved.ledger.writing() as transaction:
            METADATA.drop_all(transaction.connection)
        with pytest.raises(LakeError, match="another program holds the ledger"):
            Lake(moved.home, timeout=0.01)
    with Lake(moved.home) as again:
        in_place.same(again)


def test_a_store_of_an_earlier_version_gets_it_when_it_is_opened(store):
    lake, positions = store
    lake.sweep(oldest=positions[1])
    _gets_it_again(lake)


def _gets_it_again(lake):
    """Opening the store makes it anew, equal: where there is none, and where another program changed ours alone."""
    before = in_place.values(lake)
    with lake.ledger.writing() as transaction:
        METADATA.drop_all(transaction.connection)
    with Lake(lake.home) as again:
        assert in_place.values(again) == before
        with again.ledger.writing() as transaction:
            transaction.connection.execute(FILES.delete().where(FILES.c.data_file_id > 7))
    with Lake(lake.home) as again:
        assert in_place.values(again) == before


def test_the_catalogue_of_another_program_stays_as_it_is(store):
    lake, _ = store
    with lake.ledger.writing() as transaction:
        made_by = OPTIONS.update().where(OPTIONS.c.key == "created_by")
        transaction.connection.execute(made_by.values(value="DuckDB 5ce1047ba0"))
    before = in_place.values(lake)
    with pytest.raises(LakeError, match=r"catalogue of DuckDB .* give the ledger a schema of its own"):
        Lake(lake.home)
    assert in_place.values(lake) == before


def test_columns_have_the_ids_that_the_files_say(store):
    lake, _ = store
    with lake.ledger.reading() as transaction:
        described = transaction.connection.execute(
            sa.select(TABLES.c.table_name, COLUMNS.c.column_id, COLUMNS.c.column_name, COLUMNS.c.parent_column).join(
                TABLES, TABLES.c.table_id == COLUMNS.c.table_id
            )
        ).all()
        for name in in_place.KEPT:
            ids = {row.column_id: row for row in described if row.table_name == name}
            assert len(ids) == sum(row.table_name == name for row in described), "no two have the same"
            assert all((row.parent_column or -1) < own for own, row in ids.items()), "DuckDB reads parents first"
            for file in catalog.visible(transaction, name):
                assert set(_ids(pq.read_schema(lake.home / file.key))) == set(ids), name


def _ids(fields):
    """The ids of some Arrow fields and of all within them."""
    for field in fields:
        yield int(field.metadata[b"PARQUET:field_id"])
        yield from _ids([field.type.field(number) for number in range(field.type.num_fields)])


def test_no_value_of_a_row_stands_in_it(store):
    lake, _ = store
    word = "zwirblquax"
    lake.commit(commit_of(lake, ["ana"], word, as_of=T0 + 9 * DAY))
    assert word in lake.read("memories")["content"].to_list()
    assert not [value for value in in_place.values(lake) if word in value]


def test_a_library_that_takes_the_log_of_the_ledger_away_is_noticed(store):
    lake, _ = store
    position = lake.ledger.position()
    (lake.home / "ledger.sqlite-wal").unlink()  # as another SQLite in this process may: it sees no other user
    with pytest.raises(LakeError, match=r"its log was removed .*; let others read it from a process of their own"):
        lake.ledger.append(batch(1, origin="lost"))
    lake.close()
    assert lake.ledger.position() == position
    assert lake.ledger.append(batch(1, origin="kept"))


def test_a_log_that_goes_with_an_interrupted_connection_is_no_loss(store):
    lake, _ = store
    lake.close()
    with lake.ledger.reading() as transaction:
        transaction.connection.invalidate()  # as SQLAlchemy does where Ctrl-C ends a statement
    assert not (lake.home / "ledger.sqlite-wal").exists()
    assert lake.ledger.append(batch(1, origin="later"))
