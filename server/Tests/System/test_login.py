"""Logins while somebody tries names and passwords: who has logged in before from this browser gets in, and so does who has a name
that is not tried more than others."""
from __future__ import annotations

import collections
import http.client
import json
import os
import sqlite3
import sys
import threading
import unittest
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import fleet
from server_support.server import Server
from server_support.server_test import ServerTest
from support.nightly import IS_LONG
from support.waiting import wait_for

# Logins in a row, each of which waits for two hashes at most.
TRIES = 8 if IS_LONG else 2
ATTACKERS = 24


class LoginTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.under_test: Server = self.server().start()
        fleet.add_user(self.under_test, "ada", "admin")
        fleet.add_user(self.under_test, "rita", "reader")

    def log_in(self, name: str, password: str = fleet.PASSWORD, cookie: str = "") -> tuple[int, dict]:
        """Status, and what a browser has afterwards: values of cookies by name, with their attributes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.under_test.port, timeout=60)
        try:
            headers = {"Content-Type": "application/json", **({"Cookie": cookie} if cookie else {})}
            connection.request("POST", "/v1/login", json.dumps({"name": name, "password": password}), headers)
            answer = connection.getresponse()
            answer.read()
            made = {}
            for field, value in answer.getheaders():
                if field.lower() == "set-cookie":
                    key, rest = value.split("=", 1)
                    made[key] = rest
            return answer.status, made
        finally:
            connection.close()

    def known(self, name: str, **options) -> str:
        """What a browser shows that has been here before."""
        status, cookies = self.log_in(name, **options)
        self.assertEqual(status, 200)
        self.assertIn("beekon_known", cookies, "the browser is known from now on")
        return "beekon_known=" + cookies["beekon_known"].split(";")[0]

    def attack(self, count: int, guess):
        """As many as that, each as fast as it is answered; counts their answers until it is `calm`, or the test ends."""
        stop = threading.Event()
        answers: collections.Counter[int] = collections.Counter()

        def go(number: int):
            turn = 0
            while not stop.is_set():
                turn += 1
                try:
                    answers[self.log_in(*guess(number, turn))[0]] += 1
                except OSError:
                    answers[0] += 1

        threads = [threading.Thread(target=go, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()

        def calm():
            stop.set()
            for thread in threads:
                thread.join()

        self.addCleanup(calm)
        self.calm = calm
        return answers

    def test_who_was_here_before_gets_in_amid_a_flood_of_names(self):
        cookie = self.known("ada")
        answers = self.attack(ATTACKERS, lambda number, turn: (f"nobody {number} {turn}", "wrong password"))
        statuses = [self.log_in("ada", cookie=cookie)[0] for _ in range(TRIES)]
        self.assertEqual(statuses, [200] * TRIES, answers)
        self.assertGreater(answers[401], 0, "others are not held up either")

    def test_who_was_here_before_is_not_locked_out_by_guesses_at_the_name(self):
        cookie = self.known("ada")
        answers = self.attack(2, lambda number, turn: ("ada", f"wrong password {turn}"))
        statuses = [self.log_in("ada", cookie=cookie)[0] for _ in range(TRIES)]
        while answers[429] < 10:
            self.assertEqual(self.log_in("ada", cookie=cookie)[0], 200, answers)
        self.assertEqual(statuses, [200] * TRIES, answers)
        # But for one try in six seconds, which comes to whoever is the first.
        wait_for(lambda: self.log_in("ada")[0] == 429, "anybody else waits")
        self.calm()
        # Nor do wrong guesses from that browser count for others, and they are as few as anybody's.
        wrong: list = []
        while 429 not in wrong:
            wrong.append(self.log_in("ada", "wrong password", cookie)[0])
        self.assertEqual(wrong, [401] * (len(wrong) - 1) + [429])
        self.assertIn(len(wrong) - 1, range(10, 40), "ten, and one in six seconds")

    def change(self, session: str, **fields):
        """The answer to who changes their own password, by the cookie of a session."""
        shown = self.under_test.ask("GET", "/v1/session", Cookie=session)
        companion = shown.json["csrf"] if shown.status == 200 else ""
        return self.under_test.ask("PUT", "/v1/session/password", None, json.dumps(fields).encode(), Cookie=session,
                                   X_CSRF_Token=companion, Content_Type="application/json")

    def session(self, name: str, password: str = fleet.PASSWORD) -> str:
        status, cookies = self.log_in(name, password)
        self.assertEqual(status, 200)
        return "beekon_session=" + cookies["beekon_session"].split(";")[0]

    def test_readers_change_their_own_passwords(self):
        own, other, foreign = self.session("rita"), self.session("rita"), self.session("ada")
        for fields, pointer in (({"current": fleet.PASSWORD, "password": "short"}, "/password"),
                                ({"password": "long enough"}, "/current"),
                                ({"current": fleet.PASSWORD}, "/password")):
            answer = self.change(own, **fields)
            self.assertEqual((answer.status, answer.json.get("pointer")), (400, pointer), answer)
        self.assertEqual(self.change(own, current="wrong password", password="another password").status, 403)
        answer = self.change(own, current=fleet.PASSWORD, password="another password")
        self.assertEqual((answer.status, answer.json["name"], answer.json["role"]), (200, "rita", "reader"))
        # All sessions of hers have ended but the new one, and nobody else's.
        self.assertEqual([self.under_test.ask("GET", "/v1/session", Cookie=cookie).status for cookie in (own, other, foreign)],
                         [401, 401, 200])
        self.assertEqual(self.log_in("rita")[0], 401)
        again = self.session("rita", "another password")
        self.assertEqual(self.under_test.ask("GET", "/v1/session", Cookie=again).status, 200)
        # Whoever is not signed in in a browser has no password to change.
        token = self.under_test.add_user("program", "reader")
        self.assertEqual(self.under_test.ask("PUT", "/v1/session/password", token, b"{}").status, 409)

    def test_whoever_has_found_a_session_has_few_guesses(self):
        found = self.session("rita")
        wrong: list = []
        while 429 not in wrong and len(wrong) < 60:
            wrong.append(self.change(found, current=f"wrong password {len(wrong)}", password="another password").status)
        self.assertEqual(wrong, [403] * (len(wrong) - 1) + [429])
        self.assertIn(len(wrong) - 1, range(10, 40), "ten, and one in six seconds")
        # They are not the user's.
        own = self.session("rita")
        self.assertEqual(self.change(own, current=fleet.PASSWORD, password="another password").status, 200)
        self.assertEqual(self.change(found, current="another password", password="a third password").status, 401)

    def test_names_are_served_in_turn(self):
        """Twenty-four at one name are one name."""
        answers = self.attack(ATTACKERS, lambda number, turn: ("mallory", "wrong password"))
        statuses = [self.log_in("rita")[0] for _ in range(TRIES)]
        self.assertEqual(statuses, [200] * TRIES, answers)

    def test_the_cookie(self):
        status, cookies = self.log_in("ada")
        self.assertEqual((status, set(cookies)), (200, {"beekon_session", "beekon_known"}))
        for attribute in ("HttpOnly", "SameSite=Strict", "Path=/v1/login", "Max-Age=7776000"):
            self.assertIn(attribute, cookies["beekon_known"])
        self.assertNotIn("Secure", cookies["beekon_known"])
        self.assertEqual(set(self.log_in("ada", "wrong password")[1]), set())
        # It is no session and no token.
        value = cookies["beekon_known"].split(";")[0]
        for shown in ({"Cookie": f"beekon_session={value}"}, {"Cookie": f"beekon_known={value}"}, {"token": value}):
            self.assertEqual(self.under_test.ask("GET", "/v1/session", **shown).status, 401)
        # Nothing of it is stored.
        self.under_test.stop()
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), "rb") as file:
                self.assertNotIn(value.split(".")[-1].encode(), file.read(), name)

    def test_cookies_that_are_good_for_nothing(self):
        """Whoever shows one is a stranger, and waits as strangers do."""
        ada, rita = self.known("ada"), self.known("rita")
        mark = ada.split(".")[-1]
        forged = ada[:-len(mark)] + ("A" if mark[0] != "A" else "B") + mark[1:]
        parts = ada.split(".")
        later = ".".join([*parts[:2], str(int(parts[2]) + 1000), parts[3]])
        others = ".".join([parts[0], rita.split(".")[1], *parts[2:]])
        # A new password ends the old one.
        old = self.known("ada")
        self.assertEqual(self.under_test.ask(
            "PUT", "/v1/users/ada/password", self.under_test.add_user("root", "admin"),
            json.dumps({"password": "another horse battery"}).encode()).status, 204)
        new = self.known("ada", password="another horse battery")
        none = ("", "beekon_known=", "beekon_known=bkk.1.2.3", "beekon_known=" + "x" * 2000)
        for cookie in (forged, later, others, rita, old, *none):
            wait_for(partial(self.is_a_stranger, "ada", "another horse battery", cookie), cookie)
        self.shut("ada")
        self.assertEqual(self.log_in("ada", "another horse battery", new)[0], 200)
        # Beside others, as browsers send them.
        self.assertEqual(self.log_in("ada", "another horse battery", "a=b; " + new + "; c=d")[0], 200)
        # A user who has gone, and whose name somebody else has.
        with sqlite3.connect(self.under_test.database, timeout=30) as database:
            database.execute("UPDATE users SET name = 'ada 2' WHERE name = 'ada'")
            database.execute("UPDATE users SET name = 'ada' WHERE name = 'rita'")
        wait_for(lambda: self.is_a_stranger("ada", fleet.PASSWORD, new), "the user has gone")

    def shut(self, name: str):
        """Strangers have no more tries at that name, until six seconds later."""
        while self.log_in(name, "wrong password")[0] != 429:
            pass

    def is_a_stranger(self, name: str, password: str, cookie: str) -> bool:
        """Has no try of his own; a machine that is busy may have given a new one to all meanwhile."""
        self.shut(name)
        return self.log_in(name, password, cookie)[0] == 429


if __name__ == "__main__":
    unittest.main()
