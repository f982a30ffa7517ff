"""The same rows by many clients at once, on servers that share one PostgreSQL: they are stored once, and everybody hears so."""
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.postgres import BIN, Postgres
from server_support.server import Server, envelope, uuid7
from server_support.server_test import ServerTest

CLIENTS = 50
ROWS = 40


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class IdempotencyTests(ServerTest):
    def setUp(self):
        super().setUp()
        self.postgres = Postgres().start()
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
                lambda each: self.servers[each[0] % 3].post(self.token, each[1]), enumerate(roots)))

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


if __name__ == "__main__":
    unittest.main()
