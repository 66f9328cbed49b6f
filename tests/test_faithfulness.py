"""Texts that say what they were written from, and texts that do not."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation.summaries.faithfulness import unfaithful
from memory_pipeline.schemas import INSTANT
from memory_pipeline.text.parse import facts

ON = ["profile_id", "cluster_id"]
DAY = datetime(2024, 3, 14, 9, tzinfo=UTC)


def members(*said, profile="p"):
    """Memories of one group: texts, or pairs of speaker and text, or triples with the instant."""
    rows = [one if isinstance(one, tuple) else (None, one) for one in said]
    return facts.add_facts(
        pl.DataFrame(
            {
                "profile_id": [profile] * len(rows),
                "cluster_id": ["c"] * len(rows),
                "speaker": pl.Series([row[0] for row in rows], dtype=pl.String),
                "content": [row[1] for row in rows],
                "created_at": pl.Series([row[2] if len(row) > 2 else DAY for row in rows], dtype=INSTANT),
            }
        )
    )


def fault(text, *said, whole=True):
    texts = pl.DataFrame({"profile_id": ["p"], "cluster_id": ["c"], "content": [text]})
    found = unfaithful(texts, members(*said), on=ON, whole=whole)
    return found["reason"].item() if found.height else None


HIKES = (
    "User went hiking at Mount Rainier on March 12, 2024",
    "User went kayaking at Lake Washington on March 15, 2024",
    "User ran a 5K in Fremont on March 20, 2024",
)
TOLD = (
    "In March 2024, User was active: hiked at Mount Rainier (Mar 12), kayaked at Lake Washington (Mar 15), and ran a "
    "5K in Fremont (Mar 20)."
)


def test_the_same_facts_in_other_words():
    assert fault(TOLD, *HIKES) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOLD.replace(" (Mar 12)", ""), "lacks 2024-03-12"),
        (TOLD.replace("In March 2024, ", ""), "lacks 2024-03-12, 2024-03-15, 2024-03-20"),
        (TOLD.replace("2024", "2027"), "invented 2027-03"),
        (TOLD.replace("Mar 15", "Mar 16"), "invented 16 March"),
        (TOLD.replace("5K", "10K"), "invented 10000"),
        (TOLD.replace("a 5K", "a race"), "lacks 5000"),
        (TOLD.replace("Fremont", "Seattle"), "invented Seattle"),
        (TOLD.replace(" in Fremont", ""), "lacks Fremont"),
        (TOLD + " Details at https://evil.example/x.", "invented https://evil.example/x"),
        (TOLD + " Write to eve@evil.example.", "invented eve@evil.example"),
    ],
)
def test_what_is_wrong_is_named(text, expected):
    assert fault(text, *HIKES) == expected


def test_what_is_invented_is_named_before_what_is_lacking():
    assert fault("Bob owns 4 boats.", "Bob owns 3 boats") == "invented 4"


def test_where_not_all_is_owed_only_inventions_count():
    assert fault("User is active.", *HIKES, whole=False) is None
    assert fault("User ran in 2027.", *HIKES, whole=False) == "invented 2027"


@pytest.mark.parametrize(
    ("said", "text", "expected"),
    [
        ("We met yesterday", "They met on 13 March 2024.", None),
        ("We met yesterday", "They met on 13 March.", "lacks yesterday"),
        ("We met yesterday", "They met on 14 March.", "lacks yesterday"),
        ("We met yesterday", "They met on 12 March.", "invented 12 March"),
        ("We met yesterday", "They met yesterday.", None),
        ("We met last month", "They met in February 2024.", None),
        ("We met last year", "They met in 2023.", None),
        ("We met last year", "They met in 2022.", "invented 2022"),
        ("We met on 12 June", "They met on June 12.", None),
        ("We met on 12 June", "They met.", "lacks 12 June"),
        ("We met on 12 June 2023", "They met on 2023-06-12.", None),
        ("We met on 12 June 2023", "They met in June 2023.", "lacks 2023-06-12"),
        ("We met on 12 June 2023", "They met on 12 June.", "lacks 2023-06-12"),
        ("We met in 2023", "They met in 2023.", None),
        ("The model year is 2023", "It is the model of 2023.", None),
        ("We met every Monday", "They met every Monday.", None),
        ("We met every Monday", "They met every Tuesday.", "invented every tuesday"),
        ("We met at 3pm", "They met at 15:00.", None),
        ("It costs $1.5 million", "The cost is 1.5 million dollars.", None),
        ("Two cats", "2 cats.", None),
    ],
)
def test_dates_and_numbers_may_be_written_in_another_way(said, text, expected):
    assert fault(text, said) == expected


def test_the_day_on_which_something_was_said_may_be_named():
    assert fault("On March 14, 2024 Bob said he owns boats.", "Bob owns boats") is None


def test_a_relative_date_is_read_from_the_day_of_its_own_memory():
    early, late = datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)
    said = ((None, "We met yesterday", early), (None, "We met yesterday again", late))
    assert fault("They met on 29 February 2024 and on 31 May 2024.", *said) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna likes Rome.", None),
        ("Anna\u2019s favourite is Rome.", None),
        ("Additionally, Anna likes Rome.", None),
        ("The user Anna likes Rome. User stays there.", None),
        ("Anna Miller likes Rome.", "invented Anna Miller"),
        ("She likes Rome.", None),
        ("Annabel likes Rome.", "invented Annabel"),
        ("Anna likes it.", "lacks Rome"),
        ("Anna likes Romeo.", "invented Romeo"),
    ],
)
def test_names(text, expected):
    assert fault(text, ("Anna", "I like Rome"), ("Bob", "I am out")) == expected


def test_a_name_is_not_put_together_from_several_memories():
    assert fault("Anna Miller called.", "Anna Smith called", "Bob Miller called") == "invented Anna Miller"


def test_an_address_that_a_memory_gives_may_be_repeated():
    assert fault("See https://Example.org/a.", "Look at https://example.org/a!") is None


def test_each_text_is_held_against_its_own_members():
    texts = pl.DataFrame({"profile_id": ["p", "q"], "cluster_id": ["c", "c"], "content": ["Bob owns 3 boats."] * 2})
    both = pl.concat([members("Bob owns 3 boats"), members("Bob owns 4 boats", profile="q")])
    assert unfaithful(texts, both, on=ON).rows() == [("q", "c", "invented 3")]


def test_no_texts_no_faults():
    texts = pl.DataFrame({"profile_id": ["p"], "cluster_id": ["c"], "content": ["x"]}).clear()
    assert unfaithful(texts, members("a"), on=ON).is_empty()


def test_three_faults_are_told_at_most():
    assert fault("It is 11, 12, 13, 14 and 15.", "It is") == "invented 11, 12, 13"


words = st.text(st.characters(codec="utf-8"), max_size=60)


@given(st.lists(words, min_size=1, max_size=4))
def test_members_put_one_behind_the_other_invent_nothing(said):
    """Whatever people write, repeating it is no lie; each stands in a paragraph of its own."""
    reason = fault("\n\n".join(said), *said)
    assert reason is None or not reason.startswith("invented http")


@given(st.integers(13, 10**6), st.integers(13, 10**6))
def test_a_number_that_nobody_said_is_found(number, other):
    assert (fault(f"They have {other} boats.", f"We have {number} boats") is None) == (number == other)
