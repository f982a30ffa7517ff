"""The same tests on both databases: a class of tests, and one that mixes it with each of these."""
from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import unittest

from server_support.postgres import BIN, cluster
from server_support.server import Server
from server_support.server_test import ServerTest
from support.waiting import PATIENCE


class OnSQLite(ServerTest):
    def make(self, *options: str) -> Server:
        """A server, not started yet."""
        return self.server(*options)

    def rows(self, statement: str) -> list:
        path = os.path.join(self.folder, "server.db")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE) as database:
            return [[None if value is None else str(value) for value in row] for row in database.execute(statement)]

    def write(self, statement: str):
        """Beside the server, if it runs."""
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder, "server.db"), timeout=PATIENCE)) as database:
            database.executescript(statement)

    def keep(self, table: str, condition: str):
        """Whoever deletes a row of which that is true (it is `old`) fails."""
        self.write(f"CREATE TRIGGER keep BEFORE DELETE ON {table} WHEN {condition} BEGIN SELECT raise(ABORT, 'kept'); END")

    def keep_no_more(self, table: str):
        self.write("DROP TRIGGER keep")


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class OnPostgres(ServerTest):
    def setUp(self):
        super().setUp()
        self.postgres = cluster()
        self.addCleanup(self.postgres.remove)
        self.postgres.start()

    def make(self, *options: str) -> Server:
        """One more server of the same database, not started yet."""
        server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address(), options)
        self.addCleanup(server.kill)
        return server

    def rows(self, statement: str) -> list:
        return [[value or None for value in row] for row in self.postgres.query(statement)]

    def write(self, statement: str):
        """Beside the server, if it runs."""
        self.postgres.query(statement)

    def keep(self, table: str, condition: str):
        """Whoever deletes a row of which that is true (it is `old`) fails."""
        if self.postgres.spreads(table):
            self.skipTest("Citus has no triggers for what it distributes")
        self.write(
            "CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'kept'; END $$;"
            f"CREATE TRIGGER keep BEFORE DELETE ON {table} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION keep()")

    def keep_no_more(self, table: str):
        self.write(f"DROP TRIGGER keep ON {table}")
