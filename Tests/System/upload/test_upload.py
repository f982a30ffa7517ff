"""The effect of every answer of the backend on the real daemon."""
import email.utils
import itertools
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.daemon import NEVER
from support.fake_gpsd import from_iso
from support.ports import new_port
from support.upload_test import UploadTest
from support.waiting import never


class UploadTests(UploadTest):
    # Accepted

    def test_every_2xx_accepts(self):
        for code in (200, 201, 202, 204):
            with self.subTest(code):
                receiver, fake, daemon = self.uploading([code] * 3, sync={"batch_size": 2})
                fake.drive(4)
                daemon.wait_stored(5)
                stored = daemon.stored_ids()
                answer = daemon.sync()
                self.assertEqual(answer, {"outcome": "drained", "uploaded": 5, "pending": 0})
                self.assertEqual([len(request.ids) for request in receiver.requests], [2, 2, 1])
                self.assertEqual(set(receiver.ids), stored)
                self.assertEqual(daemon.stored_ids(), set())
                sync = daemon.status()["sync"]
                self.assertEqual((sync["state"], sync["pending"], sync["uploaded"]), ("idle", 0, 5))
                self.assertEqual(sync["bytes_sent"], sum(request.bytes for request in receiver.requests))
                self.assertIsNotNone(sync["last_success"])
                self.check_clean(receiver)

    def test_the_rows_are_on_the_wire_as_stored(self):
        receiver, fake, daemon = self.uploading(sync={"platform": "ios"})
        fake.drive(1, speed=None, track=None, eph=None, epx=3.0, epy=4.0)
        fake.drive(1, mode=2, altHAE=80.0, status=8)
        daemon.wait_stored(3)
        locations = {row["id"]: row for row in daemon.call("GetLocations")["locations"]}
        daemon.sync()
        rows = receiver.requests[0].root["locations"]
        for row in rows:
            known = dict(locations[row["id"]])
            known.pop("session_id")
            self.assertEqual(row, {key: value for key, value in known.items() if value is not None})
        self.assertEqual(rows[1]["accuracy"], 5)
        self.assertNotIn("speed", rows[1])
        self.assertNotIn("bearing", rows[1])
        self.assertNotIn("altitude", rows[2])
        self.assertEqual([row["is_mock"] for row in rows], [False, False, True])
        self.assertEqual(receiver.requests[0].root["device"]["platform"], "ios")
        self.check_clean(receiver)

    def test_keep_uploaded(self):
        receiver = self.backend()
        fake, daemon = self.tracking(sync={"url": receiver.url}, store={"keep_uploaded": True})
        daemon.sync()
        self.assertEqual(daemon.stored_ids(), set(receiver.ids))
        self.assertEqual(daemon.sync()["outcome"], "nothing_pending")
        self.assertEqual(daemon.status()["sync"]["pending"], 0)

    def test_nothing_pending_sends_nothing(self):
        receiver = self.backend()
        daemon = self.daemon(sync={"url": receiver.url}).start()
        self.assertEqual(daemon.sync(), {"outcome": "nothing_pending", "uploaded": 0, "pending": 0})
        self.assertEqual(receiver.requests, [])

    def test_one_batch_holds_one_session(self):
        receiver, fake, daemon = self.uploading(["close"])
        daemon.call("Stop")
        receiver.wait_requests(1)
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(2)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        sessions = [request.root["session_id"] for request in receiver.requests]
        self.assertEqual((sessions[0] == sessions[1], sessions[1] == sessions[2]), (True, False))
        self.check_clean(receiver)

    # Rejected

    def test_rejections_become_suspicion_and_their_rows_come_back(self):
        receiver, fake, daemon = self.uploading([400, 422, *[400] * 9], sync={"batch_size": 2})
        fake.drive(9)
        daemon.wait_stored(10)
        answer = daemon.sync()
        self.assertEqual(answer["outcome"], "rejected")
        requests = list(receiver.requests)
        self.assertEqual(len(requests), 3)
        # Two rejections were blamed on the batches; the third in a row is blamed on the endpoint, for the other two as well.
        self.assertEqual((answer["pending"], len(daemon.stored_ids()), daemon.rejected_ids()), (10, 10, set()))
        self.assertEqual(daemon.status()["sync"]["rejected"], 0)
        self.check_failed(daemon, "rejected", 400)
        # The probe is the frozen batch alone.
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        self.assertEqual([request.batch_id for request in receiver.requests[3:]], [requests[2].batch_id])
        # The suspicion survives a restart.
        daemon.kill()
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "rejected")
        probes = [request.batch_id for request in receiver.requests[4:]]
        # Ours, after that of the daemon's own attempt if there was one.
        self.assertIn(probes, ([requests[2].batch_id], [requests[2].batch_id] * 2))
        self.assertEqual(daemon.rejected_ids(), set())
        receiver.answers.clear()
        # Until one is accepted: then everything drains, what came back in new batches.
        self.assertEqual(daemon.sync(), {"outcome": "drained", "uploaded": 10, "pending": 0})
        self.assertEqual(daemon.rejected_ids(), set())
        self.assertEqual((len(receiver.ids), len(set(receiver.ids))), (10, 10))
        self.assertEqual((receiver.faults(receiver.requests[2:]), receiver.problems), ([], []))

    def test_an_accepted_batch_ends_the_count_of_rejections(self):
        receiver, fake, daemon = self.uploading([400, 400, 200, 400, 400], sync={"batch_size": 1})
        fake.drive(5)
        daemon.wait_stored(6)
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        self.assertEqual(len(daemon.rejected_ids()), 4)
        self.assertEqual(len(receiver.ids), 2)

    def test_isolate_finds_the_poison_row(self):
        receiver, fake, daemon = self.uploading(sync={"on_reject": "isolate", "batch_size": 8})
        fake.drive(7)
        daemon.wait_stored(8)
        poison = daemon.call("GetLocations")["locations"][5]["id"]
        self.reject_batches_with(receiver, poison)
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        self.assertEqual(daemon.rejected_ids(), {poison})
        self.assertEqual(len(receiver.ids), 7)
        self.assertEqual(receiver.problems, [])

    @staticmethod
    def reject_batches_with(receiver, poison: str):
        receiver.refuse(lambda request: poison in request.ids)

    # Failures that waiting alone does not fix

    def test_401_and_403_wait_for_the_schedule(self):
        self.check_waits_for_the_schedule(401, "auth")
        self.check_waits_for_the_schedule(403, "auth")

    def test_404_413_and_redirects_wait_for_the_schedule(self):
        for code in (404, 413, 301, 307, 410):
            with self.subTest(code):
                self.check_waits_for_the_schedule(code, "permanent")

    def check_waits_for_the_schedule(self, code: int, outcome: str):
        receiver, fake, daemon = self.uploading([code, code], sync={"sync_threshold": 2})
        fake.drive(1)
        first = receiver.wait_requests(1)[0]
        daemon.wait_status(lambda status: status["sync"]["state"] == "failed", "a failure")
        self.check_failed(daemon, outcome, code)
        fake.drive(5)
        daemon.wait_stored(7)
        never(lambda: len(receiver.requests) > 1, "a retry ahead of schedule")
        answer = daemon.sync()
        self.assertEqual((answer["outcome"], answer["uploaded"], answer["pending"]), (outcome, 0, 7))
        self.assertEqual([request.sha256 for request in receiver.requests], [first.sha256] * 2)
        # Once the server is fixed, everything drains.
        self.assertEqual(daemon.sync(), {"outcome": "drained", "uploaded": 7, "pending": 0})
        self.assertEqual(daemon.status()["sync"]["state"], "idle")
        # The receiver has said nothing for a minute.
        self.assertEqual(daemon.status()["degraded"], ["source"])
        self.check_clean(receiver)

    def test_a_permanent_batch_is_dissolved_when_the_batch_size_changes(self):
        receiver, fake, daemon = self.uploading([413], sync={"batch_size": 4})
        fake.drive(3)
        daemon.wait_stored(4)
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        daemon.terminate()
        daemon.configure(sync={"batch_size": 2})
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual([len(request.ids) for request in receiver.requests], [4, 2, 2])
        self.assertEqual(len({request.batch_id for request in receiver.requests}), 3)
        self.assertEqual(receiver.requests[0].ids, receiver.requests[1].ids + receiver.requests[2].ids)
        self.assertEqual(receiver.problems, [])

    # Transient failures

    def test_transient_failures_back_off_and_repeat_the_same_bytes(self):
        receiver, fake, daemon = self.uploading([503, 500, 200])
        self.assertEqual(daemon.sync()["outcome"], "transient")
        status = daemon.status()
        self.assertEqual((status["sync"]["state"], status["sync"]["last_http_status"]), ("pending", 503))
        self.assertIsNotNone(status["sync"]["next_attempt"])
        # New rows trigger nothing during the back-off.
        fake.drive(2)
        receiver.wait_requests(3)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        gaps = [second - first for first, second in itertools.pairwise(receiver.moments[:3])]
        # Uniform in [1, 2], then in [2, 4].
        self.assertTrue(1 <= gaps[0] <= 2 and 2 <= gaps[1] <= 4, gaps)
        self.assertEqual(len({request.sha256 for request in receiver.requests[:3]}), 1)
        self.assertEqual(daemon.status()["sync"]["retries"], 2)
        self.check_clean(receiver)

    def test_every_transient_answer(self):
        for code in (408, 429, 500, 502, 503, 504, "close", "drop"):
            with self.subTest(code):
                receiver, fake, daemon = self.uploading([code])
                self.assertEqual(daemon.sync()["outcome"], "transient")
                self.assertEqual(len(daemon.stored_ids()), 1)
                # The command does not wait for the back-off to end.
                self.assertEqual(daemon.sync()["outcome"], "drained")
                self.assertEqual(receiver.requests[0].sha256, receiver.requests[1].sha256)
                self.assertEqual(receiver.requests[1].duplicate, code == "drop")
                self.check_clean(receiver)

    def test_dropped_acknowledgement_repeats_by_itself(self):
        receiver, fake, daemon = self.uploading(["drop"], sync={"sync_threshold": 1})
        fake.drive(1)
        receiver.wait_requests(2)
        first, second = receiver.requests[:2]
        self.assertEqual((first.batch_id, first.sha256), (second.batch_id, second.sha256))
        self.assertTrue(second.duplicate)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.check_clean(receiver)

    def test_retry_after(self):
        receiver, fake, daemon = self.uploading([429], retry_after="4", sync={"sync_threshold": 1})
        receiver.wait_requests(1)
        # Neither new rows nor a stop override what the server asked for.
        fake.drive(3)
        daemon.call("Stop")
        receiver.wait_requests(2)
        gap = receiver.moments[1] - receiver.moments[0]
        self.assertTrue(4 <= gap <= 7, gap)

    def test_retry_after_as_a_date(self):
        # Whole seconds of a clock that follows the receiver: one second of slack for each.
        date, due = email.utils.formatdate(time.time() + 6, usegmt=True), time.monotonic() + 6
        receiver, fake, daemon = self.uploading([503], retry_after=date, sync={"sync_threshold": 1})
        receiver.wait_requests(2)
        late = receiver.moments[1] - due
        self.assertTrue(-2 <= late <= 0.5, late)

    def test_sync_overrides_retry_after(self):
        receiver, fake, daemon = self.uploading([503], retry_after=600)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.moments[1], receiver.moments[0])

    def test_a_retry_after_beyond_an_hour_counts_as_an_hour(self):
        receiver, fake, daemon = self.uploading([503], retry_after=NEVER)
        self.assertEqual(daemon.sync()["outcome"], "transient")
        wait = from_iso(daemon.status()["sync"]["next_attempt"]) / 1000 - time.time()
        self.assertAlmostEqual(wait, 3600, 1)

    def test_connection_refused(self):
        port = new_port()
        fake, daemon = self.tracking(sync={"url": f"http://127.0.0.1:{port}/locations"})
        answer = daemon.sync()
        self.assertEqual((answer["outcome"], answer["pending"]), ("transient", 1))
        sync = daemon.status()["sync"]
        self.assertIsNone(sync.get("last_http_status"))
        self.assertTrue(sync["last_error"])
        receiver = self.backend(port=port)
        receiver.wait_requests(1)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")

    def test_an_answer_cut_short_acknowledges_nothing(self):
        """A 200 with incomplete headers or body is no acknowledgement."""
        for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", b"HTTP/1.1 200 OK\r\nContent-Le",
                       b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", b"nonsense\r\n\r\n", b""):
            with self.subTest(answer):
                server = self.raw_server(answer)
                fake, daemon = self.tracking(sync={"url": server.url})
                self.assertEqual(daemon.sync()["outcome"], "transient")
                self.assertEqual(len(daemon.stored_ids()), 1)

    def test_an_answer_in_parts_acknowledges(self):
        """Chunks with trailers, an interim response, and a body ended by closing the connection."""
        for answer in (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"HTTP/1.0 200 OK\n\n",
        ):
            with self.subTest(answer):
                server = self.raw_server(answer)
                fake, daemon = self.tracking(sync={"url": server.url})
                self.assertEqual(daemon.sync()["outcome"], "drained")
                self.assertEqual(len(server.requests), 1)

    def test_a_body_beyond_64_kib_is_not_read_to_its_end(self):
        server = self.raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 200_000, closes=False)
        fake, daemon = self.tracking(sync={"url": server.url})
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_a_server_that_hangs_ends_with_the_timeout(self):
        receiver, fake, daemon = self.uploading(sync={"timeout_seconds": 1})
        receiver.hold()
        began = time.monotonic()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertAlmostEqual(time.monotonic() - began, 1, 2)
        # Fixes are stored as usual, then and afterwards.
        fake.drive(3)
        daemon.wait_stored(4)


if __name__ == "__main__":
    unittest.main()
