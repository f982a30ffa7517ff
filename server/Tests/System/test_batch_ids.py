"""A batch id that comes again with other rows: they are stored all the same, and it is told. With the same rows, nothing
happens."""
from __future__ import annotations

import os
import sqlite3
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.server import FIRST_MS, Server, envelope, iso, uuid7
from server_support.server_test import ServerTest


def rows_of(root: dict, number: int, count: int) -> dict:
    """A batch of the same id with rows of its own."""
    return {**root, "locations": envelope(count, FIRST_MS + number * 3_600_000)["locations"]}


class BatchIDs(ServerTest):
    """On one database."""

    make: Any
    rows: Any
    change: Any
    # Ids of all locations, as in JSON.
    ids: str

    def begin(self) -> tuple[Server, str]:
        server = self.make().start()
        return server, server.add_device("van")["access_token"]

    def post(self, server: Server, token: str, root: dict) -> tuple[int, int]:
        answer = server.post(token, root)
        self.assertEqual(answer.status, 200, answer)
        return answer.json["stored"], answer.json["duplicates"]

    def told(self, server: Server) -> int:
        """How often it was counted."""
        text = server.ask("GET", "/metrics", self.reader).body.decode()
        return next(int(line.split()[1]) for line in text.splitlines()
                    if line.startswith("beekon_server_reused_batch_ids_total "))

    def test_other_rows_are_stored(self):
        server, token = self.begin()
        self.reader = server.add_user("rita", "reader")
        root = envelope(2)
        self.assertEqual(self.post(server, token, root), (2, 0))
        self.assertEqual(self.post(server, token, root), (0, 2))
        self.assertEqual(self.told(server), 0)
        self.assertEqual(self.post(server, token, rows_of(root, 1, 3)), (3, 0))
        self.assertEqual(self.post(server, token, rows_of(root, 1, 3) | {"locations": root["locations"]}), (0, 2))
        # One row of the first, and one that is new.
        mixed = rows_of(root, 2, 1)
        mixed["locations"].append(root["locations"][0])
        self.assertEqual(self.post(server, token, mixed), (1, 1))
        counts = "(SELECT count(*) AS n FROM locations) l, (SELECT count(*) AS n FROM batches) b"
        self.assertEqual(self.rows(f"SELECT l.n, b.n FROM {counts}"), [["6", "1"]])
        self.assertEqual(self.told(server), 2)
        with open(server.log, encoding="utf-8") as log:
            self.assertIn(root["batch_id"], log.read())

    def test_events_are_rows_too(self):
        server, token = self.begin()
        root = envelope(1)
        self.assertEqual(self.post(server, token, root), (1, 0))
        crossing = {"id": uuid7(FIRST_MS), "geofence_id": "depot", "type": "enter", "timestamp": iso(FIRST_MS)}
        for stored, duplicates in ((1, 1), (0, 2)):
            self.assertEqual(
                self.post(server, token, {**root, "geofence_events": [crossing]}), (stored, duplicates))

    def test_the_order_of_rows_is_none_of_it(self):
        server, token = self.begin()
        self.reader = server.add_user("rita", "reader")
        root = envelope(5)
        self.assertEqual(self.post(server, token, root), (5, 0))
        self.assertEqual(self.post(server, token, {**root, "locations": root["locations"][::-1]}), (0, 5))
        self.assertEqual(self.told(server), 0)

    def test_what_an_earlier_version_noted_is_as_it_was(self):
        """It kept no digest."""
        server, token = self.begin()
        root = envelope(2)
        self.assertEqual(self.post(server, token, root), (2, 0))
        self.assertEqual(server.stop(), 0)
        self.change("UPDATE batches SET digest = NULL")
        server.start()
        self.assertEqual(self.post(server, token, rows_of(root, 1, 3)), (0, 3))

    def test_forty_at_once(self):
        """In one transaction or in several, of one server or of two: each row is stored once, and nothing else is there."""
        server, token = self.begin()
        others = [self.make().start()] if "postgresql:" in server.database else []
        root = envelope(3)
        four = [rows_of(root, number, 3) for number in range(4)]
        roots = four * 10
        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(
                lambda each: [server, *others][each[0] % (1 + len(others))].deliver(token, each[1]), enumerate(roots)))
        self.assertEqual({answer.status for answer in answers}, {200}, answers)
        self.assertEqual(sum(answer.json["stored"] for answer in answers), 12)
        self.assertEqual(
            sorted(row[0] for row in self.rows(self.ids)), sorted(row["id"] for each in four for row in each["locations"]))


class SQLiteBatchIDTests(BatchIDs, OnSQLite):
    ids = """SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4)
        || '-' || substr(h, 21)) FROM (SELECT hex(id) AS h FROM locations)"""

    def change(self, statement: str):
        with sqlite3.connect(os.path.join(self.folder, "server.db")) as database:
            database.execute(statement)
        database.close()


class PostgresBatchIDTests(BatchIDs, OnPostgres):
    ids = "SELECT id FROM locations"

    def change(self, statement: str):
        # A rule for servers of the version before.
        self.postgres.query(f"ALTER TABLE batches DROP CONSTRAINT knows_digests; {statement}")


# They have no database.
del BatchIDs, OnPostgres, OnSQLite


if __name__ == "__main__":
    unittest.main()
