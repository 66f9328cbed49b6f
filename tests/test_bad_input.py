"""Whatever is sent or set: an answer in one line, never a fault of the server, and nothing else is lost."""

import json
from contextlib import ExitStack, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import bearer
from starlette.testclient import TestClient
from test_access import ADMIN, OWNED, ROUTES, TOOLS, call

from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.service import auth_tokens, mcp_http
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.http_server import application
from memory_pipeline.service.mcp_server import Exposure, server
from memory_pipeline.service.middleware import Address
from memory_pipeline.settings import SettingsError, load

KEPT = "The spare key hangs behind the clock."
TEXTS = (
    *("", " ", "\x00", "\x1b[31m", "\u202e", "\ufdd0\ufdd1", "\ud800", "a\udfffb", "\U0001f9d1\u200d\U0001f680"),
    *("../../etc/passwd", "..%2f..%2f", "/dev/null", "C:\\", "~", "'; DROP TABLE events; --", '" OR 1=1', "%s", "{0}"),
    *("$(id)", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01", "2026-02-30", "-1", "1e400", "null"),
    *("x" * 5_000, "7" * 5_000, "\u6c34" * 2_000),
)
NUMBERS = (0, -1, 2**31, 2**63, -(2**63) - 1, 10**400, 1e308, float("nan"), float("inf"), 0.1, True, False)
odd = st.sampled_from(TEXTS) | st.text(max_size=20) | st.sampled_from(NUMBERS) | st.none()
junk = st.recursive(
    odd,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(TEXTS[:20]), inner, max_size=3),
    max_leaves=6,
) | st.integers(1, 2_000).map(lambda depth: json.loads("[" * depth + "]" * depth) if depth < 900 else [depth])
LONG_RUNNING = {"POST /consolidate", "POST /tick", "consolidate", "tick", "DELETE /profiles/{profile_id}"}
"""Calls of which a valid one starts a run, or takes all memories away."""
CALLS = sorted({*ROUTES, *TOOLS} - LONG_RUNNING)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Callers of both servers in this process, over a store that keeps one memory."""
    home = tmp_path_factory.mktemp("bad input") / "data"
    with MemoryClient(home, profile_id="ana") as client:
        client.remember(KEPT, memory_id="kept")
    token, _ = auth_tokens.create(home, Role.ADMIN)
    with ExitStack() as stack:
        clients, runs = stack.enter_context(Clients(home)), stack.enter_context(Runs(home))
        tools = mcp_http.application(server(home, clients, runs, Exposure()), home, Address("127.0.0.1", 0))
        options = {"base_url": "http://localhost", "raise_server_exceptions": False}
        http = stack.enter_context(TestClient(application(home, Runs(home)), **options))
        yield http, stack.enter_context(TestClient(tools, **options)), token


def damaged(known, data):
    """Return a body with one value replaced or one field added; or junk in its place."""
    body = dict(known or {})
    field = data.draw(st.sampled_from([*body, "metadata", "valid_from", "tags", "k", "filters", "occurred_at"]))
    body[field] = data.draw(junk)
    return data.draw(st.sampled_from([body, body[field], [body], [known, body]]))


@given(st.sampled_from(CALLS), st.data())
def test_a_request_of_any_form_is_answered_and_harms_no_neighbour(servers, name, data):
    http, mcp, token = servers
    known = (ROUTES | TOOLS)[name][1]
    if name in ROUTES:
        method, path = name.split(" ")
        part = data.draw(st.sampled_from(["m1", "a b", "%00", "..", "%2e%2e%2fetc", "';--", "\u6c34", "x" * 3_000]))
        body = json.dumps(damaged(known, data))
        path = path.replace("{memory_id}", part).replace("{session_id}", part).replace("{user_id}", part)
        asked = {"profile_id": "bo"} if ROUTES[name][0] in {OWNED, ADMIN} else {}
        sent = None if known is None else body
        answer = http.request(
            method, path, params=asked, content=sent, headers=bearer(token) | {"Content-Type": "application/json"}
        )
        code, said = answer.status_code, answer.text
    else:
        body = damaged(known, data)
        arguments = (body if isinstance(body, dict) else {"query": body}) | {"profile_id": "bo"}
        code, _, said = call(mcp, name, token, **json.loads(json.dumps(arguments)))
    assert code < 500, (code, said)
    assert "Traceback" not in said
    assert f'Error executing tool {name}"' not in said, "what the SDK says of a fault in a tool"
    assert http.get("/memories/kept", params={"profile_id": "ana"}, headers=bearer(token)).json()["content"] == KEPT


names = st.sampled_from(["linkage", "policy", "max_batch", "home", "llm_api_key_env", "profiles", "embedder", "decay"])
values = st.one_of(st.sampled_from(TEXTS[:25]).map(lambda text: json.dumps(text.encode("utf-8", "replace").decode())))
raw = st.sampled_from(["nan", "inf", "-1", "0", "9999999999999999999999", "true", "[]", "{}", "[[]]", "1979-05-27"])
lines = st.builds("{} = {}".format, names, values | raw) | names.map("[{}]".format) | st.text(max_size=20)


@given(st.lists(lines, max_size=4))
def test_settings_of_any_form_are_read_or_refused_in_one_sentence(tmp_path_factory, written):
    home = tmp_path_factory.mktemp("settings")
    (home / "memory_pipeline.toml").write_text("\n".join(written), "utf-8", errors="surrogatepass")
    with suppress(SettingsError):  # anything else would be a traceback
        load(home, environment={})
