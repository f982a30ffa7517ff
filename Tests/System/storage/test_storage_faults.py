"""Storage that fails under the running daemon and recovers: nothing is lost or announced too early, and the log stays short.

While storage fails, up to 256 admitted fixes wait in memory. The oracles are the fake gpsd, which knows every fix it
sent; a subscription, which may name a fix only after its COMMIT; and the receiver, which sees every batch.
"""
import os
import shutil
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.fake_gpsd import from_iso, iso
from support.faults import Disk, Fault, no_loops, no_mounts, no_strace
from support.system_test import SystemTest
from support.waiting import never, wait_for

RING = 256
# What a fix adds to the WAL at the least: one frame, of a page and its header.
FRAME = 1024 + 24
DATABASE = ["beekon.db", "beekon.db-wal"]
# The system call that fails, how, on which files, and a word that the error must contain.
CALLS = [
    ("pwrite64", "error=ENOSPC", DATABASE, "full"),
    ("pwrite64", "error=EIO", DATABASE, "I/O error"),
    ("fdatasync", "error=EIO", DATABASE, "I/O error"),
    ("pwrite64", "error=EROFS", DATABASE, "I/O error"),
]


class StorageFaultTest(SystemTest):
    """A tracking daemon with a backend, and every fix it was sent."""

    def begin(self, state: str | None = None):
        self.receiver = self.backend()
        self.gps = self.fake()
        self.sent = []
        self.victim = self.daemon(self.gps.port, sync={"url": self.receiver.url})
        if state:
            self.victim.state = state
        self.victim.start()
        self.session = self.victim.call("Start")["session_id"]
        self.told = self.listening(self.victim)
        self.sent.append(self.gps.settle())
        self.drive(2)
        self.wait_told()

    def drive(self, count: int):
        self.sent += self.gps.drive(count)

    def degraded(self, words: int = 1, spare: int = 0) -> dict:
        """Waits until `words` fixes wait in memory, or up to `spare` fewer, which still found room."""
        return self.victim.wait_status(
            lambda status: "storage" in status["degraded"] and status["store"]["degraded"]
            and status["store"]["last_error"] and status["store"]["waiting_in_memory"] >= words - spare
            and status["store"]["waiting_in_memory"] == (len(self.sent) - len(self.times()) if spare else words),
            f"degraded by storage, with {words} fixes waiting")

    def wait_told(self):
        """Waits until everything sent is stored and was announced in order."""
        wait_for(lambda: len(self.times()) >= len(self.sent), lambda: f"{len(self.sent)} announced, {len(self.times())} were")
        self.assertEqual(self.times(), self.sent)

    def times(self) -> list:
        return [from_iso(location["timestamp"]) for location in self.told.locations]

    def spare(self) -> int:
        """How many fixes, at most, a full disk still has room for: as many as fit behind the end of the WAL into its last
        block. Where that end is depends on all that was written before; on pages of 16 KiB, up to 15 fixes fit."""
        block = os.statvfs(self.victim.state).f_frsize
        return -os.path.getsize(os.path.join(self.victim.state, "beekon.db-wal")) % block // FRAME

    def fails_and_recovers(self, heal, spare: int = 0):
        """Follows an outage from its beginning to its end."""
        self.drive(10 + spare)
        status = self.degraded(10 + spare, spare)
        before = self.times()
        self.assertEqual(before, self.sent[:len(self.sent) - status["store"]["waiting_in_memory"]])
        self.assertEqual((status["state"], status["session_id"]), ("tracking", self.session))
        self.assertEqual(status["source"]["health"], "ok")
        never(lambda: self.times() != before, "a fix announced that is not stored")
        heal()
        status = self.victim.wait_status(lambda status: not status["store"]["waiting_in_memory"], "all is written")
        self.assertNotIn("storage", status["degraded"])
        self.assertFalse(status["store"]["degraded"])
        self.wait_told()
        return status

    def check_end(self, outages: int, refused: int = 0, uploads_by_itself: bool = False):
        """The log has one line per change, and everything reaches the receiver once."""
        text = self.victim.text()
        self.assertEqual(text.count("cannot store"), outages, text)
        self.assertEqual(text.count("beekond: storage works again"), outages, text)
        if not uploads_by_itself:
            stored = self.victim.query("SELECT ts FROM locations ORDER BY seq")
            self.assertEqual([row[0] for row in stored], self.sent)
        self.assertEqual(self.victim.status()["store"]["refused"], refused)
        self.assertEqual(self.victim.sync()["pending"], 0)
        received = [location["timestamp"] for request in self.receiver.requests
                    for location in request.root["locations"]]
        self.assertEqual(received, [iso(time) for time in self.sent])
        self.assertEqual(self.receiver.faults() + self.receiver.problems, [])
        self.assertLessEqual(set(self.told.ids), set(self.receiver.ids))


@unittest.skipIf(no_strace(), no_strace())
class FailingCallTests(StorageFaultTest):
    def test_calls_that_fail_and_work_again(self):
        for calls, what, files, words in CALLS:
            with self.subTest(f"{calls} {what}"):
                self.begin()
                for _ in range(2):
                    with Fault(self.victim, calls, what, files) as fault:
                        self.drive(1)
                        status = self.degraded(1)
                        self.assertIn(words, status["store"]["last_error"])
                        self.victim.status()
                        self.drive(3)
                        self.degraded(4)
                        self.assertGreater(fault.injected(), 0)
                    self.wait_told()
                self.check_end(outages=2)

    def test_memory_that_is_full_refuses_and_counts(self):
        self.begin()
        with Fault(self.victim, "pwrite64", "error=ENOSPC", DATABASE):
            self.drive(RING)
            kept = list(self.sent)
            self.degraded(RING)
            self.drive(54)
            status = self.victim.wait_status(
                lambda status: status["store"]["refused"] == 54, "54 fixes refused")
            self.assertEqual(status["store"]["waiting_in_memory"], RING)
        self.sent = kept
        self.victim.wait_status(lambda status: not status["store"]["waiting_in_memory"], "all is written")
        self.drive(1)
        # That was more at once than a subscriber's buffer holds: what it is not told of is counted to it.
        wait_for(lambda: self.times()[-1] == self.sent[-1], "the last one is announced")
        told = self.times()
        self.assertEqual(told, [time for time in self.sent if time in set(told)])
        self.assertGreaterEqual(len(told) + self.told.missed, len(self.sent))
        self.check_end(outages=1, refused=54)
        self.assertIn("54 fixes were lost", self.victim.text())

    def test_sessions_that_end_and_begin_while_nothing_can_be_stored(self):
        """The session's row is written along with its first location, whenever that comes."""
        self.begin()
        with Fault(self.victim, "pwrite64", "error=EIO", DATABASE):
            self.drive(2)
            self.degraded(2)
            self.victim.call("Stop")
            self.assertEqual(self.victim.status()["state"], "stopped")
            wait_for(lambda: self.gps.watchers == 0, "gpsd is released")
            second = self.victim.call("Start")["session_id"]
            self.sent.append(self.gps.settle())
            self.drive(2)
            self.degraded(5)
        self.wait_told()
        self.assertNotEqual(second, self.session)
        counts = {found["id"]: found["locations"] for found in self.victim.call("GetSessions")["sessions"]}
        self.assertEqual(counts, {self.session: 5, second: 3})
        # The stop asked for an upload, which storage no longer blocks.
        self.check_end(outages=1, uploads_by_itself=True)

    def test_an_acknowledgement_that_cannot_be_stored_causes_no_second_upload(self):
        """The receiver has the batch, so only the deletion is retried. It may have reached the disk in spite of the
        error, or not."""
        for calls in ("fdatasync", "pwrite64"):
            with self.subTest(calls):
                self.begin()
                self.fail_to_acknowledge(calls)
                self.assertEqual(len(self.receiver.requests), 1, "the batch was sent again")
                self.assertEqual(self.victim.stored_ids(), set())
                self.assertEqual(self.victim.text().count("not yet deleted"), 1, self.victim.text())
                self.drive(1)
                self.wait_told()
                self.assertEqual(self.victim.sync()["pending"], 0)
                self.assertEqual(len(self.receiver.ids), 4)
                self.assertEqual(self.receiver.faults() + self.receiver.problems, [])

    def test_an_acknowledged_batch_is_not_dissolved(self):
        """Even if it has failed for its size before, and its rows are still there because of the disk."""
        self.begin()
        self.receiver.answers = [413] * 3
        for _ in range(3):
            self.assertEqual(self.victim.sync()["outcome"], "permanent")

        def rebatch():
            with self.assertRaises(Refusal) as caught:
                self.victim.call("Rebatch")
            self.assertIn("has been acknowledged", caught.exception.parameters["reason"])

        self.fail_to_acknowledge("pwrite64", rebatch)
        self.assertEqual(len({request.batch_id for request in self.receiver.requests}), 1)

    def fail_to_acknowledge(self, calls: str, meanwhile=lambda: None):
        sent = len(self.receiver.requests)
        answer = threading.Event()
        self.addCleanup(answer.set)
        self.receiver._say = lambda request: answer.wait()
        self.victim.ask_for_sync()
        wait_for(lambda: len(self.receiver.requests) > sent, "the request is in flight, so the batch is frozen")
        with Fault(self.victim, calls, "error=EIO", DATABASE) as fault:
            answer.set()
            status = self.victim.wait_status(
                lambda status: "storage" in status["degraded"] and status["sync"]["last_error"],
                "the acknowledgement fails")
            self.assertIn("storage", status["sync"]["last_error"])
            self.assertEqual(status["sync"]["pending"], 3)
            # It is retried, after the back-off and on request.
            tried = fault.injected()
            self.assertEqual(self.victim.sync()["outcome"], "transient")
            self.assertGreater(fault.injected(), tried)
            meanwhile()
        self.victim.wait_status(lambda status: status["sync"]["pending"] == 0, "the rows are deleted")
        status = self.victim.wait_status(lambda status: not status["degraded"], "nothing is wrong any more")
        self.assertEqual(status["sync"]["uploaded"], 3)

    def test_fixes_still_waiting_at_the_end_are_reported_lost(self):
        self.begin()
        with Fault(self.victim, "pwrite64", "error=EIO", DATABASE):
            self.drive(7)
            self.degraded(7)
            self.victim.terminate()
        self.assertIn("7 fixes that waited in memory are lost", self.victim.text())
        self.sent = self.sent[:3]
        self.victim.start()
        self.assertEqual([row[0] for row in self.victim.query("SELECT ts FROM locations ORDER BY seq")], self.sent)


class VanishedDirectoryTests(StorageFaultTest):
    def test_gone_and_back(self):
        self.begin()
        aside = self.victim.state + ".aside"
        os.rename(self.victim.state, aside)
        self.fails_and_recovers(lambda: os.rename(aside, self.victim.state))
        self.check_end(outages=1)

    def test_gone_for_good_and_recreated(self):
        """Its contents are lost. New fixes are stored, and the intent is written again."""
        self.begin()
        before = list(self.sent)
        shutil.rmtree(self.victim.state)
        self.fails_and_recovers(lambda: os.mkdir(self.victim.state, 0o700))
        self.sent = self.sent[len(before):]
        self.assertEqual(self.victim.text().count("removed or replaced"), 1, self.victim.text())
        self.assertEqual([row[0] for row in self.victim.query("SELECT ts FROM locations ORDER BY seq")], self.sent)
        self.victim.kill()
        self.victim.start()
        status = self.victim.status()
        self.assertEqual((status["state"], status["session_id"]), ("tracking", self.session))


@unittest.skipIf(no_mounts(), no_mounts())
class DiskTests(StorageFaultTest):
    def disk(self, megabytes: int, image: str | None = None) -> Disk:
        disk = Disk(self.path("disk"), megabytes, image)
        self.addCleanup(disk.remove)
        return disk

    def test_a_full_disk_that_is_freed_again(self):
        disk = self.disk(16)
        self.begin(disk.place)
        disk.fill()
        self.fails_and_recovers(disk.release, self.spare())
        self.check_end(outages=1)

    def test_a_full_disk_can_still_be_drained(self):
        """The ballast makes room to freeze and acknowledge, and acknowledged rows make room for fixes."""
        disk = self.disk(16)
        self.begin(disk.place)
        ballast = os.path.join(disk.place, "ballast")
        self.assertEqual(os.path.getsize(ballast), 4 << 20)
        disk.fill()
        spare = self.spare()
        self.drive(7 + spare)
        self.degraded(7 + spare, spare)
        stored = len(self.victim.stored_ids())
        self.assertEqual(self.victim.sync()["outcome"], "drained")
        self.assertFalse(os.path.exists(ballast))
        self.assertGreaterEqual(len(self.receiver.ids), stored)
        # The ballast also makes room for the waiting fixes.
        self.wait_told()
        disk.release()
        self.assertEqual(self.victim.sync()["pending"], 0)
        self.drive(1)
        self.wait_told()
        self.assertEqual(self.victim.sync()["pending"], 0)
        wait_for(lambda: os.path.exists(ballast), "the ballast is taken again")
        self.assertEqual(len(self.receiver.ids), len(self.sent))
        self.assertEqual(self.receiver.faults() + self.receiver.problems, [])
        self.assertEqual(self.victim.text().count("cannot store"), 1, self.victim.text())

    def test_a_start_on_a_full_disk(self):
        """The status says what is wrong, fixes wait, and everything recovers once there is room."""
        disk = self.disk(16)
        self.begin(disk.place)
        before = self.sent
        self.end()
        os.unlink(os.path.join(disk.place, "ballast"))
        disk.fill()
        self.start_degraded()
        # Tracking stops on request, and only what lacks room is refused.
        with self.assertRaises(Refusal) as refusal:
            self.victim.call("Stop")
        self.assertEqual(refusal.exception.name, "StorageFailure")
        self.assertEqual(self.victim.status()["state"], "tracking")
        disk.release()
        self.wait_told()
        self.victim.wait_status(lambda status: not status["store"]["degraded"], "storage works")
        self.sent = before + self.sent
        self.check_end(outages=1, uploads_by_itself=True)

    def test_read_only_from_the_start(self):
        """A boot with the state directory mounted read-only, until somebody fixes that."""
        disk = self.disk(16)
        self.begin(disk.place)
        before = self.sent
        self.end()
        disk.protect(True)
        self.start_degraded()
        disk.protect(False)
        self.wait_told()
        self.victim.wait_status(lambda status: not status["store"]["degraded"], "storage works")
        self.assertEqual(self.victim.status()["session_id"], self.session)
        self.sent = before + self.sent
        # A start triggers an upload.
        self.check_end(outages=1, uploads_by_itself=True)

    def end(self):
        self.victim.terminate()
        wait_for(lambda: not self.gps.watchers, "the connection of the ended daemon is gone")

    def start_degraded(self):
        """Starts where nothing can be stored, and sends five fixes."""
        self.victim.start()
        self.told = self.listening(self.victim)
        self.victim.wait_status(
            lambda status: status["state"] == "tracking" and status["store"]["degraded"], "degraded from the start")
        self.sent = [self.gps.settle()]
        self.drive(4)
        self.degraded(5)

    def test_stop_on_a_full_disk(self):
        """The intent to stop is written into the space that the ballast reserved."""
        disk = self.disk(16)
        self.begin(disk.place)
        disk.fill()
        spare = self.spare()
        self.drive(3 + spare)
        self.degraded(3 + spare, spare)
        self.assertEqual(self.victim.call("Stop")["state"], "stopped")
        self.assertFalse(os.path.exists(os.path.join(disk.place, "ballast")))
        # And there is room for the fixes as well.
        self.victim.wait_status(lambda status: not status["store"]["degraded"], "storage works")
        self.assertIsNotNone(self.victim.call("GetSessions")["sessions"][0].get("stopped_at"))
        self.check_end(outages=1, uploads_by_itself=True)

    @unittest.skipIf(no_loops(), no_loops())
    def test_read_only_and_mounted_again(self):
        """The kernel makes a damaged file system read-only; somebody repairs it and mounts it again."""
        image = self.path("image")
        disk = self.disk(32, image)
        self.begin(disk.place)
        disk.break_down()

        def heal():
            disk.remove()
            again = Disk(disk.place, 32, image)
            self.addCleanup(again.remove)

        self.fails_and_recovers(heal)
        self.check_end(outages=1)


if __name__ == "__main__":
    unittest.main()
