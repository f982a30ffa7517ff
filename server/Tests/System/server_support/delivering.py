"""Rules that send, and vehicles that give them something to tell."""
from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from typing import Any

from server_support.receivers import Hook, MailSink
from server_support.server import Answer, Server, envelope, iso, uuid7
from server_support.server_test import ServerTest
from support.waiting import wait_for

ADA, BOB = "ada@example.org", "bob@example.net"


def clock() -> int:
    return int(time.time() * 1000)


class DeliveryTest(ServerTest):
    """One server with a van, and who is told."""

    make: Any
    rows: Any
    write: Any

    def setUp(self):
        super().setUp()
        self.hook = self.receiver()

    def receiver(self) -> Hook:
        hook = Hook()
        self.addCleanup(hook.close)
        return hook

    def sink(self, **how) -> MailSink:
        sink = MailSink(**how)
        self.addCleanup(sink.close)
        return sink

    def begin(self, *options: str, sink: MailSink | None = None) -> Server:
        if sink:
            options = ("--smtp", f"smtp://127.0.0.1:{sink.port}", "--smtp-from", "Flotte Köln <fleet@example.org>",
                       "--public-url", "https://fleet.example.org/", *options)
        self.under_test: Server = self.make(*options)
        # Nothing is given up for its age before the time is known.
        self.assertEqual(self.under_test.verb("clock", "confirm").returncode, 0)
        self.under_test.start()
        self.admin = self.under_test.add_user("root", "admin")
        self.van = self.ask("POST", "/v1/devices", {"name": "van"}).json
        self.install = uuid7(clock())
        return self.under_test

    def ask(self, method: str, path: str, value: dict | None = None, server: Server | None = None) -> Answer:
        return (server or self.under_test).ask(
            method, path, self.admin, None if value is None else json.dumps(value).encode())

    def rule(self, name: str = "depot", **more) -> dict:
        answer = self.ask("POST", "/v1/rules", {"name": name, "kind": "geofence", "type": "enter", **more})
        self.assertEqual(answer.status, 201, answer)
        return answer.json

    def happen(self, count: int = 1, fence: str = "depot", server: Server | None = None) -> None:
        """The van enters a geofence so many times, and says so once."""
        moment = clock()
        crossings = [{"id": uuid7(moment - index), "geofence_id": fence, "type": "enter", "timestamp": iso(moment - index)}
                     for index in range(count)]
        root = envelope(0, moment, geofence_events=crossings, device={
            "install_id": self.install, "platform": "linux", "sdk_version": "1.0.0", "model": "test"})
        answer = (server or self.under_test).deliver(self.van["access_token"], root)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["stored"], count)

    def finding(self, statement: str) -> Callable[[], bool]:
        """Whether it finds a row."""
        return lambda: bool(self.rows(statement))

    def hurry(self):
        """What waits for its next attempt is due at once."""
        self.write("UPDATE alerts SET due = 1 WHERE due IS NOT NULL; UPDATE alert_recipients SET due = 1 WHERE due IS NOT NULL")

    def hurry_mails(self):
        """The rules wait no longer for their next mail."""
        self.write("UPDATE alert_rules SET mailed = NULL")

    def waiting(self) -> int:
        """Of webhooks and mail."""
        counts = [self.rows(f"SELECT count(*) FROM {what}")[0][0] for what in (
            "alerts WHERE due IS NOT NULL", "alerts WHERE mail = 0", "alert_mails WHERE done IS NULL")]
        return sum(int(count) for count in counts)

    def settle(self, seconds: float = 60):
        """Nothing waits any more."""
        wait_for(lambda: self.waiting() == 0, lambda: f"all is accepted; {self.waiting()} wait", seconds)

    def metric(self, name: str) -> float:
        text = self.ask("GET", "/metrics").body.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        self.assertIsNotNone(found, f"{name} in {text}")
        assert found
        return float(found[1])

    def doctor(self) -> str:
        return self.under_test.verb("doctor").stdout

    def log(self) -> str:
        path = self.under_test.log
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()
