"""Memory that a long drain or a new configuration takes is given back."""
import re
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.system_test import SystemTest
from support.text import match
from support.waiting import wait_for

EVERY_FIX = {"interval_seconds": 0, "distance_meters": 0.01, "stationary_mode": "keep_tracking"}
# Fixes: enough for what the daemon considers a long drain, in the largest batches, whose bodies take most memory.
BACKLOG, BATCH = 6000, 1000
# MB that may remain. A first upload takes half a megabyte for good; if nothing is given back, a long drain leaves two,
# and new settings one.
AFTER_DRAIN, AFTER_RELOAD = 1.0, 0.5


def anonymous(daemon) -> float:
    """The daemon's anonymous memory, in MB."""
    with open(f"/proc/{daemon.child.process.pid}/smaps_rollup", encoding="ascii") as file:
        return int(match(r"^Anonymous:\s+(\d+)", file.read(), re.M)[1]) * 1024 / 1e6


def is_stable(daemon, last: list) -> bool:
    """Unchanged for three seconds: two seconds after its start a daemon gives back the memory that took."""
    now = time.monotonic()
    last.append((now, anonymous(daemon)))
    recent = [value for moment, value in last if moment > now - 3]
    return last[0][0] < now - 3 and max(recent) - min(recent) < 0.01


class MemoryTests(SystemTest):
    def settled(self, **sections):
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking=EVERY_FIX, store={"durability": "normal"}, **sections).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        looks: list = []
        wait_for(lambda: is_stable(daemon, looks), "memory stays as it is", 60)
        return fake, daemon

    def test_after_a_long_drain(self):
        backend = self.backend()
        fake, daemon = self.settled(sync={"url": backend.url, "batch_size": BATCH, "interval_seconds": NEVER})
        before = anonymous(daemon)
        for _ in range(BACKLOG // 500):
            fake.drive(500)
        daemon.wait_status(lambda status: status["sync"]["pending"] >= BACKLOG, "the backlog", 120)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        wait_for(lambda: anonymous(daemon) < before + AFTER_DRAIN,
                 lambda: f"{before:.2f} MB before and {anonymous(daemon):.2f} MB after")

    def test_after_a_reload(self):
        _, daemon = self.settled()
        before = anonymous(daemon)
        daemon.configure(tracking={"interval_seconds": 5})
        daemon.reload()
        wait_for(lambda: daemon.setting("tracking.interval_seconds") == 5, "the reload")
        wait_for(lambda: anonymous(daemon) < before + AFTER_RELOAD,
                 lambda: f"{before:.2f} MB before and {anonymous(daemon):.2f} MB after")


if __name__ == "__main__":
    unittest.main()
