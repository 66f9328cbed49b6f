"""An erasure while other programs use Dagster's storage: it goes through, and no word stays in any of its files."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime

import pytest
from commands import COMMAND, as_json, environment
from leftovers import found

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import dagster_postgres, sqlite_file
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.event import parse
from memory_pipeline.service import launch
from memory_pipeline.settings import load

TEXTS = [f"Ana met Doctor Zwirblquax in room {number} about her knee" for number in range(12)]
WORDS = ("zwirblquax", "about her knee", "köppelfritz")
SAID = {"speaker": "Zwirblquax", "metadata": {"clinic": "Köppelfritz"}, "protected_reason": "about her knee"}
STORED = "INSERT INTO notes (key, value) VALUES (?, ?)"
SLOW = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("INSERT INTO notes (key, value) VALUES ('k', ?)", (sys.argv[2],))
connection.commit()
connection.execute("INSERT INTO notes (key, value) VALUES ('half', ?)", (sys.argv[2],))
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A store after a run through Dagster."""
    home = tmp_path_factory.mktemp("ran") / "home"
    with Lake(home) as lake:
        lake.ledger.append(
            [
                parse(
                    {"event_type": "memory.stored", "memory_id": f"a{number}", "payload": SAID | {"content": text}},
                    recorded_at=datetime(2026, 3, 1, tzinfo=UTC),
                    origin="test",
                )
                for number, text in enumerate(TEXTS)
            ]
        )
    launch.execute(load(home, environment={}), "full")
    with closing(sqlite3.connect(index(home))) as connection:
        connection.execute("CREATE TABLE notes (key TEXT, value TEXT)")
    return home


@pytest.fixture
def home(ran, tmp_path):
    shutil.copytree(ran, tmp_path / "home", symlinks=True)
    return tmp_path / "home"


def index(home):
    return home / "dagster" / "history" / "runs" / "index.db"


def read_only(home):
    return closing(sqlite3.connect(f"{index(home).as_uri()}?mode=ro", uri=True, isolation_level=None))


def erased(home, *memory_ids):
    with Lake(home) as lake:
        return erase_memories(lake, memory_ids=memory_ids, now=datetime.now(UTC)).erased


def all_erased(home, *, but=0):
    names = [f"a{number}" for number in range(but, len(TEXTS))]
    assert len(erased(home, *names)) == len(names)
    assert found(home, *WORDS) == []


def test_dagster_never_holds_a_text(ran):
    assert found(ran, *WORDS)
    assert found(ran / "dagster", *WORDS) == []


@pytest.mark.drill
def test_a_reader_that_has_just_closed_disturbs_nothing_nor_does_an_open_one(home):
    with read_only(home) as reader:
        reader.execute("SELECT count(*) FROM event_logs").fetchall()
    assert index(home).with_name("index.db-shm").exists()
    assert erased(home, "a0") == ("a0",)
    with read_only(home) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM event_logs").fetchall()
        all_erased(home, but=1)


@pytest.mark.drill
def test_rows_that_were_removed_and_what_a_killed_program_left_in_the_log_of_a_database_are_found(home):
    with closing(sqlite3.connect(index(home))) as connection:
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute(STORED, ("removed", TEXTS[1]))
        connection.commit()
        connection.execute("DELETE FROM notes WHERE key = 'removed'")
        connection.commit()
    assert found(home / "dagster", TEXTS[1])
    arguments = [sys.executable, "-c", SLOW, index(home), f"nothing but {TEXTS[0]}"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert TEXTS[1].encode() in index(home).read_bytes()
    assert TEXTS[0].encode() in index(home).with_name("index.db-wal").read_bytes()
    all_erased(home)
    with read_only(home) as reader:
        assert reader.execute("SELECT value FROM notes WHERE key = 'k'").fetchall() == [("nothing but [erased]",)]


@pytest.mark.drill
def test_words_that_somebody_still_reads_stop_the_erasure_before_it_begins(home, monkeypatch):
    monkeypatch.setattr(sqlite_file, "_PATIENCE", 0.1)
    with closing(sqlite3.connect(index(home))) as connection:
        connection.execute(STORED, ("k", TEXTS[0]))
        connection.commit()
    with read_only(home) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM notes").fetchall()
        with pytest.raises(LakeError, match=r"index\.db: .*: nothing was erased; let programs that use it finish"):
            erased(home, "a0")
        monkeypatch.setattr(sqlite_file, "full", lambda _: True)
        with pytest.raises(LakeError, match=r"nothing was erased; free some disk space or inodes, then erase again"):
            erased(home, "a0")
    with Lake(home) as lake:
        assert "memory.erased" not in lake.events()["event_type"]
    all_erased(home)


@pytest.mark.drill
def test_a_run_that_goes_on_in_another_process_disturbs_nothing(home):
    ids = [f"a{number}" for number in range(len(TEXTS))]
    command = [COMMAND, "--home", home, "consolidate"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        begun = len(list(index(home).parent.iterdir()))
        while process.poll() is None and len(ids) > len(TEXTS) - 3:
            if len(list(index(home).parent.iterdir())) > begun:
                assert as_json("erase", ids.pop(), "-y", home=home)["erased"]
        said = process.communicate()[1].decode()
    assert process.returncode == 0 or "memories were erased since the events were read" in said
    assert len(ids) < len(TEXTS)
    erased(home, *ids)
    assert found(home, *WORDS) == []


@pytest.mark.parametrize(
    ("storage", "where"),
    [
        ("sqlite: {base_dir: x}", None),
        ("postgres: {postgres_url: 'postgresql+psycopg2://dagster:x@db/history'}", ("db", None, "history")),
        ("postgres: {postgres_url: {env: HISTORY}}", ("other", 5433, "runs")),
        ("postgres: {postgres_db: {username: d, password: x, hostname: db, db_name: h}}", ("db", 5432, "h")),
    ],
)
def test_the_history_is_where_the_file_says(tmp_path, monkeypatch, storage, where):
    monkeypatch.setenv("HISTORY", "postgresql+psycopg2://dagster:x@other:5433/runs")
    assert dagster_postgres.url_of(tmp_path) is None
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text(f"storage:\n  {storage}\n", "utf-8")
    url = dagster_postgres.url_of(tmp_path)
    assert (url and (url.host, url.port, url.database)) == where


@pytest.mark.parametrize("wrong", ["storage: {postgres: {postgres_url: {env: NOT_SET}}}", "storage: 3", "storage: ["])
def test_a_history_that_cannot_be_found_is_not_passed_over(tmp_path, wrong):
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text(wrong, "utf-8")
    with pytest.raises(LakeError, match=r"dagster\.yaml: .* nothing was erased"):
        dagster_postgres.url_of(tmp_path)
