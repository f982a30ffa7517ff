"""What tests of the installed service share: one machine per class, and the actions of an operator."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import unittest

import container
import debian
from support.control_client import ControlClient
from support.daemon import toml
from support.waiting import wait_for

STATE = "/var/lib/beekond"
LONG = 90.0
# Every fix is stored.
EVERY_FIX = {"interval_seconds": 0, "distance_meters": 0.01, "stationary_mode": "keep_tracking"}


def need_machines():
    """For setUpModule."""
    reason = debian.missing() or container.missing()
    if reason:
        raise unittest.SkipTest(reason)


class Service(unittest.TestCase):
    """Booting takes longer than most tests, so each begins with a running, idle service."""

    folder: str
    machine: container.Container

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="beekond-machine-", dir=debian.KEPT if os.path.isdir(debian.KEPT) else None)
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.machine = container.Container(cls.folder)
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.boot()
        cls.machine.install(debian.package())
        for user, groups in debian.USERS.items():
            cls.machine.run("useradd", "--create-home", *(["--groups", groups] if groups else []), user)

    def setUp(self):
        """Starts idle, without upload and with nothing stored."""
        self.machine.run("systemctl", "stop", "receiver", "beekond", check=False)
        self.machine.run("sh", "-c", f"rm -rf {STATE}/* /etc/beekond/beekond.d/* /etc/systemd/system/beekond.service.d")
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "reset-failed", check=False)
        self.machine.run("systemctl", "start", "beekond")

    # The actions of an operator.

    def beekonctl(self, *arguments: str, user: str = "alice", check: bool = True) -> tuple:
        return self.machine.run("beekonctl", *arguments, user=user, check=check)

    def status(self) -> dict:
        return json.loads(self.beekonctl("status", "--json")[1])

    def wait_status(self, condition, what: str, seconds: float = LONG) -> dict:
        last = ""

        def look() -> dict | None:
            nonlocal last
            code, text, errors = self.beekonctl("status", "--json", check=False)
            last = text or errors
            return json.loads(text) if code == 0 and condition(json.loads(text)) else None

        return wait_for(look, lambda: f"{what}; the status is {last}", seconds)

    def drive(self):
        """Starts the simulated receiver; every fix is admitted."""
        self.configure(tracking=EVERY_FIX)
        self.machine.run("systemctl", "start", "receiver")

    def configure(self, **sections):
        self.machine.write("/etc/beekond/beekond.d/" + "-".join(sections) + ".toml", toml(sections))
        self.machine.run("systemctl", "reload", "beekond")

    def property(self, name: str) -> str:
        return self.machine.output("systemctl", "show", "--value", "-p", name, "beekond").strip()

    def main_pid(self) -> int:
        return int(self.property("MainPID"))

    def journal(self, *arguments: str) -> list:
        text = self.machine.output("journalctl", "-u", "beekond", "-o", "json", "--no-pager", *arguments)
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def wait_new_process(self, before: int) -> int:
        def found() -> int | None:
            pid = self.main_pid() if self.property("ActiveState") == "active" else before
            return pid if pid not in (0, before) else None

        return wait_for(
            found, lambda: f"another process; {self.machine.output('systemctl', 'status', 'beekond', check=False)}", LONG)

    def interval(self) -> float:
        with ControlClient(self.machine.seen("/run/beekond/beekond.sock")) as client:
            found = client.call("GetConfig")["settings"]
        return {setting["key"]: setting["value"] for setting in found}["tracking.interval_seconds"]
