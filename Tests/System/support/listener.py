"""A subscriber to the daemon's events."""
from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

from support.control_client import ConnectionClosed
from support.waiting import PATIENCE

if TYPE_CHECKING:
    from support.daemon import Beekond


class Listener(threading.Thread):
    """Subscribes, and keeps every event until the connection ends. No event from then on is missed."""

    def __init__(self, daemon: Beekond, kinds: list | None = None):
        super().__init__(daemon=True)
        self.events: list = []
        self.missed = 0
        self._client = daemon.connect(timeout=None)
        # Answered, the connection is the daemon's; and what has arrived on any of its connections, it reads before what comes
        # later on another.
        self._client.call("GetStatus")
        self._client.send("Subscribe", {} if kinds is None else {"kinds": kinds}, more=True)
        daemon.status()
        self.start()

    def run(self):
        with contextlib.suppress(OSError, ConnectionClosed, ValueError):
            for reply in self._client.replies():
                self.events.append(reply["event"])
                self.missed += reply["event"].get("missed", 0)

    @property
    def locations(self) -> list:
        return [event["location"] for event in list(self.events) if event.get("location")]

    @property
    def ids(self) -> list:
        return [location["id"] for location in self.locations]

    def close(self):
        with contextlib.suppress(OSError):
            self._client.link.shutdown(socket.SHUT_RDWR)
        self.join(PATIENCE)
        self._client.close()
