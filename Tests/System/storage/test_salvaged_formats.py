"""A damaged database with batches under way for servers of every format: what is saved of it goes on as it was frozen."""
import functools
import json
import os
import random
import sqlite3
import sys
import unittest
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.shape_server import ShapeServer, read_json
from support.system_test import SystemTest
from support.waiting import wait_for

ROWS = 240
# Blocks of the database that become noise.
DAMAGES = 3


def read_message(method: str, path: str, text: bytes) -> dict:
    """Of owntracks."""
    return {"uuid": json.loads(text)["_id"]}


def read_query(method: str, path: str, text: bytes) -> dict:
    """Of osmand, which has no ids: each row is elsewhere."""
    query = dict(parse_qsl(urlsplit(path).query))
    return {"uuid": query["lat"] + " " + query["lon"]}


FORMATS: dict = {
    "main": ({"batch_size": 7}, read_json),
    "record": ({"format": "template", "batch_size": 3, "location_template": '{"uuid": "<%= uuid %>"}'}, read_json),
    "app": ({"format": "overland", "batch_size": 5}, read_json),
    "tracks": ({"format": "owntracks", "device_id": "van"}, read_message),
    "traccar": ({"format": "osmand", "device_id": "van"}, read_query),
}


class SalvagedFormatsTests(SystemTest):
    def damage(self, path: str):
        """Overwrites some leaves far apart, none of them with the rows of a batch."""
        db = sqlite3.connect(path)
        self.assertEqual(db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0], 0)
        size = db.execute("PRAGMA page_size").fetchone()[0]
        leaves = [row[0] for row in db.execute(
            "SELECT pageno FROM dbstat WHERE name = 'locations' AND pagetype = 'leaf' ORDER BY path")]
        db.close()
        self.assertGreater(len(leaves), 2 * DAMAGES)
        with open(path, "r+b") as file:
            for number in range(DAMAGES):
                file.seek((leaves[len(leaves) * (number + 1) // (DAMAGES + 1)] - 1) * size)
                file.write(random.Random(number).randbytes(size))

    def is_drained(self, daemon, name: str) -> bool:
        return daemon.call("Sync", destination=name)["pending"] == 0

    def pending(self, daemon) -> dict:
        return {one["name"]: one["sync"]["pending"] for one in daemon.status()["destinations"]}

    def test_what_was_under_way_comes_again_and_the_rest_once(self):
        servers = {name: ShapeServer(["hold"], reads) for name, (_, reads) in FORMATS.items()}
        for server in servers.values():
            self.addCleanup(server.stop)
        tables = {name: {"url": servers[name].url, "interval_seconds": NEVER, **table} for name, (table, _) in FORMATS.items()}
        fake = self.fake()
        daemon = self.daemon(fake.port, sync=tables.pop("main"), **{
            f"destination.{name}": table for name, table in tables.items()}).start()
        daemon.call("Start")
        fake.settle()
        fake.drive(ROWS - 1)
        daemon.wait_stored(ROWS)
        for name, server in servers.items():
            daemon.connect().send("Sync", {"wait": True, "destination": name})
            server.wait_requests(1)
        daemon.kill()
        self.damage(os.path.join(daemon.state, "beekon.db"))
        daemon.start()
        owed = self.pending(daemon)
        for name in servers:
            wait_for(functools.partial(self.is_drained, daemon, name), f"{name} has everything")
        self.assertTrue([name for name in os.listdir(daemon.state) if ".corrupt-" in name], "it was moved aside")
        counts = {name: len(set(server.ids)) for name, server in servers.items()}
        for name, server in servers.items():
            with self.subTest(name):
                first, again = server.requests[:2]
                self.assertEqual(again.frozen, first.frozen, "the same request, under the same key")
                self.assertEqual([request.key for request in server.requests].count(first.key), 2)
                self.assertEqual(server.faults(), [])
        self.assertEqual(len(set(counts.values())), 1, f"all have the same rows: {counts}")
        self.assertEqual(owed, counts, "as many as the status said")
        self.assertLess(counts["main"], ROWS, "what the damage took")
        self.assertGreater(counts["main"], ROWS - 20 * DAMAGES)


if __name__ == "__main__":
    unittest.main()
