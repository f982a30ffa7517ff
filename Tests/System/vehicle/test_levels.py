"""What the vehicle says goes with its locations: whether the ignition was on, and its battery; in every format that has a
place for it, as it was when the location was stored."""
import csv
import io
import json
import os
import sqlite3
import sys
import unittest
import uuid
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.post_server import PostServer
from support.waiting import wait_for


class Listener(PostServer):
    """Takes everything; `rows` are the parameters of each request, or the objects in its body."""

    def __init__(self):
        self.rows: list = []
        super().__init__()

    def take(self, query, body):
        found = json.loads(body) if body else query
        for name in ("locations", "location"):
            if name in found:
                found = found[name]
                break
        for row in found if isinstance(found, list) else [found]:
            self.rows.append(row.get("properties", row))
        return 200, b'{"result":"ok"}'


RECORD = '{"at":"<%= timestamp %>","ign":<%= ignition %>,"battery":[<%= battery.level %>,<%= battery.is_charging %>]}'
FORMATS = {"osmand": {"format": "osmand", "device_id": "van"}, "owntracks": {"format": "owntracks", "device_id": "van"},
           "overland": {"format": "overland"},
           "shape": {"format": "template", "location_template": RECORD}}


def keys(listener) -> set:
    """Ids as SQLite's hex() spells them."""
    return {found.replace("-", "").upper() for found in listener.ids}


def wait_reported(listener, known: set):
    wait_for(lambda: keys(listener) - known, "a row is reported as stored")


class LevelTest(CtlTest):
    def listener_of(self, daemon, name: str) -> Listener:
        server = Listener()
        self.addCleanup(server.stop)
        daemon.configure(**{f"destination.{name}": {"url": server.url, "mode": "manual", **FORMATS[name]}})
        return server

    def listening_to_all(self, daemon) -> dict:
        return {name: self.listener_of(daemon, name) for name in FORMATS}

    def drain(self, daemon):
        def is_drained():
            for destination in daemon.status()["destinations"]:
                if destination["name"] != "main" or "url" in daemon.sections.get("sync", {}):
                    daemon.call("Sync", destination=destination["name"])
            return all(found["sync"]["pending"] == 0 for found in daemon.status()["destinations"]
                       if found["name"] != "main" or "url" in daemon.sections.get("sync", {}))
        wait_for(is_drained, "everybody has everything")


class IgnitionRowTests(LevelTest):
    def test_each_location_keeps_whether_it_was_on(self):
        backend, gps = self.backend(), self.fake()
        daemon = self.daemon(gps.port, vehicle={"ignition": "manual"}, sync={"url": backend.url})
        daemon.environment["BEEKOND_BOOT_ID"] = uuid.uuid4().hex
        others = self.listening_to_all(daemon)
        daemon.configure(sync={"mode": "manual"})
        daemon.start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        for count, on in ((2, True), (3, False)):
            daemon.call("SetIgnition", on=on)
            gps.drive(1)
            daemon.wait_stored(count)
        # It is what was, over a kill, and whatever is by now.
        daemon.kill()
        daemon.start()
        daemon.call("SetIgnition", on=True)
        shown = daemon.call("GetLocations")["locations"]
        self.assertEqual([row.get("ignition") for row in shown], [None, True, False])
        self.drain(daemon)
        levels = [None, True, False]
        rows = [row for request in backend.requests for row in request.root["locations"]]
        self.assertEqual([row.get("ignition") for row in rows], levels)
        self.assertEqual([row.get("ignition") for row in others["osmand"].rows], [None, "true", "false"])
        messages = others["owntracks"].rows
        self.assertEqual([row.get("ign") for row in messages], levels)
        # With it comes what beekond knows besides; without it the message is as it always was.
        self.assertEqual([row.get("motion") for row in messages], [None, True, True])
        shaped = others["shape"].rows
        self.assertEqual([row.get("ign") for row in shaped], levels)
        self.assertNotIn("ign", shaped[0])
        for row in others["overland"].rows:
            self.assertNotIn("ignition", row)

    def test_where_nothing_tells_nothing_is_said(self):
        backend, gps = self.backend(), self.fake()
        daemon = self.daemon(gps.port, sync={"url": backend.url})
        others = self.listening_to_all(daemon)
        daemon.start()
        daemon.call("Start")
        gps.settle()
        gps.drive(2)
        daemon.wait_stored(3)
        self.drain(daemon)
        for request in backend.requests:
            for row in request.root["locations"]:
                self.assertNotIn("ignition", row)
        for row in others["osmand"].rows:
            self.assertLessEqual(set(row), {"id", "timestamp", "lat", "lon", "speed", "bearing", "altitude", "accuracy", "motion",
                                            "valid", "event"})
        for row in others["owntracks"].rows:
            self.assertTrue({"ign", "motion", "batt", "bs"}.isdisjoint(row))
        for row in others["overland"].rows:
            self.assertNotIn("battery_level", row)
        self.assertEqual([("ign" in row, row["battery"]) for row in others["shape"].rows], [(False, [-1, False])] * 3)

    def test_exports_tell_it(self):
        gps = self.fake()
        daemon = self.daemon(gps.port, vehicle={"ignition": "manual"})
        daemon.environment["BEEKOND_BOOT_ID"] = uuid.uuid4().hex
        daemon.start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        for count, on in ((2, True), (3, False)):
            daemon.call("SetIgnition", on=on)
            gps.drive(1)
            daemon.wait_stored(count)
        rows = csv.DictReader(io.StringIO(self.exported(daemon, "csv")))
        self.assertEqual([row["ignition"] for row in rows], ["", "true", "false"])
        lines = [json.loads(line) for line in self.exported(daemon, "jsonl").splitlines()]
        self.assertEqual([line.get("ignition") for line in lines], [None, True, False])
        features = json.loads(self.exported(daemon, "geojson"))["features"]
        self.assertEqual([feature["properties"].get("ignition") for feature in features], [None, True, False])
        gpx = ElementTree.fromstring(self.exported(daemon, "gpx"))
        self.assertEqual([found.text for found in gpx.iter("{https://beekond.org/gpx/1}ignition")], ["true", "false"])

    def exported(self, daemon, name: str) -> str:
        return self.run_ctl(daemon, "history", "--format", name).stdout

    def test_dead_letters_keep_it(self):
        backend, gps = self.backend(answers=[422] * 3), self.fake()
        daemon = self.daemon(gps.port, vehicle={"ignition": "manual"}, sync={"url": backend.url})
        daemon.start()
        daemon.call("Start")
        daemon.call("SetIgnition", on=True)
        gps.settle()
        daemon.wait_stored(1)
        wait_for(lambda: daemon.call("Sync") and daemon.status()["sync"]["rejected"] == 1, "it is refused for good")
        backend.answers.clear()
        daemon.call("RetryRejected")
        wait_for(lambda: daemon.call("Sync")["pending"] == 0, "it is accepted")
        self.assertIs(backend.requests[-1].root["locations"][0]["ignition"], True)


class BatteryTests(LevelTest):
    """A made-up machine with power supplies."""

    def machine(self, **supplies) -> str:
        root = self.folder()
        os.makedirs(os.path.join(root, "sys", "class", "power_supply"))
        for name, facts in supplies.items():
            self.set(root, name, **facts)
        return root

    def set(self, root: str, supply: str, **facts):
        folder = os.path.join(root, "sys", "class", "power_supply", supply)
        os.makedirs(folder, exist_ok=True)
        for name, value in facts.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(f"{value}\n")

    def sent(self, root: str) -> dict:
        """What a location looks like in every format, on such a machine."""
        gps = self.fake()
        daemon = self.daemon(gps.port)
        others = self.listening_to_all(daemon)
        daemon.environment["BEEKOND_MACHINE_ROOT"] = root
        daemon.start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        self.drain(daemon)
        daemon.kill()
        return {name: server.rows[-1] for name, server in others.items()}

    def check(self, root: str, percent: int | None, osmand: str | None, owntracks: int | None):
        rows = self.sent(root)
        charging = osmand == "true"
        self.assertEqual((rows["osmand"].get("batt"), rows["osmand"].get("charge")),
                         (None if percent is None else str(percent), osmand))
        self.assertEqual((rows["owntracks"].get("batt"), rows["owntracks"].get("bs")), (percent, owntracks))
        self.assertEqual(rows["overland"].get("battery_level"), None if percent is None else percent / 100)
        self.assertEqual(rows["shape"]["battery"], [-1, False] if percent is None else [percent / 100, charging])

    def test_a_tablet(self):
        root = self.machine(BAT0={"type": "Battery", "capacity": 83, "status": "Discharging"}, AC={"type": "Mains", "online": 0})
        self.check(root, 83, "false", 1)
        self.set(root, "BAT0", status="Charging", capacity=84)
        self.check(root, 84, "true", 2)
        self.set(root, "BAT0", status="Full", capacity=100)
        self.check(root, 100, "true", 3)
        # Nobody knows whether it charges, and the level is what it is.
        self.set(root, "BAT0", status="Not charging", capacity=60)
        self.check(root, 60, None, 0)

    def test_several_and_those_of_mice(self):
        root = self.machine(
            BAT0={"type": "Battery", "scope": "System", "capacity": 80, "status": "Discharging", "energy_full": 50_000_000},
            BAT1={"type": "Battery", "capacity": 20, "status": "Unknown", "energy_full": 150_000_000},
            hidpp_battery_0={"type": "Battery", "scope": "Device", "capacity": 5, "status": "Charging"})
        # (80 × 50 + 20 × 150) / 200
        self.check(root, 35, "false", 1)
        os.remove(os.path.join(root, "sys/class/power_supply/BAT1/energy_full"))
        # How much the second one holds is not known: they count alike.
        self.check(root, 50, "false", 1)

    def test_none(self):
        self.check(self.machine(AC={"type": "Mains", "online": 1}), None, None, None)
        self.check(self.machine(BAT0={"type": "Battery", "status": "Charging"}), None, None, None)
        self.check(self.machine(BAT0={"type": "Battery", "status": "Charging", "capacity": 250}), None, None, None)
        bare = self.folder()
        self.check(bare, None, None, None)

    def test_a_row_says_what_was(self):
        root = self.machine(BAT0={"type": "Battery", "capacity": 83, "status": "Discharging"})
        gps = self.fake()
        daemon = self.daemon(gps.port)
        others = self.listening_to_all(daemon)
        daemon.environment["BEEKOND_MACHINE_ROOT"] = root
        daemon.start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        daemon.kill()
        self.set(root, "BAT0", capacity=20)
        daemon.start()
        gps.settle()
        daemon.wait_stored(1)
        self.drain(daemon)
        self.assertEqual([row["batt"] for row in others["owntracks"].rows], [83, 20])

    def test_a_salvage_keeps_it(self):
        root = self.machine(BAT0={"type": "Battery", "status": "Charging", "capacity": 83})
        gps = self.fake()
        daemon = self.daemon(gps.port, vehicle={"ignition": "manual"})
        daemon.environment["BEEKOND_MACHINE_ROOT"] = root
        self.listener_of(daemon, "owntracks")
        daemon.start()
        daemon.call("Start")
        daemon.call("SetIgnition", on=True)
        gps.settle()
        gps.drive(4)
        daemon.wait_stored(5)
        daemon.kill()
        path = os.path.join(daemon.state, "beekon.db")
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            before = connection.execute("SELECT hex(id), ignition, battery FROM locations ORDER BY ts").fetchall()
            [(page,)] = connection.execute("PRAGMA page_size")
            [(root_page,)] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'counters'")
        self.assertEqual({row[1:] for row in before}, {(1, 83 << 3 | 2)})
        with open(path, "r+b") as file:
            file.seek((root_page - 1) * page)
            file.write(b"\xa5" * page)
        daemon.start()
        self.assertTrue(any("corrupt" in name for name in os.listdir(daemon.state)))
        self.assertEqual(daemon.query("SELECT hex(id), ignition, battery FROM locations ORDER BY ts"), before)

    def test_a_row_survives_sigkill_whole(self):
        root = self.machine(BAT0={"type": "Battery", "status": "Discharging", "capacity": 1})
        gps = self.fake()
        daemon = self.daemon(gps.port, vehicle={"ignition": "manual"})
        daemon.environment.update(BEEKOND_MACHINE_ROOT=root, BEEKOND_BOOT_ID=uuid.uuid4().hex)
        self.listener_of(daemon, "owntracks")
        daemon.start()
        daemon.call("Start")
        known: set = set()
        for life in range(1, 9):
            # The edge admits the first fix after it.
            daemon.call("SetIgnition", on=life % 2 == 1)
            listener = self.listening(daemon)
            gps.settle()
            gps.drive(life)
            wait_reported(listener, known)
            daemon.kill()
            listener.close()
            rows = daemon.query("SELECT hex(id), ignition, battery >> 3 FROM locations")
            stored = {row[0] for row in rows}
            self.assertLessEqual(keys(listener), stored)
            # Reported or not: what is there is whole, and of its time.
            self.assertEqual({row[1:] for row in rows if row[0] not in known}, {(life % 2, life)})
            known = stored
            self.set(root, "BAT0", capacity=life + 1)
            daemon.start()

    def test_no_row_has_one_where_no_destination_asks(self):
        root = self.machine(BAT0={"type": "Battery", "capacity": 83, "status": "Charging"})
        backend, gps = self.backend(), self.fake()
        daemon = self.daemon(gps.port, sync={"url": backend.url})
        daemon.environment["BEEKOND_MACHINE_ROOT"] = root
        daemon.start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        self.assertEqual(daemon.query("SELECT battery FROM locations"), [(None,)])


if __name__ == "__main__":
    unittest.main()
