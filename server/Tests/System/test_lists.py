"""Lists, which are read and written piece by piece: each is whole, whatever the pieces cut; one that fails does so before its
head; and nobody keeps what says where somebody was."""
from __future__ import annotations

import csv
import io
import json
import os
import struct
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.hostile_vehicle import extras
from server_support.server import FIRST_MS, envelope, iso, uuid7
from server_support.server_test import ServerTest
from support.seeds import sample
from support.waiting import wait_for

FORMS = ("json", "geojson", "gpx", "csv", "packed")
LENGTHS = (1, 216, 217, 218, 219, 220, 500, 999, 1000, 1001, 3000, 4000, 5000)


class Lists(ServerTest):
    make: Any

    def setUp(self):
        super().setUp()
        self.under_test = self.make().start()
        self.device = self.under_test.add_device("van")
        self.reader = self.under_test.add_user("ada", "reader")
        self.admin = self.under_test.add_user("eve", "admin")

    def get(self, path: str, token: str | None = None):
        return self.under_test.ask("GET", f"/v1/devices/{self.device['id']}{path}", token or self.reader)

    def send(self, root: dict):
        answer = self.under_test.post(self.device["access_token"], root)
        self.assertEqual(answer.status, 200, answer)

    # MARK: Pieces

    def count(self, form: str, body: bytes) -> int:
        """Locations of an answer, which has to be whole."""
        if form == "json":
            return len(json.loads(body)["locations"])
        if form == "geojson":
            return len(json.loads(body)["features"])
        if form == "gpx":
            return len(ElementTree.fromstring(body).findall(".//{*}trkpt"))
        if form == "csv":
            return len(list(csv.DictReader(io.StringIO(body.decode()))))
        place = total = 0
        while place < len(body):
            (size,) = struct.unpack_from("<I", body, place)
            place += 12 + 22 * size
            total += size
        self.assertEqual(place, len(body))
        return total

    def test_every_form_is_whole_at_every_length(self):
        for number in range(4):
            self.send(envelope(1000, FIRST_MS + number * 1_000_000))
        for form in FORMS:
            self.assertEqual(self.count(form, self.get(f"/locations?format={form}").body), 4000, form)
            for limit in (LENGTHS[place - 1] for place in sample(f"lengths of {form}", len(LENGTHS), 3)):
                self.assertEqual(
                    self.count(form, self.get(f"/locations?format={form}&limit={limit}").body), min(limit, 4000), (form, limit))
        ids = [location["id"] for location in self.get("/locations").json["locations"]]
        self.assertEqual(len(set(ids)), 4000)
        self.assertEqual(self.get("/locations?to=2001-01-01T00:00:00Z").json["locations"], [])

    def test_extras_longer_than_a_piece(self):
        long, short = extras(), {"driver": "ada"}
        self.send(envelope(3, extras=long))
        self.send(envelope(3, FIRST_MS + 100_000, extras=short))
        self.send(envelope(1, FIRST_MS + 200_000))
        found = [location.get("extras") for location in self.get("/locations").json["locations"]]
        self.assertEqual(found, [long] * 3 + [short] * 3 + [None])
        features = json.loads(self.get("/locations?format=geojson&limit=5").body)["features"]
        self.assertEqual([feature["properties"]["extras"] for feature in features], [long] * 3 + [short] * 2)
        for form in ("gpx", "csv", "packed"):
            body = self.get(f"/locations?format={form}").body
            self.assertEqual(self.count(form, body), 7)
            self.assertLess(len(body), 3000, f"{form} has none of them")

    def test_events_of_more_than_a_piece(self):
        events = [{"id": uuid7(FIRST_MS + number), "kind": "x", "timestamp": iso(FIRST_MS + number), "data": "x" * 3800}
                  for number in range(300)]
        self.send(envelope(0, events=events))
        self.assertEqual(self.get("/events").json["events"], events)
        self.assertEqual(self.get("/events?limit=100").json["events"], events[:100])

    def test_trips_of_more_than_a_piece(self):
        """A drive of two locations each ten minutes."""
        for number in range(10):
            root = envelope(1000)
            for index, location in enumerate(root["locations"]):
                turn, step = divmod(number * 1000 + index, 2)
                location["timestamp"] = iso(FIRST_MS + turn * 600_000 + step * 1000)
            self.send(root)
        trips = self.get("/trips").json["trips"]
        self.assertEqual([trip["start"] for trip in trips], [iso(FIRST_MS + turn * 600_000) for turn in range(5000)])
        self.assertEqual(self.get("/trips?limit=700").json["trips"], trips[:700])

    def test_many_devices_with_long_statuses(self):
        status = {"state": "tracking", "words": "x" * 15_000}
        self.send(envelope(0, status=status))
        for number in range(130):
            self.under_test.ask("POST", "/v1/devices", self.admin, json.dumps({"name": f"van {number}"}).encode())
        devices = self.under_test.ask("GET", "/v1/devices", self.reader).json["devices"]
        self.assertEqual([device["name"] for device in devices], ["van"] + [f"van {number}" for number in range(130)])
        self.assertEqual(devices[0]["status"], status)

    def test_commands_with_long_results(self):
        path = f"/v1/devices/{self.device['id']}/commands"
        results = []
        for number in range(12):
            made = self.under_test.ask("POST", path, self.admin, b'{"command":"locate"}').json["id"]
            results.append({"id": made, "command": "locate", "ok": True, "result": chr(97 + number) * 60_000})
        for part in (results[:6], results[6:]):
            self.send(envelope(0, command_results=part))
        listed = self.under_test.ask("GET", path, self.reader).json["commands"]
        self.assertEqual([entry["result"] for entry in listed], results[::-1])

    # MARK: What goes out with them

    def test_nobody_keeps_them(self):
        self.send(envelope(3, status={"state": "tracking"}))
        self.under_test.ask("POST", "/v1/logs", self.device["access_token"], b"a line", Content_Type="text/plain")
        paths = [f"/locations?format={form}" for form in FORMS]
        paths += ["", "/events", "/trips", "/commands", "/log", "/installations"]
        answers = {path: self.get(path, self.admin) for path in paths}
        for path in ("/v1/devices", "/metrics", "/v1/users", "/v1/claims", "/v1/session", "/v1/clock"):
            answers[path] = self.under_test.ask("GET", path, self.admin)
        for path, answer in answers.items():
            self.assertEqual((answer.status, answer.headers.get("cache-control")), (200, "no-store"), path)
        # So does what was refused, and what was stored.
        self.assertEqual(self.get("", "bku.x").headers.get("cache-control"), "no-store")
        self.assertEqual(
            self.under_test.post(self.device["access_token"], envelope(1)).headers.get("cache-control"), "no-store")


class SQLiteTests(Lists, OnSQLite):
    pass


class PostgresTests(Lists, OnPostgres):
    def test_a_list_that_fails_fails_before_its_head(self):
        self.send(envelope(3))
        paths = {"locations": ["/locations", "/locations?format=packed", "/trips"], "events": ["/events"], "devices": [""],
                 "commands": ["/commands"]}
        holder = subprocess.Popen(
            ["psql", self.postgres.address(), "-XAtq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PGAPPNAME": "holder"})
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        assert holder.stdin and holder.stdout
        holder.stdin.write(f"BEGIN; LOCK TABLE {', '.join(paths)}; SELECT 'held';\n")
        holder.stdin.flush()
        self.assertEqual(holder.stdout.readline(), "held\n")
        every = [path for some in paths.values() for path in some]
        with ThreadPoolExecutor(len(every) + 1) as pool:
            whole = pool.submit(self.under_test.ask, "GET", "/v1/devices", self.reader)
            answers = [*pool.map(self.get, every), whole.result()]
        for path, answer in zip([*every, "/v1/devices"], answers, strict=True):
            self.assertEqual(answer.status, 503, (path, answer))
            self.assertIn("retry-after", answer.headers)
        holder.kill()
        wait_for(lambda: self.get("/locations").status == 200, "it is served again")


# It has no server.
del Lists


if __name__ == "__main__":
    unittest.main()
