"""What fingers do by habit, and scripts by need: misspelt verbs, times as people say them, a check for monitors, a machine
without /proc, progress where work is long."""
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest, drive
from support.fake_daemon import location, status
from support.fake_gpsd import iso
from support.namespaces import in_namespace
from support.ports import NOBODY
from support.programs import program

DAY = 86_400_000


class SpellingTests(CtlTest):
    def test_a_misspelt_verb_gets_a_suggestion(self):
        daemon = self.fake_daemon()
        for words, wanted in (
            (["statsu"], "status"), (["stauts", "--json"], "status"), (["version"], "--version"), (["hsitory"], "history"),
            (["--socket", daemon.path, "stat"], "status"), (["config", "shwo"], "show"), (["rejected", "lst"], "list"),
            (["destination", "bakfill"], "backfill"), (["geofences"], "geofence"),
        ):
            with self.subTest(words):
                done = self.run_ctl(daemon, *words, code=64)
                self.assertEqual(done.stdout, "")
                self.assertIn("did you mean", done.stderr)
                self.assertIn(wanted, done.stderr)
        # What is near to nothing is said to be no verb, and where the verbs are listed.
        done = self.run_ctl(daemon, "fly", code=64)
        self.assertIn("beekonctl --help", done.stderr)
        self.assertNotIn("did you mean", done.stderr)
        # A verb stays a verb, whatever its arguments look like.
        self.run_ctl(daemon, "status", "statsu", code=64)
        self.assertEqual(daemon.calls, [])

    def test_one_name_for_the_file(self):
        daemon = self.fake_daemon(ListGeofences={"geofences": []}, GetTrips={"trips": []})
        daemon.locations = drive(5)
        for words in (["--html"], ["--page"], ["-o"], ["--output"]):
            path = self.path(f"track{len(os.listdir(self.directory))}.html")
            self.run_ctl(daemon, "plot", *words, path)
            self.assertIn("<html", Path(path).read_text(encoding="utf-8"))

    def test_times_as_people_say_them(self):
        daemon = self.fake_daemon()
        today = int(time.time() * 1000) // DAY * DAY
        for words, expected in (
            (["--from", "yesterday"], today - DAY), (["--from", "2h"], None), (["--last", "1w"], None), (["--from", "-1w"], None),
        ):
            with self.subTest(words):
                daemon.calls.clear()
                self.run_ctl(daemon, "history", *words)
                asked = dict(daemon.calls)["GetLocations"]["from"]
                hours = {"2h": 2, "1w": 168, "-1w": 168}.get(words[1])
                # The clock of the tool may be some way on.
                wanted = expected if expected is not None else int(time.time() * 1000) - (hours or 0) * 3_600_000
                self.assertLessEqual(asked, iso(wanted))
                self.assertGreater(asked, iso(wanted - 120_000))
        for words in (["--last", "1y"], ["--from", "tomorrowish"]):
            self.assertIn("w)" if words[0] == "--from" else "w", self.run_ctl(daemon, "history", *words, code=64).stderr)

    def test_a_misspelt_setting_gets_a_suggestion(self):
        daemon = self.daemon().start()
        for pair, wanted in (("tracking.interval=5", "tracking.interval_seconds"), ("sync.batch=5", "sync.batch_size"),
                             ("tracking.distance=5", "tracking.distance_meters")):
            done = self.run_ctl(daemon, "config", "set", pair, code=78)
            self.assertIn(f"did you mean {wanted}?", done.stderr)

    def test_the_verbs_are_in_groups(self):
        text = self.run_ctl(self.fake_daemon(), "--help").stdout
        groups = re.findall(r"^([A-Z][A-Z ]+):$|^([A-Z][A-Z ]+ SUBCOMMANDS):$", text, re.M)
        self.assertGreaterEqual(len(groups), 6, text)
        for verb in ("status", "sync", "history", "geofence", "doctor", "rejected", "config"):
            self.assertRegex(text, rf"(?m)^  {verb} ")
        # Each verb stands in one group alone.
        verbs = re.findall(r"^  ([a-z]+)  ", text, re.M)
        self.assertEqual(len(verbs), len(set(verbs)))
        self.assertGreaterEqual(len(verbs), 28)

    def test_a_socket_of_ones_own_is_no_service(self):
        path = self.path("none")
        done = self.run_ctl(self.fake_daemon(), "status", "--socket", path, code=69)
        self.assertNotIn("systemctl", done.stderr)
        self.assertIn("beekond --socket", done.stderr)
        done = subprocess.run([program("beekonctl"), "status"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, env={name: value for name, value in os.environ.items() if name != "BEEKOND_SOCKET"})
        if "not running" in done.stderr:
            self.assertIn("sudo systemctl", done.stderr)


class CheckTests(CtlTest):
    def check(self, code: int, **parts) -> str:
        return self.run_ctl(self.fake_daemon(GetStatus=status(**parts)), "status", "--check", code=code).stdout

    def test_what_a_monitor_is_told(self):
        now = iso(int(time.time() * 1000))
        self.assertIn("all is well", self.check(0))
        self.assertIn("clock", self.check(1, degraded=["clock"]))
        self.check(1, sync={"state": "pending", "pending": 3, "last_error": "the server answers 503"}, degraded=["sync"])
        self.check(1, sync={"rejected": 3})
        self.check(2, sync={"state": "failed", "failure": "auth", "pending": 3, "last_http_status": 401}, degraded=["auth"])
        self.check(2, store={"degraded": True, "last_error": "disk full"}, degraded=["storage"])
        self.check(2, source={"health": "no_device"}, degraded=["source"])
        # Not tracking, nobody misses a receiver.
        self.check(0, state="idle", source={"health": "released"})
        other = {"name": "home", "orphaned": False, "dropped": 0, "auth": {"state": "none", "failures": 0}, "sync": {
            "state": "failed", "failure": "permanent", "pending": 1, "oldest_pending": now, "uploaded": 0, "rejected": 0,
            "retries": 0, "bytes_sent": 0}}
        self.check(2, destinations=[other])
        told = json.loads(self.run_ctl(self.fake_daemon(GetStatus=status(degraded=["clock"])), "status", "--check", "--json",
                                       code=1).stdout)
        self.assertEqual(told["result"], "degraded")
        self.assertEqual(len(told["problems"]), 1)

    def test_no_daemon_is_three(self):
        daemon = self.fake_daemon()
        daemon.stop()
        done = self.run_ctl(daemon, "status", "--check", code=3)
        self.assertIn("not running", done.stderr)
        told = json.loads(self.run_ctl(daemon, "status", "--check", "--json", code=3).stdout)
        self.assertEqual(told["result"], "no_daemon")
        self.run_ctl(daemon, "status", "--check", "--watch", code=64)

    def test_one_that_may_not_be_asked_is_unknown(self):
        daemon = self.fake_daemon()
        # What is no socket refuses everybody, as rights do others than root.
        path = self.path("file")
        Path(path).write_text("no socket", encoding="utf-8")
        for socket, word in ((path, "no_daemon"), ("/" + "x" * 200, "unknown")):
            done = subprocess.run([program("beekonctl"), "status", "--check", "--json", "--socket", socket], capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=60, env=self.environment(daemon))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(json.loads(done.stdout)["result"], word)

    def test_with_a_real_one(self):
        fake, daemon = self.tracking()
        self.run_ctl(daemon, "status", "--check")
        fake.stop()
        daemon.wait_health("disconnected")
        self.run_ctl(daemon, "status", "--check", code=2)


class StartTests(CtlTest):
    def test_a_start_without_a_receiver_says_so(self):
        daemon = self.daemon(NOBODY).start()
        done = self.run_ctl(daemon, "start")
        self.assertTrue(done.stdout.startswith("tracking, session "))
        self.assertIn("gpsd", done.stderr)
        daemon = self.daemon(self.fake(has_device=False).port).start()
        done = self.run_ctl(daemon, "start", "--json")
        self.assertEqual(json.loads(done.stdout)["state"], "tracking")
        self.assertIn("no receiver", done.stderr)

    def test_with_one_it_says_nothing_more(self):
        daemon = self.daemon(self.fake().port).start()
        self.assertEqual(self.run_ctl(daemon, "start").stderr, "")


class BareTests(CtlTest):
    @in_namespace
    def test_without_proc_every_verb_works_or_says_why_it_cannot(self):
        """As in an image that is being built."""
        good, bad = self.path("good.toml"), self.path("bad.toml")
        Path(good).write_text("[sync]\nbatch_size = 7\n", encoding="utf-8")
        Path(bad).write_text("[sync]\nbatchsize = 7\n", encoding="utf-8")
        daemon = self.fake_daemon(GetSessions={"sessions": []})
        subprocess.run(["mount", "-t", "tmpfs", "none", "/proc"], check=True)
        self.assertEqual(os.listdir("/proc"), [])
        ctl = program("beekonctl")
        # As init does in early boot: a full path, and a name that is no path.
        self.assertIn("0.2.0", self.run_ctl(daemon, "--version").stdout)
        self.assertIn("no errors", self.run_ctl(daemon, "config", "check", good).stdout)
        self.assertIn("batch_size", self.run_ctl(daemon, "config", "check", bad, code=78).stderr)
        self.run_ctl(daemon, "config", "check", "/nonexistent", code=78)
        self.assertIn("tracking since", self.run_ctl(daemon, "status").stdout)
        self.assertIn("no sessions", self.run_ctl(daemon, "sessions").stderr)
        self.assertIn("USAGE: beekonctl sync", self.run_ctl(daemon, "sync", "--help").stdout)
        self.run_ctl(daemon, "doctor", "--config", good, "--state-dir", self.directory, code=1)
        self.assertIn("_beekonctl", self.run_ctl(daemon, "--generate-completion-script", "bash").stdout)
        for words, code in ((["--check", "--config", good], 0), (["--check", "--config", bad], 78), (["--version"], 0),
                            (["--fly"], 64)):
            done = subprocess.run([program("beekond"), *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        done = subprocess.run([ctl, "stat"], executable=ctl, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 64)


class ProgressTests(CtlTest):
    """Long work says on a terminal how far it is, and on no pipe."""

    def on_terminal(self, daemon, *words: str, answer: str = "", code: int = 0) -> str:
        """What a person sees, with a terminal for stderr alone."""
        leader, follower = pty.openpty()
        process = subprocess.Popen([program("beekonctl"), *words], stdin=follower, stdout=subprocess.PIPE, stderr=follower,
                                   env=self.environment(daemon, TERM="xterm"))
        os.close(follower)
        self.addCleanup(process.kill)
        seen = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if not select.select([leader], [], [], 0.2)[0]:
                continue
            try:
                more = os.read(leader, 65536)
            except OSError:
                break  # the program has ended, and all that it wrote is read
            if not more:
                break
            seen += more
            if answer and seen.rstrip().endswith(b"[y/N]"):
                os.write(leader, answer.encode() + b"\n")
                answer = ""
        os.close(leader)
        assert process.stdout
        process.stdout.close()
        self.assertEqual(process.wait(60), code, seen.decode())
        return seen.decode()

    def slow(self, method: str, reply: dict, pending):
        """A daemon that answers only after its status was asked for three times."""
        daemon = self.fake_daemon()
        asked: list = []

        def tell(parameters):
            asked.append(1)
            return status(sync={"state": "uploading", "pending": pending(len(asked))})

        def work(parameters):
            deadline = time.monotonic() + 30
            while len(asked) < 4 and time.monotonic() < deadline:
                time.sleep(0.02)
            return reply

        daemon.answers["GetStatus"] = tell
        daemon.answers[method] = work
        return daemon

    def test_a_long_sync_counts_down(self):
        daemon = self.slow("Sync", {"outcome": "drained", "uploaded": 92_000, "pending": 0}, lambda asked: 92_000 - 1000 * asked)
        seen = self.on_terminal(daemon, "sync")
        self.assertRegex(seen, r"\r[^\r]*8\d,000 pending")
        self.assertTrue(seen.endswith("\r\x1b[K"), repr(seen[-40:]))
        self.assertEqual(self.run_ctl(daemon, "sync").stderr, "")

    def test_a_long_resend_and_backfill_count_up(self):
        for method, reply, words in (
            ("Resend", {"requeued": 99_958}, ["resend", "--from", "-2h"]),
            ("BackfillDestination", {"added": 99_958}, ["destination", "backfill", "main"]),
        ):
            daemon = self.slow(method, reply, lambda asked: 1000 * asked)
            self.assertRegex(self.on_terminal(daemon, *words), r"\r[^\r]*\d,000 ")
            said = self.run_ctl(daemon, *words)
            self.assertEqual(said.stderr, "")
            # And says when they go.
            self.assertRegex(said.stdout, "99,958 .*upload")

    def test_delete_says_how_many_and_how_many_nobody_has(self):
        pages = [{"locations": 60_000, "unsent": 15}, {"locations": 40_000, "unsent": 5}]
        daemon = self.fake_daemon(GetLocationCount=pages, DeleteLocations={"removed": 100_000})
        seen = self.on_terminal(daemon, "delete", answer="n", code=1)
        for word in ("100,000", "20", "nobody has received"):
            self.assertIn(word, seen)
        self.assertIn("nothing deleted", seen)
        seen = self.on_terminal(daemon, "delete", "--before", "-7d", answer="y")
        self.assertIn("100,000", seen)
        self.assertIn("before", dict(daemon.calls)["GetLocationCount"])
        # One of another version, which cannot say, asks all the same.
        del daemon.answers["GetLocationCount"]
        self.assertIn("[y/N]", self.on_terminal(daemon, "delete", answer="n", code=1))

    def test_delete_counts_what_is_there(self):
        fake, daemon = self.tracking()
        fake.drive(3)
        daemon.wait_stored(4)
        self.assertIn("4 stored locations, 4 of which nobody has received",
                      self.on_terminal(daemon, "delete", answer="n", code=1))


class UnitTests(CtlTest):
    """What is said to people is in their units; what is written for programs never changes."""

    def shown(self, units: str | None, *words: str, code: int = 0) -> str:
        now = int(time.time() * 1000)
        place = location(1, now, 50.0, 8.0, speed=20.0, accuracy=12.0, altitude=250.0)
        settings = [] if units is None else [{"key": "display.units", "value": units, "origin": "default"}]
        daemon = self.fake_daemon(
            GetStatus=status(last_location=place, odometer_meters=161_934), GetConfig={"settings": settings},
            GetTrips={"trips": [{"started_at": iso(now - 3_600_000), "ended_at": iso(now), "distance_meters": 18_520.0,
                                 "duration_seconds": 3600.0, "top_speed": 25.0, "idle_seconds": 60.0}]},
            GetSessions={"sessions": [{"id": "0190d4e0-1234-7000-8000-aabbccddeeff", "started_at": iso(now), "locations": 3,
                                       "distance_meters": 18_520.0}]},
            GetCurrentLocation={"location": place}, Subscribe={"event": {"kind": "location", "location": place}},
            ListGeofences={"geofences": [{"id": "depot", "latitude": 50, "longitude": 8, "radius_meters": 1000.0}]})
        daemon.locations = [place]
        return self.run_ctl(daemon, *words, code=code).stdout

    def test_one_unit_of_speed_everywhere(self):
        for units, speed, head in ((None, "72.0 km/h", "km/h"), ("metric", "72.0 km/h", "km/h"), ("imperial", "44.7 mph", "mph"),
                                   ("nautical", "38.9 kn", "kn")):
            with self.subTest(units):
                for words in (["status"], ["locate"], ["watch"]):
                    self.assertIn(speed, self.shown(units, *words), words)
                self.assertRegex(self.shown(units, "history").splitlines()[0], rf" {head} ")
                self.assertIn(speed.split()[0], self.shown(units, "history"))
                self.assertIn(f"TOP {head}", self.shown(units, "trips"))
                self.assertIn(speed, self.shown(units, "plot"))
                for words in (["status"], ["history"], ["trips"], ["watch"], ["plot"]):
                    self.assertNotIn("m/s", self.shown(units, *words), words)

    def test_lengths(self):
        for units, trip, odometer, accuracy in (
            ("metric", "18.5", "161.934 km", "±12 m"), ("imperial", "11.5", "100.621 mi", "±39 ft"),
            ("nautical", "10.0", "87.437 nmi", "±12 m")):
            with self.subTest(units):
                self.assertIn(trip, self.shown(units, "trips"))
                self.assertIn(trip, self.shown(units, "sessions"))
                self.assertIn(odometer, self.shown(units, "odometer"))
                self.assertIn(odometer, self.shown(units, "status"))
                self.assertIn(accuracy, self.shown(units, "status"))

    def test_what_programs_read_stays_as_it_is(self):
        for words in (["status", "--json"], ["history", "--json"], ["history", "--format", "csv"], ["history", "--format", "gpx"],
                      ["trips", "--format", "csv"], ["trips", "--json"], ["odometer", "--json"], ["sessions", "--json"]):
            with self.subTest(words):
                metric, imperial = (re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "T", self.shown(units, *words))
                                    for units in ("metric", "imperial"))
                self.assertEqual(metric, imperial)

    def test_a_real_daemon_knows_the_setting(self):
        fake, daemon = self.tracking(display={"units": "imperial"})
        self.assertIn("mph", self.run_ctl(daemon, "status").stdout)
        self.run_ctl(daemon, "config", "set", "display.units=nautical")
        self.assertIn(" kn", self.run_ctl(daemon, "status").stdout)
        self.assertIn("metric", self.run_ctl(daemon, "config", "set", "display.units=stones", code=78).stderr)


if __name__ == "__main__":
    unittest.main()
