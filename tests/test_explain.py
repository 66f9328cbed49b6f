import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import homes
import polars as pl
import pytest
from frames import AS_OF, ago
from lake_rows import revert
from stores import commit, rows, tables

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.recall.client.explain import explain


def stored(memory_id, profile_id="p", **payload):
    return {
        "event_id": f"event of {memory_id}",
        "event_type": "memory.stored",
        "profile_id": profile_id,
        "memory_id": memory_id,
        "occurred_at": ago(100).isoformat(),
        "payload": {"content": f"note {memory_id}"} | payload,
    }


def accessed(memory_id):
    return {
        "event_type": "memory.accessed",
        "profile_id": "p",
        "occurred_at": ago(50).isoformat(),
        "payload": {"memory_ids": [memory_id]},
    }


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    home = tmp_path_factory.mktemp("committed")
    with Lake(home) as opened:
        written = [stored("g"), accessed("g"), stored("a"), stored("a", "q") | {"event_id": "event of q's a"}]
        opened.ledger.append([parse(event, recorded_at=AS_OF, origin="test") for event in written])
        opened.project()
        commit(opened, tables(), as_of=ago(1))
    return home


@pytest.fixture
def lake(committed, tmp_path):
    with homes.copied(committed, tmp_path) as opened:
        yield opened


def test_scores_come_factor_by_factor_with_their_formulas(lake):
    told = explain(lake, "g")
    factors = {factor.name: factor for factor in told.scores}
    assert factors["age_factor"].value == 0.9048
    assert factors["age_factor"].meaning == "exp(-base_decay_rate * age_days)."
    assert (told.is_protected, told.protection_reason) == (True, "younger than 90 days")
    assert told.centrality["pagerank"] == 0.25
    assert told.memory["lifecycle"] == "active"


def test_edges_come_strongest_first_and_refused_merges_with_the_reason(lake):
    told = explain(lake, "g")
    assert [(edge["other"], edge["weight"]) for edge in told.edges] == [("c", 0.9), ("f", 0.5)]
    assert [(refusal["other"], refusal["reason"]) for refusal in told.refusals] == [("f", "numbers")]
    (apart,) = (line for line in told.lines() if "not merged" in line)
    assert re.search(r": they differ in numbers( \([^\[\]]+\))?\.$", apart), apart


def test_a_member_leads_to_cluster_decision_event_and_summary(lake):
    told = explain(lake, "a", profile_id="p")
    assert [cluster["label"] for cluster in told.clusters] == ["postgres"]
    assert [(row["action"], row["target_id"], row["rule"], row["run_id"]) for row in told.decisions] == [
        ("supersede", "s", "superseded_by_summary", "run of plan1")
    ]
    assert [event["event_id"] for event in told.events] == ["event of a"]
    assert [summary["memory_id"] for summary in told.summaries] == ["s"]
    assert (told.scores, told.is_protected) == ((), None)


def test_a_summary_leads_to_its_members_and_their_events(lake):
    told = explain(lake, "s")
    assert [(member["memory_id"], member["event_id"]) for member in told.members] == [
        ("a", "event of a"),
        ("b", "event of b"),
    ]
    assert [row["action"] for row in told.decisions] == ["summarise"]


def test_the_text_shows_the_first_members_of_a_summary_and_of_long_ones_the_beginning(lake):
    told = explain(lake, "s")
    long = {**told.members[0], "content": "The fence is green. " * 200}
    lines = replace(told, members=(long,) * 30).lines()
    assert "  ... and 20 more" in lines
    assert max(map(len, lines)) < 400
    assert len(replace(told, members=(long,) * 30).to_dict()["members"]) == 30


def test_accesses_are_counted_and_not_listed_as_lineage(lake):
    assert [event["event_type"] for event in explain(lake, "g").events] == ["memory.stored"]


def test_every_recall_says_when_by_which_query_and_at_which_rank(lake):
    recall = accessed("g") | {"session_id": "s1", "payload": {"memory_ids": ["a", "g"], "query": "a\nport?"}}
    recall["payload"] |= {"ranks": [1, 2], "expanded": ["g"]}
    lake.ledger.append([parse(recall, recorded_at=AS_OF, origin="test")])
    told = explain(lake, "g")
    assert [(row["query"], row["rank"], row["session_id"], row["expanded"]) for row in told.accesses] == [
        (None, None, None, False),
        ("a\nport?", 2, "s1", True),
    ]
    text = told.lines()
    assert text[text.index("Last found by:") + 1] == f"  {ago(50):%Y-%m-%d} \u201ca port?\u201d"


def test_an_answer_is_explained_by_its_parts(lake):
    parts = [{"name": "lexical", "value": 0.5, "weight": 2.0}, {"name": "speaker", "value": 1.0, "weight": 0.25}]
    told = explain(lake, "g", recalled={"rank": 3, "score": 0.625, "parts": parts})
    assert told.to_dict()["recalled"]["parts"] == parts
    assert "It is number 3 of the answer, for words (80%) and person and time (20%)." in told.lines()


def test_a_memory_stored_since_the_last_run_is_told_as_far_as_it_is_known(lake):
    lake.ledger.append([parse(stored("fresh") | {"profile_id": "p"}, recorded_at=AS_OF, origin="test")])
    told = explain(lake, "fresh")
    assert (told.consolidated, told.scores, told.is_protected, told.edges) == (False, (), None, ())
    assert told.memory["content"] == "note fresh"
    assert [(event["event_id"], event["consolidated"]) for event in told.events] == [("event of fresh", False)]
    text = told.lines()
    assert "No consolidation has read it yet; the next one compares it with the others." in text
    assert json.loads(json.dumps(told.to_dict()))["consolidated"] is False


def test_a_memory_of_a_profile_without_any_run_is_told_too(lake):
    lake.ledger.append([parse(stored("first", "new"), recorded_at=AS_OF, origin="test")])
    assert explain(lake, "first").memory["content"] == "note first"
    with pytest.raises(ValueError, match="memory 'frist' is unknown in profile 'new'; the nearest are first; correct"):
        explain(lake, "frist", profile_id="new")
    with pytest.raises(ValueError, match=r"memory 'first' is unknown in profile 'new' as of 1999-01-01"):
        explain(lake, "first", profile_id="new", as_of=datetime(1999, 1, 1, tzinfo=UTC))


def test_what_left_the_live_set_says_by_which_decision(lake):
    left = tables()
    after = {"lifecycle": "archived", "superseded_by": None, "superseded_kind": None}
    left["decisions"] = (
        left["decisions"]
        .filter(pl.col("decision_id") == "4")
        .with_columns(decision_id=pl.lit("8"), after=pl.lit(json.dumps(after)), plan_id=pl.lit("plan2"))
    )
    commit(lake, left, plan_id="plan2")
    left = "It is archived; only a deep recall finds it. Relevance 0.01 is below 0.05."
    assert left in explain(lake, "e").lines()


def test_what_is_trimmed_says_what_recall_shows(lake):
    later = tables()
    later["memories"] = later["memories"].with_columns(
        trimmed=pl.when(pl.col("memory_id") == "g").then(pl.lit("port 81"))
    )
    commit(lake, later, plan_id="plan2")
    assert "A recall shows only \u201cport 81\u201d; a deep one shows all of it." in explain(lake, "g").lines()


def test_an_erased_memory_says_when_and_why_and_nothing_of_what_it_said(tmp_path):
    with Lake(tmp_path) as lake:
        lake.ledger.append([parse(stored("g"), recorded_at=AS_OF, origin="test")])
        erase_memories(lake, profile_id="p", memory_ids=["g"], now=AS_OF, reason="asked for by Ann")
        told = explain(lake, "g")
    assert (told.memory["lifecycle"], told.memory["content"]) == ("erased", "[erased]")
    assert told.erased == {"at": AS_OF, "reason": "asked for by Ann"}
    assert [event["event_type"] for event in told.events] == ["memory.stored", "memory.erased"]
    text = told.lines()
    erased = f"It was erased on {AS_OF:%Y-%m-%d}: asked for by Ann; nothing of what it said is left."
    assert erased in text
    assert "note g" not in "\n".join(text) + json.dumps(told.to_dict())


def test_decisions_carry_their_numbers_and_whether_they_were_undone(lake):
    revert(lake.ledger, "p", ["4"], reason="Still needed.", occurred_at=AS_OF, recorded_at=AS_OF)
    (archived,) = explain(lake, "e").decisions
    assert archived["factors"] == {"strength": 0.01, "threshold": 0.05}
    assert archived["reverted"]
    assert not any(row["reverted"] for row in explain(lake, "s").decisions)


def test_everything_is_plain_json_and_text(lake):
    told = explain(lake, "g")
    document = json.loads(json.dumps(told.to_dict()))
    assert document["as_of"] == ago(1).isoformat()
    assert document["memory"]["created_at"] == ago(100).isoformat()
    assert document["edges"][0]["other"] == "c"
    text = told.lines()
    assert text[0] == "\u201cThe port is 81\u201d"
    assert "It does not fade: younger than 90 days." in text
    assert any(line.startswith("It is related to 2 others: ") for line in text)
    assert any(line.startswith("It replaced ") for line in text)
    assert text[-1] == "memory g of profile p"
    assert not any(word in "\n".join(text) for word in ("age_factor", "SIMILAR_TO", "0.9048"))


def test_long_lists_and_texts_are_cut_and_folded_in_the_text_only(lake):
    later = tables()
    later["memories"] = later["memories"].with_columns(content=pl.lit("one\n\ttwo  three"))
    later["association_edges"] = rows(
        "association_edges", [{"source": "g", "target": f"t{index:02}", "edge_type": "X"} for index in range(25)]
    )
    commit(lake, later, plan_id="plan2")
    told = explain(lake, "g")
    assert len(told.to_dict()["edges"]) == 25
    assert told.memory["content"] == "one\n\ttwo  three"
    assert "\u201cone two three\u201d" in told.lines()
    assert any(line.startswith("It is related to 25 others, most of all to t00, t01 and t02") for line in told.lines())


def test_as_of_shows_the_tables_of_the_last_run_up_to_then(lake):
    later = tables()
    later["scored_memories"] = later["scored_memories"].with_columns(age_factor=0.5)
    later["memories"] = pl.concat([later["memories"], later["memories"].tail(1).with_columns(memory_id=pl.lit("new"))])
    commit(lake, later, plan_id="plan2", as_of=AS_OF)

    def factor(as_of):
        told = explain(lake, "g", as_of=as_of)
        return told.as_of, next(score.value for score in told.scores if score.name == "age_factor")

    assert factor(None) == factor(AS_OF) == factor(AS_OF + timedelta(9)) == (AS_OF, 0.5)
    assert factor(ago(1)) == factor(ago(0.5)) == (ago(1), 0.9048)
    with pytest.raises(ValueError, match=r"as_of = .* lies before the first run of profile 'p'; ask for 2025-12-31"):
        explain(lake, "g", as_of=ago(2))
    with pytest.raises(ValueError, match=r"'new' is unknown in profile 'q' as of 2025-12-31"):
        explain(lake, "new", as_of=ago(0.5))


def test_an_unknown_id_is_named_with_the_nearest_ones_and_a_remedy(lake):
    later = tables()
    later["memories"] = later["memories"].with_columns(
        memory_id=pl.when(pl.col("memory_id") == "g").then(pl.lit("port-number")).otherwise("memory_id")
    )
    commit(lake, later, plan_id="plan2")
    with pytest.raises(ValueError, match="'port-numbr' is unknown in any profile; the nearest are port-number; "):
        explain(lake, "port-numbr")
    with pytest.raises(ValueError, match=r"'zzzzzzzz' is unknown in profile 'p' .*; no id is similar; correct the id"):
        explain(lake, "zzzzzzzz", profile_id="p")


def test_an_id_of_two_profiles_asks_for_one_and_profiles_stay_apart(lake):
    with pytest.raises(ValueError, match="'a' exists in the profiles p, q; name one of them"):
        explain(lake, "a")
    told = explain(lake, "a", profile_id="q")
    assert told.memory["content"] == "Another tenant's note"
    assert (told.edges, told.decisions, told.summaries, told.clusters) == ((), (), (), ())
    assert [event["event_id"] for event in told.events] == ["event of q's a"]


def test_a_profile_without_memories_is_refused_with_a_remedy(lake):
    with pytest.raises(ValueError, match="profile 'r' has no memory; correct the name"):
        explain(lake, "a", profile_id="r")
    with Lake(lake.home / "empty") as empty, pytest.raises(ValueError, match="'a' is unknown in any profile"):
        explain(empty, "a")
