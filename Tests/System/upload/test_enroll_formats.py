"""beekonctl enroll --format: a destination that is software of others, in one line."""
from __future__ import annotations

import os
import pty
import stat
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import foreign_servers as servers
from support.daemon import Beekond
from support.foreign_servers import ForeignServer
from support.mqtt_test import MQTTTest
from support.programs import program
from support.waiting import wait_for

SECRET = 'a "secret" \\ word'


class FormatTests(MQTTTest):
    def beekond(self, **sections) -> Beekond:
        daemon = Beekond(self.folder(), **sections)
        self.addCleanup(daemon.kill)
        return daemon

    def enroll(self, vehicle: Beekond, *words: str, code: int = 0, given: str = "") -> subprocess.CompletedProcess:
        command = [program("beekonctl"), "enroll", *words, "--config", vehicle.config, "--state-dir", vehicle.state,
                   "--socket", vehicle.socket]
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    @staticmethod
    def files(vehicle: Beekond) -> dict[str, str]:
        folder = Path(vehicle.directory) / "beekond.d"
        return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*"))}

    def test_each_delivers(self):
        for name, answer, path, words, given in (
                ("osmand", servers.traccar("van1"), "/osmand/", (), ""),
                ("owntracks", servers.recorder("/pub", "fleet", SECRET), "/pub", ("-", "--user", "fleet"), SECRET),
                ("overland", servers.overland("/api", SECRET, 200), "/api", ("-",), SECRET)):
            with self.subTest(name):
                receiver = ForeignServer(answer)
                self.addCleanup(receiver.stop)
                fake = self.fake()
                vehicle = self.beekond(gpsd={"port": fake.port}, tracking={"interval_seconds": 0, "distance_meters": 0})
                vehicle.start()
                done = self.enroll(vehicle, "--format", name, receiver.origin + path, *words, "--name", "van1",
                                   given=given + "\n")
                self.assertIn("beekond has read it", done.stdout)
                self.assertIn("Nothing waits for it", done.stdout)
                self.assertNotIn(SECRET, done.stdout + done.stderr)
                file = Path(vehicle.directory) / "beekond.d" / f"50-{name}.toml"
                self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o640)
                vehicle.call("Start")
                fake.settle()
                vehicle.wait_stored(1)
                self.assertEqual(vehicle.call("Sync", destination=name)["outcome"], "drained")
                self.assertEqual({point.device for point in receiver.points},
                                 {"fleet/van1" if name == "owntracks" else "van1"})

    def test_home_assistant_finds_the_vehicle(self):
        broker = self.broker()
        broker.configure("allow_anonymous false", "password_file {}/passwords")
        broker.password("fleet", "hidden")
        broker.start()
        fake = self.fake()
        vehicle = self.beekond(gpsd={"port": fake.port}, tracking={"interval_seconds": 0, "distance_meters": 0})
        vehicle.start()
        subscriber = self.subscriber(broker, ("fleet", "hidden"))
        self.enroll(vehicle, "--format", "home-assistant", f"mqtt://127.0.0.1:{broker.port}", "-", "--user", "fleet",
                    "--name", "van1", given="hidden\n")
        vehicle.call("Start")
        fake.settle()
        vehicle.wait_stored(1)
        vehicle.call("Sync", destination="home-assistant")
        me = vehicle.status()["install_id"]
        wait_for(lambda: f"beekond/{me}/position" in subscriber.told, lambda: f"the position is told: {vehicle.text()}")
        wait_for(lambda: f"homeassistant/device_tracker/beekond_{me}/position/config" in subscriber.told, "it is announced")

    def test_what_waits_goes_at_once_and_a_refusal_is_told(self):
        """Who replaces a destination whose server refused sees at once whether the new words are right."""
        receiver = ForeignServer(servers.traccar("van1"))
        self.addCleanup(receiver.stop)
        fake = self.fake()
        vehicle = self.beekond(gpsd={"port": fake.port}, tracking={"interval_seconds": 0, "distance_meters": 0})
        vehicle.start()
        words = ("--format", "osmand", receiver.origin + "/", "--destination", "traccar")
        self.enroll(vehicle, *words, "--name", "nobody")
        vehicle.call("Start")
        fake.settle()
        vehicle.wait_stored(1)
        text = self.enroll(vehicle, *words, "--name", "nobody", "--replace", code=76).stdout
        self.assertIn("400", text)
        done = self.enroll(vehicle, *words, "--name", "van1", "--replace")
        # By this verb, or already by what reading the file has begun.
        self.assertRegex(done.stdout, r"\d uploaded, nothing pending|Nothing waits for it")
        self.assertEqual({point.device for point in receiver.points}, {"van1"})
        self.assertEqual(list(self.files(vehicle)), ["50-traccar.toml", "50-traccar.toml.before"])
        self.assertIn('"nobody"', self.files(vehicle)["50-traccar.toml.before"])

    def test_before_the_daemon_runs(self):
        vehicle = self.beekond()
        done = self.enroll(vehicle, "--format", "owntracks", "mqtts://broker.example.org", "-", "--user", "fleet", "--name",
                           "van1", given=SECRET + "\n")
        self.assertIn("in force with its next start", done.stdout)
        table = tomllib.loads(self.files(vehicle)["50-owntracks.toml"])["destination"]["owntracks"]
        self.assertEqual((table["password"], table["device_id"]), (SECRET, "van1"))

    def test_refusals_change_nothing(self):
        vehicle = self.beekond()
        other = Path(vehicle.directory) / "beekond.d" / "traccar.toml"
        other.parent.mkdir()
        other.write_text('[destination.traccar]\nformat = "osmand"\nurl = "https://a.example/"\ndevice_id = "x"\n',
                         encoding="utf-8")
        (other.parent / "50-mine.toml").write_text("# mine\n", encoding="utf-8")
        before = self.files(vehicle)
        osmand, name = ("--format", "osmand", "https://traccar.example.org/"), ("--name", "van1")
        for words, code, said in (
                ((*osmand, *name, "--destination", "traccar"), 78, "traccar.toml:"),
                ((*osmand, *name, "--destination", "traccar", "--replace"), 78, "--destination NAME adds another"),
                ((*osmand, *name, "--destination", "mine"), 78, "50-mine.toml is there"),
                ((*osmand, *name, "--destination", "../x"), 64, "--destination takes"),
                (("--format", "osmand", "http://traccar.example.org/", *name), 78, "readable on its way"),
                (("--format", "osmand", "mqtt://127.0.0.1", *name), 78, "only format owntracks speaks MQTT"),
                (("--format", "overland", "https://x.example/", "a\nb", *name, "--user", "u"), 64, "leave --user out"),
                ((*osmand, "code", *name), 64, "neither login nor secret"),
                ((*osmand, *name, "--commands", "all"), 64, "for a beekon-server"),
                (("--format", "owntracks", "https://x.example/", "pw", *name), 64, "--user"),
                (("--format", "owntracks", "https://x.example/", *name, "--user", "u"), 64, "give the password"),
                (("--format", "pigeon", "https://x.example/", *name), 64, "osmand"),
                (("https://x.example/", "code", "--user", "u"), 64, "belong to --format")):
            with self.subTest(words):
                self.assertIn(said, self.enroll(vehicle, *words, code=code).stderr)
                self.assertEqual(self.files(vehicle), before)
        # Insecure where somebody says so.
        self.enroll(vehicle, "--format", "osmand", "http://192.168.1.10:5055/", *name, "--allow-insecure-http")

    def test_what_is_typed_is_not_shown(self):
        vehicle = self.beekond()
        mine, its = pty.openpty()
        with os.fdopen(mine, "r+b", buffering=0) as terminal:
            command = [program("beekonctl"), "enroll", "--format", "overland", "https://x.example/", "--name", "van1", "--config",
                       vehicle.config, "--state-dir", vehicle.state, "--socket", vehicle.socket]
            child = subprocess.Popen(command, stdin=its, stdout=subprocess.PIPE, stderr=its, text=True)
            os.close(its)
            shown = b""
            while not shown.endswith(b"API key: "):
                shown += terminal.read(1)
            terminal.write(b"hidden\n")
            child.communicate(timeout=60)
            self.assertEqual(child.returncode, 0)
            try:
                while more := terminal.read(100):
                    shown += more
            except OSError:
                # The end, at a terminal that nobody has open any more.
                pass
        self.assertNotIn(b"hidden", shown)
        self.assertIn('"Bearer hidden"', self.files(vehicle)["50-overland.toml"])


if __name__ == "__main__":
    unittest.main()
