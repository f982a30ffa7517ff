"""The package in a machine with systemd as process 1: installed, controlled, rebooted, killed, upgraded, removed."""
from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import container
import debian
from service import STATE, Service, need_machines
from support.backend import Backend
from support.text import match
from support.waiting import wait_for


def setUpModule():
    need_machines()


class ServiceTest(Service):
    def test_is_ready_before_any_fix(self):
        self.assertEqual(self.property("ActiveState"), "active")
        self.assertEqual(self.status()["state"], "idle")
        self.assertEqual(self.property("User"), "beekond")

    def test_is_hardened_as_the_unit_says(self):
        line = self.machine.output("systemd-analyze", "security", "--no-pager", "beekond.service").strip().splitlines()[-1]
        print("\n" + line)
        self.assertLessEqual(float(match(r"([0-9.]+) [A-Z]+", line)[1]), 1.5)
        found = self.machine.output("sh", "-c", f"grep -h '^Seccomp:\\|^CapEff\\|^NoNewPrivs' /proc/{self.main_pid()}/status")
        self.assertRegex(found, r"CapEff:\s+0000000000000000")
        self.assertRegex(found, r"NoNewPrivs:\s+1")
        self.assertRegex(found, r"Seccomp:\s+2")
        self.assertEqual(self.machine.output("stat", "-c", "%U:%G %a", "/etc/beekond/beekond.toml").strip(), "root:beekond 640")
        self.assertEqual(self.machine.output("stat", "-c", "%U:%G %a", STATE).strip(), "beekond:beekond 700")
        self.assertEqual(
            self.machine.output("stat", "-c", "%U:%G %a", "/run/beekond/beekond.sock").strip(), "beekond:beekon 660")

    def test_rights_go_by_group(self):
        for verb in ("status", "start"):
            code, _, errors = self.beekonctl(verb, user="bob", check=False)
            self.assertEqual(code, 77, errors)
            self.assertIn("usermod -aG beekon", errors, "the error names the group to join")
        self.assertEqual(self.status()["state"], "idle")
        self.assertEqual(self.beekonctl("start")[0], 0)
        self.assertEqual(self.status()["state"], "tracking")
        code, _, errors = self.beekonctl("delete", "--yes", check=False)
        self.assertEqual(code, 77, errors)
        self.assertEqual(self.beekonctl("delete", "--yes", user="carol")[0], 0)
        self.assertEqual(self.beekonctl("delete", "--yes", user="root")[0], 0)

    def test_a_session_survives_restart_kill_and_reboot(self):
        self.drive()
        self.beekonctl("start")
        session = self.wait_status(lambda status: status["store"]["locations"] >= 3, "three stored")["session_id"]
        before = self.main_pid()
        self.machine.run("systemctl", "restart", "beekond")
        self.assertNotEqual(self.main_pid(), before)
        self.assertEqual(self.status()["session_id"], session)

        before = self.main_pid()
        self.machine.run("kill", "-KILL", str(before))
        self.wait_new_process(before)
        self.wait_status(lambda status: status["session_id"] == session, "the same session after SIGKILL")

        self.machine.reboot()
        self.machine.run("systemctl", "start", "receiver")
        stored = self.wait_status(lambda status: status["session_id"] == session, "the same session after a reboot")
        more = stored["store"]["locations"] + 3
        self.wait_status(lambda status: status["store"]["locations"] >= more, "more fixes after the reboot")

    def test_a_stop_survives_a_reboot(self):
        self.beekonctl("start")
        self.beekonctl("stop")
        self.machine.reboot()
        self.assertEqual(self.wait_status(lambda status: True, "an answer")["state"], "stopped")

    def test_the_watchdog_restarts_what_hangs(self):
        # A stopped process sends no watchdog pings. The unit allows three minutes; the test uses three seconds.
        self.machine.run("mkdir", "-p", "/etc/systemd/system/beekond.service.d")
        self.machine.write("/etc/systemd/system/beekond.service.d/test.conf", "[Service]\nWatchdogSec=3s\n")
        self.machine.run("systemctl", "daemon-reload")
        self.machine.run("systemctl", "restart", "beekond")
        self.drive()
        self.beekonctl("start")
        session = self.status()["session_id"]
        before = self.main_pid()
        self.machine.run("kill", "-STOP", str(before))
        self.wait_new_process(before)
        self.wait_status(lambda status: status["session_id"] == session, "the same session after the watchdog")
        self.assertTrue(any("watchdog" in entry.get("MESSAGE", "").lower() for entry in self.journal("-n", "50")))

    def test_reload_accepts_good_and_refuses_bad_files(self):
        self.configure(tracking={"interval_seconds": 7})
        wait_for(lambda: self.interval() == 7, "the new interval")
        self.machine.write("/etc/beekond/beekond.d/tracking.toml", "[tracking]\ninterval_secnds = 8\n")
        self.machine.run("systemctl", "reload", "beekond")
        self.wait_status(lambda status: "config" in status["degraded"], "the status says that the file is bad")
        self.assertEqual(self.interval(), 7)
        self.assertTrue(any("interval_seconds" in entry["MESSAGE"] for entry in self.journal("-n", "20")))

    def test_what_only_a_human_can_fix_is_not_restarted(self):
        """A bad configuration, with no earlier good one."""
        self.machine.run("systemctl", "stop", "beekond")
        self.machine.run("sh", "-c", f"rm -rf {STATE}/*")
        self.machine.write("/etc/beekond/beekond.d/bad.toml", "[tracking]\ninterval_secnds = 8\n")
        self.machine.run("systemctl", "start", "beekond", check=False)
        wait_for(lambda: self.property("ActiveState") == "failed", "it gives up")
        self.assertEqual((self.property("ExecMainStatus"), self.property("NRestarts")), ("78", "0"))
        self.machine.run("rm", "/etc/beekond/beekond.d/bad.toml")
        self.machine.run("systemctl", "start", "beekond")
        self.assertEqual(self.status()["state"], "idle")

    def test_stops_within_two_seconds_with_a_black_hole_for_a_server(self):
        hole = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.addCleanup(hole.close)
        self.drive()
        self.configure(sync={"url": f"http://127.0.0.1:{hole.getsockname()[1]}/"})
        self.beekonctl("start")
        self.wait_status(lambda status: status["store"]["locations"] >= 2, "two stored")
        self.beekonctl("sync", "--no-wait")
        self.wait_status(lambda status: status["sync"]["state"] == "uploading", "a request that gets no answer")
        began = time.monotonic()
        self.machine.run("systemctl", "stop", "beekond")
        if not debian.BRIEF:
            self.assertLess(time.monotonic() - began, 2.5, "two seconds, and what starting systemctl takes")
        self.assertEqual(self.property("Result"), "success")

    def test_the_journal_has_fields_and_explanations(self):
        self.beekonctl("start")
        session = self.status()["session_id"]
        entry = wait_for(lambda: [entry for entry in self.journal("-n", "30") if entry.get("BEEKOND_SESSION") == session],
                         "an entry with the session")[0]
        self.assertRegex(entry["MESSAGE_ID"], "^[0-9a-f]{32}$")
        self.assertEqual(entry["SYSLOG_IDENTIFIER"], "beekond")
        text = self.machine.output("journalctl", "-x", "-u", "beekond", "-n", "5", "--no-pager")
        self.assertIn("Tracking has been started", text)
        self.assertIn(session, text)

    def test_metrics_are_written_for_node_exporter_once_that_is_enabled(self):
        folder = "/var/lib/prometheus/node-exporter"
        self.assertEqual(
            self.machine.run("systemctl", "is-enabled", "beekond-metrics.timer", check=False)[1].strip(), "disabled")
        self.machine.run("mkdir", "-p", folder)
        self.machine.run("systemctl", "start", "beekond-metrics.timer")
        self.addCleanup(self.machine.run, "systemctl", "stop", "beekond-metrics.timer")

        def text() -> str:
            return self.machine.output("sh", "-c", f"cat {folder}/*.prom 2>/dev/null || true")

        wait_for(lambda: "beekond_up 1\n" in text(), lambda: self.machine.output(
            "journalctl", "-u", "beekond-metrics", "-n", "20", "--no-pager"))
        self.assertIn("beekond_store_rows 0\n", text())
        self.assertEqual(self.machine.output("sh", "-c", f"stat -c %a {folder}/beekond.prom").strip(), "644")
        self.machine.run("systemctl", "stop", "beekond")
        self.machine.run("systemctl", "start", "beekond-metrics.service")
        self.assertEqual([line for line in text().splitlines() if not line.startswith("#")], ["beekond_up 0"])
        self.machine.run("systemctl", "start", "beekond")
        line = self.machine.output("systemd-analyze", "security", "--no-pager", "beekond-metrics.service")
        self.assertLessEqual(float(match(r"([0-9.]+) [A-Z]+", line.strip().splitlines()[-1])[1]), 1.5)

    def test_the_stages_of_an_upload_are_in_the_journal_at_debug(self):
        backend = Backend().start()
        self.addCleanup(backend.stop)
        self.drive()
        self.configure(sync={"url": backend.url})
        self.beekonctl("config", "set", "log.level=debug", user="root")
        self.beekonctl("start")
        self.wait_status(lambda status: status["store"]["locations"] >= 1, "one stored")
        self.beekonctl("sync")
        batch = backend.requests[0].batch_id

        def stages() -> list:
            return [entry["BEEKOND_STAGE"] for entry in self.journal(f"BEEKOND_BATCH={batch}") if "BEEKOND_STAGE" in entry]

        wait_for(lambda: stages() == ["frozen", "post", "answer", "acknowledged"], lambda: str(stages()))

    def test_uploads_from_within_the_unit(self):
        backend = Backend().start()
        self.addCleanup(backend.stop)
        self.drive()
        self.configure(sync={"url": backend.url})
        self.beekonctl("start")
        self.wait_status(lambda status: status["store"]["locations"] >= 3, "three stored")
        self.beekonctl("sync")
        self.beekonctl("stop")
        self.wait_status(lambda status: status["sync"]["pending"] == 0, "all acknowledged")
        self.assertGreaterEqual(sum(len(request.ids) for request in backend.requests), 3)
        self.assertEqual(backend.faults(), [])


class PackageTest(unittest.TestCase):
    """Upgrade, removal and purge, in a separate machine."""

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="beekond-machine-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.machine = container.Container(folder)
        self.addCleanup(self.machine.stop)
        self.folder = folder
        self.machine.boot()

    def previous(self) -> str:
        """The same package under an earlier version."""
        unpacked = os.path.join(self.folder, "unpacked")
        subprocess.run(["dpkg-deb", "--raw-extract", debian.package(), unpacked], check=True)
        control = os.path.join(unpacked, "DEBIAN", "control")
        with open(control, encoding="utf-8") as file:
            text = re.sub(r"^Version: .*$", "Version: 0.0.1", file.read(), flags=re.M)
        with open(control, "w", encoding="utf-8") as file:
            file.write(text)
        path = os.path.join(self.folder, "beekond_0.0.1.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", unpacked, path], check=True,
                       stdout=subprocess.DEVNULL)
        return path

    def state(self) -> str:
        return self.machine.output("sh", "-c", f"cat {STATE}/intent.json {STATE}/identity.json")

    def test_upgrade_remove_purge(self):
        machine = self.machine
        machine.install(self.previous())
        machine.run("beekonctl", "start")
        machine.write("/etc/beekond/beekond.toml", "[tracking]\ninterval_seconds = 11\n", 0o640)
        before = self.state()
        pid = machine.output("systemctl", "show", "--value", "-p", "MainPID", "beekond")

        machine.install(debian.package())
        self.assertEqual(machine.output("systemctl", "is-active", "beekond").strip(), "active")
        self.assertNotEqual(machine.output("systemctl", "show", "--value", "-p", "MainPID", "beekond"), pid, "restarted")
        self.assertEqual(self.state(), before)
        status = json.loads(machine.output("beekonctl", "status", "--json"))
        self.assertEqual(status["state"], "tracking")
        self.assertIn(status["session_id"], before)
        self.assertIn("interval_seconds = 11", machine.read("/etc/beekond/beekond.toml"))

        machine.run("apt-get", "-qq", "remove", "-y", "beekond")
        self.assertEqual(self.state(), before, "removal keeps the state")
        self.assertFalse(os.path.exists(machine.path + "/usr/bin/beekond"))
        machine.install(debian.package())
        self.assertEqual(json.loads(machine.output("beekonctl", "status", "--json"))["session_id"], status["session_id"])

        # As beekonctl enroll leaves them.
        for name in ("50-server.toml", "50-server.toml.before", "50-server-second.toml", "server-key.pem"):
            machine.write(f"/etc/beekond/beekond.d/{name}", "# of the server\n", 0o640)
        machine.run("beekonctl", "enroll", "--format", "osmand", "https://traccar.example.org/", "--name", "van1", check=False)
        self.assertIn("traccar.example.org", machine.read("/etc/beekond/beekond.d/50-osmand.toml"))
        machine.run("apt-get", "-qq", "purge", "-y", "beekond")
        self.assertFalse(os.path.exists(machine.path + STATE))
        self.assertFalse(os.path.exists(machine.path + "/etc/beekond"))
        self.assertEqual(machine.output("find", "/etc/systemd", "/var/lib/systemd", "-name", "*beekond*").strip(), "")


if __name__ == "__main__":
    unittest.main()
