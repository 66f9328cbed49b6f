"""The HTTP service as its callers meet it: the installed command on a real port, and a client for it."""

import re
import signal
import subprocess
import time
from contextlib import contextmanager

import httpx
from commands import COMMAND, environment

SECONDS = 180
"""How long a run may take on a busy machine."""


@contextmanager
def serving(home, **variables):
    """Run `memory-pipeline serve` over a home on a free port, and yield a client without a token."""
    log = home.parent / f"{home.name}.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [COMMAND, "--home", home, "serve", "--port", "0"],
            env=environment(PYTHONUNBUFFERED="1", **variables),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        with httpx.Client(base_url=_address(server, log), timeout=SECONDS) as client:
            yield client
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0, log.read_text("utf-8")
        assert "Traceback" not in log.read_text("utf-8")


def _address(server, log):
    deadline = time.monotonic() + 60
    while not (found := re.search(r"listening at (http://[^;]+)", log.read_text("utf-8"))):
        assert server.poll() is None, log.read_text("utf-8")
        assert time.monotonic() < deadline, log.read_text("utf-8")
        time.sleep(0.05)
    return found[1]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def finished(client, run_id, headers):
    """Ask until a run has ended, and return what is told of it."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        asked = client.get("/consolidate/status", headers=headers).json()["requests"]
        found = next(row for row in asked if row["run_id"] == run_id)
        if found["state"] in {"succeeded", "failed"}:
            return found
        time.sleep(0.2)
    raise AssertionError(found)
