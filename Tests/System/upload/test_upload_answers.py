"""The table of status codes in the real daemon: each code's outcome, the fate of the rows, and the reported status."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.fake_gpsd import from_iso
from support.system_test import SystemTest

ACCEPTED, REJECTED, AUTH, TRANSIENT, PERMANENT = "accepted", "rejected", "auth", "transient", "permanent"

TABLE = [
    *[(code, ACCEPTED) for code in (200, 201, 202, 203, 204, 206, 208, 226, 299)],
    *[(code, PERMANENT) for code in (300, 301, 302, 303, 304, 307, 308)],
    *[(code, REJECTED) for code in (400, 422)],
    *[(code, AUTH) for code in (401, 403)],
    *[(code, PERMANENT) for code in (402, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 417, 418, 421, 423, 424, 425,
                                     426, 428, 431, 451, 499)],
    *[(code, TRANSIENT) for code in (408, 429, 500, 501, 502, 503, 504, 505, 507, 511, 520, 599)],
]
# What `sync` returns, and the state and failure of the upload afterwards.
MEANING = {
    ACCEPTED: ("drained", "idle", None), REJECTED: ("rejected", "idle", None), AUTH: ("auth", "failed", "auth"),
    TRANSIENT: ("transient", "pending", None), PERMANENT: ("permanent", "failed", "permanent"),
}
# In seconds; "none": without the header.
RETRY_AFTER = [
    ("none", 2), ("0", 2), ("90", 90), ("  90\t", 90), ("3600", 3600), ("3601", 3600), ("99999999999999999999", 3600),
    ("-5", 2), ("1.5", 2), ("soon", 2), ("", 2), ("Mon, 15 Jun 2099 12:35:00 GMT", 3600), ("Sun, 06 Nov 1994 08:49:37 GMT", 2),
    ("Mon, 15 Jux 2099 12:35:00 GMT", 2), ("1" * 300, 2), ("\u00ff\u00fe", 2),
]


class AnswerTests(SystemTest):
    def test_every_status(self):
        self.assertGreaterEqual(len(TABLE), 30)
        # A daemon accepts sixty requests before it makes callers wait: each daemon gets a share of the codes.
        for start in range(0, len(TABLE), 20):
            receiver = self.backend()
            fake, daemon = self.tracking(sync={"url": receiver.url})
            daemon.sync()
            for count, (code, meaning) in enumerate(TABLE[start:start + 20]):
                with self.subTest(code):
                    self.check(receiver, fake, daemon, code, meaning, admitted=count + 2)
            self.assertEqual(receiver.faults(), [])
            self.assertEqual(receiver.problems, [])

    def check(self, receiver, fake, daemon, code, meaning, admitted):
        dead, sent = daemon.rejected_ids(), len(receiver.requests)
        fake.drive(1)
        daemon.wait_stored(admitted)
        row = daemon.stored_ids()
        self.assertEqual(len(row), 1)
        receiver.answers = [code]
        outcome, state, failure = MEANING[meaning]
        answer = daemon.sync()
        sync = daemon.status()["sync"]
        self.assertEqual((answer["outcome"], sync["state"], sync.get("failure")), (outcome, state, failure))
        self.assertEqual(sync["last_http_status"], code)
        self.assertEqual(len(receiver.requests), sent + 1, "a redirect is not followed, nothing is tried at once")
        left = daemon.stored_ids()
        self.assertEqual(left, set() if meaning in (ACCEPTED, REJECTED) else row)
        self.assertEqual(daemon.rejected_ids() - dead, row if meaning == REJECTED else set())
        self.assertEqual(sync["rejected"], len(daemon.rejected_ids()))
        word = {AUTH: ["auth"], TRANSIENT: ["sync"], PERMANENT: ["sync"]}.get(meaning, [])
        self.assertEqual(daemon.status()["degraded"], word)
        if meaning in (TRANSIENT, AUTH, PERMANENT):
            self.assertIn(str(code), sync["last_error"])
            self.assertIsNotNone(sync["next_attempt"])
            self.assertEqual(daemon.sync()["outcome"], "drained")
            self.assertEqual(receiver.requests[-1].sha256, receiver.requests[-2].sha256, "the same bytes")
        else:
            self.assertIsNone(sync.get("last_error"))

    def test_retry_after(self):
        for value, seconds in RETRY_AFTER:
            with self.subTest(value):
                header = b"" if value == "none" else b"Retry-After: " + value.encode("latin-1") + b"\r\n"
                server = self.raw_server(b"HTTP/1.1 429 Slow\r\n" + header + b"Content-Length: 0\r\n\r\n")
                fake, daemon = self.tracking(sync={"url": server.url, "sync_threshold": 1})
                status = daemon.wait_status(lambda now: now["sync"].get("last_http_status") == 429, "an answer")
                wait = self.seconds_left(status)
                # Without one that can be read, the first back-off: one to two seconds.
                self.assertTrue(1 <= wait <= 2 if seconds == 2 else wait == seconds, wait)
                daemon.kill()

    @staticmethod
    def seconds_left(status) -> float:
        return (from_iso(status["sync"]["next_attempt"]) - from_iso(status["sync"]["last_attempt"])) / 1000


if __name__ == "__main__":
    unittest.main()
