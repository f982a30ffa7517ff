"""Real daemons in private directories, and nothing left behind. BEEKOND_BIN names the folder of the binaries."""
from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
BIN = os.path.abspath(os.environ.get("BEEKOND_BIN", os.path.join(ROOT, ".build", "debug")))
GPSD = shutil.which("gpsd") or shutil.which("gpsd", path="/usr/sbin:/usr/local/sbin")
sys.path.insert(0, os.path.join(ROOT, "etc", "demo"))

from processes import GUARD  # noqa: E402
from receiver import Receiver  # noqa: E402
from support.conservation import Here, Ledger, shape_faults
from support.fakegpsd import FakeGPSD
from support.rawserver import RawServer
from support.tracker import Closed, Refusal, Tracker

# Until something that must happen has happened. Only a test that fails waits as long.
PATIENCE = 20.0
# How long something that must not happen is watched for. Every test that passes waits as long.
QUIET = 1.5
# So that no scheduled upload falls into a test: the first round ends at a random moment.
NEVER = 31_536_000


def program(name: str) -> str:
    return os.path.join(BIN, name)


def free_port(kind=socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, what: str, seconds: float = PATIENCE):
    """What the condition gave when it came true."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(0.01)


def never(condition, what: str, seconds: float = QUIET):
    """Fails as soon as the condition comes true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            raise AssertionError(f"this must not happen: {what}")
        time.sleep(0.02)


class _Guard:
    """Ends what a killed test run would leave behind."""

    def __init__(self):
        self._process = None

    def tell(self, sign: str, pid: int):
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", GUARD], stdin=subprocess.PIPE, start_new_session=True, text=True)
            atexit.register(self._end)
        self._process.stdin.write(f"{sign}{pid}\n")
        self._process.stdin.flush()

    def _end(self):
        self._process.stdin.close()
        self._process.wait()


_guard = _Guard()


class Child:
    """A program in a session of its own, with its output in a file."""

    def __init__(self, command: list, log: str, **options):
        self.log = log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options)
        _guard.tell("+", self.process.pid)

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number):
        if self.running:
            self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        code = self.process.wait(seconds)
        _guard.tell("-", self.process.pid)
        return code

    def kill(self):
        if self.process.returncode is None:
            self.signal(signal.SIGKILL)
            self.wait()

    def text(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as lines:
            return lines.read()


class Beekond:
    """One state directory and the daemon that runs, or does not run, on it."""

    def __init__(self, directory: str, **sections):
        self.directory = directory
        self.state = os.path.join(directory, "state")
        self.socket = os.path.join(directory, "s")
        self.config = os.path.join(directory, "beekond.toml")
        self.log = os.path.join(directory, "beekond.log")
        # Added to that of the tests.
        self.environment: dict = {}
        self.child = None
        self._tracker = None
        self._others: list = []
        self._listeners: list = []
        # What has been stored, once somebody keeps account of it.
        self.ledger: Ledger | None = None
        self.installation = ""
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        self.sections = sections
        self.configure()

    def setting(self, key: str):
        """The value in force."""
        return {found["key"]: found["value"] for found in self.call("GetConfig")["settings"]}[key]

    def configure(self, **sections):
        """Writes the configuration file; what is given replaces single values."""
        for name, values in sections.items():
            self.sections[name] = {**self.sections.get(name, {}), **values}
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(toml(self.sections))
        os.chmod(self.config, 0o600)

    def command(self) -> list:
        return [program("beekond"), "--config", self.config, "--state-dir", self.state, "--socket", self.socket]

    def launch(self) -> Beekond:
        """Starts it and does not wait."""
        self.child = Child(self.command(), self.log, env={**os.environ, **self.environment})
        return self

    def start(self) -> Beekond:
        """Starts it and waits until it answers."""
        self.launch()
        wait_for(self._answers, lambda: f"beekond answers on its socket; it said:\n{self.child.text()}")
        if self.ledger:
            self._listen()
        return self

    def keep_account(self):
        """From now on every location that is stored is noted, over all restarts."""
        self.ledger = Ledger()
        self.installation = self.status()["install_id"]
        self.ledger.stored |= set(Here(self).counts)
        self._listen()

    def _listen(self):
        listener = Listener(self, ["location", "state"])
        self._listeners.append(listener)
        # It is subscribed once it has been told the present.
        wait_for(lambda: listener.events, "the subscription")

    def account(self) -> Ledger:
        """What is known now."""
        for listener in self._listeners:
            if listener.missed:
                self.ledger.is_complete = False
            self.ledger.stored |= set(listener.ids)
        self.ledger.stored |= set(Here(self).counts)
        return self.ledger

    def _answers(self) -> bool:
        if not self.child.running:
            raise AssertionError(f"beekond ended with {self.child.process.returncode}:\n{self.child.text()}")
        try:
            self.status()
            return True
        except (OSError, Closed):
            self.disconnect()
            return False

    def connect(self, **options) -> Tracker:
        """A connection that lasts until the daemon ends, or is closed before."""
        self._others.append(Tracker(self.socket, **options))
        return self._others[-1]

    def disconnect(self):
        if self._tracker:
            self._tracker.close()
            self._tracker = None

    def _forget(self):
        self.disconnect()
        for tracker in self._others:
            tracker.close()
        self._others.clear()

    def call(self, method: str, **parameters) -> dict:
        if self._tracker is None:
            self._tracker = self.connect()
        if not self.ledger or method not in ("DeleteLocations", "PurgeRejected"):
            return self._tracker.call(method, **parameters)
        before = self.account().stored
        answer = self._tracker.call(method, **parameters)
        self.ledger.deleted |= before - set(Here(self).counts)
        self.ledger.has_dissolved = True
        return answer

    def status(self) -> dict:
        return self.call("GetStatus")["status"]

    def sync(self) -> dict:
        """One attempt, and how it went. On a connection of its own: others go on meanwhile."""
        with self.connect(timeout=60) as tracker:
            return tracker.call("Sync", wait=True)

    def sync_until(self, condition, what: str, seconds: float = PATIENCE) -> dict:
        """Attempts, as often as the daemon allows, until one went as it should."""
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
        """One attempt, without waiting for how it goes."""
        self.connect().send("Sync", {"wait": True})

    def health(self) -> str:
        return self.status()["source"]["health"]

    def wait_status(self, condition, what: str, seconds: float = PATIENCE) -> dict:
        def look():
            look.last = self.status()
            try:
                return condition(look.last)
            except KeyError:
                return False  # what is not known yet is absent

        wait_for(look, lambda: f"{what}; the status is {json.dumps(look.last)}", seconds)
        return look.last

    def wait_health(self, word: str, seconds: float = PATIENCE) -> dict:
        return self.wait_status(lambda status: status["source"]["health"] == word, f"health {word}", seconds)

    def wait_stored(self, count: int) -> dict:
        """Until so many fixes have been admitted and stored since the daemon started."""
        return self.wait_status(
            lambda status: status["gate"]["admitted"] >= count and not status["store"]["waiting_in_memory"],
            f"{count} fixes stored")

    def kill(self):
        if self.child:
            self.child.kill()
        if self.ledger:
            self.ledger.is_complete = False
        self._forget()

    def terminate(self) -> float:
        """SIGTERM; the seconds until it has ended."""
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

    # The database, by the eyes of another SQLite.

    def query(self, statement: str) -> list:
        """Reads the database: as it stands while the daemon runs, else a copy of what the daemon left behind."""
        if self.child and self.child.running:
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
    link = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
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


class Backend(Receiver):
    """The demo's receiver, with the moment of every request, and answers that can be held back for good."""

    def __init__(self, **options):
        self.moments: list = []
        super().__init__(say=lambda request: self.moments.append(time.monotonic()), **options)

    def hold(self):
        self.delay = 3600.0

    def go_on(self):
        """For the requests to come; those held already stay without an answer."""
        self.delay = 0.0

    def wait_requests(self, count: int, seconds: float = PATIENCE) -> list:
        wait_for(lambda: len(self.moments) >= count,
                 lambda: f"{count} requests; there were {len(self.moments)}", seconds)
        return self.requests[:count]

    def batches_of(self, installation: str) -> dict:
        """The batches in which each location was taken; more than one would be one too many."""
        found: dict = {}
        for request in list(self.requests):
            known = request.outcome.startswith(("stored", "known already"))
            if known and request.root["device"]["install_id"] == installation:
                for identity in request.ids:
                    found.setdefault(identity, set()).add(request.batch_id)
        return found

    def faults(self, requests=None) -> list:
        """Every batch_id with two sets of bytes, and every id in two batches: computed here, not by the receiver."""
        bodies, homes, found = {}, {}, []
        for request in requests or list(self.requests):
            if bodies.setdefault(request.batch_id, request.sha256) != request.sha256:
                found.append(f"batch {request.batch_id} came with other bytes")
            for identity in request.ids:
                if homes.setdefault(identity, request.batch_id) != request.batch_id:
                    found.append(f"{identity} is in {homes[identity]} and in {request.batch_id}")
        return found


class Listener(threading.Thread):
    """Subscribes, and notes every event until the connection ends."""

    def __init__(self, daemon: Beekond, kinds: list | None = None):
        super().__init__(daemon=True)
        self.events: list = []
        self.missed = 0
        self._tracker = daemon.connect(timeout=None)
        self._parameters = {} if kinds is None else {"kinds": kinds}
        self.start()

    def run(self):
        try:
            for reply in self._tracker.stream("Subscribe", **self._parameters):
                self.events.append(reply["event"])
                self.missed += reply["event"].get("missed", 0)
        except (OSError, Closed, ValueError):
            pass

    @property
    def locations(self) -> list:
        return [event["location"] for event in list(self.events) if event.get("location")]

    @property
    def ids(self) -> list:
        return [location["id"] for location in self.locations]

    def close(self):
        try:
            self._tracker.link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.join(PATIENCE)
        self._tracker.close()


@unittest.skipUnless(os.access(program("beekond"), os.X_OK), f"no beekond in {BIN}: build it, or set BEEKOND_BIN")
class SystemTest(unittest.TestCase):
    """A test with a directory of its own, in which everything ends with the test."""

    def setUp(self):
        # Short, because the path of a socket must fit into 107 bytes.
        self.directory = tempfile.mkdtemp(prefix="beekond-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self._count = 0
        # Everything that takes uploads in this test.
        self.receivers: list = []

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def folder(self) -> str:
        self._count += 1
        path = self.path(f"d{self._count}")
        os.mkdir(path)
        return path

    def daemon(self, gpsd_port: int | None = None, **sections) -> Beekond:
        """A beekond that admits and stores every settled fix, unless told otherwise. Not started yet."""
        chosen = {"gpsd": {"port": gpsd_port or free_port()}, "tracking": {
            "interval_seconds": 0, "distance_meters": 0, "stationary_mode": "keep_tracking"}}
        for name, values in sections.items():
            chosen[name] = {**chosen.get(name, {}), **values}
        if "url" in chosen.get("sync", {}):
            chosen["sync"].setdefault("interval_seconds", NEVER)
        daemon = Beekond(self.folder(), **chosen)
        self.addCleanup(daemon.kill)
        return daemon

    def fake(self, **options) -> FakeGPSD:
        fake = FakeGPSD(**options)
        self.addCleanup(fake.stop)
        return fake

    def backend(self, **options) -> Backend:
        backend = Backend(**options).start()
        self.addCleanup(backend.stop)
        self.receivers.append(backend)
        self.addCleanup(self.check_shape, backend)
        return backend

    def raw_server(self, serve, closes: bool = True) -> RawServer:
        """A server that does with each connection what the test says, or gives every request the same bytes."""
        server = RawServer(serve, closes)
        self.addCleanup(server.stop)
        self.receivers.append(server)
        return server

    def check_shape(self, receiver):
        """Every batch has the shape that the schema says."""
        for request in receiver.requests:
            self.assertEqual(shape_faults(request.root), [])

    def check_conserved(self, daemon: Beekond):
        """Every location that was ever stored is in exactly one place."""
        def settled():
            settled.faults = daemon.account().faults(daemon, self.receivers)
            return not settled.faults

        # What a request under way has changed, this may have seen half of.
        wait_for(settled, lambda: "\n".join(settled.faults[:10]), 5)

    def listener(self, daemon: Beekond, kinds: list | None = None) -> Listener:
        listener = Listener(daemon, kinds)
        self.addCleanup(listener.close)
        return listener

    def listening(self, daemon: Beekond) -> Listener:
        """A listener that misses no location from now on."""
        listener = self.listener(daemon, ["location", "state"])
        wait_for(lambda: listener.events, "the present state is told first")
        return listener

    def child(self, command: list, name: str) -> Child:
        child = Child(command, self.path(name + ".log"))
        self.addCleanup(child.kill)
        return child

    def gpsd(self, port: int, *arguments: str) -> Child:
        """A real gpsd that answers already."""
        child = self.child([GPSD, "-N", "-n", "-S", str(port), *arguments], "gpsd")
        wait_for(lambda: reachable(port), lambda: f"gpsd answers; it said:\n{child.text()}")
        return child

    def simulator(self, feed: int, *arguments: str) -> Child:
        return self.child([program("beekon-sim"), "--udp", f"127.0.0.1:{feed}", *arguments], "beekon-sim")

    def tracking(self, start_ms: int | None = None, **sections) -> tuple:
        """A fake gpsd and a daemon that tracks with it and has stored one fix."""
        fake = self.fake(start_ms=start_ms)
        daemon = self.daemon(fake.port, **sections).start()
        if "sync" in sections:
            daemon.keep_account()
            self.addCleanup(self.check_conserved, daemon)
        daemon.call("Start")
        fake.settle()
        daemon.wait_stored(1)
        return fake, daemon


def reachable(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


needs_gpsd = unittest.skipUnless(GPSD, "gpsd is not installed")

__all__ = [
    "BIN", "NEVER", "PATIENCE", "QUIET", "ROOT", "Backend", "Beekond", "Child", "Closed", "FakeGPSD", "Listener", "Refusal",
    "SystemTest", "Tracker", "free_port", "needs_gpsd", "never", "program", "reachable", "rows", "toml", "wait_for",
]
