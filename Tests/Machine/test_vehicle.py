"""What is sent before a machine is off, under a real systemd; a GPIO line and a power supply of a real kernel."""
from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest

import debian
import modules
import virtual
from service import EVERY_FIX, Service, need_machines
from support.backend import Backend
from support.child import Child
from support.daemon import NEVER, toml
from support.programs import ROOT
from support.text import match
from support.waiting import wait_for

EXAMPLES = "/usr/share/doc/beekond/examples"
DROP_INS = "/etc/systemd/system/beekond.service.d"
PENDING = 200
# A drive ten times as fast as life.
QUICK = "[Service]\nExecStart=\nExecStart=/usr/local/bin/beekon-sim --udp 127.0.0.1:5000 --speed-up 10\n"


def setUpModule():
    need_machines()


class FlushTest(Service):
    """In a container: the order of systemd, and a server that answers or does not."""

    def pending(self, url: str, other: str):
        """So many locations wait for both, with the drop-in as the manual has it."""
        self.machine.run("install", "-D", "-m", "644", f"{EXAMPLES}/last-flush.conf", f"{DROP_INS}/last-flush.conf")
        self.machine.write("/etc/systemd/system/receiver.service.d/quick.conf", QUICK)
        self.machine.run("systemctl", "daemon-reload")
        sync = {"interval_seconds": NEVER, "batch_size": 50}
        self.configure(sync={"url": url, **sync}, tracking=EVERY_FIX, **{"destination.other": {"url": other, **sync}})
        self.machine.run("systemctl", "start", "receiver")
        self.beekonctl("start")
        self.wait_pending(PENDING)

    def wait_pending(self, count: int):
        self.wait_status(lambda status: all(found["sync"]["pending"] >= count for found in status["destinations"]),
                         f"{count} that wait")

    def off(self) -> float:
        """Switches the machine off; how many seconds that took."""
        began = time.monotonic()
        self.machine.run("systemctl", "poweroff", check=False)
        self.machine.nspawn.wait(90)
        return time.monotonic() - began

    def test_what_is_pending_is_sent_before_the_machine_is_off(self):
        backends = [Backend().start(), Backend().start()]
        for backend in backends:
            self.addCleanup(backend.stop)
        self.pending(*(backend.url for backend in backends))
        # The session has sent nothing so far.
        self.assertEqual([len(backend.ids) for backend in backends], [0, 0])
        seconds = self.off()
        sent = [len(set(backend.ids)) for backend in backends]
        print(f"poweroff with {PENDING} and more pending for each of two: {sent} sent, off after {seconds:.1f} s")
        self.assertGreaterEqual(min(sent), PENDING)
        self.machine.boot()
        self.wait_status(lambda status: status["sync"]["pending"] == 0 or len(set(backends[0].ids)) > sent[0], "the rest")

    def test_a_dead_server_beside_one_that_answers_costs_that_nothing(self):
        hole = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.addCleanup(hole.close)
        backend = Backend().start()
        self.addCleanup(backend.stop)
        self.pending(f"http://127.0.0.1:{hole.getsockname()[1]}/", backend.url)
        seconds = self.off()
        print(f"poweroff with a server that never answers, and one that does: off after {seconds:.1f} s")
        self.assertGreaterEqual(len(set(backend.ids)), PENDING)
        self.machine.boot()
        self.wait_status(lambda status: status["sync"]["pending"] >= PENDING, "nothing is lost")

    def test_a_dead_server_delays_the_end_by_no_more_than_it_may(self):
        hole = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.addCleanup(hole.close)
        self.pending(*[f"http://127.0.0.1:{hole.getsockname()[1]}/"] * 2)
        seconds = self.off()
        print(f"poweroff with a server that never answers: off after {seconds:.1f} s")
        if not debian.BRIEF:
            self.assertLess(seconds, 8 + 2 + 15, "the flush, the end, and what a container takes")
        self.machine.boot()
        self.wait_status(lambda status: status["sync"]["pending"] >= PENDING, "nothing is lost")

    def test_a_signal_alone_ends_it_at_once(self):
        """The last flush is the service manager's: a server that never answers does not delay the daemon itself."""
        hole = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.addCleanup(hole.close)
        self.pending(*[f"http://127.0.0.1:{hole.getsockname()[1]}/"] * 2)
        pid = str(self.main_pid())
        began = time.monotonic()
        self.machine.run("sh", "-c", f"kill -TERM {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.02; done")
        seconds = time.monotonic() - began
        print(f"SIGTERM with {PENDING} and more pending, and a server that never answers: ended after {seconds:.1f} s")
        if not debian.BRIEF:
            self.assertLess(seconds, 2 + 3, "2 s, and what a busy machine takes")

    def test_the_drop_ins_leave_the_unit_as_it_is(self):
        for name, most in (("last-flush.conf", 1.5), ("gpio-ignition.conf", 1.7)):
            self.machine.run("install", "-D", "-m", "644", f"{EXAMPLES}/{name}", f"{DROP_INS}/{name}")
            self.machine.run("systemctl", "daemon-reload")
            line = self.machine.output("systemd-analyze", "security", "--no-pager", "beekond.service")
            self.assertLessEqual(float(match(r"([0-9.]+) [A-Z]+", line.strip().splitlines()[-1])[1]), most, name)
            self.machine.run("rm", f"{DROP_INS}/{name}")


TOLD = "/var/lib/told"
# Switches the machine off once so many locations wait; the second time a few are enough.
OFF = f"""#!/bin/sh
pending() {{ beekonctl status --json | tr '{{,' '\\n\\n' | sed -n 's/^"pending"://p' | head -n 1; }}
most={PENDING}
[ -e /var/lib/been-off ] && most=10
until [ "$(pending)" -ge $most ]; do sleep 5; done
touch /var/lib/been-off
echo "poweroff $(cut -d' ' -f1 /proc/uptime)" >{TOLD}
systemctl --no-block poweroff
"""
FLUSH = {
    "usr/local/sbin/off": OFF,
    "etc/systemd/system/off.service":
        "[Unit]\nAfter=beekond.service\n[Service]\nType=simple\nExecStart=/bin/sh /usr/local/sbin/off\n"
        "[Install]\nWantedBy=multi-user.target\n",
    # How the service ended, and when. It sees no serial line.
    f"{DROP_INS}/told.conf".lstrip("/"):
        f"[Service]\nExecStopPost=+/bin/sh -c 'echo \"$SERVICE_RESULT $(cut -d\" \" -f1 /proc/uptime)\" >>{TOLD}'\n",
    # A slow machine has enough to do.
    "etc/systemd/system/tell.service": virtual.FILES["etc/systemd/system/tell.service"].replace("sleep 1", "sleep 20"),
}


@debian.takes_minutes
@unittest.skipIf(virtual.missing(), virtual.missing() or "")
class NetworkTest(unittest.TestCase):
    """In a virtual machine, whose network is taken down at the end."""

    # Seconds of the drop-in and of the end, and what a machine without KVM takes that shares its processor.
    STOP = 8 + 2 + 35

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-vehicle-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.backend = Backend().start()
        self.addCleanup(self.backend.stop)

    def off(self, machine: virtual.Machine) -> float:
        """Boots, until the machine has switched itself off. How many of its own seconds beekond took for its end."""
        machine.start()
        wait_for(lambda: not machine.qemu.running,
                 lambda: f"it is off; {machine.console()[-1500:]}; {json.dumps(machine.status())}", 1200)
        told = subprocess.run(["debugfs", "-R", f"cat {TOLD}", machine.disk], check=True, capture_output=True, text=True).stdout
        (first, began), (last, ended) = (line.split() for line in told.splitlines())
        self.assertEqual((first, last), ("poweroff", "success"), told)
        return float(ended) - float(began)

    def flush(self, network: str):
        url = self.backend.url.replace("127.0.0.1", virtual.HOST)
        config = {"tracking": {"autostart": True, **EVERY_FIX}, "sync": {"url": url, "interval_seconds": NEVER,
                                                                          "allow_insecure_http": True}}
        with open(os.path.join(ROOT, "systemd", "last-flush.conf"), encoding="utf-8") as file:
            files = {**FLUSH, f"{DROP_INS}/last-flush.conf".lstrip("/"): file.read()}
        machine = virtual.Machine(self.folder, toml(config), files=files, units=("off",), network=network)
        self.addCleanup(machine.stop)
        seconds = self.off(machine)
        sent = len(set(self.backend.ids))
        print(f"poweroff with {network}: {sent} sent, stopped after {seconds:.1f} s", flush=True)
        self.assertGreaterEqual(sent, PENDING)
        self.dead(network, machine)

    def dead(self, network: str, machine: virtual.Machine):
        """The same with a server that takes connections, and never answers."""
        port = self.backend.port
        self.backend.stop()
        hole = socket.create_server(("127.0.0.1", port), backlog=16)
        self.addCleanup(hole.close)
        seconds = self.off(machine)
        print(f"poweroff with {network} and a dead server: stopped after {seconds:.1f} s", flush=True)
        self.assertLess(seconds, self.STOP)

    def test_with_ifupdown(self):
        self.flush("ifupdown")

    def test_with_network_manager(self):
        self.flush("NetworkManager")


@debian.takes_minutes
@unittest.skipIf(virtual.missing(), virtual.missing() or "")
@unittest.skipUnless(debian.HAS_MODULES, "the modules are built for the kernel of Debian 12 on amd64")
class LineTest(unittest.TestCase):
    """gpio-sim and test_power of the kernel's own source, and beekond on them: lines.sh is process 1."""

    DEBOUNCE = 0.05
    # The clock that the script reads has steps of 10 ms.
    TOLERANCE = 0.02

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-vehicle-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.disk, self.log = os.path.join(self.folder, "disk"), os.path.join(self.folder, "console")

    def furnish(self) -> list:
        """Makes the disk. Returns what qemu boots."""
        layer = debian.Layer(self.folder, "whole", debian.MODULES)
        try:
            shutil.copy(debian.package(), layer.path + "/root/beekond.deb")
            subprocess.run(["chroot", layer.path, "dpkg", "-i", "/root/beekond.deb"], check=True, capture_output=True)
            shutil.copytree(modules.built(), layer.path + "/root/modules", dirs_exist_ok=True)
            shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines.sh"), layer.path + "/root")
            for name in ("vmlinuz", "initrd.img"):
                shutil.copy(os.path.realpath(os.path.join(layer.path, name)), os.path.join(self.folder, name))
            # What it was built with.
            shutil.rmtree(layer.path + "/usr/src")
            subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", layer.path, self.disk, "3000M"], check=True)
        finally:
            layer.remove()
        return ["-kernel", os.path.join(self.folder, "vmlinuz"), "-initrd", os.path.join(self.folder, "initrd.img"),
                "-append", "root=/dev/vda rw console=ttyS0 quiet no_timer_check panic=-1 init=/root/lines.sh",
                "-drive", f"file={self.disk},if=virtio,format=raw"]

    def dump(self, name: str) -> str:
        """A file of the disk."""
        path = os.path.join(self.folder, os.path.basename(name))
        subprocess.run(["debugfs", "-R", f"dump {name} {path}", self.disk], check=True, capture_output=True)
        return path

    def told(self) -> dict:
        """What the script has said."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            lines = [line[6:].split(": ", 1) for line in file.read().replace("\r", "").split("\n")
                     if line.startswith("lines ") and ": " in line]
        return dict(lines)

    def test_a_line_and_a_supply(self):
        machine = Child(["qemu-system-x86_64", "-accel", "tcg", "-m", "512", "-nodefaults", "-no-reboot", "-display", "none",
                         *self.furnish(), "-serial", f"file:{self.log}"], os.path.join(self.folder, "qemu"))
        self.addCleanup(machine.kill)
        wait_for(lambda: not machine.running, lambda: f"all steps; so far {self.told()}", 2400)
        told = self.told()
        self.assertIn("end", told, f"the script did not come to its end; qemu said: {machine.text()}")
        for step in ("missing", "power", "denied", "found", "after-edges", "after-overflow", "power-lost", "power-back",
                     "unplugged"):
            with self.subTest(step):
                self.assertEqual(told.get(step), "yes")
        self.assertIn("vehicle", told["degraded"])
        self.check_events()

    def check_events(self):
        """Each event that was told is one that happened, and held."""
        with open(self.dump("/var/lib/truth"), encoding="ascii") as file:
            truth = [(float(before), float(after), level == "1") for before, after, level in map(str.split, file)]
        database = self.dump("/var/lib/lines/beekon.db")
        with sqlite3.connect(database) as link:
            events = [(kind == 3, at / 1e9) for kind, at in link.execute(
                "SELECT kind, boot_time FROM events WHERE kind IN (3, 4) ORDER BY seq")]
        # Before the script touches the line, and after the chip was gone and came back.
        events = [event for event in events if truth[0][0] - 1 < event[1] < truth[-1][1] + 1]
        self.assertEqual([on for on, _ in events], [events[0][0] ^ (index % 2 == 1) for index in range(len(events))])
        ends = [after for _, after, _ in truth[1:]] + [float("inf")]
        for on, at in events:
            near = [index for index, (before, _, level) in enumerate(truth)
                    if level == on and at - 1 < before <= at + self.TOLERANCE]
            # The kernel stamps an edge once it has held for 10 ms, give or take what a slow machine needs.
            self.assertTrue(any(ends[index] - at >= self.DEBOUNCE - 1.5 * self.TOLERANCE for index in near), f"{on} at {at}")
        print(f"{len(truth)} edges with bounce, the reader held up for some of them: {len(events)} told, each of them true")
        self.assertGreater(len(events), 100)


if __name__ == "__main__":
    unittest.main()
