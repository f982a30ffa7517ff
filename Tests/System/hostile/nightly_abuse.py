"""Hostile clients: others are served, whatever they do. How quickly, and what it costs, `make bench` measures ("hostile")."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.child import descriptors
from support.control_client import ConnectionClosed, ControlClient
from support.hostile_clients import KINDS
from support.system_test import SystemTest
from support.waiting import PATIENCE, wait_for

CALLS = 50
# Sockets: all places, of which two are kept for who administers, the listener, and that to gpsd. And all that may be open.
CONNECTIONS, DESCRIPTORS = 36, 120


class AbuseTests(SystemTest):
    real_time = True

    def abuse(self, kind: str):
        process = subprocess.Popen(
            [sys.executable, "-m", "support.hostile_clients", self.victim.socket, kind],
            cwd=Path(__file__).resolve().parent.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        assert process.stdout
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def end(self, process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def status(self) -> dict:
        """Asks on a new connection: an old one would have been closed to make room."""
        with ControlClient(self.victim.socket) as tracker:
            return tracker.call("GetStatus")["status"]

    def stored(self, count: int):
        wait_for(lambda: self.status()["gate"]["admitted"] >= count, f"{count} fixes stored")

    def check_served(self):
        for _ in range(CALLS):
            wait_for(self.call_anew, "an answer")

    def call_anew(self) -> bool:
        """A client disconnected before it has asked anything connects again, as any client would."""
        try:
            with ControlClient(self.victim.socket) as tracker:
                return "count" in tracker.call("GetPendingUploadCount")
        except (ConnectionClosed, OSError):
            return False

    def test_everybody_else_is_served(self):
        fake, self.victim = self.tracking(store={"durability": "normal"})
        fake.drive(5000)
        self.victim.wait_stored(5001)
        for kind in KINDS:
            with self.subTest(kind):
                process = self.abuse(kind)
                try:
                    if kind == "subscribers asleep":
                        self.fill_sleepers(fake)
                    self.check_served()
                    wait_for(lambda: self.connections() <= CONNECTIONS, lambda: f"{self.connections()} sockets are open")
                finally:
                    self.end(process)
        # Fixes were stored throughout.
        stored = self.status()["gate"]["admitted"]
        fake.drive(3)
        self.stored(stored + 3)
        wait_for(lambda: self.connections() < 10, "all of them are gone", 3 * PATIENCE)
        # SQLite keeps the descriptors of closed readers for later ones while the writer holds its lock.
        self.assertLess(len(descriptors(self.victim.child.process.pid)), DESCRIPTORS)

    def fill_sleepers(self, fake):
        """Sends fixes until the sockets of all subscribers are full. They occupy every place; ten seconds later, each new
        client takes the place of one of them."""
        with ControlClient(self.victim.socket) as tracker:
            wait_for(lambda: self.connections() > 30 or not tracker.is_open(), "they have come")
        for _ in range(30):
            fake.drive(50)
        wait_for(self.is_let_in, "another client is admitted")

    def is_let_in(self) -> bool:
        try:
            return self.status() is not None
        except (ConnectionClosed, OSError):
            return False

    def connections(self) -> int:
        """Open sockets, including the one to gpsd."""
        return sum(name.startswith("socket:") for name in descriptors(self.victim.child.process.pid))


if __name__ == "__main__":
    unittest.main()
