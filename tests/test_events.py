"""Events: what is let in, what is refused and why, and their typed table."""

import json
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest
import reference_pages
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memory_pipeline.ledger.event import COLUMNS, DeadLetter, Event, InvalidEvent, frame, parse
from memory_pipeline.ledger.lost_payloads import LostPayloads
from memory_pipeline.ledger.payloads import MAX_LEVELS, PAYLOADS, Stored
from memory_pipeline.ledger.references import KnownMemory, Refusal
from memory_pipeline.runs.commit import InvariantBroken
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.text.classification import CATEGORIES, MEMORY_TYPES

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
PAGE = Path(__file__).parent.parent / "docs" / "event-format.md"


def stored(**payload: Any) -> dict[str, Any]:
    return {"event_type": "memory.stored", "payload": {"content": "Ana likes tea."} | payload}


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


def reason(raw: Any, **options: Any) -> str:
    with pytest.raises(InvalidEvent) as refused:
        parse(raw, recorded_at=NOW, origin="test", **options)
    assert str(refused.value) == f"test: {refused.value.reason}"
    return refused.value.reason


labels = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=20).filter(str.strip)
texts = st.text(max_size=40).filter(str.strip)
shares = st.floats(0, 1)
instants = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
metadata = st.dictionaries(
    st.text(), st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
)


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: st.none() | field for name, field in fields.items()})


validity = optional(valid_from=instants, protected=st.booleans(), protected_reason=texts)
noted = optional(metadata=metadata)
memories = st.builds(
    lambda content, *parts: {"content": content} | {key: value for part in parts for key, value in part.items()},
    texts,
    validity,
    noted,
    optional(
        speaker=labels,
        memory_type=st.sampled_from(MEMORY_TYPES) | labels,
        category=st.sampled_from(CATEGORIES) | labels,
        importance=shares,
        importance_hint=shares,
        confidence=shares,
        tags=st.lists(labels, max_size=3),
        source=texts,
    ),
)
accesses = st.lists(labels, min_size=1, max_size=4, unique=True).flatmap(
    lambda ids: st.fixed_dictionaries(
        {"memory_ids": st.just(ids)},
        optional={
            "query": texts,
            "ranks": st.lists(st.integers(1, 99), min_size=len(ids), max_size=len(ids)),
            "scores": st.lists(shares, min_size=len(ids), max_size=len(ids)),
            "unsure": st.booleans(),
            "counts": st.lists(st.integers(1, 99), min_size=len(ids), max_size=len(ids)),
            "expanded": st.lists(st.sampled_from(ids), max_size=3),
        },
    )
)
links = st.fixed_dictionaries(
    {"target_id": labels.map(lambda label: f"{label}>"), "edge_type": labels},
    optional={"kind": labels, "weight": shares},
)
updates = st.builds(
    lambda changed, rest: changed | rest,
    st.one_of(
        st.fixed_dictionaries({"content": texts}),
        st.fixed_dictionaries({"tags": st.lists(labels, max_size=3)}, optional={"importance": shares}),
        st.builds(lambda said: {"metadata": said.get("metadata") or {}}, noted),
    ),
    validity,
)
about = {"memory_id": labels.map(lambda label: f"{label}<")}
kinds: list[tuple[EventType, st.SearchStrategy[dict[str, Any]], dict[str, st.SearchStrategy[str]]]] = [
    (EventType.STORED, memories, about),
    (EventType.ACCESSED, accesses, {}),
    (EventType.UPDATED, updates, about),
    (EventType.LINKED, links, about),
    (EventType.SESSION_STARTED, noted, {"session_id": labels}),
    (EventType.SESSION_ENDED, noted, {"session_id": labels}),
    (EventType.FEEDBACK, st.fixed_dictionaries({"helpful": st.booleans()}), about),
]
raw_events = st.one_of(
    [
        st.fixed_dictionaries(
            {"event_type": st.just(kind.value), "payload": payload, **needed},
            optional={
                "event_id": labels,
                "profile_id": labels,
                "occurred_at": instants,
                "agent_id": labels,
                "user_id": labels,
                "instance_id": st.none() | labels,
                "parent_event_id": labels,
            },
        )
        for kind, payload, needed in kinds
    ]
)


def read(raw: dict[str, Any]) -> Event:
    return parse(raw, recorded_at=NOW, origin="test", future=None)


@given(raw_events)
def test_what_is_valid_survives_json_and_parsing_again(raw):
    event = read(raw)
    again = dict(zip(COLUMNS, event.row(), strict=True)) | {
        "occurred_at": event.occurred_at.isoformat(),
        "recorded_at": None,
        "payload": json.loads(event.payload_json()),
    }
    assert parse(json.dumps(again).encode(), recorded_at=NOW, origin="test") == event
    assert event.occurred_at <= NOW


@given(st.lists(raw_events, max_size=8))
def test_the_table_holds_what_the_events_say(raws):
    events = [read(raw) for raw in raws]
    rows = [(seq, *event.row()) for seq, event in enumerate(events, 1)]
    table = frame(reversed(rows))
    expected = [row for seq, event in enumerate(events, 1) for row in expected_rows(seq, event)]
    assert table.equals(TABLES["events"].conform(table))
    assert table.to_dicts() == expected


def expected_rows(seq: int, event: Event) -> list[dict[str, Any]]:
    payload = {name: getattr(event.payload, name) for name in type(event.payload).model_fields}
    payload["edge_kind"] = payload.pop("kind", None)
    payload["tags"] = None if payload.get("tags") is None else list(payload["tags"])
    names = ("memory_ids", "ranks", "scores", "counts", "expanded")
    ids, ranks, scores, counts, expanded = (payload.pop(name, None) for name in names)
    row = dict.fromkeys(TABLES["events"].schema.columns()) | event.model_dump(exclude={"payload"}) | payload
    row |= {"seq": seq, "ordinal": 0, "event_type": event.event_type.value}
    if ids is None:
        return [row]
    return [
        row
        | {"ordinal": index, "memory_id": memory_id, "rank": ranks and ranks[index], "score": scores and scores[index]}
        | {"expanded": memory_id in (expanded or ()), "times": counts and counts[index]}
        for index, memory_id in enumerate(ids)
    ]


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800") | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(junk | st.dictionaries(st.sampled_from(COLUMNS), junk) | st.text().map(json.dumps) | junk.map(repr))
def test_junk_is_refused_and_never_raises_anything_else(raw):
    if not isinstance(raw, dict | str | bytes):
        raw = str(raw)
    told = reason(raw)
    assert told
    told.encode()


@given(raw_events, junk, st.data())
def test_a_damaged_event_is_read_or_refused_in_plain_words(raw, damage, data):
    payload = PAYLOADS[EventType(raw["event_type"])].model_fields
    place = data.draw(st.sampled_from([*COLUMNS, *payload]))
    damaged = {**raw, "payload": {**raw["payload"], place: damage}} if place in payload else {**raw, place: damage}
    told = ""
    try:
        event = read(damaged)
    except InvalidEvent as error:
        told = error.reason
    assert "validation error" not in told
    assert "pydantic" not in told
    assert told.encode() or frame([(1, *event.row())]).height


@pytest.mark.parametrize(
    "error",
    [
        InvalidEvent("content is empty; write a text", "line 3"),
        KnownMemory({2: Refusal(reason="memory_id 'a' is taken; choose another", erased=False)}),
        LostPayloads(Path("data"), [1, 2, 3, 7]),
        InvariantBroken(pl.DataFrame({"check": ["quota"], "profile_id": ["p"], "memory_id": ["a"], "detail": ["x"]})),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_reaches_the_process_that_asked_for_the_work(error):
    arrived = pickle.loads(pickle.dumps(error))  # noqa: S301 - its own bytes
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert len(str(error).split()) > 4


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"\xff{}", ["byte 0", "UTF-8"]),
        ("{", ["not JSON"]),
        ("[" * 100_000, ["not JSON", "deep"]),
        ("[1]", ["[1]", "one JSON object"]),
        ("{}", ["event_type is missing", "memory.stored"]),
        ({"event_type": "memory.store"}, ["'memory.store'", "closest", "'memory.stored'"]),
        ({"event_type": ["memory.stored"]}, ["event_type is [", "closest"]),
        ({"event_type": "run.committed"}, ["only the pipeline"]),
        ({"event_type": "memory.stored"}, ["payload.content is missing", "text of the memory"]),
        ({"event_type": "memory.stored", "payload": 7}, ["payload is 7", "JSON object"]),
        ({"event_type": "memory.stored", "content": "x"}, ["content is beside", "payload.content"]),
        (stored(content=None), ["payload.content is missing"]),
        (stored(content=" \n"), ["payload.content is ' \\n'", "not blank"]),
        (stored(content=7), ["payload.content is 7", "text"]),
        (stored(content="\ud800"), ["payload.content", "whole characters", "surrogate"]),
        (stored(importance=1.5), ["payload.importance is 1.5", "0 to 1", "leave it out"]),
        (stored(importance=-0.1), ["payload.importance is -0.1"]),
        (stored(importance=float("nan")), ["payload.importance is nan"]),
        (stored(importance="0.5"), ["payload.importance is '0.5'"]),
        (stored(importance=True), ["payload.importance is True"]),
        ('{"event_type": "memory.stored", "payload": {"content": "x", "importance": NaN}}', ["NaN"]),
        ('{"event_type": "memory.stored", "payload": {"content": "x", "importance": 1e999}}', ["importance is inf"]),
        (stored(importence=0.5), ["'importence'", "closest", "'importance'", "payload.metadata"]),
        (stored(tags=["a", 1]), ["payload.tags[1] is 1"]),
        (stored(metadata=[1]), ["payload.metadata is [1]", "JSON object"]),
        (stored(metadata={"a": float("inf")}), ["payload.metadata"]),
        (stored(metadata={"a": {"b": "\ud800"}}), ["payload.metadata"]),
        (stored(metadata={"a": nested(MAX_LEVELS)}), ["payload.metadata is nested more than 100 levels deep", "fewer"]),
        (stored(valid_from="2026-02-01", valid_until="2026-01-01"), ["valid_until", "before valid_from"]),
        (stored(valid_from="soon"), ["payload.valid_from is 'soon'", "2026-01-31T12:00:00Z"]),
        (stored() | {"occurred_at": 1767225600}, ["occurred_at is 1767225600", "2026-01-31T12:00:00Z"]),
        (stored() | {"occurred_at": "0001-01-01T00:00:00+05:00"}, ["occurred_at"]),
        (stored() | {"event_id": ""}, ["event_id is ''", "1 to 256 characters"]),
        (stored() | {"profile_id": "a" * 257}, ["profile_id", "1 to 256 characters"]),
        (stored() | {"session_id": "a\nb"}, ["session_id", "control characters"]),
        (stored() | {"memory_id": 7}, ["memory_id is 7"]),
        (stored() | {"memoryid": "m"}, ["'memoryid'", "'memory_id'"]),
        (stored(memory_id="a") | {"memory_id": "b"}, ["payload.memory_id is 'a'", "memory_id is 'b'"]),
        ({"event_type": "memory.updated", "memory_id": "m"}, ["changes nothing", "content"]),
        ({"event_type": "memory.updated", "payload": {"content": "x"}}, ["memory_id is missing"]),
        ({"event_type": "session.started"}, ["session_id is missing"]),
        ({"event_type": "session.ended", "session_id": "s", "memory_id": "m"}, ["memory_id has no meaning"]),
        ({"event_type": "memory.accessed", "payload": {"memory_ids": []}}, ["payload.memory_ids is []"]),
        ({"event_type": "memory.accessed", "payload": {"memory_ids": ["a", "a"]}}, ["twice"]),
        ({"event_type": "memory.accessed", "payload": {"memory_ids": ["a"], "ranks": [1, 2]}}, ["ranks has 2 entries"]),
        (
            {"event_type": "memory.accessed", "payload": {"memory_ids": ["a"], "counts": [1, 2]}},
            ["counts has 2 entries"],
        ),
        ({"event_type": "memory.accessed", "payload": {"memory_ids": ["a"], "ranks": [0]}}, ["payload.ranks[0] is 0"]),
        (
            {"event_type": "memory.accessed", "payload": {"memory_ids": ["a"], "expanded": ["b"]}},
            ["payload.expanded names 'b'", "not in payload.memory_ids"],
        ),
        (
            {"event_type": "link.asserted", "memory_id": "m", "payload": {"target_id": "m", "edge_type": "X"}},
            ["target_id is the memory itself"],
        ),
        ({"event_type": "feedback.given", "memory_id": "m", "payload": {}}, ["payload.helpful is missing"]),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_refusal_names_field_value_and_remedy(raw, words):
    told = reason(raw)
    for word in words:
        assert word in told


def test_a_huge_value_is_not_repeated_in_full():
    assert len(reason(stored(importance="x" * 10_000))) < 200
    assert len(reason(stored(importance=10**5000))) < 200


def test_defaults():
    event = read(stored())
    assert event.profile_id == "default"
    assert event.occurred_at == event.recorded_at == NOW
    assert UUID(event.event_id).version == 7
    assert event.memory_id == event.event_id
    assert isinstance(event.payload, Stored)
    assert event.payload.importance is None
    assert parse(stored(), recorded_at=NOW, origin="test", event_id="e").memory_id == "e"
    assert parse(stored() | {"event_id": "mine"}, recorded_at=NOW, origin="test", event_id="e").memory_id == "mine"


def test_types_stay_as_given():
    payload = read(stored(memory_type="DECISION", category="Hunch")).payload
    assert isinstance(payload, Stored)
    assert (payload.memory_type, payload.category) == ("DECISION", "Hunch")


def test_an_instant_without_offset_is_utc_and_others_are_turned_to_it():
    for text in ("2026-01-02T03:04:05", "2026-01-02T03:04:05Z", "2026-01-02T05:04:05+02:00"):
        assert read(stored() | {"occurred_at": text}).occurred_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert read(stored() | {"occurred_at": datetime(2026, 1, 2)}).occurred_at == datetime(2026, 1, 2, tzinfo=UTC)  # noqa: DTZ001


def test_the_future_is_refused_live_and_set_back_on_import():
    near, far = (
        stored() | {"occurred_at": NOW + timedelta(minutes=5)},
        stored() | {"occurred_at": NOW + timedelta(days=1)},
    )
    assert parse(near, recorded_at=NOW, origin="test").occurred_at == NOW + timedelta(minutes=5)
    assert "1 day, 0:00:00 after the ledger's clock" in reason(far)
    assert parse(far, recorded_at=NOW, origin="test", future=None).occurred_at == NOW


def test_the_recorded_instant_of_another_ledger_is_replaced():
    assert read(stored() | {"recorded_at": "2020-01-01"}).recorded_at == NOW


def test_a_memory_may_be_named_in_the_payload():
    raw = {"event_type": "feedback.given", "payload": {"memory_id": "m", "helpful": False}}
    assert read(raw).memory_id == "m"


def test_equal_payloads_have_equal_json():
    one = read(stored(tags=["a"], metadata={"b": 1, "a": "é"}, valid_from="2026-01-01", importance=1, confidence=None))
    two = read(stored(importance=1.0, valid_from="2026-01-01T02:00:00+02:00", metadata='{"a":"é", "b":1}', tags=["a"]))
    assert one.payload_json() == two.payload_json()
    assert json.loads(one.payload_json()) == {
        "content": "Ana likes tea.",
        "importance": 1.0,
        "metadata": '{"a":"é","b":1}',
        "tags": ["a"],
        "valid_from": "2026-01-01T00:00:00.000000Z",
    }


def test_events_do_not_change():
    event = read(stored())
    with pytest.raises(ValidationError):
        event.profile_id = "other"  # type: ignore[misc]


def test_the_pipelines_own_events_keep_their_payload_out_of_the_columns():
    event = Event(
        event_id="e",
        event_type=EventType.RUN_COMMITTED,
        occurred_at=NOW,
        recorded_at=NOW,
        payload={"content": [1], "n": 2},
    )
    assert event.payload_json() == '{"content":[1],"n":2}'
    row = frame([(3, *event.row())]).to_dicts()[0]
    assert {name for name, value in row.items() if value is not None} == {
        "seq", "ordinal", "event_id", "profile_id", "event_type", "occurred_at", "recorded_at",
    }  # fmt: skip


def test_a_payload_of_another_type_is_refused():
    with pytest.raises(ValidationError, match="give the payload of memory"):
        Event(event_id="e", event_type=EventType.STORED, memory_id="m", occurred_at=NOW, recorded_at=NOW, payload={})


def test_no_events_make_an_empty_table_with_types():
    assert frame([]).equals(TABLES["events"].empty())


def test_a_very_long_text_and_line_separators_survive_the_table():
    content = "long \u2028 \x85 \n \r\n \x00 \U0001f600 " * 100_000
    event = read(stored(content=content))
    assert frame([(1, *event.row())])["content"].to_list() == [content]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"memory_id": "m1", "payload": {"content": "tea"}}',
        b'{"payload": {"memory_id": "m1"}}',
        b'{"memory_id": "m1", "payload": {"content": "tea',
        b'[{"memory_id": "m1"}]',
        b'\xff{"event_id": "m1"}',
    ],
)
def test_a_refused_event_names_its_memory_however_broken_it_is(raw):
    assert "m1" in DeadLetter("file:1", "no", raw, NOW).memories()


def test_the_same_letter_has_the_same_id():
    letter = DeadLetter("file:1", "no", b"raw", NOW)
    assert letter.letter_id == DeadLetter("file:1", "other", b"raw", NOW + timedelta(1)).letter_id
    assert letter.letter_id != DeadLetter("file:2", "no", b"raw", NOW).letter_id
    assert len(letter.letter_id) == 64


def test_every_example_of_the_reference_page_is_valid():
    examples = [line for line in reference_pages.events().splitlines() if line.startswith("{")]
    assert [read(json.loads(example)).event_type for example in examples] == list(PAYLOADS)
