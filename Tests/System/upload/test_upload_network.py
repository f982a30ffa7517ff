"""Every way a network or a server can fail, through the real daemon: nothing is lost, nothing hangs, no byte is wasted."""
import socket
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.namespaces import in_namespace
from support.ports import new_port
from support.system_test import SystemTest
from support.virtual_time import current
from support.waiting import wait_for

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def after_head(answer: bytes):
    """Answers before reading the body."""
    def serve(link):
        head = link.head()
        link.send(answer)
        link.raw.shutdown(socket.SHUT_WR)
        link.body(head)
    return serve


def answer(*parts: bytes, reset=False, pause=0.0, stays=False):
    def serve(link):
        link.request()
        for part in parts:
            link.send(part)
            if pause:
                time.sleep(pause)
        if reset:
            link.reset()
        if stays:
            link.drain()
    return serve


def no_request(reset: bool):
    def serve(link):
        if reset:
            link.reset()
    return serve


def mid_body(link):
    link.head()
    link.reset()


# What the server does, and whether that is a complete acknowledgement.
CASES = {
    "closes at once": (no_request(False), False),
    "resets at once": (no_request(True), False),
    "resets within our body": (mid_body, False),
    "FIN before the answer": (answer(), False),
    "RST before the answer": (answer(reset=True), False),
    "half a status line": (answer(b"HTTP/1.1 2"), False),
    "half the headers": (answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"), False),
    "200 with its body cut": (answer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), False),
    "200 with a chunk cut": (answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhel"), False),
    "200 with a reset for its last byte": (answer(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", reset=True), False),
    "slow headers": (answer(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n" * 3, b"X: 2\r\n", pause=0.6, stays=True), False),
    "slow body": (answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"a", b"b", b"c", pause=0.6, stays=True), False),
    "silence": (answer(stays=True), False),
    "half-open": (lambda link: link.drain(), False),
    "no HTTP": (answer(b"SSH-2.0-OpenSSH_9.2\r\n"), False),
    "HTTP/0.9": (answer(b"<html>stored</html>"), False),
    "500 in small letters": (answer(b"http/1.1 500 No\r\nContent-Length: 2\r\n\r\nno"), False),
    "500 of a version in words": (answer(b"HTTP/one 500 No\r\nContent-Length: 2\r\n\r\nno"), False),
    "a status with a fraction": (answer(b"HTTP/1.1 200.5 OK\r\nContent-Length: 2\r\n\r\nok"), False),
    "103 in small letters, and half the headers": (answer(b"http/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n"), False),
    "103 behind two blanks, and a length that is none": (
        answer(b"HTTP/1.1  103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok"), False),
    "invalid UTF-8": (answer(b"HTTP/1.1 200 \xff\xfe\r\nX: \xc3\x28\r\nContent-Length: 2\r\n\r\n\xff\xff"), True),
    "slow, but in time": (answer(b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n", b"\r\n", b"o", b"k", pause=0.05), True),
    "answers before the body": (after_head(OK), True),
    "100, 103, 200": (answer(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n" + OK), True),
}


class NetworkTests(SystemTest):
    def test_every_misbehaviour(self):
        for name, (serve, is_complete) in CASES.items():
            with self.subTest(name):
                server = self.raw_server(serve)
                # Long enough for the slow answers that are in time; it ends those that hang.
                fake, daemon = self.tracking(sync={"url": server.url, "timeout_seconds": 2})
                row = daemon.stored_ids()
                outcome = daemon.sync()
                self.assertEqual(outcome["outcome"], "drained" if is_complete else "transient")
                self.assertEqual(daemon.stored_ids(), set() if is_complete else row)
                self.check_status(daemon, is_complete)
                daemon.kill()

    def check_status(self, daemon, is_complete: bool):
        sync = daemon.status()["sync"]
        self.assertEqual(sync["state"], "idle" if is_complete else "pending")
        self.assertEqual(sync.get("last_http_status"), 200 if is_complete else None)
        self.assertEqual(bool(sync.get("last_error")), not is_complete)

    def test_lost_acknowledgement_is_repeated_with_the_same_bytes(self):
        """A server that stores the batch and dies before answering."""
        first = threading.Event()

        def serve(link):
            link.request()
            if first.is_set():
                return link.send(OK)
            first.set()
            return link.reset()

        server = self.raw_server(serve)
        fake, daemon = self.tracking(sync={"url": server.url})
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(daemon.sync()["outcome"], "drained")
        one, two = (request.split(b"\r\n\r\n", 1)[1] for request in server.requests)
        self.assertEqual(one, two)

    def test_a_server_that_never_reads(self):
        listener = socket.create_server(("127.0.0.1", new_port()))
        self.addCleanup(listener.close)
        fake, daemon = self.tracking(sync={"url": f"http://127.0.0.1:{listener.getsockname()[1]}/", "timeout_seconds": 1})
        self.assertEqual(daemon.sync()["outcome"], "transient")

    def test_black_hole(self):
        """A full backlog swallows every SYN, as a dead mobile link does."""
        listener = socket.socket()
        self.addCleanup(listener.close)
        listener.bind(("127.0.0.1", new_port()))
        listener.listen(0)
        address = listener.getsockname()
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(address)
            fillers.append(filler)
            self.addCleanup(filler.close)
        fake, daemon = self.tracking(sync={"url": f"http://127.0.0.1:{address[1]}/", "timeout_seconds": 2})
        self.assertEqual(daemon.sync()["outcome"], "transient")
        daemon.ask_for_sync()
        daemon.wait_status(lambda status: status["sync"]["state"] == "uploading", "a request in flight")
        fake.drive(5)
        daemon.wait_stored(6)
        self.assertEqual(daemon.terminate(), 0)

    def test_names_that_do_not_exist(self):
        fake, daemon = self.tracking(sync={"url": "https://backend.invalid/locations", "timeout_seconds": 20})
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertIn("backend.invalid", daemon.status()["sync"]["last_error"])

    def test_a_silent_resolver(self):
        """A name server that never answers: the request ends in time, and so does the daemon."""
        time_now = current()
        assert time_now
        time_now.names_are_answered(False)
        fake, daemon = self.tracking(sync={"url": "https://backend.example/locations", "timeout_seconds": 2})
        began = time.monotonic()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertAlmostEqual(time.monotonic() - began, 2, 2)
        daemon.ask_for_sync()
        daemon.wait_status(lambda status: status["sync"]["state"] == "uploading", "a request in flight")
        self.assertEqual(daemon.terminate(), 0)

    @in_namespace
    def test_no_route(self):
        fake, daemon = self.tracking(sync={"url": "https://192.0.2.1/locations", "timeout_seconds": 5})
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(len(daemon.stored_ids()), 1)

    def test_ten_gigabytes(self):
        """Of an endless answer only 64 KiB are read."""
        sent = [0]

        def serve(link):
            link.request()
            link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
            block = bytes(1 << 20)
            while True:
                sent[0] += link.raw.send(block)

        server = self.raw_server(serve)
        fake, daemon = self.tracking(sync={"url": server.url})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        # Of which the sockets of both hold most.
        self.assertLess(sent[0], 16 << 20)

    def test_endless_trailers(self):
        """They come after the body, where libcurl keeps each and bounds nothing."""
        sent = [0]

        def serve(link):
            link.request()
            link.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
            block = b"X-Trailer: abcdefghijklmnopqrstuvwxyz\r\n" * 1000
            while True:
                sent[0] += link.raw.send(block)

        server = self.raw_server(serve)
        fake, daemon = self.tracking(sync={"url": server.url})
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(daemon.status()["sync"]["pending"], 1)
        self.assertLess(sent[0], 16 << 20)

    def test_the_connection_is_kept_within_a_drain_and_closed_after_it(self):
        def serve(link):
            while True:
                link.request()
                link.send(OK)

        server = self.raw_server(serve)
        fake, daemon = self.tracking(sync={"url": server.url, "batch_size": 2})
        fake.drive(6)
        daemon.wait_stored(7)
        self.assertEqual(daemon.sync()["uploaded"], 7)
        self.assertEqual((len(server.requests), len(server.links)), (4, 1))
        wait_for(lambda: server.links[0].raw.fileno() < 0 or server.links[0].is_closed(), "the connection is closed")

    def test_keep_alive_closed_between_requests(self):
        """A server that silently closes after each answer costs a connection, not a batch."""
        server = self.raw_server(answer(OK))
        fake, daemon = self.tracking(sync={"url": server.url, "batch_size": 1})
        fake.drive(5)
        daemon.wait_stored(6)
        self.assertEqual(daemon.sync()["uploaded"], 6)
        self.assertEqual(len({request.split(b"\r\n\r\n", 1)[1] for request in server.requests}), 6)

    def test_nobody_listens_and_then_somebody_does(self):
        port = new_port()
        fake, daemon = self.tracking(sync={"url": f"http://127.0.0.1:{port}/locations"})
        self.assertEqual(daemon.sync()["outcome"], "transient")
        receiver = self.backend(port=port)
        receiver.wait_requests(1)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(daemon.status()["degraded"], [])


if __name__ == "__main__":
    unittest.main()
