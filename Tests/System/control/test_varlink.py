"""The Python package `varlink`, an independent implementation, calls every method and receives every error."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import INTERFACE
from support.interface import CALLS, SERVICE, description, errors, methods
from support.ports import NOBODY
from support.system_test import SystemTest
from support.users import UsersTest, as_user
from support.waiting import wait_for

try:
    import varlink
except ImportError:
    varlink = None
    print("the Python package varlink is not installed (make deps installs it): its tests are skipped")

needs_varlink = unittest.skipUnless(varlink, "the Python package varlink is not installed (make test installs it)")


class ClientTest(SystemTest):
    def open(self, daemon):
        return self.open_by(self.client(daemon))

    def client(self, daemon):
        client = varlink.Client(address="unix:" + daemon.socket)
        self.addCleanup(client.cleanup)
        return client

    def open_by(self, client):
        connection = client.open(INTERFACE)
        self.addCleanup(connection.close)
        return connection

    def error(self, call) -> tuple:
        with self.assertRaises(varlink.VarlinkError) as caught:
            call()
        return caught.exception.error(), dict(caught.exception.parameters() or {})

    def raw(self, connection, call: dict):
        """Calls that the package itself would not send."""
        connection._send_message(json.dumps(call).encode())
        return connection._next_varlink_message()


@needs_varlink
class EveryMethodTests(ClientTest):
    """The package checks each call and reply against the types of the interface, and raises on a mismatch."""

    def test_every_method(self):
        backend = self.backend(answers=[400])
        fake, daemon = self.tracking(None, sync={"url": backend.url}, **{"sync.auth": {"access_token": "abc"}})
        daemon.sync()
        connection = self.open(daemon)
        self.assertEqual(connection._interface.description.strip(), description().strip())
        connection.AddGeofences(geofences=[{"id": "here", "latitude": 50.0, "longitude": 8.0, "radius_meters": 5000.0}])
        fake.drive(3)
        daemon.wait_stored(4)
        called = set()
        for row in CALLS:
            with self.subTest(row.method, more=row.more):
                method = getattr(connection, row.method)
                if row.answer != "done":
                    self.assertEqual(self.error(lambda: method(**row.parameters))[0], row.answer)
                elif not row.more:
                    self.assertIsInstance(method(**row.parameters), dict)
                elif row.method == "Subscribe":
                    events = self.open(daemon).Subscribe(_more=True, **row.parameters)
                    self.assertEqual(next(events)["event"]["kind"], "state")
                else:
                    self.assertEqual(len(list(method(_more=True, **row.parameters))), 1)
                called.add(row.method)
        self.assertEqual(called, set(methods()))

    def test_what_they_do(self):
        backend = self.backend(answers=[400])
        fake, daemon = self.tracking(sync={"url": backend.url})
        connection = self.open(daemon)
        self.assertEqual(connection.Sync(wait=True)["pending"], 0)
        rejected = connection.GetRejected()["rejected"]
        self.assertEqual([(row["http_status"], row["location"]["altitude"]) for row in rejected], [(400, 123.4)])
        self.assertEqual(connection.RetryRejected(), {"requeued": 1})
        wait_for(lambda: connection.GetPendingUploadCount()["count"] == 0, "the upload")
        connection.SetExtras(extras={"driver": "Zoë"})
        self.assertEqual(connection.GetExtras(), {"extras": {"driver": "Zoë"}})
        connection.AddGeofences(geofences=[{"id": "here", "latitude": 50.0, "longitude": 8.0, "radius_meters": 5000.0}])
        fake.drive(3)
        wait_for(lambda: connection.ListGeofences()["geofences"][0].get("inside"), "the entry")
        self.assertEqual(connection.RemoveGeofences(ids=["here", "nowhere"]), {"removed": 1})

    def test_streams(self):
        fake, daemon = self.tracking(store={"durability": "normal"})
        events = self.open(daemon).Subscribe(_more=True, kinds=["location"])
        first = next(events)["event"]
        self.assertEqual(first["kind"], "location")
        fake.drive(1)
        self.assertGreater(next(events)["event"]["location"]["timestamp"], first["location"]["timestamp"])
        fake.drive(1500)
        daemon.wait_stored(1502)
        pages = [page["locations"] for page in self.open(daemon).GetLocations(_more=True)]
        self.assertEqual([len(page) for page in pages], [1000, 502])

    def test_a_second_call_without_a_reply_in_between(self):
        daemon = self.daemon().start()
        connection = self.open(daemon)
        self.assertIsNone(connection.Start(_oneway=True))
        self.assertEqual(connection.GetStatus()["status"]["state"], "tracking")


@needs_varlink
class ErrorTests(ClientTest):
    def test_every_error(self):
        """Every error of the interface, and all but one of org.varlink.service: no method returns that one."""
        backend = self.backend()
        fake, daemon = self.tracking(store={"durability": "normal"}, sync={"url": backend.url, "interval_seconds": 86400})
        nowhere = self.daemon(NOBODY).start()
        connection, lost = self.open(daemon), self.open(nowhere)
        far = {"id": "far", "latitude": 91.0, "longitude": 0.0, "radius_meters": 1.0}
        backend.hold()
        fake.drive(1001)
        daemon.wait_stored(1002)
        seen = set()
        for name, call, parameters in (
            ("InvalidTime", lambda: connection.GetLocations(**{"from": "yesterday"}), {"value": "yesterday"}),
            ("InvalidTime", lambda: connection.GetGeofenceEvents(to="soon"), {"value": "soon"}),
            ("InvalidTime", lambda: connection.DeleteLocations(before="2026-02-30T00:00:00Z"), {"value": "2026-02-30T00:00:00Z"}),
            ("TooMany", lambda: connection.GetLocations(), {"limit": 1000}),
            ("InvalidGeofence", lambda: connection.AddGeofences(geofences=[far]), {"id": "far", "reason": None}),
            ("InvalidConfiguration", lambda: connection.SeedAuth(access_token="abc"), {"key": "sync.auth", "reason": None}),
            ("InvalidConfiguration", lambda: connection.SetExtras(extras={"a" * 101: "c"}), {"key": None, "reason": None}),
            ("RebatchRefused", lambda: connection.Rebatch(), {"reason": None}),
            ("NotTracking", lambda: lost.SetMotion(motion="moving"), {}),
            ("LocationUnavailable", lambda: lost.GetCurrentLocation(timeout_seconds=20.0), {"reason": None}),
            ("RateLimited", lambda: [connection.Sync(wait=False) for _ in range(1000)], {"retry_after_seconds": 1}),
            (SERVICE + ".ExpectedMore", lambda: connection.Subscribe(), {}),
            (SERVICE + ".InvalidParameter", lambda: connection.GetCurrentLocation(timeout_seconds=-1.0),
             {"parameter": "timeout_seconds"}),
            (SERVICE + ".MethodNotFound", lambda: self.raw(connection, {"method": INTERFACE + ".Fly"}),
             {"method": INTERFACE + ".Fly"}),
            (SERVICE + ".InterfaceNotFound", lambda: self.raw(connection, {"method": "org.example.other.Fly"}),
             {"interface": "org.example.other"}),
        ):
            with self.subTest(name, parameters=parameters):
                found, told = self.error(call)
                self.assertEqual(found, name if "." in name else f"{INTERFACE}.{name}")
                self.assertEqual(set(told), set(parameters), told)
                for key, value in parameters.items():
                    self.assertTrue(told[key] if value is None else told[key] == value, told)
                seen.add(name)
        # The database can no longer be opened: the file was moved.
        path = os.path.join(daemon.state, "beekon.db")
        os.rename(path, path + ".away")
        try:
            self.assertEqual(self.error(lambda: connection.GetLocations())[0], INTERFACE + ".StorageFailure")
            self.assertEqual(self.error(lambda: next(connection.GetLocations(_more=True)))[0], INTERFACE + ".StorageFailure")
        finally:
            os.rename(path + ".away", path)
        seen.add("StorageFailure")
        self.assertEqual({name for name in seen if "." not in name}, set(errors()))

    def test_the_connection_survives_an_error(self):
        daemon = self.daemon().start()
        connection = self.open(daemon)
        for _ in range(3):
            self.error(lambda: connection.GetLocations(**{"from": "yesterday"}))
            self.assertEqual(connection.GetPendingUploadCount(), {"count": 0})

    def test_what_the_service_says_of_itself(self):
        daemon = self.daemon().start()
        client = varlink.Client(address="unix:" + daemon.socket)
        self.addCleanup(client.cleanup)
        with client.open(SERVICE) as service:
            self.assertEqual(sorted(service.GetInfo()["interfaces"]), [INTERFACE, SERVICE])
            self.assertEqual(service.GetInterfaceDescription(interface=INTERFACE)["description"], description())
            found, told = self.error(lambda: service.GetInterfaceDescription(interface="org.example.x"))
            self.assertEqual((found, told), (SERVICE + ".InterfaceNotFound", {"interface": "org.example.x"}))


@needs_varlink
class DeniedTests(UsersTest, ClientTest):
    def test_permission_denied(self):
        daemon = self.unprivileged_daemon(NOBODY).start()
        # It reads a file of the package, which not everybody may do in somebody's home.
        client = self.client(daemon)
        with as_user("a member of beekon"):
            connection = self.open_by(client)
        for call in (connection.DeleteLocations, connection.PurgeRejected, lambda: connection.SeedAuth(access_token="a")):
            self.assertEqual(self.error(call), (SERVICE + ".PermissionDenied", {}))


class BusyTests(SystemTest):
    def test_two_deletions_at_once(self):
        """The second of two concurrent calls is asked to retry, and the first continues."""
        fake, daemon = self.tracking(store={"durability": "normal"})
        fake.drive(2500)
        daemon.wait_stored(2501)
        [(events,)] = daemon.query("SELECT COUNT(*) FROM events")
        first, second = daemon.connect(), daemon.connect()
        for tracker in (first, second):
            tracker.send("DeleteLocations", {})
        answers = sorted((tracker.reply() for tracker in (first, second)), key=lambda answer: "error" in answer)
        # That a trip has begun is an event.
        self.assertEqual(sum(answer["parameters"].get("removed", 0) for answer in answers), 2501 + events)
        if "error" in answers[1]:
            self.assertEqual(answers[1], {"error": INTERFACE + ".RateLimited", "parameters": {"retry_after_seconds": 1}})

    def test_the_backend_is_not_asked_endlessly(self):
        """Calling `sync` in a loop does not circumvent a server's Retry-After."""
        backend = self.backend(answers=[503] * 500)
        fake, daemon = self.tracking(sync={"url": backend.url})
        outcomes = []
        with daemon.connect() as tracker:
            for _ in range(200):
                tracker.send("Sync", {"wait": True})
                outcomes.append(tracker.reply().get("error"))
        self.assertIn(INTERFACE + ".RateLimited", outcomes)
        # The allowance, and what has been replenished meanwhile.
        self.assertLess(outcomes.count(None), 150)
        self.assertGreaterEqual(outcomes.index(INTERFACE + ".RateLimited"), 60)


if __name__ == "__main__":
    unittest.main()
