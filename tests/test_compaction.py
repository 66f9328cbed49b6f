"""Old payloads move out of the ledger's database, and nobody who reads events notices."""

import sqlite3
from datetime import timedelta

import homes
import polars as pl
import pytest
from lake_rows import files_of

from memory_pipeline.lake import compaction
from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger import tables
from memory_pipeline.runs import rebuild


@pytest.fixture
def lake(tmp_path):
    with homes.filled(tmp_path, homes.events(profiles=1, memories=12)) as opened:
        opened.project()
        yield opened


def payloads(lake):
    with sqlite3.connect(lake.home / "ledger.sqlite") as database:
        return [text for (text,) in database.execute("SELECT payload FROM events ORDER BY seq")]


def taken(lake):
    return sum(path.stat().st_size for path in lake.home.glob("ledger.sqlite*"))


def later(**days):
    return homes.RECORDED + timedelta(**days)


def test_nothing_moves_before_its_time(lake):
    before = payloads(lake)
    assert compaction.compact(lake.ledger, lake.store, before=homes.RECORDED) == 0
    assert payloads(lake) == before


def test_payloads_move_word_for_word_and_the_ledger_still_knows_its_events(lake):
    before, rows = payloads(lake), lake.ledger.read()
    assert compaction.compact(lake.ledger, lake.store, before=later(days=7)) == len(before)
    assert set(payloads(lake)) == {tables.MOVED}
    assert lake.ledger.read() == rows
    assert compaction.compact(lake.ledger, lake.store, before=later(days=7)) == 0
    history = homes.events(profiles=1, memories=12)
    assert lake.ledger.append(history).accepted == 0, "an event is known by its id for ever"


def test_the_database_shrinks(lake):
    size = taken(lake)
    compaction.compact(lake.ledger, lake.store, before=later(days=7))
    assert taken(lake) < size


@pytest.mark.drill
def test_a_run_a_rebuild_and_a_projection_from_nothing_see_no_difference(lake):
    homes.night(lake)
    published = homes.published(lake)
    compaction.compact(lake.ledger, lake.store, before=later(days=7))
    rebuilt = rebuild.rebuild(lake, "sample-1")
    for name, frame in published.items():
        assert rebuilt[name].equals(frame), name
        assert frame.equals(lake.read(name))
    lake.project()
    events = lake.read("events")
    for path in files_of(lake, "events"):
        path.unlink()
    lake.mend()
    homes.same({"events": events}, {"events": lake.read("events")})


def test_only_what_is_projected_moves(tmp_path):
    with homes.filled(tmp_path, homes.events(profiles=1, memories=12)) as fresh:
        assert compaction.compact(fresh.ledger, fresh.store, before=later(days=7)) == 0


def test_large_ledgers_move_in_lots(lake, monkeypatch):
    rows = lake.ledger.read()
    monkeypatch.setattr(compaction, "MOVED_AT_ONCE", 17)
    assert compaction.compact(lake.ledger, lake.store, before=later(days=7)) == len(rows)
    assert lake.ledger.read() == rows


def test_a_lost_file_is_named_and_never_replaced_by_nothing(lake):
    compaction.compact(lake.ledger, lake.store, before=later(days=7))
    last = lake.ledger.position()
    lake.ledger.append(homes.events(memories=5, seed=4))
    lake.project()
    (older, newer), events = files_of(lake, "events"), lake.read("events")
    intact, found = newer.read_bytes(), files_of(lake, "payloads")
    newer.write_bytes(b"damaged")
    lake.mend()
    homes.same({"events": events}, {"events": lake.read("events")})
    assert older in files_of(lake, "events"), "an intact file stays"
    for path in (*found, older):
        path.unlink()
    before = files_of(lake, "events")
    with pytest.raises(LakeError, match=rf"position 1-{last}\) .*nothing was changed; restore .* from a backup"):
        lake.mend()
    assert files_of(lake, "events") == before
    assert intact in [path.read_bytes() for path in before if path.exists()]
    assert "payloads" in set(lake.verify()["table"])


def test_two_processes_may_read_meanwhile(lake):
    with Lake(lake.home) as other:
        seen = other.events()
        compaction.compact(lake.ledger, lake.store, before=later(days=7))
        assert other.events().equals(seen)


def test_an_archive_is_written_before_payloads_leave_and_a_rebuild_starts_from_the_checkpoint(lake):
    homes.night(lake)
    rows = lake.ledger.read()
    own = [row for row in rows if not row[3].startswith("run.")]
    compaction.compact(lake.ledger, lake.store, before=later(days=7))
    assert compaction.archive(lake.ledger, lake.store, before=homes.RECORDED) is None, "nothing is that old"
    file = lake.home / compaction.archive(lake.ledger, lake.store, before=later(days=7))
    assert pl.read_parquet(file).rows() == own, "the archive holds whole events"
    assert lake.read("payloads").is_empty()
    assert compaction.archive(lake.ledger, lake.store, before=later(days=7)) is None
    file.rename(file.with_suffix(".away"))
    assert rebuild.rebuild(lake, "sample-1")["memories"].equals(lake.read("memories"))
    with pytest.raises(LakeError, match="archive"):
        lake.ledger.read()
    file.with_suffix(".away").rename(file)
    assert lake.ledger.read() == rows


def test_only_what_is_old_is_archived(lake):
    compaction.compact(lake.ledger, lake.store, before=later(days=7))
    newer = homes.events(memories=45, seed=4)
    lake.ledger.append([event.model_copy(update={"recorded_at": later(days=30)}) for event in newer])
    lake.project()
    compaction.compact(lake.ledger, lake.store, before=later(days=60))
    held = lake.read("payloads").height
    file = lake.home / compaction.archive(lake.ledger, lake.store, before=later(days=7))
    left = lake.read("payloads")
    assert pl.read_parquet(file).height + left.height == held
    assert left["seq"].min() > pl.read_parquet(file)["seq"].max()


def test_an_archive_holds_a_session_that_only_a_late_event_names(tmp_path):
    history = [
        event.model_copy(update={"session_id": None, "agent_id": None, "user_id": None, "instance_id": None})
        for event in homes.events(memories=300)
        if event.event_type == "memory.stored"
    ]
    history[-1] = history[-1].model_copy(update={"session_id": "the only one"})
    with homes.filled(tmp_path, history) as lake:
        lake.project()
        rows = lake.ledger.read()
        assert compaction.compact(lake.ledger, lake.store, before=later(days=7)) == len(history) > 500
        file = lake.home / compaction.archive(lake.ledger, lake.store, before=later(days=7))
        assert pl.read_parquet(file).rows() == rows == lake.ledger.read()
