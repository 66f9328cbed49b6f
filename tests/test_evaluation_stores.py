"""Stores in use, measured: what was really asked of them, and what helped."""

import json
from datetime import UTC, datetime, timedelta

import json_page
import polars as pl
import pytest
import sampling
from commands import as_json, refused, text

from memory_pipeline import MemoryClient
from memory_pipeline.evaluation import experiment, recall_log, replay, report, sources
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
FACTS = [
    "I moved to Porto on 1 March and rent a flat near the river.",
    "My sister Ines works as a midwife in Braga since 2019.",
    "Ben booked three tickets for the opera on 9 April.",
    "The heating engineer is called Duarte and comes on Mondays.",
    "We keep the spare keys of the boat in the blue tin.",
    "The cat Mimi is allergic to fish and eats chicken only.",
]
ASKED = ["Where does Ines work?", "Who repairs the heating?", "Where are the keys of the boat?"]


class Clock:
    """Tells a time that passes a day a look."""

    def __init__(self):
        self.at = START

    def __call__(self):
        self.at += timedelta(hours=6)
        return self.at


def used(home, profile="ana", *, helped=(), misled=(), k=4, consolidated=True):
    """Fill a store through its client: facts in three sessions, then questions, some of them with feedback."""
    with MemoryClient(home, profile_id=profile, clock=Clock()) as client:
        ids = [client.remember(fact, session_id=f"s{at // 2}", speaker="Ana") for at, fact in enumerate(FACTS)]
        for query in [*ASKED, *ASKED[:1]]:
            answer = client.recall(query, k)
            client.flush()
            for one in answer:
                if (query, one.content) in helped or (query, one.content) in misled:
                    client.feedback(one.memory_id, helpful=(query, one.content) in helped)
        if consolidated:
            client.consolidate()
    return ids


HELPED = ((ASKED[0], FACTS[1]), (ASKED[1], FACTS[3]), (ASKED[1], FACTS[0]))
MISLED = ((ASKED[1], FACTS[2]),)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    home = tmp_path_factory.mktemp("judged") / "data"
    return home, used(home, helped=HELPED, misled=MISLED)


@pytest.fixture(scope="module")
def unjudged(tmp_path_factory):
    home = tmp_path_factory.mktemp("unjudged") / "data"
    used(home, consolidated=False)
    return home


def test_a_store_in_use_is_a_conversation_with_what_was_asked_and_what_helped(judged):
    home, ids = judged
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*.parquet")}
    (chat,) = sources.read(home)
    assert chat.chat_id == "ana"
    assert chat.turns.select("id", "content").rows() == list(zip(ids, FACTS, strict=True))
    assert chat.turns["session_id"].to_list() == ["s0", "s0", "s1", "s1", "s2", "s2"]
    assert chat.turns["at"].is_sorted()
    assert set(chat.turns["speaker"]) == {"Ana"}
    rows = chat.questions.select("text", "kind", "evidence").rows()
    assert (ASKED[0], "recalled", [ids[1]]) in rows
    assert {row[0] for row in rows} == set(ASKED[:2]), "what nobody judged does not count beside what was"
    assert ids[3] in {row[0]: row[2] for row in rows}[ASKED[1]]
    assert "2 of 3 recalled questions" in chat.notes[0]
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*.parquet")} == before


def test_an_exported_store_is_the_same_conversation(judged, tmp_path):
    home, _ = judged
    text("snapshot", "--export", tmp_path / "exp.duckdb", home=home)
    (of_home,), (of_file,) = sources.read(home), sources.read(tmp_path / "exp.duckdb")
    columns = ["id", "at", "session_id", "speaker", "content"]
    assert of_file.turns.select(columns).equals(of_home.turns.select(columns))
    assert of_file.questions.equals(of_home.questions)
    assert of_file.notes == of_home.notes


@pytest.mark.drill
@pytest.mark.parametrize("exported", sampling.first(False, True))
def test_the_command_measures_a_store_and_says_on_what(judged, tmp_path, exported):
    home, _ = judged
    path = home
    if exported:
        path = tmp_path / "exp.duckdb"
        text("snapshot", "--export", path, home=home)
    page = tmp_path / "page.html"
    found = as_json("evaluate", path, "--budget", "0.5", "--html", page)
    json_page.agrees({"evaluate": [found]})
    assert [row["policy"] for row in found["means"]] == [experiment.EVERYTHING, "50%"]
    assert found["means"][0]["hit@10"] == 1
    assert found["notes"][0] == replay.UNLIMITED
    assert "2 of 3 recalled questions" in found["notes"][1]
    assert all(note in page.read_text("utf-8") for note in found["notes"])


@pytest.mark.drill
def test_where_nobody_said_what_helped_agreement_with_the_whole_store_is_measured(unjudged):
    (chat,) = sources.read(unjudged)
    assert chat.questions.select("text", "kind").rows() == [(query, "agreement") for query in ASKED]
    assert chat.notes == (recall_log.NO_FEEDBACK,)
    half = replay.policy_for(budget=0.4)
    made = experiment.evaluate([chat], {"half": half}, nights=1)
    whole = made.figures.filter(policy=experiment.EVERYTHING, group="")
    values = dict(whole.select("figure", "value").iter_rows())
    assert (values["hit@10"], values["recall@10"], values["mrr"]) == (1, 1, 1)
    less = dict(made.figures.filter(policy="half", group="").select("figure", "value").iter_rows())
    assert 0 < less["recall@10"] < 1
    assert made.notes == (replay.UNLIMITED, f"ana: {recall_log.NO_FEEDBACK}")
    assert "feedback" in report.html(made)
    soon = experiment.evaluate([chat], {}, ask_at="soon", nights=1)
    assert soon.questions.height == len(ASKED)


@pytest.mark.drill
def test_profiles_that_somebody_judged_are_not_mixed_with_those_that_nobody_did(tmp_path):
    home = tmp_path / "data"
    used(home, "ana", helped=HELPED, consolidated=False)
    used(home, "bo", consolidated=False)
    assert [chat.chat_id for chat in sources.read(home)] == ["ana"]
    used(home, "cleo", helped=HELPED[:1], consolidated=False)
    made = experiment.evaluate(sources.read(home), {}, nights=1)
    assert [note.partition(":")[0] for note in made.notes[1:]] == ["ana", "cleo"]


def test_feedback_on_a_summary_counts_for_what_it_stands_for():
    made = {"sum": ["a", "deeper"], "deeper": ["b", "c"]}
    assert recall_log.originals(["sum", "b", "d"], made) == ["a", "b", "c", "d"]


def event(kind, day, profile="ana", **rest):
    return {"event_type": kind, "occurred_at": f"2026-01-{day:02}T00:00:00Z", "profile_id": profile} | rest


def stored(day, content, **rest):
    return event("memory.stored", day, memory_id=f"m{day}", payload={"content": content}, **rest)


def asked(day, query="which x?", **rest):
    return event("memory.accessed", day, payload={"memory_ids": ["m1", "gone"], "query": query}, **rest)


def written(path, *lines):
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


def test_events_in_a_file_are_the_same_questions_as_in_a_store(tmp_path):
    answered = {"memory_ids": ["m1", "m2"], "query": "which x?", "ranks": [1, 2]}
    path = written(
        tmp_path / "mine.jsonl",
        stored(1, "x 1"),
        stored(2, "x 2"),
        event("memory.accessed", 3, payload=answered),
        event("feedback.given", 4, memory_id="m2", payload={"helpful": True}),
        event("memory.accessed", 5, payload=answered | {"query": "which other?"}),
        event("feedback.given", 6, memory_id="m2", payload={"helpful": False}),
    )
    text("import", "jsonl", path, home=tmp_path / "data")
    (of_file,), (of_home,) = sources.read(path), sources.read(tmp_path / "data")
    assert (of_file.chat_id, of_home.chat_id) == ("mine", "ana")
    assert of_home.questions.select("text", "evidence").rows() == [("which x?", ["m2"])]
    assert of_file.questions.drop("id").equals(of_home.questions.drop("id"))
    assert of_file.turns.equals(of_home.turns)
    assert of_file.notes == of_home.notes


@pytest.mark.drill
def test_a_file_of_several_profiles_is_several_conversations(tmp_path):
    lines = [
        line for name in ("ana", "bo") for line in (stored(1, f"{name} has x", profile=name), asked(2, profile=name))
    ]
    path = written(tmp_path / "mine.jsonl", *lines)
    chats = sources.read(path)
    assert [(chat.chat_id, *chat.turns["content"]) for chat in chats] == [
        ("mine/ana", "ana has x"),
        ("mine/bo", "bo has x"),
    ]
    assert [chat.questions["evidence"].to_list() for chat in chats] == [[["m1"]], [["m1"]]]
    assert {row["chat"] for row in as_json("evaluate", path, "--budget", "0.5")["stores"]} == {"mine/ana", "mine/bo"}


@pytest.mark.drill
def test_lines_that_an_import_refuses_are_counted_with_the_first_reason(tmp_path):
    path = written(
        tmp_path / "mine.jsonl",
        stored(1, "x"),
        stored(1, "x"),
        stored(1, "another x"),
        "{not json",
        stored(2, " "),
        asked(3),
    )
    said = " ".join(text("evaluate", path, "--budget", "0.5").split())
    assert "mine: 3 lines were left out, the first: mine.jsonl:3: memory_id is 'm1'" in said
    assert replay.UNLIMITED in said
    assert "1 line was left out: mine.jsonl:1: " in refused("evaluate", written(path, "{", stored(2, "x")))


def test_a_file_with_no_readable_line_names_the_first_with_field_and_value(tmp_path):
    path = written(tmp_path / "mine.jsonl", stored(1, 7), stored(2, ""))
    said = refused("evaluate", path)
    assert "mine.jsonl: has no readable turn; correct it, first mine.jsonl:1: " in said
    assert all(part in said for part in ("content", "7"))
    assert "give a LoCoMo, BEAM or event file" in refused("evaluate", written(path))


@pytest.mark.drill
def test_what_was_erased_is_neither_replayed_nor_asked(tmp_path):
    home = tmp_path / "data"
    ids = used(home, helped=HELPED[:2], k=1)
    assert set(sources.read(home)[0].questions["text"]) == set(ASKED[:2])
    with MemoryClient(home, profile_id="ana") as client:
        client.erase(ids[1])
    (chat,) = sources.read(home)
    assert chat.turns["id"].to_list() == [ids[0], *ids[2:]]
    assert chat.questions.select("text", "evidence").rows() == [(ASKED[1], [ids[3]])]
    with Lake(home) as lake:
        (of_file,) = sources.read(snapshot.export(lake, tmp_path / "exp.duckdb"))
    assert of_file.questions.equals(chat.questions)


def test_a_store_without_questions_is_refused_with_the_remedy(tmp_path):
    home = tmp_path / "data"
    with MemoryClient(home) as client:
        client.remember(FACTS[0])
    said = refused("evaluate", home)
    assert "no recall was logged with its query" in said
    assert "evaluate it after it has been in use" in said
    with Lake(home) as lake:
        snapshot.export(lake, tmp_path / "exp.duckdb")
        old = snapshot.export(snapshot.newest(home), tmp_path / "old.duckdb")
    assert "holds no memory" in refused("evaluate", tmp_path / "exp.duckdb")
    assert "snapshot --export" in refused("evaluate", old)
    (tmp_path / "empty").mkdir()
    assert "is a folder without memories" in refused("evaluate", tmp_path / "empty")
    assert list((tmp_path / "empty").iterdir()) == []
    (tmp_path / "no.duckdb").write_bytes(b"no")
    assert "is not an exported store" in refused("evaluate", tmp_path / "no.duckdb")
    assert "no such file" in refused("evaluate", tmp_path / "none.duckdb")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "events.parquet")
    assert "give the data folder" in refused("evaluate", tmp_path / "events.parquet")
