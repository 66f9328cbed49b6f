"""After a correction or a change recall shows what holds; after a quote, a plan or a friend's change, what held before.

The scenarios are those of `research/corpus/corrections`: of `b` nothing has learned, and nothing was tuned on it.
"""

from pathlib import Path

import corpus_files
import correction_protocol
import polars as pl
import pytest

TUNED, LEFT_OUT = (Path(corpus_files.FOLDER / "corrections" / f"{name}.txt") for name in "ab")
FEW = ("correction", "quote", "third")
"""Kinds of the short case, of which the first scenario each is told."""


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    told = {one["kind"]: one for one in reversed(list(corpus_files.scenarios(LEFT_OUT)))}
    return correction_protocol.measure([told[kind] for kind in FEW], tmp_path_factory.mktemp("few"))


@pytest.mark.drill
def test_an_old_transcript_that_is_imported_again_brings_nothing_back(few):
    changed = few.filter(~pl.col("kind").is_in(corpus_files.UNCHANGED))
    assert changed.filter("after")["again"].all()


@pytest.mark.drill
def test_what_others_say_or_do_closes_nothing(few):
    assert not few.filter(pl.col("kind").is_in(corpus_files.UNCHANGED))["closed"].any()


@pytest.mark.drill
def test_unrelated_facts_are_found_as_before(few):
    assert few["beside"].all()


@pytest.mark.drill
def test_what_changed_since_the_last_run_comes_first_without_another(few):
    assert few.filter(pl.col("kind") == "correction")["before"].all()


@pytest.mark.drill
@pytest.mark.parametrize(
    ("file", "before", "after", "again", "unchanged"),
    [
        pytest.param(TUNED, 0.7, 0.75, 0.65, 0.45, id="tuned"),
        pytest.param(LEFT_OUT, 0.75, 0.8, 0.7, 0.6, id="left out"),
    ],
)
def test_what_changed_comes_first_and_what_did_not_stays(tmp_path, monkeypatch, file, before, after, again, unchanged):
    monkeypatch.delenv("MEMORY_PIPELINE_EMBEDDER")  # the floors are of stores as users have them
    measured = correction_protocol.measure(list(corpus_files.scenarios(file)), tmp_path)
    counted = {row["kind"]: row for row in correction_protocol.figures(measured).to_dicts()}
    changes, others = counted["changed"], counted["unchanged"]
    for figure, least in {"before": before, "after": after, "again": again}.items():
        assert changes[figure] >= least * changes["scenarios"], figure
    assert others["after"] >= unchanged * others["scenarios"]
    assert others["closed"] == 0
    assert changes["beside"] + others["beside"] >= 0.95 * len(measured)
