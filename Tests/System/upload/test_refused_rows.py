"""Servers of one row a request: a row that one refuses for ever, a quota that is used up, a connection that is closed on it."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.one_row_server import OneRowServer
from support.system_test import SystemTest
from support.waiting import wait_for


class RefusedRowTests(SystemTest):
    def one_row(self, decide, count: int) -> tuple:
        """A daemon that tracks, with such a server as its only destination besides `main`, and so many rows."""
        server = OneRowServer(decide)
        self.addCleanup(server.stop)
        main, fake = self.backend(), self.fake()
        daemon = self.daemon(fake.port, sync={"url": main.url}, **{"destination.traccar": {
            "url": server.url, "format": "osmand", "device_id": "van-7", "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(count - 1)
        daemon.wait_stored(count)
        daemon.call("Sync", destination="main")
        return server, fake, daemon

    def sync_status(self, daemon) -> dict:
        return {found["name"]: found for found in daemon.status()["destinations"]}["traccar"]["sync"]

    def run_on_its_own(self, daemon, server, count: int) -> list:
        """A start with something pending makes one attempt that nobody asks for; the requests that it consists of."""
        before = len(server.requests)
        daemon.kill()
        daemon.start()
        wait_for(lambda: len(server.requests) >= before + count, "the attempt after a start", 90)
        daemon.wait_status(lambda status: self.sync_status(daemon)["state"] == "failed", "its end")
        return server.requests[before:]

    def test_a_quota_loses_nothing_and_one_poison_row_blocks_nobody(self):
        server, fake, daemon = self.one_row(lambda row: 400, 4)
        # PhoneTrack's quota: it refuses all. Attempts that somebody asks for do not count.
        for _ in range(4):
            self.assertEqual(daemon.call("Sync", destination="traccar")["outcome"], "permanent")
        self.assertEqual(len({timestamp for timestamp, _ in server.requests}), 1)
        oldest = server.requests[0][0]
        # Each run is in a life of its own: the count survives that. The third tries the row behind it, too.
        self.assertEqual(self.run_on_its_own(daemon, server, 1), [(oldest, 400)])
        self.assertEqual(self.run_on_its_own(daemon, server, 1), [(oldest, 400)])
        third = self.run_on_its_own(daemon, server, 2)
        self.assertEqual([status for _, status in third], [400, 400])
        self.assertGreater(third[1][0], third[0][0])
        sync = self.sync_status(daemon)
        self.assertEqual((sync["pending"], sync["rejected"], sync["failure"]), (4, 0, "permanent"))
        self.assertIn("quota", daemon.text())
        # The quota is raised, but there is one row that it can never take.
        server.decide = lambda row: 400 if int(row["timestamp"]) == oldest else 200
        wait_for(lambda: daemon.call("Sync", destination="traccar")["pending"] == 0, "all others have gone")
        rejected = daemon.call("GetRejected", destination="traccar")["rejected"]
        self.assertEqual([found["http_status"] for found in rejected], [400])
        self.assertEqual(len(server.accepted), 3)
        self.assertEqual(server.accepted, sorted(set(server.accepted)), "in order, each once")
        self.assertNotIn(oldest, server.accepted)
        # It is none of the next rows' business.
        fake.settle()
        fake.drive(2)
        wait_for(lambda: self.sync_status(daemon)["pending"] >= 3, "three more")
        self.assertEqual(daemon.call("Sync", destination="traccar")["outcome"], "drained")
        self.assertEqual(len(server.accepted), 6)

    def test_ten_closes_in_a_row_are_an_answer(self):
        server, _, daemon = self.one_row(lambda row: None, 2)
        for number in range(1, 10):
            if number == 5:
                daemon.kill()
                daemon.start()
            # The attempt of the new life may come between.
            if len(server.requests) < 9:
                self.assertEqual(daemon.call("Sync", destination="traccar")["outcome"], "transient", number)
        while len(server.requests) < 10:
            result = daemon.call("Sync", destination="traccar")
        self.assertEqual(result["outcome"], "permanent")
        sync = self.sync_status(daemon)
        self.assertEqual((sync["state"], sync["failure"], sync["pending"]), ("failed", "permanent", 2))
        self.assertNotIn("last_http_status", sync)
        self.assertIn("tracker-server.log", daemon.text())
        # Any answer ends it.
        server.decide = lambda row: 503
        self.assertEqual(daemon.call("Sync", destination="traccar")["outcome"], "transient")
        server.decide = lambda row: None
        self.assertEqual(daemon.call("Sync", destination="traccar")["outcome"], "transient")
        server.decide = lambda row: 200
        self.assertEqual(daemon.call("Sync", destination="traccar")["outcome"], "drained")
        self.assertEqual(daemon.call("GetRejected", destination="traccar")["rejected"], [])
        self.assertEqual(len(server.accepted), 2)


if __name__ == "__main__":
    unittest.main()
