"""A service manager, as far as a service can see one: its notification socket."""
from __future__ import annotations

import itertools
import socket
import threading
import time

from support.waiting import PATIENCE


class ServiceManager(threading.Thread):
    """Receives what a service tells systemd, and records when each watchdog ping arrived."""

    def __init__(self, path: str):
        super().__init__(daemon=True)
        self.path = path
        self.fed: list = []
        self.said: list = []
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._link.bind(path)
        self.start()

    def run(self):
        while True:
            text = self._link.recv(4096).decode()
            if not text:
                return
            self.said.append(text)
            if text == "WATCHDOG=1":
                self.fed.append(time.monotonic())

    def stop(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
            link.sendto(b"", self.path)
        self.join(PATIENCE)
        self._link.close()

    def longest_pause(self, since: float) -> float:
        moments = [since] + [moment for moment in self.fed if moment > since] + [time.monotonic()]
        return max(after - before for before, after in itertools.pairwise(moments))
