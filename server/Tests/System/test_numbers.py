"""Numbers of claims and users are never used again: what was made with one that is gone does not come to the next."""
from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.server import Answer, Server
from server_support.server_test import ServerTest


class Numbers(ServerTest):
    """On one database."""

    make: Any
    rows: Any

    def claim(self, server: Server) -> tuple[int, str]:
        done = server.verb("claim", "add")
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(self.rows("SELECT max(id) FROM claims")[0][0]), done.stdout.strip()

    def enroll(self, server: Server, code: str) -> Answer:
        body = json.dumps({"code": code, "name": "van"}).encode()
        return server.ask("POST", "/v1/enroll", None, body, Content_Type="application/json")

    def test_a_new_code_is_no_removed_one(self):
        """A device that enrolled with the removed one, and has not uploaded yet, is not the new one's."""
        server = self.make().start()
        number, code = self.claim(server)
        self.assertEqual(self.enroll(server, code).status, 201)
        self.assertEqual(server.verb("claim", "remove", str(number)).returncode, 0)
        again, code = self.claim(server)
        self.assertGreater(again, number)
        self.assertEqual(self.enroll(server, code).status, 409)

    def test_it_holds_over_a_restart_and_when_all_are_gone(self):
        server = self.make().start()
        numbers = []
        for _ in range(3):
            number, _ = self.claim(server)
            numbers.append(number)
            self.assertEqual(server.verb("claim", "remove", str(number)).returncode, 0)
            self.assertEqual(server.stop(), 0)
            server.start()
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_a_new_user_has_no_number_of_a_removed_one(self):
        server = self.make().start()
        numbers = []
        for _ in range(3):
            server.add_user("ada", "admin")
            numbers.append(int(self.rows("SELECT max(id) FROM users")[0][0]))
            # A name that is taken costs a number at most.
            self.assertNotEqual(server.verb("user", "add", "ada").returncode, 0)
            self.assertEqual(server.verb("user", "remove", "ada").returncode, 0)
        self.assertEqual(numbers, sorted(set(numbers)))


class SQLiteNumberTests(Numbers, OnSQLite):
    pass


class PostgresNumberTests(Numbers, OnPostgres):
    pass


# They have no database.
del Numbers, OnPostgres, OnSQLite


if __name__ == "__main__":
    unittest.main()
