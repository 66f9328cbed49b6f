"""What a client is given and cannot take is refused by name, at once, and nothing is stored."""

import re
from datetime import datetime, timedelta, timezone
from itertools import product

import pytest

from memory_pipeline.recall.client.memory_client import MemoryClient


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with MemoryClient(tmp_path_factory.mktemp("checks")) as opened:
        opened.remember("Ana keeps bees.", memory_id="bees")
        yield opened


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda client: client.recall("bees", deep="yes"), "deep is 'yes'; give True or False"),
        (lambda client: client.recall("bees", record=None), "record is None; give True or False"),
        (lambda client: client.list(deep="yes"), "deep is 'yes'; give True or False"),
        (lambda client: client.remember_many("abc"), "rows is 'abc'; give a list of texts"),
        (lambda client: client.remember_many(b"abc"), "rows is b'abc'; give a list of texts"),
        (lambda client: client.remember_many({"text": "abc"}), "rows is {'text': 'abc'}; give a list of texts"),
        (lambda client: client.remember_many(None), "rows is None; give a list of texts"),
        (lambda client: client.undo(None), "target is None; give an id"),
        (lambda client: client.undo(" "), "target is ' '; give an id"),
        (lambda client: client.undo("x", cascade="no"), "cascade is 'no'; give True or False"),
        (lambda client: client.erase(user=5), "user is 5; give an id"),
        (lambda client: client.erase("bees", reason=5), "reason is 5; give a text that is not blank"),
        (lambda client: client.erase("bees", reason="\ud800"), "reason is .*; give whole characters"),
        (lambda client: client.erase(profile="no"), "profile is 'no'; give True or False"),
        (lambda client: client.consolidate(lightweight="no"), "lightweight is 'no'; give True or False"),
        (lambda client: client.consolidate(dry_run="no"), "dry_run is 'no'; give True or False"),
        (lambda client: client.consolidate(task=[]), r"task \[\] is unknown; choose one of full, "),
        (lambda client: client.consolidate(task=""), "task '' is unknown; choose one of full, "),
        (lambda client: client.session_start(session_id=""), "session_id is ''; give a string of 1 to 256 characters"),
        (lambda client: client.end_session(""), "session_id is ''; give a string of 1 to 256 characters"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name(client, call, words):
    with pytest.raises(ValueError, match=words):
        call(client)
    assert [one.memory_id for one in client.list()] == ["bees"]


@pytest.mark.parametrize("method", ["get", "update", "protect", "feedback", "restore", "explain", "erase"])
@pytest.mark.parametrize("value", [5, ["bees"], {}, " ", b"bees"], ids=repr)
def test_what_is_no_id_is_refused_by_every_method(client, method, value):
    more = {"update": {"content": "x"}, "feedback": {"helpful": True}}.get(method, {})
    with pytest.raises(ValueError, match=rf"^memory_id is {re.escape(repr(value))}; give an id$"):
        getattr(client, method)(value, **more)


def test_an_unknown_id_is_repeated_in_short_and_without_all_known_ones(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember_many([{"text": f"Note {number}.", "memory_id": f"note-{number}"} for number in range(40)])
        for method in ("get", "protect", "restore", "explain", "erase", "undo"):
            for unknown in ("nope", "x" * 100_000):
                with pytest.raises(ValueError, match=r"nope|xxx") as refused:
                    getattr(client, method)(unknown)
                assert len(str(refused.value)) < 200, method


@pytest.mark.parametrize("method", ["get", "explain", "recall"])
def test_nobody_knows_the_future(client, method):
    with pytest.raises(ValueError, match=r"as_of is 2999-01-01T00:00:00\+00:00, which lies in the future; give an"):
        getattr(client, method)("bees", as_of="2999-01-01")


def test_any_number_may_be_listed(client):
    assert [one.memory_id for one in client.list(limit=10**30)] == ["bees"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"home": 5}, "home is 5; give the path of a data folder"),
        ({"settings": 5}, "settings is 5; give Settings"),
        ({"session_id": ""}, "session_id is ''; give a string of 1 to 256 characters"),
        ({"clock": 5}, "clock is 5; give a function that returns a datetime with a time zone"),
        ({"clock": lambda: datetime(2026, 3, 1)}, "clock returns datetime.*; give a function that returns"),  # noqa: DTZ001
    ],
)
def test_a_client_is_not_opened_with_what_no_call_could_use(tmp_path, given, words):
    with pytest.raises(ValueError, match=words):
        MemoryClient(**{"home": tmp_path} | given)


def test_a_clock_of_any_time_zone_is_taken(tmp_path):
    at = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    with MemoryClient(tmp_path, clock=lambda: at) as client:
        client.remember("Ana keeps bees.", memory_id="bees")
        assert client.get("bees").created_at == at
        assert [one.memory_id for one in client.recall("bees", as_of=at)] == ["bees"]


def test_rows_of_any_kind_of_collection_are_taken(tmp_path):
    with MemoryClient(tmp_path) as client:
        assert len(client.remember_many(f"Note {number}." for number in range(3))) == 3
        assert client.remember_many([]) == []


def test_an_explanation_has_a_readable_form(client):
    said = client.explain("bees").text().splitlines()
    assert said == client.explain("bees").lines()
    assert said[-1] == "memory bees of profile default"


def test_an_odd_id_is_refused_where_it_enters_and_reaches_no_other_caller(tmp_path):
    with MemoryClient(tmp_path) as client:
        kept = client.remember("Tea is at five.")
        calls = (
            lambda odd: client.recall("tea", session_id=odd),
            lambda odd: client.recall("tea", user_id=odd),
            lambda odd: client.recall("tea", profiles=[odd]),
            client.get,
            client.explain,
            client.end_session,
            lambda odd: client.session_start("tea", session_id=odd),
            client.undo,
            lambda odd: client.resolve((kept, odd), "none"),
        )
        for call, odd in product(calls, ("\n", " ", "a\x00b", "x" * 257, "\x1b[31m", 7)):
            with pytest.raises(ValueError, match=r"id|profiles|target|pair"):
                call(odd)
        client.recall("tea", session_id="next")
        client.flush()
        assert client.get(kept).access_count >= 1


def test_an_access_that_cannot_be_made_stops_no_other(tmp_path):
    with MemoryClient(tmp_path) as client:
        kept = client.remember("Tea is at five.")

        def broken():
            raise ValueError("session_id is '\\n'")

        client._own.accesses.submit(broken)  # noqa: SLF001 - as a fault of another caller would
        client.recall("tea")
        client.flush()
        assert client.get(kept).access_count == 1
