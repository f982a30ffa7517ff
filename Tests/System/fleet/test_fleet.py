"""beekon-fleet: its options, its charts, and its vehicles against real servers, in their own time made faster."""
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "server" / "Tests" / "System"))

from server_support.server import PROGRAM as SERVER
from server_support.server import Server
from support.backend import Backend
from support.child import Child
from support.drive import Drive, feed
from support.fake_gpsd import from_iso
from support.programs import BIN, program
from support.seeds import seed
from support.system_test import SystemTest
from support.waiting import wait_for

FLEET = program("beekon-fleet")


@unittest.skipUnless(os.access(FLEET, os.X_OK), f"no beekon-fleet in {BIN}: build it, or set BEEKOND_BIN")
class FleetTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekon-fleet-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_fleet(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([FLEET, *arguments], capture_output=True, text=True, timeout=300)

    def tokens(self, tokens: list) -> str:
        path = os.path.join(self.folder, "tokens")
        Path(path).write_text("".join(token + "\n" for token in tokens), encoding="utf-8")
        return path

    def account(self, text: str) -> tuple:
        """What the fleet has stored, what was acknowledged, what is pending."""
        found = re.search(r"account: (\d+) stored = (\d+) acknowledged \+ (\d+) pending", text)
        assert found, text
        stored, acknowledged, pending = (int(number) for number in found.groups())
        self.assertEqual(stored, acknowledged + pending)
        return stored, acknowledged, pending


class OptionTests(FleetTest):
    def test_chart_and_row(self):
        chart = os.path.join(self.folder, "chart.svg")
        done = self.run_fleet("30", "--hours", "3", "--scenario", "outage", "--row", "--chart", chart)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("|"), 11, done.stdout)
        self.assertTrue(done.stdout.startswith("| outage |"))
        self.assertTrue(ElementTree.parse(chart).getroot().tag.endswith("svg"))
        again = self.run_fleet("30", "--hours", "3", "--scenario", "outage", "--row")
        self.assertEqual(done.stdout, again.stdout)

    def test_what_makes_no_sense_is_said(self):
        for arguments, words in (
                (("0",), "give 1 to 1000000"),
                (("5", "--hours", "0"), "give hours above 0"),
                (("5", "--scenario", "flood"), "flood"),
                (("5", "--url", "http://127.0.0.1:1/"), "both --url and --tokens"),
                (("5", "--hours", "1", "--chart", "/nowhere/chart.svg"), "/nowhere/chart.svg"),
                (("5", "--url", "http://127.0.0.1:1/", "--tokens", "/nowhere/tokens"), "/nowhere/tokens"),
                (("5", "--url", "http://127.0.0.1:1/", "--tokens", self.tokens(["one"])), "has 1 tokens for 5 vehicles"),
        ):
            with self.subTest(arguments):
                done = self.run_fleet(*arguments)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Fatal error", done.stderr)


class LiveTests(FleetTest):
    def test_a_server_that_fails_now_and_then_gets_each_row_once(self):
        backend = Backend(answers=["drop", 503, 200, "close"] * 5)
        backend.start()
        self.addCleanup(backend.stop)
        done = self.run_fleet(
            "10", "--hours", "0.5", "--url", backend.url, "--tokens", self.tokens([f"token-{n}" for n in range(10)]),
            "--speed-up", "300")
        self.assertEqual(done.returncode, 0, done.stderr)
        stored, acknowledged, _ = self.account(done.stdout)
        print(done.stdout)
        self.assertGreater(acknowledged, 100)
        accepted = [request for request in backend.requests if request.outcome.startswith(("stored", "known already"))]
        rows = {identity for request in accepted for identity in request.ids}
        self.assertTrue(acknowledged <= len(rows) <= stored, (acknowledged, len(rows), stored))
        self.assertEqual(backend.faults(), [])

    @unittest.skipUnless(os.access(SERVER, os.X_OK), f"no {SERVER}: 'make server' builds it, or set BEEKON_SERVER_BIN")
    def test_beekon_server_that_is_killed(self):
        vehicles = int(os.environ.get("BEEKOND_VEHICLES", "20"))
        server = Server(self.folder).start()
        self.addCleanup(server.kill)
        devices = [server.add_device(f"vehicle-{number}") for number in range(vehicles)]
        reader = server.add_user("ada", "reader")
        tokens = self.tokens([device["access_token"] for device in devices])

        def rows() -> int:
            found = [server.ids(reader, device["id"]) for device in devices]
            self.assertEqual(sum(map(len, found)), len({identity for ids in found for identity in ids}))
            return sum(map(len, found))

        fleet = Child(
            [FLEET, str(vehicles), "--hours", "1", "--url", server.url + "/v1/batches", "--tokens", tokens, "--speed-up",
             "240"], os.path.join(self.folder, "fleet.log"))
        self.addCleanup(fleet.kill)
        wait_for(lambda: rows() > 0, lambda: f"rows arrive; it said: {fleet.text()}")
        server.kill()
        server.start()
        wait_for(lambda: not fleet.running, lambda: f"the fleet ends; it said: {fleet.text()}", 120)
        stored, acknowledged, _ = self.account(fleet.text())
        print(fleet.text(), rows(), "rows in the server")
        self.assertGreater(acknowledged, 5 * vehicles)
        self.assertTrue(acknowledged <= rows() <= stored)


@unittest.skipUnless(os.access(SERVER, os.X_OK), "no beekon-server: build it")
class ReportTests(SystemTest):
    """A report of beekon-server beside the vehicle's own trips: the same."""

    real_time = True

    def test_a_report_says_what_the_vehicle_says(self):
        server = Server(self.folder())
        server.start()
        self.addCleanup(server.kill)
        self.assertEqual(server.verb("clock", "confirm").returncode, 0)
        device = server.add_device("van")
        number = seed("two days")
        drive = Drive(int((time.time() - 2.9 * 86_400) * 1000))
        drive.days(2, number)
        fake = self.fake()
        daemon = self.daemon(
            fake.port, tracking={"interval_seconds": 30, "distance_meters": 100, "stationary_mode": "pause"},
            vehicle={"events": ["trip"]}, sync={"url": server.url + "/v1/batches", "require_ack": True},
            **{"sync.auth": {"access_token": device["access_token"], "expires_at": int(time.time()) + 500}})
        daemon.start()
        daemon.call("Start")
        fake.wait_watched()
        feed(fake, daemon, drive.moments, random.Random(number))
        own = [trip for trip in daemon.call("GetTrips")["trips"] if "ended_at" in trip]
        self.assertGreater(len(own), 3)
        self.assertEqual(daemon.first_outcome(), "drained")
        reader = server.add_user("ada", "reader")
        found = server.ask("GET", "/v1/trips", reader).json["trips"]
        self.assertEqual({trip["source"] for trip in found}, {"vehicle"})
        self.assertEqual(
            [(trip["start"], trip["end"], trip["distance_meters"], trip["top_speed"], trip["idle_seconds"]) for trip in found],
            [(trip["started_at"], trip["ended_at"], round(trip["distance_meters"]), trip["top_speed"],
              round(trip["idle_seconds"])) for trip in own])
        # What the odometer says is what trips say, and what was driven between them.
        driven = daemon.status()["odometer_meters"]
        self.assertAlmostEqual(sum(trip["distance_meters"] for trip in found), driven, delta=0.02 * driven)
        print(f"report: {len(found)} trips, {sum(trip['distance_meters'] for trip in found) / 1000:.1f} km; "
              f"odometer {driven / 1000:.1f} km")
        self.assertLess(max(from_iso(trip["end"]) for trip in found), int(time.time() * 1000))


class FenceTests(SystemTest):
    """Fences of beekon-server's fleet in a real vehicle: both compute the same digest, over the vehicle's death, too."""

    real_time = True

    def test_a_vehicle_has_the_fences_of_the_fleet(self):
        server = Server(self.folder())
        server.start()
        self.addCleanup(server.kill)
        self.assertEqual(server.verb("clock", "confirm").returncode, 0)
        device, admin = server.add_device("van"), server.add_user("root", "admin")
        fake = self.fake()
        daemon = self.daemon(
            fake.port, tracking={"interval_seconds": 0, "distance_meters": 0, "stationary_mode": "keep_tracking"},
            sync={"url": server.url + "/v1/batches", "require_ack": True, "heartbeat_seconds": 60},
            **{"sync.auth": {"access_token": device["access_token"], "expires_at": int(time.time()) + 5000},
               "sync.commands": {"enabled": True, "allow": ["add_geofences", "remove_geofences"]}})

        def draw(name: str, **shape) -> int:
            answer = server.ask("POST", "/v1/fences", admin, json.dumps({"name": name, "all": True, **shape}).encode())
            self.assertEqual(answer.status, 201, answer)
            return answer.json["id"]

        def wait_has(*names: str):
            """It has these, says so itself, and the server has nothing more to tell it."""

            def has() -> bool:
                fake.drive(2)
                daemon.call("Sync")
                told = {fence["id"] for fence in daemon.call("ListGeofences")["geofences"]}
                states = server.ask("GET", f"/v1/devices/{device['id']}/fences", admin).json["fences"]
                return told == set(names) and [state["state"] for state in states] == ["taken"] * len(names)

            wait_for(has, lambda: f"the vehicle has {names}")

        def progress() -> dict:
            with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True, timeout=30) as database:
                return json.loads(database.execute("SELECT progress FROM device_fences").fetchone()[0])

        def wait_agreed():
            """What the vehicle reports is the sum of what the server told it."""

            def agrees() -> bool:
                fake.drive(2)
                daemon.call("Sync")
                status = server.ask("GET", f"/v1/devices/{device['id']}", admin).json.get("status", {})
                total = sum(progress()["told"].values()) % 2 ** 64
                return status.get("fences", {}).get("digest") == f"{total:016x}" and not {"accepted", "doubted"} & set(progress())

            wait_for(agrees, lambda: f"one digest: {progress()}")

        draw("Büro", latitude=50, longitude=8, radius_meters=150.25, dwell_seconds=90)
        # Clockwise: the vehicle keeps it the other way round.
        field = draw("field", polygon=[[8, 50], [8, 50.01], [8.0123456, 50.01], [8.01, 50]], notify_on_exit=False)
        daemon.start()
        daemon.call("Start")
        fake.settle()
        wait_has("Büro", "field")
        daemon.kill()
        self.assertEqual(server.ask("DELETE", f"/v1/fences/{field}", admin, b"").status, 204)
        draw("yard", latitude=-0.0, longitude=8, radius_meters=20)
        daemon.start()
        fake.settle()
        wait_has("Büro", "yard")
        wait_agreed()


if __name__ == "__main__":
    unittest.main()
