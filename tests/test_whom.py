"""Whom a question and memories are about, by the reader: the asker's own come before those of others."""

import homes
import pytest

from memory_pipeline import MemoryClient

NOTES = {
    "own": "I'm allergic to penicillin.",
    "daughter": "Ida is not allergic to anything.",
    "grandmother": "Grandma is allergic to bees.",
    "doctor": "The family doctor is Dr. Lindqvist.",
    "music": "I play the double bass.",
    "violin": "Ida plays the violin.",
    "brother": "Jan lives in Rostock.",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with MemoryClient(home, settings=homes.settings(home)) as opened:
        opened.remember_many([{"memory_id": name, "text": text} for name, text in NOTES.items()])
        yield opened


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What am I allergic to?", "own"),
        ("Am I allergic to anything?", "own"),
        ("What instrument do I play?", "music"),
        ("Who is my doctor?", "doctor"),
        ("What is Ida allergic to?", "daughter"),
        ("Which instrument does my daughter play?", "violin"),
    ],
)
def test_a_question_about_the_owner_is_answered_by_what_is_about_the_owner(client, question, first):
    assert client.recall(question, 3, record=False)[0].memory_id == first


def test_the_part_of_a_score_says_that_a_memory_tells_of_somebody_else(client):
    def part(question, memory_id):
        found = {one.memory_id: one for one in client.recall(question, record=False)}
        return next(part.value for part in found[memory_id].parts if part.name == "others")

    assert part("What am I allergic to?", "daughter") > 0.3
    assert part("What am I allergic to?", "own") < 0.1
    assert part("What is Ida allergic to?", "own") == 0.0, "a name says whom it asks about"


def test_what_a_speaker_with_a_name_says_is_their_own(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember("Ida is allergic to nuts.", speaker="Mirela")
        (found,) = client.recall("What am I allergic to?", record=False)
    assert [part.value for part in found.parts if part.name == "others"] == [0.0]
