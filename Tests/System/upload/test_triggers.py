"""What an operator decides about when it uploads: mode, on_motion_change, geofence_retry."""
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE, tpv
from support.system_test import SystemTest
from support.waiting import never, wait_for


class TriggerTest(SystemTest):
    def at(self, fake, north: float, count: int = 1, speed: float = 10.0):
        """Fixes at one place, so many metres north of the first."""
        fake.report(*(tpv(fake.next_ms + 1000 * index, 50 + north / METERS_PER_DEGREE, 8, speed=speed)
                      for index in range(count)))
        fake.next_ms += 1000 * count

    def fence(self, daemon, name: str, north: float, radius: float = 100.0):
        daemon.call("AddGeofences", geofences=[{
            "id": name, "latitude": 50 + north / METERS_PER_DEGREE, "longitude": 8.0, "radius_meters": radius}])


class ManualTests(TriggerTest):
    def test_only_sync_sends(self):
        backend = self.backend()
        fake, daemon = self.tracking(
            tracking={"implausible_speed_mps": 1_000_000},
            sync={"url": backend.url, "mode": "manual", "interval_seconds": 60})
        self.fence(daemon, "ahead", 300)
        fake.drive(60)
        daemon.wait_status(lambda status: status["sync"]["pending"] > 61, "rows and an event")
        daemon.wait_stored(61)
        daemon.call("Stop")
        # Other settings are no reason, and a start is none.
        daemon.configure(sync={"batch_size": 50})
        daemon.call("Reload")
        daemon.kill()
        daemon.start()
        daemon.call("Start")
        never(lambda: backend.requests, "a request that nobody asked for")
        self.assertNotIn("next_attempt", daemon.status()["sync"])
        answer = daemon.sync()
        self.assertEqual((answer["outcome"], answer["pending"]), ("drained", 0))
        self.assertEqual(len(backend.ids), 61)

    def test_a_failure_is_not_retried_until_sync(self):
        backend = self.backend(answers=[503])
        fake, daemon = self.tracking(sync={"url": backend.url, "mode": "manual"})
        self.assertEqual(daemon.sync()["outcome"], "transient")
        # The first retry of a back-off comes after two seconds at most.
        never(lambda: len(backend.requests) > 1, "a retry")
        self.assertIn("beekonctl sync tries again", daemon.text())
        self.assertEqual(daemon.sync()["outcome"], "drained")
        # Back in automatic mode the schedule, and every trigger, count again.
        fake.drive(2)
        daemon.wait_stored(3)
        daemon.configure(sync={"mode": "auto"})
        daemon.call("Reload")
        wait_for(lambda: len(backend.ids) == 3, "the change is an occasion")


class MotionTests(TriggerTest):
    def test_parking_and_setting_off_start_an_upload(self):
        backend, other = self.backend(), self.backend()
        sections: dict = {
            "sync": {"url": backend.url, "on_motion_change": True},
            "destination.other": {"url": other.url, "interval_seconds": NEVER}}
        fake, daemon = self.tracking(None, **sections)
        fake.drive(5)
        daemon.wait_stored(6)
        self.assertEqual(backend.requests, [])
        self.at(fake, 80, 140, speed=0.0)
        backend.wait_requests(1)
        daemon.wait_status(lambda status: status["gate"]["motion"] == "stationary", "it has parked")
        wait_for(lambda: daemon.status()["sync"]["state"] in ("idle", "pending"), "the drain has ended")
        seen = len(backend.requests)
        fake.sent = 1000
        fake.drive(5)
        daemon.wait_status(lambda status: status["gate"]["motion"] == "moving", "it has set off")
        backend.wait_requests(seen + 1)
        self.assertEqual(other.requests, [], "the other has not been told to")
        rows = [location["trigger"] for request in backend.requests for location in request.root["locations"]]
        self.assertEqual(rows.count("motion"), 2)
        daemon.call("Sync", destination="other")


class GeofenceRetryTests(TriggerTest):
    def parked_in_back_off(self, answers: list, retries: bool, retry_after=None) -> tuple:
        """A daemon with a fence ahead, and a destination in a back-off that has become long."""
        backend = self.backend(answers=answers, retry_after=retry_after)
        fake, daemon = self.tracking(
            tracking={"implausible_speed_mps": 1_000_000},
            sync={"url": backend.url, "geofence_retry": retries})
        self.fence(daemon, "ahead", 5000)
        for _ in answers:
            daemon.sync()
        return backend, fake, daemon

    def test_an_event_during_back_off_makes_an_attempt(self):
        # Eight failures: the next pause is at least two minutes.
        backend, fake, daemon = self.parked_in_back_off([503] * 8, retries=True)
        self.assertEqual(len(backend.requests), 8)
        # The first one that is answered with 200. No fix comes after it, which could be stored when the drain is over.
        self.at(fake, 5000)
        wait_for(lambda: backend.event_ids, "the event arrives")
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "and everything before it")

    def test_without_the_setting_it_waits(self):
        self.check_no_attempt([503] * 8, False)

    def test_never_under_a_retry_after_or_in_a_failed_state(self):
        for answers, retry_after in (([503] * 8, 600), ([404], None)):
            with self.subTest(answers=answers):
                self.check_no_attempt(answers, True, retry_after)

    def check_no_attempt(self, answers: list, retries: bool, retry_after=None):
        # The backend takes each answer from the list.
        count = len(answers)
        backend, fake, daemon = self.parked_in_back_off(answers, retries, retry_after)
        self.at(fake, 5000, 2)
        wait_for(lambda: daemon.call("GetGeofenceEvents")["events"], "the event is stored")
        never(lambda: len(backend.requests) > count, "an early attempt")

    def test_two_events_make_one_attempt_in_thirty_seconds(self):
        backend, fake, daemon = self.parked_in_back_off([503] * 10, retries=True)
        seen = len(backend.requests)
        began = time.monotonic()
        backend.answers = [503]
        self.at(fake, 5000, 2)
        backend.wait_requests(seen + 1)
        daemon.wait_status(lambda status: status["sync"]["state"] != "uploading", "it fails")
        self.at(fake, 8000, 12)
        wait_for(lambda: backend.event_ids, "the second event, too, makes an attempt")
        self.assertAlmostEqual(time.monotonic() - began, 30, 2)


if __name__ == "__main__":
    unittest.main()
