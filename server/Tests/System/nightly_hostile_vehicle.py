"""Every scene of a hostile vehicle with all its connections, against the release: at least 99 % of the uploads of another vehicle
beside it are accepted. On a machine that has nothing else to do."""
from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import server_support
from server_support import scenes
from server_support.databases import OnPostgres, OnSQLite
from server_support.hostile_vehicle import SCENES
from server_support.server_test import ServerTest

server_support.IS_MEASURED = True
# Of each scene.
SECONDS = float(os.environ.get("BEEKOND_OVERLOAD_SECONDS") or "12")


class HostileVehicle(ServerTest):
    make: Any

    def test_another_vehicle_is_served(self):
        for scene in SCENES:
            with self.subTest(scene):
                outcome = scenes.play(scene, self.make().start(), SECONDS)
                print(f"{type(self).__name__}: {outcome}")
                self.assertEqual((outcome.kills, outcome.running, outcome.refused_before), (0, True, 0), f"{outcome}")
                self.assertGreaterEqual(outcome.accepted, 0.99 * outcome.sent, f"{outcome}")


class SQLiteTests(HostileVehicle, OnSQLite):
    pass


class PostgresTests(HostileVehicle, OnPostgres):
    pass


# It has no server.
del HostileVehicle


if __name__ == "__main__":
    unittest.main()
