"""Trips: those of an independent reading of the same drive, over restarts, kills and power cuts; and what is shown of them.

BEEKOND_SEED repeats a run; BEEKOND_DAYS sets the length of the drive.
"""
import csv
import io
import json
import os
import random
import sys
import time
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.drive import Drive, feed
from support.fake_gpsd import METERS_PER_DEGREE, from_iso
from support.seeds import seed
from support.waiting import wait_for

DAYS = int(os.environ.get("BEEKOND_DAYS", "3"))
USUAL = {"interval_seconds": 30, "distance_meters": 100, "stationary_mode": "pause"}


def days_ago(count: float) -> int:
    return int((time.time() - count * 86_400) * 1000)


def seconds(text: str) -> float:
    return from_iso(text) / 1000


class TripTests(CtlTest):
    def begin(self, **sections) -> tuple:
        gps = self.fake()
        daemon = self.daemon(gps.port, **{"tracking": USUAL, **sections})
        daemon.environment["BEEKOND_BOOT_ID"] = str(uuid.uuid4())
        daemon.start()
        daemon.call("Start")
        gps.wait_watched()
        return gps, daemon

    def again(self, gps, daemon, cleanly=False, reboots=False):
        if cleanly:
            daemon.terminate()
        else:
            daemon.kill()
        if reboots:
            daemon.environment["BEEKOND_BOOT_ID"] = str(uuid.uuid4())
        daemon.start()
        gps.wait_watched()

    def trips(self, daemon, **range_) -> list:
        return daemon.call("GetTrips", **range_)["trips"]

    def kinds(self, daemon) -> list:
        """The events of trips, in the order in which they were stored."""
        codes = {7: "started", 8: "ended"}
        return [codes[code] for (code,) in daemon.query("SELECT kind FROM events ORDER BY seq") if code in codes]

    def test_days_against_an_independent_reading(self):
        number = seed(f"{DAYS} days")
        chance = random.Random(number)
        gps, daemon = self.begin()
        drive = Drive(days_ago(DAYS + 0.9))
        drive.days(DAYS, number)
        read = drive.read()
        at, kills, ends = 0, 0, 0
        while at < len(drive.moments):
            portion = chance.randint(1500, 4500)
            feed(gps, daemon, drive.moments[at:at + portion], chance)
            at += portion
            if chance.random() < 0.5:
                cleanly = chance.random() < 0.5
                kills, ends = kills + (not cleanly), ends + cleanly
                self.again(gps, daemon, cleanly)
        found = self.trips(daemon)
        self.assertEqual(len(found), len(read))
        worst = {"start": 0.0, "end": 0.0, "metres": 0.0, "standing": 0.0, "top": 0.0}
        for trip, other in zip(found, read, strict=True):
            name = trip["started_at"]
            differences = {
                "start": seconds(trip["started_at"]) - other.start, "end": seconds(trip["ended_at"]) - other.end,
                "metres": (trip["distance_meters"] - other.metres) / other.metres,
                "standing": (trip["idle_seconds"] - other.standing) / max(other.standing, 60),
                "top": trip["top_speed"] - other.top_speed}
            for key, value in differences.items():
                worst[key] = max(worst[key], abs(value))
            # Of a trip during which the daemon was killed, what lies between two rows is not known.
            self.assertLess(abs(differences["start"]), 60, name)
            self.assertLess(abs(differences["end"]), 60, name)
            self.assertLess(abs(trip["distance_meters"] - other.metres), 0.005 * other.metres + 60, name)
            self.assertAlmostEqual(trip["duration_seconds"], seconds(trip["ended_at"]) - seconds(trip["started_at"]), 1)
            self.assertLess(abs((trip["start"]["latitude"] - 30) * METERS_PER_DEGREE - self.north(drive, other.start)), 700)
        total, truth = sum(trip["distance_meters"] for trip in found), sum(other.metres for other in read)
        print(f"trips of {DAYS} days: {len(found)} of {len(read)}, {len(drive.moments)} fixes, {kills} kills, {ends} restarts; "
              f"{truth / 1000:.1f} km, error {100 * (total - truth) / truth:.3f} %; worst: "
              + ", ".join(f"{key} {value:.3f}" for key, value in worst.items()))
        self.assertLess(abs(total - truth), 0.005 * truth)
        # Each is told once.
        told = self.kinds(daemon)
        self.assertEqual(told.count("ended"), len(read))
        self.assertEqual(told.count("started"), len(read))

    def north(self, drive, when: float) -> float:
        return min(drive.moments, key=lambda moment: abs(moment.ms / 1000 - when)).north

    def test_a_power_cut_ends_a_trip_at_its_last_fix(self):
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.9))
        drive.stand(300)
        drive.go(600, 20)
        feed(gps, daemon, drive.moments)
        [open_] = self.trips(daemon)
        self.assertNotIn("ended_at", open_)
        self.assertTrue(11_000 < open_["distance_meters"] < 12_100, open_)
        self.again(gps, daemon)
        [open_] = self.trips(daemon)
        self.assertNotIn("ended_at", open_, "a kill of the daemon does not end it")
        last = daemon.status()["last_location"]["timestamp"]
        self.again(gps, daemon, reboots=True)
        [ended] = self.trips(daemon)
        self.assertEqual(ended["ended_at"], last)
        self.assertTrue(11_000 < ended["distance_meters"] < 12_100, ended)
        self.assertEqual(ended["top_speed"], 20)
        self.assertEqual(self.kinds(daemon), ["started", "ended"])
        self.again(gps, daemon, reboots=True)
        self.assertEqual(self.trips(daemon), [ended])

    def test_a_stop_of_tracking_begins_a_stay(self):
        gps, daemon = self.begin(vehicle={"trip_gap_seconds": 2})
        drive = Drive(int(time.time() * 1000) - 120_000)
        drive.stand(10)
        drive.go(100, 20)
        feed(gps, daemon, drive.moments)
        daemon.call("Stop")
        # No fix comes any more: the clock ends it.
        wait_for(lambda: self.kinds(daemon) == ["started", "ended"], "the trip ends", 20)
        [trip] = self.trips(daemon)
        self.assertTrue(1500 < trip["distance_meters"] < 2000, trip)

    def test_a_deletion_erases_places(self):
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.9))
        for _ in range(3):
            drive.stand(900)
            drive.go(300, 20)
        feed(gps, daemon, drive.moments)
        self.assertEqual(len(self.trips(daemon)), 3)
        cutoff = self.trips(daemon)[1]["started_at"]
        daemon.call("DeleteLocations", before=cutoff)
        first, second, third = self.trips(daemon)
        self.assertEqual([("start" in trip, "end" in trip) for trip in (first, second)], [(False, False), (False, True)])
        self.assertIn("start", third)
        daemon.call("DeleteLocations")
        for _ in range(2):
            for trip in self.trips(daemon):
                self.assertNotIn("start", trip)
                self.assertNotIn("end", trip)
                self.assertGreater(trip["distance_meters"], 5000)
            self.again(gps, daemon)
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM trips WHERE coalesce(start_lat, end_lng) IS NOT NULL"), [(0,)])

    def test_what_beekonctl_shows(self):
        gps, daemon = self.begin()
        self.assertIn("no trips yet", self.run_ctl(daemon, "trips").stderr)
        drive = Drive(days_ago(0.5))
        for _ in range(2):
            drive.stand(900)
            drive.go(300, 20)
        drive.stand(900)
        feed(gps, daemon, drive.moments)
        trips = self.trips(daemon)
        table = self.run_ctl(daemon, "trips", "--last", "7d").stdout.splitlines()
        self.assertEqual(len(table), 4)
        self.assertTrue(all(len(line) <= 80 for line in table), table)
        self.assertIn("2 trips", table[3])
        self.assertEqual(json.loads(self.run_ctl(daemon, "trips", "--json").stdout), {"trips": trips})
        rows = list(csv.DictReader(io.StringIO(self.run_ctl(daemon, "trips", "--format", "csv").stdout)))
        self.assertEqual([float(row["distance_meters"]) for row in rows], [trip["distance_meters"] for trip in trips])
        later = self.run_ctl(daemon, "trips", "--json", "--from", trips[1]["started_at"]).stdout
        self.assertEqual(json.loads(later)["trips"], trips[1:])
        gpx = self.run_ctl(daemon, "trips", "--format", "gpx").stdout
        self.assertEqual(gpx.count("<trk>"), 2)
        self.assertEqual(gpx.count("<trk>"), gpx.count("</trkseg></trk>"))
        self.assertGreater(gpx.count("<trkpt"), 10)
        page = self.path("track.html")
        self.run_ctl(daemon, "plot", "--html", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn('"trips":[{', file.read())
        daemon.call("DeleteLocations", before=trips[0]["ended_at"])
        done = self.run_ctl(daemon, "trips", "--format", "gpx")
        self.assertEqual(done.stdout.count("<trk>"), 1)
        self.assertIn("keep_uploaded", done.stderr)
        daemon.call("DeleteLocations")
        self.assertIn("keep_uploaded", self.run_ctl(daemon, "trips", "--format", "gpx", code=65).stderr)
        self.assertEqual(len(self.trips(daemon)), 2)


if __name__ == "__main__":
    unittest.main()
