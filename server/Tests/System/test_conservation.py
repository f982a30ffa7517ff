"""Real beekond uploads into the real server, which is killed again and again: every fix is there exactly once."""
import itertools
import random
import sqlite3
import sys
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import PROGRAM, Server
from support.daemon import Beekond
from support.system_test import SystemTest
from support.waiting import PATIENCE, wait_for

# A seed repeats what it chose.
SEED = 20260615


@unittest.skipUnless(Path(PROGRAM).exists(), f"no {PROGRAM}: 'make test-server' builds it")
class ConservationTests(SystemTest):
    real_time = True

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)

    def server(self, database: str | None = None) -> Server:
        server = Server(self.folder(), database)
        self.addCleanup(server.kill)
        return server

    def vehicle(self, server: Server, device: dict) -> tuple:
        """A beekond that uploads there, in small batches, and the gpsd that drives it."""
        fake = self.fake()
        daemon = self.daemon(
            fake.port, sync={"url": server.url + "/v1/batches", "batch_size": 7, "require_ack": True}, **{
                "sync.auth": {
                    "access_token": device["access_token"], "refresh_token": device["refresh_token"],
                    "refresh_url": server.url + "/v1/token"},
                "sync.auth.refresh_payload": {
                    "grant_type": "refresh_token", "refresh_token": "{refreshToken}"}}).start()
        daemon.keep_account()
        daemon.call("Start")
        fake.settle()
        return fake, daemon

    def check_account(self, vehicles: list, stored):
        """What the daemons have reported as stored is what the database has, each row once."""
        for _, daemon in vehicles:
            daemon.sync_until(lambda answer: answer["pending"] == 0, "everything has been uploaded")
        expected: set = set().union(*(daemon.account().stored for _, daemon in vehicles))
        found = stored()
        self.assertGreater(len(expected), 100)
        self.assertEqual(len(found), len(set(found)), "stored twice")
        self.assertEqual(set(found), expected)

    @staticmethod
    def pending(daemon: Beekond) -> int:
        return daemon.status()["sync"]["pending"]

    def progress(self, stored, target: int, daemons: list):
        """Waits until as many rows are there, or all of them. A daemon in back-off is asked now and then."""
        looks = itertools.count(1)

        def made() -> bool:
            waiting = [daemon for daemon in daemons if self.pending(daemon)]
            if next(looks) % 20 == 0:
                for daemon in waiting:
                    daemon.ask_for_sync()
            return not waiting or len(stored()) >= target

        wait_for(made, lambda: str([daemon.status()["sync"] for daemon in daemons]))

    def test_sqlite_server_killed(self):
        server = self.server().start()
        device = server.add_device("van")
        fake, daemon = self.vehicle(server, device)

        def stored() -> list:
            with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True, timeout=PATIENCE) as database:
                return [str(uuid.UUID(bytes=row[0])) for row in database.execute("SELECT id FROM locations")]

        for _ in range(8):
            fake.drive(40)
            daemon.ask_for_sync()
            target = len(stored()) + self.random.randrange(0, 30)
            self.progress(stored, target, [daemon])
            server.kill()
            server.start()
        self.check_account([(fake, daemon)], stored)
        reader = server.add_user("ada", "reader")
        self.assertEqual(sorted(server.ids(reader, device["id"])), sorted(stored()))
        state = server.ask("GET", f"/v1/devices/{device['id']}", reader).json
        self.assertEqual(state["install_id"], daemon.installation)

    @unittest.skipUnless(BIN, "PostgreSQL's server is not installed")
    def test_servers_and_postgresql_killed(self):
        postgres = cluster()
        self.addCleanup(postgres.remove)
        postgres.start()
        servers = [self.server(postgres.address()).start() for _ in range(3)]
        vehicles = [
            self.vehicle(server, servers[0].add_device(f"van {number}")) for number, server in enumerate(servers)]

        def stored() -> list:
            return [row[0] for row in postgres.query("SELECT id FROM locations")]

        for turn in range(9):
            for fake, daemon in vehicles:
                fake.drive(15)
                daemon.ask_for_sync()
            target = len(stored()) + self.random.randrange(0, 30)
            self.progress(stored, target, [daemon for _, daemon in vehicles])
            if turn % 3 == 2:
                postgres.stop("immediate")
                postgres.start()
            else:
                victim = self.random.choice(servers)
                victim.kill()
                victim.start()
        self.check_account(vehicles, stored)


if __name__ == "__main__":
    unittest.main()
