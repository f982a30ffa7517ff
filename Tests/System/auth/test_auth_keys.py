"""Tokens at rest: their key, damage to them, and traces of them elsewhere."""
import os
import signal
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.token_endpoint import Endpoint
from support.waiting import never


class KeyTests(AuthTest):
    def key(self, daemon) -> str:
        return os.path.join(daemon.state, "beekond.key")

    def stored(self, daemon) -> bytes:
        with open(os.path.join(daemon.state, "tokens"), "rb") as file:
            return file.read()

    def rotated(self) -> tuple:
        endpoint, receiver, fake, daemon = self.guarded()
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        daemon.terminate()
        return endpoint, receiver, fake, daemon

    def start(self, daemon, fake, **environment):
        os.environ.update(environment)
        try:
            daemon.start()
        finally:
            for name in environment:
                del os.environ[name]
        daemon.listeners.append(self.listener(daemon))
        fake.settle()
        daemon.wait_stored(1)

    def test_files_are_private(self):
        endpoint, receiver, fake, daemon = self.rotated()
        for name in ("tokens", "beekond.key"):
            status = os.stat(os.path.join(daemon.state, name))
            self.assertEqual(status.st_mode & 0o777, 0o600, name)
        self.assertEqual(os.path.getsize(self.key(daemon)), 32)

    def test_a_wrong_or_missing_key_overwrites_nothing(self):
        for change in ("missing", "another", "short", "later version"):
            with self.subTest(change):
                endpoint, receiver, fake, daemon = self.rotated()
                before = self.stored(daemon)
                with open(self.key(daemon), "rb") as file:
                    key = file.read()
                if change == "missing":
                    os.rename(self.key(daemon), self.key(daemon) + ".away")
                elif change == "later version":
                    before = before[:4] + b"\x02" + before[5:]
                    with open(os.path.join(daemon.state, "tokens"), "wb") as file:
                        file.write(before)
                else:
                    with open(self.key(daemon), "wb") as file:
                        file.write(os.urandom(32) if change == "another" else key[:31])
                self.start(daemon, fake)
                self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "key")
                self.assertEqual(daemon.sync()["outcome"], "auth")
                daemon.configure(**{"sync.auth": {"access_token": Endpoint.MARK + "x", "seed_epoch": 9}})
                daemon.reload()
                never(lambda: self.stored(daemon) != before, "the tokens overwritten")
                self.assertEqual((len(endpoint.requests), len(receiver.requests)), (1, 2))
                self.assertEqual(os.path.exists(self.key(daemon)), change != "missing")
                if change in ("later version", "short"):
                    continue
                if change == "another":
                    # With new tokens it continues; the old file is kept under another name.
                    endpoint.valid.add(Endpoint.MARK + "new")
                    daemon.call("SeedAuth", access_token=Endpoint.MARK + "new")
                    daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
                    with open(os.path.join(daemon.state, "tokens.aside-1"), "rb") as file:
                        self.assertEqual(file.read(), before)
                else:
                    # With the key restored, the pair works.
                    daemon.terminate()
                    os.rename(self.key(daemon) + ".away", self.key(daemon))
                    daemon.configure(**{"sync.auth": {"access_token": Endpoint.MARK + "access-seed", "seed_epoch": 0}})
                    self.start(daemon, fake)
                    self.assertEqual(daemon.sync()["outcome"], "drained")
                    self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-1")

    def test_a_damaged_file_is_set_aside(self):
        for damage in ("empty", "zeroes", "cut", "a bit"):
            with self.subTest(damage):
                endpoint, receiver, fake, daemon = self.rotated()
                before = self.stored(daemon)
                after = {"empty": b"", "zeroes": bytes(len(before)), "cut": before[:-1],
                         "a bit": before[:-20] + bytes([before[-20] ^ 1]) + before[-19:]}[damage]
                with open(os.path.join(daemon.state, "tokens"), "wb") as file:
                    file.write(after)
                endpoint.valid.add(Endpoint.MARK + "access-seed")
                self.start(daemon, fake)
                self.assertEqual(daemon.sync()["outcome"], "drained")
                self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-seed")
                with open(os.path.join(daemon.state, "tokens.aside-1"), "rb") as file:
                    self.assertEqual(file.read(), after)

    def test_a_credential(self):
        """It seals from the next write on; what the key file sealed stays readable. Without it the tokens are locked."""
        endpoint, receiver, fake, daemon = self.rotated()
        folder = self.folder()
        with open(os.path.join(folder, "beekond.key"), "wb") as file:
            file.write(os.urandom(32))
        self.start(daemon, fake, CREDENTIALS_DIRECTORY=folder)
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(endpoint.requests), 2)
        daemon.terminate()
        os.remove(self.key(daemon))
        self.start(daemon, fake, CREDENTIALS_DIRECTORY=folder)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(endpoint.requests), 2)
        daemon.terminate()
        self.start(daemon, fake)
        self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "key")
        self.assertFalse(os.path.exists(self.key(daemon)))

    def test_no_memory_dump_is_left_behind(self):
        """No core file, no backtrace, no access for the user's other processes; and a crash ends at once."""
        endpoint, receiver, fake, daemon = self.guarded()
        pid = daemon.child.process.pid
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            limits = next(line.split() for line in file if line.startswith("Max core"))
        self.assertEqual(limits[4:6], ["0", "0"])
        # In /proc, a process that is not dumpable belongs to root.
        self.assertEqual(os.stat(f"/proc/{pid}/mem").st_uid, 0)
        os.kill(pid, signal.SIGSEGV)
        self.assertEqual(daemon.child.wait(), -signal.SIGSEGV)
        self.assertFalse([name for name in os.listdir(daemon.directory) if "core" in name])

    def test_a_disk_that_fails_before_an_exchange(self):
        """No rotation is started, and the valid token keeps working."""
        for _ in range(10):
            endpoint, receiver, fake, daemon = self.guarded(
                auth={"expires_at": int(time.time()) + 50, "skew_margin_seconds": 60})
            # A file cannot replace a folder.
            os.mkdir(os.path.join(daemon.state, "tokens.tmp"))
            if not endpoint.requests:
                break
            # At a random moment after the start an exchange is made though there is nothing to send: this one was earlier.
            daemon.kill()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations, [f"Bearer {Endpoint.MARK}access-seed"])
        endpoint.expire()
        fake.drive(1)
        daemon.wait_stored(2)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(endpoint.requests, [])
        os.rmdir(os.path.join(daemon.state, "tokens.tmp"))
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(endpoint.requests), 1)

    def test_a_disk_that_fails_during_an_exchange(self):
        """The new pair is used only once it is on disk; the exchange is not repeated."""
        endpoint, receiver, fake, daemon = self.guarded()
        folder = os.path.join(daemon.state, "tokens.tmp")
        endpoint.script = [("then", lambda: os.mkdir(folder))]
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(receiver.authorizations, [f"Bearer {Endpoint.MARK}access-seed"])
        os.rmdir(folder)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "uploaded by itself")
        self.assertEqual((len(endpoint.requests), receiver.authorizations[1:]), (1, [f"Bearer {Endpoint.MARK}access-1"]))
        self.restart(daemon)
        fake.settle()
        daemon.wait_stored(1)
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual(len(endpoint.requests), 1)


if __name__ == "__main__":
    unittest.main()
