"""Words that go with those of a question: the thesaurus, and what recall makes of it."""

import re

import frames
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_recall_index import build, talk

from memory_pipeline.recall.index.postings import Postings, keys
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.settings.model_files import thesaurus_lines
from memory_pipeline.text.embed.embedding import embed_texts
from memory_pipeline.text.embed.thesaurus import MIN_CLOSENESS, Thesaurus, thesaurus
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.lang.en.stemming import stem
from memory_pipeline.text.parse.facts import add_facts, dates_in
from memory_pipeline.text.parse.tokens import fold

SMALL = Thesaurus.of(["# pets", "pet animal: dog cat leash", "", "walk: dog leash park", "decide decision decisive"])
STEMS = sorted(SMALL.places)


def close(one, other, of=SMALL):
    others, found = of.close([stem(one)])
    return dict(zip(others.tolist(), found[0], strict=True)).get(of.places[stem(other)], 0.0)


def test_words_of_one_topic_are_close_and_those_that_name_it_most():
    assert close("pet", "animal") == pytest.approx(0.5**0.5)
    assert close("cat", "pet") > close("cat", "dog") > 0
    assert 0 < close("leash", "park") < close("leash", "dog") < 1
    assert close("decide", "decision") == 1.0


def test_a_word_that_names_many_topics_is_still_close_to_what_belongs_to_each():
    many = Thesaurus.of([f"pet: leash{number} beagle{number}" for number in "abcdefghij"])
    assert close("pet", "beaglea", many) > MIN_CLOSENESS


def test_words_that_are_told_apart_are_not_close_whatever_they_share():
    lines = ["/ cat dog parrot", "pet: dog cat", "animal: dog cat parrot"]
    told = Thesaurus.of(lines)
    assert close("cat", "dog", told) == close("dog", "parrot", told) == 0.0
    assert close("cat", "pet", told) == close("cat", "pet", Thesaurus.of(lines[1:])) > 0


def test_words_of_no_common_topic_have_nothing_to_do_with_each_other():
    assert close("pet", "park") == 0.0
    assert close("decision", "dog") == 0.0
    for unknown in (["zeppelin"], []):
        others, found = SMALL.close(unknown)
        assert len(others) == 0
        assert found.shape == (len(unknown), 0)


@given(st.lists(st.sampled_from(STEMS), unique=True, min_size=1))
def test_closeness_is_symmetric_within_bounds_and_none_to_oneself(stems):
    found = np.array([[close(one, other) for other in stems] for one in stems])
    np.testing.assert_allclose(found, found.T)
    assert not found.diagonal().any()
    assert ((found == 0) | ((found >= MIN_CLOSENESS) & (found <= 1))).all()


def test_the_one_that_ships_is_well_formed():
    lines = [line for line in thesaurus_lines() if line and not line.startswith("#")]
    assert len(lines) == len(set(lines))
    for line in lines:
        assert re.fullmatch(r"(?:/ [a-z]+|[a-z0-9]+)(?: [a-z0-9]+)*(?:: [a-z0-9]+(?: [a-z0-9]+)*)?", line), line
        assert not STOP_WORDS & set(line.replace(":", "").split()), line
    assert close("pet", "puppy", thesaurus()) > close("pet", "mortgage", thesaurus())


def test_a_question_finds_what_is_said_in_other_words():
    memories = talk(
        [("Ann", "I burnt the toast again this morning."), ("Ann", "We fetched the puppy from the shelter.")]
    )
    (best, other) = rank(build(memories), "Which pet does Ann have?", now=frames.AS_OF).to_dicts()
    assert best["memory_id"] == "m1"
    said = [{part["name"]: part["value"] for part in row["parts"]} for row in (best, other)]
    assert said[0]["lexical"] == 0.0
    assert said[0]["related"] == pytest.approx(1.0)
    assert said[1]["related"] == 0.0


def test_a_word_that_is_found_needs_no_other():
    memories = talk([("Ann", "My pet is a parrot."), ("Ann", "My pet likes the puppy next door.")])
    parts = rank(build(memories), "Which pet does Ann have?", now=frames.AS_OF)["parts"].to_list()
    assert [part["value"] for row in parts for part in row if part["name"] == "related"] == [0.0, 0.0]


def test_a_memory_without_words_harms_no_recall():
    memories = talk([("Ann", f"The dog chased ball {number}.") for number in range(30)])
    index = build(memories)
    later = talk([*[("Ann", "")] * 30, ("Ann", "\N{DOG FACE}")]).tail(1)
    grown = index.extended(later, embed_texts(later, "hashing"))
    for query in ("dog", "puppy", "\N{DOG FACE}", "the of", "x" * 10_000, " ".join(thesaurus().places)):
        for one in (index, grown):
            assert rank(one, query, now=frames.AS_OF).height == 10


def test_what_is_said_in_other_words_is_not_put_by_age():
    talked = [("Ann", "We fetched the puppy from the shelter."), ("Ann", "I burnt the toast again this morning.")]
    found = rank(build(talk(talked)), "Which pet does Ann have now?", now=frames.AS_OF)
    assert found["memory_id"].to_list() == ["m0", "m1"]


def test_bare_words_ask_for_no_help():
    index = build(talk([("Ann", "I prefer short emails without attachments.")]))
    for query, helping in (("surgery", 0.0), ("What should a mail look like?", 1.0)):
        (parts,) = rank(index, query, now=frames.AS_OF)["parts"].to_list()
        assert {part["name"]: part["value"] for part in parts}["preference"] == helping


def test_bare_words_are_answered_by_what_has_them_all():
    talked = [
        ("Ann", "The locksmith cut a key for the flat in Lisbon."),
        ("Ben", "He keeps a spare tyre."),
        ("Ann", "The spare key hangs in the shed."),
    ]
    found = rank(build(talk(talked)), "spare key", now=frames.AS_OF)
    assert found["memory_id"][0] == "m2"
    covers = {
        row["memory_id"]: next(part["value"] for part in row["parts"] if part["name"] == "covers")
        for row in found.to_dicts()
    }
    assert covers == {"m2": 1.0, "m0": 0.0, "m1": 0.0}


@given(st.text())
def test_dates_of_one_text_are_those_of_many(text):
    low = fold(pl.Series([text]))
    found = {form for forms in dates_in(low[0]).values() for form in forms}
    assert sorted(found) == add_facts(pl.DataFrame({"content": [text]}))["dates"][0].to_list()


@pytest.mark.parametrize("text", ["Last Friday and the 12th of March 2024", "two weeks ago, in 2019", "no date at all"])
def test_dates_of_some_text_are_those_of_many(text):
    test_dates_of_one_text_are_those_of_many.hypothesis.inner_test(text)


@given(
    st.lists(st.sampled_from(["tea cup", "tea tea pot", "", "pot", "cup saucer"]), max_size=6),
    st.lists(st.sampled_from(["tea", "saucer spoon", ""]), max_size=4),
    st.data(),
)
def test_frequencies_are_those_of_the_units_that_are_there(first, later, data):
    texts = first + later
    grown = Postings.build(pl.Series(first, dtype=pl.String)).extended(pl.Series(later, dtype=pl.String))
    for _ in range(2):
        kept = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True)) if texts else []
        texts, grown = [texts[at] for at in kept], grown.arranged(np.array(kept, dtype=np.int64))
        words = ["tea", "cup", "pot", "saucer", "spoon", "kettle"]
        expected = [sum(word in text.split() for text in texts) for word in words]
        assert grown.frequencies(keys([stem(word) for word in words])).tolist() == expected
        weights = np.arange(1.0, 7.0)
        told = [
            sum(weight * text.split().count(word) for word, weight in zip(words, weights, strict=True))
            for text in texts
        ]
        assert grown.weighed(keys([stem(word) for word in words]), weights).tolist() == told
