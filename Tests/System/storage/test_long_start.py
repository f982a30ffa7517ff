"""A start that takes long, because the database is large and the disk slow, is given time, and ends when it is told to."""
import os
import signal
import sqlite3
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.child import Child
from support.faults import STRACE, no_strace
from support.programs import installed
from support.service_manager import ServiceManager
from support.system_test import SystemTest
from support.waiting import wait_for

# About 30 MB, of which the check after an unclean end reads every page; with the delay below for half a minute and more.
ROWS = 250_000
# Microseconds that each reading from the database takes.
DELAY = 1000
# Seconds in which something must happen, also where many programs run at once. Only a failing test waits this long.
LONG = 120

COPY = f"""
    INSERT INTO locations (ts, seq, session, id, lat, lng, mode, "trigger", motion, is_mock, extras, odometer, uploaded)
    WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS})
    SELECT ts - n, n + (SELECT max(seq) FROM locations), session, randomblob(16), lat, lng, mode, "trigger", motion, is_mock,
    extras, odometer, uploaded FROM numbers, (SELECT * FROM locations ORDER BY ts LIMIT 1)
    """


@unittest.skipIf(no_strace(), no_strace())
class LongStartTests(SystemTest):
    real_time = True

    def setUp(self):
        super().setUp()
        self.manager = ServiceManager(self.path("notify"))
        self.addCleanup(self.manager.stop)
        fake, self.held = self.tracking(store={"max_rows": 10 * ROWS, "durability": "normal"})
        self.held.kill()
        self.held.environment = {"NOTIFY_SOCKET": self.manager.path}
        self.database = os.path.join(self.held.state, "beekon.db")
        link = sqlite3.connect(self.database)
        with link:
            link.execute(COPY)
        link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        link.close()

    def start_slowly(self):
        """The daemon, on a slow disk. It is a child of the test, and strace is not."""
        command = [installed(STRACE), "-D", "-I", "1", "-f", "-qq", "-o", self.path("trace"), "-P", self.database, "-e",
                   "trace=pread64", "-e", "signal=none", "-e", f"inject=pread64:delay_enter={DELAY}", *self.held.command()]
        self.held.child = Child(command, self.held.log, env={**os.environ, **self.held.environment})
        wait_for(self.is_starting, lambda: "the start; it said: " + self.held.text(), LONG)

    def is_starting(self) -> bool:
        """Whether it has come so far that the database is being opened: this thread is there until the start is over."""
        folder = f"/proc/{self.held.pid}/task"
        names = []
        for task in os.listdir(folder):
            try:
                names.append(Path(folder, task, "comm").read_text(encoding="ascii").strip())
            except OSError:
                pass  # it has just ended
        return "start" in names

    def end_slowness(self):
        status = Path(f"/proc/{self.held.pid}/status").read_text(encoding="ascii")
        tracer = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("TracerPid:"))
        # It detaches, and the daemon goes on.
        os.kill(tracer, signal.SIGTERM)

    def check_whole(self):
        """The next start finds everything."""
        self.held.start()
        self.assertEqual(self.held.status()["store"]["locations"], ROWS + 1)
        self.assertEqual(self.held.status()["state"], "tracking")
        self.assertEqual([name for name in os.listdir(self.held.state) if "corrupt" in name or "aside" in name], [])

    def test_it_asks_for_time_and_ends_when_it_is_told_to(self):
        self.start_slowly()
        wait_for(lambda: any(text.startswith("EXTEND_TIMEOUT_USEC=") for text in self.manager.said), "it asks for time", LONG)
        self.assertNotIn("READY=1", self.manager.said)
        self.assertIn("EXTEND_TIMEOUT_USEC=60000000", self.manager.said)
        self.held.child.signal(signal.SIGTERM)
        self.assertEqual(self.held.child.wait(LONG), 0)
        self.assertNotIn("READY=1", self.manager.said, "the start was not over")
        self.assertIn("told to end while it started", self.held.text())
        self.check_whole()

    def test_a_reload_meanwhile_is_not_lost(self):
        self.start_slowly()
        self.held.reload()
        self.end_slowness()
        wait_for(lambda: "READY=1" in self.manager.said, lambda: "the start is over; it said: " + self.held.text(), LONG)
        wait_for(lambda: "read again" in self.held.text(), lambda: "the reload; it said: " + self.held.text(), LONG)


if __name__ == "__main__":
    unittest.main()
