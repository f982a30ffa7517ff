"""beekon-fleet: its options, its charts, and its vehicles against real servers, in their own time made faster."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "server" / "Tests" / "System"))

from server_support.server import PROGRAM as SERVER
from server_support.server import Server
from support.backend import Backend
from support.child import Child
from support.programs import BIN, program
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


if __name__ == "__main__":
    unittest.main()
