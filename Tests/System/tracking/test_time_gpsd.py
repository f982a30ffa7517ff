"""Odd clocks of receivers through a real gpsd, as far as NMEA can express them."""
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import reference_model
from support.gpsd_client import GPSDClient, send_datagrams
from support.ports import new_port
from support.programs import needs_gpsd
from support.time_test import DAY, SECOND, TimeTest


@needs_gpsd
class RealGPSDTests(TimeTest):
    """What a receiver can say in NMEA, through a real gpsd: the reference model gets what gpsd reported."""

    # Each epoch's seconds from now, and the least number that must be stored.
    SCENARIOS: tuple[tuple[str, list, int], ...] = (
        ("a drive", list(range(12)), 8),
        ("a random time first", [-4e6, -4e6 + 1] + list(range(12)), 8),
        ("back by an hour", list(range(8)) + [second - 3600 for second in range(8)], 9),
        ("ahead by two hours", list(range(8)) + [second + 7200 for second in range(8)], 9),
        ("a second repeated", [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10], 7),
        ("a second back", [0, 1, 2, 3, 4, 5, 5, 4, 5, 6, 7, 8, 9, 10], 7),
        ("frozen", [0, 1, 2, 3, 4, 5] + [5] * 10 + [6, 7, 8], 5),
        ("ten a second", [second / 10 for second in range(60)], 20),
    )

    def test_scenarios(self):
        for name, seconds, least in self.SCENARIOS:
            with self.subTest(name):
                self.compare(seconds, least)

    def compare(self, seconds: list, least: int):
        port, feed = new_port(), new_port()
        gpsd = self.gpsd(port, f"udp://127.0.0.1:{feed}")
        # gpsd has its own idea of dates that are far from today.
        start = int(time.time()) * SECOND - DAY
        daemon, clocks = self.clocked(port, start)
        daemon.start().call("Start")
        client = GPSDClient(port)
        self.assertTrue(client.watching.wait(10))
        daemon.wait_health("no_fix")
        send_datagrams([nmea(start + round(second * SECOND), 50 + index * 1e-4)
              for index, second in enumerate(seconds)], feed, 0.01)
        heard = client.all()
        epochs = reference_model.epochs([reference_model.TimedReport(0, item.report) for item in heard])
        fixes = [epoch for epoch in epochs if epoch.has_fix]
        expected = reference_model.settled(epochs)
        daemon.wait_status(lambda status: status["source"]["fixes"] >= len(fixes) - 1, f"{len(fixes)} fixes read")
        daemon.call("Stop")
        stored = self.times(daemon)
        client.close()
        daemon.kill()
        gpsd.kill()
        self.assertGreaterEqual(len(stored), least, f"of {len(fixes)} fixes")
        self.assertEqual(stored, [epoch.time for epoch in expected], [item.report.get("time") for item in heard])


def nmea(moment: int, latitude: float) -> bytes:
    """One receiver epoch: position, then time, date and speed."""
    clock = time.strftime("%H%M%S", time.gmtime(moment // 1000)) + f".{moment % 1000:03d}"
    date = time.strftime("%d%m%y", time.gmtime(moment // 1000))
    north = f"{int(latitude):02d}{latitude % 1 * 60:07.4f},N"
    return (sentence(f"GPGGA,{clock},{north},00800.0000,E,1,09,0.9,100.0,M,47.0,M,,")
            + sentence("GPGSA,A,3,01,02,03,04,05,06,07,08,09,,,,1.5,0.9,1.2")
            + sentence(f"GPRMC,{clock},A,{north},00800.0000,E,20.0,0.0,{date},,"))


def sentence(body: str) -> bytes:
    sum = 0
    for character in body.encode():
        sum ^= character
    return f"${body}*{sum:02X}\r\n".encode()


if __name__ == "__main__":
    unittest.main()
