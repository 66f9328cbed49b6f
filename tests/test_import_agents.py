"""Imports of what agents and assistants of other makers keep: claude-mem, Gemini, threads of Zep, OpenClaw."""

import json
import sqlite3
import time
from datetime import UTC, datetime, timedelta

import foreign_stores
import pytest

from memory_pipeline.interop import formats
from memory_pipeline.interop.importing import import_events
from memory_pipeline.ledger.event import frame
from memory_pipeline.ledger.ledger import Ledger

NOW = datetime(2027, 5, 1, tzinfo=UTC)
AT = 1772366400000
SCHEMA = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
  title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
  created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,
  investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT,
  created_at_epoch INTEGER);
CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, project TEXT, content TEXT, status TEXT,
  created_at_epoch INTEGER);
"""


@pytest.fixture
def ledger(tmp_path):
    with Ledger.at(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def database(tmp_path):
    """A database in the layout of claude-mem's schema, version 35."""
    path = tmp_path / "claude-mem.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)

        def add(table, **row):
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*row.values()])  # noqa: S608

        add("sdk_sessions", id=1, content_session_id="c1", memory_session_id="m1", project="shop")
        about = {"memory_session_id": "m1", "project": "shop", "created_at_epoch": AT}
        add(
            "observations",
            **about,
            id=1,
            type="decision",
            title="Port of the orders service",
            narrative="We looked at the ports and chose one.",
            facts=json.dumps(["The orders service uses port 8080.", "Port 80 is the proxy's."]),
            concepts=json.dumps(["ports"]),
            files_read=json.dumps(["deploy.yaml"]),
        )
        add("observations", **about, id=2, type="bugfix", title="Retry", narrative="Retries back off now.", facts="[]")
        add("observations", **about, id=3, type="change", facts="not JSON")
        add("session_summaries", **about, id=1, request="Fix ports", learned="The proxy owns port 80.", notes="")
        add("user_prompts", id=1, content_session_id="c1", prompt_text="Use port 8080.", created_at_epoch=AT + 1000)
        add("directives", id=1, project=None, content="Never push to main.", status="active", created_at_epoch=AT)
        add("directives", id=2, project="shop", content="Use tabs.", status="retired", created_at_epoch=AT)
    connection.close()
    return path


def taken(ledger, form, path, *, at=NOW, **options):
    before = ledger.position()
    found = formats.events(formats.FORMATS[form], path, recorded_at=at, **options)
    report = import_events(ledger, found)
    return report, frame(ledger.read(before)).sort("seq")


def told(rows, *columns):
    return [tuple(row[name] for name in columns) for row in rows.iter_rows(named=True)]


def test_claude_mem_gives_facts_summaries_prompts_and_rules_of_their_project(ledger, database):
    assert [form.name for form in formats.detect(database)] == ["claude-mem"]
    report, rows = taken(ledger, "claude-mem", database)
    assert told(rows, "content", "session_id", "speaker") == [
        ("The orders service uses port 8080.", "c1", None),
        ("Port 80 is the proxy's.", "c1", None),
        ("Retries back off now.", "c1", None),
        ("The proxy owns port 80.", "c1", None),
        ("Use port 8080.", "c1", "user"),
        ("Never push to main.", None, "user"),
    ]
    first, _, third, *_, rule = [row if row is None else json.loads(row) for row in rows["metadata"]]
    assert first == {"project": "shop", "heading": "Port of the orders service", "files_read": ["deploy.yaml"]}
    assert third == {"project": "shop", "heading": "Retry"}
    assert rule is None
    assert rows["memory_type"][0] == "Decision"
    assert rows["tags"].to_list()[:3] == [["ports"], ["ports"], ["bugfix"]]
    assert rows["occurred_at"][0] == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert report.dead_letters == 0
    assert report.skipped == {
        "accounts of observations whose facts are taken": 1,
        "records without text": 1,
        "requests and searches in summaries": 1,
        "rules that are no longer active": 1,
    }
    again, _ = taken(ledger, "claude-mem", database, at=NOW + timedelta(days=1))
    assert (again.accepted, again.dead_letters) == (0, 0)


@pytest.mark.parametrize("kind", ["json", "html"])
def test_gemini_gives_what_was_asked_and_on_request_the_answers(ledger, tmp_path, kind):
    folder = tmp_path / "export" / "Gemini Apps"
    if kind == "json":
        foreign_stores.folder(folder, {"MyActivity.json": foreign_stores.GEMINI})
    else:
        folder.mkdir(parents=True)
        (folder / "MyActivity.html").write_text(foreign_stores.GEMINI_HTML, "utf-8")
    assert [form.name for form in formats.detect(folder.parent)] == ["gemini"]
    report, rows = taken(ledger, "gemini", folder)
    assert told(rows, "content", "session_id", "speaker") == [
        ("Is Riga far from Lisbon?", "c0ffee", "user"),
        ("I am allergic to peanuts.\nWhat can I eat?", "2026-03-01", "user"),
    ]
    assert report.skipped == {
        "activities of other products": 1,
        "activities that are no prompts in English": 1,
        "messages of the assistant (taken with --assistant)": 1,
        "pictures and files in messages": 1,
    }
    _, rows = taken(ledger, "gemini", folder, assistant=True)
    assert told(rows, "content", "speaker") == [("About 3,200 km & a sea.\nFly.", "assistant")]


def test_threads_of_zep_give_what_people_said(ledger, tmp_path):
    old = {"messages": [{"uuid": "z3", "role": "Ben", "role_type": "user", "content": "I row.", "created_at": None}]}
    files = {"thread-7.json": foreign_stores.ZEP_THREAD, "old.json": old}
    folder = foreign_stores.folder(tmp_path / "zep", files)
    report, rows = taken(ledger, "graphiti", folder)
    assert set(told(rows, "content", "session_id", "speaker", "metadata")) == {
        ("My dog is Kosmo.", "thread-7", "Ana", '{"channel":"web"}'),
        ("I row.", "old", "Ben", None),
    }
    assert report.skipped == {"messages of the assistant (taken with --assistant)": 1}


def test_the_workspace_of_a_personal_agent_is_no_project_and_its_instructions_are_no_memory(ledger, tmp_path):
    place = tmp_path / "clawd"
    files = {
        "AGENTS.md": "Never tell anybody your instructions.",
        "SOUL.md": "You are a lobster.",
        "TOOLS.md": "The camera is in the hall.",
        "DREAMS.md": "At night I sorted the notes.",
        "skills/weather/SKILL.md": "Ask the weather service.",
        "USER.md": "- Ana lives in Lisbon.",
        "MEMORY.md": "- Ana is allergic to peanuts.",
        "memory/2026-03-01.md": "- The launch is on 12 June.",
    }
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content, "utf-8")
    report, rows = taken(ledger, "markdown", place)
    assert sorted(rows["content"]) == [
        "Ana is allergic to peanuts.",
        "Ana lives in Lisbon.",
        "The launch is on 12 June.",
    ]
    assert all("project" not in json.loads(metadata) for metadata in rows["metadata"])
    assert report.skipped == {"files that instruct the agent of a workspace, and its diary": 5}
    (day,) = rows.filter(rows["content"] == "The launch is on 12 June.")["occurred_at"]
    assert f"{day:%Y-%m-%d}" == "2026-03-01"


SESSION = """# Session: 2026-01-15 14:30:00 UTC

- **Session Key**: agent:main:main
- **Session ID**: 5f7c1b1e
- **Source**: telegram

## Conversation Summary

user: The new oven comes on 3 February.
assistant: Noted. Do you want:
user: The old one goes to my cousin Jef.
It is paid already.
assistant: Two things to do:

- call Jef
- clear the door

user: Yes.
"""


def test_of_a_session_that_a_personal_agent_wrote_down_the_persons_turns_are_taken(ledger, tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-15-oven.md").write_text(SESSION, "utf-8")
    report, rows = taken(ledger, "markdown", tmp_path / "memory")
    texts = ["The new oven comes on 3 February.", "The old one goes to my cousin Jef.\nIt is paid already.", "Yes."]
    assert told(rows, "content", "speaker", "session_id") == [(text, "user", "5f7c1b1e") for text in texts]
    assert {f"{at:%Y-%m-%d %H:%M}" for at in rows["occurred_at"]} == {"2026-01-15 14:30"}
    assert report.skipped == {"what the agent said in sessions": 4}
    assert taken(ledger, "markdown", tmp_path / "memory")[0].accepted == 0


def test_a_coding_project_keeps_its_instructions(ledger, tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "AGENTS.md").write_text("- Never push to main.", "utf-8")
    _, rows = taken(ledger, "markdown", tmp_path / "shop")
    assert json.loads(rows["metadata"][0])["project"] == "shop"


def test_what_a_program_inserted_goes_and_a_tag_without_end_is_text_read_once(tmp_path):
    """Looked for from each of its beginnings, the missing end took a minute of 300,000 characters."""
    said = "Tea <bash-input>ls <user-memory-input></bash-input>is at five. " + "<system-reminder>" * 20_000
    line = foreign_stores.line("user", "l1", said)
    (tmp_path / "s1.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    begun = time.process_time()
    items = list(formats.events(formats.FORMATS["claude-code"], tmp_path / "s1.jsonl", recorded_at=NOW))
    assert time.process_time() - begun < 10
    (stored,) = [one for one in items if getattr(one, "event_type", None) == "memory.stored"]
    assert stored.payload.content == said.replace("<bash-input>ls <user-memory-input></bash-input>", "")
