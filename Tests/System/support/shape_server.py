"""A server that takes any JSON by any method, forms, queries and lines, and tells repetitions by `Idempotency-Key`."""
from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support import line_protocol
from support.ports import new_port
from support.waiting import PATIENCE, wait_for


@dataclass
class Taken:
    """A request as it came, and what was answered; None for no answer."""

    method: str
    path: str
    headers: dict
    raw: bytes
    status: int | None = None
    stored: bool = False
    root: Any = None

    @property
    def key(self) -> str | None:
        """The id of the batch: of the header, or of the body of `beekon`."""
        if isinstance(self.root, dict) and "batch_id" in self.root:
            return self.root["batch_id"]
        return self.headers.get("Idempotency-Key")

    @property
    def frozen(self) -> tuple:
        """What a retry must repeat."""
        names = ("Content-Type", "Content-Encoding", "Idempotency-Key")
        return self.method, self.path, *(self.headers.get(name) for name in names), self.raw


def read_json(method: str, path: str, text: bytes):
    return json.loads(text)


def read_form(method: str, path: str, text: bytes) -> dict:
    """Of a GET, the parameters that stand behind those of the configured url."""
    query = urlsplit(path).query.removeprefix("v=1&") if method == "GET" else text.decode("ascii")
    pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    if method == "GET" and text or len(dict(pairs)) != len(pairs):
        raise ValueError(f"no form: {query} {text!r}")
    return dict(pairs)


def read_lines(method: str, path: str, text: bytes) -> list:
    return [{"line": line, **line.fields} for line in line_protocol.read(text)]


def records(root) -> list:
    """All objects that have an id, wherever they stand; those of fences, too."""
    if isinstance(root, list):
        return [found for element in root for found in records(element)]
    if not isinstance(root, dict):
        return []
    if "uuid" in root or "locations" not in root and "id" in root:
        return [root]
    return [found for value in root.values() for found in records(value)]


def identity(record: dict) -> str:
    return record.get("uuid") or record["id"]


class ShapeServer:
    """`answers` are those to come: a status each, "drop" (stored, and not answered), or "hold" (neither); then 200.
    `is_poison` refuses requests by their root with 422."""

    def __init__(self, answers=(), reads: Callable[[str, str, bytes], Any] = read_json):
        self.answers: list = list(answers)
        self.reads = reads
        self.drop_ack_every = 0
        self.is_poison = lambda root: False
        self.requests: list[Taken] = []
        # By key: what was stored under it.
        self.batches: dict = {}
        self._lock = threading.Lock()
        self._released = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def take(self):
                raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                request = Taken(self.command, self.path, dict(self.headers), raw)
                if owner._take(request):
                    owner._released.wait(PATIENCE)
                if request.status is None:
                    self.close_connection = True
                    with contextlib.suppress(OSError):
                        self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(request.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST = do_PUT = do_PATCH = take

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                """A client that was killed."""

        self._server = Server(("127.0.0.1", new_port()), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/up?v=1"
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def _take(self, request: Taken) -> bool:
        """Decides about a request. True: nothing is to be answered before the server ends."""
        text = gzip.decompress(request.raw) if request.headers.get("Content-Encoding") == "gzip" else request.raw
        request.root = self.reads(request.method, request.path, text)
        with self._lock:
            self.requests.append(request)
            planned = self.answers.pop(0) if self.answers else None
            if planned is None and self.drop_ack_every and len(self.requests) % self.drop_ack_every == 0:
                planned = "drop"
            if planned == "hold":
                return True
            if planned is None and self.is_poison(request.root):
                planned = 422
            if planned == "drop" or planned is None or planned < 300:
                request.stored = True
                self.batches.setdefault(request.key, request.root)
            request.status = None if planned == "drop" else planned or 200
            return False

    def stop(self):
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    def wait_requests(self, count: int) -> list[Taken]:
        wait_for(lambda: len(self.requests) >= count, lambda: f"{count} requests; there were {len(self.requests)}")
        return self.requests[:count]

    @property
    def ids(self) -> list:
        """Of every location and event that was stored, once for each batch that has it."""
        return [identity(record) for root in self.batches.values() for record in records(root)]

    def batches_of(self, installation: str) -> dict:
        """The batches in which each location was stored, for the account of what was ever stored."""
        found: dict = {}
        for key, root in list(self.batches.items()):
            for record in records(root):
                if "geofence" not in record and "geofence_id" not in record:
                    found.setdefault(identity(record), set()).add(key)
        return found

    def faults(self) -> list:
        """Every key that came with another request than before, and every row that was stored under two."""
        seen: dict = {}
        found = [f"no key: {request.raw[:80]!r}" for request in self.requests if not request.key]
        for request in list(self.requests):
            if seen.setdefault(request.key, request.frozen) != request.frozen:
                found.append(f"{request.key} came as {request.frozen}, before as {seen[request.key]}")
        ids = self.ids
        return found + [f"stored twice: {one}" for one in sorted(set(ids)) if ids.count(one) > 1]
