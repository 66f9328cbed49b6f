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
    """Says of every pair that both state the same."""

    def judge(self, reading, older, newer, *, least):
        """One row a pair."""
        del reading, newer, least
        rows = pl.DataFrame(schema=JUDGEMENT_COLUMNS).clear(len(older))
        return rows.with_columns(relation=pl.lit("duplicate"), confidence=0.9, rule=pl.lit("all"), reason=pl.lit("."))


def test_every_module_is_a_judge_and_an_unknown_one_is_refused():
    assert tuple(JUDGES) == judges()
    assert Policy().judge in JUDGES
    with pytest.raises(ValidationError, match=r"unknown judge.*rules"):
        Policy(judge="oracle")


def test_the_named_judge_judges(monkeypatch):
    texts = ("The kiln is fired on Mondays.", "The kiln has a new door.")
    memories = frames.memories({"content": text, "created_at": ago(9 - n)} for n, text in enumerate(texts))
    empty = [TABLES[name].empty() for name in ("enrichment", "vectors", "association_edges")]
    monkeypatch.setitem(JUDGES, "rules", Repeating())
    found = change_detection.compare(memories, *empty, Policy(), as_of=AS_OF, plan_id="plan")
    assert found.fact_changes.select("memory_id", "other_id", "relation", "rule").rows() == [
        ("m0", "m1", "duplicate", "all")
    ]
