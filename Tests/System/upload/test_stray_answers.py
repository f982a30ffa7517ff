"""An answer belongs to its request: a second one on a kept connection, whenever it comes, acknowledges nothing.

On loopback only a batch that is named can tell the two apart; over a path with a round trip, so can the time that an
acknowledgement of TCP needs. BEEKOND_LONG counts 10,000 good answers, not some hundred.
"""
import contextlib
import gzip
import json
import os
import ssl
import sys
import unittest
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.child import waited_for_processors
from support.daemon import NEVER
from support.far_path import HERE, THERE, far_path
from support.namespaces import in_namespace
from support.nginx import Nginx, needs_nginx
from support.ports import new_port
from support.post_server import PostServer
from support.seeds import sample
from support.stray_server import StrayServer
from support.system_test import SystemTest
from support.tls import Authority, context, needs_openssl
from support.waiting import wait_for

LONG = bool(os.environ.get("BEEKOND_LONG"))
# Milliseconds from the first answer to the second; −1: both in one piece.
DELAYS = (-1, 0, 0.5, 2, 10, 50, 200)
ROWS = 16
# Fixes that are sent at once.
PORTION = 400
# Seconds that a drain may take.
WAIT = 1800 if LONG else 120
FORMATS: dict = {
    "beekon": {"batch_size": 2},
    "overland": {"format": "overland", "batch_size": 2},
    "osmand": {"format": "osmand", "device_id": "van"},
    "template": {"format": "template", "batch_size": 2, "location_template": '{"uuid": "<%= uuid %>"}'},
}


def identity(request: tuple) -> str:
    """The batch of a request in the format beekon."""
    return json.loads(gzip.decompress(request[1]))["batch_id"]


def some(test: unittest.TestCase, delays: Sequence[float], few: int) -> list[float]:
    """So few of them, others with each commit and test; all with BEEKOND_LONG=1."""
    return [delays[number - 1] for number in sample(test.id(), len(delays), few)]


class StrayTest(SystemTest):
    def server(self, *delays, **options) -> StrayServer:
        server = StrayServer(*delays, **options)
        self.addCleanup(server.stop)
        return server

    def daemon_with(self, rows: int, **sync) -> tuple:
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"timeout_seconds": 10, **sync}).start()
        daemon.call("Start")
        fake.settle()
        # Not so much at a time that the daemon is at work for as long as only one that hangs should be.
        for stored in range(1, rows, PORTION):
            fake.drive(min(PORTION, rows - stored))
            daemon.wait_stored(min(stored + PORTION, rows), WAIT)
        daemon.wait_stored(rows, WAIT)
        return fake, daemon

    def drain(self, daemon):
        daemon.sync_until(lambda result: result["pending"] == 0, "everything has been sent", WAIT)

    def check_all_arrived(self, server, daemon, rows: int):
        daemon.sync(WAIT)
        self.drain(daemon)
        wait_for(lambda: not server.undecided, "each request is stored or given up")
        self.assertEqual(len(set(server.stored)), rows, "rows that the server has")

    def unmatched(self, daemon) -> int:
        return daemon.status()["sync"].get("unmatched_answers", 0)


class NamedTests(StrayTest):
    """Servers that name the batch that they answer for."""

    def check(self, **sync):
        for delay in (50, *some(self, [delay for delay in DELAYS if delay != 50], 2)):
            with self.subTest(delay=delay):
                server = self.server(delay, names=True)
                _, daemon = self.daemon_with(ROWS, url=server.url, **sync)
                self.check_all_arrived(server, daemon, ROWS)
                if delay >= 10:
                    self.assertGreater(self.unmatched(daemon), 0)
                    self.assertIn("did not belong", daemon.text())
                daemon.terminate()

    def test_beekon(self):
        self.check(**FORMATS["beekon"])

    def test_osmand(self):
        self.check(**FORMATS["osmand"])

    def test_overland(self):
        self.check(**FORMATS["overland"])

    def test_template(self):
        self.check(**FORMATS["template"])

    def test_who_has_named_a_batch_goes_on_naming_it(self):
        """The second answer names nothing: only the first of its connection gives it away."""
        for name in ("beekon", "overland"):
            with self.subTest(format=name):
                server = self.server(50, names="once")
                _, daemon = self.daemon_with(ROWS, url=server.url, **FORMATS[name])
                self.check_all_arrived(server, daemon, ROWS)
                self.assertGreater(self.unmatched(daemon), 0)

    def test_a_stranger_s_id_is_the_server_s_own_in_other_formats(self):
        """Only in the format beekon does `batch_id` have to be the request's."""
        server = self.server(names="strange")
        server.honest = True
        for name, format in FORMATS.items():
            with self.subTest(format=name):
                _, daemon = self.daemon_with(4, url=server.url, **format)
                if name == "beekon":
                    self.assertEqual(daemon.first_outcome(), "transient")
                    self.assertEqual(daemon.status()["sync"]["pending"], 4)
                    self.assertEqual(self.unmatched(daemon) % 3, 0, "three attempts, each on a connection of its own")
                else:
                    self.drain(daemon)
                    self.assertEqual(self.unmatched(daemon), 0)
                daemon.terminate()

    def test_the_same_batch_goes_out_again(self):
        server, daemon = self.strange(1)
        ids = [identity(request) for request in server.requests]
        self.assertEqual(len(ids) % 3, 0, "three attempts each time")
        self.assertEqual(len({body for _, body in server.requests}), 1, "the same bytes")
        self.assertEqual(server.connections, len(ids), "each over a connection of its own")
        server.names = True
        self.check_all_arrived(server, daemon, 1)

    def test_a_refusal_with_an_id_of_the_server_s_own_is_one_the_third_time(self):
        requests: list = []

        class Refusing(PostServer):
            def take(self, query, body):
                requests.append(body)
                return 400, json.dumps({"error": "no such vehicle", "batch_id": str(uuid.uuid4())}).encode()

        server = Refusing()
        self.addCleanup(server.stop)
        _, daemon = self.daemon_with(2, url=server.url)
        self.drain(daemon)
        self.assertEqual((len(requests), len(set(requests))), (3, 1), "the same bytes, three times")
        self.assertEqual(self.unmatched(daemon), 2)
        self.assertEqual(len(daemon.call("GetRejected")["rejected"]), 2)

    def test_a_live_lane_is_made_afresh(self):
        server, daemon = self.strange(1, deliver="latest")
        ids = [identity(request) for request in server.requests]
        self.assertEqual(len(ids) % 3, 0, "three attempts each time")
        self.assertEqual(len(set(ids)), len(ids))
        server.names = True
        daemon.sync_until(lambda result: result["outcome"] == "drained", "the newest location has arrived")

    def test_a_heartbeat_is_made_afresh(self):
        server, daemon = self.strange(0, heartbeat_seconds=60)
        ids = [identity(request) for request in server.requests]
        self.assertEqual(len(ids) % 3, 0, "three attempts each time")
        self.assertEqual(len(set(ids)), len(ids))

    def strange(self, rows: int, **sync) -> tuple:
        """A server that names batches that nobody has sent, and a daemon that has tried to send it something."""
        server = self.server(names="strange")
        server.honest = True
        fake = self.fake()
        daemon = self.daemon(fake.port, sync={"url": server.url, **sync}).start()
        if rows:
            daemon.call("Start")
            fake.settle()
            daemon.wait_stored(rows)
        daemon.sync_until(lambda result: result["outcome"] == "transient", "an attempt that failed")
        return server, daemon


class TokenTest(StrayTest):
    """Tokens are exchanged over a connection of their own."""

    def with_tokens(self, server: StrayServer, **auth):
        """A daemon with one row, which this server is to have."""
        server.token = {"access_token": "a2", "refresh_token": "r2", "expires_in": 3600}
        origin = server.url.removesuffix("/locations")
        fake = self.fake()
        daemon = self.daemon(fake.port, **{
            "sync": {"url": server.url, "allow_insecure_http": True},
            "sync.auth": {"access_token": "a1", "refresh_token": "r1", "refresh_url": origin + "/token", **auth},
            "sync.auth.refresh_payload": {"refresh_token": "{refreshToken}"}}).start()
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return daemon

    def check_second_401(self, make, delays):
        for delay in some(self, delays, 2):
            with self.subTest(delay=delay):
                server = make(delay, status=401)
                daemon = self.with_tokens(server)
                daemon.sync_until(lambda _, server=server: bool(server.exchanges), "an exchange")
                self.assertEqual(daemon.status()["auth"]["state"], "valid")
                server.honest = True
                self.drain(daemon)
                self.assertEqual(len(set(server.stored)), 1)
                self.assertEqual(len(server.exchanges), 1)
                daemon.terminate()


class TokenTests(TokenTest):
    def test_a_second_401_is_not_the_token_endpoint_s_answer(self):
        self.check_second_401(self.server, (0.5, 2, 50))

    def test_an_exchange_costs_one_connection(self):
        """A token that has expired is exchanged first; then one more connection has the rows."""
        for auth, connections in (({}, 1), ({"expires_at": 1_000_000_000}, 2)):
            with self.subTest(connections=connections):
                server = self.server()
                server.honest = True
                daemon = self.with_tokens(server, **auth)
                self.drain(daemon)
                self.assertEqual((server.connections, len(server.exchanges)), (connections, connections - 1))
                daemon.terminate()


class FarTests(TokenTest):
    """Servers that name nothing, at the end of a path with a round trip of 80 ms."""

    real_time = True

    def setUp(self):
        super().setUp()
        # Before all else that runs here, in the namespace as well: an answer that is read later than it comes is not what is
        # tested. Who may not do that runs them on a machine that is at rest.
        with contextlib.suppress(OSError):
            self.addCleanup(os.sched_setscheduler, 0, os.sched_getscheduler(0), os.sched_getparam(0))
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

    def far_server(self, *delays, **options) -> StrayServer:
        server = self.server(*delays, host=HERE, far=True, **options)
        server.url = server.url.replace(HERE, THERE)
        return server

    def check(self, made: ssl.SSLContext | None = None, delays=(-1, 0, 0.5, 2, 10, 40, 79), rows: int = ROWS, **sync):
        for delay in some(self, delays, 3):
            for split in (False, True) if made else (False,):
                with self.subTest(delay=delay, split=split):
                    server = self.far_server(delay, split=split, context=made)
                    _, daemon = self.daemon_with(rows, url=server.url, allow_insecure_http=True, **sync)
                    server.waited = partial(waited_for_processors, daemon.pid, "uploader")
                    self.check_all_arrived(server, daemon, rows)
                    print(f"{delay} ms{' split' * split}: {self.unmatched(daemon)} not believed, {server.lates} were late")
                    daemon.terminate()

    @in_namespace
    def test_beekon(self):
        far_path(self, 80)
        self.check(**FORMATS["beekon"])

    @in_namespace
    def test_overland_and_template(self):
        far_path(self, 80)
        self.check(delays=(-1, 2, 79), **FORMATS["overland"])
        self.check(delays=(-1, 2, 79), **FORMATS["template"])

    @in_namespace
    def test_osmand(self):
        far_path(self, 80)
        self.check(rows=8, **FORMATS["osmand"])

    @in_namespace
    def test_tokens(self):
        far_path(self, 80)
        self.check_second_401(self.far_server, (0.5, 10, 79))

    def check_tls(self, most: ssl.TLSVersion):
        authority = Authority(self.folder())
        made = context(*authority.certificate("server", names=f"IP:{THERE}"))
        made.maximum_version = most
        self.check(made, ca_file=authority.ca, rows=6, **FORMATS["beekon"])

    @needs_openssl
    @in_namespace
    def test_tls_1_2(self):
        far_path(self, 80)
        self.check_tls(ssl.TLSVersion.TLSv1_2)

    @needs_openssl
    @in_namespace
    def test_tls_1_3(self):
        far_path(self, 80)
        self.check_tls(ssl.TLSVersion.TLSv1_3)

    @in_namespace
    def test_good_answers_over_a_path_that_loses_packets(self):
        """None is refused, though packets are lost and come again."""
        far_path(self, 80, 0.03)
        server, lanes = self.far_server(), 8
        server.honest = True
        count = 1250 if LONG else 20
        main = {"url": server.url, "allow_insecure_http": True, "interval_seconds": NEVER, **FORMATS["osmand"]}
        others = {f"destination.d{number}": main for number in range(1, lanes)}
        fake = self.fake()
        daemon = self.daemon(fake.port, sync=main, **others).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(count - 1)
        daemon.wait_stored(count)
        for name in ("main", *(f"d{number}" for number in range(1, lanes))):
            daemon.connect(timeout=5 * WAIT).send("Sync", {"wait": True, "destination": name})
        wait_for(lambda: len(server.stored) >= lanes * count, lambda: f"all; {len(server.stored)} so far", 5 * WAIT)
        daemon.wait_status(lambda status: all(one["sync"]["pending"] == 0 for one in status["destinations"]), "nothing pending")
        self.assertEqual([one["sync"].get("unmatched_answers", 0) for one in daemon.status()["destinations"]], [0] * lanes)


class GoodTests(StrayTest):
    """What costs nothing: servers that answer once."""

    def test_one_connection_for_a_drain(self):
        for rows in (10, 10_000 if LONG else 200):
            with self.subTest(rows=rows):
                server = self.server()
                server.honest = True
                _, daemon = self.daemon_with(rows, url=server.url, **FORMATS["osmand"])
                daemon.sync(WAIT)
                self.check_all_arrived(server, daemon, rows)
                self.assertEqual(len(server.requests), rows, "each row once")
                self.assertLessEqual(server.connections, 2, "one for each attempt")
                self.assertEqual(self.unmatched(daemon), 0)
                daemon.terminate()

    @needs_nginx
    @needs_openssl
    def test_through_nginx(self):
        server, authority = self.server(), Authority(self.folder())
        server.honest = True
        nginx = Nginx(self.folder(), new_port(), server.port, *authority.certificate("server"))
        self.addCleanup(nginx.stop)
        nginx.start("keepalive_requests 100000")
        rows = 10_000 if LONG else 300
        _, daemon = self.daemon_with(rows, url=f"https://127.0.0.1:{nginx.port}/locations", ca_file=authority.ca,
                                     **FORMATS["osmand"])
        self.check_all_arrived(server, daemon, rows)
        self.assertEqual((len(server.requests), self.unmatched(daemon)), (rows, 0))


if __name__ == "__main__":
    unittest.main()
