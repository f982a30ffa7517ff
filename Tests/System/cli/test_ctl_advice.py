"""What is said is true for whoever asks: no right is missed that is there, nothing is known that cannot be seen, and long work
says how far all of it is."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.daemon import NEVER
from support.fake_daemon import location, status
from support.fake_gpsd import METERS_PER_DEGREE, iso, tpv
from support.namespaces import in_namespace
from support.ports import NOBODY
from support.programs import program
from support.waiting import PATIENCE, wait_for

SETPRIV = shutil.which("setpriv") or ""
# Everybody else says which rights are missing; these are about root.
ROOT = unittest.skipUnless(os.geteuid() == 0, "what is asked is what root is told")


def destination(name: str, **sync) -> dict:
    return {"name": name, "orphaned": False, "dropped": 0, "auth": {"state": "none", "failures": 0}, "sync": {
        "state": "pending", "pending": 0, "uploaded": 0, "rejected": 0, "retries": 0, "bytes_sent": 0, **sync}}


class ProgressTests(CtlTest):
    def on_terminal(self, daemon, *words: str, columns: int = 80, answer: str = "", code: int = 0) -> str:
        """What is written to a terminal of so many columns, which stderr alone is."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([program("beekonctl"), *words], stdin=follower, stdout=subprocess.DEVNULL, stderr=follower,
                                   env=self.environment(daemon, TERM="xterm"))
        os.close(follower)
        self.addCleanup(process.kill)
        seen = b""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if not select.select([leader], [], [], 0.2)[0]:
                continue
            try:
                seen += os.read(leader, 65536)
            except OSError:
                break  # the program has ended
            if answer and seen.rstrip().endswith(b"[y/N]"):
                os.write(leader, answer.encode() + b"\n")
                answer = ""
        os.close(leader)
        self.assertEqual(process.wait(PATIENCE), code, seen.decode())
        return seen.decode()

    def slow(self, method: str, reply: dict, told) -> object:
        """A daemon that answers only after its status was asked for three times."""
        daemon = self.fake_daemon()
        asked: list = []

        def tell(parameters):
            asked.append(1)
            return told

        def work(parameters):
            wait_for(lambda: len(asked) >= 3, "three looks at the status")
            return reply

        daemon.answers.update(GetStatus=tell, **{method: work})
        return daemon

    DRAINED = {"outcome": "drained", "uploaded": 1, "pending": 0}

    def test_a_line_of_progress_never_wraps(self):
        """One that did could not be erased."""
        daemon = self.slow("Sync", self.DRAINED, status(sync={"state": "uploading", "pending": 1_234_567_890}))
        seen = self.on_terminal(daemon, "sync", columns=24)
        parts = [part.split("\x1b[K")[0] for part in seen.split("\r") if "pend" in part or "…" in part]
        self.assertTrue(parts, repr(seen))
        for part in parts:
            self.assertLess(len(part), 24, repr(seen))

    def test_a_sync_of_all_counts_all(self):
        told = status(sync={"state": "uploading", "pending": 1000}, destinations=[
            destination("main", state="uploading", pending=1000), destination("home", pending=500)])
        daemon = self.slow("Sync", self.DRAINED, told)
        self.assertIn("1,500 pending", self.on_terminal(daemon, "sync", "--all"))
        daemon = self.slow("Sync", self.DRAINED, told)
        self.assertIn("500 pending", self.on_terminal(daemon, "sync", "home"))
        # Where main has no url the others are waited for.
        told = status(destinations=[destination("home", pending=500), destination("work", pending=300)])
        daemon = self.slow("Sync", self.DRAINED, told)
        self.assertIn("800 pending", self.on_terminal(daemon, "sync"))

    def test_dead_letters_that_are_put_back_are_counted(self):
        daemon = self.slow("RetryRejected", {"requeued": 9000}, status(sync={"state": "pending", "pending": 7000}))
        self.assertIn("7,000 pending", self.on_terminal(daemon, "rejected", "retry"))
        self.assertIn("9,000 back in the queue", self.run_ctl(daemon, "rejected", "retry").stdout)

    def test_one_location_is_no_locations(self):
        daemon = self.fake_daemon(GetLocationCount={"locations": 1, "unsent": 1}, DeleteLocations={"removed": 1})
        seen = self.on_terminal(daemon, "delete", columns=200, answer="n", code=1)
        self.assertIn("the only stored location, which nobody has received", seen)
        daemon = self.fake_daemon(GetLocationCount={"locations": 1, "unsent": 0}, DeleteLocations={"removed": 1})
        seen = self.on_terminal(daemon, "delete", "--before", "now", columns=200, answer="n", code=1)
        self.assertIn("1 stored location up to", seen)
        self.assertIn("which a server has received", seen)
        daemon = self.fake_daemon(GetLocationCount={"locations": 0, "unsent": 0}, DeleteLocations={"removed": 0})
        seen = self.on_terminal(daemon, "delete", columns=200, answer="n", code=1)
        self.assertIn("No location is stored. Delete every trace", seen)


class QueueTests(CtlTest):
    def test_what_is_put_back_says_when_it_goes(self):
        for words, method, reply in (
            (["resend", "--from", "-2h"], "Resend", {"requeued": 3}), (["rejected", "retry"], "RetryRejected", {"requeued": 3}),
            (["destination", "backfill", "main"], "BackfillDestination", {"added": 3}),
        ):
            with self.subTest(words):
                daemon = self.fake_daemon(**{method: reply}, GetStatus=status(sync={"state": "uploading", "pending": 3}))
                self.assertIn("the upload has begun", self.run_ctl(daemon, *words).stdout)
                # Nothing begins where there is nobody to send them to.
                daemon = self.fake_daemon(**{method: reply})
                said = self.run_ctl(daemon, *words).stdout
                self.assertNotIn("has begun", said)
                self.assertIn("sync.url", said)

    def test_it_has_begun_indeed(self):
        backend = self.backend()
        backend.refuse(lambda request: True)
        fake = self.fake()
        # Not that of `tracking`, for which nothing is sent twice.
        daemon = self.daemon(fake.port, sync={"url": backend.url}, store={"keep_uploaded": True}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        daemon.sync()
        backend.refuse(lambda request: False)
        self.assertIn("the upload has begun", self.run_ctl(daemon, "rejected", "retry").stdout)
        wait_for(lambda: daemon.status()["sync"]["uploaded"] == 1, "the upload")
        self.assertIn("the upload has begun", self.run_ctl(daemon, "resend", "--from", "2020-01-01").stdout)
        wait_for(lambda: daemon.status()["sync"]["uploaded"] == 2, "the upload")
        # Where only a person uploads, it has not.
        daemon.call("Configure", settings={"sync.mode": "manual"})
        said = self.run_ctl(daemon, "resend", "--from", "2020-01-01").stdout
        self.assertNotIn("has begun", said)
        self.assertIn("beekonctl sync sends them", said)
        self.assertEqual(daemon.status()["sync"]["pending"], 1)


class AnotherServerTests(CtlTest):
    def test_the_pause_of_another_server_is_not_kept(self):
        """One asks for an hour; what the next one is down for is no reason to wait as long."""
        busy = self.raw_server(b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        fake, daemon = self.tracking(sync={"url": busy.url, "interval_seconds": NEVER})
        daemon.sync()
        found = daemon.status()["sync"]
        self.assertGreater(found["next_attempt"], iso(int(time.time() * 1000) + 1_800_000))
        self.assertEqual(found["last_http_status"], 503)
        daemon.call("Configure", settings={"sync.url": f"http://127.0.0.1:{NOBODY}/x"})
        wait_for(lambda: "onnect" in daemon.status()["sync"].get("last_error", ""), "an attempt at the other")
        found = daemon.status()["sync"]
        self.assertLess(found["next_attempt"], iso(int(time.time() * 1000) + 700_000))
        self.assertNotIn("last_http_status", found)


@ROOT
class RootTests(CtlTest):
    """Root is not sent for rights that it has."""

    def examine(self, daemon, *words: str, prefix: tuple = ()) -> dict:
        done = subprocess.run([*prefix, program("beekonctl"), "doctor", "--json", *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, env=self.environment(daemon))
        self.assertEqual(done.returncode, 1, done.stderr)
        return {item["check"]: item for item in json.loads(done.stdout)["findings"]}

    def test_a_configuration_that_nobody_can_read(self):
        path = self.path("loop.toml")
        os.symlink(path, path)
        backend = self.backend()
        daemon = self.daemon(NOBODY, sync={"url": backend.url}).start()
        found = self.examine(daemon, "--config", path, "--state-dir", daemon.state)
        self.assertEqual(found["configuration"]["result"], "failed")
        self.assertIn("symbolic links", found["configuration"]["text"])
        for word in ("permission", "sudo", "may not be read"):
            self.assertNotIn(word, json.dumps([found["configuration"], found["endpoint"]]).replace("then sudo systemctl", ""))
        done = self.run_ctl(daemon, "destination", "test", "main", "--config", path, code=78)
        self.assertIn("symbolic links", done.stderr)

    @unittest.skipUnless(SETPRIV, "no setpriv")
    def test_root_without_its_powers(self):
        """As in a container that took them away."""
        bare = (SETPRIV, "--bounding-set=-all", "--inh-caps=-all")
        daemon = self.daemon(NOBODY, sync={"url": self.backend().url}).start()
        os.chown(daemon.config, 65534, 65534)
        found = self.examine(daemon, "--config", daemon.config, "--state-dir", daemon.state, prefix=bare)
        self.assertEqual(found["configuration"]["result"], "skipped")
        said = json.dumps([found["configuration"], found["endpoint"]])
        self.assertNotIn("sudo", said)
        self.assertIn("even by root", said)
        os.chown(daemon.socket, 65534, 65534)
        os.chmod(daemon.socket, 0o600)
        done = subprocess.run([*bare, program("beekonctl"), "status"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, env=self.environment(daemon))
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("even for root", done.stderr)
        for word in ("usermod", "sudo"):
            self.assertNotIn(word, done.stderr)

    def test_a_report_does_not_send_root_for_root(self):
        folder = self.folder()
        Path(folder, "journalctl").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        os.chmod(os.path.join(folder, "journalctl"), 0o755)
        daemon = self.daemon(NOBODY).start()
        path = self.path("report.tar.gz")
        done = subprocess.run([program("beekonctl"), "report", "-o", path, "--config", daemon.config], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=True,
                              env=self.environment(daemon, PATH=f"{folder}:{os.environ['PATH']}"))
        self.assertIn("journal.txt", done.stderr)
        self.assertNotIn("as root", done.stderr)


class BareTests(CtlTest):
    """Without /proc."""

    # Each verb, and how it ends.
    VERBS = (
        ("status", 0), ("status --check", 0), ("locate --timeout 0", 1), ("start", 0), ("motion moving", 0),
        ("ignition on", 78), ("odometer", 0), ("odometer set 12", 0), ("geofence list", 0), ("extras show", 0), ("history", 0),
        ("trips", 0), ("events", 0), ("sessions", 0), ("plot", 0), ("sync", 78), ("destinations", 0), ("rejected list", 0),
        ("rejected retry", 0), ("resend --from -2h", 0), ("commands", 0), ("config show", 0),
        ("config set tracking.distance_meters=7", 0), ("config unset tracking.distance_meters", 0), ("reload", 0),
        ("auth show", 0), ("metrics", 0), ("stop", 0), ("delete --yes", 0), ("destination test main", 64),
        ("geofence add yard 1 2 100", 0), ("geofence events", 0), ("geofence remove yard", 0), ("extras set a=b", 0),
        ("extras unset a", 0), ("auth seed", 65), ("rejected export", 0), ("rejected purge --yes", 0),
        ("destination backfill other --yes", 64), ("destination forget other --yes", 64), ("odometer set 1", 0),
    )

    @in_namespace
    def test_every_verb_without_proc(self):
        subprocess.run(["mount", "-t", "tmpfs", "none", "/proc"], check=True)
        daemon = self.daemon(NOBODY).start()
        for words, code in self.VERBS:
            with self.subTest(words):
                done = subprocess.run([program("beekonctl"), *words.split()], stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, timeout=60, env=self.environment(daemon))
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertNotIn("USAGE", done.stdout)
        watch = subprocess.Popen([program("beekonctl"), "watch"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                 env=self.environment(daemon))
        self.addCleanup(watch.kill)
        assert watch.stdout
        self.assertIn("stopped", watch.stdout.readline())
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(PATIENCE), 130)
        watch.stdout.close()
        done = self.run_ctl(daemon, "report", "-o", self.path("r.tar.gz"), "--config", daemon.config)
        self.assertNotIn("USAGE", done.stdout)

    @in_namespace
    def test_the_doctor_does_not_say_what_it_cannot_see(self):
        subprocess.run(["mount", "-t", "tmpfs", "none", "/proc"], check=True)
        daemon = self.daemon(NOBODY).start()
        done = self.run_ctl(daemon, "doctor", "--json", "--config", daemon.config, "--state-dir", daemon.state, code=1)
        found = {item["check"]: item for item in json.loads(done.stdout)["findings"]}
        self.assertEqual(found["ModemManager"]["result"], "skipped")
        self.assertIn("/proc", found["ModemManager"]["text"])
        for check in ("system clock", "clock at boot"):
            self.assertNotIn("nothing sets it", found[check]["text"])
            self.assertNotIn("no NTP", found[check]["text"])


class SumTests(CtlTest):
    def test_the_gate_of_a_real_one_adds_up(self):
        """Whatever became of a fix, it is counted once."""
        fake = self.fake()
        daemon = self.daemon(fake.port, tracking={"interval_seconds": 0, "distance_meters": 5}).start()
        fence = {"id": "depot", "latitude": 1, "longitude": 1, "radius_meters": 100}
        # A fence keeps gpsd in use while nothing is tracked.
        daemon.call("AddGeofences", geofences=[fence])
        fake.settle()
        fake.drive(3)
        wait_for(lambda: daemon.status()["gate"].get("not_tracked", 0) > 2, "fixes that are not tracked")
        daemon.call("Start")
        first = fake.drive(5)
        # Not far enough, and an instant that was told before.
        place = 50 + (fake.sent - 1) * 10 / METERS_PER_DEGREE
        near = [tpv(fake.next_ms + 1000 * index, place, speed=0.0) for index in range(4)]
        fake.next_ms += 4000
        fake.report(*near, tpv(first[0], 50.001))
        fake.drive(2)
        count = fake.sent + len(near) + 1

        def told():
            found = daemon.status()
            gate, source = found["gate"], found["source"]
            parts = [gate[name] for name in ("admitted", "too_soon", "too_near", "paused", "unsettled", "not_tracked")]
            return source["fixes"], sum(parts) + source["repeated"] + source["refused_times"], found

        wait_for(lambda: told()[0] == count == told()[1], lambda: f"{count} fixes: {told()}")
        screen = " ".join(self.run_ctl(daemon, "status").stdout.split())
        for word in ("not tracked", "repeated"):
            self.assertIn(word, screen)


class SettingsTests(CtlTest):
    def test_what_is_piped_is_whole(self):
        """Whoever looks for a url with grep finds all of it."""
        url = "https://api.example.com/" + "v1/" * 60
        daemon = self.fake_daemon(GetConfig={"settings": [
            {"key": "sync.url", "value": url, "origin": "/etc/beekond/beekond.toml:2"}]})
        for words in (["config", "show"], ["config", "show", "--origin"]):
            self.assertIn(url, self.run_ctl(daemon, *words).stdout)


class DoctorUnitsTests(CtlTest):
    def test_the_doctor_has_the_units_of_the_others(self):
        now = int(time.time() * 1000)
        daemon = self.fake_daemon(
            GetStatus=status(last_location=location(1, now, 50.0, 8.0, accuracy=12.0)),
            GetConfig={"settings": [{"key": "display.units", "value": "imperial", "origin": "default"}]})
        done = self.run_ctl(daemon, "doctor", "--config", self.path("none.toml"), "--state-dir", self.directory, code=1)
        self.assertIn("±39 ft", done.stdout)


if __name__ == "__main__":
    unittest.main()
