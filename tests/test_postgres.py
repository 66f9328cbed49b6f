"""A ledger on PostgreSQL: the same tables, lost connections, no password in sight, a store that moves there and back.

What holds of a ledger whatever its database is tried on both in `test_ledger.py`.
"""

from concurrent.futures import ThreadPoolExecutor

import commands
import homes
import in_place
import polars as pl
import pytest
from lake_rows import batch, revert, stored

from memory_pipeline.erasure.erase import erase_memories, resume_erasure
from memory_pipeline.lake import backup, identity, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import commits, postgres_database, references, statements
from memory_pipeline.ledger.database import LakeError, LostConnection
from memory_pipeline.ledger.event import COLUMNS, PIPELINE
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.payloads import Stored
from memory_pipeline.runs import undo
from memory_pipeline.service import doctor
from memory_pipeline.settings import SQLITE, SettingsError, ledger_address, load

SECRET = "hush-sentinel-1618033988"  # noqa: S105 - made up


@pytest.fixture
def place(postgres, tmp_path):
    """An empty data folder whose ledger is on the server."""
    return postgres.home(tmp_path / "data")


def lived(lake):
    """Let a store live through a night and its undo."""
    chosen = load(lake.home, environment={})
    homes.night(lake, run_id="one", policy=chosen)
    undo.undo(lake, "one", now=homes.NIGHT + homes.days(1))
    in_place.same(lake)
    return seen(lake)


def seen(lake):
    """What the store says; the pipeline's own events have ids of chance and of the clock."""
    decided = {name: lake.read(name) for name in ("decisions", "reverted")}
    return homes.published(lake) | decided | {"events": seen_events(lake)}


def seen_events(lake):
    return lake.events().filter(~pl.col("event_type").is_in(PIPELINE))


def test_what_is_stored_on_the_server_is_read_as_from_a_file(place, tmp_path):
    history = homes.events(memories=10)
    with homes.filled(tmp_path / "file", history) as lake, homes.filled(place, history) as served:
        for one in (lake, served):
            one.project()
            revert(one.ledger, "sample-1", ["d"], reason="wrong", occurred_at=homes.NIGHT, recorded_at=homes.NIGHT)
        homes.same(*({name: one.read(name) for name in ("decisions", "reverted")} for one in (served, lake)))
        homes.same(*({"events": seen_events(one)} for one in (served, lake)))
        in_place.same(served)
        assert not (place / "ledger.sqlite").exists()


@pytest.mark.drill
def test_both_databases_give_the_same_tables(place, tmp_path):
    history = homes.events(memories=10)
    with homes.filled(tmp_path / "file", history) as lake, homes.filled(place, history) as served:
        homes.same(lived(served), lived(lake))
        early = lake.ledger.runs()["commit_seq"].min()
        homes.same(*({name: one.read(name, seq=early) for name in homes.commit.PUBLISHED} for one in (served, lake)))
        assert not (place / "ledger.sqlite").exists()


@pytest.mark.drill
def test_a_store_moves_to_the_server_and_back(postgres, tmp_path):
    with homes.filled(tmp_path / "file", homes.events(memories=12, profiles=1)) as lake:
        homes.night(lake)
        wanted = seen(lake)
        backup.back_up(lake, tmp_path / "backup", now=homes.RECORDED)
    there = postgres.home(tmp_path / "there")
    backup.restore(tmp_path / "backup", there)
    with pytest.raises(ValueError, match=r"holds a store.*; another ledger can be named in"):
        backup.restore(tmp_path / "backup", there)
    with Lake(there) as lake:
        homes.same(seen(lake), wanted)
        homes.night(lake, as_of=homes.NIGHT + homes.days(1), run_id="next", policy=load(there, environment={}))
        lake.note_attempt("run", "conflict", started_at=homes.NIGHT)
        wanted = seen(lake)
        backup.back_up(lake, tmp_path / "of the server", now=homes.RECORDED)
        assert [one.detail for one in doctor.examine(load(there, environment={}), repair=False) if not one.well] == [
            f"{snapshot.newest(there)} is older than the last run; rebuild it with: memory-pipeline doctor --repair"
        ]
    with pytest.raises(ValueError, match="another ledger can be named in"):
        backup.restore(tmp_path / "of the server", tmp_path / "back")
    (tmp_path / "back").mkdir()
    (tmp_path / "back/memory_pipeline.toml").write_text('ledger = "sqlite"', "utf-8")
    backup.restore(tmp_path / "of the server", tmp_path / "back")
    with Lake(tmp_path / "back") as lake:
        homes.same(seen(lake), wanted)
        assert lake.verify().is_empty()


def add_and_stop(ledger):
    with ledger.writing() as transaction:
        statements.add_events(transaction, [dict(zip(COLUMNS, stored(7).row(), strict=True))])
        raise RuntimeError("stop")


@pytest.mark.drill
def test_a_rolled_back_batch_and_a_second_delivery_burn_no_position(place):
    with Ledger.at(place) as ledger:
        ledger.append(batch(3))
        with pytest.raises(RuntimeError, match="stop"):
            add_and_stop(ledger)
        ledger.append(batch(4))
        revert(ledger, "ana", ["d"], reason="wrong", occurred_at=homes.NIGHT, recorded_at=homes.NIGHT)
        assert [row[0] for row in ledger.read()] == [1, 2, 3, 4, 5]


def cut_while_writing(ledger, postgres):
    with ledger.writing() as transaction:
        postgres.disconnect()
        commits.note(transaction, "run", "committed", started_at=homes.NIGHT)


def cut_while_locked(ledger, postgres):
    with ledger.exclusive():
        postgres.disconnect()
        ledger.append(batch(4))


@pytest.mark.drill
def test_a_lost_connection_is_one_sentence_or_tried_again(place, postgres, monkeypatch):
    with Ledger.at(place) as ledger:
        ledger.append(batch(2))
        postgres.disconnect()
        assert ledger.position() == 2, "one that was lost while nobody used it is opened again"
        with pytest.raises(LostConnection, match="server was lost: try again"):
            cut_while_writing(ledger, postgres)
        assert ledger.attempts().is_empty()
        check, calls = references.check, []

        def disconnected_once(*arguments):
            calls.append(arguments)
            if len(calls) == 1:
                postgres.disconnect()
            check(*arguments)

        monkeypatch.setattr(references, "check", disconnected_once)
        assert (ledger.append(batch(3)).last_seq, len(calls)) == (3, 2)
        with pytest.raises(LostConnection, match="held the store's locks was lost: try again"):
            cut_while_locked(ledger, postgres)
        assert ledger.position() == 3, "whoever lost a lock writes nothing under it"
        assert ledger.append(batch(4)).accepted == 1


def test_a_server_that_is_not_there_is_one_sentence_without_a_password(tmp_path, caplog):
    address = f"postgresql://ana:{SECRET}@127.0.0.1:1/memory"
    said = []
    for line in ("status", "doctor --json", "remember x", "config show", "config show --json", "status --json"):
        done = commands.call(*line.split(), home=tmp_path, MEMORY_PIPELINE_LEDGER=address)
        said += [done.stdout, done.stderr]
        assert ("config" in line) == (done.returncode == 0), line
    assert "ana:***@127.0.0.1:1/memory" in said[8]
    assert "check the setting ledger, and that the server runs" in said[1]
    unknown = commands.refused("status", home=tmp_path, MEMORY_PIPELINE_LEDGER="postgresql://full-lock.invalid/memory")
    assert "'full-lock.invalid'" in unknown
    assert "check the setting ledger, and that the server runs" in unknown
    for wrong in (f"mysql://ana:{SECRET}@h/d", f"postgresql://ana:{SECRET}@h", f"postgresql://h/d?password={SECRET}"):
        done = commands.call("status", home=tmp_path, MEMORY_PIPELINE_LEDGER=wrong)
        said += [done.stdout, done.stderr]
        assert "environment MEMORY_PIPELINE_LEDGER: ledger = " in done.stderr
    said.append(commands.refused("config", "set", "ledger", address, home=tmp_path))
    assert "must not be in the settings file" in said[-1]
    (tmp_path / "memory_pipeline.toml").write_text(f'ledger = "{address}"', "utf-8")
    said.append(commands.refused("status", home=tmp_path))
    assert "must not be in the settings file" in said[-1]
    assert SECRET not in "".join((*said, caplog.text))


@pytest.mark.drill
def test_an_address_in_the_environment_is_the_ledger_of_one_folder_only(postgres, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_PIPELINE_LEDGER", postgres.address())
    Lake(tmp_path / "one").close()
    with pytest.raises(identity.Mismatch, match="belongs to a lake elsewhere"):
        Lake(tmp_path / "two")
    Lake(tmp_path / "scratch", ledger=SQLITE).close()
    with pytest.raises(LakeError, match=r"has a ledger of its own, ledger\.sqlite"):
        Lake(tmp_path / "scratch")
    with pytest.raises(SettingsError, match="component: ledger"):
        load(tmp_path, component={"ledger": SQLITE})


@pytest.mark.drill
def test_tables_that_were_replaced_under_a_program_take_nothing_more(place, postgres):
    address = ledger_address(place)
    with Ledger.at(place) as ledger:
        ledger.append(batch(1))
        postgres.execute("DO $$BEGIN EXECUTE 'DROP SCHEMA ' || current_schema() || ' CASCADE'; END$$", address)
        postgres.execute(f"CREATE SCHEMA {address.rpartition('%3D')[2]}")
        with Ledger.at(place) as restored:
            assert restored.position() == 0
        with pytest.raises(LakeError, match="were removed or replaced while this program had them open; start"):
            ledger.append(batch(2))


@pytest.mark.drill
def test_stores_of_one_server_do_not_wait_for_each_other(place, postgres, tmp_path):
    with Ledger.at(place) as one, Ledger.at(postgres.home(tmp_path / "other"), timeout=0) as other:
        with one.exclusive(), one.holding(["ana"]), one.erasing(), other.exclusive(), other.holding(["ana"]):
            assert (one.append(batch(1)).last_seq, other.append(batch(2)).last_seq) == (1, 2)
        with Ledger.at(place, timeout=0) as second, one.holding(["ana"]), one.erasing():
            second.append(batch(3))
            for lock in (lambda: second.holding(["ana"]), second.erasing):
                with pytest.raises(LakeError, match="stayed locked"), lock():
                    pass


@pytest.mark.drill
def test_who_waits_for_a_lock_keeps_no_erased_rows_alive(place, postgres, monkeypatch):
    monkeypatch.setattr(postgres_database, "_TURN", 0.05)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with Ledger.at(place) as one, Ledger.at(place) as other, ThreadPoolExecutor(1) as pool:

        def wait():
            with other.erasing():
                return "had its turn"

        with one.erasing():
            waiter = pool.submit(wait)
            while postgres.execute(waiting) == [(0,)]:
                pass
            assert one.purge()
        assert waiter.result() == "had its turn"


@pytest.mark.drill
def test_an_erased_text_is_in_no_table_and_no_file_of_a_table(place, postgres, monkeypatch):
    monkeypatch.setattr(postgres_database, "_READERS_PATIENCE", 0.1)
    history = homes.events(memories=12, profiles=1)
    with homes.filled(place, history) as lake:
        homes.night(lake, policy=load(place, environment={}))
        word = "Zyxwquoll"
        lake.ledger.append(
            [stored(1, profile_id="sample-1").model_copy(update={"payload": Stored(content=f"A {word}.")})]
        )
        assert postgres.files_with(word)
        with lake.ledger.reading() as transaction:
            lake.ledger.position()
            transaction.connection.exec_driver_sql("SELECT 1")
            with pytest.raises(LakeError, match=r"still read pages of its old state; .* finish the erasure with"):
                erase_memories(lake, profile_id="sample-1", memory_ids=["m1"], now=homes.RECORDED)
        receipt = resume_erasure(lake)
        assert any("write-ahead log, replicas and backups" in one for one in receipt.not_covered)
        assert word not in str(lake.ledger.read())
    assert postgres.files_with(word) == []
