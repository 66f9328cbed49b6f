"""Exports: what a profile remembers as files of other tools; nothing is lost that is not counted."""

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import commands
import homes
import json_page
import polars as pl
import pytest
from example_counts import examples
from frames import AS_OF
from hypothesis import given
from hypothesis import strategies as st
from test_markdown_notes import CHARACTERS, CONTENTS

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation.state import projection
from memory_pipeline.interop import formats, jsonl, markdown_notes
from memory_pipeline.interop.exports import current, events, folder, langgraph, markdown, mcp_memory, mem0, tables
from memory_pipeline.interop.formats import FORMATS
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger.event import Event, frame, parse
from memory_pipeline.ledger.exports import noted

OUTSIDE = {"memory_id", "occurred_at", "session_id", "agent_id", "user_id"}
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=9).filter(str.strip)
INSTANTS = st.integers(1, 9_999_999).map(lambda seconds: AS_OF - timedelta(seconds=seconds, microseconds=1))
MEMORIES = st.fixed_dictionaries(
    {"content": CONTENTS, "occurred_at": INSTANTS},
    optional={
        "session_id": NAMES, "agent_id": NAMES, "user_id": NAMES, "speaker": NAMES, "source": NAMES,
        "valid_from": INSTANTS, "importance": st.floats(0, 1), "importance_hint": st.floats(0, 1),
        "confidence": st.floats(0, 1), "tags": st.lists(NAMES, max_size=3),
        "memory_type": st.sampled_from(["Decision", "Habit"]), "category": st.just("semantic"),
        "protected": st.just(True), "metadata": st.dictionaries(CHARACTERS, CHARACTERS | st.floats(0, 1e300)),
    },
)  # fmt: skip


def stored(rows):
    """Ledger rows that store memories, from fields by the names of `memory.stored`."""
    for seq, row in enumerate(rows, 1):
        outside = {name: row[name] for name in OUTSIDE if name in row}
        payload = {name: value for name, value in row.items() if name not in OUTSIDE | markdown_notes.READ_ONLY}
        event = {"event_type": "memory.stored", "event_id": str(seq), **outside, "payload": payload}
        yield (seq, *parse(event, recorded_at=AS_OF, origin="test").row())


def imported(files):
    """Ledger rows that an import of the folder gives."""
    with TemporaryDirectory() as name:
        folder.write(Path(name), files, profile_id="default")
        items = list(formats.events(FORMATS["markdown"], Path(name), recorded_at=AS_OF))
    assert [item for item in items if not isinstance(item, Event)] == []
    return [(seq, *event.row()) for seq, event in enumerate(items, 1)]


def held(rows, *, topics=None):
    """What a profile remembers after these events; `topics` names the cluster of a memory by its id."""
    members = {"cluster_id": list((topics or {}).values()), "memory_id": list(topics or {})}
    clusters = pl.DataFrame(members, schema={"cluster_id": pl.String, "memory_id": pl.String}).with_columns(
        method=pl.lit("similarity_components"), label="cluster_id"
    )
    scores = {"memory_id": pl.String, "strength": pl.Float64, "importance": pl.Float64}
    told = frame(rows)
    state = projection.project(told)
    return current.select(
        "default", state, events=told, scores=pl.DataFrame(schema=scores), clusters=clusters, as_of=AS_OF
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A store of one profile after a night."""
    home = tmp_path_factory.mktemp("export") / "data"
    with homes.filled(home, homes.events(profiles=1, memories=60)) as lake:
        homes.night(lake)
    return home


@examples(7)
@given(st.lists(MEMORIES, max_size=6), st.integers(0, 6))
def test_markdown_to_a_store_and_back_loses_nothing(rows, grouped):
    rows = [{"memory_id": f"m{index}", **row} for index, row in enumerate(rows)]
    topics = {row["memory_id"]: "Tea: a/b" for row in rows[:grouped]}
    before = held(stored(rows), topics=topics)
    files = markdown.files(before)
    after = held(imported(files), topics=topics)
    assert dict(after.memories.select("memory_id", "content").iter_rows()) == {
        row["memory_id"]: row["content"] for row in rows
    }
    assert list(after.rows()) == list(before.rows())
    assert markdown.files(after) == files


def test_the_index_has_the_best_first_and_fits_what_agents_load(home):
    with Lake(home) as lake:
        read = current.read(lake, "sample-1", as_of=homes.NIGHT)
    files = markdown.files(read)
    assert files == markdown.files(read)
    index = files[markdown.INDEX]
    links = [line.rpartition("](")[2].rstrip(")") for line in index.split("## Index\n")[1].splitlines() if "](" in line]
    assert set(links) == files.keys() - {markdown.INDEX}
    best = read.memories["memory_id"][0]
    assert f'"{best}"' in files[links[0]]
    assert sum(read.left_out.values()) + read.memories.height == 60 + read.memories.filter(kind="compression").height
    many = held(stored([{"memory_id": f"m{n}", "content": f"{'ä' * n} [x](y) <!-- z"} for n in range(300)]))
    index = markdown.files(many)[markdown.INDEX]
    assert (len(index.splitlines()) <= 200, len(index.encode()) <= 25_000) == (True, True)
    assert index.endswith(f"- and {300 - index.count('](notes/')} more files\n{markdown_notes.INDEX_ENDS}\n")


def test_a_folder_is_written_once_and_what_others_changed_is_not_overwritten(tmp_path):
    rows = [{"memory_id": f"m{n}", "content": f"Tea at {n}."} for n in range(3)]
    files = markdown.files(held(stored(rows)))
    (tmp_path / "theirs.md").write_text("Theirs.")
    assert folder.write(tmp_path, files, profile_id="p") == folder.Written(4, 0, 0, 0, None)
    assert folder.write(tmp_path, files, profile_id="p") == folder.Written(0, 0, 0, 4, None)
    fewer = markdown.files(held(stored(rows[1:])))
    assert folder.write(tmp_path, fewer, profile_id="p") == folder.Written(0, 1, 1, 2, None)
    note = next((tmp_path / "notes").glob("tea-at-1-*"))
    note.write_text(note.read_text().replace("Tea", "Milk"))
    with pytest.raises(folder.ChangedByOthers, match=f"notes/{note.name} changed meanwhile"):
        folder.write(tmp_path, files, profile_id="p")
    with pytest.raises(ValueError, match="holds profile 'p', not 'q'"):
        folder.write(tmp_path, files, profile_id="q")
    assert "Milk" in note.read_text()
    assert folder.write(tmp_path, files, profile_id="p", force=True).changed == 2
    note.unlink()
    with pytest.raises(folder.ChangedByOthers):
        folder.write(tmp_path, fewer, profile_id="p")
    assert (tmp_path / "theirs.md").read_text() == "Theirs."


def test_nothing_is_written_outside_the_folder(tmp_path):
    notes, other = tmp_path / "notes", tmp_path / "other"
    notes.mkdir()
    other.mkdir()
    (notes / "notes").symlink_to(other)
    files = markdown.files(held(stored([{"memory_id": "m", "content": "Tea."}])))
    with pytest.raises(ValueError, match="points outside the folder"):
        folder.write(notes, files, profile_id="p")
    for path in ("../other/x", "/x"):
        with pytest.raises(ValueError, match="points outside the folder"):
            folder.change(notes, {}, {path: "x"}, "m", profile_id="p")
        (notes / folder.LIST).write_text(json.dumps({"profile": "p", "files": {path: ""}, "memories": []}), "utf-8")
        with pytest.raises(ValueError, match="points outside the folder"):
            folder.read_list(notes, "p")
        (notes / folder.LIST).unlink()
    assert list(other.iterdir()) == []


def test_a_link_in_the_place_of_an_unfinished_file_does_not_lead_out_of_the_folder(tmp_path):
    notes, other = tmp_path / "notes", tmp_path / "other"
    notes.mkdir()
    other.write_text("Theirs.", "utf-8")
    for name in ("MEMORY.md", folder.LIST):
        (notes / f".{name}.new").symlink_to(other)
    folder.write(notes, {"MEMORY.md": "- Tea.\n"}, profile_id="p")
    assert other.read_text("utf-8") == "Theirs."
    assert (notes / "MEMORY.md").read_text("utf-8") == "- Tea.\n"
    assert not (notes / "MEMORY.md").is_symlink()


@pytest.mark.parametrize("damage", ["", "[]", "{}", pytest.param("[" * 100_000, id="deep")])
@pytest.mark.usefixtures("uncollected")
def test_a_damaged_list_in_a_folder_is_said(tmp_path, damage):
    (tmp_path / folder.LIST).write_text(damage, "utf-8")
    assert folder.owner(tmp_path) is None
    with pytest.raises(ValueError, match="is damaged; remove it and export with --force"):
        folder.write(tmp_path, {"MEMORY.md": "- Tea.\n"}, profile_id="p")


def test_a_folder_of_git_is_committed_and_nothing_else_of_it(tmp_path):
    def git(*arguments):
        return subprocess.run(
            ["git", "-C", tmp_path, *arguments], check=True, capture_output=True, text=True
        ).stdout.splitlines()

    git("init", "--quiet")
    (tmp_path / "theirs.md").write_text("Theirs.")
    git("add", "theirs.md")
    rows = [{"memory_id": f"m{n}", "content": f"Tea ä at {n}."} for n in range(2)]
    first = folder.write(tmp_path, markdown.files(held(stored(rows))), profile_id="p")
    assert first.commit in git("log", "--format=%H")
    assert folder.write(tmp_path, markdown.files(held(stored(rows))), profile_id="p").commit is None
    folder.write(tmp_path, markdown.files(held(stored(rows[1:]))), profile_id="p")
    assert git("log", "--format=%s") == ["Memory of p"] * 2
    assert git("status", "--short") == ["A  theirs.md"]


def test_the_history_as_events_makes_the_same_store(home, tmp_path):
    left_out = {}
    with Lake(home) as lake:
        lines = list(events.history(lake.ledger, "sample-1", left_out))
        expected = projection.project(lake.events(as_of=homes.NIGHT))
    (tmp_path / "events.jsonl").write_text("\n".join(lines), "utf-8")
    with Lake(tmp_path / "other") as other:
        import_events(other.ledger, jsonl.events(tmp_path / "events.jsonl", recorded_at=homes.RECORDED))
        again = projection.project(other.events(as_of=homes.NIGHT))
    assert left_out == {"run.committed": 1}
    without = ["seq"]
    assert again.memories.drop(without).equals(expected.memories.drop(without))
    assert again.edges.equals(expected.edges)


def test_the_present_as_events_stores_each_memory_as_it_is(home, tmp_path):
    with Lake(home) as lake:
        read = current.read(lake, "sample-1", as_of=homes.NIGHT)
    (tmp_path / "events.jsonl").write_text("\n".join(events.current(read)), "utf-8")
    with Lake(tmp_path / "other") as other:
        report = import_events(other.ledger, jsonl.events(tmp_path / "events.jsonl", recorded_at=homes.RECORDED))
        again = current.read(other, "sample-1", as_of=homes.NIGHT)
    assert (report.dead_letters, report.accepted) == (0, read.memories.height + read.links.height)
    assert {row["memory_id"]: (row, text) for row, text in again.rows()} == {
        row["memory_id"]: (row, text) for row, text in read.rows()
    }
    assert again.links.equals(read.links)


def test_what_two_things_become_one_for_is_counted_and_a_link_keeps_its_metadata():
    clash = {"importance": 0.5, "tags": ["real"], "metadata": {"tags": ["meta"], "colour": "green"}}
    rows = [
        {"memory_id": "m1", "content": "Tea.", "speaker": "Ana"} | clash,
        *({"memory_id": name, "content": "Rain.", "speaker": "Bo"} for name in ("m2", "m3")),
    ]
    links = [
        {"event_type": "link.asserted", "event_id": f"{index}{target}", "memory_id": "m1"}
        | {"payload": {"target_id": target, "edge_type": "LEADS_TO", "metadata": {"why": index}}}
        for index, target in enumerate(("m2", "m3", "m2"))
    ]
    asserted = [parse(link, recorded_at=AS_OF, origin="test") for link in links]
    told = [*stored(rows), *((seq, *event.row()) for seq, event in enumerate(asserted, 4))]
    read = held(told)
    assert [json.loads(line)["payload"].get("metadata") for line in list(events.current(read))[-2:]] == [
        {"why": 2},
        {"why": 1},
    ]
    assert mem0.lost(read)[mem0.CLASHES] == 1
    lost = mcp_memory.lost(read)
    counted = (mcp_memory.SAME_TEXTS, mcp_memory.ONE_RELATION, mcp_memory.OF_LINKS, mcp_memory.WITHIN)
    assert [lost[name] for name in counted] == [1, 1, 2, 0]
    assert mcp_memory.text(read).count('"type": "relation"') == 1


def test_what_others_changed_in_an_export_comes_back_and_the_next_export_takes_it(home, tmp_path):
    with homes.copied(home, tmp_path / "data") as lake:
        read = current.read(lake, "sample-1", as_of=homes.NIGHT)
        notes = tmp_path / "notes"
        folder.write(notes, markdown.files(read), profile_id="sample-1")
        files = sorted((notes / "notes").iterdir())
        gone, edited = (markdown_notes.read(file.read_text("utf-8"))[0].fields["memory_id"] for file in files[:2])
        merged = read.memories.filter(kind="compression")["memory_id"].to_list()
        files[0].unlink()
        files[1].write_text(files[1].read_text("utf-8") + "\nAnd more.\n", "utf-8")
        (notes / "MEMORY.md").write_text(
            (notes / "MEMORY.md").read_text("utf-8") + "\n- The kettle is broken.\n", "utf-8"
        )
    said = commands.as_json("import", "markdown", notes, home=tmp_path / "data")[str(notes)]
    assert (said["accepted"], said["dead_letters"], said["profiles"]) == (3, 0, ["sample-1"])
    commands.text("export", "markdown", notes, home=tmp_path / "data")
    with Lake(tmp_path / "data") as lake:
        again = current.read(lake, "sample-1", as_of=datetime.now(UTC))
    texts = dict(again.memories.select("memory_id", "content").iter_rows())
    assert gone not in texts
    assert texts[edited].endswith("\n\nAnd more.")
    assert "The kettle is broken." in texts.values()
    assert set(merged) <= set(texts)
    again = commands.as_json("import", "markdown", notes, home=tmp_path / "data")[str(notes)]
    assert again["accepted"] == 0


MEMORY = {
    "memory_id": "m1", "content": "Tea at five.", "occurred_at": "2025-12-01T10:00:00Z", "speaker": "Ana",
    "user_id": "ana.b", "session_id": "s", "importance": 0.5, "valid_until": "2026-02-01T00:00:00Z",
    "metadata": {"colour": "green"},
}  # fmt: skip


def test_a_record_of_mem0_has_its_fields_and_the_rest_as_metadata():
    assert json.loads(mem0.text(held(stored([MEMORY])))) == {
        "results": [
            {
                "id": "m1",
                "memory": "Tea at five.",
                "hash": "53e93205a4d509bdf2ffda61fdaea262",
                "metadata": {"colour": "green", "importance": 0.5, "valid_until": "2026-02-01T00:00:00.000000Z"},
                "created_at": "2025-12-01T10:00:00.000000Z",
                "user_id": "ana.b",
                "run_id": "s",
                "actor_id": "Ana",
                "expiration_date": "2026-01-31",
            }
        ]
    }


def test_what_came_from_mem0_goes_back_without_new_metadata():
    rows = [{"memory_id": "m1", "content": "Tea.", "source": "mem0", "metadata": {"source": "slack"}}]
    read = held(stored(rows))
    assert json.loads(mem0.text(read))["results"][0]["metadata"] == {"source": "slack"}
    assert mem0.lost(read)[mem0.CLASHES] == 0


def test_an_item_of_langgraph_has_a_namespace_without_full_stops_and_every_field():
    assert json.loads(langgraph.text(held(stored([MEMORY])))) == [
        {
            "namespace": ["memories", "ana_b"],
            "key": "m1",
            "value": {
                "content": "Tea at five.",
                "session_id": "s",
                "user_id": "ana.b",
                "valid_until": "2026-02-01T00:00:00.000000Z",
                "importance": 0.5,
                "speaker": "Ana",
                "metadata": {"colour": "green"},
                "memory_pipeline": {"profile_id": "default"},
            },
            "created_at": "2025-12-01T10:00:00.000000Z",
            "updated_at": "2025-12-01T10:00:00.000000Z",
        }
    ]


def test_items_go_back_under_their_namespace_and_key_and_become_the_same_memories_again(tmp_path):
    put = {"namespace": ["notes", "ana"], "key": "k1", "value": {"data": "Tea at five.", "page": 3}}
    rows = [
        {"memory_id": "notes.ana/k1", "content": "Tea at five.", "importance": 0.5, "metadata": {"langgraph": put}},
        {"memory_id": "m/2", "content": "Rain.", "metadata": {"namespace": "m", "text_field": "text", "page": 4}},
        {"memory_id": "m3", "content": "Jam.", "metadata": {"namespace": "elsewhere"}},
    ]
    items = json.loads(langgraph.text(held(stored(rows))))
    own = langgraph.OWN
    shown = {
        item["key"]: (item["namespace"], {name: part for name, part in item["value"].items() if name != own})
        for item in items
    }
    assert shown == {
        "k1": (["notes", "ana"], put["value"]),
        "2": (["m"], {"text": "Rain.", "page": 4}),
        "m3": (["memories", "default"], {"content": "Jam.", "metadata": rows[2]["metadata"]}),
    }
    (tmp_path / "items.json").write_text(json.dumps(items), "utf-8")
    again = {
        event.memory_id: event.payload.model_dump(exclude_none=True, exclude={"source", "tags"})
        for event in formats.events(FORMATS["langgraph"], tmp_path / "items.json", recorded_at=AS_OF)
    }
    assert again["notes.ana/k1"].pop("importance") == 0.5
    assert {name: (payload["content"], json.loads(payload["metadata"])) for name, payload in again.items()} == {
        row["memory_id"]: (row["content"], row["metadata"]) for row in rows
    }


def test_the_graph_of_the_reference_server_has_who_said_what():
    rows = [
        MEMORY,
        {"memory_id": "m2", "content": "Rain."},
        {"memory_id": "m3", "content": "Bo: rows", "tags": ["guest"], "metadata": {"entity": "Bo"}},
    ]
    read = held(stored(rows))
    link = pl.DataFrame({"source": "m1", "target": "m3", "edge_type": "KNOWS", "kind": None, "weight": None})
    linked = current.Current(**{**vars(read), "links": link})
    lines = mcp_memory.text(linked).splitlines()
    assert sorted(map(json.loads, lines), key=str) == [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Tea at five."]},
        {"type": "entity", "name": "Bo", "entityType": "guest", "observations": ["Bo: rows"]},
        {"type": "entity", "name": "default", "entityType": "profile", "observations": ["Rain."]},
        {"type": "relation", "from": "Ana", "to": "Bo", "relationType": "KNOWS"},
    ]
    assert mcp_memory.lost(linked)[mcp_memory.WITHIN] == 0
    within = current.Current(**{**vars(read), "links": link.with_columns(target=pl.lit("m1"))})
    assert mcp_memory.lost(within)[mcp_memory.WITHIN] == 1
    assert "relation" not in mcp_memory.text(within)


@pytest.mark.parametrize(("name", "text"), [("mem0", mem0.text), ("langgraph", langgraph.text)])
def test_what_other_tools_are_given_can_be_imported_again(tmp_path, name, text):
    (tmp_path / "file.json").write_text(text(held(stored([MEMORY]))), "utf-8")
    (event,) = formats.events(FORMATS[name], tmp_path / "file.json", recorded_at=AS_OF, profile="default")
    assert (event.payload.content, event.payload.importance, event.occurred_at) == (
        "Tea at five.",
        0.5,
        datetime(2025, 12, 1, 10, tzinfo=UTC),
    )


def test_items_of_a_database_become_the_memories_that_they_were(tmp_path):
    langgraph.database(held(stored([MEMORY])), tmp_path / "store.db")
    read = formats.events(FORMATS["langgraph"], tmp_path / "store.db", recorded_at=AS_OF)
    (event,) = read
    assert (event.memory_id, event.profile_id, event.user_id, event.session_id) == ("m1", "default", "ana.b", "s")
    assert event.occurred_at == datetime(2025, 12, 1, 10, tzinfo=UTC)
    payload = event.payload.model_dump(exclude_none=True)
    assert (payload["speaker"], payload["metadata"], payload.get("tags")) == ("Ana", '{"colour":"green"}', None)


def test_what_agents_told_over_time_is_counted_for_the_memories_that_hold():
    told = [
        ("session.started", None, {}),
        ("memory.stored", "m1", {"content": "Ana prefers tea."}),
        ("memory.stored", "m2", {"content": "The boat is red.", "valid_until": "2020-01-01T00:00:00Z"}),
        ("memory.accessed", None, {"memory_ids": ["m1", "m2"]}),
        ("memory.updated", "m1", {"content": "Ana prefers coffee."}),
        ("memory.updated", "m1", {"importance": 0.9}),
        ("memory.updated", "m2", {"content": "The boat is blue."}),
        ("feedback.given", "m1", {"helpful": True}),
        ("feedback.given", "m2", {"helpful": True}),
        ("session.ended", None, {}),
    ]
    rows = [
        (seq, *parse(event, recorded_at=AS_OF, origin="test").row())
        for seq, (kind, memory_id, payload) in enumerate(told, 1)
        for event in [
            {"event_type": kind, "event_id": str(seq), "session_id": "s1", "payload": payload}
            | {"occurred_at": AS_OF - timedelta(days=20 - seq)}
            | ({"memory_id": memory_id} if memory_id else {})
        ]
    ]
    assert {name: held(rows).beside[name] for name in current.HISTORY} == {
        "accesses": 2, "ratings": 1, "earlier texts and values": 2, "starts and ends of sessions": 2
    }  # fmt: skip


def test_the_command_writes_every_format_and_says_what_it_left_out(home, tmp_path):
    said = commands.text("export", "markdown", tmp_path / "notes", home=home)
    assert "memories of profile sample-1" in said
    assert "left out: " in said
    assert (tmp_path / "notes" / "MEMORY.md").is_file()
    real = {"export markdown": [commands.as_json("export", "markdown", tmp_path / "notes", home=home)], "export": []}
    for name in ("mem0", "langgraph", "mcp-memory", "jsonl"):
        real["export"].append(commands.as_json("export", name, tmp_path / name, home=home))
        assert (tmp_path / name).stat().st_size > 0
    lost = [set(one["left_out"]) & {"accesses", "links", current.DETAILS} for one in real["export"]]
    both = {"accesses", "links"}
    assert lost == [both, both, {"accesses", current.DETAILS}, set()]
    real["export"].append(commands.as_json("export", "jsonl", tmp_path / "now", "--current", home=home))
    json_page.agrees(real)
    taken = commands.refused("export", "mem0", tmp_path / "mem0", home=home, status=2)
    assert taken.endswith("exists; choose another name, or replace it with --force")
    commands.text("export", "mem0", tmp_path / "mem0", "--force", home=home)
    assert "'nobody' has no memory" in commands.refused("export", "mem0", tmp_path / "x", "-p", "nobody", home=home)


def test_a_single_memory_is_written_in_the_singular(tmp_path):
    with MemoryClient(tmp_path / "data", profile_id="ana") as memory:
        memory.remember("The launch is on 12 June.")
    said = commands.text("export", "jsonl", tmp_path / "one.jsonl", "--current", home=tmp_path / "data")
    assert "(1 memory of profile ana)" in said


def test_an_export_that_is_cut_off_replaces_nothing(home, tmp_path, monkeypatch):
    commands.text("export", "jsonl", tmp_path / "out", home=home)
    whole = (tmp_path / "out").read_bytes()

    def full(*_: object) -> Iterator[str]:
        yield "{}"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(events, "history", full)
    assert "No space left" in commands.refused("export", "jsonl", tmp_path / "out", "--force", home=home)
    assert "No space left" in commands.refused("export", "jsonl", tmp_path / "new", home=home)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", whole)]


@pytest.mark.drill
def test_tables_are_those_of_now_of_a_run_that_is_kept_and_of_an_instant(home, tmp_path):
    with homes.copied(home, tmp_path / "data") as lake:
        lake.project()
        published = {name: lake.read(name) for name in tables.NAMES}
        homes.night(lake, as_of=homes.NIGHT + homes.days(1), run_id="two")
        now, after, then = (
            tables.state(lake, **which)
            for which in ({}, {"run": "run"}, {"as_of": homes.NIGHT, "profile_id": "sample-1"})
        )
        assert now.names == tables.NAMES
        assert after.names == tuple(name for name in tables.NAMES if name not in tables.OF_NOW)
        assert set(tables.OF_NOW) & set(then.names) == set()
        for name in now.names:
            assert tables.read(lake, now, name).equals(lake.read(name)), name
        for name in after.names:
            assert tables.read(lake, after, name).equals(published[name]), name
        for name in set(then.names) - {"consolidation_plan", "profiles", "consolidation_runs"}:
            without = ["plan_id"] if "plan_id" in published[name].columns and name != "score_history" else []
            assert tables.read(lake, then, name).drop(without).equals(published[name].drop(without)), name
        assert tables.read(lake, now, "score_history").height > published["score_history"].height
        with pytest.raises(ValueError, match="'completions' has no past states"):
            tables.check(after, ["memories", "completions"])
        with pytest.raises(ValueError, match="run 'three' is unknown"):
            tables.state(lake, run="three")
        lake.sweep(oldest=lake.ledger.position())
        with pytest.raises(
            LakeError, match=r"'run': its tables are no longer available.*--as-of 2026-05-02T02:00:00\.0"
        ):
            tables.state(lake, run="run")


@pytest.mark.drill
def test_the_command_writes_tables_that_say_of_which_state_they_are(home, tmp_path):
    names = ("--table", "memories", "--table", "vectors")
    said = commands.as_json("export", "parquet", tmp_path / "p", *names, "--as-of", "2026-05-02T02:00:00Z", home=home)
    assert set(said["tables"]) == {"memories", "vectors"}
    with Lake(home) as lake:
        assert pl.read_parquet(tmp_path / "p/vectors.parquet").equals(lake.read("vectors"))
        assert str(tmp_path / "p") in dict(exported(lake))
    assert pl.read_parquet_metadata(tmp_path / "p/memories.parquet")["memory_pipeline.as_of"] == said["as_of"]
    run = commands.as_json("export", "parquet", tmp_path / "p", *names, "--run", "run", "--force", home=home)
    json_page.agrees({"export parquet, export delta": [said, run]})
    assert pl.read_parquet_metadata(tmp_path / "p/memories.parquet")["memory_pipeline.run_id"] == "run"
    for options, reason in (
        ((), "memories.parquet exists; choose another folder, or give --force"),
        (("--run", "run", "--as-of", "2026-05-02"), "--run and --as-of cannot be combined"),
    ):
        line = commands.refused("export", "parquet", tmp_path / "p", *names, *options, home=home, status=2)
        assert reason in line
    one = ("export", "parquet", tmp_path / "q", "-p", "sample-1", "--table")
    assert "'dead_letters' belongs to no profile" in commands.refused(*one, "dead_letters", home=home)
    assert "'nothing' cannot be exported; tables are events, " in commands.refused(*one, "nothing", home=home)
    if find_spec("deltalake") is None:
        assert "pip install 'deltalake<" in commands.refused("export", "delta", tmp_path / "d", home=home)


def test_a_copy_where_nobody_can_look_is_named_as_if_it_were_there(tmp_path):
    with Lake(tmp_path / "home") as lake:
        for name in ("gone", "x" * 300):
            lake.ledger.note_export(tmp_path / name, at=AS_OF, profile_id="sample-1")
        assert [Path(path).name for path, _ in exported(lake)] == ["x" * 300]


def exported(lake):
    with lake.ledger.reading() as transaction:
        return noted(transaction, "sample-1")
