"""Without an upload no network request is made: strace shows every socket that the daemon opens."""
import os
import re
import shutil
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.child import Child
from support.system_test import SystemTest
from support.waiting import wait_for

STRACE = shutil.which("strace")


@unittest.skipUnless(STRACE, "strace is not installed")
class LocalOnlyTests(SystemTest):
    real_time = True

    def run_traced(self, **sections) -> list:
        """One run of the daemon under strace: start, fixes, stop, sync, reload, end. Returns the lines of its system calls."""
        trace = self.path("trace")
        fake = self.fake()
        daemon = self.daemon(fake.port, **sections)
        daemon.child = Child([STRACE, "-f", "-e", "trace=socket,connect,bind,sendto,sendmsg,sendmmsg", "-o", trace,
                              *daemon.command()], daemon.log)
        # strace ends along with the daemon, and does not forward signals.
        wait_for(lambda: daemon._answers(), "beekond answers", 60)
        daemon.call("Start")
        fake.settle()
        fake.drive(5)
        daemon.wait_stored(6)
        daemon.sync()
        daemon.call("Stop")
        with open(f"/proc/{daemon.child.process.pid}/task/{daemon.child.process.pid}/children", encoding="ascii") as children:
            pid = int(children.read().split()[0])
        os.kill(pid, signal.SIGHUP)
        wait_for(lambda: "read again" in daemon.text(), "the reload")
        os.kill(pid, signal.SIGTERM)
        daemon.child.wait()
        with open(trace, encoding="utf-8", errors="replace") as lines:
            return [fake.port, *lines]

    def test_only_unix_sockets_and_that_of_gpsd(self):
        port, *lines = self.run_traced()
        opened = [line for line in lines if "socket(" in line]
        self.assertTrue(any("AF_UNIX" in line for line in opened))
        for line in opened:
            self.assertRegex(line, r"socket\((AF_UNIX|AF_INET), SOCK_STREAM", "no netlink, no datagrams to a resolver")
        for line in lines:
            if "connect(" in line and "AF_INET" in line:
                self.assertRegex(line, rf'sin_port=htons\({port}\), sin_addr=inet_addr\("127\.0\.0\.1"\)')

    def test_the_look_sees_what_an_upload_does(self):
        receiver = self.backend()
        _, *lines = self.run_traced(sync={"url": receiver.url})
        self.assertTrue(any("AF_NETLINK" in line for line in lines if "socket(" in line))
        self.assertTrue(any(re.search(rf"connect\(.*htons\({receiver.port}\)", line) for line in lines))


if __name__ == "__main__":
    unittest.main()
