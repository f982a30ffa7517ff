"""What is uploaded again, and in which batch: after a permanent answer, by sync --rebatch, by resend, and after SIGKILL."""
import contextlib
import os
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.conservation import DatabaseContents
from support.control_client import Refusal
from support.fake_gpsd import iso
from support.places import killed_at, places_of
from support.seeds import sampled
from support.waiting import let_pass, wait_for


class AgainTest(CtlTest):
    def answered(self, *answers, count: int = 6, **sections) -> tuple:
        # After an answer nothing is tried again soon: the tests ask for each attempt.
        receiver = self.backend(answers=answers, retry_after=3600)
        sync = {"url": receiver.url, "batch_size": 6, **sections.pop("sync", {})}
        fake, daemon = self.tracking(sync=sync, **sections)
        fake.drive(count - 1)
        daemon.wait_stored(count)
        return receiver, fake, daemon

    def wait_uploading(self, daemon):
        """What the uploader shows, because the receiver may know of a request before that."""
        daemon.wait_status(lambda status: status["sync"]["state"] == "uploading", "a request in flight")

    def drain(self, daemon):
        """Even if one of the daemon's own attempts came first."""
        daemon.sync_until(lambda answer: answer["pending"] == 0, "everything is uploaded")


class LatestAnswerTests(AgainTest):
    def change(self, daemon, **sync):
        """Restarts it with other settings, after which it makes one attempt at once."""
        daemon.configure(sync=sync)
        daemon.terminate()
        daemon.start()

    def test_a_stale_permanent_answer_dissolves_nothing(self):
        # Refused, then stored, but the acknowledgement is lost.
        receiver, fake, daemon = self.answered(404, "drop")
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.change(daemon, batch_size=2)
        self.drain(daemon)
        self.assertEqual(receiver.faults(), [])
        self.assertEqual(receiver.problems, [])
        self.assertEqual(len({request.sha256 for request in receiver.requests}), 1)

    def test_nor_if_the_daemon_was_killed_during_the_attempt(self):
        receiver, fake, daemon = self.answered(404)
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        receiver.hold()
        daemon.ask_for_sync()
        receiver.wait_requests(2)
        self.wait_uploading(daemon)
        daemon.kill()
        receiver.go_on()
        daemon.configure(sync={"batch_size": 2})
        daemon.start()
        self.drain(daemon)
        self.assertEqual([len(request.ids) for request in receiver.requests], [6] * len(receiver.requests))
        self.assertEqual(receiver.faults(), [])

    def test_removing_the_url_during_a_sync(self):
        receiver, fake, daemon = self.answered()
        receiver.hold()
        with daemon.connect(timeout=60) as asker:
            asker.send("Sync", {"wait": True})
            receiver.wait_requests(1)
            self.wait_uploading(daemon)
            daemon.call("Configure", settings={"sync.url": ""})
            self.assertEqual(asker.receive(), {"outcome": "disabled", "uploaded": 0, "pending": 6})
        receiver.go_on()
        daemon.call("ResetConfig", keys=["sync.url"])
        self.drain(daemon)
        self.assertEqual(receiver.faults(), [])

    def test_the_latest_permanent_answer_dissolves_the_batch(self):
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

    def test_only_after_three_failures_due_to_size(self):
        receiver, fake, daemon = self.answered(413, 413, 503, 413, 413, *[408] * 50)
        self.assertIn("no batch", self.refusal(daemon))
        for count in (1, 2, 0, 1, 2):
            daemon.sync()
            daemon.wait_status(lambda status, count=count: status["sync"].get("oversized_failures", 0) == count,
                               f"{count} failures in a row")
            self.assertIn(f" {count} times", self.refusal(daemon))
        self.assertNotIn("--rebatch", daemon.text())
        # The count survives restarts.
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        daemon.wait_status(lambda status: status["sync"]["oversized_failures"] >= 3, "three failures in a row")
        wait_for(lambda: "sync --rebatch" in daemon.text(), "advice in the log")
        # The screen breaks its lines.
        self.assertIn("sync --rebatch", " ".join(self.run_ctl(daemon, "status").stdout.split()))
        receiver.answers = []
        daemon.call("Configure", settings={"sync.batch_size": 2})
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "it is accepted at last")
        self.assertEqual(receiver.faults(), [])

    def test_rebatch(self):
        receiver, fake, daemon = self.answered(413, 413, 413, 413)
        old = [daemon.sync() for _ in range(3)]
        self.assertEqual({answer["outcome"] for answer in old}, {"permanent"})
        with daemon.noting("Rebatch"):
            done = self.run_ctl(daemon, "sync", "--rebatch", code=76)
        self.assertIn("may arrive twice", done.stderr)
        wait_for(lambda: "may arrive twice" in daemon.text(), "a warning in the log")
        self.assertEqual(len({request.batch_id for request in receiver.requests}), 2)
        self.assertEqual(receiver.requests[0].ids, receiver.requests[3].ids, "with the same ids")
        # The count of the new batch starts from zero.
        done = self.run_ctl(daemon, "sync", "--rebatch", code=65)
        self.assertIn("1 times in a row", done.stderr)
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_a_timeout_after_bytes_were_sent_counts(self):
        receiver, fake, daemon = self.answered(sync={"timeout_seconds": 1})
        receiver.hold()
        daemon.sync_until(lambda answer: daemon.status()["sync"].get("oversized_failures", 0) >= 3, "three timeouts", 60)
        daemon.call("Configure", settings={"sync.batch_size": 2})
        # Even while that batch is in flight again.
        self.wait_uploading(daemon)
        batch = daemon.call("Rebatch")
        self.assertEqual(batch["rows"], 6)
        receiver.go_on()
        self.drain(daemon)
        self.assertEqual(daemon.stored_ids(), set())
        self.assertEqual({len(request.ids) for request in receiver.requests if request.batch_id != batch["batch_id"]}, {2})
        daemon.wait_status(lambda status: "oversized_failures" not in status["sync"], "no failures are counted")

    def test_a_closed_connection_does_not_count(self):
        receiver, fake, daemon = self.answered(*["close"] * 50)
        for _ in range(3):
            self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertIn(" 0 times", self.refusal(daemon))
        receiver.answers = []
        self.drain(daemon)


class ResendTests(AgainTest):
    def times(self, daemon) -> dict:
        return {row["timestamp"]: row["id"] for row in daemon.call("GetLocations")["locations"]}

    def test_kept_rows_are_sent_again_with_their_ids(self):
        receiver, fake, daemon = self.answered(store={"keep_uploaded": True})
        self.assertEqual(daemon.sync()["uploaded"], 6)
        times = self.times(daemon)
        moments = sorted(times)
        with daemon.noting("Resend"):
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

    def test_the_rest_of_the_queue_is_not_disturbed(self):
        """A batch that waits for its answer stays as it is, and what is queued again does not join it."""
        receiver, fake, daemon = self.answered(store={"keep_uploaded": True})
        daemon.sync()
        first = receiver.requests[0].ids
        fake.drive(4)
        daemon.wait_stored(10)
        receiver.answers = ["drop"] + [503] * 20
        self.assertEqual(daemon.sync()["outcome"], "transient")
        frozen = receiver.requests[1]
        self.assertEqual(daemon.call("Resend", **{"from": iso(0)})["requeued"], 6)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 10, "ten rows are pending")
        daemon.kill()
        receiver.answers = []
        daemon.start()
        self.drain(daemon)
        self.assertEqual({request.sha256 for request in receiver.requests if request.batch_id == frozen.batch_id},
                         {frozen.sha256})
        known = (frozen.batch_id, receiver.requests[0].batch_id)
        new = [request for request in receiver.requests if request.batch_id not in known]
        self.assertEqual([identity for request in new if request.status == 200 for identity in request.ids], first)

    def test_without_kept_rows_it_names_the_setting_that_keeps_them(self):
        receiver, fake, daemon = self.answered()
        daemon.sync()
        self.assertIn("keep_uploaded", self.run_ctl(daemon, "resend", "--from", "-7d").stdout)
        for parameters in ({}, {"from": "soon"}, {"from": iso(0), "until": iso(1)}):
            self.assertRaises(Refusal, daemon.call, "Resend", **parameters)


class KillTests(AgainTest):
    def test_sigkill_around_an_attempt_a_resend_and_a_rebatch(self):
        """Whatever is interrupted: each row is in one place, and in the end the backend has all of them."""
        dice = random.Random(sampled("kills around attempts"))
        receiver, fake, daemon = self.answered(count=12, sync={"batch_size": 4}, store={"keep_uploaded": True})

        def work(asked):
            fake.drive(2)
            with daemon.connect() as link:
                for method, parameters in asked:
                    with contextlib.suppress(Refusal):
                        link.call(method, **parameters)
            let_pass(1)

        places = places_of(daemon, lambda: work((("Sync", {"wait": False}), ("Resend", {"from": iso(0)}), ("Rebatch", {}))))
        # In the account of this, as below.
        daemon.ledger.resent |= set(DatabaseContents(daemon).counts)
        self.note_dissolved(daemon, receiver)
        for _ in range(12):
            receiver.delay = dice.choice((0, 0, 0.01, 0.03))
            receiver.answers = [dice.choice((413, 404, "drop", "close", 200)) for _ in range(3)]
            known = len(daemon.stored_ids())
            asked = [dice.choice((("Sync", {"wait": False}), ("Resend", {"from": iso(0)}), ("Rebatch", {}),
                                  ("Configure", {"settings": {"sync.batch_size": dice.choice((3, 4, 5))}})))
                     for _ in range(4)]
            with killed_at(daemon, dice.randint(1, places)):
                while daemon.is_running:
                    work(asked)
            self.assertGreaterEqual(len(daemon.stored_ids()), known, "kept, or pending: never gone")
            if "Resend" in dict(asked):
                # Answered or not, it may have been carried out.
                daemon.ledger.resent |= set(DatabaseContents(daemon).counts)
            self.note_dissolved(daemon, receiver)
            daemon.start()
            daemon.call("Start")
            fake.settle()
        receiver.delay, receiver.answers = 0, []
        # No more rows from here on.
        daemon.call("Stop")
        self.drain(daemon)
        self.note_dissolved(daemon, receiver)
        self.assertEqual(set(receiver.ids), daemon.stored_ids())
        rows = daemon.query("SELECT COUNT(*), COUNT(DISTINCT id), SUM(uploaded) FROM locations")[0]
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0], rows[2])
        damaged = [name for name in os.listdir(daemon.state) if "corrupt" in name]
        self.assertEqual(damaged, [])

    def note_dissolved(self, daemon, receiver):
        """Enters into the account the batches that had a right to be dissolved, and were: those whose latest answer was
        permanent, and those that an administrator may give up because of their size."""
        frozen = DatabaseContents(daemon).frozen
        answers: dict = {}
        for request in list(receiver.requests):
            answers.setdefault(request.batch_id, []).append(request.status)
        daemon.ledger.dissolved |= {batch for batch, found in answers.items() if batch not in frozen
                                    and (found[-1] in (404, 413) or found.count(413) >= 3)}


if __name__ == "__main__":
    unittest.main()
