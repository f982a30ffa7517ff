"""Examples with the servers' own code, where that can be had: BEEKOND_FOREIGN=DIR.

DIR/ulogger-server is µlogger's source, run by PHP's own server on SQLite (php-cli, php-sqlite3). DIR/traccar is Traccar's, of
which the decoder of port 5055 is compiled (a JDK, libnetty-java, libjsonp-java, libjackson2-databind-java).
"""
from __future__ import annotations

import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import support
from support.example_test import ExampleTest
from support.fake_gpsd import METERS_PER_DEGREE, tpv
from support.ports import new_port, reachable
from support.waiting import wait_for

FOREIGN = os.environ.get("BEEKOND_FOREIGN") or os.devnull
SPEEDS = [0.0, 0.4, 2.5, None, 8.0, 13.9, 36.1]


def source(name: str) -> str:
    return os.path.join(FOREIGN, name)


class ForeignCodeTest(ExampleTest):
    def sending(self, text: str) -> tuple:
        """A daemon with this example, tracking, whose time has settled."""
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking={"implausible_speed_mps": 1_000_000})
        self.install(daemon, self.without_schedule(text))
        daemon.start()
        daemon.call("Start")
        fake.wait_watched()
        fake.drive(2)
        return fake, daemon

    def drive(self, fake, daemon) -> list:
        times: list = []
        for speed in SPEEDS:
            times += fake.drive(1, speed=speed, eph=12.6)
        daemon.wait_stored(len(SPEEDS))
        return times


@unittest.skipUnless(os.path.isfile(source("ulogger-server/client/index.php")) and shutil.which("php"),
                     "µlogger: BEEKOND_FOREIGN has no ulogger-server, or there is no php")
class ULoggerTests(ForeignCodeTest):
    def serve(self) -> tuple:
        """µlogger with a user who has logged in, and a track of theirs: origin, cookie, track, database."""
        folder = os.path.join(self.folder(), "ulogger")
        shutil.copytree(source("ulogger-server"), folder, ignore=shutil.ignore_patterns(".git"))
        path = os.path.join(folder, "ulogger.db")
        with sqlite3.connect(path) as database:
            database.executescript(Path(folder, "scripts", "ulogger.sqlite").read_text(encoding="utf-8"))
            word = subprocess.run(["php", "-r", 'echo password_hash("hunter2", PASSWORD_DEFAULT);'], capture_output=True,
                                  text=True, timeout=60, check=True).stdout
            database.execute("INSERT INTO users (login, password, admin) VALUES ('van', ?, 0)", (word,))
        Path(folder, "config.php").write_text(f'<?php $dbdsn = "sqlite:{path}"; $dbuser = ""; $dbpass = ""; $dbprefix = ""; ?>',
                                              encoding="utf-8")
        port = new_port()
        php = self.child(["php", "-d", f"session.save_path={folder}", "-S", f"127.0.0.1:{port}", "-t", folder], "php")
        wait_for(lambda: reachable(port), lambda: f"PHP answers; it said:\n{php.text()}")
        origin = f"http://127.0.0.1:{port}"
        head, _ = self.ask(origin, {}, action="auth", user="van", **{"pass": "hunter2"})
        cookie = re.match(r"ulogger=([^;]+)", head["Set-Cookie"])
        assert cookie is not None
        _, answer = self.ask(origin, {"Cookie": cookie[0]}, action="addtrack", track="a day")
        return origin, cookie[1], answer["trackid"], path

    def ask(self, origin: str, headers: dict, **fields) -> tuple:
        request = urllib.request.Request(f"{origin}/client/index.php", urllib.parse.urlencode(fields).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = json.load(answer)
            self.assertIs(said["error"], False, said)
            return answer.headers, said

    def configured(self, origin: str, cookie: str, track) -> str:
        text = self.example("ulogger").replace("https://ulogger.example.com", origin).replace("0123456789abcdef", cookie)
        return re.sub(r"trackid = \d+", f"trackid = {track}", text)

    def test_a_drive_is_in_its_database(self):
        origin, cookie, track, path = self.serve()
        fake, daemon = self.sending(self.configured(origin, cookie, track))
        daemon.call("SetExtras", extras={"action": "addtrack", "comment": "no"})
        times = self.drive(fake, daemon)
        self.assertEqual(daemon.call("Sync", destination="ulogger")["pending"], 0, daemon.text())
        with sqlite3.connect(path) as database:
            found = database.execute("SELECT strftime('%s', time), latitude, longitude, altitude, speed, bearing, accuracy, "
                                     "provider, comment, track_id FROM positions ORDER BY id").fetchall()
        # It keeps seconds, and local times.
        self.assertEqual([int(row[0]) for row in found], [time // 1000 for time in times])
        self.assertEqual([row[4] for row in found], SPEEDS)
        for row in found:
            self.assertEqual((row[2], row[3], row[5], row[6], row[7], row[8], row[9]), (8.0, 123.4, 0.0, 13, "gps", None, track))

    def test_what_it_refuses_with_200_is_kept(self):
        origin, cookie, _, _ = self.serve()
        # A form without a track is "Missing required parameter", with 200.
        fake, daemon = self.sending(self.configured(origin, cookie, 1).replace("trackid = 1", 'trackid = "none"'))
        self.drive(fake, daemon)
        self.assertEqual(daemon.call("Sync", destination="ulogger")["pending"], len(SPEEDS))
        self.assertEqual(len(daemon.stored_ids()), len(SPEEDS))

    def test_a_session_that_has_ended_keeps_everything(self):
        origin, _, track, _ = self.serve()
        fake, daemon = self.sending(self.configured(origin, "gone", track))
        self.drive(fake, daemon)
        done = daemon.call("Sync", destination="ulogger")
        self.assertEqual((done["outcome"], done["pending"]), ("auth", len(SPEEDS)))


JARS = [f"/usr/share/java/{name}.jar" for name in (
    "netty-buffer", "netty-codec", "netty-codec-http", "netty-common", "netty-handler", "netty-transport", "netty-resolver",
    "javax.json", "jackson-annotations", "jackson-databind", "jackson-core")]
HERE = os.path.join(support.ROOT, "Tests", "System", "support", "traccar")
PLACES = {"Main": "", "BaseProtocolDecoder": "org/traccar", "Protocol": "org/traccar", "Config": "org/traccar/config",
          "Keys": "org/traccar/config", "DeviceSession": "org/traccar/session"}


@unittest.skipUnless(os.path.isdir(source("traccar/src/main/java")) and shutil.which("javac") and all(map(os.path.exists, JARS)),
                     "Traccar: BEEKOND_FOREIGN has no traccar, or there is no JDK with Netty, javax.json and Jackson")
class TraccarTests(ForeignCodeTest):
    def serve(self) -> tuple:
        """Its decoder, with all that a position is, behind Netty's HTTP; what stands around it in the server is ours."""
        folder = self.folder()
        own = os.path.join(folder, "source")
        for name, place in PLACES.items():
            os.makedirs(os.path.join(own, place), exist_ok=True)
            shutil.copy(os.path.join(HERE, name + ".java"), os.path.join(own, place))
        theirs = source("traccar/src/main/java")
        # Debian has this library under its former name.
        decoder = Path(theirs, "org/traccar/protocol/OsmAndProtocolDecoder.java").read_text(encoding="utf-8")
        os.makedirs(os.path.join(own, "org/traccar/protocol"))
        Path(own, "org/traccar/protocol/OsmAndProtocolDecoder.java").write_text(decoder.replace("jakarta.json", "javax.json"),
                                                                                encoding="utf-8")
        classes = os.path.join(folder, "classes")
        path = ":".join(JARS)
        subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", path, "-sourcepath", f"{own}:{theirs}", "-d", classes,
                        os.path.join(own, "Main.java")], check=True, timeout=300, stdin=subprocess.DEVNULL)
        java = self.child(["java", "-cp", f"{path}:{classes}", "Main"], "traccar")
        wait_for(lambda: "port\t" in java.text(), lambda: f"Traccar's decoder listens; it said:\n{java.text()}")
        found = re.search(r"port\t(\d+)", java.text())
        assert found is not None
        return f"http://127.0.0.1:{found[1]}", java

    def positions(self, java, count: int) -> list:
        wait_for(lambda: java.text().count("position\t") >= count, lambda: f"{count} positions; it said:\n{java.text()}")
        return [line.split("\t")[1:] for line in java.text().splitlines() if line.startswith("position\t")]

    def deliver(self, name: str, accuracy: float):
        origin, java = self.serve()
        text = re.sub(r'https://[^/"]+/(osmand/)?', origin + "/", self.example(name))
        fake, daemon = self.sending(text)
        daemon.call("SetExtras", extras={"driver": "Zoë & co"})
        times = self.drive(fake, daemon)
        self.assertEqual(daemon.call("Sync", destination="traccar")["pending"], 0, daemon.text() + java.text())
        found = self.positions(java, len(times))
        self.assertEqual([int(row[0]) for row in found], times)
        for row, speed in zip(found, SPEEDS, strict=True):
            # Of metres a second it makes knots with six digits.
            self.assertAlmostEqual(float(row[4]), (speed or 0) * 3600 / 1852, delta=1e-3)
            self.assertEqual((row[1], float(row[3]), float(row[6]), float(row[7])), ("false", 8.0, 123.4, accuracy))
            self.assertIn("driver=Zoë & co", row[8])
        return fake, daemon, java, found

    def test_the_query(self):
        self.deliver("traccar", 12.6)

    def test_json(self):
        fake, daemon, java, found = self.deliver("traccar-json", 12.6)
        # Below 10 m it keeps no accuracy, and unknown motion is left to it.
        self.assertNotIn("motion", found[0][8])
        fake.drive(1)
        wait_for(lambda: daemon.call("Sync", destination="traccar")["uploaded"] == 1, lambda: daemon.text())
        self.assertEqual(float(self.positions(java, len(found) + 1)[-1][7]), 0.0)

    def test_an_event_of_a_geofence_is_at_the_last_place(self):
        origin, java = self.serve()
        fake, daemon = self.sending(re.sub(r'https://[^/"]+/(osmand/)?', origin + "/", self.example("traccar-json")))
        daemon.call("AddGeofences", geofences=[{"id": 'the "dock"', "latitude": 50.0, "longitude": 8.0, "radius_meters": 100.0}])
        for north in [400] * 4 + [20] * 4 + [400] * 14:
            fake.report(tpv(fake.next_ms, 50 + north / METERS_PER_DEGREE, 8, eph=12.6))
            fake.next_ms += 1000
        wait_for(lambda: len(daemon.call("GetGeofenceEvents")["events"]) >= 2 and
                 daemon.call("Sync", destination="traccar")["pending"] == 0, lambda: daemon.text() + java.text())
        rows = self.positions(java, 20)
        events = [row for row in rows if "event=geofence" in row[8]]
        self.assertGreaterEqual(len(events), 2)
        for row in events:
            self.assertEqual(row[1], "true", "it is marked as the last known place")
            self.assertIn('geofence=the "dock"', row[8])
        self.assertEqual({row[1] for row in rows if row not in events}, {"false"})

    def test_a_device_that_it_does_not_know_keeps_everything(self):
        origin, _ = self.serve()
        for name in ("traccar", "traccar-json"):
            text = re.sub(r'https://[^/"]+/(osmand/)?', origin + "/", self.example(name)).replace('"van1"', '"van2"')
            fake, daemon = self.sending(text)
            self.drive(fake, daemon)
            self.assertEqual(daemon.call("Sync", destination="traccar")["pending"], len(SPEEDS))
            daemon.kill()


class SourceTests(unittest.TestCase):
    def test_all_that_stands_in_for_traccar_is_used(self):
        self.assertEqual({Path(path).stem for path in glob.glob(os.path.join(HERE, "*.java"))}, set(PLACES))


if __name__ == "__main__":
    unittest.main()
