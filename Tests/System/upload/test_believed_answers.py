"""A 2xx is not acceptance if a web page answers in place of the backend, or if the required acknowledgement is missing."""
import gzip
import json
import sys
import unittest
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.beekonctl import CtlTest
from support.ports import NOBODY
from support.raw_server import RawServer
from support.waiting import wait_for

PAGE = b"\xef\xbb\xbf\r\n  <!DOCTYPE HTML><title>Log in to the network</title>"


def answer(body: bytes, status: int = 200, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Speaker(RawServer):
    """Answers with `body`, or with its result for the batch. While `takes` is true, it stores what it receives."""

    def __init__(self):
        self.body: bytes | Callable[[dict], bytes] = PAGE
        self.takes, self.status = False, 200
        self.headers: tuple = ()
        self.taken: list = []
        super().__init__(self.speak)

    def speak(self, link):
        root = json.loads(gzip.decompress(link.request()))
        self.taken.append((self.takes, root))
        body = self.body(root) if callable(self.body) else self.body
        link.send(answer(body, self.status, *self.headers))

    def batches_of(self, installation: str) -> dict:
        found: dict = {}
        for takes, root in list(self.taken):
            for row in root["locations"] if takes and root["device"]["install_id"] == installation else []:
                found.setdefault(row["id"], set()).add(root["batch_id"])
        return found

    def accept(self):
        self.body, self.takes, self.status = b"stored", True, 200


class BelievedAnswerTests(CtlTest):
    def speaker(self) -> Speaker:
        server = Speaker()
        self.addCleanup(server.stop)
        self.receivers.append(server)
        return server

    def speaking(self, count: int = 4, **sync) -> tuple:
        server = self.speaker()
        fake, daemon = self.tracking(sync={"url": server.url, **sync})
        fake.drive(count - 1)
        daemon.wait_stored(count)
        return server, fake, daemon

    def check_doubted(self, daemon, failure: str, rows: int):
        """A permanent failure that is reported, and every row is still there."""
        result = daemon.sync()
        self.assertEqual((result["outcome"], result["uploaded"], result["pending"]), ("permanent", 0, rows))
        status = daemon.wait_status(lambda status: status["sync"]["state"] == "failed" and status["degraded"], "the failure")
        self.assertEqual((status["sync"].get("failure"), status["sync"]["last_http_status"]), (failure, 200))
        self.assertEqual(status["degraded"], ["sync"])
        self.assertEqual(len(daemon.stored_ids()), rows)

    def test_a_page_deletes_nothing(self):
        server, fake, daemon = self.speaking()
        self.check_doubted(daemon, "page", 4)
        wait_for(lambda: "captive portal" in daemon.text(), "advice in the log")
        self.assertIn("captive portal", self.run_ctl(daemon, "status").stdout)
        # The body decides, not its type; the type counts only if the body cannot be read.
        server.headers = ("Content-Type: application/json",)
        self.check_doubted(daemon, "page", 4)
        server.body, server.headers = gzip.compress(PAGE), ("Content-Type: text/html", "Content-Encoding: gzip")
        self.check_doubted(daemon, "page", 4)
        # PHP calls everything text/html.
        server.headers = ("Content-Type: text/html; charset=UTF-8",)
        server.accept()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len({root["batch_id"] for _, root in server.taken}), 1, "always the same batch")
        daemon.wait_status(lambda status: not status["degraded"], "no longer degraded")

    def test_a_batch_answered_by_a_page_is_dissolved_for_another_url(self):
        server, fake, daemon = self.speaking()
        self.check_doubted(daemon, "page", 4)
        other = self.speaker()
        other.accept()
        daemon.configure(sync={"url": other.url, "batch_size": 2})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual([len(root["locations"]) for _, root in other.taken], [2, 2])

    def test_an_acknowledgement_is_required(self):
        server, fake, daemon = self.speaking(require_ack=True)
        # One that names another batch is no answer at all: test_stray_answers.py.
        for body in (b"", b"ok", b"{}", b'{"batch_id":"of another kind"}',
                     lambda root: json.dumps([{"batch_id": root["batch_id"]}]).encode(),
                     lambda root: json.dumps({"batch_id": root["batch_id"]}).encode()[:-1]):
            server.body = body
            self.check_doubted(daemon, "no_ack", 4)
        wait_for(lambda: "sync.require_ack" in daemon.text(), "the setting in the log")
        server.body = PAGE
        self.check_doubted(daemon, "page", 4)
        server.takes, server.body = True, lambda root: json.dumps({"ok": 1, "batch_id": root["batch_id"].upper()}).encode()
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_a_waiting_batch_is_accepted_once_none_is_required(self):
        server, fake, daemon = self.speaking(require_ack=True)
        server.body = b"ok"
        self.check_doubted(daemon, "no_ack", 4)
        server.accept()
        daemon.call("Configure", settings={"sync.require_ack": False})
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")

    def test_an_unacknowledged_batch_is_not_dissolved(self):
        """The backend may have stored it: its rows must not go out in another batch."""
        server, fake, daemon = self.speaking(require_ack=True)
        server.body, server.takes = b"ok", True
        self.check_doubted(daemon, "no_ack", 4)
        server.body = lambda root: json.dumps({"batch_id": root["batch_id"]}).encode()
        daemon.configure(sync={"batch_size": 2})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len({root["batch_id"] for _, root in server.taken}), 1, "always the same batch")

    def test_the_probe_of_a_suspected_endpoint(self):
        """A page does not end the suspicion, and moves nothing."""
        server, fake, daemon = self.speaking(6, batch_size=1)
        server.status, server.body = 400, b"no"
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        dead, asked = daemon.rejected_ids(), len(server.taken)
        self.assertEqual(asked, 3)
        server.status, server.body = 200, PAGE
        result = daemon.sync()
        self.assertEqual((result["outcome"], result["uploaded"]), ("permanent", 0))
        self.assertEqual(len(server.taken), asked + 1)
        # Still suspected: one more rejection moves nothing.
        server.status, server.body = 400, b"no"
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        self.assertEqual(daemon.rejected_ids(), dead)
        server.accept()
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_the_pieces_of_an_isolation(self):
        server, fake, daemon = self.speaking(4, on_reject="isolate")
        replies = iter([(400, b"no"), (200, PAGE)])

        def speak(root):
            server.status, body = next(replies)
            return body

        server.body = speak
        result = daemon.sync()
        self.assertEqual((result["outcome"], result["uploaded"], result["pending"]), ("permanent", 0, 4))
        self.assertEqual(len(server.taken), 2)
        self.assertEqual(len(server.taken[1][1]["locations"]), 2, "a piece")
        server.accept()
        self.assertEqual(daemon.sync()["uploaded"], 4)

    def test_doctor_does_not_accept_a_page(self):
        server = self.speaker()
        daemon = self.daemon(NOBODY, sync={"url": server.url}).start()
        words = ("doctor", "--json", "--config", daemon.config, "--state-dir", daemon.state)

        def endpoint() -> dict:
            done = self.run_ctl(daemon, *words, code=1)
            return {found["check"]: found for found in json.loads(done.stdout)["findings"]}["endpoint"]

        found = endpoint()
        self.assertEqual(found["result"], "failed")
        self.assertIn("captive portal", json.dumps(found))
        server.body = b"ok"
        self.assertEqual(endpoint()["result"], "ok")
        daemon.configure(sync={"require_ack": True})
        found = endpoint()
        self.assertEqual(found["result"], "failed")
        self.assertIn("require_ack", json.dumps(found))
        server.body = lambda root: json.dumps({"batch_id": root["batch_id"]}).encode()
        self.assertEqual(endpoint()["result"], "ok")


if __name__ == "__main__":
    unittest.main()
