"""deliver = "latest": a destination that gets the newest location at each trigger, and for which nothing is queued.

BEEKOND_SEED repeats a run.
"""
import json
import random
import sys
import time
import unittest
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.daemon import NEVER
from support.fake_gpsd import METERS_PER_DEGREE, from_iso, tpv
from support.places import killed_at, places_of
from support.post_server import PostServer
from support.seeds import sampled
from support.system_test import SystemTest
from support.waiting import let_pass, never, wait_for


class AnyServer(PostServer):
    """Takes any POST; `status` is what it answers."""

    def __init__(self):
        self.seen: list = []
        self.status = 200
        super().__init__()

    def take(self, query, body):
        self.seen.append((query, json.loads(body) if body else None))
        return self.status, b'{"result":"ok"}'


def newest(request) -> int:
    """The time of the location in a request, in milliseconds; there is exactly one."""
    (location,) = request.root["locations"]
    return from_iso(location["timestamp"])


class LatestTest(SystemTest):
    def live(self, url: str, sync: dict | None = None, interval: float = NEVER, **values) -> tuple:
        """A daemon that tracks, with a live lane; with `sync`, `main` besides."""
        self.gps = self.fake()
        sections: dict = {"destination.live": {
            "url": url, "deliver": "latest", "interval_seconds": interval, **values}}
        if sync:
            sections["sync"] = sync
        daemon = self.daemon(self.gps.port, **sections).start()
        daemon.call("Start")
        self.gps.settle()
        daemon.wait_stored(1)
        return self.gps, daemon

    def lane(self, daemon) -> dict:
        return {found["name"]: found for found in daemon.status()["destinations"]}["live"]

    def rows(self, daemon) -> list:
        return daemon.query("SELECT ts FROM locations ORDER BY ts, seq")

    def drive(self, daemon, count: int) -> int:
        """So many fixes, stored; gives the time of the last of them, in milliseconds."""
        before = daemon.status()["gate"]["admitted"]
        last = self.gps.drive(count)[-1]
        daemon.wait_stored(before + count)
        return last


class LatestTests(LatestTest):
    def test_only_the_newest_is_sent_and_once(self):
        receiver = self.backend()
        _, daemon = self.live(receiver.url)
        last = self.drive(daemon, 20)
        answer = daemon.call("Sync", destination="live")
        self.assertEqual((answer["outcome"], answer["uploaded"], answer["pending"]), ("drained", 1, 0))
        self.assertEqual([newest(request) for request in receiver.requests], [last])
        # The id is the one that history shows: a server that knows it stores it once.
        self.assertEqual(receiver.requests[0].ids[0], daemon.status()["last_location"]["id"])
        answer = daemon.call("Sync", destination="live")
        self.assertEqual((answer["outcome"], answer["uploaded"]), ("nothing_pending", 0))
        last = self.drive(daemon, 1)
        daemon.call("Sync", destination="live")
        self.assertEqual(newest(receiver.requests[1]), last)
        lane = self.lane(daemon)
        self.assertEqual((lane["deliver"], lane["orphaned"], lane["sync"]["state"]), ("latest", False, "idle"))
        self.assertEqual((lane["sync"]["uploaded"], lane["sync"]["pending"]), (2, 0))
        self.assertGreater(lane["sync"]["bytes_sent"], 100)
        self.assertEqual(len(self.rows(daemon)), 22, "it takes nothing out of the store")
        for method in ("BackfillDestination", "Resend", "Rebatch"):
            with self.assertRaises(Refusal, msg=method):
                daemon.call(method, destination="live", **({"from": "2000-01-01T00:00:00.000Z"} if method == "Resend" else {}))

    def test_a_failure_keeps_nothing_and_then_the_newest_goes(self):
        receiver = self.backend(answers=[503, 422, 404])
        _, daemon = self.live(receiver.url)
        outcomes = []
        for _ in range(3):
            last = self.drive(daemon, 3)
            outcomes.append(daemon.call("Sync", destination="live")["outcome"])
            self.assertEqual(newest(receiver.requests[-1]), last)
        self.assertEqual(outcomes[0], "transient")
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM batches"), [(0,)])
        self.assertEqual(daemon.call("GetRejected", destination="live")["rejected"], [])
        # The retry comes by itself, after the back-off, whatever kind of failure it was.
        last = self.drive(daemon, 2)
        receiver.wait_requests(len(outcomes) + 1)
        wait_for(lambda: newest(receiver.requests[-1]) == last, "the newest goes with the retry")
        daemon.wait_status(lambda _: self.lane(daemon)["sync"]["state"] == "idle", "the failure is over")
        self.assertEqual(len({request.batch_id for request in receiver.requests}), len(receiver.requests))

    def test_after_a_restart_nothing_goes_until_something_is_stored(self):
        receiver = self.backend()
        _, daemon = self.live(receiver.url, interval=5)
        self.drive(daemon, 4)
        receiver.wait_requests(1)
        daemon.kill()
        seen = len(receiver.requests)
        daemon.start()
        self.assertEqual(daemon.call("Sync", destination="live")["outcome"], "nothing_pending")
        self.assertEqual(len(receiver.requests), seen)
        self.gps.settle()
        wait_for(lambda: len(receiver.requests) > seen, "a location is stored, and goes")

    def test_each_trigger_sends_and_a_fix_alone_does_not(self):
        receiver = self.backend()
        gps, daemon = self.live(receiver.url)
        self.drive(daemon, 5)
        never(lambda: receiver.requests, "the interval has not passed")
        # A fence ahead, on the way north.
        north = gps.sent * 10 + 300
        daemon.call("AddGeofences", geofences=[{
            "id": "ahead", "latitude": 50 + north / METERS_PER_DEGREE, "longitude": 8.0, "radius_meters": 100.0}])
        self.drive(daemon, 40)
        receiver.wait_requests(1)
        seen = len(receiver.requests)
        self.assertTrue(all(not request.event_ids for request in receiver.requests), "events are not queued either")
        # The vehicle parks.
        spot = 50 + (gps.sent * 10 - 1) / METERS_PER_DEGREE
        gps.report(*(tpv(gps.next_ms + 1000 * index, spot, 8, speed=0.0) for index in range(140)))
        gps.next_ms += 140_000
        receiver.wait_requests(seen + 1)
        seen = len(receiver.requests)
        self.drive(daemon, 1)
        daemon.call("Stop")
        receiver.wait_requests(seen + 1)
        times = [newest(request) for request in receiver.requests]
        self.assertEqual(times, sorted(set(times)), "each location once")

    def test_what_is_deleted_is_not_sent(self):
        receiver = self.backend()
        _, daemon = self.live(receiver.url)
        receiver.hold()
        self.drive(daemon, 3)
        daemon.ask_for_sync()
        receiver.wait_requests(1)
        self.assertEqual(self.lane(daemon)["sync"]["state"], "uploading")
        daemon.call("DeleteLocations")
        wait_for(lambda: self.lane(daemon)["sync"]["state"] == "idle", "the request is broken off")
        receiver.go_on()
        self.assertEqual(daemon.call("Sync", destination="live")["outcome"], "nothing_pending")
        last = self.drive(daemon, 1)
        self.assertEqual(daemon.call("Sync", destination="live")["outcome"], "drained")
        self.assertEqual(newest(receiver.requests[-1]), last)

    def test_every_format_that_carries_a_location(self):
        server = AnyServer()
        self.addCleanup(server.stop)
        _, daemon = self.live(server.url)
        cases = {
            "owntracks": ({"device_id": "van1"}, lambda query, body: body["tst"]),
            "osmand": ({"device_id": "van1"}, lambda query, body: int(query["timestamp"])),
            "overland": ({}, lambda query, body: datetime.fromisoformat(
                body["locations"][0]["properties"]["timestamp"]).timestamp()),
        }
        for name, (values, read) in cases.items():
            with self.subTest(format=name):
                daemon.sections["destination.live"] = {
                    "url": server.url, "deliver": "latest", "interval_seconds": NEVER, "format": name, **values}
                daemon.configure()
                daemon.call("Reload")
                # Other settings make one attempt, with what is newest.
                last = self.drive(daemon, 3)
                daemon.call("Sync", destination="live")
                self.assertEqual(read(*server.seen[-1]), last // 1000)

    def test_events_and_errors_name_the_destination(self):
        receiver = self.backend(answers=[404])
        _, daemon = self.live(receiver.url)
        listener = self.listener(daemon, ["sync"])
        self.drive(daemon, 1)
        self.assertEqual(daemon.call("Sync", destination="live")["outcome"], "permanent")
        wait_for(lambda: any(event["destination"] == "live" and event["sync"]["state"] == "failed"
                             for event in listener.events), "an event of the failure")
        lane = self.lane(daemon)["sync"]
        self.assertEqual((lane["failure"], lane["last_http_status"]), ("permanent", 404))


class MixedTests(LatestTest):
    def test_from_all_to_latest_and_back_loses_nothing(self):
        main, other = self.backend(), self.backend()
        self.gps = self.fake()
        section = {"url": other.url, "interval_seconds": NEVER}
        daemon = self.daemon(self.gps.port, sync={"url": main.url}, **{"destination.live": section}).start()
        daemon.call("Start")
        self.gps.settle()
        daemon.wait_stored(1)
        self.drive(daemon, 4)
        # One batch of what it is owed is frozen, and refused for the moment.
        other.answers = [503]
        daemon.call("Sync", destination="live")
        frozen = other.requests[0]
        daemon.configure(**{"destination.live": {**section, "deliver": "latest"}})
        daemon.call("Reload")
        lane = self.lane(daemon)
        self.assertEqual((lane["orphaned"], lane["deliver"], lane["sync"]["pending"]), (True, "latest", 5))
        last = self.drive(daemon, 3)
        daemon.call("Sync", destination="live")
        self.assertEqual(newest(other.requests[-1]), last)
        daemon.kill()
        daemon.start()
        daemon.call("Start")
        self.assertEqual(self.lane(daemon)["sync"]["pending"], 8, "for seven days it is owed what is stored meanwhile")
        daemon.configure(**{"destination.live": {**section, "deliver": "all"}})
        daemon.call("Reload")
        self.assertFalse(self.lane(daemon)["orphaned"])
        wait_for(lambda: daemon.call("Sync", destination="live")["pending"] == 0, "all of it goes")
        wait_for(lambda: daemon.call("Sync")["pending"] == 0, "main has it, too")
        self.assertEqual(len(main.ids), 8)
        self.assertEqual(set(other.ids), set(main.ids))
        again = [request for request in other.requests if request.batch_id == frozen.batch_id]
        self.assertEqual({request.sha256 for request in again}, {frozen.sha256})
        self.assertEqual(len(again), 2, "the frozen batch went first, with its bytes")
        self.assertEqual(daemon.stored_ids(), set())

    def test_what_an_orphan_was_owed_can_be_given_up(self):
        other = self.backend(answers=[503])
        main = self.backend()
        self.gps = self.fake()
        section = {"url": other.url, "interval_seconds": NEVER}
        daemon = self.daemon(self.gps.port, sync={"url": main.url}, **{"destination.live": section}).start()
        daemon.call("Start")
        self.gps.settle()
        daemon.wait_stored(1)
        self.drive(daemon, 4)
        daemon.configure(**{"destination.live": {**section, "deliver": "latest"}})
        daemon.call("Reload")
        wait_for(lambda: daemon.call("Sync")["pending"] == 0, "main has all")
        self.assertEqual(daemon.call("ForgetDestination", destination="live"), {"removed": 5})
        self.assertEqual(daemon.stored_ids(), set())
        lane = self.lane(daemon)
        self.assertEqual((lane["orphaned"], lane["sync"]["pending"]), (False, 0))
        other.accept_all()
        other.answers = []
        last = self.drive(daemon, 1)
        daemon.call("Sync", destination="live")
        self.assertEqual(newest(other.requests[-1]), last, "the lane goes on")

    def test_a_live_lane_to_the_server_of_main(self):
        receiver = self.backend()
        _, daemon = self.live(receiver.url, {"url": receiver.url, "batch_size": 4}, interval=5)
        for _ in range(5):
            self.drive(daemon, 4)
            daemon.call("Sync", destination="live")
        stored = daemon.stored_ids()
        wait_for(lambda: daemon.call("Sync")["pending"] == 0, "main's backlog is sent")
        self.assertEqual(set(receiver.ids), stored)
        self.assertEqual(len(stored), 21)
        self.assertEqual(daemon.stored_ids(), set())

    def test_kills_with_a_live_lane_lose_nothing_of_main(self):
        dice = random.Random(sampled("kills beside a live lane"))
        main, lane = self.backend(drop_ack_every=3, delay=0.02), self.backend(drop_ack_every=3, delay=0.02)
        _, daemon = self.live(
            lane.url, {"url": main.url, "batch_size": 3, "sync_threshold": 2, "timeout_seconds": 2}, interval=5,
            timeout_seconds=2)
        known: set = set()

        def work():
            self.drive(daemon, 3)
            for name in dice.sample(["main", "live"], 2):
                daemon.connect().send("Sync", {"wait": False, "destination": name})
            let_pass(1)

        places = places_of(daemon, work)
        for _ in range(20):
            known |= daemon.stored_ids() | set(main.ids)
            with killed_at(daemon, dice.randint(1, places)):
                while daemon.is_running:
                    work()
            known |= daemon.stored_ids() | set(main.ids)
            daemon.start()
            daemon.call("Start")
            self.gps.settle()
        daemon.call("Stop")
        known |= daemon.stored_ids() | set(main.ids)
        daemon.sync_until(lambda answer: answer["pending"] == 0, "main has all")
        self.assertEqual(set(main.ids), known)
        self.assertEqual(main.faults(), [])
        self.assertEqual(set(lane.ids) - known, set(), "nothing that was not stored before")
        self.assertGreater(len(lane.requests), 5)
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM batches"), [(0,)])
        self.assertEqual(daemon.stored_ids(), set())


class BacklogTests(LatestTest):
    BACKLOG = 10_000
    # Seconds, of the lane; fixes come each second.
    INTERVAL = 5.0

    def backlog(self, main) -> tuple:
        """A daemon with this backlog for `main`, the last of it from now."""
        self.gps = self.fake(start_ms=(int(time.time()) - self.BACKLOG) * 1000)
        daemon = self.daemon(
            self.gps.port, sync={"url": main.url, "batch_size": 100}, store={"durability": "normal"}).start()
        daemon.call("Start")
        self.gps.settle()
        daemon.wait_stored(1)
        while self.gps.sent < self.BACKLOG:
            self.drive(daemon, 500)
        return self.gps, daemon

    def follow(self, gps, daemon, is_over):
        """A fix each second, each from now, until the condition holds."""
        while not is_over():
            due = max(gps.next_ms, int(time.time() * 1000))
            self.wait_until(due)
            gps.next_ms = due
            gps.drive(1)

    def wait_until(self, moment: int):
        wait_for(lambda: time.time() * 1000 >= moment, "the next second")

    def check_drain(self, main, lane, url: str):
        gps, daemon = self.backlog(main)
        arrivals: list = []
        # The backend notes each request as it arrives.
        note = lane._say

        def arrived(request):
            arrivals.append((time.time(), request))
            note(request)

        lane._say = arrived
        main.delay = 0.4
        daemon.configure(**{"destination.live": {
            "url": url, "deliver": "latest", "interval_seconds": self.INTERVAL}})
        daemon.call("Reload")
        backlog = daemon.status()["sync"]["pending"]
        self.assertGreaterEqual(backlog, self.BACKLOG)
        # The first fixes of the present: what is older is the end of the backlog.
        present = int(time.time() * 1000)
        self.follow(gps, daemon, lambda: any(newest(request) >= present for _, request in arrivals))
        first = time.time()
        daemon.ask_for_sync()
        self.follow(gps, daemon, lambda: daemon.status()["sync"]["pending"] < 100 and len(main.ids) >= self.BACKLOG)
        last = time.time()
        live = [(moment, newest(request)) for moment, request in arrivals
                if first <= moment <= last and len(request.ids) == 1]
        ages = [moment - fix / 1000 for moment, fix in live]
        pauses = [after - before for (before, _), (after, _) in zip(live, live[1:], strict=False)]
        print(f"live lane: {backlog} of backlog in {last - first:.0f} s, {len(live)} live requests, "
              f"age at most {max(ages, default=0):.2f} s, pause at most {max(pauses, default=0):.2f} s")
        self.assertGreaterEqual(len(live), max(2, int((last - first) / self.INTERVAL)), "throughout")
        # There is a fix each second, and it is one with the next: what arrives is the newest. And between two there is an
        # interval, and a request at most.
        self.assertLessEqual(max(ages), 2)
        self.assertLessEqual(max(pauses), self.INTERVAL + main.delay)
        times = [fix for _, fix in live]
        self.assertEqual(times, sorted(times))

    def test_a_backlog_drains_while_the_lane_shows_the_present(self):
        main, lane = self.backend(), self.backend()
        self.check_drain(main, lane, lane.url)

    def test_and_with_the_url_of_main(self):
        self.BACKLOG = 3000
        receiver = self.backend()
        self.check_drain(receiver, receiver, receiver.url)


if __name__ == "__main__":
    unittest.main()
