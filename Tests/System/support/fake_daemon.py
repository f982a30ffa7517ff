"""A beekond whose every answer the test chooses: for tools that must display what no real daemon does on demand."""
from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import uuid

from support.control_client import INTERFACE
from support.fake_gpsd import iso

PAGE = 1000


class FakeDaemon:
    """Listens on `path`. `answers` maps a method to the parameters of its reply, a stream of them, or a function of those of the
    call; other methods are refused."""

    def __init__(self, path: str, **answers):
        self.path = path
        self.answers = answers
        self.locations: list = []
        self.calls: list = []
        # After this many pages a history ends without its last reply, as when the daemon dies.
        self.cut_after: int | None = None
        # After this many it says nothing more, until it is stopped.
        self.hold_after: int | None = None
        self._stopped = threading.Event()
        self._clients: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        """As when it ends: nobody is answered any more."""
        self._stopped.set()
        for end in (self._listener, *self._clients):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._clients.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        buffer = b""
        try:
            while True:
                while b"\0" not in buffer:
                    more = client.recv(1 << 16)
                    if not more:
                        return
                    buffer += more
                message, buffer = buffer.split(b"\0", 1)
                call = json.loads(message)
                name = call["method"].rsplit(".", 1)[-1]
                self.calls.append((name, call.get("parameters", {})))
                for reply in self._replies(name, call.get("parameters", {})):
                    client.sendall(json.dumps(reply).encode() + b"\0")
        except (OSError, ConnectionError):
            pass
        finally:
            client.close()

    def _replies(self, name: str, parameters: dict):
        if name == "GetLocations":
            return self._history()
        if name not in self.answers:
            return [{"error": "org.varlink.service.MethodNotImplemented", "parameters": {"method": f"{INTERFACE}.{name}"}}]
        answer = self.answers[name]
        if isinstance(answer, list):
            return [{"parameters": one, "continues": index < len(answer) - 1} for index, one in enumerate(answer)]
        return [{"parameters": answer(parameters) if callable(answer) else answer}]

    def _history(self):
        pages = range(0, max(len(self.locations), 1), PAGE)
        for index, start in enumerate(pages):
            if self.cut_after is not None and index >= self.cut_after:
                raise ConnectionError("as if it had died")
            if self.hold_after is not None and index >= self.hold_after:
                self._stopped.wait()
            yield {"parameters": {"locations": self.locations[start:start + PAGE]}, "continues": index < len(pages) - 1}


def location(index: int, time_ms: int, latitude: float, longitude: float, session: str | None = None, **fields) -> dict:
    found = {
        "id": str(uuid.UUID(int=(7 << 76) | (2 << 62) | index)), "session_id": session, "timestamp": iso(time_ms),
        "trigger": "interval", "motion": "moving", "is_mock": False, "latitude": latitude, "longitude": longitude,
        "accuracy": 4.5, "speed": 10.0, "bearing": 90.0, "altitude": 123.4, **fields}
    return {name: value for name, value in found.items() if value is not None}


def status(**parts) -> dict:
    """A daemon on a good day; a dictionary replaces single values of a part."""
    found: dict = {
        "version": "0.2.0", "install_id": "0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff", "state": "tracking",
        "session_id": "0190d4e0-1234-7000-8000-aabbccddeeff", "session_started_at": iso(1_781_500_000_000),
        "uptime_seconds": 7200, "geofences": 0, "degraded": [],
        "source": {"health": "ok", "device": "/dev/ttyS1", "mode": 3, "satellites_used": 9, "satellites_visible": 14,
                   "time_settled": True, "fixes": 7000, "reconnects": 0, "rollovers": 0, "refused_times": 0},
        "gate": {"admitted": 412, "too_soon": 6000, "too_near": 588, "paused": 0, "motion": "moving"},
        "store": {"degraded": False, "locations": 1234, "bytes": 1_234_567, "waiting_in_memory": 0, "dropped_unsent": 0,
                  "refused": 0},
        "sync": {"state": "disabled", "pending": 0, "uploaded": 0, "rejected": 0, "retries": 0, "bytes_sent": 0},
        "auth": {"state": "none", "failures": 0}, "destinations": [],
    }
    for name, value in parts.items():
        found[name] = {**found[name], **value} if isinstance(value, dict) and name in found else value
    return {"status": found}
