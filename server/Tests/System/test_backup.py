"""Backup and restore as docs/server.md has them, of both databases: what was acknowledged before the copy was asked for is
in it, and the restored server goes on."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, Postgres
from server_support.server import FIRST_MS, Server, envelope
from server_support.server_test import ServerTest
from support.waiting import wait_for


class Uploads:
    """A vehicle that uploads all the while, and what of it was acknowledged."""

    def __init__(self, server: Server, token: str):
        self.server, self.token = server, token
        self.taken: list = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        number = 0
        while not self.stop.is_set():
            root = envelope(20, first_ms=FIRST_MS + number * 60_000)
            number += 1
            if self.server.post(self.token, root).status == 200:
                self.taken.append(root)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class BackupTests(ServerTest):
    def check(self, restored: Server, reader: str, device: dict, before: list):
        """`before`: batches that were acknowledged before the copy was asked for."""
        ids = restored.ids(reader, device["id"])
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({row["id"] for root in before for row in root["locations"]} - set(ids), set())
        # What is there is not stored twice; tokens are still good.
        again = restored.post(device["access_token"], before[-1])
        self.assertEqual((again.status, again.json["duplicates"]), (200, 20))
        new = restored.post(device["access_token"], envelope(5, first_ms=FIRST_MS - 10_000_000))
        self.assertEqual((new.status, new.json["stored"]), (200, 5))

    def test_sqlite(self):
        server = self.server().start()
        device, reader = server.add_device("van"), server.add_user("ada", "reader")
        copy = os.path.join(self.folder, "copy.db")
        with Uploads(server, device["access_token"]) as uploads:
            wait_for(lambda: len(uploads.taken) >= 10, "ten batches are stored")
            before = list(uploads.taken)
            done = server.verb("backup", copy)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.stat(copy).st_mode & 0o077, 0, "for its owner alone")
        again = server.verb("backup", copy)
        self.assertIn("exists already", again.stderr)
        self.assertEqual(server.stop(), 0)
        done = server.verb("restore", copy)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(server.start(), reader, device, before)
        self.assertIn("database: SQLite", server.verb("doctor").stdout)

    @unittest.skipUnless(BIN, "PostgreSQL's server is not installed")
    def test_postgresql(self):
        postgres = Postgres()
        self.addCleanup(postgres.remove)
        postgres.start()
        server = Server(self.folder, postgres.address())
        self.addCleanup(server.kill)
        server.start()
        device, reader = server.add_device("van"), server.add_user("ada", "reader")
        dump = os.path.join(self.folder, "dump")
        with Uploads(server, device["access_token"]) as uploads:
            wait_for(lambda: len(uploads.taken) >= 10, "ten batches are stored")
            before = list(uploads.taken)
            self.run_tool("pg_dump", "-Fc", "-f", dump, postgres.address())
        self.assertEqual(server.stop(), 0)
        postgres.query("CREATE DATABASE other")
        self.run_tool("pg_restore", "--exit-on-error", "--no-owner", "-d", postgres.address("other"), dump)
        folder = tempfile.mkdtemp(dir=self.folder)
        restored = Server(folder, postgres.address("other"))
        self.addCleanup(restored.kill)
        self.check(restored.start(), reader, device, before)

    def run_tool(self, program: str, *arguments: str):
        done = subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
