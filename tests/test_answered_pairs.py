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


@pytest.mark.drill
def test_closed_pairs_are_judged_as_if_nobody_had_answered_and_set_thresholds(tmp_path, unpublished, monkeypatch):  # noqa: ARG001
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
    few = CliRunner().invoke(app, ["config", "calibrate"]).output
    assert "takes 1 for updates, and 20 are needed" in " ".join(few.split())
    assert "--write" not in few
    monkeypatch.setattr(answered_pairs, "FEWEST", 1)
    assert "config calibrate --write" in " ".join(CliRunner().invoke(app, ["config", "calibrate"]).output.split())
    proposed = json.loads(CliRunner().invoke(app, ["config", "calibrate", "--write", "--json"]).output)
    assert "fact_confidence" in proposed["written"]
    in_force = json.loads(CliRunner().invoke(app, ["config", "show", "--json"]).output)
    values = {row["name"]: row["value"] for row in in_force}
    assert values["policy.fact_confidence"] == pytest.approx(by_answer["update"]["confidence"])


def test_without_answers_the_message_says_how_to_give_some(tmp_path, unpublished, monkeypatch):  # noqa: ARG001
    with MemoryClient(tmp_path) as client:
        client.remember(SAID[0][0])
        client.consolidate()
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(tmp_path))
    shown = CliRunner().invoke(app, ["evaluate", "answers"])
    assert shown.exit_code != 0
    assert "memory-pipeline review" in f"{shown.output}{shown.exception}"


def answered(right, wrong=0, *, relation="update", confidence=0.9, unsure=0.5):
    """Pairs that the judge takes for one relation: right ones at a confidence, wrong ones at another."""
    return pl.DataFrame(
        {
            "answered": [relation] * right + ["unrelated"] * wrong,
            "relation": [relation] * (right + wrong),
            "confidence": [confidence] * right + [unsure] * wrong,
        }
    )


def of_setting(pairs, name="fact_confidence", **policy):
    found = answered_pairs.figures(pairs, Policy(**policy))
    return found.row(by_predicate=pl.col("setting") == name, named=True)


@pytest.mark.parametrize(
    ("right", "wrong", "linked", "closed"),
    [(20, 0, 0.9, 0.9), (19, 1, 0.5, 0.5), (20, 6, 0.5, 0.9), (20, 9, 0.9, 0.9), (15, 5, 0.5, None)],
)
def test_the_smallest_confidence_is_proposed_from_which_enough_of_twenty_are_right(right, wrong, linked, closed):
    pairs = answered(right, wrong)
    assert of_setting(pairs)["proposed"] == linked
    assert of_setting(pairs, "close_confidence")["proposed"] == closed
    row = of_setting(pairs, fact_confidence=0.8)
    assert (row["right"], row["judged"], row["answered"], row["known"]) == (right, right, right, right + wrong)


def test_pairs_of_one_confidence_are_on_one_side_of_a_threshold():
    assert of_setting(answered(25, 10, unsure=0.9), "fact_confidence")["proposed"] is None


def test_a_sentence_says_what_to_set_and_what_is_missing():
    few, poor, good = answered(19), answered(10, 20), answered(30, relation="duplicate")
    said = lambda pairs, name, **policy: answered_pairs.verdict(of_setting(pairs, name, **policy))  # noqa: E731
    assert said(few, "close_confidence") == (
        "close_confidence stays 0.9: of the answered pairs the judge takes 19 for updates, and 20 are needed to set it."
    )
    assert "from no confidence on are 95% of 20 or more pairs right" in said(poor, "close_confidence")
    assert said(good, "merge_confidence", merge_confidence=0.97).startswith("merge_confidence = 0.9 instead of 0.97")
    assert said(good, "merge_confidence", merge_confidence=0.9).startswith("merge_confidence stays 0.9: it is")
