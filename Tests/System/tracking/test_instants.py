"""Instants ascend: what a receiver tells again is no new fix, and what it tells after a step back is another run."""
import itertools
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import from_iso, tpv
from support.time_test import ERA, NOW, SECOND, TimeTest
from support.waiting import wait_for

MINUTE = 60
# By how many seconds a receiver alternates.
LAGS = (0.5, 1.0, 1.5, 2, 3)
ROWS = "SELECT ts, lat FROM locations ORDER BY seq"


def newest(times: list) -> list:
    """The instants that are later than all before them."""
    heights = list(itertools.accumulate(times, max))
    return [height for before, height in itertools.pairwise([-1, *heights]) if height > before]


class InstantTest(TimeTest):
    def again(self, daemon, gps):
        """Kills the daemon, and starts it again."""
        daemon.kill()
        wait_for(lambda: gps.watchers == 0, "the dead daemon's connection is gone")
        daemon.start()
        gps.wait_watched()


class AlternationTests(InstantTest):
    """gpsd 3.25 and later tell the epochs of a SiRFstar V as t, t + 1, t."""

    def setUp(self):
        super().setUp()
        # Each report has a place of its own: a row shows which one it is made of.
        self.number = 0
        self.told: set = set()

    def reports(self, seconds) -> list:
        found = []
        for second in seconds:
            self.number += 1
            moment = NOW + round(second * SECOND)
            report = tpv(moment, 50 + self.number * 1e-4)
            self.told.add((moment, report["lat"]))
            found.append(report)
        return found

    def check(self, daemon, expected: list):
        rows = daemon.query(ROWS)
        self.assertEqual([time for time, _ in rows], expected)
        self.assertEqual([row for row in rows if row not in self.told], [], "nobody has reported these")

    def test_no_instant_is_stored_twice(self):
        for lag in LAGS:
            for pattern in ([0, lag, 0], [0, lag, 0, lag], [lag, 0]):
                with self.subTest(f"{pattern} for a minute"):
                    gps, daemon, _ = self.tracks()
                    self.told.clear()
                    seconds = [-3, -2, -1] + [second + offset for second in range(MINUTE) for offset in pattern]
                    gps.report(*self.reports(seconds))
                    expected = newest([NOW + round(second * SECOND) for second in seconds])
                    daemon.wait_stored(len(expected) - 1)
                    daemon.call("Stop")
                    self.check(daemon, expected)
                    status = daemon.status()
                    source = status["source"]
                    self.assertEqual(source["fixes"], len(expected) + source["repeated"])
                    if len(pattern) == 3:
                        self.assertGreaterEqual(source["repeated"], MINUTE)
                    self.assertEqual(status["gate"]["admitted"], len(expected))
                    daemon.kill()

    def test_the_time_settles_all_the_same(self):
        # In the same moment: a step of more than 1.5 s does not agree with the machine's clock.
        for lag in (0.5, 1.0, 1.5):
            with self.subTest(lag):
                gps, daemon, _ = self.tracks()
                self.told.clear()
                gps.report(*self.reports(second + offset for second in range(20) for offset in (0, lag, 0)))
                daemon.wait_health("ok")
                expected = newest([NOW + round((second + offset) * SECOND)
                                   for second in range(20) for offset in (0, lag)])
                daemon.wait_stored(len(expected) - 1)
                daemon.call("Stop")
                self.check(daemon, expected)
                daemon.kill()

    def test_killed_and_started_again(self):
        for lag in LAGS:
            with self.subTest(f"by {lag} s"):
                gps, daemon, _ = self.tracks()
                self.told.clear()
                gps.report(*self.reports([-3, -2, -1]))
                second = 0
                for life in range(6):
                    gps.report(*self.reports(
                        base + offset for base in range(second, second + 20) for offset in (0, lag, 0)))
                    daemon.wait_stored(1 + 2 * life)
                    self.again(daemon, gps)
                    # What was told before the end is told again after it.
                    second += 15
                gps.report(*self.reports(range(second, second + 20)))
                daemon.wait_stored(1)
                daemon.call("Stop")
                rows = daemon.query(ROWS)
                times = [time for time, _ in rows]
                self.assertEqual(times, sorted(set(times)))
                self.assertEqual([row for row in rows if row not in self.told], [])
                self.assertGreaterEqual(len(times), 20)
                daemon.kill()

    def test_after_a_reconnection(self):
        gps, daemon, _ = self.tracks()
        gps.report(*self.reports(range(10)))
        daemon.wait_stored(9)
        gps.drop()
        gps.wait_watched()
        gps.report(*self.reports(range(4, 14)))
        daemon.wait_stored(13)
        daemon.call("Stop")
        self.check(daemon, [NOW + second * SECOND for second in range(14)])


# What is told, in seconds from NOW, and what is stored of it.
RUNS: list[tuple[str, list, list]] = [
    ("a minute back is told again", [*range(100), *range(39, 102)], [*range(102)]),
    ("more than a minute back is a step", [*range(100), *range(20, 36)], [*range(100), *range(20, 36)]),
    ("an hour of wrong time zone", [*range(10), *range(-3600, -3590)], [*range(10), *range(-3600, -3590)]),
    ("an hour of wrong time zone, there and back", [*range(10), *range(-3600, -3590), *range(10, 20)],
     [*range(10), *range(-3600, -3590), *range(10, 20)]),
    ("a leap second that is repeated", [tenth / 10 for tenth in [*range(40), *range(31, 70)]],
     [tenth / 10 for tenth in range(70)]),
    ("a late table of leap seconds", [*range(30), *range(12, 40)], [*range(40)]),
    ("two fixes of another time prove nothing", [*range(10), -500, -499, *range(10, 20)], [*range(20)]),
]


class RunTests(TimeTest):
    def stored(self, steps: list, at: int | None = 61 * SECOND, **sections) -> tuple:
        # A system clock that is not known to be right, so that it refutes nothing.
        gps, daemon, _ = self.tracks(at=at, **sections)
        self.say(gps, daemon, steps)
        daemon.call("Stop")
        found = daemon.call("GetMetrics")
        times = self.times(daemon)
        daemon.kill()
        return times, found["status"], found["counters"]["unsettled"]

    def test_runs(self):
        for name, steps, expected in RUNS:
            with self.subTest(name):
                times, status, unsettled = self.stored(steps)
                self.assertEqual(times, [NOW + round(second * SECOND) for second in expected])
                lost = len(steps) - len(expected)
                self.assertEqual(status["source"]["repeated"] + unsettled, lost)

    def test_a_rollover_put_right(self):
        # A receiver that is 1024 weeks ahead, and then right.
        ahead = [ERA // SECOND + second for second in range(10)]
        times, _, _ = self.stored([*ahead, *range(10)])
        self.assertEqual(times, [NOW + second * SECOND for second in [*ahead, *range(10)]])

    def test_a_recording_in_a_loop(self):
        for length in (20, 100):
            with self.subTest(f"of {length} s"):
                times, status, unsettled = self.stored([second - ERA / SECOND for second in [*range(length)] * 3], NOW,
                                            gpsd={"replay": True})
                self.assertEqual(times, [NOW - ERA + second * SECOND for second in [*range(length)] * 3])
                self.assertEqual((status["source"]["repeated"], unsettled), (0, 0))

    def test_a_minute_of_repetitions_is_stale(self):
        gps, daemon, clocks = self.tracks()
        self.say(gps, daemon, range(40))
        daemon.wait_health("ok")
        self.say(gps, daemon, [20])
        clocks.suspend(11)
        self.say(gps, daemon, [31])
        self.assertTrue(daemon.wait_health("stale")["source"]["time_settled"])
        self.say(gps, daemon, [41])
        daemon.wait_health("ok")
        self.assertEqual(len(self.times(daemon)), 41)

    def test_geofences_see_no_repetitions(self):
        gps, daemon, _ = self.tracks()
        self.say(gps, daemon, range(10))
        daemon.call("AddGeofences", geofences=[
            {"id": "elsewhere", "latitude": 51.0, "longitude": 8.0, "radius_meters": 200.0}])
        # More than enough of them to be inside.
        gps.report(*[tpv(NOW + second * 100, 51.0) for second in range(80)])
        before = daemon.status()["source"]["fixes"]
        daemon.wait_status(lambda status: status["source"]["repeated"] >= 79, "told again")
        self.assertGreaterEqual(before, 10)
        self.say(gps, daemon, [10])
        daemon.call("Stop")
        self.assertEqual(daemon.query("SELECT ts, kind FROM events WHERE subject = 'elsewhere'"), [])
        self.assertEqual(self.times(daemon), [NOW + second * SECOND for second in range(11)])

    def test_the_gate_opens_at_a_new_run_only(self):
        gps, daemon, _ = self.tracks(tracking={"interval_seconds": 30})
        self.say(gps, daemon, [0, 1, 2, 30, 31, 25, 40, 59, 60, 61, -100, -99, -98, -71, -70, -69])
        daemon.call("Stop")
        self.assertEqual(self.times(daemon), [NOW + second * SECOND for second in (0, 30, 60, -100, -70)])


class AfterRestartTests(InstantTest):
    def test_the_last_instant_is_remembered_without_its_row(self):
        receiver = self.backend()
        gps, daemon, _ = self.tracks(
            sync={"url": receiver.url}, store={"keep_uploaded": False},
            tracking={"interval_seconds": 20})
        self.say(gps, daemon, range(41))
        daemon.wait_stored(3)
        self.assertEqual(daemon.sync()["pending"], 0)
        self.assertEqual(self.times(daemon), [])
        self.again(daemon, gps)
        self.say(gps, daemon, [second / 2 for second in range(150)])
        daemon.call("Stop")
        self.assertEqual(daemon.sync()["pending"], 0)
        sent = [from_iso(location["timestamp"]) for request in receiver.requests
                for location in request.root["locations"]]
        self.assertEqual(sent, [NOW + second * SECOND for second in (0, 20, 40, 60)])

    def test_an_hour_back_while_it_was_down(self):
        gps, daemon, _ = self.tracks(at=61 * SECOND, tracking={"interval_seconds": 10})
        self.say(gps, daemon, range(12))
        daemon.wait_stored(2)
        self.again(daemon, gps)
        self.say(gps, daemon, range(-3600, -3588))
        daemon.call("Stop")
        self.assertEqual(self.times(daemon), [NOW + second * SECOND for second in (0, 10, -3600, -3590)])

    def test_another_session_compares_with_nothing(self):
        gps, daemon, _ = self.tracks()
        self.say(gps, daemon, range(10))
        daemon.wait_stored(9)
        daemon.call("Stop")
        daemon.call("Start")
        gps.wait_watched()
        self.say(gps, daemon, range(5))
        daemon.call("Stop")
        self.assertEqual(self.times(daemon), [NOW + second * SECOND for second in [*range(10), *range(5)]])


if __name__ == "__main__":
    unittest.main()
