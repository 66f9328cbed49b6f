"""Which older memories a memory is compared with because they share most of its words."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.text.compare import relation_candidates, relation_reading

START = datetime(2026, 1, 1, tzinfo=UTC)
KILN = "The kiln of the pottery is fired on Mondays."
SAIL = "Our sailing boat leaks below the mast."
LONG = " ".join([KILN, SAIL] * 5)
"""A text of several statements, which share words with another in more than one way."""


def candidates(texts):
    """Return for each text, oldest first, the older ones that it is compared with."""
    rows = [
        {"profile_id": "p", "content": text, "content_hash": text, "since": START + timedelta(days=day)}
        for day, text in enumerate(texts)
    ]
    memories = pl.DataFrame(rows, relation_reading.MEMORY_COLUMNS)
    older, newer = relation_candidates.candidates(relation_reading.read(memories))
    return {day: older[newer == day].tolist() for day in range(len(texts))}


@given(st.lists(st.sampled_from([KILN, SAIL]), min_size=1, max_size=14))
def test_of_equally_near_ones_the_latest_are_taken(texts):
    for day, older in candidates(texts).items():
        same = [other for other in range(day) if texts[other] == texts[day]]
        assert older == same[-relation_candidates.SHARING :]


@given(st.lists(st.sampled_from([KILN, SAIL, LONG]), min_size=1, max_size=10))
def test_a_memory_of_several_statements_counts_once(texts):
    for day, older in candidates(texts).items():
        near = [other for other in range(day) if LONG in {texts[other], texts[day]} or texts[other] == texts[day]]
        assert len(older) == min(len(near), relation_candidates.SHARING)
        assert set(older) <= set(near)
        assert older == sorted(set(older))
