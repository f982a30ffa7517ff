"""Attaching and refreshing tokens, with an endpoint whose refresh tokens work once."""
import json
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.auth_test import PAYLOAD, AuthTest
from support.token_endpoint import Endpoint, Guarded
from support.waiting import never, wait_for


class RefreshTests(AuthTest):
    def test_the_seed_is_attached(self):
        endpoint, receiver, fake, daemon = self.guarded()
        self.assertEqual(self.wait_auth(daemon, "valid"), {"state": "valid", "failures": 0})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations, ["Bearer " + Endpoint.MARK + "access-seed"])
        self.assertEqual(endpoint.requests, [])

    def test_raw(self):
        endpoint, receiver, fake, daemon = self.guarded(auth={"strategy": "raw"})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations, [Endpoint.MARK + "access-seed"])

    def test_it_wins_over_a_static_header(self):
        endpoint = Endpoint()
        self.addCleanup(endpoint.stop)
        receiver = Guarded(endpoint).start()
        self.addCleanup(receiver.stop)
        self.receivers.append(receiver)
        fake, daemon = self.followed(
            sync={"url": receiver.url}, **{"sync.headers": {"aUTHORIZATION": "hunter2"}, "sync.auth": endpoint.seed()})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations, ["Bearer " + Endpoint.MARK + "access-seed"])

    def test_reactive(self):
        """401 and 403: one refresh, then the same bytes once more."""
        for refusal in (401, 403):
            with self.subTest(refusal):
                endpoint, receiver, fake, daemon = self.guarded(refusal=refusal)
                endpoint.expire()
                self.assertEqual(daemon.sync()["outcome"], "drained")
                self.assertEqual([call.fields for call in endpoint.requests],
                                 [{**PAYLOAD, "refresh_token": Endpoint.MARK + "refresh-seed"}])
                self.assertEqual(endpoint.requests[0].headers["Authorization"], f"Bearer {Endpoint.MARK}access-seed")
                self.assertEqual(receiver.authorizations[1:], [f"Bearer {Endpoint.MARK}access-1"])
                self.assertEqual(len({request.sha256 for request in receiver.requests}), 1)
                state = self.auth(daemon)
                self.assertEqual(state["state"], "valid")
                self.assertTrue(state["last_refresh"] and state["expires_at"])

    def test_still_refused(self):
        endpoint, receiver, fake, daemon = self.guarded()
        endpoint.accepts = lambda authorization: False
        self.assertEqual(daemon.sync()["outcome"], "auth")
        self.assertEqual((len(endpoint.requests), len(receiver.requests)), (1, 2))
        sync = daemon.status()["sync"]
        self.assertEqual((sync["state"], sync["failure"], sync["last_http_status"]), ("failed", "auth", 401))
        self.assertIn("auth", daemon.status()["degraded"])
        never(lambda: len(receiver.requests) > 2, "another attempt ahead of schedule")
        # The next refusal is allowed its own refresh.
        self.assertEqual(daemon.sync()["outcome"], "auth")
        self.assertEqual((len(endpoint.requests), len(receiver.requests)), (2, 4))

    def test_proactive(self):
        """Refreshes before the first refusal, by the expiry of the seed and of each answer."""
        endpoint, receiver, fake, daemon = self.guarded(
            auth={"expires_at": int(time.time()) + 30, "skew_margin_seconds": 60})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(endpoint.requests), 1)
        self.assertEqual(receiver.authorizations, [f"Bearer {Endpoint.MARK}access-1"])
        fake.drive(1)
        daemon.wait_stored(2)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(endpoint.requests), 1)

    def test_proactive_while_idle(self):
        """A parked vehicle keeps its tokens alive even with nothing to send."""
        endpoint, receiver, fake, daemon = self.guarded()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        daemon.terminate()
        daemon.configure(**{"sync.auth": {"expires_at": int(time.time()) + 5, "skew_margin_seconds": 60}})
        daemon.start()
        daemon.listeners.append(self.listener(daemon))
        # The clock is trusted only if something vouches for it: here, a receiver.
        fake.settle()
        endpoint.wait_requests(1)
        self.wait_auth(daemon, "valid")
        never(lambda: len(endpoint.requests) > 1, "a second refresh")

    def test_a_wrong_clock_does_not_refresh(self):
        """Without a trusted clock an expiry means nothing: only a refusal triggers a refresh."""
        endpoint, receiver, fake, daemon = self.guarded(auth={"expires_at": 1_000_000_000})
        daemon.kill()
        fake.stop()
        self.daemons[0].start()
        daemon.listeners.append(self.listener(daemon))
        self.assertEqual(daemon.first_outcome(), "drained")
        self.assertEqual((len(endpoint.requests), len(receiver.requests)), (0, 1))

    def test_no_access_token(self):
        """Refreshes first; a header that needs the token is left out."""
        endpoint, receiver, fake, daemon = self.guarded(seed=False, auth={"refresh_token": Endpoint.MARK + "only"})
        endpoint.refresh = Endpoint.MARK + "only"
        self.wait_auth(daemon, "expiring")
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(receiver.requests), 1)
        self.assertNotIn("Authorization", endpoint.requests[0].headers)

    def test_client_credentials(self):
        """A payload without placeholders needs no seed at all."""
        endpoint, receiver, fake, daemon = self.guarded(
            seed=False, payload={"grant_type": "client_credentials", "client_secret": "hunter3"}, headers={})
        endpoint.script = [("raw", json.dumps(endpoint.rotate()).encode())]
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(endpoint.requests[0].fields, {"grant_type": "client_credentials", "client_secret": "hunter3"})

    def test_json_and_templates(self):
        odd = 'a&b=c "\\ü'
        endpoint, receiver, fake, daemon = self.guarded(
            auth={"refresh_body_format": "json", "refresh_token": Endpoint.MARK + odd},
            payload={"refresh_token": "{refreshToken}", "both": "<{accessToken}|{refreshToken}|{other}>"},
            headers={"X-Old": "t={accessToken}", "X-None": "plain"})
        endpoint.refresh = Endpoint.MARK + odd
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        call = endpoint.requests[0]
        access = Endpoint.MARK + "access-seed"
        self.assertEqual(call.fields, {"refresh_token": Endpoint.MARK + odd,
                                       "both": f"<{access}|{Endpoint.MARK}{odd}|{{other}}>"})
        self.assertEqual((call.headers["X-Old"], call.headers["X-None"]), (f"t={access}", "plain"))
        self.assertNotIn("Authorization", call.headers)

    def test_form_encodes(self):
        odd = 'a&b=c +%"\\ü'
        endpoint, receiver, fake, daemon = self.guarded(auth={"refresh_token": Endpoint.MARK + odd})
        endpoint.refresh = Endpoint.MARK + odd
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(endpoint.requests[0].fields["refresh_token"], Endpoint.MARK + odd)

    def test_response_mapping(self):
        endpoint, receiver, fake, daemon = self.guarded(
            mapping={"access_token": "data.tokens.a", "refresh_token": "data.tokens.r", "expires_in": "data.ttl"})
        endpoint.shape = lambda answer: {"token": "wrong", "data": {
            "tokens": {"a": answer["access_token"], "r": answer["refresh_token"]}, "ttl": "7200"}}
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        endpoint.expire()
        fake.drive(1)
        daemon.wait_stored(2)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(endpoint.requests[1].fields["refresh_token"], Endpoint.MARK + "refresh-1")

    def test_no_new_refresh_token(self):
        """An answer without a refresh token keeps the old one."""
        endpoint, receiver, fake, daemon = self.guarded()
        endpoint.shape = lambda answer: {"accessToken": answer["access_token"]}
        for count in (1, 2):
            endpoint.expire()
            endpoint.refresh = Endpoint.MARK + "refresh-seed"
            fake.drive(1)
            daemon.wait_stored(count + 1)
            self.assertEqual(daemon.sync()["outcome"], "drained")
            self.assertEqual(len(endpoint.requests), count)

    def test_every_rotation_is_an_event(self):
        endpoint, receiver, fake, daemon = self.guarded()
        listener = self.listener(daemon, ["auth"])
        wait_for(lambda: listener.events and listener.events[-1]["auth"]["state"] == "valid", "the present state")
        endpoint.expire()
        daemon.sync()
        wait_for(lambda: any(event["auth"].get("last_refresh") for event in listener.events), "an event")
        self.assertEqual(daemon.call("GetStatus")["status"]["degraded"], [])

    def test_seed_only(self):
        """Without a refresh token the refusal is reported, the schedule retries, and success clears it."""
        endpoint, receiver, fake, daemon = self.guarded(auth={"refresh_url": ""})
        good = set(endpoint.valid)
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "auth")
        self.assertEqual({key: self.auth(daemon)[key] for key in ("state", "reason")},
                         {"state": "dead", "reason": "no_refresh"})
        endpoint.valid = good
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(self.auth(daemon)["state"], "valid")
        self.assertEqual(endpoint.requests, [])


if __name__ == "__main__":
    unittest.main()
