"""The control socket, byte by byte: what clients may send, what they should not, and the answer to each."""
import json
import os
import random
import socket
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import INTERFACE, ConnectionClosed, Refusal, frame
from support.interface import CALLS, FENCE, methods
from support.system_test import SystemTest
from support.waiting import wait_for

SEED = int(os.environ.get("BEEKOND_SEED", "1"))
# Values that do not fit a type, including numbers that JSON can write and a program cannot represent.
WRONG = {
    "string": ["5", "1.5", "true", "[]", "{}"],
    "float": ['"5"', "true", "[]", "{}", "1e999", "-1e999"],
    "int": ['"5"', "1.5", "true", "[]", "{}", "1e999", "9223372036854775808", "1e19"],
    "bool": ['"true"', "1", "0", "[]", "{}"],
    "[]string": ['"a"', "5", "[5]", "[null]", '{"a":"b"}', '["a",["b"]]'],
    "[string]string": ['"a"', "[]", '{"a":5}', '{"a":null}', '{"a":{"b":"c"}}', "5"],
    "[string]object": ['"a"', "[]", "5"],
    "[]Geofence": ['"a"', "{}", "[5]", "[null]", "[{}]", "[[]]", *(
        json.dumps([{**FENCE, **change}]) for change in (
            {"id": 5}, {"id": None}, {"latitude": "north"}, {"longitude": "east"}, {"radius_meters": True},
            {"notify_on_entry": "yes"}, {"notify_on_exit": 1}, {"latitude": [1]}))],
}


class FramingTest(SystemTest):
    def setUp(self):
        super().setUp()
        self.served = self.daemon().start()

    def answer(self, call: bytes) -> str:
        """The error that a message provokes, "answered", or "closed"."""
        with self.served.connect() as client:
            try:
                client.link.sendall(call + b"\0")
                client.receive()
                return "answered"
            except Refusal as refusal:
                self.refusal = refusal
                return refusal.name
            except (ConnectionClosed, OSError):
                return "closed"

    def raw(self, method: str, parameters: str, flags: str = "") -> bytes:
        return f'{{"method":"{INTERFACE}.{method}","parameters":{parameters}{flags}}}'.encode()

    def still_serves(self):
        with self.served.connect() as client:
            self.assertEqual(client.call("GetPendingUploadCount"), {"count": 0})


class ParameterTests(FramingTest):
    """Derived from the interface file: a new method is tested along with the others."""

    def valid(self, method: str) -> dict:
        return next((row.parameters for row in CALLS if row.method == method), {})

    def flags(self, method: str) -> str:
        return ',"more":true' if method == "Subscribe" else ""

    def test_wrong_types(self):
        count = 0
        for method, parameters in methods().items():
            for name, kind in parameters.items():
                optional = kind.startswith("?")
                for text in WRONG[kind.lstrip("?")] + ([] if optional else ["null"]):
                    others = "".join(f",{json.dumps(other)}:{json.dumps(value)}" for other, value in self.valid(method).items()
                                     if other != name)
                    call = self.raw(method, f'{{"{name}":{text}{others}}}', self.flags(method))
                    with self.subTest(method=method, parameter=name, value=text):
                        self.assertEqual(self.answer(call), "InvalidParameter")
                        self.assertEqual(self.refusal.parameters, {"parameter": name})
                    count += 1
        self.assertGreater(count, 80)
        self.still_serves()

    def test_null_is_absent(self):
        for method, parameters in methods().items():
            optional = [name for name, kind in parameters.items() if kind.startswith("?")]
            if not optional:
                continue
            with self.subTest(method):
                values = {**dict.fromkeys(optional),
                          **{name: value for name, value in self.valid(method).items() if name not in optional}}
                answer = self.answer(self.raw(method, json.dumps(values), self.flags(method)))
                if method == "SeedAuth":
                    self.assertEqual((answer, self.refusal.parameters), ("InvalidParameter", {"parameter": "access_token"}))
                else:
                    self.assertIn(answer, ("answered", "LocationUnavailable", "RebatchRefused"))

    def test_unknown_and_missing(self):
        for method, parameters in methods().items():
            with self.subTest(method, case="unknown"):
                values = {**self.valid(method), "verbose": True}
                self.assertEqual(self.answer(self.raw(method, json.dumps(values), self.flags(method))), "InvalidParameter")
                self.assertEqual(self.refusal.parameters, {"parameter": "verbose"})
            for name, kind in parameters.items():
                if not kind.startswith("?"):
                    with self.subTest(method, missing=name):
                        self.assertEqual(self.answer(self.raw(method, "{}")), "InvalidParameter")
                        self.assertEqual(self.refusal.parameters, {"parameter": name})

    def test_more_where_nothing_streams(self):
        for row in CALLS:
            if row.more or row.method in ("GetLocations", "GetGeofenceEvents", "GetRejected"):
                continue
            with self.subTest(row.method), self.served.connect() as client:
                client.send(row.method, row.parameters, more=True)
                client.send("GetPendingUploadCount", {})
                self.assertNotIn("continues", client.reply())
                self.assertEqual(client.receive(), {"count": 0})

    def test_oneway_is_never_answered(self):
        with self.served.connect() as client:
            for more in (False, True):
                for row in CALLS:
                    client.send(row.method, row.parameters, oneway=True, more=more)
                    # Not even what would be an error.
                    client.send(row.method, {"verbose": True}, oneway=True, more=more)
                client.send("Fly", {}, oneway=True, more=more)
            self.assertEqual(client.call("GetPendingUploadCount"), {"count": 0})
            self.assertEqual(client._buffer, b"")


class MessageTests(FramingTest):
    def test_each_message(self):
        deep = '{"a":' * 62 + "1" + "}" * 62
        for name, message, expected in (
            ("nothing", b"", "closed"), ("a space", b" ", "closed"),
            ("a byte order mark", b"\xef\xbb\xbf" + frame("GetStatus")[:-1], "closed"),
            ("UTF-16", frame("GetStatus").decode()[:-1].encode("utf-16"), "closed"),
            ("a byte that is no UTF-8", self.raw("GetLocations", '{"from":"\xff"}').replace(b"\xc3\xbf", b"\xff"), "closed"),
            ("an overlong slash", self.raw("GetLocations", '{"from":"/"}').replace(b"/", b"\xc0\xaf"), "closed"),
            ("a surrogate in UTF-8", self.raw("GetLocations", '{"from":"?"}').replace(b"?", b"\xed\xa0\x80"), "closed"),
            ("half a surrogate pair", self.raw("GetLocations", r'{"from":"\ud800"}'), None),
            ("the other half", self.raw("GetLocations", r'{"from":"\udc00x"}'), None),
            ("a whole pair", self.raw("GetLocations", r'{"from":"\ud83d\ude00"}'), "InvalidTime"),
            ("an escaped NUL", self.raw("GetLocations", r'{"from":"a\u0000b"}'), "InvalidTime"),
            ("an escaped NUL in an extra", self.raw("SetExtras", r'{"extras":{"a":"b\u0000c"}}'), "answered"),
            ("an extra without a name", self.raw("SetExtras", '{"extras":{"":"b"}}'), "InvalidConfiguration"),
            ("one in a fence", self.raw("AddGeofences", json.dumps({"geofences": [{**FENCE, "id": "a\0b"}]})), "InvalidGeofence"),
            ("white space around", b" \r\n\t" + frame("GetStatus")[:-1] + b"\n ", "answered"),
            ("two objects", b'{"method":"a.B"}{"method":"a.B"}', "closed"),
            ("a comma too many", b'{"method":"a.B",}', None), ("single quotes", b"{'method':'a.B'}", "closed"),
            ("a comment", b'{"method":"a.B"/**/}', "closed"),
            ("NaN", self.raw("GetCurrentLocation", '{"timeout_seconds":NaN}'), "closed"),
            ("64 levels", self.raw("GetStatus", '{"a":' + deep + "}"), "InvalidParameter"),
            ("65 levels", self.raw("GetStatus", '{"a":{"a":' + deep + "}}"), "closed"),
            ("brackets in a text", self.raw("GetLocations", json.dumps({"from": "[{" * 500})), "InvalidTime"),
            ("no method", b'{"parameters":{}}', "closed"), ("an empty method", b'{"method":""}', "InterfaceNotFound"),
            ("a dot", b'{"method":"."}', "InterfaceNotFound"), ("no interface", b'{"method":"GetStatus"}', "InterfaceNotFound"),
            ("an interface alone", f'{{"method":"{INTERFACE}"}}'.encode(), "InterfaceNotFound"),
            ("and its dot", f'{{"method":"{INTERFACE}."}}'.encode(), "MethodNotFound"),
            ("another case", f'{{"method":"{INTERFACE.lower()}.GetStatus"}}'.encode(), "InterfaceNotFound"),
            ("and here", f'{{"method":"{INTERFACE}.getStatus"}}'.encode(), "MethodNotFound"),
            ("no parameters", f'{{"method":"{INTERFACE}.GetStatus"}}'.encode(), "answered"),
            ("null for parameters", self.raw("GetStatus", "null"), "answered"),
            ("a list of them", self.raw("GetStatus", "[]"), "closed"), ("a text", self.raw("GetStatus", '"a"'), "closed"),
            ("a flag that is none", self.raw("GetStatus", "{}", ',"more":"yes"'), "closed"),
            ("a number for one", self.raw("GetStatus", "{}", ',"oneway":1'), "closed"),
            ("null for one", self.raw("GetStatus", "{}", ',"oneway":null,"more":null,"upgrade":null'), "answered"),
            ("an extension", self.raw("GetStatus", "{}", ',"org.example.trace":{"id":[1,2]}'), "answered"),
            ("upgrade", self.raw("GetStatus", "{}", ',"upgrade":true'), "InvalidParameter"),
            ("a huge number in an extension", self.raw("GetStatus", "{}", ',"org.example.x":1e99999'), None),
            ("an endless number", self.raw("GetCurrentLocation", '{"timeout_seconds":' + "9" * 5000 + "}"), "InvalidParameter"),
            ("a tiny one", self.raw("GetCurrentLocation", '{"timeout_seconds":1e-999}'), None),
            ("minus zero", self.raw("GetCurrentLocation", '{"timeout_seconds":-0}'), None),
            ("a time of ten thousand digits", self.raw("GetLocations", json.dumps({"from": "2" * 10_000})), "InvalidTime"),
        ):
            with self.subTest(name):
                answer = self.answer(message)
                if expected is None:
                    # Either is right; what matters is that there is one answer, and others are served.
                    self.assertIn(answer, ("closed", "answered", "InvalidTime", "InvalidParameter", "LocationUnavailable",
                                           "InterfaceNotFound"))
                else:
                    self.assertEqual(answer, expected)
        self.still_serves()

    def test_one_name_twice(self):
        """JSON leaves open which of two equal keys counts; here it is always the same one, for rights and actions alike."""
        for message in (
            f'{{"method":"{INTERFACE}.GetStatus","method":"{INTERFACE}.GetPendingUploadCount"}}'.encode(),
            self.raw("GetLocations", '{"from":"a","from":"b"}'), self.raw("GetLocations", '{"from":"a","from":null}'),
            self.raw("Sync", '{"wait":true,"wait":"x"}'), self.raw("GetStatus", '{},"parameters":{"x":1}'),
        ):
            with self.subTest(message):
                self.assertEqual(len({self.answer(message) for _ in range(20)}), 1)

    def test_an_error_says_what_was_sent(self):
        """Foreign text comes back unchanged, in a single message of valid UTF-8."""
        for text in ("a\0b", "\x1b[2J", "\u202e", "😀", '"\\', "\u2028", "x" * 40_000):
            with self.subTest(text[:9]):
                self.assertEqual(self.answer(self.raw("GetLocations", json.dumps({"from": text}))), "InvalidTime")
                self.assertEqual(self.refusal.parameters["value"], text)


class StreamTests(FramingTest):
    def test_two_calls_cut_at_every_byte(self):
        both = frame("GetLocations", {"from": "ä😀"}) + frame("GetPendingUploadCount")
        for cut in range(1, len(both)):
            with self.served.connect() as client:
                client.link.sendall(both[:cut])
                if cut % 8 == 0:
                    self.served.status()
                client.link.sendall(both[cut:])
                with self.assertRaises(Refusal):
                    client.receive()
                self.assertEqual(client.receive(), {"count": 0})

    def test_cut_anywhere(self):
        print(f"BEEKOND_SEED={SEED}")
        dice = random.Random(SEED)
        calls = [("GetPendingUploadCount", {}, "count"), ("GetStatus", {}, "status"), ("GetExtras", {}, "extras"),
                 ("GetLocations", {"from": "2026-01-01T00:00:00Z"}, "locations"),
            ("Fly", {}, "method"), ("Start", {}, "session_id")]
        with self.served.connect() as client:
            for _ in range(30):
                chosen = [dice.choice(calls) for _ in range(dice.randrange(1, 30))]
                stream = b"".join(frame(method, parameters) for method, parameters, _ in chosen)
                while stream:
                    size = dice.choice((1, 2, 7, 64, 1000))
                    client.link.sendall(stream[:size])
                    stream = stream[size:]
                for _, _, key in chosen:
                    self.assertIn(key, client.reply()["parameters"])

    def test_thousands_at_once_from_a_client_that_does_not_read(self):
        """First the answers wait in the kernel, then the calls do: nothing is lost."""
        count = 5000
        with self.served.connect() as client:
            calls = b"".join(frame("GetLocations", {"from": str(index)}) + frame("GetStatus") for index in range(count))
            writer = threading.Thread(target=client.link.sendall, args=(calls,), daemon=True)
            writer.start()
            # Meanwhile others are served.
            for _ in range(50):
                self.served.status()
            self.assertTrue(writer.is_alive(), "all of it fits into the sockets: send more")
            for index in range(count):
                self.assertEqual(client.reply()["parameters"], {"value": str(index)})
                self.assertIn("status", client.reply()["parameters"])
            writer.join(60)

    def test_oneway_calls_of_a_client_that_has_gone(self):
        with self.served.connect() as client:
            client.link.sendall(b"".join(
                frame("AddGeofences", {"geofences": [{**FENCE, "id": f"f{index}"}]}, oneway=True) for index in range(300)))
        wait_for(lambda: len(self.served.call("ListGeofences")["geofences"]) == 300, "all of them")

    def test_half_closed(self):
        with self.served.connect() as client:
            client.link.sendall(b"".join(frame(method) for method in ["GetStatus", "Start", "GetSessions"] * 50))
            client.link.shutdown(socket.SHUT_WR)
            for _ in range(50):
                for key in ("status", "session_id", "sessions"):
                    self.assertIn(key, client.receive())
            self.assertRaises(ConnectionClosed, client.reply)
        # A mere subscriber has nothing more to say.
        with self.served.connect() as client:
            client.send("Subscribe", {"kinds": ["state"]}, more=True)
            client.link.shutdown(socket.SHUT_WR)
            self.assertEqual(client.receive()["event"]["state"], "tracking")
            self.served.call("Stop")
            self.assertEqual(client.receive()["event"]["state"], "stopped")
        # And half a request ends the connection.
        with self.served.connect() as client:
            client.link.sendall(b'{"method":')
            client.link.shutdown(socket.SHUT_WR)
            self.assertRaises(ConnectionClosed, client.reply)

    def test_bytes_changed_at_random(self):
        print(f"BEEKOND_SEED={SEED}")
        dice = random.Random(SEED)
        models = [frame(row.method, row.parameters, **({"more": True} if row.more else {})) for row in CALLS
                  if row.method not in ("GetCurrentLocation", "Sync")]
        for _ in range(1500):
            message = bytearray(dice.choice(models))
            for _ in range(dice.randrange(1, 4)):
                place = dice.randrange(len(message))
                act = dice.randrange(3)
                if act == 0:
                    message[place] = dice.randrange(256)
                elif act == 1:
                    del message[place]
                else:
                    message[place:place] = dice.choice((b'"', b"{", b"}", b"[", b"\\", b"\0", b"null", b"1e9", b"\xff"))
            with self.served.connect() as client:
                try:
                    client.link.sendall(bytes(message))
                except OSError:
                    pass  # closed before everything was sent
            if not self.served.child.running:
                self.fail(f"it ended at {bytes(message)!r}")
        self.still_serves()


if __name__ == "__main__":
    unittest.main()
