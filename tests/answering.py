"""A real HTTP server for tests that speaks chat completions, and misbehaves as it is told."""

import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def said(content="Fine.", *, reason="stop", asked=10, answered=5, **message):
    """The body of a well-formed answer."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": reason,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered},
    }


def material(prompt):
    """The lines of a prompt that others wrote: what stands between its marks."""
    mark = re.search(r"the mark (\w+) ", prompt)[1]
    return prompt.split(f"\n----- {mark}\n")[1].split("\n")


def stated(prompt):
    """Answer with each sentence of an entry as a fact of its own, except questions."""
    sentences = json.loads(material(prompt)[0])["sentences"]
    questions = [int(number) for number, sentence in sentences.items() if "?" in sentence]
    facts = [
        {"sentences": [int(number)], "fact": sentence, "date": None}
        for number, sentence in sentences.items()
        if int(number) not in questions
    ]
    return json.dumps({"facts": facts, "left_out": questions})


def all_different(prompt):
    """Answer that no pair of memories is related."""
    names = [json.loads(line)["pair"] for line in material(prompt)]
    return json.dumps(
        [{"pair": name, "relation": "different", "sure": True, "older": "", "newer": ""} for name in names]
    )


def reply(body=None, *, status=200, kind="application/json", **headers):
    """A whole answer; `body` is sent as it is if it is bytes. Headers are written with underscores."""

    def send(handler):
        raw = body if isinstance(body, bytes) else json.dumps(said() if body is None else body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(raw)

    return send


def failure(status, code="unknown", message="no", **headers):
    """An error as servers report it."""
    return reply({"error": {"message": message, "type": code, "code": code}}, status=status, **headers)


def silence(handler):
    """Never answer while the server runs."""
    handler.server.ending.wait(5)


def trickle(handler):
    """Send something now and then, and never come to an end."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    while not handler.server.ending.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def cut(handler):
    """Close the connection in the middle of the body."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"id": "1", "choices": [')
    handler.close_connection = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.asked.append(body)
            server.keys.append(self.headers["Authorization"])
            server.times.append(time.monotonic())
            server.under_way += 1
            server.most = max(server.most, server.under_way)
            nth = len(server.asked) - 1
        try:
            server.respond(body["messages"][0]["content"], nth)(self)
        except OSError:  # the client has given up
            self.close_connection = True
        finally:
            with server.lock:
                server.under_way -= 1

    def log_message(self, *_):
        """Be quiet."""


class Server(ThreadingHTTPServer):
    """What it was asked, in the order of arrival, and how many requests were under way at most."""

    daemon_threads = False

    def __init__(self, respond):
        super().__init__(("127.0.0.1", 0), Handler)
        self.respond = respond
        self.asked, self.keys, self.times = [], [], []
        self.under_way = self.most = 0
        self.lock, self.ending = threading.Lock(), threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def prompts(self):
        return [body["messages"][0]["content"] for body in self.asked]


@contextmanager
def serving(respond):
    """Run a server; `respond` gets the prompt and how many came before it, and returns what to do."""
    server = Server(respond)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()


def script(*steps):
    """Answer with one step after the other, with the last one for ever."""
    return lambda _, nth: steps[min(nth, len(steps) - 1)]
