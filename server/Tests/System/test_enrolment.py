"""Enrolment with a nonce: whoever lost the answer asks again and gets it, whatever has become of the code; nobody else does."""
from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import secrets
import signal
import socket
import sqlite3
import sys
import tempfile
import tomllib
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import Answer, Server, envelope
from server_support.server_test import ServerTest
from support.faults import STRACE, Fault, no_strace

VEHICLES = 20


class Enrolments(ServerTest):
    """Of the vehicles of one test."""

    add: Any
    query: Any
    # By which the server stores and answers.
    calls: tuple[str, ...]

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.add()

    def claim(self, uses: int) -> str:
        return self.under_test.verb("claim", "add", "--uses", str(uses)).stdout.strip()

    @staticmethod
    def nonce() -> str:
        return secrets.token_hex(16)

    def enroll(self, name: str, code: str, nonce: str | None) -> Answer:
        fields = {"name": name, "code": code, **({"nonce": nonce} if nonce else {})}
        return self.under_test.ask("POST", "/v1/enroll", None, json.dumps(fields).encode())

    def is_good(self, answer: Answer) -> bool:
        status = self.under_test.post(answer.json["access_token"], envelope(1)).status
        self.assertIn(status, (200, 401))
        return status == 200

    def uses(self) -> list[int]:
        return [int(row[0]) for row in self.query("SELECT uses FROM claims ORDER BY id")]

    def test_a_lost_answer_is_given_again_until_a_token_was_used(self):
        code, nonce = self.claim(3), self.nonce()
        answers = [self.enroll("van", code, nonce) for _ in range(5)]
        self.assertEqual([answer.status for answer in answers], [201] * 5)
        self.assertEqual(len({answer.json["id"] for answer in answers}), 1)
        self.assertEqual(self.uses(), [2])
        self.assertEqual([self.is_good(answer) for answer in answers], [False] * 4 + [True])
        again = self.enroll("van", code, nonce)
        self.assertEqual(again.status, 409, again)
        self.assertEqual(self.uses(), [2])
        self.assertTrue(self.is_good(answers[-1]), "what was given stays good")

    def test_whatever_has_become_of_the_code(self):
        """It may expire, or be used up by others, while an answer is on its way."""
        code, nonces = self.claim(2), [self.nonce(), self.nonce()]
        for number, nonce in enumerate(nonces):
            self.assertEqual(self.enroll(f"van {number}", code, nonce).status, 201)
        self.assertEqual(self.uses(), [0])
        used_up = self.enroll("van 0", code, nonces[0])
        self.assertEqual(used_up.status, 201, used_up)
        self.query("UPDATE claims SET expires = 1")
        expired = self.enroll("van 1", code, nonces[1])
        self.assertEqual(expired.status, 201, expired)
        # For anybody else it is what it is.
        self.assertEqual(self.enroll("van 2", code, self.nonce()).status, 403)
        self.assertEqual(self.enroll("van 1", code, self.nonce()).status, 403)
        self.assertEqual(self.enroll("van 1", code, None).status, 403)
        self.assertTrue(self.is_good(used_up) and self.is_good(expired))
        self.assertEqual(self.enroll("van 1", code, nonces[1]).status, 409)
        # A code that an admin has ended buys nothing.
        other, nonce = self.claim(1), self.nonce()
        self.assertEqual(self.enroll("bus", other, nonce).status, 201)
        self.assertEqual(self.under_test.verb("claim", "remove", "2").returncode, 0)
        self.assertEqual(self.enroll("bus", other, nonce).status, 403)

    def test_twenty_vehicles_of_one_host_name(self):
        """One of them is it, and stays it; the others are told at once, while somebody can still do something."""
        code, nonces = self.claim(VEHICLES), [self.nonce() for _ in range(VEHICLES)]
        with ThreadPoolExecutor(VEHICLES) as pool:
            answers = list(pool.map(lambda nonce: self.enroll("raspberrypi", code, nonce), nonces))
        self.assertEqual(collections.Counter(answer.status for answer in answers), {201: 1, 409: VEHICLES - 1}, answers)
        self.assertEqual(self.uses(), [VEHICLES - 1])
        # None of them gets in between by asking again.
        with ThreadPoolExecutor(VEHICLES) as pool:
            again = list(pool.map(lambda nonce: self.enroll("raspberrypi", code, nonce), nonces))
        self.assertEqual([answer.status for answer in again], [answer.status for answer in answers])
        winner = next(answer for answer in again if answer.status == 201)
        self.assertTrue(self.is_good(winner))

    def test_nobody_without_the_nonce_takes_the_device(self):
        code, nonce = self.claim(5), self.nonce()
        first = self.enroll("van", code, nonce)
        self.assertEqual(first.status, 201)
        for other in (None, self.nonce(), self.nonce()):
            self.assertEqual(self.enroll("van", code, other).status, 409)
        self.assertEqual(self.enroll("van", self.claim(1), nonce).status, 409, "with another code")
        self.assertTrue(self.is_good(first))
        # Nor does a nonce take one that enrolled without.
        plain = self.enroll("bus", code, None)
        self.assertEqual(self.enroll("bus", code, nonce).status, 409)
        self.assertTrue(self.is_good(plain))

    def test_what_a_code_asks_to_be_allowed(self):
        """It is the code's, goes to each vehicle, also when it asks again, and is listed with the code."""
        everything = ["start", "stop", "set_config", "unset_config", "add_geofences", "remove_geofences", "remove_all_geofences",
                      "set_motion", "sync", "locate", "upload_log"]
        cases: tuple[tuple[tuple, dict | None, str], ...] = (
            ((), None, "as the vehicle gives"), (("--commands", "none"), {"allow": []}, "none"),
            (("--commands", "sync,locate"), {"allow": ["sync", "locate"]}, "sync,locate"),
            (("--commands", "all", "--settings", "sync.interval_seconds"),
             {"allow": everything, "settings": ["sync.interval_seconds"]}, ",".join(everything)))
        for number, (words, wish, shown) in enumerate(cases):
            with self.subTest(words):
                done = self.under_test.verb("claim", "add", *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                nonce = self.nonce()
                for _ in range(2):
                    answer = self.enroll(f"van {number}", done.stdout.strip(), nonce)
                    self.assertEqual((answer.status, answer.json.get("commands")), (201, wish))
                self.assertEqual(self.under_test.verb("claim", "list").stdout.splitlines()[-1].split("\t")[3], shown)
        for words in (("--commands", "reboot"), ("--commands", '"'), ("--settings", "sync.url"), ("--commands", "sync,"*12)):
            done = self.under_test.verb("claim", "add", *words)
            self.assertNotEqual((done.returncode, done.stdout), (0, ""), words)
            self.assertEqual(done.stdout, "", words)

    def test_lines_allow_of_it_what_is_usual(self):
        def lines(*words: str) -> dict:
            code = self.under_test.verb("claim", "add", *words).stdout.strip()
            fields = {"name": self.nonce(), "code": code}
            answer = self.under_test.ask("POST", "/v1/enroll", None, json.dumps(fields).encode(), accept="application/toml")
            self.assertEqual(answer.status, 201, answer)
            return tomllib.loads(answer.body.decode())["sync"].get("commands")

        self.assertEqual(len(lines()["allow"]), 8)
        self.assertEqual(len(lines("--commands", "all")["allow"]), 8, "start, stop and set_motion are for a person to allow")
        self.assertIsNone(lines("--commands", "none"))
        self.assertEqual(lines("--commands", "locate"), {"enabled": True, "allow": ["locate"]})
        self.assertEqual(len(lines("--settings", "none")["allow"]), 6)
        self.assertEqual(lines("--commands", "set_config", "--settings", "sync.interval_seconds"),
                         {"enabled": True, "allow": ["set_config"], "settings": ["sync.interval_seconds"]})

    def test_new_tokens_of_an_admin_end_it(self):
        """Nothing that was sent before takes away what an admin has given since."""
        code, nonce = self.claim(5), self.nonce()
        device = self.enroll("van", code, nonce).json["id"]
        admin = self.under_test.add_user("ada", "admin")
        given = self.under_test.ask("POST", f"/v1/devices/{device}/tokens", admin)
        self.assertEqual(given.status, 201)
        self.assertEqual(self.enroll("van", code, nonce).status, 409)
        self.assertEqual(self.enroll("van", code, None).status, 409)
        self.assertTrue(self.is_good(given))

    def test_what_is_no_nonce(self):
        code = self.claim(1)
        for nonce in ("0", "z" * 32, "0" * 31, "0" * 33, "\u0660" * 32, "0" * 100_000):
            answer = self.enroll("van", code, nonce)
            self.assertEqual(answer.status, 400 if len(nonce) < 1000 else 413, answer)
            if answer.status == 400:
                self.assertEqual(answer.json["pointer"], "/nonce")
        self.assertEqual(self.uses(), [1])
        nonce = self.nonce()
        self.assertEqual(self.enroll("van", code, nonce.upper()).status, 201)
        self.assertEqual(self.enroll("van", code, nonce).status, 201)

    @unittest.skipUnless(STRACE and not no_strace(), "needs strace, and the right to trace")
    def test_a_server_that_is_killed_between_request_and_answer(self):
        """Whether it had made the device or not: the same request makes it, once."""
        found: collections.Counter = collections.Counter()
        for call in self.calls:
            # At the first such call of a thread, and at later ones, until it comes to its answer without so many.
            for number in itertools.count(1) if os.environ.get("BEEKOND_LONG") else (1 << turn for turn in itertools.count()):
                code, nonce, name = self.claim(1), self.nonce(), f"van {call} {number}"
                body = json.dumps({"name": name, "code": code, "nonce": nonce}).encode()
                request = b"POST /v1/enroll HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body
                answer = self.killed_at(call, number, request)
                if answer:
                    self.assertTrue(answer.startswith(b"HTTP/1.1 201 "), answer)
                    self.assertGreater(number, 1, f"no {call} is hit")
                    break
                self.under_test.start()
                made = int(self.query(f"SELECT count(*) FROM devices WHERE name = '{name}'")[0][0])
                found[call, bool(made)] += 1
                again = self.enroll(name, code, nonce)
                self.assertEqual(again.status, 201, again)
                self.assertEqual((self.uses()[-1], self.is_good(again)), (0, True))
        print(f"\n  killed at calls, and whether the device was there: {dict(found)}")
        self.assertEqual({made for _, made in found}, {False, True})
        self.assertEqual(int(self.query("SELECT count(*) FROM devices")[0][0]), sum(found.values()) + len(self.calls))

    def killed_at(self, call: str, number: int, request: bytes) -> bytes:
        """What the server answers before a thread of it comes to this call for the so-many-th time, and kills it there."""
        child = self.under_test.child
        assert child
        victim = SimpleNamespace(directory=self.folder, state=self.folder, pid=child.process.pid)
        # Each of them counts its own calls.
        with Fault(victim, call, f"signal=KILL:when={number}", may_miss=True) as fault:
            answer = b""
            with contextlib.suppress(ConnectionError), \
                    socket.create_connection(("127.0.0.1", self.under_test.port), timeout=60) as connection:
                connection.sendall(request)
                answer = connection.recv(65_536)
            # strace may not see the end of a server of many threads, which is none before strace ends.
            fault.end(signal.SIGTERM if answer else signal.SIGKILL)
        if not answer:
            self.assertEqual(child.wait(), -signal.SIGKILL)
        return answer


class SQLiteEnrolmentTests(Enrolments):
    calls = ("pwrite64", "fdatasync", "writev")

    def add(self) -> Server:
        return self.server().start()

    def query(self, statement: str) -> list:
        with sqlite3.connect(os.path.join(self.folder, "server.db"), timeout=30) as database:
            return database.execute(statement).fetchall()

    def test_only_its_hash_is_kept(self):
        nonce = self.nonce()
        self.assertEqual(self.enroll("van", self.claim(1), nonce).status, 201)
        self.assertEqual(self.under_test.stop(), 0)
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
                self.assertNotIn(nonce.encode(), content, name)
                self.assertNotIn(bytes.fromhex(nonce), content, name)


@unittest.skipIf(not BIN, "no PostgreSQL: 'make deps' installs it")
class PostgresEnrolmentTests(Enrolments):
    # Statements are sent by the first.
    calls = ("sendto", "writev")

    def setUp(self):
        self.postgres = cluster()
        self.addCleanup(self.postgres.remove)
        self.postgres.start()
        super().setUp()

    def add(self) -> Server:
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address())
        self.addCleanup(server.kill)
        return server.start()

    def query(self, statement: str) -> list:
        return self.postgres.query(statement)


# It has no servers.
del Enrolments


if __name__ == "__main__":
    unittest.main()
