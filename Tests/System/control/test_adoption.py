"""A change of settings is answered once all go by it; who takes longer is named."""
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.beekonctl import CtlTest
from support.command_test import CommandTest
from support.daemon import NEVER
from support.token_endpoint import Endpoint
from support.waiting import wait_for


class ExchangeTests(AuthTest, CtlTest):
    """A token exchange is never broken off: it could cost the tokens."""

    def held(self, **sections):
        """A daemon in the middle of one."""
        endpoint, receiver, fake, daemon = self.guarded(script=["hold"], sync=sections)
        endpoint.expire()
        daemon.ask_for_sync()
        endpoint.wait_requests(1)
        return endpoint, receiver, daemon

    def adopted(self, daemon) -> tuple:
        """The revision in force, and those that the destinations go by."""
        status = daemon.status()
        self.assertEqual(status["adopted_revision"], status["revision"])
        return status["revision"], *(one.get("adopted_revision") for one in status["destinations"])

    def test_what_leaves_it_as_it_is_is_adopted_at_once(self):
        endpoint, receiver, daemon = self.held()
        began = time.monotonic()
        for seconds in range(3600, 3610):
            self.assertEqual(daemon.call("Configure", settings={"sync.interval_seconds": seconds}), {})
        self.assertEqual((self.adopted(daemon), time.monotonic()), ((10, 10), began))
        self.assertEqual(daemon.call("Configure", settings={"sync.batch_size": 7}), {})
        endpoint.released.set()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len(endpoint.requests), 1)

    def test_what_concerns_it_waits_for_its_end_and_the_late_one_is_named(self):
        endpoint, receiver, daemon = self.held()
        other = Endpoint()
        self.addCleanup(other.stop)
        began = time.monotonic()
        answer = daemon.call("Configure", settings={"sync.auth.refresh_url": other.url})
        self.assertEqual(answer, {"adopting": ["main"]})
        self.assertAlmostEqual(time.monotonic() - began, 2.0, places=3)
        self.assertEqual(self.adopted(daemon), (1, 0))
        self.assertEqual(daemon.setting("sync.auth.refresh_url"), other.url)
        # The tool says so, and the next change does not wait for this one.
        said = self.run_ctl(daemon, "config", "set", "tracking.angle_degrees=30").stderr
        self.assertRegex(said, r"in force[^\n]*\bmain\b")
        endpoint.released.set()
        daemon.wait_status(lambda status: status["destinations"][0]["adopted_revision"] == status["revision"], "adopted")
        self.assertEqual(daemon.call("Configure", settings={"tracking.angle_degrees": 31}), {})


class ServersTests(CommandTest):
    def test_a_server_waits_for_nobody(self):
        """Its own uploader has it carried out, while another one is held up."""
        held = Endpoint(script=["hold"])
        self.addCleanup(held.stop)
        server = self.server()
        fake = self.fake()
        daemon = self.daemon(fake.port, **{
            "sync": {"url": server.url, "interval_seconds": NEVER},
            "sync.commands": {"enabled": True, "allow": ["set_config"], "settings": ["tracking.interval_seconds"]},
            "destination.second": {"url": held.url, "interval_seconds": NEVER},
            "destination.second.auth": {"refresh_token": "r", "refresh_url": held.url}}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        daemon.connect().send("Sync", {"destination": "second"})
        held.wait_requests(1)
        server.command("set_config", "c-1", settings={"tracking.interval_seconds": 9})
        began = time.monotonic()
        daemon.sync()
        wait_for(lambda: server.results.get("c-1"), "its result")
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(daemon.setting("tracking.interval_seconds"), 9)
        held.released.set()


if __name__ == "__main__":
    unittest.main()
