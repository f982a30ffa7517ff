"""What the clocks of receiver, system and machine may do, as tables: through a fake gpsd whose every report is
chosen, with the daemon's clocks moved by a shim.
"""
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import from_iso, iso, tpv
from support.service_manager import ServiceManager
from support.time_test import DAY, ERA, HOUR, NOW, SECOND, TimeTest
from support.waiting import never, wait_for

# The times sent, in seconds, and those of the fixes that are used.
# Everything is sent at once, so a step of up to 1.5 s agrees with the machine's clock.
SETTLING: list[tuple[str, list, list]] = [
    ("three of mode 3 that span two seconds", [0, 1, 2, 3], [0, 1, 2, 3]),
    ("three that span less", [0, 0.5, 1, 1.5], []),
    ("five, at 2 Hz", [0, 0.5, 1, 1.5, 2], [0, 0.5, 1, 1.5, 2]),
    ("five of mode 2", [(second, 2) for second in range(6)], [*range(6)]),
    ("four of mode 2", [(second, 2) for second in range(4)], []),
    ("five of mode 2 that span less", [(tenth / 10, 2) for tenth in range(20)], []),
    ("mode 2 in between", [0, 1, (2, 2), 3, 4, 5], [0, 1, 2, 3, 4, 5]),
    ("mode 2 before the three", [(0, 2), 1, 2, 3], [0, 1, 2, 3]),
    ("ninety, of which as many are kept as there is room for", [tenth / 45 for tenth in range(92)],
     [tenth / 45 for tenth in range(27, 92)]),
    ("a step that is too long", [0, 1, 2.6, 3.6, 4.6], [2.6, 3.6, 4.6]),
    ("a step that is just not", [0, 1, 2.5, 3.5], [0, 1, 2.5, 3.5]),
    ("steps back, however small, prove nothing", [0, 1, 0.9, 1.9, 2.9], [0, 1, 1.9, 2.9]),
    ("one that is ahead proves nothing", [0, 1, 30, 2, 3, 4], [2, 3, 4]),
    ("an epoch without a fix in between", [0, 1, None, 1.5, 2.5, 3.5], [1.5, 2.5, 3.5]),
    ("a random time first", [-9e8, 0, 1, 2], [0, 1, 2]),
]

# Fixes that follow one that counts, and which of them are stored.
JUMPS: list[tuple[str, list, list]] = [
    ("back by more than a minute", [-61, -60.5, -70, -69, -68, -67], [-70, -69, -68, -67]),
    ("back by a minute", [-60, -59, -30, 1, 2], [1, 2]),
    ("back by a second, as after a leap second that was repeated", [-1, 0, 1, 2], [1, 2]),
    ("back by half a second", [-0.5, 0.5, 1.5], [0.5, 1.5]),
    ("ahead by 59 minutes", [3540, 3541], [3540, 3541]),
    ("ahead by more than an hour", [3700, 3701, 3702, 3703], [3700, 3701, 3702, 3703]),
    ("ahead by days", [1e6, 1e6 + 1, 1e6 + 2], [1e6, 1e6 + 1, 1e6 + 2]),
    ("the same instant again and again", [0, 0, 0, 1], [1]),
    ("23:59:60 is the next second, once", [1, 2, 2, 3], [1, 2, 3]),
    ("ten a second, with a second repeated", [0.8, 0.9, 0.0001, 0.1, 0.2, 1, 1.1], [0.8, 0.9, 1, 1.1]),
]


class ReceiverClockTests(TimeTest):
    def test_settling(self):
        for name, steps, used in SETTLING:
            with self.subTest(name):
                gps, daemon, _ = self.tracks()
                # Establishes the number of reports per epoch, so that each of the table's closes at once.
                gps.report(tpv(NOW - DAY), tpv(NOW - DAY + 100, mode=1))
                self.say(gps, daemon, steps)
                daemon.call("Stop")
                self.assertEqual(self.times(daemon), [NOW + round(second * SECOND) for second in used])
                self.assertEqual(daemon.status()["source"]["refused_times"], 0)
                daemon.kill()

    def test_jumps(self):
        for name, steps, stored in JUMPS:
            with self.subTest(name):
                # A system clock that agreed with the first fixes would refute a jump ahead.
                gps, daemon, _ = self.tracks(at=61 * SECOND)
                self.say(gps, daemon, [-2, -1, 0])
                daemon.wait_stored(3)
                gps.report(*[tpv(NOW + round(second * SECOND), 50 + index * 1e-4) for index, second in enumerate(steps)])
                expected = [NOW + round(second * SECOND) for second in [-2, -1, 0, *stored]]
                daemon.wait_stored(len(expected))
                daemon.call("Stop")
                self.assertEqual(self.times(daemon), expected)
                daemon.kill()

    def test_the_text_of_a_leap_second(self):
        gps, daemon, _ = self.tracks()
        midnight = NOW - NOW % DAY + DAY
        texts = [iso(midnight - 3000), iso(midnight - 2000), iso(midnight - 1000),
                 iso(midnight - 1000).replace(":59.", ":60."), iso(midnight), iso(midnight + 1000), iso(midnight + 2000)]
        gps.report(*[{**tpv(None), "time": text} for text in texts])
        daemon.wait_status(lambda status: status["source"]["fixes"] >= 6, "six instants")
        daemon.call("Stop")
        self.assertEqual(self.times(daemon), [midnight + offset for offset in (-3000, -2000, -1000, 0, 1000, 2000)])

    def test_a_backwards_jump_re_arms_the_gate(self):
        gps, daemon, _ = self.tracks(tracking={"interval_seconds": 30})
        self.say(gps, daemon, [-2, -1, 0, 10, 29, 30, 31, -100, -99, -98, -97, -69, -68])
        daemon.call("Stop")
        self.assertEqual(self.times(daemon), [NOW + second * SECOND for second in (-2, 29, -100, -69)])

    def test_a_clock_that_stands_still(self):
        gps, daemon, clocks = self.tracks()
        self.say(gps, daemon, [-2, -1, 0])
        daemon.wait_health("ok")
        clocks.suspend(11)
        gps.report(tpv(NOW, 50.5))
        daemon.wait_health("stale")
        self.assertIn("source", daemon.status()["degraded"])
        gps.report(*[tpv(NOW, 50.5 + index) for index in range(5)])
        self.say(gps, daemon, [12])
        daemon.wait_health("ok")
        self.assertEqual(self.times(daemon), [NOW + second * SECOND for second in (-2, -1, 0, 12)])

    def test_week_rollover(self):
        # Eras behind, offset in seconds, whether the kernel calls the system clock synchronised, whether it is trusted.
        for eras, beside, synchronised, is_taken in [
                (1, 0, False, True), (2, 0, False, True), (1, 0, True, True), (1, -3 * 86_400, False, True),
                (1, 3 * 86_400, True, False), (1, -3 * 86_400, True, False), (1, 80_000, True, True)]:
            with self.subTest(f"{eras} eras and {beside} s, synchronised: {synchronised}"):
                gps, daemon, _ = self.tracks(synchronised=synchronised)
                seconds = [beside + second for second in range(5)]
                self.say(gps, daemon, [second - eras * ERA / SECOND for second in seconds])
                status = daemon.wait_status(lambda status: status["source"]["rollovers"] == 5, "five rollovers")
                daemon.call("Stop")
                taken = [NOW + second * SECOND for second in seconds]
                self.assertEqual(self.times(daemon), taken if is_taken else [])
                self.assertEqual(status["source"]["refused_times"], 0 if is_taken else 5)
                said = daemon.text().count("rolled over"), daemon.text().count("are refused")
                self.assertEqual(said, (1, 0) if is_taken else (0, 1), daemon.text())
                daemon.kill()

    def test_replays_are_accepted_unchanged(self):
        gps, daemon, _ = self.tracks(synchronised=True, gpsd={"replay": True})
        times = self.say(gps, daemon, [second - ERA / SECOND for second in range(4)])
        later = self.say(gps, daemon, [1e8 + second for second in range(4)])
        daemon.call("Stop")
        self.assertEqual(self.times(daemon), times + later)
        source = daemon.status()["source"]
        self.assertEqual((source["rollovers"], source["refused_times"]), (0, 0))

    def test_times_in_the_future(self):
        # Hours ahead, whether the system clock is known to be right, whether the receiver is believed.
        for hours, synchronised, is_taken in [(23, True, True), (25, True, False), (24 * 400, True, False),
                                              (25, False, True), (24 * 4000, False, True)]:
            with self.subTest(f"{hours} h ahead, synchronised: {synchronised}"):
                gps, daemon, _ = self.tracks(synchronised=synchronised)
                times = self.say(gps, daemon, [hours * 3600 + second for second in range(4)])
                daemon.call("Stop")
                self.assertEqual(self.times(daemon), times if is_taken else [])
                self.assertEqual(daemon.status()["source"]["refused_times"], 0 if is_taken else 4)
                self.assertEqual(daemon.text().count("are refused"), 0 if is_taken else 1)
                daemon.kill()

    def test_a_clock_that_settled_fixes_have_confirmed_is_known_to_be_right(self):
        gps, daemon, _ = self.tracks(at=NOW - 20 * SECOND)
        self.say(gps, daemon, [-2, -1, 0])
        self.say(gps, daemon, [2 * 86_400 + second for second in range(4)])
        self.assertEqual(daemon.status()["source"]["refused_times"], 4)
        # The refused times have unsettled nothing.
        self.say(gps, daemon, [5, 6])
        daemon.call("Stop")
        self.assertEqual(self.times(daemon), [NOW + second * SECOND for second in (-2, -1, 0, 5, 6)])


class SystemClockTests(TimeTest):
    def test_a_system_clock_that_is_wrong_by_decades(self):
        """Fixes, sessions and batches carry the receiver's time; before there is one, the stored clock provides a lower bound."""
        for name, wrong in [("1970", 61 * SECOND), ("1999", 915_148_800_000), ("2106", 4_294_967_296_000)]:
            with self.subTest(name):
                receiver = self.backend()
                gps, daemon, clocks = self.tracks(
                    at=wrong, sync={"url": receiver.url, "batch_size": 3})
                times = self.say(gps, daemon, range(10))
                daemon.wait_stored(10)
                self.assertEqual(daemon.sync()["pending"], 0)
                self.assertEqual(self.sent(receiver), times)
                self.check_moments(receiver.requests, NOW, NOW + 60 * SECOND)
                status = daemon.status()
                for moment in (status["sync"]["last_success"], status["sync"]["last_attempt"]):
                    self.assertAlmostEqual(from_iso(moment), NOW, delta=60 * SECOND)
                # Another run, in which no fix has come yet.
                more = self.say(gps, daemon, range(10, 13))
                daemon.wait_stored(13)
                daemon.kill()
                clocks.set_system(wrong)
                daemon.start()
                count = len(receiver.requests)
                self.assertEqual(daemon.sync()["pending"], 0)
                self.assertEqual(self.sent(receiver), times + more)
                best = wrong if wrong > NOW else more[-1]
                # While nobody knows the time, an id has that of the newest row.
                self.check_moments(receiver.requests[count:], best, best + 60 * SECOND, named=more[-1])
                self.assertEqual(receiver.problems, [])
                daemon.kill()

    def test_before_anything_is_known_it_is_not_1970(self):
        gps, daemon, _ = self.tracks(at=0)
        started = from_iso(daemon.status()["session_started_at"])
        self.assertGreater(started, NOW - 365 * DAY)
        self.assertLess(started, NOW)
        self.say(gps, daemon, range(3))
        daemon.wait_stored(1)

    def test_a_clock_that_is_set_while_tracking(self):
        """By the network, for example: gate, schedule and session do not notice."""
        receiver = self.backend()
        gps, daemon, clocks = self.tracks(at=61 * SECOND, sync={"url": receiver.url})
        self.say(gps, daemon, range(5))
        clocks.set_system(NOW + 5 * SECOND)
        clocks.synchronised = True
        self.say(gps, daemon, range(5, 8))
        self.assertEqual(daemon.sync()["pending"], 0)
        self.check_moments(receiver.requests, NOW + 5 * SECOND, NOW + 60 * SECOND)
        clocks.set_system(61 * SECOND)
        clocks.synchronised = False
        self.say(gps, daemon, range(8, 10))
        self.assertEqual(daemon.sync()["pending"], 0)
        self.assertEqual(self.sent(receiver), [NOW + second * SECOND for second in range(10)])
        self.check_moments(receiver.requests, NOW, NOW + 60 * SECOND)
        status = daemon.status()
        self.assertEqual(status["source"]["refused_times"], 0)
        self.assertLess(status["uptime_seconds"], 600)

    def sent(self, receiver) -> list:
        return [from_iso(location["timestamp"]) for request in receiver.requests
                for location in request.root["locations"]]

    def check_moments(self, requests: list, earliest: int, latest: int, named: int | None = None):
        """The time at which a batch says it was sent, and that in its id, which is the same unless another is `named`."""
        self.assertTrue(requests)
        for request in requests:
            sent_at = from_iso(request.root["sent_at"])
            self.assertGreaterEqual(sent_at, earliest)
            self.assertLess(sent_at, latest)
            self.assertAlmostEqual(int(request.batch_id.replace("-", "")[:12], 16), named or sent_at, delta=SECOND)


class RetentionTests(TimeTest):
    """Pruning by age requires a time that is beyond doubt."""

    def test_retention_and_doubtful_clocks(self):
        # Days after the first run, what the second run's system clock shows, whether it is known to be right, the hours
        # for which the new time then holds, and whether the rows of the first run are too old at last. A clock that follows
        # the receiver agrees with it: no row is pruned for its age by a jump until that has held for 24 hours.
        for days, at, synchronised, hours, is_pruned in [
                (8, 8, True, 23, False), (8, 8, True, 24.5, True), (6, 6, True, 23.5, False), (6, 6, True, 24.5, True),
                (5, 5, True, 24.5, False), (8, 8, False, 23, False), (8, None, False, 23, False), (8, None, False, 24.5, True),
                (400, None, False, 0.5, False), (400, 0, False, 23, False), (400, 400, False, 24.5, True),
                (400, 400, True, 23, False), (400, 400, True, 24.5, True)]:
            with self.subTest(f"{days} days on, system clock at {at}, synchronised: {synchronised}, {hours} hours"):
                gps, daemon, clocks = self.tracks()
                first = self.say(gps, daemon, range(5))
                daemon.wait_stored(5)
                daemon.kill()
                wait_for(lambda: gps.watchers == 0, "the dead daemon's connection is gone")
                clocks.set_system(61 * SECOND if at is None else NOW + at * DAY)
                clocks.synchronised = synchronised
                daemon.start()
                gps.wait_watched()
                second = self.say(gps, daemon, [days * 86_400 + second for second in range(5)])
                daemon.wait_stored(5)
                self.assertEqual(self.times(daemon), first + second, "a jump alone")
                clocks.suspend(hours * 3600)
                if at is None:
                    clocks.set_system(61 * SECOND)
                second += self.say(gps, daemon, [days * 86_400 + 4 + hours * 3600])
                daemon.wait_stored(6)
                expected = second if is_pruned else first + second
                wait_for(lambda: self.times(daemon) == expected, lambda: f"{expected}, and there are {self.times(daemon)}")
                daemon.kill()

    def test_a_run_in_a_wrong_future_does_not_age_true_rows(self):
        gps, daemon, clocks = self.tracks(at=61 * SECOND)
        stored = self.say(gps, daemon, range(5))
        daemon.wait_stored(5)
        # A receiver that is certain of a time a year ahead; then one that is right again.
        for offset in (365 * 86_400, 60):
            daemon.kill()
            wait_for(lambda: gps.watchers == 0, "the dead daemon's connection is gone")
            clocks.set_system(61 * SECOND)
            daemon.start()
            gps.wait_watched()
            stored += self.say(gps, daemon, [offset + second for second in range(20)])
            daemon.wait_stored(20)
            self.assertEqual(self.times(daemon), stored)
        # Also when it happens within one run.
        stored += self.say(gps, daemon, [365 * 86_400 + second for second in range(20)])
        daemon.wait_stored(40)
        stored += self.say(gps, daemon, [100 + second for second in range(20)])
        daemon.wait_stored(60)
        self.assertEqual(self.times(daemon), stored)
        history = daemon.call("GetLocations")["locations"]
        self.assertEqual([from_iso(location["timestamp"]) for location in history], sorted(stored))

    def test_a_time_that_has_held_for_an_hour_is_beyond_doubt(self):
        gps, daemon, clocks = self.tracks(at=61 * SECOND, store={"retention_days": 0.02})
        self.say(gps, daemon, range(5))
        daemon.wait_stored(5)

        # Seconds that the machine sleeps, and the second of the fix after that.
        def sleep(seconds: int, second: int) -> list:
            clocks.suspend(seconds)
            clocks.set_system(61 * SECOND)
            return self.say(gps, daemon, [second])

        before = sleep(3500, 3500)
        daemon.wait_stored(6)
        self.assertEqual(len(self.times(daemon)), 6)
        after = sleep(160, 3660)
        daemon.wait_stored(7)
        self.assertEqual(self.times(daemon), before + after)


class SuspendTests(TimeTest):
    def test_a_machine_that_slept(self):
        manager = ServiceManager(self.path("notify"))
        self.addCleanup(manager.stop)
        gps = self.fake(start_ms=NOW)
        daemon, clocks = self.clocked(gps.port, NOW, tracking={"interval_seconds": 30, "distance_meters": 0})
        daemon.environment.update(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="3000000")
        daemon.start().call("Start")
        gps.wait_watched()
        self.say(gps, daemon, [-2, -1, 0, 1])
        clocks.suspend(8 * 3600)
        # Nothing more than that was missed: the next fix counts, on the same connection.
        self.say(gps, daemon, [8 * 3600])
        status = daemon.wait_health("ok")
        daemon.wait_stored(2)
        self.assertEqual(self.times(daemon), [NOW - 2 * SECOND, NOW + 8 * HOUR])
        self.assertEqual((status["source"]["reconnects"], gps.connections), (0, 1))
        self.assertGreaterEqual(status["uptime_seconds"], 8 * 3600)
        fed = len(manager.fed)
        wait_for(lambda: len(manager.fed) >= fed + 2, "watchdog pings")
        self.assertNotIn("stuck", daemon.text())
        # Once more, now followed by silence: gpsd is asked whether it is still there, and it is.
        clocks.suspend(8 * 3600)
        gps.report({"class": "WATCH", "enable": True})
        daemon.wait_health("stale")
        never(lambda: gps.connections > 1, "a working connection is abandoned")
        self.say(gps, daemon, [16 * 3600])
        daemon.wait_health("ok")

    def test_what_fell_due_meanwhile_is_done_soon(self):
        receiver = self.backend()
        gps, daemon, clocks = self.tracks(sync={"url": receiver.url, "interval_seconds": 7200})
        self.say(gps, daemon, [-2, -1, 0])
        daemon.wait_stored(1)
        clocks.suspend(8 * 3600)
        began = time.monotonic()
        receiver.wait_requests(1, 75)
        print(f"a schedule that fell into a suspend: {time.monotonic() - began:.0f} s after it")


if __name__ == "__main__":
    unittest.main()
