"""Envelopes without rows: a vehicle that has nothing to send says that it lives, and no answer to that does anything to a row.

The daemon's clocks are moved, so that hours pass at once. BEEKOND_KILLS is how often it is killed, BEEKOND_SEED repeats a run.
"""
import json
import os
import random
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest
from support.daemon import NEVER
from support.places import killed_at, places_of
from support.post_server import PostServer
from support.seeds import sampled
from support.waiting import let_pass, never, wait_for

HOUR, DAY = 3600, 86_400


class HeartbeatTest(ClockTest):
    def parked(self, url: str, start: bool = True, **sync) -> tuple:
        """A daemon with a heartbeat an hour, which has never tracked; and its clocks."""
        self.gps = self.fake()
        sync = {"url": url, "heartbeat_seconds": HOUR, "interval_seconds": NEVER, **sync}
        daemon, clocks = self.clocked(self.gps.port, sync=sync)
        return (daemon.start() if start else daemon), clocks

    def stopped(self, url: str, rows: int = 5, **sync) -> tuple:
        """The same after a session of so many rows, which have been uploaded; and the id of the session."""
        daemon, clocks = self.parked(url, **sync)
        daemon.keep_account()
        self.addCleanup(self.check_conserved, daemon)
        session = self.drive(daemon, rows)
        daemon.call("Stop")
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "its rows are uploaded")
        return daemon, clocks, session

    def drive(self, daemon, rows: int) -> str:
        """So many rows more, while it tracks; gives the session."""
        before = daemon.status()["gate"]["admitted"]
        # After a restart, too, the time has to settle first.
        is_new = daemon.status()["state"] != "tracking" or before == 0
        session = daemon.call("Start")["session_id"]
        if is_new:
            self.gps.settle()
            daemon.wait_stored(before + 1)
        added = daemon.status()["gate"]["admitted"] - before
        if added < rows:
            self.gps.drive(rows - added)
        daemon.wait_stored(before + rows)
        return session

    def let_pass(self, daemon, clocks, seconds: float):
        """So much time passes; a setting that is changed makes the uploader look at its clock."""
        if daemon.setting("sync.heartbeat_seconds"):
            # A daemon answers before its uploader has begun to count.
            daemon.wait_status(lambda status: "heartbeat" in status["sync"], "the time to the next is counted")
        clocks.suspend(seconds)
        value = daemon.setting("tracking.low_accuracy_meters")
        daemon.call("Configure", settings={"tracking.low_accuracy_meters": value + 1})

    def heartbeats(self, backend) -> list:
        return [request for request in list(backend.requests) if request.root and "status" in request.root]

    def wait_for_more(self, backend, count: int):
        wait_for(lambda: len(self.heartbeats(backend)) > count, "a heartbeat")

    def never_more(self, backend, count: int):
        never(lambda: len(self.heartbeats(backend)) > count, "another heartbeat")

    def next_heartbeat(self, daemon, clocks, backend, seconds: float = HOUR):
        """Lets the time pass until one is due; gives it, answered."""
        seen = len(self.heartbeats(backend))
        self.let_pass(daemon, clocks, seconds)
        self.wait_for_more(backend, seen)
        daemon.wait_status(lambda status: status["sync"]["state"] != "uploading", "it is answered")
        return self.heartbeats(backend)[-1]


class HeartbeatTests(HeartbeatTest):
    def test_a_vehicle_that_never_tracked(self):
        backend = self.backend()
        daemon, clocks = self.parked(backend.url)
        daemon.call("SetExtras", extras={"user_id": "truck-12"})
        root = self.next_heartbeat(daemon, clocks, backend).root
        self.assertEqual(root["status"]["state"], "idle")
        self.assertEqual((root["status"]["pending"], root["status"]["receiver"]), (0, "released"))
        self.assertGreaterEqual(root["status"]["uptime_seconds"], HOUR)
        self.assertEqual((root["locations"], root["geofence_events"]), ([], []))
        self.assertEqual(root["extras"], {"user_id": "truck-12"})
        self.assertEqual(root["status"]["odometer_meters"], 0)
        self.assertEqual((root["status"]["heartbeat_seconds"], root["status"]["commands"]), (HOUR, []))
        for unknown in ("ignition", "oldest_pending"):
            self.assertNotIn(unknown, root["status"])
        again = self.next_heartbeat(daemon, clocks, backend).root
        self.assertEqual(again["session_id"], root["session_id"], "minted once")
        self.assertNotEqual(again["batch_id"], root["batch_id"], "made afresh")
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM batches"), [(0,)], "nothing of it is written down")

    def test_the_battery_of_the_machine(self):
        root = self.folder()
        battery = Path(root, "sys", "class", "power_supply", "BAT0")
        battery.mkdir(parents=True)
        for name, value in (("type", "Battery"), ("capacity", "83"), ("status", "Charging")):
            (battery / name).write_text(value + "\n", encoding="ascii")
        backend = self.backend()
        daemon, clocks = self.parked(backend.url, start=False)
        daemon.environment["BEEKOND_MACHINE_ROOT"] = root
        daemon.start()
        status = self.next_heartbeat(daemon, clocks, backend).root["status"]
        self.assertEqual((status["battery_level"], status["battery_state"]), (0.83, "charging"))
        # It is read for each.
        (battery / "capacity").write_text("84\n", encoding="ascii")
        (battery / "status").write_text("Full\n", encoding="ascii")
        status = self.next_heartbeat(daemon, clocks, backend).root["status"]
        self.assertEqual((status["battery_level"], status["battery_state"]), (0.84, "full"))
        (battery / "type").write_text("Mains\n", encoding="ascii")
        status = self.next_heartbeat(daemon, clocks, backend).root["status"]
        self.assertTrue({"battery_level", "battery_state"}.isdisjoint(status))

    def test_a_stopped_vehicle_a_tenth_early_and_never_late(self):
        backend = self.backend()
        daemon, clocks, session = self.stopped(backend.url)
        # Counted from the last upload of rows.
        self.let_pass(daemon, clocks, 0.9 * HOUR - 60)
        never(lambda: self.heartbeats(backend), "a heartbeat that is more than a tenth early")
        root = self.next_heartbeat(daemon, clocks, backend, 0.1 * HOUR + 60).root
        self.assertEqual((root["status"]["state"], root["session_id"]), ("stopped", session))
        heartbeat = daemon.status()["sync"]["heartbeat"]
        self.assertEqual(heartbeat["interval_seconds"], HOUR)
        self.assertIn("last", heartbeat)
        self.assertNotIn("paused_until", heartbeat)
        self.assertEqual(backend.problems, [])

    def test_rows_put_it_off_and_are_told_of_as_pending(self):
        backend = self.backend()
        daemon, clocks, _ = self.stopped(backend.url)
        self.let_pass(daemon, clocks, 0.8 * HOUR)
        self.drive(daemon, 3)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.let_pass(daemon, clocks, 0.8 * HOUR)
        never(lambda: self.heartbeats(backend), "a heartbeat although rows went out")
        self.let_pass(daemon, clocks, 0.2 * HOUR)
        wait_for(lambda: self.heartbeats(backend), "an hour after the rows")
        self.assertEqual(self.heartbeats(backend)[0].root["status"]["state"], "tracking")

    def test_not_configured_there_is_none(self):
        backend = self.backend()
        daemon, clocks = self.parked(backend.url, heartbeat_seconds=0)
        for _ in range(3):
            self.let_pass(daemon, clocks, 10 * DAY)
        never(lambda: backend.requests, "a request")
        self.assertNotIn("heartbeat", daemon.status()["sync"])

    def test_in_back_off_it_is_retried(self):
        backend = self.backend(answers=[503, "drop", 503])
        daemon, clocks = self.parked(backend.url)
        self.let_pass(daemon, clocks, HOUR)
        wait_for(lambda: len(self.heartbeats(backend)) == 4, "three that fail, and one that arrives")
        self.assertEqual(len({request.batch_id for request in backend.requests}), 4, "each made afresh")
        daemon.wait_status(lambda status: "last" in status["sync"]["heartbeat"], "it has arrived")
        self.assertEqual(daemon.status()["sync"]["retries"], 3)
        never(lambda: len(backend.requests) > 4, "another one")

    def test_a_live_lane_has_them_too(self):
        backend = self.backend()
        daemon, clocks = self.parked(backend.url, deliver="latest")
        self.next_heartbeat(daemon, clocks, backend)
        self.next_heartbeat(daemon, clocks, backend)
        self.assertEqual(daemon.status()["sync"]["state"], "idle")

    def test_tokens_that_are_refused(self):
        backend = self.backend()
        backend.refuse(lambda request: True, 401)
        daemon, clocks = self.parked(backend.url, start=False, interval_seconds=60)
        daemon.configure(**{"sync.auth": {"access_token": "old"}})
        daemon.start()
        self.let_pass(daemon, clocks, HOUR)
        daemon.wait_status(lambda status: status["sync"].get("failure") == "auth", "the token is refused")
        # It is owed, and waits for the schedule: one attempt each round.
        for count in range(2, 5):
            self.let_pass(daemon, clocks, 60)
            backend.wait_requests(count)
        never(lambda: len(backend.requests) > 4, "one before the round is over", 30)
        self.assertEqual(daemon.status()["sync"]["state"], "failed")
        # New tokens are an occasion.
        backend.accept_all()
        daemon.call("SeedAuth", access_token="new")
        wait_for(lambda: len(self.heartbeats(backend)) == 5, "with the new token")
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "all is well")


class RefusalTests(HeartbeatTest):
    def is_heartbeat(self, request) -> bool:
        return bool(request.root and "status" in request.root)

    def test_a_backend_that_refuses_them(self):
        """It loses nothing, is not suspected, and is asked again a day later, no sooner."""
        for code in (400, 413, 422):
            with self.subTest(code):
                backend = self.backend()
                backend.refuse(self.is_heartbeat, code)
                daemon, clocks, _ = self.stopped(backend.url)
                rows = len(backend.ids)
                for day in range(1, 5):
                    self.next_heartbeat(daemon, clocks, backend, DAY)
                    self.assertEqual(len(self.heartbeats(backend)), day)
                    heartbeat = daemon.wait_status(
                        lambda status: "paused_until" in status["sync"]["heartbeat"], "the pause")["sync"]["heartbeat"]
                    self.assertEqual(heartbeat["refused_status"], code)
                    self.let_pass(daemon, clocks, DAY - HOUR)
                    self.never_more(backend, day)
                    self.assertEqual(daemon.text().count("refuses a heartbeat"), day)
                # More than three refusals in a row: rows go on as ever.
                sync = daemon.status()["sync"]
                self.assertEqual((sync["state"], sync["rejected"], sync["pending"]), ("idle", 0, 0))
                self.drive(daemon, 4)
                self.assertEqual(daemon.sync()["outcome"], "drained")
                self.assertEqual(len(backend.ids), rows + 4)
                daemon.kill()

    def test_no_suspicion_is_fed_or_ended(self):
        backend = self.backend()
        daemon, clocks, _ = self.stopped(backend.url)

        def rejected():
            self.drive(daemon, 2)
            return daemon.sync()

        backend.refuse(lambda request: True, 400)
        for _ in range(2):
            self.assertEqual(rejected()["outcome"], "rejected")
        # A third refusal, but of no row.
        self.next_heartbeat(daemon, clocks, backend)
        self.assertEqual(daemon.status()["sync"]["state"], "idle")
        self.assertEqual(daemon.status()["sync"]["rejected"], 4)
        # Nor does one that is accepted end the streak.
        backend.accept_all()
        self.next_heartbeat(daemon, clocks, backend, DAY + HOUR)
        backend.refuse(lambda request: not self.is_heartbeat(request), 400)
        self.assertEqual(rejected()["outcome"], "rejected")
        self.assertEqual(daemon.status()["sync"]["failure"], "rejected")
        self.let_pass(daemon, clocks, 2 * DAY)
        never(lambda: daemon.status()["sync"].get("failure") != "rejected", "the suspicion ends")
        backend.accept_all()
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_other_answers(self):
        """What no waiting will mend is loud, and tried on the schedule; rows go out as soon as there are any."""
        backend = self.backend(answers=[404, 404])
        daemon, clocks = self.parked(backend.url, interval_seconds=60)
        self.let_pass(daemon, clocks, HOUR)
        daemon.wait_status(lambda status: status["sync"].get("failure") == "permanent", "it is told")
        # It is owed, so that no attempt ends well without it.
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        self.assertEqual(len(self.heartbeats(backend)), 2)
        self.let_pass(daemon, clocks, 60)
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "and mended")
        self.assertEqual(len(self.heartbeats(backend)), 3)


class KillTests(HeartbeatTest):
    def test_sigkill_around_heartbeats(self):
        chance = random.Random(sampled("test_heartbeats"))
        backend = self.backend()
        daemon, clocks, _ = self.stopped(backend.url)

        def work():
            """A row, and a heartbeat."""
            self.drive(daemon, 1)
            daemon.call("Sync", wait=False)
            daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "the row is uploaded")
            self.let_pass(daemon, clocks, HOUR)
            let_pass(1)

        places = places_of(daemon, work)
        self.assertEqual(len(self.heartbeats(backend)), 1)
        for _ in range(int(os.environ.get("BEEKOND_KILLS", "12"))):
            with killed_at(daemon, chance.randint(1, places)):
                while daemon.is_running:
                    work()
            daemon.start()
        daemon.call("Stop")
        daemon.sync_until(lambda answer: answer["pending"] == 0, "all is uploaded")
        self.next_heartbeat(daemon, clocks, backend)
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM batches"), [(0,)])
        ids = [request.batch_id for request in self.heartbeats(backend)]
        self.assertEqual(len(ids), len(set(ids)))
        print(f"{len(ids)} heartbeats, {len(backend.ids)} rows")


class AnyServer(PostServer):
    """Takes any JSON by POST."""

    path = "/pub"

    def __init__(self):
        self.seen: list = []
        # Whether answers wait.
        self.holds = False
        self.held = threading.Event()
        super().__init__()

    def take(self, query, body):
        self.seen.append(json.loads(body))
        if self.holds:
            self.held.wait()
            return None
        return 200, b"[]"


class OwnTracksTests(HeartbeatTest):
    def test_a_ping_with_the_last_known_position(self):
        server = AnyServer()
        self.addCleanup(server.stop)
        daemon, clocks = self.parked(server.url, start=False, format="owntracks", device_id="van1")
        daemon.configure(store={"keep_uploaded": True})
        root = self.folder()
        battery = Path(root, "sys", "class", "power_supply", "BAT0")
        battery.mkdir(parents=True)
        (battery / "type").write_text("Battery\n", encoding="ascii")
        (battery / "capacity").write_text("83\n", encoding="ascii")
        daemon.environment["BEEKOND_MACHINE_ROOT"] = root
        daemon.start()
        # There is no position yet, so there is nothing to say.
        for _ in range(3):
            self.let_pass(daemon, clocks, HOUR)
        never(lambda: server.seen, "a message without a position")
        daemon.call("Start")
        self.gps.settle()
        daemon.wait_stored(1)
        daemon.call("Stop")
        wait_for(lambda: server.seen, "the location")
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "it is uploaded")
        rows = len(server.seen)
        # Also after a restart.
        daemon.kill()
        (battery / "capacity").write_text("50\n", encoding="ascii")
        daemon.start()
        daemon.wait_status(lambda status: "last_location" in status, "it is known again")
        self.let_pass(daemon, clocks, HOUR)
        wait_for(lambda: len(server.seen) > rows, "a heartbeat")
        location, ping = server.seen[rows - 1], server.seen[rows]
        self.assertEqual((location["t"], ping["t"]), ("t", "p"))
        for name in ("lat", "lon", "tst", "_id", "topic"):
            self.assertEqual(ping[name], location[name])
        self.assertGreater(ping["created_at"], location["created_at"])
        # How the vehicle is by now.
        self.assertEqual((location["batt"], ping["batt"], ping["bs"]), (83, 50, 0))

    def test_a_deletion_cancels_the_one_under_way(self):
        server = AnyServer()
        self.addCleanup(server.stop)
        self.addCleanup(server.held.set)
        daemon, clocks = self.parked(server.url, format="owntracks", device_id="van1", timeout_seconds=600)
        self.drive(daemon, 1)
        daemon.call("Stop")
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "the location is uploaded")
        rows = len(server.seen)
        server.holds = True
        self.let_pass(daemon, clocks, HOUR)
        wait_for(lambda: len(server.seen) > rows, "a heartbeat")
        self.assertEqual(daemon.status()["sync"]["state"], "uploading")
        daemon.call("DeleteLocations")
        sync = daemon.wait_status(lambda status: status["sync"]["state"] != "uploading", "its end")["sync"]
        # It has not failed for want of an answer.
        self.assertNotIn("last_error", sync)
        self.assertEqual(len(server.seen), rows + 1, "none is made in its place")


if __name__ == "__main__":
    unittest.main()
