"""beekonctl enroll against a real beekon-server: whole, cut off at each step, and where it must refuse."""
from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "server" / "Tests" / "System"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from server_support.server import PROGRAM, Server
from support.daemon import Beekond
from support.programs import program
from support.system_test import SystemTest
from support.waiting import wait_for

STRACE = shutil.which("strace")


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "no beekon-server: build it")
class EnrollTest(SystemTest):
    real_time = True

    def setUp(self):
        super().setUp()
        self.server = Server(self.folder())
        self.server.start()
        self.addCleanup(self.server.stop)

    def code(self, uses: int = 1) -> str:
        return self.server.verb("claim", "add", "--uses", str(uses)).stdout.strip()

    def vehicle(self, **sections) -> Beekond:
        """One that does not run yet."""
        vehicle = Beekond(self.folder(), **sections)
        self.addCleanup(lambda: vehicle.terminate() if vehicle.is_running else None)
        return vehicle

    @staticmethod
    def file(vehicle: Beekond, name: str = "50-server.toml") -> Path:
        return Path(vehicle.directory) / "beekond.d" / name

    def enroll(self, vehicle: Beekond, *words: str, code: int = 0, url: str | None = None, wrapper: tuple = (),
               given: str = "") -> subprocess.CompletedProcess:
        done = subprocess.run(
            [*wrapper, program("beekonctl"), "enroll", url or self.server.url, *words, "--config", vehicle.config,
             "--state-dir", vehicle.state, "--socket", vehicle.socket],
            input=given, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def devices(self) -> dict:
        found = json.loads(self.server.verb("device", "list", "--json").stdout)["devices"]
        return {device["name"]: device for device in found}

    def state_of(self, vehicle: Beekond) -> dict:
        folder = Path(vehicle.directory)
        return {str(path): path.read_bytes() for path in [*folder.glob("*.toml"), *folder.glob("beekond.d/*")]}


class WholeTests(EnrollTest):
    def test_before_the_daemon_runs(self):
        vehicle = self.vehicle()
        done = self.enroll(vehicle, self.code(), "--name", "van-1")
        self.assertIn("named van-1", done.stdout)
        self.assertIn("The server may ask it: locate, sync, upload_log, set_config", done.stdout)
        self.assertIn("in force with its next start", done.stdout)
        self.assertIn("The server takes uploads of this vehicle", done.stdout)
        file = self.file(vehicle)
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o640)
        text = file.read_text(encoding="utf-8")
        self.assertNotIn(re.findall(r'access_token = "(.*)"', text)[0], done.stdout + done.stderr)
        nonce = Path(vehicle.state, "enrolment-nonce").read_text(encoding="utf-8").strip()
        self.assertNotIn(nonce, done.stdout + text)
        vehicle.start()
        # The status of a heartbeat shows that the whole of it works: tokens, table and heartbeat.
        wait_for(lambda: "status" in self.devices()["van-1"], "a heartbeat")
        self.assertEqual(vehicle.setting("sync.commands.enabled"), True)

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

    def test_what_the_server_may_ask_is_for_the_operator_to_say(self):
        for grant, words, missing in (("all", "start, stop, set_motion", None), ("none", "may ask nothing", "commands]")):
            with self.subTest(grant):
                vehicle = self.vehicle()
                done = self.enroll(vehicle, self.code(), "--name", grant, "--commands", grant)
                self.assertIn(words, done.stdout)
                if missing:
                    self.assertNotIn(missing, self.file(vehicle).read_text(encoding="utf-8"))

    def test_json_is_one_object(self):
        done = self.enroll(self.vehicle(), self.code(), "--name", "van-1", "--json")
        found = json.loads(done.stdout)
        self.assertEqual((found["accepted"], found["in_force"]), (True, False))
        self.assertIn("locate", found["commands"])

    def test_print_writes_and_asks_nothing(self):
        vehicle = self.vehicle()
        before = self.state_of(vehicle)
        self.server.stop()
        done = self.enroll(vehicle, "ABCDE-FGHJK", "--print")
        self.assertIn("StandardInputText=ABCDE-FGHJK", done.stdout)
        self.assertIn(self.server.url, done.stdout)
        self.assertEqual(self.state_of(vehicle), before)
        self.assertEqual(os.listdir(vehicle.state), [])
        self.assertIn("give the code", self.enroll(vehicle, "--print", code=64).stderr)


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
        # And the file of an enrolment by the next one.
        self.enroll(vehicle, self.code(), "--replace", "--name", "van-2")
        self.assertTrue(self.file(vehicle, "50-server.toml.before").exists())

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


@unittest.skipUnless(STRACE, "strace is not installed")
class CutTests(EnrollTest):
    """SIGKILL at each call that makes something durable, and at those with which it speaks to the server."""

    def calls(self) -> dict:
        """How many of each call a whole enrolment makes."""
        log = os.path.join(self.folder(), "calls")
        self.enroll(self.vehicle(), self.code(), "--name", "whole", wrapper=(
            str(STRACE), "-f", "-o", log, "-e", "trace=fsync,rename,sendto,recvfrom"))
        text = Path(log).read_text(encoding="utf-8")
        return {call: len(re.findall(rf"^\d+ +{call}\(", text, re.MULTILINE))
                for call in ("fsync", "rename", "sendto", "recvfrom")}

    def test_cut_anywhere_repeated_and_then_whole(self):
        counts = self.calls()
        self.assertGreaterEqual(counts["fsync"], 4, counts)
        self.assertGreaterEqual(counts["rename"], 2, counts)
        cut = 0
        for call, count in counts.items():
            for number in range(1, min(count, 6) + 1):
                name = f"{call}-{number}"
                with self.subTest(name):
                    vehicle, code = self.vehicle(), self.code()
                    wrapper = (str(STRACE), "-f", "-qq", "-o", "/dev/null", "-e",
                               f"inject={call}:signal=KILL:when={number}")
                    for _ in range(2):
                        done = subprocess.run(
                            [*wrapper, program("beekonctl"), "enroll", self.server.url, code, "--name", name,
                             "--config", vehicle.config, "--state-dir", vehicle.state, "--socket", vehicle.socket],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
                        cut += done.returncode in (-9, 137)
                        # Whatever there is, the daemon can read it.
                        self.assertEqual(subprocess.run(
                            [program("beekonctl"), "config", "check", vehicle.config], capture_output=True,
                            timeout=60).returncode, 0)
                    self.enroll(vehicle, code, "--name", name)
                    vehicle.start()
                    wait_for(lambda name=name: "status" in self.devices()[name], "a heartbeat")
                    vehicle.terminate()
        self.assertGreaterEqual(cut, sum(min(count, 6) for count in counts.values()), counts)


if __name__ == "__main__":
    unittest.main()
