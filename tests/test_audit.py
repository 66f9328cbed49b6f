"""The audit of dependencies in CI, against a service of known vulnerabilities on this machine."""

import json
import runpy
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / ".ci" / "audit.py"


class Service(BaseHTTPRequestHandler):
    """Knows one vulnerability of what is installed as `typing_extensions`."""

    events = ({"introduced": "0"},)

    def do_POST(self):
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        assert all(query["version"] for query in queries)
        self.answer(
            {
                "results": [
                    {"vulns": [{"id": "V-1"}]} if query["package"]["name"] == "typing-extensions" else {}
                    for query in queries
                ]
            }
        )

    def do_GET(self):
        assert self.path == "/v1/vulns/V-1"
        affected = {"package": {"name": "Typing.Extensions"}, "ranges": [{"type": "ECOSYSTEM", "events": self.events}]}
        self.answer({"affected": [affected]})

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def service(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("OSV_URL", f"http://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("events", "status", "said"),
    [
        (({"introduced": "0"}, {"fixed": "99.1"}), 1, "V-1, mended in 99.1"),
        (({"introduced": "0"},), 0, "V-1, nothing mends it yet"),
    ],
)
def test_a_vulnerability_that_an_update_mends_is_a_failure(monkeypatch, capsys, events, status, said):
    monkeypatch.setattr(Service, "events", events)
    assert runpy.run_path(str(SCRIPT))["main"]() == status
    assert said in capsys.readouterr().out


def test_without_a_service_nothing_was_looked_up_and_that_is_said_in_one_line(monkeypatch, capsys):
    monkeypatch.setenv("OSV_URL", "http://127.0.0.1:9")
    assert runpy.run_path(str(SCRIPT))["main"]() == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("audit: not done, http://127.0.0.1:9 could not be asked: ")
