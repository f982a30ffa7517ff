"""Virtual machines: random power cuts while fixes are stored and uploaded, a clock that stood still, an unplugged cable.

BEEKOND_CUTS sets the number of cuts (default 3; 20 is the long form).
"""
from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest
from datetime import datetime

import debian
import virtual
from support import tls
from support.backend import Backend
from support.daemon import toml
from support.waiting import wait_for

CUTS = int(os.environ.get("BEEKOND_CUTS", "1" if debian.BRIEF else "3"))
SEED = int(os.environ.get("BEEKOND_SEED") or 1)


def setUpModule():
    reason = virtual.missing()
    if reason:
        raise unittest.SkipTest(reason)


class MachineTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="beekond-power-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.backend = Backend().start()
        self.addCleanup(self.backend.stop)

    def machine(self, url: str, sync: dict | None = None, **options) -> virtual.Machine:
        """A machine that tracks from its first start and stores every fix."""
        config = {
            "tracking": {"autostart": True, "interval_seconds": 0, "distance_meters": 0, "stationary_mode": "keep_tracking"},
            "sync": {"url": url, "sync_threshold": 5, "interval_seconds": 60, **(sync or {})}}
        machine = virtual.Machine(self.folder, toml(config), **options)
        self.addCleanup(machine.stop)
        return machine

    def url(self) -> str:
        return self.backend.url.replace("127.0.0.1", virtual.HOST)

    def received(self) -> set:
        return set(self.backend.ids)

    def assert_sound(self, machine: virtual.Machine):
        """The database as the cut left it, read by another SQLite. The file system's journal is replayed on a copy: at the
        next boot the machine does that itself."""
        mounted, copy = os.path.join(self.folder, "mounted"), os.path.join(self.folder, "copy")
        os.makedirs(mounted, exist_ok=True)
        subprocess.run(["cp", "--sparse=always", machine.disk, copy], check=True)
        subprocess.run(["mount", "-o", "loop", copy, mounted], check=True)
        try:
            state = os.path.join(mounted, "var/lib/beekond")
            link = sqlite3.connect(os.path.join(state, "beekon.db"))
            self.assertEqual(link.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            link.close()
            self.assertEqual([name for name in os.listdir(state) if "corrupt" in name or "salvaged" in name], [])
        finally:
            subprocess.run(["umount", mounted], check=True)
            os.remove(copy)


class PowerTest(MachineTest):
    def test_nothing_stored_is_lost(self):
        print(f"\nseed {SEED}, {CUTS} cuts")
        chance = random.Random(SEED)
        machine = self.machine(self.url(), {"allow_insecure_http": True})
        sessions, reported = set(), []
        # Every third acknowledgement is lost, so that a cut meets batches in every state.
        self.backend.drop_ack_every = 3
        for number in range(1, CUTS + 1):
            machine.start()
            machine.wait_status(lambda status: status["gate"]["admitted"] >= 3, "fixes are stored after the boot")
            time_left = time.monotonic() + chance.uniform(1, 20)
            wait_for(lambda: time.monotonic() > time_left, "the moment of the cut", 60)
            machine.cut()
            sessions.add(self.session(machine))
            self.assert_sound(machine)
            told = machine.stored(number)
            reported += told
            print(f"cut {number}: the database is sound; {len(told)} reported stored in this boot, "
                  f"{len(self.received())} received in all", flush=True)
        machine.start()
        machine.wait_status(lambda status: status["gate"]["admitted"] >= 1, "tracking goes on after the last cut")
        self.backend.drop_ack_every = 0
        wait_for(lambda: set(reported) <= self.received(), lambda: f"{len(set(reported) - self.received())} are missing", 300)
        machine.cut()
        sessions.add(self.session(machine))
        self.assertEqual(len(sessions), 1, "one session throughout")
        self.assertEqual(self.backend.faults(), [], "each id in one batch, each batch with one set of bytes")
        self.assert_sound(machine)
        print(f"{machine.boots} boots, {machine.boots} cuts; {len(set(reported))} reported stored, "
              f"{len(self.received())} received, "
              f"{sum(request.duplicate for request in self.backend.requests)} batches sent again with the same bytes, "
              "0 ids in two batches, 0 lost")

    def session(self, machine: virtual.Machine) -> str:
        """The session that the daemon resumed by itself."""
        status = machine.status()
        assert status is not None
        self.assertEqual(status["state"], "tracking")
        self.assertNotIn("storage", status["degraded"])
        return status["session_id"]


@unittest.skipIf(debian.BRIEF, "clock and cable: not in the brief form")
class ClockTest(MachineTest):
    """A box without a clock battery and without network time."""

    # systemd sets such a clock to its own build date. Other boxes do not, so this goes back to the epoch.
    PAST = ("-rtc", "base=1970-01-01T00:00:00")
    FILES = {"etc/systemd/system/past.service":
             "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\n[Service]\nType=oneshot\n"
             "ExecStart=/bin/date --set=1970-01-01T00:01:00Z\n[Install]\nWantedBy=sysinit.target\n"}

    def assert_began_in_1970(self, machine: virtual.Machine):
        self.assertRegex(machine.console(), "clock at the start: 1970-01-01")

    def assert_times_are_true(self):
        requests = list(self.backend.requests)
        for request in requests:
            times = [request.root["sent_at"], *(location["timestamp"] for location in request.root["locations"])]
            for text in times:
                age = time.time() - datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
                self.assertTrue(-60 < age < 1800, f"{text} is {age:.0f} s ago")
            # The first 48 bits of a UUIDv7 are its time.
            self.assertLess(abs(int(request.batch_id.replace("-", "")[:12], 16) / 1000 - time.time()), 1800)
        print(f"{len(requests)} requests, {len(self.received())} locations, all with true times")

    def test_with_only_the_receivers_time(self):
        machine = self.machine(self.url(), {"allow_insecure_http": True}, files=self.FILES, units=("past",))
        machine.start(*self.PAST)
        wait_for(lambda: len(self.received()) >= 10, lambda: f"ten arrive; {machine.status()}; {machine.console()[-1000:]}", 400)
        machine.cut()
        self.assert_began_in_1970(machine)
        self.assert_times_are_true()

    @tls.needs_openssl
    def test_https_waits_for_the_time(self):
        authority = tls.Authority(os.path.join(self.folder, "ca"))
        certificate, key = authority.certificate("backend", names=f"IP:{virtual.HOST}", days=(-2, 30))
        front = tls.Terminator(tls.context(certificate, key), self.backend.port)
        self.addCleanup(front.stop)
        with open(authority.ca, encoding="ascii") as file:
            files = {**self.FILES, **virtual.CHRONY, "etc/ssl/test-ca.pem": file.read()}
        machine = self.machine(front.url(virtual.HOST), {"ca_file": "/etc/ssl/test-ca.pem"}, files=files, units=("past",))
        machine.start(*self.PAST)
        machine.wait_status(lambda status: "clock" in status["degraded"], "the status says that the clock is wrong")
        self.assertEqual(self.received(), set())
        # gpsd knows the time, and chrony sets the clock by it.
        machine.wait_status(lambda status: "clock" not in status["degraded"] and status["sync"]["uploaded"] > 0,
                            "uploads, once the clock has been set", 900)
        machine.cut()
        self.assert_began_in_1970(machine)
        self.assert_times_are_true()
        self.assertEqual(self.backend.faults(), [])


@unittest.skipIf(debian.BRIEF, "clock and cable: not in the brief form")
@unittest.skipUnless("whole" in debian.KERNELS, "the cable is tested on amd64")
class CableTest(MachineTest):
    def test_tracking_goes_on_when_the_cable_is_plugged_in_again(self):
        machine = self.machine(
            self.url(), {"allow_insecure_http": True}, files=virtual.USB, kernel="whole")
        machine.start("-device", "qemu-xhci", "-device", "usb-serial,chardev=receiver,id=cable", receiver=("-serial", "none"))
        session = machine.wait_status(lambda status: status["gate"]["admitted"] >= 3, "fixes are stored")["session_id"]
        machine.tell("device_del cable")
        missed = machine.wait_status(
            lambda status: status["source"]["health"] not in ("ok", "unsettled"), "the receiver is missed")
        before = (machine.status() or missed)["gate"]["admitted"]
        machine.tell("device_add usb-serial,chardev=receiver,id=cable")
        after = machine.wait_status(lambda status: status["gate"]["admitted"] >= before + 3, "fixes are stored again")
        self.assertEqual(after["session_id"], session)
        self.assertEqual(after["state"], "tracking")


if __name__ == "__main__":
    unittest.main()
