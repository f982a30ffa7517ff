"""What the user deletes during a token exchange is not sent after it."""
import sys
import unittest
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.waiting import wait_for


class DeletedTests(AuthTest):
    def test_a_batch_deleted_during_an_exchange_is_not_sent_again(self):
        endpoint, receiver, fake, daemon = self.guarded(script=["hold"])
        endpoint.expire()
        daemon.ask_for_sync()
        endpoint.wait_requests(1)
        wait_for(lambda: len(receiver.requests) == 1, "the refused request")
        # With the beginning of a trip, which the fixes that settled the time have shown.
        self.assertEqual(daemon.call("DeleteLocations")["removed"], 2)
        endpoint.released.set()
        # The drain has ended, with its batch gone.
        self.assertEqual(daemon.sync()["pending"], 0)
        self.assertEqual([request.status for request in receiver.requests], [401])
        for listener in daemon.listeners:
            wait_for(partial(getattr, listener, "ids"), "the stored fix is announced")

    def check_conservation(self, daemon):
        """Everything was deleted, and nothing was received."""
        self.assertFalse(daemon.stored_ids())
        for receiver in self.receivers:
            self.assertFalse(set(receiver.ids))


if __name__ == "__main__":
    unittest.main()
