"""A backend that asks vehicles for something in its answers, and reads what becomes of it."""
from __future__ import annotations

import gzip
import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support.ports import new_port
from support.waiting import PATIENCE, wait_for


class Envelope:
    """One request."""

    def __init__(self, root: dict):
        self.root = root
        self.batch_id: str = root["batch_id"]
        self.ids = [row["id"] for row in root["locations"] + root["geofence_events"]]
        self.results: list = root.get("command_results", [])

    @property
    def has_rows(self) -> bool:
        return bool(self.ids)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A vehicle may be killed at any moment."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class CommandServer:
    """Stores batches, and sends each command with every answer until it has its result.

    `ask` may replace that: given the envelope, it returns the commands of the answer. `answer` may replace the whole status and
    body, and add headers.
    """

    def __init__(self):
        self.envelopes: list[Envelope] = []
        # Each location, with the batches that brought it.
        self.homes: dict[str, set] = {}
        # Each command that was given, by its id, and all results that came.
        self.commands: dict[str, dict] = {}
        self.results: dict[str, list] = {}
        self.ask: Callable[[Envelope], list] = lambda envelope: self.open_commands()
        self.answer: Callable[[Envelope], tuple | None] = lambda envelope: None
        # What was posted elsewhere: path, headers and text.
        self.logs: list[tuple] = []
        self.log_status = 200
        self._lock = threading.RLock()
        self._server = _Server(("127.0.0.1", new_port()), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/locations"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def command(self, name: str, identity: str | None = None, **arguments) -> str:
        """Gives a command; returns its id."""
        with self._lock:
            identity = identity or f"c-{len(self.commands) + 1}"
            command: dict = {"id": identity, "command": name}
            if arguments:
                command["arguments"] = arguments
            self.commands[identity] = command
            return identity

    def open_commands(self) -> list:
        """Those that have no result yet, in order."""
        with self._lock:
            return [command for identity, command in self.commands.items() if identity not in self.results]

    def take(self, body: bytes) -> tuple:
        envelope = Envelope(json.loads(gzip.decompress(body)))
        with self._lock:
            self.envelopes.append(envelope)
            for identity in envelope.ids:
                self.homes.setdefault(identity, set()).add(envelope.batch_id)
            for result in envelope.results:
                self.results.setdefault(result["id"], []).append(result)
            planned = self.answer(envelope)
            if planned is not None:
                return planned
            return 200, {"batch_id": envelope.batch_id, "commands": self.ask(envelope)}

    def batches_of(self, installation: str) -> dict:
        """For the account of locations."""
        return {identity: batches for identity, batches in self.homes.items()
                if any(envelope.root["device"]["install_id"] == installation for envelope in self.envelopes[:1])}

    @property
    def without_rows(self) -> list[Envelope]:
        return [envelope for envelope in list(self.envelopes) if not envelope.has_rows]

    def wait_result(self, identity: str, seconds: float = PATIENCE) -> dict:
        """The first result of a command."""
        wait_for(lambda: identity in self.results, lambda: f"a result of {identity}; there are {self.results}", seconds)
        return self.results[identity][0]


def _handler(server: CommandServer):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            if not self.headers["Content-Type"].startswith("text/plain"):
                status, body, *headers = server.take(sent)
            else:
                server.logs.append((self.path, dict(self.headers), gzip.decompress(sent).decode()))
                status, body, headers = server.log_status, {}, []
            data = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            for name, value in (headers[0] if headers else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            """Silent: the test knows each request."""

    return Handler
