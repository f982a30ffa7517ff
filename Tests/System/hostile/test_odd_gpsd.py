"""A gpsd that reports nonsense, too much, too little, or too slowly: nothing breaks, and later fixes are stored."""
import os
import random
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import DEVICE, METERS_PER_DEGREE, iso, tpv
from support.seeds import seed
from support.system_test import SystemTest
from support.waiting import let_pass, never, wait_for

OTHER = "/dev/ttyFAKE1"
STORED = "SELECT ts, lat, lng, accuracy, speed, bearing, altitude FROM locations ORDER BY seq"
LONG = os.environ.get("BEEKOND_LONG") == "1"


def mended(fields: str) -> bytes:
    return b'{"class":"TPV","device":"' + DEVICE.encode() + b'",' + fields.encode() + b"}\r\n"


class OddTest(SystemTest):
    def heard(self, daemon, count: int):
        daemon.wait_status(lambda status: status["source"]["fixes"] >= count, f"{count} fixes read")

    def goes_on(self, gps, daemon, patience: float = 40):
        """Fixes sent after all that are stored."""
        # Not all at once: an abandoned connection is re-established between them.
        before = daemon.status()["gate"]["admitted"]

        for _ in range(2000):
            wait_for(lambda: gps.watchers, "it watches", patience)
            gps.drive(1)
            let_pass(0.1)
            if daemon.status()["gate"]["admitted"] >= before + 3:
                break
        else:
            self.fail("no fixes are stored afterwards")
        daemon.wait_health("ok")
        self.assertTrue(daemon.child.running)


class OddReportTests(OddTest):
    def test_several_reports_for_each_instant(self):
        """Each has something the others lack; together they make one fix."""
        gps, daemon = self.tracking()
        expected = []
        for index in range(20):
            time_ms, latitude = gps.next_ms + index * 1000, 50.1 + index * 1e-4
            gps.report(tpv(time_ms, latitude, eph=None, epx=3.0, epy=4.0, speed=None, track=None, altHAE=None),
                       tpv(time_ms, latitude + 1e-6, eph=2.5, speed=7.0, track=None, altHAE=None),
                       tpv(time_ms, latitude + 2e-6, eph=None, epx=30.0, epy=40.0, speed=None, track=91.5))
            expected.append((time_ms, round(latitude + 2e-6, 9), 8.0, 2.5, 7.0, 91.5, 123.4))
        self.heard(daemon, 22)
        daemon.call("Stop")
        stored = daemon.query(STORED)
        # In the first epoch it is not yet known how many reports there will be.
        self.assertEqual(len(stored), 21)
        self.assertEqual(stored[2:], expected[1:])

    def test_ten_a_second(self):
        gps, daemon = self.tracking()
        times = [gps.next_ms + index * 100 for index in range(1200)]
        for start in range(0, len(times), 100):
            gps.report(*[tpv(time_ms, 50 + (start + index) / METERS_PER_DEGREE)
                         for index, time_ms in enumerate(times[start:start + 100])])
        daemon.wait_stored(1201)
        self.assertEqual([row[0] for row in daemon.query(STORED)][1:], times)
        self.assertEqual(daemon.health(), "ok")

    def test_mode_that_flaps(self):
        gps, daemon = self.tracking()
        expected, reports = [], []
        for index in range(300):
            mode = (3, 1, 2, 0, 3, 2, 1)[index % 7]
            time_ms = gps.next_ms + index * 1000
            reports.append(tpv(time_ms, 50 + index * 1e-4, mode=mode))
            if mode >= 2:
                expected.append((time_ms, mode))
        gps.report(*reports)
        daemon.wait_stored(1 + len(expected))
        stored = daemon.query(STORED)[1:]
        self.assertEqual([row[0] for row in stored], [time_ms for time_ms, _ in expected])
        self.assertEqual([row[6] for row in stored], [123.4 if mode == 3 else None for _, mode in expected])
        daemon.wait_health("no_fix" if index % 7 in (1, 3, 6) else "ok")

    def test_meaningless_fields(self):
        gps, daemon = self.tracking(tracking={"distance_meters": 0})
        start = gps.next_ms
        # What the report says apart from its time, and what must be stored: accuracy, speed, bearing, altitude;
        # None for no fix at all, as for a report that libgps cannot parse.
        odd = [
            ('"mode":3,"lat":50.0,"lon":8.0,"eph":null,"speed":null,"track":null', ...),
            ('"mode":3,"lat":50.0,"lon":8.0', (None, None, None, None)),
            ('"mode":3,"lat":50.0,"lon":8.0,"eph":-1.0,"speed":-5.0,"track":400.0,"altHAE":-20.0',
             (None, None, None, -20.0)),
            ('"mode":3,"lat":50.0,"lon":8.0,"epx":3.0', (None, None, None, None)),
            ('"mode":3,"lat":50.0,"lon":8.0,"epx":1e200,"epy":1e200', (None, None, None, None)),
            ('"mode":3,"lat":50.0,"lon":8.0,"speed":1e300,"altHAE":1e300', (None, 1e300, None, 1e300)),
            ('"mode":2,"lat":50.0,"lon":8.0,"altHAE":55.0,"altMSL":50.0', (None, None, None, None)),
            ('"mode":3,"lat":91.0,"lon":8.0', None),
            ('"mode":3,"lat":50.0,"lon":-180.5', None),
            ('"mode":3,"lat":50.0', None),
            ('"mode":3', None),
            ('"mode":1,"lat":50.0,"lon":8.0', None),
            ('"mode":99999999999999999999,"lat":50.0,"lon":8.0', ...),
            ('"mode":-3,"lat":50.0,"lon":8.0', None),
            ('"mode":3,"lat":"50","lon":8.0', ...),
            ('"mode":3,"lat":NaN,"lon":8.0', None),
            ('"mode":3,"lat":nan,"lon":nan', None),
            ('"mode":3,"lat":50.0,"lon":8.0,"eph":nan,"speed":inf', ...),
            ('"mode":3,"lat":1e999,"lon":8.0', None),
            ('"mode":3,"lat":50.0,"lon":8.0,"status":8', (None, None, None, None)),
            ('"mode":3,"lat":50.0,"lon":8.0,"unknown":[1,2,3]', ...),
        ]
        expected, doubtful = {}, set()
        for index, (fields, values) in enumerate(odd):
            time_ms = start + index * 1000
            gps.send(mended(f'"time":"{iso(time_ms)}",' + fields))
            if values is ...:
                doubtful.add(time_ms)
            elif values is not None:
                expected[time_ms] = values
        gps.next_ms = start + len(odd) * 1000
        last = gps.drive(3)[-1]
        wait_for(lambda: daemon.query(f"SELECT 1 FROM locations WHERE ts = {last}"), "what follows is stored")
        stored = {row[0]: row[3:] for row in daemon.query(STORED) if start <= row[0] < start + len(odd) * 1000}
        self.assertEqual({ts: row for ts, row in stored.items() if ts not in doubtful}, expected)
        for row in daemon.query(STORED):
            self.assertTrue(abs(row[1]) <= 90 and abs(row[2]) <= 180, row)
        self.goes_on(gps, daemon)

    def test_meaningless_times(self):
        gps, daemon = self.tracking()
        before = daemon.query(STORED)
        for text in ["", "0", "-1", "2027", "2027-03-15", "1970-01-01T00:00:00.000Z", "0000-00-00T00:00:00.000Z",
                     "9999-99-99T99:99:99.999Z", "10000-01-01T00:00:00Z", "2027-02-30T00:00:00.000Z", "x" * 300, "1e9"]:
            gps.send(mended(f'"mode":3,"time":"{text}","lat":50.5,"lon":8.5'))
        gps.send(mended('"mode":3,"time":null,"lat":50.5,"lon":8.5'))
        gps.send(mended('"mode":3,"time":1e18,"lat":50.5,"lon":8.5'))
        # A time without a position is no fix, nor is a position without a time.
        gps.report(tpv(None, 50.5), tpv(gps.next_ms, lat=None, lon=None), tpv(gps.next_ms + 500, lon=None))
        gps.next_ms += 1000
        self.goes_on(gps, daemon)
        # One of them may have been parsed as a time, which then had to settle and could not.
        self.assertEqual([row for row in daemon.query(STORED) if row[1] == 50.5], [])
        self.assertEqual(daemon.query(STORED)[:len(before)], before)

    def test_lines_that_are_cut_or_too_long(self):
        gps, daemon = self.tracking()
        whole = mended(f'"mode":3,"time":"{iso(gps.next_ms)}","lat":50.5,"lon":8.5,"eph":4.5').rstrip()
        for end in range(len(whole) - 1):
            gps.send(whole[:end] + b"\r\n")
        satellites = b",".join(b'{"PRN":%d,"gnssid":0,"svid":%d,"az":180.0,"el":45.0,"ss":30.0,"used":true,"health":1}'
                               % (number, number) for number in range(1, 120))
        sky = b'{"class":"SKY","device":"' + DEVICE.encode() + b'","satellites":[' + satellites + b"]}\r\n"
        self.assertGreater(len(sky), 11_000 * 0.8)
        gps.send(sky)
        daemon.wait_status(lambda status: status["source"]["satellites_visible"] == 119, "a line of 11 KB is read")
        for size in (16_000, 16_384, 17_000, 1_000_000):
            gps.send(b'{"class":"SKY","x":"' + b"x" * size + b'"}\r\n')
        gps.send(b"\0\0\0\r\n" + b"\r\n" * 1000 + bytes(range(256)) + b"\r\n")
        gps.next_ms += 1000
        self.goes_on(gps, daemon)
        self.assertEqual([row for row in daemon.query(STORED) if row[1] == 50.5], [])
        self.assertEqual(daemon.status()["source"]["reconnects"], 0)

    def test_random_damage(self):
        """Lines from gpsd with bytes changed, removed and inserted."""
        choice = random.Random(seed("damaged lines"))
        gps, daemon = self.tracking()
        pattern = [mended(f'"mode":3,"time":"{iso(gps.next_ms)}","lat":50.5,"lon":8.5,"eph":4.5,"status":1,"track":1.5'),
                   b'{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/a","activated":"x"}]}\r\n',
                   b'{"class":"DEVICE","path":"/dev/a","activated":0}\r\n',
                   b'{"class":"SKY","device":"/dev/a","satellites":[{"PRN":1,"used":true}]}\r\n',
                   b'{"class":"VERSION","release":"3.22","proto_major":3,"proto_minor":14}\r\n']
        for _ in range(20 if LONG else 4):
            lines = b""
            for _ in range(2000):
                line = bytearray(choice.choice(pattern))
                for _ in range(choice.randrange(1, 4)):
                    place = choice.randrange(len(line))
                    what = choice.random()
                    if what < 0.4:
                        line[place] = choice.randrange(256)
                    elif what < 0.7:
                        del line[place:place + choice.randrange(1, 20)]
                    else:
                        line[place:place] = choice.choice([b'"', b"{", b"}", b",", b"\0", b"-", b"e9", b"[", b'"class":"TPV",'])
                    if not line:
                        break
                lines += bytes(line)
            gps.send(lines)
            self.assertTrue(daemon.child.running, daemon.text())
        daemon.status()
        gps.drop()
        wait_for(lambda: gps.watchers, "the daemon comes back", 40)
        self.goes_on(gps, daemon)


class OddPaceTests(OddTest):
    def test_one_byte_at_a_time(self):
        gps, daemon = self.tracking()
        text = b"".join(mended(f'"mode":3,"time":"{iso(gps.next_ms + index * 1000)}","lat":50.5,"lon":8.{index}')
                        for index in range(3))
        for index in range(len(text)):
            gps.send(text[index:index + 1])
        daemon.wait_stored(3)
        self.heard(daemon, 3)

    def test_one_byte_a_second_is_not_silence(self):
        """While anything arrives gpsd counts as present; it is the receiver that is stale."""
        gps, daemon = self.tracking()
        line = mended(f'"mode":3,"time":"{iso(gps.next_ms)}","lat":50.5,"lon":8.5')
        end = threading.Event()
        self.addCleanup(end.set)

        def trickle():
            for index in range(len(line)):
                if end.wait(1):
                    return
                gps.send(line[index:index + 1])

        threading.Thread(target=trickle, daemon=True).start()
        daemon.wait_health("stale", 15)
        never(lambda: gps.connections > 1, "a gpsd that still talks is abandoned", 45)
        end.set()

    def test_silence_and_then_no_answer(self):
        """A silently dead connection is detected within 40 s."""
        gps, daemon = self.tracking()
        gps.is_mute = True
        daemon.wait_health("stale", 15)
        daemon.wait_health("disconnected", 45)
        gps.is_mute = False
        self.goes_on(gps, daemon)
        self.assertEqual(daemon.status()["source"]["reconnects"], 1)

    def test_two_receivers_that_take_turns(self):
        gps, daemon = self.tracking()
        reports, expected = [], []
        for index in range(200):
            time_ms = gps.next_ms + index * 1000
            reports += [tpv(time_ms, 50 + index * 1e-4), tpv(time_ms + 300, 10.0, device=OTHER),
                        {"class": "SKY", "device": OTHER, "satellites": [{"PRN": 1, "used": False}]},
                        {"class": "SKY", "device": DEVICE, "satellites": [{"PRN": n, "used": True} for n in (1, 2, 3)]},
                        tpv(time_ms + 400, mode=1, device=OTHER)]
            expected.append(time_ms)
        gps.report(*reports)
        daemon.wait_stored(1 + len(expected))
        self.assertEqual([row[0] for row in daemon.query(STORED)][1:], expected)
        source = daemon.status()["source"]
        self.assertEqual((source["health"], source["device"]), ("ok", DEVICE))
        self.assertEqual((source["satellites_used"], source["satellites_visible"]), (3, 3))
        # The receiver in use falls silent: after ten seconds the other takes over, and its time has to settle.
        gps.next_ms += 200_000

        def other():
            gps.next_ms += 1000
            gps.report(tpv(gps.next_ms, 10 + gps.next_ms % 1000, device=OTHER))
            # It has been read.
            let_pass(0)
            return daemon.status()["source"]["device"] == OTHER

        began = time.monotonic()
        wait_for(other, "the other receiver takes over", 30)
        self.assertAlmostEqual(time.monotonic() - began, 10, 2)
        gps.report(*[tpv(gps.next_ms + index * 1000, 10.1, device=OTHER) for index in range(1, 4)])
        daemon.wait_health("ok")
        wait_for(lambda: daemon.query("SELECT 1 FROM locations WHERE lat = 10.1"), "its fixes are stored")

    def test_a_pinned_receiver_that_is_absent(self):
        gps = self.fake()
        daemon = self.daemon(gps.port, gpsd={"device": OTHER}).start()
        daemon.call("Start")
        gps.wait_watched()
        daemon.wait_health("no_device")
        gps.drive(5)
        self.assertEqual(daemon.status()["source"]["fixes"], 0)
        gps.report({"class": "DEVICE", "path": OTHER, "activated": iso(gps.next_ms)})
        daemon.wait_health("no_fix")
        gps.drive(3, device=OTHER)
        daemon.wait_stored(1)
        daemon.wait_health("ok")


class FloodTests(OddTest):
    def flood(self, make, megabytes: int) -> tuple:
        """Sends this much as fast as possible; others are answered meanwhile. `make bench` ("hostile") has the memory."""
        gps, daemon = self.tracking()
        gps.drive(50)
        daemon.wait_stored(51)
        began, sent = time.monotonic(), 0
        while sent < megabytes << 20:
            block = make(gps)
            gps.send(block)
            sent += len(block)
            daemon.status()
        # None of them had to wait for anything.
        self.assertEqual(time.monotonic(), began)
        self.goes_on(gps, daemon, 120)
        return gps, daemon

    def test_endless_garbage(self):
        block = b"x" * (1 << 20)
        gps, daemon = self.flood(lambda gps: block + b"\r\n", 100)
        self.assertEqual(daemon.status()["source"]["reconnects"], 0)

    def test_repeated_reports(self):
        self.flood(lambda gps: mended(f'"mode":3,"time":"{iso(gps.next_ms - 1000)}","lat":50.0,"lon":8.0') * 8000,
                   100 if LONG else 20)

    def test_receivers_without_number(self):
        """Every line comes from a different device."""
        count = [0]

        def lines(gps):
            text = b""
            for _ in range(5000):
                count[0] += 1
                text += tpv_line(gps.next_ms, f"/dev/tty{count[0]}")
            return text

        self.flood(lines, 10)


def tpv_line(time_ms: int, device: str) -> bytes:
    return (f'{{"class":"TPV","device":"{device}","mode":3,"time":"{iso(time_ms)}","lat":50.0,"lon":8.0}}\r\n').encode()


if __name__ == "__main__":
    unittest.main()
