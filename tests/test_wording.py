"""Words for people in place of the codes of tables."""

import pytest
from commands import text

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation.state.decision_json import LEAVES
from memory_pipeline.recall import wording
from memory_pipeline.schemas import Lifecycle
from memory_pipeline.text import classification

CODES = {*classification.MEMORY_TYPES, "original", "working", "active"}


@pytest.mark.parametrize("memory_type", classification.MEMORY_TYPES)
def test_a_type_that_was_read_is_told_by_what_it_means_and_one_that_was_given_as_it_is(memory_type):
    row = {"kind": "original", "memory_type": memory_type, "memory_type_inferred": True}
    said = wording.kind(row, 0)
    meant = {kind for kind, meaning in classification.HOLDING.items() if meaning.memory_type == memory_type}
    assert set(said.split(" or ")) <= meant or said == "something said"
    assert wording.kind(row | {"memory_type_inferred": False}, 0) == memory_type.lower()
    assert wording.kind(row | {"kind": "fact"}, 0) == f"{said}, one statement of a longer text"
    assert wording.kind(row | {"kind": "episode"}, 3) == "a joint text of 3 memories"


def test_every_state_and_every_end_has_words():
    assert wording.STATES.keys() == {*Lifecycle}
    assert wording.ENDED.keys() >= {*LEAVES}
    assert [wording.state("active", kind) for kind in (None, "summary", "update")] == [
        "in use", "merged", "no longer true",
    ]  # fmt: skip


def test_the_command_line_shows_no_code_of_a_table(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember("The orders service uses port 8080.", memory_id="m0")
        client.remember("Deploy on Mondays.", memory_id="m1", memory_type="Decision")
        shown = [
            text("recall", "Which port?", home=tmp_path),
            text("get", "m0", home=tmp_path),
            text("get", "m1", home=tmp_path),
            text("list", home=tmp_path),
        ]
        assert client.get("m0").memory_type_inferred
        assert not client.get("m1").memory_type_inferred
    words = {word.strip(".,:;()[]") for page in shown for word in page.split()}
    assert not words & CODES
    assert "what it is: something said" in shown[1]
    assert "what it is: decision" in shown[2]
    assert "state: in use" in shown[2]
