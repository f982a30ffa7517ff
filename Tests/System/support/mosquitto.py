"""A real mosquitto, and a subscriber that notes what it is given."""
from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import unittest

from support.child import Child
from support.ports import reachable
from support.programs import installed
from support.waiting import PATIENCE, wait_for

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/local/sbin:/usr/sbin")
needs_mosquitto = unittest.skipUnless(MOSQUITTO, "mosquitto is not installed")


class Mosquitto:
    """One process, which can be killed and started again on its port, in a directory of its own."""

    def __init__(self, directory: str, port: int, *settings: str):
        """With these lines of its configuration; `{}` in them stands for the directory."""
        self.directory, self.port = directory, port
        self._child: Child | None = None
        self.configure(*(settings or ("allow_anonymous true",)))

    def configure(self, *settings: str):
        # As root it would become another user, who may not enter the directory.
        lines = ["user root", "log_dest file {}/log", "log_type all", f"listener {self.port} 127.0.0.1", *settings]
        with open(f"{self.directory}/mosquitto.conf", "w", encoding="ascii") as file:
            file.write("\n".join(lines).replace("{}", self.directory) + "\n")

    def write(self, name: str, text: str):
        with open(f"{self.directory}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def password(self, user: str, password: str):
        """Adds a login to the file `passwords`."""
        path = f"{self.directory}/passwords"
        with open(path, "a", encoding="ascii"):
            pass
        subprocess.run([installed(shutil.which("mosquitto_passwd")), "-b", path, user, password], check=True,
                       capture_output=True, timeout=60)

    def start(self) -> Mosquitto:
        self._child = Child([installed(MOSQUITTO), "-c", f"{self.directory}/mosquitto.conf"], f"{self.directory}/said")
        wait_for(lambda: reachable(self.port), lambda: f"mosquitto listens; it said:\n{self.text()}")
        return self

    def kill(self):
        if self._child:
            self._child.kill()

    def text(self) -> str:
        return self._child.text() if self._child else ""

    def log(self) -> str:
        with open(f"{self.directory}/log", encoding="utf-8", errors="replace") as file:
            return file.read()


class Subscriber:
    """Reads all that is published, until the broker goes away; also what stands in the socket of one that was killed.

    It speaks MQTT 3.1.1 at QoS 0: mosquitto writes to the socket of such a subscriber before it acknowledges.
    """

    _count = 0

    def __init__(self, port: int, login: tuple[str, str] | None = None, tls: str | None = None):
        """To everything. `tls` is the authority that vouches for the broker; None is no TLS."""
        Subscriber._count += 1
        self.messages: list[tuple[str, dict]] = []
        # What is told beside the messages of OwnTracks, as it came: the latest of each topic, and all of them.
        self.told: dict[str, bytes] = {}
        self.tellings: list[tuple[str, bytes]] = []
        self.is_over = False
        self._raw = socket.create_connection(("127.0.0.1", port), PATIENCE)
        if tls:
            self._raw = ssl.create_default_context(cafile=tls).wrap_socket(self._raw, server_hostname="127.0.0.1")
        who = text(f"listener-{Subscriber._count}") + b"".join(text(part) for part in login or ())
        self._raw.sendall(packet(0x10, text("MQTT") + bytes((4, 0xC2 if login else 0x02, 0, 0)) + who))
        kind, answer = receive(self._raw)
        assert (kind, answer[1]) == (0x20, 0), f"the broker refuses the subscriber: {answer!r}"
        self._raw.sendall(packet(0x82, b"\0\1" + text("#") + b"\0"))
        kind, answer = receive(self._raw)
        assert (kind, answer[2]) == (0x90, 0), f"the broker refuses the subscription: {answer!r}"
        self._raw.settimeout(None)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                kind, body = receive(self._raw)
                if kind >> 4 == 3:
                    size = struct.unpack(">H", body[:2])[0]
                    topic, payload = body[2:2 + size].decode(), body[2 + size:]
                    if topic.startswith(("beekond/", "homeassistant/")):
                        self.told[topic] = payload
                        self.tellings.append((topic, payload))
                    else:
                        self.messages.append((topic, json.loads(payload)))
        self.is_over = True

    def of(self, kind: str) -> list[dict]:
        """The messages of one `_type`."""
        return [message for _, message in list(self.messages) if message["_type"] == kind]

    @property
    def ids(self) -> list[str]:
        """Of the locations, in the order in which they came."""
        return [message["_id"] for message in self.of("location")]

    def say(self, topic: str, payload: bytes, retain: bool = False):
        """Publishes, at QoS 0."""
        self._raw.sendall(packet(0x31 if retain else 0x30, text(topic) + payload))

    def wait_over(self):
        """The broker is gone, and all that it sent is read."""
        wait_for(lambda: self.is_over, "the broker closes the connection")

    def close(self):
        with contextlib.suppress(OSError):
            self._raw.shutdown(socket.SHUT_RDWR)
        self._raw.close()


class Recorder:
    """A reader whose session lasts, as that of the OwnTracks recorder with `--clientid`: the broker keeps for it what comes while
    it is away."""

    def __init__(self, port: int):
        self._port = port
        self.ids: list[str] = []
        with self._session() as link:
            link.sendall(packet(0x82, b"\0\1" + text("#") + b"\1"))
            kind, answer = receive(link)
            assert (kind, answer[2]) == (0x90, 1), f"the broker refuses the subscription: {answer!r}"
            link.sendall(packet(0xE0, b""))

    def _session(self) -> socket.socket:
        link = socket.create_connection(("127.0.0.1", self._port), PATIENCE)
        link.sendall(packet(0x10, text("MQTT") + bytes((4, 0, 0, 0)) + text("recorder")))
        kind, answer = receive(link)
        assert (kind, answer[1]) == (0x20, 0), f"the broker refuses the recorder: {answer!r}"
        return link

    def fetch(self):
        """Takes all that has been kept for it, until the broker has nothing more to say."""
        with self._session() as link:
            has_come = True
            while has_come:
                has_come = False
                link.sendall(packet(0xC0, b""))
                while (kind_body := receive(link))[0] != 0xD0:
                    kind, body = kind_body
                    assert kind & 0xF6 == 0x32, f"a message at QoS 1, not {kind:#x}"
                    size = struct.unpack(">H", body[:2])[0]
                    message = json.loads(body[4 + size:])
                    self.ids += [message["_id"]] if message["_type"] == "location" else []
                    link.sendall(packet(0x40, body[2 + size:4 + size]))
                    has_come = True
            link.sendall(packet(0xE0, b""))


def receive(link: socket.socket) -> tuple[int, bytes]:
    """The next packet: its first byte, and what follows its length."""

    def exactly(count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = link.recv(count - len(found))
            if not more:
                raise ConnectionError("the broker is gone")
            found += more
        return found

    kind, length, shift = exactly(1)[0], 0, 0
    while True:
        digit = exactly(1)[0]
        length |= (digit & 0x7F) << shift
        shift += 7
        if digit < 0x80:
            return kind, exactly(length)


def packet(first: int, body: bytes) -> bytes:
    header, rest = bytes((first,)), len(body)
    while True:
        digit, rest = rest & 0x7F, rest >> 7
        header += bytes((digit | (0x80 if rest else 0),))
        if not rest:
            return header + body


def text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()
