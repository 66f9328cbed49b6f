"""Tokens, stems and vocabulary of texts, and the content hash."""

import hashlib

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_pipeline.text.content_hash import content_hash, content_hashes
from memory_pipeline.text.lang.en.stemming import stem
from memory_pipeline.text.parse.tokens import content_stems, count_tokens, tokenize, vocabulary

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=8)


def of(*texts: str | None) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


def test_stop_words_are_removed_and_inflections_merged():
    found = content_stems(of("The dogs were running", "A dog runs", "dog run")).to_list()
    assert found == [["dog", "run"]] * 3


@pytest.mark.parametrize(
    "forms",
    [
        ("hike", "hikes", "hiked", "hiking"),
        ("party", "parties"),
        ("plan", "plans", "planned", "planning"),
        ("class", "classes"),
        ("quick", "quickly"),
        ("study", "studies", "studied", "studying"),
        ("greta", "greta's"),
        ("two", "2"),
        ("1,200", "1200"),
    ],
)
def test_forms_of_a_word_share_a_stem(forms):
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["bus", "sing", "red", "king", "news", "this"])
def test_short_words_are_not_mutilated(word):
    assert len(stem(word)) >= 3


def test_null_and_empty_have_no_words():
    assert content_stems(of(None, "", "  ", "😀", "the of and")).to_list() == [[]] * 5
    assert count_tokens(of(None, "", "  ")).to_list() == [0, 0, 0]
    assert content_stems(of()).to_list() == []


def test_tokens_are_words_and_marks():
    assert count_tokens(of("Hi, Anna!", "3.5 km", "😀", "well-known")).to_list() == [4, 4, 1, 3]


def test_apostrophes_and_composed_letters_are_normalised():
    assert tokenize(of("Don’t", "don't")).to_list() == [["don't"], ["don't"]]
    assert content_stems(of("cafe\u0301")).to_list() == content_stems(of("café")).to_list()


def test_scripts_without_spaces_are_split_into_letters():
    assert tokenize(of("東京に行く")).to_list() == [["東", "京", "に", "行", "く"]]
    assert tokenize(of("Привет, мир")).to_list() == [["привет", "мир"]]


def test_rarity_falls_with_frequency():
    known = vocabulary(of("the", "go", "people", "kayak", "thanks", "7"))
    rarity = dict(known.select("word", "rarity").iter_rows())
    assert rarity["the"] == 0 < rarity["thanks"] < rarity["go"] <= rarity["people"] < rarity["kayak"] == 100


@given(TEXTS)
def test_stems_depend_on_their_text_alone(texts):
    together = content_stems(of(*texts)).to_list()
    assert together == [content_stems(of(text)).to_list()[0] for text in texts]
    assert together[::-1] == content_stems(of(*texts[::-1])).to_list()


def test_the_hash_is_that_of_speaker_and_content():
    expected = hashlib.sha256("Greta\u001fI row".encode()).hexdigest()[:32]
    assert content_hash("Greta", "I row") == expected
    assert content_hash(None, None) == content_hash("", "") != content_hash("a", "") != content_hash("", "a")


@given(st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=3)), st.one_of(st.none(), st.text(max_size=5)))))
def test_hashes_of_columns_are_those_of_the_pairs(pairs):
    speakers, contents = of(*(pair[0] for pair in pairs)), of(*(pair[1] for pair in pairs))
    assert content_hashes(speakers, contents).to_list() == [content_hash(*pair) for pair in pairs]


@pytest.mark.parametrize(
    "forms",
    [
        "try tries tried trying", "key keys", "toy toys", "family families", "apply applies applied applying",
        "meeting meetings meet", "building buildings", "bus buses", "speed speeds speeding", "die dies died dying",
        "travel travels travelled traveled", "control controlled", "hope hopes hoped hoping", "hop hops hopped hopping",
        "care cares cared caring", "plan planned planning", "agree agreed agrees", "use used using", "rare rarely",
        "install installed", "study studies studied", "box boxes", "class classes", "movie movies", "hundred hundreds",
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(forms):
    assert len({stem(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    "words",
    ["hope hop", "care car", "note not", "plane plan", "early ear earring", "reply rep", "tired tire", "new news"],
)
def test_other_words_have_another_stem(words):
    assert len({stem(word) for word in words.split()}) == len(words.split())


@given(st.from_regex("[a-z]{1,12}", fullmatch=True))
def test_a_stem_is_no_longer_than_its_word_and_is_the_same_without_the_possessive(word):
    root = stem(word)
    assert 0 < len(root) <= len(word)
    assert stem(f"{word}'s") == root


@example("'")
@given(st.text(min_size=1, max_size=12))
def test_words_of_other_languages_have_a_stem(text):
    assert stem(text) or text in {"'", "'s", "'d", "'m", "'re", "'ve", "'ll"}
