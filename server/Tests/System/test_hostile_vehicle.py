"""One vehicle, or one reader, does what it can to a server: another vehicle beside it uploads as if nothing were, and the server
keeps within the memory of its unit. Counts are judged here, and times and bytes in `make bench-server`."""
from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import scenes
from server_support.databases import OnPostgres, OnSQLite
from server_support.hostile_vehicle import SCENES
from server_support.server_test import ServerTest

# Of each scene. BEEKOND_OVERLOAD_SECONDS=12, with all connections, is for a machine that has nothing else to do.
SECONDS = float(os.environ.get("BEEKOND_OVERLOAD_SECONDS") or "4")
# Connections: a debug build of a busy machine has not as many to look after.
FEWER = {} if os.environ.get("BEEKOND_OVERLOAD_SECONDS") else {
    "results": 8, "slow": 80, "extras": 4, "logins": 8, "tokens": 8, "weeks": 2}


class HostileVehicle(ServerTest):
    make: Any

    def play(self, scene: str):
        server = self.make().start()
        outcome = scenes.play(scene, server, SECONDS, FEWER.get(scene, SCENES[scene]))
        print(f"{type(self).__name__}: {outcome}")
        self.assertEqual(outcome.kills, 0, f"{outcome}")
        self.assertTrue(outcome.running, f"{outcome}")
        if outcome.refused_before:
            self.skipTest(f"the machine is too busy: {outcome.refused_before} uploads were refused before anybody did anything")
        self.assertGreaterEqual(outcome.accepted, 0.99 * outcome.sent, f"{outcome}")
        self.assertTrue(outcome.attack, "it was tried")

    def test_extras_that_each_reader_is_told(self):
        self.play("extras")

    def test_results_of_a_thousand_commands(self):
        self.play("results")

    def test_a_thousand_weeks(self):
        self.play("weeks")

    def test_readers_that_take_next_to_nothing(self):
        self.play("slow")

    def test_logins_of_nobody(self):
        self.play("logins")

    def test_wrong_tokens_of_the_other_vehicle(self):
        self.play("tokens")


class SQLiteTests(HostileVehicle, OnSQLite):
    pass


class PostgresTests(HostileVehicle, OnPostgres):
    pass


# It has no server.
del HostileVehicle


if __name__ == "__main__":
    unittest.main()
