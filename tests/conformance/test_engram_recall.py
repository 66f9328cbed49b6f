"""Ranking as ADR-0008 (Engram) states it, and what its release does."""

from datetime import timedelta

import frames
import numpy as np
import polars as pl
import pytest
from frames import AS_OF

from memory_pipeline.consolidation import scoring, similarity
from memory_pipeline.consolidation.edges import centrality
from memory_pipeline.recall.rank import formulas
from memory_pipeline.settings import Policy, preset
from memory_pipeline.text import enrich

ENGRAM = Policy(**preset("engram"))


def array(*numbers):
    return np.array(numbers, dtype=np.float64)


def cosine(left, right):
    space = similarity.matrix(pl.Series([left, right], dtype=pl.List(pl.Float32)))
    return similarity.pair_similarity(space, np.array([0]), np.array([1])).astype(np.float64)


def relevance(left, right):
    return float(formulas.relevance(cosine(left, right))[0])


def proximity(row):
    """One row of the case, in words, as arguments."""
    own = row.startswith(("current", "same user"))
    days = 8.0 if "older" in row and "or less" not in row else 7.0
    given = {"same_session": row == "current session", "same_user": own, "reached": False}
    marks = {name: np.array([mark]) for name, mark in given.items()}
    return float(formulas.session_proximity(days=array(days), **marks)[0])


def keywords(text):
    texts = pl.DataFrame({"profile_id": ["p"], "content_hash": ["h"], "content": [text]})
    return sorted(enrich.enrich(texts)["keywords"].to_list()[0])


def test_relevance():
    assert relevance([1, 2], [2, 4]) == pytest.approx(1.0)
    assert relevance([3, 4], [-3, -4]) == 0.0
    assert relevance([3, 4], [4, 3]) == pytest.approx(0.96)
    assert [relevance(*pair) for pair in (([], [1, 0]), ([1, 0, 0], [1, 0]), ([0, 0], [1, 0]))] == [0.5, 0.5, 0.5]


def test_the_score_is_a_mean_over_the_weights_in_play():
    factors = array(0.2), array(0.4), array(0.6)
    assert formulas.weighted_mean(*factors)[0] == pytest.approx(0.4)
    assert formulas.weighted_mean(*factors, array(1.0))[0] == pytest.approx(1.7 / 3.5)


def test_affinity():
    assert formulas.affinity(array(1.0, 0.3), array(1.0, 0.5), array(1.0, 0.0)).tolist() == pytest.approx([1.0, 0.27])


def test_keywords_are_the_telling_words_of_the_text():
    assert keywords("Deployed the billing service to Frankfurt") == ["billing", "deployed", "frankfurt", "service"]
    assert keywords("") == []


def test_relevance_of_the_release(real_system):
    case = real_system("engram")["adr-rel-1"]
    assert [relevance(*pair) for pair in case["input"]["pairs"]] == pytest.approx(case["expected"], abs=1e-6)


def test_score_of_the_release(real_system):
    """Ours: a weight counts only where its factor does, so the best score without a user is 1."""
    cases = real_system("engram")
    given = cases["adr-comp-1"]["input"]
    factors = [array(given[name]) for name in ("recency", "importance", "relevance")]
    with_user = formulas.weighted_mean(*factors, array(given["user_affinity"]))[0]
    assert with_user == pytest.approx(cases["adr-comp-1"]["expected"])
    assert 3 * formulas.weighted_mean(*factors)[0] == pytest.approx(cases["adr-comp-1"]["expected_by_adr_text"])
    nothing = dict.fromkeys(formulas.WEIGHTS, cases["adr-comp-3"]["input"]["all_weights"])
    assert formulas.weighted_mean(*factors, weights=nothing)[0] == cases["adr-comp-3"]["expected"]


def test_factors_of_the_release(real_system):
    """Ours: recency counts from the creation; the release's clock made a node of 48 hours one of 83.4966."""
    case = real_system("engram")["adr-score-1"]
    node, expected = case["input"]["node"], case["expected"]
    rows = [
        {
            "memory_id": name,
            "created_at": AS_OF - timedelta(hours=hours),
            "access_count": node["access_count"],
            "importance_given": node["importance_score"] / 10,
        }
        for name, hours in (("said", node["hours_ago"]), ("clocked", 83.4966), ("effect", 0))
    ]
    memories = frames.memories(rows)
    caused = frames.edges([{"source": "effect", "target": "said", "edge_type": "CAUSED_BY"}] * node["in_degree"])
    known = memories.select("profile_id", "memory_id", importance="importance_given")
    measured = centrality.measure(memories, known, caused, ENGRAM, as_of=AS_OF)
    scored = scoring.score(memories, measured, caused, ENGRAM, as_of=AS_OF, plan_id="plan")
    recency = dict(scored.select("memory_id", "recency").iter_rows())
    assert recency["clocked"] == pytest.approx(expected["decay_score"], abs=1e-6)
    assert recency["said"] == pytest.approx(0.800737, abs=1e-6)
    said = measured.row(by_predicate=pl.col("memory_id") == "said", named=True)
    assert (said["in_degree"], said["importance_score"]) == (node["in_degree"], expected["importance_score"])
    found = relevance(node["embedding"], case["input"]["query_embedding"])
    assert found == pytest.approx(expected["relevance_score"], abs=1e-6)


def test_affinity_of_the_release(real_system):
    cases = real_system("engram")
    columns = (np.array(column) for column in zip(*cases["adr-aff-1"]["input"]["rows"], strict=True))
    assert formulas.affinity(*columns).tolist() == pytest.approx(cases["adr-aff-1"]["expected"])
    rows = cases["adr-aff-2"]["input"]["rows"]
    assert [proximity(row) for row in rows] == cases["adr-aff-2"]["expected"]


def test_keywords_of_the_release(real_system):
    """Ours: keywords come from the text of a memory, distinct, and not from the names of an event and its tool."""
    rows = real_system("engram")["adr-kw-1"]["input"]["rows"]
    ours = [keywords(" ".join(filter(None, row))) for row in rows]
    assert ours == [["execute", "grep", "tool"], ["agent", "invoke"], ["tool"], []]
