"""A server that takes one row a request, as Traccar's port for OsmAnd does, and refuses as it is told."""
from __future__ import annotations

import urllib.parse
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class OneRowServer:
    """`decide` gets the parameters of each request, and says the status; None: the connection is closed without an answer.

    requests: the timestamp and the answer of each, in order
    """

    def __init__(self, decide: Callable[[dict], int | None] = lambda row: 200):
        self.decide = decide
        self.requests: list = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                row = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
                status = owner.decide(row)
                owner.requests.append((int(row["timestamp"]), status))
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def accepted(self) -> list:
        """The timestamps of the rows that it has taken."""
        return [timestamp for timestamp, status in self.requests if status == 200]

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
