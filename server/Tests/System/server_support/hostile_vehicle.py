"""What one vehicle, or one reader, can do to a server, from a process of its own.

    hostile_vehicle.py SCENE PORT DEVICE TOKEN READER SECONDS CONNECTIONS

Does it for so long over so many connections, and prints how many answers there were of each status.
"""
from __future__ import annotations

import collections
import gzip
import http.client
import json
import random
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from server_support.server import FIRST_MS, envelope, iso, uuid7

WEEK = 7 * 86_400_000
# 2000-01-03, and as many weeks as there are since then.
FIRST_WEEK = 946_857_600_000
WEEKS = 1270
# Bytes that a reader takes of one answer before it goes: a page that somebody closes.
GLANCE = 4 << 20


def extras() -> dict:
    """As many as an upload may have; as they are written, each has six times its bytes."""
    return {f"n{number}": "\x01" * 1024 for number in range(64)}


def crowded(number: int, extras_of_all: dict) -> bytes:
    """A thousand locations that share extras of 400 kB: 25 kB in all."""
    return pack(envelope(1000, FIRST_MS + number * 1_000_000, extras=extras_of_all))


def eventful(number: int) -> bytes:
    """Events as long as they may be."""
    at = FIRST_MS + number * 1_000_000
    return pack(envelope(0, at, events=[
        {"id": uuid7(at + index), "kind": "x", "timestamp": iso(at + index), "data": "x" * 3900} for index in range(1000)]))


def results() -> bytes:
    """A thousand results of commands that nobody has ordered."""
    return pack(envelope(0, command_results=[
        {"id": f"c-{number + 1}", "command": "start", "ok": True} for number in range(1000)]))


def weeks(chance: random.Random) -> bytes:
    """A thousand locations of as many weeks."""
    root = envelope(1000)
    start = chance.randrange(WEEKS)
    for index, location in enumerate(root["locations"]):
        at = FIRST_WEEK + (start + index) % WEEKS * WEEK + chance.randrange(WEEK)
        location["id"], location["timestamp"] = uuid7(at), iso(at)
    return pack(root)


def pack(root: dict) -> bytes:
    return gzip.compress(json.dumps(root).encode(), 6)


class Attack:
    """Threads, each with a connection, that ask until it is over."""

    def __init__(self, port: int, device: int, token: str, reader: str, seconds: float):
        self.port, self.device, self.token, self.reader = port, device, token, reader
        self.end = time.monotonic() + seconds
        self.answers: collections.Counter = collections.Counter()
        self.lock = threading.Lock()

    def count(self, answer: object):
        with self.lock:
            self.answers[str(answer)] += 1

    def ask(self, method: str, path: str, token: str | None, body: bytes | None = None, fields: dict | None = None,
            glance: int | None = None) -> None:
        """Asks once, over a connection of its own."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            link.request(method, path, body, {**(fields or {}), **({"Authorization": f"Bearer {token}"} if token else {})})
            answer = link.getresponse()
            answer.read(glance)
            self.count(answer.status)
        except (OSError, http.client.HTTPException) as error:
            self.count(type(error).__name__)
        finally:
            link.close()

    def upload(self, body: bytes, token: str | None = None):
        fields = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        self.ask("POST", "/v1/batches", token or self.token, body, fields)

    def uploads(self, make: Callable[[], bytes]) -> Callable[[int], None]:
        def run(_: int):
            while time.monotonic() < self.end:
                self.upload(make())
        return run

    def readers(self, number: int):
        path = f"/v1/devices/{self.device}/"
        ways = [f"locations?format={form}" for form in ("packed", "json", "geojson", "csv", "gpx")] + ["events?limit=1000"]
        while time.monotonic() < self.end:
            self.ask("GET", path + ways[number % len(ways)], self.reader, glance=GLANCE)
            number += 1

    def slow(self, _: int):
        """Takes 512 bytes a second of an answer that has no end."""
        while time.monotonic() < self.end:
            link = socket.socket()
            try:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                link.settimeout(30)
                link.connect(("127.0.0.1", self.port))
                link.sendall((f"GET /v1/devices/{self.device}/locations HTTP/1.1\r\nHost: x\r\n"
                              f"Authorization: Bearer {self.reader}\r\n\r\n").encode())
                first = link.recv(512)
                self.count(first[9:12].decode())
                while time.monotonic() < self.end and first[9:12] == b"200":
                    time.sleep(1)
                    if not link.recv(512):
                        break
            except OSError as error:
                self.count(type(error).__name__)
            finally:
                link.close()
            time.sleep(0.2)

    def logins(self, number: int):
        while time.monotonic() < self.end:
            body = json.dumps({"name": f"nobody {number} {random.random()}", "password": "correct horse battery"}).encode()
            self.ask("POST", "/v1/login", None, body, {"Content-Type": "application/json"})

    def tokens(self, _: int):
        # Of the right length, and of nobody.
        wrong = f"bka.{self.device}." + "A" * 43
        body = pack(envelope(1))
        while time.monotonic() < self.end:
            self.upload(body, wrong)

    def prepare(self, scene: str):
        """What is sent once, before the scene begins."""
        if scene in ("extras", "slow"):
            shared = extras()
            for number in range(3):
                self.upload(crowded(number, shared))
            for number in range(4 if scene == "extras" else 0):
                self.upload(eventful(number + 10))

    def way(self, scene: str) -> Callable[[int], None]:
        made, chance = results(), random.Random(1)
        return {
            "extras": self.readers, "results": self.uploads(lambda: made), "weeks": self.uploads(lambda: weeks(chance)),
            "slow": self.slow, "logins": self.logins, "tokens": self.tokens}[scene]


SCENES = {"extras": 12, "results": 32, "weeks": 4, "slow": 400, "logins": 24, "tokens": 40}


def main() -> int:
    scene, port, device, token, reader, seconds, connections = sys.argv[1:]
    attack = Attack(int(port), int(device), token, reader, 3600)
    attack.prepare(scene)
    way = attack.way(scene)
    print("ready", flush=True)
    attack.answers.clear()
    attack.end = time.monotonic() + float(seconds)
    threads = [threading.Thread(target=way, args=(number,), daemon=True) for number in range(int(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, attack.end + 40 - time.monotonic()))
    print(json.dumps(attack.answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
