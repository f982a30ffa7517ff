"""Tokens: attached, refreshed, kept, lost and given anew, against an endpoint whose refresh tokens work once."""
import json
import os
import signal
import subprocess
import time
import unittest

from harness import Refusal, SystemTest, never, program, wait_for
from tokens import Endpoint, Guarded

PAYLOAD = {"grant_type": "refresh_token", "refresh_token": "{refreshToken}"}


class AuthTest(SystemTest):
    """Ends every test with two laws: no fix is lost or there twice, and no token can be read anywhere."""

    def setUp(self):
        super().setUp()
        self.daemons: list = []
        self.receivers: list = []

    def tearDown(self):
        for daemon in self.daemons:
            self.check_conservation(daemon)
            self.check_secrecy(daemon)
        super().tearDown()

    def guarded(self, script=(), seed=True, refusal=401, lifetime=3600, auth=None, sync=None, payload=None, headers=None,
                mapping=None, retry_after=None, **options) -> tuple:
        """An endpoint, a backend that wants its tokens, a fake gpsd, and a daemon with one fix pending."""
        endpoint = Endpoint(script=script, lifetime=lifetime)
        endpoint.retry_after = retry_after
        self.addCleanup(endpoint.stop)
        receiver = Guarded(endpoint, refusal, **options).start()
        self.addCleanup(receiver.stop)
        self.receivers.append(receiver)
        sections = {"sync": {"url": receiver.url, **(sync or {})},
                    "sync.auth": {**(endpoint.seed() if seed else {}), "refresh_url": endpoint.url, **(auth or {})},
                    "sync.auth.refresh_payload": PAYLOAD if payload is None else payload}
        if headers is not None:
            sections["sync.auth.refresh_headers"] = headers
        if mapping:
            sections["sync.auth.response_mapping"] = mapping
        fake, daemon = self.followed(**sections)
        return endpoint, receiver, fake, daemon

    def followed(self, **sections) -> tuple:
        fake = self.fake()
        daemon = self.daemon(fake.port, **sections).start()
        self.daemons.append(daemon)
        daemon.listeners = [self.listener(daemon)]
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return fake, daemon

    def restart(self, daemon, kill=True):
        daemon.kill() if kill else daemon.terminate()
        daemon.start()
        daemon.listeners.append(self.listener(daemon))

    def auth(self, daemon) -> dict:
        return daemon.status()["auth"]

    def wait_auth(self, daemon, state: str) -> dict:
        return daemon.wait_status(lambda status: status["auth"]["state"] == state, f"token {state}")["auth"]

    def check_conservation(self, daemon):
        """stored = received ∪ pending ∪ dead-lettered, each exactly once"""
        stored = set().union(*(listener.ids for listener in daemon.listeners))
        received = set().union(*(receiver.ids for receiver in self.receivers))
        kept, dead = daemon.stored_ids(), daemon.rejected_ids()
        self.assertTrue(stored)
        self.assertLessEqual(stored, received | kept | dead)
        self.assertFalse(received & dead or kept & dead)
        for receiver in self.receivers:
            self.assertEqual(receiver.faults(), [])
            self.assertEqual(receiver.problems, [])

    def check_secrecy(self, daemon):
        texts = {"log": daemon.text()}
        if daemon.child.running:
            for method in ("GetStatus", "GetConfig"):
                texts[method] = json.dumps(daemon.call(method))
        texts["events"] = json.dumps([listener.events for listener in daemon.listeners])
        for parent, _, names in os.walk(daemon.state):
            for name in names:
                with open(os.path.join(parent, name), "rb") as file:
                    texts[name] = file.read().decode("latin-1")
        for name, text in texts.items():
            self.assertFalse(Endpoint.MARK in text, f"a token can be read in {name}")
            # Secret headers are in the copy of the last good configuration, which needs them.
            self.assertFalse("hunter" in text and name != "last-good.toml", f"a secret can be read in {name}")


class RefreshTests(AuthTest):
    def test_the_seed_is_attached(self):
        endpoint, receiver, fake, daemon = self.guarded()
        self.assertEqual(self.auth(daemon), {"state": "valid", "failures": 0})
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
        """401 and 403: refreshed once, sent once more, with the same bytes."""
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
        never(lambda: len(receiver.requests) > 2, "another attempt before the schedule")
        # The next one has a refresh of its own.
        self.assertEqual(daemon.sync()["outcome"], "auth")
        self.assertEqual((len(endpoint.requests), len(receiver.requests)), (2, 4))

    def test_proactive(self):
        """Before the first refusal, by the seed's expiry and by each answer's."""
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
        """A parked vehicle keeps its tokens alive though there is nothing to send."""
        endpoint, receiver, fake, daemon = self.guarded()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        daemon.terminate()
        daemon.configure(**{"sync.auth": {"expires_at": int(time.time()) + 5, "skew_margin_seconds": 60}})
        daemon.start()
        daemon.listeners.append(self.listener(daemon))
        # The clock is only believed when something vouches for it: here a receiver.
        fake.settle()
        endpoint.wait_requests(1)
        self.wait_auth(daemon, "valid")
        never(lambda: len(endpoint.requests) > 1, "a second refresh")

    def test_a_wrong_clock_does_not_refresh(self):
        """No clock can be trusted: an expiry means nothing, and the refusal decides."""
        if clock_is_synchronised():
            self.skipTest("this machine's clock is synchronised")
        endpoint, receiver, fake, daemon = self.guarded(auth={"expires_at": 1_000_000_000})
        daemon.kill()
        fake.stop()
        self.daemons[0].start()
        daemon.listeners.append(self.listener(daemon))
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual((len(endpoint.requests), len(receiver.requests)), (0, 1))

    def test_no_access_token(self):
        """Refresh first; a header that wants the token is left out."""
        endpoint, receiver, fake, daemon = self.guarded(seed=False, auth={"refresh_token": Endpoint.MARK + "only"})
        endpoint.refresh = Endpoint.MARK + "only"
        self.assertEqual(self.auth(daemon)["state"], "expiring")
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
        """The old one stays."""
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
        wait_for(lambda: listener.events, "the present state")
        self.assertEqual([event["auth"]["state"] for event in listener.events], ["valid"])
        endpoint.expire()
        daemon.sync()
        wait_for(lambda: any(event["auth"].get("last_refresh") for event in listener.events), "an event")
        self.assertEqual(daemon.call("GetStatus")["status"]["degraded"], [])

    def test_seed_only(self):
        """Nothing to refresh with: the refusal is told, the schedule tries again, and success ends it."""
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


class FailureTests(AuthTest):
    def test_dead_credentials(self):
        """2xx without a token, 3xx, 4xx: no more refreshing, but for one attempt a start and an hour."""
        steps = [301, 302, 307, 400, 401, 403, 404, 410, 422, ("raw", b""), ("raw", b"{}"), ("raw", b"[1"),
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

    def test_an_edited_seed_revives(self):
        for change in ("token", "seed_epoch"):
            with self.subTest(change):
                endpoint, receiver, fake, daemon = self.guarded(script=[400])
                endpoint.expire()
                self.assertEqual(daemon.sync()["outcome"], "auth")
                count = len(receiver.requests)
                if change == "token":
                    endpoint.valid.add(Endpoint.MARK + "new")
                    daemon.configure(**{"sync.auth": {"access_token": Endpoint.MARK + "new"}})
                else:
                    endpoint.valid.add(Endpoint.MARK + "access-seed")
                    daemon.configure(**{"sync.auth": {"seed_epoch": 3}})
                daemon.reload()
                # At once, without being asked.
                receiver.wait_requests(count + 1)
                daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
                self.assertEqual(self.auth(daemon)["state"], "valid")

    def test_the_seed_is_adopted_once(self):
        """After a restart the rotated pair goes on, not the seed."""
        endpoint, receiver, fake, daemon = self.guarded()
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        for kill in (True, False):
            self.restart(daemon, kill)
            fake.settle()
            daemon.wait_stored(1)
            self.assertEqual(daemon.sync()["outcome"], "drained")
            self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-1")
        self.assertEqual(len(endpoint.requests), 1)

    def test_transient(self):
        """408, 429, 5xx and the network: rows kept, later again; the token stays what it was."""
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
        # Only the user overrides it.
        self.assertEqual(daemon.sync()["outcome"], "drained")

    def test_breaker(self):
        """Three failures in a row, and refreshing rests for half a minute at least."""
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

    def test_a_proactive_failure_stops_nothing(self):
        """While the token is good, its refresh may fail."""
        endpoint, receiver, fake, daemon = self.guarded(
            script=[500], auth={"expires_at": int(time.time()) + 50, "skew_margin_seconds": 60})
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations, [f"Bearer {Endpoint.MARK}access-seed"])

    def test_a_lost_answer(self):
        """The endpoint has rotated and its answer was lost: one more attempt, then rotation_interrupted."""
        endpoint, receiver, fake, daemon = self.guarded(script=["lose"])
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "rotation_interrupted")
        self.assertEqual(len(endpoint.requests), 2)

    def test_a_hanging_endpoint(self):
        """SIGTERM ends the daemon in time; fixes are stored meanwhile."""
        endpoint, receiver, fake, daemon = self.guarded(script=["hold"])
        endpoint.expire()
        daemon.ask_for_sync()
        endpoint.wait_requests(1)
        fake.drive(20)
        daemon.wait_stored(21)
        self.assertLess(daemon.terminate(), 2.5)

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


class SeedTests(AuthTest):
    def seed(self, daemon, *words: str, stdin: str = "", code: int = 0):
        done = subprocess.run(
            [program("beekonctl"), "auth", "seed", *words, "--socket", daemon.socket], input=stdin, text=True,
            capture_output=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertFalse(Endpoint.MARK in done.stdout + done.stderr)
        return done

    def dead(self, **options) -> tuple:
        endpoint, receiver, fake, daemon = self.guarded(script=[400], **options)
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "auth")
        return endpoint, receiver, fake, daemon

    def new_pair(self, endpoint) -> dict:
        endpoint.refresh = Endpoint.MARK + "refresh-new"
        endpoint.valid.add(Endpoint.MARK + "access-new")
        return {"access_token": Endpoint.MARK + "access-new", "refresh_token": endpoint.refresh}

    def test_seeding_revives_at_once_and_lasts(self):
        endpoint, receiver, fake, daemon = self.dead()
        count = len(receiver.requests)
        daemon.call("SeedAuth", **self.new_pair(endpoint))
        receiver.wait_requests(count + 1)
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(self.auth(daemon)["state"], "valid")
        # The seed of the file does not come back.
        self.restart(daemon)
        fake.settle()
        daemon.wait_stored(1)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-new")

    def test_it_is_on_disk_before_the_answer(self):
        endpoint, receiver, fake, daemon = self.dead()
        daemon.call("SeedAuth", **self.new_pair(endpoint))
        self.restart(daemon)
        fake.settle()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-new")

    def test_what_is_refused(self):
        endpoint, receiver, fake, daemon = self.guarded()
        for parameters, name, culprit in (
                ({}, "InvalidParameter", "access_token"), ({"access_token": ""}, "InvalidParameter", "access_token"),
                ({"access_token": "a\r\nX: y"}, "InvalidParameter", "access_token"),
                ({"refresh_token": "a\u2028b"}, "InvalidParameter", "refresh_token"),
                ({"access_token": "a", "expires_at": -1}, "InvalidParameter", "expires_at"),
                ({"access_token": "a", "expires_at": 1 << 60}, "InvalidParameter", "expires_at"),
                ({"access_token": "a", "seed_epoch": 1}, "InvalidParameter", "seed_epoch"),
                ({"access_token": 5}, "InvalidParameter", "access_token")):
            with self.subTest(parameters):
                with self.assertRaises(Refusal) as caught:
                    daemon.call("SeedAuth", **parameters)
                self.assertEqual((caught.exception.name, caught.exception.parameters), (name, {"parameter": culprit}))
        self.assertEqual(daemon.sync()["outcome"], "drained")
        other = self.daemon(sync={"url": receiver.url}).start()
        with self.assertRaises(Refusal) as caught:
            other.call("SeedAuth", access_token="a")
        self.assertEqual(caught.exception.name, "InvalidConfiguration")

    def test_only_administrators(self):
        """Another user, who may open the socket, may not."""
        if os.geteuid() != 0:
            self.skipTest("needs root to become somebody else")
        endpoint, receiver, fake, daemon = self.guarded()
        os.chmod(self.directory, 0o755)
        os.chmod(daemon.directory, 0o755)
        os.chmod(daemon.socket, 0o666)
        script = ("import sys; sys.path[:0] = [sys.argv[1]]; from tracker import *\n"
                  "try: Tracker(sys.argv[2]).call('SeedAuth', access_token='x')\n"
                  "except Refusal as error: print(error.name)")
        done = subprocess.run(["/usr/bin/python3", "-c", script, os.path.dirname(os.path.abspath(__file__)), daemon.socket],
                              capture_output=True, text=True, timeout=60, user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.stdout, "PermissionDenied\n", done.stderr)

    def test_beekonctl(self):
        endpoint, receiver, fake, daemon = self.dead()
        show = [program("beekonctl"), "auth", "show", "--socket", daemon.socket]
        done = subprocess.run(show, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertIn("dead (refused)", done.stdout)
        self.assertIn("auth seed", done.stdout)
        pair = self.new_pair(endpoint)
        for words, stdin, code in (
                ([], "", 65), (["/nonexistent"], "", 66), ([], "{}", 65), ([], "[1]\n2", 65), ([], "{", 65),
                (["--expires-at", "soon"], "x", 64)):
            self.seed(daemon, *words, stdin=stdin, code=code)
        self.seed(daemon, stdin=json.dumps({**pair, "expires_in": 3600}))
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        done = subprocess.run([*show, "--json"], capture_output=True, text=True, timeout=60)
        state = json.loads(done.stdout)
        self.assertEqual(state["state"], "valid")
        self.assertTrue(state["expires_at"])
        # The bare tokens, each in a file.
        for name in ("access", "refresh"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(pair[name + "_token"] + "\n")
        self.seed(daemon, self.path("access"), "--refresh-token-file", self.path("refresh"), "--expires-at", "2031-01-01")
        self.assertEqual(daemon.status()["auth"]["expires_at"][:4], "2030" if time.timezone < 0 else "2031")

    def test_another_host_gets_no_tokens(self):
        """The tokens were for 127.0.0.1: localhost must not have them, nor a new refresh_url."""
        endpoint, receiver, fake, daemon = self.guarded()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        for section, key, url in (("sync", "url", receiver.url), ("sync.auth", "refresh_url", endpoint.url)):
            with self.subTest(key):
                count = len(receiver.requests)
                fake.drive(1)
                daemon.wait_status(lambda status: status["sync"]["pending"] == 1, "a fix pending")
                daemon.configure(**{section: {key: url.replace("127.0.0.1", "localhost")}})
                daemon.reload()
                self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "host_changed")
                self.assertEqual(daemon.sync()["outcome"], "auth")
                self.assertEqual((len(receiver.requests), len(endpoint.requests)), (count, 0))
                # Also not after a restart; with new ones it goes on.
                self.restart(daemon)
                self.assertEqual(self.wait_auth(daemon, "dead")["reason"], "host_changed")
                daemon.call("SeedAuth", **self.new_pair(endpoint))
                daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
                fake.settle()
                daemon.wait_stored(1)
                daemon.wait_status(lambda status: daemon.sync()["pending"] == 0, "everything uploaded")

    def test_a_reload_during_an_upload(self):
        """The configuration changes while a request is under way, and nothing breaks."""
        endpoint, receiver, fake, daemon = self.guarded()
        receiver.hold()
        daemon.ask_for_sync()
        receiver.wait_requests(1)
        receiver.go_on()
        daemon.configure(sync={"timeout_seconds": 33})
        daemon.reload()
        daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
        self.assertEqual(len(set(request.sha256 for request in receiver.requests)), 1)


class KeyTests(AuthTest):
    def key(self, daemon) -> str:
        return os.path.join(daemon.state, "beekond.key")

    def stored(self, daemon) -> bytes:
        with open(os.path.join(daemon.state, "tokens"), "rb") as file:
            return file.read()

    def rotated(self) -> tuple:
        endpoint, receiver, fake, daemon = self.guarded()
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        daemon.terminate()
        return endpoint, receiver, fake, daemon

    def start(self, daemon, fake, **environment):
        os.environ.update(environment)
        try:
            daemon.start()
        finally:
            for name in environment:
                del os.environ[name]
        daemon.listeners.append(self.listener(daemon))
        fake.settle()
        daemon.wait_stored(1)

    def test_files_are_private(self):
        endpoint, receiver, fake, daemon = self.rotated()
        for name in ("tokens", "beekond.key"):
            status = os.stat(os.path.join(daemon.state, name))
            self.assertEqual(status.st_mode & 0o777, 0o600, name)
        self.assertEqual(os.path.getsize(self.key(daemon)), 32)

    def test_a_wrong_or_missing_key_overwrites_nothing(self):
        for change in ("missing", "another", "short", "later version"):
            with self.subTest(change):
                endpoint, receiver, fake, daemon = self.rotated()
                before = self.stored(daemon)
                with open(self.key(daemon), "rb") as file:
                    key = file.read()
                if change == "missing":
                    os.rename(self.key(daemon), self.key(daemon) + ".away")
                elif change == "later version":
                    before = before[:4] + b"\x02" + before[5:]
                    with open(os.path.join(daemon.state, "tokens"), "wb") as file:
                        file.write(before)
                else:
                    with open(self.key(daemon), "wb") as file:
                        file.write(os.urandom(32) if change == "another" else key[:31])
                self.start(daemon, fake)
                state = self.auth(daemon)
                self.assertEqual((state["state"], state["reason"]), ("dead", "key"))
                self.assertEqual(daemon.sync()["outcome"], "auth")
                daemon.configure(**{"sync.auth": {"access_token": Endpoint.MARK + "x", "seed_epoch": 9}})
                daemon.reload()
                never(lambda: self.stored(daemon) != before, "the tokens overwritten", 1)
                self.assertEqual((len(endpoint.requests), len(receiver.requests)), (1, 2))
                self.assertEqual(os.path.exists(self.key(daemon)), change != "missing")
                if change in ("later version", "short"):
                    continue
                if change == "another":
                    # Given new tokens, it goes on; the old ones are kept under another name.
                    endpoint.valid.add(Endpoint.MARK + "new")
                    daemon.call("SeedAuth", access_token=Endpoint.MARK + "new")
                    daemon.wait_status(lambda status: status["sync"]["pending"] == 0, "everything uploaded")
                    with open(os.path.join(daemon.state, "tokens.aside-1"), "rb") as file:
                        self.assertEqual(file.read(), before)
                else:
                    # With its key back, the pair works.
                    daemon.terminate()
                    os.rename(self.key(daemon) + ".away", self.key(daemon))
                    daemon.configure(**{"sync.auth": {"access_token": Endpoint.MARK + "access-seed", "seed_epoch": 0}})
                    self.start(daemon, fake)
                    self.assertEqual(daemon.sync()["outcome"], "drained")
                    self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-1")

    def test_a_damaged_file_is_put_aside(self):
        for damage in ("empty", "zeroes", "cut", "a bit"):
            with self.subTest(damage):
                endpoint, receiver, fake, daemon = self.rotated()
                before = self.stored(daemon)
                after = {"empty": b"", "zeroes": bytes(len(before)), "cut": before[:-1],
                         "a bit": before[:-20] + bytes([before[-20] ^ 1]) + before[-19:]}[damage]
                with open(os.path.join(daemon.state, "tokens"), "wb") as file:
                    file.write(after)
                endpoint.valid.add(Endpoint.MARK + "access-seed")
                self.start(daemon, fake)
                self.assertEqual(daemon.sync()["outcome"], "drained")
                self.assertEqual(receiver.authorizations[-1], f"Bearer {Endpoint.MARK}access-seed")
                with open(os.path.join(daemon.state, "tokens.aside-1"), "rb") as file:
                    self.assertEqual(file.read(), after)

    def test_a_credential(self):
        """It seals from the next write on; what the key file has sealed can still be read. Taken away, the tokens are locked."""
        endpoint, receiver, fake, daemon = self.rotated()
        folder = self.folder()
        with open(os.path.join(folder, "beekond.key"), "wb") as file:
            file.write(os.urandom(32))
        self.start(daemon, fake, CREDENTIALS_DIRECTORY=folder)
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(endpoint.requests), 2)
        daemon.terminate()
        os.remove(self.key(daemon))
        self.start(daemon, fake, CREDENTIALS_DIRECTORY=folder)
        self.assertEqual(daemon.sync()["outcome"], "drained")
        self.assertEqual(len(endpoint.requests), 2)
        daemon.terminate()
        self.start(daemon, fake)
        self.assertEqual(self.auth(daemon)["reason"], "key")
        self.assertFalse(os.path.exists(self.key(daemon)))

    def test_nothing_of_the_memory_is_left_behind(self):
        """No core file, no backtrace, nothing for other processes of the user; and a crash ends at once."""
        endpoint, receiver, fake, daemon = self.guarded()
        pid = daemon.child.process.pid
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            limits = next(line.split() for line in file if line.startswith("Max core"))
        self.assertEqual(limits[4:6], ["0", "0"])
        # What is not dumpable belongs to root in /proc.
        self.assertEqual(os.stat(f"/proc/{pid}/mem").st_uid, 0)
        os.kill(pid, signal.SIGSEGV)
        self.assertEqual(daemon.child.wait(), -signal.SIGSEGV)
        self.assertFalse([name for name in os.listdir(daemon.directory) if "core" in name])

    def test_storage_that_fails(self):
        """A state directory that cannot be written: no exchange is begun, and what works goes on working."""
        if os.geteuid() == 0:
            self.skipTest("root writes where it likes")
        endpoint, receiver, fake, daemon = self.guarded()
        os.chmod(daemon.state, 0o500)
        self.addCleanup(os.chmod, daemon.state, 0o700)
        endpoint.expire()
        self.assertEqual(daemon.sync()["outcome"], "transient")
        self.assertEqual(endpoint.requests, [])


def clock_is_synchronised() -> bool:
    import ctypes
    state = ctypes.create_string_buffer(512)
    return ctypes.CDLL(None).adjtimex(state) not in (-1, 5)


if __name__ == "__main__":
    unittest.main()
