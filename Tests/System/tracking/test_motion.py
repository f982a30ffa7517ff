"""A vehicle that parks and sets off again: what is stored, across restarts and kills, and what clients see."""
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.fake_gpsd import METERS_PER_DEGREE, tpv
from support.system_test import SystemTest
from support.waiting import wait_for

TRACKING = {"interval_seconds": 30, "distance_meters": 100, "stationary_mode": "pause"}


class MotionTests(SystemTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(1)

    def begin(self, **tracking):
        self.gps = self.fake()
        self.north = 0.0
        self.subject = self.daemon(self.gps.port, tracking={**TRACKING, **tracking})
        self.subject.start()
        self.subject.call("Start")
        self.gps.wait_watched()

    def fixes(self, count, speed=0.0, noise=0.0, step=1000, **fields):
        """Sends that many fixes northward at this speed, all at once; returns once they have been processed."""
        before = self.subject.status()["source"]["fixes"]
        reports = []
        for _ in range(count):
            self.north += speed * step / 1000
            reports.append(tpv(
                self.gps.next_ms, 50 + (self.north + self.random.gauss(0, noise)) / METERS_PER_DEGREE,
                8 + self.random.gauss(0, noise) / METERS_PER_DEGREE / 0.643, speed=speed, eph=10.0, **fields))
            self.gps.next_ms += step
        self.gps.report(*reports)
        # The first epochs of a connection establish how many reports an epoch has: the last of them may stay open.
        self.subject.wait_status(lambda status: status["source"]["fixes"] >= before + count - 1, f"{count} fixes read")

    def rows(self):
        return self.subject.query('SELECT "trigger", motion FROM locations ORDER BY seq')

    def wait_rows(self, *expected):
        """Triggers: 0 interval, 1 motion, 2 check_in. Motion: 0 unknown, 1 moving, 2 stationary."""
        wait_for(lambda: self.rows() == list(expected), lambda: f"{expected}; there are {self.rows()}")

    def kill_and_go_on(self):
        self.subject.kill()
        self.subject.start()
        self.gps.wait_watched()

    def test_motion_that_somebody_tells(self):
        """It holds for the next fix, is stored as when motion changes by itself, and detection goes on from there."""
        self.begin()
        with self.assertRaises(Refusal) as caught:
            self.subject.call("SetMotion", motion="unknown")
        self.assertEqual(caught.exception.parameters, {"parameter": "motion"})
        self.fixes(5, 10.0)
        self.wait_rows((0, 0))
        self.subject.call("SetMotion", motion="stationary")
        self.fixes(2, 0.5)
        self.wait_rows((0, 0), (1, 2))
        self.assertEqual(self.subject.status()["gate"]["motion"], "stationary")
        # Kept with the row.
        self.kill_and_go_on()
        self.fixes(6, 0.5)
        self.assertEqual(self.subject.status()["gate"]["motion"], "stationary")
        self.subject.call("SetMotion", motion="moving")
        self.fixes(2, 0.5)
        self.wait_rows((0, 0), (1, 2), (1, 1))
        # It stands all the same, and that is found out after the usual time.
        self.fixes(125, 0.0)
        self.wait_rows((0, 0), (1, 2), (1, 1), (1, 2))
        self.subject.call("Stop")
        with self.assertRaises(Refusal) as caught:
            self.subject.call("SetMotion", motion="moving")
        self.assertEqual(caught.exception.name, "NotTracking")

    def test_what_somebody_tells_outlives_a_kill(self):
        """Until a fix has gone by it; then it is not said again. A stop forgets it."""
        self.begin()
        self.fixes(5, 10.0)
        self.wait_rows((0, 0))
        self.subject.call("SetMotion", motion="stationary")
        self.kill_and_go_on()
        self.fixes(6, 0.5)
        self.wait_rows((0, 0), (1, 2))
        self.fixes(5, 10.0)
        self.wait_rows((0, 0), (1, 2), (1, 1))
        self.kill_and_go_on()
        self.fixes(6, 10.0)
        self.wait_rows((0, 0), (1, 2), (1, 1))
        self.assertEqual(self.subject.status()["gate"]["motion"], "moving")
        self.subject.call("SetMotion", motion="stationary")
        self.subject.call("Stop")
        self.subject.call("Start")
        self.gps.wait_watched()
        self.fixes(6, 10.0)
        self.wait_rows((0, 0), (1, 2), (1, 1), (0, 0))
        self.assertEqual(self.subject.status()["gate"]["motion"], "moving")

    def test_a_kill_while_parked_changes_nothing(self):
        self.begin()
        self.fixes(4, 10.0)
        self.fixes(130, 0.0)
        self.wait_rows((0, 0), (1, 2))
        spot = self.subject.query("SELECT motion, parked_lat, parked_lng FROM sessions")
        self.assertAlmostEqual((spot[0][1] - 50) * METERS_PER_DEGREE, self.north, delta=0.1)
        for _ in range(3):
            self.kill_and_go_on()
            self.fixes(600, 0.0, noise=4.0)
            self.wait_rows((0, 0), (1, 2))
            gate = self.subject.status()["gate"]
            self.assertEqual(gate["motion"], "stationary")
            self.assertGreater(gate["paused"], 500)
            self.assertEqual(gate["admitted"], 0)
        self.fixes(4, 5.0)
        self.wait_rows((0, 0), (1, 2), (1, 1))
        self.assertEqual(self.subject.status()["gate"]["motion"], "moving")
        # Jitter while parked is not distance: up to the parking spot, and from there to the fix at departure.
        session = self.subject.call("GetSessions")["sessions"][0]
        self.assertLess(session["distance_meters"], 60)

    def test_check_ins_go_on_after_a_kill(self):
        self.begin(stationary_mode="pause_with_check_ins", check_in_interval_seconds=900)
        self.fixes(4, 10.0)
        self.fixes(130, 0.0)
        self.wait_rows((0, 0), (1, 2))
        self.fixes(850, 0.0, noise=2.0)
        self.kill_and_go_on()
        # Due 900 s after parking, not after the restart.
        self.fixes(70, 0.0, noise=2.0)
        self.wait_rows((0, 0), (1, 2), (2, 2))
        self.fixes(1800, 0.0, noise=2.0)
        self.wait_rows((0, 0), (1, 2), (2, 2), (2, 2), (2, 2))

    def test_a_change_of_mode_applies_to_the_next_fix(self):
        self.begin()
        self.fixes(4, 10.0)
        self.fixes(200, 0.0)
        self.wait_rows((0, 0), (1, 2))
        self.subject.configure(tracking={"stationary_mode": "keep_tracking", "distance_meters": 0})
        self.subject.reload()
        wait_for(lambda: self.subject.setting("tracking.stationary_mode") == "keep_tracking", "the new mode")
        self.fixes(62, 0.0)
        self.wait_rows((0, 0), (1, 2), (0, 2), (0, 2), (0, 2))

    def test_what_is_known_of_a_fix_reaches_the_backend(self):
        receiver = self.backend()
        self.gps = self.fake()
        self.north = 0.0
        self.subject = self.daemon(
            self.gps.port, sync={"url": receiver.url},
            tracking={"detect_activity": True, "low_accuracy_meters": 9, "stationary_mode": "pause"})
        self.subject.start()
        self.subject.call("Start")
        listener = self.listener(self.subject, ["location"])
        self.gps.wait_watched()
        self.fixes(30, 20.0, status=8)
        self.north += 5000
        self.fixes(2, 20.0)
        self.subject.wait_stored(31)
        self.assertEqual(self.subject.sync()["pending"], 0)
        sent = [found for request in receiver.requests for found in request.root["locations"]]
        wait_for(lambda: len(listener.ids) >= len(sent), "the stream")
        streamed = {event["location"]["id"]: event["location"] for event in listener.events if event.get("location")}
        self.assertEqual(sent[0]["motion"], "unknown")
        self.assertEqual(sent[0]["activity"], "unknown")
        self.assertEqual({found["motion"] for found in sent[1:]}, {"moving"})
        self.assertEqual({found["activity"] for found in sent[11:]}, {"automotive"})
        self.assertEqual([found["is_mock"] for found in sent], [True] * 30 + [False] * (len(sent) - 30))
        self.assertEqual(sent[30]["quality"], "implausible_speed")
        self.assertEqual({found["quality"] for found in sent[:30] + sent[31:]}, {"low_accuracy"})
        for found in sent:
            shown = streamed[found["id"]]
            for name in ("motion", "activity", "quality", "is_mock", "trigger"):
                self.assertEqual(shown.get(name), found.get(name), name)


if __name__ == "__main__":
    unittest.main()
