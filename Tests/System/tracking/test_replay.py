"""Recordings of real receivers through a real gpsd, and random streams: the stored rows are those the rules demand.

The recordings are not part of the project; BEEKOND_GNSS_LOGS names their folder.
"""
import itertools
import os
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import reference_model
from support.fake_gpsd import METERS_PER_DEGREE, from_iso, tpv
from support.gpsd_client import GPSDClient, send_datagrams
from support.ports import new_port
from support.programs import needs_gpsd
from support.seeds import seed
from support.system_test import SystemTest

LOGS = os.environ.get("BEEKOND_GNSS_LOGS")
# The codes as stored.
TRIGGERS = ["interval", "motion", "check_in", "geofence", "manual"]
MOTIONS = ["unknown", "moving", "stationary"]
COLUMNS = 'ts, lat, lng, accuracy, speed, bearing, altitude, "trigger", motion'

# Recording, bytes per binary packet (None: one sentence each), seconds between two, interval and distance of the gate,
# the least number of rows, so that a recording gpsd does not understand is noticed; after how long a vehicle that
# stands is stationary, and what is admitted of it then.
RECORDINGS = [
    ("nmea-rtk.log", None, 0.004, 0.3, 0.1, 10, 120, "pause"),
    ("skytraq-dgps.log", None, 0.002, 2, 0.05, 10, 20, "keep_tracking"),
    ("telit-he910.log", None, 0.002, 3, 0.5, 2, 10, "pause_with_check_ins"),
    ("sirfstarv.log", 200, 0.008, 2, 0.02, 10, 20, "keep_tracking"),
    ("quectel-l76k-nmea.log", None, 0.002, 0.4, 0, 2, 5, "pause"),
    ("ublox-neo-m8l.log", 200, 0.008, 1, 2, 2, 10, "pause"),
    ("haicom-305N.log", None, 0.002, 2, 0.5, 5, 20, "pause"),
    ("nmea-fuzzy-cases.log", None, 0.004, 0, 0, 5, 10, "keep_tracking"),
    ("trimble-lassen_iq-playacar.log", 200, 0.008, 2, 1, 5, 20, "keep_tracking"),
]
CHECK_IN = 5


def demanded(epochs: list, interval, meters, standing, mode, check_in) -> tuple:
    """The rows that the rules demand, and how many fixes were too soon, too near, while parked, or told an instant again."""
    fixes, repeated = reference_model.used_and_repeated(epochs)
    states = reference_model.motions(fixes, 5, standing)
    motion = {id(fix): MOTIONS.index(state) for fix, state in zip(fixes, states, strict=True)}
    passed, *dropped = reference_model.admitted_in_motion(fixes, states, interval, meters, mode, check_in)
    return [fix.row + (TRIGGERS.index(trigger), motion[id(fix)]) for fix, trigger in passed], *dropped, repeated


def verdicts(status: dict) -> list:
    return [status["gate"][name] for name in ("admitted", "too_soon", "too_near", "paused")] + [status["source"]["repeated"]]


def untold(heard: list, rows: list) -> list:
    """The values of rows that gpsd has not reported for their instants; an accuracy may have been made of two."""
    told: dict = {}
    for item in heard:
        if "time" in item.report:
            for name in ("lat", "lon", "speed", "track", "altHAE"):
                told.setdefault((from_iso(item.report["time"]), name), set()).add(item.report.get(name))
    return [(row[0], name, value) for row in rows
            for name, value in zip(("lat", "lon", "speed", "track", "altHAE"), (*row[1:3], *row[4:7]), strict=True)
            if value is not None and value not in told.get((row[0], name), ())]


def pieces(content: bytes, size) -> list:
    """A recording in the portions a receiver would send, without its leading comments."""
    while content.startswith(b"#"):
        content = content.split(b"\n", 1)[1]
    if size is None:
        return [line for line in content.splitlines(keepends=True) if not line.startswith(b"#")]
    return [content[start:start + size] for start in range(0, len(content), size)]


@needs_gpsd
class ReplayTests(SystemTest):
    def setUp(self):
        if not LOGS:
            print("replay skipped: BEEKOND_GNSS_LOGS names no folder with recordings")
            self.skipTest("BEEKOND_GNSS_LOGS is not set")
        super().setUp()

    def test_stored_rows_are_those_the_rules_demand(self):
        totals = {"too_soon": 0, "too_near": 0, "merged": 0, "paused": 0}
        for recording in RECORDINGS:
            with self.subTest(recording[0]):
                decided = next(filter(None, (self.replay(*recording) for _ in range(3))), None)
                self.assertIsNotNone(decided, "this machine stood still for a second in each of three replays")
                for name in totals:
                    totals[name] += (decided or {}).get(name, 0)
        # Each rule must have decided something, or this test proves little.
        for name, count in totals.items():
            self.assertGreater(count, 20, name)

    def test_no_instant_is_stored_twice(self):
        """With the gate open each settled fix is a row."""
        totals = {"rows": 0, "instants": 0, "repeated": 0}
        for name, size, pause, _, _, least, standing, _ in RECORDINGS:
            with self.subTest(name):
                found = next(filter(None, (self.replay(name, size, pause, 0, 0, least, standing, "keep_tracking")
                                           for _ in range(3))), None)
                assert found is not None, "this machine stood still for a second in each of three replays"
                for kind in totals:
                    totals[kind] += found[kind]
        print(f"with the gate open, in all: {totals}")

    def replay(self, name, size, pause, interval, meters, least, standing, mode) -> dict | None:
        """How much each rule decided; None if the machine stood still meanwhile, which is a pause of the receiver's for who
        was reading then, and for nobody else."""
        port, feed = new_port(), new_port()
        gpsd = self.gpsd(port, f"udp://127.0.0.1:{feed}")
        daemon = self.daemon(
            port, gpsd={"replay": True}, tracking={
                "interval_seconds": interval, "distance_meters": meters, "stationary_after_seconds": standing,
                "stationary_mode": mode, "check_in_interval_seconds": CHECK_IN}).start()
        daemon.call("Start")
        # Both must hear the same from the first report on. gpsd named its device to the daemon in its answer to ?WATCH.
        client = GPSDClient(port)
        self.assertTrue(client.watching.wait(10))
        daemon.wait_health("no_fix")
        with open(os.path.join(str(LOGS), name), "rb") as file:
            send_datagrams(pieces(file.read(), size), feed, pause)
        heard = client.all()
        if any(later.now - former.now > 1 for former, later in itertools.pairwise(heard)):
            daemon.kill()
            client.close()
            gpsd.kill()
            return None
        epochs = reference_model.epochs(heard)
        fixes = [epoch for epoch in epochs if epoch.has_fix]
        expected, *dropped = demanded(epochs, interval, meters, standing, mode, CHECK_IN)
        runs = len({one.run for one in reference_model.settled(epochs)})
        # The last epoch closes when tracking ends, at the latest.
        daemon.wait_status(lambda status: status["source"]["fixes"] >= len(fixes) - 1, f"{len(fixes)} fixes read")
        daemon.call("Stop")
        status = daemon.status()
        stored = daemon.query(f"SELECT {COLUMNS} FROM locations ORDER BY seq")
        daemon.kill()
        client.close()
        gpsd.kill()
        self.assertGreaterEqual(len(expected), least, f"{name}: {len(heard)} reports, {len(fixes)} fixes")
        self.assertEqual(stored, expected)
        self.assertEqual(untold(heard, stored), [])
        times = [row[0] for row in stored]
        self.assertEqual(sum(later <= former for former, later in itertools.pairwise(times)), max(runs - 1, 0))
        self.assertEqual(status["source"]["fixes"], len(fixes))
        self.assertEqual(verdicts(status), [len(expected), *dropped])
        kinds = [TRIGGERS[row[7]] for row in expected]
        print(f"replay of {name}: {len(fixes)} fixes, {len(expected)} stored, {kinds.count('motion')} of them motion and "
              f"{kinds.count('check_in')} check-ins, {dropped[2]} while parked, {dropped[3]} told again")
        self.assertEqual(status["source"]["rollovers"], 0)
        merged = sum("time" in item.report for item in heard) - len(epochs)
        return {"too_soon": dropped[0], "too_near": dropped[1], "paused": dropped[2], "repeated": dropped[3],
                "merged": merged, "rows": len(stored), "instants": len(set(times)), "runs": runs, "fixes": len(fixes)}


class RandomStreamTests(SystemTest):
    """What no recording here has: jitter around the interval, jumps in time, epochs of varying size, odd values."""

    def test_stored_rows_are_those_the_rules_demand(self):
        number = seed("random streams")
        choice = random.Random(number)
        stored = 0
        for round in range(6):
            with self.subTest(seed=number, round=round):
                stored += self.compare(choice, interval=choice.choice([0, 1, 5]), meters=choice.choice([0, 10, 50]),
                                       standing=choice.choice([3, 10, 30]),
                                       mode=choice.choice(["pause", "pause_with_check_ins", "keep_tracking"]))
        # A vehicle that mostly stands leaves little; all of them together leave much.
        self.assertGreater(stored, 60, f"seed {number}")

    def compare(self, choice, interval, meters, standing, mode) -> int:
        self.pace = 0
        self.now, self.latitude, self.longitude, self.fullness = 1_584_537_000_000, 47.0, 8.0, 1
        reports = [report for _ in range(500) for report in self.epoch(choice)]
        fake = self.fake()
        daemon = self.daemon(
            fake.port, gpsd={"replay": True}, store={"durability": "normal"},
            tracking={"interval_seconds": interval, "distance_meters": meters, "stationary_after_seconds": standing,
                      "stationary_mode": mode, "check_in_interval_seconds": 20}).start()
        daemon.call("Start")
        fake.wait_watched()
        fake.report(*reports)
        # All at once: in the daemon, as here, no time passes between two reports.
        epochs = reference_model.epochs([reference_model.TimedReport(0, report) for report in reports])
        fixes = [epoch for epoch in epochs if epoch.has_fix]
        expected, *dropped = demanded(epochs, interval, meters, standing, mode, 20)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= len(fixes) - 1, f"{len(fixes)} fixes read")
        daemon.call("Stop")
        status = daemon.status()
        stored = daemon.query(f"SELECT {COLUMNS} FROM locations ORDER BY seq")
        daemon.kill()
        self.assertEqual(stored, expected)
        self.assertEqual([status["source"]["fixes"], *verdicts(status)], [len(fixes), len(expected), *dropped])
        return len(expected)

    def epoch(self, choice) -> list:
        """The reports of one instant, each with something its predecessors lack."""
        self.now += choice.choices(
            [1000, 950, 949, 1050, 500, choice.randrange(2_000, 60_000), -choice.randrange(2_000, 100_000),
             choice.randrange(3_700_000, 9_000_000)], [60, 8, 8, 8, 8, 3, 2, 1])[0]
        if choice.random() < 0.02:
            self.pace = choice.choice([0, 0, 0, 1.5, 5, 20])
        self.latitude += (self.pace + choice.uniform(-2, 2)) / METERS_PER_DEGREE
        self.longitude += choice.uniform(-2, 2) / METERS_PER_DEGREE
        if choice.random() < 0.05:
            self.fullness = choice.choice([1, 2, 3])
        odd = choice.random()
        if odd < 0.03:
            return [tpv(self.now, mode=1)]
        if odd < 0.05:
            return [tpv(None, self.latitude, self.longitude)]
        if odd < 0.06:
            return [tpv(self.now, choice.choice([90.5, -91.0]), self.longitude)]
        if odd < 0.08:
            return [tpv(self.now, self.latitude, self.longitude, mode=2, altHAE=55.5)]
        if odd < 0.12:
            return [tpv(self.now, self.latitude, self.longitude, track=choice.choice([360.0, -1.0, 359.999]),
                        speed=choice.choice([0.0, -1.0, None]), eph=None, epx=3.0, epy=choice.choice([4.0, None]))]
        count = self.fullness + (choice.random() < 0.05)
        return [tpv(self.now, self.latitude + part * 1e-7, self.longitude, eph=round(choice.uniform(1, 50), 3),
                    speed=round(self.pace + choice.uniform(0, 0.5), 3) if part or self.pace < 5 else None,
                    track=round(choice.uniform(0, 359.99), 4) if part != 1 else None) for part in range(count)]


if __name__ == "__main__":
    unittest.main()
