"""Sentences: split in one place, without loss, with the abbreviations of each language."""

import polars as pl
import pytest

from memory_pipeline.text.parse.sentences import split_sentences


def sentences(text, language=None):
    found = split_sentences(pl.Series([text], dtype=pl.String), pl.Series([language], dtype=pl.String))
    return found["sentence"].to_list()


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Mr. Okafor tunes pianos. He is 5 ft. tall.", "en", ["Mr. Okafor tunes pianos. ", "He is 5 ft. tall."]),
        ("Am 3. Juni kommt er, ca. um acht. Er bleibt.", "de", ["Am 3. Juni kommt er, ca. um acht. ", "Er bleibt."]),
        ("El Sr. Ibáñez no vino. ¿Quién sí?", "es", ["El Sr. Ibáñez no vino. ", "¿Quién sí?"]),
        ("猫です。元気？はい", "ja", ["猫です。", "元気？", "はい"]),
        ("- oars\n- ropes\n\nThat is all.", "en", ["- oars\n", "- ropes\n\n", "That is all."]),
        ("I sold the boat\u2026 It was old.", "en", ["I sold the boat\u2026 ", "It was old."]),
        ("See example.org/a.b and v1.2.3.", None, ["See example.org/a.b and v1.2.3."]),
        ("  \n ", None, ["  \n "]),
        ("", None, []),
        (None, None, []),
    ],
)
def test_a_text_is_split_where_its_language_ends_a_sentence(text, language, expected):
    assert sentences(text, language) == expected


@pytest.mark.parametrize("text", [" \n a. b\n\n\nc! \u2026 d", "\u2026 \n", "a\r\nb", "One.  Two.\tThree", "\n\nx. Y"])
def test_the_sentences_of_a_text_joined_are_the_text(text):
    assert "".join(sentences(text)) == text
