"""Bodies that are wrong in one way each, and what an answer has to say of it."""
from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from server_support.server import FIRST_MS, envelope, iso, uuid7


@dataclass
class Case:
    """One body, and the field and row that a 4xx has to name; None: it is about the whole."""

    kind: str
    body: bytes
    pointer: str | None = None
    index: int | None = None
    packed: bool = False


# Wrong for every field, whatever its type is; each as it stands in the text.
NOTHING = ["null", "[]", "{}", "[[[[1]]]]", "tru", "'x'", "NaN", "01", "1.", '"\\ud800"', '"\\x"', '"\u0001"', ""]
NOT_NUMBERS = [*NOTHING, '"1"', "true", "1e999", "-1e999", "9" * 70]
NOT_TEXTS = [*NOTHING, "1", "true", "-0.5", "1e99"]
NOT_IDS = [*NOT_TEXTS, '""', '"x"', '"' + "0" * 36 + '"', '"' + "9" * 3000 + '"']
NOT_TIMES = [*NOT_TEXTS, '""', '"now"', '"2024-13-01T00:00:00Z"', '"1999-12-31T23:59:59.999Z"', '"2999-01-01T00:00:00Z"',
             '"' + "9" * 3000 + '"']
NOT_WORDS = [*NOT_TEXTS, '""', '"x"', '"' + "x" * 5000 + '"']
NOT_FLAGS = [*NOTHING, "0", "1", '"true"']

LOCATION = {
    "id": NOT_IDS, "timestamp": NOT_TIMES, "trigger": NOT_WORDS, "motion": NOT_WORDS, "is_mock": NOT_FLAGS,
    "latitude": [*NOT_NUMBERS, "90.001", "-91"], "longitude": [*NOT_NUMBERS, "180.001", "-181"],
    "accuracy": [*NOT_NUMBERS, "-1"], "speed": [*NOT_NUMBERS, "-0.001"], "bearing": [*NOT_NUMBERS, "360", "-1"],
    "altitude": NOT_NUMBERS,
}
# Sections of an envelope: how many rows, and the fields of each, with what they must not be.
SECTIONS: dict = {
    "locations": (3, LOCATION),
    "geofence_events": (2, {"id": NOT_IDS, "geofence_id": [*NOT_TEXTS, '""', '"' + "x" * 101 + '"', '"\\u0000"'],
                            "type": NOT_WORDS, "timestamp": NOT_TIMES}),
    "events": (2, {"id": NOT_IDS, "kind": [*NOT_TEXTS, '""', '"' + "x" * 65 + '"'], "timestamp": NOT_TIMES}),
    "command_results": (2, {"id": [*NOT_TEXTS, '""', '"' + "x" * 201 + '"'], "ok": NOT_FLAGS}),
}
DEVICE = {"install_id": NOT_IDS, "platform": [*NOT_TEXTS, '""'], "sdk_version": NOT_TEXTS}
WHOLE = {
    "schema_version": [*NOT_NUMBERS, "2", "0", "1.5"], "batch_id": NOT_IDS, "session_id": NOT_IDS,
    "sent_at": [value for value in NOT_TIMES if value[:4] not in ('"199', '"299')],
    "status": [value for value in NOT_TEXTS if value != "{}"] + ['{"a":}', '"' + "x" * 20_000 + '"'],
}
MARK = '"@@"'


def whole() -> dict:
    """An envelope with a row of everything."""
    at = [iso(FIRST_MS + index * 1000) for index in range(2)]
    return envelope(
        3, extras={"driver": "ada"}, status={"state": "tracking"},
        geofence_events=[{"id": uuid7(FIRST_MS), "geofence_id": "home", "type": "enter", "timestamp": time} for time in at],
        events=[{"id": uuid7(FIRST_MS), "kind": "ignition_on", "timestamp": time} for time in at],
        command_results=[{"id": "c-1", "command": "start", "ok": True} for _ in at])


def texts(values: dict, field: str, wrong: list) -> Iterator[tuple[str, str]]:
    """The object with each of what the field must not be, without the field, and with it twice; and what kind that is."""
    text = json.dumps({**values, field: MARK[1:-1]})
    for value in wrong:
        yield f"wrong {field}", text.replace(MARK, value)
    yield "missing", json.dumps({name: value for name, value in values.items() if name != field})
    if field in values:
        yield "twice", text.replace(MARK, f'{json.dumps(values[field])}, "{field}": {json.dumps(values[field])}')


def uploads() -> Iterator[Case]:
    """Bodies of uploads."""
    root = whole()
    optional = {"accuracy", "speed", "bearing", "altitude", "status"}
    for section, (count, fields) in SECTIONS.items():
        for field, wrong in fields.items():
            for index in (0, count - 1):
                for kind, row in texts(root[section][index], field, wrong):
                    if kind == "missing" and field in optional:
                        continue
                    text = json.dumps({**root, section: [*root[section][:index], MARK[1:-1], *root[section][index + 1:]]})
                    yield Case(f"{section}: {kind}", text.replace(MARK, row).encode(), f"/{section}/{index}/{field}", index)
    for field, wrong in DEVICE.items():
        for kind, row in texts(root["device"], field, wrong):
            text = json.dumps({**root, "device": MARK[1:-1]})
            yield Case(f"device: {kind}", text.replace(MARK, row).encode(), f"/device/{field}")
    for field, wrong in WHOLE.items():
        for kind, text in texts(root, field, wrong):
            if not (kind == "missing" and field in optional):
                yield Case(kind, text.encode(), f"/{field}")
    yield from broken(root)
    yield from too_much(root)


def broken(root: dict) -> Iterator[Case]:
    """What is no JSON, no UTF-8 and no gzip at all."""
    good = json.dumps(root).encode()
    packed = gzip.compress(json.dumps(envelope(1)).encode())
    for cut in range(len(packed)):
        yield Case("gzip cut", packed[:cut], packed=True)
    for cut in range(0, len(good) - 1, 17):
        yield Case("JSON cut", good[:cut], pointer="")
        yield Case("no UTF-8", good[:cut] + b"\xff" + good[cut:])
        yield Case("NUL", good[:cut] + b"\0" + good[cut:], pointer="")
    for rest in (b"x", b"{}", b"\0", packed):
        yield Case("bytes behind", good + rest)
        yield Case("bytes behind gzip", packed + rest, packed=True)
    for body in (b"", b"[]", b"5", b'"x"', b"null", b"\xef\xbb\xbf" + good, b"\xff\xfe"):
        yield Case("no object", body)


def too_much(root: dict) -> Iterator[Case]:
    """What is more than there may be."""
    fields = ",".join(f'"f{number}":1' for number in range(1_000_000))
    million = gzip.compress(("{" + fields + "}").encode(), 1)
    yield Case("a million fields", million, packed=True)
    for name, value in (("x", "y" * 1025), ("x" * 101, "y")):
        yield Case("extras too long", json.dumps({**root, "extras": {name: value}}).encode(), "/extras")
        # Written with escapes, they are as long as before.
        escaped = json.dumps({**root, "extras": MARK[1:-1]}).replace(
            MARK, "{" + ":".join('"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"' for text in (name, value)) + "}")
        yield Case("extras too long", escaped.encode(), "/extras")
    yield Case("extras too many", json.dumps({**root, "extras": {f"f{number}": "" for number in range(65)}}).encode(), "/extras")
    event = {**root["events"][0], "data": "x" * 4096}
    yield Case("event too long", json.dumps({**root, "events": [event]}).encode(), "/events/0", 0)
    few = ",".join(f'"f{number}":1' for number in range(1001))
    text = json.dumps({**root, "extras": MARK[1:-1]})
    for name in ("extras", "x"):
        yield Case("1001 fields", text.replace(f'"extras": {MARK}', f'"{name}": {{{few}}}').encode(), pointer="")
    for megabytes in (5, 64, 900):
        yield Case("bomb", gzip.compress(b" " * (megabytes << 20), 1), packed=True)
    for depth in (17, 1000, 500_000):
        for opening in ("[", '{"a":'):
            body = ('{"x":' + opening * depth).encode()
            yield Case("depth", gzip.compress(body[:4_000_000], 1), packed=True)
    for section in ("locations", "geofence_events", "events", "command_results"):
        rows = json.dumps({**root, section: root[section][:1] * 1001}).encode()
        yield Case("1001 rows", gzip.compress(rows, 1), pointer=f"/{section}", packed=True)


# Of the other routes that read bodies: the fields of a good one, and what they must not be.
NOT_COUNTS = [*NOTHING, '"x"', "0", "-1", "1.5", "1e30", "true", "9" * 30, "1000001"]
OTHERS: dict = {
    ("POST", "/v1/enroll"): {"code": ("AAAAA-AAAAA-AAAAA-AAAAA", NOT_TEXTS), "name": ("van", [*NOT_TEXTS, '""', '"\\n"',
                             '"' + "x" * 101 + '"']),
                             "nonce": ("0" * 32, [*NOT_TEXTS, '""', '"x"', '"' + "0" * 31 + '"', '"' + "g" * 32 + '"'])},
    ("POST", "/v1/claims"): {"uses": (1, NOT_COUNTS), "days": (7, [*NOT_COUNTS, "367"])},
    ("POST", "/v1/devices/1/installations"): {"install_id": (uuid7(FIRST_MS), NOT_IDS)},
    ("POST", "/v1/devices"): {"name": ("van", [*NOT_TEXTS, '""', '"\\u0000"', '"' + "x" * 101 + '"'])},
    ("POST", "/v1/login"): {"name": ("ada", NOT_TEXTS), "password": ("correct horse", NOT_TEXTS)},
    ("POST", "/v1/users"): {"name": ("bob", [*NOT_TEXTS, '""']), "role": ("reader", [*NOT_TEXTS, '""', '"root"'])},
    ("PUT", "/v1/users/nobody/password"): {"password": ("correct horse", [*NOT_TEXTS, '"short"', '"' + "x" * 201 + '"'])},
    ("POST", "/v1/devices/1/commands"): {
        "command": ("start", [*NOT_WORDS, '"destroy"']), "expires_in": (60, [*NOT_NUMBERS, "59", "1e9"]),
        "arguments": ({}, [value for value in [*NOTHING, "1", '"x"'] if value != "{}"])},
    ("POST", "/v1/token"): {"grant_type": ("refresh_token", [*NOT_TEXTS, '""', '"password"']),
                            "refresh_token": ("bkr.1.x", [*NOT_TEXTS, '""', '"x"', '"' + "x" * 5000 + '"'])},
}
OPTIONAL = {"nonce", "uses", "days", "expires_in", "arguments"}


def others(method: str, path: str, fields: dict) -> Iterator[Case]:
    """Bodies of one other route."""
    good = {name: value for name, (value, _) in fields.items()}
    for field, (_, wrong) in fields.items():
        for kind, text in texts(good, field, wrong):
            if not (kind == "missing" and field in OPTIONAL):
                yield Case(f"{path}: {kind}", text.encode(), f"/{field}")
    body = json.dumps(good).encode()
    for cut in range(len(body)):
        yield Case(f"{path}: cut", body[:cut], pointer="")
        yield Case(f"{path}: no UTF-8", body[:cut] + b"\xff" + body[cut:])
    for number in (17, 5000):
        yield Case(f"{path}: depth", b'{"x":' + b"[" * number, pointer="")
    yield Case(f"{path}: many fields", ("{" + ",".join(f'"f{number}":1' for number in range(600)) + "}").encode(), pointer="")
    yield Case(f"{path}: too long", b'{"x":"' + b"x" * 40_000 + b'"}')
    yield Case(f"{path}: bytes behind", body + b"x")


def by_chance(chance: random.Random) -> Iterator[tuple[str, bytes, bool]]:
    """What it is, its bytes, and whether they are packed. Every other of those that need not be is."""
    for number, (kind, body, packed) in enumerate(_made(chance)):
        if not packed and number % 2:
            yield kind, zlib.compress(body, 1, wbits=31), True
        else:
            yield kind, body, packed


def _made(chance: random.Random) -> Iterator[tuple[str, bytes, bool]]:
    good = json.dumps(envelope(5, extras={"a": "b"})).encode()
    packed = gzip.compress(good)
    fields = ["schema_version", "batch_id", "session_id", "sent_at", "device", "extras", "locations", "geofence_events"]
    # Not an empty array: an envelope may have those.
    wrong: list = [None, True, -1, 1e308, "x", {}, [[]], "\u0000", 10 ** 400, "9" * 3000]
    while True:
        yield "gzip cut", packed[:chance.randrange(len(packed))], True
        yield "bytes behind", packed + bytes(chance.randrange(1, 9)), True
        damaged = bytearray(packed)
        damaged[chance.randrange(10, len(packed))] ^= 1 << chance.randrange(8)
        yield "gzip damaged", bytes(damaged), True
        yield "bomb", gzip.compress(b" " * chance.randrange(5 << 20, 40 << 20), 1), True
        yield "depth", b'{"x":' + b"[" * chance.randrange(20, 200_000), False
        yield "depth of objects", b'{"x":' * chance.randrange(20, 100_000), False
        yield "fields", b"{" + b",".join(b'"f%d":1' % n for n in range(chance.choice((1001, 100_000)))) + b"}", False
        root = json.loads(good)
        root[chance.choice([name for name in fields if name != "extras"])] = chance.choice(wrong[3:] + wrong[:2])
        yield "type", json.dumps(root).encode(), False
        root = json.loads(good)
        name = chance.choice(["id", "timestamp", "trigger", "motion", "is_mock", "latitude", "longitude"])
        root["locations"][chance.randrange(5)][name] = chance.choice([None, -1e9, "x", [], {}, 10 ** 400])
        yield "type within a location", json.dumps(root).encode(), False
        yield "field twice", good.replace(b'"latitude"', b'"latitude": 1, "latitude"', 1), False
        yield "huge number", good.replace(b'"latitude": 48', b'"latitude": 1e' + b"9" * chance.randrange(3, 2000), 1), False
        cut = chance.randrange(1, len(good) - 1)
        yield "invalid UTF-8", good[:cut] + b"\xff" + good[cut:], False
        yield "JSON cut", good[:cut], False
        yield "noise", chance.randbytes(chance.randrange(1, 5000)), chance.random() < 0.5
        yield "rows", json.dumps(envelope(1001)).encode(), False
        yield "half a surrogate", good.replace(b'"b"', rb'"\ud800"'), False
        status = chance.choice((b"5", b"[]", b'{"a":}', b'"' + b"x" * 20_000 + b'"'))
        yield "status", good[:-1] + b',"status":' + status + b"}", False
        results = chance.choice((b"{}", b"[1]", b'[{"id":5,"ok":true}]'))
        yield "results", good[:-1] + b',"command_results":' + results + b"}", False
