"""Who was told that the vehicle is in a fence is told when that is no more to be believed: Home Assistant ignores every location
of a vehicle that it believes inside."""
import itertools
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.daemon import NEVER
from support.geofence_test import HOME, INSIDE, OUTSIDE, GeofenceTest, Vehicle
from support.places import killed_at, places_of
from support.post_server import PostServer
from support.waiting import wait_for

# As `beekonctl geofence remove --all` names them.
ALL = ["home", "other", "far"]


class HomeAssistant(PostServer):
    """Knows of a vehicle what the integration owntracks knows: where it is, and which regions it is in."""

    def __init__(self):
        self.regions: list[str] = []
        self.told: list[tuple[str, str]] = []
        self.transitions: list[dict] = []
        self.ignored = 0
        self.locations = 0
        self.status = 200
        super().__init__()

    def take(self, query, body):
        message = json.loads(body)
        if self.status != 200:
            return self.status, b""
        if message["_type"] == "transition":
            self.transitions.append(message)
            self.told.append((message["event"], message["desc"]))
            if message["event"] == "enter":
                self.regions.append(message["desc"])
            elif message["desc"] in self.regions:
                self.regions.remove(message["desc"])
        elif self.regions:
            self.ignored += 1
        else:
            self.locations += 1
        return 200, b"[]"


class LeaveTest(GeofenceTest):
    def home(self, fences=(HOME,), **sections) -> tuple:
        """A vehicle inside the fences, a Home Assistant that believes so, and a backend of ours."""
        assistant = HomeAssistant()
        self.addCleanup(assistant.stop)
        backend = self.backend()
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": backend.url}, **{"destination.home": {
            "url": assistant.url, "format": "owntracks", "device_id": "van", "interval_seconds": NEVER,
            **sections.pop("home", {})}}, **sections).start()
        daemon.call("Start")
        daemon.call("AddGeofences", geofences=list(fences))
        vehicle = Vehicle(fake)
        vehicle.settle(INSIDE)
        wait_for(lambda: len(self.crossings(backend)) >= len(fences), "entered")
        self.drain(daemon)
        return vehicle, daemon, assistant, backend

    def drain(self, daemon):
        for name in ("home", "main"):
            self.drain_one(daemon, name)

    def drain_one(self, daemon, name: str):
        wait_for(lambda: self.has_sent(daemon, name), f"{name} has everything")

    @staticmethod
    def has_sent(daemon, name: str) -> bool:
        """After an attempt, if the daemon allows one already."""
        try:
            return daemon.call("Sync", destination=name)["pending"] == 0
        except Refusal as refusal:
            if refusal.name != "RateLimited":
                raise
            return False

    @staticmethod
    def crossings(backend) -> list:
        return [event for request in backend.requests for event in request.root["geofence_events"]]

    def check_left(self, daemon, assistant, backend, told=(("enter", "home"), ("leave", "home"))):
        self.drain(daemon)
        self.assertEqual(assistant.told, list(told))
        self.assertEqual(assistant.regions, [])
        self.assertEqual([(event["type"], event.get("reason")) for event in self.crossings(backend)],
                         [("enter", None), ("exit", "removed")])


class LeaveTests(LeaveTest):
    def test_a_fence_that_is_removed(self):
        vehicle, daemon, assistant, backend = self.home()
        self.assertEqual(assistant.regions, ["home"])
        self.assertEqual(daemon.call("RemoveGeofences", ids=["home"]), {"removed": 1})
        self.check_left(daemon, assistant, backend)
        leave = assistant.transitions[1]
        self.assertAlmostEqual(leave["lat"], 50, places=2)
        self.assertGreater(leave["acc"], 0, "Home Assistant ignores positions of accuracy 0")
        self.assertGreaterEqual(leave["tst"], assistant.transitions[0]["tst"])
        known, ignored = assistant.locations, assistant.ignored
        vehicle.stay(INSIDE + 5, 3)
        wait_for(lambda: self.has_sent(daemon, "home") and assistant.locations > known,
                 "its locations count again")
        self.assertEqual(assistant.ignored, ignored)

    def test_all_of_them(self):
        _, daemon, assistant, _ = self.home([HOME, {**HOME, "id": "other"}])
        daemon.call("AddGeofences", geofences=[{**HOME, "id": "far", "latitude": 51.0}])
        daemon.call("RemoveGeofences", ids=ALL)
        self.drain(daemon)
        self.assertEqual(assistant.regions, [])
        self.assertEqual(sorted(assistant.told), [("enter", "home"), ("enter", "other"), ("leave", "home"), ("leave", "other")])

    def test_a_fence_that_the_vehicle_is_not_in_leaves_nothing(self):
        vehicle, daemon, assistant, backend = self.home()
        vehicle.stay(OUTSIDE, 11)
        wait_for(lambda: len(self.crossings(backend)) == 2, "left")
        daemon.call("RemoveGeofences", ids=ALL)
        self.drain(daemon)
        self.assertEqual(assistant.told, [("enter", "home"), ("leave", "home")])
        self.assertEqual([event.get("reason") for event in self.crossings(backend)], [None, None])

    def test_another_shape_under_its_name(self):
        vehicle, daemon, assistant, backend = self.home()
        daemon.call("AddGeofences", geofences=[{**HOME, "radius_meters": 101.0}])
        self.check_left(daemon, assistant, backend)
        vehicle.stay(INSIDE, 2)
        wait_for(lambda: daemon.call("Sync", destination="home")["pending"] == 0 and len(assistant.told) == 3, "it is in that")
        self.assertEqual(assistant.regions, ["home"])

    def test_the_same_shape_again_is_no_leave(self):
        _, daemon, assistant, _ = self.home()
        daemon.call("AddGeofences", geofences=[{**HOME, "dwell_seconds": 3600.0}])
        self.drain(daemon)
        self.assertEqual(assistant.told, [("enter", "home")])

    def test_exits_that_are_not_reported_any_more(self):
        vehicle, daemon, assistant, backend = self.home()
        daemon.call("AddGeofences", geofences=[{**HOME, "notify_on_exit": False}])
        self.check_left(daemon, assistant, backend)
        daemon.call("RemoveGeofences", ids=ALL)
        vehicle.stay(OUTSIDE, 11)
        self.check_left(daemon, assistant, backend)

    def test_a_fence_that_never_reports_exits_is_left_at_once(self):
        vehicle, daemon, assistant, backend = self.home([{**HOME, "notify_on_exit": False}])
        self.check_left(daemon, assistant, backend)
        vehicle.stay(OUTSIDE, 11)
        daemon.call("RemoveGeofences", ids=ALL)
        self.check_left(daemon, assistant, backend)

    def test_without_owntracks_such_a_fence_is_as_it_was(self):
        backend = self.backend()
        vehicle, daemon = self.fenced([{**HOME, "notify_on_exit": False}], sync={"url": backend.url})
        vehicle.settle(INSIDE)
        vehicle.stay(OUTSIDE, 11)
        vehicle.stay(INSIDE, 2)
        wait_for(lambda: len(self.crossings(backend)) >= 2, "two entries")
        self.assertEqual([event["type"] for event in self.crossings(backend)], ["enter", "enter"])

    def test_templates_get_such_an_exit(self):
        bodies: list = []

        class Receiver(PostServer):
            def take(self, query, body):
                bodies.append(json.loads(body))
                return 200, b""

        receiver = Receiver()
        self.addCleanup(receiver.stop)
        vehicle, daemon = self.fenced(sync={"url": receiver.url, "format": "template"})
        vehicle.settle(INSIDE)
        wait_for(lambda: bodies or daemon.call("GetGeofenceEvents")["events"], "the entry")
        daemon.call("RemoveGeofences", ids=ALL)
        self.drain_one(daemon, "main")
        records = [record for body in bodies for record in body["location"]]
        self.assertEqual([record["geofence"]["action"] for record in records], ["ENTER", "EXIT"])


class SilenceTests(LeaveTest):
    """`geofence_events = false`: transitions are kept to oneself."""

    def test_nothing_is_owed_to_such_a_destination(self):
        vehicle, daemon, assistant, backend = self.home(home={"geofence_events": False})
        vehicle.stay(OUTSIDE, 11)
        wait_for(lambda: len(self.crossings(backend)) == 2, "left")
        self.drain(daemon)
        self.assertEqual(assistant.told, [])
        self.assertGreater(assistant.locations, 0)
        self.assertEqual([event["type"] for event in self.crossings(backend)], ["enter", "exit"])

    def away(self) -> tuple:
        """Home Assistant knows of an entry; of the exit, and of another fence that was entered and left, it does not yet."""
        vehicle, daemon, assistant, backend = self.home()
        assistant.status = 503
        vehicle.stay(OUTSIDE, 11)
        self.wait_kinds(daemon, "exit", 1)
        daemon.call("AddGeofences", geofences=[{**HOME, "id": "other"}])
        vehicle.stay(INSIDE, 11)
        self.wait_kinds(daemon, "enter", 2)
        daemon.call("RemoveGeofences", ids=["other", "home"])
        self.wait_kinds(daemon, "exit", 3)
        daemon.wait_status(lambda status: next(
            one for one in status["destinations"] if one["name"] == "home")["sync"].get("last_http_status") == 503, "it failed")
        return vehicle, daemon, assistant, backend

    def wait_kinds(self, daemon, kind: str, count: int):
        wait_for(lambda: self.kinds(daemon.call("GetGeofenceEvents")["events"]).count(kind) == count, f"{count} times {kind}")

    def test_what_is_owed_already_is_owed_no_more_but_for_the_leave_of_what_it_was_told(self):
        _, daemon, assistant, backend = self.away()
        daemon.configure(**{"destination.home": {"geofence_events": False}})
        daemon.reload()
        wait_for(lambda: len(daemon.call("GetGeofenceEvents")["events"]) <= 1, "the others wait for nobody")
        assistant.status = 200
        self.drain(daemon)
        self.assertEqual(assistant.told, [("enter", "home"), ("leave", "home")])
        wait_for(lambda: "events are not sent to home" in daemon.text(), "a word in the log")
        self.assertEqual(len(self.crossings(backend)), 6)
        wait_for(lambda: not daemon.call("GetGeofenceEvents")["events"], "nothing waits")

    def test_kills_around_that_setting(self):
        """Whenever it dies: told of the exit, and of nothing else."""
        _, daemon, assistant, backend = self.away()
        daemon.configure(**{"destination.home": {"geofence_events": False}})
        for _ in range(4):
            daemon.connect().send("Reload")
            daemon.kill()
            daemon.start()
        assistant.status = 200
        self.drain(daemon)
        self.assertEqual(assistant.told, [("enter", "home"), ("leave", "home")])
        self.assertEqual(assistant.regions, [])

    def test_a_destination_that_carries_other_events_carries_those_alone(self):
        backend = self.backend()
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": backend.url, "geofence_events": False},
                             vehicle={"ignition": "manual", "events": ["ignition"]}).start()
        daemon.call("Start")
        daemon.call("AddGeofences", geofences=[HOME])
        vehicle = Vehicle(fake)
        vehicle.settle(INSIDE)
        daemon.call("SetIgnition", on=True)
        daemon.call("SetIgnition", on=False)
        vehicle.stay(OUTSIDE, 11)
        self.events(daemon, 2)
        wait_for(lambda: daemon.call("Sync")["pending"] == 0, "everything has gone")
        self.assertEqual(self.crossings(backend), [])
        self.assertEqual([event["type"] for request in backend.requests for event in request.root.get("events", [])],
                         ["on", "off"])
        # It is kept for us, and waits for nobody.
        self.assertEqual(self.kinds(daemon.call("GetGeofenceEvents")["events"]), ["enter", "exit"])


class DeathTests(LeaveTest):
    def test_kills_around_a_removal(self):
        """Exactly one exit for each entry, and never none once the removal was answered."""
        vehicle, daemon = self.fenced([], tracking={"interval_seconds": 0, "distance_meters": 0})
        self.enter(vehicle, daemon, "counted")
        places = places_of(daemon, lambda: daemon.call("RemoveGeofences", ids=["counted"]))
        self.assertGreater(places, 8)
        outcomes = []
        for place in range(1, places + 1):
            with self.subTest(place=place):
                outcomes.append(self.one(vehicle, daemon, place))
        print(f"removals: {places} kills, {sum(outcomes)} once it was done")
        self.assertEqual([done for done, _ in itertools.groupby(outcomes)], [False, True])

    def enter(self, vehicle, daemon, name: str):
        daemon.call("AddGeofences", geofences=[{**HOME, "id": name}])
        vehicle.settle(INSIDE)
        wait_for(lambda: self.inside(daemon) == [True], "inside")

    def one(self, vehicle, daemon, place: int) -> bool:
        """A removal that is killed there; whether the fence is gone."""
        name = f"fence {place}"
        self.enter(vehicle, daemon, name)
        answered = []
        with killed_at(daemon, place):
            answered.append(daemon.call("RemoveGeofences", ids=[name]))
        wait_for(lambda: vehicle.fake.watchers == 0, "gpsd has noticed")
        daemon.start()
        fences = daemon.call("ListGeofences")["geofences"]
        found = [event for event in daemon.call("GetGeofenceEvents")["events"] if event["geofence_id"] == name]
        kinds = self.kinds(found)
        if answered:
            self.assertEqual((fences, kinds), ([], ["enter", "exit"]))
        elif fences:
            # Whatever the exit says, the fence is entered anew, or the vehicle is in it still.
            self.assertEqual(fences[0].get("inside"), None if kinds[-1] == "exit" else True)
            daemon.call("RemoveGeofences", ids=[name])
            found = [event for event in daemon.call("GetGeofenceEvents")["events"] if event["geofence_id"] == name]
            kinds = self.kinds(found)
        self.assertEqual(kinds, ["enter", "exit"])
        return not fences


if __name__ == "__main__":
    unittest.main()
