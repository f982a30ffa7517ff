"""Tokens that an administrator gives while the daemon runs stay with the origin that they were given for."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.system_test import SystemTest
from support.witness import Witness

TOKEN = "s3cr3t-4711"


class TokenOriginTests(SystemTest):
    def setUp(self):
        super().setUp()
        self.own, self.other = Witness().start(), Witness().start()
        for backend in (self.own, self.other):
            self.addCleanup(backend.stop)
            self.receivers.append(backend)
        self.gps = self.fake()
        self.victim = self.daemon(self.gps.port, **{"sync": {"url": self.own.url}, "sync.auth": {}}).start()
        self.victim.call("Start")
        self.gps.settle()
        self.victim.wait_stored(1)
        self.victim.call("SeedAuth", access_token=TOKEN)
        self.drain()
        self.assertIn(TOKEN, self.own.heads[-1])

    def store(self):
        before = self.victim.status()["gate"]["admitted"]
        self.gps.drive(2)
        self.victim.wait_status(lambda status: status["gate"]["admitted"] == before + 2, "two more")

    def drain(self):
        self.store()
        self.victim.sync_until(lambda answer: answer["pending"] == 0, "everything uploaded")

    def check_dropped(self):
        self.victim.wait_status(lambda status: status["auth"].get("reason") == "host_changed", "the tokens are dropped")
        self.store()
        self.victim.sync_until(lambda answer: answer["outcome"] == "auth", "nothing is sent")
        self.assertFalse(any(TOKEN in head for head in self.other.heads))
        # They are gone, also after a restart, and back at the first origin.
        self.victim.call("ResetConfig", keys=["sync.url", "sync.proxy"])
        self.victim.kill()
        self.victim.start()
        self.victim.wait_status(lambda status: status["auth"].get("reason") == "host_changed", "they are gone")
        self.victim.call("SeedAuth", access_token=TOKEN)
        self.victim.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")

    def test_another_port(self):
        self.victim.call("Configure", settings={"sync.url": self.other.url})
        self.check_dropped()

    def test_a_proxy_that_would_see_them(self):
        self.victim.call("Configure", settings={"sync.proxy": self.other.url.rpartition("/")[0]})
        self.check_dropped()


if __name__ == "__main__":
    unittest.main()
