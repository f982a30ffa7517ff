"""Small files that the flash has damaged: each is moved aside, logged and shown, and none ends tracking silently."""
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.waiting import wait_for

DAMAGES = {"empty": b"", "zeros": bytes(180), "cut": b'{"state":"tracking","sess', "another": b"[1]\n",
           "large": b" " * (17 << 20)}


class DamageTests(CtlTest):
    def write(self, daemon, name: str, content: bytes):
        with open(os.path.join(daemon.state, name), "wb") as file:
            file.write(content)

    def asides(self, daemon) -> list:
        return sorted(name for name in os.listdir(daemon.state) if ".aside-" in name)

    def damage(self, daemon, name: str, content: bytes, copy: bool) -> str:
        """Restarts it with this content in the file, and with `copy` in its copy as well. Returns what it logged."""
        daemon.kill()
        self.write(daemon, name, content)
        if copy:
            self.write(daemon, name + ".copy", content)
        before = len(daemon.text())
        daemon.start()
        return daemon.text()[before:]

    def test_the_intent(self):
        """It is restored from its copy, or without that from the database."""
        fake, daemon = self.tracking()
        status = daemon.status()
        count = 0
        for what, content in DAMAGES.items():
            for copy in (False, True):
                with self.subTest(what, copy=copy):
                    logged = self.damage(daemon, "intent.json", content, copy)
                    count += 1
                    found = daemon.status()
                    self.assertEqual((found["state"], found["session_id"], found["session_started_at"]),
                                     ("tracking", status["session_id"], status["session_started_at"]), logged)
                    self.assertIn("files", found["degraded"])
                    self.assertIn(f"intent.json.aside-{count}", logged)
                    self.assertIn("database" if copy else "copy", logged)
        self.assertIn("intent.json", self.run_ctl(daemon, "status").stdout)
        self.assertIn(f"intent.json.aside-{count}", self.asides(daemon))
        # It is reported once.
        daemon.kill()
        daemon.start()
        self.assertEqual((daemon.status()["state"], [word for word in daemon.status()["degraded"] if word == "files"]),
                         ("tracking", []))

    def test_a_missing_intent(self):
        fake, daemon = self.tracking()
        session = daemon.status()["session_id"]
        daemon.kill()
        for name in ("intent.json", "intent.json.copy"):
            os.unlink(os.path.join(daemon.state, name))
        daemon.start()
        self.assertEqual((daemon.status()["state"], daemon.status().get("session_id")), ("tracking", session))
        self.assertIn("intent.json is gone", daemon.text())

    def test_a_stop_stays_a_stop(self):
        fake, daemon = self.tracking()
        daemon.call("Stop")
        for copy in (False, True):
            logged = self.damage(daemon, "intent.json", b"", copy)
            self.assertNotEqual(daemon.status()["state"], "tracking")
            self.assertIn("files", daemon.status()["degraded"])
            self.assertIn("beekonctl start" if copy else "copy", logged)
        # A new command of the user ends it.
        daemon.call("Start")
        daemon.wait_status(lambda status: "files" not in status["degraded"], "no longer degraded")

    def test_a_stop_stays_a_stop_with_autostart(self):
        """Damaged or gone: what was started and stopped once is known from the database."""
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking={"autostart": True}).start()
        fake.settle()
        daemon.wait_stored(1)
        daemon.call("Stop")
        logged = self.damage(daemon, "intent.json", b"", True)
        self.assertEqual((daemon.status()["state"], daemon.status()["degraded"]), ("stopped", ["files"]), logged)
        self.assertIn("beekonctl start", logged)
        daemon.kill()
        for name in ("intent.json", "intent.json.copy"):
            os.unlink(os.path.join(daemon.state, name))
        before = len(daemon.text())
        daemon.start()
        self.assertEqual((daemon.status()["state"], daemon.status()["degraded"]), ("stopped", ["files"]))
        self.assertEqual(daemon.text()[before:].count("intent.json is gone"), 1)
        # It is told once.
        daemon.kill()
        daemon.start()
        self.assertEqual((daemon.status()["state"], daemon.status()["degraded"]), ("stopped", []))

    def test_the_identity(self):
        daemon = self.daemon().start()
        installation = daemon.status()["install_id"]
        for content in DAMAGES.values():
            logged = self.damage(daemon, "identity.json", content, False)
            self.assertEqual((daemon.status()["install_id"], daemon.status()["degraded"]), (installation, ["files"]), logged)
        logged = self.damage(daemon, "identity.json", b"", True)
        self.assertNotEqual(daemon.status()["install_id"], installation)
        self.assertIn("identity.json.aside-", logged)
        self.assertIn("another vehicle", logged)

    def test_extras_and_fences(self):
        daemon = self.daemon().start()
        fence = {"id": "home", "latitude": 10, "longitude": 10, "radius_meters": 100}
        daemon.call("SetExtras", extras={"driver": "anna"})
        daemon.call("AddGeofences", geofences=[fence])
        for name, remedy in (("extras.json", "extras set"), ("geofences.json", "added again")):
            with self.subTest(name):
                logged = self.damage(daemon, name, b"\0" * 99, False)
                self.assertIn(f"{name}.aside-1", logged)
                self.assertEqual(daemon.status()["degraded"], ["files"], logged)
                self.assertEqual((daemon.call("GetExtras")["extras"], len(daemon.call("ListGeofences")["geofences"])),
                                 ({"driver": "anna"}, 1))
                logged = self.damage(daemon, name, b"\0" * 99, True)
                self.assertIn(remedy, logged)
                self.assertEqual(daemon.status()["degraded"], ["files"])
                daemon.call("SetExtras", extras={"driver": "anna"})
                daemon.call("AddGeofences", geofences=[fence])
                daemon.wait_status(lambda status: not status["degraded"], "no longer degraded")

    def test_the_tokens(self):
        daemon = self.daemon(sync={"url": "http://127.0.0.1:9/"}, **{"sync.auth": {"access_token": "first"}}).start()
        wait_for(lambda: os.path.exists(os.path.join(daemon.state, "tokens")), "the tokens are stored")
        for number, content in enumerate((b"", b"\0" * (2 << 20)), 1):
            self.damage(daemon, "tokens", content, False)
            daemon.wait_status(lambda status: "files" in status["degraded"], "it is shown")
            wait_for(lambda: f"tokens.aside-{number}" in self.asides(daemon), "it is kept")
            status = daemon.wait_status(lambda status: status["auth"]["state"] == "valid", "the token of the configuration")
            self.assertEqual(status["state"], "idle")
        daemon.call("SeedAuth", access_token="second")
        daemon.wait_status(lambda status: "files" not in status["degraded"], "new tokens were given")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_a_file_of_another_user(self):
        fake, daemon = self.tracking()
        session = daemon.status()["session_id"]
        daemon.kill()
        path = os.path.join(daemon.state, "intent.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"state": "stopped", "sessionID": session, "startedAt": 0}, file)
        os.chown(path, 12345, 12345)
        daemon.start()
        self.assertEqual(daemon.status()["state"], "tracking")
        self.assertIn("belongs to user 12345", daemon.text())

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_a_run_as_root_gives_its_files_to_the_owner(self):
        daemon = self.daemon()
        os.makedirs(daemon.state, exist_ok=True)
        os.chown(daemon.state, 12345, 12346)
        daemon.start()
        daemon.call("SetExtras", extras={"driver": "anna"})
        for name in ("identity.json", "identity.json.copy", "extras.json"):
            status = os.stat(os.path.join(daemon.state, name))
            self.assertEqual((status.st_uid, status.st_gid), (12345, 12346), name)

    def test_copies_are_bounded(self):
        """When every name is taken, it starts nevertheless."""
        daemon = self.daemon().start()
        installation = daemon.status()["install_id"]
        daemon.kill()
        for number in range(1, 100):
            self.write(daemon, f"identity.json.aside-{number}", b"x")
        self.damage(daemon, "identity.json", b"", False)
        self.assertEqual(daemon.status()["install_id"], installation)
        self.assertEqual(len(self.asides(daemon)), 99)


if __name__ == "__main__":
    unittest.main()
