"""The LangGraph store against LangGraph's own stores on random scripts, and what only ours does."""

import asyncio
import json
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from commands import text

base = pytest.importorskip("langgraph.store.base", reason="the extra langgraph is not installed")
from langgraph.store.base import GetOp, PutOp, SearchOp  # noqa: E402
from langgraph.store.memory import InMemoryStore  # noqa: E402

from memory_pipeline import MemoryClient  # noqa: E402
from memory_pipeline.integrations.langgraph import MemoryPipelineStore  # noqa: E402

LABELS = ("memories", "ana", "bob/eva", "räume")
KEYS = ("a", "b/c", "ü", "0")
VALUES = (
    {"content": "Ana likes tea.", "n": 0},
    {"text": "The launch is on 12 June.", "n": 1},
    {"n": 2, "deep": {"x": [1, "two", None]}},
    {"content": {"kind": "Memory", "content": "Bob plays chess."}, "n": 2.5},
    {"n": 1, "content": ""},
)
"""All have `n`: of a field that is missing, the two stores think differently."""
FILTERS = (None, {"n": 1}, {"n": {"$gt": 1}}, {"n": {"$gte": 1, "$lt": 2.5}}, {"n": {"$lte": 2}}, {"n": {"$ne": 1}})
ANA = ("memories", "ana")


def namespace(chance):
    return tuple(chance.choice(LABELS) for _ in range(chance.randint(1, 3)))


def plain(item):
    return json.dumps(item and item.value, sort_keys=True)


def seen(items):
    return sorted((item.namespace, item.key, plain(item)) for item in items)


def step(chance, ours, peers):
    """Do one thing to all stores; they answer alike."""
    name, key = namespace(chance), chance.choice(KEYS)
    match chance.choice(("put", "put", "put", "delete", "get", "search", "pages", "namespaces", "batch")):
        case "put":
            value = chance.choice(VALUES)
            for store in (ours, *peers):
                store.put(name, key, value)
        case "delete":
            for store in (ours, *peers):
                store.delete(name, key)
        case "get":
            found = [store.get(name, key) for store in (ours, *peers)]
            assert len({plain(item) for item in found}) == 1
        case "search":
            prefix, wanted = name[: chance.randint(0, 3)], chance.choice(FILTERS)
            found = [seen(store.search(prefix, filter=wanted, limit=100)) for store in (ours, *peers)]
            assert all(other == found[0] for other in found[1:]), (prefix, wanted)
        case "pages":
            whole = seen(ours.search(name[:1], limit=100))
            pages = [ours.search(name[:1], limit=2, offset=start) for start in range(0, len(whole) + 2, 2)]
            assert seen(item for page in pages for item in page) == whole
        case "namespaces":
            told = [
                {},
                {"max_depth": chance.randint(1, 2)},
                {"prefix": (name[0],)},
                {"suffix": (name[-1],)},
                {"prefix": ("*", name[-1])},
            ]
            asked = chance.choice(told) | {"limit": 100}
            assert ours.list_namespaces(**asked) == peers[-1].list_namespaces(**asked)
        case "batch":
            other = chance.choice(VALUES)
            ops = [PutOp(name, key, other), GetOp(name, key), PutOp(name, key, VALUES[0]), SearchOp(name, limit=100)]
            found = [store.batch(ops) for store in (ours, *peers)]
            assert len({plain(results[1]) for results in found}) == 1
            assert all(seen(results[3]) == seen(found[0][3]) for results in found)


@pytest.mark.parametrize("labels", [None, 1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_it_answers_as_their_stores_do(tmp_path, seed, labels):
    sqlite = pytest.importorskip("langgraph.store.sqlite", reason="langgraph-checkpoint-sqlite is not installed")
    chance = random.Random(f"{seed} {labels}")
    with (
        MemoryPipelineStore(tmp_path / "data", profile_labels=labels) as ours,
        sqlite.SqliteStore.from_conn_string(":memory:") as theirs,
    ):
        theirs.setup()
        peers = (InMemoryStore(), theirs)  # the first goes on listing emptied namespaces, the second does not
        for _ in range(45):
            step(chance, ours, peers)


@pytest.fixture
def store(tmp_path):
    with MemoryPipelineStore(tmp_path) as opened:
        yield opened


def test_a_question_finds_the_item_that_answers_it(store):
    store.put(ANA, "drink", {"content": "Ana likes tea."})
    store.put(ANA, "launch", {"content": "The website launch is on 12 June."})
    store.put(ANA, "hidden", {"content": "The website launch, without an index."}, index=False)
    store.put(("memories", "bob"), "launch", {"content": "Bob's website launch is on 3 May."})
    found = store.search(ANA, query="When is the website launch?")
    assert (found[0].key, found[-1].key) == ("launch", "hidden")
    assert found[0].score > found[1].score
    assert found[-1].score is None
    assert store.search(ANA, query="When is the website launch?", limit=1)[0].key == "launch"
    assert {item.namespace for item in store.search(("memories",), query="launch")} == {ANA, ("memories", "bob")}
    only = store.search(ANA, query="launch", filter={"content": "Ana likes tea."})
    assert [item.key for item in only] == ["drink"]


def test_asynchronous_calls_do_the_same(store):
    async def work():
        await store.aput(ANA, "drink", {"content": "Ana likes tea."})
        return await store.aget(ANA, "drink"), await store.asearch(ANA, query="tea"), await store.alist_namespaces()

    item, found, names = asyncio.run(work())
    assert (item.value, found[0].key, names) == ({"content": "Ana likes tea."}, "drink", [ANA])


def test_items_are_memories_of_the_profile_that_the_namespace_names(store, tmp_path):
    store.put(ANA, "drink", {"content": "Ana likes tea."})
    with MemoryClient(tmp_path, profile_id="memories.ana") as memory:
        assert memory.get("memories.ana/drink").content == "Ana likes tea."
        told = memory.remember("Ana moved to Porto.")
        assert store.get(ANA, told).value == {"content": "Ana moved to Porto."}
        memory.update("memories.ana/drink", content="Ana likes coffee.")
        assert store.get(ANA, "drink").value == {"content": "Ana likes coffee."}
        store.delete(ANA, "drink")
        assert memory.get("memories.ana/drink").valid_until <= datetime.now(UTC)
        assert [hit.memory_id for hit in memory.recall("What does Ana like?") if hit.current is not False] == [told]


def test_items_of_another_store_go_in_by_the_importer_or_by_their_own_interface(tmp_path):
    sqlite = pytest.importorskip("langgraph.store.sqlite", reason="langgraph-checkpoint-sqlite is not installed")
    value = {"content": "Ana likes tea.", "source": "chat", "n": 1}
    with sqlite.SqliteStore.from_conn_string(str(tmp_path / "old.db")) as old:
        old.setup()
        old.put(ANA, "drink/hot", value)
        with MemoryPipelineStore(tmp_path / "copied") as new:
            new.batch([PutOp(item.namespace, item.key, item.value) for item in old.search((), limit=100)])
            assert seen(new.search(())) == seen(old.search(()))
    done = text(
        "import", "langgraph", str(tmp_path / "old.db"), "--profile", "memories.ana", home=tmp_path / "imported"
    )
    assert "1" in done
    with MemoryPipelineStore(tmp_path / "imported") as new:
        assert new.get(ANA, "drink/hot").value["content"] == "Ana likes tea."
        assert [item.key for item in new.search(("memories",), query="What does Ana like?")] == ["drink/hot"]
        new.put(ANA, "drink/hot", {"content": "Ana likes coffee."})
        assert seen(new.search(ANA)) == [(ANA, "drink/hot", '{"content": "Ana likes coffee."}')]


def test_what_a_run_merged_is_found_once_and_still_there_by_its_key(tmp_path):
    deeper = (*ANA, "notes")
    with MemoryPipelineStore(tmp_path, profile_labels=2) as store:
        for key in ("one", "two"):
            store.put(deeper, key, {"content": "Ana is allergic to peanuts."})
        store.put(ANA, "other", {"content": "The boiler was serviced on 3 May 2026."})
        with MemoryClient(tmp_path, profile_id="memories.ana") as memory:
            assert memory.consolidate().actions
        (found,) = store.search(deeper, query="What is Ana allergic to?")
        assert (found.namespace, found.value["content"]) == (deeper, "Ana is allergic to peanuts.")
        assert store.get(deeper, found.key).value == found.value
        assert all(store.get(deeper, key) for key in ("one", "two"))
    with MemoryPipelineStore(tmp_path, profile_labels=2, deep=True) as store:
        assert {item.key for item in store.search(deeper)} >= {"one", "two"}


@pytest.mark.drill
def test_no_summary_says_what_was_deleted_or_overwritten(store, tmp_path):
    for key in ("one", "two"):
        store.put(ANA, key, {"content": "Ana is allergic to peanuts."})
    with MemoryClient(tmp_path, profile_id="memories.ana") as memory:
        memory.consolidate()
        assert len(store.search(ANA)) == 1
        store.delete(ANA, "one")
        assert [item.key for item in store.search(ANA)] == ["two"]
        store.put(ANA, "two", {"content": "Ana plays chess."})
        memory.consolidate()
    assert [item.value["content"] for item in store.search(ANA, query="peanuts")] == ["Ana plays chess."]


def test_an_item_with_a_time_to_live_goes_when_it_is_over(store, tmp_path):
    store.put(ANA, "code", {"content": "The code is 4711."}, ttl=60)
    with MemoryClient(tmp_path, profile_id="memories.ana") as memory:
        (row,) = memory.list()
        assert timedelta(minutes=59) < row.valid_until - datetime.now(UTC) <= timedelta(minutes=60)
        memory.update(row.memory_id, valid_until=row.created_at)
        assert store.get(ANA, "code") is None
        assert store.search(ANA) == store.search(ANA, query="code") == []
    store.put(ANA, "code", {"content": "The code is 4712."})
    assert store.get(ANA, "code").value == {"content": "The code is 4712."}


def test_a_delete_may_erase_for_good_and_the_key_be_used_again(tmp_path):
    with MemoryPipelineStore(tmp_path, erase=True) as store:
        for content in ("Ana likes tea.", "Ana likes coffee.", "Ana likes cocoa."):
            store.put(ANA, "drink", {"content": content})
            assert store.get(ANA, "drink").value == {"content": content}
            store.delete(ANA, "drink")
            assert store.get(ANA, "drink") is None
        with MemoryClient(tmp_path, profile_id="memories.ana") as memory:
            assert memory.list(deep=True) == []


def test_writers_of_one_key_leave_one_item(tmp_path):
    def put(number):
        with MemoryPipelineStore(tmp_path) as own:
            for turn in range(3):
                own.put(ANA, "drink", {"content": f"Drink {number}.{turn}"})
                own.delete(ANA, f"other {turn}")
                own.put(ANA, f"other {turn}", {"content": f"Other {number}"})

    MemoryClient(tmp_path).close()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(put, range(4)))
    with MemoryPipelineStore(tmp_path) as store:
        found = {item.key: item.value for item in store.search(ANA)}
        assert set(found) == {"drink", "other 0", "other 1", "other 2"}
        assert all(store.get(ANA, key).value == value for key, value in found.items())
        assert found["drink"]["content"].endswith(".2")


def test_a_batch_is_written_whole_or_not_at_all(store):
    with pytest.raises(ValueError, match="JSON"):
        store.batch([PutOp(ANA, "good", {"content": "Fine."}), PutOp(ANA, "bad", {"content": "x", "n": float("nan")})])
    assert store.search(ANA) == []


@pytest.mark.parametrize("name", [(), ("a.b",), ("",), ("langgraph", "x")])
def test_a_namespace_that_is_none_is_refused(store, name):
    with pytest.raises(base.InvalidNamespaceError):
        store.put(name, "key", {})


def test_a_graph_remembers_with_it(store):
    graph = pytest.importorskip("langgraph.graph", reason="langgraph is not installed")

    def reply(state, *, store):
        store.put(("memories", "ana"), "last", {"content": state["said"]})
        return {"said": store.search(("memories", "ana"), query=state["said"])[0].value["content"]}

    reply.__annotations__ = {"state": dict, "store": base.BaseStore}
    built = graph.StateGraph(dict)
    built.add_node("reply", reply)
    built.add_edge(graph.START, "reply")
    assert built.compile(store=store).invoke({"said": "I live in Lisbon."})["said"] == "I live in Lisbon."


@pytest.mark.parametrize("limit", [1, 3, 7])
@pytest.mark.parametrize("query", ["launch", "tea", "zebra", "When is the launch?", None])
def test_pages_of_equal_scores_have_each_item_once(store, query, limit):
    words = ("The launch number is noted.", "Tea time.", "Tea time.")
    put = [PutOp(("test", f"u{n % 3}"), f"k{n:02}", {"content": words[n % 3], "n": n % 2}) for n in range(20)]
    store.batch(put)
    for wanted in (None, {"n": 1}):
        found, start = [], 0
        while page := store.search(("test",), query=query, filter=wanted, limit=limit, offset=start):
            found += [(item.namespace, item.key) for item in page]
            start += limit
        assert sorted(found) == sorted((op.namespace, op.key) for op in put if wanted is None or op.value["n"] == 1)


def test_pages_of_stores_opened_anew_have_each_item_once_the_latest_value_first(tmp_path):
    with MemoryPipelineStore(tmp_path) as store:
        store.batch([PutOp(ANA, f"k{n:02}", {"name": f"Gadget {n}", "age": n}) for n in range(23)])
    found = []
    for start in range(0, 24, 4):
        with MemoryPipelineStore(tmp_path) as store:
            found += [item.key for item in store.search(ANA, query="Gadget", limit=4, offset=start)]
    assert found == [f"k{n:02}" for n in reversed(range(23))]


def test_a_page_leaves_out_what_was_deleted_meanwhile_and_shows_what_changed(store):
    store.batch([PutOp(ANA, f"k{n}", {"content": f"Tea of day {n}."}) for n in range(6)])
    first = store.search(ANA, query="tea", limit=3)
    store.delete(ANA, first[0].key)
    store.put(ANA, first[1].key, {"content": "Tea, but green."})
    whole = [item.key for item in store.search(ANA, query="tea", limit=6)]
    assert sorted(whole) == sorted({f"k{n}" for n in range(6)} - {first[0].key})


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"$gt": "2026-01-15"}, {"march"}),
        ({"$gte": "2026-01-02", "$lt": "2026-03-04"}, {"january"}),
        ({"$gt": "9"}, {"ten"}),
        ({"$gt": 9}, {"ten"}),
    ],
)
def test_filters_compare_days_as_texts_and_numbers_as_numbers(store, wanted, keys):
    days = {"january": "2026-01-02", "march": "2026-03-04", "ten": 10, "none": None}
    store.batch([PutOp(ANA, key, {"content": key, "day": day}) for key, day in days.items()])
    assert {item.key for item in store.search(ANA, filter={"day": wanted})} == keys


@pytest.mark.parametrize("labels", [None, 1])
def test_a_list_names_a_namespace_as_a_tuple_does(tmp_path, labels):
    with MemoryPipelineStore(tmp_path, profile_labels=labels) as store:
        store.put(["test", "a"], "k", {"n": 1})
        store.put(("test",), "k", {"n": 2})
        store.put(("testing",), "k", {"n": 3})
        with MemoryClient(tmp_path, profile_id="test") as memory:
            told = memory.remember("Tea at five.")
        for query in (None, "tea"):
            found = {(item.namespace, item.key) for item in store.search(["test"], query=query)}
            assert {(tuple(name), key) for name, key in found} == {
                (("test", "a"), "k"),
                (("test",), "k"),
                (("test",), told),
            }
        assert [item.value for item in store.search(["test", "a"])] == [{"n": 1}]
        assert store.get(["test", "a"], "k").value == {"n": 1}
        store.delete(["test", "a"], "k")
        assert store.get(("test", "a"), "k") is None
        assert store.search(["tes"]) == []
        with pytest.raises(ValueError, match="namespace is 'test'; give its labels"):
            store.search("test")


JSON = [None, True, False, 0, 1, 1.0, -2.5, 2**53 + 1, "", " ", "ü 🍵", [], {}, [1, [2.0, None]], {"a": {"b": [True]}}]


@pytest.mark.parametrize("seed", range(6))
def test_values_are_the_same_in_their_stores_in_ours_and_after_files(tmp_path, seed):
    sqlite = pytest.importorskip("langgraph.store.sqlite", reason="langgraph-checkpoint-sqlite is not installed")
    chance, memory = random.Random(seed), InMemoryStore()
    names = ("content", "text", "memory", "data", "kind", "tags", "importance", "metadata", "name", "age", "ü")
    with (
        sqlite.SqliteStore.from_conn_string(str(tmp_path / "old.db")) as old,
        MemoryPipelineStore(tmp_path / "ours") as ours,
    ):
        old.setup()
        for n in range(12):
            value = {name: chance.choice(JSON) for name in chance.sample(names, chance.randint(0, 4))}
            for store in (memory, old, ours):
                store.put(("test",), f"k{n}", value)
        expected = seen(memory.search(("test",), limit=100))
        assert seen(old.search(("test",), limit=100)) == expected
        assert seen(ours.search(["test"], limit=100)) == expected
    text("export", "langgraph", str(tmp_path / "new.db"), home=tmp_path / "ours")
    text("import", "langgraph", str(tmp_path / "old.db"), "--profile", "test", home=tmp_path / "again")
    text("export", "langgraph", str(tmp_path / "again.db"), home=tmp_path / "again")
    for file in ("new.db", "again.db"):
        with sqlite.SqliteStore.from_conn_string(str(tmp_path / file)) as new:
            assert seen(new.search(("test",), limit=100)) == expected, file
    text("import", "langgraph", str(tmp_path / "new.db"), home=tmp_path / "back")
    for home in ("again", "back"):
        with MemoryPipelineStore(tmp_path / home) as back:
            assert seen(back.search(("test",), limit=100)) == expected, home
