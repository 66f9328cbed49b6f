"""Statements of what lasts, and of what happened or was measured once."""

import polars as pl

from memory_pipeline.text.compare import standing

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
    "Ran 8 km.",
    "Her sugar was 9.1 this evening.",
]


def test_what_is_so_is_told_from_what_happened_once():
    assert standing.are_standing(pl.Series(STANDING)).all()
    assert not standing.are_standing(pl.Series(OCCASIONS)).any()
