"""beekonctl enroll with the package: by an operator, and by an image at its first start."""
from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server" / "Tests" / "System"))

from server_support.server import PROGRAM, Server
from service import Service, need_machines
from support import tls
from support.waiting import wait_for

HOST = "fleet.example.org"
URL = f"https://{HOST}"
FILE = "/etc/beekond/beekond.d/50-server.toml"


def setUpModule():
    need_machines()


@tls.needs_openssl
@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "no beekon-server: build it")
class EnrollTest(Service):
    def setUp(self):
        super().setUp()
        # Short: a socket of it is in there.
        self.server = Server(tempfile.mkdtemp(prefix="beekon-"))
        self.addCleanup(shutil.rmtree, self.server.folder, ignore_errors=True)
        self.server.start()
        self.addCleanup(self.server.kill)
        authority = tls.Authority(os.path.join(self.server.folder, "ca"))
        certificate, key = authority.certificate("server", names=f"DNS:{HOST}")
        front = tls.Terminator(tls.context(certificate, key), self.server.port, at=443)
        self.addCleanup(front.stop)
        with open(authority.ca, encoding="ascii") as file:
            self.machine.write("/usr/local/share/ca-certificates/test.crt", file.read())
        self.machine.run("update-ca-certificates", "--fresh")
        self.machine.write("/etc/hosts", f"127.0.0.1 localhost van {HOST}\n")

    def code(self) -> str:
        return self.server.verb("claim", "add").stdout.strip()

    def check_arrival(self, name: str):
        self.drive()
        self.beekonctl("start", user="root")
        reader = self.server.add_user("ada", "reader")
        (device,) = [found["id"] for found in json.loads(self.server.verb("device", "list", "--json").stdout)["devices"]
                     if found["name"] == name]
        self.wait_status(lambda status: status.get("last_location"), "a location is stored")
        self.beekonctl("sync", user="root")
        self.assertTrue(self.server.ids(reader, device))

    def test_by_an_operator(self):
        code = self.code()
        said = self.beekonctl("enroll", URL, code, check=False)
        self.assertEqual((said[0], said[1]), (77, ""), said)
        self.assertIn(f"sudo beekonctl enroll {URL}", said[2])
        _, text, _ = self.beekonctl("enroll", URL, code, "--name", "van-1", user="root")
        self.assertIn("beekond has read it", text)
        self.assertIn("The server takes uploads of this vehicle", text)
        self.assertEqual(self.machine.output("stat", "-c", "%a %U %G", FILE).strip(), "640 root beekond")
        self.assertNotEqual(self.machine.run("cat", FILE, user="alice", check=False)[0], 0)
        self.check_arrival("van-1")
        # The tokens are beekond's now, and stay so over a reboot.
        self.machine.reboot()
        self.assertIn("nothing is changed", self.beekonctl("enroll", URL, user="root")[1])

    def test_by_an_image_at_its_first_start(self):
        unit = self.beekonctl("enroll", "--print", URL, self.code(), user="root")[1]
        self.machine.write("/etc/systemd/system/beekond-enroll.service", unit)
        self.machine.run("systemctl", "enable", "beekond-enroll.service")
        self.addCleanup(self.machine.run, "rm", "-f", "/etc/systemd/system/beekond-enroll.service", check=False)
        self.machine.reboot()
        wait_for(lambda: self.machine.run("test", "-e", FILE, check=False)[0] == 0,
                 lambda: f"it has enrolled; {self.machine.output('journalctl', '-u', 'beekond-enroll')}", 60)
        wait_for(lambda: self.machine.output("systemctl", "show", "-P", "Result", "beekond-enroll").strip() == "success",
                 "its unit has succeeded", 60)
        self.check_arrival("van")
        # With its next start there is nothing to do.
        self.machine.reboot()
        self.assertEqual(self.machine.output("systemctl", "show", "-P", "ConditionResult", "beekond-enroll").strip(), "no")


if __name__ == "__main__":
    unittest.main()
