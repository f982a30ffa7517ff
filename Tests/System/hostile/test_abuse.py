"""Hostile clients: others are served as if they did not exist, and the daemon does not grow."""
import statistics
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.child import descriptors
from support.control_client import ConnectionClosed, ControlClient
from support.hostile_clients import KINDS
from support.system_test import SystemTest
from support.waiting import PATIENCE, wait_for

# Within how many milliseconds a release build serves others on an idle machine; this test allows five times
# as many.
SERVED = 50.0
CALLS = 150
# KiB that all of it together may cost, in a debug build.
GROWTH = 48 * 1024


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

    def measure(self, tracker=None) -> list:
        """Milliseconds for each call, on this connection or on a new one for each."""
        times = []
        for _ in range(CALLS):
            began = time.monotonic()
            if tracker:
                tracker.call("GetPendingUploadCount")
            else:
                self.call_anew(began)
            times.append((time.monotonic() - began) * 1000)
        return sorted(times)

    def call_anew(self, began: float):
        """A client disconnected before it has asked anything connects again, as any client would."""
        while True:
            try:
                with ControlClient(self.victim.socket) as tracker:
                    return tracker.call("GetPendingUploadCount")
            except (ConnectionClosed, OSError):
                self.put_out += 1
                self.assertLess(time.monotonic() - began, PATIENCE)

    def memory(self, name: str) -> int:
        with open(f"/proc/{self.victim.child.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name))

    def test_everybody_else_is_served(self):
        fake, self.victim = self.tracking(store={"durability": "normal"})
        fake.drive(5000)
        self.victim.wait_stored(5001)
        # Busy again and again, so that it is not the one to be disconnected.
        with ControlClient(self.victim.socket) as tracker:
            calm = self.measure(tracker)
            self.put_out = 0
            # How long everybody waits when all places are taken by ordinary clients asking for the status.
            house = self.measure_statuses(tracker)
        before = self.memory("VmRSS")
        allowed = max(5 * SERVED, 10 * house)
        print(f"\n34 statuses take {house:.1f} ms: others may wait for {allowed:.1f} ms\n"
              f"{'':24}{'median':>8}{'p99':>8}{'max':>9} ms{'put out':>9}{'VmHWM':>9} KiB")
        self.show("nobody", calm)
        for kind in KINDS:
            with self.subTest(kind):
                self.put_out = 0
                process = self.abuse(kind)
                try:
                    if kind == "subscribers asleep":
                        self.fill_sleepers(fake)
                    times = self.measure()
                    self.show(kind, times)
                    self.assertLess(statistics.median(times), allowed)
                finally:
                    self.end(process)
        grown = self.memory("VmHWM") - before
        print(f"it has grown by {grown} KiB at most")
        self.assertLess(grown, GROWTH)
        # Fixes were stored throughout.
        stored = self.status()["gate"]["admitted"]
        fake.drive(3)
        self.stored(stored + 3)
        wait_for(lambda: self.connections() < 10, "all of them are gone", 3 * PATIENCE)
        # SQLite keeps the descriptors of closed readers for later ones while the writer holds its lock.
        self.assertLess(len(descriptors(self.victim.child.process.pid)), 120)

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

    def measure_statuses(self, tracker) -> float:
        began = time.monotonic()
        for _ in range(34):
            tracker.call("GetStatus")
        return (time.monotonic() - began) * 1000

    def connections(self) -> int:
        """Open sockets, including the one to gpsd."""
        return sum(name.startswith("socket:") for name in descriptors(self.victim.child.process.pid))

    def show(self, name: str, times: list):
        print(f"{name:24}{statistics.median(times):8.1f}{times[int(len(times) * 0.99)]:8.1f}{times[-1]:9.1f}   "
              f"{self.put_out:>9}{self.memory('VmHWM'):>9}")


if __name__ == "__main__":
    unittest.main()
