"""Ignition and external power: by hand, from a power supply, over SIGKILLs and reboots; tracking that follows it."""
import os
import random
import socket
import sys
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.links import Links
from support.namespaces import in_namespace
from support.places import killed_at, places_of
from support.waiting import let_pass, never, wait_for

# The stored codes of events.
WORDS = {3: "on", 4: "off", 5: "lost", 6: "back"}
SWITCHED = f"kind BETWEEN {min(WORDS)} AND {max(WORDS)}"
MANUAL = {"ignition": "manual"}
NETLINK_KOBJECT_UEVENT = 15


class IgnitionTest(Links):
    def switched(self, gpsd_port=None, boot: str = "", **vehicle):
        daemon = self.daemon(gpsd_port, vehicle={**MANUAL, **vehicle})
        daemon.environment["BEEKOND_BOOT_ID"] = boot or uuid.uuid4().hex
        return daemon

    def turn(self, daemon, on: bool):
        daemon.call("SetIgnition", on=on)

    def ignition(self, daemon) -> str:
        return daemon.status()["vehicle"]["ignition"]

    def events(self, daemon) -> list:
        """The words of the events, in the order in which they were stored."""
        return [WORDS[kind] for (kind,) in daemon.query(f"SELECT kind FROM events WHERE {SWITCHED} ORDER BY seq")]


class ManualTests(IgnitionTest):
    def test_only_where_it_is_configured(self):
        daemon = self.daemon().start()
        self.assertNotIn("vehicle", daemon.status())
        with self.assertRaises(Refusal) as caught:
            self.turn(daemon, True)
        self.assertEqual((caught.exception.name, caught.exception.parameters["key"]),
                         ("InvalidConfiguration", "vehicle.ignition"))
        self.assertFalse(os.path.exists(os.path.join(daemon.state, "vehicle.json")))
        daemon.call("Configure", settings={"vehicle.ignition": "manual"})
        self.turn(daemon, True)
        self.assertEqual(self.ignition(daemon), "on")
        daemon.call("Configure", settings={"vehicle.ignition": "none"})
        daemon.wait_status(lambda status: "vehicle" not in status, "the ignition is told of no more")

    def test_what_is_said_is_recorded_once(self):
        daemon = self.switched().start()
        self.assertEqual(daemon.status()["vehicle"], {"source": "manual", "ignition": "unknown"})
        for on, told in ((False, []), (True, ["on"]), (True, ["on"]), (False, ["on", "off"]), (False, ["on", "off"])):
            self.turn(daemon, on)
            self.assertEqual((self.ignition(daemon), self.events(daemon)), ("on" if on else "off", told))
        # It says nothing of tracking.
        self.assertEqual(daemon.status()["state"], "idle")

    def test_nothing_is_lost_or_told_twice_over_kills(self):
        daemon = self.switched().start()
        dice = random.Random(int(os.environ.get("BEEKOND_SEED", "7")))
        told, level = [], None
        kills = int(os.environ.get("BEEKOND_KILLS", "10"))
        for _ in range(kills):
            for _ in range(dice.randrange(1, 4)):
                level = not level
                self.turn(daemon, level)
                told.append("on" if level else "off")
            daemon.kill()
            daemon.start()
            self.assertEqual(self.ignition(daemon), "on" if level else "off")
            self.assertEqual(self.events(daemon), told)
        print(f"{len(told)} edges over {kills} SIGKILLs: each told once")

    def test_kills_at_every_place(self):
        """A call that was not answered has happened, or has not; what is told alternates."""
        daemon = self.switched().start()
        self.turn(daemon, True)
        places = places_of(daemon, lambda: self.turn(daemon, False))
        self.assertGreater(places, 2)
        level, told = False, self.events(daemon)
        for place in range(1, 3 * places + 1):
            answered = 0
            with self.subTest(place=place), killed_at(daemon, place):
                for _ in range(3):
                    daemon.call("SetIgnition", on=not level)
                    level, answered = not level, answered + 1
            daemon.start()
            # Two changes of one moment have no order.
            let_pass(1)
            words = self.events(daemon)
            self.assertEqual(words, [("on", "off")[index % 2] for index in range(len(words))])
            self.assertIn(len(words) - len(told), (answered, answered + 1))
            level, told = words[-1] == "on", words
            self.assertEqual(self.ignition(daemon), words[-1])

    def test_a_reboot(self):
        """Off at the last stored time, as an estimate; and unknown until somebody says it again."""
        gps = self.fake()
        daemon = self.switched(gps.port, boot="a" * 32).start()
        daemon.call("Start")
        self.turn(daemon, True)
        gps.settle()
        gps.drive(5)
        daemon.wait_stored(6)
        daemon.wait_status(lambda status: status["last_location"] is not None, "the last location")
        last = daemon.query("SELECT MAX(ts) FROM locations")[0][0]
        daemon.kill()
        daemon.environment["BEEKOND_BOOT_ID"] = "b" * 32
        daemon.start()
        self.assertEqual((self.ignition(daemon), self.events(daemon)), ("unknown", ["on", "off"]))
        found = daemon.query("SELECT ts, is_estimated, lat IS NOT NULL FROM events WHERE kind = 4")
        self.assertEqual(found, [(last, 1, 1)])
        daemon.kill()
        daemon.start()
        self.assertEqual((self.ignition(daemon), self.events(daemon)), ("unknown", ["on", "off"]))
        self.turn(daemon, True)
        self.assertEqual((self.ignition(daemon), self.events(daemon)), ("on", ["on", "off", "on"]))
        # Off before the reboot: nothing has happened.
        self.turn(daemon, False)
        daemon.kill()
        daemon.environment["BEEKOND_BOOT_ID"] = "c" * 32
        daemon.start()
        self.assertEqual((self.ignition(daemon), self.events(daemon)), ("unknown", ["on", "off", "on", "off"]))

    def test_a_damaged_file(self):
        daemon = self.switched().start()
        self.turn(daemon, True)
        daemon.kill()
        for name in ("vehicle.json", "vehicle.json.copy"):
            with open(os.path.join(daemon.state, name), "w", encoding="utf-8") as file:
                file.write("{")
        daemon.start()
        self.assertEqual(self.ignition(daemon), "unknown")
        self.assertIn("files", daemon.status()["degraded"])
        self.turn(daemon, True)
        self.assertEqual(daemon.status()["degraded"], [])

    def test_off_starts_an_upload(self):
        backend, gps = self.backend(), self.fake()
        daemon = self.switched(gps.port)
        daemon.configure(sync={"url": backend.url, "interval_seconds": 31_536_000})
        daemon.start()
        daemon.call("Start")
        self.turn(daemon, True)
        gps.settle()
        gps.drive(5)
        daemon.wait_stored(6)
        self.turn(daemon, False)
        wait_for(lambda: len(backend.ids) == 6, lambda: f"six locations, not {len(backend.ids)}")

    def test_each_edge_is_worth_a_fix(self):
        gps = self.fake()
        daemon = self.switched(gps.port)
        daemon.configure(tracking={"interval_seconds": 86_400, "distance_meters": 100_000})
        daemon.start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        for count, on in ((2, True), (3, False)):
            gps.drive(3)
            daemon.wait_status(lambda status: status["source"]["fixes"] >= gps.sent - 1, "all fixes")
            self.assertEqual(daemon.query("SELECT COUNT(*) FROM locations"), [(count - 1,)])
            self.turn(daemon, on)
            gps.drive(3)
            daemon.wait_stored(count)
        triggers = [found["trigger"] for found in daemon.call("GetLocations")["locations"]]
        self.assertEqual(triggers, ["interval", "motion", "motion"])


class LastPlaceTests(IgnitionTest):
    """What is uploaded when the ignition is switched off."""

    def driven(self, answers=(), retry_after=None, **sync) -> tuple:
        """On the road with the ignition on; six locations wait."""
        backend, gps = self.backend(answers=answers, retry_after=retry_after), self.fake()
        daemon = self.switched(gps.port)
        daemon.configure(sync={"url": backend.url, "interval_seconds": 31_536_000, **sync})
        daemon.start()
        daemon.call("Start")
        self.turn(daemon, True)
        gps.settle()
        gps.drive(5)
        daemon.wait_stored(6)
        return backend, gps, daemon

    def arrived(self, backend, count: int):
        wait_for(lambda: len(backend.ids) == count, lambda: f"{count} locations, not {len(backend.ids)}")

    def drain(self, daemon, name: str):
        wait_for(lambda: daemon.call("Sync", destination=name)["pending"] == 0, f"all of {name}")

    def silent(self, backend, count: int):
        never(lambda: len(backend.requests) > count, "a request")

    def test_where_it_stands_goes_after_what_was_pending(self):
        backend, gps, daemon = self.driven()
        self.turn(daemon, False)
        self.arrived(backend, 6)
        gps.drive(1)
        self.arrived(backend, 7)
        wait_for(lambda: daemon.call("GetLocations")["locations"] == [], "all have been accepted")
        self.assertEqual(backend.requests[-1].root["locations"][0]["trigger"], "motion")

    def test_it_goes_where_nothing_was_pending_and_nothing_more_does(self):
        backend, gps, daemon = self.driven()
        daemon.call("Sync")
        self.arrived(backend, 6)
        self.turn(daemon, False)
        gps.drive(1)
        self.arrived(backend, 7)
        # That drain would take more with it.
        daemon.wait_status(lambda status: (status["sync"]["state"], status["sync"]["uploaded"]) == ("idle", 7), "its end")
        gps.drive(3)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 3, "three more")
        never(lambda: len(backend.ids) > 7, "a third upload")

    def test_to_each_destination(self):
        other = self.backend()
        backend, gps = self.backend(), self.fake()
        daemon = self.switched(gps.port)
        daemon.configure(sync={"url": backend.url, "interval_seconds": 31_536_000},
                         **{"destination.other": {"url": other.url, "interval_seconds": 31_536_000}})
        daemon.start()
        daemon.call("Start")
        self.turn(daemon, True)
        gps.settle()
        daemon.wait_stored(1)
        for name in ("main", "other"):
            self.drain(daemon, name)
        self.turn(daemon, False)
        gps.drive(1)
        for receiver in (backend, other):
            self.arrived(receiver, 2)

    def test_on_again_before_the_fix(self):
        backend, gps, daemon = self.driven()
        daemon.call("Sync")
        self.turn(daemon, False)
        self.turn(daemon, True)
        gps.drive(2)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 2, "two more")
        never(lambda: len(backend.ids) > 6, "an upload")

    def test_not_while_nothing_is_tracked(self):
        backend, gps, daemon = self.driven()
        daemon.call("AddGeofences", geofences=[{"id": "far", "latitude": 0, "longitude": 0, "radius_meters": 100}])
        daemon.call("Stop")
        wait_for(lambda: len(backend.ids) == 6, "the upload at the stop")
        count = len(backend.requests)
        self.turn(daemon, False)
        gps.drive(3)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= gps.sent - 1, "all fixes")
        never(lambda: len(backend.requests) > count, "a request")

    def test_what_holds_other_triggers_holds_these(self):
        for name, status, retry_after in (("back-off", 503, None), ("Retry-After", 503, 3000), ("for good", 403, None)):
            with self.subTest(name):
                backend, gps, daemon = self.driven([status] * 20, retry_after)
                for _ in range(8):
                    # Until the next attempt of a back-off is far away.
                    daemon.call("Sync")
                count = len(backend.requests)
                self.turn(daemon, False)
                gps.drive(1)
                daemon.wait_stored(7)
                self.silent(backend, count)
                daemon.kill()

    @in_namespace
    def test_a_metered_route_holds_it(self):
        self.links("wwan0", "eth7")
        self.route(0, "wwan0")
        backend, gps, daemon = self.driven(metered="avoid")
        self.turn(daemon, False)
        gps.drive(1)
        daemon.wait_stored(7)
        self.silent(backend, 0)
        self.route(1, "eth7")
        self.arrived(backend, 7)

    def test_ten_seconds_is_how_long_it_waits(self):
        backend, gps, daemon = self.driven()
        daemon.call("Sync")
        self.arrived(backend, 6)
        self.turn(daemon, False)
        let_pass(9)
        gps.drive(1)
        self.arrived(backend, 7)
        self.turn(daemon, True)
        gps.drive(1)
        daemon.wait_stored(1)
        self.turn(daemon, False)
        # What is pending at the edge.
        self.arrived(backend, 8)
        let_pass(11)
        gps.drive(1)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 1, "the fix")
        never(lambda: len(backend.ids) > 8, "an upload")

    def test_where_only_a_person_uploads_it_waits(self):
        backend, gps, daemon = self.driven(mode="manual")
        self.turn(daemon, False)
        gps.drive(1)
        daemon.wait_stored(7)
        never(lambda: backend.requests, "a request")


class StoppedTests(IgnitionTest):
    def test_events_after_a_persons_stop_have_no_place_that_was_not_stored(self):
        """A geofence of a person's keeps the receiver in use."""
        gps = self.fake()
        daemon = self.switched(gps.port).start()
        daemon.call("AddGeofences", geofences=[{"id": "far", "latitude": 0, "longitude": 0, "radius_meters": 100}])
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        self.turn(daemon, True)
        daemon.call("Stop")
        gps.drive(5)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= gps.sent - 1, "all fixes")
        self.turn(daemon, False)
        daemon.call("Start")
        gps.drive(1)
        daemon.wait_stored(2)
        self.turn(daemon, True)
        found = daemon.query(f"SELECT kind, lat IS NOT NULL FROM events WHERE {SWITCHED} ORDER BY seq")
        self.assertEqual([(WORDS[kind], bool(has_place)) for kind, has_place in found],
                         [("on", True), ("off", False), ("on", True)])


class FollowingTests(IgnitionTest):
    def following(self, delay: float = 0.5, **options):
        gps = self.fake()
        return gps, self.switched(gps.port, on_ignition="track", ignition_off_delay_seconds=delay, **options).start()

    def wait(self, daemon, state: str, who: str):
        daemon.wait_status(lambda status: (status["state"], status.get("decided_by")) == (state, who), f"{state} by {who}")

    def test_a_session_begins_and_ends_with_it(self):
        gps, daemon = self.following()
        listener = self.listening(daemon)
        self.turn(daemon, True)
        self.wait(daemon, "tracking", "ignition")
        session = daemon.status()["session_id"]
        gps.settle()
        daemon.wait_stored(1)
        self.turn(daemon, False)
        self.assertEqual(daemon.status()["state"], "tracking")
        gps.drive(2)
        self.wait(daemon, "stopped", "ignition")
        self.assertEqual(daemon.status()["stop_reason"], "system")
        wait_for(lambda: [event.get("reason") for event in listener.events if event["kind"] == "state"][1:]
                 == ["ignition", "system"], "both states")
        self.assertEqual([found["id"] for found in daemon.call("GetSessions")["sessions"]][-1:], [session])
        self.assertEqual(self.events(daemon), ["on", "off"])
        # The events belong to the session.
        found = daemon.query(f"SELECT COUNT(DISTINCT session) FROM events WHERE {SWITCHED}")
        self.assertEqual(found, [(1,)])

    def test_on_again_before_the_delay(self):
        _, daemon = self.following(delay=2.0)
        self.turn(daemon, True)
        session = daemon.status()["session_id"]
        self.turn(daemon, False)
        self.turn(daemon, True)
        never(lambda: daemon.status()["state"] != "tracking", "a stop")
        self.assertEqual(daemon.status()["session_id"], session)

    def test_the_newest_wish_decides(self):
        _, daemon = self.following(delay=2.0)
        self.turn(daemon, True)
        self.turn(daemon, False)
        daemon.call("Start")
        never(lambda: daemon.status()["state"] != "tracking", "a stop that a person has overruled")
        self.assertEqual(daemon.status()["decided_by"], "person")
        daemon.call("Stop")
        self.assertEqual(daemon.status()["stop_reason"], "user")
        # It was off: nothing is new. On is.
        self.turn(daemon, False)
        self.assertEqual(daemon.status()["state"], "stopped")
        self.turn(daemon, True)
        self.wait(daemon, "tracking", "ignition")

    def test_a_kill_within_the_delay(self):
        _, daemon = self.following(delay=1.0)
        self.turn(daemon, True)
        self.turn(daemon, False)
        daemon.kill()
        daemon.start()
        self.wait(daemon, "stopped", "ignition")
        self.assertEqual(self.events(daemon), ["on", "off"])

    def test_no_schedule_beside_it(self):
        _, daemon = self.following()
        with self.assertRaises(Refusal) as caught:
            daemon.call("Configure", settings={"tracking.schedule": ["mon 07:00-08:00"]})
        self.assertEqual(caught.exception.parameters["key"], "tracking.schedule")


class SensorTests(IgnitionTest):
    """Levels of a made-up machine."""

    def powered(self, online: str | None, **vehicle):
        root = self.folder()
        self.online = os.path.join(root, "sys", "class", "power_supply", "ACAD", "online")
        if online is not None:
            self.set(online)
        gps = self.fake()
        daemon = self.daemon(gps.port, vehicle={"supply": "ACAD", "ignition_debounce_seconds": 0, **vehicle})
        daemon.environment.update(BEEKOND_MACHINE_ROOT=root, BEEKOND_BOOT_ID="a" * 32)
        return gps, daemon

    def set(self, online: str):
        os.makedirs(os.path.dirname(self.online), exist_ok=True)
        with open(self.online, "w", encoding="ascii") as file:
            file.write(online + "\n")

    def say(self):
        """What the kernel says when a supply has changed. Who may, hears it from us."""
        try:
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT) as kernel:
                kernel.sendto(b"change@/devices/x/power_supply/ACAD\0ACTION=change\0SUBSYSTEM=power_supply\0", (0, 1))
        except OSError as error:
            self.skipTest(f"no event can be sent here: {error}")

    def test_external_power_is_lost_and_comes_back(self):
        _, daemon = self.powered("1")
        daemon.start()
        status = daemon.wait_status(lambda status: "external_power" in status["vehicle"], "the first level")
        self.assertEqual(status["vehicle"], {"source": "none", "ignition": "unknown", "external_power": True})
        self.set("0")
        self.say()
        daemon.wait_status(lambda status: status["vehicle"]["external_power"] is False, "the loss")
        self.set("2")
        self.say()
        daemon.wait_status(lambda status: status["vehicle"]["external_power"], "power")
        wait_for(lambda: self.events(daemon) == ["lost", "back"], lambda: f"both events, not {self.events(daemon)}")
        self.assertEqual(daemon.query("SELECT DISTINCT subject FROM events"), [("ACAD",)])
        # What changed while nobody looked is told at the next start.
        daemon.kill()
        self.set("0")
        daemon.start()
        wait_for(lambda: self.events(daemon) == ["lost", "back", "lost"], "the loss meanwhile")

    def test_it_can_be_the_ignition(self):
        _, daemon = self.powered("1", ignition="power_supply", on_ignition="track", ignition_off_delay_seconds=0)
        daemon.start()
        daemon.wait_status(lambda status: status["state"] == "tracking", "tracking")
        self.set("0")
        self.say()
        daemon.wait_status(lambda status: status["state"] == "stopped", "the stop")
        wait_for(lambda: sorted(self.events(daemon)) == ["lost", "off", "on"], lambda: f"not {self.events(daemon)}")

    def test_what_is_missing_is_told_and_tracking_goes_on(self):
        gps, daemon = self.powered(None)
        daemon.start()
        daemon.call("Start")
        gps.settle()
        daemon.wait_stored(1)
        status = daemon.wait_status(lambda status: "error" in status["vehicle"], "what is wrong")
        self.assertIn("there is no power supply ACAD", status["vehicle"]["error"])
        self.assertIn("vehicle", status["degraded"])
        self.assertIn("external power cannot be read", daemon.text())
        self.set("1")
        self.say()
        status = daemon.wait_status(lambda status: "error" not in status["vehicle"], "a level")
        self.assertEqual((status["vehicle"]["external_power"], "vehicle" in status["degraded"]), (True, False))
        self.assertIn("external power can be read again", daemon.text())

    def test_no_chip(self):
        for chip, reason in (("/dev/gpiochip99", "there is no such chip"), ("/dev/null", "it is no GPIO chip")):
            with self.subTest(chip):
                gps = self.fake()
                daemon = self.daemon(gps.port, vehicle={"ignition": "gpio", "gpio_chip": chip, "gpio_line": 1}).start()
                daemon.call("Start")
                gps.settle()
                daemon.wait_stored(1)
                status = daemon.wait_status(lambda status: "error" in status["vehicle"], "what is wrong")
                self.assertIn(reason, status["vehicle"]["error"])
                self.assertEqual((status["vehicle"]["ignition"], "vehicle" in status["degraded"]), ("unknown", True))
                daemon.kill()


if __name__ == "__main__":
    unittest.main()
