"""The control socket: what each method does, and who is served when there are too many clients."""
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import INTERFACE, ConnectionClosed, Refusal
from support.control_test import ControlTest
from support.fake_gpsd import from_iso, iso
from support.interface import SERVICE, description
from support.waiting import wait_for


class ServiceTests(ControlTest):
    def test_info_and_description(self):
        daemon = self.daemon().start()
        info = daemon.call(SERVICE + ".GetInfo")
        self.assertEqual(sorted(info), ["interfaces", "product", "url", "vendor", "version"])
        self.assertEqual(info["version"], daemon.status()["version"])
        self.assertEqual(sorted(info["interfaces"]), sorted([INTERFACE, SERVICE]))
        served = daemon.call(SERVICE + ".GetInterfaceDescription", interface=INTERFACE)["description"]
        self.assertEqual(served, description())
        own = daemon.call(SERVICE + ".GetInterfaceDescription", interface=SERVICE)["description"]
        self.assertIn("interface " + SERVICE, own)
        parameters = self.refused(
            "InterfaceNotFound", daemon.connect(), SERVICE + ".GetInterfaceDescription", interface="org.example.x")
        self.assertEqual(parameters, {"interface": "org.example.x"})

    def test_unknown_names(self):
        client = self.daemon().start().connect()
        for method, name, parameters in (
            ("org.example.other.Method", "InterfaceNotFound", {"interface": "org.example.other"}),
            (INTERFACE + ".Fly", "MethodNotFound", {"method": INTERFACE + ".Fly"}),
            (SERVICE + ".Fly", "MethodNotFound", {"method": SERVICE + ".Fly"}),
        ):
            with self.subTest(method):
                self.assertEqual(self.refused(name, client, method), parameters)

    def test_every_method_is_there(self):
        client = self.daemon().start().connect()
        methods = re.findall(r"^method (\w+)", description(), re.M)
        self.assertGreaterEqual(len(methods), 24)
        for method in methods:
            with self.subTest(method):
                # No method has this parameter, and each says so.
                self.assertEqual(self.refused("InvalidParameter", client, method, no_such=1), {"parameter": "no_such"})


class StatusTests(ControlTest):
    def test_status_before_and_while_tracking(self):
        daemon = self.daemon().start()
        status = daemon.status()
        self.assertEqual(
            (status["state"], status["degraded"], status["geofences"], status["auth"]["state"]),
            ("idle", [], 0, "none"))
        self.assertRegex(status["install_id"], "^[0-9a-f]{8}-[0-9a-f]{4}-7")
        fake, tracking = self.tracking()
        fake.drive(1)
        status = tracking.wait_stored(2)
        self.assertEqual(status["source"]["device"], "/dev/ttyFAKE0")
        self.assertEqual((status["source"]["mode"], status["source"]["fixes"]), (3, 4))
        self.assertEqual(status["store"]["locations"], 2)
        self.assertGreater(status["store"]["bytes"], 0)
        self.assertEqual(status["gate"], {"admitted": 2, "too_soon": 0, "too_near": 2, "paused": 0, "motion": "moving"})
        location = status["last_location"]
        self.assertEqual((location["session_id"], from_iso(location["timestamp"])),
                         (status["session_id"], fake.next_ms - 1000))
        self.assertEqual((location["accuracy"], location["speed"], location["bearing"], location["altitude"]),
                         (4.5, 10, 0, 123.4))

    def test_install_id_survives_and_the_satellites_are_counted(self):
        fake, daemon = self.tracking()
        install_id = daemon.status()["install_id"]
        fake.report({"class": "SKY", "device": "/dev/ttyFAKE0", "satellites": [
            {"PRN": 1, "el": 10.0, "az": 20.0, "ss": 30.0, "used": True},
            {"PRN": 2, "el": 10.0, "az": 20.0, "ss": 30.0, "used": False},
            {"PRN": 3, "el": 10.0, "az": 20.0, "ss": 30.0, "used": True}]})
        fake.drive(1)
        source = daemon.wait_status(
            lambda status: status["source"].get("satellites_used") is not None, "a count of satellites")["source"]
        self.assertEqual((source["satellites_used"], source["satellites_visible"]), (2, 3))
        daemon.kill()
        self.assertEqual(daemon.start().status()["install_id"], install_id)

    def test_start_and_stop_twice(self):
        daemon = self.daemon().start()
        self.assertEqual(daemon.call("Stop"), {"state": "idle"})
        first = daemon.call("Start")
        self.assertEqual(daemon.call("Start"), first)
        self.assertEqual(first["state"], "tracking")
        self.assertEqual(daemon.call("Stop"), {"state": "stopped"})
        self.assertEqual(daemon.call("Stop"), {"state": "stopped"})
        status = daemon.status()
        self.assertEqual((status["state"], status["reason"]), ("stopped", "user"))
        second = daemon.call("Start")
        self.assertNotEqual(second["session_id"], first["session_id"])
        sessions = daemon.call("GetSessions")["sessions"]
        self.assertEqual([session["id"] for session in sessions], [first["session_id"], second["session_id"]])
        self.assertEqual([session.get("stopped_at") is None for session in sessions], [False, True])

    def test_sessions_also_count_uploaded_locations(self):
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url})
        fake.drive(4)
        daemon.wait_stored(5)
        daemon.sync()
        session = daemon.call("GetSessions")["sessions"][0]
        self.assertEqual(session["locations"], 5)
        self.assertAlmostEqual(session["distance_meters"], 40, delta=0.5)
        self.assertEqual(daemon.call("GetLocations")["locations"], [])

    def test_config_without_secrets(self):
        receiver = self.backend()
        daemon = self.daemon(
            tracking={"interval_seconds": 7},
            sync={"url": receiver.url.replace("http://", "http://user:hunter2@") + "?key=hunter3"},
            **{"sync.headers": {"X-Api-Key": "hunter4"}, "sync.auth": {"access_token": "hunter5"},
               "extras": {"vehicle": "truck-12"}}).start()
        settings = daemon.call("GetConfig")["settings"]
        values = {setting["key"]: setting["value"] for setting in settings}
        origins = {setting["key"]: setting["origin"] for setting in settings}
        self.assertEqual(len(values), len(settings))
        self.assertEqual((values["tracking.interval_seconds"], values["gpsd.host"]), (7, "127.0.0.1"))
        self.assertEqual(values["extras.vehicle"], "truck-12")
        self.assertRegex(origins["tracking.interval_seconds"], f"^{daemon.config}:\\d+$")
        self.assertEqual(origins["store.max_rows"], "default")
        self.assertIn("(set)", values["sync.headers.X-Api-Key"])
        with open(daemon.config, encoding="utf-8") as file:
            lines = file.read().splitlines()
        line = int(origins["tracking.interval_seconds"].rsplit(":", 1)[1])
        self.assertEqual(lines[line - 1], "interval_seconds = 7")
        # Nor is it anywhere else.
        daemon.sync()
        for text in (json.dumps(settings), json.dumps(daemon.status()), daemon.text()):
            self.assertNotIn("hunter", text)


class LocationTests(ControlTest):
    def test_range_is_inclusive_and_ascending(self):
        fake, daemon = self.tracking()
        times = fake.drive(6)
        daemon.wait_stored(7)
        both = daemon.call("GetLocations", **{"from": iso(times[1]), "to": iso(times[4])})["locations"]
        self.assertEqual([from_iso(row["timestamp"]) for row in both], times[1:5])
        self.assertEqual(len(daemon.call("GetLocations", **{"from": iso(times[5] + 1)})["locations"]), 0)
        self.assertEqual(len(daemon.call("GetLocations", to=iso(times[0] - 1))["locations"]), 1)
        # Another zone's offset, and fewer digits.
        text = iso(times[5])[:19] + "+00:00"
        self.assertEqual(len(daemon.call("GetLocations", **{"from": text})["locations"]), 1)
        for bad in ("yesterday", "", "2026-13-01T00:00:00Z", "2026-06-15"):
            with self.subTest(bad):
                parameters = self.refused("InvalidTime", daemon.connect(), "GetLocations", **{"from": bad})
                self.assertEqual(parameters, {"value": bad})

    def test_by_session(self):
        fake, daemon = self.tracking()
        first = daemon.status()["session_id"]
        daemon.call("Stop")
        second = daemon.call("Start")["session_id"]
        fake.settle()
        daemon.wait_stored(2)
        for session in (first, second):
            rows = daemon.call("GetLocations", session_id=session)["locations"]
            self.assertEqual([row["session_id"] for row in rows], [session])
        self.assertEqual(daemon.call("GetLocations", session_id="00000000-0000-7000-8000-000000000000")["locations"], [])

    def test_pages(self):
        fake, daemon = self.tracking(store={"durability": "normal"})
        fake.drive(2200)
        daemon.wait_stored(2201)
        client = daemon.connect()
        self.assertEqual(self.refused("TooMany", client, "GetLocations"), {"limit": 1000})
        pages = [page["locations"] for page in client.stream("GetLocations")]
        self.assertEqual([len(page) for page in pages], [1000, 1000, 201])
        times = [row["timestamp"] for page in pages for row in page]
        self.assertEqual(times, sorted(set(times)))
        # A single page does not need `more`.
        thousand = {"from": times[0], "to": times[999]}
        pages = [page["locations"] for page in client.stream("GetLocations", **thousand)]
        self.assertEqual([row["timestamp"] for page in pages for row in page], times[:1000])
        self.assertEqual(len(client.call("GetLocations", **thousand)["locations"]), 1000)
        # The connection can be used again after a stream, even after one that was abandoned.
        self.assertEqual(client.call("GetPendingUploadCount"), {"count": 2201})
        other = daemon.connect()
        other.send("GetLocations", {}, more=True)
        other.close()
        self.assertEqual(client.call("GetPendingUploadCount"), {"count": 2201})
        # While rows come and go between pages, each of the others is returned once.
        reader = daemon.connect()
        pages = reader.stream("GetLocations")
        first = next(pages)["locations"]
        daemon.call("DeleteLocations", before=times[10])
        rest = [row["timestamp"] for page in pages for row in page["locations"]]
        self.assertEqual([row["timestamp"] for row in first] + rest, times)

    def test_delete(self):
        fake, daemon = self.tracking()
        times = fake.drive(5)
        daemon.wait_stored(6)
        self.refused("InvalidParameter", daemon.connect(), "DeleteLocations", befor=iso(times[2]))
        self.refused("InvalidTime", daemon.connect(), "DeleteLocations", before="now-ish")
        self.refused("InvalidParameter", daemon.connect(), "DeleteLocations", before=5)
        self.assertEqual(len(daemon.stored_ids()), 6)
        self.assertEqual(daemon.call("DeleteLocations", before=iso(times[2])), {"removed": 5}, "and the trip's start")
        self.assertEqual([row[0] for row in daemon.query("SELECT ts FROM locations ORDER BY ts")], times[3:])
        self.assertEqual(daemon.call("DeleteLocations"), {"removed": 2})
        self.assertEqual(daemon.call("DeleteLocations"), {"removed": 0})
        # Tracking continues, and the session counts everything that was admitted.
        fake.drive(1)
        daemon.wait_stored(7)
        self.assertEqual(daemon.call("GetSessions")["sessions"][0]["locations"], 7)

    def test_delete_many(self):
        fake, daemon = self.tracking(store={"durability": "normal"})
        fake.drive(2500)
        daemon.wait_stored(2501)
        self.assertEqual(daemon.call("DeleteLocations"), {"removed": 2502}, "and the trip's start")

    def test_deleting_rows_of_a_batch_in_flight_dissolves_it(self):
        receiver = self.backend()
        receiver.hold()
        fake, daemon = self.tracking(sync={"url": receiver.url})
        times = fake.drive(4)
        daemon.wait_stored(5)
        daemon.ask_for_sync()
        first = receiver.wait_requests(1)[0]
        receiver.go_on()
        self.assertEqual(daemon.call("DeleteLocations", before=iso(times[1])), {"removed": 4}, "and the trip's start")
        second = receiver.wait_requests(2)[1]
        self.assertNotEqual(second.batch_id, first.batch_id)
        self.assertEqual(second.ids, first.ids[3:])
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")


class SubscriptionTests(ControlTest):
    def test_it_needs_more(self):
        client = self.daemon().start().connect()
        self.refused("ExpectedMore", client, "Subscribe")
        client.send("Subscribe", {"kinds": ["locaton"]}, more=True)
        with self.assertRaises(Refusal) as caught:
            client.receive()
        self.assertEqual(caught.exception.name, "InvalidParameter")

    def test_the_first_replies_are_the_present_state(self):
        fake, daemon = self.tracking()
        listener = self.listener(daemon)
        wait_for(lambda: listener.ids, "the latest location")
        daemon.call("Stop")
        wait_for(lambda: [e for e in listener.events if e.get("state") == "stopped"], "the end of tracking")
        events = list(listener.events)
        kinds = [event["kind"] for event in events]
        self.assertLess(kinds.index("state"), events.index(next(e for e in events if e.get("state") == "stopped")))
        self.assertEqual(events[kinds.index("state")]["state"], "tracking")
        location = events[kinds.index("location")]["location"]
        self.assertEqual(location, daemon.status()["last_location"])
        for event in events:
            payloads = {"location", "geofence_event", "state", "source", "sync", "auth"} & set(event)
            self.assertEqual({name for name in payloads if event[name] is not None}, {event["kind"]})

    def test_without_a_location_only_the_state(self):
        daemon = self.daemon().start()
        listener = self.listener(daemon, ["state", "location"])
        wait_for(lambda: listener.events, "an event")
        daemon.call("Start")
        wait_for(lambda: len(listener.events) >= 2, "two events")
        self.assertEqual([event["state"] for event in listener.events], ["idle", "tracking"])

    def test_kinds_filter(self):
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url})
        listeners = {kind: self.listener(daemon, [kind]) for kind in ("location", "state", "source", "sync")}
        # A subscriber that comes after the drive gets only its last location, and a stop may precede the last epoch.
        wait_for(lambda: all(listener.events for listener in listeners.values()), "the present state")
        fake.drive(2)
        daemon.wait_stored(3)
        daemon.sync()
        daemon.call("Stop")
        wait_for(lambda: len(listeners["location"].events) >= 3, "locations")
        wait_for(lambda: len(listeners["state"].events) >= 2, "states")
        wait_for(lambda: [e for e in listeners["source"].events if e["source"]["health"] == "released"], "the source")
        wait_for(lambda: [e for e in listeners["sync"].events if e["sync"]["uploaded"] == 3], "the upload")
        for kind, listener in listeners.items():
            self.assertEqual({event["kind"] for event in listener.events}, {kind})

    def test_a_location_is_announced_once_it_is_in_the_database(self):
        fake, daemon = self.tracking()
        listener = self.listener(daemon, ["location"])
        wait_for(lambda: listener.ids, "the latest location")
        for count in range(2, 40):
            fake.drive(1)
            wait_for(lambda: len(listener.ids) >= count, "the location")
            self.assertTrue(set(listener.ids) <= daemon.stored_ids())

    def test_a_client_that_never_reads_delays_nobody(self):
        fake, daemon = self.tracking(store={"durability": "normal"})
        sleeper = daemon.connect(receive_buffer=4096)
        sleeper.send("Subscribe", {"kinds": ["location"]}, more=True)
        listener = self.listener(daemon, ["location"])
        wait_for(lambda: listener.ids, "the subscription")
        count = 4000
        for _ in range(count // 50):
            before = len(listener.events)
            fake.drive(50)
            wait_for(lambda: len(listener.events) >= before + 50, "the others get every event")
        self.assertFalse(any(event.get("missed") for event in listener.events))
        daemon.wait_stored(count + 1)
        # Now it wakes up: it lost the oldest unread events and learns how many, or its connection is closed.
        received, missed = 0, 0
        try:
            while received + missed < count + 1:
                event = sleeper.receive()["event"]
                missed += event.get("missed") or 0
                received += 1
            self.assertEqual(event["location"]["id"], listener.ids[-1])
            self.assertGreater(missed, 0)
            self.assertEqual(received + missed, count + 1)
        except ConnectionClosed:
            self.assertLess(received, count)


if __name__ == "__main__":
    unittest.main()
