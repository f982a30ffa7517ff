"""The ids of batches that are made while nobody knows the time."""
import sys
import time
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest

DAY = 86_400_000


class BatchTimeTests(ClockTest):
    def test_without_a_clock_a_batch_has_the_time_of_its_newest_row(self):
        """A server keeps ids by their time: one of 900 days from now would stay there for as long."""
        backend = self.backend()
        gps = self.fake()
        daemon, clocks = self.clocked(gps.port, int(time.time() * 1000) + 900 * DAY, sync={"url": backend.url})
        daemon.start().call("Start")
        gps.settle()
        gps.drive(2)
        daemon.wait_stored(3)
        daemon.terminate()
        # Its receiver is silent now, and the system's clock is no better than before.
        clocks.set_system(int(time.time() * 1000) + 900 * DAY)
        daemon.start()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        request = backend.requests[0]
        newest = max(uuid.UUID(identity).int >> 80 for identity in request.ids)
        self.assertEqual(uuid.UUID(request.batch_id).int >> 80, newest)


if __name__ == "__main__":
    unittest.main()
