"""Ten real beekond, three servers behind nginx, one PostgreSQL; any of them is killed after some of their rows have arrived.
Afterwards every fix that any daemon reported as stored is in the database exactly once, and nothing else is, but what a daemon
had committed and was killed before it could say so. BEEKOND_SERVER_KILLS=200 for the long run, in which PostgreSQL is stopped at
once twenty times."""
from __future__ import annotations

import contextlib
import itertools
import os
import random
import socket
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import FIRST_MS, PROGRAM, Server, envelope
from server_support.server_test import ServerTest
from server_support.vehicle import Account, Vehicle
from support.child import Child
from support.nginx import NGINX
from support.ports import new_port, reachable
from support.system_test import SystemTest
from support.waiting import PATIENCE, wait_for

KILLS = int(os.environ.get("BEEKOND_SERVER_KILLS") or "16")
VEHICLES = 10
SEED = int(os.environ.get("BEEKOND_SEED") or "20261122")


class Front:
    """nginx in front of servers, as docs/server.md has it but for TLS."""

    def __init__(self, folder: str, servers: list):
        self.folder, self.port = folder, new_port()
        upstream = " ".join(f"server 127.0.0.1:{server.port} fail_timeout=1s;" for server in servers)
        paths = " ".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{folder}/nginx.conf", "w", encoding="ascii") as file:
            file.write(f"""
                daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log crit; user root;
                events {{ worker_connections 512; }}
                http {{
                    access_log off; {paths}
                    upstream fleet {{ {upstream} keepalive 16; }}
                    server {{
                        listen 127.0.0.1:{self.port}; client_max_body_size 1m;
                        location / {{
                            proxy_pass http://fleet; proxy_http_version 1.1; proxy_set_header Connection "";
                        }}
                    }}
                }}""")
        self.child: Child | None = None

    def start(self) -> Front:
        self.child = Child([NGINX, "-p", self.folder, "-c", f"{self.folder}/nginx.conf"], f"{self.folder}/said")
        wait_for(lambda: reachable(self.port), lambda: f"nginx listens; it said: {self.child.text() if self.child else ''}")
        return self

    def kill(self):
        if self.child:
            self.child.kill()


@unittest.skipUnless(Path(PROGRAM).exists(), f"no {PROGRAM}: 'make test-server' builds it")
@unittest.skipUnless(BIN and NGINX, "PostgreSQL's server or nginx is not installed")
class FleetConservationTests(SystemTest):
    real_time = True

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.postgres = cluster()
        self.addCleanup(self.postgres.remove)
        self.postgres.start()
        self.servers = [self.server() for _ in range(3)]
        self.front = Front(self.folder(), self.servers).start()
        self.addCleanup(self.front.kill)
        self.vehicles = [self.vehicle(number) for number in range(VEHICLES)]

    def server(self) -> Server:
        server = Server(self.folder(), self.postgres.address())
        self.addCleanup(server.kill)
        return server.start()

    def vehicle(self, number: int) -> Vehicle:
        device = self.servers[0].add_device(f"van {number}")
        fake = self.fake()
        url = f"http://127.0.0.1:{self.front.port}"
        daemon = self.daemon(
            fake.port, sync={"url": url + "/v1/batches", "batch_size": 7, "require_ack": True}, **{
                "sync.auth": {
                    "access_token": device["access_token"], "refresh_token": device["refresh_token"],
                    "refresh_url": url + "/v1/token"},
                "sync.auth.refresh_payload": {
                    "grant_type": "refresh_token", "refresh_token": "{refreshToken}"}})
        vehicle = Vehicle(device["id"], fake, daemon).start()
        daemon.call("Start")
        return vehicle.settle()

    def kill_one(self) -> str:
        """SIGKILL of one process at random, which is started again."""
        kind = self.random.choice(("server", "server", "beekond", "beekond", "nginx"))
        if kind == "server":
            victim = self.random.choice(self.servers)
            victim.kill()
            victim.launch()
        elif kind == "beekond":
            vehicle = self.random.choice(self.vehicles)
            vehicle.kill()
            vehicle.start().settle()
        else:
            self.front.kill()
            self.front.start()
        return kind

    def stored(self) -> int:
        return int(self.postgres.query("SELECT count(*) FROM locations")[0][0])

    def some_way(self, before: int, driven: int):
        """Until so many of the rows that are driven now are stored as the dice say, or nobody sends any more of them: who has to
        wait after a failure does not hold up the next."""
        target, looks = before + self.random.randrange(driven + 1), itertools.count(1)
        wait_for(lambda: self.stored() >= target or next(looks) > 20, "rows are stored")

    def accounts(self) -> list[Account]:
        """Of each vehicle; and of nobody else is there anything."""
        stored: dict = {vehicle.device: [] for vehicle in self.vehicles}
        for device, time_, name in self.postgres.query("SELECT device, time, id FROM locations"):
            stored[int(device)].append((int(time_), name))
        return [vehicle.account(stored[vehicle.device]) for vehicle in self.vehicles]

    def test_nothing_is_lost_and_nothing_is_there_twice(self):
        began = time.monotonic()
        killed: dict = {}
        stops = 0
        for turn in range(KILLS):
            before, fixes = self.stored(), [self.random.randrange(1, 6) for _ in self.vehicles]
            for vehicle, count in zip(self.vehicles, fixes, strict=True):
                vehicle.drive(count)
                vehicle.daemon.ask_for_sync()
            self.some_way(before, sum(fixes))
            kind = self.kill_one()
            killed[kind] = killed.get(kind, 0) + 1
            if turn % 10 == 9:
                self.postgres.stop("immediate")
                self.postgres.start()
                stops += 1
        for server in self.servers:
            server.wait()
        for vehicle in self.vehicles:
            vehicle.daemon.sync_until(lambda answer: answer["pending"] == 0, "everything has been uploaded", 120)
            self.assertEqual(vehicle.daemon.rejected_ids(), set(), "nothing was refused for good")
        with contextlib.suppress(AssertionError):
            # The last reports may be on their way to us. What is wrong by then is shown below.
            wait_for(lambda: not any(account.faults for account in self.accounts()), "the last reports")
        accounts = self.accounts()
        silent = [counts for account in accounts for counts in account.silent.values()]
        reported = sum(account.reported for account in accounts)
        print(f"conservation: {sum(killed.values())} SIGKILLs {killed}, {stops} immediate stops of PostgreSQL, "
              f"{reported} fixes reported, {sum(account.stored for account in accounts)} stored, "
              f"{sum(len(account.twice) for account in accounts)} twice, {sum(len(account.lost) for account in accounts)} lost, "
              f"{sum(count for count, _ in silent)} committed and not reported at {len(silent)} kills, at most "
              f"{max((count for count, _ in silent), default=0)} at one, {sum(kept for _, kept in silent)} of them found in the "
              f"vehicle's own database, {sum(len(account.unexplained) for account in accounts)} unexplained, "
              f"{time.monotonic() - began:.0f} s, seed {SEED}")
        self.assertEqual([fault for account in accounts for fault in account.faults], [])
        self.assertGreater(reported, KILLS * 5)


class CuttingProxy:
    """Passes requests on, and cuts the answer after so many bytes."""

    def __init__(self, backend: int):
        self.backend = backend
        self.listener = socket.create_server(("127.0.0.1", new_port()))
        self.port = self.listener.getsockname()[1]
        self.limit = 0
        self.answered = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self.backend)) as server:
                client.settimeout(PATIENCE)
                data = b""
                while b"\r\n\r\n" not in data:
                    data += client.recv(65_536)
                head, body = data.split(b"\r\n\r\n", 1)
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                while len(body) < length:
                    body += client.recv(65_536)
                server.sendall(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + b"\r\n\r\n" + body)
                answer = b""
                while part := server.recv(65_536):
                    answer += part
                self.answered = len(answer)
                client.sendall(answer[:self.limit])

    def close(self):
        self.listener.close()


class CutAnswerTests(ServerTest):
    def test_an_answer_cut_at_every_byte(self):
        """The sender cannot know, and asks again: each batch is there once."""
        server = self.server().start()
        device, reader = server.add_device("van"), server.add_user("ada", "reader")
        proxy = CuttingProxy(server.port)
        self.addCleanup(proxy.close)
        sent: list = []
        cut = 0
        while True:
            root = envelope(3, first_ms=FIRST_MS + cut * 10_000)
            sent += [row["id"] for row in root["locations"]]
            proxy.limit = cut
            through = Server(self.folder, server.database)
            through.port = proxy.port
            try:
                whole = through.post(device["access_token"], root)
            except Exception:
                whole = None
            if cut >= proxy.answered and whole is not None:
                break
            again = server.post(device["access_token"], root)
            self.assertEqual((again.status, again.json["duplicates"]), (200, 3), cut)
            cut += 1
        print(f"cut answers: {cut}, {len(sent)} rows sent, each once")
        self.assertGreater(cut, 100)
        self.assertEqual(server.ids(reader, device["id"]), sent)


if __name__ == "__main__":
    unittest.main()
