"""A system bus of the test's own, and a stand-in for NetworkManager on it, which speaks as much D-Bus as that takes."""
from __future__ import annotations

import os
import shutil
import socket
import struct
from threading import Lock, Thread

from support.child import Child
from support.programs import installed
from support.waiting import wait_for

DBUS_DAEMON = shutil.which("dbus-daemon")
NAME, PATH = "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager"
PROPERTIES = "org.freedesktop.DBus.Properties"
BUS = "org.freedesktop.DBus"
UNKNOWN, YES, NO, GUESS_YES, GUESS_NO = range(5)
CALL, REPLY, SIGNAL = 1, 2, 4
CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<allow user="*"/></policy>
</busconfig>
"""


class SystemBus:
    """A dbus-daemon. `environment` leads the daemon under test to it."""

    def __init__(self, test):
        self._path, self._config = test.path("bus"), test.path("bus.conf")
        with open(self._config, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(path=self._path))
        self._log = test.path("bus.log")
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self._path}"}
        self._child: Child | None = None
        test.addCleanup(self.stop)

    def start(self) -> SystemBus:
        self._child = Child([installed(DBUS_DAEMON), "--config-file", self._config, "--nofork", "--nopidfile"], self._log)
        wait_for(self._answers, "the bus listens")
        wait_for(lambda: self.connections() == 0, "the bus has noticed that who asked has gone")
        return self

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as link:
            return link.connect_ex(self._path) == 0

    def connections(self) -> int:
        """How many are connected with the bus, or wait for that."""
        with open("/proc/net/unix", encoding="utf-8") as file:
            # The sixth column is the state, 03 of a connection, and the last the path of the bus at its end of it.
            return sum(line.split()[5:6] == ["03"] and line.endswith(f" {self._path}\n") for line in file)

    def connect(self) -> socket.socket:
        link = socket.socket(socket.AF_UNIX)
        link.connect(self._path)
        return link

    def stop(self):
        if self._child:
            self._child.kill()
            self._child = None
        if os.path.exists(self._path):
            os.unlink(self._path)


def aligned(data: bytes, size: int) -> bytes:
    return data + bytes(-len(data) % size)


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def signature(value: str) -> bytes:
    return struct.pack("B", len(value)) + value.encode() + b"\0"


def variant(kind: str, value) -> bytes:
    """Begins at a multiple of eight, as in a header's field behind its code; or at the beginning of a body."""
    return aligned(signature(kind), 4) + (text(value) if kind in "so" else struct.pack("<I", value))


class Message:
    def __init__(self, kind: int, serial: int, fields: dict, body: bytes = b""):
        self.kind, self.serial, self.fields, self.body = kind, serial, fields, body

    def encoded(self) -> bytes:
        fields = b""
        for code, (kind, value) in self.fields.items():
            fields = aligned(fields, 8) + struct.pack("B", code)
            if kind == "g":
                fields += signature("g") + signature(value)
            else:
                fields = aligned(fields + signature(kind), 4) + (text(value) if kind in "so" else struct.pack("<I", value))
        head = struct.pack("<cBBBII", b"l", self.kind, 0, 1, len(self.body), self.serial)
        return aligned(head + struct.pack("<I", len(fields)) + fields, 8) + self.body


class NetworkManager:
    """Owns the name on the bus and answers Get; `metered` is its answer.

    `manner` may be "silent", which never answers, or a function from the call to the signature and the body of the answer.
    """

    def __init__(self, test, bus: SystemBus, metered: int = UNKNOWN, manner=None):
        self.metered, self.manner = metered, manner
        # Calls of Get that have come in.
        self.asked = 0
        self._serial = 0
        self._lock = Lock()
        self._link = bus.connect()
        # That of the connection, and then the one that was asked for.
        self._names = 0
        self._link.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert self._link.recv(4096).startswith(b"OK "), "the bus lets us in"
        self._link.sendall(b"BEGIN\r\n")
        self._reader = self._link.makefile("rb")
        self._call("Hello")
        self._call("RequestName", "su", aligned(text(NAME), 4) + struct.pack("<I", 4))
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()
        wait_for(lambda: self._names == 2, "the name is ours")
        test.addCleanup(self.stop)

    def stop(self):
        """The name is nobody's from now on."""
        try:
            self._link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join()
        self._reader.close()
        self._link.close()

    def change(self, metered: int):
        """As NetworkManager says it: with a signal."""
        self.metered = metered
        entry = aligned(text("Metered"), 4)
        entry = aligned(entry + signature("u"), 4) + struct.pack("<I", metered)
        # An array of entries begins at a multiple of eight.
        body = aligned(text(NAME), 4)
        body = aligned(body + struct.pack("<I", len(entry)), 8) + entry
        body = aligned(body, 4) + struct.pack("<I", 0)
        self.signal(body, "sa{sv}as")

    def signal(self, body: bytes, kind: str, count: int = 1):
        for _ in range(count):
            self._send(Message(SIGNAL, 0, {
                1: ("o", PATH), 2: ("s", PROPERTIES), 3: ("s", "PropertiesChanged"), 8: ("g", kind)}, body))

    def _call(self, member: str, kind: str = "", body: bytes = b""):
        fields = {1: ("o", "/org/freedesktop/DBus"), 2: ("s", BUS), 3: ("s", member), 6: ("s", BUS)}
        self._send(Message(CALL, 0, {**fields, **({8: ("g", kind)} if kind else {})}, body))

    def _send(self, message: Message):
        with self._lock:
            self._serial += 1
            message.serial = self._serial
            self._link.sendall(message.encoded())

    def _serve(self):
        while True:
            try:
                head = self._reader.read(16)
                if len(head) < 16:
                    return
                _, kind, _, _, size, serial, length = struct.unpack("<cBBBIII", head)
                fields = self._reader.read(length + -length % 8)[:length]
                self._reader.read(size)
                if kind == SIGNAL and b"NameAcquired\0" in fields:
                    self._names += 1
                if kind == CALL and b"Get\0" in fields:
                    self.asked += 1
                    self._answer(serial, self._sender(fields))
            except (OSError, ValueError):
                return

    @staticmethod
    def _sender(fields: bytes) -> str:
        """The unique name of the caller, which alone begins with a colon."""
        start = fields.index(b":")
        return fields[start:fields.index(b"\0", start)].decode()

    def _answer(self, serial: int, caller: str):
        if self.manner == "silent":
            return
        kind, body = self.manner(self) if self.manner else ("v", variant("u", self.metered))
        self._send(Message(REPLY, 0, {5: ("u", serial), 6: ("s", caller), 8: ("g", kind)}, body))
