"""beekon-sim through a real gpsd. BEEKOND_BIN names the folder of the binaries (default .build/debug)."""
import datetime
import json
import os
import shutil
import socket
import subprocess
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SIMULATOR = os.path.join(os.environ.get("BEEKOND_BIN", os.path.join(ROOT, ".build", "debug")), "beekon-sim")
GPSD = shutil.which("gpsd") or shutil.which("gpsd", path="/usr/sbin")


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@unittest.skipUnless(GPSD and os.access(SIMULATOR, os.X_OK), "needs gpsd and a built beekon-sim")
class SimulatorTests(unittest.TestCase):
    def reports(self, *arguments, count, pty=False):
        """The first TPVs that gpsd makes of a simulated drive, each with the system time of its arrival."""
        port, feed = free_port(socket.SOCK_STREAM), free_port(socket.SOCK_DGRAM)
        target = ["--pty"] if pty else ["--udp", f"127.0.0.1:{feed}"]
        simulator = [SIMULATOR, *target, *arguments]
        if pty:
            device = self.spawn(simulator, stdout=subprocess.PIPE, text=True).stdout.readline().strip()
        else:
            device = f"udp://127.0.0.1:{feed}"
        self.spawn([GPSD, "-N", "-n", "-S", str(port), device], stderr=subprocess.DEVNULL)
        link = self.connect(port)
        link.sendall(b'?WATCH={"enable":true,"json":true};\n')
        if not pty:
            self.spawn(simulator)
        found = []
        for line in link.makefile("r"):
            report = json.loads(line)
            if report["class"] == "TPV" and "time" in report:
                found.append((report, time.time()))
            if len(found) == count:
                break
        return found

    def spawn(self, command, **options):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        self.addCleanup(lambda: process.stdout and process.stdout.close())
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def connect(self, port):
        deadline = time.monotonic() + 10
        while True:
            try:
                link = socket.create_connection(("127.0.0.1", port), 30)
                self.addCleanup(link.close)
                return link
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def check_full(self, report):
        self.assertEqual(report["mode"], 3)
        for name in ("lat", "lon", "eph", "speed", "track", "altHAE"):
            self.assertIn(name, report)
        self.assertAlmostEqual(report["altHAE"] - report["altMSL"], 39.7, places=2)

    def test_udp(self):
        found = self.reports("--rate", "5", count=25)
        for report, arrived in found:
            sent = datetime.datetime.strptime(report["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
            lag = arrived - sent.replace(tzinfo=datetime.UTC).timestamp()
            self.assertTrue(0 <= lag < 1, lag)
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
        slow = self.spawn([SIMULATOR, "--file", "-", "--speed-up", "1e-300"], stdout=subprocess.PIPE, text=True)
        self.assertTrue(slow.stdout.readline().startswith("$"))
        with self.assertRaises(subprocess.TimeoutExpired):
            slow.wait(1)

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
