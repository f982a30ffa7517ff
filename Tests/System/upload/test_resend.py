"""A kill between POST and acknowledgement: the same batch is resent, byte for byte, whatever has changed since."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.system_test import SystemTest


class ResendTests(SystemTest):
    def killed_while_waiting(self, sync: dict, **options):
        """A daemon that was killed after sending a batch of five, before the answer came."""
        receiver = self.backend(**options)
        receiver.hold()
        fake, daemon = self.tracking(sync={"url": receiver.url, "batch_size": 5, **sync})
        fake.drive(11)
        daemon.wait_stored(12)
        daemon.ask_for_sync()
        first = receiver.wait_requests(1)[0]
        daemon.wait_status(lambda status: status["sync"]["in_flight_batch"] == first.batch_id, "the batch is in flight")
        daemon.kill()
        receiver.go_on()
        self.assertEqual(len(first.ids), 5)
        # No answer, so no deletion: all twelve are still here.
        self.assertEqual(len(daemon.stored_ids()), 12)
        return receiver, daemon, first

    def check_resent(self, receiver, daemon, first, sizes):
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "drained")
        again = receiver.requests[1]
        self.assertEqual((again.batch_id, again.sha256), (first.batch_id, first.sha256))
        self.assertEqual(again.root["sent_at"], first.root["sent_at"])
        self.assertEqual([len(request.ids) for request in receiver.requests], sizes)
        self.assertEqual(receiver.faults(), [])
        self.assertEqual(receiver.problems, [])
        self.assertEqual(len(receiver.ids), 12)
        self.assertEqual(daemon.stored_ids(), set())

    def test_received_but_not_acknowledged(self):
        receiver, daemon, first = self.killed_while_waiting({})
        self.check_resent(receiver, daemon, first, [5, 5, 5, 2])
        self.assertTrue(receiver.requests[1].duplicate)

    def test_never_received(self):
        receiver, daemon, first = self.killed_while_waiting({}, answers=["close"])
        self.check_resent(receiver, daemon, first, [5, 5, 5, 2])
        self.assertFalse(receiver.requests[1].duplicate)

    def test_another_batch_size(self):
        receiver, daemon, first = self.killed_while_waiting({})
        daemon.configure(sync={"batch_size": 3})
        self.check_resent(receiver, daemon, first, [5, 5, 3, 3, 1])

    def test_other_extras_and_platform(self):
        receiver, daemon, first = self.killed_while_waiting({})
        daemon.configure(sync={"platform": "android"}, extras={"driver": "8"})
        self.check_resent(receiver, daemon, first, [5, 5, 5, 2])
        self.assertEqual([request.root["device"]["platform"] for request in receiver.requests][:3],
                         ["linux", "linux", "android"])
        # The rows were stored before the driver was set.
        self.assertTrue(all("extras" not in request.root for request in receiver.requests))

    def test_killed_twice_and_failed_between(self):
        receiver, daemon, first = self.killed_while_waiting({})
        receiver.answers = [503] * 9
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "transient")
        daemon.kill()
        receiver.answers.clear()
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual([request.batch_id for request in receiver.requests[:3]], [first.batch_id] * 3)
        self.assertEqual(receiver.faults(), [])


if __name__ == "__main__":
    unittest.main()
