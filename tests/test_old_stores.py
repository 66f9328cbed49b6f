"""A store that any earlier layout has left is read, run, undone, looked back on, and erased from.

The stores in `old_stores/` were made by the code of the commits in their names; `old_stores/make.py` says how.
"""

import re
import sqlite3
import tarfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import homes
import in_place
import polars as pl
import pytest
import sampling

from memory_pipeline import MemoryClient
from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.commits import VERSION
from memory_pipeline.runs import rebuild, undo
from memory_pipeline.schemas import TABLES
from memory_pipeline.service import doctor
from memory_pipeline.settings import POLICY_VERSION, Policy, SettingsError, read_policy

STORES = Path(__file__).parent / "old_stores"
NIGHTS = [datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(days=days) for days in (10, 20, 30)]
FIRST, *REST = sorted(path.name.removesuffix(".tar.xz") for path in STORES.glob("*.tar.xz"))


def unpacked(name, folder):
    with tarfile.open(STORES / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "data"


@pytest.fixture(scope="module", params=sampling.first(FIRST, *REST))
def store(request, tmp_path_factory):
    return unpacked(request.param, tmp_path_factory.mktemp("old"))


@pytest.fixture
def lake(store, tmp_path):
    with homes.copied(store, tmp_path / "data") as opened:
        yield opened


def columns_and_indexes(home):
    with closing(sqlite3.connect(home / "ledger.sqlite")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: sorted(row[1:] for row in connection.execute(f"PRAGMA table_info({name})")) for name in names}
        indexes = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'").fetchall()
    return columns, {name: re.sub(r'[\s"]+', "", sql or "") for name, sql in indexes}


def test_its_ledger_has_the_tables_of_a_new_one(lake, tmp_path):
    Lake(tmp_path / "new").close()
    assert columns_and_indexes(lake.home) == columns_and_indexes(tmp_path / "new")


def test_what_was_published_is_read_at_every_position_without_gaps(lake):
    for seq in lake.ledger.runs()["commit_seq"].unique():
        for name, table in TABLES.items():
            if table.write_mode in ("replaced", "accumulated"):
                rows = lake.read(name, seq=seq)
                needed = [column for column, definition in table.schema.columns().items() if not definition.nullable]
                assert rows.select(pl.col(needed).null_count()).sum_horizontal().sum() == 0, (name, seq)
    assert lake.read("memories", seq=lake.ledger.runs()["commit_seq"].min()).height > 0


def test_it_is_whole_and_answers_as_it_did(lake):
    found = doctor.examine(homes.settings(lake.home), repair=True)
    assert all(finding.well for finding in found), found
    in_place.same(lake)
    with MemoryClient(lake.home, profile_id="ada") as client:
        assert "Tromso" in client.recall("Where is our office now?").recalled[0].content
        past = client.recall("Where is our office?", as_of=NIGHTS[0] + timedelta(days=1))
        assert "Oslo" in past.recalled[0].content
        assert not any("Tromso" in memory.content for memory in past.recalled), "nobody had said so by then"
        assert client.explain("office", as_of=NIGHTS[1]).memory_id == "office"


@pytest.mark.drill
def test_a_run_follows_and_the_first_one_is_undone(lake):
    homes.night(lake, as_of=NIGHTS[-1] + timedelta(days=1), run_id="night-4")
    runs = lake.ledger.runs(["ada"]).sort("commit_seq")
    assert runs["version"][-1] == VERSION
    before = lake.ledger.decisions().height
    undone = undo.undo(lake, "night-1", cascade=True, now=homes.RECORDED)
    assert undone.height > 0
    assert lake.ledger.decisions().height == before, "the ledger keeps both"
    for name, rows in rebuild.rebuild(lake, "ada").items():
        assert rows.equals(lake.read(name, profiles=["ada"])), f"table {name} differs from a rebuild"


@pytest.mark.drill
@pytest.mark.parametrize("at", sampling.first(NIGHTS[0] + timedelta(days=1), NIGHTS[0] - timedelta(days=5)))
def test_a_past_instant_is_shown_with_what_was_decided_by_then(lake, at):
    path = rebuild.snapshot_at(lake, at)
    decided = lake.ledger.decisions(as_of=at)
    with duckdb.connect(str(path), read_only=True) as connection:
        shown = connection.execute("SELECT decision_id FROM decisions ORDER BY 1").fetchall()
        remade = connection.execute("SELECT DISTINCT remade_by FROM snapshot_info").fetchall()
    assert [name for (name,) in shown] == decided["decision_id"].sort().to_list()
    assert remade == [(VERSION,)]


def test_what_another_version_published_is_said_to_be_made_again(lake):
    published = lake.ledger.runs(["ada"])["version"].unique().to_list()
    said = rebuild.note(lake, as_of=NIGHTS[1]) or ""
    assert ("an earlier version published it" in said) == (published == [""])
    assert rebuild.note(lake, as_of=NIGHTS[0] - timedelta(days=1)) is None


@pytest.mark.drill
def test_one_of_its_memories_is_erased(lake):
    erase_memories(lake, profile_id="ada", memory_ids=["nuts"], now=homes.RECORDED)
    found = doctor.examine(homes.settings(lake.home), repair=False)
    assert [finding for finding in found if not finding.well and finding.subject != "snapshot"] == []
    texts = b"".join(path.read_bytes() for path in lake.home.rglob("*") if path.is_file())
    assert b"hazelnut" not in texts
    assert "hazelnuts" not in str(lake.events().to_dicts())


def test_a_policy_keeps_what_it_meant_when_it_was_recorded():
    old = {"preset": "default", "fact_confidence": 0.7, "archive_threshold": 0.1, "working_decay": 0.5}
    policy = read_policy(old, version=0)
    assert (policy.archive_threshold, policy.close_confidence, policy.summaries) == (0.1, 0.7, "all")
    assert (policy.core_facts, policy.split_entries, policy.llm_pairs) == ("superlocal", False, 0)
    assert (policy.judge, read_policy({"preset": "default"}, version=1).judge) == ("reader", "reader")
    today = Policy(token_budget=0.5)
    assert read_policy(today.model_dump(mode="json"), version=POLICY_VERSION) == today
    with pytest.raises(SettingsError, match="upgrade memory-pipeline"):
        read_policy({}, version=POLICY_VERSION + 1)
