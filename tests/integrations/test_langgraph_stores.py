"""LangGraph's own stores: SqliteStore opens what we export, and what PostgresStore wrote is imported."""

from datetime import UTC, datetime

import pytest
from commands import as_json, call, text

from memory_pipeline import MemoryClient

sqlite = pytest.importorskip("langgraph.store.sqlite", reason="langgraph-checkpoint-sqlite is not installed")

ROWS = [
    {
        "text": "Ana's launch is on 12 June — “green” at 5 o'clock.",
        "memory_id": "m/1",
        "user_id": "ana.b",
        "session_id": "s1",
        "agent_id": "bot",
        "speaker": "Ana",
        "source": "chat",
        "tags": ["launch", "memories"],
        "importance": 0.7,
        "memory_type": "Decision",
        "occurred_at": datetime(2026, 3, 1, 10, 30, 5, 123456, tzinfo=UTC),
        "valid_from": "2026-03-01T00:00:00Z",
        "protected": True,
        "protected_reason": "she asked",
        "metadata": {"page": 3, "deep": {"a": [1, None, "ü"]}},
    },
    {"text": "The office is closed on Fridays.", "memory_id": "m2"},
]


def remembered(home, profile="team"):
    with MemoryClient(home, profile_id=profile) as client:
        return {memory.memory_id: memory for memory in client.list()}


@pytest.fixture
def home(tmp_path):
    with MemoryClient(tmp_path / "data", profile_id="team") as client:
        client.remember_many(ROWS)
    return tmp_path / "data"


def test_their_store_opens_what_we_export_and_it_comes_back_as_it_was(home, tmp_path):
    file = tmp_path / "store.db"
    text("export", "langgraph", str(file), home=home)
    with sqlite.SqliteStore.from_conn_string(str(file)) as store:
        versions = store.conn.execute("SELECT max(v) FROM store_migrations").fetchone()[0]
        assert versions == len(store.MIGRATIONS) - 1, "there is nothing to set up"
        store.setup()
        (item,) = store.search(("memories", "ana_b"))
        assert (item.key, item.value["content"], item.value["tags"]) == ("m/1", ROWS[0]["text"], ROWS[0]["tags"])
        assert item.created_at.replace(tzinfo=UTC) == ROWS[0]["occurred_at"]
        assert store.get(("memories", "team"), "m2").value["content"] == ROWS[1]["text"]
        assert sorted(store.list_namespaces()) == [("memories", "ana_b"), ("memories", "team")]
        store.put(("memories", "team"), "m3", {"content": "Written by a graph."})
    done = as_json("import", "langgraph", str(file), home=tmp_path / "back")
    assert done[str(file)]["dead_letters"] == 0
    before, after = remembered(home), remembered(tmp_path / "back")
    assert {name: memory.to_dict() for name, memory in after.items()} == {
        name: memory.to_dict() | ({} if memory.source else {"source": "langgraph"}) for name, memory in before.items()
    }
    (other,) = remembered(tmp_path / "back", "langgraph").values()
    assert (other.text, set(other.tags)) == ("Written by a graph.", {"memories", "team"})
    again = as_json("import", "langgraph", str(file), home=home)
    assert again[str(file)]["dead_letters"] == 0
    assert remembered(home) == before, "what is known here is not changed by coming back"


def test_what_their_server_store_wrote_goes_in_by_url_and_from_a_dump(postgres, tmp_path):
    theirs = pytest.importorskip("langgraph.store.postgres", reason="langgraph-checkpoint-postgres is not installed")
    url = postgres.address()
    with theirs.PostgresStore.from_conn_string(url) as store:
        store.setup()
        store.put(("memories", "ana"), "tea", {"content": "Ana drinks\ttea \\ milk.\nAlways.", "importance": 0.7})
        store.put(("memories", "bob"), "boat", {"kind": "Boat", "content": {"name": "Vega", "length": 7}})
    assert "langgraph" in text("import", "detect", url, home=tmp_path / "live")
    text("import", "langgraph", url, "--scope", "memories/{user_id}", home=tmp_path / "live")
    dump = tmp_path / "store.sql"
    dump.write_bytes(postgres.dump(url))
    text("import", "langgraph", str(dump), "--scope", "memories/{user_id}", home=tmp_path / "dumped")
    for folder in ("live", "dumped"):
        (tea,) = remembered(tmp_path / folder, "ana").values()
        assert (tea.text, tea.importance) == ("Ana drinks\ttea \\ milk.\nAlways.", 0.7)
        (boat,) = remembered(tmp_path / folder, "bob").values()
        assert (boat.text, boat.tags) == ('{"length":7,"name":"Vega"}', ("memories", "Boat"))
    refused = call("import", "langgraph", url.replace("/postgres?", "/nothing?"), home=tmp_path / "live")
    assert refused.returncode == 1
    assert "the PostgreSQL server cannot be read" in refused.stderr
    assert "Traceback" not in refused.stderr
