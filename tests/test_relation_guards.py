"""Which relations that a judge found are kept from facts that cannot be one."""

import polars as pl
import pytest

from memory_pipeline.consolidation import relation_guards

PLACES = ("user_id", "file", "heading", "project")


def permitted(relation, older, newer, **places):
    """Whether a relation of two texts may hold; a place names that of the older and that of the newer."""
    points = pl.DataFrame({"profile_id": "p", "content_hash": ["h0", "h1"], "content": [older, newer]}).with_columns(
        pl.lit(None, pl.String).alias("speaker"),
        *(pl.Series(name, places.get(name, [None, None]), pl.String) for name in PLACES),
    )
    pairs = pl.DataFrame({"older": [0], "newer": [1], "relation": [relation]})
    return relation_guards.permitted(pairs, points).height == 1


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I speak Finnish.", "I speak Portuguese."),
        ("I play the cello.", "I play the oboe."),
        ("I have a Skoda.", "I have a Fiat."),
    ],
)
def test_a_second_skill_or_possession_contradicts_none(older, newer):
    assert not permitted("conflict", older, newer)
    assert permitted("update", older, newer)


@pytest.mark.parametrize(
    ("older", "newer"), [("I live in Graz.", "I live in Linz."), ("I work at Siemens.", "I work at Bosch.")]
)
def test_a_second_home_or_employer_contradicts_the_first(older, newer):
    assert permitted("conflict", older, newer)


def test_an_instruction_of_one_project_changes_none_of_another():
    spaces = ("Always use tabs for indentation.", "From now on never use tabs for indentation.")
    home = ("I live in Graz.", "I have moved to Linz.")
    assert permitted("update", *spaces)
    assert permitted("update", *spaces, project=["shop", "shop"])
    assert not permitted("update", *spaces, project=["shop", "blog"])
    assert not permitted("update", *spaces, project=[None, "blog"])
    assert permitted("update", *home, project=["shop", "blog"])
