"""Any server that rows are sent to by POST: what it is told, and what it answers, is for whoever makes one to say."""
from __future__ import annotations

import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from support.ports import new_port


class PostServer:
    """`take` is given each request."""

    path = "/"

    def __init__(self):
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
                answer = owner.take(query, body)
                if answer is None:
                    self.close_connection = True
                    return
                status, text = answer
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", new_port()), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{self.path}"
        Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def take(self, query: dict, body: bytes) -> tuple[int, bytes] | None:
        """Status and body of the answer; None: the connection is closed without one."""
        raise NotImplementedError

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
