"""Distinguishes statements about different things of one kind: "task 12 ..." and "task 13 ...", "the second rehearsal".

Only the beginning of a statement counts: a number further on is a value that may change. Not here: values
(`relation_features`).
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.text.lang.en.numbered import NO_NAME, NUMBERED, RANKED
from memory_pipeline.text.lang.en.relation_cues import MONTHS

Rows = NDArray[np.int64]


def are_others(low: pl.Series, older: Rows, newer: Rows) -> NDArray[np.bool_]:
    """Return whether the two statements of each pair begin with the same kind of thing under different numbers.

    Args:
        low: statements, folded.
        older: index of the older statement of each pair.
        newer: index of the newer.

    Cost: some µs per statement.
    """
    numbered = low.str.extract_groups(NUMBERED).struct.unnest()
    ranked = low.str.extract_groups(RANKED).struct.unnest()
    value = numbered["1"].str.contains(NO_NAME) | numbered["1"].str.extract(r"(\p{L}+)$").is_in(list(MONTHS))
    things = pl.DataFrame(
        {
            "kind": numbered["1"].set(value.fill_null(value=True), None),
            "number": numbered["2"].zip_with(numbered["2"].is_not_null(), numbered["3"]),
            "ranked": ranked["2"].set(ranked["2"].is_in(list(MONTHS)).fill_null(value=True), None),
            "rank": ranked["1"],
        }
    )
    one, other = things[older], things[newer]
    differ = [
        (one[kind] == other[kind]) & (one[number] != other[number])
        for kind, number in (("kind", "number"), ("ranked", "rank"))
    ]
    return (differ[0].fill_null(value=False) | differ[1].fill_null(value=False)).to_numpy()
