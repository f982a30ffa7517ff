"""Refusals of requests in a shape of the backend's own."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.shape_server import identity, records
from support.template_test import TemplateTest


class RejectionTests(TemplateTest):
    def test_drop(self):
        server, fake, daemon = self.sending(4, [422], on_reject="drop", batch_size=2)
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        self.assertEqual((len(daemon.rejected_ids()), len(server.ids)), (2, 2))
        self.assertEqual(daemon.call("RetryRejected"), {"requeued": 2})
        self.drain(daemon)
        self.assertEqual(len(set(server.ids)), 4)

    def test_isolate_finds_the_row_at_fault(self):
        server, fake, daemon = self.sending(9, on_reject="isolate")
        poison = sorted(daemon.stored_ids())[4]
        server.is_poison = lambda root: poison in {identity(record) for record in records(root)}
        self.drain(daemon)
        self.assertEqual(daemon.rejected_ids(), {poison})
        self.assertEqual((len(server.ids), len(set(server.ids))), (8, 8))
        self.assertTrue(all(isinstance(request.root["location"], list) for request in server.requests))

    def test_isolate_after_requests_have_come_to_hold_one_row(self):
        server, fake, daemon = self.sending(6, [503], on_reject="isolate")
        poison = sorted(daemon.stored_ids())[2]
        server.is_poison = lambda root: poison in {identity(record) for record in records(root)}
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.change(daemon, batch_size=1)
        self.drain(daemon)
        self.assertEqual(daemon.rejected_ids(), {poison})
        self.assertEqual((len(server.ids), len(set(server.ids))), (5, 5))
        self.assertEqual([len(records(request.root)) for request in server.requests], [6, 6] + [1] * 6)

    def test_a_server_that_rejects_everything_is_suspected(self):
        server, fake, daemon = self.sending(5, batch_size=1)
        server.is_poison = lambda root: True
        for _ in range(3):
            self.assertEqual(daemon.sync()["outcome"], "rejected")
        self.assertEqual((daemon.rejected_ids(), daemon.status()["sync"]["pending"]), (set(), 5))
        server.is_poison = lambda root: False
        self.drain(daemon)
        self.assertEqual(len(set(server.ids)), 5)

    def test_an_acknowledgement_can_be_demanded(self):
        server, fake, daemon = self.sending(1, require_ack=True)
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        found = daemon.status()["sync"]
        self.assertEqual((found["failure"], found["pending"]), ("no_ack", 1))
        self.change(daemon, require_ack=False)
        self.drain(daemon)


if __name__ == "__main__":
    unittest.main()
