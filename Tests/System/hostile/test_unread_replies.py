"""Replies that nobody reads, and requests that nobody completes: what is kept of them is bounded. `make bench` ("hostile")
measures what that costs."""
import json
import select
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import INTERFACE, frame
from support.hostile_clients import MEGABYTE, connect
from support.programs import program
from support.system_test import SystemTest
from support.waiting import wait_for

FENCES, CLIENTS = 10_000, 30


def fence(number: int) -> dict:
    return {"id": f"{number:05}-" + "x" * 90, "latitude": 50 + number / 1000, "longitude": 8.0, "radius_meters": 100.0}


class UnreadTests(SystemTest):
    def serve(self, fences: int = 0):
        self.served = self.daemon().start()
        # They would fit into one request; half of them take half of the time that a client waits.
        for first in range(0, fences, FENCES // 2):
            numbers = range(first, min(first + FENCES // 2, fences))
            with self.served.connect(timeout=60) as client:
                client.call("AddGeofences", geofences=[fence(number) for number in numbers])

    def link(self, data: bytes) -> socket.socket:
        link = connect(self.served.socket)
        self.addCleanup(link.close)
        link.settimeout(60)
        link.sendall(data)
        return link

    def listed(self, **options) -> list:
        with self.served.connect(timeout=60) as client:
            return [page["geofences"] for page in client.stream("ListGeofences", **options)]

    def tool(self, *words: str) -> str:
        return subprocess.run([program("beekonctl"), *words, "--socket", self.served.socket], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=True).stdout

    def test_ten_thousand_fences_for_thirty_clients_that_do_not_read(self):
        self.serve(FENCES)
        links = [self.link(frame("ListGeofences", more=True)) for _ in range(CLIENTS)]
        for link in links:
            self.assertTrue(link.recv(1, socket.MSG_PEEK))
        self.served.status()
        # All of them are served, and so is a client that reads.
        self.assertEqual([len(page) for page in self.listed()], [500] * 20)
        # A client that reads late gets all of it.
        stream = b""
        while stream.count(b"\0") < 20:
            more = links[-1].recv(1 << 16)
            self.assertTrue(more, "the connection was closed")
            stream += more
        pages = [json.loads(page) for page in stream.split(b"\0")[:-1]]
        self.assertEqual([page.get("continues", False) for page in pages], [True] * 19 + [False])
        ids = [found["id"] for page in pages for found in page["parameters"]["geofences"]]
        self.assertEqual(ids, [fence(number)["id"] for number in range(FENCES)])
        for link in links:
            link.close()
        self.all_in_one_reply()

    def all_in_one_reply(self):
        """More than they may hold together: some of them are disconnected, and a client that reads gets all of it."""
        links = [self.link(frame("ListGeofences")) for _ in range(CLIENTS)]
        for link in links:
            self.assertTrue(link.recv(1, socket.MSG_PEEK))
        with self.served.connect(timeout=60) as client:
            self.assertEqual(len(client.call("ListGeofences")["geofences"]), FENCES)
        wait_for(lambda: self.count_open(links) < 10, lambda: f"{self.count_open(links)} lists of 2 MB each are kept")
        self.assertGreaterEqual(self.count_open(links), 4)
        wait_for(lambda: "it held most of 16 MB" in self.served.text(), "a line in the log")

    def count_open(self, links: list) -> int:
        poll = select.poll()
        for link in links:
            poll.register(link, select.POLLRDHUP)
        return len(links) - len(poll.poll(0))

    def test_pages_and_the_tool(self):
        self.serve(1001)
        self.assertEqual(len(self.served.call("ListGeofences")["geofences"]), 1001)
        self.assertEqual([len(page) for page in self.listed()], [500, 500, 1])
        # The tool shows all of them, and can remove all of them.
        self.assertEqual(len(json.loads(self.tool("geofence", "list", "--json"))["geofences"]), 1001)
        self.assertEqual(json.loads(self.tool("geofence", "remove", "--all", "--json")), {"removed": 1001})
        self.assertEqual(self.listed(), [[]])

    def test_fences_removed_between_two_pages(self):
        self.serve(1200)
        with self.served.connect(timeout=60) as client:
            client.send("ListGeofences", more=True)
            first = client.reply()["parameters"]["geofences"]
            # They were in the first page. Every other fence is listed exactly once.
            self.served.call("RemoveGeofences", ids=[fence(number)["id"] for number in range(100)])
            rest = []
            while True:
                reply = client.reply()
                rest += reply["parameters"]["geofences"]
                if not reply.get("continues"):
                    break
        self.assertEqual([found["id"] for found in first + rest], [fence(number)["id"] for number in range(1200)])

    def test_requests_of_four_megabytes(self):
        self.serve()
        head = f'{{"method":"{INTERFACE}.AddGeofences","parameters":{{"geofences":['.encode()
        # Complete ones leave nothing behind, although their clients stay.
        for _ in range(8):
            link = self.link(head + b" " * (4 * MEGABYTE - 1000) + b"]}}\0")
            self.assertEqual(link.recv(100), b'{"parameters":{}}\0')
        # Incomplete ones displace only each other.
        self.assertGreater(sum(self.send_half(head) for _ in range(6)), 0)
        self.assertEqual(self.served.status()["state"], "idle")

    def send_half(self, head: bytes) -> bool:
        """Sends an incomplete request. Returns whether the daemon accepted all of it."""
        try:
            self.link(head + b" " * (4 * MEGABYTE - 1000))
            return True
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
