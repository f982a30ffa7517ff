"""Geofences in the real daemon: without tracking, across kills and lost databases, and through to the backend.

BEEKOND_SEED repeats a run; BEEKOND_KILLS sets the number of kills.
"""
import glob
import math
import os
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.fake_gpsd import from_iso
from support.geofence_test import HOME, INSIDE, OUTSIDE, GeofenceTest, Vehicle
from support.places import killed_at, places_of
from support.seeds import seed
from support.waiting import let_pass, never, wait_for

KILLS = int(os.environ.get("BEEKOND_KILLS", "20"))


class IdleTests(GeofenceTest):
    def test_a_fence_works_while_nobody_tracks(self):
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        vehicle = Vehicle(fake)
        never(lambda: fake.connections, "a connection to gpsd that nothing needs")
        daemon.call("AddGeofences", geofences=[HOME])
        # The status follows the answer at the end of the reader's round.
        daemon.wait_status(lambda status: status["geofences"] == 1, "the fence is counted")
        entered = vehicle.settle(INSIDE)
        left = vehicle.stay(OUTSIDE, 11)[0]
        events = self.events(daemon, 2)
        self.assertEqual(self.kinds(events), ["enter", "exit"])
        self.assertEqual([from_iso(event["timestamp"]) for event in events], [entered, left])
        self.assertEqual({event["geofence_id"] for event in events}, {"home"})
        # In their own session, which is not a tracking session.
        self.assertEqual(len({event["session_id"] for event in events}), 1)
        self.assertEqual(daemon.call("GetSessions")["sessions"], [])
        status = daemon.status()
        self.assertEqual((status["state"], status["store"]["locations"]), ("idle", 0))
        daemon.wait_health("ok")
        # It continues across a restart, and ends with the next start of tracking.
        daemon.terminate()
        daemon.start()
        vehicle.settle(INSIDE)
        self.assertEqual({event["session_id"] for event in self.events(daemon, 3)}, {events[0]["session_id"]})
        session = daemon.call("Start")["session_id"]
        vehicle.stay(OUTSIDE, 11)
        self.assertEqual(self.events(daemon, 4)[-1]["session_id"], session)
        daemon.call("Stop")
        vehicle.stay(INSIDE, 2)
        events = self.events(daemon, 5)
        self.assertEqual(self.kinds(events), ["enter", "exit", "enter", "exit", "enter"])
        self.assertNotIn(events[-1]["session_id"], (session, events[0]["session_id"]))
        self.assertEqual([found["id"] for found in daemon.call("GetSessions")["sessions"]], [session])

    def test_gpsd_is_released_with_the_last_fence(self):
        vehicle, daemon = self.fenced([HOME, {**HOME, "id": "other"}])
        vehicle.settle(INSIDE)
        self.assertEqual(daemon.call("RemoveGeofences", ids=["home", "unknown"]), {"removed": 1})
        never(lambda: vehicle.fake.watchers == 0, "gpsd is released while there is still a fence")
        daemon.call("Start")
        self.assertEqual(daemon.call("RemoveGeofences", ids=["other"]), {"removed": 1})
        never(lambda: vehicle.fake.watchers == 0, "gpsd is released while tracking")
        daemon.call("AddGeofences", geofences=[HOME])
        daemon.call("Stop")
        never(lambda: vehicle.fake.watchers == 0, "a stop releases gpsd while there is still a fence")
        daemon.call("RemoveGeofences", ids=["home"])
        wait_for(lambda: vehicle.fake.watchers == 0, "gpsd is released")
        daemon.wait_health("released")

    def test_fences_and_their_states_survive(self):
        vehicle, daemon = self.fenced([HOME, {**HOME, "id": "far", "latitude": 51.0}])
        vehicle.settle(INSIDE)
        self.events(daemon, 1)
        self.assertEqual(self.inside(daemon), [False, True])
        daemon.kill()
        daemon.start()
        self.assertEqual(self.inside(daemon), [False, True])
        vehicle.settle(INSIDE)
        vehicle.stay(INSIDE, 15)
        vehicle.stay(OUTSIDE, 11)
        self.assertEqual(self.kinds(self.events(daemon, 2)), ["enter", "exit"])

    def test_a_polygon_and_its_state_survive(self):
        # A hundred metres to each side of the vehicle's road; kinked, so that its edge is not that of its bounding box.
        ring = [[7.9986, 49.999], [8.0, 49.9995], [8.0014, 49.999], [8.0014, 50.001], [7.9986, 50.001]]
        vehicle, daemon = self.fenced([{"id": "yard", "polygon": ring, "notify_on_entry": True, "notify_on_exit": True}])
        vehicle.settle(INSIDE)
        self.events(daemon, 1)
        daemon.kill()
        daemon.start()
        self.assertEqual(self.inside(daemon), [True])
        self.assertEqual(daemon.call("ListGeofences")["geofences"][0]["polygon"], ring)
        vehicle.settle(INSIDE)
        vehicle.stay(INSIDE, 15)
        vehicle.stay(-90, 11)
        self.assertEqual(self.kinds(self.events(daemon, 2)), ["enter", "exit"])

    def test_the_stream(self):
        vehicle, daemon = self.fenced()
        listener = self.listener(daemon, ["geofence_event", "state"])
        wait_for(lambda: listener.events, "the subscription")
        vehicle.settle(INSIDE)
        events = self.events(daemon, 1)
        wait_for(lambda: len(listener.events) > 1, "the event is streamed")
        self.assertEqual(listener.events[1:], [{"kind": "geofence_event", "geofence_event": events[0]}])


class AddingTests(GeofenceTest):
    def test_all_or_nothing(self):
        daemon = self.daemon(self.fake().port).start()
        daemon.call("AddGeofences", geofences=[HOME])
        faults: tuple[tuple[dict, str], ...] = (
            ({"id": ""}, "characters"), ({"id": "x" * 101}, "characters"), ({"id": "a\u0007b"}, "printable"),
            ({"latitude": 90.5}, "latitude"), ({"longitude": -181.0}, "longitude"), ({"radius_meters": 0}, "radius"),
            ({"radius_meters": -1.5}, "radius"),
        )
        for bad, reason in faults:
            with self.subTest(bad), self.assertRaises(Refusal) as caught:
                daemon.call("AddGeofences", geofences=[{**HOME, "id": "fine"}, {**HOME, "id": "bad", **bad}])
            self.assertEqual(caught.exception.name, "InvalidGeofence")
            self.assertEqual(caught.exception.parameters["id"], bad.get("id", "bad")[:100])
            self.assertIn(reason, caught.exception.parameters["reason"])
        self.assertEqual([fence["id"] for fence in daemon.call("ListGeofences")["geofences"]], ["home"])

    def test_polygons_are_refused_with_the_reason(self):
        daemon = self.daemon(self.fake().port).start()
        square = [[8.0, 50.0], [8.01, 50.0], [8.01, 50.01], [8.0, 50.01]]
        for bad, reason in (
                ({"polygon": square[:2]}, "3 to 500"),
                ({"polygon": [square[0], square[2], square[1], square[3]]}, "must not meet"),
                ({"polygon": [[8.0, 50.0], [8.0, 50.0, 3.0], [8.1, 50.0]]}, "corner 2"),
                ({"polygon": [[8, 50], [12, 50], [8, 51]]}, "200 km"),
                ({"polygon": [[8, 86], [8.1, 86], [8.1, 86.1]]}, "85 degrees"), ({}, "or a polygon")):
            with self.subTest(bad), self.assertRaises(Refusal) as caught:
                daemon.call("AddGeofences", geofences=[HOME, {"id": "bad", **bad}])
            self.assertEqual((caught.exception.name, caught.exception.parameters["id"]), ("InvalidGeofence", "bad"))
            self.assertIn(reason, caught.exception.parameters["reason"])
        self.assertEqual(daemon.call("ListGeofences")["geofences"], [])

    def test_as_many_corners_as_there_may_be(self):
        daemon = self.daemon(self.fake().port).start()
        def ring(index):
            return [[8 + index / 100 + math.cos(turn * math.pi / 250) / 7, 50 + math.sin(turn * math.pi / 250) / 7]
                    for turn in range(500)]
        for first in range(0, 200, 50):
            daemon.call("AddGeofences", geofences=[{"id": f"p{index}", "polygon": ring(index)}
                                                   for index in range(first, first + 50)])
        with self.assertRaises(Refusal) as caught:
            daemon.call("AddGeofences", geofences=[{"id": "more", "polygon": ring(0)[::100]}])
        self.assertIn("100000 corners", caught.exception.parameters["reason"])
        daemon.kill()
        daemon.start()
        pages = list(daemon.connect().stream("ListGeofences"))
        self.assertEqual([len(page["geofences"]) for page in pages], [20] * 10)
        found = {fence["id"]: fence for page in pages for fence in page["geofences"]}
        self.assertEqual(found["p77"]["polygon"], ring(77))
        self.assertEqual(len(daemon.call("ListGeofences")["geofences"]), 200)

    def test_ten_thousand_and_one_more(self):
        daemon = self.daemon(self.fake().port).start()
        fences = [{**HOME, "id": f"fence {index}", "latitude": index / 1000} for index in range(10_000)]
        daemon.call("AddGeofences", geofences=fences)
        with self.assertRaises(Refusal) as caught:
            daemon.call("AddGeofences", geofences=[{**HOME, "id": "fence 7"}, HOME])
        self.assertEqual((caught.exception.name, caught.exception.parameters["id"]), ("InvalidGeofence", "home"))
        daemon.kill()
        daemon.start()
        found = daemon.call("ListGeofences")["geofences"]
        self.assertEqual(len(found), 10_000)
        self.assertEqual({fence["id"]: fence["latitude"] for fence in found}["fence 7"], 0.007)
        # Crossings do not rewrite all of that.
        before = os.stat(os.path.join(daemon.state, "geofences.json")).st_mtime_ns
        vehicle = Vehicle(self.fake())
        daemon.kill()
        daemon.configure(gpsd={"port": vehicle.fake.port})
        daemon.start()
        daemon.call("RemoveGeofences", ids=["fence 0"])
        daemon.call("AddGeofences", geofences=[HOME])
        self.assertNotEqual(os.stat(os.path.join(daemon.state, "geofences.json")).st_mtime_ns, before)
        before = os.stat(os.path.join(daemon.state, "geofences.json")).st_mtime_ns
        vehicle.settle(INSIDE)
        self.events(daemon, 1)
        self.assertEqual(os.stat(os.path.join(daemon.state, "geofences.json")).st_mtime_ns, before)
        self.assertLess(os.path.getsize(self.kept_states(daemon)), 100)

    def test_the_same_circle_again_keeps_its_state(self):
        vehicle, daemon = self.fenced()
        vehicle.settle(INSIDE)
        self.events(daemon, 1)
        daemon.call("AddGeofences", geofences=[{**HOME, "notify_on_exit": False}])
        self.assertEqual(self.inside(daemon), [True])
        vehicle.stay(INSIDE, 5)
        daemon.wait_status(lambda status: status["source"]["fixes"] == 8, "all that was sent before has been read")
        # A different circle with the same name is a different fence.
        daemon.call("AddGeofences", geofences=[{**HOME, "radius_meters": 101.0}])
        self.assertEqual(self.inside(daemon), [None])
        vehicle.stay(INSIDE, 2)
        # With the report of exits goes one exit, or nobody would hear of any.
        events = self.events(daemon, 3)
        self.assertEqual([(event["type"], event.get("reason")) for event in events],
                         [("enter", None), ("exit", "removed"), ("enter", None)])

    def test_ranges_of_events(self):
        vehicle, daemon = self.fenced()
        entered = vehicle.settle(INSIDE)
        vehicle.stay(OUTSIDE, 11)
        events = self.events(daemon, 2)
        first, last = events[0]["timestamp"], events[1]["timestamp"]
        self.assertEqual(from_iso(first), entered)
        for parameters, expected in (({"to": first}, events[:1]), ({"from": last}, events[1:]),
                                     ({"from": first, "to": last}, events), ({"from": "2099-01-01T00:00:00.000Z"}, [])):
            self.assertEqual(daemon.call("GetGeofenceEvents", **parameters)["events"], expected)
        pages = list(daemon.connect().stream("GetGeofenceEvents"))
        self.assertEqual([event for page in pages for event in page["events"]], events)


class LossTests(GeofenceTest):
    def test_kills_at_random_places(self):
        dice = random.Random(seed(f"geofences, {KILLS} kills"))
        vehicle, daemon = self.fenced([HOME, {**HOME, "id": "large", "radius_meters": 250.0}],
                                      tracking={"interval_seconds": 0, "distance_meters": 0})
        reported: dict = {}
        north = INSIDE
        vehicle.settle(north)

        def cross():
            nonlocal north
            north = INSIDE + OUTSIDE - north
            vehicle.stay(north, dice.randrange(11, 14))

        # Two crossings, each of two circles.
        places = places_of(daemon, lambda: (cross(), cross()))
        for _ in range(KILLS):
            if dice.random() < 0.4:
                daemon.call(dice.choice(["Start", "Stop"]))
            listener = self.listener(daemon, ["geofence_event"])
            vehicle.settle(north)
            with killed_at(daemon, dice.randint(1, places)):
                for _ in range(20):
                    cross()
                    let_pass(0)
                    if not daemon.is_running:
                        break
            listener.close()
            reported.update({found["geofence_event"]["id"]: found["geofence_event"] for found in listener.events})
            daemon.start()
        events = daemon.call("GetGeofenceEvents")["events"]
        stored = {event["id"]: event for event in events}
        self.assertTrue(reported)
        self.assertEqual({key: stored.get(key) for key in reported}, reported, "reported, and not in the database")
        for fence in ("home", "large"):
            kinds = [event["type"] for event in sorted(events, key=lambda event: event["timestamp"])
                     if event["geofence_id"] == fence]
            self.assertEqual(kinds, [("enter", "exit")[index % 2] for index in range(len(kinds))], fence)
        print(f"geofences: {KILLS} kills at {places} places, {len(events)} events, {len(reported)} reported before a kill")

    def lose_database(self, spoil):
        vehicle, daemon = self.fenced()
        vehicle.settle(INSIDE)
        self.events(daemon, 1)
        kept = self.kept_states(daemon)
        daemon.kill()
        spoil(daemon)
        daemon.start()
        self.assertEqual(self.inside(daemon), [True])
        before = len(daemon.call("GetGeofenceEvents")["events"])
        vehicle.settle(INSIDE)
        vehicle.stay(INSIDE, 20)
        # Killed again: by now the new database knows.
        daemon.kill()
        os.unlink(kept)
        daemon.start()
        vehicle.settle(INSIDE)
        vehicle.stay(OUTSIDE, 11)
        self.assertEqual(self.kinds(self.events(daemon, before + 1))[before:], ["exit"])
        return before

    def test_the_database_is_removed(self):
        def remove(daemon):
            for path in glob.glob(os.path.join(daemon.state, "beekon.db*")):
                os.unlink(path)

        self.assertEqual(self.lose_database(remove), 0)

    def test_the_database_is_damaged(self):
        def damage(daemon):
            with open(os.path.join(daemon.state, "beekon.db"), "r+b") as file:
                file.write(b"this is no database any more, not at all")
            for suffix in ("-wal", "-shm"):
                if os.path.exists(path := os.path.join(daemon.state, "beekon.db" + suffix)):
                    os.unlink(path)

        self.lose_database(damage)

    def test_unreadable_definitions_are_reported(self):
        vehicle, daemon = self.fenced()
        daemon.terminate()
        for name in ("geofences.json", "geofences.json.copy"):
            with open(os.path.join(daemon.state, name), "w", encoding="utf-8") as file:
                file.write("{")
        daemon.start()
        self.assertEqual(daemon.call("ListGeofences")["geofences"], [])
        self.assertIn("no geofences until they are added again", daemon.text())


if __name__ == "__main__":
    unittest.main()
