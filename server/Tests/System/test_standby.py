"""PostgreSQL with standbys: a primary that dies, one that comes back, a COMMIT that hangs, poolers, and what is read from a
standby. nightly_standby.py has more rounds."""
from __future__ import annotations

import http.client
import json
import re
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_support.fail_over import FailOverTest
from server_support.postgres import BIN
from server_support.server import FIRST_MS, Answer, Server, envelope
from server_support.standbys import Pooler
from support.ports import reachable
from support.waiting import never, wait_for


class Held(threading.Thread):
    """An upload that waits for its answer."""

    def __init__(self, server: Server, token: str, root: dict):
        super().__init__(daemon=True)
        self.server, self.token, self.root = server, token, root
        self.answer: Answer | None = None
        self.start()

    def run(self):
        try:
            self.answer = self.server.post(self.token, self.root)
        except OSError:
            # The server has ended.
            self.answer = None


@unittest.skipUnless(BIN, "no PostgreSQL: 'make deps' installs it")
class StandbyTests(FailOverTest):
    def test_a_synchronous_standby_takes_over(self):
        self.fail_over(1, is_synchronous=True)

    def test_an_asynchronous_standby_takes_over(self):
        self.fail_over(1, is_synchronous=False)

    def test_an_old_primary_that_comes_back(self):
        self.split(1)

    def test_going_back_on_purpose(self):
        """An old primary that was refused is used again after one command; a copy by pg_dump in another cluster without any."""
        primary, standby = self.pair()
        server = self.at(primary, standby).start()
        device = server.add_device("van")
        primary.kill()
        standby.promote()
        primary.start()
        wait_for(lambda: server.post(device["access_token"], envelope(2)).status == 200, "it is stored")
        server.kill()
        standby.stop("immediate")
        back = self.at(primary)
        done = back.verb("device", "list")
        self.assertEqual(done.returncode, 1)
        self.assertIn("it is on timeline 1, and 2 was seen", done.stderr)
        done = back.verb("timeline", "accept")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"timeline 1 of PostgreSQL at 127.0.0.1:{primary.port} is accepted", done.stdout)
        back.start()
        self.assertEqual(back.post(device["access_token"], envelope(2, first_ms=FIRST_MS + 9000)).status, 200)

    def test_the_only_synchronous_standby_is_away(self):
        """Nothing is acknowledged, whoever ends the wait; the server says that it is not ready, and ends when it is told to."""
        primary, standby = self.pair()
        primary.wait_for_standby("n2")
        server = self.at(primary, standby).start()
        token = server.add_device("van")["access_token"]
        self.assertEqual(server.post(token, envelope(3)).status, 200)
        standby.stop("immediate")
        root = envelope(3, first_ms=FIRST_MS + 60_000)
        held = Held(server, token, root)
        waits = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'beekon-server'"
        wait_for(lambda: primary.query(waits), "COMMIT waits for the standby")
        # Answered while COMMIT waits: who waited for the database would never answer.
        wait_for(lambda: server.ask("GET", "/health/ready").status == 503, "it is not ready")

        def cancel() -> bool:
            for row in primary.query(waits):
                primary.query(f"SELECT pg_cancel_backend({row[0]})")
            return held.answer is not None

        wait_for(cancel, "the wait is ended")
        assert held.answer
        self.assertEqual(held.answer.status, 503, held.answer)
        self.assertEqual(len(primary.has()), 6, "it was committed, and nobody was told")
        again = Held(server, token, root)
        wait_for(lambda: primary.query(waits), "the same, sent again, waits as well")
        # COMMIT waits on, so that a server which waited for it would not end.
        self.assertEqual(server.stop(), 0)
        again.join(60)
        self.assertIsNone(again.answer)
        standby.start()
        server.start()
        answer = server.deliver(token, root)
        self.assertEqual((answer.status, answer.json["duplicates"]), (200, 3))
        # COMMIT waits until it is written there, not until it is shown.
        wait_for(lambda: standby.has() == primary.has(), "the standby has all")

    def test_a_primary_that_is_away_is_one_line(self):
        """However many ask, for however long, and whoever listens."""
        primary = self.node("n1")
        primary.start()
        server = self.at(primary).start()
        fleet = self.fleet(server)
        fleet.go_on(100)
        reader = server.add_user("ada", "reader")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/live", headers={"Authorization": f"Bearer {reader}"})
        self.assertEqual(connection.getresponse().status, 200)
        primary.stop("immediate")
        before = fleet.statuses[503]
        wait_for(lambda: fleet.statuses[503] > before + 300, "they are refused")
        never(lambda: len(self.log(server)) > 1, lambda: "a line for each who asks: " + "".join(self.log(server)), 5)
        wait_for(lambda: re.search("error.*database: ", "".join(self.log(server))), "a line in the log")
        primary.start()
        fleet.go_on(100)
        fleet.end()
        self.account(fleet, primary, "an outage")
        answers = r"PostgreSQL at 127.0.0.1:\d+ answers, on timeline 1, after \d+ s"
        wait_for(lambda: re.search(answers, self.log(server)[-1]), "that it answers is told")
        lines = self.log(server)
        self.assertEqual(len(lines), 2, "".join(lines))

    def test_lists_from_a_standby(self):
        """What vehicles have sent is read there, as far as it has come; what a person may have changed just now is not."""
        primary, standby = self.pair()
        server = self.at(primary, options=("--read-database", standby.address())).start()
        device, reader = server.add_device("van"), server.add_user("ada", "reader")
        path = f"/v1/devices/{device['id']}"
        roots = [envelope(3, first_ms=FIRST_MS + number * 60_000) for number in range(2)]
        ids = [[row["id"] for row in root["locations"]] for root in roots]
        server.post(device["access_token"], roots[0])
        wait_for(lambda: server.ids(reader, device["id"]) == ids[0], "it has come to the standby")
        standby.query("SELECT pg_wal_replay_pause()")
        wait_for(lambda: standby.query("SELECT pg_get_wal_replay_pause_state()") == [["paused"]], "it stands still")
        server.post(device["access_token"], roots[1])
        self.assertEqual(server.ids(reader, device["id"]), ids[0], "of the standby")
        newest = server.ask("GET", path, reader).json["latest"]
        self.assertEqual(newest["id"], ids[1][-1], "of the primary")
        self.assertEqual(server.verb("device", "edit", str(device["id"]), "--name", "bus").returncode, 0)
        self.assertIn("bus", server.ask("GET", "/v1/devices", reader).body.decode(), "of the primary")
        standby.query("SELECT pg_wal_replay_resume()")
        wait_for(lambda: server.ids(reader, device["id"]) == ids[0] + ids[1], "it goes on")
        done = server.verb("doctor", f"--read-database={standby.address()}")
        self.assertIn("ok    read_database: it follows\n", done.stdout)
        standby.stop("immediate")
        self.assertEqual(server.ask("GET", path + "/locations", reader).status, 503)
        self.assertEqual(server.ask("GET", path, reader).status, 200)
        done = server.verb("doctor", f"--read-database={standby.address()}")
        self.assertRegex(done.stdout, "BAD   read_database: .*Connection refused")

    def test_a_standby_alone_is_told(self):
        primary, standby = self.pair()
        self.at(primary).start()
        done = self.at(standby).verb("device", "list")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"127.0.0.1:{standby.port}: it is a standby", done.stderr)
        server = self.server("--read-database", standby.address()).launch()
        assert server.child
        self.assertEqual(server.child.wait(), 1)
        self.assertIn("read_database is a standby of a database in PostgreSQL", server.child.text())

    @staticmethod
    def wait_for_port(port: int):
        wait_for(lambda: reachable(port), "pgbouncer listens")

    @unittest.skipUnless(Pooler.PROGRAM, "no pgbouncer: 'make deps' installs it")
    def test_pgbouncer(self):
        node = self.node("n1")
        node.start()
        self.at(node).start().kill()
        pools = {}
        for mode, settings in (("session", ()), ("transaction", ()), ("transaction", ("server_round_robin = 1",)),
                               ("session", ("default_pool_size = 1",))):
            pool = Pooler(self.folder, node, mode, *settings)
            self.addCleanup(pool.kill)
            self.wait_for_port(pool.port)
            pools[(mode, *settings)] = pool.address

        def server(*key: str) -> Server:
            made = Server(self.folder, pools[key])
            self.addCleanup(made.kill)
            return made

        for key in (("transaction",), ("transaction", "server_round_robin = 1")):
            done = server(*key).verb("device", "list")
            self.assertEqual((done.returncode, done.stdout), (1, ""), key)
            self.assertEqual(done.stderr.count("pool_mode = session"), 1, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        through = server("session").start()
        fleet = self.fleet(through)
        fleet.go_on(200)
        fleet.end()
        self.account(fleet, node, "through pgbouncer")
        found = json.loads(through.verb("device", "add", "--json", "bus").stdout)
        self.assertGreater(found["id"], 0)
        self.assertEqual(node.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'beekon-server' "
                                    "AND wait_event = 'SyncRep'"), [["0"]])


if __name__ == "__main__":
    unittest.main()
