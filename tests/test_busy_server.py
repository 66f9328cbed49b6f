"""A server stays up: it bounds heavy requests, turns slow clients away, answers /health, and stops in seconds."""

import asyncio
import logging
import resource
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from types import SimpleNamespace

import homes
import httpx
import pytest
import uvicorn
from serving import bearer, listening, serving
from starlette.testclient import TestClient
from uvicorn.server import ServerState

from memory_pipeline.lake.tables import Lake
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.actions import Consolidation
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import Ended, Runs
from memory_pipeline.service.http_server import application
from memory_pipeline.service.limits import Busy, Slots
from memory_pipeline.service.listening import Connections, ImpatientProtocol, Turns, worth_a_line
from memory_pipeline.service.middleware import limit_bodies
from memory_pipeline.settings import Settings

HEAVY = (
    ("POST", "/consolidate", {"dry_run": True}),
    ("POST", "/consolidate", {}),
    ("POST", "/tick", None),
    ("POST", "/undo", {"target": "x"}),
    ("DELETE", "/memories/x", None),
)


def settings(home, **values):
    home.mkdir(exist_ok=True)
    (home / "memory_pipeline.toml").write_text(
        "\n".join(f"{name} = {value}" for name, value in values.items()), "utf-8"
    )


def test_slots_are_counted_by_token_and_in_all_and_given_back(tmp_path):
    settings(tmp_path, max_heavy_requests=3, max_heavy_requests_per_token=2)
    slots = Slots(tmp_path)
    with slots.taken("a"), slots.taken("a"):
        with pytest.raises(Busy, match="max_heavy_requests_per_token = 2") as own, slots.taken("a"):
            pass
        with slots.taken("b"), pytest.raises(Busy, match="max_heavy_requests = 3") as every, slots.taken("c"):
            pass
    assert (own.value.status, every.value.status) == (429, 503)
    with slots.taken("a"), slots.taken("a"):
        pass


def test_what_is_too_much_is_turned_away_with_the_setting_and_when_to_ask_again(tmp_path):
    settings(tmp_path, max_heavy_requests_per_token=1)
    token, grant = auth_tokens.create(tmp_path, Role.AGENT, profile_id="p")
    with TestClient(application(tmp_path, Runs(tmp_path)), "http://localhost", headers=bearer(token)) as client:
        assert client.post("/memories", json={"text": "One fact."}).status_code == 201
        with client.app.state.slots.taken(grant.token_id):
            answers = [client.request(method, path, json=body) for method, path, body in HEAVY]
            assert {answer.status_code for answer in answers} == {429}
            assert {answer.headers["retry-after"] for answer in answers} == {"5"}
            assert all("max_heavy_requests_per_token = 1" in answer.json()["detail"] for answer in answers)
            assert client.get("/health").status_code == 200
            assert client.post("/recall", json={"query": "fact"}).status_code == 200
        assert client.delete("/memories/x").status_code == 404
        assert client.delete("/memories/x").status_code == 404  # what failed gave its slot back


def test_a_dry_run_that_takes_too_long_is_ended_and_a_stopped_server_takes_no_more(tmp_path):
    settings(tmp_path, dry_run_seconds=1)
    with Runs(tmp_path) as runs:
        with pytest.raises(Ended, match="dry_run_seconds = 1"):  # its process takes longer to start
            runs.plan(Consolidation(dry_run=True), trigger="http")
        runs.stop()
        with pytest.raises(Ended, match="the server stopped"):
            runs.plan(Consolidation(dry_run=True), trigger="http")


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:"])
def test_a_header_that_does_not_come_closes_the_connection(sent):
    async def closed():
        config = uvicorn.Config(None, timeout_keep_alive=0.05, log_config=None)
        loop, state = asyncio.get_running_loop(), ServerState()
        server = await loop.create_server(lambda: ImpatientProtocol(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent)
        async with asyncio.timeout(10):
            found = await reader.read()
        writer.close()
        server.close()
        return found

    assert asyncio.run(closed()) == b""


@pytest.mark.parametrize(("requests", "kept"), [(1, "first"), (2, "second")])
def test_requests_that_a_client_sends_ahead_keep_no_place(monkeypatch, requests, kept):
    async def still_open():
        reached = asyncio.Event()

        async def never(_scope, _receive, _send):
            reached.set()
            await asyncio.Event().wait()

        config = uvicorn.Config(never, log_config=None)
        loop, state = asyncio.get_running_loop(), ServerState()
        server = await loop.create_server(lambda: ImpatientProtocol(config, state, {}), "127.0.0.1", 0)
        place = server.sockets[0].getsockname()
        first, writer = await asyncio.open_connection(*place)
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * requests)
        await reached.wait()
        second, other = await asyncio.open_connection(*place)
        ends = {"first": first.read(1), "second": second.read(1)}
        tasks = {asyncio.create_task(end): name for name, end in ends.items()}
        done, waiting = await asyncio.wait(tasks, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        for task in [*waiting, *state.tasks]:
            task.cancel()
        await asyncio.gather(*tasks, *state.tasks, return_exceptions=True)
        writer.close()
        other.close()
        server.close()
        assert len(done) == 1
        return {tasks[task] for task in waiting}

    monkeypatch.setattr(ImpatientProtocol, "open", Connections(1, 1))
    assert asyncio.run(still_open()) == {kept}


def test_requests_begin_in_turns_of_their_addresses_and_health_at_once():
    begun = []

    async def app(scope, _receive, _send):
        begun.append(scope["path"])

    async def crowd():
        turns = Turns(app)
        asked = [("/a1", "a"), ("/a2", "a"), ("/a3", "a"), ("/b1", "b"), ("/health", "a"), ("/c1", None)]
        requests = [
            asyncio.create_task(turns({"type": "http", "path": path, "client": name and (name, 1)}, None, None))
            for path, name in asked
        ]
        await asyncio.sleep(0)
        requests[1].cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        await turns({"type": "http", "path": "/a4", "client": ("a", 1)}, None, None)

    asyncio.run(crowd())
    assert begun == ["/health", "/a1", "/b1", "/c1", "/a3", "/a4"]


def test_a_body_that_does_not_come_is_answered():
    sent = []

    async def send(message):
        sent.append(message)

    limits = Settings().model_copy(update={"idle_seconds": 0.01})
    never = asyncio.Event
    scope = {"type": "http", "method": "POST", "headers": []}
    asyncio.run(limit_bodies(None, lambda: limits)(scope, lambda: never().wait(), send))
    assert sent[0]["status"] == 408
    assert b"idle_seconds = 0.01" in sent[1]["body"]


def test_half_a_body_of_a_client_that_is_gone_reaches_no_application():
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    sent = []
    scope = {"type": "http", "method": "POST", "headers": []}
    asyncio.run(
        limit_bodies(None, Settings)(scope, receive, send)
    )  # the application, None, would fail if it were called
    assert not [*messages]
    assert sent[0]["status"] == 400, "a middleware around this one fails without an answer"


def test_a_body_without_an_end_is_answered():
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    limits = Settings().model_copy(update={"body_seconds": 0.1})
    asyncio.run(limit_bodies(None, lambda: limits)({"type": "http", "method": "POST", "headers": []}, receive, send))
    assert sent[0]["status"] == 408
    assert b"body_seconds = 0.1" in sent[1]["body"]


@pytest.mark.drill
def test_45_dry_runs_of_one_agent_block_nobody_and_end_with_the_server(tmp_path):
    home = tmp_path / "data"
    homes.filled(home, homes.events(memories=10)).close()
    token, _ = auth_tokens.create(home, Role.AGENT, profile_id="sample-1")
    admin, _ = auth_tokens.create(home, Role.ADMIN)
    with listening("--home", home, "serve", "--port", "0", ended=(0, -signal.SIGTERM)) as (address, server):

        def plan(_):
            return httpx.post(f"{address}/consolidate", headers=bearer(token), json={"dry_run": True}, timeout=60)

        with ThreadPoolExecutor(45) as pool:
            answers = pool.map(plan, range(45))
            run = httpx.post(f"{address}/consolidate", headers=bearer(admin), json={"profile_id": "sample-2"})
            waits = []
            for _ in range(20):
                began = time.monotonic()
                assert httpx.get(f"{address}/health").status_code == 200
                waits.append(time.monotonic() - began)
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            server.wait(60)
            stopped = time.monotonic() - began
            codes = {answer.status_code for answer in answers}
    assert run.status_code == 202
    assert codes <= {200, 429, 503}
    assert max(waits) < 2
    assert stopped < 10
    with Lake(home) as lake:  # whole, or not at all
        committed = lake.ledger.runs()
        assert committed.height in {0, 1}
        assert lake.ledger.decisions().height == committed["decisions"].sum()


CHUNKED = b"POST /recall HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"


@pytest.mark.drill
def test_a_body_that_goes_on_after_its_answer_ends(tmp_path):
    """Whatever the method: the answer is read, and the connection closed soon after; the server logs no fault."""
    Lake(tmp_path).close()
    with serving(tmp_path) as client:
        place = (client.base_url.host, client.base_url.port)
        with ExitStack() as opened:
            half = opened.enter_context(socket.create_connection(place, 10))
            half.sendall(CHUNKED.replace(b"POST /recall", b"DELETE /health"))
        with socket.create_connection(place, 60) as endless:
            endless.sendall(CHUNKED.replace(b"POST /recall", b"GET /health"))
            answer = endless.recv(65_536)
            endless.settimeout(0.1)
            with suppress(ConnectionError):
                for _ in range(600):
                    endless.sendall(b"1\r\n \r\n")
                    with suppress(TimeoutError):
                        if not endless.recv(65_536):
                            break
                else:
                    pytest.fail("the connection stays open")
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.drill
def test_idle_and_slow_connections_stop_nobody(tmp_path):
    """Idle ones, half headers, endless bodies, requests ahead: bounded, and the server's health is told meanwhile."""
    settings(tmp_path, max_connections=40, max_connections_per_address=20, body_seconds=1)
    Lake(tmp_path).close()
    with serving(tmp_path) as client, ExitStack() as opened:
        place = (client.base_url.host, client.base_url.port)
        asked = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for sent in (b"", b"GET /health HTTP/1.1\r\nHost:", CHUNKED, asked * 300):
            held = [opened.enter_context(socket.create_connection(place, 10)) for _ in range(60)]
            for one in held:
                with suppress(OSError):  # closed already: one too many
                    one.sendall(sent)
            assert httpx.get(f"{client.base_url}/health", timeout=10).status_code == 200
        endless = opened.enter_context(socket.create_connection(place, 10))
        endless.sendall(CHUNKED)
        answer = b""
        for _ in range(100):
            with suppress(OSError):
                endless.sendall(b"1\r\n \r\n")
            endless.settimeout(0.1)
            with suppress(TimeoutError):
                answer = endless.recv(65_536)
                break
        assert answer.startswith((b"HTTP/1.1 408", b"HTTP/1.1 401"))


@pytest.mark.drill
def test_crowds_that_ask_for_long_documents_delay_health_by_little(tmp_path):
    Lake(tmp_path).close()
    with serving(tmp_path) as client, ExitStack() as opened:
        place = (client.base_url.host, client.base_url.port)
        for _ in range(200):
            one = opened.enter_context(socket.create_connection(place, 10))
            one.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 60)
        for _ in range(3):
            assert httpx.get(f"{client.base_url}/health", timeout=5).status_code == 200


@pytest.mark.drill
def test_connections_leave_a_server_files_to_open(tmp_path):
    Lake(tmp_path).close()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as opened:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, files[1]))
        try:
            client = opened.enter_context(serving(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, files)
        for _ in range(200):
            opened.enter_context(socket.create_connection((client.base_url.host, client.base_url.port), 10))
        assert client.get("/health").status_code == 200


def test_connections_of_one_address_take_no_place_of_others():
    closed, of_all = [], Connections(4, 3)

    class One:
        def __init__(self, name, *, waiting):
            self.waiting = waiting
            self.transport = SimpleNamespace(abort=lambda: closed.append(name))

    def connection(name, address):
        of_all.add(one := One(name, waiting=True), address)
        return one

    first = connection("a1", "a")
    connection("b1", "b")
    connection("a2", "a")
    of_all.renew(first)
    connection("a3", "a")
    assert closed == []
    connection("a4", "a")
    assert closed == ["a2"], "the one that waited longest, of the address with too many"
    connection("c1", "c")
    assert closed == ["a2", "a1"], "too many in all: one of the address with most"
    all_told = Connections(3, 2)
    for name, address, waiting in (("e1", "e", False), ("e2", "e", False), ("f1", "f", True)):
        all_told.add(One(name, waiting=waiting), address)
    all_told.add(One("g1", waiting=True), "g")
    assert closed.pop() == "f1", "an address whose requests are all being answered gives no place; another one does"
    busy = Connections(9, 1)
    for name in ("d1", "d2"):
        busy.add(One(name, waiting=False), "d")
    assert closed[2:] == ["d2"], "who is being answered keeps the place"


@pytest.mark.parametrize(
    ("path", "status", "told"), [("/health", 200, False), ("/health", 503, True), ("/recall", 200, True)]
)
def test_a_health_check_that_finds_all_well_leaves_no_line_in_the_log(path, status, told):
    asked = ("127.0.0.1:4711", "GET", path, "1.1", status)
    assert worth_a_line(logging.makeLogRecord({"name": "uvicorn.access", "args": asked})) is told
