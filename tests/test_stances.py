"""Statements in like words that repeat or contradict nothing: denials, doubts, endings, and figures of two days."""

from datetime import timedelta

import frames
import numpy as np
import polars as pl
import pytest
from frames import ago

from memory_pipeline.text.compare import relation_reading, stances, standing
from memory_pipeline.text.compare.relation_model import WordModel
from memory_pipeline.text.parse.tokens import fold

STANDING = [
    "My sister lives in Trondheim.",
    "The bank is closed on Mondays.",
    "The code of the shed is 7730.",
    "The rent is 910 euros a month.",
    "The surgery opens at 8.",
    "We always park behind the mill.",
    "The fence must be lower than 1.80 m.",
]
OCCASIONS = [
    "Took two paracetamol.",
    "Weight 80.3.",
    "Paid 12.50 at the bakery.",
    "The kitchen tap drips again.",
    "I had lunch with Ines.",
    "Parked on level 5.",
    "My pulse is 64.",
]
READINGS = ["The lake is at 62 % of its volume.", "Weight 80.3.", "Ran 8 km.", "Her sugar was 9.1 this evening."]


def test_what_is_so_is_told_from_what_happened_once():
    assert standing.are_standing(pl.Series(STANDING)).all()
    assert not standing.are_standing(pl.Series(OCCASIONS)).any()
    assert standing.are_readings(pl.Series(READINGS)).all()
    assert not standing.are_readings(pl.Series([*STANDING, "The attic is 40 square metres."])).any()


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        ("I live in Lund.", "I no longer live in Lund.", (True, True, True)),
        ("I no longer live in Lund.", "I live in Lund again.", (True, True, True)),
        ("I eat cheese.", "I don't eat cheese.", (True, True, False)),
        ("I eat cheese.", "If I travel, I eat cheese.", (True, False, False)),
        ("Ravi sells the boat.", "Ravi might sell the boat.", (True, False, False)),
        ("Use tabs instead of spaces.", "Use spaces.", (True, True, False)),
        ("Ida would like to be called Id.", "Ida wants to be called Id.", (False, False, False)),
        ("Ida dislikes figs.", "Ida does not like figs.", (False, False, False)),
    ],
)
def test_statements_of_other_stances(older, newer, expected):
    found = stances.differ(fold(pl.Series([older, newer])), np.array([0]), np.array([1]))
    assert tuple(bool(mask[0]) for mask in found) == expected


def relation(older, newer, *, days=3):
    rows = [
        {"memory_id": "a", "content": older, "speaker": "ida", "created_at": ago(20)},
        {"memory_id": "b", "content": newer, "speaker": "ida", "created_at": ago(20) + timedelta(days=days)},
    ]
    memories = frames.memories(rows).with_columns(since="created_at")
    reading = relation_reading.read(memories.select(list(relation_reading.MEMORY_COLUMNS)))
    return WordModel().judge(reading, np.array([0]), np.array([1]))["relation"][0]


@pytest.mark.parametrize(
    ("older", "newer", "never"),
    [
        ("Weight 80.3.", "Weight 79.8.", "conflict"),
        ("Ran 8 km.", "Ran 8 km.", "duplicate"),
        ("Took two paracetamol.", "Took two paracetamol.", "duplicate"),
        ("I no longer live in Lund.", "I live in Lund again since the spring.", "duplicate"),
        ("I prefer rye bread to toast.", "I do not like rye bread.", "duplicate"),
        ("When it rains, Ines drives.", "Ines drives.", "duplicate"),
    ],
)
def test_nothing_untrue_is_said_of_a_pair(older, newer, never):
    assert relation(older, newer) != never


def test_a_copy_of_one_day_and_a_standing_fact_told_twice_repeat():
    assert relation("Took two paracetamol.", "Took two paracetamol.", days=0) == "duplicate"
    assert relation("My sister lives in Trondheim.", "My sister lives in Trondheim.") == "duplicate"
