"""The control socket's frames: calls in a row, half a call, garbage, and who is served when there are too many clients."""
import os
import stat
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import ConnectionClosed, frame
from support.control_test import ControlTest
from support.interface import SERVICE
from support.waiting import PATIENCE, let_pass, never, wait_for

# The limit on connections, and how many more root may have.
CONNECTIONS = 32 + (2 if os.geteuid() == 0 else 0)
REQUEST_LIMIT = 64 * 1024


class FramingTests(ControlTest):
    def test_pipelined_calls_are_answered_in_order(self):
        daemon = self.daemon().start()
        methods = [SERVICE + ".GetInfo", "GetPendingUploadCount", "Start", "GetSessions", "Fly", "Stop", "GetStatus"]
        with daemon.connect() as client:
            for _ in range(20):
                client.link.sendall(b"".join(frame(method, {}) for method in methods))
                keys = [sorted(client.reply().get("parameters", {}))[0] for _ in methods]
                self.assertEqual(keys, ["interfaces", "count", "session_id", "sessions", "method", "state", "status"])

    def test_pipelined_behind_a_slow_call(self):
        receiver = self.backend(delay=0.5)
        fake, daemon = self.tracking(sync={"url": receiver.url})
        with daemon.connect() as client:
            client.link.sendall(frame("Sync", {"wait": True}) + frame("GetPendingUploadCount", {}))
            self.assertEqual(client.receive()["outcome"], "drained")
            self.assertEqual(client.receive(), {"count": 0})

    def test_oneway_gets_no_reply(self):
        daemon = self.daemon().start()
        with daemon.connect() as client:
            client.send("Start", {}, oneway=True)
            client.send("Fly", {}, oneway=True)
            client.send("DeleteLocations", {"befor": "x"}, oneway=True)
            self.assertEqual(client.call("GetPendingUploadCount"), {"count": 0})
            never(lambda: client.is_open() and client._buffer, "a reply to a oneway call")
        daemon.wait_status(lambda status: status["state"] == "tracking", "tracking, by a oneway call")

    def test_garbage_closes_only_its_connection(self):
        fake, daemon = self.tracking()
        witness = daemon.connect()
        listener = self.listener(daemon, ["location"])
        wait_for(lambda: listener.ids, "the subscription")
        for garbage in (
            b"hello\0", b"\0", b"{}\0", b"[]\0", b'{"method":5}\0', b'{"method":"x"\0', b"\xff\xfe\0",
            b'{"method":"org.beekond.Tracker.GetStatus","parameters":[]}\0', b"{" * 70_000,
            b'{"method":"' + b"x" * REQUEST_LIMIT + b'"}\0', b"[" * 1000 + b"\0",
            b'{"method":"a.b","parameters":' + b'{"a":' * 500 + b"1" + b"}" * 501 + b"\0",
        ):
            with self.subTest(garbage[:40]), daemon.connect() as client:
                try:
                    client.link.sendall(garbage)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # closed before everything was sent
                with self.assertRaises(ConnectionClosed):
                    for _ in range(3):
                        client.reply()
        self.assertEqual(witness.call("GetPendingUploadCount"), {"count": 1})
        fake.drive(1)
        wait_for(lambda: len(listener.ids) == 2, "the subscription goes on")

    def test_the_largest_request(self):
        daemon = self.daemon().start()
        empty = len(frame("GetLocations", {"from": ""})) - 1
        with daemon.connect() as client:
            text = "x" * (REQUEST_LIMIT - empty)
            parameters = self.refused("InvalidTime", client, "GetLocations", **{"from": text})
            self.assertLessEqual(len(parameters["value"]), len(text))
        with daemon.connect() as client, self.assertRaises(ConnectionClosed):
            try:
                client.send("GetLocations", {"from": text + "x"})
            except (BrokenPipeError, ConnectionResetError):
                raise ConnectionClosed from None
            client.receive()

    def test_half_a_request_is_given_up_after_ten_seconds(self):
        daemon = self.daemon().start()
        silent, half = daemon.connect(), daemon.connect(timeout=PATIENCE)
        half.link.sendall(b'{"method":"org.beekond')
        began = time.monotonic()
        with self.assertRaises(ConnectionClosed):
            half.reply()
        self.assertAlmostEqual(time.monotonic() - began, 10, 2)
        # A client that has not asked for anything yet may take its time.
        self.assertEqual(silent.call("GetPendingUploadCount"), {"count": 0})

    def test_thirty_two_connections(self):
        daemon = self.daemon().start()
        daemon.disconnect()
        trackers = []
        for _ in range(CONNECTIONS):
            let_pass(1)
            trackers.append(daemon.connect())
            self.addCleanup(trackers[-1].close)
            self.assertEqual(trackers[-1].call("GetPendingUploadCount"), {"count": 0})
        # The first is busy, so the second has been idle longest.
        let_pass(1)
        trackers[0].call("GetPendingUploadCount")
        for _ in range(3):
            trackers.append(daemon.connect())
            self.addCleanup(trackers[-1].close)
            self.assertEqual(trackers[-1].call("GetPendingUploadCount"), {"count": 0})
        wait_for(lambda: not any(client.is_open() for client in trackers[1:4]), "the three that were idle longest end")
        self.assertEqual([client.is_open() for client in trackers],
                         [True] + [False] * 3 + [True] * (CONNECTIONS - 1))
        for client in trackers[:1] + trackers[4:]:
            self.assertEqual(client.call("GetPendingUploadCount"), {"count": 0})

    def test_the_socket_is_not_for_everybody(self):
        daemon = self.daemon().start()
        self.assertEqual(stat.S_IMODE(os.stat(daemon.socket).st_mode), 0o660)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(daemon.state, "beekon.db")).st_mode), 0o600)


if __name__ == "__main__":
    unittest.main()
