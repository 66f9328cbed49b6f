"""Secrets stay where they belong: a token with its owner, a model's key in one header, and neither in any file or line.

One store lives through all that could write them down; then every file is read by its own reader, and every line that
was logged, printed or answered is searched.
"""

import json
import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import commands
import pytest
from answering import failure, serving
from leftovers import found
from serving import bearer
from starlette.testclient import TestClient

from memory_pipeline import MemoryClient
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.service import auth_tokens, mcp_http
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.http_server import application
from memory_pipeline.service.mcp_server import Exposure, server
from memory_pipeline.service.middleware import Address

KEY = "sk-sentinel-2718281828"
HOOK = "hook-sentinel-3141592653"
"""What is secret about an `alert_url`."""
SETTINGS = """
llm_base_url = "{url}"
llm_retries = 0
alert_url = "http://127.0.0.1:9/{hook}"
[policy]
llm_model = "m"
summaries = "all"
core_facts = "superlocal"
"""
TEXTS = [f"Nadia fires the kiln in Porto at {number} degrees" for number in (900, 950, 990)]


COMMANDS = (
    ("consolidate", "--profile", "nobody"),
    ("config", "show"),
    ("config", "show", "--json"),
    ("token", "list", "--json"),
    ("status", "--json"),
    ("doctor", "--json"),
)
DAGSTER = (("consolidate", "--dry-run", "--json"), ("consolidate", "--task", "full", "--json"))


@dataclass(frozen=True)
class Lived:
    """A store after a life with secrets, and every line that anybody was shown."""

    home: Path
    secrets: tuple[str, ...]
    said: list[str]
    asked: int


def called(client, token, path, **request):
    return client.request(request.pop("method", "POST"), path, headers=bearer(token), **request).text


def tool(client, token, name, **arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = bearer(token) | {"Accept": "application/json, text/event-stream"}
    return client.post("/mcp", json=body, headers=headers).text


def served(home, token, wrong):
    """Call both servers rightly and wrongly; yields what they answer."""
    options = {"base_url": "http://localhost", "raise_server_exceptions": False}
    with ExitStack() as stack:
        clients, runs = stack.enter_context(Clients(home)), stack.enter_context(Runs(home))
        http = stack.enter_context(TestClient(application(home, runs), **options))
        tools = server(home, clients, runs, Exposure(allow_erase=True))
        mcp = stack.enter_context(TestClient(mcp_http.application(tools, home, Address("127.0.0.1", 0)), **options))
        yield called(http, token, "/memories", json={"text": TEXTS[0], "memory_id": "gone", "session_id": "s"})
        for secret in (wrong, token):
            yield called(http, secret, "/recall", json={"query": "kiln"})
            yield called(http, secret, "/recall", json={"query": 7, "nonsense": []})
            yield called(http, secret, "/memories", params={"profile_id": "bo"}, method="GET")
            yield called(http, secret, "/undo", json={"target": "none"})
            yield called(http, secret, "/memories", content=b"{")
            yield tool(mcp, secret, "recall", query="kiln")
            yield tool(mcp, secret, "get", memory_id="unknown")
            yield tool(mcp, secret, "remember", text=7)


@pytest.fixture(scope="module", params=[COMMANDS, pytest.param(DAGSTER + COMMANDS, marks=pytest.mark.drill)], ids="ab")
def lived(tmp_path_factory, request):
    home, lines = tmp_path_factory.mktemp("secrets") / "home", logging.Handler(logging.DEBUG)
    said = []
    lines.emit = lambda record: said.append(logging.Formatter().format(record))
    root, level = logging.getLogger(), logging.getLogger().level
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(lambda *_: failure(401, message=f"no such key: {KEY}")) as model,
    ):
        patch.setenv("OPENAI_API_KEY", KEY)
        token, _ = auth_tokens.create(home, Role.AGENT, profile_id="ana")
        wrong = f"{auth_tokens.PREFIX}sentinel-of-a-token-that-nobody-created"
        (home / "memory_pipeline.toml").write_text(SETTINGS.format(url=model.url, hook=HOOK))
        root.addHandler(lines)
        root.setLevel(logging.DEBUG)
        try:
            with MemoryClient(home, profile_id="ana") as client:
                client.remember_many(TEXTS[1:])
                said += served(home, token, wrong)
                said.append(str(client.erase("gone")))
                said.append(str(client.consolidate()))
            said += [str(commands.call(*args, home=home, OPENAI_API_KEY=KEY)) for args in request.param]
            with Lake(home) as lake:
                said.append(str(snapshot.export(lake, home.parent / "out.duckdb")))
        finally:
            root.removeHandler(lines)
            root.setLevel(level)
        assert set(model.keys) == {f"Bearer {KEY}"}
    return Lived(home, (token, wrong, KEY), said, len(model.asked))


def test_the_life_was_one_in_which_secrets_could_have_been_written_down(lived):
    assert lived.asked
    assert all(path in "".join(map(str, sorted(lived.home.rglob("*")))) for path in ("snapshots/0", "lake/completions"))
    assert found(lived.home, "unauthorised"), "the model's failure is kept"
    assert any("a valid bearer token is required" in line for line in lived.said)
    assert any("HTTP Request: POST http://127.0.0.1" in line for line in lived.said), "what was logged was heard"


def test_no_file_of_the_store_holds_a_secret_but_a_token_as_its_hash(lived):
    assert found(lived.home, *lived.secrets) == []
    assert found(lived.home.parent, *lived.secrets) == [], "nor what was exported"
    (grant,) = json.loads((lived.home / auth_tokens.TOKENS_FILE).read_text())
    assert len(grant["sha256"]) == len(bytes(32).hex())
    assert not (lived.home / auth_tokens.TOKENS_FILE).stat().st_mode & 0o077


def test_no_line_that_is_logged_printed_or_answered_holds_a_secret(lived):
    assert [line for line in lived.said if any(secret in line for secret in lived.secrets)] == []


def test_the_address_of_alerts_stays_in_the_settings(lived):
    assert {place.split(":")[0] for place in found(lived.home, HOOK)} == {"memory_pipeline.toml"}
