"""TLS that fails because of this machine's wrong clock, as opposed to a faulty network or server."""
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest
from support.ports import NOBODY
from support.tls import Authority, Terminator, context, needs_openssl

DAY = 86_400_000


@needs_openssl
class ClockOverTLSTests(ClockTest):
    def begin(self, days: tuple, at: int):
        """A daemon with three fixes pending, and a backend whose certificate is valid between these days."""
        self.receiver = self.backend()
        authority = Authority(self.path("ca"))
        server = Terminator(context(*authority.certificate("server", days=days)), self.receiver.port)
        self.addCleanup(server.stop)
        self.gps = self.fake()
        # The receiver's time is right, but TLS uses the system clock.
        self.victim, self.clocks = self.clocked(
            self.gps.port, at, sync={"url": server.url(), "ca_file": authority.ca})
        self.victim.start().call("Start")
        self.gps.settle()
        self.gps.drive(2)
        self.victim.wait_stored(3)

    def attempt(self, outcome: str) -> dict:
        self.assertEqual(self.victim.sync()["outcome"], outcome)
        return self.victim.status()

    def check_blamed(self, status: dict):
        self.assertIn("clock", status["degraded"])
        self.assertTrue(status["sync"]["last_error"].startswith("clock: "), status["sync"])
        self.assertEqual(status["sync"]["pending"], 3)
        self.assertEqual(self.receiver.requests, [])

    def check_over(self):
        status = self.attempt("drained")
        self.assertEqual(status["degraded"], [])
        self.assertEqual(len(self.receiver.ids), 3)
        self.assertEqual(len(self.receiver.requests), 1)
        self.assertEqual(self.receiver.problems, [])
        text = self.victim.text()
        self.assertEqual((text.count("clock: "), text.count("uploading works again")), (1, 1), text)

    def test_a_machine_in_1970(self):
        self.begin((-2, 30), at=61_000)
        self.check_blamed(self.attempt("transient"))
        self.check_blamed(self.attempt("transient"))
        self.clocks.set_system(self.now())
        self.check_over()

    def test_a_certificate_that_is_not_yet_valid(self):
        self.begin((1, 30), at=self.now())
        self.check_blamed(self.attempt("transient"))
        self.clocks.set_system(self.now() + 2 * DAY)
        self.check_over()

    def test_other_faults_are_not_the_clocks(self):
        """An expired certificate, and a server that is down."""
        self.begin((-20, -10), at=self.now())
        status = self.attempt("transient")
        self.assertNotIn("clock", status["degraded"])
        self.assertIn("expired", status["sync"]["last_error"])
        self.victim.configure(sync={"url": f"https://127.0.0.1:{NOBODY}/locations"})
        self.victim.reload()
        status = self.victim.wait_status(
            lambda status: "connect" in (status["sync"]["last_error"] or ""), "the server is not there")
        self.assertNotIn("clock", status["degraded"])
        self.assertIn("sync", status["degraded"])

    @staticmethod
    def now() -> int:
        return int(time.time() * 1000)


if __name__ == "__main__":
    unittest.main()
