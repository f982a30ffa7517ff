"""A damaged database is moved aside and what reads of it is imported, also when that is killed at any call.

strace kills the store-exerciser (Tests/Tools) while it opens the database; then the real code opens what is left.
"""
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.faults import STRACE, no_strace, syscalls
from support.programs import installed, program
from support.seeds import every, sample

EXERCISER = program("store-exerciser")
# A run makes fewer calls of each kind.
LIMIT = 1000
# Imported in one transaction.
PIECE = 1000
ROWS = 2 * PIECE + 300
PAGE = 1024


def missing():
    """Why these tests cannot run here; None if they can."""
    return no_strace() if os.access(EXERCISER, os.X_OK) else "store-exerciser is not built"


def check(directory: str, kill: str | None = None) -> subprocess.CompletedProcess:
    """Opens the database with the real code; `kill` is a call, and at which of them, as in `rename:3`."""
    call, _, number = (kill or "").partition(":")
    strace = [installed(STRACE), "-f", "-qq", "-o", os.devnull, "-e", "signal=none", "-e", f"trace={syscalls(call)}", "-e",
              f"inject={syscalls(call)}:signal=KILL:when={number}"] if kill else []
    return subprocess.run([*strace, EXERCISER, "check", directory], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120)


def said(done: subprocess.CompletedProcess, word: str) -> list:
    """The lines that begin so; what follows the last newline was cut off."""
    return [line for line in done.stdout.split("\n")[:-1] if line.startswith(word + " ")]


class SalvageTest(unittest.TestCase):
    # Pages of locations that are overwritten.
    damages = 0
    rows = ROWS

    def setUp(self):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="beekond-salvage-", dir=base)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.template = os.path.join(self.folder, "template")
        self.ids = self.make()

    def make(self) -> list:
        """A database that is not sound, although every row reads; most are only in its WAL. Returns their ids."""
        source = os.path.join(self.folder, "source")
        os.mkdir(source)
        os.mkdir(self.template)
        subprocess.run([EXERCISER, "run", source], stdout=subprocess.DEVNULL, check=True, timeout=120)
        db = sqlite3.connect(os.path.join(source, "beekon.db"))
        self.addCleanup(db.close)
        db.execute("PRAGMA wal_autocheckpoint = 0")
        columns = [row[1] for row in db.execute("PRAGMA table_info(locations)")]
        rest = ", ".join(f'"{name}"' for name in columns if name not in ("ts", "seq", "id"))
        for number in range(self.rows):
            db.execute(f"""INSERT INTO locations (ts, seq, id, {rest}) SELECT ts + 100000 + {number}, seq + 1000 + {number},
                       randomblob(16), {rest} FROM locations WHERE seq = (SELECT MIN(seq) FROM locations)""")
        db.execute("CREATE TABLE alien (a)")
        db.commit()
        if self.damages:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for suffix in ("", "-wal"):
            shutil.copy(os.path.join(source, "beekon.db" + suffix), self.template)
        if self.damages:
            self.overwrite(db)
            done = check(self.fresh())
            self.assertEqual(done.returncode, 0, done.stdout[-2000:])
            return sorted(line.split(" ")[1].replace("-", "") for line in said(done, "location"))
        return sorted(row[0].hex() for row in db.execute("SELECT id FROM locations"))

    def overwrite(self, db):
        """Some pages far apart become noise."""
        leaves = [row[0] for row in db.execute(
            "SELECT pageno FROM dbstat WHERE name = 'locations' AND pagetype = 'leaf' ORDER BY path")]
        with open(os.path.join(self.template, "beekon.db"), "r+b") as file:
            for number in range(self.damages):
                file.seek((leaves[len(leaves) * (number + 1) // (self.damages + 1)] - 1) * PAGE)
                file.write(random.Random(number).randbytes(PAGE))

    def fresh(self) -> str:
        directory = os.path.join(self.folder, "state")
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(self.template, directory)
        return directory

    def examine(self, directory: str, lives: list, names: list, context: str):
        """Each row is there once, and the operator knows."""
        last = lives[-1]
        self.assertEqual(last.returncode, 0, f"{context}: {last.stdout[-2000:]}{last.stderr}")
        self.assertIn("integrity ok", last.stdout.splitlines(), context)
        found = sorted(line.split(" ")[1].replace("-", "") for line in said(last, "location"))
        self.assertEqual((len(found), found == self.ids), (len(self.ids), True), f"{context}: {os.listdir(directory)}")
        # If it was killed after the last renaming, only the line is missing: the file has its last name.
        told = [line for life in lives for line in said(life, "event") if "quarantined" in line]
        self.assertTrue(told or any(self.is_last(name) for name in names), context)
        left = [name for name in os.listdir(directory) if ".corrupt-" in name]
        self.assertTrue(left and all((".salvaged" in name) == (not self.damages) and ".unread" not in name for name in left),
                        f"{context}: {left}")

    def is_last(self, name: str) -> bool:
        """Whether a file has the name that it keeps."""
        return ".corrupt-" in name and (name.endswith(".salvaged") or bool(self.damages)) and ".unread" not in name


@unittest.skipIf(missing(), missing())
class SalvageKillTests(SalvageTest):
    def test_killed_at_every_call(self):
        for call, step in [("rename", 3), ("fsync", 3), ("fdatasync", 16), ("pwrite64", 400), ("openat", 80), ("unlink", 2)]:
            kills = 0
            for number in every(step, LIMIT):
                directory = self.fresh()
                first = check(directory, f"{call}:{number}")
                names = os.listdir(directory)
                self.examine(directory, [first, check(directory)], names, f"killed at {call} {number}")
                if first.returncode == 0:
                    break
                kills += 1
            print(f"killed at {call}: {kills} times")
            self.assertGreater(kills, 0, call)

    def test_killed_twice(self):
        """The next life dies as well, while it completes what the first one left."""
        for number in sample(f"{type(self).__name__}, killed twice", 5, 2):
            # Once three names have changed, nothing is left to be synced.
            for again in ("rename:1", "fdatasync:4" if number < 4 else "openat:9"):
                directory = self.fresh()
                lives = [check(directory, f"rename:{number}"), check(directory, again)]
                self.assertEqual([life.returncode for life in lives], [-signal.SIGKILL] * 2, f"rename {number}, then {again}")
                names = os.listdir(directory)
                self.examine(directory, [*lives, check(directory)], names, f"killed at rename {number}, then {again}")

    def test_what_kills_whoever_reads_it_is_left_alone_in_the_end(self):
        directory = self.fresh()
        kills = [check(directory, "fdatasync:5").returncode for _ in range(4)]
        self.assertEqual(kills, [-signal.SIGKILL] * 4)
        done = check(directory)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertIn("integrity ok", done.stdout.splitlines())
        self.assertTrue([name for name in os.listdir(directory) if ".corrupt-" in name])


@unittest.skipIf(missing(), missing())
class LargeSalvageTests(SalvageTest):
    """A file that is merely large comes over in the end, however often the power goes on the way."""

    rows = 6 * PIECE

    def test_each_life_ends_after_another_piece(self):
        directory = self.fresh()
        lives: list = []
        while not lives or lives[-1].returncode and len(lives) < 20:
            lives.append(check(directory, "fdatasync:6"))
        print(f"a large file: {len(lives)} lives")
        self.assertGreater(len(lives), 4, "no more attempts than a file has that kills its reader")
        self.examine(directory, lives, os.listdir(directory), f"in {len(lives)} lives")


class DamagedKillTests(SalvageKillTests):
    """The same, with three places that do not read: what lies between them is there once as well."""

    damages = 3

    def test_most_of_it_is_there(self):
        self.assertGreater(len(self.ids), ROWS - 60)
        self.assertLess(len(self.ids), ROWS)


class SalvageStatusTests(CtlTest):
    NAME = "beekon.db.corrupt-1800000000"

    def test_one_that_does_not_read_is_told_once_and_shown_as_long_as_it_is_there(self):
        daemon = self.daemon()
        os.makedirs(daemon.state, mode=0o700, exist_ok=True)
        path = os.path.join(daemon.state, self.NAME)
        with open(path + ".unread", "wb") as file:
            file.write(b"no database" * 1000)
        daemon.start()
        self.assertIn(self.NAME, daemon.text())
        self.assertIn("not all of it could be read", daemon.text())
        self.shown(daemon)
        for _ in range(2):
            daemon.kill()
            before = len(daemon.text())
            daemon.start()
            self.assertNotIn("corrupt", daemon.text()[before:])
            self.shown(daemon)
        os.rename(path, os.path.join(daemon.state, "looked-into"))
        daemon.wait_status(lambda status: not status["degraded"], "it is not there any more")
        self.assertNotIn("damaged_files", daemon.status())

    def shown(self, daemon):
        self.assertIn(self.NAME, os.listdir(daemon.state))
        status = daemon.status()
        self.assertEqual((status["degraded"], status["damaged_files"]), (["files"], [self.NAME]))
        self.assertIn(self.NAME, self.run_ctl(daemon, "status").stdout)

    def test_one_that_was_saved_whole_is_not_shown(self):
        daemon = self.daemon()
        os.makedirs(daemon.state, mode=0o700, exist_ok=True)
        for name in (self.NAME + ".salvaged", self.NAME + ".salvaged-wal", self.NAME + "-wal"):
            with open(os.path.join(daemon.state, name), "wb") as file:
                file.write(b"no database")
        daemon.start()
        self.assertEqual(daemon.status()["degraded"], [])


if __name__ == "__main__":
    unittest.main()
