"""Type and category of a memory, given and inferred."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.text.classification import (
    CATEGORIES,
    MEMORY_TYPES,
    canonical_category,
    canonical_type,
    category,
    memory_type,
)


def classified(*contents: str | None) -> pl.DataFrame:
    texts = pl.Series(contents, dtype=pl.String)
    return pl.DataFrame({"type": memory_type(texts), "category": category(texts)})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("We decided to keep the ledger in SQLite", "Decision"),
        ("Let’s go with option B", "Decision"),
        ("I prefer tea over coffee", "Preference"),
        ("Her favourite composer is Bartók", "Preference"),
        ("I’ve decided: I prefer tea", "Decision"),
        ("Keep the coding style: snake_case everywhere", "Style"),
        ("I row every morning before work", "Habit"),
        ("Whenever the cache is cold the first request fails", "Pattern"),
        ("I realised that sleep matters more than coffee", "Insight"),
        ("The root cause was a full disk", "Insight"),
        ("I am currently working on the billing service", "Context"),
        ("We saw dolphins near the pier", "Memory"),
        ("Which tea do you prefer?", "Memory"),
        ("", "Memory"),
        (None, "Memory"),
    ],
)
def test_type(content, expected):
    assert classified(content)["type"].to_list() == [expected]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("My name is Greta", "core"),
        ("I'm allergic to peanuts", "core"),
        ("To deploy, run the build and then restart the server", "procedural"),
        ("I think the viola is underrated", "opinion"),
        ("The capital of Norway is Oslo", "semantic"),
        ("Greta works as a nurse", "semantic"),
        ("Greta was a nurse when I met her yesterday", "episodic"),
        ("We went rowing on the lake", "episodic"),
        ("Do you think so?", "episodic"),
        (None, "episodic"),
    ],
)
def test_category(content, expected):
    assert classified(content)["category"].to_list() == [expected]


def test_a_cue_deep_in_a_long_text_does_not_count():
    assert classified("The boats lay on the shore. " * 40 + "My name is Greta and I decided to prefer tea.").row(0) == (
        "Memory",
        "episodic",
    )


def test_given_names_are_case_insensitive():
    frame = pl.DataFrame(
        {"given": ["decision", " INSIGHT ", "Style", "MetaPattern", "", None]}, schema={"given": pl.String}
    )
    found = frame.select(canonical_type(pl.col("given"))).to_series().to_list()
    assert found == ["Decision", "Insight", "Style", None, None, None]
    core = pl.DataFrame({"given": ["CORE", "Procedural", "fact"]}).select(canonical_category(pl.col("given")))
    assert core.to_series().to_list() == ["core", "procedural", None]


@given(st.lists(st.one_of(st.none(), st.text(max_size=60)), max_size=6))
def test_every_text_has_a_type_and_a_category(contents):
    found = classified(*contents)
    assert set(found["type"]) <= set(MEMORY_TYPES)
    assert set(found["category"]) <= set(CATEGORIES)
    assert found.rows() == [classified(content).row(0) for content in contents]
