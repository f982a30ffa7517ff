"""A log that nobody reads, in a pipe or in a journal that hangs: lines are lost, fixes are not."""
import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.namespaces import in_namespace
from support.system_test import SystemTest


class StuckLogTests(SystemTest):
    def starts(self, log: str, **environment):
        """A daemon whose standard error is this file, tracking."""
        fake = self.fake()
        daemon = self.daemon(fake.port)
        command = ["sh", "-c", 'exec 2>"$0"; exec "$@"', log, *daemon.command()]
        daemon.command = lambda: command  # type: ignore[method-assign]
        daemon.environment |= environment
        daemon.start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return fake, daemon

    def check_goes_on(self, fake, daemon):
        """The reader has lines to write: that gpsd has gone, and is back."""
        fake.drop()
        fake.wait_watched()
        fake.settle()
        before = len(daemon.stored_ids())
        fake.drive(5)
        daemon.wait_stored(before + 5)
        daemon.call("Stop")

    def test_a_pipe(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, end)
        fake, daemon = self.starts(pipe)
        size = 0
        for count in (4096, 1):
            try:
                while True:
                    size += os.write(end, b"x" * count)
            except BlockingIOError:
                pass
        self.check_goes_on(fake, daemon)
        text = b""
        while b"are lost" not in text:
            daemon.call("Start")
            try:
                while True:
                    text += os.read(end, 1 << 16)
            except BlockingIOError:
                pass
            daemon.call("Stop")
        self.assertRegex(text.decode(), r"\(\d+ lines before this one are lost: nobody read them\)")
        self.assertEqual(daemon.terminate(), 0)

    @in_namespace
    def test_a_journal_that_hangs(self):
        """Others have filled its queue."""
        os.makedirs("/run/systemd", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "beekond-test", "/run/systemd"], check=True)
        os.makedirs("/run/systemd/journal")
        journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(journal.close)
        journal.bind("/run/systemd/journal/socket")
        log = self.path("stderr")
        with open(log, "wb") as file:
            status = os.fstat(file.fileno())
        journal.setblocking(False)
        # It is told itself, and nobody instead.
        os.environ.pop("BEEKOND_LOGGED", None)
        fake, daemon = self.starts(log, JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
        other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(other.close)
        other.setblocking(False)
        try:
            while True:
                other.sendto(b"MESSAGE=another program\n", "/run/systemd/journal/socket")
        except BlockingIOError:
            pass
        self.check_goes_on(fake, daemon)
        self.assertEqual(daemon.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
