"""Trips of all vehicles in one list: as they told them, or as their locations show them; who sees which."""
from __future__ import annotations

import csv
import io
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.postgres import BIN, cluster
from server_support.server import Server, iso, uuid7
from server_support.server_test import ServerTest

# A Monday, long ago enough that nothing of it is ahead.
DAY = int(time.time() * 1000) // 86_400_000 * 86_400_000 - 7 * 86_400_000


def told(start: int, end: int, metres: float, type_: str = "ended", **data) -> dict:
    """What beekond says of a trip."""
    object_: dict = {"id": uuid7(end), "kind": "trip", "type": type_, "timestamp": iso(end), "latitude": 52.5, "longitude": 13.4}
    if type_ == "ended":
        object_["data"] = {"started_at": iso(start), "distance_meters": metres, "duration_seconds": (end - start) / 1000,
                           "top_speed": 21.5, "idle_seconds": 30, **data}
    return object_


class Reports(ServerTest):
    add: Any

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.add()
        self.assertEqual(self.under_test.verb("clock", "confirm").returncode, 0)

    def vehicle(self, name: str, locations: list, events: list | None = None, group: str | None = None) -> int:
        device = self.under_test.add_device(name)
        fleet.upload(self.under_test, device["access_token"], locations, False, events=events or [])
        if group:
            self.assertEqual(self.under_test.verb("device", "edit", str(device["id"]), "--group", group).returncode, 0)
        return device["id"]

    def trips(self, token: str, query: str = "") -> list:
        answer = self.under_test.ask("GET", "/v1/trips" + query, token)
        self.assertEqual(answer.status, 200, answer)
        return answer.json["trips"]

    def test_the_vehicles_word_counts_where_there_is_one(self):
        hour = 3_600_000
        # Trips of 40 minutes with stays of ten; the vehicle tells of those from the second on.
        drive = fleet.day(DAY, 9000, step=5)
        events = [told(DAY + 3000_000, DAY + 5400_000, 12_345), told(0, DAY + 6000_000, 0, "started"),
                  told(DAY + 6000_000, DAY + 8400_000, 23_456.7)]
        teller = self.vehicle("Teller", drive, events)
        silent = self.vehicle("Silent", drive)
        reader = self.under_test.add_user("ada", "reader")
        found = self.trips(reader)
        self.assertEqual([(trip["device"], trip["source"]) for trip in found],
                         [(teller, "locations"), (teller, "vehicle"), (teller, "vehicle")] + [(silent, "locations")] * 3)
        first, second, third = found[:3]
        self.assertEqual(found[3] | {"device": teller, "name": "Teller"}, first)
        self.assertEqual((second["start"], second["end"]), (iso(DAY + 3000_000), iso(DAY + 5400_000)))
        self.assertEqual((second["distance_meters"], second["duration_seconds"], second["idle_seconds"], second["top_speed"]),
                         (12_345, 2400, 30, 21.5))
        self.assertEqual(third["distance_meters"], 23_456.7)
        self.assertNotIn("idle_seconds", first)
        # A range is one of ends, as with events.
        some = self.trips(reader, f"?from={iso(DAY + 2 * hour)}&to={iso(DAY + 3 * hour)}")
        self.assertEqual([(trip["device"], trip["source"]) for trip in some], [(teller, "vehicle"), (silent, "locations")])
        lines = self.under_test.ask("GET", "/v1/trips?format=csv", reader)
        self.assertEqual(lines.headers["content-type"], "text/csv; charset=utf-8")
        rows = list(csv.DictReader(io.StringIO(lines.body.decode(), newline="")))
        self.assertEqual([(int(row["device"]), row["name"], row["start"], row["source"]) for row in rows],
                         [(trip["device"], trip["name"], trip["start"], trip["source"]) for trip in found])
        self.assertEqual([float(row["distance_meters"]) for row in rows], [trip["distance_meters"] for trip in found])

    def test_what_a_vehicle_could_say(self):
        """Nothing of it gets into a report that is no trip, and nothing breaks the list."""
        bad = [told(DAY + 60_000, DAY, 5), told(DAY, DAY + 60_000, -1), told(DAY, DAY + 61_000, 1e12),
               told(DAY, DAY + 62_000, 5, started_at="yesterday"), told(DAY, DAY + 63_000, 5, started_at=None),
               told(DAY, DAY + 64_000, 5, distance_meters="far"), told(DAY, DAY + 65_000, 5, top_speed=1e9, idle_seconds=-4)]
        self.vehicle('=HYPERLINK("x")', [], bad)
        reader = self.under_test.add_user("ada", "reader")
        (trip,) = self.trips(reader)
        self.assertEqual((trip["distance_meters"], trip["duration_seconds"]), (5, 65))
        self.assertEqual({"top_speed", "idle_seconds"} & set(trip), set())
        text = self.under_test.ask("GET", "/v1/trips?format=csv", reader).body.decode()
        self.assertIn('''"'=HYPERLINK(""x"")"''', text)

    def test_many_trips_come_in_pieces(self):
        events = [told(DAY + number * 60_000, DAY + number * 60_000 + 50_000, number) for number in range(1500)]
        for name in ("First", "Second"):
            device = self.under_test.add_device(name)
            for start in range(0, len(events), 100):
                part = [event | {"id": uuid7(DAY)} for event in events[start:start + 100]]
                fleet.upload(self.under_test, device["access_token"], [], events=part)
        reader = self.under_test.add_user("ada", "reader")
        self.assertEqual([trip["distance_meters"] for trip in self.trips(reader)], list(range(1500)) * 2)

    def test_who_sees_which(self):
        for group in ("north", "south"):
            self.assertEqual(self.under_test.verb("group", "add", group).returncode, 0)
        north = self.vehicle("North", [], [told(DAY, DAY + 60_000, 1)], "north")
        south = self.vehicle("South", [], [told(DAY, DAY + 60_000, 2)], "south")
        lost = self.vehicle("Lost", [], [told(DAY, DAY + 60_000, 3)])
        everybody = self.under_test.add_user("ada", "reader")
        limited = self.under_test.add_user("nora", "reader")
        self.assertEqual(self.under_test.verb("user", "groups", "nora", "north").returncode, 0)

        def devices(token: str, query: str = "") -> list:
            return [trip["device"] for trip in self.trips(token, query)]

        self.assertEqual(devices(everybody), [north, south, lost])
        self.assertEqual(devices(everybody, "?group=south"), [south])
        self.assertEqual(devices(everybody, "?group=none"), [])
        self.assertEqual(devices(limited), [north])
        self.assertEqual(devices(limited, "?group=south"), [])
        for query, word in (("?format=gpx", "format"), ("?limit=3", "parameter"), ("?from=x", "from"), ("?x", "name=value")):
            answer = self.under_test.ask("GET", "/v1/trips" + query, everybody)
            self.assertEqual(answer.status, 400, query)
            self.assertIn(word, answer.body.decode())


class SQLiteReportTests(Reports):
    def add(self) -> Server:
        server = Server(self.folder)
        self.addCleanup(server.kill)
        return server.start()


@unittest.skipIf(not BIN, "no PostgreSQL: 'make deps' installs it")
class PostgresReportTests(Reports):
    def setUp(self):
        self.postgres = cluster()
        self.addCleanup(self.postgres.remove)
        self.postgres.start()
        super().setUp()

    def add(self) -> Server:
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address())
        self.addCleanup(server.kill)
        return server.start()


# It has no servers.
del Reports


if __name__ == "__main__":
    unittest.main()
