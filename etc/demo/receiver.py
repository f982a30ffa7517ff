#!/usr/bin/env python3
"""A small ingest receiver for beekond: checks, stores and acknowledges batches. For tests and for trying it out.

    receiver.py --port 8080 --store received.jsonl

It listens on loopback only, needs nothing but Python 3.9, and can misbehave on request: lose acknowledgements, answer
with other codes, be slow. As a module:

    receiver = Receiver(answers=[503, 200]); receiver.start(); … receiver.url … receiver.stop()
"""
from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import signal
import socket
import sys
import threading
import time
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import envelope

if TYPE_CHECKING:
    from typing import Self

# A batch has at most 1000 fixes of about 300 bytes; these limits are for whatever else finds the port.
MAX_BODY = 4 << 20
MAX_JSON = 32 << 20
READ_TIMEOUT = 60.0


@dataclass
class Batch:
    """What is known of one batch_id. `stored` means a 2xx was decided, whether or not it was sent."""

    sha256: str
    ids: list
    event_ids: list
    stored: bool = False
    requests: int = 0
    last_status: int | None = None


@dataclass
class Request:
    """One request and what became of it. status is that of the answer; None if the answer was withheld."""

    batch_id: str | None
    sha256: str
    bytes: int
    ids: list
    event_ids: list
    status: int | None = None
    outcome: str = ""
    duplicate: bool = False
    problems: list = field(default_factory=list)
    root: object = None

    def record(self) -> dict:
        row = {
            "received_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "batch_id": self.batch_id, "sha256": self.sha256, "bytes": self.bytes, "ids": self.ids,
            "event_ids": self.event_ids, "status": self.status, "outcome": self.outcome,
            "duplicate": self.duplicate, "problems": self.problems,
        }
        if self.outcome in ("stored", "stored, answer withheld") and isinstance(self.root, dict):
            row["locations"] = self.root.get("locations", [])
            row["geofence_events"] = self.root.get("geofence_events", [])
        return row


class Style:
    """Colours on a terminal, none in a pipe or with NO_COLOR."""

    CODES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}

    def __init__(self, stream=None):
        stream = stream or sys.stdout
        self.on = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def __call__(self, name: str, text: str) -> str:
        return f"\033[{self.CODES[name]}m{text}\033[0m" if self.on else text


class Receiver:
    """An HTTP server on 127.0.0.1 that accepts POST /locations.

    batches: batch_id → Batch, everything ever sent · ids: location id → batch_id, stored ones only ·
    requests: every Request in order · problems: sentences; empty on a good day
    """

    def __init__(self, port=0, store=None, answers=(), drop_ack_every=0, delay=0.0, retry_after=None, say=None):
        """answers: a status each, or "drop" (store, do not answer), or "close" (neither); then 200."""
        self.batches: dict = {}
        self.ids: dict = {}
        self.event_ids: dict = {}
        self.requests: list = []
        self.problems: list = []
        self.answers = list(answers)
        self.drop_ack_every = drop_ack_every
        self.delay = delay
        self.retry_after = retry_after
        self._say = say or (lambda request: None)
        self._lock = threading.Lock()
        self._connections: set = set()
        self._seen_in: dict = {}
        self._store = self._open_store(store) if store else None
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.receiver = self
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/locations"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self):
        """Stops listening and cuts every connection, including those kept alive."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self._lock:
            for connection in list(self._connections):
                _cut(connection)
            if self._store:
                self._store.close()
                self._store = None

    def _open_store(self, path):
        """Reads what an earlier run stored, so that repeats are known again."""
        cut = False
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    cut = not line.endswith("\n")
                    try:
                        self._remember(json.loads(line))
                    except ValueError:
                        continue  # a line truncated by a power cut; its answer was never sent
        store = open(path, "a", encoding="utf-8")
        if cut:
            store.write("\n")
        return store

    def _remember(self, row: dict):
        if not row["batch_id"]:
            return
        batch = self.batches.setdefault(
            row["batch_id"], Batch(row["sha256"], row["ids"], row["event_ids"]))
        batch.requests += 1
        batch.last_status = row["status"]
        for identity in row["ids"] + row["event_ids"]:
            self._seen_in[identity] = row["batch_id"]
        if row["outcome"].startswith("stored"):
            batch.stored = True
            self.ids.update(dict.fromkeys(row["ids"], row["batch_id"]))
            self.event_ids.update(dict.fromkeys(row["event_ids"], row["batch_id"]))

    def take(self, body: bytes, headers) -> Request:
        """Decides about one request and stores it. The answer is sent afterwards, or withheld."""
        request = read(body, headers)
        with self._lock:
            self.requests.append(request)
            planned = self.answers.pop(0) if self.answers else None
            if planned is None and self.drop_ack_every and len(self.requests) % self.drop_ack_every == 0:
                planned = "drop"
            if request.batch_id:
                self._compare(request)
            self._decide(request, planned)
            self.problems += [f"batch {request.batch_id}: {problem}" for problem in request.problems]
            if self._store:
                # Durable before the answer: what was acknowledged must survive a crash.
                self._store.write(json.dumps(request.record()) + "\n")
                self._store.flush()
                os.fsync(self._store.fileno())
        self._say(request)
        return request

    def _decide(self, request: Request, planned):
        if planned == "close":
            request.outcome = "refused, answer withheld"
        elif planned is not None and planned != "drop" and not 200 <= planned < 300:
            request.status, request.outcome = planned, "refused as told"
        elif request.batch_id is None:
            request.status, request.outcome = 400, "unreadable"
        else:
            request.status = None if planned == "drop" else planned or 200
            batch = self.batches[request.batch_id]
            request.duplicate = batch.stored
            request.outcome = "known already" if batch.stored else "stored"
            batch.stored = True
            if planned == "drop":
                request.outcome += ", answer withheld"
            self.ids.update(dict.fromkeys(request.ids, request.batch_id))
            self.event_ids.update(dict.fromkeys(request.event_ids, request.batch_id))
        if request.batch_id:
            self.batches[request.batch_id].last_status = request.status

    def _compare(self, request: Request):
        """A batch_id must always come with the same bytes, and an id must stay in its batch unless that was refused for good."""
        batch = self.batches.setdefault(
            request.batch_id, Batch(request.sha256, request.ids, request.event_ids))
        batch.requests += 1
        if batch.sha256 != request.sha256:
            request.problems.append("came with other bytes than before")
        for identity in request.ids + request.event_ids:
            before = self._seen_in.get(identity, request.batch_id)
            if before != request.batch_id and not dissolvable(self.batches[before]):
                request.problems.append(f"{identity} was in batch {before} already")
            self._seen_in[identity] = request.batch_id


def dissolvable(batch: Batch) -> bool:
    """A batch may be split only if its latest answer was a rejection or permanent."""
    status = batch.last_status
    if batch.stored or status is None:
        return False
    return 300 <= status < 500 and status not in (401, 403, 408, 429)


def read(body: bytes, headers) -> Request:
    """Unpacks and checks a body. The result has no batch_id if the body is unreadable."""
    request = Request(None, hashlib.sha256(body).hexdigest(), len(body), [], [])
    for name, wanted in (("Content-Type", "application/json"), ("Content-Encoding", "gzip")):
        if headers.get(name) != wanted:
            request.problems.append(f"{name} is {headers.get(name)!r} instead of {wanted!r}")
    if not (headers.get("User-Agent") or "").startswith("beekond/"):
        request.problems.append(f"User-Agent is {headers.get('User-Agent')!r} instead of beekond/<version>")
    try:
        unpacker = zlib.decompressobj(wbits=31)
        text = unpacker.decompress(body, MAX_JSON)
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("the gzip stream does not end where the body ends")
        root = envelope.parse(text)
    except (zlib.error, ValueError, RecursionError) as error:
        request.problems.append(f"unreadable: {error}")
        return request
    request.problems += envelope.check(root)
    if isinstance(root, dict) and isinstance(root.get("batch_id"), str):
        request.root = root
        request.batch_id = root["batch_id"]
        lists = [root.get(name) for name in ("locations", "geofence_events")]
        request.ids, request.event_ids = [envelope.ids_of(rows) if isinstance(rows, list) else [] for rows in lists]
    return request


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 32
    receiver: Receiver

    def handle_error(self, request, client_address):
        """A client that disconnects midway is not worth reporting; anything else is our fault."""
        error = sys.exc_info()[1]
        if not isinstance(error, (ConnectionError, TimeoutError, OSError)):
            self.receiver.problems.append(f"the receiver failed: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "beekon-receiver"
    sys_version = ""
    timeout = READ_TIMEOUT
    wbufsize = -1
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.receiver._connections.add(self.connection)

    def finish(self):
        self.server.receiver._connections.discard(self.connection)
        super().finish()

    def do_POST(self):
        receiver = self.server.receiver
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            return self._answer(413 if length.isdigit() else 411, close=True)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        if self.path != "/locations":
            return self._answer(404)
        # Read on arrival: `take` notifies others, who may change it.
        delay = receiver.delay
        request = receiver.take(body, self.headers)
        if delay:
            time.sleep(delay)
        if request.status is None:
            self.close_connection = True
            _cut(self.connection)
            return None
        return self._answer(request.status)

    def _answer(self, status: int, close=False):
        # 204 and 304 have no body by definition, and a length would confuse the next answer.
        body = b"" if status in (204, 304) else json.dumps({"status": status}).encode()
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        if self.server.receiver.retry_after is not None and status in (429, 503):
            self.send_header("Retry-After", str(self.server.receiver.retry_after))
        if close:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Silent: each batch already has its line."""


def _cut(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # already gone


def describe(request: Request, style: Style) -> str:
    """One line for a request, with its problems below."""
    name = request.batch_id[-12:] if request.batch_id else "?"
    is_heartbeat = isinstance(request.root, dict) and "status" in request.root
    count = f"{len(request.ids)} location{'' if len(request.ids) == 1 else 's'}"
    if is_heartbeat:
        count = "a heartbeat"
    if request.event_ids:
        count += f", {len(request.event_ids)} geofence event{'' if len(request.event_ids) == 1 else 's'}"
    status = "no answer" if request.status is None else str(request.status)
    colour = "red" if request.problems else "green" if request.outcome == "stored" else "yellow"
    line = f"batch …{name}  {count}, {request.bytes} bytes  {style(colour, f'{status} {request.outcome}')}"
    return "\n".join([line] + [style("red", f"  problem: {problem}") for problem in request.problems])


def answer(text: str):
    """A status, drop or close; for argparse."""
    if text in ("drop", "close"):
        return text
    if not text.isdigit() or not 200 <= int(text) <= 599:
        raise argparse.ArgumentTypeError(f"{text!r} is no answer: give codes from 200 to 599, drop or close.")
    return int(text)


def answers(text: str) -> list:
    """`503,200,400` or `@FILE` with the same, on lines or with commas."""
    if text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as script:
                text = script.read()
        except OSError as error:
            raise argparse.ArgumentTypeError(f"cannot read the script: {error}.") from error
    return [answer(word) for word in text.replace(",", " ").split()]


def options():
    parser = argparse.ArgumentParser(description="A small ingest receiver for beekond, on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 (default): any free port, printed")
    parser.add_argument("--port-file", metavar="FILE", help="write the port to FILE once listening")
    parser.add_argument("--store", metavar="FILE", help="append one JSON line per request")
    parser.add_argument("--answers", type=answers, default=[], metavar="LIST",
                        help="503,200,drop,close or @FILE: answers in order, then 200; stored only when 2xx or drop")
    parser.add_argument("--drop-ack-every", type=int, default=0, metavar="N",
                        help="store every N-th request and close the connection without an answer")
    parser.add_argument("--delay", type=float, default=0.0, metavar="S", help="seconds before each answer")
    parser.add_argument("--retry-after", metavar="V", help="Retry-After header sent with 429 and 503")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    style = Style()

    def say(request):
        print(style("dim", time.strftime("%H:%M:%S")), describe(request, style), flush=True)

    try:
        receiver = Receiver(chosen.port, chosen.store, chosen.answers, chosen.drop_ack_every, chosen.delay,
                            chosen.retry_after, say)
    except OSError as error:
        print(f"receiver.py: cannot start: {error}. Choose another --port or --store.", file=sys.stderr)
        return 71
    # Masked before any thread exists, so that every thread inherits it and sigwait gets the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    receiver.start()
    if chosen.port_file:
        with open(chosen.port_file + ".new", "w", encoding="utf-8") as file:
            file.write(f"{receiver.port}\n")
        os.replace(chosen.port_file + ".new", chosen.port_file)
    print(f"listening on {receiver.url}", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    receiver.stop()
    print(f"{len(receiver.batches)} batches, {len(receiver.ids)} locations, {len(receiver.problems)} problems")
    return 1 if receiver.problems else 0


if __name__ == "__main__":
    sys.exit(main())
