"""Importers of other systems: what of each store becomes what, twice is once, and damage costs only what it hits."""

import contextlib
import gzip
import io
import json
import os
import pickle
import random
import shutil
import sqlite3
import tarfile
import threading
import zipfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import foreign_stores
import mutations
import pytest
import sampling
from foreign_stores import REAL, TEXTS

from memory_pipeline.interop import chatgpt, files, formats, inert_pickle, langgraph, records, scopes, values
from memory_pipeline.interop.exports.langgraph import PUT
from memory_pipeline.interop.importing import import_events
from memory_pipeline.ledger.event import DeadLetter, Event, frame, parse
from memory_pipeline.ledger.ledger import Ledger

NOW = datetime(2027, 5, 1, tzinfo=UTC)
STORES = {
    "langgraph": "langgraph.sqlite",
    "openai-agents": "openai_agents.sqlite",
    "cognitive-memory": "cognitive_memory.jsonl",
    "superlocalmemory": "superlocalmemory.sqlite",
    "mem0": "mem0",
    "graphiti": "graphiti.json",
    "mcp-memory": "mcp_memory.jsonl",
}
"""Stores that the real packages wrote, by format."""


@pytest.fixture
def ledger(tmp_path):
    with Ledger.at(tmp_path / "home") as opened:
        yield opened


def read(form, path, *, at=NOW, **options):
    return formats.events(formats.FORMATS[form], path, recorded_at=at, **options)


def taken(ledger, form, path, **options):
    """Import a path; return the report and the rows that it added."""
    before = ledger.position()
    report = import_events(ledger, read(form, path, **options))
    return report, frame(ledger.read(before))


def told(rows, *columns):
    """Rows of stored memories, some columns of them, null fields left out."""
    return [
        tuple(row[name] for name in columns)
        for row in rows.filter(rows["event_type"] == "memory.stored").iter_rows(named=True)
    ]


def kinds(rows):
    return dict(rows["event_type"].value_counts().sort("event_type").iter_rows())


@pytest.mark.parametrize("form", STORES)
def test_a_store_that_the_real_package_wrote_is_told_taken_once_and_never_refused(ledger, form):
    path = REAL / STORES[form]
    assert formats.detect(path)[0].name == form
    report, rows = taken(ledger, form, path)
    assert (report.accepted, report.duplicates, report.dead_letters) == (rows.height, 0, 0)
    assert report.accepted > 0
    again, nothing = taken(ledger, form, path, at=NOW + timedelta(days=1))
    assert (again.accepted, again.duplicates, again.dead_letters, nothing.height) == (0, rows.height, 0, 0)


@pytest.mark.parametrize("form", TEXTS)
def test_a_sample_in_the_documented_layout_is_told_taken_once_and_never_refused(ledger, tmp_path, form):
    folder = foreign_stores.folder(tmp_path / "export", TEXTS[form])
    assert formats.detect(folder)[0].name == form
    report, rows = taken(ledger, form, folder)
    assert report.dead_letters == 0
    assert report.accepted == rows.height > 0
    archive = foreign_stores.zipped(tmp_path / "export.zip", TEXTS[form])
    assert formats.detect(archive)[0].name == form
    again, _ = taken(ledger, form, archive, at=NOW + timedelta(days=1))
    assert (again.accepted, again.dead_letters) == (0, 0)


def test_mem0_memories_begin_with_their_first_text_and_change_as_the_history_says(ledger):
    report, rows = taken(ledger, "mem0", REAL / "mem0")
    assert set(told(rows, "profile_id", "user_id", "session_id", "content", "speaker", "importance")) == {
        ("ana", "ana", None, "Ana prefers green tea.", "user", 0.8),
        ("ben", "ben", "r1", "I sold the boat.", "Ben", None),
    }
    updates = rows.filter(rows["event_type"] == "memory.updated")
    assert updates["content"].to_list() == ["Ana prefers black tea.", "Ana prefers coffee."]
    assert updates["occurred_at"].is_sorted()
    assert report.skipped == {"memories that were deleted there": 1}
    later, rows = taken(ledger, "mem0", REAL / "mem0.json")
    assert (later.accepted, rows.height) == (0, 0), "the server's answer says the same"


def test_a_memory_that_changed_in_its_source_is_updated_and_a_local_change_stays(ledger, tmp_path):
    path = tmp_path / "mem0.json"
    shutil.copy(REAL / "mem0.json", path)
    taken(ledger, "mem0", path)
    document = json.loads(path.read_text("utf-8"))
    tea = document["results"][0]
    tagged = {"event_type": "memory.updated", "memory_id": tea["id"], "payload": {"tags": ["mine"]}}
    ledger.append([parse(tagged | {"profile_id": "ana"}, recorded_at=NOW, origin="test")])
    tea |= {"memory": "Ana prefers cocoa.", "updated_at": "2027-04-30T09:00:00+00:00"}
    path.write_text(json.dumps(document), "utf-8")
    report, rows = taken(ledger, "mem0", path, at=NOW + timedelta(days=1))
    assert (report.accepted, report.duplicates) == (1, 1)
    (row,) = rows.iter_rows(named=True)
    assert (row["event_type"], row["content"], row["tags"]) == ("memory.updated", "Ana prefers cocoa.", None)
    assert taken(ledger, "mem0", path, at=NOW + timedelta(days=2))[0].accepted == 0


def test_a_new_memory_keeps_when_its_source_last_changed_it(ledger, tmp_path):
    path = tmp_path / "mem0.json"
    record = {"id": "m1", "hash": "h", "user_id": "ana", "created_at": "2026-01-01T00:00:00Z"}
    office = record | {"memory": "The office is in Tallinn.", "updated_at": "2026-06-01T00:00:00Z"}
    desk = record | {"id": "m2", "memory": "The desk is oak.", "updated_at": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps({"results": [office, desk]}), "utf-8")
    report, rows = taken(ledger, "mem0", path)
    changes = rows.filter(rows["event_type"] == "memory.updated").select("memory_id", "content", "occurred_at").rows()
    assert changes == [("m1", "The office is in Tallinn.", datetime(2026, 6, 1, tzinfo=UTC))]
    assert report.accepted == 3
    assert taken(ledger, "mem0", path, at=NOW + timedelta(days=1))[0].accepted == 0
    path.write_text(json.dumps({"results": [office | {"memory": "The office is in Riga."}, desk]}), "utf-8")
    _, rows = taken(ledger, "mem0", path, at=NOW + timedelta(days=2))
    assert rows["content"].to_list() == ["The office is in Riga."]


def test_an_item_of_langgraph_keeps_how_long_it_lives_and_an_empty_one_has_its_key_as_text(ledger, tmp_path):
    item = {"namespace": ["ana"], "key": "k", "created_at": "2026-01-01T00:00:00Z"}
    items = [item | {"value": {"content": "Tea."}, "ttl_minutes": 90.0}, item | {"key": "empty", "value": {}}]
    (tmp_path / "l.json").write_text(json.dumps(items), "utf-8")
    report, rows = taken(ledger, "langgraph", tmp_path / "l.json")
    assert (rows["content"].to_list(), dict(report.skipped)) == (["Tea.", "empty"], {})
    assert json.loads(rows["metadata"][0]) == {"namespace": "ana", "ttl_minutes": 90.0}


def test_a_whole_number_of_any_length_in_a_list_of_json_is_kept_and_ends_no_file(ledger, tmp_path):
    value = {"n": 10**20, "negative": -(10**30), "share": 0.5, "zero": -0.0, "parts": [12345678901234567890, 1e10]}
    items = [{"namespace": ["a"], "key": key, "value": one} for key, one in (("k", value), ("last", {"text": "Tea."}))]
    (tmp_path / "l.json").write_text(json.dumps(items), "utf-8")
    report, rows = taken(ledger, "langgraph", tmp_path / "l.json")
    assert (report.accepted, report.dead_letters) == (2, 0)
    assert json.loads(rows["content"][0]) == value
    assert rows["content"][1] == "Tea."


def test_the_words_of_an_item_of_langgraph_may_be_in_other_fields(ledger, tmp_path):
    values = [{"data": "User name is Ana."}, {"text": "Tea.", "lang": "en"}, {"content": 3, "text": "No."}, {"n": 1}]
    items = [{"namespace": ["a"], "key": str(index), "value": value} for index, value in enumerate(values)]
    (tmp_path / "l.json").write_text(json.dumps(items), "utf-8")
    _, rows = taken(ledger, "langgraph", tmp_path / "l.json")
    assert rows["content"].to_list() == ["User name is Ana.", "Tea.", '{"content":3,"text":"No."}', '{"n":1}']
    assert [json.loads(one) for one in rows["metadata"]][:2] == [
        {"text_field": "data", "namespace": "a"},
        {"text_field": "text", "lang": "en", "namespace": "a"},
    ]


def test_metadata_of_an_item_of_langgraph_stays_whatever_its_form(ledger, tmp_path):
    item = {"namespace": ["ana"], "created_at": "2026-01-01T00:00:00Z"}
    values = [{"content": "Tea.", "metadata": "from a chat"}, {"content": "Jam.", "metadata": {"shelf": 3}, "row": 1}]
    items = [item | {"key": str(index), "value": value} for index, value in enumerate(values)]
    (tmp_path / "l.json").write_text(json.dumps(items), "utf-8")
    _, rows = taken(ledger, "langgraph", tmp_path / "l.json")
    assert [json.loads(one) for one in rows["metadata"]] == [
        {"metadata": "from a chat", "namespace": "ana"},
        {"shelf": 3, "row": 1, "namespace": "ana", **json.loads(rows["metadata"][1])},
    ]
    assert json.loads(rows["metadata"][1])[PUT]["value"] == values[1]


def test_a_flat_record_of_mem0_keeps_what_its_caller_attached_and_both_actor_and_role(ledger, tmp_path):
    record = {"id": "m1", "data": "Ana sails.", "user_id": "ana", "created_at": "2026-01-01T00:00:00Z"}
    said = {"source": "slack", "actor_id": "Ana K.", "role": "user", "attributed_to": "assistant", "hash": "h"}
    exported = {"id": "m2", "memory": "Ana rows.", "source": "qdrant", "source_payload": {}}
    (tmp_path / "m.json").write_text(json.dumps([record | said, record | exported]), "utf-8")
    _, rows = taken(ledger, "mem0", tmp_path / "m.json")
    assert told(rows, "speaker", "source") == [("Ana K.", "mem0"), (None, "mem0")]
    assert [one and json.loads(one) for one in rows["metadata"]] == [
        {"source": "slack", "role": "user", "attributed_to": "assistant"},
        None,
    ]


def test_a_field_of_an_item_that_another_displaces_is_counted(ledger, tmp_path):
    value = {"content": "Tea.", "namespace": "mine", "page": 3, "metadata": {"page": 4, "colour": "green"}}
    item = {"namespace": ["ana"], "key": "k", "created_at": "2026-01-01T00:00:00Z", "value": value}
    (tmp_path / "l.json").write_text(json.dumps([item]), "utf-8")
    report, rows = taken(ledger, "langgraph", tmp_path / "l.json")
    assert report.skipped == {langgraph.CLASHES: 2}
    metadata = json.loads(rows["metadata"][0])
    assert metadata.pop(PUT)["value"] == value
    assert metadata == {"namespace": "ana", "page": 3, "colour": "green"}


def test_mem0_records_without_a_hash_are_recognised(ledger, tmp_path):
    record = {"id": "m1", "memory": "Ana sails.", "user_id": "ana", "created_at": "2026-01-01T00:00:00Z"}
    path = foreign_stores.folder(tmp_path, {"answer.json": {"results": [record]}}) / "answer.json"
    assert [form.name for form in formats.detect(path)] == ["mem0"]
    assert taken(ledger, "mem0", path)[1]["content"].to_list() == ["Ana sails."]


def test_a_value_that_does_not_fit_is_left_out_and_counted(ledger, tmp_path):
    one = {"id": "m1", "content": "Tea.", "timestamp": "soon", "importance": "high", "confidence": 7, "tags": "drinks"}
    one |= {"enriched_at": "2026-01-02", "mood": "calm"}
    two = {"id": "m2", "content": "Jam.", "timestamp": "2026-01-01", "importance": "", "t_invalid": "some day"}
    nodes = [{"id": index, "labels": ["Memory"], "properties": fields} for index, fields in enumerate((one, two))]
    edge = {"source_id": 0, "type": "LEADS_TO", "target_id": 1, "properties": {"strength": 3}}
    loop = {"source_id": 0, "type": "LEADS_TO", "target_id": 0, "properties": {}}
    graph = {"graph_name": "memories", "nodes": nodes, "relationships": [edge, loop, "none"]}
    report, rows = taken(ledger, "automem", foreign_stores.folder(tmp_path, {"falkordb_1.json": graph}))
    assert told(rows, "content", "tags", "importance") == [("Tea.", ["drinks"], None), ("Jam.", None, None)]
    assert json.loads(rows["metadata"][0]) == {"source_state": {"mood": "calm"}}
    assert (report.accepted, report.dead_letters) == (3, 1)
    assert report.skipped == {
        records.UNDATED: 1,
        records.LOOSE: 1,
        **{f"values of {name} that do not fit": 1 for name in ("importance", "confidence", "valid_until", "weight")},
    }


def test_mem0_files_say_until_when_what_tags_and_whose(ledger, tmp_path):
    _, rows = taken(ledger, "mem0", foreign_stores.folder(tmp_path / "m", TEXTS["mem0"]), profile="all")
    (row,) = rows.iter_rows(named=True)
    assert (row["profile_id"], row["user_id"], row["tags"], row["importance"]) == ("all", "ana", ["drinks"], 0.7)
    assert row["valid_until"] == datetime(2027, 1, 1, tzinfo=UTC)
    assert json.loads(row["metadata"]) == {"shelf": 3}


def test_memories_of_one_entity_of_mem0_are_linked_unless_there_are_too_many(ledger, tmp_path):
    records = [{"id": f"m{n}", "memory": f"Fact {n}.", "hash": "x", "user_id": "ana"} for n in range(30)]
    entity = {"entity_type": "person", "created_at": "2026-01-01T00:00:00Z", "user_id": "ana"}
    entities = [
        entity | {"id": "e1", "data": "Ben", "linked_memory_ids": ["m2", "m1", "m3", "nowhere"]},
        entity | {"id": "e2", "data": "Ana", "linked_memory_ids": [f"m{n}" for n in range(30)]},
    ]
    folder = foreign_stores.folder(tmp_path / "m", {"all.json": [*records, *entities]})
    report, rows = taken(ledger, "mem0", folder)
    links = rows.drop_nulls("target_id").select("profile_id", "memory_id", "target_id", "edge_kind").rows()
    assert links == [("ana", *pair, "shared_entity") for pair in (("m1", "m2"), ("m1", "m3"), ("m2", "m3"))]
    assert report.skipped == {"entities that too many memories name": 1}


def test_the_export_of_mem0s_plugin_is_read_block_by_block(ledger, tmp_path):
    path = tmp_path / "mem0-export-2026.md"
    block = "---\nid: p{}\ncreated_at: 2026-01-0{}T09:00:00Z\ntype: decision\nbranch: main\ncategories: a, b\n---\n{}\n"
    path.write_text(block.format(1, 1, "We use Polars.") + block.format(2, 2, "Tabs.\n\nNot spaces."), "utf-8")
    assert formats.detect(path)[0].name == "mem0"
    _, rows = taken(ledger, "mem0", path)
    assert told(rows, "memory_id", "content", "tags") == [
        ("p1", "We use Polars.", ["a", "b", "decision"]),
        ("p2", "Tabs.\n\nNot spaces.", ["a", "b", "decision"]),
    ]


def test_langgraph_namespaces_say_whose_a_memory_is(ledger):
    _, rows = taken(ledger, "langgraph", REAL / "langgraph.sqlite", scope="memories/{user_id}")
    assert set(told(rows, "profile_id", "content", "memory_type", "importance")) >= {
        ("ana", "Ana prefers green tea.", None, 0.7),
        ("ana", "Ana likes short answers.", "Preference", None),
        ("ana", "Ana works in Bergen.", None, None),
        ("ben", '{"length":7,"name":"Vega"}', None, None),
    }
    assert told(rows, "memory_id", "tags")[0] == ("memories.ana/tea", ["memories"])


@pytest.mark.parametrize("template", ["memories", "{user}", "{user_id}/{user_id}"])
def test_a_wrong_template_is_refused_before_anything_is_read(template):
    with pytest.raises(ValueError, match="--scope"):
        read("langgraph", REAL / "langgraph.sqlite", scope=template)


def test_a_template_reads_a_name():
    pattern = scopes.pattern("team-{}/{agent_id}/{user_id}")
    assert scopes.read("team-7/helper/ana", pattern) == {"agent_id": "helper", "user_id": "ana"}
    assert scopes.read("team-7/ana", pattern) == {}


def test_sessions_of_agents_hold_what_the_person_said(ledger):
    report, rows = taken(ledger, "openai-agents", REAL / "openai_agents.sqlite", scope="{user_id}:{}")
    assert told(rows, "profile_id", "session_id", "content") == [
        ("ana", "ana:monday", "The tiles come from Delft."),
        ("ana", "ana:monday", "And they cost 40 euros."),
        ("ben", "ben:tuesday", "I sold the boat."),
    ]
    assert kinds(rows) == {"memory.stored": 3, "session.started": 2, "session.ended": 2}
    assert report.skipped == {
        "messages of the assistant (taken with --assistant)": 1,
        "messages of tools and the system": 2,
        "pictures and files in messages": 1,
    }


def test_cognitive_memory_tells_every_access(ledger, tmp_path):
    _, rows = taken(ledger, "cognitive-memory", REAL / "cognitive_memory.jsonl")
    assert set(told(rows, "content", "category", "importance")) == {
        ("Ana is allergic to hazelnuts.", "core", 0.9),
        ("Ana went to Oslo on Monday.", "episodic", 0.4),
    }
    assert kinds(rows)["memory.accessed"] == 6
    log = foreign_stores.folder(tmp_path / "log", TEXTS["cognitive-memory"])
    report, rows = taken(ledger, "cognitive-memory", log)
    accesses = rows.filter(rows["event_type"] == "memory.accessed")
    assert accesses.select("memory_id", "times", "occurred_at").rows() == [
        ("t1", 3, datetime.fromtimestamp(1_770_000_000, UTC))
    ]
    assert rows.drop_nulls("target_id")["weight"].to_list() == [0.4]
    assert report.skipped == {"memories that were deleted there": 1, "links that were removed there": 1}
    odd = {"id": "m8", "user_id": "ana", "content": "Jam.", "access_count": "often", "ttl_seconds": -1}
    line = json.dumps({"type": "create", "memory": odd})
    (tmp_path / "odd.jsonl").write_text(line, "utf-8")
    report, _ = taken(ledger, "cognitive-memory", tmp_path / "odd.jsonl")
    assert report.skipped == {f"values of {name} that do not fit": 1 for name in ("access_count", "ttl_seconds")}


def test_superlocalmemory_tells_accesses_pins_feedback_and_asserted_links(ledger):
    report, rows = taken(ledger, "superlocalmemory", REAL / "superlocalmemory.sqlite")
    assert told(rows, "memory_id", "category", "protected", "tags", "session_id") == [
        ("f1", "semantic", True, None, "s1"),
        ("f2", "episodic", None, None, "s1"),
        ("f3", "episodic", None, ["prospective"], "s1"),
    ]
    accesses = rows.filter(rows["event_type"] == "memory.accessed").select("memory_id", "times").rows()
    assert accesses == [("f2", 7), ("f1", None), ("f1", None)]
    assert rows.drop_nulls("helpful").select("memory_id", "helpful").rows() == [("f2", False)]
    links = rows.drop_nulls("target_id").select("memory_id", "target_id", "edge_type", "weight").rows()
    assert links == [("f1", "f2", "LEADS_TO", 0.6), ("f2", "f3", "RELATES_TO", 0.5)]
    assert set(report.skipped) == {
        "accesses by its own consolidation", "facts in quarantine", "links that a run finds again",
    }  # fmt: skip


def test_counted_accesses_of_superlocalmemory_are_dated_by_the_last_one(ledger, tmp_path):
    path = Path(shutil.copy(REAL / "superlocalmemory.sqlite", tmp_path / "memory.db"))
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE fact_retention (fact_id, last_accessed_at)")
        database.execute("INSERT INTO fact_retention VALUES ('f2', '2026-11-09 10:00:00')")
        database.commit()
        database.execute("UPDATE atomic_facts SET access_count = 5 WHERE fact_id = 'f1'")
        database.execute("INSERT INTO memories (memory_id, content) VALUES ('m9', 'A turn without a fact.')")
        database.commit()
    report, rows = taken(ledger, "superlocalmemory", path)
    assert report.skipped["accesses that its log no longer has"] == 3
    assert report.skipped["turns of conversation without facts"] == 1
    used = rows.filter(rows["times"] == 7)["occurred_at"].to_list()
    assert used == [datetime(2026, 11, 9, 10, tzinfo=UTC)]


def test_facts_of_graphiti_have_their_validity_and_end_each_other(ledger):
    report, rows = taken(ledger, "graphiti", REAL / "graphiti.json", episodes=True)
    stored = {row[0]: row[1:] for row in told(rows, "content", "valid_from", "valid_until", "speaker")}
    moved = datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert stored == {
        "Ana lives in Oslo.": (datetime(2026, 1, 1, 9, tzinfo=UTC), moved, None),
        "Ana lives in Bergen.": (moved, None, None),
        "Ana: I moved to Bergen.": (None, None, "Ana"),
    }
    ids = dict(told(rows, "content", "memory_id"))
    assert set(rows.drop_nulls("target_id").select("memory_id", "target_id", "edge_type").rows()) == {
        (ids["Ana lives in Bergen."], ids["Ana lives in Oslo."], "SUPERSEDES"),
        (ids["Ana lives in Bergen."], ids["Ana: I moved to Bergen."], "DERIVED_FROM"),
    }
    assert report.skipped == {"entities, whose names are in their facts": 3}
    assert report.profiles == ("ana",)


def test_the_graph_of_the_mcp_server_becomes_observations_relations_and_links(ledger):
    report, rows = taken(ledger, "mcp-memory", REAL / "mcp_memory.jsonl")
    assert [row[0] for row in told(rows, "content")] == [
        "Ana: lives in Bergen", "Ana likes tea", "Ana: is a carpenter", "Vega: is red",
        "Ana owns Vega", "Ana fears Ghost",
    ]  # fmt: skip
    assert rows.drop_nulls("target_id")["edge_type"].to_list() == ["OWNS"]
    assert report.skipped == {"entities without observations": 1, "links of entities without observations": 1}


def test_of_a_chat_the_branch_that_stands_is_taken(ledger, tmp_path):
    folder = foreign_stores.folder(tmp_path / "c", TEXTS["chatgpt"])
    report, rows = taken(ledger, "chatgpt", folder)
    assert told(rows, "memory_id", "content", "session_id", "category")[1:] == [
        ("a", "The tiles come from Delft.", "c1", None),
        ("d", "They cost 40 euros.", "c1", None),
        ("y", "I sold the boat.", "c2", None),
    ]
    assert told(rows, "content", "category")[0] == ("I am Ana, a carpenter.", "core")
    assert report.skipped["messages of abandoned branches"] == 1
    assert report.skipped["conversations that are not to be remembered"] == 1
    assert report.skipped[chatgpt.UNTOLD] == report.skipped[chatgpt.REMARKS] == 1
    more, rows = taken(ledger, "chatgpt", folder, assistant=True)
    assert told(rows, "content", "speaker") == [("Noted.", "assistant")]
    assert rows.drop_nulls("helpful")["memory_id"].to_list() == ["b"]
    assert chatgpt.UNTOLD not in more.skipped
    assert more.dead_letters == 0


def test_what_claude_remembers_is_taken_line_by_line(ledger, tmp_path):
    report, rows = taken(ledger, "claude", foreign_stores.folder(tmp_path / "c", TEXTS["claude"]))
    assert told(rows, "content", "tags") == [
        ("The boat is red.", None),
        ("No, blue.", None),
        ("Ana is a carpenter.", ["Work"]),
        ("Short answers", ["Style"]),
        ("No lists", ["Style"]),
        ("The hull needs paint.", ["project"]),
        ("Use metric units.", ["project", "Boat"]),
    ]
    assert report.skipped["messages of abandoned branches"] == 1


@pytest.mark.parametrize(
    ("form", "texts", "tags", "beside"),
    [
        (
            "claude-code",
            ["Always run the linter before a commit.", "Use tabs.", "See this."],
            ["boat", "main"],
            {"notes in Markdown (taken by import markdown)": 1, "files of subagents and tool results": 1},
        ),
        ("codex", ["Paint the hull."], ["boat", "dev"], {}),
    ],
)
def test_of_a_transcript_what_the_person_typed_is_taken(ledger, tmp_path, form, texts, tags, beside):
    report, rows = taken(ledger, form, foreign_stores.folder(tmp_path / "c", TEXTS[form]))
    assert told(rows, "content", "tags") == [(text, tags) for text in texts]
    assert kinds(rows)["session.started"] == 1
    assert report.skipped.items() >= {"lines of unknown kinds": 1, **beside}.items()


def test_blocks_of_letta_are_core_and_protected_where_they_say_who_is_who(ledger, tmp_path):
    _, rows = taken(ledger, "letta", foreign_stores.folder(tmp_path / "c", TEXTS["letta"]))
    assert told(rows, "content", "category", "protected", "tags") == [
        ("Name: Ana", "core", True, ["human"]),
        ("Likes tea.", "core", True, ["human"]),
        ("one", "core", None, ["notes"]),
        ("two", "core", None, ["notes"]),
        ("I live in Bergen.", None, None, None),
        ("And I sail.", None, None, None),
    ]
    assert [agent for (agent,) in told(rows, "agent_id")] == ["Helper"] * 2 + ["Sailor"] * 2 + ["Helper"] * 2


def test_a_backup_of_automem_keeps_types_relations_and_the_last_access(ledger, tmp_path):
    folder = foreign_stores.gzipped(tmp_path / "backup", TEXTS["automem"])
    report, rows = taken(ledger, "automem", folder)
    assert told(rows, "memory_id", "memory_type", "importance", "tags") == [
        ("a1", "Decision", 0.8, ["kitchen"]), ("a2", "Decision", None, None), ("a3", None, None, None),
    ]  # fmt: skip
    assert rows["valid_from"].null_count() == rows.height, "the default of t_valid says nothing"
    link = rows.drop_nulls("target_id").select("memory_id", "target_id", "edge_type", "weight").row(0)
    assert link == ("a2", "a1", "SUPERSEDES", 0.7)
    assert json.loads(rows["metadata"][0]) == {"room": "kitchen", "source_state": {"archived": True}}
    assert kinds(rows)["memory.accessed"] == 1
    assert sum(report.skipped.values()) == 3


def test_facts_of_hindsight_keep_causes_and_observations_their_proofs(ledger, tmp_path):
    folder = foreign_stores.folder(tmp_path / "h", TEXTS["hindsight"])
    _, rows = taken(ledger, "hindsight", folder, observations=True)
    assert told(rows, "profile_id", "content", "category") == [
        ("ana", "Ana missed the ferry.", "episodic"),
        ("ana", "The train was late.", "semantic"),
        ("ana", "Ana avoids trains.", "semantic"),
    ]
    assert rows.drop_nulls("target_id")["edge_type"].to_list() == ["CAUSED_BY", "DERIVED_FROM"]


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (1_770_000_000, datetime(2026, 2, 2, 2, 40, tzinfo=UTC)),
        (1_770_000_000.25, datetime(2026, 2, 2, 2, 40, 0, 250_000, tzinfo=UTC)),
        (1_770_000_000_000, datetime(2026, 2, 2, 2, 40, tzinfo=UTC)),
        ("1770000000", datetime(2026, 2, 2, 2, 40, tzinfo=UTC)),
        ("2026-02-02 02:40:00", datetime(2026, 2, 2, 2, 40, tzinfo=UTC)),
        ("2026-02-02T03:40:00+01:00", datetime(2026, 2, 2, 2, 40, tzinfo=UTC)),
        ("2026-02-02T02:40:00.123456789Z", datetime(2026, 2, 2, 2, 40, 0, 123_456, tzinfo=UTC)),
        ("2026-02-02", datetime(2026, 2, 2, tzinfo=UTC)),
        (datetime(2026, 2, 2), datetime(2026, 2, 2, tzinfo=UTC)),  # noqa: DTZ001 - such as YAML gives
        *((junk, None) for junk in (None, True, "", "soon", float("nan"), 1e300, [], {}, "9999-99-99", 10**30)),
    ],
)
def test_instants_of_any_form(value, instant):
    assert values.instant(value) == instant


def test_names_and_numbers_are_made_to_fit_or_left_out():
    assert values.label(" a\nb\0 ") == "a b"
    assert len(values.label("x" * 999)) == 256
    assert [values.label(junk) for junk in ("", " \n", None, True, [], "\u200b")] == [None] * 6
    assert values.identifier("m1") == "m1"
    assert values.identifier("a\nb") not in {"a\nb", "a b", None}
    assert values.identifier("x" * 300) != values.identifier("x" * 301)
    assert values.text("\ud800 \0 a") == "\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER} a"
    assert [values.share(value) for value in (0, 0.5, 1, 2, "1", True, None)] == [
        0.0,
        0.5,
        1.0,
        None,
        None,
        None,
        None,
    ]


class Trap:
    """Unpickling it would be noticed."""

    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_read_without_being_unpickled(protocol):
    plain = {"a": [1, -2.5, "é", b"x", None, True, (1, 2, 3, 4), {"b": {}}], 7: 10**40}
    assert inert_pickle.read(pickle.dumps(plain, protocol)) == plain
    made = inert_pickle.read(pickle.dumps({"x": Trap(), "y": 1}, protocol))
    assert isinstance(made["x"], inert_pickle.Inert)
    assert (made["y"], Trap.sprung) == (1, False)


@pytest.mark.parametrize("content", [b"", b"\x80", b"junk", pickle.dumps([1])[:-2], b"\x80\x04}\x8c\x01as."])
def test_a_damaged_pickle_is_refused(content):
    with pytest.raises(ValueError, match="pickle"):
        inert_pickle.read(content)


def test_reading_a_database_leaves_nothing_beside_it(tmp_path):
    copy = tmp_path / "agents.sqlite"
    shutil.copy(REAL / "openai_agents.sqlite", copy)
    before = copy.read_bytes()
    assert before[18] == 2, "it has a write-ahead log"
    assert len(list(read("openai-agents", copy))) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["agents.sqlite"]
    assert copy.read_bytes() == before
    with sqlite3.connect(copy, isolation_level=None) as program:
        program.execute("DELETE FROM agent_messages WHERE session_id LIKE 'ben%'")
        assert {
            item.profile_id for item in read("openai-agents", copy, scope="{user_id}:{}") if isinstance(item, Event)
        } == {"ana"}
    program.close()


def test_a_path_of_another_format_is_refused_and_its_own_named():
    with pytest.raises(ValueError, match="it looks like langgraph"):
        read("mem0", REAL / "langgraph.sqlite")
    with pytest.raises(ValueError, match=r"make\.py: holds no data in the format chatgpt; give its ZIP file"):
        read("chatgpt", REAL / "make.py")
    with pytest.raises(ValueError, match="cannot be read"):
        read("letta", REAL / "nowhere.af")


def test_checkpoints_beside_a_store_are_counted(ledger, tmp_path):
    database = shutil.copy(REAL / "langgraph.sqlite", tmp_path)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE checkpoints (checkpoint BLOB)")
        connection.executemany("INSERT INTO checkpoints VALUES (?)", [(b"x",)] * 3)
    connection.close()
    report, _ = taken(ledger, "langgraph", Path(database))
    assert report.skipped["checkpoints of threads"] == 3
    assert report.accepted


def test_an_export_that_breaks_off_gives_what_comes_before(ledger, tmp_path):
    text = json.dumps(foreign_stores.CHATGPT)
    (tmp_path / "conversations.json").write_text(text[: text.index('"c3"')], "utf-8")
    report, rows = taken(ledger, "chatgpt", tmp_path / "conversations.json")
    assert [row[0] for row in told(rows, "memory_id")][1:] == ["a", "d", "y"]
    assert report.dead_letters == 1
    assert "stops being valid JSON" in report.refused[0].reason


@pytest.mark.parametrize("times", sampling.first(3, 12))
@pytest.mark.parametrize("form", TEXTS)
def test_damage_anywhere_is_survived(tmp_path, form, times):
    chance = random.Random(form)  # where the damage goes
    options = {name: True for name in formats.FORMATS[form].options if name in formats.FLAGS}
    for number in range(times):
        name = chance.choice(list(TEXTS[form]))
        value = TEXTS[form][name]
        for _ in range(chance.randint(1, 3)):
            value = mutations.damaged(value, chance)
        folder = foreign_stores.folder(tmp_path / str(number), {**TEXTS[form], name: value})
        formats.detect(folder)
        for item in formats.FORMATS[form].events(folder, recorded_at=NOW, **options):
            assert not isinstance(item, DeadLetter) or item.reason
            assert not isinstance(item, Event) or item.row()


@pytest.mark.parametrize("times", sampling.first(2, 8))
@pytest.mark.parametrize("form", ["chatgpt", "claude", "claude-code", "automem", "mcp-memory", "cognitive-memory"])
def test_damage_to_one_record_loses_no_other(tmp_path, form, times):
    chance = random.Random(form)
    name = next(iter(TEXTS[form]))
    for number in range(times):
        whole = TEXTS[form][name]
        parts = whole["nodes"] if form == "automem" else whole
        place = chance.randrange(len(parts))
        worse = [*parts[:place], mutations.damaged({"x": parts[place]}, chance).get("x", 7), *parts[place + 1 :]]
        without = [*parts[:place], *parts[place + 1 :]]
        ids = [
            {
                item.memory_id
                for item in formats.FORMATS[form].events(
                    foreign_stores.folder(
                        tmp_path / f"{number}{kind}",
                        {**TEXTS[form], name: {**whole, "nodes": changed} if form == "automem" else changed},
                    ),
                    recorded_at=NOW,
                )
                if isinstance(item, Event) and item.event_type == "memory.stored"
            }
            for kind, changed in (("worse", worse), ("without", without))
        ]
        assert ids[0] >= ids[1], (worse[place], ids)


@pytest.mark.parametrize("form", ["langgraph", "openai-agents", "superlocalmemory", "mem0"])
def test_damaged_cells_of_a_database_are_survived(tmp_path, form):
    chance = random.Random(form)
    real = REAL / STORES[form]
    for number in range(4):
        copy = tmp_path / str(number)
        shutil.copytree(real, copy) if real.is_dir() else shutil.copy(real, copy)
        for file in [copy] if copy.is_file() else [*copy.rglob("*.db"), *copy.rglob("*.sqlite")]:
            damage(file, chance)
        options = {name: True for name in formats.FORMATS[form].options if name in formats.FLAGS}
        for item in formats.FORMATS[form].events(copy, recorded_at=NOW, **options):
            assert not isinstance(item, Event) or item.row()


def damage(file: Path, chance: random.Random) -> None:
    """Put junk into some cells of a database, whatever their columns say."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for column in [
                row[1] for row in connection.execute(f"PRAGMA table_info({table})") if not row[3] and not row[5]
            ]:
                junk = chance.choice([None, 7, -1.5, "", "x", b"\xff\x00", '{"a": [', '["x"]', "9" * 400])
                chosen = f"abs(random()) % 3 = {chance.randrange(3)}"
                connection.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE {chosen}', (junk,))  # noqa: S608
    connection.close()


AT = "2026-11-23 11:00:00.5+00"
DUMP = rf"""
SET client_encoding = 'UTF8';
CREATE TABLE public.store (
    prefix text NOT NULL,
    key text NOT NULL
);
COPY public.checkpoints (thread_id, blob) FROM stdin;
prefix	\\x00
\.

COPY public.store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes) FROM stdin;
memories.ana	tea	{{"content": "Ana drinks\\ttea.", "importance": 0.7}}	{AT}	{AT}	\N	\N
memories.bob	gone	broken	{AT}	{AT}	\N	\N
\.
"""


def test_a_dump_of_a_server_is_read_as_text(ledger, tmp_path):
    (tmp_path / "store.sql").write_text(DUMP, "utf-8")
    report, rows = taken(ledger, "langgraph", tmp_path / "store.sql", scope="memories/{user_id}")
    assert report.dead_letters == 1, "the value of one is no JSON"
    assert told(rows, "profile_id", "content", "importance") == [("ana", "Ana drinks\ttea.", 0.7)]
    (tmp_path / "store.sql").write_text("CREATE TABLE notes (prefix text);", "utf-8")
    with pytest.raises(ValueError, match="holds no data in the format langgraph"):
        read("langgraph", tmp_path / "store.sql")


def test_of_a_line_without_end_only_the_beginning_is_held_and_the_next_lines_are_read(tmp_path, ledger):
    path = tmp_path / "events.jsonl"
    line = b'{"event_type": "memory.stored", "payload": {"content": "Ana likes tea."}}\n'
    with path.open("wb") as file:
        file.write(line + b"x" * (2 * files.LONGEST_LINE + 1) + b"\n" + line.replace(b"tea", b"figs"))
    report, rows = taken(ledger, "jsonl", path)
    assert (report.accepted, rows.height) == (2, 2)
    (letter,) = ledger.dead_letters().to_dicts()
    assert letter["origin"] == "events.jsonl:2"
    assert "longer than 64 MiB; split its text" in letter["reason"]
    assert 0 < len(letter["raw"]) < 100_000


def test_a_line_of_a_transcript_without_end_costs_only_itself(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 100_000)
    path = tmp_path / "session.jsonl"
    said = {"type": "user", "sessionId": "s1", "timestamp": "2026-03-01T10:00:00Z", "message": {"role": "user"}}
    lines = [
        json.dumps(said | {"uuid": f"u{n}", "message": {"role": "user", "content": text}})
        for n, text in enumerate(("Use pnpm.", "x" * 250_000, "The API is /v2."))
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    report, rows = taken(ledger, "claude-code", path)
    assert report.dead_letters == 1
    assert [text for (text,) in told(rows, "content")] == ["Use pnpm.", "The API is /v2."]
    (letter,) = ledger.dead_letters().to_dicts()
    assert letter["origin"] == "session.jsonl:2"
    assert 0 < len(letter["raw"]) < 100_000


def archives(folder):
    """Write a ZIP and a tar file of a note and a chat; returns their paths."""
    whole = {"note.md": "The launch is on 12 June.\n", "conversations.json": json.dumps(foreign_stores.CHATGPT)}
    with zipfile.ZipFile(folder / "export.zip", "w", zipfile.ZIP_DEFLATED) as written:
        for name, text in whole.items():
            written.writestr(name, text)
    with tarfile.open(folder / "export.tar.gz", "w:gz") as written:
        for name, text in whole.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            written.addfile(entry, io.BytesIO(text.encode()))
    return folder / "export.zip", folder / "export.tar.gz"


def test_damage_anywhere_in_an_archive_is_said(tmp_path):
    chance = random.Random(5)
    for path in archives(tmp_path):
        packed = path.name.endswith(".gz")
        whole = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        for _ in range(150):
            content = bytearray(whole)
            for _ in range(chance.choice((1, 3, 10))):
                content[chance.randrange(min(len(content), 1600))] = chance.randrange(256)
            cut = bytes(content)[: chance.choice((len(content), chance.randrange(len(content))))]
            path.write_bytes(gzip.compress(cut, 1) if packed else cut)
            for read in (formats.detect, *(partial(everything, form) for form in ("markdown", "chatgpt"))):
                with contextlib.suppress(ValueError):  # any other error is a bug
                    read(path)


def everything(form, path):
    return list(formats.events(formats.FORMATS[form], path, recorded_at=NOW))


def test_a_damaged_file_of_an_archive_is_named_and_its_neighbour_is_taken(tmp_path, ledger):
    path, _ = archives(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"note.md", b"n\xf6te.md", 1))  # its name here is not the one in the list of files
    assert {item.origin for item in everything("markdown", path) if isinstance(item, DeadLetter)} == {"note.md"}
    assert taken(ledger, "chatgpt", path)[0].accepted
    place = content.rindex(b"conversations.json", 0, content.index(b"PK\x01\x02")) + 24
    path.write_bytes(content[:place] + bytes(16) + content[place + 16 :])
    assert [item for item in everything("markdown", path) if isinstance(item, Event)]
    with zipfile.ZipFile(tmp_path / "alone.zip", "w") as written:
        written.writestr("conversations.json", "[]")
    alone = (tmp_path / "alone.zip").read_bytes()
    (tmp_path / "alone.zip").write_bytes(alone.replace(b"json[]", b"json{}"))
    with pytest.raises(
        ValueError, match=r"alone.zip: holds no data in the format chatgpt; .* cannot be read \(Bad CRC"
    ):
        everything("chatgpt", tmp_path / "alone.zip")


def test_an_archive_that_holds_itself_or_a_date_that_never_was_is_survived(tmp_path):
    name, content = "note.md", b"The launch is on 12 June.\n"
    for _ in range(12):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as written:
            written.writestr(name, content)
        name, content = "within.zip", packed.getvalue()
    (tmp_path / "deep.zip").write_bytes(content)
    with pytest.raises(ValueError, match="is an archive within 8 others; unpack it"):
        everything("markdown", tmp_path / "deep.zip")
    for mtime in ("1e300", "-1e18", "nan", "inf", "253402300800"):
        with tarfile.open(tmp_path / "dated.tar", "w", format=tarfile.PAX_FORMAT) as written:
            entry = tarfile.TarInfo("note.md")
            entry.size, entry.pax_headers = 5, {"mtime": mtime}
            written.addfile(entry, io.BytesIO(b"Ana.\n"))
        read = everything("markdown", tmp_path / "dated.tar")
        assert [one.payload.content for one in read if isinstance(one, Event)] == ["Ana."]


def test_a_pipe_is_imported_while_it_is_written(tmp_path, ledger):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = [f'{{"event_type": "memory.stored", "payload": {{"content": "Note {n}."}}}}\n' for n in range(3)]
    writer = threading.Thread(target=lambda: pipe.write_text("".join(lines), "utf-8"))
    writer.start()
    report, _ = taken(ledger, "jsonl", pipe)
    writer.join()
    assert report.accepted == 3
