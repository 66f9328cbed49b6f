"""The judge that a policy names is the one that judges the pairs of a run."""

import frames
import polars as pl
import pytest
from frames import AS_OF, ago
from pydantic import ValidationError

from memory_pipeline.consolidation import change_detection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.settings.values import judges
from memory_pipeline.text.compare.judge import JUDGEMENT_COLUMNS
from memory_pipeline.text.compare.judges import JUDGES


class Repeating:
    """Says of every pair that both state the same, with some confidence."""

    reads = False

    def __init__(self, confidence=0.9):
        self.confidence = confidence

    def judge(self, reading, older, newer, *, closeness, least):
        """One row a pair."""
        del reading, newer, closeness, least
        rows = pl.DataFrame(schema=JUDGEMENT_COLUMNS).clear(len(older))
        return rows.with_columns(
            relation=pl.lit("duplicate"), confidence=self.confidence, rule=pl.lit("all"), reason=pl.lit(".")
        )


def test_every_module_is_a_judge_and_an_unknown_one_is_refused():
    assert tuple(JUDGES) == judges()
    assert Policy().judge in JUDGES
    with pytest.raises(ValidationError, match=r"unknown judge.*reader"):
        Policy(judge="oracle")


def test_the_named_judge_judges(monkeypatch):
    texts = ("The kiln is fired on Mondays.", "The kiln has a new door.")
    memories = frames.memories({"content": text, "created_at": ago(9 - n)} for n, text in enumerate(texts))
    empty = [TABLES[name].empty() for name in ("enrichment", "vectors")]
    monkeypatch.setitem(JUDGES, Policy().judge, Repeating())
    found = change_detection.compare(memories, *empty, Policy(), as_of=AS_OF, plan_id="plan")
    assert found.fact_changes.select("memory_id", "other_id", "relation", "rule").rows() == [
        ("m0", "m1", "duplicate", "all")
    ]


@pytest.mark.parametrize(("budget", "odds"), [(None, []), (0.5, [("m0", 0.2), ("m1", 0.2)])])
def test_what_is_too_unsure_for_a_link_counts_under_a_token_budget_alone(monkeypatch, budget, odds):
    texts = ("The kiln is fired on Mondays.", "The kiln has a new door.")
    memories = frames.memories({"content": text, "created_at": ago(9 - n)} for n, text in enumerate(texts))
    empty = [TABLES[name].empty() for name in ("enrichment", "vectors")]
    monkeypatch.setitem(JUDGES, Policy().judge, Repeating(0.2))
    found = change_detection.compare(memories, *empty, Policy(token_budget=budget), as_of=AS_OF, plan_id="plan")
    assert found.fact_changes.is_empty()
    assert found.change_odds.select("memory_id", "repeats").rows() == odds


class Doubting(Repeating):
    """Finds no pair related, and is less sure of it the older the one and the newer the other memory is."""

    def judge(self, reading, older, newer, *, closeness, least):
        """One row a pair."""
        rows = super().judge(reading, older, newer, closeness=closeness, least=least)
        return rows.with_columns(relation=pl.lit("unrelated"), confidence=0.5 + older / 20 + (6 - newer) / 100)


def test_a_language_model_may_be_asked_about_the_likeliest_pairs_of_each_memory(monkeypatch):
    rooms = ("barn", "attic", "cellar", "yard", "shed", "mill", "loft")
    memories = frames.memories(
        {"content": f"The kiln stands in the {room}.", "created_at": ago(9 - n)} for n, room in enumerate(rooms)
    )
    empty = [TABLES[name].empty() for name in ("enrichment", "vectors")]
    monkeypatch.setitem(JUDGES, Policy().judge, Doubting())
    assert change_detection.compare(memories, *empty, Policy(), as_of=AS_OF, plan_id="plan").possible.is_empty()
    found = change_detection.compare(memories, *empty, Policy(llm_model="m"), as_of=AS_OF, plan_id="plan").possible
    of_last = found.filter(other_id="m6").sort("likelihood", descending=True)
    assert of_last["memory_id"].to_list() == ["m0", "m1", "m2", "m3"]
    assert of_last["likelihood"].to_list() == pytest.approx([0.5, 0.45, 0.4, 0.35])
