"""Signed commands and the time: what was issued in the future, and what waits until the time is known."""
from __future__ import annotations

import json
import os
import sqlite3
import sys
import unittest
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.clocks import ClockTest
from support.command_server import CommandServer
from support.command_test import ALL
from support.signing import OPENSSL, Signer
from support.waiting import wait_for

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds


@unittest.skipUnless(OPENSSL, "openssl is not installed")
class SignedTimeTest(ClockTest):
    """A vehicle whose server signs its commands. Its own clock is known to nobody, so that fixes tell the time."""

    def setUp(self):
        super().setUp()
        self.server = CommandServer()
        self.addCleanup(self.server.stop)
        self.receivers.append(self.server)
        # The answers to the next envelopes with rows; without any, an acceptance.
        self.planned: list = []
        self.server.answer = self.answer
        self.signer = Signer(self.folder())
        self.gps = self.fake()
        commands: dict[str, Any] = {"sync.commands": {
            "enabled": True, "allow": ALL, "verify_keys": [self.signer.public], "settings": ["tracking.interval_seconds"]}}
        self.beekond, self.clocks = self.clocked(
            self.gps.port, sync={"url": self.server.url, "interval_seconds": 3600}, **commands)
        self.beekond.start()
        self.beekond.call("Start")
        self.gps.settle()
        self.beekond.wait_stored(1)
        self.beekond.sync()
        self.vehicle: str = self.beekond.status()["install_id"]

    def answer(self, envelope) -> tuple | None:
        if envelope.has_rows and self.planned:
            return self.planned.pop(0)
        return 200, {"batch_id": envelope.batch_id}

    def signed(self, identity: str, counter: int, expires_at: float | None = None) -> tuple:
        """An answer with one command that changes nothing."""
        return 200, self.signer.sign({
            "install_id": self.vehicle, "counter": counter,
            "expires_at": expires_at or (self.gps.next_ms + 20 * DAY) / 1000,
            "commands": [{"id": identity, "command": "start"}]})

    def send(self, *answers: tuple):
        """A row each, which is answered so."""
        admitted = self.beekond.status()["gate"]["admitted"]
        self.planned += answers
        self.gps.drive(len(answers))
        self.beekond.wait_status(lambda status: status["gate"]["admitted"] >= admitted + len(answers), "the fixes")
        self.beekond.sync_until(lambda reply: not self.planned, "the answers")

    def restart_with(self, *answers: tuple):
        """A row waits over a restart, after which nothing tells the time, and is answered so."""
        self.send((503, {}))
        self.beekond.kill()
        self.beekond.start()
        self.planned += answers
        self.beekond.sync_until(lambda reply: not self.planned, "the answers")

    def refused(self) -> int:
        return self.beekond.status()["sync"].get("refused_commands", 0)

    def listed(self) -> dict:
        return {command["id"]: command for command in self.beekond.call("GetCommands")["commands"]}

    def wait_done(self, identity: str) -> dict:
        wait_for(lambda: self.listed().get(identity, {}).get("state") == "done", f"the end of {identity}")
        return self.listed()[identity]


class CounterTests(SignedTimeTest):
    def test_one_in_microseconds_locks_nobody_out(self):
        now = self.gps.next_ms
        self.send(self.signed("us", now * 1000))
        self.beekond.wait_status(lambda status: status["sync"].get("refused_commands") == 1, "the refusal")
        self.assertIn("refused: counter_ahead, ", self.beekond.text())
        self.assertEqual(self.listed(), {})
        # A day ahead is as far as a server's clock may be wrong.
        self.send(self.signed("days", now + 2 * DAY))
        self.assertEqual(self.refused(), 2)
        self.send(self.signed("now", now))
        self.assertTrue(self.wait_done("now")["ok"])
        self.send(self.signed("hours", now + 23 * HOUR))
        self.assertTrue(self.wait_done("hours")["ok"])
        # Its end is looked at first.
        self.send(self.signed("late", now * 1000, expires_at=now / 1000 - 60))
        self.assertEqual((self.refused(), self.beekond.text().count("refused: expired, ")), (3, 1))

    def test_without_a_time_it_waits(self):
        now = self.gps.next_ms
        self.restart_with(self.signed("us", now * 1000))
        self.assertEqual(self.listed()["us"]["state"], "received")
        self.gps.settle()
        self.assertIn("counter_ahead", self.wait_done("us")["error"])
        # Nothing of it stays: also not over a restart, and not in the small file.
        self.send(self.signed("now", now))
        self.assertTrue(self.wait_done("now")["ok"])
        self.beekond.kill()
        self.beekond.start()
        self.gps.settle()
        self.send(self.signed("later", now + 1))
        self.assertTrue(self.wait_done("later")["ok"])


class LockedOutTests(SignedTimeTest):
    """An earlier version took a counter in microseconds, and nothing that came after it."""

    def store(self, counter: int):
        """As such a version has left it: in the small file, and in the journal."""
        path = os.path.join(self.beekond.state, "commands.json")
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        kept["counter"] = counter
        with open(path, "w", encoding="utf-8") as file:
            json.dump(kept, file)
        with closing(sqlite3.connect(os.path.join(self.beekond.state, "beekon.db"))) as db:
            db.execute("UPDATE commands SET counter = ?", (counter,))
            db.commit()

    def test_what_was_taken_before_locks_nobody_out(self):
        now = self.gps.next_ms
        self.send(self.signed("first", now))
        self.assertTrue(self.wait_done("first")["ok"])
        self.beekond.terminate()
        self.store(now * 1000)
        self.beekond.start()
        self.gps.settle()
        self.send(self.signed("second", now + 1))
        self.assertTrue(self.wait_done("second")["ok"])
        # From here on the file and the journal know what was last, also where one of them is lost.
        self.send(self.signed("third", now + 1))
        self.assertIn("refused: replayed, ", self.beekond.text())
        self.assertNotIn("third", self.listed())
        self.beekond.kill()
        with open(os.path.join(self.beekond.state, "commands.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["counter"], now + 1)


class SettlingTests(SignedTimeTest):
    def test_what_waits_for_the_time_runs_when_it_is_known(self):
        """Not at the next look: no time passes here."""
        self.restart_with(self.signed("waits", self.gps.next_ms))
        self.assertEqual(self.listed()["waits"]["state"], "received")
        self.gps.settle()
        self.assertTrue(self.wait_done("waits")["ok"])


if __name__ == "__main__":
    unittest.main()
