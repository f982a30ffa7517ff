"""Clocks that are wrong: the server's own, by months in either direction, and those of vehicles. Nothing that is stored goes by
such a clock, and nothing that comes is dropped."""
from __future__ import annotations

import base64
import contextlib
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.postgres import BIN, cluster
from server_support.server import PROGRAM, Answer, Server, envelope, iso, uuid7
from server_support.server_test import ServerTest
from support.clocks import shim
from support.nightly import IS_LONG
from support.waiting import PATIENCE, wait_for

DAY = 86_400_000


def of_now(count: int = 2, **replaced) -> dict:
    """What a vehicle whose clock is right sends."""
    now = int(time.time() * 1000)
    return {**envelope(count, now - count * 1000, sent_at=iso(now), batch_id=uuid7(now)), **replaced}


class Clocks(ServerTest):
    """Of the servers of one test."""

    add: Any
    rows: Any
    write: Any
    # How the database's language has bytes.
    BLOB: str

    def shift(self, server: Server, days: float):
        """Starts it anew, with a clock that is ahead by so much; the kernel calls it unsynchronised."""
        if server.running:
            server.stop()
        path = os.path.join(server.folder, "clocks")
        with open(path, "wb") as file:
            file.write(struct.pack("=5q", int(days * 86_400 * 1e9), 0, 0, 0, 0))
        server.environment = {"LD_PRELOAD": shim(), "BEEKOND_TEST_CLOCK": path}
        server.start()

    def leap(self, server: Server, days: float):
        """Moves the clock of one that runs."""
        with open(os.path.join(server.folder, "clocks"), "r+b") as file:
            file.write(struct.pack("=q", int(days * 86_400 * 1e9)))

    def exchanged(self, server: Server, device: dict) -> str:
        """A new access token, as the vehicle gets one when the old one has expired by the server's clock."""
        answer = self.exchange(server, device["refresh_token"])
        self.assertEqual(answer.status, 200, answer)
        return answer.json["access_token"]

    def exchange(self, server: Server, token: str) -> Answer:
        return server.ask(
            "POST", "/v1/token", None, json.dumps({"grant_type": "refresh_token", "refresh_token": token}).encode(),
            Content_Type="application/json")

    def count(self, since: int = 0) -> int:
        return self.rows(f"SELECT count(*) FROM locations WHERE time >= {since}")

    def test_a_clock_that_is_400_days_ahead_deletes_nothing(self):
        """Of 300 days only what is too old by any clock goes, and what comes is stored."""
        server = self.add("--retention", "365")
        device = server.add_device("van")
        now = int(time.time() * 1000)
        # A location of each day, or of every third.
        days = range(0, 300, 1 if IS_LONG else 3)
        for day in days:
            root = envelope(1, now - day * DAY - 1000)
            self.assertEqual(server.deliver(device["access_token"], root).json["stored"], 1)
        self.assertEqual(server.stop(), 0)
        server.options = ()
        server.start()
        for day in (2000, 2100, 2200):
            self.assertEqual(server.deliver(device["access_token"], envelope(1, now - day * DAY)).json["stored"], 1)
        server.options = ("--retention", "365")
        self.shift(server, 400)
        wait_for(lambda: self.rows(f"SELECT count(*) FROM locations WHERE time < {now - 1000 * DAY}") == 0,
                 "what is too old by any clock has gone")
        answer = server.post(self.exchanged(server, device), of_now())
        self.assertEqual((answer.json["stored"], answer.json["expired"]), (2, 0))
        self.assertEqual(self.count(), len(days) + 2)

    def test_tokens_of_a_clock_that_was_ahead_are_not_good_for_longer(self):
        """What ended under it has ended, and what was made under it is exchanged soon; nobody is locked out."""
        server = self.add()
        device = server.add_device("van")
        # The database's clock is right, if it has one of its own: then no token is of another time.
        self.shift(server, 400)
        first = json.loads(self.exchange(server, device["refresh_token"]).body)
        self.assertEqual(server.deliver(first["access_token"], of_now(1)).status, 200)
        second = json.loads(self.exchange(server, first["refresh_token"]).body)
        self.assertEqual(server.deliver(second["access_token"], of_now(1)).status, 200)
        self.shift(server, 0)
        if self.rows("SELECT max(created) FROM tokens") > (time.time() + 300 * 86_400) * 1000:
            self.assertEqual(server.post(first["access_token"], of_now(1)).status, 401, "it ended when the other was shown")
            self.assertEqual(server.post(second["access_token"], of_now(1)).status, 401, "it is of a time that has not come")
        third = self.exchange(server, second["refresh_token"])
        self.assertEqual(third.status, 200, third)
        token = json.loads(third.body)["access_token"]
        self.assertEqual(server.deliver(token, of_now(1)).status, 200)
        self.assertLess(self.rows("SELECT max(expires) FROM tokens WHERE ended IS NULL"), (time.time() + 8 * 86_400) * 1000)

    def test_what_a_clock_that_was_ahead_has_left_behind_passes_for_nothing_new(self):
        """Sessions, wrong passwords, logs, installations and commands of a time that has not come."""
        server = self.add()
        fleet.add_user(server, "ada", "admin")
        admin = server.add_user("root", "admin")
        device = server.add_device("van")
        path = f"/v1/devices/{device['id']}"
        mine = uuid7(1)
        self.shift(server, 400)
        token = self.exchanged(server, device)
        self.assertEqual(self.log_in(server, "something else").status, 401)
        ahead = self.log_in(server)
        self.assertEqual(ahead.status, 200)
        # As if there had been more logins than a user has sessions; a password takes a fifth of a second.
        for _ in range(21):
            self.write(f"INSERT INTO sessions SELECT account, {self.BLOB % os.urandom(32).hex()}, created, expires FROM sessions "
                       "LIMIT 1")
        self.assertEqual(self.upload(server, token, mine).status, 200)
        for number in range(10):
            log = server.ask("POST", "/v1/logs", token, f"log {number}".encode(), Content_Type="text/plain")
            self.assertEqual(log.status, 204)
            self.assertEqual(self.upload(server, token, uuid7(number + 2)).status, 200)
        order = b'{"command":"stop","expires_in":3600}'
        ordered = server.ask("POST", path + "/commands", admin, order, Content_Type="application/json")
        self.assertEqual(ordered.status, 201)
        # It leaps back while the server runs.
        self.leap(server, 0)
        self.assertEqual(self.log_in(server).status, 200, "one wrong password keeps nobody waiting")
        self.shift(server, 0)
        self.assertEqual(self.in_session(server, self.log_in(server)), 200)
        if self.rows("SELECT max(created) FROM sessions") > (time.time() + 300 * 86_400) * 1000:
            self.assertEqual(self.in_session(server, ahead), 401, "it would be good for a year")
        token = server.ask("POST", path + "/tokens", admin, b"").json["access_token"]
        self.assertEqual(server.ask("POST", "/v1/logs", token, b"log of now", Content_Type="text/plain").status, 204)
        self.assertEqual(server.ask("GET", path + "/log", admin).body, b"log of now")
        # Bound anew, and then others.
        self.assertEqual(self.upload(server, token, mine).status, 200)
        for number in range(10):
            self.assertEqual(self.upload(server, token, uuid7(number + 20)).status, 200)
        last = uuid7(30)
        self.assertEqual(self.upload(server, token, last).status, 200)
        body = json.dumps({"install_id": last}).encode()
        self.assertEqual(
            server.ask("POST", path + "/installations", admin, body, Content_Type="application/json").status, 204)
        # Nobody knows when its hour was over; with PostgreSQL it was ordered by a clock that is right.
        state = server.ask("GET", path + "/commands", admin).json["commands"][0]["state"]
        if int(ordered.json["id"][2:]) > (time.time() + 300 * 86_400) * 1000:
            self.assertEqual(state, "expired")
            token = self.renewed(server, path, admin)
            self.assertNotIn("commands", self.upload(server, token, last).json)
        # And the next one is one of now.
        fresh = server.ask("POST", path + "/commands", admin, order, Content_Type="application/json")
        self.assertEqual(fresh.status, 201)
        commands = self.upload(server, self.renewed(server, path, admin), last).json["commands"]
        self.assertEqual(commands[-1]["id"], fresh.json["id"])

    def log_in(self, server: Server, password: str = fleet.PASSWORD) -> Answer:
        body = json.dumps({"name": "ada", "password": password}).encode()
        return server.ask("POST", "/v1/login", None, body, Content_Type="application/json")

    def in_session(self, server: Server, answer: Answer) -> int:
        """What the session of a login is good for."""
        self.assertEqual(answer.status, 200, answer)
        session = next(part for part in answer.headers["set-cookie"].replace(",", ";").split(";") if "beekon_session=" in part)
        return server.ask("GET", "/v1/session", Cookie=session.strip()).status

    def renewed(self, server: Server, path: str, admin: str) -> str:
        """A token of now; the next installation that uploads is bound."""
        return server.ask("POST", path + "/tokens", admin, b"").json["access_token"]

    def upload(self, server: Server, token: str, install: str) -> Answer:
        root = of_now(1)
        root["device"]["install_id"] = install
        return server.post(token, root)

    def test_a_clock_that_is_behind_refuses_nothing_for_good(self):
        """What is of its future is to come again: it is not the vehicle's fault."""
        server = self.add()
        device = server.add_device("van")
        admin = server.add_user("ada", "admin")
        self.assertEqual(server.ask("POST", "/v1/clock", admin, b"{}", Content_Type="application/json").status, 200)
        self.shift(server, -40)
        root = of_now()
        answer = server.post(device["access_token"], root)
        self.assertEqual(answer.status, 503, answer)
        self.assertIn("retry-after", answer.headers)
        self.shift(server, 0)
        self.assertEqual(server.deliver(device["access_token"], root).json["stored"], 2)

    def test_an_id_is_never_refused_for_its_time(self):
        """A vehicle without a clock makes ids of 1970, or of a future that is none. Its rows are stored once all the same."""
        server = self.add()
        token = server.add_device("van")["access_token"]
        for moment in (0, 5_000, int(time.time() * 1000) + 900 * DAY):
            root = of_now(3, batch_id=uuid7(moment), sent_at=iso(moment))
            for stored in (3, 0, 0):
                answer = server.post(token, root)
                self.assertEqual((answer.status, answer.json.get("stored")), (200, stored), answer)
                self.assertEqual(answer.json["duplicates"], 3 - stored)
        self.assertEqual((self.count(), self.rows("SELECT count(*) FROM batches")), (9, 0))

    def test_it_is_told_until_it_is_confirmed(self):
        """In doctor, metrics and interface, with both times; then by a verb, which no reader can do."""
        server = self.add("--retention", "30")
        reader, admin = server.add_user("rita", "reader"), server.add_user("ada", "admin")
        self.shift(server, 400)
        told = server.ask("GET", "/v1/clock", reader).json
        self.assertTrue(told["is_ahead"])
        ahead = int(time.time()) + 390 * 86_400
        self.assertGreater(told["time"], iso(ahead * 1000))
        self.assertLess(told["confirmed"], iso(ahead * 1000))
        self.assertIn("beekon_server_clock_is_ahead 1\n", server.ask("GET", "/metrics", reader).body.decode())
        done = server.verb("doctor")
        self.assertIn(told["time"][:10], done.stdout)
        self.assertIn(told["confirmed"][:10], done.stdout)
        with open(server.log, encoding="utf-8") as log:
            self.assertIn("clock", log.read())
        self.assertEqual(server.ask("POST", "/v1/clock", reader, b"{}").status, 403)
        done = server.verb("clock", "confirm")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = server.ask("GET", "/v1/clock", admin).json
        self.assertFalse(told["is_ahead"])
        self.assertGreater(told["confirmed"], iso(ahead * 1000))
        self.assertIn("beekon_server_clock_is_ahead 0\n", server.ask("GET", "/metrics", reader).body.decode())

    def test_counters_of_signed_lists_grow_though_the_clock_goes_back(self):
        """A vehicle takes no list whose counter is not greater than the last."""
        path = os.path.join(self.folder, "key.pem")
        server = self.add("--signing-key", path)
        device = server.add_device("van")
        admin = server.add_user("ada", "admin")
        server.ask("POST", "/v1/clock", admin, b"{}", Content_Type="application/json")
        order = json.dumps({"command": "start", "expires_in": 2_000_000}).encode()
        self.assertEqual(server.ask(
            "POST", f"/v1/devices/{device['id']}/commands", admin, order, Content_Type="application/json").status, 201)
        install = uuid7(int(time.time() * 1000))

        def counter() -> int:
            root = of_now(1)
            root["device"]["install_id"] = install
            answer = server.post(device["access_token"], root)
            return json.loads(base64.b64decode(answer.json["signed"]))["counter"]

        counters = [counter() for _ in range(3)]
        self.shift(server, -0.5)
        counters += [counter() for _ in range(3)]
        self.assertEqual(counters, sorted(set(counters)))


class SQLiteClockTests(Clocks, ServerTest):
    BLOB = "X'%s'"

    def add(self, *options: str) -> Server:
        server = self.server(*options)
        if "--signing-key" in options:
            subprocess.run([PROGRAM, "key", "new", options[1]], check=True, capture_output=True, timeout=60)
        return server.start()

    def rows(self, statement: str) -> int:
        with sqlite3.connect(f"file:{os.path.join(self.folder, 'server.db')}?mode=ro", uri=True, timeout=30) as database:
            return database.execute(statement).fetchone()[0]

    def write(self, statement: str):
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder, "server.db"), timeout=PATIENCE)) as database:
            database.executescript(statement)


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class PostgresClockTests(Clocks, ServerTest):
    """PostgreSQL's clock is right throughout: the lesser of both counts."""

    BLOB = r"'\x%s'"

    def setUp(self):
        super().setUp()
        self.postgres = cluster()
        self.addCleanup(self.postgres.remove)
        self.postgres.start()

    def add(self, *options: str) -> Server:
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address(), options)
        self.addCleanup(server.kill)
        if "--signing-key" in options:
            subprocess.run([PROGRAM, "key", "new", options[1]], check=True, capture_output=True, timeout=60)
        return server.start()

    def rows(self, statement: str) -> int:
        return int(self.postgres.query(statement)[0][0])

    def write(self, statement: str):
        self.postgres.query(statement)

    def test_it_is_told_until_it_is_confirmed(self):
        """It need not be: PostgreSQL's own clock says no."""
        server = self.add()
        admin = server.add_user("ada", "admin")
        server.ask("POST", "/v1/clock", admin, b"{}", Content_Type="application/json")
        self.shift(server, 400)
        self.assertFalse(server.ask("GET", "/v1/clock", admin).json["is_ahead"])


# It has no servers.
del Clocks


if __name__ == "__main__":
    unittest.main()
