"""The service on good days and bad: what it writes to the journal, its key, and threads that hang.

BEEKOND_BRIEF=1 leaves out what takes minutes.
"""
from __future__ import annotations

import glob
import os
import re
import signal
import time
import unittest
from typing import NamedTuple

import debian
from service import EVERY_FIX, STATE, Service, need_machines
from support.backend import Backend
from support.daemon import NEVER
from support.fake_gpsd import FakeGPSD
from support.faults import Fault, no_strace
from support.text import match
from support.token_endpoint import Endpoint, Guarded
from support.waiting import never, wait_for

EXAMPLE = "/usr/share/doc/beekond/examples/encrypted-key.conf"
EVENTS = {"source": "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a06", "failed": "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0c",
          "recovered": "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0d"}
# How many lines a day without faults may write, including systemd's own.
MOST_LINES = 20


def setUpModule():
    need_machines()


class Victim(NamedTuple):
    """The daemon in the container, as a fault finds it."""

    directory: str
    state: str
    pid: int


class OperationTest(Service):
    def backend(self, **options) -> Backend:
        backend = Backend(**options).start()
        self.addCleanup(backend.stop)
        return backend

    def gpsd(self, **options) -> FakeGPSD:
        fake = FakeGPSD(**options)
        self.addCleanup(fake.stop)
        return fake

    def lines(self, event: str | None = None) -> list:
        """The service's journal entries since `mark`."""
        entries = self.journal("--after-cursor", self.cursor)
        return [entry["MESSAGE"] for entry in entries if event is None or entry.get("MESSAGE_ID") == EVENTS[event]]

    def lost(self) -> list:
        return [line for line in self.lines("source") if "no connection to gpsd" in line]

    def mark(self):
        self.machine.run("journalctl", "--sync")
        # The cursor of the unit's own entry: after another's, journalctl 252 skips one more.
        text = self.machine.output("journalctl", "-u", "beekond", "-n", "1", "--show-cursor", "--no-pager")
        self.cursor = match(r"cursor: (\S+)", text)[1]

    def drop_in(self, text: str):
        self.machine.run("mkdir", "-p", "/etc/systemd/system/beekond.service.d")
        self.machine.write("/etc/systemd/system/beekond.service.d/test.conf", text)
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "restart", "beekond")

    # The journal.

    def test_the_journal_is_quiet_on_a_good_day(self):
        # An hour at 1 Hz through the default gate; an upload of ten locations covers five minutes.
        backend, gps = self.backend(), self.gpsd(start_ms=int(time.time() - 3700) * 1000)
        self.configure(gpsd={"port": gps.port}, sync={"url": backend.url, "sync_threshold": 10})
        self.machine.run("systemctl", "stop", "beekond")
        self.mark()
        self.machine.run("systemctl", "start", "beekond")
        self.beekonctl("start")
        gps.settle()
        for _ in range(12):
            gps.drive(300)
            before = len(backend.requests)
            wait_for(lambda: len(backend.requests) > before, "an upload every five minutes", 60)
        admitted = self.wait_status(lambda status: status["source"]["fixes"] >= 3601, "all fixes")["gate"]["admitted"]
        self.beekonctl("stop")
        self.wait_status(lambda status: status["sync"]["pending"] == 0, "all acknowledged")
        self.machine.run("systemctl", "stop", "beekond")
        found = self.lines()
        print(f"\n{len(found)} lines for start, one hour with {admitted} locations in {len(backend.requests)} uploads, and stop:")
        print("\n".join(found))
        self.assertLessEqual(len(found), MOST_LINES)
        self.assertEqual(len(backend.ids), admitted)
        self.assertEqual(backend.faults(), [])

    def test_a_fault_and_its_end_are_reported_once(self):
        backend, gps = self.backend(), self.gpsd()
        self.configure(gpsd={"port": gps.port}, tracking=EVERY_FIX, sync={"url": backend.url, "interval_seconds": NEVER})
        self.beekonctl("start")
        gps.settle()
        self.wait_status(lambda status: status["source"]["health"] == "ok", "a fix")
        self.mark()
        gps.stop()
        self.wait_status(lambda status: status["source"]["health"] == "disconnected", "gpsd is missed")
        # It keeps retrying meanwhile.
        never(lambda: len(self.lost()) > 1, "one fault reported twice", 5)
        again = self.gpsd(port=gps.port, start_ms=gps.next_ms)
        for _ in range(3):
            # Each time gpsd returns it goes away again, and each time that is logged once.
            again.wait_watched()
            again.settle()
            self.wait_status(lambda status: status["source"]["health"] == "ok", "a fix again")
            again.drop()
            self.wait_status(lambda status: status["source"]["health"] == "disconnected", "gpsd is missed again")
        wait_for(lambda: len(self.lost()) == 4, lambda: f"one line for each of four losses: {self.lines('source')}")
        self.assertEqual(len(self.lines("source")), 7 + ("has a fix" in self.lines("source")[0]), self.lines("source"))

        self.mark()
        backend.answers = [503] * 3
        for _ in range(3):
            self.beekonctl("sync", check=False)
        self.assertEqual(len(self.lines("failed")), 1, self.lines())
        self.beekonctl("sync")
        self.assertEqual((len(self.lines("failed")), len(self.lines("recovered"))), (1, 1), self.lines())

    # The key of the tokens.

    def auth(self, state: str) -> dict:
        return self.wait_status(lambda status: status["auth"]["state"] == state, f"tokens {state}")

    def upload(self, how: str):
        """One attempt of a freshly started daemon that has something to send."""
        self.wait_status(lambda status: status["sync"]["pending"] >= 1, "one is pending")
        self.beekonctl("sync", check=False)
        self.wait_status(lambda status: status["sync"]["uploaded"] >= 1, f"uploads {how}")

    def test_the_token_key_is_an_encrypted_credential(self):
        endpoint = Endpoint()
        self.addCleanup(endpoint.stop)
        backend = Guarded(endpoint).start()
        self.addCleanup(backend.stop)
        # Exactly as in the example.
        commands = [line[4:] for line in self.machine.output("cat", EXAMPLE).splitlines() if line.startswith("#   ")]
        self.assertGreaterEqual(len(commands), 3)
        self.machine.run("sh", "-e", "-c", f"cd {os.path.dirname(EXAMPLE)}\n" + "\n".join(commands))
        has_tpm = self.machine.run("systemd-creds", "has-tpm2", check=False)[1].split("\n")[0]
        print(f"\nkey of the credential: host key; TPM of this machine: {has_tpm}")
        self.drive()
        self.configure(sync={"url": backend.url}, **{
            "sync.auth": {**endpoint.seed(), "refresh_url": endpoint.url},
            "sync.auth.refresh_payload": {"refresh_token": "{refreshToken}"}})
        self.beekonctl("start")
        self.wait_status(lambda status: status["store"]["locations"] >= 1, "one stored")
        endpoint.expire()
        self.beekonctl("sync")
        self.assertEqual(endpoint.rotations, 1)
        kept = self.machine.output("ls", STATE).split()
        self.assertIn("tokens", kept)
        self.assertNotIn("beekond.key", kept, "no key lies beside the tokens")

        self.machine.run("systemctl", "restart", "beekond")
        self.upload("with the token that was kept")
        self.assertEqual(endpoint.rotations, 1)

        sealed = self.machine.output("sha256sum", f"{STATE}/tokens")
        self.machine.run("mv", "/etc/systemd/system/beekond.service.d", "/etc/away")
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "restart", "beekond")
        self.assertEqual(self.auth("dead")["auth"].get("reason"), "key")
        self.assertEqual(self.machine.output("sha256sum", f"{STATE}/tokens"), sealed, "nothing is overwritten")
        self.machine.run("mv", "/etc/away", "/etc/systemd/system/beekond.service.d")
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "restart", "beekond")
        self.upload("again")
        self.assertEqual(endpoint.rotations, 1)

    # The watchdog.

    def said(self, text: str) -> bool:
        return any(text in entry.get("MESSAGE", "") for entry in self.journal("-n", "50"))

    def victim(self) -> Victim:
        """The daemon as seen from outside, where faults are injected."""
        inside = self.main_pid()
        for path in glob.glob("/proc/[0-9]*/status"):
            try:
                with open(path, encoding="ascii", errors="replace") as file:
                    found = re.search(r"^NSpid:\t(\d+)(?:\t\d+)*\t(\d+)$", text := file.read(), re.M)
            except OSError:
                continue
            if found and int(found[2]) == inside and text.startswith("Name:\tbeekond\n"):
                return Victim(self.folder, STATE, int(found[1]))
        raise AssertionError(f"process {inside} of the machine is not seen from outside")

    @unittest.skipIf(no_strace(), no_strace())
    def test_a_slow_sync_is_no_hang(self):
        self.drop_in("[Service]\nWatchdogSec=5s\n")
        self.drive()
        self.beekonctl("start")
        stored = self.wait_status(lambda status: status["store"]["locations"] >= 1, "one stored")["store"]["locations"]
        pid = self.main_pid()
        with Fault(self.victim(), "fdatasync", "delay_enter=12000000") as fault:
            wait_for(lambda: fault.injected(), "a sync is held up", 60)
            never(lambda: self.main_pid() != pid, "it is restarted while the disk is slow", 11)
        self.wait_status(lambda status: status["store"]["locations"] > stored, "more are stored")
        self.assertEqual((self.main_pid(), self.property("NRestarts")), (pid, "0"))

    @unittest.skipIf(no_strace(), no_strace())
    @debian.takes_minutes
    def test_a_hung_thread_causes_a_restart(self):
        self.drop_in("[Service]\nWatchdogSec=10s\nTimeoutAbortSec=5s\n")
        self.drive()
        self.beekonctl("start")
        session = self.wait_status(lambda status: status["store"]["locations"] >= 1, "one stored")["session_id"]
        pid = self.main_pid()
        began = time.monotonic()
        with Fault(self.victim(), "fdatasync", "delay_enter=900000000") as fault:
            wait_for(lambda: self.said("Watchdog timeout"), "systemd's watchdog acts", 300)
            fault.end(signal.SIGKILL)
            wait_for(lambda: self.main_pid() != pid, "it is restarted", 60)
        seconds = time.monotonic() - began
        self.wait_new_process(pid)
        self.wait_status(lambda status: status["session_id"] == session and status["store"]["locations"] >= 3,
                         "the same session goes on")
        self.assertTrue(self.said("stuck for two minutes: reader"))
        print(f"\na hung thread was restarted after {seconds:.0f} s")
        self.assertGreater(seconds, 110)


if __name__ == "__main__":
    unittest.main()
