"""The odometer: right, never backwards, and settable by those who may.

BEEKOND_SEED chooses other places; BEEKOND_KILLS sets the number of kills, BEEKOND_CUTS that of power cuts.
"""
import itertools
import json
import os
import random
import shutil
import sys
import time
import unittest
import uuid
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.control_client import Refusal
from support.drive import Drive, feed
from support.places import killed_at, places_of
from support.ports import NOBODY, new_port
from support.programs import needs_gpsd
from support.seeds import kills, seed
from support.system_test import SystemTest
from support.waiting import let_pass, wait_for

KILLS = kills(12, 100)
# Between which the whole distance is compared.
LIVES = kills(12, 100)
# As `make system-test` has them in virtual machines, which lose what their disk had not written as well.
CUTS = int(os.environ.get("BEEKOND_CUTS", "4"))
# Seconds that a machine takes to boot.
UNSEEN = 40
USUAL = {"interval_seconds": 30, "distance_meters": 100, "stationary_mode": "pause"}


def days_ago(count: float) -> int:
    return int((time.time() - count * 86_400) * 1000)


class OdometerTests(CtlTest):
    def begin(self, **sections) -> tuple:
        gps = self.fake()
        daemon = self.daemon(gps.port, **{"tracking": USUAL, **sections}).start()
        daemon.call("Start")
        gps.wait_watched()
        return gps, daemon

    def again(self, gps, daemon):
        daemon.kill()
        daemon.start()
        gps.wait_watched()

    def metres(self, daemon) -> int:
        return daemon.status()["odometer_meters"]

    def file(self, daemon) -> dict:
        with open(os.path.join(daemon.state, "odometer.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_a_receiver_without_speeds_counts_from_the_first_fix_on(self):
        gps, daemon = self.begin()
        gps.drive(503, speed=None)
        # What is told is what is stored; the gate admits a row each 30 s.
        daemon.wait_status(lambda status: status["odometer_meters"] >= 4650, "nearly five kilometres")
        self.assertLessEqual(self.metres(daemon), 5020)
        [(place, began, first)] = daemon.query(
            "SELECT e.lat, e.ts, (SELECT MIN(ts) FROM locations) FROM events e WHERE kind = 7")
        self.assertEqual(began, first, "the trip has begun with the first fix")
        # Those with which the time has settled count, too.
        self.assertAlmostEqual(place, 50, 6)

    def test_it_is_right_over_kills(self):
        number = seed("kills")
        chance = random.Random(number)
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.9))
        for _ in range(max(4, LIVES // 3)):
            drive.stand(150)
            drive.go(chance.randint(300, 600), chance.uniform(8, 33))
        drive.stand(200)
        highest, at = 0, 0
        for _ in range(LIVES):
            portion = chance.randint(100, 240)
            feed(gps, daemon, drive.moments[at:at + portion], chance)
            at += portion
            highest = max(highest, self.metres(daemon))
            self.again(gps, daemon)
            self.assertGreaterEqual(self.metres(daemon), highest)
        feed(gps, daemon, drive.moments[at:], chance)
        truth = drive.moments[-1].metres
        daemon.wait_status(lambda status: status["odometer_meters"] > 0.9 * truth, "the last stop is counted")
        error = (self.metres(daemon) - truth) / truth
        print(f"odometer over {LIVES} kills: {truth:.0f} m driven, error {100 * error:.3f} %")
        self.assertLess(abs(error), 0.005)

    def test_it_is_right_over_power_cuts(self):
        """Ten minutes of driving and more between two of them; the vehicle goes on while its machine boots."""
        chance = random.Random(seed("power cuts"))
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.9))
        drive.stand(150)
        at, highest = 0, 0
        for _ in range(CUTS):
            drive.go(chance.randint(620, 900), chance.uniform(8, 33))
            feed(gps, daemon, drive.moments[at:], chance)
            highest = max(highest, self.metres(daemon))
            at = len(drive.moments) + UNSEEN
            drive.go(UNSEEN + 1, drive.moments[-1].speed)
            daemon.environment["BEEKOND_BOOT_ID"] = str(uuid.UUID(int=chance.getrandbits(128)))
            self.again(gps, daemon)
            self.assertGreaterEqual(self.metres(daemon), highest)
        drive.go(620, 20)
        drive.stand(700)
        feed(gps, daemon, drive.moments[at:], chance)
        truth = drive.moments[-1].metres
        wait_for(lambda: len(self.trips(daemon)) == CUTS + 1, lambda: f"a trip for each cut, and the last; {self.trips(daemon)}")
        error = self.metres(daemon) / truth - 1
        print(f"odometer over {CUTS} power cuts, 10 minutes of driving and more between them: {truth:.0f} m, "
              f"error {100 * error:.3f} %")
        self.assertLess(abs(error), 0.005)
        way = {moment.ms // 1000: moment.metres for moment in drive.moments}
        trips = self.trips(daemon)
        for (_, end, _), (begin, _, _) in itertools.pairwise(trips):
            # In between is what nobody saw, and what the 30 s before that did not store; if it is more than a minute.
            self.assertTrue(0 <= begin - end <= UNSEEN + 35, (end, begin))
        for begin, end, metres in trips:
            self.assertLess(abs(metres - (way[end] - way[begin])), 0.005 * metres + 5, (begin, end))

    def trips(self, daemon) -> list:
        """As (from, to, metres), in Unix seconds."""
        def seconds(text: str) -> int:
            return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())

        return [(seconds(trip["started_at"]), seconds(trip["ended_at"]), trip["distance_meters"])
                for trip in daemon.call("GetTrips")["trips"] if "ended_at" in trip]

    def test_it_stands_while_parked(self):
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.9))
        drive.go(300, 20)
        drive.stand(200)
        feed(gps, daemon, drive.moments, random.Random(1))
        parked = self.metres(daemon)
        self.assertGreater(parked, 5000)
        at = len(drive.moments)
        drive.stand(12 * 3600)
        feed(gps, daemon, drive.moments[at:], random.Random(2))
        self.assertEqual(self.metres(daemon), parked)

    def test_set(self):
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.5))
        drive.go(120, 20)
        feed(gps, daemon, drive.moments)
        for metres in (123_456_700, 1_000):
            daemon.call("SetOdometer", odometer_meters=metres)
            self.assertEqual(self.metres(daemon), metres)
            self.again(gps, daemon)
            self.assertEqual(self.metres(daemon), metres)
        at = len(drive.moments)
        drive.go(120, 20)
        feed(gps, daemon, drive.moments[at:])
        driven = self.metres(daemon) - 1_000
        self.assertTrue(1700 < driven < 2500, driven)
        self.again(gps, daemon)
        self.assertGreaterEqual(self.metres(daemon) - 1_000, driven)
        for wrong in (-1, 10_000_000_001):
            with self.assertRaises(Refusal):
                daemon.call("SetOdometer", odometer_meters=wrong)
        events = daemon.query("SELECT data FROM events WHERE subject IS NULL AND data LIKE '%previous_meters%' ORDER BY seq")
        self.assertEqual([json.loads(data)["odometer_meters"] for (data,) in events], [123_456_700, 1_000])
        self.assertEqual(json.loads(events[1][0])["previous_meters"], 123_456_700)
        shown = self.run_ctl(daemon, "odometer", "--json")
        self.assertEqual(json.loads(shown.stdout), {"odometer_meters": self.metres(daemon)})
        self.assertEqual(self.run_ctl(daemon, "odometer", "set", "12.3456").stdout.strip(), "12.346 km")
        self.assertEqual(self.metres(daemon), 12_346)

    def test_either_of_database_and_file_may_be_lost(self):
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.5))
        drive.go(200, 20)
        drive.stand(200)
        feed(gps, daemon, drive.moments)
        metres = self.metres(daemon)
        self.assertGreater(metres, 3500)
        daemon.kill()
        for name in ("odometer.json", "odometer.json.copy"):
            os.unlink(os.path.join(daemon.state, name))
        daemon.start()
        self.assertEqual(self.metres(daemon), metres)
        gps.wait_watched()
        at = len(drive.moments)
        drive.go(100, 20)
        drive.stand(200)
        feed(gps, daemon, drive.moments[at:])
        further = self.metres(daemon)
        self.assertGreater(further, metres + 1500)
        daemon.kill()
        for name in os.listdir(daemon.state):
            if name.startswith("beekon.db"):
                os.unlink(os.path.join(daemon.state, name))
        daemon.start()
        self.assertEqual(self.metres(daemon), further)

    def test_a_deletion_leaves_no_place_in_the_file(self):
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.5))
        drive.go(200, 20)
        drive.stand(200)
        feed(gps, daemon, drive.moments)
        metres = self.metres(daemon)
        self.assertIn("latitude", self.file(daemon))
        daemon.call("DeleteLocations")
        self.assertNotIn("latitude", self.file(daemon))
        self.assertEqual(self.metres(daemon), metres)
        self.again(gps, daemon)
        self.assertEqual(self.metres(daemon), metres)

    def test_what_is_told_costs_no_sync_of_its_own(self):
        """While it drives, the file is not written."""
        gps, daemon = self.begin()
        drive = Drive(days_ago(0.5))
        drive.go(60, 20)
        feed(gps, daemon, drive.moments)
        before = os.stat(os.path.join(daemon.state, "odometer.json")).st_mtime_ns
        at = len(drive.moments)
        drive.go(900, 20)
        feed(gps, daemon, drive.moments[at:])
        self.assertEqual(os.stat(os.path.join(daemon.state, "odometer.json")).st_mtime_ns, before)


@needs_gpsd
class KillTests(SystemTest):
    def test_it_never_goes_back(self):
        number = seed(f"{KILLS} kills")
        chance = random.Random(number)
        port, inlet = new_port(), new_port()
        self.gpsd(port, f"udp://127.0.0.1:{inlet}")
        self.simulator(inlet, "--rate", "1", "--speed-up", "20", "--seed", str(number))
        receiver = self.backend()
        daemon = self.daemon(port, tracking=USUAL, sync={"url": receiver.url, "sync_threshold": 3})
        daemon.start()
        daemon.call("Start")
        highest, readings, images = 0, 0, 0

        def look():
            daemon.status()
            let_pass(0.1)

        # With what happens in a tenth of a second: two fixes.
        places = 20 * places_of(daemon, look)
        for life in range(KILLS):
            with killed_at(daemon, chance.randint(1, places)):
                while daemon.is_running:
                    found = daemon.status().get("odometer_meters")
                    readings += 1
                    if found is not None:
                        self.assertGreaterEqual(found, highest, f"life {life}")
                        highest = max(highest, found)
                    let_pass(0.1)
            if life % 10 == 9:
                # What a disk has at this moment is a state that a start must manage as well.
                images += 1
                self.check_image(daemon, highest)
            daemon.start()
        wait_for(lambda: daemon.status().get("odometer_meters") is not None, "the store answers")
        self.assertGreaterEqual(daemon.status()["odometer_meters"], highest)
        print(f"odometer over {KILLS} SIGKILLs at {places} places: {readings} readings, {images} images, {highest} m, "
              "none backwards")
        self.assertGreater(highest, 0)

    def check_image(self, daemon, highest):
        """A copy of the state directory starts from at least the same."""
        copy = self.daemon(NOBODY, tracking=USUAL)
        shutil.rmtree(copy.state)
        shutil.copytree(daemon.state, copy.state)
        copy.start()
        wait_for(lambda: copy.status().get("odometer_meters") is not None, "the store answers")
        self.assertGreaterEqual(copy.status()["odometer_meters"], highest)
        copy.kill()


if __name__ == "__main__":
    unittest.main()
