"""Every way a token endpoint can fail."""
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import AuthTest
from support.token_endpoint import Endpoint
from support.waiting import never


class FailureTests(AuthTest):
    def test_dead_credentials(self):
        """2xx without a token, 3xx, 4xx: refreshing stops, except for one attempt per start and hour."""
        steps: list = [301, 302, 307, 400, 401, 403, 404, 410, 422, ("raw", b""), ("raw", b"{}"), ("raw", b"[1"),
                 ("raw", b'{"access_token":""}'), ("raw", b'{"access_token":5}'), ("raw", b'{"access_token":"a\\nb"}'),
                 ("raw", b'{"access_token":"\xff\xfe"}'), ("raw", b"<html>" + b"x" * 70_000), ("raw", b"[" * 60_000)]
        for step in steps:
            with self.subTest(step if isinstance(step, int) else step[1][:40]):
                endpoint, receiver, fake, daemon = self.guarded(script=[step])
                endpoint.expire()
                self.assertEqual(daemon.sync()["outcome"], "auth")
                state = self.auth(daemon)
                self.assertEqual((state["state"], state["reason"]),
                                 ("dead", "refused" if isinstance(step, int) else "no_token"))
                self.assertEqual(daemon.status()["degraded"], ["auth"])
                self.assertEqual(daemon.sync()["outcome"], "auth")
                self.assertEqual((len(endpoint.requests), len(receiver.requests)), (1, 2))
                self.check_conservation(daemon)
                self.check_secrecy(daemon)
                self.daemons.remove(daemon)
                daemon.kill()

    def test_death_survives_a_restart_and_an_hourly_attempt_revives(self):
        endpoint, receiver, fake, daemon = self.guarded(script=[400])
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "auth")
        self.restart(daemon)
        self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "refused")
        fake.settle()
        self.assertEqual(daemon.sync()["outcome"], "auth")
        never(lambda: len(endpoint.requests) > 1, "an attempt within the hour")

    def test_transient(self):
        """408, 429, 5xx and network errors: rows are kept for later, and the token stays."""
        for step in (408, 429, 500, 502, 503, 504, "close"):
            with self.subTest(step):
                endpoint, receiver, fake, daemon = self.guarded(script=[step])
                endpoint.expire()
                self.assertEqual(daemon.sync()["outcome"], "transient")
                state = self.auth(daemon)
                self.assertEqual((state["failures"], state.get("reason")), (1, None))
                self.assertEqual(daemon.status()["sync"]["pending"], 1)
                daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "uploaded by itself")
                self.assertEqual((len(endpoint.requests), self.auth(daemon)["failures"]), (2, 0))

    def test_retry_after(self):
        endpoint, receiver, fake, daemon = self.guarded(script=[503])
        endpoint.retry_after = 600
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        never(lambda: len(endpoint.requests) > 1, "a refresh before the endpoint wants it", 4)
        # Only the user can override it.
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_breaker(self):
        """After three consecutive failures, refreshing pauses for at least half a minute."""
        endpoint, receiver, fake, daemon = self.guarded(script=[500] * 4)
        endpoint.expire()
        for count in range(1, 4):
            self.assertEqual(daemon.sync()["outcome"], "transient")
            self.assertGreaterEqual(self.auth(daemon)["failures"], count)
        self.assertEqual(self.wait_auth(daemon, "breaker_open")["failures"], len(endpoint.requests))
        self.assertIn("auth", daemon.status()["degraded"])
        count = len(endpoint.requests)
        never(lambda: len(endpoint.requests) > count, "a refresh while the breaker is open", 6)
        while endpoint.script:
            daemon.sync()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(self.auth(daemon)["failures"], 0)

    def test_a_failed_proactive_refresh_does_no_harm(self):
        """While the token is valid, a failed refresh does no harm."""
        endpoint, receiver, fake, daemon = self.guarded(
            script=[500], auth={"expires_at": int(time.time()) + 50, "skew_margin_seconds": 60})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations, [f"Bearer {Endpoint.MARK}access-seed"])

    def test_a_lost_answer(self):
        """The endpoint rotated and its answer was lost: one more attempt, then rotation_interrupted."""
        endpoint, receiver, fake, daemon = self.guarded(script=["lose"])
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "rotation_interrupted")
        self.assertEqual(len(endpoint.requests), 2)

    def test_a_hanging_endpoint(self):
        """SIGTERM ends the daemon in time, and fixes are stored until then."""
        endpoint, receiver, fake, daemon = self.guarded(script=["hold"])
        endpoint.expire()
        daemon.ask_for_sync()
        endpoint.wait_requests(1)
        fake.drive(20)
        daemon.wait_stored(21)
        # What is left of the two seconds that are promised is for the rest of the end.
        self.assertAlmostEqual(daemon.terminate(), 0.9, 2)

    def test_no_redirect_is_followed(self):
        endpoint, receiver, fake, daemon = self.guarded(script=[307])
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "auth")
        self.assertEqual(len(endpoint.requests), 1)

    def test_http_to_another_host_is_refused(self):
        daemon = self.daemon(sync={"url": "https://a.example/"},
                             **{"sync.auth": {"access_token": "x", "refresh_url": "http://b.example/"}}).launch()
        self.assertEqual(daemon.child.wait(), 78)
        self.assertIn("sync.auth.refresh_url", daemon.text())


if __name__ == "__main__":
    unittest.main()
