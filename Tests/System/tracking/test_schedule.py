"""Tracking by the clock on the wall: windows that open and close, what persons say meanwhile, restarts, unknown time."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest
from support.control_client import Refusal
from support.fake_gpsd import tpv
from support.time_test import DAY, HOUR, NOW, SECOND
from support.waiting import never, wait_for

# NOW is a Monday, 09:00 in Berlin.
MORNING = {"schedule": ["mon-fri 09:00-10:00"], "time_zone": "Europe/Berlin"}


class ScheduleTests(ClockTest):
    def scheduled(self, at: int, synchronised: bool = True, **tracking) -> tuple:
        gps = self.fake(start_ms=NOW)
        daemon, clocks = self.clocked(gps.port, at, synchronised, tracking={**MORNING, **tracking})
        return gps, daemon.start(), clocks

    def wait(self, daemon, state: str, reason: str):
        def look():
            # A clock that was set is noticed with the next command, or after a minute.
            daemon.call("ListGeofences")
            return daemon.status()["state"] == state

        wait_for(look, lambda: f"{state} ({reason}); it is {daemon.status()}")
        status = daemon.status()
        for field in ("reason", "stop_reason"):
            self.assertEqual(status.get(field), reason if state == "stopped" else None)
        if reason in ("system", "schedule"):
            self.assertEqual(status["decided_by"], "schedule")
        elif reason == "user":
            self.assertEqual(status["decided_by"], "person")
        listener = self.listener(daemon, ["state"])
        wait_for(lambda: listener.events, "the present state")
        self.assertEqual((listener.events[0]["state"], listener.events[0]["reason"]), (state, reason))
        listener.close()

    def test_it_opens_and_closes(self):
        gps, daemon, clocks = self.scheduled(NOW - 3 * SECOND)
        self.assertEqual(daemon.status()["state"], "idle")
        self.assertEqual(gps.watchers, 0)
        self.wait(daemon, "tracking", "schedule")
        gps.wait_watched()
        session = daemon.status()["session_id"]
        clocks.set_system(NOW + HOUR - 2 * SECOND)
        self.wait(daemon, "stopped", "system")
        wait_for(lambda: gps.watchers == 0, "gpsd is released")
        self.assertEqual([found["id"] for found in daemon.call("GetSessions")["sessions"]], [session])
        clocks.set_system(NOW + DAY + SECOND)
        self.wait(daemon, "tracking", "schedule")
        self.assertNotEqual(daemon.status()["session_id"], session)

    def test_edges_that_passed_while_it_was_off(self):
        _, daemon, clocks = self.scheduled(NOW + SECOND)
        self.wait(daemon, "tracking", "schedule")
        session = daemon.status()["session_id"]
        daemon.kill()
        clocks.set_system(NOW + HOUR // 2)
        daemon.start()
        self.wait(daemon, "tracking", "resumed")
        self.assertEqual(daemon.status()["session_id"], session)
        daemon.kill()
        clocks.set_system(NOW + 2 * HOUR)
        daemon.start()
        self.wait(daemon, "stopped", "system")
        daemon.kill()
        daemon.start()
        self.wait(daemon, "stopped", "system")
        daemon.kill()
        clocks.set_system(NOW + DAY + HOUR // 2)
        daemon.start()
        self.wait(daemon, "tracking", "schedule")

    def test_what_a_person_says_lasts_until_the_next_edge(self):
        gps, daemon, clocks = self.scheduled(NOW - HOUR)
        daemon.call("Start")
        gps.wait_watched()
        # The start is newer than the end of Friday's window, also after a restart.
        daemon.kill()
        daemon.start()
        self.wait(daemon, "tracking", "resumed")
        clocks.set_system(NOW + HOUR + SECOND)
        self.wait(daemon, "stopped", "system")
        clocks.set_system(NOW + DAY + SECOND)
        self.wait(daemon, "tracking", "schedule")
        daemon.call("Stop")
        self.wait(daemon, "stopped", "user")
        daemon.kill()
        daemon.start()
        clocks.set_system(NOW + DAY + HOUR // 2)
        self.wait(daemon, "stopped", "user")
        clocks.set_system(NOW + 2 * DAY + SECOND)
        self.wait(daemon, "tracking", "schedule")

    def test_a_box_without_a_clock_asks_the_receiver(self):
        gps, daemon, _ = self.scheduled(0, synchronised=False)
        gps.wait_watched()
        self.assertEqual(daemon.status()["state"], "idle")
        gps.report(*(tpv(NOW + second * SECOND) for second in range(4)))
        self.wait(daemon, "tracking", "schedule")
        self.assertGreater(gps.watchers, 0)

    def test_outside_its_windows_the_receiver_is_let_go(self):
        gps, daemon, _ = self.scheduled(0, synchronised=False, schedule=["sun 09:00-10:00"])
        gps.wait_watched()
        gps.report(*(tpv(NOW + second * SECOND) for second in range(4)))
        wait_for(lambda: gps.watchers == 0, "gpsd is released")
        self.assertEqual(daemon.status()["state"], "idle")

    def test_while_the_clock_is_unknown_the_wish_holds(self):
        gps, daemon, clocks = self.scheduled(NOW + SECOND)
        self.wait(daemon, "tracking", "schedule")
        daemon.kill()
        clocks.synchronised = False
        clocks.set_system(0)
        daemon.start()
        gps.wait_watched()
        self.assertEqual(daemon.status()["state"], "tracking")
        gps.report(*(tpv(NOW + 2 * HOUR + second * SECOND) for second in range(4)))
        self.wait(daemon, "stopped", "system")

    def test_it_is_changed_while_running(self):
        _, daemon, _ = self.scheduled(NOW - HOUR)
        daemon.call("Configure", settings={"tracking.schedule": ["mon 08:00-09:00", "tue 22:00-06:00"]})
        self.wait(daemon, "tracking", "schedule")
        daemon.call("Configure", settings={"tracking.time_zone": "UTC"})
        self.wait(daemon, "stopped", "system")
        # Without a schedule everything stays as it is.
        daemon.call("Start")
        daemon.call("Configure", settings={"tracking.schedule": []})
        never(lambda: daemon.status()["state"] != "tracking", "tracking ends without a schedule")

    def test_what_cannot_be_followed_is_refused(self):
        _, daemon, _ = self.scheduled(NOW)
        for settings, key, reason in (
                ({"tracking.schedule": ["mon 9:00-10:00"]}, "tracking.schedule", "column 5"),
                ({"tracking.schedule": ["mon 09:00-10:00", "someday 09:00-10:00"]}, "tracking.schedule",
                 '"someday 09:00-10:00" column 1'),
                ({"tracking.time_zone": "Europe/Berlln"}, "tracking.time_zone", "zoneinfo"),
                ({"tracking.time_zone": "../../etc/passwd"}, "tracking.time_zone", "zoneinfo")):
            with self.subTest(settings), self.assertRaises(Refusal) as caught:
                daemon.call("Configure", settings=settings)
            self.assertEqual((caught.exception.name, caught.exception.parameters["key"]), ("InvalidConfiguration", key))
            self.assertIn(reason, caught.exception.parameters["reason"])
        self.assertEqual(daemon.setting("tracking.time_zone"), "Europe/Berlin")


if __name__ == "__main__":
    unittest.main()
