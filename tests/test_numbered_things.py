"""Things that are told apart by a number are others; numbers that are values are not."""

import numpy as np
import polars as pl
import pytest

from memory_pipeline.text.compare.numbered_things import are_others
from memory_pipeline.text.parse.tokens import fold

OTHERS = [
    ("Task 12 is to oil the gate.", "Task 13 is to oil the gate."),
    ("My cousin Olga number 3 keeps goats.", "My cousin Olga number 4 keeps goats."),
    ("The room on floor 1 has a projector.", "The room on floor 2 has a projector."),
    ("Invoice 4410 to the mill was paid.", "Invoice 4411 to the mill was paid."),
    ("The second rehearsal is in the hall.", "The third rehearsal is in the hall."),
    ("Olga's 3rd goat limps.", "Olga's 4th goat limps."),
]
VALUES = [
    ("I live on floor 4 of the tower.", "I live on floor 5 of the tower."),
    ("The rent is 900 euros.", "The rent is 950 euros."),
    ("The ticket costs 12 euros.", "The ticket costs 14 euros."),
    ("Olga has 3 goats.", "Olga has 4 goats."),
    ("On May 4 in the hall we sing.", "On May 5 in the hall we sing."),
    ("The 3rd of May is free.", "The 4th of May is free."),
    ("Task 12 is to oil the gate.", "Task 12 is to paint the gate."),
    ("Task 12 is to oil the gate.", "Room 13 is to the left."),
]


def judged(pairs):
    low = fold(pl.Series([text for pair in pairs for text in pair]))
    places = np.arange(len(pairs)) * 2
    return are_others(low, places, places + 1).tolist()


@pytest.mark.parametrize(("pairs", "others"), [(OTHERS, True), (VALUES, False)])
def test_a_number_in_a_name_tells_things_apart(pairs, others):
    assert judged(pairs) == [others] * len(pairs)
