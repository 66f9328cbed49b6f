"""Importers: foreign files become events, twice is once, and nothing that is wrong stops the rest."""

import json
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.interop import beam, jsonl, locomo
from memory_pipeline.interop.importing import ImportReport, import_events
from memory_pipeline.interop.locomo import when
from memory_pipeline.ledger.event import DeadLetter, Event, frame
from memory_pipeline.ledger.ledger import Ledger

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)

CONVERSATION = {
    "speaker_a": "Ana",
    "speaker_b": "Ben",
    "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I sold the boat."}],
    "session_2_date_time": "12:05 am on 2 June, 2024",
    "session_1": [
        {"speaker": "Ana", "dia_id": "D1:1", "text": "Hello Ben!"},
        {
            "speaker": "Ben",
            "dia_id": "D1:2",
            "text": "Look at this. ",
            "img_url": ["x"],
            "blip_caption": "a small boat",
        },
    ],
    "session_1_date_time": "1:56 pm on 8 May, 2024",
    "session_3_date_time": "1:00 pm on 9 May, 2024",
    "session_1_summary": "They met.",
    "qa": [{"question": "?"}],
}
CHAT = {
    "chat": 7,
    "messages": [
        {"id": 0, "session": "1.1", "day": "2024-03-15", "role": "user", "content": "My deadline is Friday."},
        {"id": 1, "session": "1.1", "day": "2024-03-15", "role": "assistant", "content": "Noted."},
        {"id": 2, "session": "1.2", "day": "2024-03-16", "role": "user", "content": "Now it is Monday."},
    ],
    "questions": [{"question": "When?"}],
}


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def split(items):
    items = list(items)
    return [i for i in items if isinstance(i, Event)], [i for i in items if isinstance(i, DeadLetter)]


@pytest.fixture
def ledger(tmp_path):
    with Ledger.at(tmp_path / "home") as opened:
        yield opened


def line(number, **more):
    payload = {"content": f"Memory number {number}."}
    return json.dumps({"event_type": "memory.stored", "occurred_at": "2026-01-01", "payload": payload} | more).encode()


def test_a_conversation_becomes_sessions_and_memories(tmp_path):
    events, letters = split(locomo.events(write(tmp_path / "26.json", CONVERSATION), recorded_at=NOW))
    assert letters == []
    assert [(e.event_type.value, e.session_id, e.memory_id, e.occurred_at) for e in events] == [
        ("session.started", "session_1", None, datetime(2024, 5, 8, 13, 56, tzinfo=UTC)),
        ("memory.stored", "session_1", "D1:1", datetime(2024, 5, 8, 13, 56, tzinfo=UTC)),
        ("memory.stored", "session_1", "D1:2", datetime(2024, 5, 8, 13, 56, 1, tzinfo=UTC)),
        ("session.ended", "session_1", None, datetime(2024, 5, 8, 13, 56, 1, tzinfo=UTC)),
        ("session.started", "session_2", None, datetime(2024, 6, 2, 0, 5, tzinfo=UTC)),
        ("memory.stored", "session_2", "D2:1", datetime(2024, 6, 2, 0, 5, tzinfo=UTC)),
        ("session.ended", "session_2", None, datetime(2024, 6, 2, 0, 5, tzinfo=UTC)),
    ]
    assert {e.profile_id for e in events} == {"locomo-26"}
    table = frame([(seq, *event.row()) for seq, event in enumerate(events, 1)])
    assert table["content"].drop_nulls().to_list() == [
        "Hello Ben!",
        "Look at this. [shares a small boat]",
        "I sold the boat.",
    ]
    assert table["speaker"].drop_nulls().to_list() == ["Ana", "Ben", "Ben"]


def test_a_release_file_holds_many_conversations(tmp_path, ledger):
    entries = [{"sample_id": f"conv-{n}", "conversation": CONVERSATION, "qa": []} for n in (1, 2)]
    path = write(tmp_path / "all.json", entries)
    events, _ = split(locomo.events(path, recorded_at=NOW))
    assert {e.profile_id for e in events} == {"locomo-conv-1", "locomo-conv-2"}
    report = import_events(ledger, events)
    assert report == ImportReport(accepted=14)
    assert report.profiles == ("locomo-conv-1", "locomo-conv-2")
    with pytest.raises(ValueError, match="leave the profile out"):
        locomo.events(path, recorded_at=NOW, profile="mine")
    only = write(tmp_path / "one.json", entries[0])
    assert {e.profile_id for e in locomo.events(only, recorded_at=NOW, profile="mine")} == {"mine"}


def test_the_same_conversation_may_go_into_two_profiles(tmp_path, ledger):
    path = write(tmp_path / "26.json", CONVERSATION)
    for profile in ("one", "two"):
        assert import_events(ledger, locomo.events(path, recorded_at=NOW, profile=profile)).accepted == 7
    assert import_events(ledger, locomo.events(path, recorded_at=NOW + timedelta(1), profile="two")).accepted == 0


def test_what_is_wrong_in_a_conversation_is_buried_and_the_rest_kept(tmp_path):
    turns = [
        "no turn",
        {"speaker": "Ana", "text": "No id."},
        {"speaker": "Ana", "dia_id": "D1:1", "text": ""},
        {"speaker": 7, "dia_id": "D1:2", "text": "Hello"},
        {"speaker": "Ana", "dia_id": "D1:3", "text": "Fine."},
        {"speaker": "Ana", "dia_id": "D1:3", "text": "Twice."},
        {"speaker": "Ana", "dia_id": "D1:4", "text": "\ud800"},
    ]
    wrong = {
        "session_1": turns,
        "session_1_date_time": "1:56 pm on 8 May, 2024",
        "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "Lost in time."}],
        "session_2_date_time": "31 February",
        "session_3": "none",
        "session_3_date_time": "1:56 pm on 8 May, 2024",
    }
    events, letters = split(locomo.events(write(tmp_path / "x.json", wrong), recorded_at=NOW))
    assert [e.memory_id for e in events if e.memory_id] == ["D1:3"]
    assert [letter.origin for letter in letters] == [
        *(f"x.json[0]:session_1[{place}]" for place in (0, 1, 2, 3, 5, 6)),
        "x.json[0]:session_2",
        "x.json[0]:session_3",
    ]
    said = [json.loads(letter.raw) for letter in letters]
    assert said[:6] == [turn for place, turn in enumerate(turns) if place != 4]
    assert said[6]["session_2"] == wrong["session_2"]
    for letter, words in zip(
        letters, ["dia_id", "dia_id", "content", "speaker", "names two", "content", "1:56 pm on", "list"], strict=True
    ):
        assert words in letter.reason


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1:56 pm on 8 May, 2023", (2023, 5, 8, 13, 56)),
        ("12:00 AM on 1 January, 2024", (2024, 1, 1, 0, 0)),
        ("12:30 pm on 29 February, 2024", (2024, 2, 29, 12, 30)),
        ("09:05 am on 3 sept 2022", (2022, 9, 3, 9, 5)),
        ("13:00 pm on 8 May, 2023", None),
        ("1:60 pm on 8 May, 2023", None),
        ("1:00 pm on 29 February, 2023", None),
        ("1:00 pm on 8 Mai, 20233", None),
        ("8 May 2023", None),
        (None, None),
    ],
)
def test_dates_of_sessions(text, instant):
    assert when(text) == (instant and datetime(*instant, tzinfo=UTC))


def test_a_chat_becomes_sessions_and_memories(tmp_path):
    events, letters = split(beam.events(write(tmp_path / "1.json", CHAT), recorded_at=NOW))
    assert letters == []
    assert [(e.event_type.value, e.session_id, e.memory_id, e.occurred_at) for e in events] == [
        ("session.started", "1.1", None, datetime(2024, 3, 15, 8, tzinfo=UTC)),
        ("memory.stored", "1.1", "0", datetime(2024, 3, 15, 8, tzinfo=UTC)),
        ("memory.stored", "1.1", "1", datetime(2024, 3, 15, 8, 1, tzinfo=UTC)),
        ("session.ended", "1.1", None, datetime(2024, 3, 15, 8, 1, tzinfo=UTC)),
        ("session.started", "1.2", None, datetime(2024, 3, 16, 8, 2, tzinfo=UTC)),
        ("memory.stored", "1.2", "2", datetime(2024, 3, 16, 8, 2, tzinfo=UTC)),
        ("session.ended", "1.2", None, datetime(2024, 3, 16, 8, 2, tzinfo=UTC)),
    ]
    assert {e.profile_id for e in events} == {"beam-7"}


def test_what_is_wrong_in_a_chat_is_buried_and_the_rest_kept(tmp_path):
    good = CHAT["messages"][0]
    wrong = [None, good | {"id": True}, good | {"day": "friday"}, good | {"day": "9999-12-31T23:00"}, {"id": 3}]
    messages = [*wrong, good | {"content": None}, good]
    events, letters = split(beam.events(write(tmp_path / "1.json", {"messages": messages}), recorded_at=NOW))
    assert [letter.origin for letter in letters] == [f"1.json:messages[{place}]" for place in (*range(5), 5, 6)]
    assert "names two turns" in letters[-1].reason
    assert all("day" in letter.reason for letter in letters[:5])
    assert [e.event_type.value for e in events] == ["session.started", "session.ended"]


@pytest.mark.parametrize("events", [locomo.events, beam.events])
@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "[1]", "{}", "null", '{"messages": []}', '[{"conversation": {}}]', "[" * 100_000, b"\xff"],
)
@pytest.mark.usefixtures("uncollected")
def test_a_file_of_another_layout_is_refused_at_once(tmp_path, events, content):
    path = tmp_path / "x.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=r"x\.json: "):
        events(path, recorded_at=NOW)


@pytest.mark.parametrize("events", [locomo.events, beam.events, jsonl.events])
def test_a_file_that_cannot_be_read_is_refused_at_once(tmp_path, events):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ValueError, match="cannot be read"):
            events(path, recorded_at=NOW)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\x1f\x8b\x08", "compressed"), ("{}".encode("utf-16"), "UTF-16"), (b" [ \n{},\n{}]", "array")],
)
def test_a_file_that_is_no_lines_of_json_is_refused_at_once(tmp_path, content, words):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        jsonl.events(path, recorded_at=NOW)


def test_lines_of_events(tmp_path, ledger):
    long = line(5, payload={"content": "x" * 3_000_000})
    path = tmp_path / "e.jsonl"
    content = b"\xef\xbb\xbf" + b"\r\n".join(
        [line(1), b"", b" \t", b"{oops", b"\xff", line(2), long, line(3, occurred_at="2027-01-01")]
    )
    path.write_bytes(content)
    events, letters = split(jsonl.events(path, recorded_at=NOW))
    assert [(letter.origin, letter.raw) for letter in letters] == [("e.jsonl:4", b"{oops"), ("e.jsonl:5", b"\xff")]
    assert "not JSON" in letters[0].reason
    assert "UTF-8" in letters[1].reason
    assert len(events) == 4
    assert events[-1].occurred_at == NOW
    assert import_events(ledger, [*events, *letters]) == ImportReport(accepted=4, dead_letters=2)
    assert ledger.dead_letters()["raw"].sort().to_list() == [b"{oops", b"\xff"]


def test_the_same_line_is_the_same_event_in_any_file(tmp_path, ledger):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_bytes(line(1) + b"\n" + line(2) + b"\n" + line(2))
    two.write_bytes(line(3) + b"\r\n" + line(2) + b"\r\n")
    assert import_events(ledger, jsonl.events(one, recorded_at=NOW)) == ImportReport(accepted=2, duplicates=1)
    assert import_events(ledger, jsonl.events(two, recorded_at=NOW)) == ImportReport(accepted=1, duplicates=1)


def test_an_import_that_stopped_anywhere_is_finished_by_another(tmp_path, ledger):
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"\n".join(line(n) if n % 10 else b"broken" for n in range(100)))

    class Stop(Exception):
        pass

    for batch, batches in ((7, 3), (1, 40), (33, 1)):
        reports = []

        def stop(report, reports=reports, batches=batches):
            reports.append(report)
            if len(reports) == batches:
                raise Stop

        with pytest.raises(Stop):
            import_events(ledger, jsonl.events(path, recorded_at=NOW), batch=batch, progress=stop)
        assert all(
            a.accepted + a.duplicates + a.dead_letters < b.accepted + b.duplicates + b.dead_letters
            for a, b in pairwise(reports)
        )
    last = import_events(ledger, jsonl.events(path, recorded_at=NOW), batch=8)
    assert last.accepted + last.duplicates == 90
    assert last.accepted > 0
    assert import_events(ledger, jsonl.events(path, recorded_at=NOW)) == ImportReport(duplicates=90, dead_letters=10)
    assert len(ledger.read()) == 90
    assert ledger.dead_letters().height == 10


@pytest.mark.drill
def test_a_batch_of_long_lines_is_cut_short(tmp_path, ledger):
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"\n".join(line(n, payload={"content": f"{n} " * 1_500_000}) for n in range(10)))
    reports = []
    import_events(ledger, jsonl.events(path, recorded_at=NOW), progress=reports.append)
    assert len(reports) > 1
    assert reports[-1] == ImportReport(accepted=10)


@given(st.lists(st.binary(max_size=30) | st.integers(0, 5).map(line), max_size=12))
@examples(4)
def test_any_lines_are_taken_or_buried_and_twice_is_once(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "e.jsonl"
    path.write_bytes(b"{}\n" + b"\n".join(lines))
    with Ledger.at(path.parent) as ledger:
        first = import_events(ledger, jsonl.events(path, recorded_at=NOW), batch=3)
        again = import_events(ledger, jsonl.events(path, recorded_at=NOW + timedelta(1)), batch=5)
        written = [text for text in path.read_bytes().split(b"\n") if text.strip()]
        assert first.accepted + first.duplicates + first.dead_letters == len(written)
        assert again == ImportReport(duplicates=first.accepted + first.duplicates, dead_letters=first.dead_letters)
        assert len(ledger.read()) == first.accepted


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers() | st.just("1:56 pm on 8 May, 2024"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["dia_id", "text", "speaker", "blip_caption"]), inner)
        ),
        max_leaves=6,
    ),
    st.integers(0, 2**32),
)
def test_any_conversation_is_read_or_buried(tmp_path_factory, junk, seed):
    rng = random.Random(seed)  # where the damage goes
    damaged = {key: junk if rng.random() < 0.3 else value for key, value in CONVERSATION.items()}
    damaged["session_9"] = [junk]
    damaged["session_9_date_time"] = "1:56 pm on 8 May, 2024"
    events, letters = split(locomo.events(write(tmp_path_factory.mktemp("c") / "x.json", damaged), recorded_at=NOW))
    assert all(letter.reason and json.loads(letter.raw) is not Ellipsis for letter in letters)
    assert len({e.event_id for e in events}) == len(events)
