"""beekon-server on Citus: BEEKON_TEST_CITUS names where that is (`make test-citus`). What every database must do is tested there
by the tests of PostgreSQL, with the same variable; this is what Citus alone has."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[2] / "Benchmarks"))

from figures import Tools, Workload, processor
from server_support.citus import PLACE, TABLES, Citus, Node, distribute
from server_support.postgres import BIN, Postgres
from server_support.server import FIRST_MS, PROGRAM, Server, envelope
from server_support.server_test import ServerTest
from server_support.standbys import Fleet

# Acknowledged rows of the kills.
ROWS = 60_000
# What the schema of version 5 had; later ones have more.
SCHEMA_5 = (
    "devices", "tokens", "users", "batches", "extras", "locations", "events", "latest", "presence", "passwords", "sessions",
    "claims", "commands", "vehicle_events", "logs", "clock", "votes", "installations", "ahead", "weeks", "ended_tokens",
    "numbers", "fleet_groups", "user_groups", "links", "removals", "beekon_schema")
NUMBERS_5 = ("claim", "user", "fleet", "group", "link")


@unittest.skipUnless(PLACE and BIN, "no Citus: 'make test-citus CITUS=DIR' tests with it")
class CitusTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.citus = Citus()
        self.addCleanup(self.citus.remove)
        self.citus.start()

    def at(self, postgres: Postgres) -> Server:
        """One more server, not started."""
        server = Server(tempfile.mkdtemp(dir=self.folder), postgres.address())
        self.addCleanup(server.kill)
        return server

    def distributed(self) -> dict:
        """Groups of the tables that are distributed."""
        return dict(self.citus.query(
            "SELECT logicalrelid, colocationid FROM pg_dist_partition WHERE partmethod = 'h' "
            "AND column_to_column_name(logicalrelid, partkey) = 'device'"))

    def doctor(self) -> list:
        """What it says of Citus."""
        done = subprocess.run(
            [PROGRAM, "doctor", "--database", self.citus.address()], capture_output=True, text=True, timeout=120)
        return [line for line in done.stdout.splitlines() if " citus: " in line or " database: " in line]


class DistributeTests(CitusTest):
    def test_what_grows_is_distributed_and_nothing_else(self):
        partitions = [row[0] for row in self.citus.query("SELECT inhrelid::regclass FROM pg_inherits i JOIN pg_class c "
                                                         "ON c.oid = i.inhrelid WHERE c.relkind = 'r'")]
        # This week, and four more, of each table.
        self.assertEqual(len(partitions), 5 * len(TABLES))
        self.assertEqual(set(self.distributed()), {*TABLES, *partitions})
        self.assertEqual(len(set(self.distributed().values())), 1)
        self.assertEqual(self.citus.query("SELECT count(*) FROM pg_dist_partition"), [[f"{6 * len(TABLES)}"]])

    def test_again(self):
        before = self.distributed()
        done = distribute(self.citus, "--shards", "16")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("workers (2), each in 8 shards", done.stdout)
        self.assertEqual(self.distributed(), before)

    def test_where_it_cannot(self):
        plain = Postgres()
        self.addCleanup(plain.remove)
        done = distribute(plain.start())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Citus is not in this database", done.stderr)
        done = subprocess.run([PROGRAM, "distribute", "--database", "x.db"], capture_output=True, text=True, timeout=60)
        self.assertIn("only PostgreSQL with Citus", done.stderr)
        done = distribute(self.citus.workers[0])
        self.assertIn("worker of Citus", done.stderr)
        server = self.at(self.citus.workers[0]).launch()
        assert server.child
        self.assertNotEqual(server.child.wait(), 0)
        self.assertIn("the address of the database is that of the coordinator", server.child.text())

    def test_with_data_and_under_a_server(self):
        for table in TABLES:
            self.citus.query(f"SELECT undistribute_table('{table}')")
        self.assertEqual(self.distributed(), {})
        server = self.at(self.citus).start()
        devices = [server.add_device(f"van {number}") for number in range(6)]
        fleet = Fleet([server], devices)
        self.addCleanup(fleet.end)
        fleet.go_on(1000)
        done = distribute(self.citus)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        fleet.go_on(1000)
        fleet.end()
        self.assertEqual(len({*self.distributed().values()}), 1)
        stored = Counter(row[0] for row in self.citus.query("SELECT id FROM locations"))
        self.assertEqual([name for name in fleet.acknowledged if stored[name] != 1], [])
        # Nothing is left at the coordinator.
        self.assertEqual(self.citus.query("SELECT sum(pg_relation_size(inhrelid)) FROM pg_inherits i JOIN pg_class c "
                                          "ON c.oid = i.inhrelid WHERE c.relkind = 'r'"), [["0"]])


class DoctorTests(CitusTest):
    def test_it_is_well(self):
        self.assertEqual([line[:4] for line in self.doctor()], ["ok  ", "ok  "])

    def test_a_table_is_not_distributed(self):
        self.citus.query("SELECT undistribute_table('vehicle_events')")
        self.assertIn("BAD   citus: vehicle_events: not distributed by device; 'beekon-server distribute' does it", self.doctor())
        self.assertEqual(distribute(self.citus).returncode, 0)
        self.assertEqual([line[:4] for line in self.doctor()], ["ok  ", "ok  "])

    def test_a_table_is_in_another_group(self):
        self.citus.query("SELECT undistribute_table('batches')")
        self.citus.query("SELECT create_distributed_table('batches', 'device', colocate_with => 'none', shard_count => 3)")
        self.assertIn("are not in one group", "".join(self.doctor()))
        done = distribute(self.citus)
        self.assertIn("are not in one group", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_a_setting_is_another(self):
        self.citus.query("ALTER DATABASE postgres RESET citus.multi_shard_modify_mode")
        self.assertIn("BAD   citus: citus.multi_shard_modify_mode is parallel: 'beekon-server distribute' sets it to sequential",
                      self.doctor())

    def test_a_worker_is_away(self):
        worker = self.citus.workers[1]
        worker.kill()
        self.assertIn(f"BAD   citus: worker 127.0.0.1:{worker.port} does not answer", "".join(self.doctor()))


class StoringTests(CitusTest):
    def setUp(self):
        super().setUp()
        self.beekon = self.at(self.citus).start()
        self.devices = [self.beekon.add_device(f"van {number}") for number in range(8)]

    def test_rows_that_are_there_already(self):
        token = self.devices[0]["access_token"]
        root = envelope(20)
        self.assertEqual(self.beekon.post(token, root).json["stored"], 20)
        # Under the id of another batch, with five more.
        again = envelope(5, first_ms=FIRST_MS + 60_000)
        again["locations"] += root["locations"]
        answer = self.beekon.post(token, again)
        self.assertEqual((answer.status, answer.json["stored"], answer.json["duplicates"]), (200, 5, 20))
        self.assertEqual(self.citus.query("SELECT count(*), count(DISTINCT id) FROM locations"), [["25", "25"]])
        # The batch itself.
        answer = self.beekon.post(token, root)
        self.assertEqual((answer.json["stored"], answer.json["duplicates"]), (0, 20))

    def test_a_week_that_somebody_drops(self):
        token = self.devices[0]["access_token"]
        self.assertEqual(self.beekon.post(token, envelope(5)).status, 200)
        week = FIRST_MS // (7 * 86_400_000)
        # COPY meets it, or what comes before.
        for number, tables in enumerate((["locations"], TABLES), 1):
            for table in tables:
                self.citus.query(f"DROP TABLE {table}_w{week}")
            answer = self.beekon.post(token, envelope(5, first_ms=FIRST_MS + number * 60_000))
            self.assertEqual((answer.status, answer.json), (200, answer.json | {"stored": 5}))
            self.assertIn(f"locations_w{week}", self.distributed())

    def test_a_worker_is_away(self):
        """Vehicles of the other one go on."""
        for device in self.devices:
            self.assertEqual(self.beekon.deliver(device["access_token"], envelope(5)).status, 200)
        self.citus.workers[0].kill()
        statuses: Counter = Counter()
        for device in self.devices:
            answer = self.beekon.post(device["access_token"], envelope(5, first_ms=FIRST_MS + 60_000))
            statuses[answer.status] += 1
        self.assertEqual(set(statuses), {200, 503}, statuses)
        self.citus.revive(self.citus.workers[0])
        for number, device in enumerate(self.devices):
            root = envelope(5, first_ms=FIRST_MS + 120_000 + number)
            self.assertEqual(self.beekon.deliver(device["access_token"], root).status, 200)

    def test_an_upgrade(self):
        reader = self.beekon.add_user("reader", "reader")
        token = self.devices[0]["access_token"]
        root = envelope(5)
        self.assertEqual(self.beekon.post(token, root).status, 200)
        self.assertEqual(self.beekon.stop(), 0)
        tables = [row[0] for row in self.citus.query(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition "
            "AND relnamespace = 'public'::regnamespace")]
        for table in sorted({*tables} - {*SCHEMA_5}):
            self.citus.query(f"DROP TABLE {table}")
        for index in ("events_time", "vehicle_events_time", "installations_other"):
            self.citus.query(f"DROP INDEX {index}")
        self.citus.query(f"DELETE FROM numbers WHERE kind NOT IN {NUMBERS_5}")
        self.citus.query("UPDATE beekon_schema SET version = 5")
        self.beekon.start()
        self.assertEqual(self.beekon.ids(reader, self.devices[0]["id"]), [row["id"] for row in root["locations"]])
        self.assertEqual(self.beekon.post(token, envelope(5, first_ms=FIRST_MS + 60_000)).status, 200)
        self.assertEqual([line[:4] for line in self.doctor()], ["ok  ", "ok  "])


class KillTests(CitusTest):
    def test_each_node_under_load(self):
        servers = [self.at(self.citus).start() for _ in range(2)]
        devices = [servers[0].add_device(f"van {number}") for number in range(8)]
        fleet = Fleet(servers, devices, rows=50)
        self.addCleanup(fleet.end)
        kills = 0
        while len(fleet.acknowledged) < ROWS or kills < 2 * len(self.citus.nodes):
            fleet.go_on(ROWS // 12)
            node: Node = self.citus.nodes[kills % len(self.citus.nodes)]
            node.kill()
            if node is not self.citus:
                # Those of the other worker.
                fleet.go_on(200)
            self.citus.revive(node)
            kills += 1
        fleet.go_on(1000)
        fleet.end()
        self.citus.settle()
        stored = Counter(row[0] for row in self.citus.query("SELECT id FROM locations"))
        lost = [name for name in fleet.acknowledged if name not in stored]
        twice = [name for name, count in stored.items() if count > 1]
        print(f"citus: {kills} kills, {len(fleet.acknowledged)} rows acknowledged, {len(lost)} lost, {len(twice)} twice; "
              f"{dict(fleet.statuses)}", file=sys.stderr)
        self.assertEqual((lost, twice), ([], []))


class CostTests(CitusTest):
    # Of one PostgreSQL.
    MOST = 3.0

    def test_processor_time_of_a_row(self):
        tools = Tools(self.folder)
        load = Workload(self.folder, batches=500, rows=100)
        plain = Postgres()
        self.addCleanup(plain.remove)
        plain.start()
        ratios: list[float] = []
        costs: dict[str, list] = {}
        places: dict[str, list[Postgres]] = {"PostgreSQL": [plain], "Citus": [*self.citus.nodes]}
        servers = {}
        for name, (database, *_) in places.items():
            servers[name] = self.at(database).start()
            load.fleet.enter_postgres(database.address())
        # The first makes weeks and warms up.
        for turn in range(4):
            for name, nodes in places.items():
                before = [self.seconds(node) for node in nodes]
                answer = tools.run("generator", "closed", servers[name].port, load.requests(turn), 64)
                self.assertEqual((answer["good"], answer["other"]), (load.batches - answer["busy"], 0), answer)
                used = [(self.seconds(node) - begun) * 1e6 / (answer["good"] * load.rows)
                        for node, begun in zip(nodes, before, strict=True)]
                costs.setdefault(name, []).append(used)
                if turn:
                    print(f"{name}: {sum(used):.1f} µs/row ({' + '.join(f'{part:.1f}' for part in used)}), "
                          f"{answer['good'] * load.rows / answer['seconds']:.0f} rows/s, {answer['busy']} of {load.batches} "
                          "batches put off", file=sys.stderr)
            if turn:
                ratios.append(sum(costs["Citus"][-1]) / sum(costs["PostgreSQL"][-1]))
        print(f"Citus costs {', '.join(f'{ratio:.2f}' for ratio in ratios)} times as much", file=sys.stderr)
        self.assertLess(sorted(ratios)[len(ratios) // 2], self.MOST)

    @staticmethod
    def seconds(node: Postgres) -> float:
        """Of all its processes so far."""
        with open(os.path.join(node.data, "postmaster.pid"), encoding="ascii") as file:
            postmaster = int(file.readline())
        with open(f"/proc/{postmaster}/task/{postmaster}/children", encoding="ascii") as file:
            return processor(postmaster) + sum(processor(int(child)) for child in file.read().split())


if __name__ == "__main__":
    unittest.main()
