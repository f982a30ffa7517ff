"""The first five minutes on a vehicle: every command of README's section, verbatim, on a box that has never seen beekond."""
from __future__ import annotations

import os
import re
import shutil
import tempfile
import unittest

import container
import debian
from service import need_machines
from support import tls
from support.backend import Backend
from support.programs import ROOT
from support.text import match
from support.waiting import wait_for

HEADING = "\n## On a vehicle\n"


def setUpModule():
    need_machines()


def commands() -> list:
    """The lines of the section's first block of shell commands."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        section = file.read().split(HEADING)[1].split("\n##")[0]
    return match(r"```sh\n(.*?)```", section, re.S)[1].strip().splitlines()


@tls.needs_openssl
class VehicleTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-machine-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.machine = container.Container(self.folder)
        self.addCleanup(self.machine.stop)

    def serve(self, host: str) -> Backend:
        """The backend that the commands name, with a certificate that the box trusts."""
        backend = Backend().start()
        self.addCleanup(backend.stop)
        authority = tls.Authority(os.path.join(self.folder, "ca"))
        certificate, key = authority.certificate("backend", names=f"DNS:{host}")
        front = tls.Terminator(tls.context(certificate, key), backend.port, at=443)
        self.addCleanup(front.stop)
        with open(authority.ca, encoding="ascii") as file:
            self.machine.write("/usr/local/share/ca-certificates/test.crt", file.read())
        self.machine.run("update-ca-certificates")
        self.machine.write("/etc/hosts", f"127.0.0.1 localhost van {host}\n")
        return backend

    def test_every_command_does_what_it_says(self):
        lines = commands()
        self.machine.boot()
        host = match(r"https://([\w.]+)/", "\n".join(lines))[1]
        backend = self.serve(host)
        shutil.copy(debian.package(), self.machine.path + "/root")
        # A receiver is plugged in.
        self.machine.run("systemctl", "start", "receiver")
        outputs = {}
        for line in lines:
            # Commands that never end run for a while.
            follows = " -f" in line
            code, said, errors = self.machine.run(
                "sh", "-c", f"cd /root; {'timeout 5 ' if follows else ''}{line}", check=False, seconds=180)
            command = line.split("#")[0].strip()
            shown = "\n".join(text for text in (said + errors).splitlines() if "Reading database" not in text)
            print(f"\n$ {command}\n{shown}")
            outputs[command] = said
            # The first run of doctor finds no backend yet, or a receiver that has just woken up.
            allowed = {124} if follows else {0, 1} if "doctor" in line else {0}
            self.assertIn(code, allowed, f"{line}: exit {code}\n{said}{errors}")
            if command == "sudo beekonctl start":
                wait_for(lambda: self.stored(), "a location is stored", 60)
        self.assertIn("tracking in session", outputs["sudo journalctl -fu beekond"])
        wait_for(lambda: backend.ids, "a location has come to the backend", 60)
        self.assertEqual(backend.faults(), [])

    def stored(self) -> bool:
        return '"locations":0' not in self.machine.output("beekonctl", "status", "--json")


if __name__ == "__main__":
    unittest.main()
