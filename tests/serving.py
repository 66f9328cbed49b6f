"""The servers as their callers meet them: the installed command on a real port, or the HTTP service in this process."""

import re
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager

import httpx
import uvicorn
from commands import COMMAND, environment
from starlette.testclient import TestClient
from waiting import PATIENCE

from memory_pipeline.service import actions
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.http_server import application


class Caller(httpx.Client):
    """A client without a token that knows the process it speaks with."""

    def __init__(self, address, server):
        super().__init__(base_url=address, timeout=PATIENCE)
        self.server = server


@contextmanager
def serving(home, **variables):
    """Run `memory-pipeline serve` over a home on a free port, and yield a client without a token."""
    running = listening("--home", home, "serve", "--port", "0", **variables)
    with running as (address, server), Caller(address, server) as client:
        yield client


class OneProcess(Runs):
    """Plans in this process, and makes its runs in another one, as a server does; keeps what was started."""

    def __init__(self, home):
        super().__init__(home)
        self.started = []

    def plan(self, request, *, trigger):
        return actions.consolidate(self._home, request, trigger=trigger)

    def start(self, request, *, trigger):
        self.started.append(super().start(request, trigger=trigger))
        return self.started[-1]


@contextmanager
def within(home, *, runs=Runs, pages=False):
    """Run the HTTP service over a home in this process, and yield a client without a token."""
    app = application(home, runs(home), pages=pages)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


@contextmanager
def beside(home):
    """Run the HTTP service with its pages in a thread, on a free port; yields the address. For what needs a socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = application(home, Runs(home), pages=True)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def listening(*args, ended=(0,), **variables):
    """Run the command as a server until the end of the block; yields the address that it names, and its process.

    `ended`: the exit statuses that are right.
    """
    server = subprocess.Popen(
        [COMMAND, *args],
        env=environment(PYTHONUNBUFFERED="1", **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    log = []
    address = next((found[1] for line in server.stdout if (found := _address(line, log))), None)
    rest = threading.Thread(target=lambda: log.extend(server.stdout))  # a full pipe would stop the server
    rest.start()
    try:
        assert address, "".join(log)
        yield address, server
    finally:
        server.send_signal(signal.SIGINT)
        status = server.wait(PATIENCE)
        rest.join()
        server.stdout.close()
        assert status in ended, "".join(log)
        assert "Traceback" not in "".join(log), "".join(log)


def _address(line, log):
    log.append(line)
    return re.search(r"listening at (http://[^;\s]+)", line)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}
