"""Vehicles that do not exist: their tokens, and what they upload."""
from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import math
import os
import random
import sqlite3
import struct
import subprocess
from dataclasses import dataclass, field

from server_support.server import FIRST_MS, iso

YEAR_MS = 365 * 86_400_000


def identifier(milliseconds: int, counter: int) -> bytes:
    """A UUID of version 7. beekond's have a counter behind the time."""
    return (milliseconds << 80 | 7 << 76 | 2 << 62 | counter & (1 << 62) - 1).to_bytes(16, "big")


def text(name: bytes) -> str:
    digits = name.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@dataclass
class Fleet:
    """As many vehicles, numbered from 1, whose tokens have been used before. Earlier servers have no pairs of tokens."""

    size: int
    tokens: list = field(default_factory=list)

    def __post_init__(self):
        self.tokens = [
            f"bka.{number}.{base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip('=')}"
            for number in range(1, self.size + 1)]

    def _hashes(self) -> list:
        return [hashlib.sha256(token.encode()).digest() for token in self.tokens]

    def enter_postgres(self, address: str):
        paired = subprocess.run(
            ["psql", address, "-XAtqc", "SELECT 1 FROM pg_attribute WHERE attrelid = 'tokens'::regclass AND attname = 'pair'"],
            text=True, check=True, capture_output=True).stdout != ""
        lines = ["COPY devices (id, name, created) FROM STDIN;"]
        lines += [f"{number}\tvehicle {number}\t{FIRST_MS}" for number in range(1, self.size + 1)]
        columns, end = (", pair", "\t1") if paired else ("", "")
        lines += ["\\.", f"COPY tokens (device, hash, kind, created, expires, used{columns}) FROM STDIN;"]
        lines += [f"{number}\t\\\\x{code.hex()}\t1\t{FIRST_MS}\t{FIRST_MS + 100 * YEAR_MS}\t{FIRST_MS}{end}"
                  for number, code in enumerate(self._hashes(), 1)]
        subprocess.run(
            ["psql", address, "-XAtq", "-v", "ON_ERROR_STOP=1"], input="\n".join([*lines, "\\.", "ANALYZE;"]) + "\n", text=True,
            check=True, capture_output=True)

    def enter_sqlite(self, path: str):
        # Closed at once: what another process has open would look like a database that was left open.
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.executemany(
                "INSERT INTO devices (id, name, created) VALUES (?, ?, ?)",
                [(number, f"vehicle {number}", FIRST_MS) for number in range(1, self.size + 1)])
            paired = database.execute("SELECT 1 FROM pragma_table_info('tokens') WHERE name = 'pair'").fetchone()
            columns, end = (", pair", ", 1") if paired else ("", "")
            database.executemany(
                f"INSERT INTO tokens (device, hash, kind, created, expires, used{columns}) VALUES (?, ?, 1, ?, ?, ?{end})",
                [(number, code, FIRST_MS, FIRST_MS + 100 * YEAR_MS, FIRST_MS)
                 for number, code in enumerate(self._hashes(), 1)])

    def uploads(self, path: str, batches: int, rows: int, round_: int = 0) -> bytes:
        """Writes requests, one vehicle after the other, for the generator.

        Returns their locations, for `bare`. Each round is of later hours than those before it."""
        bits = random.Random(round_)
        records = bytearray()
        with open(path, "wb") as file:
            for number in range(batches):
                vehicle = number % self.size
                first = FIRST_MS + (round_ * (batches // self.size + 1) + number // self.size) * rows * 1000
                body, some = _batch(vehicle + 1, first, rows, bits)
                records += some
                packed = gzip.compress(body, 6)
                head = (f"POST /v1/batches HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.tokens[vehicle]}\r\n"
                        "User-Agent: beekond/0.1.0\r\nAccept: */*\r\nContent-Type: application/json\r\n"
                        f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n").encode()
                file.write(struct.pack("<I", len(head) + len(packed)) + head + packed)
        return bytes(records)


def _batch(vehicle: int, first: int, rows: int, bits: random.Random) -> tuple:
    """A batch as beekond writes it, and its locations as `bare` reads them."""
    counter = bits.getrandbits(61)
    session = identifier(first, counter)
    latitude, longitude, course, speed = 48 + bits.random(), 11 + bits.random(), bits.random() * 360, 12.0
    texts, records = [], bytearray()
    for second in range(rows):
        moment = first + second * 1000
        course = (course + bits.gauss(0, 3)) % 360
        speed = max(1.0, speed + bits.gauss(0, 0.5))
        latitude += speed * math.cos(math.radians(course)) / 111_195
        longitude += speed * math.sin(math.radians(course)) / 74_400
        name = identifier(moment, counter + second)
        values = (round(latitude, 7), round(longitude, 7), round(3 + bits.random() * 3, 1), round(speed, 2),
                  round(course % 359.9, 1), round(520 + second / 10, 1))
        texts.append(
            f'{{"id":"{text(name)}","timestamp":"{iso(moment)}","trigger":"interval","motion":"moving","is_mock":false,'
            f'"latitude":{values[0]},"longitude":{values[1]},"accuracy":{values[2]},"speed":{values[3]},'
            f'"bearing":{values[4]},"altitude":{values[5]}}}')
        records += struct.pack("<qq16s16s6dh", vehicle, moment, name, session, *values, 0)
    install = text(identifier(FIRST_MS, vehicle))
    body = (f'{{"schema_version":1,"batch_id":"{text(identifier(first, counter + rows))}","session_id":"{text(session)}",'
            f'"sent_at":"{iso(first + rows * 1000)}","device":{{"install_id":"{install}","platform":"linux",'
            f'"sdk_version":"0.1.0","model":"bench"}},"locations":[{",".join(texts)}],"geofence_events":[]}}')
    return body.encode(), bytes(records)
