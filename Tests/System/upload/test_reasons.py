"""What a server says when it refuses: kept with the failure, shown wherever somebody looks, and without secrets."""
import base64
import gzip
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.ports import NOBODY
from support.programs import program
from support.raw_server import RawServer
from support.system_test import SystemTest
from support.waiting import wait_for

DETAIL = 'vehicle "truck-12" is not registered for tenant acme'
PROBLEM = json.dumps({"type": "about:blank", "title": "Unknown vehicle", "status": 422, "detail": DETAIL,
                      "pointer": "/locations/0", "index": 0}).encode()
TYPE = "application/problem+json"


def answer(status: int, body: bytes = b"", kind: str = "application/json", *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Judge:
    """A server that answers each batch as it is told: a function of the ids of its rows, or the bytes of every answer."""

    def __init__(self, test, said):
        self.said = said
        self.batches: list = []
        self.server: RawServer = test.raw_server(self.serve)
        self.url = self.server.url

    def serve(self, link):
        request = link.head()
        body = link.body(request)
        rows = []
        if b"gzip" in request:
            root = json.loads(gzip.decompress(body))
            rows = [row["id"] for row in root["locations"]]
            self.batches.append(rows)
        link.send(self.said(rows) if callable(self.said) else self.said)


class ReasonTests(SystemTest):
    def judged(self, said, rows: int = 3, **sync) -> tuple:
        """A daemon with so many rows pending for a server that refuses, and uploads when it is asked to."""
        judge = Judge(self, said)
        fake, daemon = self.vehicle(rows, {"url": judge.url, "mode": "manual", **sync})
        return judge, fake, daemon

    def vehicle(self, rows: int, sync: dict, **sections) -> tuple:
        fake = self.fake()
        daemon = self.daemon(fake.port, sync=sync, **sections).start()
        daemon.call("Start")
        fake.settle()
        if rows > 1:
            fake.drive(rows - 1)
        daemon.wait_stored(rows)
        return fake, daemon

    def ctl(self, daemon, *words: str, code: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([program("beekonctl"), *words, "--socket", daemon.socket], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, env={**os.environ, "TZ": "UTC"})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    # Rows that are refused for good

    def test_a_sync_whose_rows_are_refused_for_good_says_so(self):
        judge, fake, daemon = self.judged(answer(422, PROBLEM, TYPE))
        done = self.ctl(daemon, "sync", code=65)
        self.assertEqual(done.stdout, "")
        for word in ("3 locations", "422", DETAIL, "beekonctl rejected list"):
            self.assertIn(word, done.stderr)
        fake.drive(2)
        daemon.wait_stored(5)
        told = json.loads(self.ctl(daemon, "sync", "--json", code=65).stdout)
        self.assertEqual((told["outcome"], told["uploaded"], told["pending"], told["rejected"], told["http_status"]),
                         ("rejected", 0, 0, 2, 422))
        self.assertIn(DETAIL, told["reason"])
        # With nothing left to be refused all is well again.
        self.assertEqual(json.loads(self.ctl(daemon, "sync", "--json").stdout)["outcome"], "nothing_pending")

    def test_they_are_told_also_where_the_rest_does_not_go(self):
        def said(rows):
            return answer(422, PROBLEM, TYPE) if len(judge.batches) == 1 else answer(503, b"back at noon", "text/plain")

        judge, fake, daemon = self.judged(said, rows=4, batch_size=2)
        words = self.ctl(daemon, "sync", code=65).stderr
        for word in ("2 locations", "422", DETAIL, "503: back at noon", "2 pending", "beekonctl rejected list"):
            self.assertIn(word, words)
        # What fails for good is worse, and does not hide them either.
        judge.batches.clear()
        judge.said = lambda rows: answer(422 if len(judge.batches) == 1 else 404)
        fake.drive(2)
        daemon.wait_stored(6)
        words = self.ctl(daemon, "sync", code=76).stderr
        for word in ("404", "2 locations were refused for good", "2 pending", "beekonctl rejected list"):
            self.assertIn(word, words)

    def test_those_of_any_destination_are_told(self):
        judge, other = Judge(self, answer(422, PROBLEM, TYPE)), Judge(self, answer(404))
        fake, daemon = self.vehicle(3, {"url": judge.url, "mode": "manual"}, **{
            "destination.other": {"url": other.url, "mode": "manual"}})
        words = self.ctl(daemon, "sync", "--all", code=76).stderr
        for word in ("other", "404", "3 locations were refused for good", "beekonctl rejected list"):
            self.assertIn(word, words)
        fake.drive(2)
        daemon.wait_stored(5)
        other.said = answer(503, b"back at noon", "text/plain")
        words = self.ctl(daemon, "sync", "--all", code=65).stderr
        for word in ("2 locations", "422", DETAIL):
            self.assertIn(word, words)

    def test_it_is_shown_wherever_somebody_looks(self):
        judge, fake, daemon = self.judged(answer(422, PROBLEM, TYPE))
        listener = self.listener(daemon, ["http"])
        wait_for(lambda: daemon.call("GetStatus") and listener, "a subscription")
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        for row in daemon.call("GetRejected")["rejected"]:
            self.assertIn(DETAIL, row["reason"])
            self.assertIn("/locations/0", row["reason"])
        self.assertIn(DETAIL, self.ctl(daemon, "rejected", "list").stdout)
        self.assertIn("truck-12", self.ctl(daemon, "rejected", "export", "--format", "csv").stdout)
        self.assertIn("truck-12", " ".join(self.ctl(daemon, "status").stdout.split()))
        self.assertIn("truck-12", daemon.text())
        wait_for(lambda: any(DETAIL in event.get("http", {}).get("reason", "") for event in listener.events), "the request")
        found = json.loads(self.ctl(daemon, "doctor", "--json", "--config", daemon.config, "--state-dir", daemon.state,
                                    code=1).stdout)["findings"]
        self.assertTrue(any("truck-12" in finding["text"] for finding in found), found)

    def test_it_outlives_a_restart(self):
        judge, fake, daemon = self.judged(answer(422, PROBLEM, TYPE))
        daemon.sync()
        daemon.terminate()
        daemon.start()
        self.assertIn("truck-12", " ".join(self.ctl(daemon, "status").stdout.split()))
        self.assertTrue(all(DETAIL in row["reason"] for row in daemon.call("GetRejected")["rejected"]))

    def test_a_row_that_is_refused_alone_has_its_own(self):
        """The others of its batch are accepted, and nobody else has the reason."""
        poison: list = []

        def said(rows):
            if not poison:
                poison.append(rows[2])
            if poison[0] in rows:
                text = f"row {rows.index(poison[0])} of {len(rows)} has no plate"
                return answer(422, json.dumps({"title": "Bad row", "detail": text}).encode(), TYPE)
            return answer(200)

        judge, fake, daemon = self.judged(said, rows=5, on_reject="isolate")
        self.assertEqual(daemon.sync()["outcome"], "rejected")
        found = daemon.call("GetRejected")["rejected"]
        self.assertEqual([row["location"]["id"] for row in found], poison)
        self.assertIn("row 0 of 1 has no plate", found[0]["reason"])

    def test_a_row_that_is_put_back_gets_the_next_reason(self):
        judge, fake, daemon = self.judged(answer(422, b'{"message": "first"}'))
        daemon.sync()
        judge.said = answer(422, b'{"message": "second"}')
        self.assertEqual(daemon.call("RetryRejected"), {"requeued": 3})
        daemon.sync_until(lambda told: daemon.status()["sync"]["rejected"] == 3, "another refusal")
        self.assertEqual({row["reason"] for row in daemon.call("GetRejected")["rejected"]}, {"second"})

    def test_what_was_refused_before_there_were_reasons_has_none(self):
        judge, fake, daemon = self.judged(answer(422))
        daemon.sync()
        self.assertNotIn("reason", daemon.call("GetRejected")["rejected"][0])
        self.assertIn("3 locations", self.ctl(daemon, "status").stdout)

    # What is read

    def test_what_is_read_of_an_answer(self):
        long = ("word " * 100).encode()
        many = json.dumps({"errors": ["x" * 50] * 1000, "message": "too many"}).encode()
        table = [
            (b'{"message": "no such route"}', "application/json", "no such route"),
            (b'{"error": "no such tenant"}', "text/html", "no such tenant"),
            (b'{"error": {"code": 7, "message": "inner"}}', "application/json", "inner"),
            (b'{"reason": "closed on Sundays"}', "application/json", "closed on Sundays"),
            (b'{"title": "T"}', TYPE, "T"), (b'{"title": "T", "detail": "D."}', TYPE, "T: D."),
            (b'{"detail": "D", "index": 4}', TYPE, "D (index 4)"),
            (b'{"detail": "D", "pointer": "/a/4"}', TYPE, "D (/a/4)"),
            (b"  plain\r\n\twords  ", "text/plain", "plain words"),
            (b"\x1b[31mred\x07 \xe2\x80\xaegnp", "text/plain", "[31mred gnp"),
            (long, "text/plain", ("word " * 100)[:200].strip()),
            (b"<html><head><title>404 Not\n Found</title></head><body>x</body></html>", "text/html", "404 Not Found"),
            (b"<html><body><h1>No\n such tenant</h1></body></html>", "text/html", "No such tenant"),
            (b"<!-- x --><p title='a>b'>Gone<br/>away</p><script>var x = 1;</script>", "text/html", "Gone away"),
            (b"<html></html>", "text/html", None),
            (b'{"error": "invalid_client", "error_description": "unknown vehicle"}', "application/json",
             "invalid_client: unknown vehicle"),
            (b"\xff\xfe\x00\x01", "application/octet-stream", None), (b"", "text/plain", None), (b"{}", "application/json", None),
            (b"[1, 2]", "application/json", None), (many, "application/json", "too many"),
        ]
        judge, fake, daemon = self.judged(answer(404), rows=1)
        for body, kind, expected in table:
            with self.subTest(body[:40]):
                judge.said = answer(404, body, kind)
                daemon.sync_until(lambda told: told["outcome"] == "permanent", "a refusal")
                self.assertEqual(daemon.status()["sync"].get("last_reason"), expected)

    def test_what_is_packed_says_nothing(self):
        body = gzip.compress(b'{"message": "packed"}')
        judge, fake, daemon = self.judged(answer(404, body, "application/json", "Content-Encoding: gzip"), rows=1)
        daemon.sync()
        self.assertNotIn("last_reason", daemon.status()["sync"])

    def test_no_secret_is_kept_with_it(self):
        login = base64.b64encode(b"fleet:pa55-of-the-fleet").decode()
        secrets = ["k3y-in-the-query", login, "pa55-of-the-fleet", "tok3n-of-the-vehicle", "h3ader-of-the-fleet",
                   "long-part-of-the-path-0123456789", "sh0rt"]
        path = "/in/lowercase/sh0rt/long-part-of-the-path-0123456789"

        def said(rows):
            return answer(422, json.dumps({"title": "No", "detail": "you sent " + " and ".join([*secrets, path])}).encode(), TYPE)

        judge = Judge(self, said)
        url = judge.url.removesuffix("/locations") + path + "?key=k3y-in-the-query"
        fake, daemon = self.vehicle(2, {"url": url, "mode": "manual"}, **{
            "sync.headers": {"X-Key": "h3ader-of-the-fleet", "X-Login": f"Basic {login}"},
            "sync.auth": {"access_token": "tok3n-of-the-vehicle"}})
        daemon.sync()
        row = daemon.call("GetRejected")["rejected"][0]
        self.assertIn("No: you sent (set)", row["reason"])
        seen = json.dumps([daemon.status(), row]) + daemon.text() + self.ctl(daemon, "status").stdout
        for suffix in ("", "-wal"):
            path = os.path.join(daemon.state, "beekon.db" + suffix)
            seen += Path(path).read_bytes().decode("latin-1") if os.path.exists(path) else ""
        # A word may stand anywhere, and goes with its path.
        for secret in [*secrets, "lowercase"]:
            self.assertFalse(secret in seen, secret)

    # Words

    def test_a_server_that_answers_503_can_be_reached(self):
        judge, fake, daemon = self.judged(answer(503, b"back at noon", "text/plain"), rows=1)
        words = self.ctl(daemon, "sync", code=75).stderr
        self.assertIn("answered 503: back at noon", words)
        self.assertNotIn("cannot be reached", words)
        self.assertIn("back at noon", daemon.status()["sync"]["last_error"])

    def test_one_that_does_not_answer_cannot(self):
        fake, daemon = self.vehicle(1, {"url": f"http://127.0.0.1:{NOBODY}/x", "mode": "manual"})
        words = self.ctl(daemon, "sync", code=75).stderr
        self.assertIn("cannot be reached", words)
        self.assertRegex(words, "[Cc]onnect")

    def test_a_refusal_for_good_names_number_and_url(self):
        judge, fake, daemon = self.judged(answer(404, b'{"error": "no such tenant"}'), rows=1)
        words = self.ctl(daemon, "sync", code=76).stderr
        for word in ("404", judge.url, "no such tenant", "1 pending"):
            self.assertIn(word, words)
        status = " ".join(self.ctl(daemon, "status").stdout.split())
        self.assertIn("no such tenant", status)
        self.assertIn("no such tenant", daemon.text())


if __name__ == "__main__":
    unittest.main()
