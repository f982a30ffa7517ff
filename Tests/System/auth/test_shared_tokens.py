"""auth = "main": one owner of a rotating token, and others who use it."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import PAYLOAD
from support.control_client import ConnectionClosed, Refusal
from support.daemon import NEVER
from support.guarded_paths import Paths
from support.system_test import SystemTest
from support.token_endpoint import Endpoint
from support.waiting import wait_for


class SharedTokenTests(SystemTest):
    def shared(self, count: int = 2) -> tuple:
        endpoint = Endpoint()
        self.addCleanup(endpoint.stop)
        server = Paths(endpoint)
        self.addCleanup(server.stop)
        fake = self.fake()
        daemon = self.daemon(fake.port, **{
            "sync": {"url": server.url + "/main", "interval_seconds": NEVER},
            "sync.auth": {**endpoint.seed(), "refresh_url": endpoint.url}, "sync.auth.refresh_payload": PAYLOAD,
            "destination.home": {"url": server.url + "/home", "auth": "main", "interval_seconds": NEVER}}).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(count - 1)
        daemon.wait_stored(count)
        return endpoint, server, fake, daemon

    def sync(self, daemon, name: str) -> str:
        return daemon.call("Sync", destination=name)["outcome"]

    def wait_drained(self, daemon, name: str):
        wait_for(lambda: self.sync(daemon, name) in ("drained", "nothing_pending"), f"{name} goes on")

    def check_received(self, server, count: int):
        for path in ("/main", "/home"):
            self.assertEqual((len(server.ids[path]), len(set(server.ids[path]))), (count, count), path)

    def more(self, fake, daemon, count: int, name: str = "home"):
        fake.drive(count)
        wait_for(lambda: {found["name"]: found for found in daemon.status()["destinations"]}[name]["sync"]["pending"] >= count,
                 "more rows")

    def test_both_use_them_and_one_refreshes(self):
        endpoint, server, fake, daemon = self.shared()
        self.assertEqual([self.sync(daemon, name) for name in ("home", "main")], ["drained", "drained"])
        self.assertEqual(endpoint.rotations, 0)
        # The one who only borrows is refused first: it waits for the other, and repeats its batch.
        endpoint.expire()
        self.more(fake, daemon, 2)
        self.assertEqual(self.sync(daemon, "home"), "drained")
        self.assertEqual((endpoint.rotations, server.refused), (1, ["/home"]))
        self.assertEqual(self.sync(daemon, "main"), "drained")
        self.assertEqual((endpoint.rotations, server.refused), (1, ["/home"]))
        # Both at once.
        endpoint.expire()
        self.more(fake, daemon, 2)
        links = [daemon.connect() for _ in range(2)]
        for link, name in zip(links, ("main", "home"), strict=True):
            link.send("Sync", {"destination": name})
        for link in links:
            self.assertEqual(link.receive()["outcome"], "drained")
        self.assertEqual(endpoint.rotations, 2)
        self.check_received(server, 6)
        self.assertEqual({found["auth"]["state"] for found in daemon.status()["destinations"]}, {"valid"})
        self.assertEqual([name for name in self.files(daemon) if name.startswith("tokens")], ["tokens"])

    def files(self, daemon) -> list:
        return sorted(path.name for path in Path(daemon.state).iterdir())

    def test_a_kill_between_a_refresh_and_its_use_costs_nobody_the_token(self):
        endpoint, server, fake, daemon = self.shared()
        for victim in ("home", "main", "home"):
            endpoint.expire()
            rotations = endpoint.rotations
            killed: list = []

            def kill(token):
                if not killed:
                    daemon.kill()
                    killed.append(token)

            server.before = kill
            self.more(fake, daemon, 1, victim)
            try:
                self.sync(daemon, victim)
            except (ConnectionClosed, OSError):
                pass
            wait_for(lambda: killed, "the first use of the new token")
            server.before = lambda token: None
            daemon.start()
            daemon.call("Start")
            fake.settle()
            for name in ("main", "home"):
                self.wait_drained(daemon, name)
            self.assertEqual(endpoint.rotations, rotations + 1)
        for name, found in {found["name"]: found for found in daemon.status()["destinations"]}.items():
            self.assertEqual((found["sync"]["pending"], found["auth"]["state"]), (0, "valid"), name)
        self.assertEqual(set(server.ids["/main"]), set(server.ids["/home"]))

    def test_dead_ones_fail_both_and_hold_up_nobody(self):
        endpoint, server, fake, daemon = self.shared()
        endpoint.expire()
        endpoint.script = [400]
        self.assertEqual(self.sync(daemon, "home"), "auth")
        self.assertEqual(self.sync(daemon, "main"), "auth")
        self.assertEqual(len(endpoint.requests), 1, "nobody asks with what is dead")
        with self.assertRaises(Refusal) as refusal:
            daemon.call("SeedAuth", destination="home", access_token="a")
        self.assertIn("give them to main", str(refusal.exception.parameters))
        access = endpoint.rotate()
        daemon.call("SeedAuth", access_token=access["access_token"], refresh_token=access["refresh_token"])
        wait_for(lambda: self.sync(daemon, "home") in ("drained", "nothing_pending"), "the new ones work for both")
        wait_for(lambda: self.sync(daemon, "main") in ("drained", "nothing_pending"), "for main, too")
        self.check_received(server, 2)

    def test_an_endpoint_that_is_down_is_waited_for(self):
        endpoint, server, fake, daemon = self.shared()
        endpoint.expire()
        endpoint.script = [503]
        self.assertEqual(self.sync(daemon, "home"), "transient")
        wait_for(lambda: self.sync(daemon, "main") == "drained", "main has refreshed")
        wait_for(lambda: self.sync(daemon, "home") in ("drained", "nothing_pending"), "and home uses it")
        self.assertEqual(endpoint.rotations, 1)
        self.check_received(server, 2)


if __name__ == "__main__":
    unittest.main()
