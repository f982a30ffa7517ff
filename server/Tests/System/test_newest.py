"""Where a vehicle is now, and when it was heard of last: neither is in the future, whatever clocks have said or say."""
from __future__ import annotations

import http.client
import json
import os
import sqlite3
import struct
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import Server, envelope, iso
from server_support.server_test import ServerTest
from support.clocks import shim
from support.waiting import PATIENCE, wait_for

DAY = 86_400_000


class Newest(ServerTest):
    """On one database."""

    add: Any
    query: Any

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.add()
        self.device = self.under_test.add_device("van")
        self.reader = self.under_test.add_user("rita", "reader")
        self.offset = 0

    def shift(self, seconds: int):
        """Starts it anew, with a clock that is ahead by so much."""
        self.under_test.stop()
        self.under_test.environment = {"LD_PRELOAD": shim(), "BEEKOND_TEST_CLOCK": self.set_clocks(seconds, 0)}
        self.offset = seconds * 1000
        self.under_test.start()

    def set_clocks(self, wall: int, boot: int) -> str:
        """Seconds by which the server's system clock and its time since boot are ahead, also of one that runs."""
        path = os.path.join(self.under_test.folder, "clocks")
        content = struct.pack("=5q", wall * 10**9, boot * 10**9, 0, 0, 0)
        # Never shorter than it was: a server that runs has it mapped.
        with open(path, "r+b" if os.path.exists(path) else "wb") as file:
            file.write(content)
        return path

    def suspend(self, seconds: int):
        """As if the machine of a running server had slept for so long; it looks for turns within seconds of it, not after the
        minute that it would have waited."""
        self.offset += seconds * 1000
        self.set_clocks(self.offset // 1000, seconds)

    def now(self) -> int:
        """As the server's clock has it."""
        return int(time.time() * 1000) + self.offset

    def upload(self, *times: int) -> list[str]:
        """Locations of these moments; returns their ids."""
        root = envelope(len(times), self.now())
        for row, moment in zip(root["locations"], times, strict=True):
            row.update(envelope(1, moment)["locations"][0])
        answer = self.under_test.post(self.device["access_token"], root)
        self.assertEqual((answer.status, answer.json.get("stored")), (200, len(times)), answer)
        return [row["id"] for row in root["locations"]]

    def state(self) -> dict:
        return self.under_test.ask("GET", f"/v1/devices/{self.device['id']}", self.reader).json

    def newest(self) -> str | None:
        return self.state().get("latest", {}).get("id")

    def test_one_that_is_ahead_waits_for_its_turn(self):
        now = self.now()
        present, soon, later = self.upload(now - 5000, now + 30_000, now + 3_600_000)
        self.assertEqual(self.newest(), soon, "within a minute clocks may differ")
        stored = self.under_test.ids(self.reader, self.device["id"])
        self.assertEqual(set(stored), {present, soon, later}, "it is stored all the same")
        # What is newer, by what time it is, comes before it.
        self.assertEqual(self.upload(now + 40_000)[0], self.newest())
        self.assertEqual(self.upload(now + 7_200_000, now + 45_000)[1], self.newest())

    def test_its_turn_comes(self):
        now = self.now()
        present, first, second = self.upload(now - 5000, now + 1_800_000, now + 5_400_000)
        self.assertEqual(self.newest(), present)
        self.shift(3600)
        wait_for(lambda: self.newest() == first, "the first of them takes its turn")
        self.assertEqual(self.state()["latest"]["timestamp"], iso(now + 1_800_000))
        # Not in place of what came since and is newer.
        newer = self.upload(self.now() - 1000)[0]
        self.assertEqual(self.newest(), newer)
        self.shift(7200)
        wait_for(lambda: self.newest() == second, "so does the second")

    def test_one_that_has_only_some_that_are_ahead(self):
        ahead = self.upload(self.now() + 3_600_000)[0]
        self.assertIsNone(self.newest())
        self.assertIn("seen", self.state())
        self.shift(7200)
        wait_for(lambda: self.newest() == ahead, "it takes its turn")

    def test_listeners_are_told_of_a_turn(self):
        self.upload(self.now() - 5000)
        self.shift(0)
        link = http.client.HTTPConnection("127.0.0.1", self.under_test.port, timeout=60)
        self.addCleanup(link.close)
        link.request("GET", "/v1/live", headers={"Authorization": f"Bearer {self.reader}"})
        stream = link.getresponse()
        self.assertEqual(stream.readline(), b"event: hello\n")
        ahead = self.upload(self.now() + 1_800_000)[0]
        self.assertNotEqual(self.newest(), ahead)
        self.suspend(3600)
        deadline = time.monotonic() + 2 * PATIENCE
        while line := stream.readline():
            self.assertLess(time.monotonic(), deadline, "it is not told")
            if line.startswith(b"data: ") and json.loads(line[6:]).get("latest", {}).get("id") == ahead:
                return
        self.fail("the stream has ended")

    def test_what_was_heard_in_a_future_that_is_none(self):
        """A clock that was three days ahead, and is right again."""
        self.shift(3 * 86_400)
        self.upload(self.now() - 1000)
        self.assertGreater(self.state()["seen"], iso(int(time.time() * 1000) + 2 * DAY))
        self.under_test.ask("POST", "/v1/batches", self.device["access_token"], b"{}")
        before = int(time.time() * 1000)
        self.shift(0)
        wait_for(lambda: self.state()["seen"] <= iso(self.now()), "it was not heard in the future")
        self.assertGreaterEqual(self.state()["seen"], iso(before))
        metrics = self.under_test.ask("GET", "/metrics", self.reader).body.decode()
        seen = next(line for line in metrics.splitlines() if line.startswith("beekon_device_seen_timestamp_seconds{"))
        self.assertLessEqual(float(seen.split()[1]), time.time())
        # Nor does it come back: it grows old from there.
        known = self.state()["seen"]
        self.shift(0)
        self.assertEqual(self.state()["seen"], known)
        # And it goes on with the next upload.
        self.upload(self.now() - 1000)
        self.assertGreater(self.state()["seen"], known)

    def test_an_upload_is_heard_when_it_comes_whatever_is_there(self):
        """Also before anybody has put an old row right."""
        self.upload(self.now() - 2000)
        self.query(f"UPDATE presence SET seen = {self.now() + 3 * DAY}, status_time = {self.now() + 3 * DAY}, status = '{{}}'")
        before = self.now()
        self.upload(self.now() - 1000)
        self.assertTrue(iso(before) <= self.state()["seen"] <= iso(self.now()), self.state())

    def test_gpx_is_xml_whatever_a_name_holds(self):
        self.upload(self.now() - 2000)
        for name in ("\ufffe", "a\uffffb", "a\u0001\u000b\u001fb", "\ufdd0", "\U0001fffe", "\u0085\u009f", "<&>\"'", "]]>",
                     "\ud7ff\ue000", "ü 😀"):
            with self.subTest(ascii(name)):
                self.rename(name)
                answer = self.under_test.ask("GET", f"/v1/devices/{self.device['id']}/locations?format=gpx", self.reader)
                self.assertEqual(answer.status, 200)
                found = ElementTree.fromstring(answer.body).find(".//{*}name")
                assert found is not None
                wanted = "".join("\ufffd" if char in "\ufffe\uffff\u0001\u000b\u001f" else char for char in name)
                self.assertEqual(found.text, wanted)

    def test_gpx_begins_a_segment_after_a_gap(self):
        """More than ten minutes; not where they are exactly ten."""
        start = self.now() - 7_200_000
        for first in (start, start + 2000 + 600_000, start + 4000 + 1_200_001):
            self.assertEqual(self.under_test.deliver(self.device["access_token"], envelope(3, first)).status, 200)
        answer = self.under_test.ask("GET", f"/v1/devices/{self.device['id']}/locations?format=gpx", self.reader)
        segments = ElementTree.fromstring(answer.body).findall("{*}trk/{*}trkseg")
        self.assertEqual([len(segment.findall("{*}trkpt")) for segment in segments], [6, 3])

    def test_gpx_has_no_exponents(self):
        """Its numbers are decimals (xsd:decimal): a program that takes it at its word reads no 5e-05, beside the meridian of
        Greenwich."""
        numbers = [0.00005, -0.000012345, 1e-9, 5e-324, -0.0, 51.4779, 12345678901234567890.0, 1.5e300]
        root = envelope(len(numbers), self.now() - 60_000)
        for location, number in zip(root["locations"], numbers, strict=True):
            location.update(longitude=number if abs(number) < 180 else 0, altitude=number)
        self.assertEqual(self.under_test.deliver(self.device["access_token"], root).status, 200)
        answer = self.under_test.ask("GET", f"/v1/devices/{self.device['id']}/locations?format=gpx", self.reader)
        track = ElementTree.fromstring(answer.body)
        points = track.findall(".//{*}trkpt")
        texts = [point.attrib["lon"] for point in points] + [str(height.text) for height in track.findall(".//{*}ele")]
        self.assertEqual(len(texts), 2 * len(numbers))
        for text in texts:
            self.assertRegex(text, r"^-?[0-9]+(\.[0-9]+)?$")
        # As exact as they were, down to a tenth of a millimetre.
        for point, location in zip(points, root["locations"], strict=True):
            self.assertAlmostEqual(float(point.attrib["lon"]), location["longitude"], delta=1e-9)
        self.assertEqual([float(text) for text in texts[-3:]], numbers[-3:])

    def rename(self, name: str):
        text = "||".join(f"chr({ord(char)})" for char in name)
        self.query(f"UPDATE devices SET name = {text}")


class SQLiteNewestTests(Newest):
    def add(self) -> Server:
        return self.server().start()

    def query(self, statement: str) -> list:
        with sqlite3.connect(os.path.join(self.folder, "server.db"), timeout=30) as database:
            database.create_function("chr", 1, chr)
            return database.execute(statement).fetchall()


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class PostgresNewestTests(Newest):
    """Whose own clock is right throughout: the lesser of both counts."""

    has_week_before = False

    def setUp(self):
        self.postgres = cluster()
        self.addCleanup(self.postgres.remove)
        self.postgres.start()
        super().setUp()

    def add(self) -> Server:
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address())
        self.addCleanup(server.kill)
        return server.start()

    def query(self, statement: str) -> list:
        return self.postgres.query(statement)

    def is_newest(self, wanted: str) -> Callable[[], bool]:
        return lambda: self.newest() == wanted

    def age(self, seconds: int):
        """As if so much time had passed: PostgreSQL's clock stays."""
        if not self.has_week_before:
            # What is made older may belong to it: there has to be a partition. Weeks are the epoch's.
            self.has_week_before = True
            other = self.under_test.add_device("other")
            root = envelope(1, self.now() // (7 * DAY) * 7 * DAY - 3 * DAY)
            self.assertEqual(self.under_test.deliver(other["access_token"], root).status, 200)
        milliseconds = seconds * 1000
        for table, column in (("locations", "time"), ("latest", "time"), ("ahead", "time"), ("ahead", "since")):
            self.query(f"UPDATE {table} SET {column} = {column} - {milliseconds}")

    def suspend(self, seconds: int):
        self.age(seconds)
        self.set_clocks(0, seconds)

    def test_its_turn_comes(self):
        now = self.now()
        present, first, second = self.upload(now - 5000, now + 1_800_000, now + 5_400_000)
        self.assertEqual(self.newest(), present)
        self.shift(86_400)
        self.assertEqual(self.newest(), present, "the server's clock alone says nothing")
        for turn in (first, second):
            self.age(3600)
            self.shift(0)
            wait_for(self.is_newest(turn), "it takes its turn")

    def test_one_that_has_only_some_that_are_ahead(self):
        ahead = self.upload(self.now() + 3_600_000)[0]
        self.assertIsNone(self.newest())
        self.age(3600)
        self.shift(0)
        wait_for(lambda: self.newest() == ahead, "it takes its turn")

    def test_what_was_heard_in_a_future_that_is_none(self):
        """Of a database whose own clock was wrong."""
        self.upload(self.now() - 1000)
        self.query("UPDATE presence SET seen = seen + 259200000")
        before = int(time.time() * 1000)
        self.shift(0)
        wait_for(lambda: self.state()["seen"] <= iso(self.now()), "it was not heard in the future")
        self.assertGreaterEqual(self.state()["seen"], iso(before))

    def test_a_server_whose_clock_is_ahead_hears_nothing_in_the_future(self):
        self.shift(3 * 86_400)
        answer = self.under_test.ask(
            "POST", "/v1/token", None,
            json.dumps({"grant_type": "refresh_token", "refresh_token": self.device["refresh_token"]}).encode(),
            Content_Type="application/json")
        self.device = {**self.device, **answer.json}
        self.offset = 0
        self.upload(self.now() - 1000)
        # Not of the database's clock, which may have been set a little since.
        self.assertLess(self.state()["seen"], iso(self.now() + 60_000))


# It has no servers.
del Newest


if __name__ == "__main__":
    unittest.main()
