"""New tokens from the configuration and from beekonctl; other hosts get none."""
import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.control_client import Refusal
from support.programs import program
from support.token_endpoint import Endpoint

# Where `support` can be imported from, for a Python in another process.
SUPPORT = str(Path(__file__).resolve().parent.parent)


class SeedTests(AuthTest):
    def seed(self, daemon, *words: str, stdin: str = "", code: int = 0):
        done = subprocess.run(
            [program("beekonctl"), "auth", "seed", *words, "--socket", daemon.socket], input=stdin, text=True,
            capture_output=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertFalse(Endpoint.MARK in done.stdout + done.stderr)
        return done

    def dead(self, **options) -> tuple:
        endpoint, receiver, fake, daemon = self.guarded(script=[400], **options)
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "auth")
        return endpoint, receiver, fake, daemon

    def new_pair(self, endpoint) -> dict:
        endpoint.refresh = Endpoint.MARK + "refresh-new"
        endpoint.valid.add(Endpoint.MARK + "access-new")
        return {"access_token": Endpoint.MARK + "access-new", "refresh_token": endpoint.refresh}

    def test_seeding_revives_at_once_and_lasts(self):
        endpoint, receiver, fake, daemon = self.dead()
        count = len(receiver.requests)
        daemon.call("SeedAuth", **self.new_pair(endpoint))
        receiver.wait_requests(count + 1)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(self.auth(daemon)["state"], "valid")
        # The seed of the file is not used again.
        self.restart(daemon)
        fake.settle()
        daemon.wait_stored(1)
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-new")

    def test_an_edited_seed_revives(self):
        for change in ("token", "seed_epoch"):
            with self.subTest(change):
                endpoint, receiver, fake, daemon = self.guarded(script=[400])
                endpoint.expire()
                self.assertEqual(daemon.sync()["outcome"], "auth")
                count = len(receiver.requests)
                if change == "token":
                    endpoint.valid.add(Endpoint.MARK + "new")
                    daemon.configure(**{"sync.auth": {"access_token": Endpoint.MARK + "new"}})
                else:
                    endpoint.valid.add(Endpoint.MARK + "access-seed")
                    daemon.configure(**{"sync.auth": {"seed_epoch": 3}})
                daemon.reload()
                # At once, unasked.
                receiver.wait_requests(count + 1)
                daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
                self.assertEqual(self.auth(daemon)["state"], "valid")

    def test_the_seed_is_adopted_once(self):
        """A restart continues with the rotated pair, not with the seed."""
        endpoint, receiver, fake, daemon = self.guarded()
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        for kill in (True, False):
            self.restart(daemon, kill)
            fake.settle()
            daemon.wait_stored(1)
            self.assertEqual(daemon.first_outcome(), "drained")
            self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-1")
        self.assertEqual(len(endpoint.requests), 1)

    def test_it_is_on_disk_before_the_answer(self):
        endpoint, receiver, fake, daemon = self.dead()
        daemon.call("SeedAuth", **self.new_pair(endpoint))
        self.restart(daemon)
        fake.settle()
        daemon.wait_stored(1)
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-new")

    def test_what_is_refused(self):
        endpoint, receiver, fake, daemon = self.guarded()
        for parameters, name, culprit in (
                ({}, "InvalidParameter", "access_token"), ({"access_token": ""}, "InvalidParameter", "access_token"),
                ({"access_token": "a\r\nX: y"}, "InvalidParameter", "access_token"),
                ({"refresh_token": "a\u2028b"}, "InvalidParameter", "refresh_token"),
                ({"access_token": "a", "expires_at": -1}, "InvalidParameter", "expires_at"),
                ({"access_token": "a", "expires_at": 1 << 60}, "InvalidParameter", "expires_at"),
                ({"access_token": "a", "seed_epoch": 1}, "InvalidParameter", "seed_epoch"),
                ({"access_token": 5}, "InvalidParameter", "access_token")):
            with self.subTest(parameters):
                with self.assertRaises(Refusal) as caught:
                    daemon.call("SeedAuth", **parameters)
                self.assertEqual((caught.exception.name, caught.exception.parameters), (name, {"parameter": culprit}))
        self.assertEqual(daemon.sync()["outcome"], "drained")
        other = self.daemon(sync={"url": receiver.url}).start()
        with self.assertRaises(Refusal) as caught:
            other.call("SeedAuth", access_token="a")
        self.assertEqual(caught.exception.name, "InvalidConfiguration")

    def test_only_administrators(self):
        """Another user may not, even one who can open the socket."""
        if os.geteuid() != 0:
            self.skipTest("needs root to become somebody else")
        endpoint, receiver, fake, daemon = self.guarded()
        os.chmod(self.directory, 0o755)
        os.chmod(daemon.directory, 0o755)
        os.chmod(daemon.socket, 0o666)
        # Another only once all is imported: not everybody may read a checkout in somebody's home.
        script = ("import os, sys; sys.path[:0] = [sys.argv[1]]; from support.control_client import *\n"
                  "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
                  "try: ControlClient(sys.argv[2]).call('SeedAuth', access_token='x')\n"
                  "except Refusal as error: print(error.name)")
        done = subprocess.run([sys.executable, "-c", script, SUPPORT, daemon.socket],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "PermissionDenied\n", done.stderr)

    def test_beekonctl(self):
        endpoint, receiver, fake, daemon = self.dead()
        show = [program("beekonctl"), "auth", "show", "--socket", daemon.socket]
        done = subprocess.run(show, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn("dead (refused)", done.stdout)
        self.assertIn("auth seed", done.stdout)
        pair = self.new_pair(endpoint)
        for words, stdin, code in (
                ([], "", 65), (["/nonexistent"], "", 66), ([], "{}", 65), ([], "[1]\n2", 65), ([], "{", 65),
                (["--expires-at", "soon"], "x", 64)):
            self.seed(daemon, *words, stdin=stdin, code=code)
        self.seed(daemon, stdin=json.dumps({**pair, "expires_in": 3600}))
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        done = subprocess.run([*show, "--json"], capture_output=True, text=True, timeout=60)
        state = json.loads(done.stdout)
        self.assertEqual(state["state"], "valid")
        self.assertTrue(state["expires_at"])
        # The bare tokens, each in its own file.
        for name in ("access", "refresh"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(pair[name + "_token"] + "\n")
        self.seed(daemon, self.path("access"), "--refresh-token-file", self.path("refresh"), "--expires-at", "2031-01-01")
        self.assertEqual(daemon.status()["auth"]["expires_at"][:4], "2030" if time.timezone < 0 else "2031")

    def test_another_host_gets_no_tokens(self):
        """The tokens were for 127.0.0.1: neither localhost nor a new refresh_url may get them."""
        endpoint, receiver, fake, daemon = self.guarded()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        for section, key, url in (("sync", "url", receiver.url), ("sync.auth", "refresh_url", endpoint.url)):
            with self.subTest(key):
                count = len(receiver.requests)
                fake.drive(1)
                daemon.wait_status(lambda status: status["sync"]["pending"] == 1, "a fix pending")
                daemon.configure(**{section: {key: url.replace("127.0.0.1", "localhost")}})
                daemon.reload()
                self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "host_changed")
                self.assertEqual(daemon.sync()["outcome"], "auth")
                self.assertEqual((len(receiver.requests), len(endpoint.requests)), (count, 0))
                # Not after a restart either; with new ones it continues.
                self.restart(daemon)
                self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "host_changed")
                daemon.call("SeedAuth", **self.new_pair(endpoint))
                daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
                fake.settle()
                daemon.wait_stored(1)
                daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")

    def test_a_reload_during_an_upload(self):
        """A configuration change during a request breaks nothing."""
        endpoint, receiver, fake, daemon = self.guarded()
        receiver.hold()
        daemon.ask_for_sync()
        receiver.wait_requests(1)
        receiver.go_on()
        daemon.configure(sync={"timeout_seconds": 33})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len({request.sha256 for request in receiver.requests}), 1)


if __name__ == "__main__":
    unittest.main()
