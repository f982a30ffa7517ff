"""A fleet of more vehicles than anybody reads a line of: sums in /metrics, and what of the database is chosen for it."""
from __future__ import annotations

import os
import re
import sys
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.databases import OnPostgres, OnSQLite
from server_support.server import FIRST_MS, Answer, Server, envelope
from server_support.server_test import ServerTest
from support.waiting import wait_for

MANY = 10_000
DAY = 86_400_000


class Many(ServerTest):
    make: Any
    rows: Any
    write: Any

    def setUp(self):
        super().setUp()
        self.under_test: Server = self.make().start()
        self.van, self.bus = (self.under_test.add_device(name) for name in ("van", "bus"))
        for name in ("north", "south"):
            self.assertEqual(self.under_test.verb("group", "add", name).returncode, 0)
        for device, group in ((self.van, "north"), (self.bus, "south")):
            self.assertEqual(self.under_test.verb("device", "edit", str(device["id"]), "--group", group).returncode, 0)
        self.ada = self.under_test.add_user("ada", "reader")
        self.nora = self.under_test.add_user("nora", "reader", "north")

    def say(self, device: dict, **status: object):
        self.said = time.monotonic()
        self.assertEqual(self.under_test.deliver(device["access_token"], envelope(1, status=status)).status, 200)

    def fill(self, count: int, group: str = "NULL"):
        """As many vehicles that have said nothing."""
        self.write(f"""
            INSERT INTO devices(name, created, fleet_group) WITH RECURSIVE n(x) AS (
                SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {count})
            SELECT 'vehicle ' || x, {FIRST_MS}, {group} FROM n""")

    def metrics(self, token: str, query: str = "") -> Answer:
        return self.under_test.ask("GET", f"/metrics{query}", token)

    def figures(self, token: str, query: str = "") -> dict:
        answer = self.metrics(token, query)
        self.assertEqual(answer.status, 200, answer)
        return {name: float(value) for name, value in re.findall(r"^(beekon_device\S*) (\S+)$", answer.body.decode(), re.M)}

    def counted(self, token: str, count: int) -> dict:
        """Sums of so many vehicles."""
        return wait_for(lambda: (found := self.figures(token)).get("beekon_devices") == count and found, f"sums of {count}")

    def test_lines_and_sums(self):
        self.say(self.van, state="tracking", receiver="ok", pending=3, odometer_meters=5000, ignition=True)
        self.say(self.bus, state="stopped", receiver="failed", pending=4)
        self.fill(MANY - 2)
        lines = self.figures(self.ada)
        self.assertEqual(lines["beekon_devices"], MANY)
        one = lines[f'beekon_device_pending_locations{{device="{self.van["id"]}"}}']
        self.assertEqual(one, 3)
        self.write(f"INSERT INTO devices(name, created) VALUES ('one more', {FIRST_MS})")
        sums = self.counted(self.ada, MANY + 1)
        self.assertFalse([name for name in sums if "{device=" in name], "a line of a vehicle")
        self.assertGreater(sums.pop("beekon_devices_counted_timestamp_seconds"), time.time() - 600)
        said = {name: value for name, value in sums.items() if value}
        if time.monotonic() - self.said > 50:
            # A machine that is busy: it may be longer ago than the shortest of these.
            said['beekon_devices_seen{within_seconds="60"}'] = 2
        seen = {f'beekon_devices_seen{{within_seconds="{age}"}}': 2 for age in ("60", "300", "3600", "86400", "604800", "+Inf")}
        self.assertEqual(said, seen | {
            "beekon_devices": MANY + 1, 'beekon_devices_located{within_seconds="+Inf"}': 2, "beekon_devices_pending_locations": 7,
            "beekon_devices_odometer_meters": 5000, 'beekon_devices_tracking{value="1"}': 1,
            'beekon_devices_tracking{value="0"}': 1, 'beekon_devices_receiver_ok{value="1"}': 1,
            'beekon_devices_receiver_ok{value="0"}': 1, 'beekon_devices_ignition{value="1"}': 1})
        # It is small, however many there are.
        self.assertLess(len(self.metrics(self.ada).body), 30_000)
        # One has its lines all the same.
        one = self.figures(self.ada, f"?device={self.bus['id']}")
        self.assertEqual(one[f'beekon_device_pending_locations{{device="{self.bus["id"]}"}}'], 4)
        self.assertEqual({name.partition("device=")[2] for name in one}, {f'"{self.bus["id"]}"}}'})
        for query in ("?device=", "?device=x", "?device=0", "?all", "?device=1&device=2"):
            self.assertEqual(self.metrics(self.ada, query).status, 400, query)
        self.assertEqual(self.metrics(self.ada, "?device=99999999").status, 404)

    def test_sums_are_of_those_that_one_sees(self):
        self.say(self.van, state="tracking", pending=3)
        self.say(self.bus, state="tracking", pending=4)
        self.fill(MANY - 1)
        # Of few there are lines, whatever others see.
        lines = self.figures(self.nora)
        self.assertEqual(lines["beekon_devices"], 1)
        self.assertEqual(lines[f'beekon_device_pending_locations{{device="{self.van["id"]}"}}'], 3)
        self.assertEqual(self.metrics(self.nora, f"?device={self.van['id']}").status, 200)
        self.assertEqual(self.metrics(self.nora, f"?device={self.bus['id']}").status, 404)
        self.fill_north()
        both = self.counted(self.ada, 2 * MANY + 1)
        self.assertEqual(both["beekon_devices_pending_locations"], 7)
        own = self.counted(self.nora, MANY + 1)
        self.assertEqual((own["beekon_devices_pending_locations"], own['beekon_devices_tracking{value="1"}']), (3, 1))
        # A right that ends does so at once.
        self.assertEqual(self.under_test.verb("user", "groups", "nora", "south").returncode, 0)
        self.assertEqual(self.figures(self.nora)["beekon_devices"], 1)

    def fill_north(self):
        self.write(f"""
            INSERT INTO devices(name, created, fleet_group) WITH RECURSIVE n(x) AS (
                SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {MANY})
            SELECT 'northern ' || x, {FIRST_MS}, (SELECT id FROM fleet_groups WHERE name = 'north') FROM n""")

    def test_ids_of_batches_are_remembered_for_a_month(self):
        self.under_test.stop()
        # By the confirmed time; the default, in place of the tests' own.
        self.assertEqual(self.under_test.verb("clock", "confirm").returncode, 0)
        self.under_test.environment = {"BEEKON_SERVER_BATCH_DAYS": "30"}
        self.under_test.start()
        now = int(time.time() * 1000)
        old, new = envelope(3, now - 40 * DAY), envelope(3, now - 20 * DAY)
        for root in (old, new):
            answer = self.under_test.deliver(self.van["access_token"], root)
            self.assertEqual((answer.status, answer.json["stored"]), (200, 3))
        self.assertEqual(len(self.rows("SELECT 1 FROM batches")), 1)
        for root in (old, new):
            answer = self.under_test.deliver(self.van["access_token"], root)
            self.assertEqual((answer.json["stored"], answer.json["duplicates"]), (0, 3))
        # It is asked of the file, too, and what is older goes when the server starts.
        path = os.path.join(self.under_test.folder, "beekon-server.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'database = "{self.under_test.database}"\nbatch_days = 10\n')
        self.under_test.stop()
        self.under_test.environment = {"BEEKON_SERVER_BATCH_DAYS": "10"}
        self.under_test.start()
        wait_for(lambda: not self.rows("SELECT 1 FROM batches"), "it is forgotten")
        answer = self.under_test.deliver(self.van["access_token"], new)
        self.assertEqual((answer.json["stored"], answer.json["duplicates"]), (0, 3))


class SQLiteTests(Many, OnSQLite):
    def test_partitions_are_of_postgres(self):
        self.under_test.stop()
        self.assertIn("partition_days is for PostgreSQL", start_with(self.under_test, "partition_days = 1"))


class PostgresTests(Many, OnPostgres):
    def test_partitions_of_a_day(self):
        """Chosen before there is data, and by whoever starts first."""
        path = os.path.join(self.folder, "days.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'database = "{self.postgres.address()}"\npartition_days = 1\n')
        first = self.make("--config", path).start()
        self.assertEqual(self.rows("SELECT days FROM partitioning"), [["1"]])
        now = int(time.time() * 1000)
        # One that knew of weeks, and one that has chosen days.
        for number, server in enumerate((self.under_test, first)):
            answer = server.deliver(self.van["access_token"], envelope(3, now - number * DAY))
            self.assertEqual((answer.status, answer.json["stored"]), (200, 3))
        names = [row[0] for row in self.rows(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'locations'::regclass")]
        self.assertTrue(names and all(re.fullmatch(r"locations_d\d+", name) for name in names), names)
        # Who says nothing takes what there is; who says another is told why not.
        self.make().start()
        self.assertIn("there is data in partitions of a day", start_with(self.make(), "partition_days = 7"))
        self.assertIn("partition_days is 1 or 7", start_with(self.make(), "partition_days = 2"))


def start_with(server: Server, line: str) -> str:
    """Starts it with a line of configuration, with which it ends.

    Returns what it says."""
    path = os.path.join(server.folder, "refused.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'database = "{server.database}"\n{line}\n')
    server.options = ("--config", path)
    server.launch()
    assert server.child
    wait_for(lambda: not server.running, "it ends")
    return server.child.text()


# It has no server.
del Many


if __name__ == "__main__":
    unittest.main()
