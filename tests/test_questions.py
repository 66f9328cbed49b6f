"""One queue of questions for people, agents and a language model: what comes first, and what is never asked again."""

import json

import frames
import polars as pl
import pytest
from answering import material, reply, said, serving
from frames import ago

from memory_pipeline import MemoryClient, Settings
from memory_pipeline.consolidation import questions
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

HEALTHY = "Leo is allergic to penicillin."
NOTES = (
    "The choir rehearses in the gym.",
    "The spare key of the boathouse hangs in the porch.",
    "The choir now rehearses in the old library.",
    "The spare key of the boathouse is with Odile now.",
)
REPLACED = {"gym": "library", "porch": "Odile"}


def ranked(pairs, sentences=(), floor=None, **of):
    rows = [{"memory_id": name, "created_at": ago(9), **of.get(name, {})} for name in "abcdef"]
    memories = frames.memories(rows)
    hashes = dict(memories.select("memory_id", "content_hash").iter_rows())
    texts = [
        {
            "content_hash": hashes[name],
            "numbers": [],
            "sentences": [
                {"place": 1, "sentence": HEALTHY, "section": "health_and_safety", "commands": False, "lasting": True}
                | {"leans": False, "of_user": True, "harm": 2.0}
            ],
        }
        for name in sentences
    ]
    table = TABLES["core_sentences"]
    row = {"profile_id": "p", "read": "r", "model": "m", "texts": texts}
    known = pl.DataFrame([row], schema=table.empty().schema) if texts else table.empty()
    given = pl.DataFrame(pairs, schema=["memory_id", "other_id", "likelihood"], orient="row")
    found = questions.ranked(given.with_columns(profile_id=pl.lit("p")), memories, known, floor=floor)
    return ["".join(row) for row in found.select("memory_id", "other_id").iter_rows()]


def test_the_likeliest_comes_first_unless_another_has_more_weight():
    pairs = [("a", "b", 0.5), ("c", "d", 0.6), ("e", "f", 0.2)]
    assert ranked(pairs) == ["cd", "ab", "ef"]
    assert ranked(pairs, b={"access_count": 3}) == ["ab", "cd", "ef"]
    assert ranked(pairs, "a") == ["ab", "cd", "ef"]
    assert ranked(pairs, "e", e={"access_count": 99}) == ["cd", "ab", "ef"]
    assert ranked([("a", "b", 0.36), ("c", "d", 0.75)], "a") == ["cd", "ab"]


def test_what_may_be_denied_as_well_as_repeated_is_asked_openly():
    assert questions.asked("repeat", 0.8) == "do both say the same? 80% likely"
    assert "deny or replace" in questions.asked("repeat", 0.63)
    assert questions.asked("update", 0.63) == "does the newer replace the older? 63% likely"


def test_pairs_that_are_hardly_likely_are_not_asked_about_unless_they_have_weight():
    pairs = [("a", "b", 0.5), ("c", "d", 0.45), ("e", "f", 0.36)]
    assert ranked(pairs, floor=questions.PEOPLE) == ["ab"]
    assert ranked(pairs, "e", floor=questions.PEOPLE, d={"access_count": 2}) == ["ef", "cd", "ab"]
    assert ranked([("e", "f", 0.3)], "e", floor=questions.PEOPLE, e={"access_count": 9}) == []


def test_an_agent_is_asked_on_about_what_people_are_spared_after_what_they_are_asked():
    pairs = [("a", "b", 0.6), ("c", "d", 0.3), ("e", "f", 0.2)]
    assert ranked(pairs, floor=questions.AGENTS) == ["ab", "cd"]


def test_what_has_left_or_is_closed_is_not_asked_about():
    pairs = [("a", "b", 0.5), ("c", "d", 0.6)]
    assert ranked(pairs, a={"lifecycle": "archived"}) == ["cd"]
    assert ranked(pairs, c={"superseded_by": "d", "superseded_kind": "update"}) == ["ab"]


def test_the_same_words_are_no_question():
    assert ranked([("a", "b", 0.9), ("c", "d", 0.9)], a={"content": "Tea."}, b={"content": "Tea."}) == ["cd"]


def replaced(prompt):
    """Answer by labels: what moved is an update, all else differs."""
    verdicts = []
    for line in material(prompt):
        pair = json.loads(line)
        old, new = pair["older"]["text"], pair["newer"]["text"]
        update = any(one in old and other in new for one, other in REPLACED.items())
        relation = {"relation": "update", "older": old, "newer": new} if update else {"relation": "different"}
        verdicts.append({"pair": pair["pair"], "sure": True, "older": "", "newer": ""} | relation)
    return json.dumps(verdicts)


@pytest.mark.drill
def test_a_model_works_through_the_queue_within_its_budget_and_is_never_asked_again(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def answer(prompt, _):
        return reply(said(replaced(prompt) if "pair of notes" in prompt else "[]"))

    with serving(answer) as server:
        policy = Policy(llm_model="m", llm_precision=0.98)
        settings = Settings(home=tmp_path, llm_base_url=server.url, llm_retries=0, policy=policy)
        with MemoryClient(tmp_path, settings=settings) as client:
            ids = client.remember_many(NOTES)
            client.resolve((ids[1], ids[3]), "none")
            client.consolidate()
            pairs = [
                json.loads(line) for prompt in server.prompts if "pair of notes" in prompt for line in material(prompt)
            ]
            newer = [pair["newer"]["text"] for pair in pairs]
            assert len(newer) == len(set(newer))
            asked = {(pair["older"]["text"], pair["newer"]["text"]) for pair in pairs}
            assert (NOTES[0], NOTES[2]) in asked
            assert (NOTES[1], NOTES[3]) not in asked
            assert client.get(ids[0]).superseded_by == ids[2]
            assert client.get(ids[1]).superseded_by is None
            client.consolidate()
            every = [line for prompt in server.prompts if "pair of notes" in prompt for line in material(prompt)]
            assert len(every) == len(set(every))
            assert client.get(ids[0]).superseded_by == ids[2]
            client.resolve((ids[0], ids[2]), "none", answered_by="owner")
            client.consolidate()
            assert client.get(ids[0]).superseded_by is None
