"""A real server of object storage for tests, with faults between it and its clients; every store gets a bucket."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Lock, Thread

BUCKET = "memories"
_KEY, _SECRET = "tests", "made-up-for-tests"
_PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
_S3_PORTS = ("s3.port", "s3.port.grpc")
_OFF = ("s3.port.iceberg=0", "s3.port.lance=0", "master.telemetry=false")


class Server:
    """A running server behind a proxy, which passes requests on unless a test has asked for faults."""

    def __init__(self, folder: Path, upstream: int) -> None:
        self._folder, self._numbers, self._upstream, self._lock = folder, count(), upstream, Lock()
        self.faults: list[tuple[str, str]] = []
        """Pairs of method and fault; each happens once, to the next request of that method."""
        self.requests: list[str] = []
        """Method and path of each request since a test cleared the list."""
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._proxy.daemon_threads = True
        Thread(target=self._proxy.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which AWS's tools find the server."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._proxy.server_port}",
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_REGION": "us-east-1",
        }

    def address(self) -> str:
        """Return the address of an empty place."""
        return f"s3://{BUCKET}/place-{next(self._numbers)}"

    def home(self, folder: Path) -> Path:
        """Let the lake of a data folder be on the server."""
        folder.mkdir(exist_ok=True)
        with (folder / "memory_pipeline.toml").open("a", encoding="utf-8") as settings:
            settings.write(f'lake = "{self.address()}"\n')
        return folder

    def taken(self, method: str) -> str | None:
        """Take the next fault of a method."""
        with self._lock:
            found = next((pair for pair in self.faults if pair[0] == method), None)
            if found:
                self.faults.remove(found)
        return found[1] if found else None

    def connect(self) -> HTTPConnection:
        """Connect to the server itself."""
        return HTTPConnection("127.0.0.1", self._upstream)

    def files_with(self, word: str) -> list[Path]:
        """Return the files of the server that hold a word."""
        return [path for path in self._folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]

    def stop(self) -> None:
        """End the proxy."""
        self._proxy.shutdown()
        self._proxy.server_close()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # an answer is sent in two parts; the second would wait for an acknowledgement

        def _pass_on(self) -> None:
            server.requests.append(f"{self.command} {self.path}")
            fault = server.taken(self.command)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if fault in {"500", "503"}:
                self._answer(int(fault), {}, b"<Error><Code>SlowDown</Code></Error>")
                return
            if fault == "slow":
                time.sleep(0.3)
            if fault == "partial":  # half of it arrives, then the line is cut
                with suppress(OSError), socket.create_connection(("127.0.0.1", server.connect().port)) as line:
                    head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
                    line.sendall(f"{self.command} {self.path} HTTP/1.1\r\n{head}\r\n".encode() + body[: len(body) // 2])
                self.close_connection = True
                return
            connection = server.connect()
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            if fault == "lost":  # done, but nobody is told
                self.close_connection = True
                return
            self._answer(answer.status, dict(answer.headers), data, cut=fault == "cut")

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass_on  # noqa: N815 - names of http.server

        def _answer(self, status: int, headers: dict[str, str], data: bytes, *, cut: bool = False) -> None:
            self.send_response_only(status)
            length = headers.get("Content-Length", str(len(data)))
            for name, value in headers.items():
                if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            self.close_connection = cut

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """Start a server with its files in a folder."""
    folder.mkdir()
    rights = {"credentials": [{"accessKey": _KEY, "secretKey": _SECRET}], "actions": ["Admin"]}
    (folder / "rights.json").write_text(json.dumps({"identities": [{"name": "tests", **rights}]}), "utf-8")
    ports = dict(zip((*_PORTS, *_S3_PORTS), _free(len(_PORTS) + len(_S3_PORTS)), strict=True))
    given = [f"-{name}={port}" for name, port in ports.items()]
    given += [f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.config={folder / 'rights.json'}", "-s3"]
    given += [f"-{name}" for name in (*_OFF, "master.volumeSizeLimitMB=64", "volume.max=40")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([Path(sys.executable).with_name("weed"), "server", *given], stdout=log, stderr=log)
    try:
        _wait(ports["s3.port"], process)
        server = Server(folder, ports["s3.port"])
        try:
            yield server
        finally:
            server.stop()
    finally:
        process.kill()
        process.wait()


def _free(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _wait(port: int, process: subprocess.Popen[bytes], until: Callable[[], float] = time.monotonic) -> None:
    """Wait until the server takes an object: it listens seconds before."""
    import obstore  # noqa: PLC0415 - only where a test asks for it
    from obstore.store import S3Store  # noqa: PLC0415

    given = {"endpoint": f"http://127.0.0.1:{port}", "access_key_id": _KEY, "secret_access_key": _SECRET}
    store = S3Store(BUCKET, **given, client_options={"allow_http": True}, retry_config={"max_retries": 0})
    end = until() + 60
    while True:
        try:
            obstore.put(store, "ready", b"")
        except obstore.exceptions.BaseError:
            assert process.poll() is None, "the server ended; its log says why"
            assert until() < end, "the server does not start"
            time.sleep(0.1)
        else:
            return
