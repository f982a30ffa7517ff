"""Events of the vehicle in the real daemon: stays in geofences, over kills and power-off; events from before the time was
known; and all of them through to the backend, each once.

BEEKOND_SEED repeats a run; BEEKOND_KILLS sets the number of kills.
"""
import csv
import io
import json
import os
import random
import sqlite3
import sys
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.clocks import Clocks
from support.conservation import shape_faults
from support.control_client import Refusal
from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE, from_iso, tpv
from support.places import NeverCame, killed_at, places_of
from support.seeds import seed
from support.waiting import let_pass, wait_for

KILLS = int(os.environ.get("BEEKOND_KILLS", "20"))
HOME = {"id": "home", "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}
# Metres north of the centre of HOME.
INSIDE, OUTSIDE = 20, 400
# The stored codes of what happened, as a daemon writes them.
IGNITION_ON, IGNITION_OFF, POWER_LOST = 3, 4, 5


class EventTest(CtlTest):
    def fenced(self, dwell: float, **sections) -> tuple:
        """A daemon that is idle except for a fence that asks for stays."""
        fake = self.fake()
        sections.setdefault("tracking", {})["implausible_speed_mps"] = 1_000_000
        daemon = self.daemon(fake.port, **sections)
        # Whatever the kernel of this machine says: only fixes tell the time.
        Clocks(daemon)
        daemon.start()
        daemon.call("AddGeofences", geofences=[{**HOME, "dwell_seconds": dwell}])
        return fake, daemon

    def stay(self, fake, north: float, count: int) -> list:
        times = [fake.next_ms + 1000 * index for index in range(count)]
        fake.report(*(tpv(at, 50 + north / METERS_PER_DEGREE, 8) for at in times))
        fake.next_ms += 1000 * count
        return times

    def settle(self, fake, north: float) -> list:
        fake.wait_watched()
        return self.stay(fake, north, 3)

    def events(self, daemon, count: int, **parameters) -> list:
        """All events, once there are at least this many."""
        def found() -> list:
            events = daemon.call("GetEvents", **parameters)["events"]
            return events if len(events) >= count else []

        return wait_for(found, lambda: f"{count} events; there are {daemon.call('GetEvents')}")

    def words(self, events: list) -> list:
        return [f"{event['kind']} {event['type']}" for event in events]

    def plant(self, daemon, *rows: tuple):
        """Puts events into the database of a daemon that does not run, as it would have stored them itself before the time was
        known: code, boot id, nanoseconds since boot, and whether anybody is owed it."""
        with sqlite3.connect(os.path.join(daemon.state, "beekon.db")) as database:
            session = database.execute("SELECT max(key) FROM sessions").fetchone()[0]
            for code, boot, nanoseconds, is_owed in rows:
                identity = bytearray(uuid.uuid4().bytes)
                identity[6] = 0x70 | identity[6] & 0x0F
                database.execute(
                    "INSERT INTO events (boot_id, boot_time, session, id, kind, extras, uploaded) VALUES (?, ?, ?, ?, ?, 0, ?)",
                    (boot.bytes, nanoseconds, session, bytes(identity), code, 0 if is_owed else 2))


class DwellTests(EventTest):
    def test_a_stay_is_told_once_and_listed_and_streamed(self):
        fake, daemon = self.fenced(60)
        listener = self.listener(daemon, ["vehicle_event"])
        self.settle(fake, INSIDE)
        entered = from_iso(self.events(daemon, 1)[0]["timestamp"])
        self.stay(fake, INSIDE, 90)
        events = self.events(daemon, 2)
        self.assertEqual(self.words(events), ["geofence enter", "dwell dwell"])
        stay = events[1]
        self.assertEqual(from_iso(stay["timestamp"]) - entered, 60_000)
        self.assertEqual((stay["subject"], stay["data"]["dwell_seconds"]), ("home", 60))
        self.assertEqual(from_iso(stay["data"]["entered_at"]), entered)
        self.assertAlmostEqual(stay["latitude"], 50 + INSIDE / METERS_PER_DEGREE, 6)
        wait_for(lambda: listener.events, "the stay is streamed")
        self.assertEqual(listener.events, [{"kind": "vehicle_event", "vehicle_event": stay}])
        self.stay(fake, OUTSIDE, 12)
        self.settle(fake, INSIDE)
        self.stay(fake, INSIDE, 61)
        events = self.events(daemon, 5)
        self.assertEqual(self.words(events), [
            "geofence enter", "dwell dwell", "geofence exit", "geofence enter", "dwell dwell"])
        self.assertEqual(daemon.status()["store"]["events"], 5)
        self.assertEqual(self.words(daemon.call("GetEvents", kinds=["dwell", "trip"])["events"]), ["dwell dwell"] * 2)
        self.assertEqual(len(daemon.call("GetGeofenceEvents")["events"]), 3)
        for kinds in (["cat"], [], ["dwell", "cat"]):
            with self.assertRaises(Refusal):
                daemon.call("GetEvents", kinds=kinds)

    def test_power_off_counts_and_a_told_stay_is_not_told_again(self):
        fake, daemon = self.fenced(3600)
        self.settle(fake, INSIDE)
        entered = from_iso(self.events(daemon, 1)[0]["timestamp"])
        daemon.kill()
        fake.next_ms += 7_200_000
        daemon.start()
        self.settle(fake, INSIDE)
        events = self.events(daemon, 2)
        self.assertEqual(self.words(events), ["geofence enter", "dwell dwell"])
        self.assertGreater(from_iso(events[1]["timestamp"]) - entered, 7_200_000)
        daemon.kill()
        daemon.start()
        self.settle(fake, INSIDE)
        self.stay(fake, INSIDE, 10)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= 13, "all has been read")
        self.assertEqual(len(daemon.call("GetEvents")["events"]), 2)

    def test_no_stay_is_lost_or_told_twice_over_kills(self):
        chance = random.Random(seed("stays over kills"))
        backend = self.backend()
        fake, daemon = self.fenced(20, sync={"url": backend.url, "interval_seconds": 60, "sync_threshold": 1},
                                   vehicle={"events": ["dwell"]})
        stays, kills, places = 0, 0, 0

        def stay():
            self.settle(fake, INSIDE)
            self.stay(fake, INSIDE, 40)
            let_pass(10)

        while kills < KILLS:
            if stays < 2:
                # The first has more of them: a batch after the start.
                places = places_of(daemon, stay)
            else:
                try:
                    with killed_at(daemon, chance.randint(1, places), within=120):
                        stay()
                    kills += 1
                    daemon.start()
                    self.settle(fake, INSIDE)
                    self.stay(fake, INSIDE, 40)
                except NeverCame as never:
                    # A batch more or less: crossing and stay go together, or one after the other.
                    places = never.calls
            stays += 1
            # The stay has been decided before the vehicle leaves.
            wait_for(lambda: self.told(daemon, backend, "events") >= stays, lambda: f"{stays} stays")
            self.settle(fake, OUTSIDE)
            self.stay(fake, OUTSIDE, 15)
            wait_for(lambda: self.told(daemon, backend, "geofence_events") >= 2 * stays, lambda: f"{2 * stays} crossings")
        daemon.sync_until(lambda answer: answer["pending"] == 0, "all has gone")
        batches = {batch["batch_id"]: batch for batch in (request.root for request in backend.requests) if batch}
        self.assertEqual([fault for batch in batches.values() for fault in shape_faults(batch)], [])
        received = [event["id"] for batch in batches.values() for event in batch.get("events", [])]
        print(f"{kills} kills: {stays} stays, {len(received)} received, {len(set(received))} of them different")
        self.assertEqual((len(received), len(set(received))), (stays, stays))

    def told(self, daemon, backend, field: str) -> int:
        """How many events of this field are stored or received."""
        kinds = ["dwell"] if field == "events" else ["geofence"]
        here = {event["id"] for event in daemon.call("GetEvents", kinds=kinds)["events"]}
        there = {event["id"] for request in backend.requests for event in (request.root or {}).get(field, [])}
        return len(here | there)

    def test_the_tool(self):
        fake, daemon = self.fenced(2)
        self.settle(fake, INSIDE)
        self.stay(fake, INSIDE, 5)
        self.events(daemon, 2)
        rows = list(csv.DictReader(io.StringIO(self.run_ctl(daemon, "events", "--format", "csv").stdout)))
        self.assertEqual([(row["kind"], row["type"], row["subject"]) for row in rows],
                         [("geofence", "enter", "home"), ("dwell", "dwell", "home")])
        self.assertEqual(json.loads(rows[1]["data"])["dwell_seconds"], 2)
        lines = self.run_ctl(daemon, "events", "--kind", "dwell", "--json").stdout.splitlines()
        self.assertEqual([json.loads(line) for line in lines], daemon.call("GetEvents", kinds=["dwell"])["events"])
        table = self.run_ctl(daemon, "events", "--last", "365d").stdout
        self.assertIn("dwell    dwell   home", table)
        self.run_ctl(daemon, "geofence", "add", "yard", "51", "8", "50", "--dwell", "900")
        found = {fence["id"]: fence.get("dwell_seconds") for fence in daemon.call("ListGeofences")["geofences"]}
        self.assertEqual(found, {"home": 2, "yard": 900})
        self.assertIn("enter,exit,dwell", self.run_ctl(daemon, "geofence", "list").stdout)


class UnknownTimeTests(EventTest):
    def test_events_from_before_the_time_was_known_get_theirs_before_they_go(self):
        backend = self.backend()
        fake, daemon = self.fenced(86_400, sync={"url": backend.url, "interval_seconds": NEVER, "mode": "manual"},
                                   vehicle={"events": ["ignition"]}, tracking={"distance_meters": 0})
        self.settle(fake, INSIDE)
        last = from_iso(self.events(daemon, 1)[0]["timestamp"])
        daemon.call("Start")
        stored = self.stay(fake, INSIDE, 3)
        daemon.wait_stored(3)
        daemon.terminate()
        this = uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        uptime = int(float(Path("/proc/uptime").read_text(encoding="ascii").split()[0]))
        self.plant(daemon, (IGNITION_ON, uuid.uuid4(), 5 * 10**9, True), (POWER_LOST, uuid.uuid4(), 6 * 10**9, False),
                   (IGNITION_OFF, this, max(uptime - 600, 1) * 10**9, True))
        daemon.start()
        untimed = self.events(daemon, 4)
        self.assertEqual([event.get("timestamp") for event in untimed[-3:]], [None] * 3)
        self.assertEqual(daemon.status()["store"]["untimed_events"], 3)
        # The crossing and the location go; what has no time is in no batch.
        daemon.sync_until(lambda answer: answer["pending"] == 0, "what has a time has gone")
        self.assertEqual([batch for batch in (request.root for request in backend.requests) if batch.get("events")], [])
        fake.next_ms += 3_600_000
        now = self.settle(fake, INSIDE)[-1]
        daemon.wait_status(lambda status: "untimed_events" not in status["store"], "they are stamped")
        found = {event["type"]: event for event in self.events(daemon, 3)}
        self.assertEqual([found[kind].get("time_estimated") for kind in ("on", "lost", "off")], [True, True, None])
        self.assertEqual({from_iso(found[kind]["timestamp"]) for kind in ("on", "lost")}, {max(last, stored[-1])})
        self.assertLess(abs(now - from_iso(found["off"]["timestamp"]) - min(600, uptime - 1) * 1000), 60_000)
        daemon.sync_until(lambda answer: answer["pending"] == 0, "they have gone")
        sent = [event for request in backend.requests for event in request.root.get("events", [])]
        self.assertEqual([(event["kind"], event["type"], event.get("time_estimated")) for event in sent],
                         [("ignition", "on", True), ("ignition", "off", None)])
        self.assertEqual([fault for request in backend.requests for fault in shape_faults(request.root)], [])
        # What is not uploaded is still here.
        self.assertEqual(self.words(daemon.call("GetEvents", kinds=["ignition", "power"])["events"]), ["power lost"])

    def test_another_format_ends_what_it_cannot_carry(self):
        backend = self.backend()
        fake, daemon = self.fenced(2, sync={"url": backend.url, "interval_seconds": NEVER, "mode": "manual"},
                                   vehicle={"events": ["dwell"]})
        self.settle(fake, INSIDE)
        self.stay(fake, INSIDE, 5)
        self.events(daemon, 2)
        daemon.terminate()
        daemon.configure(sync={"url": backend.url, "interval_seconds": NEVER, "mode": "manual", "format": "template"})
        daemon.start()
        daemon.sync_until(lambda answer: answer["pending"] == 0, "nothing is owed any more")
        self.assertEqual(daemon.status()["store"]["dropped_unsent"], 1)
        wait_for(lambda: "1 events are not sent to main: its format carries none of the vehicle" in daemon.text(), "it is told")


if __name__ == "__main__":
    unittest.main()
