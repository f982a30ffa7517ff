"""One position on request: in every state, leaving no trace, and with gpsd released afterwards."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.fake_gpsd import from_iso
from support.ports import NOBODY
from support.programs import program
from support.system_test import SystemTest
from support.waiting import never, wait_for


class OneShotTest(SystemTest):
    def idle(self, **options) -> tuple:
        fake = self.fake(**options)
        return fake, self.daemon(fake.port).start()

    def ask(self, daemon, **parameters):
        """Asks without waiting for the answer."""
        client = daemon.connect(timeout=60)
        client.send("GetCurrentLocation", {"timeout_seconds": 50.0, **parameters})
        return client


class OneShotTests(OneShotTest):
    def test_idle_gpsd_gets_a_client_and_loses_it_again(self):
        fake, daemon = self.idle()
        never(lambda: fake.connections, "a connection to gpsd that nothing needs")
        listener = self.listener(daemon)
        asked = self.ask(daemon)
        fake.wait_watched()
        self.assertEqual(fake.watchers, 1)
        at = fake.drive(3)[-1]
        location = asked.receive()["location"]
        self.assertEqual((from_iso(location["timestamp"]), location["trigger"]), (at, "manual"))
        self.assertNotIn("session_id", location)
        self.assertEqual(location["accuracy"], 4.5)
        wait_for(lambda: fake.watchers == 0, "gpsd is released")
        status = daemon.wait_health("released")
        self.assertEqual((status["state"], status["store"]["locations"], status.get("last_location")), ("idle", 0, None))
        self.assertEqual(listener.ids, [])
        self.assertEqual(fake.connections, 1)

    def test_unsettled_fixes_do_not_count(self):
        fake, daemon = self.idle()
        asked = self.ask(daemon, timeout_seconds=3.0)
        fake.wait_watched()
        fake.drive(2)
        self.assertIsNone(asked.receive().get("location"))
        wait_for(lambda: fake.watchers == 0, "gpsd is released")

    def test_tracking_is_not_disturbed(self):
        fake, daemon = self.tracking(tracking={"interval_seconds": 86_400, "distance_meters": 100_000})
        asked = self.ask(daemon)
        # Nothing shows when the request is accepted, so fixes are sent until one is the answer.
        sent: list = []

        def is_answered() -> bool:
            sent.extend(fake.drive(1))
            return asked.has_answer(0.2)

        wait_for(is_answered, "an answer")
        at = from_iso(asked.receive()["location"]["timestamp"])
        self.assertIn(at, sent)
        status = daemon.status()
        self.assertEqual((status["state"], status["gate"]["admitted"], status["store"]["locations"]), ("tracking", 1, 1))
        self.assertNotEqual(from_iso(status["last_location"]["timestamp"]), at)
        self.assertEqual((fake.watchers, fake.connections), (1, 1))
        daemon.call("Stop")
        # The next fixes must not go to who is leaving.
        wait_for(lambda: fake.watchers == 0, "gpsd is released")
        # Being stopped is no obstacle either.
        asked = self.ask(daemon)
        fake.settle()
        self.assertEqual(asked.receive()["location"]["trigger"], "manual")
        wait_for(lambda: fake.watchers == 0, "gpsd is released")

    def test_several_at_once_and_an_accuracy_wish(self):
        fake, daemon = self.idle()
        anything = [self.ask(daemon) for _ in range(4)]
        exact = self.ask(daemon, accuracy_meters=3.0)
        fake.wait_watched()
        daemon.call("ListGeofences")
        at = fake.drive(3)[-1]
        for asked in anything:
            self.assertEqual(from_iso(asked.receive()["location"]["timestamp"]), at)
        fake.drive(3)
        fake.drive(1, eph=None)
        self.assertEqual(fake.watchers, 1)
        better = fake.drive(1, eph=2.5)[0]
        location = exact.receive()["location"]
        self.assertEqual((from_iso(location["timestamp"]), location["accuracy"]), (better, 2.5))
        wait_for(lambda: fake.watchers == 0, "gpsd is released")

    def test_a_recent_fix_suffices(self):
        fake, daemon = self.tracking()
        at = fake.drive(1)[0]
        daemon.wait_stored(2)
        location = daemon.call("GetCurrentLocation", max_age_seconds=3600.0, timeout_seconds=0.0)["location"]
        self.assertEqual(from_iso(location["timestamp"]), at)
        parameters = {"max_age_seconds": 3600.0, "accuracy_meters": 4.0, "timeout_seconds": 0.0}
        self.assertIsNone(daemon.call("GetCurrentLocation", **parameters).get("location"))
        self.assertIsNone(daemon.call("GetCurrentLocation", timeout_seconds=0.0).get("location"))

    def test_none_in_time(self):
        fake, daemon = self.idle()
        self.assertEqual(daemon.call("GetCurrentLocation", timeout_seconds=0.2), {})
        wait_for(lambda: fake.watchers == 0, "gpsd is released")

    def test_a_client_that_leaves_releases_gpsd(self):
        fake, daemon = self.idle()
        asked = self.ask(daemon, timeout_seconds=3600.0)
        fake.wait_watched()
        asked.close()
        wait_for(lambda: fake.watchers == 0, "gpsd is released")

    def test_gpsd_cannot_be_reached(self):
        daemon = self.daemon(NOBODY).start()
        with self.assertRaises(Refusal) as caught:
            daemon.call("GetCurrentLocation", timeout_seconds=3600.0)
        self.assertEqual(caught.exception.name, "LocationUnavailable")
        self.assertIn("gpsd at 127.0.0.1", caught.exception.parameters["reason"])
        daemon.wait_health("released")
        # The same while tracking, after the attempt has already failed.
        daemon.call("Start")
        daemon.wait_health("disconnected")
        with self.assertRaises(Refusal):
            daemon.call("GetCurrentLocation", timeout_seconds=3600.0)

    def test_gpsd_has_no_receiver(self):
        fake, daemon = self.idle(has_device=False)
        with self.assertRaises(Refusal) as caught:
            daemon.call("GetCurrentLocation", timeout_seconds=3600.0)
        self.assertEqual(caught.exception.name, "LocationUnavailable")
        self.assertIn("no receiver", caught.exception.parameters["reason"])
        wait_for(lambda: fake.watchers == 0, "gpsd is released")

    def test_a_restart_of_gpsd_is_awaited(self):
        fake, daemon = self.idle()
        asked = self.ask(daemon)
        fake.wait_watched()
        fake.drop()
        fake.settle()
        self.assertIsNotNone(asked.receive()["location"])

    def test_parameters_out_of_range(self):
        daemon = self.daemon(self.fake().port).start()
        for name, value in (("timeout_seconds", -1), ("timeout_seconds", 3601), ("max_age_seconds", -0.5),
                            ("max_age_seconds", 1e12), ("accuracy_meters", 0), ("accuracy_meters", -3)):
            with self.subTest(name=name, value=value), self.assertRaises(Refusal) as caught:
                daemon.call("GetCurrentLocation", **{name: value})
            self.assertEqual((caught.exception.name, caught.exception.parameters), ("InvalidParameter", {"parameter": name}))


class TwinTests(OneShotTest):
    """A position has the same marks as the location that is stored for the same fix."""

    def position(self, daemon, fake, marks: tuple, **fields) -> dict:
        """One with these marks. The first answer may still belong to a fix that came before these."""
        found: dict = {}

        def has_marks() -> bool:
            nonlocal found
            found = self.answer(daemon, fake, **fields)
            return tuple(found.get(name) for name in ("motion", "activity", "quality")) == marks

        wait_for(has_marks, lambda: f"a position that is {marks}; the last was {found}")
        return found

    def answer(self, daemon, fake, **fields) -> dict:
        """Nothing shows when the request is accepted, so fixes are sent until one is the answer."""
        asked = self.ask(daemon)

        def is_answered() -> bool:
            fake.drive(1, **fields)
            return asked.has_answer(0.2)

        wait_for(is_answered, "an answer")
        return asked.receive()["location"]

    def stored(self, daemon, at: str) -> list:
        return daemon.call("GetLocations", **{"from": at, "to": at})["locations"]

    def test_it_has_the_fields_of_its_stored_twin(self):
        fake, daemon = self.tracking(tracking={"detect_activity": True, "low_accuracy_meters": 50})
        fake.drive(60, speed=10.0)
        for fields, marks in (({"speed": 10.0}, ("moving", "automotive", None)),
                              ({"speed": 10.0, "eph": 80.0}, ("moving", "automotive", "low_accuracy"))):
            found = self.position(daemon, fake, marks, **fields)
            # The last epoch may still be open.
            fake.drive(2, speed=10.0)
            twin = wait_for(lambda: self.stored(daemon, found["timestamp"]), "its stored twin")[0]
            different = {name for name in {*twin, *found} if twin.get(name) != found.get(name)}
            self.assertEqual(different, {"id", "session_id", "trigger"})
        known = daemon.call("GetCurrentLocation", max_age_seconds=3600.0)["location"]
        self.assertEqual((known["motion"], known["activity"]), ("moving", "automotive"))

        def shown() -> str:
            return subprocess.run([program("beekonctl"), "locate", "--max-age", "3600", "--socket", daemon.socket],
                                  capture_output=True, text=True, timeout=60, check=True).stdout

        # The fixes after the twins may not have been read yet.
        wait_for(lambda: shown().endswith(", moving, automotive\n"), lambda: f"the latest fix; shown was {shown()}")

    def test_while_idle_it_has_only_what_the_fixes_say(self):
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking={"low_accuracy_meters": 50}).start()
        asked = self.ask(daemon)
        fake.wait_watched()
        fake.drive(3, eph=80.0)
        found = asked.receive()["location"]
        self.assertEqual((found["motion"], found.get("activity"), found["quality"]), ("moving", None, "low_accuracy"))


if __name__ == "__main__":
    unittest.main()
