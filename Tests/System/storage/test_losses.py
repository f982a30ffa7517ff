"""What the rules delete is counted across restarts and reported; and what they must not delete stays: dead letters of a
suspected endpoint, and a WAL whose database has gone."""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest
from support.daemon import NEVER
from support.fake_gpsd import tpv
from support.ports import NOBODY
from support.system_test import SystemTest
from support.time_test import TimeTest
from support.waiting import wait_for

NOW = 1_805_097_600_000
DAY = 86_400


class LossTests(SystemTest):
    def offline(self, rows: int, **store) -> tuple:
        """A daemon with this many rows and no backend."""
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": f"http://127.0.0.1:{NOBODY}/"},
                             store={"durability": "normal", **store}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        if rows > 1:
            fake.drive(rows - 1)
        daemon.wait_stored(rows)
        return fake, daemon

    def lost(self, daemon, count: int) -> dict:
        return daemon.wait_status(
            lambda status: status["store"]["dropped_unsent"] == count and "loss" in status["degraded"], f"{count} rows lost")

    def test_rows_lost_to_the_cap_are_counted_reported_and_remembered(self):
        fake, daemon = self.offline(10, max_rows=10)
        self.assertNotIn("loss", daemon.status()["degraded"])
        fake.drive(20)
        daemon.wait_stored(30)
        self.lost(daemon, 20)
        wait_for(lambda: "lost: " in daemon.text(), "the loss is reported")
        self.assertIn("store.max_rows = 10", daemon.text())
        self.assertEqual(daemon.text().count("lost: "), 1, "not once for each fix")
        daemon.kill()
        daemon.start()
        status = daemon.status()
        self.assertEqual(status["store"]["dropped_unsent"], 20)
        self.assertNotIn("loss", status["degraded"], "none was lost since the start")

    def test_a_lowered_cap_is_reached_without_a_fix(self):
        fake, daemon = self.offline(2500)
        daemon.configure(store={"max_rows": 1000})
        daemon.reload()
        daemon.wait_status(lambda status: status["store"]["locations"] == 1000, "1,000 rows are left")
        self.lost(daemon, 1500)
        wait_for(lambda: "lost: 1" in daemon.text(), "the loss is reported")

    def test_a_cap_that_was_lowered_before_the_start(self):
        fake, daemon = self.offline(1500)
        daemon.terminate()
        daemon.configure(store={"max_rows": 100}, tracking={"autostart": False})
        daemon.start()
        daemon.wait_status(lambda status: status["store"]["locations"] == 100, "100 rows are left")
        self.lost(daemon, 1400)

    def test_a_wal_whose_database_has_gone(self):
        for size in (0, None):
            with self.subTest(size):
                fake, daemon = self.offline(40)
                stored = daemon.stored_ids()
                daemon.kill()
                path = os.path.join(daemon.state, "beekon.db")
                self.assertGreater(os.path.getsize(path + "-wal"), 0)
                if size is None:
                    os.unlink(path)
                else:
                    os.truncate(path, size)
                daemon.start()
                self.assertLessEqual(stored, daemon.stored_ids())
                self.assertEqual(daemon.status()["sync"]["pending"], len(daemon.stored_ids()))
                daemon.kill()


class AgeTests(TimeTest):
    def check_told(self, daemon, rows: int, lines: int):
        daemon.wait_status(lambda status: status["store"]["pruned"] == rows and "loss" in status["degraded"], f"{rows} rows lost")
        wait_for(lambda: daemon.text().count("lost: ") >= lines, "the loss is reported")
        self.assertEqual(daemon.text().count("lost: "), lines, daemon.text())

    def test_rows_that_grow_old_without_a_backend(self):
        """Reported at once and then hourly, degraded, and counted over restarts, like any other loss."""
        gps, daemon, clocks = self.tracks(synchronised=True, store={"retention_days": 0.018})
        self.say(gps, daemon, range(2, 5))
        daemon.wait_stored(3)
        self.assertNotIn("loss", daemon.status()["degraded"])
        # Seconds that the machine sleeps, how many rows are lost then, and how many lines of the log say so. The first two are
        # less than an hour: the round that reports a loss may have begun before the sleep, and goes by the time of its beginning.
        moment = 4
        for seconds, lost, lines in [(1700, 3, 1), (1600, 4, 1), (2100, 5, 2)]:
            clocks.suspend(seconds)
            moment += seconds
            self.say(gps, daemon, [moment])
            self.check_told(daemon, lost, lines)
        first, second = (line for line in daemon.text().splitlines() if "lost: " in line)
        self.assertIn("lost: 3 locations", first)
        self.assertIn("store.retention_days", first)
        self.assertIn("lost: 2 locations", second)
        daemon.kill()
        daemon.start()
        status = daemon.status()
        self.assertEqual(status["store"]["pruned"], 5)
        self.assertNotIn("loss", status["degraded"], "none was lost since the start")

    def test_rows_that_grow_old_although_backends_are_owed_them(self):
        """store.unsent_days: a frozen batch stays, every destination counts what it was owed, and a kill changes nothing."""
        # After this answer the next attempt is left to the schedule.
        receiver = self.backend(answers=[404])
        other: dict = {"destination.other": {"url": f"http://127.0.0.1:{NOBODY}/", "interval_seconds": NEVER}}
        gps, daemon, clocks = self.tracks(
            synchronised=True, store={"unsent_days": 0.018}, sync={"url": receiver.url, "batch_size": 2},
            **other)
        self.say(gps, daemon, range(2, 5))
        daemon.wait_stored(3)
        self.assertEqual(daemon.call("Sync", destination="main")["outcome"], "permanent")
        frozen = set(daemon.query("SELECT id FROM locations ORDER BY seq LIMIT 2"))
        moment = 4
        for seconds, lost, lines in [(1700, 1, 1), (1600, 2, 1), (2100, 3, 2)]:
            clocks.suspend(seconds)
            moment += seconds
            self.say(gps, daemon, [moment])
            self.check_told(daemon, lost, lines)
        self.assertEqual([found["pruned"] for found in daemon.status()["destinations"]], [3, 3])
        first = next(line for line in daemon.text().splitlines() if "lost: " in line)
        self.assertIn("lost: 1 locations", first)
        self.assertIn("store.unsent_days", first)
        daemon.kill()
        daemon.start()
        status = daemon.status()
        self.assertEqual((status["store"]["pruned"], status["sync"]["pending"]), (3, 3))
        self.assertEqual([found["pruned"] for found in status["destinations"]], [3, 3])
        self.assertLessEqual(frozen, set(daemon.query("SELECT id FROM locations")))
        daemon.sync_until(lambda answer: answer["pending"] == 0, "the frozen batch and the newest row are delivered")
        self.assertEqual(len(set(receiver.ids)), 3)

    def test_kills_while_rows_grow_old(self):
        """Each row that was ever stored is still there, or counted as gone."""
        gps, daemon, clocks = self.tracks(
            synchronised=True, store={"unsent_days": 0.018}, sync={"url": f"http://127.0.0.1:{NOBODY}/"})
        self.say(gps, daemon, range(8))
        daemon.wait_stored(6)
        moment = 7
        for _ in range(12):
            before = daemon.query("SELECT MAX(seq) FROM locations")
            clocks.suspend(900)
            moment += 900
            gps.report(*[tpv(NOW + (moment + step) * 1000, 51 + moment * 1e-5 + step * 1e-4) for step in range(6)])
            moment += 5
            # Anywhere between the first of these rows and the last.
            wait_for(lambda: daemon.query("SELECT MAX(seq) FROM locations") > before, "rows are stored")
            daemon.kill()
            [(last, count)] = daemon.query("SELECT MAX(seq), COUNT(*) FROM locations")
            [(pruned,)] = daemon.query("SELECT COALESCE(SUM(value), 0) FROM counters WHERE name = 'pruned'")
            self.assertEqual(last, count + pruned)
            daemon.start()
            gps.wait_watched()
        self.assertGreater(daemon.status()["store"]["pruned"], 0)


class DeadLetterTests(ClockTest):
    def rejecting(self, rows: int, answers=()) -> tuple:
        receiver = self.backend(answers=answers)
        gps = self.fake(start_ms=NOW)
        daemon, clocks = self.clocked(gps.port, NOW, True, sync={"url": receiver.url, "batch_size": 10})
        daemon.start().call("Start")
        gps.settle()
        daemon.wait_stored(1)
        gps.drive(rows - 1)
        daemon.wait_stored(rows)
        return receiver, daemon, clocks

    def test_none_is_lost_to_an_endpoint_that_rejects_everything_for_weeks(self):
        receiver, daemon, clocks = self.rejecting(42)
        stored = daemon.stored_ids()
        receiver.refuse(lambda request: True, 400)
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        self.assertEqual((daemon.stored_ids(), daemon.rejected_ids()), (stored, set()))
        for restart in (False, True):
            clocks.suspend(9 * DAY)
            if restart:
                daemon.kill()
                daemon.start()
            self.assertEqual(daemon.sync_until(lambda answer: answer["outcome"] == "rejected", "a probe")["pending"], 42)
        status = daemon.status()
        self.assertEqual((status["store"]["expired"], status["sync"]["rejected"]), (0, 0))
        receiver.accept_all()
        daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is delivered")
        self.assertEqual(set(receiver.ids), stored)
        taken = receiver.batches_of(daemon.status()["install_id"])
        self.assertEqual({len(batches) for batches in taken.values()}, {1})

    def test_dead_letters_that_expire_are_counted_and_reported(self):
        receiver, daemon, clocks = self.rejecting(40, [422, 200, 200, 503])
        daemon.sync()
        self.assertEqual(len(daemon.rejected_ids()), 10)
        clocks.suspend(9 * DAY)
        receiver.answers = [422]
        daemon.sync_until(lambda answer: answer["pending"] == 0, "nothing is pending")
        self.assertEqual(len(daemon.rejected_ids()), 10)
        wait_for(lambda: "10 dead letters were rejected more than 7 days ago" in daemon.text(), "it is reported")
        daemon.wait_status(lambda status: status["store"]["expired"] == 10 and "loss" in status["degraded"], "it is counted")
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.status()["store"]["expired"], 10)


if __name__ == "__main__":
    unittest.main()
