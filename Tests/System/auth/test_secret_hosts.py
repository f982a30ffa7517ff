"""The secrets in root's files go only to the hosts in those files, whoever configures where data is sent."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.token_endpoint import Endpoint
from support.users import DAEMON_ID, UsersTest
from support.waiting import wait_for
from support.witness import Witness

SECRET = "hEaDeR-4711"
ADMINISTRATOR = "an administrator"


class SecretHostTests(UsersTest):
    def setting(self, daemon, name: str, **settings):
        settings = {key.replace("__", "."): value for key, value in settings.items()}
        with self.client_as(daemon, name) as client:
            client.call("Configure", settings=settings)

    def refused(self, daemon, **settings):
        before = daemon.call("GetConfig")
        with self.assertRaises(Refusal) as caught:
            self.setting(daemon, ADMINISTRATOR, **settings)
        self.assertEqual(caught.exception.full_name, "org.varlink.service.PermissionDenied")
        self.assertIn("only root may set it", caught.exception.parameters["reason"])
        self.assertEqual(daemon.call("GetConfig"), before)

    def rig(self, **sections):
        """A daemon that uploads to the host in its file, and another host that listens."""
        own, other, fake = Witness().start(), Witness().start(), self.fake()
        for backend in (own, other):
            self.addCleanup(backend.stop)
        sync = {"url": own.url, **sections.pop("sync", {})}
        daemon = self.unprivileged_daemon(fake.port, sync=sync, **sections)
        return own, other, fake, daemon

    def drain(self, fake, daemon):
        """Two more locations, and everything uploaded: by this attempt or by one that came before it."""
        stored = daemon.status()["gate"]["admitted"]
        fake.drive(2)
        daemon.wait_stored(stored + 2)
        self.assertIn(daemon.sync()["outcome"], ("drained", "nothing_pending"))

    def wait_degraded(self, daemon, parts: list):
        daemon.wait_status(lambda status: status["degraded"] == parts, f"degraded: {parts}")

    def run_daemon(self, fake, daemon):
        daemon.start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)

    def seen(self, backend) -> int:
        """How many requests carried the secret."""
        return sum(SECRET in head for head in list(backend.heads))

    def test_an_administrator_cannot_send_them_elsewhere_and_root_can(self):
        own, other, fake, daemon = self.rig(**{"sync.headers": {"X-Api-Key": SECRET}})
        self.run_daemon(fake, daemon)
        self.refused(daemon, sync__url=other.url)
        self.refused(daemon, sync__url=other.url, tracking__interval_seconds=1)
        self.refused(daemon, sync__proxy=other.url)
        self.refused(daemon, sync__allow_insecure_http=True)
        self.refused(daemon, sync__auth__refresh_url=other.url)
        line = "Configure denied to uid 64723, pid "
        wait_for(lambda: line in daemon.text() and "only root may set it" in daemon.text(), line)
        self.drain(fake, daemon)
        self.assertEqual((self.seen(own) > 0, other.requests), (True, []))
        # Another path of the same host is not another host.
        self.setting(daemon, ADMINISTRATOR, sync__url=own.url + "/elsewhere")
        daemon.call("ResetConfig", keys=["sync.url"])
        shown = self.beekonctl_as(daemon, ADMINISTRATOR, "config", "set", f"sync.url={other.url}")
        self.assertEqual((shown.returncode, len(shown.stderr.splitlines())), (77, 1), shown.stderr)
        self.assertIn("only root may set it", shown.stderr)
        # When root does it, it holds over a reload and a restart.
        self.setting(daemon, "root", sync__url=other.url)
        daemon.call("Reload")
        daemon.terminate()
        self.run_daemon(fake, daemon)
        self.assertEqual(daemon.setting("sync.url"), other.url)
        self.wait_degraded(daemon, [])
        self.drain(fake, daemon)
        self.assertGreater(self.seen(other), 0)
        # An administrator can undo it, but not do it again.
        with self.client_as(daemon, ADMINISTRATOR) as client:
            client.call("ResetConfig", keys=["sync.url"])
        self.refused(daemon, sync__url=other.url)

    def test_files_that_gain_secrets_withhold_the_url(self):
        own, other, fake, daemon = self.rig()
        self.run_daemon(fake, daemon)
        self.setting(daemon, ADMINISTRATOR, sync__url=other.url)
        self.drain(fake, daemon)
        self.assertGreater(len(other.requests), 0)
        self.assertEqual(own.requests, [])
        before = len(other.requests)
        daemon.configure(**{"sync.headers": {"X-Api-Key": SECRET}})
        os.chown(daemon.config, DAEMON_ID, DAEMON_ID)
        with self.client_as(daemon, "a member of beekon") as client:
            client.call("Reload")
        self.wait_degraded(daemon, ["config"])
        line = "sync.url, set while running, is left out: would send secrets of the configuration files"
        wait_for(lambda: line in daemon.text(), line)
        self.drain(fake, daemon)
        daemon.terminate()
        self.run_daemon(fake, daemon)
        self.drain(fake, daemon)
        self.wait_degraded(daemon, ["config"])
        self.assertEqual(daemon.setting("sync.url"), own.url)
        self.assertEqual((len(other.requests), self.seen(other)), (before, 0))
        self.assertGreater(self.seen(own), 0)

    def test_a_url_kept_by_an_earlier_version_is_not_approved(self):
        own, other, fake, daemon = self.rig(**{"sync.headers": {"X-Api-Key": SECRET}})
        path = os.path.join(daemon.state, "settings.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "settings": {"sync.url": other.url, "sync.batch_size": 7}}, file)
        os.chown(path, DAEMON_ID, DAEMON_ID)
        self.run_daemon(fake, daemon)
        self.drain(fake, daemon)
        self.assertEqual((daemon.setting("sync.url"), daemon.setting("sync.batch_size")), (own.url, 7))
        self.wait_degraded(daemon, ["config"])
        self.assertEqual(other.requests, [])
        # Root sets it: nothing else is needed.
        self.setting(daemon, "root", sync__url=other.url)
        self.drain(fake, daemon)
        self.wait_degraded(daemon, [])
        self.assertGreater(self.seen(other), 0)

    def test_a_refresh_url_alone(self):
        endpoint, thief = Endpoint(), Endpoint()
        self.addCleanup(endpoint.stop)
        self.addCleanup(thief.stop)
        _, _, fake, daemon = self.rig(**{
            "sync.auth": {"refresh_url": endpoint.url, "refresh_token": "r"},
            "sync.auth.refresh_payload": {"client_secret": SECRET, "refresh_token": "{refreshToken}"}})
        self.run_daemon(fake, daemon)
        self.refused(daemon, sync__auth__refresh_url=thief.url)
        daemon.sync()
        wait_for(lambda: endpoint.requests, "a refresh at the files' own endpoint")
        self.assertEqual(thief.requests, [])


if __name__ == "__main__":
    unittest.main()
