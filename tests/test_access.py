"""Who may call what: every route and every tool, for every role, in the own, another and an unknown profile.

Routes and tools are read from the servers; one without an expectation here fails.
"""

import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from serving import bearer
from starlette.testclient import TestClient

from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.service import auth_tokens, mcp_http
from memory_pipeline.service.actions import Consolidation, consolidate
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.http_server import application
from memory_pipeline.service.mcp_server import Exposure, server
from memory_pipeline.service.middleware import Address
from memory_pipeline.service.profile_choice import stored_profiles

PROFILES = {"own": "ana", "other": "bo", "unknown": "nobody"}
OPEN, OWNED, STORE, ADMIN = "open", "owned", "store", "admin"
"""Anybody; an agent in its own profile; an administrator, about all profiles; an administrator, about one."""
ROUTES = {
    "GET /openapi.json": (OPEN, None),
    "GET /docs": (OPEN, None),
    "GET /health": (OPEN, None),
    "GET /metrics": (STORE, None),
    "POST /consolidate": (OWNED, {"task": "promote", "dry_run": True}),
    "GET /consolidate/status": (OWNED, None),
    "POST /memories": (OWNED, {"text": "Drinks oolong."}),
    "GET /memories": (OWNED, None),
    "GET /memories/{memory_id}": (OWNED, None),
    "PATCH /memories/{memory_id}": (OWNED, {"importance": 0.5}),
    "DELETE /memories/{memory_id}": (OWNED, None),
    "DELETE /users/{user_id}": (ADMIN, None),
    "DELETE /questions": (ADMIN, {"since": "2026-01-01T00:00:00Z"}),
    "DELETE /profiles/{profile_id}": (ADMIN, None),
    "POST /memories/{memory_id}/protect": (OWNED, {}),
    "POST /memories/{memory_id}/restore": (OWNED, None),
    "POST /memories/{memory_id}/feedback": (OWNED, {"helpful": True}),
    "GET /review": (OWNED, None),
    "POST /review": (OWNED, {"pair": ["m", "n"], "relation": "update"}),
    "POST /undo": (OWNED, {"target": "none"}),
    "POST /tick": (OWNED, None),
    "POST /recall": (OWNED, {"query": "tea", "record": False}),
    "POST /sessions/{session_id}/start": (OWNED, {}),
    "POST /sessions/{session_id}/end": (OWNED, None),
    "GET /explain/{memory_id}": (OWNED, None),
}
TOOLS = {
    "session_start": (OWNED, {}),
    "recall": (OWNED, {"query": "tea"}),
    "get": (OWNED, {"memory_id": "m"}),
    "list": (OWNED, {}),
    "remember": (OWNED, {"text": "Drinks oolong."}),
    "remember_many": (OWNED, {"memories": [{"text": "Drinks oolong."}]}),
    "update": (OWNED, {"memory_id": "m", "importance": 0.5}),
    "protect": (OWNED, {"memory_id": "m"}),
    "restore": (OWNED, {"memory_id": "m"}),
    "feedback": (OWNED, {"memory_id": "m", "helpful": True}),
    "forget": (OWNED, {"memory_id": "m"}),
    "erase_user": (ADMIN, {"user_id": "u"}),
    "erase_questions": (ADMIN, {"since": "2026-01-01T00:00:00Z"}),
    "review": (OWNED, {}),
    "resolve": (OWNED, {"pair": "none", "relation": "update"}),
    "end_session": (OWNED, {"session_id": "s"}),
    "consolidate": (OWNED, {"task": "promote", "dry_run": True}),
    "tick": (OWNED, {}),
    "undo": (OWNED, {"target": "none"}),
    "explain": (OWNED, {"memory_id": "m"}),
    "status": (OWNED, {}),
}
WORDS = "The garden gate opens with 7341."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A store in which two profiles each have a memory; that of the other one is known to nobody else."""
    folder = tmp_path_factory.mktemp("access") / "data"
    for profile, text in (("ana", "Drinks green tea."), ("bo", WORDS)):
        with MemoryClient(folder, profile_id=profile) as client:
            client.remember(text, memory_id=f"m-{profile}", user_id=f"u-{profile}", session_id=f"s-{profile}")
    return folder


@pytest.fixture(scope="module")
def tokens(home):
    gone, grant = auth_tokens.create(home, Role.ADMIN)
    auth_tokens.revoke(home, grant.token_id)
    agent, _ = auth_tokens.create(home, Role.AGENT, profile_id="ana")
    return {"admin": auth_tokens.create(home, Role.ADMIN)[0], "agent": agent, "revoked": gone, "none": None}


@pytest.fixture(scope="module")
def servers(home):
    """The two applications, in this process."""
    with ExitStack() as stack:
        http = application(home, Runs(home))
        clients, runs = stack.enter_context(Clients(home)), stack.enter_context(Runs(home))
        tools = server(home, clients, runs, Exposure(allow_erase=True))
        mcp = mcp_http.application(tools, home, Address("127.0.0.1", 0))
        options = {"base_url": "http://localhost", "raise_server_exceptions": False}
        yield (
            http,
            stack.enter_context(TestClient(http, **options)),
            stack.enter_context(TestClient(mcp, **options)),
        )


def headers(token):
    return bearer(token) if token else {}


def asked_about(name):
    """Whose profiles are asked about: where the own one would start a run, `test_http` and `test_mcp` start it."""
    runs = name.removeprefix("POST /") in {"consolidate", "tick"}
    return [(whose, profile) for whose, profile in PROFILES.items() if not (runs and whose == "own")]


def routes(app):
    """Method and path of every route, also of those that the schema does not show."""
    for route in app.routes:
        for one in [route] if hasattr(route, "path") else route.original_router.routes:
            yield from (f"{method} {one.path_format}" for method in one.methods - {"HEAD"})


def ask(client, route, token, profile, *, named="ana"):
    """Call a route about a profile; the memory, person and session are those of `named`."""
    method, path = route.split(" ")
    kind, body = ROUTES[route]
    names = {"memory_id": f"m-{named}", "user_id": f"u-{named}", "session_id": f"s-{named}", "profile_id": profile}
    if route == "POST /consolidate":
        body = body | {"profile_id": profile}
    elsewhere = "{profile_id}" in path or route == "POST /consolidate" or kind in {OPEN, STORE}
    asked = {} if elsewhere else {"profile_id": profile}
    said = {"params": asked | (body or {})} if method == "DELETE" else {"params": asked, "json": body}
    return client.request(method, path.format(**names), headers=headers(token), **said)


def call(client, tool, token, **arguments):
    """Call a tool; returns the HTTP status, and of an answer whether it is an error and what it says."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"} | headers(token)
    answer = client.post("/mcp", content=json.dumps(body), headers=sent)
    result = answer.json().get("result", {}) if answer.status_code == 200 else {}
    return answer.status_code, result.get("isError"), json.dumps(result)


def test_every_route_and_every_tool_has_an_expectation(servers):
    http, _, _ = servers
    assert set(routes(http)) == set(ROUTES)
    assert {tool.name for tool in Exposure(allow_erase=True).offers()} == set(TOOLS)


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_is_open_to_those_whom_it_concerns_alone(servers, tokens, route):
    _, client, _ = servers
    kind = ROUTES[route][0]
    for role in ("none", "revoked"):
        for profile in PROFILES.values():
            assert (ask(client, route, tokens[role], profile).status_code == 401) == (kind != OPEN), (role, profile)
    for whose, profile in asked_about(route):
        answer = ask(client, route, tokens["agent"], profile)
        forbidden = kind in {STORE, ADMIN} or (kind == OWNED and whose != "own")
        assert (answer.status_code == 403) == forbidden, (whose, answer.text)
        assert answer.status_code < 500, answer.text
        assert "7341" not in answer.text


@pytest.mark.parametrize("route", [route for route, (kind, _) in ROUTES.items() if kind == OWNED and "{" in route])
def test_a_route_in_ones_own_profile_does_not_reach_what_is_in_another(servers, tokens, route):
    _, client, _ = servers
    answer = ask(client, route, tokens["agent"], "ana", named="bo")
    assert "7341" not in answer.text
    if "{memory_id}" in route:
        assert answer.status_code == 404, answer.text
    kept = client.get("/memories/m-bo", headers=headers(tokens["admin"]), params={"profile_id": "bo"})
    assert kept.json()["content"] == WORDS


def test_an_answer_does_not_reach_a_memory_of_another_profile(servers, tokens):
    _, client, mcp = servers
    body = {"pair": ["m-ana", "m-bo"], "relation": "update"}
    answer = client.post("/review", headers=headers(tokens["agent"]), params={"profile_id": "ana"}, json=body)
    assert answer.status_code == 404, answer.text
    assert "7341" not in answer.text
    _, wrong, said = call(mcp, "resolve", tokens["agent"], pair="m-ana m-bo", relation="update")
    assert wrong
    assert "7341" not in said


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_open_to_those_whom_it_concerns_alone(servers, tokens, tool):
    _, _, client = servers
    kind, arguments = TOOLS[tool]
    for role in ("none", "revoked"):
        assert call(client, tool, tokens[role], **arguments)[0] == 401
    for whose, profile in asked_about(tool):
        code, wrong, text = call(client, tool, tokens["agent"], **arguments, profile_id=profile)
        assert code == 200
        assert "7341" not in text
        if kind == ADMIN:
            assert wrong
            assert "administrator" in text
        else:
            assert ("the token is only for profile 'ana'" in text) == (whose != "own")
    if "memory_id" in arguments:
        assert "7341" not in call(client, tool, tokens["agent"], **arguments | {"memory_id": "m-bo"})[2]


def read(client, token, method, params):
    """Read a resource or a prompt; returns the HTTP status and what it says."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"} | headers(token)
    answer = client.post("/mcp", content=json.dumps(body), headers=sent)
    return answer.status_code, answer.text


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        *(("resources/read", {"uri": f"memory://{{0}}/{path}"}) for path in ("core", "memories/m-bo", "sessions/s-bo")),
        *(
            ("prompts/get", {"name": name, "arguments": {"profile_id": "{0}"}})
            for name in ("session_start", "what_changed")
        ),
    ],
)
def test_a_resource_or_prompt_is_open_to_those_whom_it_concerns_alone(servers, tokens, method, asked):
    _, _, client = servers
    for profile in ("ana", "bo"):
        params = json.loads(json.dumps(asked).replace("{0}", profile))
        assert [read(client, tokens[role], method, params)[0] for role in ("none", "revoked")] == [401, 401]
        _, said = read(client, tokens["agent"], method, params)
        assert "7341" not in said
        assert ("the token is only for profile 'ana'" in said) == (profile == "bo")
        _, said = read(client, tokens["admin"], method, params)
        assert "the token is only for" not in said


def test_an_agent_whose_profile_has_no_memory_reads_the_name_of_no_other_profile(servers, home):
    _, http, mcp = servers
    for name in [*ROUTES, *TOOLS]:
        own = f"empty-{[*ROUTES, *TOOLS].index(name)}"  # its own, for some of them store a memory
        with Lake(home) as lake:
            others = stored_profiles(lake)
        assert len(others) >= 2
        token, grant = auth_tokens.create(home, Role.AGENT, profile_id=own)
        if name == "consolidate":  # in this process rather than in one that a server starts for it
            with pytest.raises(ValueError, match="has no memory") as refused:
                consolidate(home, Consolidation(profile_id=own, dry_run=True), trigger="mcp")
            said = str(refused.value)
        elif name in TOOLS:
            said = call(mcp, name, token, **TOOLS[name][1])[2]
        else:
            said = "" if ROUTES[name][0] == OPEN else ask(http, name, token, own, named=own).text
        assert not re.search(rf"\b({'|'.join(others)})\b", said), said
        auth_tokens.revoke(home, grant.token_id)


@pytest.mark.parametrize("route", ROUTES)
def test_an_administrator_is_refused_nowhere_and_an_unknown_profile_is_no_fault(servers, tokens, route):
    _, client, _ = servers
    answer = ask(client, route, tokens["admin"], f"unknown-{list(ROUTES).index(route)}")
    assert answer.status_code not in {401, 403}, answer.text
    assert answer.status_code < 500, answer.text


def test_a_token_revoked_between_two_requests_is_worthless_for_the_second(servers, home):
    _, http, mcp = servers
    token, grant = auth_tokens.create(home, Role.AGENT, profile_id="ana")
    assert (http.get("/memories", headers=bearer(token)).status_code, call(mcp, "list", token)[0]) == (200, 200)
    auth_tokens.revoke(home, grant.token_id)
    assert (http.get("/memories", headers=bearer(token)).status_code, call(mcp, "list", token)[0]) == (401, 401)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({}, 200),
        ({"Host": "127.0.0.1:8000"}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": "localhost@evil.example"}, 421),
        ({"Host": "[::1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[::1"}, 403),
    ],
)
def test_a_page_of_another_site_reaches_neither_server(servers, tokens, sent, code):
    _, http, mcp = servers
    own = bearer(tokens["agent"])
    assert http.get("/memories", headers=own | sent).status_code == code
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    assert mcp.post("/mcp", json=body, headers=accept | own | sent).status_code == code
    assert http.get("/health", headers=sent).status_code == 200


def test_every_promise_names_a_test_that_there_is():
    here = Path(__file__).parent
    named = re.findall(r"`tests/(\w+\.py)`", (here.parent / "SECURITY.md").read_text("utf-8"))
    assert named
    assert all((here / name).is_file() for name in named)
