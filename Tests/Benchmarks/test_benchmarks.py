"""The benchmark's own arithmetic: its measurements, its targets, its verdict on a soak test, and its report."""
import gzip
import io
import os
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "System"))

import drive
import figures_memory
import figures_upload
import report
from link import Shape, Wire
from measuring import Meter, Row, interleaved, number, percentile
from support.nightly import nightly
from support.waiting import wait_for
from verdict import away, slope, verdict

# Sleeps ten times, then uses CPU until it is told to stop.
SLEEPER = """
import sys, time
sys.stdin.readline()
for _ in range(10): time.sleep(0.01)
print("slept", flush=True)
sys.stdin.readline()
room = bytearray(20_000_000)
end = time.process_time() + 0.3
while time.process_time() < end: pass
print("worked", flush=True)
sys.stdin.readline()
"""


class RowTests(unittest.TestCase):
    def test_the_median_decides(self):
        self.assertTrue(Row("f", "s", [1, 9, 2], "p", [1, 1, 1], ratio_target=2).is_met)
        self.assertFalse(Row("f", "s", [3, 1, 3], "p", [1, 1, 1], ratio_target=2).is_met)
        self.assertTrue(Row("f", "s", [1, 2, 30], target=2).is_met)
        self.assertFalse(Row("f", "s", [3, 3, 1], target=2).is_met)

    def test_both_targets_must_be_met(self):
        self.assertFalse(Row("f", "s", [3], "p", [3], ratio_target=1, target=2).is_met)
        self.assertFalse(Row("f", "s", [1], "p", [0.5], ratio_target=1, target=2).is_met)

    def test_without_a_target_or_a_value_nothing_is_said(self):
        self.assertIsNone(Row("f", "s", [3], "p", [1]).is_met)
        self.assertIsNone(Row("f", "s", [], target=2).is_met)

    def test_ratios_are_of_runs_in_turn(self):
        self.assertEqual(Row("f", "s", [2, 9], "p", [1, 3]).ratios, [2, 3])
        calls: list = []

        def call(name: str) -> int:
            calls.append(name)
            return len(calls)

        mine, theirs = interleaved(2, lambda: call("a"), lambda: call("b"))
        self.assertEqual((mine, theirs, calls), ([1, 3], [2, 4], ["a", "b", "a", "b"]))

    def test_cells(self):
        row = Row("f", "MB", [1, 2, 6], "p", [1, 1, 2], 1.5, 4)
        self.assertEqual(row.cells(), ["f", "2.00 MB", "p", "1.00 MB", "1.00 / 2.00 / 3.00", "≤ 1.5 ×, 4 MB", "MISSED"])
        self.assertEqual(Row("f", "MB", [], target=4, note="left out").cells()[-1], "left out")

    def test_numbers(self):
        self.assertEqual([number(value) for value in (0, 0.0123, 1.234, 12.34, 123.4, 12345)],
                         ["0", "0.012", "1.23", "12.3", "123", "12,345"])
        self.assertEqual([percentile(list(range(100, 0, -1)), part) for part in (0.5, 0.99, 1)], [51, 100, 100])


class ReportTests(unittest.TestCase):
    ROWS = [Row("a", "s", [1.0, 2.0], "p", [1.0, 1.0], 1.5, 3), Row(".deb", "MB", [], target=6, note="left out: why")]
    FACTS = {"date": "2030-01-01", "version": "9", "machine": "m", "system": "s", "disk": "d", "runs": 2, "load": 0.25}

    def test_what_is_recorded_reads_back(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(report.record(self.ROWS, self.FACTS))
            file.flush()
            rows, facts = report.read(file.name)
        self.assertEqual((rows, facts), (self.ROWS, self.FACTS))

    def test_the_tables_name_every_row(self):
        for text in (report.table(self.ROWS), report.markdown(self.ROWS, self.FACTS)):
            lines = [line for line in text.splitlines() if "1.50" in line or ".deb" in line]
            self.assertEqual(len(lines), 2)
            self.assertIn("1.00 / 1.50 / 2.00", lines[0])
            self.assertIn("left out: why", lines[1])

    def test_only_its_part_of_a_file_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "BENCH.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
            report.write_into(path, "new")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n")


@nightly
class MeterTests(unittest.TestCase):
    def test_a_process_is_measured(self):
        child = subprocess.Popen([sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 bufsize=1)
        assert child.stdin and child.stdout
        orders, words = child.stdin, child.stdout

        def step(word: str):
            orders.write("\n")
            self.assertEqual(words.readline().strip(), word)

        try:
            meter = Meter(child.pid)
            # It waits for a line.
            meter.wait_quiet(0.1)
            wakeups, cpu, memory = meter.wakeups(), meter.cpu(), meter.memory()
            step("slept")
            # Ten for the sleeps. One more when it waits for a line again, which it may not do yet, and occasionally one for a
            # lock in the kernel.
            self.assertIn(meter.wakeups() - wakeups, range(10, 20))
            self.assertLess(meter.cpu() - cpu, 100e6)
            step("worked")
            self.assertGreaterEqual(meter.cpu() - cpu, 300e6)
            grown = meter.memory()
            self.assertLess(abs(grown["anonymous"] - memory["anonymous"] - 20), 0.3)
            self.assertGreater(grown["resident"], grown["anonymous"])
            self.assertEqual(meter.descriptors(), 3)
            orders.close()
            # It has ended, but was not reaped.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            with self.assertRaisesRegex(RuntimeError, "has ended"):
                meter.wait_quiet(0.1)
        finally:
            child.kill()
            child.wait()
            words.close()

    def test_the_peak_is_kept(self):
        class Known(Meter):
            looks = 0

            def __init__(self):
                """Measures no process."""

            def memory(self):
                self.looks += 1
                resident, anonymous = {1: (5.0, 1.0), 2: (9.0, 2.0)}.get(self.looks, (4.0, 3.0))
                return {"resident": resident, "anonymous": anonymous}

        meter = Known()
        watch = figures_memory.Watch(meter)
        # By the fourth look the third has been recorded.
        wait_for(lambda: meter.looks > 3, "four looks")
        self.assertEqual(watch.end(), {"resident": 9.0, "anonymous": 3.0})


class DriveTests(unittest.TestCase):
    def test_reports_are_as_long_as_those_of_gpsd(self):
        for line in drive.parked(200, 1_800_000_000_000, 500):
            self.assertIn(len(line), range(350, 430))
            self.assertTrue(line.startswith(b'{"class":"TPV",') and line.endswith(b"}\r\n"))

    def test_degrees(self):
        self.assertAlmostEqual(drive.degrees("5230.600", "N"), 52.51)
        self.assertAlmostEqual(drive.degrees("01322.656", "W"), -13.3776)

    def test_the_wire_is_compared_with_gzip(self):
        body = b"".join(b'{"latitude":%.9f}' % (index ** 0.5) for index in range(200))
        with tempfile.NamedTemporaryFile() as file:
            packed = gzip.compress(body, 1)
            file.write(struct.pack("=I", len(packed)) + packed)
            file.flush()
            row = figures_upload.wire(file.name)
        self.assertEqual((row.ours, row.peer), ([len(packed) / 200], [len(gzip.compress(body, 9)) / 200]))


class WireTests(unittest.TestCase):
    @staticmethod
    def packet(payload: int, options: int = 12) -> bytes:
        """Of TCP over IPv4, with so many bytes in it."""
        tcp = bytes(12) + bytes(((20 + options) // 4 << 4, 0)) + bytes(6 + options)
        return bytes((0x45,)) + bytes(8) + bytes((6,)) + bytes(10) + tcp + bytes(payload)

    def test_every_byte_counts_once(self):
        wire = Wire(Shape())
        for payload in (0, 100, 1448):
            wire.send(self.packet(payload), False, 0)
        self.assertEqual((wire.up.packets, wire.up.link, wire.up.tcp, wire.up.useful),
                         (3, 3 * 52 + 1548, 1548, 2 * 52 + 1548))
        # A datagram, which has no bytes within TCP.
        wire.send(bytes((0x45,)) + bytes(8) + bytes((17,)) + bytes(30), True, 0)
        self.assertEqual((wire.down.packets, wire.down.link, wire.down.tcp), (1, 40, 0))

    def test_packets_queue_for_the_rate_and_then_take_the_delay(self):
        wire = Wire(Shape(delay=0.04, rate=1e6))
        packet = self.packet(1198)  # 1,250 bytes: 10 ms at 1 Mbit/s
        self.assertEqual([round(wire.send(packet, False, 5) or 0, 6) for _ in range(3)], [5.05, 5.06, 5.07])
        self.assertAlmostEqual(wire.send(packet, True, 5) or 0, 5.05, msg="the other direction is free")
        self.assertAlmostEqual(wire.send(packet, False, 6) or 0, 6.05)

    def test_what_is_lost_has_been_sent(self):
        wire = Wire(Shape(loss=0.01))
        lost = sum(wire.send(self.packet(100), False, 0) is None for _ in range(10_000))
        self.assertIn(lost, range(60, 140))
        self.assertEqual((wire.up.tcp, wire.up.useful), (1_000_000, (10_000 - lost) * 152))


class BrokerTests(unittest.TestCase):
    def test_lengths(self):
        for data, length in ((b"\x00", 0), (b"\x7f", 127), (b"\x80\x01", 128), (b"\xff\x7f", 16_383), (b"", 0)):
            self.assertEqual(figures_memory.remaining_length(io.BytesIO(data)), length)

    def test_a_client_is_answered(self):
        with figures_memory.Broker() as broker, socket.create_connection(("127.0.0.1", broker.port), 10) as link:
            link.sendall(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x3c\x00\x00")
            self.assertEqual(link.recv(16), b"\x20\x02\x00\x00")
            # One with QoS 0, which is not acknowledged, and one with QoS 1.
            link.sendall(b"\x30\x05\x00\x01tXY" + b"\x32\x06\x00\x01t\x12\x34X")
            self.assertEqual(link.recv(16), b"\x40\x02\x12\x34")
            self.assertEqual(broker.published, 2)


class SoakTests(unittest.TestCase):
    def looks(self, days: float = 7.0, change=lambda day, look: None) -> list:
        """The looks of a flawless soak test, modified by the test."""
        begin, end = away(days)
        found = []
        for index in range(29):
            day = days * index / 28
            pending = 100 if not begin < day <= end else int((day - begin) * 86_400)
            found.append({
                "day": day, "resident": 17.0, "anonymous": 3.6, "descriptors": 18 if index % 2 else 15,
                "database": 10.0 if day > begin else 0.1, "wal": 2.1, "pending": pending,
                "uploaded": int(day * 86_400) - pending, "dropped": 0})
            change(day, found[-1])
        return found

    def faults(self, change, lost: int = 0) -> list:
        return verdict(self.looks(change=change), 7.0, lost)[1]

    def test_a_good_one(self):
        result, faults = verdict(self.looks(), 7.0, 0)
        self.assertEqual(faults, [])
        self.assertEqual((result["fixes"], result["most_descriptors"], result["hours"]), (604_800, 18, 78.0))
        self.assertEqual(verdict(self.looks(2.0), 2.0, 0)[1], [])

    def test_each_fault_is_found(self):
        def at_the_end(**values):
            return lambda day, look: look.update(values) if day == 7.0 else None

        def after(day_: float, **values):
            return lambda day, look: look.update(values) if day > day_ else None

        for fault, change in (
                ("memory grows", lambda day, look: look.update(anonymous=3.0 + day * 0.14)),
                ("memory stays when a long drain has ended", after(3, anonymous=4.1)),
                ("descriptors are not closed", at_the_end(descriptors=23)),
                ("the database grows", at_the_end(database=10.6)),
                ("the WAL grows", lambda day, look: look.update(wal=18.0) if 2 < day < 3 else None),
                ("there was no backlog", lambda day, look: look.update(pending=100) if day < 7 else None),
                ("what was pending is not uploaded", at_the_end(pending=5000, uploaded=599_800)),
                ("fixes are missing", at_the_end(uploaded=604_500)),
                ("fixes are missing", at_the_end(dropped=1))):
            with self.subTest(fault):
                self.assertEqual(self.faults(change), [fault])

    def test_what_this_machine_lost_is_not_missing(self):
        lost = lambda day, look: look.update(uploaded=604_500) if day == 7.0 else None  # noqa: E731
        self.assertEqual(self.faults(lost, lost=200), [])

    def test_slope(self):
        looks = [{"day": day / 24, "x": 2.0 + 0.5 * day} for day in range(10)]
        self.assertAlmostEqual(slope(looks, "x"), 0.5)
        self.assertEqual(slope(looks[:1], "x"), 0)


if __name__ == "__main__":
    unittest.main()
