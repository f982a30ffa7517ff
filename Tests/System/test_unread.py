"""Answers that nobody reads, and requests that nobody ends: many clients of that kind do not fill the memory."""
import json
import select
import socket
import subprocess
import unittest

from abusers import MEGABYTE, connect
from harness import Closed, SystemTest, program, wait_for
from tracker import INTERFACE, frame

FENCES, CLIENTS = 10_000, 30
# MB that all of them together may cost, in a build for debugging; a list as a whole is two for each.
GROWTH = 24


def fence(number: int) -> dict:
    return {"id": f"{number:05}-" + "x" * 90, "latitude": 50 + number / 1000, "longitude": 8.0, "radius_meters": 100.0}


class UnreadTests(SystemTest):
    def resident(self) -> float:
        with open(f"/proc/{self.served.child.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) * 1024 / 1e6

    def serve(self, fences: int = 0):
        self.served = self.daemon().start()
        # A request holds as many; half of them at a time are decoded in half of the time that a client waits.
        for first in range(0, fences, FENCES // 2):
            numbers = range(first, min(first + FENCES // 2, fences))
            with self.served.connect(timeout=60) as tracker:
                tracker.call("AddGeofences", geofences=[fence(number) for number in numbers])

    def link(self, data: bytes) -> socket.socket:
        link = connect(self.served.socket)
        self.addCleanup(link.close)
        link.settimeout(60)
        link.sendall(data)
        return link

    def listed(self, **options) -> list:
        with self.served.connect(timeout=60) as tracker:
            return [page["geofences"] for page in tracker.stream("ListGeofences", **options)]

    def tool(self, *words: str) -> str:
        return subprocess.run([program("beekonctl"), *words, "--socket", self.served.socket], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=True).stdout

    def test_ten_thousand_fences_for_thirty_who_read_nothing(self):
        self.serve(FENCES)
        before = self.resident()
        links = [self.link(frame("ListGeofences", more=True)) for _ in range(CLIENTS)]
        for link in links:
            self.assertTrue(link.recv(1, socket.MSG_PEEK))
        self.served.status()
        grown = self.resident() - before
        print(f"\n{CLIENTS} lists that nobody reads: {grown:.1f} MB more")
        self.assertLess(grown, GROWTH)
        # All of them are served, and so is who reads.
        self.assertEqual([len(page) for page in self.listed()], [500] * 20)
        # Who reads late gets all of it.
        stream = b""
        while stream.count(b"\0") < 20:
            stream += links[-1].recv(1 << 16)
        pages = [json.loads(page) for page in stream.split(b"\0")[:-1]]
        self.assertEqual([page.get("continues", False) for page in pages], [True] * 19 + [False])
        ids = [found["id"] for page in pages for found in page["parameters"]["geofences"]]
        self.assertEqual(ids, [fence(number)["id"] for number in range(FENCES)])

        for link in links:
            link.close()
        self.all_in_one_reply()

    def all_in_one_reply(self):
        """That is more than they may hold together: some of them are put out, and who reads gets all of it."""
        before = self.resident()
        links = [self.link(frame("ListGeofences")) for _ in range(CLIENTS)]
        for link in links:
            self.assertTrue(link.recv(1, socket.MSG_PEEK))
        with self.served.connect(timeout=60) as tracker:
            self.assertEqual(len(tracker.call("ListGeofences")["geofences"]), FENCES)
        kept = [link for link in links if not self.is_closed(link)]
        self.assertTrue(4 <= len(kept) < 10, f"{len(kept)} lists of 2 MB each are kept")
        wait_for(lambda: "it held most of 16 MB" in self.served.text(), "a line in the log")
        wait_for(lambda: self.resident() - before < 2 * GROWTH, lambda: f"{self.resident() - before:.1f} MB more")

    def is_closed(self, link: socket.socket) -> bool:
        poll = select.poll()
        poll.register(link, select.POLLRDHUP)
        return bool(poll.poll(0))

    def test_pages_and_the_tool(self):
        self.serve(1001)
        self.assertEqual(len(self.served.call("ListGeofences")["geofences"]), 1001)
        self.assertEqual([len(page) for page in self.listed()], [500, 500, 1])
        # The tool shows all of them, and can remove all of them.
        self.assertEqual(len(json.loads(self.tool("geofence", "list", "--json"))["geofences"]), 1001)
        self.assertEqual(json.loads(self.tool("geofence", "remove", "--all", "--json")), {"removed": 1001})
        self.assertEqual(self.listed(), [[]])

    def test_fences_that_come_and_go_between_two_pages(self):
        self.serve(1200)
        with self.served.connect(timeout=60) as tracker:
            tracker.send("ListGeofences", more=True)
            first = tracker.reply()["parameters"]["geofences"]
            # Whether it is the next page already that misses them, nobody knows; the rest is told once.
            self.served.call("RemoveGeofences", ids=[fence(number)["id"] for number in range(100)])
            rest = []
            while True:
                reply = tracker.reply()
                rest += reply["parameters"]["geofences"]
                if not reply.get("continues"):
                    break
        self.assertEqual([found["id"] for found in first + rest], [fence(number)["id"] for number in range(1200)])

    def test_requests_of_four_megabytes(self):
        self.serve()
        before = self.resident()
        head = f'{{"method":"{INTERFACE}.AddGeofences","parameters":{{"geofences":['.encode()
        # Those that are complete leave nothing behind, though their clients stay.
        for _ in range(8):
            link = self.link(head + b" " * (4 * MEGABYTE - 1000) + b"]}}\0")
            self.assertEqual(link.recv(100), b'{"parameters":{}}\0')
        grown = self.resident() - before
        print(f"\n8 requests of 4 MB whose clients stay: {grown:.1f} MB more")
        self.assertLess(grown, GROWTH)
        # Those that are not complete make way for each other, and for nobody else.
        self.assertGreater(sum(self.half(head) for _ in range(6)), 0)
        self.assertEqual(self.served.status()["state"], "idle")

    def half(self, head: bytes) -> bool:
        """Whether it was kept: what it sent has been taken."""
        try:
            self.link(head + b" " * (4 * MEGABYTE - 1000))
            return True
        except (OSError, Closed):
            return False


if __name__ == "__main__":
    unittest.main()
