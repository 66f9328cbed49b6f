"""What an erasure leaves of the ids of people: salted hashes, and nothing that says who it was."""

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from urllib.parse import quote, quote_plus

import in_place
import polars as pl
import pytest
import sampling
from leftovers import found
from test_erasure import LATER, NOW, assert_rebuilt, copied, event, letter, run

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.erasure.people import People
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.runs import undo

IDS = ("ana.berg@example.org", "user-4711", 'O\'Neill "Ana" ü/1', "ana")
OTHER = "joana_berg@example.org"


def told(person, other=OTHER):
    """What a shared profile was told: of a person, and of somebody else whose id is nearly the same."""
    mine, theirs = {"user_id": person, "session_id": f"{person}:1"}, {"user_id": other, "session_id": f"{other}:1"}
    return [
        *(
            event(
                "memory.stored",
                days=30 - index / 10,
                event_id=f"a{index}",
                profile_id="p",
                memory_id=f"a{index}",
                payload={"content": text, "speaker": "Ana", "metadata": {"from": person}},
                agent_id=f"bot of {person}",
                **mine,
            )
            for index, text in enumerate(("Ana met Doctor Zwirblquax in Lyon.", "Ana met Doctor Zwirblquax in Lyon!"))
        ),
        *(
            event(
                "memory.stored",
                days=29 - index / 10,
                event_id=f"b{index}",
                profile_id="p",
                memory_id=f"b{index}",
                payload={"content": text, "tags": ["tea", "Lyon"], "metadata": {"n": index}},
                **theirs,
            )
            for index, text in enumerate(("Green tea is in the left drawer.", "Green tea is in the left drawer!"))
        ),
        event("session.started", days=30, event_id="s1", profile_id="p", **mine),
        event(
            "memory.accessed",
            days=20,
            event_id="x1",
            profile_id="p",
            payload={"memory_ids": ["b0"], "query": "where is the tea?"},
            **mine,
        ),
        event("memory.accessed", days=20, event_id="x2", profile_id="p", payload={"memory_ids": ["b1"]}, **mine),
        event(
            "feedback.given", days=19, event_id="f1", profile_id="p", memory_id="b0", payload={"helpful": True}, **mine
        ),
        event(
            "memory.accessed",
            days=18,
            event_id="x3",
            profile_id="p",
            payload={"memory_ids": ["b0"], "query": "which tea?"},
            **theirs,
        ),
        event(
            "memory.stored", days=30, event_id="q", profile_id="q", memory_id="q", payload={"content": "Rowing at six"}
        ),
    ]


def lived_in(home, person):
    """A store that knows a person by an id, in every table that has ids."""
    lake = Lake(home)
    lake.ledger.append(told(person))
    run(lake, NOW - timedelta(days=15))
    run(lake, NOW - timedelta(days=14), scope=f"user:{person}")
    snapshot.publish(lake)
    compaction.compact(lake.ledger, lake.store, before=NOW - timedelta(days=20))
    compaction.archive(lake.ledger, lake.store, before=NOW - timedelta(days=29, hours=20))
    run(lake, NOW - timedelta(days=5))
    snapshot.publish(lake)
    lake.ledger.add_dead_letters([letter(json.dumps({"who": person}).encode()), letter(b"about tea")])
    (home / "logs").mkdir(exist_ok=True)
    (home / "logs" / "http.log").write_text(
        f"{OTHER} after user:{person} from {person}\n"
        f'"GET /memories?profile_id=p&user_id={quote_plus(person)}&k=5" 200\n'
        f"GET /ui?text=when%3F+Ana+met+Doctor+Zwirblquax%20in%20Lyon&other={quote(OTHER)}\n"
    )
    return lake


@pytest.fixture(scope="module", params=sampling.first(*IDS))
def stores(request, tmp_path_factory):
    """The folders of a store before and after a person was erased, the id, and the receipt."""
    folder = tmp_path_factory.mktemp("people")
    lived_in(folder / "before", request.param).close()
    with copied(folder / "before", folder / "after") as lake:
        reason = f"asked for by {request.param}"
        receipt = erase_memories(lake, profile_id="p", user_id=request.param, now=LATER, reason=reason)
        in_place.same(lake)
    return folder / "before", folder / "after", request.param, receipt


@pytest.fixture
def after(stores, tmp_path):
    with copied(stores[1], tmp_path / "home") as lake:
        yield lake


def named(home, person):
    """Where an id is found: as itself, and as JSON writes it; a plain word only as a value, since it may be a name."""
    written = {person, json.dumps(person)[1:-1], json.dumps(person, ensure_ascii=False)[1:-1]}
    words = written if len(person) > 3 else {f'"{person}"', f"user:{person}", f"{person}:1", f"of {person}"}
    beside = (": data_dictionary", ": bytes") if person == "ana" else (": data_dictionary",)
    return [place for place in found(home, *words) if not place.endswith(beside)]


def test_the_id_is_in_many_places_before(stores):
    before, _, person, _ = stores
    if len(person) > 3:
        places = " ".join(named(before, person))
        for place in ("ledger.sqlite: events", "ledger.sqlite: runs", "lake/events", "lake/memories", "lake/profiles"):
            assert place in places
        for place in ("snapshots/", "archive/", "logs/", "dead_letters"):
            assert place in places


def test_the_id_is_nowhere_afterwards(stores):
    _, after, person, receipt = stores
    assert named(after, person) == []
    assert person not in json.dumps(receipt.to_dict(), ensure_ascii=False).replace(OTHER, "").replace("ana's", "")


def test_hashes_stand_for_the_id_in_every_event_and_the_salt_of_the_receipt_proves_it(stores, after):
    _, _, person, receipt = stores
    (stand_in,) = receipt.people
    assert stand_in == People((person,), bytes.fromhex(receipt.salt)).stand_in(person)
    events = after.events(profiles=["p"])
    own = events.filter(pl.col("event_id").is_in(["a0", "a1", "s1", "x1", "x2", "f1"]))
    assert own["user_id"].unique().to_list() == [stand_in]
    assert own["session_id"].unique().to_list() == [f"{stand_in}:1"]
    assert events.filter(event_id="a0")["agent_id"].item() == f"bot of {stand_in}"
    assert receipt.reason == f"asked for by {stand_in}"


def test_rows_of_other_people_stay_as_they_were(stores, after):
    before, _, person, _ = stores
    same = ["memory_id", "content", "content_hash", "user_id", "session_id", "lifecycle", "access_count", "created_at"]
    others = pl.col("memory_id").is_in(["b0", "b1"])
    left = after.read("memories", profiles=["p"])
    with Lake(before) as lake:
        memories = lake.read("memories", profiles=["p"])
        assert lake.read("memories", profiles=["q"]).equals(after.read("memories", profiles=["q"]))
    assert left.filter(others).select(same).to_dicts() == memories.filter(others).select(same).to_dicts()
    assert memories.filter(others)["user_id"].unique().to_list() == [OTHER]
    row = after.read("memories", profiles=["p"]).row(by_predicate=pl.col("memory_id") == "b0", named=True)
    assert row["tags"] == ["tea", "Lyon"]
    asked = after.events(profiles=["p"]).filter(event_id="x3").row(0, named=True)
    assert (asked["user_id"], asked["query"]) == (OTHER, "which tea?")
    log = (after.home / "logs" / "http.log").read_text()
    assert log.startswith(f"{OTHER} after ")
    assert f"user:{person}" not in log
    assert f"user_id={quote_plus(person)}" not in log
    asked = "user_id=[erased]" if len(person) > 3 else "[erased]"  # a plain word is known by the name before it
    assert f'"GET /memories?profile_id=p&{asked}&k=5"' in log
    assert "Zwirblquax" not in log
    assert f"&other={quote(OTHER)}" in log.replace("@", "%40")


@pytest.mark.drill
def test_the_tables_equal_a_rebuild_and_later_runs_and_undos_go_on(after):
    assert after.verify().is_empty()
    assert_rebuilt(after)
    run(after, LATER + timedelta(days=1))
    assert_rebuilt(after)
    undo.undo(after, f"run-{NOW - timedelta(days=15):%d%H}", cascade=True, now=LATER + timedelta(days=2))
    assert_rebuilt(after)


@pytest.mark.drill
def test_what_is_delivered_again_is_known_and_stays_refused(stores, after):
    events = told(stores[2])
    again = after.ledger.append(events)
    assert (again.accepted, again.duplicates) == (0, len(events))
    fresh = event(
        "memory.stored", event_id="new", profile_id="p", user_id=stores[2], memory_id="a0", payload={"content": "Lyon"}
    )
    with pytest.raises(KnownMemory, match="a memory that was erased"):
        after.ledger.append([fresh])
    late = {"event_id": "late", "profile_id": "p", "user_id": stores[2], "session_id": f"{stores[2]}:1"}
    after.ledger.append([event("memory.updated", memory_id="a0", payload={"content": "Lyon, again"}, **late)])
    assert import_events(after.ledger, [fresh]).dead_letters == 1
    run(after, LATER + timedelta(days=1))
    after.close()
    assert len(stores[2]) <= 3 or named(after.home, stores[2]) == []


@pytest.mark.parametrize(
    ("value", "new"),
    [
        ("ana@x.org", "{}"),
        ("chat/ana@x.org/7", "chat/{}/7"),
        ("bot_ana@x.org", "bot_{}"),
        ("joana@x.org", "joana@x.org"),
        ("ana@x.organisation", "ana@x.organisation"),
        ("erased-0123", "erased-0123"),
        ("Bo", "{}"),
        ("s-Bo-1", "s-{}-1"),
        ("Bob", "Bob"),
    ],
)
def test_ids_named_after_a_person_are_replaced_and_longer_words_are_not(value, new):
    people = People(("ana@x.org", "Bo"), b"salt")
    expected = new.format(people.stand_in("Bo" if "Bo" in value else "ana@x.org"))
    assert people.renamed(value) == expected


@pytest.mark.parametrize("other", sampling.first("ana-maria", "ana maria", "de.ana", "ana+news@x.org", "ana/bob"))
def test_people_whose_ids_contain_an_erased_one_keep_theirs(tmp_path, other):
    sessions = {"s": f"{other}/1", "t": "ana/1", "u": f"ana and {other}"}
    with Lake(tmp_path / "home") as lake:
        told_by = {name: "ana" if name == "t" else other for name in sessions}
        lake.ledger.append(
            [
                event(
                    "memory.stored",
                    event_id=name,
                    profile_id="p",
                    memory_id=name,
                    user_id=told_by[name],
                    session_id=session,
                    agent_id=f"bot of {other}",
                    payload={"content": f"Note {name} is about boats."},
                )
                for name, session in sessions.items()
            ]
        )
        (stand_in,) = erase_memories(lake, profile_id="p", user_id="ana", now=LATER).people
        events = lake.events(profiles=["p"]).drop_nulls("session_id").sort("event_id")
        assert events["user_id"].to_list() == [other, stand_in, other]
        assert events["session_id"].to_list() == [f"{other}/1", f"{stand_in}/1", f"{stand_in} and {other}"]
        assert events["agent_id"].unique().to_list() == [f"bot of {other}"]
        with MemoryClient(tmp_path / "home", profile_id="p") as memory:
            assert len(memory.list({"user_id": other})) == 2


def test_what_two_erased_people_share_keeps_the_id_of_neither():
    first, second = People(("ana",), b"1"), People(("bob",), b"2")
    assert second.renamed(first.renamed("ana/bob")) == f"{first.stand_in('ana')}/{second.stand_in('bob')}"


@pytest.mark.parametrize("wanted", ["nobody@example.org", "ana.berg", "erased-0", "joana.berg@example.com"])
def test_an_error_names_nobody_else(after, wanted):
    with pytest.raises(UnknownMemory) as error:
        erase_memories(after, profile_id="p", user_id=wanted, now=LATER)
    said = str(error.value)
    assert f"user_id {wanted!r} has no memory in profile 'p'" in said
    assert OTHER not in said
    assert "erased-" not in said.replace(wanted, "")


def test_a_second_erasure_of_the_person_says_that_nothing_is_left(stores, after):
    with pytest.raises(UnknownMemory, match="unless that person was erased before: then nothing is left to do"):
        erase_memories(after, profile_id="p", user_id=stores[2], now=LATER)


@pytest.mark.drill
def test_a_person_who_only_asked_is_erased_too(tmp_path):
    with Lake(tmp_path / "home") as lake:
        lake.ledger.append([one for one in told("eve@example.org") if one.event_id in {"b0", "x1", "q"}])
        run(lake, NOW - timedelta(days=5))
        snapshot.publish(lake)
        receipt = erase_memories(lake, profile_id="p", user_id="eve@example.org", now=LATER)
        assert (receipt.erased, receipt.queries) == ((), 1)
        assert_rebuilt(lake)
    assert found(tmp_path, "eve@example.org", "where is the tea") == []


@pytest.mark.drill
def test_a_profile_erased_whole_keeps_no_id_of_its_people(tmp_path):
    lived_in(tmp_path / "home", "ana.berg@example.org").close()
    with Lake(tmp_path / "home") as lake:
        receipt = erase_memories(lake, profile_id="p", whole_profile=True, now=LATER)
        assert len(receipt.people) == 2
    assert found(tmp_path / "home", "ana.berg@example.org", OTHER) == []


@pytest.mark.drill
def test_ids_of_people_who_were_erased_by_an_earlier_version_go_with_the_next_erasure(tmp_path):
    lived_in(tmp_path / "home", "ana.berg@example.org").close()
    with Lake(tmp_path / "home") as lake:
        erase_memories(lake, profile_id="p", memory_ids=["a0", "a1"], now=LATER)
        receipt = erase_memories(lake, profile_id="p", user_id="ana.berg@example.org", now=LATER + timedelta(days=1))
        assert (receipt.erased, receipt.already, len(receipt.people)) == ((), ("a0", "a1"), 1)
        assert_rebuilt(lake)
    assert named(tmp_path / "home", "ana.berg@example.org") == []


def test_the_client_erases_a_person_of_a_store_without_runs(tmp_path):
    with MemoryClient(tmp_path / "home", profile_id="p", user_id="ana.berg@example.org", session_id="s") as client:
        client.remember("The meeting is on the third floor.")
        client.recall("meeting")
        client.erase(user="ana.berg@example.org")
    assert found(tmp_path / "home", "ana.berg@example.org") == []


def test_databases_keep_no_free_page_with_the_id(stores):
    with closing(sqlite3.connect(stores[1] / "ledger.sqlite")) as connection:
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
