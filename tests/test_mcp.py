"""The MCP server as an agent meets it, spoken to by the SDK's own client.

What the tools do is asked of a server in this process; the installed command is spoken to over pipes and over HTTP.
"""

import json
import re
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import homes
import httpx
import pytest
from commands import COMMAND, environment, refused
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from serving import bearer, listening
from tokenizers import Tokenizer
from waiting import PATIENCE

import memory_pipeline
from memory_pipeline import MemoryClient
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.service import actions, auth_tokens
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import RequestedRun, Runs
from memory_pipeline.service.mcp_server import Exposure, server
from memory_pipeline.service.middleware import Address
from memory_pipeline.service.request_bodies import Conditions

READING = {"recall", "get", "list", "review", "explain", "status"}
ERASING = {"forget", "erase_user", "erase_questions"}
TOOLS = READING | {
    "session_start", "remember", "update", "protect", "resolve", "feedback", "end_session", "consolidate",
    "undo",
}  # fmt: skip
UNLISTED = {"remember_many", "restore", "tick"}
"""Tools that only programs call."""
MOST_TOKENS = 1_850
"""What the list of tools may cost an agent, in tokens of the reader."""
MOST_OF_STATUS = 150
TOKENIZER = Path(memory_pipeline.__file__).parent / "models" / "reader" / "tokenizer.json"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp") / "data"
    repeats = [
        {"event_type": "memory.stored", "profile_id": "sample-1", "occurred_at": homes.NIGHT - homes.days(9 - number)}
        | {"payload": {"content": f"Bo likes green tea in the morning{sign}"}}
        for number, sign in enumerate(("", ".", "!"))
    ]
    told = [parse(event, recorded_at=homes.RECORDED, origin="test") for event in repeats]
    homes.filled(folder, [*homes.events(profiles=1, memories=12), *told]).close()
    return folder


class Here(Runs):
    """Plans and runs in this process; that a server has processes of their own for them, `test_http.py` tests."""

    def plan(self, request, *, trigger):
        return actions.consolidate(self._home, request, trigger=trigger)

    def start(self, request, *, trigger):
        result = Future()
        result.set_result(self.plan(request, trigger=trigger))
        return RequestedRun("r", request, homes.NIGHT, result)


def talk(home, conversation, mode="auto", **exposure):
    """Let a client speak with a server in this process, and return what the conversation returned."""

    async def session():
        async with Client(server(home, clients, runs, Exposure(**exposure)), mode=mode) as client:
            return await conversation(client)

    with Clients(home) as clients, Here(home) as runs:
        return anyio.run(session)


def talk_over_pipes(home, conversation, *options):
    """Start the command, let a client speak with it, and return what the conversation returned."""

    async def session():
        command = StdioServerParameters(
            command=str(COMMAND), args=["--home", str(home), "mcp", *options], env=environment()
        )
        async with Client(stdio_client(command)) as client:
            return await conversation(client)

    return anyio.run(session)


async def listed(client):
    return {tool.name: tool for tool in (await client.list_tools()).tools}


def said(result):
    return "\n".join(part.text for part in result.content)


def tokens(text):
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def ids_in(text):
    """Ids of memories that a text names."""
    return re.findall(r"memory_id ([^ ;)]+)", text)


def test_every_tool_and_argument_is_described_for_the_agent(home):
    async def conversation(client):
        return client.instructions, await listed(client)

    instructions, tools = talk(home, conversation)
    assert all(name in instructions for name in ("session_start", "recall", "remember", "feedback", "end_session"))
    assert set(tools) == TOOLS
    for name, tool in tools.items():
        assert len(tool.description) > 30
        assert all(field["type"] for field in tool.input_schema["properties"].values()), name
        assert "profile_id" not in tool.input_schema.get("required", ())
        assert bool(tool.annotations.read_only_hint) is (name in READING)
        assert not tool.annotations.destructive_hint
    own = tools["consolidate"].input_schema
    assert set(own["properties"]) == {"dry_run"}
    assert "required" not in own
    assert "every tool takes profile_id" in instructions
    assert all(name in tools["recall"].description for name in Conditions.model_fields)
    assert "null" not in json.dumps([tool.input_schema for tool in tools.values()])


def test_an_answer_in_words_is_sent_once(home):
    async def conversation(client):
        asked = (("recall", {"query": "launch", "profile_id": "sample-1"}), ("status", {"profile_id": "sample-1"}))
        return [await client.call_tool(name, arguments) for name, arguments in asked]

    for result in talk(home, conversation):
        assert said(result)
        assert result.structured_content is None


@pytest.mark.parametrize("exposure", [{}, {"profile_id": "sample-1"}])
def test_the_list_of_tools_costs_an_agent_little(home, exposure):
    async def conversation(client):
        return (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)

    tools = talk(home, conversation, **exposure)["tools"]
    assert tokens(json.dumps(tools, separators=(",", ":"))) <= MOST_TOKENS


TOLD = (
    "Mrs. Okafor raises the rent of the repair shop on Mill Lane to 1,240 euros from November on, payable in advance.",
    "Host db-eu-1.internal:5432 takes MAX_RETRIES=5 from /etc/orders/config.yaml since commit 3f786850e387550fdab8.",
    "The customs number of the cargo bike is DE89-3704-0044-0532, ask Yusuf's adviser at +49 151 23456789.",
)


@pytest.mark.parametrize("text", TOLD)
def test_a_text_for_an_agent_keeps_to_its_budget_by_a_real_tokenizer(tmp_path, text):
    with MemoryClient(tmp_path, profile_id="ana") as client:
        client.remember_many(f"{text} Note {number}." for number in range(80))

    async def conversation(client):
        asked = (
            ("recall", {"query": text, "k": 80}),
            ("recall", {"query": text, "k": 80, "ids": True}),
            ("recall", {"query": text, "k": 80, "token_budget": 200}),
            ("list", {"limit": 80}),
        )
        return [said(await client.call_tool(name, arguments)) for name, arguments in asked]

    whole, named, short, listing = talk(tmp_path, conversation, profile_id="ana")
    assert 500 <= tokens(whole) <= 800
    assert 500 <= tokens(named.partition("next page")[0]) <= 800
    assert 100 <= tokens(short) <= 200
    assert 500 <= tokens(listing) <= 800


@pytest.mark.parametrize(
    ("exposure", "tools"),
    [
        ({"read_only": True}, READING),
        ({"read_only": True, "allow_erase": True}, READING),
        ({"allow_erase": True}, TOOLS | ERASING),
        ({"tools": ["recall", "remember"]}, {"recall", "remember"}),
        ({"tools": ["tick", "restore", "remember_many"]}, UNLISTED),
        ({"tools": ["recall", "forget"]}, {"recall", "forget"}),
        ({"tools": ["recall"], "read_only": True}, {"recall"}),
    ],
)
def test_only_the_tools_that_are_asked_for_are_offered(home, exposure, tools):
    async def conversation(client):
        hidden = await client.call_tool("erase_user", {"user_id": "x"}) if "erase_user" not in tools else None
        return client.instructions, await listed(client), hidden

    instructions, offered, hidden = talk(home, conversation, **exposure)
    assert set(offered) == tools
    assert all(tool.annotations.destructive_hint for name, tool in offered.items() if name in ERASING)
    assert ("forget" in instructions) is ("forget" in tools)
    assert hidden is None or hidden.is_error


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--tools", "recal"), "--tools: tool 'recal' is unknown; the closest match is 'recall'"),
        (("--tools", "remember", "--read-only"), "tool 'remember' changes memories"),
        (("--http", "here"), "--http 'here' is not an address; write HOST:PORT"),
        (("--host-name", "x"), "--host-name needs --http"),
    ],
)
def test_wrong_options_are_refused(home, options, part):
    assert part in refused("mcp", *options, home=home, status=2)


@pytest.mark.drill
def test_the_options_of_the_command_bound_its_server_and_a_read_only_one_notes_no_access(home, tmp_path):
    assert "no memories in" in refused("mcp", "--read-only", home=tmp_path / "none")
    assert not (tmp_path / "none").exists()

    async def conversation(client):
        return await listed(client), await client.call_tool("recall", {"query": "garden"})

    with Lake(home) as lake:
        before = lake.ledger.position()
    options = ("--read-only", "--profile", "sample-1", "--tools", "recall, status")
    tools, found = talk_over_pipes(home, conversation, *options)
    assert set(tools) == {"recall", "status"}
    assert not any("profile_id" in tool.input_schema["properties"] for tool in tools.values())
    assert said(found).count("\n- [") > 0, said(found)
    with Lake(home) as lake:
        assert lake.ledger.position() == before


def test_a_server_for_one_profile_takes_no_other(tmp_path):
    async def conversation(client):
        stored = await client.call_tool("remember", {"text": "Ana drinks tea."})
        other = await client.call_tool("remember", {"text": "Bo too.", "profile_id": "bo"})
        return await listed(client), stored.structured_content, said(other), other.is_error

    tools, stored, other, wrong = talk(tmp_path, conversation, profile_id="ana")
    assert not any("profile_id" in tool.input_schema["properties"] for tool in tools.values())
    assert stored["profile_id"] == "ana"
    assert (wrong, "'profile_id' is not a known field" in other) == (True, True)
    with Lake(tmp_path) as lake:
        assert lake.events()["profile_id"].to_list() == ["ana"]


def test_without_a_profile_the_only_one_is_taken_and_several_are_named(tmp_path):
    async def conversation(client):
        first = await client.call_tool("remember", {"text": "One.", "profile_id": "ana"})
        second = await client.call_tool("remember", {"text": "Two."})
        await client.call_tool("remember", {"text": "Three.", "profile_id": "bo"})
        return first.structured_content, second.structured_content, await client.call_tool("list", {})

    first, second, unclear = talk(tmp_path, conversation)
    assert first["profile_id"] == second["profile_id"] == "ana"
    assert unclear.is_error
    assert "several profiles, by number of memories: ana (2), bo (1); name one as profile_id" in said(unclear)


@pytest.fixture(scope="module")
def over_http(tmp_path_factory):
    """Run `memory-pipeline mcp --http` over an empty home on a free port; yields the home and the URL."""
    home = tmp_path_factory.mktemp("mcp") / "http"
    Lake(home).close()
    options = ("--http", "0", "--allow-erase", "--host-name", "memory.example")
    with listening("--home", home, "mcp", *options) as (url, _):
        yield home, url


def speak(url, token, conversation):
    """Let a client with a token speak with a server over HTTP."""

    async def session():
        async with (
            httpx.AsyncClient(headers=bearer(token), timeout=PATIENCE) as client,
            Client(streamable_http_client(url, http_client=client)) as agent,
        ):
            return await conversation(agent)

    return anyio.run(session)


def test_over_http_a_token_decides_whose_memories_an_agent_sees(over_http):
    home, url = over_http
    admin, _ = auth_tokens.create(home, Role.ADMIN)
    tokens = {name: auth_tokens.create(home, Role.AGENT, profile_id=name)[0] for name in ("ana", "bo")}

    async def store(client):
        stored = await client.call_tool("remember", {"text": "Drinks green tea.", "user_id": "u"})
        assert not stored.is_error, said(stored)
        return stored.structured_content

    async def look(client):
        return [
            await client.call_tool("list", {}),
            await client.call_tool("list", {"profile_id": "ana"}),
            await client.call_tool("consolidate", {"profile_id": "ana", "dry_run": True}),
            await client.call_tool("erase_user", {"user_id": "u"}),
        ]

    async def administer(client):
        own = await client.call_tool("list", {"profile_id": "ana"})
        gone = await client.call_tool("erase_user", {"profile_id": "ana", "user_id": "u"})
        return said(own), gone.structured_content, await client.call_tool("list", {})

    assert speak(url, tokens["ana"], store)["profile_id"] == "ana"
    own, other, run, erased = speak(url, tokens["bo"], look)
    whole, gone, unclear = speak(url, admin, administer)
    assert said(own) == "No memory matches."
    for refusal in (other, run):
        assert "the token is only for profile 'bo'" in said(refusal)
    assert "administrator" in said(erased)
    assert gone["erased"] == ids_in(whole)
    assert len(ids_in(whole)) == 1
    assert not unclear.is_error


def test_over_http_a_team_is_searched_with_ones_own_by_a_token_that_may_read_it(over_http):
    home, url = over_http
    for name, text in (("ana", "The kettle is green."), ("team", "The team's kettle is red.")):
        with MemoryClient(home, profile_id=name) as memory:
            memory.remember(text)
    both = {"query": "What colour is the kettle?", "profiles": ["ana", "team"]}

    async def ask(client):
        return await client.call_tool("recall", both)

    shared, _ = auth_tokens.create(home, Role.AGENT, profile_id="ana", reads=["team"])
    own, _ = auth_tokens.create(home, Role.AGENT, profile_id="ana")
    found = said(speak(url, shared, ask))
    assert "The kettle is green. (profile_id ana)" in found
    assert "The team's kettle is red. (profile_id team)" in found
    assert "the token may not read profile 'team'" in said(speak(url, own, ask))
    assert "'profiles' is not a known field; this server has a single profile" in said(
        talk(home, ask, profile_id="ana")
    )


def test_over_http_a_profile_of_another_type_is_refused_as_any_wrong_argument(over_http):
    home, url = over_http
    token, _ = auth_tokens.create(home, Role.AGENT, profile_id="ana")

    async def ask(client):
        wrong = (["ana"], {"ana": 1}, [], 5, True)
        return [await client.call_tool("recall", {"query": "tea", "profile_id": profile_id}) for profile_id in wrong]

    for refusal in speak(url, token, ask):
        assert refusal.is_error
        assert re.search(r"profile_id is .*; give a text", said(refusal))


def test_over_http_nothing_is_answered_without_a_token_to_another_host_or_origin_or_as_a_stream(over_http):
    home, url = over_http
    token, grant = auth_tokens.create(home, Role.ADMIN)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    with httpx.Client(timeout=PATIENCE) as client:

        def ask(**headers):
            return client.post(url, json=body, headers=accept | bearer(token) | headers).status_code

        assert client.post(url, json=body, headers=accept).status_code == 401
        wrong = client.post(url, json=body, headers=accept | bearer("mpt_x"))
        assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, "Bearer")
        assert "memory-pipeline token create" in wrong.json()["detail"]
        assert ask() == ask(Host="memory.example") == ask(Origin="https://memory.example") == 200
        assert ask(Host="evil.example") == 421
        assert ask(Origin="http://evil.example") == 403
        stream = client.get(url, headers=accept | bearer(token))
        assert (stream.status_code, stream.headers["allow"]) == (405, "POST")  # it would never end
        auth_tokens.revoke(home, grant.token_id)
        assert ask() == 401


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("8001", "127.0.0.1", 8001, True),
        (":8001", "127.0.0.1", 8001, True),
        ("localhost:8001", "localhost", 8001, True),
        ("[::1]:8001", "::1", 8001, True),
        ("0.0.0.0:80", "0.0.0.0", 80, False),  # noqa: S104
        ("memory.example:80", "memory.example", 80, False),
    ],
)
def test_an_address_is_loopback_unless_another_host_is_named(text, host, port, loopback):
    address = Address.parse(text)
    assert (address.host, address.port, address.loopback) == (host, port, loopback)


def test_what_an_agent_remembers_is_stored_word_for_word(tmp_path):
    text = "The café opens at 7 €, not [bold]8[/bold]."
    told = {
        "memory_type": "Decision",
        "importance": 0.9,
        "session_id": "s1",
        "agent_id": "a",
        "user_id": "u1",
        "speaker": "Bo",
        "tags": ["cafe"],
        "valid_from": "2026-03-01T00:00:00+00:00",
        "valid_until": "2026-04-01T00:00:00+00:00",
    }

    async def conversation(client):
        new = {"text": text, "profile_id": "ana", "occurred_at": "2026-03-02T00:00:00Z"}
        stored = await client.call_tool("remember", told | new)
        assert not stored.is_error, said(stored)
        filters = {"user_id": "u1", "speaker": "Bo", "tags": ["cafe"], "until": "2026-03-03T00:00:00Z"}
        listed = await client.call_tool("list", {"profile_id": "ana", "filters": filters})
        (memory_id,) = ids_in(said(listed))
        shown = await client.call_tool("get", {"profile_id": "ana", "memory_id": memory_id})
        return stored.structured_content, shown.structured_content

    found, shown = talk(tmp_path, conversation)
    assert {name: shown[name] for name in told} == told
    assert shown["created_at"] == "2026-03-02T00:00:00+00:00"
    with Lake(tmp_path) as lake:
        events = lake.events()
    row = events.row(0, named=True)
    assert (row["profile_id"], row["session_id"], row["memory_id"]) == ("ana", "s1", found["memory_id"])
    assert text in row.values()


def test_an_agent_recalls_what_it_remembered_and_forgets_what_it_is_asked_to(tmp_path):
    async def conversation(client):
        async def ask(tool, **arguments):
            result = await client.call_tool(tool, arguments | {"profile_id": "ana"})
            assert not result.is_error, said(result)
            return result

        empty = await ask("recall", query="What does Ana drink?")
        beginning = said(await ask("session_start", session_id="s1"))
        ids = [
            (await ask("remember", text=text, session_id="s1")).structured_content["memory_id"]
            for text in ("Ana drinks green tea.", "The office moved to Basel in March.")
        ]
        found = said(await ask("recall", query="What does Ana drink?", k=1, ids=True))
        told = said(await ask("session_start", session_id="s2", query="where is the office?"))
        noted = said(await ask("feedback", memory_id=ids[0], helpful=True))
        why = said(await ask("explain", memory_id=ids[0], query="What does Ana drink?"))
        receipt = (await ask("forget", memory_id=ids[0])).structured_content
        left = said(await ask("recall", query="What does Ana drink?", deep=True, ids=True))
        gone = said(await ask("explain", memory_id=ids[0]))
        again = await client.call_tool("feedback", {"memory_id": ids[0], "helpful": True, "profile_id": "ana"})
        return said(empty), beginning, ids, found, told, noted, why, receipt, left, gone, again

    empty, beginning, ids, found, told, noted, why, receipt, left, gone, again = talk(
        tmp_path, conversation, allow_erase=True
    )
    assert empty == "No memory answers this."
    assert beginning == "Nothing is remembered yet."
    assert re.search(rf"- \[\d{{4}}-\d\d-\d\d\] Ana drinks green tea\. \(memory_id {ids[0]}\)\nnext page", found)
    assert "The office moved to Basel in March." in told
    assert noted == "noted"
    assert "It is number 1 of the answer" in why
    assert receipt["erased"] == [ids[0]]
    assert receipt["not_covered"]
    assert ids[0] not in ids_in(left)
    assert "green tea" not in gone
    assert again.is_error
    assert ids[0] in said(again)
    stored = [file for file in tmp_path.rglob("*") if file.is_file() and b"green tea" in file.read_bytes()]
    assert stored == []


def test_an_agent_lists_changes_protects_and_erases_as_over_the_other_faces(tmp_path):
    rows = [
        {"text": "Ana drinks green tea.", "memory_id": "m1", "session_id": "s1", "tags": ["drinks"]},
        {"text": "Bo drinks black coffee.", "memory_id": "m2", "session_id": "s2", "user_id": "bo"},
    ]

    async def conversation(client):
        async def ask(tool, **arguments):
            result = await client.call_tool(tool, arguments | {"profile_id": "ana"})
            assert not result.is_error, said(result)
            return result.structured_content or said(result)

        return {
            "stored": await ask("remember_many", memories=rows),
            "filtered": await ask("recall", query="Who drinks what?", filters={"session_id": "s2"}, ids=True),
            "ranked": await ask("recall", query="Who drinks green tea?", ranking="lexical", k=1, ids=True),
            "listed": await ask("list", filters={"tags": ["drinks"]}),
            "updated": await ask("update", memory_id="m1", content="Ana drinks white tea."),
            "tagged": await ask("update", memory_id="m1", tags=["tea"], importance=0.5, metadata={"page": 3}),
            "bounded": await ask("recall", query="Who drinks tea?", min_score=1.0),
            "protected": await ask("protect", memory_id="m1", reason="she asked"),
            "lifted": await ask("protect", memory_id="m1", protected=False),
            "shown": await ask("get", memory_id="m1"),
            "ended": await ask("end_session", session_id="s1"),
            "erased": await ask("erase_user", user_id="bo"),
            "asked": await ask("erase_questions", since="2026-01-01T00:00:00Z"),
            "left": await ask("list", deep=True),
        }

    told = talk(tmp_path, conversation, allow_erase=True)
    assert told["stored"] == {"memory_ids": ["m1", "m2"], "profile_id": "ana"}
    assert ids_in(told["filtered"]) == ["m2"]
    assert ids_in(told["ranked"]) == ["m1"]
    assert told["listed"].endswith("] Ana drinks green tea. (memory_id m1)")
    assert told["updated"]["content"] == "Ana drinks white tea."
    assert (told["tagged"]["tags"], told["tagged"]["importance"], told["tagged"]["metadata"]) == (
        ["tea"],
        0.5,
        {"page": 3},
    )
    assert told["bounded"] == "No memory answers this."
    assert (told["protected"]["protected"], told["protected"]["protected_reason"]) == (True, "she asked")
    assert told["lifted"]["protected"] is False
    assert (told["shown"]["content"], told["shown"]["session_id"]) == ("Ana drinks white tea.", "s1")
    assert told["ended"] == "noted"
    assert told["erased"]["erased"] == ["m2"]
    assert (told["asked"]["erased"], told["asked"]["queries"]) == ([], 1)
    assert ids_in(told["left"]) == ["m1"]
    with Lake(tmp_path) as lake:
        assert lake.events().filter(session_id="s1")["event_type"].to_list()[-1] == "session.ended"


@pytest.mark.drill
def test_an_agent_ticks_restores_and_takes_back(consolidated, tmp_path):
    folder = tmp_path / "data"
    with homes.copied(consolidated, folder) as lake:
        merged = lake.read("memories").filter(superseded_kind="summary", profile_id="sample-1").sort("memory_id")
    copy = merged["memory_id"][0]

    async def conversation(client):
        own = {"profile_id": "sample-1"}
        ticked = await client.call_tool("tick", own)
        restored = await client.call_tool("restore", own | {"memory_id": copy})
        again = await client.call_tool("restore", own | {"memory_id": copy})
        undone = await client.call_tool("undo", own | {"target": "night", "cascade": True})
        return ticked, restored, again, undone

    ticked, restored, again, undone = talk(folder, conversation)
    assert not ticked.is_error, said(ticked)
    assert " of tick, as of " in said(ticked)
    assert restored.structured_content["lifecycle"] == "active", said(restored)
    assert "nothing to restore" in said(again)
    assert re.match(r"undone: \d+ [a-z].*--retry-reverted", said(undone))
    with Lake(folder) as lake:
        runs = lake.ledger.runs().filter(run_id="night").sort("profile_id")
    assert runs["outcome"].to_list() == ["reverted", "committed"], "the run of another profile stands"


WRONG = {
    "importance is 3; give a number from 0 to 1": ("remember", {"text": "x", "importance": 3}),
    "memory_type is 'Hunch'; give one of Decision, ": ("remember", {"text": "x", "memory_type": "Hunch"}),
    "text is ''; give a text that is not blank": ("remember", {"text": ""}),
    "text is missing; give one fact, complete without the conversation": ("remember", {}),
    "valid_from is 5; give an instant such as": ("remember", {"text": "x", "valid_from": 5}),
    "memories[0].importance is 3; give a number": ("remember_many", {"memories": [{"text": "x", "importance": 3}]}),
    "task is 'fly'; give one of decay, ": ("consolidate", {"task": "fly"}),
    "lightweight and task cannot be combined": ("consolidate", {"task": "decay", "lightweight": True}),
    "profile 'nobody' has no memory": ("status", {"profile_id": "nobody"}),
    "names 'm9', which is unknown": ("forget", {"memory_id": "m9", "profile_id": "sample-1"}),
    "k is 0; give a whole number from 1 to 100, or leave it out": ("recall", {"query": "x", "k": 0}),
    "k is '3'; give a whole number": ("recall", {"query": "x", "k": "3"}),
    "deep is 'yes'; give true or false": ("recall", {"query": "x", "deep": "yes"}),
    "'kk' is not a known field": ("recall", {"query": "x", "kk": 1}),
    "query is ' '": ("recall", {"query": " "}),
    "as_of": ("recall", {"query": "x", "as_of": "2999-01-01T00:00:00Z"}),
    "m8": ("feedback", {"memory_id": "m8", "helpful": False}),
    "m7": ("get", {"memory_id": "m7"}),
    "min_score is 2; give a number from 0 to 1": ("recall", {"query": "x", "min_score": 2}),
    "nothing to change": ("update", {"memory_id": "m8"}),
    "filters.'sesion_id' is not a known field; the closest match is 'session_id'": (
        "recall",
        {"query": "x", "filters": {"sesion_id": "s"}},
    ),
    "engram": ("recall", {"query": "x", "ranking": "engrm"}),
    "is about 'm6'": ("undo", {"target": "m6", "profile_id": "sample-1"}),
    "profile 'nobody' has no": ("explain", {"memory_id": "nothing", "profile_id": "nobody"}),
}


def test_what_is_wrong_is_said_to_the_agent(home):
    async def conversation(client):
        return {part: await client.call_tool(tool, arguments) for part, (tool, arguments) in WRONG.items()}

    for part, result in talk(home, conversation, allow_erase=True).items():
        assert result.is_error
        assert part in said(result)
        assert not any(part in said(result) for part in ("Traceback", "pydantic", "\n")), said(result)


def test_a_misspelt_argument_is_refused_and_starts_no_run(home):
    result = talk(home, lambda client: client.call_tool("consolidate", {"dryrun": True}))
    assert result.is_error
    assert "dryrun" in said(result)
    with Lake(home) as lake:
        assert lake.ledger.runs().is_empty()


def test_status_tells_what_waits(home):
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    (home / "memory_pipeline.toml").write_text(f'nightly = "{hour_ago:%M %H} * * *"\n', "utf-8")
    result = talk(home, lambda client: client.call_tool("status", {"profile_id": "sample-1"}))
    found = said(result)
    assert re.match(r"sample-1: 15 memories, [1-9]\d* events waiting\n", found)
    assert "consolidated: never; " in found
    assert "due now: the nightly run of " in found
    assert str(home) not in found
    assert tokens(found) <= MOST_OF_STATUS


def test_an_agent_looks_first_then_consolidates_and_asks_why(home):
    async def conversation(client):
        planned = await client.call_tool("consolidate", {"profile_id": "sample-1", "dry_run": True})
        with Lake(home) as lake:
            before = lake.ledger.runs().height
        done = await client.call_tool("consolidate", {"profile_id": "sample-1"})
        ids = lake_memory(home)
        why = await client.call_tool("explain", {"profile_id": "sample-1", "memory_id": ids})
        return planned, before, done, why

    planned, before, done, why = talk(home, conversation)
    assert not planned.is_error, said(planned)
    assert before == 0
    merges = re.search(r"^\d+ repeats -> \d+$", said(planned), re.MULTILINE)[0]
    assert "\n- merged: " in said(planned)
    assert not done.is_error, said(done)
    assert said(done).startswith("sample-1, full: ")
    assert merges in said(done)
    assert re.search(r"\nundo: [0-9a-f-]{36}$", said(done))
    assert not why.is_error
    assert "sample-1" in said(why)
    with Lake(home) as lake:
        assert set(lake.ledger.runs()["trigger"]) == {"mcp"}


def lake_memory(home):
    with Lake(home) as lake:
        return lake.read("memories").filter(kind="original")["memory_id"][0]


def test_one_broken_setting_is_said_and_the_server_lives_on(tmp_path):
    async def conversation(client):
        await client.call_tool("remember", {"text": "One."})
        (tmp_path / "memory_pipeline.toml").write_text("[policy]\nlinkge = 1\n", "utf-8")
        broken = await client.call_tool("status", {})
        (tmp_path / "memory_pipeline.toml").unlink()
        return broken, await client.call_tool("status", {})

    broken, mended = talk(tmp_path, conversation)
    assert broken.is_error
    assert "did you mean 'linkage'?" in said(broken)
    assert ": 1 memory, " in said(mended)


def test_a_wrong_prompt_is_the_callers_mistake_and_no_fault_in_the_log(home, caplog):
    async def conversation(client):
        refusals = []
        for name, given in (("nothing", {}), ("session_start", {"what": "x"}), ("what_changed", {"profile_id": "bo"})):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, given)
            refusals.append((refused.value.error.code, str(refused.value)))
        return refusals

    unknown, odd, other = talk(home, conversation, "legacy", profile_id="sample-1")
    assert unknown == (INVALID_PARAMS, "Unknown prompt: nothing")
    assert odd[0] == INVALID_PARAMS
    assert odd[1].startswith("'what' is not a known argument of session_start; choose one of ")
    assert (other[0], "this server has a single profile, leave it out" in other[1]) == (INVALID_PARAMS, True)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(("exposure", "asked"), [({}, True), ({"profile_id": "sample-1"}, False)])
def test_prompts_ask_for_a_profile_only_where_a_server_has_several(home, exposure, asked):
    async def conversation(client):
        return (await client.list_prompts()).prompts

    arguments = [{one.name for one in prompt.arguments} for prompt in talk(home, conversation, **exposure)]
    assert ["profile_id" in names for names in arguments] == [asked] * 3


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_resources_and_prompts_tell_what_is_remembered_and_what_changed(tmp_path):
    with MemoryClient(tmp_path, profile_id="a/na", session_id="s/1") as memory:
        told = memory.remember("I am allergic to peanuts.", speaker="user", memory_id="m 1/é")
        memory.remember_many(["The website launch is on 12 June.", "The website launch moved to 26 June."])
        memory.consolidate()
        memory.remember("The website has a new logo.")
        update = memory.update(told, importance=1.0)

    async def conversation(client):
        listed = [str(row.uri) for row in (await client.list_resources()).resources]
        templates = [row.uri_template for row in (await client.list_resource_templates()).resource_templates]
        prompts = {row.name: row for row in (await client.list_prompts()).prompts}
        texts = [
            (await client.read_resource(f"memory://a%2Fna/{path}")).contents[0].text
            for path in ("core", "memories/m%201%2F%C3%A9", "sessions/s%2F1")
        ]
        asked = ({}, {"topic": "When is the website launch?"})
        starts = [(await client.get_prompt("session_start", given)).messages[0].content.text for given in asked]
        wheres = ({}, {"since": "2100-01-01"})
        wheres += ({"since": f"{update.created_at + timedelta(microseconds=1):%Y-%m-%dT%H:%M:%S.%fZ}"},)
        changes = [(await client.get_prompt("what_changed", given)).messages[0].content.text for given in wheres]
        refusals = []
        for asking in (
            client.read_resource("memory://a%2Fna/memories/none"),
            client.read_resource("memory://a%2Fna/sessions/none"),
            client.read_resource("memory://bo/core"),
            client.get_prompt("what_changed", {"since": "yesterday"}),
        ):
            with pytest.raises(MCPError) as refused:
                await asking
            refusals.append(str(refused.value))
        return listed, templates, prompts, texts, starts, changes, refusals

    quiet = {"profile_id": "a/na", "read_only": True}
    told_by = {mode: talk(tmp_path, conversation, mode, **quiet) for mode in ("2026-07-28", "legacy")}
    assert told_by["2026-07-28"][:5] == told_by["legacy"][:5], "both generations of the protocol"
    listed, templates, prompts, texts, starts, changes, refusals = told_by["legacy"]
    assert listed == ["memory://a%2Fna/core"]
    assert len(templates) == 3
    assert {argument.name for argument in prompts["session_start"].arguments} == {"topic", "project"}
    core, one, session = texts
    assert "allergic to peanuts" in core
    assert json.loads(one)["memory_id"] == told
    assert session.count("\n") == 3
    assert "26 June" not in starts[0]
    assert "12 June. (no longer current since" in starts[1]
    assert "## Stored: 4\n" in changes[0]
    assert "## Updated: 0\n" in changes[0]
    assert "## Stored: 3\n" in changes[2]
    assert "## Updated: 1\n- [" in changes[2]
    moved = "“The website launch is on 12 June.” -> “The website launch moved to 26 June.”"
    assert f"## Changed\n\n- {moved} (" in changes[0]
    assert "ASSOCIATED" not in changes[0], "links are no news"
    assert "## Stored: 0" in changes[1]
    assert "is not a memory of profile" in refusals[0]
    assert "in which nothing was stored; correct the id" in refusals[1]
    assert "single profile, 'a/na'" in refusals[2]
    assert "since is 'yesterday'" in refusals[3]


UPDATED = ("User works at Siemens in Munich.", "User now works at Bosch in Munich.")


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_an_agent_is_asked_what_a_new_memory_replaces_settles_it_and_takes_it_back(tmp_path):
    async def conversation(client):
        first = await client.call_tool("remember", {"text": UPDATED[0]})
        second = await client.call_tool("remember", {"text": UPDATED[1]})
        likely = second.structured_content["likely"]
        pair = re.search(r"\[([0-9a-f]{8})\]", likely)[1]
        settled = await client.call_tool("resolve", {"pair": pair, "relation": "update"})
        read = {"memory_id": first.structured_content["memory_id"]}
        old = (await client.call_tool("get", read)).structured_content
        await client.call_tool("resolve", {"pair": pair, "relation": "open"})
        again = (await client.call_tool("get", read)).structured_content
        return likely, settled, (old, again), second.structured_content

    likely, settled, (old, again), new = talk(tmp_path, conversation, profile_id="ana")
    assert f'"{UPDATED[0]}"' in likely
    assert said(settled) == "noted"
    assert old["superseded_by"] == new["memory_id"]
    assert "superseded_by" not in again


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_an_agent_reads_both_sides_of_a_contradiction(tmp_path):
    texts = ("The boathouse key hangs in the porch.", "The boathouse key is in the drawer.")
    with MemoryClient(tmp_path, profile_id="ana") as client:
        client.resolve(tuple(client.remember_many(texts)), "conflict")
        client.consolidate()

    async def conversation(client):
        return said(await client.call_tool("recall", {"query": "Where is the boathouse key?", "k": 1}))

    text = talk(tmp_path, conversation, profile_id="ana")
    assert "contradicts another memory" in text
    assert all(one in text for one in texts)


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_a_prompt_leads_an_agent_through_what_is_uncertain(tmp_path):
    with MemoryClient(tmp_path, profile_id="ana") as client:
        for text in UPDATED:
            client.remember(text)
        client.consolidate()

    async def conversation(client):
        asked = (await client.get_prompt("tidy_up")).messages[0].content.text
        pair = re.search(r"\[([0-9a-f]{8})\] does the newer replace the older", asked)[1]
        await client.call_tool("resolve", {"pair": pair, "relation": "update"})
        return asked, (await client.get_prompt("tidy_up")).messages[0].content.text

    asked, later = talk(tmp_path, conversation, profile_id="ana")
    assert all(f'"{text}"' in asked for text in UPDATED)
    assert "Nothing in memory needs an answer" in later


def test_every_tool_that_returns_a_memory_returns_the_beginning_of_a_long_one(tmp_path):
    long = "The minutes go on. " * 2_000

    async def conversation(client):
        arguments = {"profile_id": "ana", "memory_id": "long"}
        asked = {"get": {}, "update": {"importance": 0.5}, "protect": {}}
        return {
            name: (await client.call_tool(name, arguments | more)).structured_content for name, more in asked.items()
        }

    with MemoryClient(tmp_path, profile_id="ana") as client:
        client.remember(long, memory_id="long", protected=True)
        length = len(client.get("long").content)
    for name, answer in talk(tmp_path, conversation).items():
        assert (answer["characters"], answer["next"]) == (length, 8_000), name
        assert len(json.dumps(answer)) < 10_000, name
