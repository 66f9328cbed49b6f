"""What the trees read of the sentences of a pair, and the second trees beside its scores."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.text.compare import closeness, pair_context, sentence_sides
from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.score import core_facts

UPDATE = RELATIONS.index("update")


def read(scores, older, newer):
    first = np.full((len(older), len(RELATIONS)), 1 / len(RELATIONS))
    return pair_context.features(first, np.array(scores, dtype=float), (np.array(older), np.array(newer)))


def column(table, name):
    return table[:, pair_context.NAMES.index(name)]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(-3, 3)), max_size=20, unique_by=lambda p: p[:2])
)
def test_a_rival_is_the_likeliest_other_pair_of_the_same_memory(pairs):
    older, newer = ([pair[side] for pair in pairs] for side in (0, 1))
    scores = [[value, 0.0, 0.0, 0.0] for *_, value in pairs] or np.zeros((0, 4))
    table = read(scores, np.array(older, dtype=int), np.array(newer, dtype=int))
    assert table.shape == (len(pairs), len(pair_context.NAMES))
    likely = [np.exp(value) / (np.exp(value) + 3) for *_, value in pairs]
    for name, side in (("older", older), ("newer", newer)):
        for index, memory in enumerate(side):
            others = [likely[at] for at, one in enumerate(side) if one == memory and at != index]
            assert column(table, f"rival_update_{name}")[index] == pytest.approx(max(others, default=0.0), abs=1e-3)
            ahead = likely[index] - max(others, default=0.0)
            assert column(table, f"ahead_update_{name}")[index] == pytest.approx(ahead, abs=1e-3)


def test_a_question_and_a_fact_are_of_other_kinds():
    texts = pl.Series(["What does the barn cost?", "User pays 310 pounds a month for the barn."])
    table = sentence_sides.features(closeness.kinds(core_facts.read(texts)), np.array([1, 1]), np.array([0, 1]))
    asked, same = (table[:, sentence_sides.NAMES.index(name)] for name in ("newer_question", "same_kind"))
    assert asked[0] > 0.5 > asked[1]
    assert same[0] < same[1]


def test_of_several_sentences_the_mean_counts_and_of_none_nothing():
    one, two = (core_facts.read(pl.Series([text])) for text in ("The barn is dry.", "Wren sold it yesterday."))
    both = pl.Series([[*one[0], *two[0]], []], dtype=pl.List(pl.Float64))
    found = closeness.kinds(both)
    mean = (closeness.kinds(one)[0] + closeness.kinds(two)[0]) / 2
    assert np.abs(found[0] - mean).max() <= 0.011
    assert not found[1].any()
