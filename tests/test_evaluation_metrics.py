"""Figures of recall against numbers worked by hand, and against another scorer where it is there."""

import importlib.util
import math
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import bm25_baseline
import numpy as np
import polars as pl
import pytest

from memory_pipeline.evaluation import metrics
from memory_pipeline.evaluation.conversations import chat, load

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAID = {
    "a": "I bought a yellow kayak at the flea market in Porto.",
    "b": "Wow, that sounds great!",
    "c": "My sister Ines works as a midwife in Braga.",
    "d": "The kayak sank near the lighthouse last Friday.",
    "e": "Anyway, how was your weekend?",
}


def told(*questions):
    turns = [
        {"id": name, "at": START + timedelta(days=day), "session_id": "s", "speaker": "Ana", "content": text}
        for day, (name, text) in enumerate(SAID.items())
    ]
    given = [{"kind": "single-hop", "text": "?", "evidence": []} | question for question in questions]
    return chat("c", turns, given)


def store(texts=None, members=None):
    texts = {name: f"Ana: {text}" for name, text in SAID.items()} | (texts or {})
    at = [START + timedelta(days=list(SAID).index(name)) if name in SAID else None for name in texts]
    rows = {
        "id": list(texts),
        "text": list(texts.values()),
        "member_ids": [(members or {}).get(name, []) for name in texts],
        "t_start": at,
        "t_end": at,
    }
    return pl.DataFrame(rows, schema=metrics.RECORDS)


def came(question, *ids):
    rows = [(question, rank, name) for rank, name in enumerate(ids, 1)]
    return pl.DataFrame(rows, schema=metrics.RESULTS, orient="row")


def one(questions, results, records=None):
    return metrics.score(told(questions), store() if records is None else records, results).row(0, named=True)


def test_figures_of_two_pieces_of_evidence_at_ranks_two_and_four():
    found = one({"id": "q", "evidence": ["a", "d"]}, came("q", "b", "a", "c", "d"))
    assert found["hit@10"] == 1.0
    assert found["recall@10"] == 1.0
    assert found["all@10"] == 1.0
    assert found["mrr"] == 0.5
    ideal = 1 + 1 / math.log2(3)
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert found["tokens@10"] == 8 + 14 + 12 + 11


def test_recall_within_tokens_counts_only_what_fits_whole():
    long = {name: text + " so so" * 70 for name, text in SAID.items()}
    records = store({name: f"Ana: {text}" for name, text in long.items()})
    found = one({"id": "q", "evidence": ["a", "c"]}, came("q", "a", "c"), records)
    assert found["recall@256t"] == 0.5
    assert found["recall@512t"] == 1.0


def test_nothing_found_is_zero_and_a_missing_question_too():
    found = one({"id": "q", "evidence": ["a"]}, came("other", "a"))
    assert [found[name] for name in ("hit@10", "recall@512t", "ndcg@10", "mrr", "gold@10", "tokens@10")] == [0.0] * 6


def test_a_shortened_text_counts_while_it_holds_the_answer():
    asked = {"id": "q", "text": "Where did Ana buy the kayak?", "answer": "flea market", "evidence": ["a"]}
    kept = store({"a": "Ana: bought a kayak at the flea market"})
    lost = store({"a": "Ana: I bought"})
    assert one(asked, came("q", "a"), kept)["hit@10"] == 1.0
    assert one(asked, came("q", "a"), lost)["hit@10"] == 0.0
    assert one(asked, came("q", "a"), lost)["gold@10"] == 1.0


def test_a_summary_is_credited_for_the_members_that_it_still_tells():
    whole = store({"s": f"{SAID['a']} {SAID['c']}"}, {"s": ["a", "c", "d"]})
    found = one({"id": "q", "evidence": ["a", "c", "d"]}, came("q", "s"), whole)
    assert found["recall@10"] == pytest.approx(2 / 3)


def test_a_list_of_keywords_earns_nothing():
    bag = " ".join(f"{word}" for text in SAID.values() for word in text.split() if len(word) > 5)
    records = store({"s": f"{bag} {bag}"}, {"s": ["a", "c", "d"]})
    assert one({"id": "q", "evidence": ["a"]}, came("q", "s"), records)["hit@10"] == 0.0


def test_a_question_of_time_needs_the_day():
    asked = {"id": "q", "kind": "temporal", "evidence": ["d"]}
    wide = store().with_columns(t_end=pl.col("t_start") + timedelta(days=9))
    named = wide.with_columns(text=pl.col("text") + " That was on 5 March 2026.")
    assert one(asked, came("q", "d"))["hit@10"] == 1.0
    assert one(asked, came("q", "d"), wide)["hit@10"] == 0.0
    assert one(asked, came("q", "d"), named)["hit@10"] == 1.0


@pytest.mark.parametrize(
    ("order", "first", "top"),
    [("da", 1.0, 1.0), ("ad", 0.0, 1.0), ("bced", 1.0, 0.0), ("a", 0.0, 0.0), ("d", 1.0, 1.0), ("b", 0.0, 0.0)],
)
def test_the_newer_statement_should_come_first(order, first, top):
    asked = {"id": "q", "kind": "knowledge_update", "evidence": ["a", "d"], "original": ["a"], "updated": ["d"]}
    found = one(asked, came("q", *order))
    assert (found["fresh-first"], found["fresh@3"]) == (first, top)


@pytest.mark.parametrize(("order", "both"), [("abcde", 1.0), ("a", 0.0), ("c", 0.0), ("ca", 1.0)])
def test_both_sides_of_a_contradiction_should_come(order, both):
    asked = {"id": "q", "kind": "contradiction_resolution", "evidence": ["a", "c"], "first": ["a"], "second": ["c"]}
    assert one(asked, came("q", *order))["both@10"] == both


def test_figures_that_do_not_apply_are_null_and_not_averaged():
    chat = told(
        {"id": "q1", "evidence": ["a"]},
        {"id": "q2", "kind": "knowledge_update", "evidence": ["a", "d"], "original": ["a"], "updated": ["d"]},
    )
    scored = metrics.score(chat, store(), pl.concat([came("q1", "a"), came("q2", "d", "a")]))
    assert scored["fresh-first"].to_list() == [None, 1.0]
    means = metrics.summary(scored, by="kind")
    assert means.filter(pl.col("figure") == "fresh-first")["n"].to_list() == [1, 1]
    assert means.filter((pl.col("figure") == "hit@10") & (pl.col("group") == ""))["n"].to_list() == [2]


def test_results_that_the_store_does_not_hold_are_refused():
    with pytest.raises(ValueError, match="1 ids that are not in the store, such as 'zz'"):
        one({"id": "q", "evidence": ["a"]}, came("q", "zz"))


def test_an_interval_holds_the_mean_and_is_the_same_every_time():
    values = np.array([0.0, 1.0] * 50)
    low, high = metrics.interval(values)
    assert low < 0.5 < high
    assert (low, high) == metrics.interval(values)
    assert 0.15 < high - low < 0.25
    assert metrics.interval(np.ones(9)) == (1.0, 1.0)


def test_a_ratio_is_paired_so_equal_sides_have_no_spread():
    values = np.array([0.0, 1.0, 1.0, 0.5])
    assert metrics.interval(values, values) == (1.0, 1.0)
    low, high = metrics.interval(values * 0.5, values)
    assert (low, high) == (0.5, 0.5)
    with pytest.raises(ValueError, match="pair them"):
        metrics.interval(values, values[:2])


def test_two_stores_are_compared_over_the_same_questions():
    chat = told({"id": "q1", "evidence": ["a"]}, {"id": "q2", "evidence": ["c"]})
    base = metrics.score(chat, store(), pl.concat([came("q1", "a"), came("q2", "c")]))
    half = metrics.score(chat, store(), came("q1", "a"))
    row = metrics.against(half, base).filter(pl.col("figure") == "hit@10").row(0, named=True)
    assert (row["value"], row["base"], row["ratio"], row["n"]) == (0.5, 1.0, 0.5, 2)
    with pytest.raises(ValueError, match="score the same questions"):
        metrics.against(half.head(1), base)


def test_the_plain_retriever_ranks_by_rare_words():
    queries = pl.DataFrame({"id": ["q1", "q2"], "text": ["Where does the midwife work?", "What about the kayak?"]})
    found = bm25_baseline.results(store(), queries, depth=2)
    assert found.filter(pl.col("query_id") == "q1")["id"][0] == "c"
    assert set(found.filter(pl.col("query_id") == "q2")["id"]) == {"a", "d"}
    assert found["rank"].to_list() == [1, 2, 1, 2]


def test_an_empty_store_answers_nothing():
    queries = pl.DataFrame({"id": ["q"], "text": ["Where?"]})
    assert bm25_baseline.results(store().clear(), queries).is_empty()
    assert one({"id": "q", "evidence": ["a"]}, came("q"), store().clear())["hit@10"] == 0.0


SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="module")
def kit():
    path = SHARED / "evalkit" / "evalkit.py"
    if not path.is_file():
        pytest.skip(f"no other scorer in {path}; the numbers worked by hand cover the same definitions")
    spec = importlib.util.spec_from_file_location("evalkit", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["evalkit"] = module
    spec.loader.exec_module(module)
    return module


def test_another_scorer_says_the_same(kit):
    path = SHARED / "locomo" / "26.json"
    theirs = kit.load_conversation(path)
    ours = load(path)
    raw = [kit.Record(one.id, one.text, (one.id,), one.timestamp, one.timestamp) for one in theirs.memories]
    cut = [kit.Record(one.id, one.text[: len(one.text) * 2 // 3], one.members, one.t_start, one.t_end) for one in raw]
    for records, nearness in ((raw, 1e-12), (cut, 0.02)):
        names = ["id", "text", "member_ids", "t_start", "t_end"]
        rows = [(one.id, one.text, list(one.members), one.t_start, one.t_end) for one in records]
        frame = pl.DataFrame(rows, schema=dict(zip(names, metrics.RECORDS.values(), strict=True)), orient="row")
        queries = ours.questions.select("id", "text")
        found = bm25_baseline.results(frame, queries)
        by = dict(found.sort("rank").group_by("query_id").agg("id").iter_rows())
        known = {one.id: one for one in records}
        expected = kit.evaluate(theirs, lambda q, _, by=by, known=known: [known[name] for name in by[q.id]])
        scored = metrics.score(ours, frame, found, kinds=["multi-hop", "temporal", "open-domain", "single-hop"])
        assert scored["question"].to_list() == [row["qid"] for row in expected]
        for figure in ("hit@10", "recall@10", "all@10", "recall@256t", "recall@512t", "ndcg@10", "mrr", "tokens@10"):
            mean = np.mean([row[figure] for row in expected])
            assert scored[figure].mean() == pytest.approx(mean, abs=nearness), figure
