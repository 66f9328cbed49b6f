"""The judge measured on the pairs that somebody has answered."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from memory_pipeline import MemoryClient
from memory_pipeline.evaluation import answered_pairs
from memory_pipeline.service.commands import app
from memory_pipeline.settings import Policy

SAID = (
    ("The rent of the boathouse is 640 euros.", "The rent of the boathouse went up to 690 euros.", "update"),
    ("Ines keeps two goats.", "Ines has a pair of goats.", "repeat"),
    ("Odile's brother lives in Porto.", "Odile's aunt lives in Porto.", "none"),
)


def test_closed_pairs_are_judged_as_if_nobody_had_answered(tmp_path, unpublished, monkeypatch):  # noqa: ARG001
    with MemoryClient(tmp_path) as client:
        for one, other, answer in SAID:
            client.resolve((client.remember(one), client.remember(other)), answer)
        client.consolidate()
        assert client.recall("rent of the boathouse", 1)[0].content == SAID[0][1]
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(tmp_path))
    shown = CliRunner().invoke(app, ["evaluate", "answers", "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.output)
    assert [one["answered"] for one in found["pairs"]].count("unrelated") == 1
    by_answer = {one["answered"]: one for one in found["pairs"]}
    assert by_answer["update"]["relation"] == "update"
    assert by_answer["update"]["confidence"] > 0
    printed = CliRunner().invoke(app, ["evaluate", "answers"])
    assert printed.exit_code == 0
    assert "3 answered pairs" in printed.output


def test_without_answers_the_message_says_how_to_give_some(tmp_path, unpublished, monkeypatch):  # noqa: ARG001
    with MemoryClient(tmp_path) as client:
        client.remember(SAID[0][0])
        client.consolidate()
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(tmp_path))
    shown = CliRunner().invoke(app, ["evaluate", "answers"])
    assert shown.exit_code != 0
    assert "memory-pipeline review" in f"{shown.output}{shown.exception}"


@pytest.mark.parametrize(("right", "suggested"), [(10, 0.5), (9, 0.5), (8, 0.5), (6, None)])
def test_a_confidence_is_suggested_where_enough_of_ten_are_right(right, suggested):
    pairs = pl.DataFrame(
        {
            "answered": ["update"] * right + ["unrelated"] * (10 - right),
            "relation": ["update"] * 10,
            "confidence": [0.9] * right + [0.5] * (10 - right) if right < 10 else [0.5] * 10,
        }
    )
    found = answered_pairs.figures(pairs, Policy(fact_confidence=0.8))
    row = found.row(by_predicate=pl.col("setting") == "fact_confidence", named=True)
    assert (row["right"], row["judged"], row["answered"]) == ((right, right, right) if right < 10 else (0, 0, 10))
    assert row["suggested"] == suggested
