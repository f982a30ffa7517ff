"""A setting that decides bytes is corrected: what was refused goes out anew, what may have arrived as it was frozen."""
from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.post_server import PostServer
from support.system_test import SystemTest

NAME = "traccar"


class TopicServer(PostServer):
    """Answers by the topic of each message, as Traccar does for devices that it does not know."""

    def __init__(self, decide):
        self.decide = decide
        self.requests: list = []
        super().__init__()

    def take(self, query, body):
        message = json.loads(body)
        status = self.decide(message["topic"])
        self.requests.append((message["_id"], message["topic"], status))
        return status, b""

    @property
    def accepted(self) -> list:
        return [row for row, _, status in self.requests if status == 200]


class JudgingServer(PostServer):
    """Refuses what is at fault."""

    def __init__(self, is_at_fault):
        self.is_at_fault = is_at_fault
        self.statuses: list[int] = []
        super().__init__()

    def take(self, query, body):
        self.statuses.append(400 if self.is_at_fault(query, body) else 200)
        return self.statuses[-1], b""


class RefusedBytesTests(SystemTest):
    def owntracks(self, decide, username: str) -> tuple:
        """A daemon with three rows for a destination of format owntracks."""
        server = TopicServer(decide)
        self.addCleanup(server.stop)
        fake = self.fake()
        daemon = self.daemon(fake.port, **{f"destination.{NAME}": {
            "url": server.url, "format": "owntracks", "device_id": "van-7", "username": username,
            "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(2)
        daemon.wait_stored(3)
        return server, daemon

    def correct(self, daemon, section: str, name: str, **values):
        """Other settings, which start an attempt at once; it is over when this returns."""
        daemon.configure(**{section: values})
        daemon.reload()

        def drained(status: dict) -> bool:
            found = {found["name"]: found["sync"] for found in status["destinations"]}[name]
            return found["pending"] == 0

        daemon.wait_status(drained, "everything has arrived")

    def sync(self, daemon) -> str:
        return daemon.call("Sync", destination=NAME)["outcome"]

    def test_a_username_that_is_corrected(self):
        server, daemon = self.owntracks(lambda topic: 200 if topic == "owntracks/anna/van-7" else 400, "ana")
        self.assertEqual(self.sync(daemon), "permanent")
        self.correct(daemon, f"destination.{NAME}", NAME, username="anna")
        self.assertEqual(len(set(server.accepted)), 3)
        self.assertEqual(server.accepted[0], server.requests[0][0], "the same row, under its own id")
        self.assertEqual(daemon.call("GetRejected", destination=NAME)["rejected"], [])

    def test_a_row_that_may_have_arrived_keeps_its_bytes(self):
        server, daemon = self.owntracks(lambda topic: 503, "ana")
        self.assertEqual(self.sync(daemon), "transient")
        server.decide = lambda topic: 200
        self.correct(daemon, f"destination.{NAME}", NAME, username="anna")
        topics = [topic for _, topic, status in server.requests if status == 200]
        self.assertEqual(topics, ["owntracks/ana/van-7", "owntracks/anna/van-7", "owntracks/anna/van-7"])
        self.assertEqual(len(set(server.accepted)), 3)

    def test_an_odometer_that_is_told_no_more(self):
        """What the vehicle says of itself decides bytes of these formats."""
        for format, tells in (("owntracks", lambda query, body: "odometer" in json.loads(body)),
                              ("osmand", lambda query, body: "odometer" in query)):
            with self.subTest(format):
                server = JudgingServer(tells)
                self.addCleanup(server.stop)
                fake = self.fake()
                daemon = self.daemon(fake.port, vehicle={"ignition": "manual"}, **{f"destination.{NAME}": {
                    "url": server.url, "format": format, "device_id": "van-7", "interval_seconds": NEVER}}).start()
                daemon.call("Start")
                fake.settle()
                fake.drive(2)
                daemon.wait_stored(3)
                self.assertEqual(self.sync(daemon), "permanent")
                self.assertEqual(server.statuses, [400])
                self.correct(daemon, "vehicle", NAME, ignition="none")
                self.assertEqual(server.statuses, [400, 200, 200, 200])
                self.assertEqual(daemon.call("GetRejected", destination=NAME)["rejected"], [])
                daemon.kill()

    def test_platform(self):
        for refusal, is_refused in ((404, True), (503, False)):
            with self.subTest(refusal):
                receiver, fake = self.backend(), self.fake()
                receiver.refuse(lambda request: True, refusal)
                daemon = self.daemon(fake.port, sync={"url": receiver.url, "interval_seconds": NEVER}).start()
                daemon.call("Start")
                fake.settle()
                fake.drive(2)
                daemon.wait_stored(3)
                daemon.call("Sync")
                before = receiver.requests[-1]
                receiver.accept_all()
                self.correct(daemon, "sync", "main", platform="android")
                after = next(found for found in receiver.requests if set(before.ids) <= set(found.ids)
                             and found is not before and found.outcome.startswith("stored"))
                self.assertEqual(after.root["device"]["platform"], "android" if is_refused else "linux")
                self.assertEqual(after.batch_id != before.batch_id, is_refused)
                daemon.kill()


if __name__ == "__main__":
    unittest.main()
