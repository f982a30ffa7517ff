"""Geofences of a server: a person's stop ends what they tell, at once and for as long as it holds.

BEEKOND_LONG=1 kills the daemon at each place of a stop; otherwise at some, other ones with each commit.
"""
from __future__ import annotations

import json
import os
import sqlite3
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import Clocks
from support.command_server import CommandServer
from support.command_test import ALL, FENCE, CommandTest
from support.fake_gpsd import from_iso
from support.geofence_test import INSIDE, Vehicle
from support.places import killed_at, places_of
from support.post_server import PostServer
from support.seeds import sample
from support.waiting import let_pass, never, wait_for

# Places of a stop, unless it is all of them.
FEW = 7
# Metres north of the centre of FENCE, whose radius is 200 m.
OUTSIDE = 700
FAR = {"id": "far", "latitude": 51.0, "longitude": 8.0, "radius_meters": 200.0}


class OwnTracks(PostServer):
    """Takes messages."""

    def __init__(self):
        self.messages: list[dict] = []
        super().__init__()

    def take(self, query, body):
        self.messages.append(json.loads(body))
        return 200, b"[]"


class ServerFencesTest(CommandTest):
    def tracked(self, server: CommandServer, fences=(FENCE,), by_person=(), prepare=lambda daemon: None,
                **sections) -> tuple:
        """A vehicle that tracks, with fences of its server and of a person, and has been inside those around it."""
        fake = self.fake()
        daemon = self.daemon(
            fake.port, sync={"url": server.url, "interval_seconds": 3600},
            # Vehicles jump in these tests, every fix is stored, and what was sent can still be looked at.
            store={"keep_uploaded": True},
            tracking={"implausible_speed_mps": 1_000_000, "interval_seconds": 0, "distance_meters": 0},
            **{"sync.commands": {"enabled": True, "allow": ALL, "settings": ["tracking.angle_degrees"]}}, **sections)
        prepare(daemon)
        daemon.start()
        daemon.call("Start")
        vehicle = Vehicle(fake)
        vehicle.settle(OUTSIDE)
        daemon.wait_stored(3)
        if by_person:
            daemon.call("AddGeofences", geofences=list(by_person))
            # What a server adds is told by its time from what was there.
            let_pass(1)
        self.give(vehicle, daemon, server, "add_geofences", OUTSIDE, geofences=list(fences))
        before = len(self.told(daemon))
        inside = sum(fence["latitude"] == 50 for fence in (*fences, *by_person))
        vehicle.stay(INSIDE, 2)
        wait_for(lambda: len(self.told(daemon)) >= before + inside, lambda: f"entered: {self.told(daemon)}")
        daemon.wait_status(lambda status: status["last_location"]["latitude"] < 50.001, "the fixes inside are stored")
        return vehicle, daemon

    def give(self, vehicle, daemon, server, name: str, north: float = INSIDE, **arguments) -> dict:
        """The result of a command, which the daemon knows to have arrived. There is always something to be sent to the server."""
        identity = server.command(name, **arguments)
        daemon.sync_until(lambda answer: identity in server.results or not vehicle.stay(north), f"a result of {name}")
        daemon.wait_status(lambda status: not {"commands", "results"} & set(status["sync"]), "the server has the results")
        return server.results[identity][0]

    def told(self, daemon) -> list:
        """All crossings: the fence, what, and why."""
        return [(event["geofence_id"], event["type"], event.get("reason"))
                for event in daemon.call("GetGeofenceEvents")["events"]]

    def pass_by(self, vehicle, daemon):
        """Fixes inside the fence and beyond it, which the daemon has read, if anybody needs them."""
        before = daemon.status()["source"]["fixes"]
        vehicle.stay(INSIDE, 4)
        vehicle.stay(OUTSIDE, 15)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= before + 19, "all fixes have been read")

    def inside(self, daemon) -> dict:
        return {fence["id"]: fence.get("inside") for fence in daemon.call("ListGeofences")["geofences"]}


class StopTests(ServerFencesTest):
    def test_a_persons_stop_ends_what_they_tell(self):
        server = self.server()
        vehicle, daemon = self.tracked(server, fences=(FENCE, FAR, {**FENCE, "id": "quiet", "notify_on_exit": False}))
        last = daemon.status()["last_location"]
        session = daemon.status()["session_id"]
        daemon.call("Stop")
        told = [("depot", "enter", None), ("quiet", "enter", None), ("depot", "exit", "stopped"),
                # Nothing is told after this: without it the server would take the vehicle to be there.
                ("quiet", "exit", "stopped")]
        self.assertEqual(self.told(daemon), told)
        left = daemon.call("GetGeofenceEvents")["events"][2]
        self.assertEqual(left["session_id"], session)
        self.assertGreaterEqual(from_iso(left["timestamp"]), from_iso(last["timestamp"]))
        self.assertEqual(self.inside(daemon), {"depot": None, "far": None, "quiet": None})
        wait_for(lambda: vehicle.fake.watchers == 0, "gpsd is released")
        daemon.wait_health("released")
        # The server hears of the end.
        daemon.sync_until(lambda answer: answer["pending"] == 0, "all is sent")
        sent = [event for envelope in server.envelopes for event in envelope.root["geofence_events"]]
        self.assertEqual([(event["geofence_id"], event["type"], event.get("reason")) for event in sent], told)
        self.assertEqual(sent[2]["timestamp"], left["timestamp"])
        # Over a restart, too, until a person starts: then it is entered anew.
        daemon.kill()
        daemon.start()
        never(lambda: vehicle.fake.watchers, "a connection to gpsd that nothing needs")
        daemon.call("Start")
        vehicle.settle(INSIDE)
        wait_for(lambda: self.told(daemon) == [*told, *told[:2]], lambda: f"entered anew: {self.told(daemon)}")

    def test_fences_of_a_person_go_on_alone(self):
        server = self.server()
        vehicle, daemon = self.tracked(server, fences=({**FENCE, "dwell_seconds": 30},),
                                       by_person=({**FENCE, "id": "home"},))
        daemon.call("Stop")
        told = [("home", "enter", None), ("depot", "enter", None), ("depot", "exit", "stopped")]
        self.assertEqual(sorted(self.told(daemon)), sorted(told))
        last = daemon.status()["last_location"]
        # Long enough for a stay, which is over.
        before = daemon.status()["source"]["fixes"]
        vehicle.stay(INSIDE, 60)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= before + 60, "all fixes have been read")
        self.pass_by(vehicle, daemon)
        self.pass_by(vehicle, daemon)
        self.assertEqual(self.told(daemon)[3:], [("home", kind, None) for kind in ("exit", "enter", "exit")])
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM events WHERE kind = 2"), [(0,)], "no stay")
        self.assertEqual(daemon.status()["last_location"]["id"], last["id"])
        daemon.sync_until(lambda answer: answer["pending"] == 0, "all is sent")
        sent = [event for envelope in server.envelopes for event in envelope.root["geofence_events"]]
        self.assertEqual([(event["type"], event.get("reason")) for event in sent if event["geofence_id"] == "depot"],
                         [("enter", None), ("exit", "stopped")])
        # That it goes tells nothing more.
        daemon.call("RemoveGeofences", ids=["depot"])
        self.assertEqual(self.told(daemon)[6:], [])

    def test_a_stop_of_others_ends_nothing(self):
        server = self.server()
        vehicle, daemon = self.tracked(server)
        self.assertTrue(self.give(vehicle, daemon, server, "stop")["ok"])
        self.pass_by(vehicle, daemon)
        wait_for(lambda: self.told(daemon) == [("depot", "enter", None), ("depot", "exit", None)], "it is left")
        vehicle.stay(INSIDE, 2)
        wait_for(lambda: len(self.told(daemon)) == 3, "it is entered again")
        # A person who stops what has been stopped makes it hold.
        daemon.call("Stop")
        self.assertEqual(self.told(daemon)[3:], [("depot", "exit", "stopped")])
        wait_for(lambda: vehicle.fake.watchers == 0, "gpsd is released")

    def test_an_owntracks_server_is_told_that_it_was_left(self):
        other = OwnTracks()
        self.addCleanup(other.stop)
        server, clocks = self.server(), []
        vehicle, daemon = self.tracked(
            server, by_person=({**FAR, "id": "mine", "longitude": 9.0},),
            prepare=lambda daemon: clocks.append(Clocks(daemon)),
            **{"destination.home": {"url": other.url, "format": "owntracks", "device_id": "van", "interval_seconds": 3600,
                                    "heartbeat_seconds": 60}})
        last = daemon.status()["last_location"]
        daemon.call("Stop")
        # What the fence of a person reads meanwhile is shown to nobody.
        self.pass_by(vehicle, daemon)
        wait_for(lambda: daemon.call("Sync", destination="home")["pending"] == 0, "all is sent")
        self.assertEqual([(message["event"], message["desc"]) for message in other.messages if "event" in message],
                         [("enter", "depot"), ("leave", "depot")])
        leave = [message for message in other.messages if "event" in message][1]
        self.assertAlmostEqual(leave["lat"], last["latitude"], places=5)
        clocks[0].suspend(61)
        wait_for(lambda: daemon.call("Sync", destination="home") and other.messages[-1].get("t") == "p", "a ping")
        self.assertAlmostEqual(other.messages[-1]["lat"], last["latitude"], places=5)
        self.assertEqual(other.messages[-1]["tst"], from_iso(last["timestamp"]) // 1000)


class OriginTests(ServerFencesTest):
    def test_whose_a_fence_is(self):
        server = self.server()
        vehicle, daemon = self.tracked(server, fences=(FENCE, {**FENCE, "id": "taken"}), by_person=({**FENCE, "id": "home"},))
        # Another shape of what is a person's: all of the command is refused.
        answer = self.give(vehicle, daemon, server, "add_geofences",
                           geofences=[{**FAR, "id": "new"}, {**FENCE, "id": "home", "radius_meters": 201.0}])
        self.assertFalse(answer["ok"])
        self.assertTrue(answer["error"].startswith("exists: home"), answer)
        self.assertEqual(set(self.inside(daemon)), {"home", "depot", "taken"})
        # The same shape again leaves it whose it was, and another shape of a person's makes it a person's.
        self.assertTrue(self.give(vehicle, daemon, server, "add_geofences", geofences=[{**FENCE, "id": "home"}])["ok"])
        daemon.call("AddGeofences", geofences=[FENCE, {**FENCE, "id": "taken", "radius_meters": 210.0}])
        daemon.kill()
        daemon.start()
        daemon.call("Stop")
        self.assertEqual([told for told in self.told(daemon) if told[2] == "stopped"], [("depot", "exit", "stopped")])
        # Nor may the server take over what is a person's now.
        daemon.call("Start")
        vehicle.settle(INSIDE)
        answer = self.give(vehicle, daemon, server, "add_geofences", geofences=[{**FENCE, "id": "taken"}])
        self.assertTrue(answer["error"].startswith("exists: taken"), answer)

    def test_fences_from_before_they_remembered(self):
        server = self.server()
        _, daemon = self.tracked(server, by_person=({**FENCE, "id": "home"},))
        daemon.terminate()
        for name in ("geofences.json", "geofences.json.copy"):
            path = os.path.join(daemon.state, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    content = json.load(file)
                content["geofences"] = [{key: value for key, value in fence.items() if key != "origin"}
                                        for fence in content["geofences"]]
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(content, file)
        # The second start finds what the first has found out, whatever has become of the journal.
        daemon.start()
        daemon.terminate()
        link = sqlite3.connect(os.path.join(daemon.state, "beekon.db"))
        with link:
            link.execute("DELETE FROM commands")
        link.close()
        daemon.start()
        daemon.call("Stop")
        self.assertEqual([told for told in self.told(daemon) if told[2]], [("depot", "exit", "stopped")])


class CutTests(ServerFencesTest):
    FENCES = tuple({**FENCE, "id": f"depot {number}"} for number in range(4))

    def one(self, place: int | None) -> tuple:
        """A stop that is killed there, or a whole one: how many places it has, and whether tracking had stopped."""
        server = self.server()
        vehicle, daemon = self.tracked(server, self.FENCES, by_person=({**FENCE, "id": "home"},))
        daemon.sync_until(lambda answer: answer["pending"] == 0, "all is sent")
        before, session = self.told(daemon), daemon.status()["session_id"]
        places = 0
        if place is None:
            places = places_of(daemon, lambda: daemon.call("Stop"))
        else:
            with killed_at(daemon, place):
                daemon.call("Stop")
            daemon.start()
        has_stopped = daemon.status()["state"] == "stopped"
        expected = [(fence["id"], "exit", "stopped") for fence in self.FENCES] if has_stopped else []
        new = daemon.call("GetGeofenceEvents")["events"][len(before):]
        found = [(event["geofence_id"], event["type"], event.get("reason")) for event in new]
        self.assertEqual(sorted(found), sorted(expected))
        self.assertEqual(len({event["timestamp"] for event in new}), 1 if has_stopped else 0, "at one moment")
        self.assertEqual({event["session_id"] for event in new} - {session}, set())
        self.assertEqual({name: state for name, state in self.inside(daemon).items() if name != "home"},
                         {fence["id"]: None if has_stopped else True for fence in self.FENCES})
        # Each once, to the server too.
        daemon.sync_until(lambda answer: answer["pending"] == 0, "all is sent")
        sent = [event["id"] for envelope in server.envelopes for event in envelope.root["geofence_events"]
                if event.get("reason") == "stopped"]
        self.assertEqual(len(set(sent)), len(expected))
        vehicle.fake.stop()
        daemon.kill()
        server.stop()
        self.receivers.clear()
        return places, has_stopped

    def test_a_cut_at_every_place(self):
        places, _ = self.one(None)
        self.assertGreater(places, 10)
        # The first of them, and the last, are always among them.
        chosen = sorted({1, places, *sample("the stop", places, FEW)})
        stopped = set()
        for place in chosen:
            with self.subTest(place=place):
                stopped.add(self.one(place)[1])
        print(f"\n  {len(chosen)} cuts at {places} places; the stop and its exits are there, or neither")
        self.assertEqual(stopped, {True, False}, "before and after")


if __name__ == "__main__":
    unittest.main()
