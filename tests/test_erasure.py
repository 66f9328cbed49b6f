import gzip
import json
import os
import shutil
import sqlite3
import unicodedata
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import in_place
import polars as pl
import pytest
import sampling
from leftovers import UnknownKind, found

from memory_pipeline.erasure.erase import erase_memories, resume_erasure
from memory_pipeline.erasure.quotes import Quotes
from memory_pipeline.erasure.receipt import Receipt
from memory_pipeline.interop.importing import ImportReport, import_events
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import payloads
from memory_pipeline.ledger.commits import Conflict
from memory_pipeline.ledger.event import DeadLetter, InvalidEvent, parse
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.runs import commit, consolidate, inputs, rebuild, undo
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import load

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
LATIN = os.fsdecode(b"caf\xe9.json")
TOLD = "Ana met Doctor Zwirblquax in Lyon on 3 May 2025 about her knee."
ALL = ["a", "a2", "a3", "a4"]
WORDS = ("zwirblquax", "köppelfritz", "about her knee")


def event(kind, *, days=30.0, **fields):
    raw = {"event_type": kind, "occurred_at": (NOW - timedelta(days=days)).isoformat()} | fields
    return parse(raw, recorded_at=NOW - timedelta(days=days), origin="test")


def stored(memory_id, content, *, days=30.0, user_id="ana", profile_id="p", **payload):
    return event(
        "memory.stored",
        days=days,
        event_id=f"event of {memory_id}",
        profile_id=profile_id,
        memory_id=memory_id,
        user_id=user_id,
        session_id="s1",
        payload={"content": content} | payload,
    )


def accessed(event_id, query, *memory_ids, user_id=None, profile_id="p"):
    return event(
        "memory.accessed",
        days=20,
        event_id=event_id,
        profile_id=profile_id,
        user_id=user_id,
        payload={"memory_ids": memory_ids, "query": query, "ranks": [*range(1, len(memory_ids) + 1)]},
    )


EVENTS = [
    stored("a", TOLD, speaker="Ana", metadata={"clinic": "Köppelfritz"}, protected=True, protected_reason="health"),
    stored("a2", "Ana met Doctor Zwirblquax in Lyon on 3 May 2025 about her knee", days=29.9),
    stored("a3", "Ana wants only Doctor Zwirblquax to operate", days=29.8, memory_type="Decision"),
    stored("a4", "Ana met Doctor Zwirblquax in Lyon on 3 May 2025 about her knee!", days=29.75),
    stored("t1", "Bo likes green tea in the morning", days=29.7, user_id="bo"),
    stored("t2", "Bo likes green tea in the morning.", days=29.6, user_id="bo"),
    stored("t3", "Bo likes green tea in the morning!", days=29.5, user_id="bo"),
    stored("w", "The wifi password hangs on the fridge", days=29.4, user_id="bo"),
]
MORE = [
    accessed("x1", "who is zwirblquax?", "a", "t1"),
    accessed("x2", "which doctor, Köppelfritz?", "w", user_id="ana"),
    accessed("x3", "which tea?", "t1"),
    accessed("x4", "which decision?", "a3"),
    event(
        "memory.updated",
        days=10,
        event_id="u1",
        profile_id="p",
        memory_id="a",
        payload={"content": "Ana met Doctor Zwirblquax in Lyon on 4 May 2025 about her knee."},
    ),
    event(
        "link.asserted",
        event_id="l1",
        profile_id="p",
        memory_id="w",
        payload={"target_id": "a", "edge_type": "RELATES_TO", "metadata": {"why": "Zwirblquax has wifi"}},
    ),
    event(
        "link.asserted",
        event_id="l2",
        profile_id="p",
        memory_id="w",
        payload={"target_id": "t1", "edge_type": "RELATES_TO", "metadata": {"why": "Zwirblquax drinks tea"}},
    ),
    event(
        "session.ended",
        event_id="s1",
        profile_id="p",
        session_id="s1",
        payload={"metadata": {"notes": "knee, Zwirblquax"}},
    ),
    event("feedback.given", event_id="f1", profile_id="p", memory_id="a", payload={"helpful": True}),
]
OTHER = event(
    "memory.stored",
    event_id="event of q's a",
    profile_id="q",
    memory_id="a",
    payload={"content": "Somebody else's note about rowing"},
)


def run(lake, as_of, **wanted):
    settings = load(lake.home, environment={})
    profiles = inputs.select_profiles(lake, settings, as_of=as_of, **wanted)
    return consolidate.consolidate(lake, settings, profiles, run_id=f"run-{as_of:%d%H}")


def letter(raw, reason="importance is 7"):
    return DeadLetter(origin="test", reason=reason, raw=raw, received_at=NOW)


def lived_in(home):
    """A store in which the words have been everywhere."""
    lake = Lake(home)
    lake.ledger.append([*EVENTS, OTHER])
    run(lake, NOW - timedelta(days=25))
    snapshot.publish(lake)
    lake.ledger.append(MORE)
    run(lake, NOW - timedelta(days=5))
    snapshot.publish(lake)
    rebuild.snapshot_at(lake, NOW - timedelta(days=22))
    refused = {"event_type": "memory.stored", "profile_id": "p", "payload": {"content": TOLD, "importance": 7}}
    lake.ledger.add_dead_letters(
        [
            letter(json.dumps(refused).encode()),
            letter(b'{"half": "Doctor Zwirblquax'),
            letter(json.dumps({"clinic": "Köppelfritz"}).encode()),
            letter(json.dumps(refused | {"payload": {"content": "about tea", "importance": 7}}).encode()),
        ]
    )
    completion = {"request_hash": "r", "model": "m", "purpose": "summary", "outcome": "answered", "profile_id": "p"}
    numbers = {"input_tokens": 1, "output_tokens": 1, "cost": 0.0}
    lake.append("completions", pl.DataFrame([completion | numbers | {"content": "Ana saw Dr Zwirblquax"}]))
    compaction.compact(lake.ledger, lake.store, before=NOW - timedelta(days=15))
    compaction.archive(lake.ledger, lake.store, before=NOW - timedelta(days=25))
    settings = load(home, environment={})
    planned = consolidate.preview(lake, settings, inputs.select_profiles(lake, settings, as_of=NOW))
    for name in ("memories", "consolidation_plan", "enrichment"):
        lake.stage("run-7", name, planned[name])
    for folder, file in (("index", "p.txt"), ("dagster/storage/1/compute_logs", "step.err"), ("logs", "http.log")):
        (home / folder).mkdir(parents=True)
        (home / folder / file).write_text(f"failed at {TOLD!r}: cannot be read")
    return lake


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    home = tmp_path_factory.mktemp("lived") / "home"
    lived_in(home).close()
    return home


@pytest.fixture
def lake(template, tmp_path):
    with copied(template, tmp_path / "home") as opened:
        yield opened


@contextmanager
def copied(home, to):
    shutil.copytree(home, to, symlinks=True)
    with Lake(to) as opened:
        yield opened


@dataclass(frozen=True)
class Erased:
    """A store after an erasure, its receipt, and what was published or planned before it."""

    home: Path
    receipt: Receipt
    before: pl.DataFrame
    profiles: pl.DataFrame
    planned: dict[str, pl.DataFrame]


def erased(template, home, told=(), **scope):
    """Plan a run over a copy of the store, and erase from it before the plan is committed."""
    with copied(template, home) as lake:
        if told:
            lake.ledger.append(told)
            run(lake, NOW)
        for name in ("plan.json", LATIN):
            (home / name).write_text(json.dumps({"reason": TOLD}))
        settings = load(home, environment={})
        profiles = inputs.select_profiles(lake, settings, as_of=LATER)
        planned = consolidate.preview(lake, settings, profiles)
        before = lake.read("memories", profiles=["p"])
        for name, owner in (("letters.jsonl", None), ("gone.jsonl", "p"), ("other.jsonl", "q"), (LATIN, "p")):
            lake.ledger.note_export(home.parent / name, at=NOW, profile_id=owner)
        for name in ("letters.jsonl", "other.jsonl", LATIN):
            (home.parent / name).touch()
        receipt = erase_memories(lake, profile_id="p", now=LATER, reason="asked for", **scope)
        in_place.same(lake)
    for name in ("plan.json", LATIN):
        (home / name).unlink()
    return Erased(home, receipt, before, profiles, planned)


@pytest.fixture(scope="module")
def without_ana(template, tmp_path_factory):
    """A store from which all that Ana said was erased, and a file of whose folder still held words of it."""
    return erased(template, tmp_path_factory.mktemp("without_ana") / "home", memory_ids=ALL)


@pytest.fixture(scope="module")
def without_some(template, tmp_path_factory):
    """A store from which members of two summaries were erased, and one of two memories of the same text."""
    told = [stored("w2", "The wifi password hangs on the fridge")]
    home = tmp_path_factory.mktemp("without_some") / "home"
    return erased(template, home, told, memory_ids=["w", "t1", "a2"])


@pytest.fixture(scope="module")
def without_a(template, tmp_path_factory):
    """A store from which one memory was erased."""
    home = tmp_path_factory.mktemp("without_a") / "home"
    with copied(template, home) as lake:
        erase_memories(lake, profile_id="p", memory_ids=["a"], now=LATER)
    return home


@pytest.fixture
def after(without_ana, tmp_path):
    with copied(without_ana.home, tmp_path / "after") as opened:
        yield opened


def published(lake, profile_id="p"):
    return {name: lake.read(name, profiles=[profile_id]) for name in commit.PUBLISHED}


def assert_rebuilt(lake, profile_id="p"):
    again = rebuild.rebuild(lake, profile_id)
    for name, frame in published(lake, profile_id).items():
        assert frame.equals(again[name].sort(TABLES[name].key)), name


def test_the_store_holds_the_words_everywhere_before(template):
    places = " ".join(found(template, *WORDS))
    wanted = ("ledger.sqlite: events", "ledger.sqlite: decisions", "dead_letters", "snapshots/", "lake/events")
    wanted += ("lake/payloads", "lake/memories", "lake/completions", "lake/enrichment", "archive/", "runs/run-7")
    wanted += (
        "lake/summaries",
        "lake/clusters",
        ".duckdb: keywords",
        ".duckdb: names",
        "lake/core_memory_blocks",
        "dagster/",
        "logs/",
        "index/",
    )
    assert [place for place in wanted if place not in places] == []


def test_words_are_found_in_files_of_every_kind_and_a_kind_that_nothing_reads_fails(tmp_path):
    said = {"names": ["Köppelfritz"], "gist": TOLD}
    pl.DataFrame([said]).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.json").write_text(json.dumps(said))
    (tmp_path / "c.jsonl").write_text(json.dumps({}) + "\n" + json.dumps(said))
    (tmp_path / "d.toml").write_text('clinic = "K\\u00f6ppelfritz"')
    (tmp_path / "e.log.gz").write_bytes(gzip.compress(TOLD.encode() + "Köppelfritz".encode()))
    (tmp_path / "f.log").write_text("Köppelfritz")
    with closing(sqlite3.connect(tmp_path / "g.db")) as connection:
        connection.execute("CREATE TABLE t (blob BLOB)")
        connection.execute("INSERT INTO t VALUES (?)", [json.dumps(said).encode()])
        connection.commit()
    with duckdb.connect(tmp_path / "h.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT ['Köppelfritz'] AS names")
        connection.execute("CREATE MACRO m() AS 'Köppelfritz'")
    places = found(tmp_path, "köppelfritz")
    assert {place[0] for place in places} == set("abcdefgh")
    assert {"g.db: t", "h.duckdb: t", "h.duckdb: macros", "b.json: json", "e.log.gz: gzip"} <= set(places)
    (tmp_path / "i.pickle").write_bytes(b"\x80\x04")
    with pytest.raises(UnknownKind, match=r"i\.pickle"):
        found(tmp_path, "anything")


def test_erased_words_are_nowhere_and_a_run_under_way_keeps_nothing_of_them(after, without_ana):
    assert found(after.home, *WORDS) == []
    assert after.verify().is_empty()
    assert_rebuilt(after)
    assert set(ALL) <= set(without_ana.receipt.erased)
    assert resume_erasure(after) is None
    assert after.read("memories", profiles=["q"])["content"].to_list() == ["Somebody else's note about rowing"]
    planned, since = without_ana.planned, without_ana.profiles["seq"][0]
    after.append("enrichment", planned["enrichment"], since=since)
    after.stage("r", "memories", planned["memories"], since=since)
    assert after.staged("r", "memories")["profile_id"].unique().to_list() == ["q"]
    run(after, LATER)
    after.close()
    assert found(after.home, *WORDS) == []


@pytest.mark.drill
@pytest.mark.parametrize("scope", sampling.first({"whole_profile": True}, {"user_id": "ana"}), ids=["profile", "user"])
def test_a_second_erasure_leaves_out_what_was_erased_and_says_when_and_a_wider_one_leaves_no_words(
    without_a, tmp_path, scope
):
    with copied(without_a, tmp_path / "home") as lake:
        position = lake.ledger.position()
        again = erase_memories(lake, profile_id="p", memory_ids=["a"], now=LATER + timedelta(days=1))
        assert (again.erased, again.already, again.at) == ((), ("a",), LATER)
        assert (again.events, again.decisions, again.files_removed) == (0, 0, ())
        assert lake.ledger.position() == position
        more = erase_memories(lake, profile_id="p", now=LATER + timedelta(days=1), **scope)
        others = () if "user_id" in scope else ("t1", "t2", "t3", "w")
        assert (more.erased, more.already) == (("a2", "a3", "a4", *others), ("a",))
        assert found(lake.home, *WORDS) == []
        assert lake.verify().is_empty()
        assert_rebuilt(lake)
        assert lake.read("memories", profiles=["q"])["content"].to_list() == ["Somebody else's note about rowing"]


def test_all_other_memories_stay_and_a_tombstone_says_what_is_gone(after, without_ana):
    left = after.read("memories", profiles=["p"])
    same = ["memory_id", "content", "content_hash", "lifecycle", "access_count", "last_accessed_at", "superseded_by"]
    others = pl.col("memory_id").is_in(["t1", "t2", "t3", "w"])
    assert left.filter(others).select(same).equals(without_ana.before.filter(others).select(same))
    stone = left.row(by_predicate=pl.col("memory_id") == "a", named=True)
    assert (stone["content"], stone["lifecycle"], stone["lifecycle_since"]) == ("[erased]", "erased", LATER)
    words = ("speaker", "metadata", "protected_reason", "session_id", "user_id", "index_text", "trimmed")
    assert [name for name in words if stone.get(name) is not None] == []
    assert stone["created_at"] == NOW - timedelta(days=30)
    assert not set(ALL) & {*after.read("score_history", profiles=["p"])["memory_id"]}


def test_the_snapshot_keeps_accesses_of_other_memories_without_queries_that_quoted(template, after):
    asked = "SELECT query, memory_id FROM accesses WHERE query LIKE '%zwirblquax%' ORDER BY ALL"
    rest = "SELECT query, memory_id FROM accesses ORDER BY seq, ordinal"
    with duckdb.connect(str(snapshot.newest(template)), read_only=True) as connection:
        assert connection.execute(asked).fetchall() == [("who is zwirblquax?", "a"), ("who is zwirblquax?", "t1")]
    for path in (snapshot.newest(after.home), snapshot.export(after, after.home.parent / "all.duckdb")):
        with duckdb.connect(str(path), read_only=True) as connection:
            assert connection.execute(rest).fetchall() == [(None, "t1"), (None, "w"), ("which tea?", "t1")]
            words = connection.execute("SELECT keyword FROM keywords UNION ALL SELECT name FROM names").fetchall()
            assert not {word for (text,) in words for word in WORDS if word in text.lower()}


def test_the_ledger_keeps_that_it_happened_and_nothing_of_the_words(after, without_ana):
    receipt, rows = without_ana.receipt, after.ledger.read()
    (erasure,) = [row for row in rows if row[3] == "memory.erased" and row[11] == "a"]
    said = json.loads(erasure[-1])
    assert said["reason"] == "asked for"
    (stands,) = [digest for name, digest in said["digests"].items() if name.startswith("memory.stored")]
    original = next(one for one in EVENTS if one.memory_id == "a").payload_json()
    assert payloads.digest(original, salt=bytes.fromhex(receipt.salt)) == stands
    (stored_row,) = [row for row in rows if row[1] == "event of a"]
    assert json.loads(stored_row[-1]) == {"erased": stands, "erased_at": payloads.written(LATER)}
    assert receipt.salt not in str(rows)


def test_what_others_say_keeps_its_meaning_without_the_words(after):
    said = {row[1]: json.loads(row[-1]) for row in after.ledger.read() if row[2] == "p"}
    assert (said["x1"]["memory_ids"], said["x1"].get("query")) == (["a", "t1"], None)
    assert (said["x2"]["memory_ids"], said["x2"].get("query")) == (["w"], None)
    assert said["x3"]["query"] == "which tea?"
    assert (said["l2"]["target_id"], said["l2"].get("metadata")) == ("t1", None)
    assert "target_id" not in said["l1"]
    assert after.ledger.dead_letters()["raw"].to_list()[0].find(b"about tea") > 0
    assert after.ledger.dead_letters().height == 1


def test_a_broken_second_delivery_that_names_only_its_event_keeps_no_text(after):
    (own, *_) = [row[1] for row in after.ledger.read() if row[2] == "p" and row[-1].find('"erased"') > 0]
    after.ledger.add_dead_letters(
        [
            letter(json.dumps({"event_id": own, "MEMORY_ID": "a", "payload": {"content": "blue yacht"}}).encode()),
            letter(f'{{"event_id": "{own}", "payload": {{"content": "blue yac'.encode()),
            letter(b'{"event_id": "unknown", "payload": {"content": "green yac'),
        ]
    )
    kept = [raw for raw in after.ledger.dead_letters()["raw"] if b"yac" in raw]
    assert kept == [b'{"event_id": "unknown", "payload": {"content": "green yac']


def link_to(memory, words):
    """The payload of a link with a note."""
    return {"target_id": memory, "edge_type": "RELATES_TO", "metadata": {"why": words}}


def test_an_event_that_comes_late_keeps_no_words_about_an_erased_memory(after):
    words = "Zwirblquax of Lyon"
    late = [
        event(
            "memory.accessed",
            event_id="late1",
            profile_id="p",
            payload={"memory_ids": ["w2", "a"], "query": words, "ranks": [1, 2]},
        ),
        event("link.asserted", event_id="late2", profile_id="p", memory_id="w2", payload=link_to("a", words)),
        event(
            "relation.resolved",
            event_id="late3",
            profile_id="p",
            memory_id="w2",
            payload={"target_id": "a", "relation": "partial", "statement": words},
        ),
        event(
            "memory.accessed",
            event_id="late4",
            profile_id="p",
            payload={"memory_ids": ["w2"], "query": "where is the wifi password?"},
        ),
    ]
    assert after.ledger.append(late).accepted == len(late)
    after.ledger.add_dead_letters(
        [letter(json.dumps({"event_type": "no", "profile_id": "p", "payload": link_to("a", words)}).encode())]
    )
    payload = {
        row[1]: json.loads(row[-1]) for row in after.ledger.read() if row[1] in {"late1", "late2", "late3", "late4"}
    }
    assert (payload["late1"]["memory_ids"], payload["late1"]["ranks"]) == (["w2", "a"], [1, 2])
    assert payload["late4"]["query"] == "where is the wifi password?"
    after.close()
    assert found(after.home, words) == []


@pytest.mark.drill
def test_a_second_delivery_brings_nothing_back(after):
    again = after.ledger.append(EVENTS)
    assert (again.accepted, again.duplicates) == (0, len(EVENTS))
    fresh = event("memory.stored", event_id="new id", profile_id="p", memory_id="a", payload={"content": TOLD})
    with pytest.raises(KnownMemory, match="memory_id is 'a', under which profile 'p' had a memory that was erased"):
        after.ledger.append([fresh])
    late = {"event_id": "late", "profile_id": "p", "memory_id": "a", "payload": {"content": TOLD}}
    assert import_events(after.ledger, [fresh, event("memory.updated", **late)]) == ImportReport(1, 0, 1)
    run(after, LATER + timedelta(days=1))
    stone = after.read("memories", profiles=["p"]).row(by_predicate=pl.col("memory_id") == "a", named=True)
    assert (stone["content"], stone["lifecycle"]) == ("[erased]", "erased")
    after.close()
    assert found(after.home, "4 May 2025") == []


@pytest.mark.drill
def test_an_undo_brings_nothing_back(after):
    for run_id in ("run-2400", "run-0400"):
        undo.undo(after, run_id, cascade=True, now=LATER + timedelta(hours=1))
        assert_no_words(after)
    snapshot.publish(after)
    after.close()
    assert found(after.home, *WORDS) == []


def assert_no_words(lake):
    texts = lake.read("memories", profiles=["p"])["content"].str.to_lowercase()
    assert not texts.str.contains_any(list(WORDS)).any()


@pytest.mark.drill
def test_a_summary_is_made_anew_of_what_is_left_or_its_last_member_stands_for_itself(without_some, tmp_path):
    summaries, receipt = without_some.before.filter(pl.col("kind") == "compression"), without_some.receipt
    tea, doctor = (summaries.filter(pl.col("members").list.contains(name))["memory_id"].item() for name in ("t1", "a2"))
    with copied(without_some.home, tmp_path / "home") as lake:
        after = lake.read("memories", profiles=["p"])
    made = after.row(by_predicate=pl.col("memory_id") == tea, named=True)
    assert made["members"] == ["t2", "t3"]
    assert made["lifecycle"] == "active"
    assert "tea" in made["content"]
    assert after.filter(pl.col("memory_id").is_in(["t2", "t3"]))["superseded_by"].to_list() == [tea, tea]
    assert tea in receipt.remade
    assert doctor in receipt.dropped
    assert doctor not in set(after["memory_id"])
    assert "a4" in receipt.restored
    left = after.row(by_predicate=pl.col("memory_id") == "a4", named=True)
    assert (left["lifecycle"], left["superseded_by"]) == ("active", None)


@pytest.mark.drill
def test_the_same_text_under_another_id_stays_and_is_named(without_some, tmp_path):
    assert without_some.receipt.same_text == ("w2",)
    with copied(without_some.home, tmp_path / "home") as lake:
        texts = dict(lake.read("memories", profiles=["p"]).select("memory_id", "content").iter_rows())
        assert (texts["w"], texts["w2"]) == ("[erased]", "The wifi password hangs on the fridge")
        assert lake.read("enrichment").height == lake.read("enrichment").unique().height
        assert_rebuilt(lake)


@pytest.mark.drill
def test_a_plan_from_before_is_refused(without_some, tmp_path):
    with copied(without_some.home, tmp_path / "home") as lake:
        policies = inputs.policies(load(lake.home, environment={}), without_some.profiles)
        with pytest.raises(Conflict, match="plan again"):
            commit.commit(lake, without_some.planned, policies, run_id="late", whole=True)
        assert list(commit.commit(lake, without_some.planned, policies, run_id="late")) == ["q"]


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ({"memory_ids": ["a22"]}, r"memory_ids names 'a22', which is unknown in profile 'p'; the closest .* 'a2'"),
        ({"user_id": "anna"}, r"user_id 'anna' has no memory in profile 'p' and asked nothing there(?!.* 'ana')"),
        (
            {"whole_profile": True, "profile_id": "pp"},
            r"profile_id 'pp' is unknown; correct the name: `memory-pipeline",
        ),
        ({}, "name what to erase: memory_ids, or user_id, or whole_profile"),
        ({"user_id": "ana", "whole_profile": True}, "only one of them"),
    ],
)
def test_what_is_unknown_is_refused_with_what_is_near(lake, scope, said):
    with pytest.raises(ValueError, match=said):
        erase_memories(lake, **{"profile_id": "p"} | scope, now=LATER)


@pytest.mark.drill
def test_a_summary_is_erased_with_its_members(lake):
    row = lake.read("memories", profiles=["p"]).filter(pl.col("kind") == "compression").row(0, named=True)
    receipt = erase_memories(lake, profile_id="p", memory_ids=[row["memory_id"]], now=LATER)
    assert set(row["members"]) <= set(receipt.erased)
    assert row["memory_id"] not in lake.read("memories", profiles=["p"])["memory_id"].to_list()


def test_agents_cannot_say_that_something_was_erased():
    with pytest.raises(InvalidEvent, match="only the pipeline writes"):
        event("memory.erased", memory_id="a", payload={"reason": "me", "digests": {}})


def test_the_receipt_reads_as_text_and_json_and_names_no_words_but_a_file_that_has_some(without_ana):
    receipt = without_ana.receipt
    document = json.loads(json.dumps(receipt.to_dict()))
    assert Receipt.read(document) == receipt
    assert document["not_covered"][0].startswith("backups, also those of memory-pipeline backup, and copies")
    text = "\n".join(receipt.lines())
    assert "erased in profile p at 2026-03-01T01:00:00+00:00: a, a2, a3, a4 (asked for)" in text
    assert not any(word in (text + json.dumps(document)).lower() for word in WORDS)
    assert len(receipt.dead_letters) == 3
    assert {"logs/http.log", "dagster/storage/1/compute_logs/step.err", "runs/run-7"} <= set(receipt.caches)
    assert "plan.json, which holds words of it" in receipt.not_covered
    assert r"caf\xe9.json, which holds words of it" in receipt.not_covered, "a name that is no UTF-8"
    assert any(rf"caf\xe9.json, written from this store at {NOW.year}" in one for one in receipt.not_covered)
    letters = f"{without_ana.home.parent / 'letters.jsonl'}, written from this store at 2026-03-01T00:00:00"
    assert any(one.startswith(letters) for one in receipt.not_covered)
    assert not any(name in one for one in receipt.not_covered for name in ("gone.jsonl", "other.jsonl"))


def test_a_store_without_runs_erases_what_was_only_remembered(tmp_path):
    with Lake(tmp_path) as lake:
        lake.ledger.append(EVENTS)
        lake.project()
        receipt = erase_memories(lake, profile_id="p", memory_ids=ALL, now=LATER)
    assert receipt.snapshot is None
    assert found(tmp_path, *WORDS) == []


@pytest.mark.parametrize(
    ("erased", "asked"),
    [
        ("Ana's clinic is the Hôpital Béclère.", unicodedata.normalize("NFD", "Who is at the hôpital béclère?")),
        ("Ana's house is in the Weiherstraße.", "WHO LIVES IN THE WEIHERSTRASSE?"),
        ("彼女はカブトムシが好きです。", "ｶﾌﾞﾄﾑｼ?"),
        ("Her code word is zanzibar.", "Ｗｈａｔ ｉｓ ｚａｎｚｉｂａｒ?"),
    ],
)
def test_erased_words_in_another_encoding_of_their_letters_are_found_too(tmp_path, erased, asked):
    with MemoryClient(tmp_path, profile_id="ana") as memory:
        told = memory.remember(erased)
        memory.remember("The launch is on 12 June.")
        memory.recall(asked)
    assert found(tmp_path, asked)
    with MemoryClient(tmp_path, profile_id="ana") as memory:
        memory.erase(told)
    assert found(tmp_path, asked) == []


def test_a_phrase_in_another_encoding_is_masked_and_the_rest_of_its_text_stays():
    quotes = Quotes.of(
        ["Ana's clinic is the Hôpital Béclère.", "彼女はカブトムシが好きです。"], ["The launch is on 12 June."]
    )
    rest = "He met Amélie; "
    decomposed = unicodedata.normalize("NFD", f"{rest}Ana's clinic is the Hôpital Béclère.")
    assert quotes.masked(decomposed) == unicodedata.normalize("NFD", f"{rest}[erased].")
    assert quotes.masked("He met Ｂｏ; 彼女はｶﾌﾞﾄﾑｼが好きです") == "He met Bo; [erased]です"
    assert quotes.masked(rest) == rest
