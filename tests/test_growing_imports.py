"""Whatever a file of any format holds, reading it takes work in proportion to its length.

A text may be long, a record may have many parts, and what many parts share may be long: each of these is made to grow.
"""

import json
import sqlite3
import sys
import time
from datetime import UTC, datetime

import pytest
import sampling

from memory_pipeline.interop import formats
from memory_pipeline.interop.importing import import_events
from memory_pipeline.interop.items import Imported, Noticed, Skipped
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import COLUMNS, DeadLetter
from tests import foreign_stores as stores

NOW = datetime(2026, 11, 1, tzinfo=UTC)
AT = "2026-03-01T09:00:00Z"
ITEM = f"- {'a' * 60}\n"


def notes(text):
    return {"a.md": text}


def shared(begins, ends, part):
    """Return a text whose first half is one long word, and whose second half is many parts."""
    return lambda size: notes(begins + "x" * (size // 2) + ends + part * (size // 2 // len(part)))


def file(name, value):
    return {name: value}


def chatgpt(nodes, **conversation):
    return {"conversations.json": [{"conversation_id": "c", "create_time": 1.7e9, "mapping": nodes, **conversation}]}


def turns(count, *, chain, text="x"):
    names = [f"n{index}" for index in range(count)]
    return {
        name: stores.node(
            name,
            names[index - 1] if chain and index else None,
            "user",
            [text],
            children=names[index + 1 : index + 2] if chain else (),
        )
        for index, name in enumerate(names)
    }


def claude(messages, **conversation):
    return {"conversations.json": [{"uuid": "k", "created_at": AT, "chat_messages": messages, **conversation}]}


def said(place, parent=None):
    return {"uuid": f"m{place}", "sender": "human", "text": "x", "created_at": AT, "parent_message_uuid": parent}


def remembered(**memory):
    return {"memories.json": [{"conversations_memory": "x", "account_uuid": "a", **memory}]}


def transcript(size, **line):
    first = stores.line("user", "l", "x", **line)
    return {"p/s.jsonl": [first, *(stores.line("user", f"l{index}", "x") for index in range(size // 250))]}


def typed(size, text="x"):
    events = [stores.item("event_msg", type="user_message", message=text) for _ in range(size // 250)]
    return [stores.CODEX[0], *events, *(stores.message("user", text) for _ in events)]


def agents(count, **agent):
    return [{"id": f"a{index}", "name": f"n{index}", "messages": [], **agent} for index in range(count)]


def letta(agents, blocks):
    return {"a.af": {"agents": agents, "blocks": blocks, "in_context_message_ids": [], "created_at": AT}}


def block(name, value, **more):
    return {"id": name, "label": "notes", "value": value, **more}


def graph(nodes, edges=()):
    made = [{"id": index, "labels": ["Memory"], "properties": own} for index, own in enumerate(nodes)]
    return {"falkordb_1.json": {"graph_name": "g", "nodes": made, "relationships": list(edges)}}


def log(memories, *lines):
    made = [{"type": "memory", "memory": {"userId": "u", "content": "x", "createdAt": 1, **own}} for own in memories]
    return {"log.jsonl": [*made, *lines]}


def documents(facts, **document):
    own = {"id": "d", "original_text": "x", "created_at": AT, "facts": facts, **document}
    return {"manifest.json": {"source_bank_id": "b"}, "documents/0.json": own}


def mem0(records):
    own = [stores.MEM0["records"][0] | one for one in records]
    return {"export.json": stores.MEM0 | {"records": own}}


def entity(name="Ana", kind="person", observations=("x",)):
    return {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}


def relation(kind="knows"):
    return {"type": "relation", "from": "Ana", "to": "Ben", "relationType": kind}


def each(make, count):
    return [make(index) for index in range(count)]


SHAPES = {
    "markdown": {
        "a heading in bold": shared("**", "**\n\n", ITEM),
        "an introduction": shared("", ":\n", ITEM),
        "front matter": shared("---\nk: ", "\n---\n", ITEM),
        "front matter of many tags": lambda size: notes(
            "---\ntags: [" + ", ".join(each(lambda n: f"t{n}", size // 20)) + "]\n---\n" + ITEM * (size // 128)
        ),
        "headings within headings": lambda size: notes(
            "".join(f"{'#' * (1 + place % 6)} {'h' * 200}\n- a\n" for place in range(size // 210))
        ),
        "properties of a page": lambda size: notes(f"tags:: {'x' * (size // 2)}\n\n" + ITEM * (size // 128)),
        "files that name each other": lambda size: {
            f"n{place}.md": f"- [[n{place + 1}]] and [[n{place - 1}]]\n" for place in range(size // 500)
        },
        "lines that lead to a file": lambda size: {"a.md": "- x\n", "MEMORY.md": "- [a](a.md)\n" * (size // 12)},
    },
    "chatgpt": {
        "a chain": lambda size: chatgpt(turns(size // 300, chain=True)),
        "leaves": lambda size: chatgpt(turns(size // 300, chain=False)),
        "a long title": lambda size: chatgpt(turns(size // 600, chain=True), title="x" * (size // 2)),
        "a long id": lambda size: chatgpt(turns(size // 600, chain=True), conversation_id="x" * (size // 2)),
        "parts": lambda size: chatgpt({"n": stores.node("n", None, "user", ["x"] * (size // 5))}),
    },
    "claude": {
        "a chain": lambda size: claude([said(n, f"m{n - 1}") for n in range(size // 120)]),
        "branches": lambda size: claude([said(n, "m0") for n in range(size // 120)]),
        "a long name": lambda size: claude(each(said, size // 240), name="x" * (size // 2)),
        "a long id": lambda size: claude(each(said, size // 240), uuid="x" * (size // 2)),
        "a project of many lines": lambda size: remembered(project_memories={"x" * (size // 2): ITEM * (size // 128)}),
        "projects": lambda size: remembered(project_memories={f"p{n}": "- a" for n in range(size // 12)}),
    },
    "claude-code": {
        "a long id": lambda size: transcript(size, sessionId="x" * (size // 2)),
        "a long folder": lambda size: transcript(size, cwd="/x" * (size // 4)),
        "a long first line": lambda size: transcript(size, message={"role": "user", "content": "x" * (size // 2)}),
    },
    "codex": {
        "what was typed": lambda size: file("r.jsonl", typed(size)),
        "a long id": lambda size: file(
            "r.jsonl", [stores.item("session_meta", id="x" * (size // 2), timestamp=AT), *typed(size)[1:]]
        ),
        "a long branch": lambda size: file(
            "r.jsonl", [stores.item("session_meta", id="r", git={"branch": "x" * (size // 2)}), *typed(size)[1:]]
        ),
    },
    "letta": {
        "a block of many lines": lambda size: letta(agents(1), [block("b", ITEM * (size // 64))]),
        "a described block": lambda size: letta(
            agents(1), [block("b", ITEM * (size // 128), description="x" * (size // 2))]
        ),
        "metadata of a block": lambda size: letta(
            agents(1), [block("b", ITEM * (size // 128), metadata={"k": "x" * (size // 2)})]
        ),
        "tags of a block": lambda size: letta(
            agents(1), [block("b", ITEM * (size // 128), tags=each(lambda n: f"t{n}", size // 20))]
        ),
        "agents and blocks": lambda size: letta(
            [one | {"block_ids": [f"b{n}"]} for n, one in enumerate(agents(size // 200))],
            [block(f"b{n}", "x") for n in range(size // 200)],
        ),
        "agents of one block": lambda size: letta(agents(size // 15, block_ids=["b"]), [block("b", "x" * (size // 2))]),
        "a long name": lambda size: letta(
            [
                {
                    "id": "a",
                    "name": "x" * (size // 2),
                    "messages": [{"role": "user", "content": f"x{n}"} for n in range(size // 80)],
                }
            ],
            [],
        ),
    },
    "automem": {
        "memories": lambda size: graph(each(lambda n: {"id": f"m{n}", "content": "x"}, size // 80)),
        "tags": lambda size: graph([{"id": "m", "content": "x", "tags": each(lambda n: f"t{n}", size // 8)}]),
        "relations": lambda size: graph(
            [{"id": "a", "content": "x"}, {"id": "b", "content": "y"}],
            [{"source_id": 0, "type": f"T{n}", "target_id": 1, "properties": {}} for n in range(size // 70)],
        ),
    },
    "cognitive-memory": {
        "links": lambda size: log(
            each(lambda n: {"id": f"m{n}"}, size // 220),
            *({"type": "link", "sourceId": f"m{n}", "targetId": "m0", "strength": 0.5} for n in range(size // 150)),
        ),
        "changes": lambda size: log([{"id": "m", "content": f"x{n}"} for n in range(size // 100)]),
        "removals": lambda size: log(
            each(lambda n: {"id": f"m{n}"}, size // 220),
            *({"type": "memory_delete", "id": f"m{n}"} for n in range(size // 100)),
        ),
        "metadata": lambda size: log([{"id": "m", "metadata": {f"k{n}": n for n in range(size // 20)}}]),
    },
    "hindsight": {
        "tags of a document": lambda size: documents(
            each(lambda n: {"text": f"x{n}"}, size // 40), tags=each(lambda n: f"t{n}", size // 20)
        ),
        "causes": lambda size: documents(
            [
                {"text": "x", "causal_relations": [{"relation_type": "c", "target_fact_index": 1}] * (size // 60)},
                {"text": "y"},
            ]
        ),
        "facts": lambda size: documents(each(lambda n: {"text": f"x{n}", "entities": ["Ana"]}, size // 40)),
    },
    "mem0": {
        "records": lambda size: mem0({"id": f"r{n}"} for n in range(size // 120)),
        "metadata": lambda size: mem0([{"metadata": {f"k{n}": n for n in range(size // 20)}}]),
    },
    "graphiti": {
        "facts of an entity": lambda size: file(
            "g.jsonl",
            [
                {"uuid": "e", "name": "x" * (size // 2), "labels": [], "summary": ""},
                *(
                    stores.GRAPHITI_LINES[0] | {"uuid": f"g{n}", "source_node_uuid": "e", "target_node_uuid": "e"}
                    for n in range(size // 400)
                ),
            ],
        ),
        "facts that end others": lambda size: file(
            "g.jsonl",
            [
                stores.GRAPHITI_LINES[0] | {"uuid": f"g{n}", "source_node_uuid": "e", "valid_at": AT, "invalid_at": AT}
                for n in range(size // 200)
            ],
        ),
        "episodes of a fact": lambda size: file(
            "g.jsonl", [stores.GRAPHITI_LINES[0] | {"episodes": each(lambda n: f"e{n}", size // 8)}]
        ),
    },
    "langgraph": {
        "a value of many parts": lambda size: file(
            "i.json", [{"namespace": ["a"], "key": "k", "value": {f"k{n}": "x" for n in range(size // 14)}}]
        ),
        "labels": lambda size: file(
            "i.json", [{"namespace": each(lambda n: f"n{n}", size // 8), "key": "k", "value": {"content": "x"}}]
        ),
        "items": lambda size: file(
            "i.json", [{"namespace": ["a"], "key": f"k{n}", "value": {"content": "x"}} for n in range(size // 70)]
        ),
        "deep": lambda size: file("i.json", [{"namespace": ["a"], "key": "k", "value": {"x": [[[["y" * size]]]]}}]),
    },
    "mcp-memory": {
        "observations": lambda size: file(
            "memory.jsonl", [entity(observations=each(lambda n: f"o{n:060}", size // 64))]
        ),
        "observations of a long type": lambda size: file(
            "memory.jsonl", [entity(kind="x" * (size // 2), observations=each(lambda n: f"o{n:060}", size // 128))]
        ),
        "observations of a long name": lambda size: file(
            "memory.jsonl", [entity(name="x" * (size // 2), observations=each(lambda n: f"o{n:060}", size // 128))]
        ),
        "observations that are none": lambda size: file("memory.jsonl", [entity(observations=[5] * (size // 30))]),
        "relations of a long type": lambda size: file(
            "memory.jsonl",
            [entity(kind="x" * (size // 2)), *each(lambda n: relation(f"r{n}"), size // 160)],
        ),
        "entities": lambda size: file("memory.jsonl", each(lambda n: entity(f"e{n}"), size // 80)),
    },
    "jsonl": {
        "tags": lambda size: file(
            "e.jsonl",
            [
                {
                    "event_type": "memory.stored",
                    "profile_id": "p",
                    "memory_id": "m",
                    "occurred_at": AT,
                    "payload": {"content": "x", "tags": each(lambda n: f"t{n}", size // 8)},
                }
            ],
        ),
        "accesses": lambda size: file(
            "e.jsonl",
            [
                {
                    "event_type": "memory.accessed",
                    "profile_id": "p",
                    "occurred_at": AT,
                    "payload": {"memory_ids": each(lambda n: f"m{n}", size // 8)},
                }
            ],
        ),
    },
    "gemini": {
        "activities": lambda size: file("a.json", each(asked, size // 120)),
        "an answer": lambda size: file("a.json", [asked("x", html="<p>x</p>" * (size // 8))]),
    },
    "claude-mem": {
        "facts of an observation": lambda size: {
            "c.sqlite": [("observations", (1, "m", "p", "change", AT, "x" * 200, json.dumps(each(str, size // 8))))]
        },
        "observations": lambda size: {
            "c.sqlite": [("observations", (n, "m", "p", "change", AT, "x", '["x"]')) for n in range(size // 40)]
        },
    },
    "locomo": {
        "turns": lambda size: file("l.json", {"session_1": each(spoken, size // 50), **WHEN}),
    },
    "beam": {
        "messages": lambda size: file("b.json", {"messages": each(posted, size // 90)}),
    },
    "openai-agents": {
        "a session": lambda size: {"a.sqlite": sessions("s", size // 60)},
        "many sessions": lambda size: {"a.sqlite": [row for n in range(size // 60) for row in sessions(f"s{n}", 1)]},
    },
    "superlocalmemory": {
        "facts of a turn": lambda size: {
            "m.sqlite": (
                [("memories", ("m", json.dumps({"k": "x" * (size // 2)})))]
                + [("atomic_facts", (f"f{n}", "m", "x")) for n in range(size // 40)]
            )
        },
    },
}
WHEN = {"session_1_date_time": "1:56 pm on 8 May, 2023"}
TABLES = {
    "agent_messages": "id INTEGER PRIMARY KEY, session_id, message_data, created_at",
    "memories": "memory_id, metadata_json",
    "observations": "id, memory_session_id, project, type, created_at_epoch, title, facts",
    "atomic_facts": "fact_id, memory_id, content",
}


def asked(place, html="x"):
    title = f"Prompted x {place}"
    return {"header": "Gemini Apps", "title": title, "time": AT, "safeHtmlItem": [{"html": html}]}


def spoken(place):
    return {"speaker": "Ana", "dia_id": f"D{place}", "text": "x"}


def posted(place):
    return {"id": place, "session": 1, "day": "2026-01-31", "role": "user", "content": "x"}


def sessions(name, count):
    said = json.dumps({"role": "user", "content": "x"})
    return [("agent_messages", (None, name, said, "2026-03-01 09:00:00")) for _ in range(count)]


def written(folder, files):
    """Write files, and return what to import."""
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".sqlite"):
            with sqlite3.connect(path) as connection:
                for table in {table for table, _ in value}:
                    connection.execute(f"CREATE TABLE {table} ({TABLES[table]})")
                for table, row in value:
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
            connection.close()
        elif isinstance(value, str):
            path.write_text(value, "utf-8")
        else:
            path.write_text(stores.lines(value) if name.endswith(".jsonl") else json.dumps(value), "utf-8")
    only = next(iter(files)) if len(files) == 1 else ""
    return folder / only if only.endswith((".sqlite", ".json", ".jsonl")) else folder


def read(name, path):
    """Return how many characters an import yields."""
    size = 0
    for one in formats.events(formats.FORMATS[name], path, recorded_at=NOW):
        if isinstance(one, Skipped | Noticed):
            size += len(one.what)
        elif isinstance(one, DeadLetter):
            size += len(one.raw) + len(one.reason)
        else:
            size += len(one.payload_json()) + (len(one.raw) if isinstance(one, Imported) else 0)
    return size


CASES = [(name, kind) for name, kinds in SHAPES.items() for kind in kinds]


def test_every_format_is_tried():
    assert SHAPES.keys() == formats.FORMATS.keys()


@pytest.mark.parametrize(
    ("name", "kind"),
    [case for name, kinds in SHAPES.items() for case in sampling.first_row(*((name, kind) for kind in kinds))],
)
def test_four_times_the_length_makes_at_most_six_times_the_work(tmp_path, name, kind):
    work = []
    for size in (2_000, 8_000):
        path = written(tmp_path / str(size), SHAPES[name][kind](size))
        calls = [0]

        def count(_frame, _event, _argument, calls=calls):
            calls[0] += 1

        sys.setprofile(count)
        try:
            yielded = read(name, path)
        finally:
            sys.setprofile(None)
        work.append((calls[0], yielded))
    for few, many in zip(*work, strict=True):
        assert many <= 6 * few, (work, name, kind)


@pytest.mark.parametrize("name", ["mcp-memory", "claude-code", "cognitive-memory"])
def test_a_file_is_recognised_however_long_its_first_line_is(tmp_path, name):
    files = {
        "mcp-memory": {"memory.jsonl": [entity(observations=["x" * 100_000])]},
        "claude-code": transcript(1_000, message={"role": "user", "content": "x" * 100_000}),
        "cognitive-memory": log([{"id": "m", "content": "x" * 100_000}]),
    }
    assert read(name, written(tmp_path, files[name])) > 100_000


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("locomo", {"l.json": [{"sample_id": "x" * 300, "conversation": {"session_1": [], **WHEN}}]}),
        ("beam", {"b.json": {"chat": "x" * 300, "messages": [posted(0)]}}),
    ],
)
def test_a_name_that_no_profile_can_have_is_refused_at_once(tmp_path, name, files):
    with pytest.raises(ValueError, match="longer than 256 characters; shorten it"):
        read(name, written(tmp_path, files))


def test_what_is_too_long_to_stand_beside_each_memory_is_left_out_and_counted(tmp_path):
    path = written(tmp_path, notes(f"---\ncolour: red\nk: {'x' * 3_000}\n---\n- a\n- b\n"))
    found = list(formats.events(formats.FORMATS["markdown"], path, recorded_at=NOW))
    assert [one.count for one in found if isinstance(one, Skipped)] == [1]
    kept = [json.loads(one.payload_json())["metadata"] for one in found if isinstance(one, Imported)]
    assert ["red" in str(one) and "xxx" not in str(one) for one in kept] == [True, True]


def test_a_long_line_that_was_edited_is_still_the_same_memory(tmp_path):
    with Lake(tmp_path / "home") as lake:
        for size in (50_000, 50_001):
            path = written(tmp_path / "notes", notes(f"- Ana sails. {'a' * size}\n"))
            found = formats.events(formats.FORMATS["markdown"], path, recorded_at=NOW, ledger=lake.ledger)
            import_events(lake.ledger, found)
        kinds = [row[1 + COLUMNS.index("event_type")] for row in lake.ledger.read()]
    assert kinds == ["memory.stored", "memory.updated"]


@pytest.mark.drill
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_four_times_the_length_takes_at_most_six_times_the_time(tmp_path, name, kind):
    taken = []
    for size in (250_000, 1_000_000):
        path = written(tmp_path / str(size), SHAPES[name][kind](size))
        begun = time.process_time()
        read(name, path)
        taken.append(time.process_time() - begun)
    assert taken[1] <= max(6 * taken[0], 0.5), (name, kind, taken)
