"""Thousands of hostile requests: each gets its answer. What memory they take is in `make bench-server`."""
from __future__ import annotations

import gzip
import http.client
import json
import random
import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import hostile
from server_support.server import FIRST_MS, envelope
from server_support.server_test import ServerTest
from support.nightly import IS_LONG
from support.seeds import part, sampled

# Of those that chance makes, beside thousands that are made one by one, of which each commit tries a part.
COUNT = 2000 if IS_LONG else 120
OF_EACH_KIND = 1 if IS_LONG else 3


class HostileTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.under_test = self.server().start()
        self.device = self.under_test.add_device("van")
        self.token = self.device["access_token"]

    # MARK: One by one

    def send(self, method: str, path: str, token: str | None, case: hostile.Case):
        """The answer, over a connection that serves as long as it does."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if case.packed:
            headers["Content-Encoding"] = "gzip"
        # The connection may have ended with the answer before; and see `check`.
        for _ in range(10):
            try:
                self.link.request(method, path, case.body, headers)
                answer = self.link.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.link.close()
        return None, b""

    def check(self, method: str, path: str, token: str | None, cases) -> tuple[int, dict]:
        """Each is refused, for what is wrong with it; of each kind some are answered."""
        self.link = http.client.HTTPConnection("127.0.0.1", self.under_test.port, timeout=60)
        self.addCleanup(self.link.close)
        count = 0
        kinds: dict = {}
        longest = 1 << 20 if path == "/v1/batches" else 16_384
        for number, case in enumerate(cases):
            if kinds.setdefault(case.kind, 0) and (number + part()) % OF_EACH_KIND:
                continue
            status, body = self.send(method, path, token, case)
            # Too long to be read at all: the answer may be lost with the rest of the body.
            if status is None and len(case.body) > longest:
                continue
            count += 1
            kinds[case.kind] += 1
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
        self.assertEqual([kind for kind, answered in kinds.items() if not answered], [], "kinds that were never answered")
        return count, kinds

    def test_each_wrong_in_one_way(self):
        admin = self.under_test.add_user("root", "admin")
        count, kinds = self.check("POST", "/v1/batches", self.token, hostile.uploads())
        for (method, path), fields in hostile.OTHERS.items():
            token = None if path in ("/v1/enroll", "/v1/login", "/v1/token") else admin
            more, others = self.check(method, path, token, hostile.others(method, path, fields))
            count += more
            kinds.update(others)
        print(f"hostile: {count} requests of {len(kinds)} kinds on {len(hostile.OTHERS) + 1} routes")
        self.assertGreater(count, 2000 // OF_EACH_KIND)
        self.assertEqual(self.under_test.post(self.token, hostile.whole()).status, 200, "the one that is not wrong")
        self.assertEqual(self.under_test.verb("device", "list").stdout.count("\n"), 1, "nothing came of them")

    # MARK: By chance

    def test_hostile_requests_by_chance(self):
        self.under_test.post(self.token, envelope(10))
        bodies = hostile.by_chance(random.Random(sampled("hostile requests")))
        kinds: dict = {}
        for _ in range(COUNT):
            kind, body, packed = next(bodies)
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
        print(f"hostile by chance: {sum(kinds.values())} requests of {len(kinds)} kinds")
        self.assertEqual(self.under_test.post(self.token, envelope(3, first_ms=FIRST_MS + 60_000)).status, 200)

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
