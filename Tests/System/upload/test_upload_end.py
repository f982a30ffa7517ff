"""SIGTERM and new configurations in every phase of an upload: it ends at once, nothing is lost, no batch changes its bytes."""
import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import itertools

from support.daemon import NEVER
from support.ports import new_port
from support.system_test import SystemTest
from support.tls import Authority, needs_openssl
from support.waiting import never, wait_for


class EndTests(SystemTest):
    def uploading(self, url: str, **sync) -> tuple:
        fake, daemon = self.tracking(sync={"url": url, **sync})
        fake.drive(2)
        daemon.wait_stored(3)
        daemon.ask_for_sync()
        return fake, daemon

    def check_end(self, daemon, receiver=None):
        """It ends at once; afterwards everything is uploaded, under the frozen batch id."""
        rows, frozen = daemon.stored_ids(), daemon.query("SELECT hex(id) FROM batches")
        self.assertEqual(len(rows), 3)
        self.assertEqual(daemon.terminate(), 0)
        self.assertEqual(daemon.stored_ids(), rows)
        self.assertEqual(daemon.query("SELECT hex(id) FROM batches"), frozen)
        receiver = receiver or self.backend()
        daemon.configure(sync={"url": receiver.url, "interval_seconds": NEVER})
        daemon.start()
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual(set(receiver.ids), rows)
        self.assertEqual({request.batch_id.replace("-", "").upper() for request in receiver.requests}, {row[0] for row in frozen})

    def wait_uploading(self, daemon):
        daemon.wait_status(lambda status: status["sync"]["state"] == "uploading", "a request in flight")

    def test_a_url_that_is_taken_away_is_no_success(self):
        receiver = self.backend(answers=[404])
        _, daemon = self.uploading(receiver.url)
        daemon.wait_status(lambda status: status["sync"]["state"] == "failed", "the refusal")
        receiver.hold()
        daemon.ask_for_sync()
        receiver.wait_requests(2)
        daemon.configure(sync={"url": ""})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["state"] == "disabled", "nothing is uploaded")
        self.assertEqual(daemon.status()["sync"]["pending"], 3)
        self.assertNotIn("uploading works again", daemon.text())

    def test_while_connecting(self):
        listener = socket.socket()
        self.addCleanup(listener.close)
        listener.bind(("127.0.0.1", new_port()))
        listener.listen(0)
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            self.addCleanup(filler.close)
        fake, daemon = self.uploading(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        self.wait_uploading(daemon)
        self.check_end(daemon)

    @needs_openssl
    def test_in_the_handshake(self):
        authority = Authority(self.folder())
        server = self.raw_server(lambda link: link.drain())
        fake, daemon = self.uploading(f"https://127.0.0.1:{server.port}/", ca_file=authority.ca)
        wait_for(lambda: server.links, "a connection")
        self.check_end(daemon)

    def test_while_sending(self):
        """A server that does not read: the little that is sent waits in the kernel's buffers."""
        gone = []

        def never_reads(link):
            link.head()
            gone.append(1)
            never(lambda: False, "", 5)

        server = self.raw_server(never_reads)
        fake, daemon = self.uploading(server.url)
        wait_for(lambda: gone, "the headers")
        self.check_end(daemon)

    def test_while_waiting_for_the_answer(self):
        receiver = self.backend()
        receiver.hold()
        fake, daemon = self.uploading(receiver.url)
        receiver.wait_requests(1)
        receiver.go_on()
        self.check_end(daemon, receiver)
        self.assertEqual(len({request.sha256 for request in receiver.requests}), 1)

    def test_within_the_answer(self):
        server = self.raw_server(
            lambda link: (link.request(), link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), link.drain()))
        fake, daemon = self.uploading(server.url)
        wait_for(lambda: server.requests, "a request")
        self.check_end(daemon)

    def test_in_back_off(self):
        for retry_after in (None, 0, 600):
            with self.subTest(retry_after):
                receiver = self.backend(answers=[503] * 4, retry_after=retry_after)
                fake, daemon = self.uploading(receiver.url)
                receiver.wait_requests(2 if retry_after == 0 else 1)
                wait_for(lambda: daemon.status()["sync"]["state"] == "pending", "back-off")
                receiver.answers = []
                self.check_end(daemon, receiver)

    def test_retry_after_0_does_not_hammer(self):
        receiver = self.backend(answers=[503] * 50, retry_after=0)
        fake, daemon = self.tracking(sync={"url": receiver.url, "sync_threshold": 1})
        receiver.wait_requests(3)
        gaps = [second - first for first, second in itertools.pairwise(receiver.moments)]
        self.assertTrue(1 <= gaps[0] <= 2 and 2 <= gaps[1] <= 4, gaps)


class ReconfigurationTests(SystemTest):
    def held(self, **sync) -> tuple:
        """A daemon in the middle of an unanswered request."""
        receiver = self.backend()
        receiver.hold()
        fake, daemon = self.tracking(sync={"url": receiver.url, "batch_size": 3, **sync})
        fake.drive(6)
        daemon.wait_stored(7)
        daemon.ask_for_sync()
        first = receiver.wait_requests(1)[0]
        self.assertEqual(len(first.ids), 3)
        return fake, daemon, receiver, first

    def test_another_url_during_a_request(self):
        fake, daemon, old, first = self.held()
        new = self.backend()
        daemon.configure(sync={"url": new.url})
        daemon.reload()
        # At once, and the frozen batch first: the old server may have stored it.
        new.wait_requests(3)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual((new.requests[0].batch_id, new.requests[0].sha256), (first.batch_id, first.sha256))
        self.assertEqual([len(request.ids) for request in new.requests], [3, 3, 1])
        self.assertEqual(len(old.requests), 1)
        self.assertTrue(daemon.child.running)

    def test_another_batch_size_during_a_request(self):
        fake, daemon, receiver, first = self.held()
        receiver.go_on()
        daemon.configure(sync={"batch_size": 2})
        daemon.reload()
        receiver.wait_requests(4)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual([len(request.ids) for request in receiver.requests], [3, 3, 2, 2])
        self.assertEqual(receiver.requests[1].sha256, first.sha256)
        self.assertEqual(receiver.faults(), [])

    def test_removing_the_url_during_a_request(self):
        fake, daemon, receiver, first = self.held()
        receiver.go_on()
        daemon.configure(sync={"url": ""})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["state"] == "disabled", "disabled")
        never(lambda: len(receiver.requests) > 1, "a request without a url")
        self.assertEqual(len(daemon.stored_ids()), 7)
        daemon.configure(sync={"url": receiver.url})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(receiver.requests[1].sha256, first.sha256)

    def test_something_else_during_a_request(self):
        """An unrelated change leaves the request alone."""
        fake, daemon, receiver, first = self.held()
        daemon.configure(tracking={"angle_degrees": 30})
        daemon.reload()
        wait_for(lambda: daemon.setting("tracking.angle_degrees") == 30, "the new setting")
        never(lambda: len(receiver.requests) > 1, "another request", 40)
        self.assertEqual(daemon.status()["sync"]["in_flight_batch"], first.batch_id)

    def test_a_permanent_failure_does_not_hammer(self):
        """Neither new rows nor stops, starts or reloads without a change retry ahead of schedule."""
        receiver = self.backend(answers=[404] * 50)
        fake, daemon = self.tracking(sync={"url": receiver.url, "sync_threshold": 1})
        receiver.wait_requests(1)
        for _ in range(3):
            fake.drive(3)
            daemon.call("Stop")
            daemon.reload()
            daemon.call("Start")
            fake.settle()
        never(lambda: len(receiver.requests) > 1, "an attempt ahead of schedule")
        self.assertEqual(daemon.status()["sync"]["failure"], "permanent")
        # A change in [sync] triggers one attempt at once.
        daemon.configure(sync={"timeout_seconds": 30})
        daemon.reload()
        receiver.wait_requests(2)
        never(lambda: len(receiver.requests) > 2, "another attempt")


if __name__ == "__main__":
    unittest.main()
