"""The file of the SQLite database: nothing is acknowledged into one that is gone or replaced, one server has it, and damage is
told."""
from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import sqlite3
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server import FIRST_MS, Server, envelope
from server_support.server_test import ServerTest
from support.waiting import wait_for


class FileTest(ServerTest):
    def begin(self) -> Server:
        server = self.server().start()
        self.token = server.add_device("van")["access_token"]
        self.reader = server.add_user("rita", "reader")
        self.assertEqual(self.post(server, 0), 200)
        return server

    def post(self, server: Server, number: int, count: int = 3) -> int:
        return server.post(self.token, envelope(count, FIRST_MS + number * 3_600_000)).status

    def ready(self, server: Server) -> int:
        return server.ask("GET", "/health/ready").status

    def text(self, server: Server) -> str:
        with open(server.log, encoding="utf-8") as log:
            return log.read()

    def metric(self, server: Server, name: str) -> float:
        try:
            lines = server.ask("GET", "/metrics", self.reader).body.decode().splitlines()
        except ConnectionError:
            # It does not listen yet.
            return -1
        return next((float(line.split()[1]) for line in lines if line.startswith(f"beekon_server_{name} ")), -1)


class GoneTests(FileTest):
    def check_refused(self, server: Server):
        """Whatever was done to the file, the next answer knows."""
        for number in (1, 2):
            self.assertEqual(self.post(server, number), 503)
        self.assertEqual(self.ready(server), 503)
        # A token or a user would be gone as well.
        self.assertNotEqual(server.verb("device", "add", "--json", "bus").returncode, 0)
        doctor = server.verb("doctor")
        self.assertEqual(doctor.returncode, 1)
        self.assertRegex(doctor.stdout, r"BAD +database: .*(gone|replaced)")
        wait_for(lambda: re.search("(?i)gone or .*replaced", self.text(server)), "it is logged")
        self.assertLess(len(self.text(server).splitlines()), 10, "it is said once, not for each upload")

    def test_deleted(self):
        server = self.begin()
        os.unlink(server.database)
        self.check_refused(server)
        self.assertFalse(os.path.exists(server.database), "no empty one takes its place")

    def test_deleted_with_its_log(self):
        server = self.begin()
        for suffix in ("", "-wal", "-shm"):
            os.unlink(server.database + suffix)
        self.check_refused(server)

    def test_its_log_alone_deleted(self):
        """What is committed is in a log that nobody finds again."""
        server = self.begin()
        os.unlink(server.database + "-wal")
        self.check_refused(server)

    def test_replaced(self):
        server = self.begin()
        self.assertEqual(server.verb("backup", server.database + ".copy").returncode, 0)
        os.replace(server.database + ".copy", server.database)
        self.check_refused(server)

    def test_its_log_replaced(self):
        server = self.begin()
        shutil.copy(server.database + "-wal", server.database + "-copy")
        os.replace(server.database + "-copy", server.database + "-wal")
        self.check_refused(server)

    def test_its_log_emptied(self):
        """By whoever thinks that it takes too much room. What was acknowledged afterwards would be behind a hole."""
        server = self.begin()
        for number in range(3):
            self.assertEqual(self.post(server, number + 10), 200)
        os.truncate(server.database + "-wal", 0)
        self.check_refused(server)
        server.stop()
        # Nothing of the hole has got into the database.
        with sqlite3.connect(server.database) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def test_its_log_taken_over_by_another_program(self):
        """One that puts all of it into the database, and then empties it, does no harm."""
        server = self.begin()
        for number in range(3):
            with sqlite3.connect(server.database, timeout=30) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.assertEqual(self.post(server, number + 10), 200)
            self.assertEqual(self.ready(server), 200)

    def test_put_back(self):
        """It was written to all the while: what was not acknowledged is there, too, and comes again."""
        server = self.begin()
        root = envelope(3, FIRST_MS + 3_600_000)
        os.rename(server.database, server.database + ".away")
        self.assertEqual(server.post(self.token, root).status, 503)
        os.rename(server.database + ".away", server.database)
        self.assertEqual(server.post(self.token, root).status, 200)
        self.assertEqual(self.ready(server), 200)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(len(server.ids(self.reader, 1)), 6)


class LockTests(FileTest):
    def second(self, database: str) -> str:
        """What a second server says, which must not run."""
        folder = os.path.join(self.folder, "second")
        os.makedirs(folder, exist_ok=True)
        other = Server(folder, database)
        self.addCleanup(other.kill)
        other.launch()
        assert other.child
        self.assertNotEqual(other.child.wait(), 0)
        return other.child.text()

    def test_a_second_server(self):
        server = self.begin()
        self.assertIn("another beekon-server", self.second(server.database))
        self.assertEqual(self.post(server, 1), 200)

    def test_a_second_server_when_the_old_lock_is_gone(self):
        server = self.begin()
        if os.path.exists(server.database + ".lock"):
            os.unlink(server.database + ".lock")
        self.assertIn("another beekon-server", self.second(server.database))
        self.assertEqual(self.post(server, 1), 200)

    def test_a_second_server_by_another_name(self):
        """A hard link: its log would be another, and the database would not survive it."""
        server = self.begin()
        other = os.path.join(self.folder, "other.db")
        os.link(server.database, other)
        self.assertIn("another beekon-server", self.second(other))
        self.assertEqual(self.post(server, 1), 200)

    def test_a_symbolic_link(self):
        """Its log would lie beside the link."""
        server = self.begin()
        other = os.path.join(self.folder, "other.db")
        os.symlink(server.database, other)
        self.assertIn("symbolic link", self.second(other))

    def test_an_earlier_version_is_kept_out(self):
        """It knows the lock beside the file alone."""
        server = self.begin()
        with open(server.database + ".lock", "rb") as lock, self.assertRaises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


class DamageTests(FileTest):
    def crash(self, server: Server):
        """What is left of it then has a log."""
        assert server.child
        server.child.signal(signal.SIGKILL)
        server.child.wait()
        self.assertGreater(os.path.getsize(server.database + "-wal"), 0)

    def filled(self) -> Server:
        """With rows in the file itself, and some in its log."""
        server = self.begin()
        for number in range(1, 6):
            self.assertEqual(self.post(server, number, 1000), 200)
        self.assertEqual(server.stop(), 0)
        return server

    def damage(self, server: Server):
        """A page of rows, in the middle of them, becomes nothing."""
        with open(server.database, "r+b") as file:
            file.seek(16)
            size = int.from_bytes(file.read(2), "big")
            leaves = []
            for start in range(size, os.path.getsize(server.database), size):
                file.seek(start)
                # A leaf of a table that is its own index.
                if file.read(1) == b"\x0a":
                    leaves.append(start)
            self.assertGreater(len(leaves), 50)
            file.seek(leaves[len(leaves) // 2])
            file.write(bytes(size))

    def test_one_that_is_sound_is_looked_through_after_a_crash(self):
        server = self.filled().start()
        self.assertEqual(self.metric(server, 'database_checks_total{result="sound"}'), 0)
        self.assertEqual(self.post(server, 10), 200)
        self.crash(server)
        server.start()
        wait_for(lambda: self.metric(server, 'database_checks_total{result="sound"}') == 1, "it was looked through")
        self.assertEqual(self.metric(server, "database_is_damaged"), 0)
        self.assertEqual((self.post(server, 11), self.ready(server)), (200, 200))

    def test_damage_is_told(self):
        server = self.filled()
        self.damage(server)
        server.start()
        self.assertEqual(self.post(server, 10), 200)
        self.crash(server)
        # A verb opens the file, and closes it as it should be: that hides nothing.
        self.assertEqual(server.verb("device", "list").returncode, 0)
        # It need not become ready first.
        server.launch()
        wait_for(lambda: "damaged" in self.text(server), "it is logged")
        wait_for(lambda: self.metric(server, "database_is_damaged") == 1, "it is in the metrics")
        wait_for(lambda: self.metric(server, 'database_checks_total{result="damaged"}') == 1, "it is counted")
        answer = server.ask("GET", "/health/ready")
        self.assertEqual(answer.status, 503)
        self.assertIn("damaged", answer.json["detail"])
        doctor = server.verb("doctor")
        self.assertEqual(doctor.returncode, 1)
        self.assertIn("it is damaged", doctor.stdout)

    def test_a_copy_beside_an_old_log(self):
        """The mistake that is made at a restore by hand."""
        server = self.filled().start()
        copy = os.path.join(self.folder, "copy.db")
        self.assertEqual(server.verb("backup", copy).returncode, 0)
        for number in range(10, 14):
            self.assertEqual(self.post(server, number, 1000), 200)
        self.crash(server)
        shutil.copy(copy, server.database)
        server.launch()
        wait_for(lambda: "damaged" in self.text(server) or not server.running, "it is said")
        self.assertIn("damaged", self.text(server).replace("malformed", "damaged"))


if __name__ == "__main__":
    unittest.main()
