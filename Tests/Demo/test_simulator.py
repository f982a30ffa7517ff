"""beekon-sim through a real gpsd. BEEKOND_BIN names the folder of the binaries (default .build/debug)."""
import json
import socket
import subprocess
import sys
import time
import unittest
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "System"))

from support.ports import new_port
from support.programs import needs_gpsd, program
from support.system_test import SystemTest
from support.waiting import PATIENCE, let_pass, wait_for

SIMULATOR = program("beekon-sim")


@needs_gpsd
class SimulatorTests(SystemTest):
    def reports(self, *arguments, count, pty=False):
        """The first TPVs that gpsd makes of a simulated drive, each with the system time of its arrival."""
        port, feed = new_port(), new_port()
        if pty:
            simulator = self.child([SIMULATOR, "--pty", *arguments], "beekon-sim")
            device = wait_for(lambda: simulator.text().partition("\n")[0], "the name of its device")
        else:
            device = f"udp://127.0.0.1:{feed}"
        self.gpsd(port, device)
        link = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.addCleanup(link.close)
        link.sendall(b'?WATCH={"enable":true,"json":true};\n')
        if not pty:
            self.simulator(feed, *arguments)
        found = []
        for line in link.makefile("r"):
            report = json.loads(line)
            if report["class"] == "TPV" and "time" in report:
                found.append((report, time.time()))
            if len(found) == count:
                break
        return found

    def check_full(self, report):
        self.assertEqual(report["mode"], 3)
        for name in ("lat", "lon", "eph", "speed", "track", "altHAE"):
            self.assertIn(name, report)
        self.assertAlmostEqual(report["altHAE"] - report["altMSL"], 39.7, places=2)

    def test_udp(self):
        found = self.reports("--rate", "5", count=25)
        for report, arrived in found:
            # At the moment of which it speaks, to the milliseconds that it has.
            lag = arrived - datetime.fromisoformat(report["time"]).timestamp()
            self.assertTrue(0 <= lag < 0.001, lag)
        self.check_full(found[-1][0])
        # gpsd needs a moment to learn which sentence ends an epoch; from then on it is one TPV each.
        times = [report["time"] for report, _ in found[5:]]
        self.assertEqual(len(times), len(set(times)))

    def test_pty(self):
        self.check_full(self.reports("--rate", "2", count=12, pty=True)[-1][0])

    def test_lost_sky_and_mark(self):
        found = self.reports("--rate", "10", "--lose-sky", "2-3", "--mark", count=60)
        modes = [report["mode"] for report, _ in found]
        self.assertIn(1, modes)
        self.assertEqual(modes[-1], 3)
        self.assertTrue(all("lat" not in report for report, _ in found if report["mode"] == 1))
        self.assertEqual(found[-1][0]["status"], 8)

    def test_southern_start_and_speed_up(self):
        found = self.reports("--speed-up", "10", "--talker", "gn", "--at", "-33.8,151.2", count=40)
        report = found[-1][0]
        self.check_full(report)
        self.assertAlmostEqual(report["lat"], -33.8, places=1)
        self.assertAlmostEqual(report["lon"], 151.2, places=1)

    def test_arbitrarily_slow(self):
        """The second epoch is never reached, whatever the factor makes of its deadline."""
        slow = self.child([SIMULATOR, "--file", "-", "--speed-up", "1e-300"], "slow")
        wait_for(slow.text, "the first epoch")
        first = slow.text()
        self.assertTrue(first.startswith("$"))
        let_pass(86_400)
        self.assertEqual((slow.running, slow.text()), (True, first))

    def test_same_seed_and_start_same_bytes(self):
        command = [SIMULATOR, "--file", "-", "--start", "2026-06-15T12:00:00Z", "--duration", "600", "--seed", "8"]
        first, second = (subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(first.count(b"RMC"), 600)

    def test_exit_codes(self):
        for arguments, code in [
            ([], 64), (["--file", "-", "--rate", "11"], 64), (["--file", "-", "--lose-sky", "9-3"], 64),
            (["--udp", "127.0.0.1"], 64), (["--file", "/nowhere/x", "--duration", "1"], 73),
            (["--file", "/dev/full", "--duration", "1"], 74), (["--help"], 0),
        ]:
            with self.subTest(arguments):
                done = subprocess.run([SIMULATOR, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, code)


if __name__ == "__main__":
    unittest.main()
