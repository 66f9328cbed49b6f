"""What a client is given and cannot take is refused by name, at once, and nothing is stored."""

import pytest

from memory_pipeline.recall.client import MemoryClient


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
    ],
)
def test_what_cannot_be_taken_is_refused_by_name(client, call, words):
    with pytest.raises(ValueError, match=words):
        call(client)
    assert [one.memory_id for one in client.list()] == ["bees"]


def test_rows_of_any_kind_of_collection_are_taken(tmp_path):
    with MemoryClient(tmp_path) as client:
        assert len(client.remember_many(f"Note {number}." for number in range(3))) == 3
        assert client.remember_many([]) == []


def test_an_explanation_has_a_readable_form(client):
    said = client.explain("bees").text().splitlines()
    assert said == client.explain("bees").lines()
    assert said[0].startswith("memory bees of profile default")
