"""The store under system calls that fail, stall, or are the last the process makes.

strace injects the fault into the store-exerciser (Tests/Tools), which reports what is stored as soon as COMMIT
returns; afterwards the real code opens what is left. BEEKOND_BIN names the folder of the binaries (default
.build/debug). BEEKOND_LONG=1 takes every call in turn; otherwise every few; which, the commit
decides.
"""
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.faults import STRACE, no_strace, syscalls
from support.programs import ROOT, installed, program
from support.seeds import every, sample

EXERCISER = program("store-exerciser")
# A run makes fewer than 200 calls of each kind.
LIMIT = 1000


def missing():
    """Why these tests cannot run here; None if they can."""
    return no_strace() if os.access(EXERCISER, os.X_OK) else "store-exerciser is not built"


class Life:
    """One run of the exerciser, and its output."""

    def __init__(self, directory, call, fault, verb="run", path=None):
        with tempfile.NamedTemporaryFile("r", prefix="beekond-strace-") as log:
            command = [installed(STRACE), "-f", "-y", "-qq", "-o", log.name, "-e", "trace=" + syscalls(call),
                       "-e", "signal=none", "-e", f"inject={syscalls(call)}:{fault}", *(["-P", path] if path else []),
                       EXERCISER, verb, directory]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
            self.injected = [line for line in log.read().splitlines() if "(INJECTED)" in line or "(DELAYED)" in line]
        self.status, self.errors = done.returncode, done.stderr
        # What follows the last newline was cut off.
        self.lines = done.stdout.split("\n")[:-1]

    def said(self, word):
        return {line.split(" ")[1] for line in self.lines if line.startswith(word + " ")}

    @property
    def is_complete(self):
        return self.status == 0 and self.lines[-1:] == ["done"]


@unittest.skipIf(missing(), missing())
class StoreFaultTests(unittest.TestCase):
    def setUp(self):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.directory = tempfile.mkdtemp(prefix="beekond-store-", dir=base)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def live(self, call, fault):
        shutil.rmtree(self.directory)
        os.mkdir(self.directory)
        return Life(self.directory, call, fault)

    def examine(self, life, context):
        """Opens what is left with the real code, and compares it with what was reported."""
        done = subprocess.run([EXERCISER, "check", self.directory], capture_output=True, text=True, timeout=300)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 0, f"{context}: {done.stdout}{done.stderr}")
        self.assertIn("integrity ok", lines, context)
        self.assertFalse([line for line in lines if line.startswith("event")], context)
        rows = [line.split(" ")[1] for line in lines if line.startswith("location ")]
        found = set(rows)
        self.assertEqual(len(rows), len(found), f"{context}: a row is there twice")
        self.assertLessEqual(life.said("stored") - life.said("leaving"), found, f"{context}: stored, but lost")
        self.assertFalse(life.said("gone") & found, f"{context}: acknowledged, but still there")
        self.assertLessEqual(found, life.said("try"), f"{context}: never written, but there")
        return found

    def each(self, call, fault, step, lasts=False):
        """Runs with the fault at the first call, the second … until a run has fewer calls: each before it has had its fault."""
        for number in every(step, LIMIT):
            life = self.live(call, f"{fault}:when={number}{'+' if lasts else ''}")
            if not life.injected and life.is_complete:
                self.assertGreater(number, 1, f"{call}: nothing was injected")
                return
            yield number, life
        self.fail(f"{call} never came to an end")

    def test_killed_at_every_call(self):
        calls = ["pwrite64", "write", "fdatasync", "openat", "unlink", "ftruncate", "mmap", "fcntl", "close", "pread64",
                 "newfstatat", "munmap", "fchown"]
        for call in calls:
            kills = 0
            for number, life in self.each(call, "signal=KILL", 60 if call != "unlink" else 1):
                self.examine(life, f"killed at {call} {number}")
                self.assertFalse(life.is_complete, f"{call} {number}: it was not killed")
                kills += 1
            print(f"killed at {call}: {kills} times")

    def test_killed_while_recovering(self):
        """The second run dies as well, while it repairs what the first one left."""
        for call, step in [("pwrite64", 20), ("fdatasync", 8), ("openat", 40), ("unlink", 1), ("ftruncate", 1)]:
            kills = 0
            for number in every(step, 40):
                first = self.live("fdatasync", "signal=KILL:when=20")
                self.assertFalse(first.is_complete, "the first was not killed")
                second = Life(self.directory, call, f"signal=KILL:when={number}")
                second.lines += first.lines
                self.examine(second, f"killed at {call} {number} of the second life")
                if second.status == 0:
                    break
                kills += 1
            self.assertGreater(kills, 0, call)

    def test_killed_while_putting_a_damaged_database_aside(self):
        total = 0
        for call in ["rename", "openat", "unlink"]:
            kills = 0
            for number in every(30 if call == "openat" else 1, LIMIT):
                shutil.rmtree(self.directory)
                os.mkdir(self.directory)
                for suffix in ["", "-wal", "-journal"]:
                    with open(os.path.join(self.directory, "beekon.db" + suffix), "w") as file:
                        file.write("no database" * 1000)
                life = Life(self.directory, call, f"signal=KILL:when={number}")
                done = subprocess.run([EXERCISER, "check", self.directory], capture_output=True, text=True, timeout=300)
                context = f"killed at {call} {number}: {done.stdout}"
                self.assertEqual(done.returncode, 0, context)
                self.assertIn("integrity ok", done.stdout.splitlines(), context)
                found = {line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith("location ")}
                self.assertLessEqual(life.said("stored") - life.said("leaving"), found, context)
                self.assertTrue([name for name in os.listdir(self.directory) if ".corrupt-" in name], context)
                kills += not life.is_complete
                if life.is_complete:
                    break
            print(f"killed at {call} while moving aside: {kills} times")
            self.assertGreater(kills, 0, call)
            total += kills
        self.assertGreater(total, 3)

    def stored_schemas(self):
        """Each stored database of an earlier version, with the ids of its locations."""
        folder = os.path.join(ROOT, "Tests", "StorageTests", "Schemas")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".db"):
                with open(os.path.join(folder, name[:-3] + ".txt"), encoding="utf-8") as file:
                    ids = [line.split(" ")[1] for line in file if line.startswith("location ")]
                yield os.path.join(folder, name), ids

    def test_migration_killed_or_failing_at_every_call(self):
        """Opening migrates: a later attempt finds every row, whatever became of the first."""
        schemas = list(self.stored_schemas())
        for number in sample("schemas", len(schemas), 1):
            path, ids = schemas[number - 1]
            faults = [("signal=KILL", 6), ("error=EIO", 10), ("error=ENOSPC", 10)]
            for call in ["pwrite64", "fdatasync", "openat", "ftruncate", "fchown", "unlink"]:
                for fault, step in faults:
                    self.each_migration(path, ids, call, fault, step)

    def each_migration(self, path, ids, call, fault, step):
        for number in every(step, LIMIT):
            shutil.rmtree(self.directory)
            os.mkdir(self.directory)
            shutil.copy(path, os.path.join(self.directory, "beekon.db"))
            first = Life(self.directory, call, f"{fault}:when={number}", verb="check")
            second = subprocess.run([EXERCISER, "check", self.directory], capture_output=True, text=True, timeout=300)
            lines = second.stdout.splitlines()
            context = f"{os.path.basename(path)}, {fault} at {call} {number}: {lines}"
            self.assertEqual(second.returncode, 0, context)
            self.assertIn("integrity ok", lines, context)
            self.assertFalse([line for line in lines if line.startswith("event")], context)
            self.assertEqual([line.split(" ")[1] for line in lines if line.startswith("location ")], ids, context)
            if first.status == 0 and not first.injected:
                self.assertGreater(number, 1, f"{context}: nothing was injected")
                return

    def test_a_database_that_once_could_not_be_opened_is_sound(self):
        """SQLite then opens it for reading only, and does not say so."""
        path, ids = next(self.stored_schemas())
        for number in range(1, LIMIT):
            shutil.rmtree(self.directory)
            os.mkdir(self.directory)
            database = os.path.join(self.directory, "beekon.db")
            shutil.copy(path, database)
            life = Life(self.directory, "openat", f"error=EIO:when={number}", verb="check", path=database)
            if not life.injected:
                break
            done = subprocess.run([EXERCISER, "check", self.directory], capture_output=True, text=True, timeout=300)
            found = [line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith("location ")]
            self.assertEqual(found, ids, (number, done.stdout))
            self.assertFalse([name for name in os.listdir(self.directory) if ".corrupt-" in name], number)
        self.assertGreater(number, 2)

    def test_errors_at_every_call(self):
        # The last three syncs belong to the final checkpoint: what it should have written is still in the WAL.
        last_commit = len(self.live("fdatasync", "delay_enter=1").injected) - 3
        for call in ["pwrite64", "fdatasync", "fsync", "ftruncate", "fallocate"]:
            for error in ["EIO", "ENOSPC"]:
                faults = 0
                for number, life in self.each(call, f"error={error}", 45):
                    context = f"{error} at {call} {number}"
                    self.assertEqual(life.status, 0, f"{context}: {life.errors}")
                    self.assertTrue(life.is_complete, f"{context}: {life.lines[-3:]}")
                    found = self.examine(life, context)
                    self.assertEqual(len(found) + len(life.said("gone")), 24, f"{context}: not all stored in the end")
                    faults += 1
                    # No failed sync may go unnoticed, except SQLite's own of the directory, which ours makes up for.
                    seen = any("failed" in line or "cannot" in line for line in life.lines)
                    if "sync" in call and "beekon.db" in life.injected[0] and number <= last_commit:
                        self.assertTrue(seen, f"{context}: {life.injected}")
                print(f"{error} at {call}: {faults} faults")

    def test_errors_that_last(self):
        for call in ["pwrite64", "fdatasync"]:
            for error in ["EIO", "ENOSPC"]:
                faults = 0
                for number, life in self.each(call, f"error={error}", 45, lasts=True):
                    faults += 1
                    context = f"{error} at {call} from {number} on"
                    self.assertEqual(life.status, 0, f"{context}: {life.errors}")
                    self.examine(life, context)
                print(f"{error} at {call} from then on: {faults} faults")

    def test_nothing_is_stored_before_a_slow_sync_returns(self):
        # So long that nothing else of it takes half as long, and that a line may be read late.
        seconds = 10
        command = [installed(STRACE), "-f", "-qq", "-o", os.devnull, "-e", "trace=fdatasync", "-e",
                   f"inject=fdatasync:delay_enter={seconds * 1000000}:when=18", EXERCISER, "run", self.directory]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
            assert process.stdout
            said = [(line.split(), time.monotonic()) for line in process.stdout]
        waits = [(before[0][0], after[0][0]) for before, after in itertools.pairwise(said)
                 if after[1] - before[1] > seconds / 2]
        self.assertEqual(len(waits), 1, waits)
        self.assertIn(waits[0], [("try", "stored"), ("leaving", "gone")])

    def test_the_directory_is_synced_before_anything_is_stored(self):
        """Otherwise a power cut could lose the WAL's directory entry: the crash images rely on this."""
        log = os.path.join(self.directory, "log")
        state = os.path.join(self.directory, "state")
        os.mkdir(state)
        subprocess.run([installed(STRACE), "-f", "-y", "-qq", "-o", log, "-e", "trace=openat,fdatasync,fsync,write", EXERCISER,
                        "run", state], stdout=subprocess.DEVNULL, check=True)
        with open(log) as file:
            lines = file.read().splitlines()
        made = next(i for i, line in enumerate(lines) if 'beekon.db-wal", O_RDWR|O_CREAT' in line)
        stored = next(i for i, line in enumerate(lines) if '"stored ' in line)
        self.assertTrue(any("sync(" in line and f"<{state}>" in line for line in lines[made:stored]), lines[made:stored])


if __name__ == "__main__":
    unittest.main()
