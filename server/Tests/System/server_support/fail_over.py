"""What a primary with standbys must withstand, round by round: test_standby.py has one of each, nightly_standby.py five."""
from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable

from server_support.server import Server, envelope
from server_support.server_test import ServerTest
from server_support.standbys import Fleet, Node
from support.waiting import wait_for

VEHICLES = 6


class FailOverTest(ServerTest):
    """A test with some PostgreSQL, and servers of them."""

    def node(self, name: str) -> Node:
        """Not started yet."""
        node = Node(name)
        self.addCleanup(node.remove)
        return node

    def pair(self) -> tuple:
        primary = self.node("n1")
        primary.start()
        return primary, self.node("n2").follow(primary)

    def at(self, *nodes: Node, options: tuple = (), query: str = "") -> Server:
        """A server of these, in the order in which it asks them; not started."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        server = Server(tempfile.mkdtemp(dir=self.folder), f"postgresql://beekon@{hosts}/postgres{query}", options)
        self.addCleanup(server.kill)
        return server

    def log(self, server: Server) -> list:
        """Of the database, a line each."""
        with open(server.log, encoding="utf-8") as file:
            # That a new database's clock is to be confirmed is none of it.
            return [line for line in file if not line.startswith("beekon-server: listening") and "clock: it shows" not in line]

    def saying(self, server: Server, words: str) -> Callable[[], bool]:
        """Whether its log has these."""
        return lambda: words in "".join(self.log(server))

    def fleet(self, *servers: Server, name: str = "van") -> Fleet:
        admin = servers[0].add_user(name, "admin")
        devices = [self.device(servers[0], admin, f"{name} {number}") for number in range(VEHICLES)]
        fleet = Fleet(list(servers), devices)
        self.addCleanup(fleet.end)
        return fleet

    def account(self, fleet: Fleet, node: Node, what: str, may_be_lost: frozenset = frozenset()):
        """Each acknowledged row is there, once, but for those that may be lost."""
        acknowledged = fleet.acknowledged
        stored = Counter(row[0] for row in node.query("SELECT id FROM locations"))
        gone = [name for name in acknowledged if name not in stored]
        lost = [name for name in gone if name not in may_be_lost]
        twice = [name for name, count in stored.items() if count > 1]
        print(f"{what}: {len(acknowledged)} rows acknowledged, {len(gone)} lost, {len(twice)} twice; {dict(fleet.statuses)}")
        self.assertEqual((lost, twice), ([], []))
        self.assertGreater(len(acknowledged), 100)

    def device(self, server: Server, admin: str, name: str) -> dict:
        def made() -> dict | None:
            answer = server.ask("POST", "/v1/devices", admin, json.dumps({"name": name}).encode())
            # While it finds the new primary, whoever asks has to ask again.
            self.assertIn(answer.status, (201, 503), answer)
            return answer.json if answer.status == 201 else None

        return wait_for(made, "a device")

    def fail_over(self, rounds: int, is_synchronous: bool):
        """The primary is killed under load and its standby promoted; the dead one is set up anew as the standby, and so on."""
        primary, standby = self.pair()
        if is_synchronous:
            primary.wait_for_standby("n1, n2")
        servers = [self.at(primary, standby, query="?target_session_attrs=read-write").start() for _ in range(2)]
        fleet = self.fleet(*servers)
        pauses = []
        # What the standby does not have is lost with the primary: that is what asynchronous means. All of before is there.
        at_risk: set = set()
        for number in range(rounds):
            fleet.go_on(200)
            safe = set(fleet.acknowledged)
            if not is_synchronous:
                self.caught_up(primary)
                fleet.go_on(50)
            primary.kill()
            standby.promote()
            promoted = time.monotonic()
            # With those whose answer was on its way.
            at_risk |= set(fleet.acknowledged) - safe
            fleet.go_on(200)
            pauses.append(time.monotonic() - promoted)
            self.assertEqual(standby.timeline(), number + 2)
            primary, standby = standby, primary
            if number + 1 < rounds:
                standby.follow(primary)
                if is_synchronous:
                    primary.wait_for_standby("n1, n2")
        # One that still looks for it need not have been asked by anybody for these rows.
        for server in servers:
            wait_for(self.saying(server, f"on timeline {rounds + 1}"), lambda: f"the new primary is told: {self.log(server)}")
        fleet.end()
        self.account(fleet, primary, f"{rounds} fail-overs, {'' if is_synchronous else 'a'}synchronous, 200 rows within "
                     + ", ".join(f"{pause:.2f}" for pause in pauses) + " s of the promotion",
                     frozenset() if is_synchronous else frozenset(at_risk))
        for server in servers:
            lines = self.log(server)
            self.assertLessEqual(len(lines), 6 * rounds, "".join(lines))

    def caught_up(self, primary: Node):
        """All that is on the primary by now is on its standby."""
        end = primary.query("SELECT pg_current_wal_flush_lsn()")[0][0]
        wait_for(lambda: primary.query(f"SELECT 1 FROM pg_stat_replication WHERE replay_lsn >= '{end}'"), "the standby has all")

    def split(self, rounds: int):
        """The dead primary comes back as it was, as a machine does that starts PostgreSQL at boot: nothing is acknowledged from
        it. One server had nothing to do meanwhile, one begins then, and one knows no other host."""
        primary, standby = self.pair()
        for number in range(rounds):
            server, alone = self.at(primary, standby).start(), self.at(primary).start()
            early = self.fleet(server, name=f"early {number}")
            early.go_on(100)
            early.end()
            self.caught_up(primary)
            primary.kill()
            standby.promote()
            # Before anybody has seen the new one.
            primary.start()
            late = self.at(primary, standby).launch()
            fleet = self.fleet(server, late, alone, name=f"late {number}")
            late.wait()
            fleet.go_on(300)
            # Whoever reaches the old one alone stores nothing from now on.
            root = envelope(1, first_ms=1_718_452_800_000 + 600_000_000)
            token = fleet.vehicles[0].token
            wait_for(lambda: alone.post(token, root).status == 503, "it is refused")
            fleet.go_on(300)
            for one in (server, alone):
                wait_for(self.saying(one, "is not used: it is on timeline"), "the old one is told")
            fleet.end()
            before = primary.has()
            self.account(fleet, standby, f"round {number + 1}, an old primary beside the new one")
            self.assertLessEqual(primary.has(), before | standby.has())
            for one in (server, alone):
                told = [line for line in self.log(one) if "is not used: it is on timeline" in line]
                self.assertEqual(len(told), 1, "".join(self.log(one)))
            done = server.verb("doctor")
            self.assertIn(f"BAD   database: PostgreSQL at 127.0.0.1:{primary.port} is not used: it is on timeline", done.stdout)
            for one in (server, late, alone):
                one.kill()
            primary.stop("immediate")
            primary, standby = standby, primary
            if number + 1 < rounds:
                standby.follow(primary)
