"""A path to a server that dies without a word, as a mobile network's does, and comes back for new connections."""
from __future__ import annotations

import socket
import threading

from support.ports import new_port


class DeadPath:
    """Passes bytes on, until it is told to die: what is open then stays open, and nothing comes any more."""

    def __init__(self, backend: int):
        self._backend = backend
        self._listener = socket.create_server(("127.0.0.1", new_port()), backlog=64)
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._is_dead = False
        self._generation = 0
        self._open: list[socket.socket] = []
        # Bytes from the server, of each stream of changes, in the order in which they began.
        self.streams: list[bytearray] = []
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def die(self):
        with self._lock:
            self._is_dead = True
            self._generation += 1

    def revive(self):
        """For connections that are made from now on."""
        with self._lock:
            self._is_dead = False

    def close(self):
        self._listener.close()
        for connection in self._open:
            connection.close()

    def _serve(self):
        while True:
            try:
                front, _ = self._listener.accept()
            except OSError:
                return
            back = socket.create_connection(("127.0.0.1", self._backend))
            with self._lock:
                # One that is made while the path is dead never gets anywhere.
                generation = self._generation - self._is_dead
                self._open += [front, back]
            seen = bytearray()
            for source, target, is_request in ((front, back, True), (back, front, False)):
                threading.Thread(
                    target=self._pass, args=(source, target, generation, is_request, seen), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, generation: int, is_request: bool, seen: bytearray):
        try:
            while data := source.recv(65536):
                with self._lock:
                    if generation != self._generation:
                        continue
                    if not is_request:
                        seen += data
                    elif b"GET /v1/live" in data:
                        # The rest of this connection is the stream.
                        del seen[:]
                        self.streams.append(seen)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
