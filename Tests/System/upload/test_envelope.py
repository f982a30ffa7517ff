"""The schema of the envelope matches the documented format, and the ledger of locations detects every fault."""
import copy
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from typing import Any

from support import conservation
from support.conservation import Ledger, load_schema, shape_faults
from support.system_test import SystemTest

ONE = "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"
TWO = "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"
GOOD = {
    "schema_version": 1, "batch_id": ONE, "session_id": ONE, "sent_at": "2026-06-15T12:34:56.789Z",
    "device": {"install_id": ONE, "platform": "linux", "sdk_version": "0.1.0", "model": "Raspberry Pi 4"},
    "extras": {"user_id": "truck-12"},
    "locations": [{
        "id": ONE, "timestamp": "2026-06-15T12:34:10.000Z", "trigger": "interval", "motion": "moving", "is_mock": False,
        "latitude": 37.7749, "longitude": -122.4194, "accuracy": 5.2, "speed": 2.5, "bearing": 180, "altitude": 14.3}],
    "geofence_events": [{"id": ONE, "geofence_id": "home", "type": "exit", "timestamp": "2026-06-15T12:34:05.000Z"}],
}
MISSING = object()
# A place in the batch, and the value put there.
BAD = [
    *[((field,), MISSING) for field in ("schema_version", "batch_id", "session_id", "sent_at", "device", "locations",
                                        "geofence_events")],
    *[(("device", field), MISSING) for field in ("install_id", "platform", "sdk_version")],
    *[(("locations", 0, field), MISSING)
      for field in ("id", "timestamp", "trigger", "motion", "is_mock", "latitude", "longitude")],
    *[(("geofence_events", 0, field), MISSING) for field in ("id", "geofence_id", "type", "timestamp")],
    *[(("locations", 0, field), None) for field in ("accuracy", "speed", "bearing", "altitude", "activity", "quality")],
    (("schema_version",), 2), (("batch_id",), ONE.upper()), (("batch_id",), ONE.replace("-7c", "-4c")),
    (("sent_at",), "2026-06-15T12:34:56Z"), (("sent_at",), "2026-06-15T12:34:56.789+00:00"), (("sent_at",), 1781527296),
    (("extras",), {}), (("extras",), None), (("extras", "user_id"), 12), (("device", "model"), ""),
    (("locations", 0, "latitude"), 90.1), (("locations", 0, "longitude"), -181), (("locations", 0, "bearing"), 360),
    (("locations", 0, "bearing"), "180"), (("locations", 0, "accuracy"), -1), (("locations", 0, "speed"), -0.1),
    (("locations", 0, "trigger"), "stop"), (("locations", 0, "motion"), None), (("locations", 0, "is_mock"), 0),
    (("locations", 0, "quality"), "ok"), (("locations", 0, "activity"), "flying"),
    (("geofence_events", 0, "type"), "dwell"), (("geofence_events", 0, "geofence_id"), ""),
]


def changed(path: tuple, value):
    root = copy.deepcopy(GOOD)
    place: Any = root
    for step in path[:-1]:
        place = place[step]
    if value is MISSING:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return root


@unittest.skipUnless(conservation.jsonschema, conservation.NO_VALIDATOR)
class SchemaTests(unittest.TestCase):
    def test_the_schema_is_one(self):
        conservation.jsonschema.Draft202012Validator.check_schema(load_schema())

    def test_the_documented_envelope(self):
        self.assertEqual(shape_faults(GOOD), [])
        for field in ("extras", "model", "accuracy", "speed", "bearing", "altitude"):
            where = {"extras": (), "model": ("device",)}.get(field, ("locations", 0))
            self.assertEqual(shape_faults(changed((*where, field), MISSING)), [])
        self.assertEqual(shape_faults(changed(("geofence_events",), [])), [])
        self.assertEqual(shape_faults(changed(("locations",), [])), [])
        self.assertEqual(shape_faults(changed(("later",), "must be ignored")), [])

    def test_everything_that_is_wrong(self):
        for path, value in BAD:
            with self.subTest((path, "missing" if value is MISSING else value)):
                self.assertNotEqual(shape_faults(changed(path, value)), [])
        empty = changed(("locations",), [])
        empty["geofence_events"] = []
        self.assertNotEqual(shape_faults(empty), [], "a batch without anything")

    def test_a_heartbeat(self):
        status = {"state": "stopped", "motion": "unknown", "receiver": "released", "pending": 0, "version": "0.1.0",
                  "uptime_seconds": 5, "heartbeat_seconds": 3600, "commands": ["locate"], "odometer_meters": 12.5,
                  "ignition": False, "oldest_pending": "2026-06-15T12:34:05.000Z"}
        heartbeat = {**GOOD, "locations": [], "geofence_events": [], "status": status,
                     "command_results": [{"id": "c-1", "command": "stop", "ok": True}]}
        self.assertEqual(shape_faults(heartbeat), [])
        for field, value in (("state", "parked"), ("receiver", 1), ("pending", -1), ("ignition", "on"),
                             ("uptime_seconds", 1.5), ("odometer_meters", None), ("heartbeat_seconds", -1),
                             ("commands", "locate"), ("commands", [5])):
            with self.subTest(field):
                self.assertNotEqual(shape_faults({**heartbeat, "status": {**status, field: value}}), [])
        self.assertNotEqual(shape_faults({**heartbeat, "command_results": [{"id": "c-1"}]}), [])

    def test_every_field_is_described(self):
        def undescribed(node, path):
            for name, child in node.get("properties", {}).items():
                if "description" not in child:
                    yield f"{path}.{name}"
                yield from undescribed(child, f"{path}.{name}")

        schema = load_schema()
        found = list(undescribed(schema, "root"))
        for name, definition in schema["$defs"].items():
            found += list(undescribed(definition, name))
        self.assertEqual(found, [])


class FakeDaemon:
    """What the ledger needs of a daemon."""

    installation = ONE

    def __init__(self, pending=(), uploaded=(), dead=(), frozen=(), owed=None):
        self._owed = [(name, number(row)) for name, rows in (owed or {}).items() for row in rows]
        self._rows: list = [(number(row), 0) for row in pending] + [(number(row), 1) for row in uploaded]
        # Of `main`, or of the destination that is named behind.
        self._dead = [(rest or "main", number(row), number(batch)) for row, batch, *rest in dead for rest in ["".join(rest)]]
        self._frozen = [(number(batch),) for batch in frozen]

    def query(self, statement: str) -> list:
        for table, rows in (("batches", self._frozen), ("debts", self._owed), ("rejected", self._dead),
                            ("destinations", [("main",), ("other",)] if self._owed else [])):
            if f"FROM {table}" in statement:
                return rows
        return self._rows

    def destinations(self) -> dict:
        return {"main": "main", **({"other": "other"} if self._owed else {})}


class FakeReceiver:
    def __init__(self, url: str = "main", **batches):
        self.url = url
        self._batches = batches

    def batches_of(self, installation: str) -> dict:
        return {text(row): {text(batch) for batch in batches} for row, batches in self._batches.items()}


def number(name: str) -> bytes:
    return name.encode().ljust(16, b"\0")


def text(name: str) -> str:
    import uuid
    return str(uuid.UUID(bytes=number(name)))


class LedgerTests(unittest.TestCase):
    def faults(self, stored: str, daemon: FakeDaemon, receiver: FakeReceiver, deleted: str = "") -> list:
        ledger = Ledger()
        ledger.stored = {text(name) for name in stored}
        ledger.deleted = {text(name) for name in deleted}
        return [fault.split(":")[0] for fault in ledger.faults(daemon, [receiver])]

    def test_where_each_may_be(self):
        daemon = FakeDaemon(pending="ab", uploaded="c", dead=["dX"], frozen="Y")
        receiver = FakeReceiver(a="Y", c="Z", e="Z", d="X")
        self.assertEqual(self.faults("abcdef", daemon, receiver, deleted="f"), [])

    def test_what_is_noticed(self):
        cases = {
            "lost": ("ab", FakeDaemon(pending="a"), FakeReceiver()),
            "received, and never stored": ("a", FakeDaemon(), FakeReceiver(a="X", b="X")),
            "stored 2 times": ("a", FakeDaemon(pending="aa"), FakeReceiver()),
            "acknowledged in 2 batches": ("a", FakeDaemon(), FakeReceiver(a="XY")),
            "received, and pending outside its batch": ("a", FakeDaemon(pending="a", frozen="Y"), FakeReceiver(a="X")),
            "received, and a dead letter of another batch": ("a", FakeDaemon(dead=["aY"]), FakeReceiver(a="X")),
            "marked as uploaded, and never received": ("a", FakeDaemon(uploaded="a"), FakeReceiver()),
        }
        for fault, (stored, daemon, receiver) in cases.items():
            with self.subTest(fault):
                self.assertEqual(self.faults(stored, daemon, receiver), [fault])

    def test_of_several_each_must_have_it(self):
        ledger = Ledger()
        ledger.stored = {text(name) for name in "abcde"}
        # The first was there before the other one.
        ledger.spared = {"main": set(), "other": {text("a")}}
        daemon = FakeDaemon(pending="abd", owed={"other": "b", "main": "d"}, dead=["cYother"])
        main, other = FakeReceiver(a="X", b="X", c="X", e="X"), FakeReceiver("other", d="Y", e="Y")
        self.assertEqual(ledger.faults(daemon, [main, other]), [])
        # The other one has what it is still owed.
        self.assertEqual(ledger.faults(daemon, [main, FakeReceiver("other", b="Y", d="Y", e="Y")]),
                         ["received, and pending outside its batch: " + text("b")])
        for ours, others, fault in ((main, FakeReceiver("other", d="Y"), "other: " + text("e")),
                                    (FakeReceiver(a="X", b="X", c="X"), other, "main: " + text("e"))):
            self.assertEqual(ledger.faults(daemon, [ours, others]), ["lost for " + fault])


class WireTests(SystemTest):
    def test_every_optional_field_and_bound_goes_over_the_wire(self):
        """Content that no other test sends, checked by the validator like everything else."""
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url, "batch_size": 1000}, extras={"a" * 100: "\u0001\"é" * 20})
        fake.drive(1, mode=2, speed=None, track=None, eph=None)
        fake.drive(1, speed=0, track=359.999, eph=0, altHAE=-400.5, lat=-90, lon=180, status=8)
        fake.drive(1, speed=1e-7, track=0, eph=1e6, altHAE=1e21)
        daemon.wait_stored(4)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        body = json.dumps(receiver.requests[0].root)
        self.assertEqual(len(receiver.requests[0].ids), 4)
        self.assertNotIn("null", body)
        self.assertEqual(receiver.problems, [])


if __name__ == "__main__":
    unittest.main()
