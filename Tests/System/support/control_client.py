"""A client of the control socket, small enough to be trusted: JSON objects, each ended by one NUL byte."""
from __future__ import annotations

import json
import socket
import struct

INTERFACE = "org.beekond.Tracker"


class Refusal(Exception):
    """An error reply. `name` leaves out the interface, `full_name` has it."""

    def __init__(self, name: str, parameters: dict):
        super().__init__(f"{name} {parameters}")
        self.full_name = name
        self.name = name.rsplit(".", 1)[-1]
        self.parameters = parameters


class ConnectionClosed(Exception):
    """The daemon closed the connection."""


class ControlClient:
    """One connection. A method without a dot in its name belongs to beekond's interface."""

    def __init__(self, path: str, timeout: float = 60.0, receive_buffer: int | None = None):
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if receive_buffer:
            self.link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        # With a full backlog, connect waits as long as SO_SNDTIMEO allows; a socket with a Python timeout would fail at once.
        self.link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 60, 0))
        self._buffer = b""
        try:
            self.link.connect(path)
            self.link.settimeout(timeout)
        except OSError:
            self.link.close()
            raise

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.link.close()

    def send(self, method: str, parameters: dict | None = None, **flags):
        self.link.sendall(frame(method, parameters, **flags))

    def reply(self) -> dict:
        """The next message, whether it is an error or not."""
        while b"\0" not in self._buffer:
            try:
                more = self.link.recv(1 << 16)
            except ConnectionResetError:
                raise ConnectionClosed from None
            if not more:
                raise ConnectionClosed
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def receive(self) -> dict:
        """The parameters of the next reply."""
        message = self.reply()
        if "error" in message:
            raise Refusal(message["error"], message.get("parameters", {}))
        return message.get("parameters", {})

    def call(self, method: str, **parameters) -> dict:
        self.send(method, parameters)
        return self.receive()

    def stream(self, method: str, **parameters):
        """The parameters of each reply up to the last."""
        self.send(method, parameters, more=True)
        yield from self.replies()

    def replies(self):
        """The same for a call that was sent with `more`."""
        while True:
            message = self.reply()
            if "error" in message:
                raise Refusal(message["error"], message.get("parameters", {}))
            yield message.get("parameters", {})
            if not message.get("continues"):
                return

    def has_answer(self, timeout: float) -> bool:
        """Whether a whole message has come or comes in time; `receive` returns it."""
        return b"\0" in self._buffer or (self.is_open(timeout) and b"\0" in self._buffer)

    def is_open(self, timeout: float = 0.0) -> bool:
        """Whether the daemon keeps the connection open; what it sends meanwhile is kept for `receive`."""
        before = self.link.gettimeout()
        self.link.settimeout(timeout or 0.001)
        try:
            more = self.link.recv(1 << 16)
            self._buffer += more
            return bool(more)
        except TimeoutError:
            return True
        except OSError:
            return False
        finally:
            self.link.settimeout(before)


def frame(method: str, parameters: dict | None = None, **flags) -> bytes:
    call: dict = {"method": method if "." in method else f"{INTERFACE}.{method}"}
    if parameters is not None:
        call["parameters"] = parameters
    return json.dumps({**call, **flags}).encode() + b"\0"
