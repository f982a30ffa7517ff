"""What token tests share: a backend that requires tokens, and the invariants checked after each test."""
from __future__ import annotations

import json
import os

from support.system_test import SystemTest
from support.token_endpoint import Endpoint, Guarded
from support.waiting import wait_for

PAYLOAD = {"grant_type": "refresh_token", "refresh_token": "{refreshToken}"}


class AuthTest(SystemTest):
    """Checks two invariants after every test: no fix is lost or duplicated, and no token can be read anywhere."""

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
        """An endpoint, a backend that requires its tokens, a fake gpsd, and a daemon with one fix pending."""
        endpoint = Endpoint(script=script, lifetime=lifetime)
        endpoint.retry_after = retry_after
        self.addCleanup(endpoint.stop)
        receiver = Guarded(endpoint, refusal, **options).start()
        self.addCleanup(receiver.stop)
        self.receivers.append(receiver)
        sections = {"sync": {"url": receiver.url, **(sync or {})},
                    "sync.auth": {**(endpoint.seed() if seed else {}), "refresh_url": endpoint.url + "?key=hunter9",
                                  **(auth or {})},
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
        # The final check relies on what was announced, and a killed daemon announces nothing more.
        wait_for(lambda: daemon.listeners[0].ids, "the stored fix is announced")
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
            # The copy of the last good configuration needs the secret headers.
            self.assertFalse("hunter" in text and name != "last-good.toml", f"a secret can be read in {name}")
