"""Subscribers see each request: how it went for everybody, and for administrators what was sent, but no token ever."""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.ports import NOBODY
from support.system_test import SystemTest
from support.token_endpoint import Endpoint
from support.users import UsersTest, as_user
from support.waiting import wait_for


def requests(listener) -> list:
    return [event for event in list(listener.events) if event["kind"] == "http"]


class RequestEventTests(SystemTest):
    def listening_to(self, daemon, *kinds: str):
        listener = self.listener(daemon, list(kinds))
        # Events of the present come first, where there are any.
        wait_for(lambda: listener.events or kinds == ("http",), "the subscription")
        return listener

    def subscribed(self, daemon):
        """To requests and, so that it is known to be in force, to the state."""
        return self.listening_to(daemon, "http", "state")

    def test_each_attempt_is_told_with_what_was_sent(self):
        backend = self.backend(answers=[503])
        fake, daemon = self.tracking(sync={"url": backend.url})
        listener = self.subscribed(daemon)
        daemon.sync()
        daemon.sync()
        first, second = wait_for(lambda: requests(listener)[:2] if len(requests(listener)) > 1 else None, "two attempts")
        self.assertEqual([event["destination"] for event in (first, second)], ["main", "main"])
        first, second = first["http"], second["http"]
        self.assertEqual((first["status"], first["outcome"], first["attempt"]), (503, "transient", 1))
        self.assertEqual((second["status"], second["outcome"], second["attempt"]), (200, "accepted", 2))
        request = backend.requests[-1]
        self.assertEqual((first["batch"], second["batch"]), (request.batch_id, request.batch_id))
        self.assertEqual(second["bytes"], request.bytes)
        self.assertGreaterEqual(second["milliseconds"], 0)
        self.assertEqual(json.loads(second["body"])["batch_id"], request.batch_id, "it is unpacked")

    def test_a_large_body_is_cut(self):
        backend = self.backend()
        fake, daemon = self.tracking(sync={"url": backend.url})
        fake.drive(99)
        daemon.wait_stored(100)
        listener = self.subscribed(daemon)
        daemon.sync()
        body = wait_for(lambda: requests(listener), "the request")[0]["http"]["body"]
        self.assertEqual(len(body.encode()), 4096)
        self.assertTrue(body.startswith('{"schema_version"'), body[:80])

    def test_no_answer_has_no_status(self):
        fake, daemon = self.tracking(sync={"url": f"http://127.0.0.1:{NOBODY}/"})
        listener = self.subscribed(daemon)
        daemon.sync()
        found = wait_for(lambda: requests(listener), "the request")[0]["http"]
        self.assertEqual((found["outcome"], "status" in found), ("network", False))

    def test_who_wants_everything_is_spared_the_bodies(self):
        backend = self.backend()
        fake, daemon = self.tracking(sync={"url": backend.url})
        listener = self.listener(daemon)
        wait_for(lambda: listener.events, "the subscription")
        daemon.sync()
        self.assertNotIn("body", wait_for(lambda: requests(listener), "the request")[0]["http"])

    def test_a_token_exchange_shows_nothing_of_the_tokens(self):
        backend = self.backend(answers=[401])
        endpoint = Endpoint()
        self.addCleanup(endpoint.stop)
        sections: dict = {"sync": {"url": backend.url}, "sync.auth": {
            "access_token": "aCcEsS-1", "refresh_token": "rEfReSh-2", "refresh_url": endpoint.url}}
        fake, daemon = self.tracking(**sections)
        listener = self.subscribed(daemon)
        daemon.sync()
        wait_for(lambda: [event for event in requests(listener) if event["http"]["outcome"] == "accepted"], "the upload")
        found = [event["http"] for event in requests(listener)]
        self.assertEqual([event["outcome"] for event in found], ["unauthorised", "answered", "accepted"])
        exchange = found[1]
        self.assertEqual(sorted(exchange), ["bytes", "milliseconds", "outcome", "status"])
        text = json.dumps(listener.events)
        for secret in ("aCcEsS-1", "rEfReSh-2", Endpoint.MARK):
            self.assertNotIn(secret, text)

    def test_a_request_without_a_body_shows_its_query(self):
        backend = self.backend()
        other = self.raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", closes=True)
        self.receivers.remove(other)
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": backend.url}, **{"destination.car": {
            "url": f"http://127.0.0.1:{other.port}/", "format": "osmand", "device_id": "v1", "interval_seconds": NEVER,
        }}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        listener = self.subscribed(daemon)
        daemon.call("Sync", destination="car")
        found = wait_for(lambda: requests(listener), "the request")[0]
        self.assertEqual((found["destination"], found["http"]["bytes"]), ("car", 0))
        self.assertIn("id=v1&", found["http"]["body"])


class RequestRightsTests(UsersTest):
    @staticmethod
    def await_first(listener):
        wait_for(lambda: listener.events, "the subscription")

    @staticmethod
    def first_request(listener) -> dict:
        return wait_for(lambda: requests(listener), "the request")[0]["http"]

    def test_only_administrators_see_what_was_sent(self):
        backend = self.backend()
        fake = self.fake()
        daemon = self.unprivileged_daemon(fake.port, sync={"url": backend.url}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)

        listeners = {}
        for user in ("a member of beekon", "an administrator"):
            with as_user(user):
                listeners[user] = self.listener(daemon, ["http", "state"])
                self.await_first(listeners[user])
        daemon.sync()
        found = {user: self.first_request(listener) for user, listener in listeners.items()}
        self.assertIn("batch_id", found["an administrator"]["body"])
        self.assertNotIn("body", found["a member of beekon"])
        self.assertEqual(found["a member of beekon"]["status"], 200)


if __name__ == "__main__":
    unittest.main()
