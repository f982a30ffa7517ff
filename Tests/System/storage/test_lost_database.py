"""A database that is gone, and a WAL whose header is damaged: both are told, and nothing that is left is deleted."""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import Beekond
from support.system_test import SystemTest
from support.waiting import wait_for


class LostTests(SystemTest):
    def original(self) -> Beekond:
        """A daemon that was killed with three fixes stored."""
        fake = self.fake()
        daemon = self.daemon(fake.port).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(2)
        daemon.wait_stored(3)
        daemon.kill()
        return daemon

    def restart(self, daemon) -> tuple[str, bool]:
        """What it logged, and whether it says that files are damaged."""
        before = len(daemon.text())
        daemon.start()
        status = daemon.status()
        daemon.kill()
        return daemon.text()[before:], "files" in status["degraded"]

    def test_a_missing_or_empty_database(self):
        daemon = self.original()
        self.assertNotIn("is gone", daemon.text())
        path = os.path.join(daemon.state, "beekon.db")
        for is_empty in (False, True):
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(path + suffix):
                    os.unlink(path + suffix)
            if is_empty:
                with open(path, "wb"):
                    pass
            logged, is_degraded = self.restart(daemon)
            self.assertIn(f"{path} is gone, or empty", logged)
            self.assertTrue(is_degraded)
            logged, is_degraded = self.restart(daemon)
            self.assertNotIn("is gone", logged)
            self.assertFalse(is_degraded)

    def test_one_that_the_upload_misses_is_told_though_nothing_is_tracked(self):
        receiver = self.backend(answers=[503], retry_after=3600)
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": receiver.url}).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(2)
        daemon.wait_stored(3)
        daemon.call("Stop")
        receiver.wait_requests(1)
        for suffix in ("", "-wal", "-shm"):
            os.unlink(os.path.join(daemon.state, "beekon.db" + suffix))
        daemon.ask_for_sync()
        wait_for(lambda: "was removed or replaced while it was in use" in daemon.text() or None,
                 lambda: daemon.text())

    def test_a_wal_with_a_damaged_header(self):
        for has_database in (True, False):
            with self.subTest(has_database=has_database):
                daemon = self.original()
                path = os.path.join(daemon.state, "beekon.db")
                with open(path + "-wal", "r+b") as file:
                    file.write(b"\xff")
                with open(path + "-wal", "rb") as file:
                    log = file.read()
                if not has_database:
                    os.unlink(path)
                logged, is_degraded = self.restart(daemon)
                names = [name for name in os.listdir(daemon.state)
                         if name.startswith("beekon.db.corrupt-") and name.endswith("-wal")]
                self.assertEqual(len(names), 1, logged)
                self.assertIn(os.path.join(daemon.state, names[0]), logged)
                self.assertTrue(is_degraded)
                with open(os.path.join(daemon.state, names[0]), "rb") as file:
                    self.assertEqual(file.read(), log)
                self.assertFalse(self.restart(daemon)[1])


if __name__ == "__main__":
    unittest.main()
