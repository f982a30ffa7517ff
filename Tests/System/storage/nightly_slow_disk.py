"""A disk that is slow to complete a sync is not broken, and nobody else has to wait for it.

strace delays fdatasync by 5 s, by 60 s, and for so long that the watchdog rightly acts.
"""
import statistics
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import from_iso
from support.faults import Fault, no_strace
from support.service_manager import ServiceManager
from support.system_test import SystemTest
from support.waiting import PATIENCE, never, wait_for

# The service manager acts after this many seconds without a watchdog ping.
WATCHDOG = 6.0


class Pace(threading.Thread):
    """Sends one fix a second, whatever the daemon is doing."""

    def __init__(self, gps):
        super().__init__(daemon=True)
        self.gps, self.times, self._end = gps, [], threading.Event()
        self.start()

    def run(self):
        while not self._end.wait(1):
            self.times += self.gps.drive(1)

    def stop(self):
        self._end.set()
        self.join()


class Impatience(threading.Thread):
    """Keeps asking for the status, and records how long each answer took."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.seconds, self._daemon, self._end = [], daemon, threading.Event()
        self.start()

    def run(self):
        with self._daemon.connect() as link:
            while not self._end.wait(0.05):
                began = time.monotonic()
                link.call("GetStatus")
                self.seconds.append(time.monotonic() - began)

    def stop(self):
        self._end.set()
        self.join()


@unittest.skipIf(no_strace(), no_strace())
class SlowDiskTests(SystemTest):
    real_time = True

    def begin(self):
        self.manager = ServiceManager(self.path("notify"))
        self.addCleanup(self.manager.stop)
        self.receiver = self.backend()
        self.gps = self.fake()
        self.victim = self.daemon(self.gps.port, sync={"url": self.receiver.url})
        self.victim.environment = {"NOTIFY_SOCKET": self.manager.path, "WATCHDOG_USEC": str(int(WATCHDOG * 1e6))}
        self.victim.start()
        wait_for(lambda: "READY=1" in self.manager.said, "the manager learns of the start")
        self.victim.call("Start")
        self.told = self.listening(self.victim)
        first = self.gps.settle()
        wait_for(lambda: self.told.ids, "the first fix is stored")
        return first

    def times(self) -> list:
        return [from_iso(location["timestamp"]) for location in self.told.locations]

    def slow(self, seconds: float, syncs: int):
        """The disk is slow for this many syncs, at 1 Hz; then it is fast again."""
        first = self.begin()
        began = time.monotonic()
        with Fault(self.victim, "fdatasync", f"delay_enter={int(seconds * 1e6)}") as fault:
            pace, impatience = Pace(self.gps), Impatience(self.victim)
            self.addCleanup(impatience.stop)
            self.addCleanup(pace.stop)
            wait_for(lambda: pace.times, "a fix has been sent, and its sync is held up")
            # An upload attempt waits for the disk like everything else, and like a reload it holds up nobody.
            self.victim.reload()
            self.victim.ask_for_sync()
            never(lambda: len(self.times()) > 1, "a fix announced before its sync returned", seconds * 0.5)
            wait_for(lambda: fault.injected() >= syncs, f"{syncs} slow syncs", (syncs + 1) * seconds + PATIENCE)
            # Each of them delayed at most one fix.
            self.assertLessEqual(len(self.times()), 1 + syncs)
        pace.stop()
        impatience.stop()
        sent = [first] + pace.times
        wait_for(lambda: len(self.times()) >= len(sent), lambda: f"{len(sent)} fixes told of, {len(self.times())} were",
                 seconds + PATIENCE)
        self.assertEqual(self.times(), sent)
        status = self.victim.status()
        self.assertEqual((status["source"]["reconnects"], self.gps.connections), (0, 1))
        self.assertEqual(status["store"]["refused"], 0)
        self.assertNotIn("stuck", self.victim.text())
        self.assertNotIn("cannot store", self.victim.text())
        self.assertLess(self.manager.longest_pause(began), WATCHDOG)
        median, longest = statistics.median(impatience.seconds), max(impatience.seconds)
        print(f"syncs of {seconds:g} s: {len(sent)} fixes, {len(impatience.seconds)} answers, median {median * 1e3:.1f} ms, "
              f"longest {longest * 1e3:.0f} ms; longest pause of the watchdog {self.manager.longest_pause(began):.1f} s")
        # Whoever waited for the disk would have one for each sync, or two.
        self.assertGreater(len(impatience.seconds), 5 * syncs)
        self.victim.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded", seconds + PATIENCE)
        self.assertEqual(set(self.receiver.ids), set(self.told.ids))
        self.assertEqual(self.receiver.faults() + self.receiver.problems, [])

    def test_syncs_of_five_seconds(self):
        self.slow(5, 3)

    def test_syncs_of_a_minute(self):
        self.slow(60, 3)

    def test_commands_run_between_two_slow_writes(self):
        """A caller waits for the write in progress, not for all the writes queued behind it."""
        self.begin()
        with Fault(self.victim, "fdatasync", "delay_enter=2000000") as fault:
            self.gps.drive(30)
            wait_for(lambda: fault.injected() >= 1, "the disk has held a sync up")
            self.assertEqual(self.victim.call("Stop")["state"], "stopped")
            self.assertLess(len(self.times()), 15)

    def test_a_hung_thread_is_not_concealed(self):
        self.begin()
        with Fault(self.victim, "fdatasync", "delay_enter=180000000"):
            self.gps.drive(1)
            began = time.monotonic()
            wait_for(lambda: "stuck" in self.victim.text(), "the thread is found to be stuck", 150)
            self.assertGreater(time.monotonic() - began, 110)
            count = len(self.manager.fed)
            never(lambda: len(self.manager.fed) > count, "watchdog pings in spite of a hung thread", WATCHDOG * 2)
            self.assertEqual(self.victim.text().count("stuck"), 1)
            # The main thread keeps answering.
            self.victim.status()
        wait_for(lambda: len(self.manager.fed) > count, "watchdog pings resume", 90)


if __name__ == "__main__":
    unittest.main()
