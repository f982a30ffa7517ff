"""TLS sessions are resumed from one drain to the next, and forgotten with whatever they stood on: nginx tells which."""
import ctypes
import os
import shutil
import socket
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.clocks import ClockTest
from support.control_client import Refusal
from support.daemon import NEVER
from support.nginx import Nginx, needs_nginx
from support.ports import new_port
from support.text import match
from support.tls import Authority, needs_openssl, pump
from support.waiting import wait_for

HOUR = 3600
# nginx forgets a session after 300 s, and the clocks of these tests jump.
LONG = "ssl_session_timeout 2d"
CACHE = ("ssl_session_tickets off", "ssl_session_cache shared:tls:1m")


def libcurl() -> tuple:
    """The version that the daemon runs with, such as (8, 14)."""
    tell = ctypes.CDLL("libcurl.so.4").curl_version
    tell.restype = ctypes.c_char_p
    return tuple(int(number) for number in match(r"libcurl/(\d+)\.(\d+)", tell().decode()).groups())


class SessionTest(ClockTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder())
        self.receiver = self.backend()
        self.nginx = Nginx(self.folder(), new_port(), self.receiver.port, *self.authority.certificate("server"))
        self.addCleanup(self.nginx.stop)

    def url(self, host: str = "127.0.0.1", port: int | None = None) -> str:
        return f"https://{host}:{port or self.nginx.port}/locations"

    def begin(self, *directives: str, url: str | None = None, mutual: bool = False, **sync):
        """nginx, and a daemon that is tracking."""
        self.nginx.start(*self.tls(*directives, mutual=mutual))
        chosen = {"url": url or self.url(), "ca_file": self.authority.ca, **sync}
        if mutual:
            names = ("client_certificate", "client_key")
            chosen |= dict(zip(names, self.authority.certificate("van", names="DNS:van-12"), strict=True))
        self.gps = self.fake()
        self.victim, self.clocks = self.clocked(self.gps.port, sync=chosen)
        self.victim.start().call("Start")
        self.gps.settle()
        self.victim.wait_stored(1)

    def tls(self, *directives: str, mutual: bool = False) -> tuple:
        asks = (f"ssl_client_certificate {self.authority.ca}", "ssl_verify_client on") if mutual else ()
        return (LONG, *directives, *asks)

    def restart(self, *directives: str):
        self.nginx.stop()
        self.nginx.start(*self.tls(*directives))

    def drain(self, outcome: str = "drained") -> bool:
        """One more fix, and its drain; tells whether it resumed a session."""
        admitted = self.victim.status()["gate"]["admitted"]
        self.gps.drive(1)
        self.victim.wait_stored(admitted + 1)
        before = len(self.nginx.entries())
        self.assertEqual(self.attempt(), outcome, self.victim.status()["sync"])
        if outcome != "drained":
            self.assertEqual(len(self.nginx.entries()), before)
            return False
        return self.nginx.wait_entries(before + 1)[before].resumed

    def attempt(self) -> str:
        """Its outcome, as soon as the daemon allows it."""
        return self.victim.sync_until(lambda answer: True, "an attempt")["outcome"]

    def drains(self, count: int) -> list:
        return [self.drain() for _ in range(count)]

    def check_forgotten(self, what: str):
        """The next handshake is a full one, and those after it are not."""
        self.assertEqual(self.drains(2), [False, True], what)

    def configure(self, **sync):
        """Other settings, in force, and the drain over that they start."""
        self.victim.configure(sync=sync)
        self.victim.reload()
        key, value = next(iter(sync.items()))
        self.victim.wait_status(lambda status: self.victim.setting("sync." + key) == value, f"{key} in force")
        self.attempt()


@needs_openssl
@needs_nginx
class ResumedTests(SessionTest):
    def check(self, protocol: str, *directives: str, mutual: bool = False):
        self.begin(*directives, mutual=mutual)
        self.assertEqual(self.drains(4), [False, True, True, True])
        self.assertEqual({entry.protocol for entry in self.nginx.entries()}, {protocol})

    def test_tickets_of_tls_13(self):
        self.check("TLSv1.3")

    def test_the_cache_of_tls_13(self):
        self.check("TLSv1.3", *CACHE)

    def test_session_ids_of_tls_12(self):
        self.check("TLSv1.2", "ssl_protocols TLSv1.2", *CACHE)

    def test_mutual_with_tickets(self):
        self.check("TLSv1.3", mutual=True)

    def test_mutual_with_a_cache(self):
        self.check("TLSv1.3", *CACHE, mutual=True)

    def test_mutual_tls_12_with_a_cache(self):
        self.check("TLSv1.2", "ssl_protocols TLSv1.2", *CACHE, mutual=True)

    def test_a_server_without_sessions(self):
        self.begin("ssl_session_tickets off", "ssl_session_cache off")
        self.assertEqual(self.drains(3), [False] * 3)


@needs_openssl
@needs_nginx
class ForgottenTests(SessionTest):
    def test_with_a_file_of_tls(self):
        """Touched, replaced by the same bytes, or written anew: whatever it is, it is another file."""
        self.begin(mutual=True)
        self.check_forgotten("the first")
        for key in ("ca_file", "client_certificate", "client_key"):
            path = self.victim.setting("sync." + key)
            os.utime(path, ns=(1, 1))
            self.assertFalse(self.drain(), f"{key} is touched")
            shutil.copy2(path, path + ".new")
            os.rename(path + ".new", path)
            self.check_forgotten(f"{key} is replaced")

    def test_with_host_credentials_and_proxy(self):
        self.begin()
        self.check_forgotten("the first")
        proxy = self.proxy()
        for what, sync in (("another host", {"url": self.url("localhost")}), ("the first host again", {"url": self.url()}),
                           ("a proxy", {"proxy": f"http://127.0.0.1:{proxy}"})):
            self.configure(**sync)
            self.check_forgotten(what)
        self.victim.sections["sync"].pop("proxy")
        self.configure(timeout_seconds=20)
        self.check_forgotten("no proxy")
        # What says nothing about who uploads where leaves them alone.
        self.configure(batch_size=50)
        self.assertTrue(self.drain())
        self.victim.sections["sync.headers"] = {"X-Key": "another"}
        self.configure(timeout_seconds=30)
        self.check_forgotten("another header")

    def test_with_new_tokens(self):
        self.begin()
        self.check_forgotten("the first")
        self.victim.sections["sync.auth"] = {"access_token": "first"}
        self.configure(timeout_seconds=30)
        self.check_forgotten("auth")
        self.victim.call("SeedAuth", access_token="second")
        self.attempt()
        self.check_forgotten("a seed")

    def test_new_tokens_leave_a_request_alone(self):
        """Its batch might be there already: breaking it off would only send it again."""
        asked, told = threading.Event(), threading.Event()

        def serve(link):
            link.request()
            asked.set()
            told.wait(60)
            link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        server = self.raw_server(serve)
        self.begin(url=f"http://127.0.0.1:{server.port}/")
        self.addCleanup(told.set)
        self.victim.sections["sync.auth"] = {"access_token": "first"}
        self.victim.configure()
        self.victim.reload()
        self.assertTrue(asked.wait(60), "new settings start a drain")
        self.victim.call("SeedAuth", access_token="second")
        told.set()
        self.victim.wait_status(lambda status: status["sync"]["pending"] == 0, "nothing is pending")
        self.assertEqual(len(server.requests), 1)

    def proxy(self) -> int:
        """A proxy that connects to nginx, whatever it is asked for."""
        def serve(link):
            link.head()
            link.send(b"HTTP/1.1 200 Connected\r\n\r\n")
            back = socket.create_connection(("127.0.0.1", self.nginx.port), 20)
            with back:
                there = threading.Thread(target=pump, args=(link.raw, back), daemon=True)
                there.start()
                pump(back, link.raw)
                there.join()
        return self.raw_server(serve).port

    def test_after_a_day(self):
        self.begin()
        self.check_forgotten("the first")
        # Hours: an unused session is not kept for longer by libcurl 8.12 and newer, whatever the server says.
        pauses = [23.0] if libcurl() < (8, 12) else [1.9] * 12
        for pause in pauses:
            self.clocks.suspend(pause * HOUR)
            self.assertTrue(self.drain(), f"after {pause} h")
        self.clocks.suspend((24 - sum(pauses)) * HOUR)
        self.check_forgotten("a day old")

    def test_an_authority_that_is_not_trusted_any_more(self):
        """At once where its file shows that it was swapped, and within a day where it does not."""
        self.begin()
        self.check_forgotten("the first")
        self.swap(is_hidden=False)
        for _ in range(2):
            self.drain("transient")
        self.swap(is_hidden=False)
        self.check_forgotten("trusted again")
        self.swap(is_hidden=True)
        self.assertTrue(self.drain())
        self.clocks.suspend(24 * HOUR)
        self.drain("transient")

    def swap(self, is_hidden: bool):
        """Puts another authority into the file, or the right one again; hidden: with the same inode, size and time."""
        path, other = self.authority.ca, self.path("other.pem")
        if not os.path.exists(other):
            shutil.copy(Authority(self.folder()).ca, other)
        with open(path, "rb") as file, open(other, "rb") as stranger:
            mine, theirs = file.read().rstrip(b"\n"), stranger.read().rstrip(b"\n")
        size = max(len(mine), len(theirs), os.stat(path).st_size)
        for name, text in ((path, theirs), (other, mine)):
            before = os.stat(name)
            with open(name, "wb") as file:
                file.write(text.ljust(size, b"\n"))
            os.utime(name, ns=(before.st_atime_ns, before.st_mtime_ns + (0 if is_hidden else 1)))

    def test_after_a_failed_handshake(self):
        """nginx keeps its ticket key throughout, so it would resume the session that the daemon forgets."""
        with open(self.path("ticket.key"), "wb") as file:
            file.write(os.urandom(80))
        key = f"ssl_session_ticket_key {self.path('ticket.key')}"
        self.begin(key)
        self.check_forgotten("the first")
        self.restart(key)
        self.assertTrue(self.drain())
        self.restart(key, "ssl_protocols TLSv1.1", "ssl_ciphers DEFAULT:@SECLEVEL=0")
        self.drain("transient")
        self.restart(key)
        self.check_forgotten("a failed handshake")
        # A server that cannot even be reached has refused nothing.
        self.nginx.stop()
        self.drain("transient")
        self.restart(key)
        self.assertTrue(self.drain())


@needs_openssl
@needs_nginx
class SeveralTests(SessionTest):
    def test_two_destinations_of_one_server_share_no_session(self):
        self.begin()
        self.victim.configure(**{"destination.other": {
            "url": self.url(), "ca_file": self.authority.ca, "interval_seconds": NEVER}})
        self.victim.reload()
        self.victim.wait_status(lambda status: len(status["destinations"]) == 2, "the other destination")
        # What the other is owed begins now.
        self.assertEqual([self.deliver(name) for name in ("main", "main", "other", "other", "main", "other")],
                         [False, True, False, True, True, True])

    def deliver(self, name: str) -> bool:
        """One more fix, and its drain to this destination; tells whether it resumed a session."""
        admitted = self.victim.status()["gate"]["admitted"]
        self.gps.drive(1)
        self.victim.wait_stored(admitted + 1)
        before = len(self.nginx.entries())

        def attempt() -> bool:
            try:
                return self.victim.call("Sync", destination=name)["outcome"] == "drained"
            except Refusal as refusal:
                self.assertEqual(refusal.name, "RateLimited")
                return False

        wait_for(attempt, f"a drain to {name}")
        return self.nginx.wait_entries(before + 1)[before].resumed


@needs_openssl
@needs_nginx
class BrokenTests(SessionTest):
    def test_a_server_that_lost_its_keys(self):
        """As after each restart: the daemon offers a session that nobody knows, and the same handshake goes on in full."""
        for directives in ((), CACHE, ("ssl_protocols TLSv1.2", *CACHE)):
            with self.subTest(directives):
                self.begin(*directives)
                self.check_forgotten("the first")
                self.restart(*directives)
                self.check_forgotten("restarted")
                self.nginx.stop()
                self.victim.kill()

    def test_a_server_that_changes_its_version_of_tls(self):
        self.begin(*CACHE)
        self.check_forgotten("the first")
        for version in ("TLSv1.2", "TLSv1.3", "TLSv1.2"):
            self.restart(f"ssl_protocols {version}", *CACHE)
            self.check_forgotten(version)

    def test_a_server_that_breaks_off_when_a_session_is_offered(self):
        """The drain makes its request again, in full, and at once."""
        links: list = []

        def serve(link):
            hello = link.raw.recv(65536)
            links.append(is_offer(hello))
            if links[-1]:
                # A fatal alert: illegal_parameter.
                link.raw.sendall(bytes((21, 3, 3, 0, 2, 2, 47)))
                return
            with socket.create_connection(("127.0.0.1", self.nginx.port), 20) as back:
                back.sendall(hello)
                there = threading.Thread(target=pump, args=(link.raw, back), daemon=True)
                there.start()
                pump(back, link.raw)
                there.join()

        front = self.raw_server(serve)
        self.begin(url=self.url(port=front.port))
        self.assertEqual(self.drains(3), [False] * 3)
        self.assertEqual(links, [False, True, False, True, False])
        self.assertEqual(self.victim.status()["sync"].get("retries", 0), 0)


def is_offer(hello: bytes) -> bool:
    """The ClientHello has the extension pre_shared_key (RFC 8446, section 4.2.11), which is always the last."""
    at = 5 + 4 + 2 + 32
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at:at + 2], "big")
    at += 1 + hello[at]
    end = at + 2 + int.from_bytes(hello[at:at + 2], "big")
    at += 2
    kinds = []
    while at < end:
        kinds.append(int.from_bytes(hello[at:at + 2], "big"))
        at += 4 + int.from_bytes(hello[at + 2:at + 4], "big")
    return 41 in kinds


@needs_openssl
@needs_nginx
class DoctorTests(SessionTest, CtlTest):
    def check_shape(self, receiver):
        """The doctor's batches are empty."""

    def test_the_doctor_goes_the_whole_way(self):
        """It tells whether a handshake works: none that stands on an earlier one. The daemon's sessions are its own."""
        self.begin()
        self.check_forgotten("the first")
        for _ in range(2):
            before = len(self.nginx.entries())
            # Its receiver is not there, which the doctor finds wrong.
            found = self.run_ctl(self.victim, "doctor", "--config", self.victim.config, code=1).stdout
            self.assertIn("answers 200 to an empty batch", found)
            self.assertFalse(self.nginx.wait_entries(before + 1)[-1].resumed)
            self.assertTrue(self.drain())


if __name__ == "__main__":
    unittest.main()
