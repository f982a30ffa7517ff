"""What many do at once is done once: the same rows by many clients, on servers that share one PostgreSQL, and the first use of
tokens."""
import sqlite3
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, cluster
from server_support.server import Server, envelope, uuid7
from server_support.server_test import ServerTest

CLIENTS = 50
ROWS = 40


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class IdempotencyTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.postgres = cluster().start()
        self.addCleanup(self.postgres.remove)
        self.servers = []
        for _ in range(3):
            server = Server(tempfile.mkdtemp(dir=self.folder), self.postgres.address()).start()
            self.addCleanup(server.kill)
            self.servers.append(server)
        self.token = self.servers[0].add_device("van")["access_token"]

    def send(self, roots: list) -> list:
        with ThreadPoolExecutor(len(roots)) as pool:
            return list(pool.map(
                lambda each: self.servers[each[0] % 3].deliver(self.token, each[1]), enumerate(roots)))

    def check(self, answers: list, batches: int):
        self.assertEqual({answer.status for answer in answers}, {200}, answers)
        self.assertEqual(sum(answer.json["stored"] for answer in answers), ROWS)
        self.assertEqual(sum(answer.json["duplicates"] for answer in answers), ROWS * (len(answers) - 1))
        counts = self.postgres.query(
            "SELECT (SELECT count(*) FROM locations), (SELECT count(*) FROM batches), (SELECT count(*) FROM latest)")
        self.assertEqual(counts, [[str(ROWS), str(batches), "1"]])

    def test_the_same_batch_by_fifty_clients_at_once(self):
        root = envelope(ROWS)
        self.check(self.send([root] * CLIENTS), batches=1)

    def test_the_same_rows_in_fifty_batches_at_once(self):
        """Each batch is new, and of its rows none: COPY cannot pass over them."""
        root = envelope(ROWS)
        roots = [{**root, "batch_id": uuid7(1_718_452_800_000 + number)} for number in range(CLIENTS)]
        self.check(self.send(roots), batches=CLIENTS)

    def test_first_uses_at_once_are_noted(self):
        """Each server may be shown the same tokens, in any order, in the transactions that store what came with them."""
        tokens = [self.servers[0].add_device(f"bus {number}")["access_token"] for number in range(20)]
        with ThreadPoolExecutor(CLIENTS) as pool:
            answers = list(pool.map(
                lambda each: self.servers[each % 3].deliver(
                    tokens[each * 7 % 20], envelope(2, 1_718_452_800_000 + each * 10_000)),
                range(120)))
        self.assertEqual({answer.status for answer in answers}, {200}, answers)
        self.assertEqual(
            self.postgres.query("SELECT count(*), count(used) FROM tokens WHERE kind = 1 AND device > 1"), [["20", "20"]])


class FirstUseTests(ServerTest):
    def uses(self, server: Server) -> list:
        with sqlite3.connect(f"file:{server.database}?mode=ro", uri=True, timeout=60) as database:
            return [row[0] is not None for row in database.execute("SELECT used FROM tokens WHERE kind = 1 ORDER BY device")]

    def test_a_batch_that_is_stored_or_refused_has_shown_its_token(self):
        server = self.server().start()
        tokens = [server.add_device(name)["access_token"] for name in ("van", "bus", "tram")]
        self.assertEqual(self.uses(server), [False, False, False])
        self.assertEqual(server.post(tokens[0], envelope(2)).status, 200)
        self.assertEqual(self.uses(server), [True, False, False])
        self.assertEqual(server.post(tokens[1], {}).status, 400)
        self.assertEqual(self.uses(server), [True, True, False])
        # Where a device may not go.
        self.assertEqual(server.ask("GET", "/v1/devices", tokens[2]).status, 403)
        self.assertEqual(self.uses(server), [True, True, True])


if __name__ == "__main__":
    unittest.main()
