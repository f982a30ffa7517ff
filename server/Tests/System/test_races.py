"""What meets at one moment: claim codes, tokens that rotate, devices that are revoked and retention, each against uploads and
readers, on one server with SQLite and on several that share a PostgreSQL. Nothing is answered with a failure of the server, and
what was acknowledged is there."""
from __future__ import annotations

import collections
import contextlib
import http.client
import json
import os
import random
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import FIRST_MS, Answer, Server, envelope, iso, uuid7
from server_support.server_test import ServerTest
from support.clocks import standing_still
from support.nightly import IS_LONG
from support.waiting import PATIENCE, wait_for

CLIENTS = 20
DAY = 86_400_000


class Races(ServerTest):
    """The tests; each of the two classes below runs them with its servers."""

    servers: list[Server]

    def rows(self, statement: str) -> list:
        """Of the database."""
        raise NotImplementedError

    def at_once(self, count: int, work) -> list:
        """Runs `work(number)` in as many threads, which begin together."""
        gate = threading.Barrier(count)

        def run(number: int):
            gate.wait(PATIENCE)
            return work(number)

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(run, range(count)))

    def server_for(self, number: int) -> Server:
        return self.servers[number % len(self.servers)]

    def stored(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT id FROM locations")]

    # MARK: Claim codes

    def enroll(self, server: Server, name: str, code: str) -> Answer:
        return server.ask("POST", "/v1/enroll", None, json.dumps({"name": name, "code": code}).encode())

    def claim(self, uses: int) -> str:
        return self.servers[0].verb("claim", "add", "--uses", str(uses)).stdout.strip()

    def test_a_code_for_one_by_twenty_at_once(self):
        for turn in range(3):
            code = self.claim(1)
            answers = self.at_once(
                CLIENTS, lambda number: self.enroll(self.server_for(number), f"van {turn} {number}", code))
            self.assertEqual(
                collections.Counter(answer.status for answer in answers), {201: 1, 403: CLIENTS - 1}, answers)
            for answer in answers:
                if answer.status == 403:
                    self.assertEqual(answer.json["detail"], "The code does not exist, has expired, or is used up.")
            self.assertEqual(len(self.rows(f"SELECT id FROM devices WHERE name LIKE 'van {turn} %'")), 1)
            winner = next(answer.json for answer in answers if answer.status == 201)
            # Any server takes it at once.
            for server in self.servers:
                self.assertEqual(server.deliver(winner["access_token"], envelope(1)).status, 200)
        self.assertEqual([int(row[0]) for row in self.rows("SELECT uses FROM claims")], [0] * 3)

    def test_one_name_by_twenty_at_once(self):
        """A vehicle that lost the answer asks again: one device, one use of the code, and one pair of tokens that is good."""
        code = self.claim(3)
        answers = self.at_once(CLIENTS, lambda number: self.enroll(self.server_for(number), "van", code))
        self.assertEqual({answer.status for answer in answers}, {201}, answers)
        self.assertEqual(len({answer.json["id"] for answer in answers}), 1)
        self.assertEqual([int(row[0]) for row in self.rows("SELECT uses FROM claims")], [2])
        statuses = [self.server_for(number).deliver(answer.json["access_token"], envelope(1)).status
                    for number, answer in enumerate(answers)]
        self.assertEqual(collections.Counter(statuses), {401: CLIENTS - 1, 200: 1})
        # Its token has been used: now it is somebody's.
        again = self.enroll(self.servers[0], "van", code)
        self.assertEqual((again.status, [int(row[0]) for row in self.rows("SELECT uses FROM claims")]), (409, [2]))

    def test_one_name_with_two_codes_at_once(self):
        codes = [self.claim(1), self.claim(1)]
        answers = self.at_once(CLIENTS, lambda number: self.enroll(self.server_for(number), "van", codes[number % 2]))
        self.assertEqual({answer.status for answer in answers}, {201, 409}, answers)
        self.assertEqual(sorted(int(row[0]) for row in self.rows("SELECT uses FROM claims")), [0, 1])
        self.assertEqual(len(self.rows("SELECT id FROM devices")), 1)

    # MARK: Tokens

    def exchange(self, server: Server, refresh: str) -> Answer:
        return server.ask(
            "POST", "/v1/token", None, f"grant_type=refresh_token&refresh_token={refresh}".encode(),
            Content_Type="application/x-www-form-urlencoded")

    def test_uploads_while_tokens_rotate(self):
        """Whoever has the newest token is never sent away, whichever server gave it, and whichever it is shown to."""
        pair = self.servers[0].add_device("van")
        stop = threading.Event()
        sent: list[str] = []

        def upload(number: int) -> list[Answer]:
            answers: list[Answer] = []
            while not stop.is_set():
                root = envelope(3, FIRST_MS + (number * 10_000 + len(answers)) * 10_000)
                answers.append(self.server_for(number + len(answers)).deliver(pair["access_token"], root))
                sent.extend(row["id"] for row in root["locations"])
            return answers

        with ThreadPoolExecutor(4) as pool:
            uploads = [pool.submit(upload, number) for number in range(4)]
            try:
                for turn in range(30):
                    answer = self.exchange(self.server_for(turn), pair["refresh_token"])
                    self.assertEqual(answer.status, 200, answer)
                    pair = {**pair, **answer.json}
            finally:
                stop.set()
            answers = [answer for each in uploads for answer in each.result(PATIENCE)]
        self.assertEqual(collections.Counter(answer.status for answer in answers), {200: len(answers)})
        self.assertEqual(sorted(self.stored()), sorted(sent))
        print(f"rotation: {len(answers)} uploads during 30 exchanges, each accepted")

    def test_one_refresh_token_by_twenty_at_once(self):
        """All get a pair, and the first that arrives is the one; the others end with it, a minute later for what is under way."""
        pair = self.servers[0].add_device("van")
        answers = self.at_once(CLIENTS, lambda number: self.exchange(self.server_for(number), pair["refresh_token"]))
        self.assertEqual({answer.status for answer in answers}, {200}, answers)
        good = [answer for number, answer in enumerate(answers)
                if self.server_for(number).deliver(answer.json["access_token"], envelope(1)).status == 200]
        self.assertEqual(len(good), len(answers))
        statuses = [self.exchange(server, answer.json["refresh_token"]).status for server in self.servers for answer in answers]
        self.assertEqual(collections.Counter(statuses)[200], len(self.servers))
        self.assertEqual(self.exchange(self.servers[0], pair["refresh_token"]).status, 400)

    def test_a_repetition_of_an_exchange_that_comes_late_locks_nobody_out(self):
        """It was under way for longer than its answer was waited for: what the vehicle holds meanwhile stays good."""
        pair = self.servers[0].add_device("van")
        for turn in range(5):
            answer = self.exchange(self.server_for(turn), pair["refresh_token"])
            self.assertEqual(answer.status, 200)
            self.assertEqual(self.server_for(turn).deliver(answer.json["access_token"], envelope(1)).status, 200)
            for number in range(3):
                late = self.exchange(self.server_for(turn + number), pair["refresh_token"])
                self.assertEqual((late.status, late.json), (400, {"error": "invalid_grant"}))
            pair = answer.json
        self.assertEqual(self.exchange(self.servers[0], pair["refresh_token"]).status, 200)

    def test_a_refresh_token_that_is_nobodys_writes_nothing(self):
        """Whoever knows the number of a vehicle could make the disk write, and hold the lock that its uploads wait for."""
        device = self.servers[0].add_device("van")
        before = self.writes()
        for number in range(20):
            answer = self.exchange(self.server_for(number), f"bkr.{device['id']}.{'A' * 42}{'AEIMQUYcgkosw048'[number % 16]}")
            self.assertEqual((answer.status, answer.json["error"]), (400, "invalid_grant"))
        self.assertEqual(self.writes(), before)
        self.assertEqual(self.exchange(self.servers[0], device["refresh_token"]).status, 200)
        self.assertNotEqual(self.writes(), before, "one that is good does")

    def writes(self) -> list:
        """Changes with each time that the row of the device is written."""
        raise NotImplementedError

    def test_of_pairs_that_were_offered_the_first_that_is_shown_is_the_one(self):
        """By either of its tokens, whichever of the answers arrived."""
        for name, shown in (("van", "access_token"), ("bus", "refresh_token")):
            pair = self.servers[0].add_device(name)
            first, second, third = (
                self.exchange(self.server_for(number), pair["refresh_token"]).json for number in range(3))
            if shown == "access_token":
                self.assertEqual(self.servers[0].deliver(second[shown], envelope(1)).status, 200)
            else:
                self.assertEqual(self.exchange(self.servers[0], second[shown]).status, 200)
            for other in (first, third, pair):
                self.assertEqual(self.exchange(self.server_for(1), other["refresh_token"]).status, 400)
                # For what is under way.
                self.assertEqual(self.server_for(1).deliver(other["access_token"], envelope(1)).status, 200)
            self.assertEqual(self.exchange(self.server_for(1), second["refresh_token"]).status, 200)
            self.assertEqual(self.server_for(1).deliver(second["access_token"], envelope(1)).status, 200)

    def test_a_token_that_ended_long_ago_and_is_shown_again_is_told(self):
        """A copy of the vehicle, a backup that was restored, or a thief: nothing ends because of it."""
        admin = self.servers[0].add_user("ada", "admin")
        device = self.servers[0].add_device("van")
        pair = self.exchange(self.servers[0], device["refresh_token"]).json
        self.assertEqual(self.servers[0].deliver(pair["access_token"], envelope(1)).status, 200)
        # Within a minute it is but late.
        self.assertEqual(self.exchange(self.servers[0], device["refresh_token"]).status, 400)
        path = f"/v1/devices/{device['id']}"
        self.assertNotIn("token_shown_again", self.servers[0].ask("GET", path, admin).json)
        self.change("UPDATE ended_tokens SET ended = ended - 61000")
        self.assertEqual(self.exchange(self.servers[0], device["refresh_token"]).status, 400)
        self.assertIn("token_shown_again", self.servers[0].ask("GET", path, admin).json)
        text = self.servers[0].ask("GET", "/metrics", admin).body.decode()
        self.assertIn('beekon_server_ended_tokens_shown_total{when="late"} 1\n', text)
        self.assertIn('beekon_server_ended_tokens_shown_total{when="overtaken"} 1\n', text)
        with open(self.servers[0].log, encoding="utf-8") as log:
            self.assertIn("shown again", log.read())
        self.assertEqual(self.exchange(self.servers[0], pair["refresh_token"]).status, 200)
        # An admin has seen to it.
        self.assertEqual(self.servers[0].ask("POST", path + "/tokens", admin, b"").status, 201)
        self.assertNotIn("token_shown_again", self.servers[0].ask("GET", path, admin).json)

    def test_a_new_token_amid_wrong_ones_is_never_called_wrong(self):
        """Whom another server has just given a token may have to come again, for want of patience with so many wrong ones."""
        pair = self.servers[0].add_device("van")
        stop = threading.Event()
        last = self.servers[-1]
        self.assertEqual(last.deliver(pair["access_token"], envelope(1)).status, 200)
        wrong = f"bka.{pair['id']}." + "A" * 43
        rounds = 10 if IS_LONG else 4

        def flood() -> set:
            statuses = set()
            while not stop.is_set():
                statuses.add(last.post(wrong, envelope(0)).status)
            return statuses

        with ThreadPoolExecutor(40) as pool:
            floods = [pool.submit(flood) for _ in range(40)]
            try:
                statuses = []
                for _ in range(rounds):
                    pair = {**pair, **self.exchange(self.servers[0], pair["refresh_token"]).json}
                    answer = last.post(pair["access_token"], envelope(1))
                    while answer.status == 503:
                        self.assertIn("retry-after", answer.headers)
                        answer = last.post(pair["access_token"], envelope(1))
                    statuses.append(answer.status)
            finally:
                stop.set()
            found = set().union(*(each.result(PATIENCE) for each in floods))
        self.assertEqual(statuses, [200] * rounds)
        self.assertLessEqual(found, {401, 503})

    # MARK: Names

    def test_names_that_cannot_be_are_no_error_of_the_server(self):
        server = self.servers[0]
        admin = server.add_user("root", "admin")
        for name in ("a\x00b", "\x00", "x" * 5000):
            body = json.dumps({"name": name, "password": "correct horse battery"}).encode()
            self.assertEqual(server.ask("POST", "/v1/login", None, body, Content_Type="application/json").status, 401)
        password = b'{"password":"correct horse battery"}'
        self.assertEqual(server.ask("DELETE", "/v1/users/a%00b", admin).status, 404)
        self.assertEqual(server.ask("PUT", "/v1/users/%00/password", admin, password).status, 404)
        body = json.dumps({"name": "a\x00b", "code": "x"}).encode()
        self.assertEqual(server.ask("POST", "/v1/enroll", None, body).status, 400)
        with open(server.log, encoding="utf-8") as log:
            self.assertNotIn("22021", log.read())

    # MARK: Revocation

    def test_uploads_while_a_device_is_revoked(self):
        admin = self.servers[0].add_user("root", "admin")
        for turn in range(3):
            self.revoke_amid_uploads(self.servers[0].add_device(f"van {turn}"), admin)

    def revoke_amid_uploads(self, device: dict, admin: str):
        accepted: list[str] = []
        ended = threading.Event()
        late: list[Answer] = []

        def upload(number: int) -> int:
            """Until it is sent away."""
            count = 0
            while True:
                count += 1
                root = envelope(2, FIRST_MS + (number * 10_000 + count) * 10_000)
                # What begins afterwards has to be refused, by whichever server.
                is_late = ended.is_set()
                answer = self.server_for(number).post(device["access_token"], root)
                # A busy machine: the same again, as a vehicle would.
                while answer.status == 503:
                    answer = self.server_for(number).post(device["access_token"], root)
                if answer.status != 200:
                    return answer.status
                accepted.extend(row["id"] for row in root["locations"])
                if is_late:
                    late.append(answer)

        with ThreadPoolExecutor(6) as pool:
            uploads = [pool.submit(upload, number) for number in range(6)]
            wait_for(lambda: len(accepted) > 40, "some uploads")
            answer = self.servers[0].ask("DELETE", f"/v1/devices/{device['id']}", admin)
            ended.set()
            # Nor is anything stored of what had begun before.
            there = len(self.rows(f"SELECT id FROM locations WHERE device = {device['id']}"))
            self.assertEqual(answer.status, 204)
            self.assertEqual([each.result(PATIENCE) for each in uploads], [401] * 6)
        self.assertEqual(late, [])
        found = [row[0] for row in self.rows(f"SELECT id FROM locations WHERE device = {device['id']}")]
        self.assertEqual(len(found), there, "stored after the answer to the revocation")
        self.assertEqual(sorted(found), sorted(accepted), "what was acknowledged is there, and nothing else")
        for server in self.servers:
            self.assertEqual(server.post(device["access_token"], envelope(1)).status, 401)
            self.assertEqual(self.exchange(server, device["refresh_token"]).json, {"error": "invalid_grant"})

    def test_streams_while_rights_end(self):
        """On every server: who is removed hears nothing more, and who stays does."""
        device = self.servers[0].add_device("van")
        names = ["ada", "bob"]
        tokens = [self.servers[0].add_user(name, "reader") for name in names]
        streams = {}
        for number, server in enumerate(self.servers):
            for name, token in zip(names, tokens, strict=True):
                link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                self.addCleanup(link.close)
                link.request("GET", "/v1/live", headers={"Authorization": f"Bearer {token}"})
                streams[name, number] = link.getresponse()
                self.assertEqual(streams[name, number].status, 200)
        stop = threading.Event()

        def drive():
            count = 0
            while not stop.wait(0.3):
                count += 1
                self.servers[0].post(device["access_token"], envelope(1, FIRST_MS + count * 1000))

        thread = threading.Thread(target=drive)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        self.assertEqual(self.servers[-1].verb("user", "remove", "ada").returncode, 0)
        deadline = time.monotonic() + PATIENCE
        for number in range(len(self.servers)):
            while streams["ada", number].readline():
                self.assertLess(time.monotonic(), deadline, "it goes on")
            # What has come by now may be old, but not ten events of it.
            heard = 0
            while heard < 10:
                heard += streams["bob", number].readline().startswith(b"event: device")

    def test_a_body_that_comes_after_the_right_has_ended(self):
        """Who was an admin when the request began, and is none when it has come, changes nothing."""
        server = self.servers[0]
        root = server.add_user("root", "admin")
        device = server.add_device("van")
        path = f"/v1/devices/{device['id']}"
        for method, target, body in (
                ("POST", "/v1/users", b'{"name":"door","role":"admin"}'), ("POST", "/v1/devices", b'{"name":"door"}'),
                ("POST", "/v1/claims", b'{"uses":50}'), ("POST", path + "/commands", b'{"command":"stop"}'),
                ("PUT", "/v1/users/root/password", b'{"password":"correct horse battery"}')):
            token = server.add_user("eve", "admin")
            link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            self.addCleanup(link.close)
            link.putrequest(method, target)
            for name, value in (
                    ("Authorization", f"Bearer {token}"), ("Content-Type", "application/json"),
                    ("Content-Length", str(len(body)))):
                link.putheader(name, value)
            # An admin, or the server would have answered; what is asked of it next has come later.
            link.endheaders(body[:1])
            self.assertEqual(server.ask("GET", "/v1/session", token).status, 200)
            self.assertEqual(self.servers[-1].ask("DELETE", "/v1/users/eve", root).status, 204)
            link.send(body[1:])
            answer = link.getresponse()
            answer.read()
            self.assertEqual(answer.status, 401, target)
        users = [user["name"] for user in server.ask("GET", "/v1/users", root).json["users"]]
        self.assertEqual(users, ["root"])
        self.assertEqual([row[0] for row in self.rows("SELECT name FROM devices")], ["van"])
        for table in ("claims", "commands", "passwords"):
            self.assertEqual(self.rows(f"SELECT * FROM {table}"), [], table)

    def test_a_list_ends_with_the_right_to_it(self):
        """However slowly it is taken."""
        server = self.clocked(self.servers[0])
        root = server.add_user("root", "admin")
        token = server.add_user("eve", "reader")
        device = server.add_device("van")
        for number in range(20):
            # Much more than there is room for between the two programs.
            batch = envelope(1000, FIRST_MS + number * 1_000_000, extras={"note": "x" * 600})
            answer = server.deliver(device["access_token"], batch)
            self.assertEqual(answer.status, 200, answer)
        link = socket.socket()
        self.addCleanup(link.close)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.settimeout(PATIENCE)
        link.connect(("127.0.0.1", server.port))
        link.sendall((f"GET /v1/devices/{device['id']}/locations HTTP/1.1\r\nHost: x\r\n"
                      f"Authorization: Bearer {token}\r\n\r\n").encode())
        taken = link.recv(4096)
        self.assertTrue(taken.startswith(b"HTTP/1.1 200"), taken)
        self.assertEqual(self.servers[-1].ask("DELETE", "/v1/users/eve", root).status, 204)
        # More than it trusts the right for, whenever it looked at it.
        self.pass_by(server, 6)
        size, last = len(taken), b""
        with contextlib.suppress(ConnectionError):
            while part := link.recv(65536):
                size, last = size + len(part), part
        self.assertLess(size, 20_000 * 600, "it is not the whole list")
        self.assertFalse(last.endswith(b"0\r\n\r\n"), "it goes on to its end")

    def test_a_list_that_is_cut_does_not_look_whole(self):
        """Of all vehicles: whoever may see none any more finds none in what is read next."""
        root = self.servers[0].add_user("root", "admin")
        device = self.servers[0].add_device("van")
        # As many as an answer has, which is more than there is room for between the two programs.
        for number in range(2):
            events = [{"id": uuid7(FIRST_MS + number * 1000 + index), "kind": "trip", "type": "ended",
                       "timestamp": iso(FIRST_MS + number * 1000 + index), "data": {"note": "x" * 3500}} for index in range(500)]
            answer = self.servers[0].deliver(device["access_token"], envelope(0, FIRST_MS + number, events=events))
            self.assertEqual(answer.status, 200, answer)
        for name in ("eve", "eva"):
            token = self.servers[0].add_user(name, "reader")
            link = socket.socket()
            self.addCleanup(link.close)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            link.settimeout(PATIENCE)
            link.connect(("127.0.0.1", self.servers[0].port))
            link.sendall((f"GET /v1/events?limit=1000&from={iso(FIRST_MS - 1000)} HTTP/1.1\r\nHost: x\r\n"
                          f"Authorization: Bearer {token}\r\n\r\n").encode())
            taken = link.recv(4096)
            self.assertTrue(taken.startswith(b"HTTP/1.1 200"), taken)
            if name == "eve":
                self.assertEqual(self.servers[-1].ask("DELETE", "/v1/users/eve", root).status, 204)
            with contextlib.suppress(ConnectionError):
                while part := link.recv(65536):
                    taken = taken[-5:] + part
                    if taken.endswith(b"\r\n0\r\n\r\n"):
                        break
            self.assertEqual(taken.endswith(b"\r\n0\r\n\r\n"), name != "eve", name)

    def clocked(self, server: Server) -> Server:
        """Starts it anew, so that its time since boot can be moved."""
        server.environment = standing_still(self.clocks(server), 0)
        server.kill()
        return server.start()

    def pass_by(self, server: Server, seconds: int):
        """As if the machine had slept for so long."""
        with open(self.clocks(server), "r+b") as file:
            file.write(struct.pack("=2q", seconds * 10**9, seconds * 10**9))

    @staticmethod
    def clocks(server: Server) -> str:
        return os.path.join(server.folder, "clocks")

    # MARK: Retention

    def test_uploads_and_readers_while_retention_removes(self):
        """What is older than the retention goes while more comes and is read, on servers that start again and again, since each
        removes when it starts. What is newer than that stays."""
        device = self.servers[0].add_device("van")
        reader = self.servers[0].add_user("ada", "reader")
        now = int(time.time() * 1000)
        limit = now - 28 * DAY
        # Ten rows of each of 100 days, in the wrong order.
        chance = random.Random(1)
        old = [now - day * DAY for day in range(2, 102)]
        chance.shuffle(old)
        sent: dict[str, int] = {}

        def roots(first: int) -> dict:
            root = envelope(10, first)
            sent.update({row["id"]: first + index * 1000 for index, row in enumerate(root["locations"])})
            return root

        for first in old:
            self.assertEqual(self.server_for(first).deliver(device["access_token"], roots(first)).json["stored"], 10)
        stop = threading.Event()
        counts: collections.Counter = collections.Counter()

        def upload(number: int) -> list[int]:
            """Of days of before the retention, and of after it, with a second's distance from other rows."""
            own = random.Random(number)
            statuses: list[int] = []
            while not stop.is_set():
                first = now - own.randrange(1, 60) * DAY - (number * 1000 + len(statuses) + 1) * 20_000
                root = roots(first)
                try:
                    answer = self.server_for(number).post(device["access_token"], root)
                    # A busy machine: the same again, as a vehicle would.
                    while answer.status == 503 and not stop.is_set():
                        answer = self.server_for(number).post(device["access_token"], root)
                except (OSError, http.client.HTTPException):
                    # The server was stopped between two requests.
                    answer = None
                if answer is None or answer.status == 503:
                    for row in root["locations"]:
                        del sent[row["id"]]
                    continue
                statuses.append(answer.status)
                if answer.status == 200:
                    for word in ("stored", "duplicates", "expired"):
                        counts[word] += answer.json[word]
            return statuses

        def read(number: int) -> list[int]:
            statuses = []
            between = f"?from={iso(limit + DAY)}&to={iso(now)}&limit=1000"
            while not stop.is_set():
                for path in (f"/v1/devices/{device['id']}/locations", f"/v1/devices/{device['id']}/locations{between}",
                             "/v1/devices", f"/v1/devices/{device['id']}/trips"):
                    try:
                        status = self.server_for(number).ask("GET", path, reader).status
                    except (OSError, http.client.HTTPException):
                        continue
                    if status != 503:
                        statuses.append(status)
            return statuses

        self.keep_days()
        with ThreadPoolExecutor(6) as pool:
            work = [pool.submit(upload if number < 4 else read, number) for number in range(6)]
            try:
                self.remove()
            finally:
                stop.set()
            statuses = collections.Counter(status for each in work for status in each.result(PATIENCE))
        self.assertEqual(set(statuses), {200})
        self.assertGreater(min(counts["stored"], counts["expired"]), 0)
        # With PostgreSQL up to a week more, since weeks go as a whole.
        self.keep_days()
        older = f"SELECT id FROM locations WHERE time < {limit - 8 * DAY} LIMIT 1"
        wait_for(lambda: not self.rows(older), "what is old has gone")
        # SQLite goes on removing row by row: one look for all questions.
        rows = self.stored()
        found = set(rows)
        # A day of room for the time that the test has taken.
        kept = {name for name, when in sent.items() if when >= limit + DAY}
        self.assertEqual(kept - found, set(), "lost")
        self.assertEqual(len(found), len(rows))
        gone = [when for name, when in sent.items() if name not in found]
        self.assertTrue(gone and max(gone) < limit + DAY)
        print(f"retention: {len(sent)} rows sent, {dict(counts)} while {statuses[200]} requests were answered, all with 200; "
              f"{len(kept)} newer than the retention, each there; {len(gone)} gone")

    def change(self, statement: str):
        """Does that in the database."""
        raise NotImplementedError

    def keep_days(self):
        """From now on a server acknowledges, and does not store, what is older than 28 days."""
        raise NotImplementedError

    def remove(self):
        """What is older than 28 days, several times."""
        raise NotImplementedError


class SQLiteRaceTests(Races, ServerTest):
    def setUp(self):
        super().setUp()
        self.servers = [self.server().start()]

    def rows(self, statement: str) -> list:
        with sqlite3.connect(f"file:{self.servers[0].database}?mode=ro", uri=True, timeout=PATIENCE) as database:
            return [[str(uuid.UUID(bytes=cell)) if isinstance(cell, bytes) else cell for cell in row]
                    for row in database.execute(statement)]

    def change(self, statement: str):
        with sqlite3.connect(self.servers[0].database, timeout=30) as database:
            database.execute(statement)

    def writes(self) -> list:
        self.change("CREATE TABLE IF NOT EXISTS written(device INTEGER)")
        self.change("CREATE TRIGGER IF NOT EXISTS writes AFTER UPDATE ON devices BEGIN INSERT INTO written VALUES (old.id); END")
        return self.rows("SELECT count(*) FROM written")

    def keep_days(self):
        self.assertEqual(self.servers[0].stop(), 0)
        self.servers[0].options = ("--retention", "28")
        self.assertEqual(self.servers[0].verb("clock", "confirm").returncode, 0)
        self.servers[0].start()

    def remove(self):
        for _ in range(4):
            self.assertEqual(self.servers[0].stop(), 0)
            self.servers[0].start()


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class PostgresRaceTests(Races, ServerTest):
    def setUp(self):
        super().setUp()
        self.postgres = cluster().start()
        self.addCleanup(self.postgres.remove)
        self.servers = [self.add() for _ in range(2)]

    def add(self, *options: str) -> Server:
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address(), options).start()
        self.addCleanup(server.kill)
        return server

    def rows(self, statement: str) -> list:
        return self.postgres.query(statement)

    def change(self, statement: str):
        self.postgres.query(statement)

    def writes(self) -> list:
        # The transaction that has written it last.
        return self.rows("SELECT xmin FROM devices")

    def keep_days(self):
        self.assertEqual(self.servers[1].stop(), 0)
        self.servers[1].options = ("--retention", "28")
        self.assertEqual(self.servers[1].verb("clock", "confirm").returncode, 0)
        self.servers[1].start()

    def remove(self):
        """By three that start at once; those that are asked go on, and one of them needs what the others remove."""
        for _ in range(3):
            for server in self.at_once(3, lambda _: self.add("--retention", "28")):
                self.assertEqual(server.stop(), 0)

    def test_a_late_repetition_of_an_enrolment_amid_the_first_use(self):
        """The answer to it gets lost: the vehicle still has the tokens that it has begun to use."""
        code = self.claim(2)
        body = json.dumps({"name": "van", "code": code, "nonce": "0123456789abcdef" * 2}).encode()

        def enroll(server: Server) -> Answer:
            return server.ask("POST", "/v1/enroll", None, body, Content_Type="application/json")

        device = enroll(self.servers[0]).json
        # What the first upload does, held for a moment before its commit.
        with subprocess.Popen(["psql", self.postgres.address(), "-XAtq"], stdin=subprocess.PIPE, text=True) as upload:
            assert upload.stdin
            upload.stdin.write(
                f"BEGIN; UPDATE devices SET revoked = revoked WHERE id = {device['id']};"
                f"UPDATE tokens SET used = 1 WHERE device = {device['id']};\n")
            upload.stdin.flush()
            wait_for(lambda: self.locks("state = 'idle in transaction'") == 1, "the upload")
            with ThreadPoolExecutor(1) as pool:
                late = pool.submit(enroll, self.servers[1])
                wait_for(lambda: self.locks("wait_event_type = 'Lock'") == 1, "the repetition waits for it")
                upload.stdin.write("COMMIT;\n")
                upload.stdin.close()
                self.assertEqual(late.result(PATIENCE).status, 409)
        self.assertEqual(self.servers[0].deliver(device["access_token"], envelope(1)).status, 200)

    def locks(self, which: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM pg_stat_activity WHERE {which} AND pid <> pg_backend_pid()")[0][0])

    def test_settings_of_the_database_for_other_programs(self):
        """Neither another isolation, nor connections that end when they are idle, are in the way of those who come together."""
        if self.postgres.spreads("locations"):
            self.skipTest("Citus keeps connections to workers, which that setting ends: a batch may get a 503")
        self.postgres.query("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
        # On a busy machine a connection is idle for some time before its settings are there.
        self.postgres.query("ALTER DATABASE postgres SET idle_session_timeout = '3s'")
        self.servers = [self.add(), self.add()]
        devices = [self.servers[0].add_device(f"van {number}") for number in range(4)]

        def upload(number: int) -> list:
            return [self.server_for(number + count).post(
                devices[number % 4]["access_token"], envelope(10, FIRST_MS + (number * 100 + count) * 60_000)).status
                for count in range(10)]

        answers = self.at_once(8, upload)
        self.assertEqual(answers, [[200] * 10] * 8, [Path(server.log).read_text(encoding="utf-8") for server in self.servers])
        # Each of their connections would have ended.
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'beekon-server' AND now() - state_change > '4 s'"
        wait_for(lambda: int(self.rows(count)[0][0]) >= 8, "connections that have been idle")
        for device in devices:
            for server in self.servers:
                self.assertEqual(self.exchange(server, device["refresh_token"]).status, 200)


# It has no servers.
del Races


if __name__ == "__main__":
    unittest.main()
