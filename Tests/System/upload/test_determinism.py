"""In virtual time a daemon does the same, and sends the same bytes, whenever it is started with the same seed: also beside others
that leave it little of the machine."""
import itertools
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import FakeGPSD
from support.ports import new_port
from support.raw_server import RawServer
from support.system_test import SystemTest
from support.virtual_time import current
from support.waiting import let_pass

# 2035-06-15, in nanoseconds: when everything begins.
MOMENT = 2_065_600_800_000_000_000
OK, LATER = (b"HTTP/1.1 %d Whatever\r\nContent-Length: 0\r\n\r\n" % status for status in (200, 503))


class DeterminismTests(SystemTest):
    def setUp(self):
        super().setUp()
        self.ports = [new_port() for _ in range(3)]

    def drive(self, seed: int) -> list:
        """Twelve minutes of a daemon with two destinations, one of which fails every other time: all requests of each."""
        time_now = current()
        assert time_now
        time_now.reset(seed, MOMENT)
        gps = FakeGPSD(self.ports[0])
        servers = [RawServer(self.answering(*answers), port=port)
                   for answers, port in zip(((OK,), (LATER, OK)), self.ports[1:], strict=True)]
        usual = {"interval_seconds": 60, "batch_size": 7}
        daemon = self.daemon(gps.port, sync={"url": servers[0].url, "heartbeat_seconds": 300, **usual},
                             **{"destination.other": {"url": servers[1].url, "format": "overland", **usual}})
        daemon.start().call("Start")
        gps.settle()
        for _ in range(12):
            gps.drive(20)
            let_pass(60)
        daemon.kill()
        gps.stop()
        for server in servers:
            server.stop()
        return [server.requests for server in servers]

    def answering(self, *answers: bytes):
        """A server that gives these answers in turn."""
        turns = itertools.cycle(answers)

        def serve(link):
            while True:
                link.request()
                link.send(next(turns))

        return serve

    def check_same(self, first: list, second: list):
        for one, other in zip(first, second, strict=True):
            self.assertGreater(len(one), 20)
            for number, (request, again) in enumerate(zip(one, other, strict=True)):
                self.assertTrue(request == again, f"request {number}: {request!r} and {again!r}")

    def test_the_same_seed_the_same_bytes(self):
        first = self.drive(7)
        self.check_same(first, self.drive(7))
        # The seed decides: this is no recording.
        self.assertNotEqual(first, self.drive(8))

    def test_beside_others(self):
        first = self.drive(7)
        for _ in range(4):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(busy.wait)
            self.addCleanup(busy.kill)
        self.check_same(first, self.drive(7))


if __name__ == "__main__":
    unittest.main()
