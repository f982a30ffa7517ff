"""A gpsd whose every report the test chooses. It writes as gpsd does: VERSION first, compact JSON, CR LF."""
from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from datetime import UTC, datetime

from support.waiting import PATIENCE

DEVICE = "/dev/ttyFAKE0"
METERS_PER_DEGREE = 111_195.08  # of latitude, on a sphere of 6,371,008.8 m


class FakeGPSD:
    """Listens on 127.0.0.1. `watchers` counts the clients that watch now, `connections` all that ever did."""

    def __init__(self, port: int = 0, has_device: bool = True, start_ms: int | None = None):
        self.has_device = has_device
        self.connections = 0
        # Says nothing more, not even when asked: like the peer of a dead connection.
        self.is_mute = False
        self._clients: list = []
        self._changed = threading.Condition()
        # The first fix is then from now. Later ones may be ahead of the clock by up to a day.
        self.next_ms = start_ms if start_ms is not None else int(time.time()) * 1000
        self.sent = 0
        self._listener = socket.create_server(("127.0.0.1", port), backlog=8)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def drop(self):
        """Ends every connection, as a restart does."""
        with self._changed:
            for client in self._clients:
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
            self._clients.clear()
            self._changed.notify_all()

    @property
    def watchers(self) -> int:
        return len(self._clients)

    def wait_watched(self, seconds: float = PATIENCE):
        with self._changed:
            if not self._changed.wait_for(lambda: self._clients, seconds):
                raise AssertionError(f"nobody watched the fake gpsd within {seconds} s")

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            self._write(client, {"class": "VERSION", "release": "3.22", "rev": "3.22", "proto_major": 3, "proto_minor": 14})
            for line in client.makefile("r"):
                if line.startswith("?WATCH="):
                    devices = [device_report()] if self.has_device else []
                    self._write(client, {"class": "DEVICES", "devices": devices})
                    self._write(client, {"class": "WATCH", "enable": True, "json": True})
                    with self._changed:
                        self._clients.append(client)
                        self.connections += 1
                        self._changed.notify_all()
                elif line.startswith("?VERSION") and not self.is_mute:
                    self._write(client, {"class": "VERSION", "release": "3.22", "proto_major": 3, "proto_minor": 14})
        except (OSError, ValueError):
            pass
        with self._changed:
            if client in self._clients:
                self._clients.remove(client)
        client.close()

    @staticmethod
    def _write(client, *reports):
        text = "".join(json.dumps(report, separators=(",", ":")) + "\r\n" for report in reports)
        client.sendall(text.encode())

    def report(self, *reports: dict):
        """Sends these reports to every watcher."""
        for client in list(self._clients):
            try:
                self._write(client, *reports)
            except OSError:
                pass  # it has gone; its own thread notices, too

    def send(self, data: bytes):
        """Sends these bytes to every watcher; returns once the kernel has taken them."""
        for client in list(self._clients):
            try:
                client.sendall(data)
            except OSError:
                pass  # it has gone; its own thread notices, too

    def drive(self, count: int, **fields) -> list:
        """Sends that many fixes, one second and ten metres apart, all at once. Returns their times in milliseconds."""
        times = [self.next_ms + 1000 * index for index in range(count)]
        reports = [tpv(time, 50 + (self.sent + index) * 10 / METERS_PER_DEGREE, 8, **fields)
                   for index, time in enumerate(times)]
        self.next_ms += 1000 * count
        self.sent += count
        self.report(*reports)
        return times

    def settle(self) -> int:
        """Sends the fixes after which the time of a new connection is settled: three, of one place, so that a gate with any
        distance admits the first alone. Returns its time in milliseconds."""
        self.wait_watched()
        times = [self.next_ms + 1000 * index for index in range(3)]
        place = 50 + (self.sent + 2) * 10 / METERS_PER_DEGREE
        self.next_ms += 3000
        self.sent += 3
        self.report(*[tpv(time, place, 8) for time in times])
        return times[0]


def device_report() -> dict:
    return {"class": "DEVICE", "path": DEVICE, "driver": "NMEA0183", "activated": iso(int(time.time() * 1000)),
            "flags": 1, "native": 0, "bps": 9600, "parity": "N", "stopbits": 1, "cycle": 1.0}


def tpv(time_ms: int | None, latitude=50.0, longitude=8.0, mode=3, **fields) -> dict:
    report = {"class": "TPV", "device": DEVICE, "mode": mode}
    if time_ms is not None:
        report["time"] = iso(time_ms)
    if mode >= 2:
        report.update(lat=round(latitude, 9), lon=round(longitude, 9), eph=4.5, speed=10.0, track=0.0)
        if mode == 3:
            report["altHAE"] = 123.4
    report.update(fields)
    return {name: value for name, value in report.items() if value is not None}


def iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def from_iso(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000
