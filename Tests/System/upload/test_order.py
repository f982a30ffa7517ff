"""order = "newest": the next batch holds the newest pending rows, ascending; a frozen batch goes first."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import from_iso
from support.system_test import SystemTest


def times(request) -> list:
    return [from_iso(location["timestamp"]) for location in request.root["locations"]]


class OrderTests(SystemTest):
    def test_newest_first_and_a_frozen_batch_before_all(self):
        backend = self.backend()
        fake, daemon = self.tracking(sync={"url": backend.url, "batch_size": 4, "order": "newest"})
        backend.answers = [503]
        fake.drive(9)
        daemon.wait_stored(10)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        fake.drive(5)
        daemon.wait_stored(15)
        daemon.kill()
        daemon.start()
        daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")
        sent = [times(request) for request in backend.requests]
        self.assertEqual(sent[0], sent[1], "the frozen batch, with its bytes")
        self.assertEqual(backend.requests[0].sha256, backend.requests[1].sha256)
        every = sorted(time for batch in sent[1:] for time in batch)
        self.assertEqual(len(every), 15)
        self.assertEqual(sent[1], every[6:10], "the newest four of the first ten")
        # Then the newest of what is left each time, ascending within each.
        left = [time for time in every if time not in sent[1]]
        for batch in sent[2:]:
            self.assertEqual(batch, left[-4:])
            left = left[:-4]
        self.assertEqual(left, [])
        self.assertEqual(backend.faults(), [])

    def test_a_lost_answer_and_a_change_of_order_double_nothing(self):
        backend = self.backend(drop_ack_every=2)
        fake, daemon = self.tracking(
            sync={"url": backend.url, "batch_size": 3, "order": "newest", "timeout_seconds": 2})
        fake.drive(11)
        daemon.wait_stored(12)
        for order in ("oldest", "newest", "oldest"):
            daemon.sync()
            daemon.configure(sync={"order": order})
            daemon.call("Reload")
        backend.drop_ack_every = 0
        daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")
        self.assertEqual(len(backend.ids), 12)
        self.assertEqual(backend.faults(), [])


if __name__ == "__main__":
    unittest.main()
