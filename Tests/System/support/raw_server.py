"""A server on loopback that treats each connection as a test says. All it knows of HTTP is where a request ends."""
from __future__ import annotations

import contextlib
import gzip
import json
import socket
import struct
import threading

from support.ports import new_port

# Nothing here waits longer than this; only a failing test waits this long.
PATIENCE = 20.0


class Link:
    """The server's end of a connection."""

    def __init__(self, raw: socket.socket, server: RawServer):
        self.raw, self._server = raw, server
        raw.settimeout(PATIENCE)
        self._kept = b""

    def head(self) -> bytes:
        """Reads to the end of the headers, and leaves the body unread."""
        while b"\r\n\r\n" not in self._kept:
            more = self.raw.recv(65536)
            if not more:
                raise ConnectionError("no request")
            self._kept += more
        head, self._kept = self._kept.split(b"\r\n\r\n", 1)
        return head

    def body(self, head: bytes) -> bytes:
        """Reads the body that belongs to these headers, and records the request."""
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(self._kept) < length:
            more = self.raw.recv(65536)
            if not more:
                raise ConnectionError("half a request")
            self._kept += more
        body, self._kept = self._kept[:length], self._kept[length:]
        self._server.requests.append(head + b"\r\n\r\n" + body)
        return body

    def request(self) -> bytes:
        """Reads a whole request, and records it."""
        return self.body(self.head())

    def send(self, data: bytes):
        self.raw.sendall(data)

    def drain(self):
        """Discards input until the client closes."""
        while self.raw.recv(65536):
            pass

    def reset(self):
        """Makes closing send an RST."""
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def is_closed(self) -> bool:
        """Whether the client has closed the connection."""
        self.raw.setblocking(False)
        try:
            return self.raw.recv(1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.raw.settimeout(PATIENCE)


class RawServer:
    """`serve` is either the bytes that answer every request, or a function called with each connection in its own thread."""

    def __init__(self, serve, closes: bool = True, port: int | None = None):
        self.requests: list = []
        self.links: list = []
        self._serve = serve if callable(serve) else lambda link: self._answer(link, serve)
        self._closes = closes
        self._listener = socket.create_server(("127.0.0.1", port or new_port()), backlog=16)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/locations"
        threading.Thread(target=self._run, daemon=True).start()

    @staticmethod
    def _answer(link: Link, answer: bytes):
        link.request()
        link.send(answer)

    def _run(self):
        while True:
            try:
                raw, _ = self._listener.accept()
            except OSError:
                return
            link = Link(raw, self)
            self.links.append(link)
            threading.Thread(target=self._work, args=(link,), daemon=True).start()

    def _work(self, link: Link):
        with contextlib.suppress(OSError, ValueError):
            self._serve(link)
        if self._closes:
            link.raw.close()

    def batches_of(self, installation: str) -> dict:
        """The batches in which each location came, whether or not the answer acknowledged them."""
        found: dict = {}
        for request in list(self.requests):
            root = json.loads(gzip.decompress(request.split(b"\r\n\r\n", 1)[1]))
            for row in root["locations"] if root["device"]["install_id"] == installation else []:
                found.setdefault(row["id"], set()).add(root["batch_id"])
        return found

    def stop(self):
        for link in [self._listener, *(link.raw for link in self.links)]:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()
