"""Thousands of hostile requests: each gets its answer, and memory stays."""
from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import socket
import sys
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import hostile
from server_support.server import FIRST_MS, envelope
from server_support.server_test import ServerTest

# Of those that chance makes, beside thousands that are made one by one.
COUNT = int(os.environ.get("BEEKOND_HOSTILE") or "2000")


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

    # MARK: One by one

    def send(self, method: str, path: str, token: str | None, case: hostile.Case):
        """The answer, over a connection that serves as long as it does."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if case.packed:
            headers["Content-Encoding"] = "gzip"
        for _ in range(2):
            try:
                self.link.request(method, path, case.body, headers)
                answer = self.link.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.link.close()
        return None, b""

    def check(self, method: str, path: str, token: str | None, cases) -> tuple[int, dict]:
        """Each is refused, for what is wrong with it."""
        self.link = http.client.HTTPConnection("127.0.0.1", self.under_test.port, timeout=60)
        self.addCleanup(self.link.close)
        count = 0
        kinds: dict = {}
        for case in cases:
            status, body = self.send(method, path, token, case)
            # Too long to be read at all: the answer may be lost with the rest of the body.
            if status is None and len(case.body) > 16_384:
                continue
            count += 1
            kinds[case.kind] = kinds.get(case.kind, 0) + 1
            said = (case, status, body[:300])
            self.assertIn(status, (400, 413), said)
            problem = json.loads(body)
            if path == "/v1/token" and "error" in problem:
                # RFC 6749 has an answer of its own.
                self.assertTrue(problem["error"])
                continue
            self.assertTrue(problem["detail"], said)
            # Where text ends or breaks, the fault is where the reader was.
            if case.pointer != "":
                self.assertEqual((problem.get("pointer"), problem.get("index")), (case.pointer, case.index), said)
        return count, kinds

    def test_each_wrong_in_one_way(self):
        admin = self.under_test.add_user("root", "admin")
        warm = hostile.uploads()
        self.check("POST", "/v1/batches", self.token, (next(warm) for _ in range(300)))
        first = resident(self.pid)
        count, kinds = self.check("POST", "/v1/batches", self.token, hostile.uploads())
        most = resident(self.pid)
        for (method, path), fields in hostile.OTHERS.items():
            token = None if path in ("/v1/enroll", "/v1/login", "/v1/token") else admin
            more, others = self.check(method, path, token, hostile.others(method, path, fields))
            count += more
            kinds.update(others)
        most = max(most, resident(self.pid))
        print(f"hostile: {count} requests of {len(kinds)} kinds on {len(hostile.OTHERS) + 1} routes, "
              f"each a 4xx for its own reason; RSS {first:.0f} -> {most:.0f} MB")
        self.assertGreater(count, 2000)
        self.assertLess(most - first, 25, "memory stays")
        self.assertEqual(self.under_test.post(self.token, hostile.whole()).status, 200, "the one that is not wrong")
        self.assertEqual(self.under_test.verb("device", "list").stdout.count("\n"), 1, "nothing came of them")

    # MARK: By chance

    def test_hostile_requests_by_chance(self):
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
        print(f"hostile by chance: {sum(kinds.values())} requests of {len(kinds)} kinds, all 4xx; "
              f"RSS {first:.0f} -> at most {most:.0f} MB")
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


if __name__ == "__main__":
    unittest.main()
