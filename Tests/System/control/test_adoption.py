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


class ExchangeTests(AuthTest):
    """A token exchange holds nobody up, and is broken off only where what it brings is of no use any more."""

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

    def configure(self, daemon, settings: dict):
        """At once, and by all."""
        began, revision = time.monotonic(), daemon.status()["revision"]
        self.assertEqual(daemon.call("Configure", settings=settings), {})
        self.assertEqual((self.adopted(daemon), time.monotonic()), ((revision + 1, revision + 1), began))

    def test_what_leaves_it_as_it_is_is_adopted_at_once(self):
        endpoint, receiver, daemon = self.held()
        for seconds in range(3600, 3610):
            self.configure(daemon, {"sync.interval_seconds": seconds})
        self.configure(daemon, {"sync.batch_size": 7})
        endpoint.released.set()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len(endpoint.requests), 1)

    def test_what_changes_only_the_next_one_is_adopted_at_once(self):
        """The tokens that this one brings are of use by the new settings, too."""
        endpoint, receiver, daemon = self.held()
        self.configure(daemon, {"sync.auth.refresh_url": endpoint.url})
        endpoint.released.set()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len(endpoint.requests), 1)

    def test_another_endpoint_is_asked_at_once(self):
        """It has nothing to do with the tokens of the one before."""
        endpoint, receiver, daemon = self.held()
        other = Endpoint()
        self.addCleanup(other.stop)
        self.configure(daemon, {"sync.auth.refresh_url": other.url})
        self.wait_auth(daemon, "dead")
        endpoint.released.set()
        self.assertEqual(len(other.requests), 0, "tokens do not go where they are not from")


class ToolTests(CtlTest):
    def test_who_is_late_is_named(self):
        daemon = self.fake_daemon(Configure={"adopting": ["main"]})
        said = self.run_ctl(daemon, "config", "set", "tracking.angle_degrees=30").stderr
        self.assertRegex(said, r"in force[^\n]*\bmain\b")


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
