"""The daemon in a private directory: its configuration, its life and what it has stored."""
from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from support.child import Child
from support.conservation import DatabaseContents, Ledger
from support.control_client import ConnectionClosed, ControlClient, Refusal
from support.listener import Listener
from support.programs import program
from support.virtual_time import current
from support.waiting import PATIENCE, wait_for

# Seconds between uploads, so that no scheduled one falls into a test: the first round ends at a random moment.
NEVER = 31_536_000


class Beekond:
    """One state directory and the daemon that may be running on it."""

    def __init__(self, directory: str, **sections):
        self.directory = directory
        self.state = os.path.join(directory, "state")
        self.socket = os.path.join(directory, "s")
        self.config = os.path.join(directory, "beekond.toml")
        self.log = os.path.join(directory, "beekond.log")
        # Added to the environment of the tests.
        self.environment: dict = {}
        self._child: Child | None = None
        self._client: ControlClient | None = None
        self._others: list[ControlClient] = []
        # Subscribers of the test itself, in the order of the daemon's lives.
        self.listeners: list[Listener] = []
        self._accountants: list[Listener] = []
        # What has been stored, once `keep_account` was called.
        self.ledger: Ledger | None = None
        self.installation = ""
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        self.sections = sections
        self.configure()

    @property
    def child(self) -> Child:
        """The process, running or not, once it was started."""
        assert self._child is not None, "this daemon was never started"
        return self._child

    @child.setter
    def child(self, child: Child):
        self._child = child

    @property
    def pid(self) -> int:
        return self.child.process.pid

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.running

    def setting(self, key: str):
        """The value in force."""
        return {found["key"]: found["value"] for found in self.call("GetConfig")["settings"]}[key]

    def configure(self, **sections):
        """Writes the configuration file; `sections` replace single values."""
        for name, values in sections.items():
            self.sections[name] = {**self.sections.get(name, {}), **values}
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(toml(self.sections))
        os.chmod(self.config, 0o600)

    def command(self) -> list:
        return [program("beekond"), "--config", self.config, "--state-dir", self.state, "--socket", self.socket]

    def launch(self) -> Beekond:
        """Starts it and does not wait."""
        self._child = Child(self.command(), self.log, env={**os.environ, **self._journal(), **self.environment})
        return self

    def _journal(self) -> dict:
        """In a run of all tests the ids of what is logged are noted (`sd_journal_sendv` in virtual_time.c), for which the daemon
        has to believe that standard error leads to the journal."""
        if "BEEKOND_LOGGED" not in os.environ or not current():
            return {}
        with open(self.log, "ab") as file:
            status = os.fstat(file.fileno())
        return {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}

    def start(self) -> Beekond:
        """Starts it and waits until it answers."""
        self.launch()
        wait_for(self._answers, lambda: f"beekond answers on its socket; it said:\n{self.child.text()}")
        if self.ledger:
            self._listen()
        return self

    def keep_account(self):
        """From now on, records every location that is stored, across restarts."""
        self.ledger = Ledger()
        self.installation = self.status()["install_id"]
        self.ledger.stored |= set(DatabaseContents(self).counts)
        self._spare()
        self._listen()

    def _listen(self):
        listener = Listener(self, ["location", "state"])
        self._accountants.append(listener)
        # The subscription is in force once the present state has arrived.
        wait_for(lambda: listener.events, "the subscription")

    def account(self) -> Ledger:
        """The ledger, brought up to date."""
        assert self.ledger is not None, "keep_account was never called"
        for listener in self._accountants:
            if listener.missed:
                self.ledger.is_complete = False
            self.ledger.stored |= set(listener.ids)
        self.ledger.stored |= set(DatabaseContents(self).counts)
        self._spare()
        return self.ledger

    def destinations(self) -> dict[str, str]:
        """URLs of those that are to have every row."""
        sections = {"main": self.sections.get("sync", {})}
        sections |= {name.removeprefix("destination."): values for name, values in self.sections.items()
                     if name.startswith("destination.") and name.count(".") == 1}
        return {name: values["url"] for name, values in sections.items()
                if "url" in values and values.get("deliver", "all") == "all"}

    def _spare(self):
        """What was stored before a destination was there it need not have."""
        assert self.ledger
        for name in self.destinations():
            self.ledger.spared.setdefault(name, set(self.ledger.stored))

    def _answers(self) -> bool:
        if not self.child.running:
            raise AssertionError(f"beekond ended with {self.child.process.returncode}:\n{self.child.text()}")
        try:
            self.status()
        except (OSError, ConnectionClosed):
            self.disconnect()
            return False
        return True

    def connect(self, **options) -> ControlClient:
        """A connection that lasts until the daemon ends or the test closes it."""
        self._others.append(ControlClient(self.socket, **options))
        return self._others[-1]

    def disconnect(self):
        if self._client:
            self._client.close()
            self._client = None

    def _forget(self):
        self.disconnect()
        for client in self._others:
            client.close()
        self._others.clear()

    def call(self, method: str, **parameters) -> dict:
        if self._client is None:
            self._client = self.connect()
        if method not in ("DeleteLocations", "ForgetDestination", "PurgeRejected", "Rebatch", "Resend"):
            return self._client.call(method, **parameters)
        with self.noting(method, parameters.get("destination", "main")):
            return self._client.call(method, **parameters)

    @contextmanager
    def noting(self, method: str, destination: str = "main") -> Iterator[None]:
        """Enters into the account what an administrator's request does, if it succeeds: the rows it deletes, or that a
        destination is not to have, or which of them may arrive twice."""
        if not self.ledger:
            yield
            return
        stored, before = self.account().stored, DatabaseContents(self)
        yield
        after = DatabaseContents(self)
        if method in ("DeleteLocations", "ForgetDestination", "PurgeRejected"):
            self.ledger.deleted |= stored - set(after.counts)
        if method == "PurgeRejected":
            self.ledger.spared.setdefault(destination, set()).update(before.dead.get(destination, {}))
        if method == "ForgetDestination":
            self.ledger.spared.pop(destination, None)
        if method in ("DeleteLocations", "Rebatch"):
            self.ledger.dissolved |= before.frozen - after.frozen
        if method == "Resend":
            self.ledger.resent |= before.uploaded

    def status(self) -> dict:
        return self.call("GetStatus")["status"]

    def sync(self, seconds: float = 60) -> dict:
        """One attempt, and its outcome. It has its own connection, so that other calls go on meanwhile."""
        with self.connect(timeout=seconds) as client:
            return client.call("Sync", wait=True)

    def first_outcome(self) -> str:
        """What came of the first attempt since the start: of ours, or of the daemon's own, which is made at a random moment of
        the first 30 s where something is pending. That of ours then finds nothing."""
        outcome = self.sync()["outcome"]
        return "drained" if outcome == "nothing_pending" else outcome

    def sync_until(self, condition, what: str, seconds: float = PATIENCE) -> dict:
        """Attempts, as often as the daemon allows, until the condition holds for an outcome."""
        def attempt():
            try:
                answer = self.sync()
            except Refusal as refusal:
                if refusal.name != "RateLimited":
                    raise
                return None
            return answer if condition(answer) else None

        return wait_for(attempt, what, seconds)

    def ask_for_sync(self):
        """One attempt, without waiting for its outcome."""
        self.connect().send("Sync", {"wait": True})

    def health(self) -> str:
        return self.status()["source"]["health"]

    def wait_status(self, condition, what: str, seconds: float = PATIENCE) -> dict:
        last: dict = {}

        def holds():
            nonlocal last
            last = self.status()
            try:
                return condition(last)
            except KeyError:
                return False  # what is not known yet is absent

        wait_for(holds, lambda: f"{what}; the status is {json.dumps(last)}", seconds)
        return last

    def wait_health(self, word: str, seconds: float = PATIENCE) -> dict:
        return self.wait_status(lambda status: status["source"]["health"] == word, f"health {word}", seconds)

    def wait_stored(self, count: int, seconds: float = PATIENCE) -> dict:
        """Until this many fixes have been admitted and stored since the daemon started."""
        return self.wait_status(
            lambda status: status["gate"]["admitted"] >= count and not status["store"]["waiting_in_memory"],
            f"{count} fixes stored", seconds)

    def kill(self):
        if self._child:
            self._child.kill()
        if self.ledger:
            self.ledger.is_complete = False
        self._forget()

    def terminate(self) -> float:
        """SIGTERM; returns the seconds until it ended."""
        began = time.monotonic()
        self.child.signal(signal.SIGTERM)
        self.child.wait()
        seconds = time.monotonic() - began
        self._forget()
        return seconds

    def reload(self):
        self.child.signal(signal.SIGHUP)

    def text(self) -> str:
        return self.child.text()

    # The database, as another SQLite sees it.

    def query(self, statement: str) -> list:
        """Reads the live database while the daemon runs, else a copy of what the daemon left behind."""
        if self.is_running:
            return rows(os.path.join(self.state, "beekon.db"), statement)
        with tempfile.TemporaryDirectory(dir=self.directory) as copy:
            for suffix in ("", "-wal"):
                if os.path.exists(os.path.join(self.state, "beekon.db" + suffix)):
                    shutil.copy(os.path.join(self.state, "beekon.db" + suffix), copy)
            return rows(os.path.join(copy, "beekon.db"), statement)

    def stored_ids(self) -> set:
        return {str(uuid.UUID(bytes=row[0])) for row in self.query("SELECT id FROM locations")}

    def rejected_ids(self) -> set:
        return {str(uuid.UUID(bytes=row[0])) for row in self.query("SELECT id FROM rejected")}


def rows(path: str, statement: str) -> list:
    link = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        return link.execute(statement).fetchall()
    finally:
        link.close()


def toml(sections: dict) -> str:
    lines = []
    for name, values in sections.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"
