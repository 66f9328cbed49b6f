"""Conversations lived through again: what is left, what questions get, and the files of others."""

import dataclasses
import html
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
import quality
import quality_page
from quality_page import Row

from memory_pipeline.evaluation import experiment, replay, report
from memory_pipeline.evaluation.conversations import chat
from memory_pipeline.evaluation.metrics import FIGURES, RECORDS, RESULTS
from memory_pipeline.evaluation.replay_files import read_events, read_queries
from memory_pipeline.evaluation.replay_files import run as replay_files
from memory_pipeline.settings import SettingsError, model_files
from memory_pipeline.settings.new_stores import EMBEDDER
from memory_pipeline.text.parse.tokens import count_tokens

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAID = (
    ("a1", "s1", "Ana", "I moved to Porto on 1 March and rent a flat near the river."),
    ("b1", "s1", "Ben", "Wow, that sounds great! How are you?"),
    ("a2", "s1", "Ana", "Oh well, you know, same old, same old, haha."),
    ("a3", "s2", "Ana", "My sister Ines works as a midwife in Braga since 2019."),
    ("b2", "s2", "Ben", "Nice, nice. Life is what it is, I guess, right?"),
    ("b3", "s3", "Ben", "I booked 3 tickets for the opera on 9 April."),
)
WHEN = [START + timedelta(hours=9 * place) for place in range(len(SAID))]
"""Two days, so that a replay has few nights."""
END = WHEN[-1] + timedelta(days=1)


def small():
    turns = [
        {"id": name, "at": at, "session_id": session, "speaker": who, "content": text}
        for at, (name, session, who, text) in zip(WHEN, SAID, strict=True)
    ]
    questions = [
        {"id": "q1", "text": "Where does Ines work?", "kind": "single-hop", "evidence": ["a3"], "answer": "Braga"},
        {"id": "q2", "text": "When does Ben go to the opera?", "kind": "temporal", "evidence": ["b3"]},
        {"id": "q3", "text": "Which car does Ana drive?", "kind": "adversarial", "evidence": ["a1"]},
    ]
    return chat("small", turns, questions)


TOLD = (
    "I bought a canoe from Ruth for 300 euros in March.",
    "The dentist moved my appointment to 12 May at nine.",
    "My brother Karl teaches chemistry in Graz since 2018.",
    "Our cat Minka is afraid of the new vacuum cleaner.",
    "I planted nine rows of leeks behind the shed.",
    "The spare key hangs behind the blue barn door.",
    "Vera lent me her copy of the book about lighthouses.",
    "The dentist moved my appointment again, it is on 14 May at ten.",
)
ASKED = ("canoe Ruth", None, "Karl Graz", "cat vacuum", "leeks shed", "spare key", "book", "dentist appointment")


def other():
    """One person's notes, of which the last changes the second; half of their tokens cannot answer all questions."""
    turns = [
        {"id": f"t{at}", "at": START + timedelta(hours=at), "session_id": "s", "speaker": "Eva", "content": text}
        for at, text in enumerate(TOLD)
    ]
    questions = [
        {"id": f"q{at}", "text": f"What about {words}?", "kind": "single-hop", "evidence": [f"t{at}"], "answer": text}
        for at, (words, text) in enumerate(zip(ASKED, TOLD, strict=True))
        if words
    ]
    questions[-1] |= {"kind": "knowledge_update", "original": ["t1"], "updated": ["t7"]}
    return chat("other", turns, questions)


def people(**changes):
    """Events and questions as the exports of two-person chats have them."""
    events = pl.DataFrame(
        {
            "kind": ["create"] * len(SAID) + ["query"],
            "time": [*WHEN, END - timedelta(hours=9)],
            "id": [row[0] for row in SAID] + ["t1"],
            "content": [row[3] for row in SAID] + ["Who is a midwife?"],
            "speaker": [row[2] for row in SAID] + [None],
            "session_id": [row[1] for row in SAID] + [None],
            "type": ["chat"] * len(SAID) + [None],
            "importance": [0.5] * len(SAID) + [None],
        }
    )
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "time": [END, END], "text": ["Where does Ines work?", "Opera?"]})
    return changes.get("events", lambda frame: frame)(events), changes.get("queries", lambda frame: frame)(queries)


def messages():
    """The same as plain messages, without time zone."""
    events, queries = people()
    told = events.filter(pl.col("kind") == "create").select(
        "id", pl.col("time").dt.replace_time_zone(None), pl.col("session_id").alias("session"), "speaker", "content"
    )
    return told, queries.rename({"query_id": "id"})


def written(folder, frames):
    folder.mkdir(exist_ok=True)
    paths = folder / "events.parquet", folder / "queries.parquet"
    for frame, path in zip(frames, paths, strict=True):
        frame.write_parquet(path)
    return paths


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with the files, and what a replay without preset and budget made of them there."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, replay_files(*written(folder, people()), folder / "out")


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """The same with both."""
    folder = tmp_path_factory.mktemp("short")
    return folder, replay_files(*written(folder, people()), folder / "out", budget=0.6, preset="default")


def test_without_preset_and_budget_the_store_is_what_was_said(whole):
    folder, made = whole
    hot = pl.read_parquet(folder / "out" / "hot.parquet")
    assert dict(hot.schema) == RECORDS
    assert hot["id"].to_list() == [row[0] for row in SAID]
    assert hot["text"].to_list() == [f"{row[2]}: {row[3]}" for row in SAID]
    assert hot["member_ids"].to_list() == [[row[0]] for row in SAID]
    assert hot["t_start"].to_list() == WHEN == hot["t_end"].to_list()
    results = pl.read_parquet(folder / "out" / "results.parquet")
    assert dict(results.schema) == RESULTS
    assert results.filter(pl.col("query_id") == "q1").sort("rank")["id"][0] == "a3"
    assert set(results["id"]) <= set(hot["id"])
    assert made.hot.equals(hot)


@pytest.mark.drill
def test_both_layouts_give_the_same_store_and_answers(whole, tmp_path):
    _, one = whole
    two = replay_files(*written(tmp_path, messages()), tmp_path / "out")
    assert one.hot.equals(two.hot)
    assert one.results.equals(two.results)


@pytest.mark.drill
def test_a_budget_shortens_the_store_to_it_and_keeps_facts(whole, short):
    tokens = [int(count_tokens(made.hot["text"]).sum()) for _, made in (whole, short)]
    assert tokens[1] <= 0.6 * tokens[0]
    left = " ".join(short[1].hot["text"])
    assert "midwife" in left
    assert "opera" in left


@pytest.mark.drill
def test_a_replay_is_the_same_every_time_and_in_any_order_of_rows(short, tmp_path):
    folder, once = short
    events, queries = people()
    again = replay_files(
        *written(tmp_path, (events.reverse(), queries)), tmp_path / "out", budget=0.6, preset="default"
    )
    assert once.hot.equals(again.hot)
    assert once.results.equals(again.results)
    bytes_of = [(side / "out" / "hot.parquet").read_bytes() for side in (folder, tmp_path)]
    assert bytes_of[0] == bytes_of[1]


def test_a_question_asked_early_sees_only_what_was_said_by_then():
    chat = small()
    early = pl.DataFrame(
        {"id": ["early", "late"], "at": [WHEN[2] + timedelta(hours=1), END], "text": ["midwife in Braga"] * 2},
        schema=replay.QUERIES,
    )
    found = replay.run(chat.turns, early, replay.policy_for(), nights=2).results
    by = dict(found.sort("rank").group_by("query_id").agg("id").iter_rows())
    assert by["late"][0] == "a3"
    assert set(by["early"]) <= {"a1", "b1", "a2"}


@pytest.mark.drill
def test_an_earlier_question_counts_as_a_recall():
    chat = small()
    training = pl.DataFrame({"id": ["t"], "at": [WHEN[4]], "text": ["midwife in Braga"]}, schema=replay.QUERIES)
    asked = experiment.queries(chat)
    made = replay.run(chat.turns, asked, replay.policy_for(preset="default"), training=training, nights=2)
    counts = dict(made.memories.select("memory_id", "access_count").iter_rows())
    assert counts["a3"] == 1
    assert counts["b3"] == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop("time"), "events.parquet: has no column 'time' (has kind, id"),
        (lambda frame: frame.drop("content"), "has no column 'content'"),
        (lambda frame: frame.with_columns(pl.col("time").cast(pl.String)), "column 'time' is String; give timestamps"),
        (lambda frame: frame.with_columns(id=pl.lit("x")), "column 'id' has 'x' more than once"),
        (lambda frame: frame.with_columns(content=pl.lit(None, pl.String)), "column 'content' is null in 6 rows"),
        (lambda frame: frame.with_columns(kind=pl.lit("delete")), "column 'kind' has 7 rows with other values"),
        (lambda frame: frame.clear(), "holds no message"),
    ],
)
def test_events_that_cannot_be_replayed_are_refused_by_column(tmp_path, change, said):
    path, _ = written(tmp_path, people(events=change))
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text follows
        read_events(path)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop("query_id"), "queries.parquet: has no column 'id'"),
        (lambda frame: frame.drop("text"), "has no column 'text'"),
        (lambda frame: pl.concat([frame, frame]), "has the question 'q1' more than once"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused_by_column(tmp_path, change, said):
    _, path = written(tmp_path, people(queries=change))
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text follows
        read_queries(path)
    assert said in str(refused.value)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        read_events(tmp_path / "none.parquet")
    bad = tmp_path / "bad.parquet"
    bad.write_text("no")
    with pytest.raises(ValueError, match="is not Parquet"):
        read_events(bad)


def test_turns_of_one_id_are_refused():
    turns = small().turns
    with pytest.raises(ValueError, match="two turns have the id 'a1'"):
        replay.run(pl.concat([turns, turns]), pl.DataFrame(schema=replay.QUERIES), replay.policy_for())


def test_unknown_presets_and_impossible_budgets_are_refused():
    with pytest.raises(SettingsError, match="did you mean 'engram'"):
        replay.policy_for(preset="engramm")
    with pytest.raises(SettingsError, match="token_budget"):
        replay.policy_for(budget=-1.0)


def test_a_policy_without_a_preset_keeps_everything_but_for_its_budget():
    policy = replay.policy_for(budget=0.5)
    assert (policy.methods, policy.forgetting, policy.token_budget) == ((), (), 0.5)
    assert replay.policy_for(preset="automem").preset == "automem"


@pytest.fixture(scope="module")
def trial():
    policies = {"half": replay.policy_for(budget=0.5)}
    return experiment.evaluate([small(), other()], policies, nights=1)


def test_a_trial_compares_each_policy_with_keeping_everything(trial):
    assert trial.stores["policy"].to_list() == ["keep everything"] * 2 + ["half"] * 2
    whole = trial.stores.filter(pl.col("policy") == "keep everything")
    assert whole["tokens_share"].to_list() == [1.0, 1.0]
    assert (trial.stores.filter(pl.col("policy") == "half")["tokens_share"] <= 0.5).all()
    hits = trial.figures.filter((pl.col("figure") == "hit@10") & (pl.col("group").str.len_chars() == 0))
    assert hits["ratio"][0] == 1.0
    assert 0.0 < hits["ratio"][1] <= 1.1
    assert (hits["low"] <= hits["value"]).all()
    assert (hits["value"] <= hits["high"]).all()
    assert "adversarial" not in set(trial.questions["kind"])


def test_a_trial_is_json_and_one_row_a_policy(trial):
    document = json.loads(json.dumps(trial.to_dict()))
    assert set(document) == {"conversations", "figures", "stores", "means", "lost", "definitions", "notes"}
    means = trial.means()
    assert means["policy"].to_list() == ["keep everything", "half"]
    assert {"tokens_share", "seconds", "hit@10", "fresh-first"} <= set(means.columns)


def test_a_trial_names_its_conversations_and_the_questions_that_were_lost(trial):
    small_chat, _ = trial.conversations.to_dicts()
    assert (small_chat["chat"], small_chat["turns"], small_chat["questions"]) == ("small", small().turns.height, 2)
    assert (small_chat["first"], small_chat["last"]) == (WHEN[0], WHEN[-1])
    scores = trial.questions.select("policy", "chat", "question", hit=pl.col("hit@10") > 0)
    whole = scores.filter(policy="keep everything").drop("policy")
    half = scores.filter(policy="half").drop("policy").join(whole, on=["chat", "question"], suffix="_whole")
    lost = half.filter(~pl.col("hit") & pl.col("hit_whole")).select("chat", "question").rows()
    rows = trial.lost.filter(policy="half")
    assert rows.select("chat", "question").rows() == lost
    assert lost
    missed = whole.filter(~pl.col("hit")).select("chat", "question").rows()
    assert trial.lost.filter(policy="keep everything").select("chat", "question").rows() == missed
    row = rows.row(0, named=True)
    assert all(row[name] for name in ("asked", "expected", "instead"))
    text = report.html(trial)
    assert report.lost_heading("half", len(lost)) in html.unescape(text)
    assert "small" in text
    assert f"{WHEN[0]:%Y-%m-%d}" in text
    assert report.quoted(row["asked"]) in html.unescape(text)
    many = pl.concat([rows] * (report.LISTED // rows.height + 2))
    assert f"and {many.height - report.LISTED} more" in report.html(dataclasses.replace(trial, lost=many))


def test_the_page_of_a_trial_stands_alone(trial):
    text = report.html(trial, title="<b>Ours</b> & theirs")
    assert "&lt;b&gt;Ours&lt;/b&gt; &amp; theirs" in text
    assert "http://" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "https://" not in text
    assert "<script" not in text
    drawings = text.count("<svg")
    assert drawings >= 4
    for part in text.split("<figure>")[1:]:
        ET.fromstring(part.split("</figure>")[0])  # noqa: S314 - it is ours
    for name in ("keep everything", "half", "hit@10", "fresh-first"):
        assert name in text


@pytest.mark.parametrize("ask_at", ["end", "soon"])
def test_questions_are_asked_at_the_end_or_soon(ask_at):
    asked = experiment.queries(small(), ask_at)
    assert asked["id"].to_list() == ["q1", "q2"]
    expected = [END, END] if ask_at == "end" else [WHEN[3] + timedelta(days=1), END]
    assert asked["at"].to_list() == expected


def test_conversations_without_questions_or_with_one_name_are_refused():
    chat = small()
    silent = type(chat)("silent", chat.turns, chat.questions.clear())
    with pytest.raises(ValueError, match="silent: no question with evidence"):
        experiment.evaluate([silent], {})
    with pytest.raises(ValueError, match="two conversations are named 'small'"):
        experiment.evaluate([chat, chat], {})
    with pytest.raises(ValueError, match="a policy is named 'keep everything'"):
        experiment.evaluate([chat], {"keep everything": replay.policy_for()})


def test_quality_names_its_jobs_and_refuses_an_empty_folder(tmp_path):
    with pytest.raises(ValueError, match=r"has no \*\.json"):
        quality.jobs(tmp_path, "beam", ["raw"], {})
    (tmp_path / "beam").mkdir()
    (tmp_path / "beam" / "1.json").write_text("{}")
    raw, half, tiers = quality.jobs(
        tmp_path, "beam", ["raw", "0.5", "three_tier"], {"beam/1": {"ranking": {"words": 1.0}}}
    )
    assert raw.models == {"ranking": {"words": 1.0}}
    assert (half.policy().token_budget, tiers.policy().preset) == (0.5, "three_tier")
    assert quality.main([str(tmp_path / "nowhere"), "--part", "presets"]) == 2


FERRY = [
    "The ferry to the island leaves at ten past six.",
    "Thanks, that is all for today.",
    "My cabin on the ferry is number 214, next to the stairs.",
    "It rained the whole afternoon and we played cards.",
    "Aunt Solveig meets us at the pier with her blue van.",
    "Good night!",
]


def conversation(path):
    """Write a conversation of our own in the layout of BEAM."""
    said = [
        {"id": n, "session": "1.1", "day": "2025-06-01", "role": "user", "content": text}
        for n, text in enumerate(FERRY)
    ]
    asked = [
        {"id": "q1", "type": "information_extraction", "question": "Which cabin do I have?", "evidence": ["2"]},
        {"id": "q2", "type": "information_extraction", "question": "Who meets us at the pier?", "evidence": ["4"]},
    ]
    path.write_text(json.dumps({"chat": 1, "messages": said, "questions": asked}), "utf-8")
    return path


@pytest.mark.drill
def test_one_job_of_quality_is_scored_by_both_retrievers(tmp_path):
    done = quality.run_job(quality.Job("beam", conversation(tmp_path / "1.json"), "0.7"))
    assert done.tokens_share <= 0.7
    assert done.scored["question"].to_list() == done.neutral["question"].to_list() == ["q1", "q2"]
    assert done.scored["hit@10"].sum() == done.neutral["hit@10"].sum() == 2.0


NAME = model_files.ranking_names(EMBEDDER)[0]


@pytest.mark.drill
def test_a_job_of_quality_ranks_by_the_models_that_it_is_given(tmp_path):
    path = conversation(tmp_path / "1.json")
    backwards = {
        NAME: {name: -value for name, value in model_files.coefficients(NAME).items()},
        "changes": dict.fromkeys(model_files.coefficients("changes"), 0.0),
    }
    shipped, other = (quality.run_job(quality.Job("beam", path, "raw", models)) for models in ({}, backwards))
    assert shipped.scored["mrr"].to_list() == [1.0, 1.0]
    assert max(other.scored["mrr"]) < 1.0


def test_a_row_of_quality_tells_how_far_conversations_differ():
    def done(chat_id, variant, *hits):
        asked = {"chat": chat_id, "question": [str(index) for index in range(len(hits))], "kind": "single-hop"}
        scored = pl.DataFrame(
            asked | dict.fromkeys(FIGURES) | {"hit@10": hits}, schema_overrides={"hit@10": pl.Float64}
        )
        return quality.JobResult(quality.Job("locomo", Path(chat_id), variant), scored, scored, 1.0, 0.0, 0)

    measured = quality.Measurements([done("a", "raw", 1, 1), done("b", "raw", 1, 0, 0), done("a", "0.5", 1, 0)])
    row = measured.mean("locomo", "raw", "hit@10", "≥ .5", "hit")
    assert (row.value, row.note) == (0.6, "5 questions of 2 conversations")
    assert row.between == (pytest.approx(1 / 3), 1.0)


@pytest.mark.parametrize(
    ("value", "target", "reached"),
    [
        (0.88, "≥ .88", True),
        (0.879, "≥ .88", False),
        (0.011, "≤ .01", False),
        (31.0, "≤ 30", False),
        (None, "≥ 1", False),
    ],
)
def test_a_figure_is_held_against_its_target(value, target, reached):
    assert Row("x", value, None, None, target, "").reached is reached


def test_the_page_of_quality_holds_what_was_measured_and_what_was_there_before():
    costs = pl.DataFrame({"preset": ["a"], "tokens": [0.5], "seconds": [1.0], "largest cluster": [3]}).with_columns(
        pl.lit(0.8).alias("hit@10"), pl.lit(0.7).alias("hit@10 low"), pl.lit(0.9).alias("hit@10 high")
    )
    hit = Row("hit", 0.9, 0.85, 0.95, "≥ .88", "9 questions", (0.8, 1.0))
    wrong = pl.DataFrame({"what": ["closed, wrongly"], "older": ["It is red."], "newer": ["It is round."]})
    first = quality_page.page(
        {
            "stores": quality_page.table([hit, Row("F1", 0.5, None, None, "≥ .80", "")]),
            "wrong": quality_page.quotes(wrong),
            "presets": quality_page.costs(costs),
        },
        "",
        when="1 May 2026 at abc",
    )
    again = [Row("seen", 1.0, None, None, None, "")]
    text = quality_page.page({"stores": quality_page.table(again)}, first, when="2 May 2026 at def")
    assert "| hit | 0.900 [0.850, 0.950] | 0.800-1.000 | ≥ .88 | yes | 9 questions |" in first
    assert "| F1 | 0.5 |  | ≥ .80 | no |  |" in first
    assert "| hit |" not in text
    assert "| seen | 1 |  |  |  |  |" in text
    assert (text.count("1 May 2026 at abc"), text.count("2 May 2026 at def")) == (2, 1)
    assert "| closed, wrongly | It is red. | It is round. |" in text
    assert "| a | 50.0% | 1.0 | 3 | 0.800 (0.70-0.90) |" in text
