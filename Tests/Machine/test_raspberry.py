"""docs/raspberry-pi.md: each of its commands, verbatim and in its order, as far as that goes without a Raspberry Pi.

A simulated receiver stands behind the names that devices have there; a loop device is the partition for the state, and the
test makes the links that udev would make. What else a Raspberry Pi would have to do is in document.UNTRIED.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import container
import debian
import document
import virtual
from service import LONG, STATE, need_machines
from support.faults import no_loops
from support.waiting import wait_for

# What a card with Raspberry Pi OS has there.
FIRMWARE = {
    "/boot/firmware/config.txt": "dtparam=audio=on\n[all]\n",
    "/boot/firmware/cmdline.txt": "console=serial0,115200 console=tty1 root=PARTUUID=1-02 rootfstype=ext4 rootwait\n",
}
# A receiver on a line of its own, whose name is the instance's.
RECEIVER = """[Service]
ExecStart=/bin/sh -c '/usr/local/bin/beekon-sim --pty | while read path; do chgrp dialout $path; chmod 660 $path; \
mkdir -p $(dirname "%I"); ln -sf $path "%I"; done'
ExecStopPost=/bin/rm -f "%I"
"""
DISK_BYTES = 64 << 20
BY_ID = "/dev/serial/by-id/usb-u-blox_AG_-_www.u-blox.com_u-blox_GNSS_receiver-if00"


def setUpModule():
    need_machines()


class DocumentTest(unittest.TestCase):
    def test_no_command_is_without_a_test(self):
        self.assertEqual(document.problems(), [])


class Box(unittest.TestCase):
    """A fresh system with a user who may use sudo, as Raspberry Pi OS makes one."""

    EXTRA: tuple = ()

    def options(self) -> tuple:
        """More options of systemd-nspawn."""
        return ()

    def setUp(self):
        # Blocks of the document.
        self.carried_out: list = []
        self.folder = tempfile.mkdtemp(prefix="beekond-machine-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.machine = container.Container(self.folder, self.EXTRA, self.options())
        self.addCleanup(self.machine.stop)
        self.machine.write("/etc/hosts", "127.0.0.1 localhost van\n")
        self.machine.write("/etc/sudoers.d/pi", "pi ALL=(ALL) NOPASSWD: ALL\n", 0o440)
        self.machine.write("/etc/systemd/system/line@.service", RECEIVER)
        for name, text in FIRMWARE.items():
            self.machine.write(name, text)
        self.machine.boot()
        self.machine.run("useradd", "--create-home", "--shell", "/bin/bash", "pi")

    def user(self, script: str, codes: tuple = (0,), seconds: float = 180) -> str:
        """Runs a script as that user, who has logged in anew; what it says, errors included. Any exit code will do if none
        is given."""
        code, said, errors = self.machine.run("runuser", "-l", "pi", "-c", script, check=False, seconds=seconds)
        shown = "\n".join(line for line in (said + errors).splitlines() if "Reading database" not in line)
        print(f"\n{script}\n{shown}", flush=True)
        if codes:
            self.assertIn(code, codes, f"{script}\n{shown}")
        return said + errors

    def carry_out(self, beginning: str, codes: tuple = (0,)) -> str:
        """A block of the document, as it stands there; ends with the first of its commands that fails."""
        text = document.block(beginning)
        self.carried_out.append(text)
        return self.user("set -e\n" + text, codes)


class RaspberryTest(Box):
    # The smallest Debian 13 makes no file systems.
    EXTRA = debian.OVERLAY if debian.SUITE == "trixie" else ()

    def setUp(self):
        if reason := no_loops():
            self.skipTest(reason)
        super().setUp()

    def options(self) -> tuple:
        """A loop device is the partition of the state."""
        disk = os.path.join(self.folder, "disk")
        with open(disk, "wb") as file:
            file.truncate(DISK_BYTES)
        loop = subprocess.run(["losetup", "--find", "--show", disk], check=True, capture_output=True, text=True).stdout.strip()
        self.addCleanup(subprocess.run, ["losetup", "--detach", loop], check=False)
        return (f"--bind={loop}:/dev/sda1",)

    # What the machine has and says.

    def status(self) -> dict:
        # The user is a member of the group since the last login.
        return json.loads(self.machine.output("runuser", "-l", "pi", "-c", "beekonctl status --json"))

    def active(self) -> str:
        return self.machine.output("systemctl", "is-active", "beekond", check=False).strip()

    def plug_in(self, name: str):
        self.machine.run("systemctl", "stop", "line@*")
        unit = self.machine.output("systemd-escape", "--template=line@.service", name).strip()
        self.machine.run("systemctl", "start", unit)
        wait_for(lambda: self.machine.run("test", "-c", name, check=False)[0] == 0,
                 lambda: self.machine.run("systemctl", "status", unit, check=False)[1])

    def assert_taken(self, name: str):
        """gpsd reads NMEA from the device of this name, and from no other."""
        def devices() -> list:
            with socket.create_connection(("127.0.0.1", 2947), timeout=10) as link, link.makefile() as lines:
                link.sendall(b'?WATCH={"enable":true,"json":true};\n?DEVICES;\n')
                # The answer to each, after the version.
                said = [json.loads(lines.readline()) for _ in range(4)]
            found = [line for line in said if line["class"] == "DEVICES"][-1]["devices"]
            return found if [device["path"] for device in found] == [name] and "driver" in found[0] else []

        found = wait_for(devices, lambda: f"gpsd reads {name}; {self.machine.run('systemctl', 'status', 'gpsd', check=False)[1]}",
                         LONG)
        self.assertEqual(found[0]["driver"], "NMEA0183")

    def stored(self) -> int:
        return self.status()["gate"]["admitted"]

    def test_every_command_does_what_it_says(self):
        # The name of the package for a Raspberry Pi; apt goes by what is in the file, which is for this machine.
        shutil.copy(debian.package(), self.machine.path + "/home/pi/beekond_0_arm64.deb")
        self.carry_out("sudo apt install")
        self.assertEqual(self.active(), "active")
        self.assertEqual(self.status()["state"], "idle")
        # Of a package's own file, apt asks what is to become of it if there is another already.
        self.assertIn("/etc/default/gpsd", self.machine.output("dpkg-query", "-W", "-f", "${Conffiles}", "gpsd"))
        self.receivers()
        self.tracking()
        self.clock()
        self.journal()
        self.state()
        mine = [each.text for each in document.blocks()
                if all(document.CONTAINER in document.tried_by(command) for command in each.commands())]
        self.assertEqual([text for text in mine if text not in self.carried_out], [], "no test for these")

    def receivers(self):
        self.plug_in(BY_ID)
        self.assertIn(os.path.basename(BY_ID), self.carry_out("ls -l /dev/serial/by-id/"))
        self.carry_out(r"printf 'DEVICES=\"%s\"")
        self.assert_taken(BY_ID)
        # The machine ends in the midst of it.
        self.carry_out("echo enable_uart", codes=())
        self.machine.nspawn.wait(LONG)
        self.machine.boot()
        for unit in ("serial-getty@ttyAMA0.service", "serial-getty@ttyS0.service"):
            self.assertEqual(self.machine.output("systemctl", "is-enabled", unit, check=False).strip(), "masked")
        self.assertEqual(self.machine.read("/boot/firmware/cmdline.txt"),
                         FIRMWARE["/boot/firmware/cmdline.txt"].replace("console=serial0,115200 ", ""))
        # It counts on every model only after the last [all].
        self.assertEqual(self.machine.read("/boot/firmware/config.txt").split("[all]\n")[1], "enable_uart=1\n")
        self.plug_in("/dev/serial0")
        self.carry_out(r"printf 'DEVICES=\"/dev/serial0\"")
        self.assert_taken("/dev/serial0")

    def tracking(self):
        text = document.block("sudo beekonctl doctor")
        self.carried_out.append(text)
        # Without a backend doctor has something to say; nothing else in the block may fail.
        self.user("\n".join(line if "doctor" in line else line + " || exit 9" for line in
                            (re.sub(r" +# .*", "", line) for line in text.splitlines())))
        self.assertEqual(self.status()["state"], "tracking")
        wait_for(lambda: self.stored() >= 1, lambda: f"a location is stored; {self.status()}", LONG)

    def clock(self):
        self.carry_out("printf 'refclock")
        said = self.machine.output("chronyd", "-p", "-f", "/etc/chrony/chrony.conf")
        lines = [line for text in virtual.CHRONY.values() for line in text.splitlines()]
        # The same lines set the clock of the machine in test_power.
        for line in lines:
            self.assertIn(line, said.splitlines())

    def journal(self):
        self.machine.run("sh", "-c", "echo before | systemd-cat -t card; journalctl --sync")
        self.assertIn("before", self.machine.output("journalctl", "-D", "/var/log/journal", "-t", "card"))
        self.carry_out(r"printf '\[Journal\]")
        self.machine.run("sh", "-c", "echo after | systemd-cat -t card; journalctl --sync")
        self.assertIn("after", self.machine.output("journalctl", "-D", "/run/log/journal", "-t", "card"))
        self.assertNotIn("after", self.machine.output("journalctl", "-D", "/var/log/journal", "-t", "card"))

    def state(self):
        before = self.status()
        # What udev does when there is a label.
        self.label(True)
        self.carry_out(r"sudo mkfs\.ext4")
        said = self.machine.run("systemd-analyze", "verify", "--man=no", "var-lib-beekond.mount", "beekond.service", check=False)
        self.assertEqual([line for line in said[2].splitlines() if "beekond" in line], [])
        self.assertEqual(self.carry_out("findmnt").strip(), "ext4")
        after = self.status()
        for key in ("install_id", "session_id", "state"):
            self.assertEqual(after[key], before[key], key)
        wait_for(lambda: self.stored() >= 1, lambda: f"a location is stored there; {self.status()}", LONG)
        self.assert_refuses("Dependency failed for", lambda: self.label(False), lambda: self.label(True))
        # A mount that nobody has written down is no dependency; then it is the assertion that counts.
        unit = "/etc/systemd/system/var-lib-beekond.mount"
        self.assert_refuses("Assertion failed", lambda: self.machine.run("mv", unit, "/root"),
                            lambda: self.machine.run("mv", "/root/var-lib-beekond.mount", unit))

    def label(self, there: bool):
        self.machine.run("sh", "-c", "mkdir -p /dev/disk/by-label; " + (
            "ln -sf /dev/sda1 /dev/disk/by-label/state" if there else "rm /dev/disk/by-label/state"))

    def assert_refuses(self, why: str, lose, find):
        """beekond does not start when the partition is missing, says why, and starts when it is there again."""
        rows = self.status()["store"]["locations"]
        self.machine.run("systemctl", "stop", "beekond", "var-lib-beekond.mount")
        lose()
        self.machine.run("systemctl", "daemon-reload")
        below = self.machine.output("stat", "-c", "%n %s %y", STATE, f"{STATE}/beekon.db")
        code, said, errors = self.machine.run("systemctl", "start", "beekond", check=False, seconds=200)
        print(f"\nwithout the partition: exit {code}; {errors.strip()}")
        self.assertNotEqual(code, 0)
        self.assertNotIn(self.active(), ("active", "activating"))
        told = self.machine.output("systemctl", "status", "beekond", check=False)
        print(told)
        self.assertIn(why, told + errors)
        # What it was copied from is still there, and nothing has touched it.
        self.assertEqual(self.machine.output("stat", "-c", "%n %s %y", STATE, f"{STATE}/beekon.db"), below)
        find()
        self.machine.run("systemctl", "daemon-reload")
        self.user("sudo systemctl start beekond")
        self.assertEqual(self.active(), "active")
        self.assertEqual(self.status()["state"], "tracking")
        self.assertGreaterEqual(self.status()["store"]["locations"], rows)


@debian.takes_minutes
class ModemTest(Box):
    """Without a modem: the unit tries until ModemManager has one, and then has done its work."""

    EXTRA = debian.OVERLAY

    def show(self, name: str) -> str:
        return self.machine.output("systemctl", "show", "--value", "-p", name, "modem-gnss").strip()

    def test_the_unit_waits_for_the_modem(self):
        said = self.user(document.block("mmcli"), (1,))
        # It knows the option, and misses the modem.
        self.assertRegex(said, "(?i)couldn't find|no modems")
        self.carry_out("sudo tee /etc/systemd/system/modem-gnss")
        wait_for(lambda: int(self.show("NRestarts")) >= 1, lambda: f"it tries again: {self.show('StatusText')}", LONG)
        # Now there is one.
        self.machine.run("ln", "-sf", "/bin/true", "/usr/bin/mmcli")
        wait_for(lambda: self.show("ActiveState") == "inactive" and self.show("Result") == "success",
                 lambda: f"it has done its work: {self.show('ActiveState')}", LONG)
        self.assertEqual(self.machine.output("systemctl", "is-enabled", "modem-gnss").strip(), "enabled")


if __name__ == "__main__":
    unittest.main()
