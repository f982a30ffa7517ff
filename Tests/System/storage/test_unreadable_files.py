"""Files that a run as root has left behind, which the daemon's own user may not open: each is named with what to do, and
what it holds is there again as soon as that is done."""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.ports import NOBODY
from support.users import DAEMON_ID, UsersTest
from support.waiting import wait_for

FENCE = {"id": "home", "latitude": 10, "longitude": 10, "radius_meters": 100}
ADVICE = "chown it to the user that beekond runs as"


class UnreadableTests(UsersTest):
    def setUp(self):
        super().setUp()
        gps = self.fake()
        self.held = self.unprivileged_daemon(
            gps.port, sync={"url": f"http://127.0.0.1:{NOBODY}/"}, **{"sync.auth": {"access_token": "first"}})
        self.held.start()
        self.held.call("SetExtras", extras={"driver": "anna"})
        self.held.call("AddGeofences", geofences=[FENCE])
        self.held.call("Configure", settings={"tracking.angle_degrees": 30})
        self.held.call("Start")
        gps.settle()
        self.held.wait_stored(1)
        wait_for(lambda: os.path.exists(self.file("tokens")), "the tokens are stored")
        self.known = self.all_known()

    def file(self, name: str) -> str:
        return os.path.join(self.held.state, name)

    def all_known(self) -> tuple:
        status = self.held.wait_status(lambda status: status["state"] == "tracking", "it tracks")
        return (status["install_id"], status["session_id"], self.held.call("GetExtras")["extras"],
                [fence["id"] for fence in self.held.call("ListGeofences")["geofences"]],
                self.held.setting("tracking.angle_degrees"))

    def take(self, names: list) -> dict:
        """Stops the daemon and makes them root's, as a run as root may leave them. Returns what they hold."""
        self.held.kill()
        held = {}
        for name in names:
            os.chown(self.file(name), 0, 0)
            os.chmod(self.file(name), 0o600)
            held[name] = Path(self.file(name)).read_bytes()
        return held

    def give_back(self, names: list):
        self.held.kill()
        for name in names:
            os.chown(self.file(name), DAEMON_ID, DAEMON_ID)
        self.held.start()
        self.assertEqual(self.all_known(), self.known)

    def check_named(self, name: str):
        """Restarts it, and waits until it has said what to do about the file."""
        before = len(self.held.text())
        self.held.start()
        wait_for(lambda: f"{name}: Permission denied, so {ADVICE}" in self.held.text()[before:],
                 lambda: "the advice; it said: " + self.held.text()[before:])

    def check_intact(self, held: dict):
        for name, content in held.items():
            self.assertEqual(Path(self.file(name)).read_bytes(), content, name)
        self.assertEqual([name for name in os.listdir(self.held.state) if ".aside-" in name], [])

    def test_a_file_whose_copy_can_be_read(self):
        for name in ("identity.json", "intent.json", "extras.json", "geofences.json", "settings.json"):
            with self.subTest(name):
                held = self.take([name])
                self.check_named(name)
                self.assertEqual(self.all_known(), self.known)
                self.check_intact(held)
                self.give_back([name])

    def test_a_file_and_its_copy(self):
        # What goes on without it: the rest is as before.
        for name, lost in (("intent.json", None), ("extras.json", 2), ("geofences.json", 3), ("settings.json", 4)):
            with self.subTest(name):
                names = [name, name + ".copy"]
                held = self.take(names)
                self.check_named(name)
                self.held.wait_status(lambda status: {"files", "config"} & set(status["degraded"]), "it is shown")
                found = self.all_known()
                for index, value in enumerate(self.known):
                    if index != lost:
                        self.assertEqual(found[index], value)
                self.check_intact(held)
                self.give_back(names)

    def test_the_identity_and_its_copy(self):
        """It does not start: as another vehicle it would do harm."""
        names = ["identity.json", "identity.json.copy"]
        held = self.take(names)
        self.held.launch()
        self.assertNotEqual(self.held.child.wait(60), 0)
        self.assertIn("identity.json is of no use", self.held.text())
        self.assertIn(ADVICE, self.held.text())
        self.check_intact(held)
        self.give_back(names)

    def test_the_tokens(self):
        held = self.take(["tokens"])
        self.check_named("tokens")
        self.assertIn("the stored tokens cannot be read: ", self.held.text())
        self.held.wait_status(lambda status: "auth" in status["degraded"], "it is shown")
        self.check_intact(held)
        os.chown(self.file("tokens"), DAEMON_ID, DAEMON_ID)
        self.held.sync()
        self.held.wait_status(lambda status: status["auth"]["state"] == "valid", "they are used again, without a restart")
        self.assertIn("the stored tokens can be read again", self.held.text())
        self.give_back(["tokens"])

    def test_the_database(self):
        held = self.take(["beekon.db"])
        self.held.launch()
        wait_for(lambda: "must belong to the user that beekond runs as (chown -R)" in self.held.text(),
                 lambda: "it is reported: " + self.held.text())
        self.check_intact(held)
        self.give_back(["beekon.db"])


if __name__ == "__main__":
    unittest.main()
