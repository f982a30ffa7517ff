"""Uploads: what is taken, what is refused and how, and what is there afterwards."""
import gzip
import json
import os
import socket
import sys
import time
import tomllib
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server import envelope, iso
from server_support.server_test import ServerTest
from support.waiting import never, wait_for


class IngestTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.under_test = self.server().start()
        self.device = self.under_test.add_device("van")
        self.token = self.device["access_token"]
        self.reader = self.under_test.add_user("ada", "reader")

    def check_problem(self, answer, status: int, pointer: str | None = None, index: int | None = None):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], "application/problem+json")
        problem = answer.json
        self.assertEqual((problem["status"], problem.get("pointer"), problem.get("index")), (status, pointer, index))
        self.assertTrue(problem["detail"])

    def test_a_batch_is_stored_once(self):
        root = envelope(100)
        for packed in (True, False):
            answer = self.under_test.post(self.token, root, packed)
            self.assertEqual(answer.status, 200, answer)
            stored = 100 if packed else 0
            self.assertEqual(answer.json, {
                "batch_id": root["batch_id"], "stored": stored, "duplicates": 100 - stored, "expired": 0})
        self.assertEqual(
            self.under_test.ids(self.reader, self.device["id"]), [row["id"] for row in root["locations"]])

    def test_fifty_at_once(self):
        root = envelope(50)
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: self.under_test.deliver(self.token, root), range(50)))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(sum(answer.json["stored"] for answer in answers), 50)
        self.assertEqual(len(self.under_test.ids(self.reader, self.device["id"])), 50)

    def test_faults_are_named(self):
        good = envelope(3)
        cases: list = [
            ({"latitude": 91}, "/locations/2/latitude"), ({"latitude": "48"}, "/locations/2/latitude"),
            ({"timestamp": "1999-12-31T23:59:59.999Z"}, "/locations/2/timestamp"),
            ({"timestamp": iso(int((time.time() + 90_000) * 1000))}, "/locations/2/timestamp"),
            ({"id": "x"}, "/locations/2/id"), ({"is_mock": None}, "/locations/2/is_mock"),
        ]
        for change, pointer in cases:
            with self.subTest(change):
                bad = {**good["locations"][2], **change}
                root = {**good, "locations": [*good["locations"][:2], bad]}
                self.check_problem(self.under_test.post(self.token, root), 400, pointer, 2)
        self.check_problem(
            self.under_test.post(self.token, {**good, "schema_version": 2}), 400, "/schema_version")
        self.assertEqual(self.under_test.ids(self.reader, self.device["id"]), [])

    def test_hostile_bodies(self):
        body = gzip.compress(json.dumps(envelope(3)).encode())
        cases = [
            (b"", 400), (b"{", 400), (b"x" * 100, 400), (body[:-1], 400), (body + b"x", 400),
            (gzip.compress(b" " * (64 << 20)), 413), (gzip.compress(b"[" * 100_000), 400),
            (gzip.compress(b'{"a":' + b"[" * 100_000), 413), (os.urandom(1000), 400),
        ]
        for bytes_, status in cases:
            with self.subTest(bytes_[:20]):
                answer = self.under_test.ask(
                    "POST", "/v1/batches", self.token, bytes_, Content_Encoding="gzip")
                self.check_problem(answer, status)
        answer = self.under_test.ask("POST", "/v1/batches", self.token, body, Content_Encoding="br")
        self.check_problem(answer, 415)
        self.assertEqual(self.under_test.post(self.token, envelope(1)).status, 200)

    def test_paths_and_methods(self):
        for path in ("/none", "/v1", "/v1/devices/0", "/v1/devices/01", "/v1/devices/1/x", "/v1/batches/", "/%zz"):
            self.check_problem(self.under_test.ask("GET", path), 404)
        answer = self.under_test.ask("GET", "/v1/batches", self.token)
        self.check_problem(answer, 405)
        self.assertEqual(answer.headers["allow"], "POST")

    def test_tokens_rotate(self):
        def exchange(refresh: str):
            return self.under_test.ask(
                "POST", "/v1/token", None, f"grant_type=refresh_token&refresh_token={refresh}".encode(),
                Content_Type="application/x-www-form-urlencoded")

        first = exchange(self.device["refresh_token"])
        self.assertEqual(first.status, 200, first)
        # The answer was lost: the same token again.
        second = exchange(self.device["refresh_token"])
        self.assertEqual(second.status, 200, second)
        self.assertEqual(self.under_test.post(second.json["access_token"], envelope(1)).status, 200)
        # What has ended with that is good for a minute, for requests under way, and buys nothing.
        self.assertEqual(self.under_test.post(first.json["access_token"], envelope(1)).status, 200)
        self.assertEqual(self.under_test.post(self.token, envelope(1)).status, 200)
        for ended in (first.json["refresh_token"], self.device["refresh_token"]):
            self.assertEqual(exchange(ended).json, {"error": "invalid_grant"})
        self.assertEqual(exchange("bkr.1." + "A" * 43).json, {"error": "invalid_grant"})
        self.assertEqual(exchange(second.json["refresh_token"]).status, 200)

    def test_exports(self):
        root = envelope(5, extras={"driver": "<&>\"é"})
        self.under_test.post(self.token, root)
        path = f"/v1/devices/{self.device['id']}/locations"
        whole = self.under_test.ask("GET", path, self.reader).json
        for sent, read in zip(root["locations"], whole["locations"], strict=True):
            self.assertEqual(read, {**sent, "session_id": root["session_id"], "extras": root["extras"]})
        between = f"?from={root['locations'][1]['timestamp']}&to={root['locations'][3]['timestamp']}"
        self.assertEqual(len(self.under_test.ask("GET", path + between, self.reader).json["locations"]), 3)
        self.assertEqual(len(self.under_test.ask("GET", path + "?limit=2", self.reader).json["locations"]), 2)
        features = self.under_test.ask("GET", path + "?format=geojson", self.reader).json["features"]
        self.assertEqual(features[0]["geometry"], {"type": "Point", "coordinates": [11.5, 48, 520.1]})
        lines = self.under_test.ask("GET", path + "?format=csv", self.reader).body.decode().split("\r\n")
        self.assertEqual(len(lines), 7)
        self.assertEqual(lines[1].split(",")[:3], [root["locations"][0]["timestamp"], "48", "11.5"])
        gpx = self.under_test.ask("GET", path + "?format=gpx", self.reader).body.decode()
        self.assertEqual(gpx.count("<trkpt"), 5)
        for query in ("?format=kml", "?limit=0", "?from=now", "?x=1", "?from=2026-01-01T00:00:00Z&to=2025-01-01T00:00:00Z"):
            self.check_problem(self.under_test.ask("GET", path + query, self.reader), 400)

    def test_verbs_without_a_server_and_the_lock(self):
        second = self.under_test.verb("device", "add", "--json", "van")
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("there is already a device 'van'", second.stderr)
        # Only an operator knows how a vehicle reaches this server; none is made before that is said.
        self.assertIn("--url https://", self.under_test.verb("device", "add", "bus").stderr)
        lines = self.under_test.verb("device", "add", "bus", "--url", "https://fleet.example.org/").stdout
        found = tomllib.loads(lines)["sync"]
        self.assertEqual(found["url"], "https://fleet.example.org/v1/batches")
        self.assertEqual(found["heartbeat_seconds"], 3600)
        self.assertIn("add_geofences", found["commands"]["allow"])
        self.assertNotIn("stop", found["commands"]["allow"])
        self.assertEqual(self.under_test.stop(), 0)
        self.assertEqual(self.under_test.verb("device", "add", "--json", "tram").returncode, 0)
        listed = self.under_test.verb("device", "list").stdout
        self.assertEqual([line.split("\t")[1] for line in listed.splitlines()], ["van", "bus", "tram"])
        self.under_test.start()
        other = self.server()
        other.launch()
        assert other.child
        self.assertNotEqual(other.child.wait(), 0)
        self.assertIn("another beekon-server", other.child.text())
        for name in os.listdir(self.folder):
            if name.startswith("server.db"):
                self.assertEqual(os.stat(os.path.join(self.folder, name)).st_mode & 0o077, 0, name)

    def test_tokens_are_nowhere_in_clear(self):
        self.under_test.post(self.token, envelope(1))
        self.under_test.stop()
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), "rb") as file:
                content = file.read()
            for token in (self.token, self.device["refresh_token"], self.reader):
                self.assertNotIn(token.split(".")[2].encode(), content, name)

    def test_refused_before_the_body_is_there(self):
        """Neither the size nor the sender is worth waiting for the rest."""
        for head, status in (
                (f"Authorization: Bearer {self.token}\r\nContent-Length: 100000000", b"413"),
                ("Content-Length: 1000", b"401"),
                (f"Authorization: Bearer {self.token}\r\nContent-Length: x", b"400")):
            with socket.create_connection(("127.0.0.1", self.under_test.port), timeout=60) as connection:
                connection.sendall(f"POST /v1/batches HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode())
                self.assertIn(status, connection.recv(65_536).split(b"\r\n")[0])

    def test_more_connections_than_are_served_wait(self):
        self.under_test.stop()
        self.under_test.options = ("--connections", "3")
        self.under_test.start()
        idle = [socket.create_connection(("127.0.0.1", self.under_test.port), timeout=60) for _ in range(3)]
        for connection in idle:
            self.addCleanup(connection.close)
            # Whoever was answered has a place.
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b" 204 ", connection.recv(65_536))
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.under_test.ask, "GET", "/health/live")
            never(answer.done, "another one is served")
            for connection in idle:
                connection.close()
            self.assertEqual(answer.result(60).status, 204)

    def test_who_waits_for_a_place_when_it_stops_is_told(self):
        self.under_test.stop()
        self.under_test.options = ("--connections", "1")
        self.under_test.start()
        place = ("127.0.0.1", self.under_test.port)
        with socket.create_connection(place, timeout=60) as first, socket.create_connection(place, timeout=60) as second:
            first.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b" 204 ", first.recv(65_536))
            second.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(self.under_test.stop(), 0)
            head, _, body = second.makefile("rb").read().partition(b"\r\n\r\n")
            self.assertIn(b" 503 ", head)
            self.assertRegex(head.lower(), rb"retry-after: \d+")
            self.assertEqual(json.loads(body)["status"], 503)
            self.assertEqual(first.recv(1), b"")

    def test_a_stop_answers_what_is_under_way(self):
        with ThreadPoolExecutor(8) as pool:
            roots = [envelope(100, first_ms=1_718_452_800_000 + number * 1_000_000) for number in range(40)]
            answers = [pool.submit(self._try, root) for root in roots]
            wait_for(lambda: sum(answer.done() for answer in answers) >= 10, "some answers")
            self.assertEqual(self.under_test.stop(), 0)
            taken = {root["batch_id"] for root, answer in zip(roots, answers, strict=True) if answer.result() == 200}
        self.under_test.start()
        stored = set(self.under_test.ids(self.reader, self.device["id"]))
        for root in roots:
            if root["batch_id"] in taken:
                self.assertLessEqual({row["id"] for row in root["locations"]}, stored)

    def _try(self, root: dict) -> int | None:
        try:
            return self.under_test.post(self.token, root).status
        except OSError:
            return None


if __name__ == "__main__":
    unittest.main()
