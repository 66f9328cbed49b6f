"""`evaluate`: conversations under policies, one replay in files, and pairs of texts, as a user calls them."""

import json
from datetime import UTC, datetime, timedelta

import json_page
import polars as pl
import pytest
from commands import as_json, call, refused, text

from memory_pipeline.evaluation.experiment import EVERYTHING

FACTS = ["the anvil is red", "the boat has nine oars", "the clock stopped at noon", "Dora keeps bees"]
START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.fixture(scope="module")
def conversation(tmp_path_factory):
    """A conversation in the LoCoMo layout: eight turns in two sessions, and a question about each fact."""
    talk = {"speaker_a": "Ana", "speaker_b": "Bo"}
    for session in (1, 2):
        talk[f"session_{session}_date_time"] = f"1:56 pm on {7 + session} May, 2023"
        talk[f"session_{session}"] = [
            {"dia_id": f"D{session}:{turn}", "speaker": ("Ana", "Bo")[turn % 2], "text": said}
            for turn, said in enumerate(["Hello there!", *FACTS[2 * session - 2 : 2 * session], "Bye, then."], 1)
        ]
    asked = [
        {"question": f"Do you know that {fact}?", "answer": fact, "evidence": [f"D{1 + at // 2}:{2 + at % 2}"],
         "category": 4}
        for at, fact in enumerate(FACTS)
    ]  # fmt: skip
    file = tmp_path_factory.mktemp("evaluate") / "talk.json"
    file.write_text(json.dumps({"sample_id": "talk", "conversation": talk, "qa": asked}), "utf-8")
    return file


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Events and questions as Parquet, in the columns of the scoring kits."""
    folder = tmp_path_factory.mktemp("replay")
    said = [
        {"kind": "create", "time": START + timedelta(hours=at), "id": f"e{at}", "content": fact, "speaker": "Ana",
         "session_id": f"s{at // 2}", "type": None, "importance": 0.5}
        for at, fact in enumerate(FACTS)
    ]  # fmt: skip
    asked = [
        {"query_id": f"q{at}", "time": START + timedelta(days=9), "text": fact + "?"} for at, fact in enumerate(FACTS)
    ]
    pl.DataFrame(said).write_parquet(folder / "events.parquet")
    pl.DataFrame(asked).write_parquet(folder / "queries.parquet")
    return folder


@pytest.mark.drill
def test_files_are_what_is_evaluated_where_no_other_word_stands_first(conversation, tmp_path):
    page = tmp_path / "page.html"
    said = text("evaluate", conversation, "--budget", "0.5", "--html", page)
    assert "4 questions about 1 conversation" in said
    assert EVERYTHING in said
    assert "50%" in said
    assert "hit@10" in said
    assert "2023-05-08 to 2023-05-09" in said
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert "<svg" in page.read_text("utf-8")
    assert "script" not in page.read_text("utf-8")


@pytest.mark.drill
def test_presets_and_budgets_are_tried_together_and_compared_with_keeping_everything(conversation):
    found = as_json(
        "evaluate",
        "files",
        conversation,
        "--preset",
        "automem",
        "--budget",
        "0.5",
        "--budget",
        "40",
        "--budget",
        "0.000001",
    )
    assert [row["policy"] for row in found["means"]] == [
        EVERYTHING,
        "automem",
        "automem 50%",
        "automem 40 tokens",
        "automem 0.0001%",
    ]
    whole = [row for row in found["figures"] if row["group"] == "" and row["figure"] == "hit@10"]
    assert len(whole) == 5
    assert all(row["low"] <= row["value"] <= row["high"] for row in whole)
    shares = {row["policy"]: row["tokens_share"] for row in found["stores"]}
    assert shares[EVERYTHING] == 1
    assert shares["automem 50%"] <= 0.5


def test_a_replay_writes_what_other_scorers_read(tables, tmp_path):
    done = as_json("evaluate", "replay", tables / "events.parquet", tables / "queries.parquet", tmp_path / "out")
    hot = pl.read_parquet(tmp_path / "out" / "hot.parquet")
    results = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert {"id", "text", "member_ids"} <= set(hot.columns)
    assert results.columns == ["query_id", "rank", "id"]
    assert set(results["id"]) <= set(hot["id"])
    first = results.filter(rank=1).sort("query_id")
    assert first["id"].to_list() == ["e0", "e1", "e2", "e3"]
    assert (done["memories"], done["questions"]) == (hot.height, 4)
    json_page.agrees({"evaluate replay": [done]})


def test_a_budget_shrinks_the_replayed_store(tables, tmp_path):
    args = (tables / "events.parquet", tables / "queries.parquet", tmp_path / "out")
    said = text("evaluate", "replay", *args, "--budget", "0.5", "--embedder", "hashing")
    assert "written: " in said
    kept = pl.read_parquet(tmp_path / "out" / "hot.parquet")["text"]
    assert 0 < sum(len(one.split()) for one in kept) < sum(len(fact.split()) + 1 for fact in FACTS)


@pytest.mark.drill
def test_pairs_come_back_line_by_line_with_what_a_run_does(tmp_path):
    lines = [
        {"first": "My rent is $900 a month.", "second": "My rent went up to $950 a month.", "mine": 7},
        {"a": "Tea is served at five.", "b": "Tea is served at five."},
        {"texts": ["I like tea.", "The sun is hot."]},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    found = [json.loads(line) for line in text("evaluate", "pairs", file).splitlines()]
    assert [row["outcome"] for row in found] == ["closed", "merged", "nothing"]
    assert [row["label"] for row in found] == ["update", "duplicate", "unrelated"]
    assert found[0]["mine"] == 7
    assert all({"confidence", "reason", "later"} <= set(row) for row in found)
    said = text("evaluate", "pairs", file, "--out", tmp_path / "out.jsonl")
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()] == found
    assert all(outcome in said for outcome in ("closed", "merged", "nothing"))


@pytest.mark.parametrize(
    ("args", "status", "parts"),
    [
        (("no.json",), 1, ("no.json: cannot be read",)),
        (("{talk}", "--preset", "automen"), 1, ("did you mean 'automem'?",)),
        (("{talk}", "--budget", "-1"), 2, ("--budget", "given: -1")),
        (("{talk}", "--budget", "0"), 2, ("'--budget'", "greater than 0", "given: 0")),
        (("{talk}", "--embedder", "foo"), 2, ("'--embedder'", "unknown embedder; use hashing", "given: foo")),
        (("replay", "{events}", "{queries}", "out", "--budget", "0"), 2, ("'--budget'", "greater than 0")),
        (("replay", "{events}", "{queries}", "out", "--embedder", "foo"), 2, ("'--embedder'", "unknown embedder")),
        (("{talk}", "--ask-at", "noon"), 2, ("--ask-at", "'end', 'soon'")),
        (("{talk}", "--html", "/no/x.html"), 2, ("--html /no/x.html", "no folder /no")),
        (("{talk}", "--html", "/tmp"), 2, ("--html /tmp", "is a folder")),  # noqa: S108
        (("{talk}", "{talk}"), 1, ("two conversations are named 'talk'",)),
        (("replay", "no.parquet", "no.parquet", "out"), 1, ("no.parquet: cannot be read",)),
        (("replay", "{talk}", "{talk}", "out"), 1, ("is not Parquet",)),
        (("replay", "{events}", "{queries}", "{talk}"), 2, ("OUT", "is a file")),
        (("replay", "{queries}", "{queries}", "out"), 1, ("has no column",)),
        (("replay", "{events}", "{queries}"), 2, ("Missing argument 'OUT'",)),
        (("pairs", "no.jsonl"), 1, ("no.jsonl: cannot be read",)),
        (("pairs", "{talk}"), 1, ("line 1",)),
        (("pairs", "/dev/null"), 1, ("/dev/null: holds no pair; give two texts per line",)),
        (("pairs", "{talk}", "--out", "/no/x"), 2, ("--out /no/x", "no folder /no")),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(conversation, tables, tmp_path, monkeypatch, args, status, parts):
    monkeypatch.chdir(tmp_path)
    names = {"talk": conversation, "events": tables / "events.parquet", "queries": tables / "queries.parquet"}
    said = refused("evaluate", *(arg.format(**names) for arg in args), status=status)
    assert all(part in said for part in parts), said
    assert list(tmp_path.iterdir()) == []


def test_the_group_says_what_it_offers():
    help_ = call("evaluate", "--help").stdout
    assert all(name in help_ for name in ("files", "replay", "pairs"))
