"""A broker that does what a test says, message by message, and knows which messages it has kept."""
from __future__ import annotations

import json
import struct

from support.mosquitto import packet, text
from support.raw_server import Link, RawServer

# CONNACK of MQTT 5 without properties, and that of 3.1.1.
WELCOME, OLD_WELCOME = b"\x20\x03\0\0\0", b"\x20\x02\0\0"


def welcome(properties: bytes = b"") -> bytes:
    """CONNACK of MQTT 5 with these properties."""
    return packet(0x20, b"\0\0" + bytes((len(properties),)) + properties)


class Publish:
    """A message with its id."""

    def __init__(self, body: bytes):
        size = struct.unpack(">H", body[:2])[0]
        self.topic = body[2:2 + size].decode()
        self.id = struct.unpack(">H", body[2 + size:4 + size])[0]
        self._rest = body[4 + size:]

    def payload(self, level: int) -> bytes:
        return self._rest[1 if level == 5 else 0:]

    def message(self, level: int) -> dict:
        return json.loads(self.payload(level))


class MadeBroker:
    """Speaks the version that it is spoken to in, keeps every message and acknowledges it. A test changes what it does by
    the members; each counts from the next connection or message on."""

    def __init__(self):
        # What it says to CONNECT of this level; b"" is nothing.
        self.answers: dict[int, bytes] = {5: WELCOME, 4: OLD_WELCOME}
        # The level of each CONNECT, in their order.
        self.levels: list[int] = []
        # The packet ids of each connection.
        self.ids: list[list[int]] = []
        self.kept: list[dict] = []
        # (topic, payload) of each will, as CONNECT has it.
        self.wills: list[tuple[str, bytes]] = []
        # The topic under which a message comes back to who subscribes to it.
        self.renames = lambda topic: topic
        self.on_publish = self.keep
        # Whether the topic of a will is one that it closes the connection for.
        self.refuses_will = lambda topic: False
        self.server = RawServer(self._serve)
        self.port = self.server.port

    def stop(self):
        self.server.stop()

    def _serve(self, link: Link):
        # A connection that is kept is silent for long.
        link.raw.settimeout(None)
        kind, body = take(link)
        assert kind == 0x10, kind
        level = body[6]
        self.levels.append(level)
        ids: list[int] = []
        self.ids.append(ids)
        self._note_will(level, body)
        if self.wills and self.refuses_will(self.wills[-1][0]):
            return
        link.send(self.answers[level])
        if not self.answers[level]:
            link.drain()
        subscribed = None
        while True:
            kind, body = take(link)
            # Retained or not.
            if kind in (0x32, 0x33):
                publish = Publish(body)
                ids.append(publish.id)
                if subscribed == publish.topic:
                    self._send_back(link, body, publish)
                self.on_publish(link, level, publish)
            elif kind == 0x82:
                subscribed = body[(3 if level == 5 else 2) + 2:-1].decode()
                link.send(packet(0x90, body[:2] + (b"\0" if level == 5 else b"") + b"\0"))
            elif kind == 0xC0:
                link.send(b"\xd0\0")
            elif kind == 0xE0:
                return

    def _note_will(self, level: int, body: bytes):
        if not body[7] & 4:
            return
        at = 10
        if level == 5:
            at += 1 + body[at]
        at += 2 + struct.unpack(">H", body[at:at + 2])[0]
        if level == 5:
            at += 1 + body[at]
        fields = []
        for _ in range(2):
            size = struct.unpack(">H", body[at:at + 2])[0]
            fields.append(body[at + 2:at + 2 + size])
            at += 2 + size
        self.wills.append((fields[0].decode(), fields[1]))

    def _send_back(self, link: Link, body: bytes, publish: Publish):
        payload = body[4 + len(publish.topic.encode()):]
        link.send(packet(0x30, text(self.renames(publish.topic)) + payload))

    def keep(self, link: Link, level: int, publish: Publish):
        """What an honest broker does with a message."""
        self.kept.append(publish.message(level))
        self.acknowledge(link, publish.id)

    @staticmethod
    def acknowledge(link: Link, number: int, code: int | None = None):
        link.send(packet(0x40, struct.pack(">H", number) + (b"" if code is None else bytes((code,)))))

    @property
    def rows(self) -> set:
        """The ids of the locations that it has kept."""
        return {message["_id"] for message in list(self.kept) if message["_type"] == "location"}


def take(link: Link) -> tuple[int, bytes]:
    """The next packet."""
    kind, length, shift = exactly(link, 1)[0], 0, 0
    while True:
        digit = exactly(link, 1)[0]
        length |= (digit & 0x7F) << shift
        shift += 7
        if digit < 0x80:
            return kind, exactly(link, length)


def exactly(link: Link, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = link.raw.recv(count - len(found))
        if not more:
            raise ConnectionError("the client is gone")
        found += more
    return found
