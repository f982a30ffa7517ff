"""A server that answers twice, and gives up what it is sent between its two answers: whoever takes the second for the answer
to the next request loses that."""
from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import re
import select
import socket
import ssl
import termios
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable

from support.ports import new_port

# Nothing here waits longer than this; only a failing test waits this long.
PATIENCE = 20.0
# Seconds, where the server is far away: what it sends goes out this late at most, and whoever asks is kept from reading it for
# so long at most, or the machine is too busy for a verdict.
LATE = 0.0005
# Then a request that comes so soon after the second answer is none that this should have acknowledged.
SLACK = 0.03
# Then who is far away has read what was sent.
READ = 0.5


def keys(head: bytes, body: bytes) -> list:
    """What tells the rows of a request apart, in whatever format it is."""
    query = urllib.parse.parse_qs(head.split(b" ", 2)[1].decode().partition("?")[2])
    if "timestamp" in query:
        return [query["lat"][0]]
    root = json.loads(gzip.decompress(body) if b"\r\ncontent-encoding: gzip" in head.lower() else body)
    if isinstance(root, dict) and root.get("_type") == "location":
        return [root["lat"]]
    rows = root["locations"] if "locations" in root else root["location"]
    return [row.get("id") or row.get("uuid") or row["properties"]["unique_id"] for row in rows]


class StrayServer:
    """Answers the requests of a connection in turn: the first is stored and answered twice, the second given up, and the
    connection with it once the second answer is out.

    delay_ms: from the first answer to the second; negative: both in one piece. `names`: answers name their batch; "once": the
    second does not; "strange": they name another. `split`: the head goes out alone, and the body together with the second
    answer. `status`: of the doubled answers. `honest`: answers once, and stores everything. `token`: the answer to POST /token.
    `far`: a request that has come before the second answer is out is stored: no time tells that from a good one. Where the second
    answer goes out later than it should, so is one that comes within SLACK of it; and so is any, where who asks had to wait for
    a processor meanwhile. `lates` counts these answers. `waited`: for how many seconds who asks has waited for processors so far.
    """

    def __init__(self, delay_ms: float = 0, names: bool | str = False, split: bool = False, context: ssl.SSLContext | None = None,
                 host: str = "127.0.0.1", status: int = 200, far: bool = False):
        self.delay, self.names, self.split, self.status = delay_ms / 1000, names, split, status
        self.honest, self._far = False, far
        self.lates = 0
        self.waited: Callable[[], float] = lambda: 0.0
        # Connections with a request after a doubled answer about which nothing is decided yet.
        self.undecided: set = set()
        self.stored: list = []
        self.requests: list = []
        self.connections = 0
        self.exchanges: list = []
        self.token: dict | None = None
        # Some second answer has gone out.
        self._second_out = threading.Event()
        self._context = context
        self._open: list = []
        self._listener = socket.create_server((host, new_port()), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://{host}:{self.port}/locations"
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self):
        for link in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def _run(self):
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._work, args=(link,), daemon=True).start()

    def _work(self, raw: socket.socket):
        self.connections += 1
        with contextlib.suppress(OSError, ValueError):
            raw.settimeout(PATIENCE)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = self._context.wrap_socket(raw, server_side=True) if self._context else raw
            self._open.append(link)
            self._serve(link)
        raw.close()

    def _serve(self, link: socket.socket):
        lock, kept, gives_up, has_come, waited, is_out = threading.Lock(), b"", False, False, 0.0, threading.Event()

        def send(data: bytes):
            with lock, contextlib.suppress(OSError, ValueError):
                link.sendall(data)

        while True:
            while b"\r\n\r\n" not in kept:
                kept += self._more(link)
            head, kept = kept.split(b"\r\n\r\n", 1)
            found = re.search(rb"(?i)content-length: (\d+)", head)
            length = int(found[1]) if found else 0
            while len(kept) < length:
                kept += self._more(link)
            body, kept = kept[:length], kept[length:]
            if head.startswith(b"POST /token"):
                self.exchanges.append(body)
                # What is still to come for the request before has come by then.
                if not self.honest:
                    self._second_out.wait(PATIENCE)
                send(self._answer(200, json.dumps(self.token).encode()))
                continue
            self.requests.append((head, body))
            if gives_up:
                self.undecided.add(link)
                is_out.wait(PATIENCE)
                if has_come or (self._far and self._was_kept_waiting(link, waited)):
                    self.stored += keys(head, body)
                self.undecided.discard(link)
                return
            if self.status == 200 or self.honest:
                self.stored += keys(head, body)
            answer = self._answer(200 if self.honest else self.status, self._body(head, body))
            if self.honest:
                send(answer)
                continue
            gives_up = True
            lates = self.lates
            self._twice(send, answer, answer.replace(b"batch_id", b"other_id") if self.names == "once" else answer, is_out)
            if self._far:
                is_out.wait(PATIENCE)
                # It is on its way now.
                waited = self.waited()
                has_come = self._has_come(link, SLACK if self.lates > lates else 0)

    def _twice(self, send, first: bytes, second: bytes, is_out: threading.Event):
        if self.split:
            head, first = first.split(b"\r\n\r\n", 1)
            send(head + b"\r\n\r\n")
            time.sleep(0.02)  # two segments, and in TLS two records
        send(first + second if self.delay < 0 else first)

        def again():
            if self.delay >= 0:
                send(second)
            is_out.set()
            self._second_out.set()

        if self.delay <= 0:
            again()
            return
        if self._far:
            self._wait_until(time.monotonic() + self.delay)
            again()
            return
        timer = threading.Timer(self.delay, again)
        timer.daemon = True
        timer.start()

    def _wait_until(self, due: float):
        """Sleeps until shortly before, and then watches the clock: a timer alone is late on any machine."""
        time.sleep(max(0, due - time.monotonic() - 0.001))
        while time.monotonic() < due:
            pass
        if time.monotonic() > due + LATE:
            self.lates += 1

    def _was_kept_waiting(self, link: socket.socket, before: float) -> bool:
        """Whether who asks may have read the second answer late. It has read it when it asks once more or is gone, and else as
        soon as it likes."""
        select.select([link], [], [], READ)
        is_late = self.waited() > before + LATE
        self.lates += is_late
        return is_late

    @staticmethod
    def _has_come(link: socket.socket, slack: float) -> bool:
        """Whether the kernel has received something that nobody has read, or does so within these seconds."""
        select.select([link], [], [], slack)
        return fcntl.ioctl(link, termios.FIONREAD, bytes(4)) != bytes(4)

    @staticmethod
    def _more(link: socket.socket) -> bytes:
        more = link.recv(65536)
        if not more:
            raise ConnectionError("closed")
        return more

    def _body(self, head: bytes, body: bytes) -> bytes:
        if not self.names:
            return b'{"result":"ok"}'
        if self.names == "strange":
            return json.dumps({"result": "ok", "batch_id": str(uuid.uuid4())}).encode()
        found = re.search(rb"(?i)idempotency-key: (\S+)", head)
        name = found[1].decode() if found else json.loads(gzip.decompress(body))["batch_id"]
        return json.dumps({"result": "ok", "batch_id": name}).encode()

    @staticmethod
    def _answer(status: int, body: bytes) -> bytes:
        return (f"HTTP/1.1 {status} So\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
