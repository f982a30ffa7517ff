"""Dead letters from rejection to final delivery: listed, exported, sent again, deleted."""
import contextlib
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.control_client import Refusal
from support.programs import program
from support.system_test import SystemTest
from support.waiting import wait_for

SEED = int(os.environ.get("BEEKOND_SEED", "20261121"))


class RejectedTests(SystemTest):
    def rejecting(self, rows: int, answers=(), **sync) -> tuple:
        """A daemon with this many rows pending."""
        receiver = self.backend(answers=answers)
        fake, daemon = self.tracking(sync={"url": receiver.url, **sync})
        fake.drive(rows - 1)
        daemon.wait_stored(rows)
        return receiver, fake, daemon

    def beekonctl(self, daemon, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([program("beekonctl"), *arguments, "--socket", daemon.socket], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)

    # An endpoint that answers 400 to everything

    def test_a_backlog_is_not_drained_into_dead_letters(self):
        for on_reject in ("drop", "isolate"):
            with self.subTest(on_reject):
                receiver, fake, daemon = self.rejecting(40, batch_size=5, on_reject=on_reject)
                stored = daemon.stored_ids()
                self.reject_all(receiver)
                for _ in range(5):
                    self.assertEqual(daemon.sync()["outcome"], "rejected")
                # Two batches were given up before the third raised suspicion, and are back in the queue; each attempt since
                # was a single request.
                self.assertEqual((daemon.stored_ids(), daemon.rejected_ids()), (stored, set()))
                self.assertEqual(daemon.status()["sync"]["pending"], 40)
                self.assertEqual(daemon.status()["sync"]["rejected"], 0)
                self.assertEqual(len({request.batch_id for request in receiver.requests[-5:]}), 1)
                self.assertIn("back in the queue", daemon.text())
                self.assertEqual(daemon.call("RetryRejected"), {"requeued": 0})
                # The server is fixed.
                self.take_all(receiver)
                self.assertEqual(daemon.sync()["outcome"], "drained")
                self.assertEqual(set(receiver.ids), stored)
                self.assertEqual(self.times_taken(receiver), {1})
                self.assertEqual((daemon.stored_ids(), daemon.rejected_ids()), (set(), set()))
                self.assertEqual(daemon.status()["sync"]["state"], "idle")
                daemon.kill()

    def test_retry_while_the_probe_fails(self):
        """If put back too early, they wait behind the probe like everything else, and nothing more is given up."""
        receiver, fake, daemon = self.rejecting(12, [422, 200, 400, 400], batch_size=3)
        daemon.sync()
        self.assertEqual(len(daemon.rejected_ids()), 9)
        fake.drive(9)
        daemon.wait_stored(21)
        self.reject_all(receiver)
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        # Those that were rejected before the acknowledgement are not suspected, and stay.
        self.assertEqual(len(daemon.rejected_ids()), 3)
        sent = len(receiver.requests)
        self.assertEqual(daemon.call("RetryRejected"), {"requeued": 3})
        receiver.wait_requests(sent + 1)
        daemon.wait_status(lambda status: status["sync"].get("failure") == "rejected", "the suspicion")
        self.assertEqual(daemon.rejected_ids(), set())
        self.assertEqual(daemon.status()["sync"]["pending"], 18)
        self.take_all(receiver)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(self.times_taken(receiver), {1})

    def test_retry_survives_a_kill(self):
        receiver, fake, daemon = self.rejecting(12, [422, 400], batch_size=4)
        daemon.sync()
        dead = daemon.rejected_ids()
        self.assertEqual(len(dead), 8)
        receiver.hold()
        daemon.call("RetryRejected")
        receiver.wait_requests(4)
        daemon.kill()
        receiver.go_on()
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual(len(receiver.ids), 12)
        self.assertTrue(dead <= set(receiver.ids))

    @staticmethod
    def reject_all(receiver):
        receiver.refuse(lambda request: True, 400)

    @staticmethod
    def take_all(receiver):
        receiver.accept_all()

    @staticmethod
    def times_taken(receiver) -> set:
        counts: dict = {}
        for request in receiver.requests:
            if request.outcome == "stored":
                for identity in request.ids:
                    counts[identity] = counts.get(identity, 0) + 1
        return set(counts.values())

    def listed(self, daemon) -> set:
        return {row["location"]["id"] for row in daemon.call("GetRejected")["rejected"]}

    # Poison

    def test_isolation_finds_k_of_n(self):
        """It takes about k · 2 · log2 n more requests than without poison."""
        print(f"\npoison: BEEKOND_SEED={SEED}")
        chance = random.Random(SEED)
        for size, poisoned in ((16, 1), (64, 1), (64, 4), (128, 2), (128, 8)):
            with self.subTest((size, poisoned)):
                receiver, fake, daemon = self.rejecting(size, batch_size=size, on_reject="isolate")
                ids = [row["id"] for row in daemon.call("GetLocations")["locations"]]
                poison = set(chance.sample(ids, poisoned))
                receiver.refuse(lambda request: poison & set(request.ids))
                self.assertEqual(daemon.sync()["outcome"], "rejected")
                extra = len(receiver.requests) - 1
                bound = poisoned * 2 * math.log2(size)
                print(f"poison: {poisoned} of {size} rows found with {extra} more requests, bound {bound:g}")
                self.assertEqual(daemon.rejected_ids(), poison)
                self.assertEqual(set(receiver.ids), set(ids) - poison)
                self.assertLessEqual(extra, bound)
                daemon.kill()

    # The table of dead letters is full

    def fill(self, daemon, count: int):
        """So many dead letters, while the daemon does not run."""
        with contextlib.closing(sqlite3.connect(os.path.join(daemon.state, "beekon.db"))) as database, database:
            database.execute(
                "WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) INSERT INTO rejected "
                '(rejected_at, seq, destination, ts, session, id, lat, lng, mode, "trigger", motion, is_mock, extras, odometer, '
                "batch, http_status) SELECT 4000000000000, 1000000 + n, 'main', 1700000000000, 1, randomblob(16), 1.0, 2.0, 3, "
                "0, 0, 0, 0, 0.0, randomblob(16), 422 FROM numbers", (count,))

    def test_a_full_table_is_named_and_a_purge_lets_the_upload_go_on(self):
        for on_reject in ("drop", "isolate"):
            with self.subTest(on_reject):
                receiver, fake, daemon = self.rejecting(20, batch_size=4, on_reject=on_reject)
                ids = [row["id"] for row in daemon.call("GetLocations")["locations"]]
                poison = set(ids[:4])
                receiver.refuse(lambda request: poison & set(request.ids))
                daemon.terminate()
                self.fill(daemon, 10_000)
                daemon.start()
                for _ in range(5):
                    self.assertEqual(daemon.sync()["outcome"], "rejected")
                status = daemon.status()
                self.assertEqual((status["sync"]["failure"], "sync" in status["degraded"]), ("dead_letters_full", True))
                self.assertIn("table of dead letters is full", status["sync"]["last_error"])
                self.assertIn("beekonctl rejected purge", daemon.text())
                self.assertNotIn("suspected", daemon.text())
                self.assertIn("purge", self.beekonctl(daemon, "status").stdout)
                self.assertEqual(status["sync"]["pending"], 20)
                daemon.call("PurgeRejected")
                # Unasked.
                daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything else delivered")
                self.assertEqual((daemon.rejected_ids(), set(receiver.ids)), (poison, set(ids) - poison))
                daemon.kill()

    # The interface

    def test_list_and_its_limit(self):
        receiver, fake, daemon = self.rejecting(3, [422])
        daemon.sync()
        rows = daemon.call("GetRejected")["rejected"]
        self.assertEqual(len(rows), 3)
        self.assertEqual({row["batch_id"] for row in rows}, {receiver.requests[0].batch_id})
        self.assertEqual({row["http_status"] for row in rows}, {422})
        sent = {row["id"]: row for row in receiver.requests[0].root["locations"]}
        for row in rows:
            location = dict(row["location"])
            self.assertEqual(location.pop("session_id"), receiver.requests[0].root["session_id"])
            self.assertEqual({key: value for key, value in location.items() if value is not None}, sent[location["id"]])
        with self.assertRaises(Refusal):
            daemon.call("GetRejected", extra=1)
        fake.drive(999)
        daemon.wait_stored(1002)
        receiver.answers = [400] * 20
        daemon.configure(sync={"batch_size": 1000})
        daemon.reload()
        wait_for(lambda: len(daemon.rejected_ids()) > 1000, "many dead letters")
        with self.assertRaises(Refusal) as caught:
            daemon.call("GetRejected")
        self.assertEqual(caught.exception.name.rsplit(".")[-1], "TooMany")
        with daemon.connect() as client:
            pages = [page["rejected"] for page in client.stream("GetRejected")]
        self.assertEqual([len(page) for page in pages], [1000, 2])

    def test_purge(self):
        receiver, fake, daemon = self.rejecting(5, [422], batch_size=3)
        daemon.sync()
        self.assertEqual(daemon.call("PurgeRejected"), {"removed": 3})
        self.assertEqual((daemon.rejected_ids(), daemon.status()["sync"]["rejected"]), (set(), 0))
        self.assertIn("PurgeRejected by uid", daemon.text())

    # beekonctl

    def test_beekonctl(self):
        receiver, fake, daemon = self.rejecting(4, [422], batch_size=2)
        daemon.sync()
        listed = self.beekonctl(daemon, "rejected", "list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(len(listed.stdout.splitlines()), 3)
        self.assertIn(" 422 ", listed.stdout)
        for arguments in (("list", "--json"), ("export",)):
            rows = [json.loads(line) for line in self.beekonctl(daemon, "rejected", *arguments).stdout.splitlines()]
            self.assertEqual({row["location"]["id"] for row in rows}, daemon.rejected_ids())
        target = self.path("rejected.csv")
        self.assertEqual(self.beekonctl(daemon, "rejected", "export", "--format", "csv", "-o", target).returncode, 0)
        with open(target, encoding="utf-8") as lines:
            self.assertEqual([len(line.split(",")) for line in lines], [19, 19, 19])
        self.assertEqual(os.stat(target).st_mode & 0o777, 0o600)
        self.assertIn("rejected list", self.beekonctl(daemon, "status").stdout)
        self.assertIn("2 back in the queue", self.beekonctl(daemon, "rejected", "retry").stdout)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything delivered")
        self.assertEqual(len(receiver.ids), 4)
        unasked = self.beekonctl(daemon, "rejected", "purge")
        self.assertEqual((unasked.returncode, "--yes" in unasked.stderr), (64, True))
        self.assertEqual(json.loads(self.beekonctl(daemon, "rejected", "purge", "--yes", "--json").stdout), {"removed": 0})
        self.assertIn("nothing has been rejected", self.beekonctl(daemon, "rejected", "list").stderr)


if __name__ == "__main__":
    unittest.main()
