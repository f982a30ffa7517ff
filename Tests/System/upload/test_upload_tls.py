"""TLS in the real daemon: whom it trusts, what it presents, and what it reports when it cannot connect."""
import os
import ssl
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.system_test import SystemTest
from support.tls import Authority, Terminator, context, needs_openssl


@needs_openssl
class TLSTests(SystemTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder())
        self.good = self.authority.certificate("server")

    def server(self, made: ssl.SSLContext) -> tuple:
        receiver = self.backend()
        terminator = Terminator(made, receiver.port)
        self.addCleanup(terminator.stop)
        return receiver, terminator

    def sync(self, url: str, **sync) -> tuple:
        """One attempt; it must not hang."""
        fake, daemon = self.tracking(sync={"url": url, "timeout_seconds": 10, **sync})
        return daemon, daemon.sync()["outcome"]

    def check_refused(self, terminator, receiver, daemon, outcome, *words: str, degraded=("sync",)):
        """Not one byte of the request was sent, and the status says why."""
        self.assertEqual(outcome, "transient")
        self.assertEqual((terminator.accepted, receiver.requests), (0, []))
        status = daemon.status()
        self.assertEqual((status["sync"]["state"], status["sync"].get("last_http_status")), ("pending", None))
        self.assertTrue(any(word in status["sync"]["last_error"].lower() for word in words), status["sync"]["last_error"])
        self.assertEqual(status["degraded"], list(degraded))

    def test_trusted_by_ca_file(self):
        receiver, terminator = self.server(context(*self.good))
        for host in ("127.0.0.1", "localhost"):
            daemon, outcome = self.sync(terminator.url(host), ca_file=self.authority.ca)
            self.assertEqual(outcome, "drained")
        self.assertEqual(len(receiver.ids), 2)
        self.assertEqual(receiver.problems, [])

    def test_certificates_that_are_refused(self):
        make = self.authority.certificate
        cases = {
            "expired": (make("expired", days=(-30, -1)), {"ca_file": self.authority.ca}, ("expired",), ("sync",)),
            "not yet valid": (make("future", days=(2, 30)), {"ca_file": self.authority.ca}, ("clock",), ("clock", "sync")),
            "wrong host": (make("wrong", names="DNS:other.example"), {"ca_file": self.authority.ca},
                           ("subject name", "does not match", "no alternative"), ("sync",)),
            "self-signed": (make("alone", signed=False), {"ca_file": self.authority.ca}, ("self-signed", "self signed"),
                            ("sync",)),
            "unknown authority": (self.good, {}, ("issuer", "self-signed", "self signed"), ("sync",)),
        }
        for name, (certificate, sync, words, degraded) in cases.items():
            with self.subTest(name):
                receiver, terminator = self.server(context(*certificate))
                daemon, outcome = self.sync(terminator.url(), **sync)
                self.check_refused(terminator, receiver, daemon, outcome, *words, degraded=degraded)

    def context(self, **options) -> ssl.SSLContext:
        """A server with a good certificate."""
        certificate, key = self.good
        return context(certificate, key, **options)

    def test_old_versions(self):
        receiver, terminator = self.server(self.context(most=ssl.TLSVersion.TLSv1_1))
        daemon, outcome = self.sync(terminator.url(), ca_file=self.authority.ca)
        self.check_refused(terminator, receiver, daemon, outcome, "version", "protocol")
        receiver, terminator = self.server(self.context(most=ssl.TLSVersion.TLSv1_2))
        self.assertEqual(self.sync(terminator.url(), ca_file=self.authority.ca)[1], "drained")

    def test_client_certificate(self):
        certificate, key = self.authority.certificate("client", names="DNS:van-12")
        stranger = Authority(self.folder()).certificate("stranger", names="DNS:van-12")
        receiver, terminator = self.server(self.context(client_ca=self.authority.ca))
        trust = {"ca_file": self.authority.ca}
        _, outcome = self.sync(terminator.url(), client_certificate=certificate, client_key=key, **trust)
        self.assertEqual((outcome, terminator.accepted, len(receiver.ids)), ("drained", 1, 1))
        for name, sync in {
            "missing": {}, "of another authority": {"client_certificate": stranger[0], "client_key": stranger[1]},
            "with another key": {"client_certificate": certificate, "client_key": stranger[1]},
        }.items():
            with self.subTest(name):
                daemon, outcome = self.sync(terminator.url(), **trust, **sync)
                self.assertEqual(outcome, "transient")
                self.assertEqual((terminator.accepted, len(receiver.ids)), (1, 1))
                self.assertTrue(daemon.status()["sync"]["last_error"])

    def test_missing_files(self):
        """At start a missing file is a configuration error; later, it is a failed request that is retried."""
        missing = self.path("missing.pem")
        daemon = self.daemon(sync={"url": "https://127.0.0.1:1/", "ca_file": missing}).launch()
        self.assertEqual(daemon.child.wait(), 78)
        self.assertIn("ca_file", daemon.text())
        receiver, terminator = self.server(context(*self.good))
        moved = self.authority.ca + ".away"
        fake, daemon = self.tracking(sync={"url": terminator.url(), "ca_file": self.authority.ca})
        os.rename(self.authority.ca, moved)
        self.check_refused(terminator, receiver, daemon, daemon.sync()["outcome"], "certificate")
        os.rename(moved, self.authority.ca)
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_no_tls_at_all(self):
        receiver = self.backend()
        daemon, outcome = self.sync(f"https://127.0.0.1:{receiver.port}/locations", ca_file=self.authority.ca)
        self.assertEqual(outcome, "transient")
        self.assertEqual(receiver.requests, [])

    def test_a_redirect_to_http_is_not_followed(self):
        plain = self.backend()
        def serve(link):
            link.request()
            link.send(f"HTTP/1.1 307 Elsewhere\r\nLocation: {plain.url}\r\nContent-Length: 0\r\n\r\n".encode())
        server = self.raw_server(serve)
        terminator = Terminator(context(*self.good), server.port)
        self.addCleanup(terminator.stop)
        daemon, outcome = self.sync(terminator.url(), ca_file=self.authority.ca)
        self.assertEqual((outcome, plain.requests), ("permanent", []))


if __name__ == "__main__":
    unittest.main()
