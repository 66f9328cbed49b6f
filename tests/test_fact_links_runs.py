"""Links about facts and closed sentences through whole runs: ledger, recall, snapshot, undo, erasure and rebuild."""

import json
from datetime import timedelta

import duckdb
import homes
import polars as pl
import pytest
import sampling
from homes import NIGHT
from lake_rows import files_of
from leftovers import found

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation import change_detection
from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake import snapshot
from memory_pipeline.ledger.event import parse
from memory_pipeline.recall.client.explain import explain
from memory_pipeline.runs import commit, rebuild, undo
from memory_pipeline.schemas import LIVE, TABLES

KILN, SHELF = "The kiln is fired at 900 degrees.", "The blue glaze stands on the top shelf."
TEXTS = {
    "kiln": f"{KILN} Its door faces the yard.",
    "hotter": "From now on we fire the kiln at zwirblquax degrees.",
    "shelf": SHELF,
    "cellar": "Maybe the glaze in blue is down in the cellar.",
    "again": "Reach up high if you need glaze for the sky.",
    "tram": "The tram to the harbour leaves at noon.",
    "late": "No tram goes to the harbour before the evening.",
}
FOUND = [
    ("kiln", "hotter", "update", True, KILN),
    ("shelf", "cellar", "update", False, None),
    ("shelf", "again", "duplicate", False, None),
    ("tram", "late", "conflict", False, None),
]
LINKS = [
    ("again", "shelf", "MAY_REPEAT", None),
    ("cellar", "shelf", "MAY_UPDATE", None),
    ("late", "tram", "CONTRADICTS", "conflict"),
]


def compare(memories, *_, as_of, plan_id, **__):
    """What a judge might find in those of `TEXTS` that are live and valid."""
    present = memories.filter(pl.col("lifecycle").is_in(LIVE))
    here = {row["memory_id"]: row for row in present.to_dicts() if row["content"] == TEXTS.get(row["memory_id"])}
    rows = [
        {
            "profile_id": "p",
            "memory_id": older,
            "other_id": newer,
            "relation": relation,
            "decided": decided,
            "confidence": 0.8,
            "statement": sentence,
            "at": here[newer]["created_at"],
            "rule": "test",
            "reason": f"'{TEXTS[newer]}' is about '{TEXTS[older]}'",
            "plan_id": plan_id,
        }
        for older, newer, relation, decided, sentence in FOUND
        if {older, newer} <= here.keys() and here[newer]["created_at"] <= as_of
    ]
    table = TABLES["fact_changes"]
    changes = table.conform(pl.DataFrame(rows, table.empty().schema)) if rows else table.empty()
    others = [TABLES[name].empty() for name in ("judgements", "change_odds", "pair_readings")]
    return change_detection.Compared(changes, *others, change_detection.POSSIBLE.to_frame())


@pytest.fixture(autouse=True)
def judge(monkeypatch):
    monkeypatch.setattr(change_detection, "compare", compare)


def event(kind, at, memory_id=None, event_id=None, **payload):
    row = {
        "event_id": event_id or f"{kind} {memory_id} {at}",
        "event_type": kind,
        "memory_id": memory_id,
        "profile_id": "p",
        "occurred_at": at,
        "payload": payload,
    }
    return parse(row, recorded_at=at, origin="test", future=None)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store after one night."""
    home = tmp_path_factory.mktemp("made")
    told = [
        event("memory.stored", NIGHT - timedelta(days=9 - index), name, content=text)
        for index, (name, text) in enumerate(TEXTS.items())
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(change_detection, "compare", compare)
        with homes.filled(home, told) as lake:
            plan = homes.night(lake)["consolidation_plan"]
            snapshot.publish(lake)
    return home, plan


@pytest.fixture
def lake(made, tmp_path):
    with homes.copied(made[0], tmp_path / "copy") as opened:
        yield opened


def later(lake, days, **policy):
    at = NIGHT + timedelta(days=days)
    return homes.night(lake, as_of=at, run_id=f"after {days}", policy=homes.settings(lake.home, **policy))[
        "consolidation_plan"
    ]


def about_facts(plan):
    return plan.filter(
        pl.col("rule").str.starts_with("fact_comparison")
        | (pl.col("rule") == "no_longer_proposed")
        | (pl.col("action") == "close")
    )


def links(lake):
    edges = lake.read("association_edges")
    return edges.filter(algorithm="fact_comparison").select("source", "target", "edge_type", "kind").rows()


def memory(lake, name):
    return lake.read("memories").row(by_predicate=pl.col("memory_id") == name, named=True)


def assert_rebuilt(lake):
    again = rebuild.rebuild(lake, "p")
    assert [name for name in commit.PUBLISHED if not again[name].equals(lake.read(name))] == []


def test_a_night_links_closes_and_stands(made, lake):
    plan = about_facts(made[1])
    assert sorted(plan["action"]) == ["close", "link", "link", "link"]
    assert sorted(links(lake)) == sorted(LINKS)
    link = plan.filter(memory_id="cellar").row(0, named=True)
    assert TEXTS["cellar"] in link["reason"]
    assert json.loads(link["factors"])["confidence"] == 0.8
    kiln = memory(lake, "kiln")
    assert [one["sentence"] for one in kiln["closed_statements"]] == [KILN]
    assert (kiln["lifecycle"], kiln["valid_until"], kiln["closed_by"]) == ("active", None, None)
    assert_rebuilt(lake)
    assert about_facts(later(lake, 1)).is_empty()


def test_recall_and_the_snapshot_show_what_is_doubtful(lake):
    with MemoryClient(lake.home, profile_id="p", clock=lambda: NIGHT) as client:
        answer = {hit.memory_id: hit for hit in client.recall("kiln blue glaze tram harbour", record=False)}
        text = client.recall("kiln blue glaze tram harbour", record=False).text()
    assert f"{KILN} [outdated since 2026-04-24] Its door" in answer["kiln"].text
    assert answer["kiln"].current is None
    assert (answer["shelf"].outdated_by, answer["cellar"].outdated_by) == (("cellar",), ())
    assert answer["tram"].conflicts == ("late",)
    assert f'{SHELF} (possibly outdated since 2026-04-26: "' in text
    lines = explain(lake, "kiln").text()
    assert f"\u201c{KILN}\u201d is no longer true since 2026-04-24" in lines
    assert "may have replaced it" in explain(lake, "shelf").text()
    (ended,) = memory(lake, "kiln")["closed_statements"]
    assert "replaced a part of \u201c" in explain(lake, ended["closed_by"]).text()
    with duckdb.connect(str(snapshot.publish(lake)), read_only=True) as connection:
        told = dict(connection.execute("SELECT aspect, value FROM explain('kiln')").fetchall())
        assert told["outdated sentence"].startswith(KILN)
        assert "kiln" in [row[0] for row in connection.execute("SELECT memory_id FROM current_memories").fetchall()]


@pytest.mark.drill
@pytest.mark.parametrize("name", sampling.first("shelf", "cellar"))
def test_a_closing_and_a_doubt_are_undone_this_by_either_memory_and_both_stay_away(lake, name):
    undo.undo(lake, "kiln", profile_id="p", now=NIGHT + timedelta(hours=1))
    assert memory(lake, "kiln")["closed_statements"] is None
    undone = undo.undo(lake, name, profile_id="p", now=NIGHT + timedelta(hours=1))
    assert set(undone["action"]) == {"link"}
    assert "MAY_UPDATE" not in [edge_type for _, _, edge_type, _ in links(lake)]
    assert_rebuilt(lake)
    assert about_facts(later(lake, 1)).is_empty()
    assert memory(lake, "kiln")["closed_statements"] is None


@pytest.mark.drill
def test_what_changes_loses_its_links_and_what_it_closed(lake):
    at = NIGHT + timedelta(hours=2)
    lake.ledger.append([event("memory.updated", at, name, content="Something else.") for name in ("hotter", "late")])
    plan = about_facts(later(lake, 1))
    assert plan.select("action", "memory_id", "target_id").rows() == [("prune", "late", "tram")]
    assert sorted(links(lake)) == sorted(LINKS[:2])
    assert memory(lake, "kiln")["closed_statements"] is None
    assert_rebuilt(lake)
    assert about_facts(later(lake, 2)).is_empty()


@pytest.mark.drill
def test_what_erased_memories_outdated_stays_closed_without_their_words(lake):
    at = NIGHT + timedelta(hours=2)
    erase_memories(lake, profile_id="p", memory_ids=["hotter", "cellar"], now=at)
    assert [one["sentence"] for one in memory(lake, "kiln")["closed_statements"]] == [KILN]
    assert sorted(links(lake)) == sorted([LINKS[0], LINKS[2]])
    assert_rebuilt(lake)
    assert about_facts(later(lake, 1)).is_empty()
    lake.close()
    assert found(lake.home, "zwirblquax", "down in the cellar") == []


@pytest.mark.drill
def test_a_memory_is_erased_with_its_closed_sentence(lake):
    erase_memories(lake, profile_id="p", memory_ids=["kiln"], now=NIGHT + timedelta(hours=2))
    assert_rebuilt(lake)
    lake.close()
    assert found(lake.home, KILN) == []


@pytest.mark.drill
def test_without_comparing_facts_links_stay_as_they_are(lake):
    assert about_facts(later(lake, 1, fact_changes=False)).is_empty()
    assert sorted(links(lake)) == sorted(LINKS)


def test_an_asserted_link_marks_like_a_decided_one(lake):
    link = {"target_id": "tram", "edge_type": "MAY_UPDATE"}
    lake.ledger.append([event("link.asserted", NIGHT, "late", **link)])
    with MemoryClient(lake.home, profile_id="p", clock=lambda: NIGHT) as client:
        answer = {hit.memory_id: hit for hit in client.recall("tram harbour", record=False)}
    assert answer["tram"].outdated_by == ("late",)


def test_columns_that_an_older_store_lacks_are_empty(lake):
    paths = files_of(lake, "memories")
    for path in paths:
        pl.read_parquet(path).drop("closed_statements").write_parquet(path)
    assert memory(lake, "kiln")["closed_statements"] is None
    with MemoryClient(lake.home, profile_id="p", clock=lambda: NIGHT) as client:
        assert client.recall("kiln", record=False)[0].closed_statements == ()
