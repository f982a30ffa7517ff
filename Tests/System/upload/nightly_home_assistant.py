"""A real Home Assistant has the vehicle where it is: by MQTT discovery, and its webhooks for OwnTracks and for Traccar's clients.

It is installed on request only: BEEKOND_HOME_ASSISTANT=install, as root.
"""
import json
import math
import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import support
from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE
from support.mqtt_test import MQTTTest
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


class HomeAssistantTest(SystemTest):
    real_time = True

    def begin_server(self, *entries: str):
        """Of the webhooks, or of a broker."""
        self.port = new_port()
        self.home = self.folder()
        self.entries = entries
        self.starts = 0
        self.start_server()

    def start_server(self):
        """Once more with what it remembers, and with a log of its own."""
        self.starts += 1
        self.server = self.child(
            [PYTHON, "-B", os.path.join(support.ROOT, "Tests", "Tools", "home-assistant.py"), self.home, str(self.port),
             *self.entries], f"home-assistant-{self.starts}")
        wait_for(self.is_ready, lambda: f"Home Assistant is ready; it said:\n{self.server.text()}", PATIENCE)

    def is_ready(self) -> bool:
        if not self.server.running:
            raise AssertionError(f"Home Assistant has ended:\n{self.server.text()}")
        return bool(self.said("ready"))

    def said(self, key: str) -> list:
        """The lines with this key, as objects; its log is among them."""
        return [json.loads(line) for line in self.server.text().splitlines(keepends=True)
                if line.startswith(f'{{"{key}":') and line.endswith("}\n")]



@unittest.skipIf(REASON, REASON)
class WebhookTests(HomeAssistantTest):
    HOOKS = ("0123456789abcdef", "fedcba9876543210")

    def setUp(self):
        super().setUp()
        self.begin_server(*self.HOOKS)

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


@unittest.skipIf(REASON, REASON)
class DiscoveryTests(HomeAssistantTest, MQTTTest):
    """Home Assistant finds the vehicle at a real broker by itself."""

    SECONDS = 60.0
    # What is worth nothing while the vehicle is away.
    PASSING = ("sensor.van_speed", "sensor.van_pending", "binary_sensor.van_ignition")

    def setUp(self):
        super().setUp()
        self.mosquitto = self.broker().start()
        self.begin_server(str(self.mosquitto.port))

    def now(self) -> dict[str, dict]:
        """The entities that there are, with their latest states."""
        found: dict[str, dict] = {}
        for line in self.server.text().splitlines(keepends=True):
            if not line.startswith(('{"entity":', '{"gone":')) or not line.endswith("}\n"):
                continue
            said = json.loads(line)
            if "gone" in said:
                found.pop(said["gone"], None)
            else:
                found[said["entity"]] = said
        return found

    def wait_state(self, entity: str, state: str, what: str):
        wait_for(lambda: self.now().get(entity, {}).get("state") == state,
                 lambda: f"{what}: {entity} is {state}; {json.dumps(self.now(), indent=1)}", self.SECONDS)

    def wait_states(self, wanted: dict[str, str], what: str):
        for entity, state in wanted.items():
            self.wait_state(entity, state, what)

    def test_it_is_found_and_lost_again(self):
        fake = self.fake()
        daemon = self.daemon(fake.port, vehicle={"ignition": "manual"}, **{"destination.home": {
            "url": f"mqtt://127.0.0.1:{self.mosquitto.port}", "format": "owntracks", "device_id": "van",
            "keep_connection": True, "home_assistant": True, "accept_unsubscribed": True, "deliver": "latest",
            "interval_seconds": 5}})
        battery = Path(self.folder(), "sys", "class", "power_supply", "BAT0")
        battery.mkdir(parents=True)
        for name, value in (("type", "Battery"), ("capacity", "83"), ("status", "Charging")):
            (battery / name).write_text(value + "\n", encoding="ascii")
        daemon.environment["BEEKOND_MACHINE_ROOT"] = str(battery.parents[3])
        daemon.start().call("Start")
        daemon.call("SetIgnition", on=True)
        fake.settle()
        fake.drive(8, speed=13.9, track=271.4)
        daemon.wait_stored(9)
        here = {"device_tracker.van": "garage", "sensor.van_speed": "13.9", "sensor.van_altitude": "123.4",
                "sensor.van_battery": "83", "sensor.van_pending": "0", "binary_sensor.van_ignition": "on",
                "binary_sensor.van_connectivity": "on"}
        self.wait_states(here, "the drive")
        found = self.now()
        self.assertEqual(set(found), {*here, "sensor.van_odometer", "sensor.van_last_fix"} | {
            entity for entity in found if entity.startswith("zone.")})
        place = found["device_tracker.van"]["attributes"]
        self.assertAlmostEqual((place["latitude"] - 50) * METERS_PER_DEGREE, 20 + 10 * 8, places=0)
        self.assertEqual((place["gps_accuracy"], place["source_type"], place["friendly_name"]), (5, "gps", "van"))
        for entity, unit, kind, state_class in (
                ("speed", "m/s", "speed", "measurement"), ("altitude", "m", "distance", "measurement"),
                ("odometer", "m", "distance", "total"), ("battery", "%", "battery", "measurement"),
                ("last_fix", None, "timestamp", None), ("pending", None, None, "measurement")):
            attributes = found[f"sensor.van_{entity}"]["attributes"]
            self.assertEqual(tuple(attributes.get(name) for name in ("unit_of_measurement", "device_class", "state_class")),
                             (unit, kind, state_class), entity)
        self.assertGreater(float(found["sensor.van_odometer"]["state"]), 50)
        self.assertEqual(found["sensor.van_last_fix"]["state"][:19],
                         daemon.status()["last_location"]["timestamp"][:19])
        here |= {entity: found[entity]["state"] for entity in ("sensor.van_odometer", "sensor.van_last_fix")}

        # A restart of Home Assistant.
        self.server.signal(signal.SIGTERM)
        self.server.wait()
        self.start_server()
        self.wait_states(here, "Home Assistant has been restarted")
        # One of the broker, which has forgotten everything.
        self.mosquitto.kill()
        self.wait_state("sensor.van_altitude", "unavailable", "the broker is gone")
        self.mosquitto.start()
        subscriber = self.subscriber(self.mosquitto)
        availability = f"beekond/{daemon.status()['install_id']}/availability"
        wait_for(lambda: subscriber.told.get(availability) == b"online", "the vehicle is connected again", self.SECONDS)
        self.wait_states(here, "the broker has been restarted")

        # The vehicle goes offline: what is worth something is kept.
        daemon.kill()
        self.wait_states({**here, **dict.fromkeys(self.PASSING, "unavailable"), "binary_sensor.van_connectivity": "off"},
                         "the vehicle is away")
        self.assertEqual(self.now()["device_tracker.van"]["attributes"]["latitude"], place["latitude"])
        daemon.start()
        self.wait_states(here, "it is back")

        # And it is removed.
        daemon.configure(**{"destination.home": {"home_assistant": False}})
        daemon.reload()
        wait_for(lambda: not [entity for entity in self.now() if "van" in entity],
                 lambda: f"everything vanishes: {json.dumps(self.now(), indent=1)}", self.SECONDS)


if __name__ == "__main__":
    unittest.main()
