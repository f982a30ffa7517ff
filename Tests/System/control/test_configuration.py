"""beekond --check names every mistake with its file, line and key, and how to fix it."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.programs import program
from support.system_test import SystemTest
from support.waiting import PATIENCE, wait_for

# What is wrong, the file, and for each mistake the line, the key (None: the file is not even TOML) and the remedy.
BROKEN: list[tuple[str, str, list]] = [
    ("a misspelt key", "[tracking]\nintervall_seconds = 5\n",
     [(2, "tracking.intervall_seconds", "interval_seconds")]),
    ("a misspelt section", "[tracking]\n\n[snyc]\nbatch_size = 5\n", [(3, "snyc", "sync")]),
    ("a text for a number", '[tracking]\n# how often\ninterval_seconds = "30"\n',
     [(3, "tracking.interval_seconds", "number")]),
    ("a number for a flag", "[gpsd]\nport = 2947\nreplay = 1\n", [(3, "gpsd.replay", "true or false")]),
    ("out of range", "[gpsd]\nport = 70000\n", [(2, "gpsd.port", "1 to 65535|1…65535|1 and 65535|1[^0-9]+65535")]),
    ("below its range", "[tracking]\ndistance_meters = -1\n", [(2, "tracking.distance_meters", "1000000|1,000,000")]),
    ("an unknown choice", '[tracking]\nstationary_mode = "paws"\n', [(2, "tracking.stationary_mode", "pause")]),
    ("http to another host", '[sync]\n\nurl = "http://example.com/locations"\n',
     [(3, "sync.url", "https|allow_insecure_http")]),
    ("broken TOML", '[tracking]\nautostart = \ninterval_seconds = 3\n', [(2, None, "value")]),
    ("a header the uploader writes itself", '[sync]\nurl = "https://a.example/"\n[sync.headers]\nHost = "b"\n',
     [(4, "sync.headers.Host", "remove")]),
    ("a key twice", "[store]\nmax_rows = 5\nmax_rows = 6\n", [(3, None, "max_rows")]),
    ("a misspelt table of destinations", '[destinations.home]\nurl = "https://a.example/"\n',
     [(1, "destinations", "destination")]),
    ("a destination without a url", '[destination.home]\nurl = "https://a.example/"\n[destination.hoem]\nmode = "auto"\n',
     [(3, "destination.hoem", "destination.home")]),
    ("a setting of another format", '[destination.home]\nurl = "https://a.example/"\nspeed_unit = "mps"\n',
     [(3, "destination.home.speed_unit", "osmand")]),
    ("several at once", '[store]\nmax_rows = 0\ndurability = "none"\n[extras]\nn = 5\n',
     [(2, "store.max_rows", "1"), (3, "store.durability", "full"), (5, "extras.n", "text")]),
]
GOOD = """\
[gpsd]
host = "127.0.0.1"
[tracking]
interval_seconds = 10
stationary_mode = "pause_with_check_ins"
[sync]
url = "https://api.example.com/locations"
[sync.headers]
X-Api-Key = "k"
[extras]
vehicle = "truck-12"
"""


class ConfigurationTests(SystemTest):
    def check(self, text: str, *arguments: str):
        self.file = self.path("beekond.toml")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.file, 0o600)
        return self.run_daemon("--config", self.file, *(arguments or ("--check",)))

    def run_daemon(self, *arguments: str):
        return subprocess.run(
            [program("beekond"), "--state-dir", self.path("state"), "--socket", self.path("s"), *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)

    def test_broken_files(self):
        for name, text, mistakes in BROKEN:
            with self.subTest(name):
                done = self.check(text)
                self.assertEqual(done.returncode, 78, done.stderr)
                self.assertEqual(done.stdout, "")
                self.check_message(done.stderr, mistakes)

    def check_message(self, message: str, mistakes: list):
        lines = message.splitlines()
        for line, key, remedy in mistakes:
            place = f"{self.file}:{line}:"
            found = [text for text in lines if place in text]
            self.assertEqual(len(found), 1, f"{place} in {message!r}")
            if key:
                self.assertIn(f" {key}: ", found[0])
            self.assertRegex(found[0].split(place, 1)[1], remedy)
        self.assertEqual(sum(self.file in text for text in lines), len(mistakes), message)

    def test_a_secret_is_not_repeated(self):
        done = self.check('[sync]\nurl = "http://u:hunter2@example.com/?k=hunter3"\n[sync.headers]\nHost = "hunter4"\n')
        self.assertEqual(done.returncode, 78)
        self.assertNotIn("hunter", done.stderr)

    def test_a_good_file(self):
        done = self.check(GOOD)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_check_touches_nothing(self):
        self.check(GOOD)
        self.assertFalse(os.path.exists(self.path("state")))
        self.assertFalse(os.path.exists(self.path("s")))

    def test_a_daemon_without_any_good_configuration_does_not_start(self):
        os.mkdir(self.path("state"), 0o700)
        done = self.check("[tracking]\ninterval_seconds = -5\n", "--state-dir", self.path("state"))
        self.assertEqual(done.returncode, 78, done.stderr)
        self.check_message(done.stderr, [(2, "tracking.interval_seconds", "0")])

    def test_a_named_file_must_exist(self):
        done = self.run_daemon("--config", self.path("missing.toml"), "--check")
        self.assertEqual(done.returncode, 78)
        self.assertIn(self.path("missing.toml"), done.stderr)

    def test_the_last_good_configuration_stands_in_for_a_bad_one(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        daemon.terminate()
        daemon.configure(tracking={"interval_seconds": -7})
        daemon.start()
        self.assertEqual(daemon.setting("tracking.interval_seconds"), 7)
        self.assertEqual(daemon.status()["degraded"], ["config"])
        self.assertIn(f"{daemon.config}:", daemon.text())
        daemon.terminate()
        daemon.configure(tracking={"interval_seconds": 8})
        daemon.start()
        self.assertEqual(daemon.setting("tracking.interval_seconds"), 8)
        self.assertEqual(daemon.status()["degraded"], [])

    def test_the_last_good_one_is_that_of_the_last_reload(self):
        daemon = self.daemon(tracking={"interval_seconds": 7}).start()
        daemon.configure(tracking={"interval_seconds": 8})
        daemon.reload()
        wait_for(lambda: daemon.setting("tracking.interval_seconds") == 8, "the new value")
        daemon.configure(tracking={"interval_seconds": -7})
        daemon.reload()
        daemon.wait_status(lambda status: status["degraded"] == ["config"], "the complaint")
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.setting("tracking.interval_seconds"), 8)

    def test_reload(self):
        fake, daemon = self.tracking(tracking={"interval_seconds": 100})
        session = daemon.status()["session_id"]
        fake.drive(5)
        daemon.wait_status(lambda status: status["gate"]["too_soon"] == 7, "seven fixes that came too soon")
        daemon.configure(tracking={"interval_seconds": 0})
        daemon.reload()
        wait_for(lambda: daemon.setting("tracking.interval_seconds") == 0, "the new value")
        fake.drive(2)
        daemon.wait_stored(3)
        # A bad file changes nothing, and the log says why.
        daemon.configure(tracking={"interval_seconds": -1})
        daemon.reload()
        daemon.wait_status(lambda status: status["degraded"] == ["config"], "the complaint")
        self.assertEqual(daemon.setting("tracking.interval_seconds"), 0)
        self.assertIn("tracking.interval_seconds: ", daemon.text())
        fake.drive(1)
        status = daemon.wait_stored(4)
        self.assertEqual((status["session_id"], status["source"]["reconnects"], fake.connections), (session, 0, 1))

    def test_reload_of_where_to_upload(self):
        fake, daemon = self.tracking()
        self.assertEqual(daemon.sync()["outcome"], "disabled")
        receiver = self.backend()
        daemon.configure(sync={"url": receiver.url, "interval_seconds": NEVER})
        daemon.reload()
        # Any change in [sync] triggers one attempt at once.
        self.assertEqual(len(receiver.wait_requests(1)[0].ids), 1)

    def test_drop_ins_override_and_are_named(self):
        os.mkdir(self.path("beekond.d"))
        drop_in = self.path("beekond.d/50-fleet.toml")
        with open(drop_in, "w", encoding="utf-8") as file:
            file.write("[store]\nmax_rows = -1\n")
        done = self.check(GOOD)
        self.assertEqual(done.returncode, 78)
        self.assertIn(f"{drop_in}:2: store.max_rows: ", done.stderr)

    def test_clamped_values_warn(self):
        done = self.check("[sync]\nbatch_size = 5000\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sync.batch_size", done.stderr + done.stdout)

    def test_version_and_usage(self):
        done = self.run_daemon("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^beekond \d+\.\d+\.\d+\n$")
        done = self.run_daemon("--no-such-option")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--no-such-option", done.stderr)


if __name__ == "__main__":
    unittest.main()
