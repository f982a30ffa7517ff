"""A virtual machine loses its power at random while fixes are stored and uploaded.

BEEKOND_CUTS says how often (default 3; 20 is the long form).
"""
from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest

import virtual
from harness import Backend, toml, wait_for

CUTS = int(os.environ.get("BEEKOND_CUTS", "3"))
SEED = int(os.environ.get("BEEKOND_SEED", str(random.randrange(1 << 32))))


def setUpModule():
    reason = virtual.missing()
    if reason:
        raise unittest.SkipTest(reason)


class PowerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-power-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.backend = Backend().start()
        self.addCleanup(self.backend.stop)

    def machine(self, url: str, **sections) -> virtual.Machine:
        config = {
            "tracking": {"autostart": True, "interval_seconds": 0, "distance_meters": 0, "stationary_mode": "keep_tracking"},
            "sync": {"url": url, "sync_threshold": 5, "interval_seconds": 60, "allow_insecure_http": True}, **sections}
        machine = virtual.Machine(self.folder, toml(config))
        self.addCleanup(machine.stop)
        return machine

    def url(self) -> str:
        return self.backend.url.replace("127.0.0.1", virtual.HOST)

    def test_nothing_stored_is_lost(self):
        print(f"\nseed {SEED}, {CUTS} cuts")
        chance = random.Random(SEED)
        machine = self.machine(self.url())
        sessions, reported = set(), []
        for number in range(1, CUTS + 1):
            machine.start()
            machine.wait_status(lambda status: status["gate"]["admitted"] >= 3, "fixes are stored after the boot")
            # Every third acknowledgement gets lost, so that a cut meets batches in every state.
            self.backend.drop_ack_every = 3
            time_left = time.monotonic() + chance.uniform(1, 20)
            wait_for(lambda: time.monotonic() > time_left, "the moment of the cut", 60)
            machine.cut()
            status = machine.status()
            sessions.add(status["session_id"])
            self.assertNotIn("storage", status["degraded"])
            reported += machine.stored(number)
            print(f"cut {number}: {len(machine.stored(number))} reported stored in this boot, "
                  f"{len(self.received())} received in all")
        machine.start()
        machine.wait_status(lambda status: status["gate"]["admitted"] >= 1, "tracking goes on after the last cut")
        self.backend.drop_ack_every = 0
        wait_for(lambda: set(reported) <= self.received(), lambda: f"{len(set(reported) - self.received())} are missing", 300)
        machine.cut()
        sessions.add(machine.status()["session_id"])
        self.assertEqual(len(sessions), 1, "one session throughout")
        self.assertEqual(self.backend.faults(), [], "each id in one batch, each batch with one set of bytes")
        self.assertEqual(self.quarantined(machine), [])
        print(f"{machine.boots} boots, {CUTS} cuts; {len(set(reported))} reported stored, {len(self.received())} received, "
              f"{sum(request.duplicate for request in self.backend.requests)} batches sent again, 0 lost")

    def received(self) -> set:
        return set(self.backend.ids)

    def quarantined(self, machine: virtual.Machine) -> list:
        """What the disk says of the database, by the eyes of another SQLite; the journal of ext4 is played first."""
        mounted = os.path.join(self.folder, "mounted")
        os.mkdir(mounted)
        subprocess.run(["mount", "-o", "loop", machine.disk, mounted], check=True)
        try:
            state = os.path.join(mounted, "var/lib/beekond")
            link = sqlite3.connect(os.path.join(state, "beekon.db"))
            self.assertEqual(link.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            link.close()
            return [name for name in os.listdir(state) if "corrupt" in name or "salvaged" in name]
        finally:
            subprocess.run(["umount", mounted], check=True)


if __name__ == "__main__":
    unittest.main()
