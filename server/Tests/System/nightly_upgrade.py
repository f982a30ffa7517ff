"""Upgrades under load: servers of the version before store what vehicles send, the new one starts on their database, and is
killed in half of the rounds before it is ready. What was acknowledged is there once, and every vehicle can go on with its tokens.
BEEKON_SERVER_BEFORE names the folder of the version before, BEEKON_SERVER_UPGRADES how often (4) on each database."""
from __future__ import annotations

import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.server import FIRST_MS, Server, envelope, uuid7
from server_support.server_test import ServerTest
from support.waiting import wait_for

BEFORE = os.path.join(os.environ.get("BEEKON_SERVER_BEFORE") or "", "beekon-server")
ROUNDS = int(os.environ.get("BEEKON_SERVER_UPGRADES") or "4")
VEHICLES = 8
ROWS = 20


class Vehicle(threading.Thread):
    """Uploads to whichever server answers, and asks for new tokens now and then, until it is told to end."""

    def __init__(self, number: int, device: dict, servers: list[Server]):
        super().__init__(daemon=True)
        self.device, self.servers = device, servers
        self.chance = random.Random(number)
        self.tokens = {name: device[name] for name in ("access_token", "refresh_token")}
        self.install = uuid7(FIRST_MS + number)
        self.acknowledged: list[str] = []
        self.batches = self.exchanges = 0
        self.statuses: dict[int, int] = {}
        # The longest time without an acknowledgement, in seconds.
        self.longest = 0.0
        self.ending = threading.Event()

    def ask(self, *request, **headers):
        """The answer, asked for again where there is none, or a server that cannot now."""
        begun = time.monotonic()
        while True:
            try:
                answer = self.chance.choice(self.servers).ask(*request, **headers)
                self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
                if answer.status not in (500, 503):
                    self.longest = max(self.longest, time.monotonic() - begun)
                    return answer
            except (OSError, http.client.HTTPException, IndexError):
                pass
            if self.ending.wait(0.02) and time.monotonic() - begun > 60:
                raise AssertionError("no server answers")

    def upload(self):
        root = envelope(ROWS, FIRST_MS + self.batches * ROWS * 1000)
        root["device"]["install_id"] = self.install
        answer = self.ask("POST", "/v1/batches", self.tokens["access_token"], json.dumps(root).encode(),
                          Content_Type="application/json")
        assert answer.status == 200, answer
        self.acknowledged += [location["id"] for location in root["locations"]]
        self.batches += 1

    def exchange(self):
        body = f"grant_type=refresh_token&refresh_token={self.tokens['refresh_token']}".encode()
        answer = self.ask("POST", "/v1/token", None, body,
                          Content_Type="application/x-www-form-urlencoded")
        assert answer.status == 200, answer
        self.tokens = {name: answer.json[name] for name in self.tokens}
        self.exchanges += 1

    def run(self):
        while not self.ending.is_set():
            self.upload()
            if self.chance.random() < 0.1:
                self.exchange()


@unittest.skipUnless(os.access(BEFORE, os.X_OK), "BEEKON_SERVER_BEFORE has no beekon-server of the version before")
class Upgrades(ServerTest):
    begin: Any
    finish: Any
    rows: Any
    upgrade: Any
    STATEMENT: str

    def test_upgrades(self):
        seen = {"rows": 0, "exchanges": 0}
        longest = 0.0
        for number in range(ROUNDS):
            with self.subTest(round=number):
                self.begin()
                vehicles = self.upgrade(random.Random(number), is_killed=number % 2 == 1)
                for vehicle in vehicles:
                    vehicle.ending.set()
                for vehicle in vehicles:
                    vehicle.join(120)
                    self.assertFalse(vehicle.is_alive())
                    self.assertGreater(vehicle.batches, 0)
                    # Nobody is locked out, of any token.
                    vehicle.upload()
                    vehicle.exchange()
                    vehicle.upload()
                    self.assertEqual(set(vehicle.statuses) - {200, 503}, set())
                sent = [id_ for vehicle in vehicles for id_ in vehicle.acknowledged]
                stored = [row[0] for row in self.rows(self.STATEMENT)]
                self.assertEqual(sorted(stored), sorted(sent))
                seen["rows"] += len(sent)
                seen["exchanges"] += sum(vehicle.exchanges for vehicle in vehicles)
                longest = max([longest, *(vehicle.longest for vehicle in vehicles)])
                self.finish()
        print(f"{type(self).__name__}: {ROUNDS} upgrades, {seen['rows']} rows and {seen['exchanges']} exchanges of tokens, "
              f"at most {longest:.1f} s without an answer")

    def drive(self, servers: list) -> list[Vehicle]:
        vehicles = [Vehicle(number, servers[0].add_device(f"van {number}"), servers) for number in range(VEHICLES)]
        for vehicle in vehicles:
            vehicle.start()
        self.wait_more(vehicles)
        return vehicles

    def wait_more(self, vehicles: list[Vehicle]):
        """Until each has uploaded five times more."""
        goals = [vehicle.batches + 5 for vehicle in vehicles]
        wait_for(lambda: all(vehicle.batches >= goal for vehicle, goal in zip(vehicles, goals, strict=True)),
                 lambda: f"uploads; {[(vehicle.batches, vehicle.statuses) for vehicle in vehicles]}")

    def kill_soon(self, server: Server, chance: random.Random):
        """While it upgrades: anywhere in what it does first."""
        server.launch()
        time.sleep(chance.uniform(0.01, 0.4))
        server.kill()


class PostgresUpgrades(Upgrades, OnPostgres):
    STATEMENT = "SELECT id FROM locations"

    def begin(self):
        self.name = f"round{len(self.postgres.query('SELECT datname FROM pg_database'))}"
        self.postgres.query(f"CREATE DATABASE {self.name}")

    def finish(self):
        for server in self.running:
            server.kill()
        self.postgres.query(f"DROP DATABASE {self.name} WITH (FORCE)")

    def rows(self, statement: str) -> list:
        return self.postgres.query(statement, self.name)

    def one(self, **which) -> Server:
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address(self.name), **which)
        self.addCleanup(server.kill)
        return server

    def upgrade(self, chance: random.Random, is_killed: bool) -> list[Vehicle]:
        """Two servers of each version, of which one follows the other."""
        old = [self.one(program=BEFORE).start() for _ in range(2)]
        self.running = list(old)
        vehicles = self.drive(self.running)
        new = self.one()
        if is_killed:
            self.kill_soon(new, chance)
            self.wait_more(vehicles)
        self.running.append(new.start())
        for server in old:
            self.running.remove(server)
            server.stop() if chance.random() < 0.5 else server.kill()
        self.wait_more(vehicles)
        self.running.append(self.one().start())
        self.wait_more(vehicles)
        return vehicles


class SQLiteUpgrades(Upgrades, OnSQLite):
    STATEMENT = ("SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || "
                 "substr(h, 17, 4) || '-' || substr(h, 21)) FROM (SELECT hex(id) AS h FROM locations)")

    def begin(self):
        self.place = tempfile.mkdtemp(dir=self.folder)

    def finish(self):
        for server in self.running:
            server.kill()

    def rows(self, statement: str) -> list:
        whole, self.folder = self.folder, self.place
        try:
            return super().rows(statement)
        finally:
            self.folder = whole

    def upgrade(self, chance: random.Random, is_killed: bool) -> list[Vehicle]:
        old = Server(self.place, program=BEFORE).start()
        self.addCleanup(old.kill)
        self.running = [old]
        vehicles = self.drive(self.running)
        old.stop() if chance.random() < 0.5 else old.kill()
        new = Server(self.place)
        self.addCleanup(new.kill)
        self.running[:] = [new]
        if is_killed:
            self.kill_soon(new, chance)
        new.start()
        self.wait_more(vehicles)
        return vehicles


# They have no database.
del Upgrades, OnPostgres, OnSQLite


if __name__ == "__main__":
    unittest.main()
