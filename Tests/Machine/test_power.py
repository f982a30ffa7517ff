"""Virtual machines: random power cuts while fixes are stored and uploaded, a clock that stood still, an unplugged cable.

BEEKOND_CUTS sets the number of cuts (default 3; 20 is the long form).
"""
from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from datetime import datetime

import debian
import road
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

    def machine(self, url: str, sync: dict | None = None, tracking: dict | None = None, **options) -> virtual.Machine:
        """A machine that tracks from its first start, and stores every fix unless `tracking` says otherwise."""
        every = {"interval_seconds": 0, "distance_meters": 0, "stationary_mode": "keep_tracking"}
        config = {
            "tracking": {"autostart": True, **(every if tracking is None else tracking)},
            "sync": {"url": url, "sync_threshold": 5, "interval_seconds": 60, **(sync or {})}}
        machine = virtual.Machine(self.folder, toml(config), **options)
        self.addCleanup(machine.stop)
        return machine

    def url(self) -> str:
        return self.backend.url.replace("127.0.0.1", virtual.HOST)

    def received(self) -> set:
        return set(self.backend.ids)

    def told(self, machine: virtual.Machine) -> list:
        """What the odometer was said to be in this boot, in metres. It never goes back, not over a power cut either."""
        readings = [line["odometer_meters"] for boot in range(1, machine.boots + 1) for line in machine.lines("tell", boot)
                    if "odometer_meters" in line]
        self.assertEqual(readings, sorted(readings))
        return readings

    def disk(self, machine: virtual.Machine, look):
        """What `look` makes of the state directory as the cut left it. The file system's journal is replayed on a copy: at
        the next boot the machine does that itself."""
        mounted, copy = os.path.join(self.folder, "mounted"), os.path.join(self.folder, "copy")
        os.makedirs(mounted, exist_ok=True)
        subprocess.run(["cp", "--sparse=always", machine.disk, copy], check=True)
        subprocess.run(["mount", "-o", "loop", copy, mounted], check=True)
        try:
            return look(os.path.join(mounted, "var/lib/beekond"))
        finally:
            subprocess.run(["umount", mounted], check=True)
            os.remove(copy)

    def assert_sound(self, machine: virtual.Machine):
        """The database as the cut left it, read by another SQLite."""
        self.disk(machine, self.assert_sound_state)

    def assert_sound_state(self, state: str):
        link = sqlite3.connect(os.path.join(state, "beekon.db"))
        self.assertEqual(link.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        link.close()
        self.assertEqual([name for name in os.listdir(state) if "corrupt" in name or "salvaged" in name], [])


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
            self.told(machine)
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
        readings = self.told(machine)
        self.assertEqual(self.backend.faults(), [], "each id in one batch, each batch with one set of bytes")
        self.assert_sound(machine)
        print(f"{machine.boots} boots, {machine.boots} cuts; {len(set(reported))} reported stored, "
              f"{len(self.received())} received, "
              f"{sum(request.duplicate for request in self.backend.requests)} batches sent again with the same bytes, "
              f"0 ids in two batches, 0 lost; {len(readings)} readings of the odometer up to {readings[-1]} m, none backwards")

    def session(self, machine: virtual.Machine) -> str:
        """The session that the daemon resumed by itself."""
        status = machine.status()
        assert status is not None
        self.assertEqual(status["state"], "tracking")
        self.assertNotIn("storage", status["degraded"])
        return status["session_id"]


@debian.takes_minutes
class OdometerTest(MachineTest):
    """A vehicle that goes on while its machine boots again, five times as fast as life."""

    SPEED_UP = 5
    # Seconds of fix time between two cuts.
    LEAST = 600

    def test_it_is_right_over_cuts(self):
        start = int(time.time())
        machine = self.machine("", tracking={"interval_seconds": 30, "distance_meters": 100}, receiver=(
            sys.executable, os.path.abspath(road.__file__), "{}", str(start), str(self.SPEED_UP)))
        for number in range(1, CUTS + 1):
            machine.start()
            wait_for(lambda: self.driven(machine, start) >= self.LEAST, lambda: f"it drives; {machine.status()}", 900)
            machine.cut()
            print(f"cut {number}: {self.driven(machine, start)} s after the first fix of the boot at speed, "
                  f"the odometer was said to be at {self.told(machine)[-1]} m", flush=True)
        machine.start()
        machine.wait_status(lambda status: status["gate"]["admitted"] >= 5, "tracking goes on after the last cut")
        machine.cut()
        self.told(machine)
        rows, trips = self.disk(machine, self.account)
        way = {moment.second: moment.metres for moment in itertools.islice(road.moments(), 40_000)}
        (first, at_first), (last, at_last) = rows[0], rows[-1]
        truth = way[last // 1000 - start] - way[first // 1000 - start]
        error = (at_last - at_first) / truth - 1
        print(f"odometer over {CUTS} cuts: {truth:.0f} m driven in {(last - first) // 1000} s, error {100 * error:.3f} %, "
              f"{len(self.told(machine))} readings, none backwards")
        self.assertLess(abs(error), 0.005)
        self.assertEqual([metres for _, metres in rows], sorted(metres for _, metres in rows))
        # Each cut ended a trip, at a stored fix; no two of them overlap, and each is as long as the way was.
        self.assertGreaterEqual(len(trips), CUTS)
        for (_, end, _), (begin, _, _) in itertools.pairwise(trips):
            self.assertLessEqual(end, begin)
        for begin, end, metres in trips:
            driven = way[end // 1000 - start] - way[begin // 1000 - start]
            print(f"a trip of {(end - begin) // 1000} s: {metres:.0f} m, {driven:.0f} m in truth")
            self.assertLess(abs(metres - driven), 0.005 * driven + 25)

    def driven(self, machine: virtual.Machine, start: int) -> int:
        """Seconds of fix time in this boot during which the vehicle moved."""
        times = [datetime.fromisoformat(line["location"]["timestamp"].replace("Z", "+00:00")).timestamp()
                 for line in machine.lines("watch") if line.get("location")]
        if not times:
            return 0
        first, last = int(min(times)) - start, int(max(times)) - start
        way = itertools.islice(road.moments(), max(last, 0))
        return sum(1 for moment in way if moment.second >= first and moment.speed > 0.5)

    @staticmethod
    def account(state: str) -> tuple:
        """The locations, as (milliseconds, metres), and the trips that have ended, as (from, to, metres)."""
        with contextlib.closing(sqlite3.connect(os.path.join(state, "beekon.db"))) as link:
            rows = link.execute("SELECT ts, mileage FROM locations ORDER BY ts, seq").fetchall()
            return rows, link.execute("SELECT started_at, ended_at, metres FROM trips ORDER BY started_at").fetchall()


@debian.takes_minutes
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


@debian.takes_minutes
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
