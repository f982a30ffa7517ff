"""Recordings of real receivers, through a real gpsd: the stored rows are those that the rules demand, bit for bit.

The recordings are not part of the project: BEEKOND_GNSS_LOGS names their folder.
"""
import json
import os
import socket
import threading
import time
import unittest

import rules
from harness import SystemTest, free_port, needs_gpsd, wait_for

LOGS = os.environ.get("BEEKOND_GNSS_LOGS")

# Recording, bytes in a binary packet (None: a sentence each), seconds between two, gate interval and distance, and how
# many rows there must be at least, so that a recording that gpsd does not understand is noticed.
RECORDINGS = [
    ("nmea-rtk.log", None, 0.004, 0.3, 0.1, 10),
    ("skytraq-dgps.log", None, 0.002, 2, 0.05, 10),
    ("telit-he910.log", None, 0.002, 3, 0.5, 10),
    ("sirfstarv.log", 200, 0.008, 2, 0.02, 10),
    ("quectel-l76k-nmea.log", None, 0.002, 0.4, 0, 10),
    ("ublox-neo-m8l.log", 200, 0.008, 1, 2, 5),
]


class Ears(threading.Thread):
    """A client of gpsd of our own, which notes when each report came."""

    def __init__(self, port: int):
        super().__init__(daemon=True)
        self.heard: list = []
        self.watching = threading.Event()
        self._link = socket.create_connection(("127.0.0.1", port))
        self._link.sendall(b'?WATCH={"enable":true,"json":true};\n')
        self.start()

    def run(self):
        for line in self._link.makefile("r"):
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            report = json.loads(line)
            if report["class"] == "WATCH":
                self.watching.set()
            if report["class"] == "TPV":
                self.heard.append(rules.Heard(now, report))

    def close(self):
        self._link.shutdown(socket.SHUT_RDWR)
        self.join()
        self._link.close()


def pieces(content: bytes, size) -> list:
    """A recording in the portions in which a receiver would send it; the comments at its beginning left out."""
    while content.startswith(b"#"):
        content = content.split(b"\n", 1)[1]
    if size is None:
        return [line for line in content.splitlines(keepends=True) if not line.startswith(b"#")]
    return [content[start:start + size] for start in range(0, len(content), size)]


@needs_gpsd
class ReplayTests(SystemTest):
    def setUp(self):
        if not LOGS:
            print("replay skipped: BEEKOND_GNSS_LOGS names no folder with recordings")
            self.skipTest("BEEKOND_GNSS_LOGS is not set")
        super().setUp()

    def test_stored_rows_are_those_the_rules_demand(self):
        totals = {"too_soon": 0, "too_near": 0, "merged": 0}
        for recording in RECORDINGS:
            with self.subTest(recording[0]):
                for name, count in self.replay(*recording).items():
                    totals[name] += count
        # Each rule must have had something to decide, or this test proves little.
        for name, count in totals.items():
            self.assertGreater(count, 20, name)

    def replay(self, name, size, pause, interval, meters, least) -> dict:
        port, feed = free_port(), free_port(socket.SOCK_DGRAM)
        gpsd = self.gpsd(port, f"udp://127.0.0.1:{feed}")
        daemon = self.daemon(
            port, gpsd={"replay": True}, tracking={"interval_seconds": interval, "distance_meters": meters}).start()
        daemon.call("Start")
        # Both must hear the same from the first report on. gpsd has told the daemon of its device in answer to ?WATCH.
        ears = Ears(port)
        self.assertTrue(ears.watching.wait(10))
        daemon.wait_health("no_fix")
        with open(os.path.join(LOGS, name), "rb") as file:
            self.send(pieces(file.read(), size), feed, pause)
        heard = self.all_heard(ears)
        epochs = rules.epochs(heard)
        fixes = [epoch for epoch in epochs if epoch.has_fix]
        expected, too_soon, too_near = rules.admitted(rules.settled(epochs), interval, meters)
        # The last epoch is closed by the end of tracking at the latest.
        daemon.wait_status(lambda status: status["source"]["fixes"] >= len(fixes) - 1, f"{len(fixes)} fixes read")
        daemon.call("Stop")
        status = daemon.status()
        stored = daemon.query(
            "SELECT ts, lat, lng, accuracy, speed, bearing, altitude FROM locations ORDER BY seq")
        daemon.kill()
        ears.close()
        gpsd.kill()
        self.assertGreaterEqual(len(expected), least, f"{name}: {len(heard)} reports, {len(fixes)} fixes")
        self.assertEqual(stored, [epoch.row for epoch in expected])
        self.assertEqual(status["source"]["fixes"], len(fixes))
        gate = status["gate"]
        self.assertEqual((gate["admitted"], gate["too_soon"], gate["too_near"]), (len(expected), too_soon, too_near))
        self.assertEqual(status["source"]["rollovers"], 0)
        merged = sum("time" in item.report for item in heard) - len(epochs)
        return {"too_soon": too_soon, "too_near": too_near, "merged": merged}

    @staticmethod
    def send(portions: list, feed: int, pause: float):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            due = time.monotonic()
            for portion in portions:
                link.sendto(portion, ("127.0.0.1", feed))
                due += pause
                time.sleep(max(0, due - time.monotonic()))  # the pace of the replay, waiting for nothing

    @staticmethod
    def all_heard(ears: Ears) -> list:
        """Everything gpsd says of it: until half a second has passed without a report."""
        def silent():
            return ears.heard and time.clock_gettime(time.CLOCK_BOOTTIME) - ears.heard[-1].now > 0.5

        wait_for(silent, "gpsd has said everything")
        return list(ears.heard)


if __name__ == "__main__":
    unittest.main()
