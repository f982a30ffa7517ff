"""Feeding a real gpsd, and a client that records what gpsd reports."""
from __future__ import annotations

import json
import socket
import threading
import time

from support import reference_model
from support.waiting import wait_for


def send_datagrams(portions: list, feed: int, pause: float):
    """Sends each portion as a datagram, `pause` seconds apart, to the UDP port that gpsd reads as its receiver."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        due = time.monotonic()
        for portion in portions:
            link.sendto(portion, ("127.0.0.1", feed))
            due += pause
            time.sleep(max(0, due - time.monotonic()))  # the pace of the stream; this waits for no condition


class GPSDClient(threading.Thread):
    """Records every TPV and when it arrived."""

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
                self.heard.append(reference_model.TimedReport(now, report))

    def all(self) -> list:
        """Everything gpsd reports of a finished stream: complete after half a second without a report."""
        def silent():
            return self.heard and time.clock_gettime(time.CLOCK_BOOTTIME) - self.heard[-1].now > 0.5

        wait_for(silent, "gpsd has reported everything")
        return list(self.heard)

    def close(self):
        self._link.shutdown(socket.SHUT_RDWR)
        self.join()
        self._link.close()
