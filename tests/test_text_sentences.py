"""Sentences: split in one place, without loss, with the abbreviations of each language."""

import polars as pl
import pytest
import sentencex

from memory_pipeline.text.parse import sentences as split
from memory_pipeline.text.parse.sentences import split_sentences


def sentences(text, language=None):
    found = split_sentences(pl.Series([text], dtype=pl.String), pl.Series([language], dtype=pl.String))
    return found["sentence"].to_list()


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Mr. Okafor tunes pianos. He is 5 ft. tall.", "en", ["Mr. Okafor tunes pianos. ", "He is 5 ft. tall."]),
        (
            "Ask Ms. Okafor. We sold two CRMs. Mx. Ray is in.",
            "en",
            ["Ask Ms. Okafor. ", "We sold two CRMs. ", "Mx. Ray is in."],
        ),
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


LONG = "He said \u201cno.\n\n  Then he left, \u2018by boat\u2019. " * 400
"""Quotations that never end: what splits sentences would search the whole rest of the text for the end of each."""


@pytest.mark.parametrize("text", [LONG, LONG.replace(".", ","), " " * 9_000, "\u201c" * 20_000], ids="abcd")
def test_a_long_text_is_split_window_by_window_without_loss(text, monkeypatch):
    seen = []

    def segment(language, part):
        seen.append(len(part))
        return sentencex.segment(language, part)

    monkeypatch.setattr(split, "segment", segment)
    found = sentences(text)
    assert "".join(found) == text
    assert max(seen) <= 2_000
    assert sum(seen) <= 2 * len(text)
    assert found[:4] == sentences(text[:1_500])[:4] or len(found) == 1


@pytest.mark.parametrize("text", [" \n a. b\n\n\nc! \u2026 d", "\u2026 \n", "a\r\nb", "One.  Two.\tThree", "\n\nx. Y"])
def test_the_sentences_of_a_text_joined_are_the_text(text):
    assert "".join(sentences(text)) == text
