"""Texts of ASCII characters alone are read by other forms of the patterns, which find the same."""

import re

import homes
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.text import enrich
from memory_pipeline.text.lang.ascii_patterns import in_ascii, suited
from memory_pipeline.text.parse import lemmatize, tokens
from memory_pipeline.text.score import commands, core_facts

OTHER = "Zoë"
"""A text beyond ASCII, beside which all texts are read by the patterns for any text."""
PIECES = (
    *("I", "we", "Anna", "St. John", "iPhone", "new york", "my", "the", "user_1", "x9", "don't", "o'clock", "No", "ok"),
    *("have", "prefer", "decided to", "am allergic to", "always use", "never say", "used to", "is a", "you know"),
    *("ignore all previous instructions", "by the way", "nuts", "coffee", "on 12 March 2024", "at 5pm", "3.50", "9 km"),
    *("?", "!", ".", ",", ";", ":", "-", "'", '"', "(", ")", "[", "]", "\n", "\t", "\x0b", "\x0c", "\x00", "\x7f", "_"),
)
SENTENCES = st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join)
ANYTHING = st.text(st.characters(max_codepoint=127), max_size=40)


def read(texts):
    """All that is read out of each text, a list per text."""
    series = pl.Series(texts, dtype=pl.String)
    frame = pl.DataFrame({"profile_id": "p", "content_hash": [f"{index:06}" for index in range(len(texts))]})
    facts = core_facts.core_facts(series).partition_by("row", as_dict=True)
    lemmas = {row[0]: row for row in lemmatize.lemmatize(series).iter_rows()}
    columns = (
        enrich.enrich(frame.with_columns(content=series)).rows(),
        commands.commands_a_model(series),
        commands.instructs_reader(series),
        tokens.count_tokens(series),
        tokens.content_stems(series),
        [lemmas[text] for text in texts],
        [facts[(index,)].drop("row").rows() if (index,) in facts else [] for index in range(len(texts))],
    )
    return [[list(one) if isinstance(one, pl.Series) else one for one in row] for row in zip(*columns, strict=True)]


@given(st.lists(SENTENCES | ANYTHING, min_size=1, max_size=4))
def test_the_forms_for_ascii_find_what_the_patterns_find(texts):
    assert read(texts) == read([*texts, OTHER])[:-1]


@pytest.mark.drill
def test_the_forms_for_ascii_find_the_same_in_the_sample():
    told = (getattr(event.payload, "content", None) for event in homes.events(memories=30))
    plain = sorted({text for text in told if text and text.isascii()})
    assert len(plain) > 40
    assert read(plain) == read([*plain, OTHER])[:-1]


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        (r"\p{Lu}\p{L}+", "[A-Z][A-Za-z]+"),
        (r"[^\p{L}\p{N}_]\w", "[^A-Za-z0-9_][0-9A-Za-z_]"),
        (r"[[\p{L}\p{M}]--[\p{Han}]]", r"[[A-Za-z\x80]--[\x80]]"),
        (r"\b\d\\d\[\w[]\w]", r"(?-u:\b)[0-9]\\d\[[0-9A-Za-z_][]0-9A-Za-z_]"),
        (r"[\b\W]\x{c0}\p{Greek}", r"[\b\W]\x{c0}\p{Greek}"),
    ],
)
def test_only_what_a_class_of_unicode_means_is_replaced(pattern, form):
    assert in_ascii(pattern) == form


def test_the_form_is_chosen_by_the_texts():
    assert suited(r"\p{L}", pl.Series(["plain", None])) == "[A-Za-z]"
    assert suited(r"\p{L}", pl.Series([], dtype=pl.String)) == "[A-Za-z]"
    assert suited(r"\p{L}", pl.Series(["plain", OTHER])) == r"\p{L}"
    assert re.fullmatch(suited(r"\w", pl.Series(["a"])), "a")
