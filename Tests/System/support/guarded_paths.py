"""A backend that requires tokens, with several destinations behind it."""
from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from receiver import read
from support.ports import new_port
from support.token_endpoint import Endpoint


class Paths:
    """One server for several destinations, each under a path of its own: 401 without a valid token of the endpoint."""

    def __init__(self, endpoint: Endpoint):
        self.endpoint = endpoint
        # The ids of the rows that each path has accepted, in order.
        self.ids: dict = {}
        self.refused: list = []
        # Called with each valid token before anything else is done.
        self.before: Callable = lambda token: None
        lock = Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                authorization = self.headers.get("Authorization")
                accepted = owner.endpoint.accepts(authorization)
                if accepted:
                    owner.before(authorization)
                with lock:
                    if accepted:
                        owner.ids.setdefault(self.path, []).extend(read(body, self.headers).ids)
                    else:
                        owner.refused.append(self.path)
                try:
                    self.send_response(200 if accepted else 401)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except ConnectionError:
                    pass  # the daemon was killed meanwhile

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", new_port()), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
