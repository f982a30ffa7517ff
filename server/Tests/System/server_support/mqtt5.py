"""Who subscribes by MQTT 5, and keeps what goes with a message."""
from __future__ import annotations

import contextlib
import socket
import struct
import threading

from support.mosquitto import packet, receive, text
from support.waiting import PATIENCE


class Listener:
    """Of everything; QoS 0."""

    def __init__(self, port: int, login: tuple[str, str] | None = None):
        # Topic, user properties and body.
        self.messages: list[tuple[str, dict, bytes]] = []
        self.link = socket.create_connection(("127.0.0.1", port), PATIENCE)
        who = text("listener") + b"".join(text(part) for part in login or ())
        self.link.sendall(packet(0x10, text("MQTT") + bytes((5, 0xC2 if login else 0x02, 0, 0, 0)) + who))
        kind, answer = receive(self.link)
        assert (kind, answer[1]) == (0x20, 0), answer
        self.link.sendall(packet(0x82, b"\0\1\0" + text("#") + b"\0"))
        kind, answer = receive(self.link)
        assert (kind, answer[-1]) == (0x90, 0), answer
        self.link.settimeout(None)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                kind, body = receive(self.link)
                if kind >> 4 == 3:
                    self._take(body)

    def _take(self, body: bytes):
        def string() -> str:
            nonlocal body
            size = struct.unpack(">H", body[:2])[0]
            value, body = body[2:2 + size].decode(), body[2 + size:]
            return value

        topic = string()
        length, shift = 0, 0
        while True:
            digit, body = body[0], body[1:]
            length |= (digit & 0x7F) << shift
            shift += 7
            if digit < 0x80:
                break
        end, properties = len(body) - length, {}
        while len(body) > end:
            kind, body = body[0], body[1:]
            if kind == 38:
                name = string()
                properties[name] = string()
            elif kind == 3:
                properties["Content-Type"] = string()
            else:
                raise AssertionError(f"property {kind}")
        self.messages.append((topic, properties, body))

    def close(self):
        self.link.close()
