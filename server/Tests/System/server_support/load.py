"""More requests than a server can do, from a process of its own, so that what measures is no part of what is measured.

    load.py PORT TOKENS CONNECTIONS RATE SECONDS

Sends batches over as many connections, each of which asks again as soon as it has been answered and, of RATE requests a second
over all of them, one is due (0: at once). TOKENS is a file with the token of one device a line. Prints a JSON object: how many
answers there were of each status, Retry-After of those refused, seconds from first byte to answer of those accepted, and the
first id of each batch that was accepted.
"""
from __future__ import annotations

import gzip
import json
import os
import random
import selectors
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from server_support.server import FIRST_MS, iso, uuid7

ROWS = 50


def batch(chance: random.Random) -> tuple[str, bytes]:
    """A batch that nobody else sends, as bytes, and the id of its first location."""
    first = FIRST_MS + chance.randrange(50_000_000) * 100
    ids = [uuid7(first + index) for index in range(ROWS)]
    locations = ",".join(
        f'{{"id":"{name}","timestamp":"{iso(first + index)}","trigger":"interval","motion":"moving","is_mock":false,'
        f'"latitude":{48 + index / 1e4:.4f},"longitude":11.5,"accuracy":4.5,"speed":12.25,"bearing":90}}'
        for index, name in enumerate(ids))
    text = (
        f'{{"schema_version":1,"batch_id":"{uuid7(first)}","session_id":"{ids[0]}","sent_at":"{iso(first)}","device":'
        f'{{"install_id":"{ids[0]}","platform":"linux","sdk_version":"1.0.0","model":"test"}},"locations":[{locations}],'
        f'"geofence_events":[]}}')
    return ids[0], gzip.compress(text.encode(), 1)


class Link:
    """One connection, and the request that is on its way."""

    def __init__(self, port: int, token: str):
        self.port, self.token = port, token
        self.socket: socket.socket | None = None
        self.rest = b""
        self.answer = b""
        self.id, self.body = "", b""
        self.began = 0.0

    def send(self, made: tuple[str, bytes]):
        if self.socket is None:
            self.socket = socket.socket()
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.setblocking(False)
            self.socket.connect_ex(("127.0.0.1", self.port))
        self.id, self.body = made
        body = self.body
        self.rest = (
            f"POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\nContent-Encoding: gzip\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
        self.answer = b""
        self.began = time.monotonic()

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


def run(port: int, tokens: list, connections: int, rate: float, seconds: float) -> dict:
    chance = random.Random(os.getpid())
    # Made before; those that were refused come again. More are made when these are not enough, which costs this process time.
    stock = [batch(chance) for _ in range(int(min(20_000, connections * 2 + (rate * seconds / 8 if rate else 1000))))]
    selector = selectors.EpollSelector()
    idle = [Link(port, tokens[number % len(tokens)]) for number in range(connections)]
    busy = 0
    statuses: dict = {}
    accepted: list = []
    spans: list = []
    waits: list = []
    began = time.monotonic()
    sent = broken = 0
    while True:
        now = time.monotonic()
        over = now - began > seconds
        if over and (not busy or now - began > seconds + 40):
            break
        due = 0 if over else int((now - began) * rate) - sent if rate else len(idle)
        for _ in range(min(due, len(idle), 200)):
            link = idle.pop()
            link.send(stock.pop() if stock else batch(chance))
            if link.socket:
                selector.register(link.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, link)
            busy += 1
            sent += 1
        for key, events in selector.select(0.002):
            link = key.data
            peer: socket.socket = link.socket
            status = None
            try:
                if events & selectors.EVENT_WRITE and link.rest:
                    link.rest = link.rest[peer.send(link.rest):]
                    if not link.rest:
                        selector.modify(peer, selectors.EVENT_READ, link)
                if events & selectors.EVENT_READ:
                    part = peer.recv(65_536)
                    link.answer += part
                    status = complete(link.answer)
                    if not part and status is None:
                        raise ConnectionError
            except (OSError, ConnectionError):
                selector.unregister(peer)
                link.close()
                broken += 1
                busy -= 1
                idle.append(link)
                continue
            if status is None:
                continue
            selector.unregister(peer)
            statuses[status] = statuses.get(status, 0) + 1
            if status == 200:
                accepted.append(link.id)
                spans.append(round(time.monotonic() - link.began, 4))
            else:
                waits.append(header(link.answer, b"retry-after"))
                stock.append((link.id, link.body))
            if b"connection: close" in link.answer.lower():
                link.close()
            busy -= 1
            idle.append(link)
    return {"statuses": statuses, "accepted": accepted, "spans": spans, "waits": waits, "sent": sent, "broken": broken,
            "unanswered": busy, "seconds": time.monotonic() - began}


def header(answer: bytes, name: bytes) -> str | None:
    for line in answer.split(b"\r\n\r\n", 1)[0].split(b"\r\n")[1:]:
        if line.lower().startswith(name + b":"):
            return line.split(b":", 1)[1].strip().decode()
    return None


def complete(answer: bytes) -> int | None:
    """The status of an answer, once all of it is there."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    if not separator or len(body) < int(header(answer, b"content-length") or 0):
        return None
    return int(head[9:12])


def main() -> int:
    port, file, connections, rate, seconds = sys.argv[1:]
    with open(file, encoding="ascii") as lines:
        tokens = lines.read().split()
    json.dump(run(int(port), tokens, int(connections), float(rate), float(seconds)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
