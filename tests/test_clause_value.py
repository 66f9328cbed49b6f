"""Clauses of texts, and their values."""

import json
import re
from pathlib import Path

import fit_clause_value
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.parse.clauses import split_clauses
from memory_pipeline.text.parse.tokens import count_tokens
from memory_pipeline.text.score import clause_value

SAID = ("I", "we", "dog", "Anna", "moved to Oslo", "in 2019", "never", "didn't", "not", "if", "because", "and", "3.5")
WORDS = st.sampled_from([*SAID, *",.!?…;—-[]()\n"])
TEXTS = st.one_of(st.lists(WORDS, max_size=40).map(" ".join), st.text(max_size=60))


def cut(text):
    return split_clauses(pl.Series([text]))["clause"].to_list()


def told(*turns):
    """Turns of one session, as the model takes them: (speaker, text)."""
    rows = pl.DataFrame(turns, schema=["speaker", "text"], orient="row").with_columns(
        profile_id=pl.lit("p"), session_id=pl.lit("s"), question=pl.col("text").str.ends_with("?")
    )
    return rows.with_columns(follows_question=clause_value.follows_question(rows))


def density(*turns):
    """Worth of a token of each turn."""
    found = clause_value.values(told(*turns)).group_by("row", maintain_order=True).agg(pl.col("value", "tokens").sum())
    return (found["value"] / found["tokens"]).to_list()


@given(st.lists(TEXTS, max_size=4))
@example(["a\ufdd0b. c", "x. \ufdd1y", "", " ", "\n\n"])
def test_joined_clauses_are_the_text(texts):
    found = split_clauses(pl.Series(texts, dtype=pl.String))
    joined = dict(found.group_by("row").agg(pl.col("clause").sort_by("place").str.join("")).iter_rows())
    assert [joined.get(row, "") for row in range(len(texts))] == texts
    assert found["tokens"].to_list() == count_tokens(found["clause"]).to_list()
    assert (found["clause"] != "").all()


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_clauses_depend_on_their_text_alone(texts):
    found = split_clauses(pl.Series(texts))
    for row, text in enumerate(texts):
        assert found.filter(pl.col("row") == row)["clause"].to_list() == cut(text)


def test_boundaries_are_sentences_captions_and_coordinated_clauses():
    assert cut("Hi Anna! I moved to Oslo, and my dog loves it. [a photo of a dog, and a sea]") == [
        "Hi Anna! ",
        "I moved to Oslo, ",
        "and my dog loves it. ",
        "[a photo of a dog, and a sea]",
    ]
    assert cut("I left because it was late; we took the bus - it was full") == [
        "I left ",
        "because it was late; ",
        "we took the bus - ",
        "it was full",
    ]
    assert cut("これは犬です。猫もいます。") == ["これは犬です。", "猫もいます。"]


@pytest.mark.parametrize(
    "text",
    [
        "I did not go, because I was ill.",
        "We'd never buy one, and I mean it.",
        "If it rains, we stay at home.",
        "She can\u2019t eat nuts, so we bake without them.",
        "Dr. J. K. Moss paid 3.5 euros at example.org",
        "lists of apples, pears, plums",
    ],
)
def test_negations_conditions_numbers_and_names_are_not_split(text):
    assert cut(text) == [text]


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_a_negation_is_never_separated_from_its_sentence(texts):
    for clause, ends, after in (
        split_clauses(pl.Series(texts)).select("clause", "ends", pl.col("row").shift(-1) == pl.col("row")).iter_rows()
    ):
        if re.search(r"(?i)\b(?:not|never|didn't|if)\b", clause, re.ASCII) and after:
            assert ends


def test_facts_are_worth_more_than_chat():
    fact, promise, change, thanks, praise, question = density(
        ("Mo", "I moved to Oslo in March 2021 with my sister Ida."),
        ("Mo", "I'm going to run the harbour marathon next month."),
        ("Mo", "My shift now starts at 7 am instead of 9 am."),
        ("Ann", "Thanks so much, that is really kind of you!"),
        ("Ann", "Wow, that sounds amazing, you should be proud!"),
        ("Ann", "What are you up to these days?"),
    )
    assert min(fact, promise, change) > 2 * max(thanks, praise, question)


def test_an_answer_is_worth_more_than_the_same_words_unasked():
    asked = density(("Ann", "Which pets do you have?"), ("Mo", "Parrot, tortoise"))[1]
    unasked = density(("Ann", "We have pets at home."), ("Mo", "Parrot, tortoise"))[1]
    assert asked > unasked


def test_common_words_are_worth_less():
    rare, common = density(*[("Mo", "tango lesson"), ("Mo", "garden lesson"), ("Mo", "garden lesson")])[:2]
    assert rare > common


def test_rarity_is_counted_per_profile():
    one = told(("Mo", "tango lesson"), ("Mo", "chess lesson"))
    other = told(*[("Eve", "tango night")] * 5).with_columns(profile_id=pl.lit("q"))
    alone = clause_value.values(one)
    assert clause_value.values(pl.concat([one, other])).filter(pl.col("row") < 2).equals(alone)


def test_names_of_speakers_are_not_facts():
    spoken, absent = clause_value.features(told(("Mo", "Met with Ann there"), ("Ann", "Met with Ida there")))["names"]
    assert (spoken, absent) == (0.0, 1.0)


def test_every_feature_has_a_coefficient_and_none_is_left_over():
    assert list(coefficients(clause_value.MODEL)) == list(clause_value.FEATURES)
    assert set(fit_clause_value.EQUAL) == set(clause_value.FEATURES)


def beam_chat(number):
    """A conversation in the layout of BEAM: facts by the user, long answers, and questions about the facts."""
    facts = [
        f"I booked room {number + index} at the Harbour hotel for {index + 2} March, my sister Ida joins me."
        for index in range(4)
    ]
    messages = [
        {"id": 2 * index + side, "session": f"1.{index}", "day": "2024-03-15", "role": role, "content": text}
        for index, fact in enumerate(facts)
        for side, (role, text) in enumerate(
            [
                ("user", f"Hey, thanks! {fact} Any idea?"),
                ("assistant", "That sounds great! You could consider it. " * 3),
            ]
        )
    ]
    questions = [
        {
            "id": f"q{index}",
            "type": "information_extraction",
            "question": f"Which room did I book for {index + 2} March?",
            "answer": f"room {number + index} at the Harbour hotel",
            "evidence": [2 * index],
        }
        for index in range(4)
    ]
    return {"chat": number, "messages": messages, "questions": questions}


@pytest.mark.drill
def test_the_fit_writes_a_model_with_its_report(tmp_path, monkeypatch, capsys):
    for number in (100, 200):
        (tmp_path / f"{number}.json").write_text(json.dumps(beam_chat(number)), "utf-8")
    monkeypatch.setattr(fit_clause_value, "SEEDS", {"two_person": range(1)})
    monkeypatch.setattr(fit_clause_value, "PENALTIES", (1.0, 10.0))
    out = tmp_path / "keep.toml"
    fit_clause_value.main(["--beam", str(tmp_path), "--out", str(out)])
    first = out.read_text("utf-8")
    assert first in capsys.readouterr().out
    fit_clause_value.main(["--beam", str(tmp_path), "--out", str(out)])
    assert out.read_text("utf-8") == first
    assert "[fit.answered.beam]" in first
    assert [line.split(" = ")[0] for line in first.splitlines()[4 : 4 + len(clause_value.FEATURES)]] == list(
        clause_value.FEATURES
    )


def test_the_fit_names_a_folder_without_conversations(tmp_path):
    with pytest.raises(SystemExit, match=r"has no \*\.json"):
        fit_clause_value.lessons(Path(tmp_path))


def test_standalone_values_depend_on_their_text_alone():
    texts = ["Thanks, that sounds great!", "I moved to Oslo with my sister Ida in 2023.", ""]
    together = (
        clause_value.standalone_values(pl.Series(texts)).group_by("row", maintain_order=True).agg(pl.col("value").sum())
    )
    apart = [clause_value.standalone_values(pl.Series([text]))["value"].sum() for text in texts[:2]]
    assert dict(together.iter_rows()) == dict(enumerate(apart))
    assert apart[1] > 5 * apart[0]
