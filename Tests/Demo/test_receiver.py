"""The demo receiver must be right before it may judge the daemon: python3 -m unittest discover Tests/Demo"""
import gzip
import http.client
import json
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "etc" / "demo"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "System"))

from receiver import Receiver
from support.ports import new_port

FIX_TIME = 1781526850000
HEADERS = {"Content-Type": "application/json", "Content-Encoding": "gzip", "User-Agent": "beekond/0.1.0"}


def uuid7(milliseconds=FIX_TIME):
    digits = f"{milliseconds:012x}7{random.getrandbits(12):03x}8{random.getrandbits(60):015x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def location(milliseconds=FIX_TIME, **changes):
    row = {
        "id": uuid7(milliseconds), "timestamp": "2026-06-15T12:34:10.000Z", "trigger": "interval",
        "motion": "moving", "is_mock": False, "latitude": 37.7749, "longitude": -122.4194, "accuracy": 5.2,
        "speed": 2.5, "bearing": 180, "altitude": 14.3,
    }
    row.update(changes)
    return row


def batch(rows, **changes):
    root = {
        "schema_version": 1, "batch_id": uuid7(), "session_id": uuid7(), "sent_at": "2026-06-15T12:34:56.789Z",
        "device": {"install_id": uuid7(), "platform": "linux", "sdk_version": "0.1.0"},
        "extras": {"driver": "7"}, "locations": rows, "geofence_events": [],
    }
    root.update(changes)
    return root


def pack(root):
    text = root if isinstance(root, str) else json.dumps(root, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


class ReceiverTests(unittest.TestCase):
    def serve(self, **options):
        receiver = Receiver(new_port(), **options).start()
        self.addCleanup(receiver.stop)
        return receiver

    def post(self, receiver, body, headers=HEADERS):
        """The status, or None if the connection ended without one."""
        link = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=60)
        try:
            link.request("POST", "/locations", body, headers)
            answer = link.getresponse()
            answer.read()
            self.retry_after = answer.getheader("Retry-After")
            return answer.status
        except http.client.RemoteDisconnected:
            return None
        finally:
            link.close()

    def problems(self, root):
        receiver = self.serve()
        self.post(receiver, pack(root))
        return receiver.problems

    def test_good_batch(self):
        receiver = self.serve()
        row = location(activity="walking", quality="low_accuracy")
        root = batch([row], geofence_events=[
            {"id": uuid7(), "geofence_id": "home", "type": "exit", "timestamp": "2026-06-15T12:34:05.000Z"}])
        self.assertEqual(self.post(receiver, pack(root)), 200)
        self.assertEqual(receiver.problems, [])
        self.assertEqual(receiver.ids, {row["id"]: root["batch_id"]})
        self.assertTrue(receiver.batches[root["batch_id"]].stored)

    def test_each_fault_of_a_location_is_found(self):
        faults: list = [
            ({"speed": None}, "null"), ({"bearing": 360}, "range"), ({"bearing": 180.0}, "180 is meant"),
            ({"latitude": 91}, "range"), ({"latitude": "1"}, "no number"), ({"extra": 1}, "not a field"),
            ({"timestamp": "2026-06-15T12:34:10Z"}, "three fractional"), ({"trigger": "Interval"}, "range"),
            ({"timestamp": "2026-02-30T12:34:10.000Z"}, "no date"), ({"is_mock": 0}, "neither"),
            ({"altitude": -0.0}, "0 is meant"), ({"id": "x"}, "UUIDv7"), ({"id": uuid7(5)}, "minted"),
        ]
        for change, expected in faults:
            with self.subTest(change):
                found = self.problems(batch([location(**change)]))
                self.assertEqual(len(found), 1, found)
                self.assertIn(expected, found[0])

    def test_each_fault_of_the_envelope_is_found(self):
        twice = location()
        reordered = dict(reversed(list(batch([location()]).items())))
        good = json.dumps(batch([location()]), separators=(",", ":"))
        for root, expected in [
            (reordered, "order"), (batch([location()], extras={}), "omitted"), (batch([]), "empty"),
            (batch([twice, twice]), "twice"), (batch([location()], schema_version=2), "range"),
            (batch([location()], extras={"n": 1}), "no text"),
            (good.replace("37.7749", "37.77490"), "shortest"), (good.replace('{"id"', '{"motion":"moving","id"'), "twice"),
        ]:
            with self.subTest(expected):
                self.assertIn(expected, " ".join(self.problems(root)))

    def test_unreadable_is_refused(self):
        for body in (b"junk", b"", pack("{}")[:-4], pack('{"a":NaN}'), pack("[" * 100_000)):
            receiver = self.serve()
            self.assertEqual(self.post(receiver, body), 400)
            self.assertEqual(len(receiver.problems), 1)

    def test_scripted_answers_and_stored_only_when_accepted(self):
        receiver = self.serve(answers=[503, "close", "drop", 200], retry_after=7)
        root = batch([location()])
        self.assertEqual(self.post(receiver, pack(root)), 503)
        self.assertEqual(self.retry_after, "7")
        self.assertIsNone(self.post(receiver, pack(root)))
        self.assertEqual(receiver.ids, {})
        self.assertIsNone(self.post(receiver, pack(root)))
        self.assertEqual(len(receiver.ids), 1)
        self.assertEqual(self.post(receiver, pack(root)), 200)
        self.assertEqual([request.duplicate for request in receiver.requests], [False, False, False, True])
        self.assertEqual(receiver.problems, [])

    def test_drop_ack_every(self):
        receiver = self.serve(drop_ack_every=3)
        answers = [self.post(receiver, pack(batch([location()]))) for _ in range(6)]
        self.assertEqual(answers, [200, 200, None, 200, 200, None])
        self.assertEqual(len(receiver.ids), 6)

    def test_same_batch_other_bytes(self):
        receiver = self.serve()
        root = batch([location()])
        self.post(receiver, pack(root))
        root["locations"][0]["speed"] = 3.5
        self.post(receiver, pack(root))
        self.assertIn("other bytes", receiver.problems[0])

    def test_an_id_stays_in_its_batch_unless_that_was_refused_for_good(self):
        for status, allowed in ((413, True), (400, True), (503, False), ("drop", False), (200, False)):
            with self.subTest(status):
                receiver = self.serve(answers=[status])
                row = location()
                self.post(receiver, pack(batch([row])))
                self.post(receiver, pack(batch([row])))
                self.assertEqual(receiver.problems == [], allowed)

    def test_store_is_known_again_after_a_restart(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "received.jsonl")
            root = batch([location()])
            first = Receiver(new_port(), store=path).start()
            self.post(first, pack(root))
            first.stop()
            with open(path, "a", encoding="utf-8") as file:
                file.write('{"batch_id": "cut o')
            second = self.serve(store=path)
            self.assertEqual(self.post(second, pack(root)), 200)
            self.assertTrue(second.requests[0].duplicate)
            self.assertEqual(second.problems, [])


if __name__ == "__main__":
    unittest.main()
