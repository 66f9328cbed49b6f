"""A memory is stored once: the same again is harmless, and another text under its id is refused and never lost."""

import json
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from commands import COMMAND, as_json, environment, refused

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.interop import jsonl, locomo
from memory_pipeline.interop.importing import ImportReport, import_events
from memory_pipeline.lake import compaction
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.recall.client.memory_client import MemoryClient

pytestmark = pytest.mark.usefixtures("unpublished")

NOW = datetime(2026, 5, 1, tzinfo=UTC)
TAKEN = r"memory_id is 'n1', under which profile 'default' has another text; .* with update, or .* another memory_id"


@pytest.fixture
def client(tmp_path):
    with MemoryClient(tmp_path) as opened:
        yield opened


@pytest.fixture
def lake(tmp_path):
    with Lake(tmp_path) as opened:
        yield opened


def stored(memory_id, content, event_id=None, **payload):
    event = {"event_type": "memory.stored", "memory_id": memory_id, "event_id": event_id or f"{memory_id} {content}"}
    return parse(event | {"payload": {"content": content} | payload}, recorded_at=NOW, origin="test")


def line(memory_id, content, **more):
    return json.dumps({"event_type": "memory.stored", "memory_id": memory_id, "payload": {"content": content}} | more)


def taken(ledger, path):
    return import_events(ledger, jsonl.events(path, recorded_at=NOW))


def test_a_second_text_under_a_known_id_is_refused_and_the_first_stays(client, lake):
    assert client.remember("First", memory_id="n1") == "n1"
    before = lake.ledger.position()
    with pytest.raises(ValueError, match=TAKEN):
        client.remember("Second", memory_id="n1")
    with pytest.raises(ValueError, match=TAKEN):
        client.remember("Second", event_id="n1")
    assert lake.ledger.position() == before
    assert client.get("n1").content == "First"


def test_the_same_again_is_harmless(client):
    said = {"memory_id": "n1", "importance": 0.5, "tags": ["a"]}
    assert client.remember("First", **said) == client.remember("First", **said) == "n1"
    client.update("n1", content="Changed")
    assert client.remember("First", **said) == "n1"
    assert [one.content for one in client.list()] == ["Changed"]


def test_the_same_text_with_other_fields_is_refused_too(client):
    client.remember("First", memory_id="n1")
    with pytest.raises(ValueError, match="has the same text and another protected"):
        client.remember("First", memory_id="n1", protected=True)


def test_of_several_rows_all_or_none_are_stored_and_the_row_is_named(client):
    client.remember("First", memory_id="n1")
    with pytest.raises(ValueError, match=rf"^rows\[1\]: {TAKEN}"):
        client.remember_many(["New", {"text": "Second", "memory_id": "n1"}])
    with pytest.raises(ValueError, match=r"^rows\[2\]: memory_id is 'n2'"):
        client.remember_many([{"text": text, "memory_id": "n2"} for text in ("One", "One", "Two")])
    assert [one.content for one in client.list()] == ["First"]


def test_the_id_of_another_event_is_refused(client):
    client.remember("First", event_id="e1")
    with pytest.raises(ValueError, match="event_id is 'e1', which another event of the profile has; give this one"):
        client.remember("Second", event_id="e1", memory_id="n2")
    with pytest.raises(ValueError, match=r"^rows\[1\]: event_id is 'e1'"):
        client.remember_many(["New", {"text": "Second", "event_id": "e1", "memory_id": "n2"}])
    assert [one.content for one in client.list()] == ["First"]


def test_another_profile_may_use_the_same_id(client, tmp_path):
    client.remember("First", memory_id="n1")
    with MemoryClient(tmp_path, profile_id="other") as other:
        assert other.remember("Second", memory_id="n1") == "n1"
        assert other.get("n1").content == "Second"


def test_nothing_is_stored_under_the_id_of_an_erased_memory(client):
    client.remember("First", memory_id="n1")
    client.erase("n1")
    for text in ("First", "Second"):
        with pytest.raises(ValueError, match=r"memory_id is 'n1'.* was erased; give this one another memory_id"):
            client.remember(text, memory_id="n1")


def test_what_has_moved_out_of_the_ledger_is_known_all_the_same(lake):
    lake.ledger.append([stored("n1", "First")])
    lake.project()
    assert compaction.compact(lake.ledger, lake.store, before=NOW + timedelta(days=1)) == 1
    assert lake.ledger.append([stored("n1", "First", "again")]).accepted == 1
    with pytest.raises(KnownMemory, match="another text"):
        lake.ledger.append([stored("n1", "Second")])


def test_of_two_writers_at_once_one_is_refused(tmp_path):
    def write(text):
        with Lake(tmp_path) as own:
            try:
                return own.ledger.append([stored(f"n{number}", text) for number in range(50)]).accepted
            except KnownMemory:
                return 0

    Lake(tmp_path).close()
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(write, ["One", "Two", "Three", "Four"])) == [0, 0, 0, 50]


@pytest.mark.drill
def test_of_two_processes_at_once_one_is_refused(tmp_path):
    program = textwrap.dedent(f"""
        import sys
        from memory_pipeline import MemoryClient
        with MemoryClient({str(tmp_path)!r}) as client:
            print("ready", flush=True)
            sys.stdin.readline()
            try:
                client.remember_many([{{"text": f"{{sys.argv[1]}} {{n}}", "memory_id": f"n{{n}}"}} for n in range(200)])
                print("stored")
            except ValueError:
                print("refused")
    """)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", program, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        for name in ("one", "two")
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0] for process in both) == ["refused\n", "stored\n"]
    with MemoryClient(tmp_path) as client:
        assert len({one.content.split()[0] for one in client.list(limit=500)}) == 1


def test_an_import_buries_a_second_text_as_it_came_and_takes_the_rest(lake, tmp_path):
    path, second = tmp_path / "e.jsonl", f"  {line('n1', 'Second')} "
    path.write_text("\n".join([line("n1", "First"), second, line("n2", "Third"), line("n1", "First", session_id="s")]))
    assert taken(lake.ledger, path) == ImportReport(accepted=3, dead_letters=1)
    letters = lake.ledger.dead_letters()
    assert letters.select("origin", "raw").rows() == [("e.jsonl:2", second.encode())]
    assert "memory_id is 'n1'" in letters["reason"][0]
    before = lake.ledger.position()
    assert taken(lake.ledger, path) == ImportReport(duplicates=3, dead_letters=1)
    assert lake.ledger.position() == before
    assert lake.ledger.dead_letters().equals(letters)
    assert set(lake.events()["content"]) == {"First", "Third"}


def test_an_edited_line_of_a_known_event_is_buried(lake, tmp_path):
    path = tmp_path / "e.jsonl"
    for text, report in (("First", ImportReport(accepted=1)), ("Edited", ImportReport(dead_letters=1))):
        path.write_text(line("n1", text, event_id="e1"))
        assert taken(lake.ledger, path) == report


def test_an_edited_turn_of_a_known_conversation_is_buried(lake, tmp_path):
    turn = {"speaker": "Ana", "dia_id": "D1:1", "text": "Hello!"}
    for text, dead in (("Hello!", 0), ("Hello!", 0), ("Goodbye!", 1)):
        chat = {"session_1": [turn | {"text": text}], "session_1_date_time": "1:56 pm on 8 May, 2024"}
        (tmp_path / "26.json").write_text(json.dumps(chat))
        report = import_events(lake.ledger, locomo.events(tmp_path / "26.json", recorded_at=NOW))
        assert report.dead_letters == dead
    assert json.loads(lake.ledger.dead_letters()["raw"][0]) == turn | {"text": "Goodbye!"}
    assert lake.ledger.dead_letters()["origin"].to_list() == ["26.json[0]:session_1[0]"]


def test_events_that_were_read_from_no_file_are_buried_as_json(lake):
    report = import_events(lake.ledger, [stored("n1", "First"), stored("n1", "Second", metadata={"a": 1})])
    assert report == ImportReport(accepted=1, dead_letters=1)
    letter = lake.ledger.dead_letters().row(0, named=True)
    assert letter["origin"] == "event n1 Second"
    again = json.loads(letter["raw"]) | {"memory_id": "n2"}
    assert import_events(lake.ledger, [parse(again, recorded_at=NOW, origin="test")]).accepted == 1


def test_what_an_import_says_of_an_erased_memory_is_kept_nowhere(client, lake, tmp_path):
    client.remember("First", memory_id="n1")
    client.erase("n1")
    path = tmp_path / "e.jsonl"
    path.write_text(line("n1", "Zwirblquax"))
    assert taken(lake.ledger, path) == ImportReport(dead_letters=1)
    letter = lake.ledger.dead_letters().row(0, named=True)
    assert (letter["origin"], letter["raw"]) == ("e.jsonl:1", b"")
    assert "was erased" in letter["reason"]


def test_an_erasure_takes_the_refused_texts_of_a_memory_along(lake, tmp_path):
    for text in ("Hello!", "Zwirblquax!"):
        turns = [{"speaker": "Ana", "dia_id": dia_id, "text": text} for dia_id in ("D1:1", "D1:2")]
        chat = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2024"}
        (tmp_path / "26.json").write_text(json.dumps(chat))
        import_events(lake.ledger, locomo.events(tmp_path / "26.json", recorded_at=NOW))
    assert lake.ledger.dead_letters().height == 2
    assert len(erase_memories(lake, profile_id="locomo-26", memory_ids=["D1:1"], now=NOW).dead_letters) == 1
    assert json.loads(lake.ledger.dead_letters()["raw"][0])["dia_id"] == "D1:2"


@pytest.mark.drill
def test_what_comes_through_a_pipe_is_read_once_and_whole(tmp_path):
    lines = "\n".join([line("n1", "First"), line("n2", "Second"), "{oops"])
    said = subprocess.run(
        [COMMAND, "--home", tmp_path / "home", "import", "jsonl", "/dev/stdin", "--json", "--allow-refused"],
        input=lines,
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        check=True,
    )
    counts = {"accepted": 2, "memories": 2, "duplicates": 0, "dead_letters": 1}
    imported = json.loads(said.stdout)["/dev/stdin"]
    (refused,) = imported.pop("refused")
    assert imported == counts | {"profiles": ["default"], "skipped": {}}
    assert refused["origin"] == "stdin:3"
    found = as_json("list", home=tmp_path / "home")
    assert {one["content"] for one in found} == {"First", "Second"}


def test_an_unknown_person_is_refused_without_an_empty_list(client, tmp_path):
    client.remember("First")
    said = refused("erase", "--user", "nobody", "-y", home=tmp_path)
    assert said.startswith("user_id 'nobody' has no memory in profile 'default' and asked nothing there; correct it")


@pytest.mark.parametrize(
    "more",
    [
        {"event_id": "again"},
        {"payload": {"content": "The gate code is 9917.", "oops": 1}},
        {"event_type": "memory.shot"},
    ],
)
def test_what_is_refused_of_an_erased_memory_keeps_no_word_of_it(tmp_path, more):
    said = "The gate code is 9917."
    (tmp_path / "first.jsonl").write_text(line("gone", said, event_id="one"))
    with Lake(tmp_path / "data") as lake:
        taken(lake.ledger, tmp_path / "first.jsonl")
        erase_memories(lake, memory_ids=["gone"], now=NOW)
        (tmp_path / "again.jsonl").write_text(line("gone", said, **more))
        assert taken(lake.ledger, tmp_path / "again.jsonl").dead_letters == 1
        (letter,) = lake.ledger.dead_letters().to_dicts()
    assert letter["raw"] == b""
    assert "9917" not in letter["reason"]
    held = [path for path in (tmp_path / "data").rglob("*") if path.is_file() and b"9917" in path.read_bytes()]
    assert held == []
