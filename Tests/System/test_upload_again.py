"""What goes out once more, and as what: after a permanent answer, by sync --rebatch, by resend; and through SIGKILL."""
import os
import random
import unittest

from ctl import CtlTest
from fakegpsd import iso
from harness import Refusal

SEED = int(os.environ.get("BEEKOND_SEED") or random.randrange(1 << 32))


class AgainTest(CtlTest):
    def answered(self, *answers, count: int = 6, **sections) -> tuple:
        # Nothing is tried again by itself after an answer: the tests ask for each attempt.
        receiver = self.backend(answers=answers, retry_after=3600)
        sync = {"url": receiver.url, "batch_size": 6, **sections.pop("sync", {})}
        fake, daemon = self.tracking(sync=sync, **sections)
        fake.drive(count - 1)
        daemon.wait_stored(count)
        return receiver, fake, daemon

    def drain(self, daemon):
        """Also where an attempt of the daemon's own has come first."""
        daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")


class LatestAnswerTests(AgainTest):
    def change(self, daemon, **sync):
        """Other settings, which make one attempt at once."""
        daemon.configure(sync=sync)
        daemon.terminate()
        daemon.start()

    def test_a_stale_permanent_answer_dissolves_nothing(self):
        # Refused, then stored with its acknowledgement lost.
        receiver, fake, daemon = self.answered(404, "drop")
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.change(daemon, batch_size=2)
        self.drain(daemon)
        self.assertEqual(receiver.faults(), [])
        self.assertEqual(receiver.problems, [])
        self.assertEqual(len({request.sha256 for request in receiver.requests}), 1)

    def test_nor_when_the_daemon_was_killed_within_the_attempt(self):
        receiver, fake, daemon = self.answered(404)
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        receiver.hold()
        daemon.ask_for_sync()
        receiver.wait_requests(2)
        daemon.kill()
        receiver.go_on()
        daemon.configure(sync={"batch_size": 2})
        daemon.start()
        self.drain(daemon)
        self.assertEqual([len(request.ids) for request in receiver.requests], [6] * len(receiver.requests))
        self.assertEqual(receiver.faults(), [])

    def test_a_sync_whose_url_is_taken_away(self):
        receiver, fake, daemon = self.answered()
        receiver.hold()
        with daemon.connect(timeout=60) as asker:
            asker.send("Sync", {"wait": True})
            receiver.wait_requests(1)
            daemon.call("Configure", settings={"sync.url": ""})
            self.assertEqual(asker.receive(), {"outcome": "disabled", "uploaded": 0, "pending": 6})
        receiver.go_on()
        daemon.call("ResetConfig", keys=["sync.url"])
        self.drain(daemon)
        self.assertEqual(receiver.faults(), [])

    def test_the_latest_permanent_answer_does(self):
        receiver, fake, daemon = self.answered(404, 503, 404)
        self.assertEqual([daemon.sync()["outcome"] for _ in range(3)], ["permanent", "transient", "permanent"])
        self.change(daemon, batch_size=3)
        self.drain(daemon)
        self.assertEqual([len(request.ids) for request in receiver.requests], [6, 6, 6, 3, 3])


class RebatchTests(AgainTest):
    def refusal(self, daemon) -> str:
        with self.assertRaises(Refusal) as caught:
            daemon.call("Rebatch")
        self.assertEqual(caught.exception.name, "RebatchRefused")
        return caught.exception.parameters["reason"]

    def test_only_after_three_failures_for_its_size(self):
        receiver, fake, daemon = self.answered(413, 413, 503, 413, 413, *[408] * 50)
        self.assertIn("no batch", self.refusal(daemon))
        for count in (1, 2, 0, 1, 2):
            daemon.sync()
            self.assertEqual(daemon.status()["sync"].get("oversized_failures", 0), count)
            self.assertIn(f" {count} times", self.refusal(daemon))
        self.assertNotIn("--rebatch", daemon.text())
        # The count is over restarts.
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertGreaterEqual(daemon.status()["sync"]["oversized_failures"], 3)
        self.assertIn("sync --rebatch", daemon.text())
        self.assertIn("sync --rebatch", self.run_ctl(daemon, "status").stdout)
        receiver.answers = []
        daemon.call("Configure", settings={"sync.batch_size": 2})
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "it got through after all")
        self.assertEqual(receiver.faults(), [])

    def test_rebatch(self):
        receiver, fake, daemon = self.answered(413, 413, 413, 413)
        old = [daemon.sync() for _ in range(3)]
        self.assertEqual({answer["outcome"] for answer in old}, {"permanent"})
        daemon.ledger.has_dissolved = True
        done = self.run_ctl(daemon, "sync", "--rebatch", code=76)
        self.assertIn("may arrive twice", done.stderr)
        self.assertIn("may arrive twice", daemon.text())
        self.assertEqual(len({request.batch_id for request in receiver.requests}), 2)
        self.assertEqual(receiver.requests[0].ids, receiver.requests[3].ids, "under their own ids")
        # Another batch begins anew.
        done = self.run_ctl(daemon, "sync", "--rebatch", code=65)
        self.assertIn("1 times in a row", done.stderr)
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_a_time_out_after_bytes_were_sent_counts(self):
        receiver, fake, daemon = self.answered(sync={"timeout_seconds": 1})
        receiver.hold()
        daemon.sync_until(lambda answer: daemon.status()["sync"].get("oversized_failures", 0) >= 3, "three time-outs", 60)
        daemon.call("Configure", settings={"sync.batch_size": 2})
        # Also while that batch is on its way once more.
        daemon.wait_status(lambda status: status["sync"]["state"] == "uploading", "another attempt")
        batch = daemon.call("Rebatch")
        self.assertEqual(batch["rows"], 6)
        receiver.go_on()
        self.drain(daemon)
        self.assertEqual(daemon.stored_ids(), set())
        self.assertEqual({len(request.ids) for request in receiver.requests if request.batch_id != batch["batch_id"]}, {2})
        self.assertNotIn("oversized_failures", daemon.status()["sync"])

    def test_a_connection_that_is_closed_does_not(self):
        receiver, fake, daemon = self.answered(*["close"] * 50)
        for _ in range(3):
            self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertIn(" 0 times", self.refusal(daemon))
        receiver.answers = []
        self.drain(daemon)


class ResendTests(AgainTest):
    def times(self, daemon) -> dict:
        return {row["timestamp"]: row["id"] for row in daemon.call("GetLocations")["locations"]}

    def test_kept_rows_go_again_under_their_ids(self):
        receiver, fake, daemon = self.answered(store={"keep_uploaded": True})
        self.assertEqual(daemon.sync()["uploaded"], 6)
        times = self.times(daemon)
        moments = sorted(times)
        daemon.ledger.has_dissolved = True
        done = self.run_ctl(daemon, "resend", "--from", moments[1], "--to", moments[3])
        self.assertIn("3 back in the queue", done.stdout)
        receiver.wait_requests(2)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        again = receiver.requests[1]
        self.assertEqual(again.ids, [times[moment] for moment in moments[1:4]])
        self.assertNotEqual(again.batch_id, receiver.requests[0].batch_id)
        self.assertEqual(len(daemon.stored_ids()), 6)
        self.assertEqual(daemon.call("Resend", **{"from": iso(0), "to": iso(1)})["requeued"], 0)
        self.assertEqual(daemon.call("Resend", **{"from": iso(0)})["requeued"], 6)
        receiver.wait_requests(3)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(self.times(daemon), times)

    def test_nothing_else_of_the_queue_is_disturbed(self):
        """A batch that waits for its answer stays as it is, and what comes back does not join it."""
        receiver, fake, daemon = self.answered(store={"keep_uploaded": True})
        daemon.sync()
        first = receiver.requests[0].ids
        fake.drive(4)
        daemon.wait_stored(10)
        receiver.answers = ["drop"] + [503] * 20
        self.assertEqual(daemon.sync()["outcome"], "transient")
        frozen = receiver.requests[1]
        self.assertEqual(daemon.call("Resend", **{"from": iso(0)})["requeued"], 6)
        self.assertEqual(daemon.status()["sync"]["pending"], 10)
        daemon.kill()
        receiver.answers = []
        daemon.start()
        self.drain(daemon)
        self.assertEqual({request.sha256 for request in receiver.requests if request.batch_id == frozen.batch_id},
                         {frozen.sha256})
        new = [request for request in receiver.requests if request.batch_id not in (frozen.batch_id, receiver.requests[0].batch_id)]
        self.assertEqual([identity for request in new if request.status == 200 for identity in request.ids], first)

    def test_without_kept_rows_it_says_what_would_keep_them(self):
        receiver, fake, daemon = self.answered()
        daemon.sync()
        self.assertIn("keep_uploaded", self.run_ctl(daemon, "resend", "--from", "-7d").stdout)
        for parameters in ({}, {"from": "soon"}, {"from": iso(0), "until": iso(1)}):
            self.assertRaises(Refusal, daemon.call, "Resend", **parameters)


class KillTests(AgainTest):
    def test_sigkill_around_an_attempt_a_resend_and_a_rebatch(self):
        """Whatever is cut: each row in one place, and all of them at the backend in the end."""
        dice = random.Random(SEED)
        print(f"kills around attempts: seed {SEED}")
        receiver, fake, daemon = self.answered(count=12, sync={"batch_size": 4}, store={"keep_uploaded": True})
        daemon.ledger.has_dissolved = True
        for _ in range(12):
            receiver.delay = dice.choice((0, 0, 0.01, 0.03))
            receiver.answers = [dice.choice((413, 404, "drop", "close", 200)) for _ in range(3)]
            fake.drive(2)
            known = len(daemon.stored_ids())
            link = daemon.connect()
            for _ in range(4):
                link.send(*dice.choice((("Sync", {"wait": False}), ("Resend", {"from": iso(0)}), ("Rebatch", {}),
                                        ("Configure", {"settings": {"sync.batch_size": dice.choice((3, 4, 5))}}))))
            moment = dice.choice((0, 1, 2, 3))
            for _ in range(moment):
                try:
                    link.receive()
                except Refusal:
                    pass
            daemon.kill()
            self.assertGreaterEqual(len(daemon.stored_ids()), known, "kept, or pending: never gone")
            daemon.start()
            daemon.call("Start")
            fake.settle()
        receiver.delay, receiver.answers = 0, []
        # From here on no row comes any more.
        daemon.call("Stop")
        self.drain(daemon)
        self.assertEqual(set(receiver.ids), daemon.stored_ids())
        rows = daemon.query("SELECT COUNT(*), COUNT(DISTINCT id), SUM(uploaded) FROM locations")[0]
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0], rows[2])
        damaged = [name for name in os.listdir(daemon.state) if "corrupt" in name]
        self.assertEqual(damaged, [])


if __name__ == "__main__":
    unittest.main()
