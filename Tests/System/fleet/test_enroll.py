"""beekonctl enroll against a real beekon-server: whole, cut off at each step, and where it must refuse."""
from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "server" / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from server_support.server import PROGRAM, Server, envelope
from support.daemon import Beekond
from support.programs import program
from support.seeds import sample
from support.system_test import SystemTest

STRACE = shutil.which("strace")


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "no beekon-server: build it")
class EnrollTest(SystemTest):
    real_time = True

    def setUp(self):
        super().setUp()
        self.server = Server(self.folder())
        self.key = os.path.join(self.server.folder, "key.pem")
        done = subprocess.run([PROGRAM, "key", "new", self.key], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.server.options = ("--signing-key", self.key)
        self.server.start()
        self.addCleanup(self.server.kill)

    def code(self, uses: int = 1) -> str:
        return self.server.verb("claim", "add", "--uses", str(uses)).stdout.strip()

    def vehicle(self, **sections) -> Beekond:
        """One that does not run yet."""
        vehicle = Beekond(self.folder(), **sections)
        self.addCleanup(vehicle.kill)
        return vehicle

    @staticmethod
    def file(vehicle: Beekond, name: str = "50-server.toml") -> Path:
        return Path(vehicle.directory) / "beekond.d" / name

    def command(self, vehicle: Beekond, *words: str, url: str | None = None) -> list:
        return [program("beekonctl"), "enroll", url or self.server.url, *words, "--config", vehicle.config, "--state-dir",
                vehicle.state, "--socket", vehicle.socket]

    def enroll(self, vehicle: Beekond, *words: str, code: int = 0, url: str | None = None, wrapper: tuple = (),
               given: str = "") -> subprocess.CompletedProcess:
        done = subprocess.run(
            [*wrapper, *self.command(vehicle, *words, url=url)], input=given, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def devices(self) -> dict:
        found = json.loads(self.server.verb("device", "list", "--json").stdout)["devices"]
        return {device["name"]: device for device in found}

    def check_token(self, vehicle: Beekond):
        """The token in the file is one with which the server takes uploads."""
        found = tomllib.loads(self.file(vehicle).read_text(encoding="utf-8"))["sync"]
        self.assertEqual(self.server.deliver(found["auth"]["access_token"], envelope(0)).status, 200)

    def state_of(self, vehicle: Beekond) -> dict:
        folder = Path(vehicle.directory)
        return {str(path): path.read_bytes() for path in [*folder.glob("*.toml"), *folder.glob("beekond.d/*")]}


class WholeTests(EnrollTest):
    def test_before_the_daemon_runs(self):
        fake = self.fake()
        vehicle = self.vehicle(gpsd={"port": fake.port}, tracking={"distance_meters": 0.01, "interval_seconds": 0})
        done = self.enroll(vehicle, self.code(), "--name", "van-1")
        self.assertIn("named van-1", done.stdout)
        self.assertIn("The server may ask it: locate, sync, upload_log, set_config", done.stdout)
        self.assertIn("in force with its next start", done.stdout)
        self.assertIn("The server takes uploads of this vehicle", done.stdout)
        file = self.file(vehicle)
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o640)
        text = file.read_text(encoding="utf-8")
        self.assertIn("PUBLIC", self.file(vehicle, "server-key.pem").read_text(encoding="utf-8"))
        self.assertIn(f'verify_keys = ["{self.file(vehicle, "server-key.pem")}"]', text)
        self.assertNotIn(re.findall(r'access_token = "(.*)"', text)[0], done.stdout + done.stderr)
        nonce = Path(vehicle.state, "enrolment-nonce").read_text(encoding="utf-8").strip()
        self.assertNotIn(nonce, done.stdout + text)
        vehicle.start()
        self.assertEqual(vehicle.setting("sync.commands.enabled"), True)
        # A location that comes to the server shows that the whole of it works.
        vehicle.call("Start")
        fake.settle()
        vehicle.wait_stored(1)
        self.assertEqual(vehicle.first_outcome(), "drained")
        reader = self.server.add_user("ada", "reader")
        self.assertGreater(len(self.server.ids(reader, self.devices()["van-1"]["id"])), 0)

    def test_while_the_daemon_runs_and_once_more(self):
        vehicle = self.vehicle().start()
        code = self.code()
        done = self.enroll(vehicle, "-", "--name", "van-1", given=code + "\n")
        self.assertIn("beekond has read it", done.stdout)
        self.assertEqual(vehicle.setting("sync.url"), self.server.url + "/v1/batches")
        before = self.state_of(vehicle)
        done = self.enroll(vehicle, code)
        self.assertIn("nothing is changed", done.stdout)
        self.assertEqual(self.state_of(vehicle), before)
        self.assertEqual(list(self.devices()), ["van-1"])

    def test_a_code_from_a_file_and_one_that_is_typed(self):
        path = Path(self.path("code.txt"))
        path.write_text(f"  {self.code()}\n", encoding="ascii")
        self.enroll(self.vehicle(), "--code-file", str(path), "--name", "van-1")
        self.assertIn("give the code once", self.enroll(self.vehicle(), "ABCDE", "--code-file", str(path), code=64).stderr)
        mine, its = os.openpty()
        try:
            os.write(mine, self.code().encode() + b"\n")
            done = subprocess.run(self.command(self.vehicle(), "--name", "van-2"), stdin=its, capture_output=True, text=True,
                                  timeout=60)
        finally:
            os.close(mine)
            os.close(its)
        self.assertEqual((done.returncode, done.stderr), (0, "Code: "))
        self.assertEqual(sorted(self.devices()), ["van-1", "van-2"])

    def test_what_the_server_may_ask_is_for_the_operator_to_say(self):
        for grant, words, missing in (("all", "start, stop, set_motion", None), ("none", "may ask nothing", "commands]")):
            with self.subTest(grant):
                vehicle = self.vehicle()
                done = self.enroll(vehicle, self.code(), "--name", grant, "--commands", grant)
                self.assertIn(words, done.stdout)
                if missing:
                    self.assertNotIn(missing, self.file(vehicle).read_text(encoding="utf-8"))

    def test_what_the_code_asks_is_within_what_the_operator_gives(self):
        for number, (asked, given, expected) in enumerate((
                ("all", (), 8), ("all", ("--commands", "all"), 11), ("all", ("--commands", "none"), 0),
                ("locate,start", (), 1), ("locate,start", ("--commands", "all"), 2), ("none", ("--commands", "all"), 0))):
            with self.subTest(asked=asked, given=given):
                code = self.server.verb("claim", "add", "--commands", asked).stdout.strip()
                vehicle = self.vehicle()
                self.enroll(vehicle, code, "--name", f"van-{number}", *given)
                found = tomllib.loads(self.file(vehicle).read_text(encoding="utf-8"))["sync"]
                self.assertEqual(len(found.get("commands", {}).get("allow", [])), expected)
                vehicle.start()
                self.assertEqual(vehicle.setting("sync.commands.enabled"), expected > 0)
                vehicle.kill()

    def test_only_root_may_write(self):
        """Who is somebody else, and names no configuration of his own, is told before a code is asked for or used."""
        code = self.code()
        words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        done = subprocess.run([*words, program("beekonctl"), "enroll", self.server.url, code], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn(f"only root may do this: sudo beekonctl enroll {self.server.url}", done.stderr)
        self.assertEqual(self.devices(), {})
        self.enroll(self.vehicle(), code, "--name", "van-1")

    def test_json_is_one_object(self):
        done = self.enroll(self.vehicle(), self.code(), "--name", "van-1", "--json")
        found = json.loads(done.stdout)
        self.assertEqual((found["accepted"], found["in_force"]), (True, False))
        self.assertIn("locate", found["commands"])

    def test_print_writes_and_asks_nothing(self):
        vehicle = self.vehicle()
        before = self.state_of(vehicle)
        self.server.stop()
        command = [program("beekonctl"), "enroll", "--print", self.server.url]
        done = subprocess.run([*command, "ABCDE-FGHJK"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("StandardInputText=ABCDE-FGHJK", done.stdout)
        self.assertIn(self.server.url, done.stdout)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 64)
        self.assertIn("give the code", done.stderr)
        # What is of one vehicle alone does not belong into an image.
        self.assertIn("--state-dir", self.enroll(vehicle, "ABCDE", "--print", code=64).stderr)
        self.assertEqual(self.state_of(vehicle), before)
        self.assertEqual(os.listdir(vehicle.state), [])


class RefusalTests(EnrollTest):
    def refused(self, vehicle: Beekond, *words: str, code: int, url: str | None = None) -> str:
        before = self.state_of(vehicle)
        text = self.enroll(vehicle, *words, code=code, url=url).stderr
        self.assertEqual(self.state_of(vehicle), before)
        return text

    def test_over_a_local_sync(self):
        vehicle = self.vehicle(sync={"url": "https://u:pw@other.example/x"})
        code = self.code()
        text = self.refused(vehicle, code, code=78)
        for word in (vehicle.config, "other.example", self.server.url, "--destination", "--replace"):
            self.assertIn(word, text)
        self.assertNotIn("pw", text)
        # The refusal cost no use of the code.
        self.enroll(vehicle, code, "--destination", "fleet", "--name", "van-1")
        self.assertIn("[destination.fleet]", self.file(vehicle, "50-server-fleet.toml").read_text(encoding="utf-8"))

    def test_replace_keeps_the_old_file(self):
        vehicle = self.vehicle(tracking={"interval_seconds": 7})
        old = self.file(vehicle, "10-old.toml")
        old.parent.mkdir()
        old.write_text('[sync]\nurl = "https://other.example/x"\n', encoding="utf-8")
        self.enroll(vehicle, self.code(), "--replace", "--name", "van-1")
        self.assertFalse(old.exists())
        self.assertIn("other.example", self.file(vehicle, "10-old.toml.before").read_text(encoding="utf-8"))
        self.assertIn(self.server.url, self.file(vehicle).read_text(encoding="utf-8"))
        # Repeated, it changes nothing: a mistake must not cost the new file.
        before = self.state_of(vehicle)
        self.assertIn("nothing is changed", self.enroll(vehicle, self.code(), "--replace").stdout)
        self.assertEqual(self.state_of(vehicle), before)

    def test_another_server_takes_the_place_of_the_first(self):
        vehicle, code = self.vehicle(), self.code()
        self.file(vehicle).parent.mkdir()
        old = '[sync]\nurl = "https://other.example/v1/batches"\n[sync.commands]\nallow = ["locate"]\n'
        self.file(vehicle).write_text(old, encoding="utf-8")
        self.file(vehicle, "server-key.pem").write_text("another", encoding="utf-8")
        text = self.refused(vehicle, code, code=78)
        for word in ("50-server.toml:2", "other.example", self.server.url):
            self.assertIn(word, text)
        self.enroll(vehicle, code, "--replace", "--name", "van-1")
        self.assertEqual(self.file(vehicle, "50-server.toml.before").read_text(encoding="utf-8"), old)
        self.assertEqual(self.file(vehicle, "server-key.pem.before").read_text(encoding="utf-8"), "another")
        self.check_token(vehicle)

    def test_a_file_of_that_name_that_is_not_the_servers(self):
        vehicle = self.vehicle()
        self.file(vehicle).parent.mkdir()
        self.file(vehicle).write_text("[tracking]\ninterval_seconds = 5\n", encoding="utf-8")
        for words in ((), ("--replace",)):
            self.assertIn("50-server.toml is there", self.refused(vehicle, self.code(), *words, code=78))

    def test_names_of_destinations_are_no_paths(self):
        for name in ("main", "../x", "a b", ""):
            self.assertIn("--destination", self.refused(self.vehicle(), "ABCDE", "--destination", name, code=64))

    def test_replace_takes_nothing_else_away(self):
        vehicle = self.vehicle(sync={"url": "https://other.example/x"}, tracking={"interval_seconds": 7})
        self.assertIn("tracking.interval_seconds", self.refused(vehicle, self.code(), "--replace", code=78))
        vehicle = self.vehicle()
        own = self.file(vehicle, "10-own.toml")
        own.parent.mkdir()
        own.write_text('[sync]\nurl = "https://other.example/x"\n[sync.commands]\nenabled = true\nallow = ["stop"]\n',
                       encoding="utf-8")
        self.assertIn("[sync.commands] of your own", self.refused(vehicle, self.code(), "--replace", code=78))

    def test_a_table_of_commands_of_the_persons_stays(self):
        vehicle = self.vehicle(**{"sync.commands": {"enabled": False, "allow": ["locate"]}})
        done = self.enroll(vehicle, self.code(), "--name", "van-1")
        self.assertIn("[sync.commands] stays as you wrote it", done.stdout)
        self.assertNotIn("commands]", self.file(vehicle).read_text(encoding="utf-8"))

    def test_over_config_set(self):
        vehicle = self.vehicle().start()
        vehicle.call("Configure", settings={"sync.url": "http://127.0.0.1:9/x"})
        text = self.refused(vehicle, self.code(), "--replace", code=78)
        self.assertIn("config unset sync.url", text)

    def test_a_configuration_that_is_bad_already(self):
        vehicle = self.vehicle()
        Path(vehicle.config).write_text("[tracking]\ninterval = 5\n", encoding="utf-8")
        self.assertIn("beekond.toml:2", self.refused(vehicle, self.code(), code=78))

    def test_a_code_that_is_used_up_and_one_that_is_none(self):
        code = self.code()
        self.enroll(self.vehicle(), code, "--name", "van-1")
        self.assertIn("does not take this code", self.refused(self.vehicle(), code, "--name", "van-2", code=65))
        self.assertIn("is no code", self.refused(self.vehicle(), "a b\"c", code=64))

    def test_two_vehicles_of_one_name(self):
        code = self.code(2)
        self.enroll(self.vehicle(), code, "--name", "van-1")
        other = self.vehicle()
        self.assertIn("--name", self.refused(other, code, "--name", "van-1", code=65))
        self.enroll(other, code, "--name", "van-2")
        self.assertEqual(sorted(self.devices()), ["van-1", "van-2"])

    def test_nobody_and_somebody_else_answers(self):
        vehicle = self.vehicle()
        self.server.stop()
        self.assertIn("gives no answer", self.refused(vehicle, "ABCDE", code=69))
        self.assertIn("https://", self.refused(vehicle, "ABCDE", code=64, url="http://fleet.example.org"))

    def test_what_a_server_could_bring_into_the_file(self):
        good = {"id": 1, "name": "van-1", "access_token": "a", "expires_at": "2030-01-01T00:00:00Z", "refresh_token": "b"}
        for answer, words in (
                ({**good, "access_token": 'a"\n[gpsd]\nhost = "x'}, "access_token is no token"),
                ({**good, "refresh_token": ""}, "refresh_token is no token"),
                ({**good, "verify_key": "-----BEGIN PUBLIC KEY-----"}, "its verify_key"),
                ({**good, "id": 0}, "out of range"), ({**good, "expires_at": "soon"}, "as no beekon-server does"),
                ({"id": 1}, "as no beekon-server does"), ([], "as no beekon-server does")):
            with self.subTest(words):
                body = json.dumps(answer).encode()
                server = self.raw_server(b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: "
                                         + str(len(body)).encode() + b"\r\nConnection: close\r\n\r\n" + body)
                vehicle = self.vehicle()
                self.assertIn(words, self.refused(vehicle, "ABCDE", "--name", "van-1", code=76, url=server.url))
                self.assertFalse(self.file(vehicle).parent.exists())


@unittest.skipUnless(STRACE, "strace is not installed")
class CutTests(EnrollTest):
    """SIGKILL at each call that makes something durable, and at those with which it speaks to the server."""

    # Of a program that did not come to its end.
    KILLED = (-9, 137)
    CALLS = ("fsync", "rename", "link", "sendto", "recvfrom")

    def cut(self, vehicle: Beekond, code: str, name: str, *words: str, call: str, number: int) -> int:
        """Enrols, and is killed as it begins this call; returns the exit code."""
        done = subprocess.run(
            [str(STRACE), "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}",
             *self.command(vehicle, code, "--name", name, *words)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        return done.returncode

    def calls(self, vehicle: Beekond, *words: str) -> dict:
        """How many of each call a whole enrolment makes."""
        log = os.path.join(self.folder(), "calls")
        self.enroll(vehicle, self.code(), "--name", "whole", *words, wrapper=(
            str(STRACE), "-f", "-o", log, "-e", "trace=" + ",".join(self.CALLS)))
        text = Path(log).read_text(encoding="utf-8")
        return {call: len(re.findall(rf"^\d+ +{call}\(", text, re.MULTILINE)) for call in self.CALLS}

    def check_good(self, vehicle: Beekond):
        """Whatever there is, the daemon can read it."""
        done = subprocess.run([program("beekonctl"), "config", "check", vehicle.config], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def cuts(self, counts: dict) -> list:
        """Some of the calls, others with each commit; all with BEEKOND_LONG=1. Of the answers the first alone: into how many
        pieces one comes is not always the same."""
        found = [(call, number) for call, count in counts.items()
                 for number in range(1, (1 if call == "recvfrom" else count) + 1)]
        return [found[number - 1] for number in sample(self.id(), len(found), 4)]

    def test_cut_anywhere_repeated_and_then_whole(self):
        counts = self.calls(self.vehicle())
        self.assertGreaterEqual(counts["fsync"], 6, "nonce, key and file, each with its folder")
        self.assertEqual(counts["rename"], 3)
        self.assertGreaterEqual(counts["sendto"], 2, "the enrolment and the empty batch")
        for call, number in self.cuts(counts):
            name = f"{call}-{number}"
            with self.subTest(name):
                # A code for one: what the first attempt was given must be given again.
                vehicle, code = self.vehicle(), self.code()
                self.assertIn(self.cut(vehicle, code, name, call=call, number=number), self.KILLED)
                self.check_good(vehicle)
                # Where the file is there already, no such call may come any more.
                self.cut(vehicle, code, name, call=call, number=number)
                self.check_good(vehicle)
                self.enroll(vehicle, code, "--name", name)
                self.check_token(vehicle)
                self.assertEqual([found for found in self.devices() if found == name], [name])

    def test_replacing_keeps_what_was_there_before_it_wherever_it_is_cut(self):
        old = '[sync]\nurl = "https://other.example/x"\n'

        def prepared() -> Beekond:
            vehicle = self.vehicle()
            self.file(vehicle).parent.mkdir()
            self.file(vehicle).write_text(old, encoding="utf-8")
            return vehicle

        counts = self.calls(prepared(), "--replace")
        self.assertEqual(counts["link"], 1)
        for call, number in self.cuts({call: counts[call] for call in ("fsync", "rename", "link")}):
            name = f"{call}-{number}"
            with self.subTest(name):
                vehicle, code = prepared(), self.code()
                for attempt in range(2):
                    ended = self.cut(vehicle, code, name, "--replace", call=call, number=number)
                    # The second makes fewer calls where the first has done something for good.
                    self.assertIn(ended, (*self.KILLED, 0) if attempt else self.KILLED)
                    self.check_good(vehicle)
                    # Always one of both servers, whole.
                    self.assertIn("url = ", self.file(vehicle).read_text(encoding="utf-8"))
                self.enroll(vehicle, code, "--name", name, "--replace")
                self.assertEqual(self.file(vehicle, "50-server.toml.before").read_text(encoding="utf-8"), old)
                self.check_token(vehicle)

    def test_cut_before_the_daemon_has_read_it(self):
        vehicle, code = self.vehicle().start(), self.code()
        # The last rename is that of the file.
        self.assertIn(self.cut(vehicle, code, "van-1", call="fsync", number=6), self.KILLED)
        self.assertTrue(self.file(vehicle).exists())
        self.assertEqual(vehicle.setting("sync.url"), "")
        done = self.enroll(vehicle, code)
        self.assertIn("nothing is changed", done.stdout)
        self.assertIn("beekond has read it", done.stdout)
        self.assertEqual(vehicle.setting("sync.url"), self.server.url + "/v1/batches")


if __name__ == "__main__":
    unittest.main()
