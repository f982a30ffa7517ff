"""What the body of a 2xx says counts: a page or an error of PHP in the backend's place, a refusal with status 200, and an
answer that cannot be read to its end. The rows stay pending, and arrive in the same batch once the server is fixed."""
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

# What Compass answers (aaronpk/Compass, Api.php, input).
WRONG_TOKEN, NO_TOKEN = b'{"error":"invalid token"}', b'{"error":"no token provided"}'
BAD_INPUT = (b'{"error":"invalid input","error_description":"parameter \\"locations\\" must be an array of GeoJSON data '
             b'with a \\"timestamp\\" property"}')
PHP_ERROR = (b"<br />\n<b>Fatal error</b>:  Uncaught PDOException: SQLSTATE[HY000] [2002] Connection refused in "
             b"/var/www/html/index.php:7\nStack trace:\n#0 {main}\n  thrown in <b>/var/www/html/index.php</b> on line <b>7</b>"
             b"<br />\n")
HTML, JSON = "Content-Type: text/html; charset=UTF-8", "Content-Type: application/json"
LONG = "x" * 70_000


def stored(count: int) -> bytes:
    """Compass, for a batch of so many."""
    return json.dumps({"result": "ok", "saved": count, "trips": 0}, separators=(",", ":")).encode()


class Peer(RawServer):
    """Somebody's server: answers with `body`, or what it makes of the batch. While `takes` is true, it stores what comes."""

    def __init__(self):
        self.body: bytes | Callable[[list], bytes] = b""
        self.headers: tuple = (JSON,)
        self.status, self.takes = 200, False
        # Of each request: whether it was stored, the batch, the records, and the body as it came.
        self.taken: list = []
        super().__init__(self.speak)

    def speak(self, link):
        head = link.head()
        raw = link.body(head)
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.decode().split("\r\n")[1:])}
        root = json.loads(gzip.decompress(raw) if fields.get("content-encoding") == "gzip" else raw)
        records = root.get("locations", root.get("location"))
        self.taken.append((self.takes, root.get("batch_id", fields.get("idempotency-key")), records, raw))
        body = self.body(records) if callable(self.body) else self.body
        link.send("\r\n".join([f"HTTP/1.1 {self.status} So", f"Content-Length: {len(body)}", *self.headers]).encode()
                  + b"\r\n\r\n" + body)

    @staticmethod
    def name(record: dict) -> str:
        known = record.get("properties", record)
        return known.get("id") or known.get("uuid") or known["unique_id"]

    def batches_of(self, installation: str) -> dict:
        found: dict = {}
        for takes, batch, records, _ in list(self.taken):
            for record in records if takes else []:
                found.setdefault(self.name(record), set()).add(batch)
        return found

    @property
    def batches(self) -> set:
        return {batch for _, batch, records, _ in self.taken if records}

    def answer(self, body: bytes | Callable[[list], bytes], *headers: str):
        self.body, self.headers = body, headers or (JSON,)

    def accept(self, body: bytes | Callable[[list], bytes], *headers: str):
        self.answer(body, *headers)
        self.takes = True


class BodyTest(CtlTest):
    ROWS = 4

    def peer(self) -> Peer:
        server = Peer()
        self.addCleanup(server.stop)
        self.receivers.append(server)
        return server

    def asking(self, server: Peer, **sync) -> tuple:
        fake, daemon = self.tracking(sync={"url": server.url, **sync})
        fake.drive(self.ROWS - 1)
        daemon.wait_stored(self.ROWS)
        return server, fake, daemon

    def speaking(self, **sync) -> tuple:
        server = self.peer()
        return self.asking(server, **sync)

    def check_kept(self, daemon, failure: str, said: object = ""):
        """Nothing is believed, and every row is still there."""
        result = daemon.sync()
        self.assertEqual((result["outcome"], result["uploaded"], result["pending"]), ("permanent", 0, self.ROWS), said)
        status = daemon.wait_status(lambda status: status["sync"]["state"] == "failed", "the failure")
        self.assertEqual((status["sync"].get("failure"), status["sync"]["last_http_status"]), (failure, 200), said)
        self.assertEqual(len(daemon.stored_ids()), self.ROWS, said)

    def check_delivered(self, server: Peer, daemon):
        """All of it, in the batch that was kept."""
        result = daemon.sync()
        self.assertEqual((result["outcome"], result["uploaded"], result["pending"]), ("drained", self.ROWS, 0))
        self.assertEqual(daemon.stored_ids(), set())
        self.assertEqual(len(server.batches), 1, "always the same batch")

    def check_believed(self, server: Peer, fake, daemon, answers):
        """Each answer, type included, takes one more location."""
        server.accept(b"")
        daemon.sync()
        for count, (body, *headers) in enumerate(answers, self.ROWS + 1):
            server.accept(body, *headers)
            fake.drive(1)
            daemon.wait_stored(count)
            self.assertEqual(daemon.sync()["outcome"], "drained", body[:40])
            self.assertEqual(daemon.stored_ids(), set())

    def check_log(self, daemon, *words: str):
        wait_for(lambda: all(word in daemon.text() for word in words), f"{words} in the log")

    def configure(self, daemon, **settings):
        daemon.call("Configure", settings={f"sync.{name}": value for name, value in settings.items()})


class OverlandTests(BodyTest):
    def speaking(self, **sync) -> tuple:
        return super().speaking(**{"format": "overland", "device_id": "van1", **sync})

    def test_what_compass_refuses_is_kept(self):
        server, _, daemon = self.speaking()
        for body in (WRONG_TOKEN, NO_TOKEN, BAD_INPUT):
            server.answer(body)
            self.check_kept(daemon, "refused", body)
        self.check_log(daemon, "accept_member")
        self.assertIn("does not say that the batch was taken", " ".join(self.run_ctl(daemon, "status").stdout.split()))
        server.accept(lambda records: stored(len(records)))
        self.check_delivered(server, daemon)

    def test_json_must_be_an_object_that_says_ok(self):
        server, _, daemon = self.speaking()
        for body in (b"{}", b"[]", b'"ok"', b"null", b"1", b'[{"result":"ok"}]', b'{"result":"error"}', b'{"result":"OK"}',
                     b'{"result":["ok"]}', b'{"data":{"result":"ok"}}', b'\xef\xbb\xbf {"result":true}'):
            server.answer(body, "Content-Type: text/plain")
            self.check_kept(daemon, "refused", body)
        server.accept(b'\xef\xbb\xbf {"result" : "o\\u006b"}')
        self.check_delivered(server, daemon)

    def test_an_object_that_cannot_be_read_to_its_end(self):
        server, _, daemon = self.speaking()
        good = stored(self.ROWS)
        for body, *headers in (
                (json.dumps({"result": "ok", "x": LONG}).encode(),), (gzip.compress(good), JSON, "Content-Encoding: gzip"),
                (good[:-1],), (b'{"result":"ok",}',), (b'{"result":"ok","result":"ok"}',), (b'{"result":"error","result":"ok"}',),
                (b'{"result":"ok"}{"error":"x"}',), (b'\n {"result":"ok", error}', "Content-Type: text/plain")):
            server.answer(body, *headers)
            self.check_kept(daemon, "refused", body[:40])
        server.accept(b'{"result":"ok","trip":1,"trip":2}')
        self.check_delivered(server, daemon)

    def test_what_says_nothing_is_believed_with_one_warning(self):
        server, fake, daemon = self.speaking()
        self.check_believed(server, fake, daemon, [
            (body, "Content-Type: text/plain") for body in (b"", b"ok", b"stored {4}", b" \r\n", b"[info] thanks")])
        self.check_log(daemon, "without a word on whether")
        self.assertEqual(daemon.text().count("without a word on whether"), 1)

    def test_a_member_that_is_demanded_must_be_there(self):
        server, _, daemon = self.speaking(accept_member="result")
        for body in (b"", b"ok", b"{}", WRONG_TOKEN, LONG.encode()):
            server.answer(body)
            self.check_kept(daemon, "refused", body[:40])
        server.status = 204
        self.assertEqual(daemon.sync()["outcome"], "permanent")
        server.status = 200
        server.accept(b'{"result":"ok"}')
        self.check_delivered(server, daemon)

    def test_a_server_that_saves_fewer_is_told_of(self):
        server, _, daemon = self.speaking()
        server.accept(lambda records: stored(len(records) - 3))
        self.check_delivered(server, daemon)
        self.check_log(daemon, f"says that it has saved 1 of {self.ROWS} locations")

    def test_other_members_and_values(self):
        server, _, daemon = self.speaking(accept_member="data.0.state", accept_value=["stored", "7"])
        for body in (b'{"result":"ok"}', b'{"data":{"0":{"state":"lost"}}}', b'{"data":[{"state":"7.0"}]}',
                     b'{"data":[{"state":7.0}]}',
                     b'{"data":[{"state":"stored","state":"stored"}]}'):
            server.answer(body)
            self.check_kept(daemon, "refused", body)
        server.accept(b'{"data":[{"state":7},{"state":"lost"}],"result":"error"}')
        self.check_delivered(server, daemon)

    def test_what_was_frozen_goes_out_as_it_was(self):
        server, fake, daemon = self.speaking()
        server.status = 503
        self.assertEqual(daemon.sync()["outcome"], "transient")
        server.status = 200
        self.configure(daemon, unique_id="device", accept_member="result")
        server.accept(b'{"result":"ok"}')
        wait_for(lambda: daemon.sync()["pending"] == 0, "everything uploaded")
        self.assertEqual(len(server.batches), 1)
        self.assertEqual(len({raw for _, _, records, raw in server.taken if records}), 1, "the same bytes")
        fake.drive(1)
        daemon.wait_stored(self.ROWS + 1)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        first, last = (server.taken[at][2][0]["properties"] for at in (0, -1))
        self.assertEqual(first["unique_id"], first["id"])
        self.assertEqual(last["unique_id"], daemon.status()["install_id"])
        self.assertNotEqual(last["id"], last["unique_id"])

    def test_doctor_and_the_test_of_a_destination_judge_alike(self):
        server = self.peer()
        daemon = self.daemon(NOBODY, sync={"url": server.url, "format": "overland"}).start()
        words = ("doctor", "--json", "--config", daemon.config, "--state-dir", daemon.state)

        def examine() -> dict:
            done = self.run_ctl(daemon, *words, code=1)
            return {found["check"]: found for found in json.loads(done.stdout)["findings"]}

        def trial(code: int) -> str:
            return self.run_ctl(daemon, "destination", "test", "main", "--config", daemon.config, code=code).stdout

        server.answer(WRONG_TOKEN)
        self.assertEqual(examine()["endpoint"]["result"], "failed")
        self.assertIn("accept_member", trial(1))
        server.answer(b'{"result":"ok"')
        self.assertIn("cannot be read to its end", examine()["endpoint"]["text"])
        self.assertIn("cannot be read to its end", trial(1))
        server.answer(b"", HTML)
        found = examine()["endpoint"]
        self.assertEqual(found["result"], "skipped")
        self.assertIn('accept_member = "result"', found["remedy"])
        self.assertIn('accept_member = "result"', trial(0))
        server.answer(stored(0))
        found = examine()
        self.assertEqual(found["endpoint"]["result"], "ok")
        self.assertEqual(found["unique_id"]["result"], "skipped")
        self.assertIn('unique_id = "device"', found["unique_id"]["remedy"])
        self.assertIn("main accepts an empty batch (200)", trial(0))
        daemon.configure(sync={"accept_member": "status", "unique_id": "location"})
        daemon.reload()
        found = examine()
        self.assertEqual(found["endpoint"]["result"], "failed")
        self.assertIn("sync.accept_member", json.dumps(found["endpoint"]))
        self.assertNotIn("unique_id", found)
        server.answer(b'{"status":"ok"}')
        self.assertEqual(examine()["endpoint"]["result"], "ok")


class DemandedTests(BodyTest):
    """What any server's answers can be held to."""

    def check_member(self, **format):
        server, _, daemon = self.speaking(accept_member="data.stored", accept_value="true", **format)
        for body, *headers in (
                (b"",), (b"ok",), (b'{"error":true}',), (b'{"data":{"stored":false}}',), (b'{"data":{"stored":[true]}}',),
                (b'{"data":{"stored":true}',), (b'{"data":{"stored":true,"stored":true}}',),
                (json.dumps({"data": {"stored": True}, "x": LONG}).encode(),),
                (gzip.compress(b'{"data":{"stored":true}}'), JSON, "Content-Encoding: gzip")):
            server.answer(body, *headers)
            self.check_kept(daemon, "refused", body[:40])
        server.accept(b'{"data":{"stored":true},"x":1,"x":2}')
        self.check_delivered(server, daemon)

    def test_a_member_of_the_answer(self):
        self.check_member()

    def test_a_member_of_the_answer_to_a_template(self):
        self.check_member(format="template")

    def test_what_ulogger_answers(self):
        server, _, daemon = self.speaking(format="template", accept_member="error", accept_value="false", batch_size=self.ROWS)
        for body in (b'{"error":true,"message":"Missing required parameter"}', b'{"message":"x"}'):
            server.answer(body)
            self.check_kept(daemon, "refused", body)
        server.accept(b'{"error":false}')
        self.check_delivered(server, daemon)

    def test_a_change_of_it_dissolves_nothing(self):
        server, _, daemon = self.speaking(accept_member="stauts")
        server.accept(b'{"status":"done"}')
        self.check_kept(daemon, "refused")
        self.configure(daemon, accept_member="status", accept_value="done")
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len(server.batches), 1)
        self.assertEqual(daemon.setting("sync.accept_value"), ["done"])

    def test_an_unread_answer_dissolves_nothing(self):
        """The backend may have stored the batch: its rows must not go out in another one."""
        server, _, daemon = self.speaking(accept_member="status")
        server.accept(b'{"status":"ok"')
        self.check_kept(daemon, "refused")
        server.body = b'{"status":"ok"}'
        daemon.configure(sync={"batch_size": 2})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len(server.batches), 1, "always the same batch")

    def test_an_acknowledgement_that_is_there_twice(self):
        server, _, daemon = self.speaking(require_ack=True)

        def batch() -> str:
            return server.taken[-1][1]

        server.answer(lambda _: json.dumps({"batch_id": batch()})[:-1].encode() + f',"batch_id":"{batch()}"}}'.encode())
        self.check_kept(daemon, "no_ack")
        server.accept(lambda _: json.dumps({"batch_id": batch()})[:-1].encode() + b',"x":1,"x":2}')
        self.check_delivered(server, daemon)

    def test_without_a_demand_what_cannot_be_read_changes_nothing(self):
        server, fake, daemon = self.speaking()
        self.check_believed(server, fake, daemon, (
            (b"{" + LONG.encode(),), (b"{",), (b'{"a":1,"a":2}',), (gzip.compress(b"no"), JSON, "Content-Encoding: gzip")))


class PageTests(BodyTest):
    def test_pages_with_the_type_of_one(self):
        server, _, daemon = self.speaking()
        for body in (b"<!-- portal --><!DOCTYPE html><p>Log in", b"<?xml version='1.0'?>\n<!DOCTYPE html><html>",
                     b"<head><meta http-equiv=refresh content=0></head>", b"<script>location='/login'</script>",
                     b"\xef\xbb\xbf\r\n<title>Service unavailable</title>", b"<!-- never ends, and OK",
                     "\ufeff<p>Log in".encode("utf-16-le"), "\ufeff \n<!-- x -->\n<p>Log in".encode("utf-16-be")):
            for type in (HTML, "content-type: application/xhtml+xml"):
                server.answer(body, type)
                self.check_kept(daemon, "page", body)
        # Either of two counts.
        for types in ((JSON, HTML), (HTML, JSON)):
            server.answer(b"<p>Log in", *types)
            self.check_kept(daemon, "page", types)
        for body in (b"<!-- portal --> <!DOCTYPE HTML>", b"<?xml version='1.0'?><!-- a --><HTML lang=en>"):
            server.answer(body, "Content-Type: text/plain")
            self.check_kept(daemon, "page", body)
        self.check_log(daemon, "captive portal")
        server.accept(b"OK", HTML)
        self.check_delivered(server, daemon)

    def test_what_is_none(self):
        server, fake, daemon = self.speaking()
        self.check_believed(server, fake, daemon, (
            (b"<!-- by proxy 7 -->\nOK", HTML), (b'\n{"stored":true}', HTML), (b"", HTML), (b"<!-- a -->", HTML),
            (b"<ok/>", "Content-Type: application/xml"), (b"<?xml version='1.0'?><ok/>", "Content-Type: text/xml")))

    def test_an_error_that_php_printed_has_words_of_its_own(self):
        server, _, daemon = self.speaking()
        for headers in ((HTML,), (JSON,), ()):
            server.body, server.headers = PHP_ERROR, headers
            self.check_kept(daemon, "php_error", headers)
        self.check_log(daemon, "PHP printed an error")
        self.assertIn("PHP printed an error", daemon.status()["sync"]["last_error"])
        self.assertIn("display_errors", self.run_ctl(daemon, "status").stdout)
        done = self.run_ctl(daemon, "doctor", "--json", "--config", daemon.config, "--state-dir", daemon.state, code=1)
        found = {found["check"]: found for found in json.loads(done.stdout)["findings"]}["endpoint"]
        self.assertEqual(found["result"], "failed")
        self.assertIn("PHP", found["text"])
        done = self.run_ctl(daemon, "destination", "test", "main", "--config", daemon.config, code=1)
        self.assertIn("display_errors", done.stdout)
        server.accept(b"OK", HTML)
        daemon.sync()
        self.assertEqual(daemon.status()["sync"]["pending"], 0)


if __name__ == "__main__":
    unittest.main()
