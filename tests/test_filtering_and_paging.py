"""Reading a part of the memories, the same way on every face: by metadata, page by page, and only what holds."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest
from commands import as_json, refused, text
from mcp.client import Client
from serving import bearer, within

from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.filters import Filters
from memory_pipeline.recall.rank import paging
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.mcp_server import server

DAY = timedelta(days=1)
NOW = datetime.now(UTC)
QUESTION = "Which port does the service use?"
ROWS = [
    {"text": "The orders service uses port 8080.", "metadata": {"project": "shop", "port": 8080}},
    {"text": "The mail service uses port 2525.", "metadata": {"project": "post", "port": 2525, "of": ["a", "b"]}},
    {"text": "The login service uses port 9000.", "metadata": {"project": "shop", "on": True}},
    {"text": "The old orders service uses port 80.", "valid_until": NOW - DAY},
    {"text": "The new mail service uses port 587.", "valid_from": NOW + 9 * DAY},
    {"text": "The search service uses port 9200.", "metadata": {"note": '"project":"shop"'}},
]


def stored(home):
    with MemoryClient(home) as client:
        return client.remember_many({**row, "memory_id": f"m{at}"} for at, row in enumerate(ROWS))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages") / "data"
    stored(folder)
    return folder


@pytest.fixture(scope="module")
def client(home):
    with MemoryClient(home) as opened:
        yield opened


def ids(memories):
    return {memory.memory_id for memory in memories}


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"project": "shop"}, {"m0", "m2"}),
        ({"project": ["shop", "post"]}, {"m0", "m1", "m2"}),
        ({"project": "shop", "port": 8080}, {"m0"}),
        ({"of": "b"}, {"m1"}),
        ({"on": 1}, set()),
        ({"port": "8080"}, set()),
        ('{"project": "post"}', {"m1"}),
    ],
)
def test_memories_are_read_by_their_metadata(client, metadata, found):
    filters = {"metadata": metadata}
    assert ids(client.list(filters)) == found
    assert ids(client.recall(QUESTION, filters=filters, record=False)) == found
    assert Filters(metadata=metadata) == Filters(metadata=Filters(metadata=metadata).metadata)


@pytest.mark.parametrize("metadata", [{}, {"project": []}, "shop", "[1]", 5, {"at": NOW}])
def test_metadata_that_no_memory_can_have_is_refused(client, metadata):
    with pytest.raises(ValueError, match=r"filters\.metadata is .*; give an object such as"):
        client.list({"metadata": metadata})


@pytest.mark.parametrize(
    ("name", "value"), [("speaker", ""), ("session_id", " "), ("user_id", 3), ("tags", [""]), ("memory_types", ["\n"])]
)
def test_a_filter_that_is_blank_or_no_text_is_refused(client, name, value):
    with pytest.raises(ValueError, match=rf"filters\.{name} is .* not blank, or leave it out"):
        client.list({name: value})


def test_a_page_goes_on_only_behind_a_memory(client):
    with pytest.raises(
        ValueError, match=r"^after is 'm9', which is not a memory of profile 'default'; correct the id$"
    ):
        client.list(after="m9")


def test_what_has_ended_or_not_begun_is_left_out_on_request(client):
    assert ids(client.list()) == ids(client.recall(QUESTION, record=False)) == {f"m{at}" for at in range(6)}
    assert ids(client.list(current=True)) == {"m0", "m1", "m2", "m5"}
    assert ids(client.recall(QUESTION, current=True, record=False)) == {"m0", "m1", "m2", "m5"}
    with pytest.raises(ValueError, match="current is 1; give True or False"):
        client.recall(QUESTION, current=1)


def test_pages_of_an_answer_repeat_and_lose_nothing_while_memories_are_stored(tmp_path):
    wanted = {*stored(tmp_path)}
    with MemoryClient(tmp_path) as client:
        pages, cursor = [], None
        for page in range(9):
            answer = client.recall(QUESTION, 2, after=cursor)
            pages += [hit.memory_id for hit in answer]
            if not answer:
                break
            assert [hit.rank for hit in answer] == [*range(1, len(answer) + 1)]
            cursor = answer.cursor
            if page < 3:
                client.remember(
                    f"Which port does the service use? Service {page} uses port {page}.", memory_id=f"n{page}"
                )
        assert answer.cursor is None
        assert len(pages) == len(set(pages))
        assert set(pages) == wanted | {"n0", "n1", "n2"}

        listed, after = [], None
        while page := client.list(limit=2, after=after):
            listed += [memory.memory_id for memory in page]
            after = page[-1].memory_id
            if len(listed) == 4:
                client.erase(after)  # the last of a page: the next one goes on behind it
            client.remember("The weather service uses port 70.")
        assert set(listed) >= wanted
        assert len(listed) == len(set(listed)) == 9


@pytest.mark.parametrize("cursor", ["", "m0", "!!!!!!!!", 5, "AAAA"])
def test_what_is_no_cursor_is_refused(client, cursor):
    with pytest.raises(ValueError, match=r"after is .*; give the cursor of the answer before"):
        client.recall(QUESTION, after=cursor)


def test_a_cursor_names_what_it_was_made_of():
    keys = [paging.key(name) for name in ("a", "b")]
    assert paging.read(paging.written(keys)) == tuple(keys)
    assert paging.written([]) is None
    assert paging.read(None) == ()


def test_profiles_that_are_searched_together_share_a_cursor(tmp_path):
    for name in ("ana", "team"):
        with MemoryClient(tmp_path, profile_id=name) as client:
            client.remember_many({"text": row["text"], "memory_id": f"m{at}"} for at, row in enumerate(ROWS[:2]))
    with MemoryClient(tmp_path, profile_id="ana") as client:
        found, cursor = [], None
        while answer := client.recall(QUESTION, 1, profiles=["ana", "team"], after=cursor, record=False):
            found += [(hit.profile_id, hit.memory_id) for hit in answer]
            cursor = answer.cursor
    assert sorted(found) == [("ana", "m0"), ("ana", "m1"), ("team", "m0"), ("team", "m1")]


def test_the_command_line_filters_and_pages(home):
    metadata = ("--metadata", '{"project": "shop"}')
    assert {row["memory_id"] for row in as_json("list", *metadata, home=home)} == {"m0", "m2"}
    assert {row["memory_id"] for row in as_json("list", "--current", home=home)} == {"m0", "m1", "m2", "m5"}
    (first,) = as_json("list", "-n", "1", home=home)
    (second,) = as_json("list", "-n", "1", "--after", first["memory_id"], home=home)
    assert second["memory_id"] != first["memory_id"]
    one = as_json("recall", QUESTION, "-k", "1", *metadata, "--current", home=home)
    two = as_json("recall", QUESTION, "-k", "1", *metadata, "--current", "--after", one["cursor"], home=home)
    assert {one["recalled"][0]["memory_id"], two["recalled"][0]["memory_id"]} == {"m0", "m2"}
    assert "filters.metadata" in refused("list", "--metadata", "shop", home=home)
    text("remember", "The lamp is on loan.", "--expires-in", "2 hours", "--profile", "loans", home=home)
    (loan,) = as_json("list", "--profile", "loans", home=home)
    assert loan["metadata"] == {"expires": True}
    assert "expires_in" in refused("remember", "The lamp.", "--expires-in", "soon", "--profile", "loans", home=home)


def test_http_filters_and_pages(home):
    token = bearer(auth_tokens.create(home, Role.AGENT, profile_id="default")[0])
    with within(home) as http:
        http.headers.update(token)

        def listed(**wanted):
            return {row["memory_id"] for row in http.get("/memories", params=wanted).json()}

        assert listed(metadata='{"project": "shop"}') == {"m0", "m2"}
        assert listed(current=True) == {"m0", "m1", "m2", "m5"}
        odd = http.get("/memories", params={"metadata": "{"})
        assert odd.status_code == 422
        assert odd.json()["detail"].startswith("filters.metadata is '{'; give an object such as")
        question = {"query": QUESTION, "k": 1, "filters": {"metadata": {"project": "shop"}}, "current": True}
        one = http.post("/recall", json=question).json()
        two = http.post("/recall", json={**question, "after": one["cursor"]}).json()
        assert {one["recalled"][0]["memory_id"], two["recalled"][0]["memory_id"]} == {"m0", "m2"}
        assert http.post("/recall", json={**question, "after": "m0"}).status_code == 422
        late = http.post("/memories", json={"text": "The ladder is on loan.", "memory_id": "x", "expires_in": "soon"})
        assert late.status_code == 422
        assert "expires_in" in late.text
        row = {"text": "The lamp is on loan.", "occurred_at": "2026-03-01T12:00:00Z", "expires_in": "2 hours"}
        assert http.post("/memories", json={**row, "memory_id": "gone"}).status_code == 201
        assert "gone" not in listed()


def test_mcp_filters_and_pages(home):
    async def conversation():
        async with Client(server(home, clients, runs)) as agent:

            async def said(tool, **arguments):
                result = await agent.call_tool(tool, {"profile_id": "default", **arguments})
                return "\n".join(part.text for part in result.content)

            filters = {"filters": {"metadata": {"project": "shop"}}, "current": True}
            one = await said("recall", query=QUESTION, k=1, ids=True, **filters)
            two = await said("recall", query=QUESTION, k=1, ids=True, after=one.rpartition("after=")[2], **filters)
            listed = await said("list", **filters)
            pages = [await said("list", limit=4)]
            pages.append(await said("list", limit=4, after=pages[0].rpartition("next page: after=")[2]))
            late = await said("remember", text="The lamp is on loan.", expires_in="soon")
            return one, two, listed, pages, late

    with Clients(home) as clients, Runs(home) as runs:
        one, two, listed, pages, late = anyio.run(conversation)
    assert {"m0", "m2"} == {name for name in ("m0", "m2") for text in (one, two) if f"memory_id {name}" in text}
    assert (listed.count("memory_id"), "next page" in listed) == (2, False)
    assert [(page.count("memory_id"), "next page" in page) for page in pages[:1]] == [(4, True)]
    assert not {name for name in ("m0", "m1", "m2", "m3", "m4", "m5") if all(f"memory_id {name})" in p for p in pages)}
    assert 'give a duration such as "36 hours"' in late
