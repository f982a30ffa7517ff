"""`beekon-server restore`: the database becomes what the backup was, the old one is kept whole, and whatever cuts it short, doing
it again finishes it."""
from __future__ import annotations

import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.server import FIRST_MS, PROGRAM, Server, envelope
from server_support.server_test import ServerTest
from support.faults import STRACE, no_strace, syscalls


class RestoreTest(ServerTest):
    """Three rows are in the backup; six are in the database, of which the last three are in its log alone."""

    def prepare(self) -> Server:
        self.under_test = server = self.server().start()
        self.token = server.add_device("van")["access_token"]
        self.reader = server.add_user("rita", "reader")
        self.copy = os.path.join(self.folder, "copy.db")
        self.post(0)
        done = server.verb("backup", self.copy)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.post(1)
        self.kill()
        self.assertEqual(self.count(server.database), 6)
        return server

    def post(self, number: int):
        answer = self.under_test.post(self.token, envelope(3, FIRST_MS + number * 3_600_000))
        self.assertEqual((answer.status, answer.json["stored"]), (200, 3))

    def kill(self):
        assert self.under_test.child
        self.under_test.child.signal(signal.SIGKILL)
        self.under_test.child.wait()

    def count(self, path: str) -> int:
        """Rows of a database with its log, of which a copy is looked at: the check changes nothing."""
        folder = os.path.join(self.folder, "look")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        for suffix in ("", "-wal"):
            if os.path.exists(path + suffix):
                shutil.copy(path + suffix, os.path.join(folder, "db" + suffix))
        with sqlite3.connect(os.path.join(folder, "db")) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            count = database.execute("SELECT count(*) FROM locations").fetchone()[0]
        database.close()
        return count

    def restore(self, path: str | None = None) -> subprocess.CompletedProcess:
        return self.under_test.verb("restore", path or self.copy)

    def before(self) -> list:
        """The databases that were moved aside."""
        return [path for path in sorted(glob.glob(self.under_test.database + ".before-*")) if not path.endswith("-wal")]

    def check_restored(self):
        self.assertEqual(self.count(self.under_test.database), 3)
        self.assertEqual(self.before() and self.count(self.before()[-1]), 6)
        self.assertEqual(glob.glob(self.under_test.database + ".restoring*"), [])


class RestoreTests(RestoreTest):
    def test_restoring(self):
        server = self.prepare()
        done = self.restore()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.before()[0], done.stdout)
        self.check_restored()
        self.assertEqual(os.stat(server.database).st_mode & 0o077, 0, "for its owner alone")
        server.start()
        self.assertEqual(len(server.ids(self.reader, 1)), 3)
        self.post(1)

    def test_back_again(self):
        """What was moved aside is a database with its log, and so a backup like any other."""
        server = self.prepare()
        self.assertEqual(self.restore().returncode, 0)
        done = self.restore(self.before()[0])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.count(server.database), 6)
        self.assertEqual([self.count(path) for path in self.before()], [6, 3])

    def test_when_there_is_none(self):
        """It was deleted; its log may hold what nothing else does, and is kept."""
        server = self.prepare()
        os.unlink(server.database)
        done = self.restore()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.count(server.database), 3)
        self.assertEqual(len(glob.glob(server.database + ".before-*-wal")), 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_by_root(self):
        """The server's user has to open what is made."""
        server = self.prepare()
        os.chown(server.database, 65534, 65534)
        os.unlink(server.database + ".lock")
        self.assertEqual(self.restore().returncode, 0)
        for suffix in ("", ".lock"):
            self.assertEqual(os.stat(server.database + suffix).st_uid, 65534, suffix)

    def test_it_is_refused_while_a_server_runs(self):
        server = self.prepare().start()
        done = self.restore()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another beekon-server", done.stderr)
        self.assertEqual((len(server.ids(self.reader, 1)), self.before()), (6, []))

    def test_what_is_no_backup_is_refused(self):
        """And nothing has changed."""
        server = self.prepare()
        damaged, foreign, text = (os.path.join(self.folder, name) for name in ("damaged", "foreign", "text"))
        with open(self.copy, "rb") as good, open(damaged, "wb") as bad:
            content = bytearray(good.read())
            size = int.from_bytes(content[16:18], "big")
            start = len(content) // 2 // size * size
            content[start:start + 2 * size] = bytes(2 * size)
            bad.write(content)
        with sqlite3.connect(foreign) as database:
            database.execute("CREATE TABLE t(x)")
        database.close()
        Path(text).write_text("nothing\n" * 1000, encoding="utf-8")
        for path, reason in ((damaged, "damaged"), (foreign, "another program"), (text, "not a database"),
                             (os.path.join(self.folder, "none"), "No such file"), (self.folder, "not a regular file"),
                             (server.database, "the database itself")):
            with self.subTest(path=path):
                done = self.restore(path)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(reason, done.stderr)
                self.assertEqual((self.count(server.database), self.before()), (6, []))
                self.assertEqual(glob.glob(server.database + ".restoring*"), [])

    def test_a_server_does_not_begin_anew_in_the_middle_of_it(self):
        server = self.prepare()
        os.rename(server.database, server.database + ".before-1")
        shutil.copy(self.copy, server.database + ".restoring")
        server.launch()
        assert server.child
        self.assertNotEqual(server.child.wait(), 0)
        self.assertIn("restore", server.child.text())
        self.assertFalse(os.path.exists(server.database))
        self.assertEqual(self.restore().returncode, 0)
        self.assertEqual(self.count(server.database), 3)


@unittest.skipUnless(STRACE and not no_strace(), "needs strace, and the right to trace")
class CutTests(RestoreTest):
    ENDS = [state + log for state in ("", ".restoring") for log in ("", "-wal", "-shm", "-journal")] + [".lock"]
    CALLS = ("rename", "link", "unlink", "fsync", "fdatasync", "ftruncate", "write", "pwrite64", "chown", "fchown")

    def cut(self, name: str = "", number: int = 0) -> list:
        """One restoration, which is killed at the so-many-th call of this name; the names of those that it came to."""
        log = os.path.join(self.folder, "calls")
        fault = ["-e", f"inject={name}:signal=KILL:when={number}"] if name else []
        database = self.under_test.database
        # Those alone: strace counts for each thread, and which one of them wakes another is not always the same.
        files = [part for path in (self.folder, *(database + end for end in self.ENDS)) for part in ("-P", path)]
        assert STRACE
        subprocess.run(
            [STRACE, "-f", "-qq", "-o", log, *files, "-e", f"trace={syscalls(*self.CALLS)}", *fault, PROGRAM, "restore",
             "--database", database, self.copy], capture_output=True, timeout=120)
        with open(log, encoding="utf-8", errors="replace") as lines:
            return [match.group(1) for line in lines if (match := re.match(r"\d+ +(\w+)\(", line))]

    def test_killed_at_each_call(self):
        server = self.prepare()
        saved = os.path.join(self.folder, "saved")
        os.mkdir(saved)
        for suffix in ("", "-wal"):
            shutil.copy(server.database + suffix, saved)

        def reset():
            for path in glob.glob(server.database + "*"):
                os.unlink(path)
            for name in os.listdir(saved):
                shutil.copy(os.path.join(saved, name), self.folder)

        calls = self.cut()
        self.check_restored()
        self.assertGreater(len(calls), 10, calls)
        found: dict = {}
        for place, call in enumerate(calls):
            with self.subTest(place=place, call=call):
                reset()
                self.assertEqual(len(self.cut(call, calls[:place + 1].count(call))), place + 1, "it was killed there")
                # The old one whole, the new one whole, or none: never a mixture, nor one with a foreign log.
                rows = self.count(server.database) if os.path.exists(server.database) else None
                self.assertIn(rows, (6, 3, None))
                found[rows] = found.get(rows, 0) + 1
                done = self.restore()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.count(server.database), 3)
                self.assertIn(6, [self.count(path) for path in self.before()])
                self.assertEqual(glob.glob(server.database + ".restoring*"), [])
        print(f"\n  {len(calls)} calls: {found}")
        self.assertEqual(set(found), {6, 3, None})


if __name__ == "__main__":
    unittest.main()
