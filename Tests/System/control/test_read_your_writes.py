"""Who has read an answer sees what it says, however soon and wherever it asks; a subscriber hears of nothing that the status does
not show; and what was promised to last is there after a kill right behind the answer."""
from __future__ import annotations

import json
import os
import sys
import unittest
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import frame
from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE, from_iso, tpv
from support.listener import Listener
from support.service_manager import ServiceManager
from support.system_test import SystemTest
from support.waiting import let_pass, wait_for

ROUNDS = 1000 if os.environ.get("BEEKOND_LONG") else 28
LONG_AGO = "2001-01-01T00:00:00.000Z"
# A url that nobody answers at is enough for what is not about uploads.
NOWHERE = "http://127.0.0.1:1/"
INTERVAL = "tracking.interval_seconds"


def fence(number: int) -> dict:
    return {"id": f"f{number}", "latitude": 10.0, "longitude": 8.0, "radius_meters": 100.0}


class Writer:
    """Writes and asks: by turns with the question right behind on the same connection, so that it is read while the answer is
    being sent, and on another connection once the answer is there."""

    def __init__(self, daemon):
        self._first, self._second = daemon.connect(), daemon.connect()
        self._count = 0

    def write(self, method: str, parameters: dict, question: str, asked: dict | None = None) -> tuple:
        """The answers to both."""
        self._count += 1
        if self._count % 2:
            self._first.link.sendall(frame(method, parameters) + frame(question, asked or {}))
            return self._first.receive(), self._first.receive()
        answer = self._first.call(method, **parameters)
        return answer, self._second.call(question, **(asked or {}))

    def status(self, method: str, **parameters) -> tuple:
        """The answer, and the status behind it."""
        answer, asked = self.write(method, parameters, "GetStatus")
        return answer, asked["status"]


class AnswerTests(SystemTest):
    """What another thread has to say is said after it can be seen."""

    def vehicle(self, **sections) -> tuple:
        fake, daemon = self.tracking(**sections)
        return fake, daemon, Writer(daemon)

    def rounds(self, fake=None):
        """Their numbers. Now and then fixes come just before, so that the thread that reads them has something to do."""
        for number in range(ROUNDS):
            if fake and number % 8 == 0:
                fake.drive(3)
            yield number

    def test_start_and_stop(self):
        fake, _, writer = self.vehicle()
        for number in self.rounds(fake):
            if number % 2:
                answer, status = writer.status("Start")
                self.assertEqual((status["state"], status["session_id"]), ("tracking", answer["session_id"]))
            else:
                answer, status = writer.status("Stop")
                self.assertEqual((answer["state"], status["state"], status.get("session_id")), ("stopped", "stopped", None))

    def test_motion(self):
        fake, daemon, writer = self.vehicle()
        for number in range(ROUNDS):
            said = "moving" if number % 2 else "stationary"
            writer.status("SetMotion", motion=said)
            fake.drive(1, speed=None)
            found = daemon.wait_stored(number + 2)["last_location"]
            self.assertEqual(found["motion"], said)

    def test_ignition(self):
        fake, _, writer = self.vehicle(vehicle={"ignition": "manual"})
        for number in self.rounds(fake):
            _, status = writer.status("SetIgnition", on=number % 2 == 0)
            self.assertEqual(status["vehicle"]["ignition"], "off" if number % 2 else "on")

    def test_odometer(self):
        _, _, writer = self.vehicle()
        for number in self.rounds():
            _, status = writer.status("SetOdometer", odometer_meters=1000 + number)
            self.assertEqual(status["odometer_meters"], 1000 + number)

    def test_geofences(self):
        fake, _, writer = self.vehicle()
        for number in self.rounds(fake):
            if number % 4 < 2:
                _, status = writer.status("AddGeofences", geofences=[fence(number)])
                self.assertEqual(status["geofences"], number % 4 + 1)
            else:
                answer, listed = writer.write("RemoveGeofences", {"ids": [fence(number - 2)["id"]]}, "ListGeofences")
                self.assertEqual((answer["removed"], len(listed["geofences"])), (1, 3 - number % 4))

    def test_extras(self):
        fake, _, writer = self.vehicle()
        for number in self.rounds(fake):
            wanted = {"driver": str(number)}
            _, found = writer.write("SetExtras", {"extras": wanted}, "GetExtras")
            self.assertEqual(found["extras"], wanted)

    def test_deletion(self):
        fake, daemon, writer = self.vehicle()
        for number in range(ROUNDS):
            answer, status = writer.status("DeleteLocations")
            self.assertGreaterEqual(answer["removed"], 1)
            self.assertEqual((status["store"]["locations"], status.get("last_location")), (0, None))
            fake.drive(1)
            daemon.wait_stored(number + 2)

    # Settings.

    def test_settings_of_the_reader(self):
        fake, _, writer = self.vehicle()
        for number in self.rounds(fake):
            value = number % 60 + 1
            _, found = writer.write("Configure", {"settings": {INTERVAL: value, "extras.round": str(number)}}, "GetConfig")
            self.assertEqual({one["key"]: one["value"] for one in found["settings"]}[INTERVAL], value)
            _, found = writer.write("Configure", {"settings": {"extras.round": f"{number}b"}}, "GetExtras")
            self.assertEqual(found["extras"], {"round": f"{number}b"})

    def settled(self, status: dict):
        """All have adopted the settings in force."""
        revisions = [status["adopted_revision"], *(one.get("adopted_revision") for one in status["destinations"])]
        self.assertEqual(set(revisions), {status["revision"]}, status)

    def test_settings_of_the_upload(self):
        fake, _, writer = self.vehicle()
        for number in self.rounds(fake):
            if number % 2:
                _, status = writer.status("ResetConfig", keys=["sync.url", "sync.heartbeat_seconds"])
                self.assertEqual((status["sync"]["state"], status["sync"].get("heartbeat")), ("disabled", None))
            else:
                seconds = 60 + number
                _, status = writer.status("Configure", settings={"sync.url": NOWHERE, "sync.heartbeat_seconds": seconds})
                self.assertNotEqual(status["sync"]["state"], "disabled")
                self.assertEqual(status["sync"]["heartbeat"]["interval_seconds"], seconds)
            self.settled(status)

    def test_settings_while_a_request_is_under_way(self):
        receiver = self.backend()
        receiver.hold()
        _, daemon, writer = self.vehicle(sync={"url": receiver.url, "heartbeat_seconds": 60})
        daemon.ask_for_sync()
        receiver.wait_requests(1)
        for number in range(ROUNDS):
            _, status = writer.status("Configure", settings={"sync.heartbeat_seconds": 61 + number})
            self.assertEqual(status["sync"]["heartbeat"]["interval_seconds"], 61 + number)
            self.settled(status)
            # It goes on.
            self.assertEqual((status["sync"]["state"], len(receiver.moments)), ("uploading", 1))
        self.receivers.remove(receiver)
        daemon.ledger.stored.clear()

    def test_destinations_that_come_and_go(self):
        _, daemon, writer = self.vehicle()
        for number in range(ROUNDS):
            if number % 2:
                del daemon.sections["destination.second"]
            else:
                daemon.sections["destination.second"] = {"url": NOWHERE, "interval_seconds": NEVER, "heartbeat_seconds": 60}
            daemon.configure()
            _, status = writer.status("Reload")
            found = {one["name"]: one for one in status["destinations"]}
            if number % 2:
                self.assertTrue("second" not in found or found["second"]["orphaned"])
                # Its thread has ended: it can be forgotten at once.
                if "second" in found:
                    _, status = writer.status("ForgetDestination", destination="second")
                    self.assertEqual([one["name"] for one in status["destinations"]], ["main"])
            else:
                self.assertNotEqual(found["second"]["sync"]["state"], "disabled")
                self.assertEqual(found["second"]["sync"]["heartbeat"]["interval_seconds"], 60)
                self.settled(status)

    def test_settings_of_the_server(self):
        _, daemon, writer = self.vehicle()
        for number in range(ROUNDS // 4):
            with open(os.path.join(daemon.state, "server-settings.json"), "w", encoding="utf-8") as file:
                json.dump({"version": 1, "settings": {INTERVAL: number + 1}}, file)
            self.settled(writer.status("Reload")[1])
            answer, status = writer.status("ResetServerConfig")
            self.assertEqual(answer["removed"], 1)
            self.settled(status)
            # What changes nothing is a change all the same.
            for _ in range(2):
                self.settled(writer.status("ResetServerConfig")[1])

    # The upload.

    def test_tokens(self):
        _, _, writer = self.vehicle(**{"sync": {"url": NOWHERE}, "sync.auth": {"access_token": "a"}})
        for number in range(ROUNDS):
            # So many attempts are allowed.
            let_pass(1)
            _, status = writer.status("SeedAuth", access_token=f"t{number}", expires_at=4_000_000_000 + number)
            expiry = from_iso(status["auth"]["expires_at"]) // 1000
            self.assertEqual((status["auth"]["state"], expiry), ("valid", 4_000_000_000 + number))

    def test_sync(self):
        receiver = self.backend()
        fake, daemon, writer = self.vehicle(sync={"url": receiver.url})
        uploaded = 0
        for number in range(ROUNDS):
            let_pass(1)
            answer, status = writer.status("Sync", wait=True)
            uploaded += answer["uploaded"]
            sync = status["sync"]
            self.assertEqual((sync["uploaded"], sync["pending"], sync["state"]), (uploaded, 0, "idle"))
            fake.drive(1)
            daemon.wait_stored(number + 2)

    def test_rebatch(self):
        receiver = self.backend()
        receiver.refuse(lambda request: True, 413)
        _, daemon, writer = self.vehicle(sync={"url": receiver.url})
        for _ in range(ROUNDS):
            for _ in range(3):
                let_pass(1)
                self.assertEqual(daemon.sync()["outcome"], "permanent")
            with daemon.noting("Rebatch"):
                _, status = writer.status("Rebatch")
            self.assertEqual((status["sync"].get("oversized_failures"), status["sync"].get("in_flight_batch")), (None, None))

    def test_dead_letters(self):
        receiver = self.backend()
        fake, daemon, writer = self.vehicle(sync={"url": receiver.url})
        for _ in range(ROUNDS // 2):
            let_pass(5)
            # What is taken in between says that the rows are at fault, and not the server.
            receiver.accept_all()
            fake.drive(1)
            daemon.wait_status(lambda status: status["sync"]["pending"], "a row")
            self.assertEqual(daemon.sync()["outcome"], "drained")
            receiver.refuse(lambda request: True)
            fake.drive(1)
            daemon.wait_status(lambda status: status["sync"]["pending"] == 1, "a row")
            self.assertEqual(daemon.sync()["outcome"], "rejected")
            seen = len(receiver.moments)
            answer, status = writer.status("RetryRejected")
            self.assertEqual(answer["requeued"], 1)
            if len(receiver.moments) == seen:
                self.assertEqual((status["sync"]["pending"], status["sync"]["rejected"]), (1, 0))
            daemon.wait_status(lambda status: status["sync"]["rejected"] == 1, "refused again")
            with daemon.noting("PurgeRejected"):
                answer, status = writer.status("PurgeRejected")
            self.assertEqual((answer["removed"], status["sync"]["rejected"], status["sync"]["pending"]), (1, 0, 0))

    def test_resend(self):
        receiver = self.backend()
        _, daemon, writer = self.vehicle(sync={"url": receiver.url}, store={"keep_uploaded": True})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        for _ in range(ROUNDS):
            let_pass(1)
            seen = len(receiver.moments)
            with daemon.noting("Resend"):
                answer, status = writer.status("Resend", **{"from": LONG_AGO})
            self.assertEqual(answer["requeued"], 1)
            if len(receiver.moments) == seen:
                self.assertEqual(status["sync"]["pending"], 1)
            daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "sent once more")

    def test_backfill_and_forget(self):
        _, daemon, writer = self.vehicle()
        second = {"url": NOWHERE, "interval_seconds": NEVER}
        for _ in range(ROUNDS):
            let_pass(1)
            daemon.sections["destination.second"] = second
            daemon.configure()
            daemon.call("Reload")
            answer, status = writer.status("BackfillDestination", destination="second")
            found = {one["name"]: one for one in status["destinations"]}
            self.assertEqual((answer["added"], found["second"]["sync"]["pending"]), (1, 1))
            del daemon.sections["destination.second"]
            daemon.configure()
            daemon.call("Reload")
            _, status = writer.status("ForgetDestination", destination="second")
            self.assertEqual([one["name"] for one in status["destinations"]], ["main"])


class EventTests(SystemTest):
    """Whoever hears of something and asks at once finds it."""

    def told(self, daemon, kinds: list, cause: Callable[[int], object], check: Callable[[dict, dict], object],
             count: int = ROUNDS):
        """Asks for the status behind each event, as soon as it has been read."""
        link, asking = daemon.connect(), daemon.connect()
        link.send("Subscribe", {"kinds": kinds}, more=True)
        while link.has_answer(1):
            link.receive()
        for number in range(count):
            cause(number)
            while True:
                event = link.receive()["event"]
                check(event, asking.call("GetStatus")["status"])
                if not link.has_answer(0):
                    break

    def test_locations(self):
        fake, daemon = self.tracking()

        def check(event, status):
            self.assertLessEqual(event["location"]["timestamp"], status["last_location"]["timestamp"])

        self.told(daemon, ["location"], lambda number: fake.drive(10), check, ROUNDS // 10)

    def test_events(self):
        fake, daemon = self.tracking(vehicle={"ignition": "manual"})
        daemon.call("SetIgnition", on=False)

        def check(event, status):
            told = event["vehicle_event"]
            self.assertEqual(told["type"], status["vehicle"]["ignition"], told)

        self.told(daemon, ["vehicle_event"], lambda number: daemon.call("SetIgnition", on=number % 2 == 0), check)

    def test_states(self):
        _, daemon = self.tracking()

        def check(event, status):
            self.assertEqual((event["state"], event.get("decided_by")), (status["state"], status.get("decided_by")))

        self.told(daemon, ["state"], lambda number: daemon.call("Start" if number % 2 else "Stop"), check)

    def test_crossings(self):
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking={"implausible_speed_mps": 1_000_000}).start()
        daemon.call("Start")
        daemon.call("AddGeofences", geofences=[{"id": "home", "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}])
        fake.wait_watched()

        def jump(number):
            for _ in range(11):
                fake.report(tpv(fake.next_ms, 50 + (number + 1) % 2 * 1000 / METERS_PER_DEGREE, 8))
                fake.next_ms += 1000

        def check(event, status):
            self.assertLessEqual(event["geofence_event"]["timestamp"], status["last_location"]["timestamp"])

        jump(1)
        wait_for(lambda: daemon.call("GetGeofenceEvents")["events"], "it is inside")
        self.told(daemon, ["geofence_event"], jump, check)

    def test_requests(self):
        receiver = self.backend(answers=[500, 503] * ROUNDS)
        _, daemon = self.tracking(sync={"url": receiver.url})
        attempts = daemon.connect()

        def cause(number):
            let_pass(1)
            attempts.call("Sync", wait=False)

        def check(event, status):
            self.assertEqual(event["http"]["status"], status["sync"]["last_http_status"])
            self.assertNotIn("in_flight_batch", status["sync"])

        self.told(daemon, ["http"], cause, check)
        receiver.accept_all()


class StartTests(SystemTest):
    def test_what_it_starts_with_is_there_when_it_is_ready(self):
        """systemd's READY comes when everything can be seen."""
        sections: dict = {"sync": {"url": NOWHERE, "heartbeat_seconds": 60}, "sync.auth": {"access_token": "a"},
                          "destination.second": {"url": NOWHERE, "interval_seconds": NEVER}}
        _, daemon = self.tracking(**sections)
        daemon.call("AddGeofences", geofences=[fence(1)])
        daemon.call("SetExtras", extras={"driver": "7"})
        manager = ServiceManager(self.path("notify"))
        self.addCleanup(manager.stop)
        daemon.environment["NOTIFY_SOCKET"] = manager.path
        for _ in range(ROUNDS // 4):
            daemon.kill()
            manager.said.clear()
            daemon.launch()
            wait_for(lambda: any("READY=1" in text for text in manager.said), "ready")
            status = daemon.status()
            self.assertEqual((status["state"], status["geofences"], status["auth"]["state"]), ("tracking", 1, "valid"))
            self.assertEqual(status["last_location"]["trigger"], "interval")
            for one in status["destinations"]:
                self.assertNotEqual(one["sync"]["state"], "disabled")
                self.assertEqual(one["adopted_revision"], 0)
            self.assertEqual(daemon.call("GetExtras")["extras"], {"driver": "7"})
            self.assertEqual(status["sync"]["heartbeat"]["interval_seconds"], 60)


class KillTests(SystemTest):
    """What was answered is there after a SIGKILL right behind the answer."""

    TIMES = 8 if ROUNDS == 1000 else 3

    def check(self, daemon, write: Callable[[int], tuple], found: Callable[[int], object]):
        for number in range(self.TIMES):
            method, parameters = write(number)
            with daemon.connect() as client:
                client.call(method, **parameters)
                daemon.kill()
            daemon.start()
            with self.subTest(method, number=number):
                found(number)

    def equal(self, ask: Callable[[], object], wanted: Callable[[int], object]) -> Callable[[int], object]:
        return lambda number: self.assertEqual(ask(), wanted(number))

    def test_everything_that_lasts(self):
        _, daemon = self.tracking(vehicle={"ignition": "manual"})

        def present(name):
            return lambda: daemon.status()[name]

        self.check(daemon, lambda number: (("Start", "Stop")[number % 2], {}),
                   self.equal(present("state"), lambda number: ("tracking", "stopped")[number % 2]))
        self.check(daemon, lambda number: ("SetOdometer", {"odometer_meters": 500 + number}),
                   self.equal(present("odometer_meters"), lambda number: 500 + number))
        self.check(daemon, lambda number: ("SetIgnition", {"on": number % 2 == 0}),
                   self.equal(lambda: daemon.status()["vehicle"]["ignition"], lambda number: ("on", "off")[number % 2]))
        self.check(daemon, lambda number: ("AddGeofences", {"geofences": [fence(number)]}),
                   self.equal(present("geofences"), lambda number: number + 1))
        self.check(daemon, lambda number: ("RemoveGeofences", {"ids": [f"f{number}"]}),
                   self.equal(present("geofences"), lambda number: self.TIMES - 1 - number))
        self.check(daemon, lambda number: ("SetExtras", {"extras": {"n": str(number)}}),
                   self.equal(lambda: daemon.call("GetExtras")["extras"], lambda number: {"n": str(number)}))
        self.check(daemon, lambda number: ("Configure", {"settings": {INTERVAL: number + 1}}),
                   self.equal(lambda: daemon.setting(INTERVAL), lambda number: number + 1))
        self.check(daemon, lambda number: ("ResetConfig", {"keys": [INTERVAL]}),
                   self.equal(lambda: daemon.setting(INTERVAL), lambda number: 0))
        self.check(daemon, lambda number: ("DeleteLocations", {}),
                   self.equal(lambda: daemon.status()["store"]["locations"], lambda number: 0))

    def test_tokens(self):
        sections: dict = {"sync": {"url": NOWHERE}, "sync.auth": {"access_token": "a"}}
        _, daemon = self.tracking(**sections)
        self.check(daemon, lambda number: ("SeedAuth", {"access_token": "t", "expires_at": 4_000_000_000 + number}),
                   self.equal(lambda: from_iso(daemon.status()["auth"]["expires_at"]) // 1000,
                              lambda number: 4_000_000_000 + number))

    def test_what_a_subscriber_has_heard(self):
        fake, daemon = self.tracking()
        for _ in range(self.TIMES):
            heard = self.heard(fake, daemon)
            self.assertLessEqual(heard, daemon.stored_ids())
            daemon.start()
            fake.settle()

    def heard(self, fake, daemon) -> set:
        """The ids of some locations, behind which it is killed."""
        listener = Listener(daemon, ["location"])
        fake.drive(5)
        wait_for(lambda: len(listener.ids) >= 3, "locations")
        daemon.kill()
        heard = set(listener.ids)
        listener.close()
        return heard


if __name__ == "__main__":
    unittest.main()
