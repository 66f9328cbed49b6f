"""Stores with labelled relations and questions: the figures count what they say."""

import json

import compare_cost
import labelled_stores
import measure_keeping
import measure_review
import polars as pl
import pytest
import quality_quotes
import quality_stores
from corpus_files import Core
from made_up_stores import stores

from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.evaluation import replay
from memory_pipeline.schemas import TABLES
from memory_pipeline.text.score.sentence_kinds import GROUPS

MEMORIES = [
    ("m1", "2025-01-05T09:00:00Z", "Ines keeps the spare key with the neighbour in flat 3."),
    ("m2", "2025-01-09T09:00:00Z", "The boiler of the cabin is serviced by Torvald."),
    ("m3", "2025-02-11T09:00:00Z", "Ines no longer keeps the spare key with the neighbour; it is in the lockbox."),
    ("m4", "2025-02-12T09:00:00Z", "Ines plays the cello in the town orchestra."),
]
RELATIONS = [
    {"type": "update", "a": "m1", "b": "m3"},
    {"type": "update", "a": "m2", "b": "m3", "note": "partial"},
    {"type": "duplicate", "a": "m4", "b": "m2"},
]
QUESTIONS = [
    {"id": "Q001", "qtype": "now", "question": "Where is the spare key?", "gold": [["m3"]], "stale": ["m1"]},
    {"id": "Q002", "qtype": "direct", "question": "What does Ines play?", "gold": [["m4"]], "stale": []},
    {"id": "Q003", "qtype": "negative", "question": "Which car does Ines drive?", "gold": [], "stale": []},
]
ANSWERS = {"Q001": "lockbox", "Q002": "violin"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    (folder / "data").mkdir()
    write(folder / "data" / "cabin.jsonl", [{"id": i, "at": at, "session": "s", "text": t} for i, at, t in MEMORIES])
    write(folder / "relations.jsonl", [{"store": "cabin", **row} for row in RELATIONS])
    asked = [{"at": "2025-03-01T12:00:00Z", "store": "cabin", "answer": ANSWERS.get(q["id"]), **q} for q in QUESTIONS]
    write(folder / "questions.jsonl", asked)
    (loaded,) = labelled_stores.load(folder)
    return loaded


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_relations_that_somebody_doubts_are_kept_apart(store):
    assert store.relations["update"] == {("m1", "m3")}
    assert store.relations["weak update"] == {("m2", "m3")}
    assert store.relations["duplicate"] == {("m2", "m4")}


def test_a_question_is_scored_by_its_gold_its_outdated_value_and_the_text_that_is_shown(store):
    scored = labelled_stores.questions(labelled_stores.run(store, replay.policy_for(preset="default"), "raw"))
    key, cello, car = scored.sort("question").to_dicts()
    assert (key["rank"], key["says"], key["fresh_first"], key["asked_before"]) == (1, 1.0, 1.0, True)
    assert (cello["hit"], cello["says"], cello["fresh_first"], cello["asked_before"]) == (1.0, 0.0, None, False)
    assert car["rank"] is None
    assert car["hit"] is None
    assert labelled_stores.baseline_hits(store).to_dict(as_series=False) == {
        "question": ["Q001", "Q002"],
        "hit": [1, 1],
    }


def test_what_a_run_decides_is_counted_against_the_relations(store):
    outcome = labelled_stores.run(store, replay.policy_for(preset="default"), "consolidated")
    wrong = labelled_stores.Outcome(
        store,
        "half",
        outcome.memories.with_columns(
            closed_by=pl.when(pl.col("memory_id") == "m1")
            .then(pl.lit("m3"))
            .when(pl.col("memory_id") == "m2")
            .then(pl.lit("m3")),
            lifecycle=pl.when(pl.col("memory_id").is_in(["m3", "m4", "m2"]))
            .then(pl.lit("archived"))
            .otherwise(pl.lit("active")),
            valid_until=pl.lit(None, pl.Datetime("us", "UTC")),
        ),
        outcome.edges.clear(),
        outcome.results,
    )
    counted = labelled_stores.relations(wrong)
    assert counted["closings right"] == (1, 2)
    assert counted["updates found"] == (1, 1)
    losses = labelled_stores.losses(wrong)
    assert (losses["outdated without correction"], losses["both copies lost"]) == (1, 1)


@pytest.mark.drill
def test_half_the_tokens_are_half_the_tokens_and_uses_are_known_to_the_run(store):
    policy = replay.policy_for(preset="default")
    half = labelled_stores.run(store, policy, "half used")
    assert labelled_stores.tokens_share(half) <= 0.51
    assert half.memories.filter(pl.col("memory_id") == "m3")["access_count"].item() > 0


def test_a_folder_without_stores_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"has no data/\*\.jsonl"):
        labelled_stores.load(tmp_path)


@pytest.mark.drill
def test_a_table_of_stores_has_every_figure_and_quotes_what_was_not_noticed(store):
    result = quality_stores.measure(store)
    table = {row.label: row for row in quality_stores.rows([result])}
    assert table["closings that are right"].target == "≥ .95"
    assert table["MRR after a run less raw"].note.endswith(f"{table_mrr(result):.3f}")
    wrong, missed = quality_quotes.quotes(store)
    assert wrong.columns == missed.columns == list(quality_quotes.QUOTES)
    assert ("repetition", MEMORIES[1][2], MEMORIES[3][2]) in missed.rows()


def test_of_every_kind_of_quote_some_are_chosen():
    many, one = (
        pl.DataFrame({"what": [what] * count, "older": [f"{n}" for n in range(count)], "newer": ["x"] * count})
        for what, count in (("closed", 30), ("merged", 1))
    )
    found = quality_quotes.chosen([many, one])
    assert found["what"].to_list() == ["closed"] * (quality_quotes.MOST - 1) + ["merged"]


@pytest.mark.drill
def test_the_cost_of_comparing_is_a_row_of_the_page():
    row = compare_cost.row(60)
    assert row.label.startswith("`compare` of 60 memories")
    assert row.value > 0
    assert "per memory" in row.note


def test_stores_that_the_judge_is_fitted_on_are_labelled_stores():
    store = stores.load()[0]
    older, newer = min(store.relations["update"])
    said = dict(store.turns.select("id", "at").iter_rows())
    assert said[older] < said[newer] < store.last


def table_mrr(result):
    return result.questions.filter(pl.col("state") == "raw")["mrr"].drop_nulls().mean()


def said(*words):
    """The labels of a note of one sentence."""
    return [tuple(GROUPS[group].index(word) for group, word in zip(GROUPS, words, strict=True))]


def test_core_memory_and_what_a_budget_loses_are_counted_against_the_labels(store):
    core = Core(
        {
            "m1": said("owner", "safety", "current", "3", "2", "stated"),
            "m2": said("thing", "fact", "moment", "0", "0", "happened"),
            "m3": said("owner", "safety", "lasting", "3", "2", "stated"),
            "m4": said("person", "preference", "lasting", "2", "1", "stated"),
        },
        ("m3", "m4"),
    )
    blocks = [
        {"profile_id": "p", "block": "health_and_safety", "members": ["m1"], "content": MEMORIES[0][2]},
        {
            "profile_id": "p",
            "block": "preferences",
            "members": ["m4", "m2"],
            "content": SEPARATOR.join((MEMORIES[3][2], MEMORIES[1][2])),
        },
    ]
    memories = pl.DataFrame(
        {
            "memory_id": ["m1", "m2", "m3", "m4"],
            "lifecycle": ["archived", "active", "archived", "archived"],
            "members": [[], [], [], []],
        },
        schema_overrides={"members": pl.List(pl.String)},
    )
    outcome = labelled_stores.Outcome(
        store, "half", memories, TABLES["association_edges"].empty(), {}, pl.DataFrame(blocks)
    )
    counts = measure_keeping.in_core_memory(outcome, core)
    assert {name: counts[name] for name in ("lines", "outdated, unmarked", "idle", "wishes of others")} == {
        "lines": 3,
        "outdated, unmarked": 1,
        "idle": 1,
        "wishes of others": 2,
    }
    assert (counts["harm shown"], counts["harm"], counts["core shown"], counts["core"]) == (1, 2, 1, 2)
    lost = measure_keeping.harm_lost(outcome, core)
    assert lost == {"half: harm lost": 1, "half: harm": 2, "half: harmless kept": 1}, "a copy of m4 is there"


@pytest.mark.drill
def test_questions_are_counted_by_confidence_and_by_what_the_labels_say(store):
    found = measure_review.pairs(store)
    assert found["related"].sum() >= found["right"].sum()
    assert found.filter("asked").height <= found.height
    counted = measure_review.shares(found)
    assert counted["pairs"].sum() == found.height
    assert "pairs asked about, of 4 memories" in measure_review.report([store])
