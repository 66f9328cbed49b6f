"""Chats that are made up, and conversations read from files."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_chats.chats import generate
from synthetic_chats.friends import indirect

from memory_pipeline.evaluation.conversations import QUESTIONS, TURNS, load

KINDS = {
    "two_person": {"single-hop", "multi-hop", "temporal", "open-domain", "knowledge_update"},
    "assistant": {
        "knowledge_update",
        "contradiction_resolution",
        "temporal_reasoning",
        "information_extraction",
        "event_ordering",
        "multi_session_reasoning",
        "preference_following",
        "instruction_following",
    },
}


@pytest.fixture(scope="module", params=sorted(KINDS))
def kind(request):
    return request.param


def test_the_same_seed_gives_the_same_chat_and_another_seed_another(kind):
    chat, again, other = generate(3, kind=kind), generate(3, kind=kind), generate(4, kind=kind)
    assert chat.turns.equals(again.turns)
    assert chat.questions.equals(again.questions)
    shared = set(chat.turns["content"]) & set(other.turns["content"])
    assert len(shared) < 0.2 * chat.turns.height


def test_a_chat_is_long_and_in_order_and_every_question_has_evidence(kind):
    chat = generate(1, kind=kind)
    assert dict(chat.turns.schema) == TURNS
    assert dict(chat.questions.schema) == QUESTIONS
    assert 300 <= chat.turns.height <= 800
    assert chat.turns["at"].is_sorted()
    assert chat.turns["id"].is_unique().all()
    assert chat.turns["session_id"].n_unique() == 25
    assert set(chat.questions["kind"]) == KINDS[kind]
    assert chat.questions["id"].is_unique().all()
    known = set(chat.turns["id"])
    for name in ("evidence", "original", "updated", "first", "second"):
        assert set(chat.questions[name].explode().drop_nulls()) <= known
    assert (chat.questions["evidence"].list.len() > 0).all()


def test_a_changed_fact_is_told_after_the_one_it_changes(kind):
    chat = generate(2, kind=kind)
    at = dict(chat.turns.select("id", "at").iter_rows())
    changed = chat.questions.filter(pl.col("kind") == "knowledge_update")
    assert changed.height > 3
    for row in changed.to_dicts():
        assert at[row["original"][0]] < at[row["updated"][0]]
        assert set(row["evidence"]) == {*row["original"], *row["updated"]}


def test_friends_take_turns_and_the_answer_stands_in_the_evidence():
    chat = generate(5, kind="two_person")
    speakers = chat.turns["speaker"]
    same = (speakers == speakers.shift()) & (chat.turns["session_id"] == chat.turns["session_id"].shift())
    assert not same.any()
    said = dict(chat.turns.select("id", "content").iter_rows())
    for row in chat.questions.filter(pl.col("kind") == "single-hop").to_dicts():
        assert row["answer"].lower() in said[row["evidence"][0]].lower()


def test_a_date_in_an_answer_is_the_day_that_the_turn_means():
    chat = generate(6, kind="two_person")
    turns = {row["id"]: row for row in chat.turns.to_dicts()}
    dated = chat.questions.filter(pl.col("text").str.starts_with("When did"))
    found = 0
    for row in dated.to_dicts():
        turn = turns[row["evidence"][0]]
        if "this morning" in turn["content"].split(".")[0].lower():
            assert row["answer"] == f"{turn['at'].day} {turn['at']:%B %Y}"
            found += 1
    assert found


def test_assistants_write_at_length_and_users_less():
    chat = generate(1, kind="assistant")
    words = chat.turns.with_columns(words=pl.col("content").str.split(" ").list.len())
    mean = dict(words.group_by("speaker").agg(pl.col("words").mean()).iter_rows())
    assert 150 <= mean["assistant"] <= 400
    assert mean["user"] < mean["assistant"] / 2


@given(seed=st.integers(0, 10**9), kind=st.sampled_from(sorted(KINDS)), sessions=st.integers(4, 9))
def test_any_seed_and_number_of_sessions_gives_a_whole_chat(seed, kind, sessions):
    chat = generate(seed, kind=kind, sessions=sessions)
    assert chat.turns["session_id"].n_unique() == sessions
    assert chat.turns["id"].is_unique().all()
    assert not chat.turns["content"].str.contains(r"[{}]").any()
    assert not chat.questions["text"].str.contains(r"[{}]").any()


@pytest.mark.parametrize(
    ("kind", "sessions", "said"),
    [("monologue", None, "kind = 'monologue': give two_person or assistant"), ("assistant", 3, "sessions = 3")],
)
def test_what_cannot_be_made_up_is_refused(kind, sessions, said):
    with pytest.raises(ValueError, match=said):
        generate(1, kind=kind, sessions=sessions)


@pytest.mark.parametrize(
    ("asked", "taken_up"),
    [
        ("What does {who} fear?", "what I fear"),
        ("What is {who} allergic to?", "what I'm allergic to"),
        ("When is {who}'s birthday?", "when my birthday is"),
        ("Which books has {who} read?", "which books I've read"),
        ("What frightens {who}?", ""),
    ],
)
def test_a_question_is_taken_up_in_the_first_person(asked, taken_up):
    assert indirect(asked) == taken_up


LOCOMO = {
    "speaker_a": "Ana",
    "speaker_b": "Ben",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"dia_id": "D1:1", "speaker": "Ana", "text": "I moved to Porto yesterday."},
        {"dia_id": "D1:2", "speaker": "Ben", "text": "Nice!", "blip_caption": "a photo of a bridge"},
    ],
    "qa": [
        {"question": "When did Ana move?", "answer": "7 May 2023", "evidence": ["D1:1; D1:9"], "category": 2},
        {"question": "What did Ben eat?", "adversarial_answer": "pie", "evidence": [], "category": 5},
    ],
}
BEAM = {
    "chat": 7,
    "messages": [
        {"id": 0, "session": "1.1", "day": "2024-03-15", "role": "user", "content": "The quota is 5."},
        {"id": 1, "session": "1.1", "day": "2024-03-15", "role": "assistant", "content": "Noted."},
    ],
    "questions": [
        {
            "id": "7-knowledge_update-1",
            "type": "knowledge_update",
            "question": "What is the quota?",
            "answer": "5",
            "evidence": [0],
            "original": [0],
            "updated": [0],
        }
    ],
}


def test_a_locomo_file_is_read_with_its_questions(tmp_path):
    path = tmp_path / "26.json"
    path.write_text(json.dumps(LOCOMO))
    chat = load(path)
    assert chat.chat_id == "26"
    assert chat.turns["content"].to_list() == ["I moved to Porto yesterday.", "Nice! [shares a photo of a bridge]"]
    assert chat.turns["at"][0].isoformat() == "2023-05-08T13:56:00+00:00"
    assert chat.questions.select("id", "kind", "evidence", "answer").rows() == [
        ("26:q0", "temporal", ["D1:1"], "7 May 2023"),
        ("26:q1", "adversarial", [], "pie"),
    ]


def test_a_beam_file_is_read_with_its_questions(tmp_path):
    path = tmp_path / "7.json"
    path.write_text(json.dumps(BEAM))
    chat = load(path)
    assert chat.chat_id == "7"
    assert chat.turns["id"].to_list() == ["0", "1"]
    assert chat.questions.select("id", "kind", "evidence", "updated").rows() == [
        ("7-knowledge_update-1", "knowledge_update", ["0"], ["0"])
    ]


def test_turns_that_cannot_be_read_are_counted_with_the_first_reason(tmp_path):
    path = tmp_path / "26.json"
    path.write_text(json.dumps(LOCOMO | {"session_1": [{"dia_id": "D1:0", "speaker": "Bo"}, *LOCOMO["session_1"]]}))
    (note,) = load(path).notes
    assert note.startswith("1 turn was left out: 26.json")
    assert "text" in note
    nothing = tmp_path / "none.json"
    nothing.write_text(json.dumps(LOCOMO | {"session_1": [{"dia_id": "D1:0", "speaker": "Bo"}]}))
    with pytest.raises(ValueError, match=r"no readable turn; correct it, first none\.json"):
        load(nothing)


@pytest.mark.parametrize("text", ["[]", "{}", '"x"', "[1, 2]", "not json"])
def test_a_file_that_holds_no_conversation_is_refused(tmp_path, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"bad\.json"):
        load(path)
