"""Thousands of hostile requests, senders that never end, and more than can be done: each gets its answer, and memory stays."""
from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import socket
import sys
import threading
import time
import unittest
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server import FIRST_MS, envelope
from server_support.server_test import ServerTest

COUNT = int(os.environ.get("BEEKOND_HOSTILE") or "2000")
# Seconds of overload.
SECONDS = float(os.environ.get("BEEKOND_OVERLOAD_SECONDS") or "10")


def resident(pid: int) -> float:
    """Its memory, in MB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith("VmRSS"))


def hostile_bodies(chance: random.Random):
    """(what it is, bytes, whether it is packed already)"""
    good = json.dumps(envelope(5, extras={"a": "b"})).encode()
    packed = gzip.compress(good)
    fields = ["schema_version", "batch_id", "session_id", "sent_at", "device", "extras", "locations", "geofence_events"]
    # Not an empty array: an envelope may have those.
    wrong: list = [None, True, -1, 1e308, "x", {}, [[]], "\u0000", 10 ** 400, "9" * 3000]
    while True:
        yield "gzip cut", packed[:chance.randrange(len(packed))], True
        yield "bytes behind", packed + bytes(chance.randrange(1, 9)), True
        damaged = bytearray(packed)
        damaged[chance.randrange(10, len(packed))] ^= 1 << chance.randrange(8)
        yield "gzip damaged", bytes(damaged), True
        yield "bomb", gzip.compress(b" " * chance.randrange(5 << 20, 40 << 20), 1), True
        yield "depth", b'{"x":' + b"[" * chance.randrange(20, 200_000), False
        yield "depth of objects", b'{"x":' * chance.randrange(20, 100_000), False
        yield "fields", b"{" + b",".join(b'"f%d":1' % n for n in range(chance.choice((1001, 100_000)))) + b"}", False
        root = json.loads(good)
        root[chance.choice([name for name in fields if name != "extras"])] = chance.choice(wrong[3:] + wrong[:2])
        yield "type", json.dumps(root).encode(), False
        root = json.loads(good)
        name = chance.choice(["id", "timestamp", "trigger", "motion", "is_mock", "latitude", "longitude"])
        root["locations"][chance.randrange(5)][name] = chance.choice([None, -1e9, "x", [], {}, 10 ** 400])
        yield "type within a location", json.dumps(root).encode(), False
        yield "field twice", good.replace(b'"latitude"', b'"latitude": 1, "latitude"', 1), False
        yield "huge number", good.replace(b'"latitude": 48', b'"latitude": 1e' + b"9" * chance.randrange(3, 2000), 1), False
        cut = chance.randrange(1, len(good) - 1)
        yield "invalid UTF-8", good[:cut] + b"\xff" + good[cut:], False
        yield "JSON cut", good[:cut], False
        yield "noise", chance.randbytes(chance.randrange(1, 5000)), chance.random() < 0.5
        yield "rows", json.dumps(envelope(1001)).encode(), False
        yield "half a surrogate", good.replace(b'"b"', rb'"\ud800"'), False
        status = chance.choice((b"5", b"[]", b'{"a":}', b'"' + b"x" * 20_000 + b'"'))
        yield "status", good[:-1] + b',"status":' + status + b"}", False
        results = chance.choice((b"{}", b"[1]", b'[{"id":5,"ok":true}]'))
        yield "results", good[:-1] + b',"command_results":' + results + b"}", False


class HostileTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.under_test = self.server().start()
        self.device = self.under_test.add_device("van")
        self.token = self.device["access_token"]
        assert self.under_test.child
        self.pid = self.under_test.child.process.pid

    def test_thousands_of_hostile_requests(self):
        self.under_test.post(self.token, envelope(10))
        bodies = hostile_bodies(random.Random(1))
        kinds: dict = {}
        most = first = resident(self.pid)
        for number in range(COUNT):
            kind, body, packed = next(bodies)
            if not packed and number % 2:
                body, packed = zlib.compress(body, 1, wbits=31), True
            try:
                answer = self.under_test.ask(
                    "POST", "/v1/batches", self.token, body, **({"Content_Encoding": "gzip"} if packed else {}))
            except (OSError, http.client.HTTPException) as error:
                # Too long to be read at all: the answer may be lost with the rest of the body.
                self.assertGreater(len(body), 1 << 20, (kind, error))
                continue
            kinds[kind] = kinds.get(kind, 0) + 1
            # A body of which only the gzip header's name or time was damaged is whole.
            self.assertIn(answer.status, (400, 413), (kind, answer, body[:200]))
            self.assertTrue(answer.json["detail"], kind)
            if number % 50 == 0:
                most = max(most, resident(self.pid))
        most = max(most, resident(self.pid))
        print(f"hostile: {sum(kinds.values())} requests of {len(kinds)} kinds, all 4xx; RSS {first:.0f} -> at most {most:.0f} MB")
        self.assertEqual(self.under_test.post(self.token, envelope(3, first_ms=FIRST_MS + 60_000)).status, 200)
        self.assertLess(most, 120, "a debug build; the release stays below 80")

    def test_wrong_lengths_and_broken_requests(self):
        good = gzip.compress(json.dumps(envelope(1)).encode())
        heads = [
            b"Content-Length: 99999999999999999999", b"Content-Length: -1", b"Content-Length: 5\r\nContent-Length: 6",
            b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx",
            b"X: " + b"y" * 9000, b"\r\n".join(b"X%d: y" % n for n in range(200)), b"Content-Length: 0x10",
        ]
        for head in heads:
            with self.subTest(head[:40]), socket.create_connection(("127.0.0.1", self.under_test.port), timeout=60) as link:
                link.sendall(b"POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + self.token.encode()
                             + b"\r\n" + head + b"\r\n\r\n" + good)
                answer = b""
                try:
                    answer = link.recv(65_536)
                except ConnectionResetError:
                    pass
                self.assertTrue(not answer or answer.startswith(b"HTTP/1.1 4"), answer[:100])
        self.assertEqual(self.under_test.post(self.token, envelope(1)).status, 200)

    def test_overload(self):
        """Ten times as many senders as it takes, and senders of a byte every half second: those that are accepted are stored, and
        soon; the others are told when to come again."""
        slow = [socket.create_connection(("127.0.0.1", self.under_test.port), timeout=60) for _ in range(100)]
        for link in slow:
            self.addCleanup(link.close)
            link.sendall(f"POST /v1/batches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
                         f"Content-Length: 200000\r\n\r\n".encode())
        stop = threading.Event()

        def dribble():
            while not stop.wait(0.5):
                for link in slow:
                    try:
                        link.sendall(b" ")
                    except OSError:
                        pass

        dribbler = threading.Thread(target=dribble)
        dribbler.start()
        self.addCleanup(dribbler.join)
        self.addCleanup(stop.set)
        taken: list = []
        seconds: list = []
        refused: list = []
        most = 0.0
        end = time.monotonic() + SECONDS

        def send(worker: int):
            number = 0
            while time.monotonic() < end:
                root = envelope(50, first_ms=FIRST_MS + (worker * 10_000 + number) * 60_000)
                number += 1
                began = time.monotonic()
                try:
                    answer = self.under_test.post(self.token, root)
                except (OSError, http.client.HTTPException):
                    continue
                if answer.status == 200:
                    taken.append(root)
                    seconds.append(time.monotonic() - began)
                else:
                    refused.append((answer.status, answer.headers.get("retry-after")))

        with ThreadPoolExecutor(60) as pool:
            work = [pool.submit(send, worker) for worker in range(60)]
            while not all(item.done() for item in work):
                most = max(most, resident(self.pid))
                stop.wait(0.2)
            for item in work:
                item.result()
        self.assertTrue(taken)
        # The clients share this machine's cores with the server, so that their waiting says little of it; it is shown.
        seconds.sort()
        waits = {wait for _, wait in refused}
        print(f"overload: {len(taken)} accepted, {len(refused)} refused, p50 {seconds[len(seconds) // 2]:.3f} s, "
              f"p99 {seconds[len(seconds) * 99 // 100]:.3f} s, RSS at most {most:.0f} MB (of the build under test)")
        self.assertLessEqual({status for status, _ in refused}, {503})
        self.assertTrue(all(wait and 5 <= int(wait) <= 30 for wait in waits))
        stop.set()
        reader = self.under_test.add_user("ada", "reader")
        stored = self.under_test.ids(reader, self.device["id"])
        self.assertEqual(len(stored), len(set(stored)))
        self.assertLessEqual({row["id"] for root in taken for row in root["locations"]}, set(stored), "nothing accepted is lost")


if __name__ == "__main__":
    unittest.main()
