"""A real Home Assistant has the vehicle where it is: its webhooks for OwnTracks and for Traccar's clients.

It is installed on request only: BEEKOND_HOME_ASSISTANT=install, as root.
"""
import json
import math
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import support
from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE
from support.ports import new_port
from support.system_test import SystemTest
from support.waiting import wait_for

VENV = os.path.join(support.ROOT, ".build", "home-assistant")
PYTHON = os.path.join(VENV, "bin", "python")
PATIENCE = 180.0


def why_not() -> str:
    """Why it cannot run here; "" if it can. Installs it where that is asked for."""
    if os.environ.get("BEEKOND_HOME_ASSISTANT") == "install":
        # In the network of who started this: its own leads nowhere.
        done = subprocess.run(
            ["nsenter", f"--net=/proc/{os.getppid()}/ns/net", os.path.join(support.ROOT, "etc", "build", "home-assistant")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            return f"Home Assistant could not be installed: {done.stdout.strip().splitlines()[-1:]}"
    if not os.path.exists(os.path.join(VENV, "requirements.txt")):
        return "Home Assistant is not installed: BEEKOND_HOME_ASSISTANT=install does that (400 MB)"
    return ""


REASON = why_not()


@unittest.skipIf(REASON, REASON)
class HomeAssistantTests(SystemTest):
    real_time = True
    HOOKS = ("0123456789abcdef", "fedcba9876543210")

    def setUp(self):
        super().setUp()
        self.port = new_port()
        self.server = self.child(
            [PYTHON, "-B", os.path.join(support.ROOT, "Tests", "Tools", "home-assistant.py"), self.folder(), str(self.port),
             *self.HOOKS], "home-assistant")
        wait_for(self.is_ready, lambda: f"Home Assistant is ready; it said:\n{self.server.text()}", PATIENCE)

    def is_ready(self) -> bool:
        if not self.server.running:
            raise AssertionError(f"Home Assistant has ended:\n{self.server.text()}")
        return bool(self.said("ready"))

    def said(self, key: str) -> list:
        """The lines with this key, as objects; its log is among them."""
        return [json.loads(line) for line in self.server.text().splitlines(keepends=True)
                if line.startswith(f'{{"{key}":') and line.endswith("}\n")]

    def states(self, entity: str) -> list:
        """Those a tracker has had, with a position."""
        return [said["attributes"] for said in self.said("entity")
                if said["entity"] == entity and "latitude" in said["attributes"]]

    def begin(self, example: str, hook: str, deliver: str = "latest") -> tuple:
        """A fake gpsd, and a daemon with this example of a configuration, which is idle."""
        text = Path(support.ROOT, "etc", "examples", f"{example}.toml").read_text(encoding="utf-8")
        text = re.sub(r"(?m)^url = .*$", f'url = "http://127.0.0.1:{self.port}/api/webhook/{hook}"', text)
        text = re.sub(r"(?m)^deliver = .*$", f'deliver = "{deliver}"', text)
        text = re.sub(r"(?m)^interval_seconds = \d+$", f"interval_seconds = {NEVER}", text)
        fake = self.fake()
        daemon = self.daemon(fake.port)
        folder = os.path.join(daemon.directory, "beekond.d")
        os.mkdir(folder)
        Path(folder, "50-home.toml").write_text(text, encoding="utf-8")
        os.chmod(os.path.join(folder, "50-home.toml"), 0o600)
        return fake, daemon.start()

    def drive(self, example: str, hook: str, **settings):
        """A drive of eight seconds. Each location is delivered before the next one is stored: only the newest is sent."""
        fake, daemon = self.begin(example, hook)
        daemon.call("Start")
        fake.settle()
        self.deliver(daemon, 1)
        for stored in range(2, 9):
            # The accuracy of one is not known.
            unknown = {"eph": None, "epx": None, "epy": None} if stored == 7 else {}
            fake.drive(1, **unknown, **settings)
            self.deliver(daemon, stored)

    def deliver(self, daemon, stored: int):
        daemon.wait_stored(stored)
        wait_for(lambda: daemon.call("Sync", destination="home")["pending"] == 0, "the newest location has been accepted")

    def check(self, entity: str, accuracies: list):
        """It was at each place once, in order, and is where the drive ended."""
        found = wait_for(lambda: (states := self.states(entity))[len(accuracies) - 1:] and states,
                         lambda: f"{entity} has had {len(accuracies)} positions: {self.server.text()[-3000:]}")
        metres = [(state["latitude"] - 50) * METERS_PER_DEGREE for state in found]
        # The three that settle the time are of one place, and one location.
        self.assertEqual([round(metre) for metre in metres], [20 + 10 * index for index in range(len(accuracies))])
        self.assertEqual([state["gps_accuracy"] for state in found], accuracies)

    def test_owntracks(self):
        self.drive("home-assistant-owntracks", self.HOOKS[0], speed=13.9, track=271.4)
        # 4.5 m, rounded up; one that is not known is told as 100 m: without, it would be dropped.
        accuracies = [5, 5, 5, 5, 5, 5, 100, 5]
        self.check("device_tracker.fleet_van1", accuracies)
        last = self.states("device_tracker.fleet_van1")[-1]
        self.assertEqual((last["velocity"], last["course"], last["source_type"]), (round(13.9 * 3.6), 271, "gps"))
        self.assertTrue(math.isclose(last["longitude"], 8))

    def test_a_geofence_is_the_zone_of_its_name(self):
        fake, daemon = self.begin("home-assistant-owntracks", self.HOOKS[0], deliver="all")
        daemon.call("AddGeofences", geofences=[
            {"id": "depot", "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}])
        fake.settle()
        found = wait_for(lambda: self.states("device_tracker.fleet_van1"), lambda: f"a position: {self.server.text()[-3000:]}")
        self.assertEqual((found[0]["latitude"], found[0]["longitude"], found[0]["gps_accuracy"]), (40.0, 9.0, 50))
        self.assertIn("depot", [said["state"] for said in self.said("entity")])

    def test_traccar_client(self):
        self.drive("home-assistant-traccar", self.HOOKS[1], speed=13.9, track=271.4)
        # Without an accuracy it takes 200 m.
        self.check("device_tracker.van1", [4.5] * 6 + [200.0, 4.5])
        last = self.states("device_tracker.van1")[-1]
        self.assertAlmostEqual(last["speed"], 13.9 * 3600 / 1852, places=4)
        self.assertEqual((last["bearing"], last["altitude"]), (271.4, 123.4))


if __name__ == "__main__":
    unittest.main()
