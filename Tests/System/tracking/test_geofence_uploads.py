"""Events of geofences on their way to the backend: when, with what, again, and refused."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import from_iso
from support.geofence_test import HOME, INSIDE, OUTSIDE, GeofenceTest
from support.waiting import wait_for


class UploadTests(GeofenceTest):
    def uploading(self, answers=(), **sync) -> tuple:
        receiver = self.backend(answers=answers)
        vehicle, daemon = self.fenced(sync={"url": receiver.url, **sync})
        return receiver, vehicle, daemon

    def check(self, receiver):
        self.assertEqual(receiver.faults(), [])
        self.assertEqual(receiver.problems, [])

    def test_an_event_is_uploaded_at_once(self):
        receiver, vehicle, daemon = self.uploading()
        entered = vehicle.settle(INSIDE)
        root = receiver.wait_requests(1)[0].root
        daemon.wait_status(lambda status: status["sync"]["state"] == "idle", "everything is acknowledged")
        self.assertEqual(root["locations"], [])
        self.assertEqual(
            [(event["geofence_id"], event["type"], from_iso(event["timestamp"])) for event in root["geofence_events"]],
            [("home", "enter", entered)])
        self.assertEqual(set(root["geofence_events"][0]), {"id", "geofence_id", "type", "timestamp"})
        # Acknowledged events are deleted.
        self.assertEqual(daemon.call("GetGeofenceEvents")["events"], [])
        daemon.wait_status(lambda status: status["sync"]["uploaded"] == 1, "one upload")
        self.check(receiver)

    def test_the_crossing_fix_passes_the_gate_and_travels_with_its_event(self):
        receiver, vehicle, daemon = self.uploading()
        daemon.configure(tracking={"interval_seconds": 86_400, "distance_meters": 100_000}, extras={"driver": "8"})
        daemon.terminate()
        daemon.start()
        session = daemon.call("Start")["session_id"]
        vehicle.settle(OUTSIDE)
        vehicle.stay(OUTSIDE, 12)
        entered = vehicle.stay(INSIDE, 3)[0]
        request = receiver.wait_requests(1)[0].root
        self.assertEqual(request["session_id"], session)
        self.assertEqual(request["extras"], {"driver": "8"})
        self.assertEqual([row["trigger"] for row in request["locations"]], ["interval", "geofence"])
        # The fix that confirmed it; the event belongs to the first that showed it.
        self.assertEqual(from_iso(request["locations"][1]["timestamp"]), entered + 1000)
        self.assertEqual([from_iso(event["timestamp"]) for event in request["geofence_events"]], [entered])
        wait_for(lambda: daemon.status()["sync"]["pending"] == 0, "everything is acknowledged")
        self.check(receiver)

    def test_batches_are_filled_with_events(self):
        fences = [{**HOME, "id": f"f{index}", "radius_meters": 100.0 + index} for index in range(7)]
        receiver = self.backend()
        receiver.answers = [503]
        vehicle, daemon = self.fenced(fences, sync={"url": receiver.url, "batch_size": 3})
        vehicle.settle(INSIDE)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 7, "seven events are pending")
        # The attempt that the first event triggers by itself.
        daemon.wait_status(lambda status: status["sync"].get("last_http_status") == 503, "a failed attempt")
        daemon.sync()
        sizes = [len(request.event_ids) for request in receiver.requests if request.status == 200]
        self.assertEqual(sizes, [3, 3, 1])
        self.assertEqual(len(receiver.event_ids), 7)
        self.check(receiver)

    def test_the_same_bytes_after_a_kill(self):
        receiver, vehicle, daemon = self.uploading()
        receiver.hold()
        vehicle.settle(INSIDE)
        first = receiver.wait_requests(1)[0]
        daemon.wait_status(lambda status: status["sync"].get("in_flight_batch") == first.batch_id, "it is in flight")
        daemon.kill()
        receiver.go_on()
        daemon.start()
        daemon.sync()
        again = receiver.requests[1]
        self.assertEqual((again.batch_id, again.sha256), (first.batch_id, first.sha256))
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM events"), [(0,)])

    def test_rejected_events_are_dead_letters(self):
        receiver, vehicle, daemon = self.uploading([422])
        vehicle.settle(INSIDE)
        daemon.wait_status(lambda status: status["sync"]["rejected"] == 1, "a dead letter")
        self.assertEqual(daemon.status()["sync"]["pending"], 0)
        letters = daemon.call("GetRejected")["rejected"]
        self.assertEqual([(letter["geofence_event"]["type"], letter["http_status"]) for letter in letters],
                         [("enter", 422)])
        self.assertEqual(daemon.call("RetryRejected"), {"requeued": 1})
        wait_for(lambda: receiver.event_ids, "it is accepted at last")
        self.assertEqual(list(receiver.event_ids), [letters[0]["geofence_event"]["id"]])
        wait_for(lambda: daemon.status()["sync"]["pending"] == 0, "everything is acknowledged")
        self.assertEqual(daemon.status()["sync"]["rejected"], 0)

    def test_isolation_finds_the_event_at_fault(self):
        receiver = self.backend(answers=[503])
        fences = [{**HOME, "id": name} for name in ("a", "poison", "z")]
        vehicle, daemon = self.fenced(fences, sync={"url": receiver.url, "on_reject": "isolate"})
        daemon.call("Start")
        vehicle.settle(INSIDE)
        receiver.wait_requests(1)
        daemon.wait_status(lambda status: status["sync"].get("last_http_status") == 503, "a failed attempt")
        poison = {event["id"] for event in receiver.requests[0].root["geofence_events"]
                  if event["geofence_id"] == "poison"}
        receiver.refuse(lambda request: poison.intersection(request.event_ids))
        daemon.sync()
        self.assertEqual(daemon.status()["sync"]["pending"], 0)
        letters = daemon.call("GetRejected")["rejected"]
        self.assertEqual([letter["geofence_event"]["id"] for letter in letters], list(poison))
        self.assertEqual(len(receiver.event_ids), 2)

    def test_deletion_takes_events_and_dissolves_their_batch(self):
        receiver = self.backend(answers=[503] * 9)
        vehicle, daemon = self.fenced(sync={"url": receiver.url})
        entered = vehicle.settle(INSIDE)
        daemon.wait_status(lambda status: status["sync"].get("last_http_status") == 503, "a failed attempt")
        vehicle.stay(OUTSIDE, 11)
        events = self.events(daemon, 2)
        self.assertEqual(daemon.call("DeleteLocations", before=events[0]["timestamp"]), {"removed": 1})
        self.assertEqual(daemon.call("GetGeofenceEvents")["events"], events[1:])
        self.assertEqual(daemon.query("SELECT COUNT(*) FROM batches"), [(0,)])
        self.assertEqual(daemon.status()["sync"]["pending"], 1)
        self.assertEqual(from_iso(events[0]["timestamp"]), entered)
        receiver.answers = []
        daemon.sync()
        self.assertEqual(list(receiver.event_ids), [events[1]["id"]])


if __name__ == "__main__":
    unittest.main()
