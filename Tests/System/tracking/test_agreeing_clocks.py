"""What the clocks may do when the receiver also sets the system clock, so that the two always agree."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.programs import program
from support.time_test import DAY, ERA, NOW, SECOND, TimeTest
from support.waiting import wait_for

YEARS = 20 * 365 * 86_400
JUMPED = "times jumped by 7300 days"


class OneClockTests(TimeTest):
    def go_on(self, gps, daemon, clocks, seconds: float, synchronised: bool = True):
        """Restarts the daemon with a system clock that shows this, in seconds from NOW."""
        daemon.kill()
        wait_for(lambda: gps.watchers == 0, "the dead daemon's connection is gone")
        clocks.set_system(NOW + round(seconds * SECOND))
        clocks.synchronised = synchronised
        daemon.start()
        gps.wait_watched()

    def fixes(self, gps, daemon, seconds: float, count: int = 6) -> list:
        """Sends this many fixes from this moment on, and returns the times of those that are stored."""
        stored = daemon.status()["gate"]["admitted"]
        times = self.say(gps, daemon, [seconds + second for second in range(count)])
        daemon.wait_stored(stored + len(times))
        return times

    def check_pruned(self, daemon, expected: list):
        """What is too old goes with one of the next commits, not necessarily with the one that was waited for."""
        wait_for(lambda: self.times(daemon) == expected, lambda: f"{expected} are left; there are {self.times(daemon)}")

    def check_logged_once(self, daemon, words: str):
        wait_for(lambda: words in daemon.text(), f"'{words}' in the log")
        self.assertEqual(daemon.text().count(words), 1, daemon.text())

    # Both after the week rollover

    def test_a_rollover_that_the_clock_follows(self):
        """The kernel calls the clock synchronised, and yet it is not believed: the fixes are corrected."""
        gps, daemon, _ = self.tracks(at=NOW - ERA, synchronised=True)
        taken = self.say(gps, daemon, [second - ERA / SECOND for second in range(6)])
        daemon.wait_stored(6)
        self.assertEqual(self.times(daemon), [time + ERA for time in taken])
        status = daemon.wait_status(lambda status: status["source"]["rollovers"] == 6, "six corrected fixes")
        self.assertEqual(status["source"]["refused_times"], 0)
        self.assertEqual(status["degraded"], [])

    def test_refused_times_are_reported(self):
        gps, daemon, _ = self.tracks(synchronised=True)
        self.say(gps, daemon, [400 * 86_400 + second for second in range(4)])
        # Until the last of the four: the status shows the latest.
        status = daemon.wait_status(lambda status: "source" in status["degraded"]
                                    and status["source"]["refused_time"].startswith("2028-04-18T08:00:03"), "degraded")
        self.assertEqual(status["source"]["refused_clock"][:10], "2027-03-15")
        shown = subprocess.run([program("beekonctl"), "status", "--socket", daemon.socket], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL, timeout=60).stdout
        self.assertIn("2028-04-18T08:00:03", shown)
        self.assertIn("2027-03-15T08:0", shown)
        self.check_logged_once(daemon, "are refused")
        # It ends with the cause.
        self.say(gps, daemon, range(4))
        status = daemon.wait_status(lambda status: "source" not in status["degraded"], "no longer degraded")
        self.assertNotIn("refused_time", status["source"])

    # Both ahead

    def test_receiver_and_clock_twenty_years_ahead(self):
        gps, daemon, clocks = self.tracks(at=NOW, synchronised=True)
        true = self.fixes(gps, daemon, 0, 14)
        self.go_on(gps, daemon, clocks, YEARS)
        stored = true + self.fixes(gps, daemon, YEARS, 20)
        self.assertEqual(self.times(daemon), stored)
        self.check_logged_once(daemon, JUMPED)
        # Nor two days and a restart later, of which the box has run for minutes; nor when it has run for most of a day.
        later = YEARS + 2 * 86_400
        self.go_on(gps, daemon, clocks, later)
        stored += self.fixes(gps, daemon, later)
        clocks.suspend(85_000)
        stored += self.fixes(gps, daemon, later + 85_000)
        self.assertEqual(self.times(daemon), stored)
        # After that day the true ones are too old.
        clocks.suspend(2000)
        stored += self.fixes(gps, daemon, later + 87_000)
        self.check_pruned(daemon, [time for time in stored if time not in true])
        self.check_logged_once(daemon, JUMPED)

    def test_clocks_that_creep(self):
        """Less than a day at each start, which is believed, and much more in sum, which is not."""
        gps, daemon, clocks = self.tracks(at=NOW, synchronised=True)
        stored = self.fixes(gps, daemon, 0)
        for start in range(1, 13):
            self.go_on(gps, daemon, clocks, start * 80_000)
            stored += self.fixes(gps, daemon, start * 80_000)
        self.assertEqual(self.times(daemon), stored)
        wait_for(lambda: "times are 1.9 days ahead" in daemon.text(), "the doubt is reported")

    def test_when_the_time_is_right_again_all_is_as_before(self):
        gps, daemon, clocks = self.tracks(at=NOW, synchronised=True)
        true = self.fixes(gps, daemon, 0)
        self.go_on(gps, daemon, clocks, YEARS)
        wrong = self.fixes(gps, daemon, YEARS)
        self.go_on(gps, daemon, clocks, 3600)
        self.assertEqual(self.times(daemon), true + wrong)
        later = self.fixes(gps, daemon, 3600)
        self.assertEqual(self.times(daemon), true + wrong + later)
        # A week that has really passed.
        clocks.suspend(7 * 86_400)
        last = self.fixes(gps, daemon, 3600 + 7 * 86_400)
        kept = [time for time in later if time >= last[-1] - 7 * DAY]
        self.check_pruned(daemon, wrong + kept + last)

    def test_receiver_and_clock_behind(self):
        """Nothing is taken for old: neither these rows nor those that follow once the time is right again."""
        gps, daemon, clocks = self.tracks(at=NOW, synchronised=True)
        stored = self.fixes(gps, daemon, 0)
        behind = -ERA / SECOND - 40 * 86_400
        self.go_on(gps, daemon, clocks, behind)
        stored += [time + ERA for time in self.fixes(gps, daemon, behind)]
        self.go_on(gps, daemon, clocks, 100)
        stored += self.fixes(gps, daemon, 100)
        self.assertEqual(self.times(daemon), stored)

    def test_uploaded_rows_that_are_kept(self):
        receiver = self.backend()
        gps, daemon, clocks = self.tracks(
            at=NOW, synchronised=True, sync={"url": receiver.url}, store={"keep_uploaded": True})
        true = self.fixes(gps, daemon, 0)
        self.assertEqual(daemon.sync()["pending"], 0)
        self.go_on(gps, daemon, clocks, YEARS)
        self.assertEqual(self.times(daemon), true)
        wrong = self.fixes(gps, daemon, YEARS)
        self.assertEqual(self.times(daemon), true + wrong)

    def test_dead_letters(self):
        receiver = self.backend(answers=(422,))
        gps, daemon, clocks = self.tracks(at=NOW, synchronised=True, sync={"url": receiver.url, "batch_size": 100})
        true = self.fixes(gps, daemon, 0)
        daemon.sync()
        self.assertEqual(len(daemon.rejected_ids()), len(true))
        self.go_on(gps, daemon, clocks, YEARS)
        wrong = self.fixes(gps, daemon, YEARS)
        receiver.answers = [422]
        daemon.sync()
        self.assertEqual(len(daemon.rejected_ids()), len(true) + len(wrong))


if __name__ == "__main__":
    unittest.main()
