"""Updates that follow from other updates and repetitions."""

import polars as pl
import pytest

from memory_pipeline.consolidation import carried_updates
from memory_pipeline.text.compare.judge import ASIDE, JUDGEMENT_COLUMNS

TEXTS = pl.Series(["Ana rents in Leith.", "Ana's flat is in Leith.", "Ana bought a house.", "The house is Ana's."])


def judged(*rows):
    """Pairs of rows with a relation, its confidence and, maybe, a rule."""
    names = ("older", "newer", "relation", "confidence", "rule")
    told = [dict(zip(names, (*row, "likely"), strict=False)) for row in rows]
    return pl.DataFrame(told, schema={"older": pl.Int64, "newer": pl.Int64} | dict(JUDGEMENT_COLUMNS))


def carried(*rows):
    pairs = judged(*rows)
    decides = (pl.col("confidence") >= 0.9) & (pl.col("relation") == "update")
    found = carried_updates.carried(pairs, TEXTS, least=0.5, decides=decides)
    assert found.columns == pairs.columns
    return {(one["older"], one["newer"]): one for one in found.iter_rows(named=True)}


def test_a_repetition_of_either_side_is_updated_or_updates():
    found = carried((0, 1, "duplicate", 0.8), (1, 2, "update", 0.6), (2, 3, "duplicate", 0.5))
    assert {
        pair: round(one["confidence"], 2) for pair, one in found.items() if one["rule"] == carried_updates.RULE
    } == {
        (0, 2): 0.48,
        (1, 3): 0.3,
    }
    assert (found[0, 2]["value"], found[0, 2]["other_value"]) == (TEXTS[0], TEXTS[2])
    assert found[1, 2]["confidence"] == 0.6


def test_what_is_judged_an_update_by_itself_becomes_surer_by_it():
    found = carried((0, 1, "duplicate", 0.8), (0, 2, "update", 0.5), (1, 2, "update", 0.5))
    assert {round(found[pair]["confidence"], 2) for pair in ((0, 2), (1, 2))} == {0.7}


@pytest.mark.parametrize(
    "rows",
    [
        ((0, 1, "duplicate", 0.4), (1, 2, "update", 0.6)),
        ((0, 1, "duplicate", 0.8), (1, 2, "update", 0.6, ASIDE)),
        ((0, 1, "duplicate", 0.8), (1, 2, "update", 0.6), (0, 2, "conflict", 0.5)),
        ((0, 2, "update", 0.6), (2, 3, "conflict", 0.8)),
    ],
)
def test_nothing_follows_from_what_is_unsure_beside_or_no_repetition(rows):
    assert carried_updates.RULE not in {one["rule"] for one in carried(*rows).values()}


def test_an_update_that_closes_stays_as_it_is_and_what_is_older_outdates_nothing():
    found = carried((0, 1, "duplicate", 0.9), (0, 2, "update", 0.95), (1, 2, "update", 0.95))
    assert [found[pair]["rule"] for pair in ((0, 2), (1, 2))] == ["likely", "likely"]
    back = carried((0, 1, "update", 0.8), (0, 2, "duplicate", 0.8))
    assert set(back) == {(0, 1), (0, 2)}
