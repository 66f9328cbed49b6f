"""A real Spark Connect server for tests: Sail in its cluster mode, whose workers speak with its driver over gRPC."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import waiting

_REPORTED = re.compile(r"ReportWorkerKnownPeersRequest \{ driver_id: \d+, worker_id: (\d+)")
"""What a worker says to the driver when it takes part in a job with others."""


class Server:
    """A running server of two workers or more."""

    def __init__(self, port: int, log: Path) -> None:
        self.address = f"sc://127.0.0.1:{port}"
        self._log = log

    def workers(self) -> set[str]:
        """Return the numbers of the workers that took part in jobs."""
        return set(_REPORTED.findall(self._log.read_text("utf-8")))


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """Start a server with its log in a folder, and stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster = {
        "SAIL_MODE": "local-cluster",
        "SAIL_CLUSTER__WORKER_INITIAL_COUNT": "2",
        "SAIL_CLUSTER__WORKER_TASK_SLOTS": "1",
        "RUST_LOG": "error,sail_execution::driver::server=debug",
    }
    log = folder / "sail.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [Path(sys.executable).with_name("sail"), "spark", "server", "--port", str(port)],
            env={**os.environ, **cluster},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            waiting.until(process, lambda: _listens(port), said=lambda: log.read_text("utf-8"))
            yield Server(port, log)
        finally:
            process.kill()  # told to end, it waits for clients that hold a session open
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
