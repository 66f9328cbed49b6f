"""A receiver of alerts over HTTP, for tests."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


@contextmanager
def receiving():
    """Receive alerts until the end of the block; yields the address, and the type and content of each that came.

    A path that ends with `/broken` answers with an error of the server.
    """
    came = []

    class Receive(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.append((self.headers["Content-Type"], json.loads(body)))
            self.send_response(500 if self.path.endswith("/broken") else 204)
            self.end_headers()

        def log_message(self, *_):
            """Keep the output of tests quiet."""

    server = HTTPServer(("127.0.0.1", 0), Receive)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", came
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
