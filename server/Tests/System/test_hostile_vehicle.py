"""One vehicle, or one reader, does what it can to a server: another vehicle beside it loses nothing, and the server keeps within
the memory of its unit. Which of the scenes, the commit decides; all with BEEKOND_LONG=1. How many uploads are accepted meanwhile,
times and bytes are for `make bench-server`, which has all connections."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support import scenes
from server_support.databases import OnPostgres, OnSQLite
from server_support.hostile_vehicle import SCENES
from server_support.server import FIRST_MS, envelope
from server_support.server_test import ServerTest
from support.seeds import sample
from support.waiting import wait_for

# Of each scene.
SECONDS = 1.0
# Connections: a debug build of a busy machine has not as many to look after.
FEWER = {"results": 8, "slow": 80, "extras": 4, "logins": 8, "tokens": 8, "weeks": 2}
LATER = FIRST_MS + 365 * 86_400_000


class HostileVehicle(ServerTest):
    make: Any

    def test_another_vehicle_beside_it(self):
        names = list(SCENES)
        for number in sample(f"scenes of {type(self).__name__}", len(names), 1):
            with self.subTest(names[number - 1]):
                self.play(names[number - 1])

    def play(self, scene: str):
        server = self.make()
        # Its memory counts.
        server.has_page = True
        server.start()
        outcome = scenes.play(scene, server, SECONDS, FEWER[scene], afterwards=self.goes_on)
        print(f"{type(self).__name__}: {outcome}")
        self.assertEqual(outcome.kills, 0, f"{outcome}")
        self.assertTrue(outcome.running, f"{outcome}")
        self.assertTrue(outcome.attack, "it was tried")
        # Who has to wait is told so, and nobody is sent away.
        self.assertLessEqual(set(outcome.statuses), {"200", "503"}, f"{outcome}")

    def goes_on(self, server, token: str):
        """When it is over, the other vehicle's next upload is taken."""
        root = envelope(3, LATER)
        wait_for(lambda: server.post(token, root).status == 200, "an upload is accepted")


class SQLiteTests(HostileVehicle, OnSQLite):
    pass


class PostgresTests(HostileVehicle, OnPostgres):
    pass


# It has no server.
del HostileVehicle


if __name__ == "__main__":
    unittest.main()
