"""beekon-server in a private folder."""
from __future__ import annotations

import datetime
import gzip
import http.client
import json
import os
import signal
import subprocess
import uuid
from dataclasses import dataclass

import server_support
from support.child import Child
from support.ports import new_port
from support.waiting import wait_for

PROGRAM = os.path.join(server_support.SERVER_BIN, "beekon-server")


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """One database, and the server that may be running on it; always at the same port."""

    def __init__(self, folder: str, database: str | None = None, options: tuple = (), program: str = PROGRAM):
        self.folder = folder
        self.program = program
        self.database = database or os.path.join(folder, "server.db")
        self.port = new_port()
        self.options = options
        self.log = os.path.join(folder, "server.log")
        self.child: Child | None = None
        # Of the server alone, beside that of the tests; its verbs have none of it.
        self.environment: dict = {}
        # At each start it packs the page's files, which takes three fourths of the processor's time of a start.
        self.has_page = server_support.IS_MEASURED

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def launch(self) -> Server:
        """Starts it and does not wait."""
        self.child = Child(
            [self.program, "--database", self.database, "--listen", f"127.0.0.1:{self.port}", *self.options], self.log,
            # Batches of tests are of 2024 (FIRST_MS): their ids are remembered all the same.
            env={**os.environ, "BEEKON_SERVER_BATCH_DAYS": "36500", **({} if self.has_page else {"BEEKON_SERVER_PAGE": "none"}),
                 **self.environment})
        return self

    def start(self) -> Server:
        """Starts it and waits until its database answers."""
        self.launch()
        return self.wait()

    def wait(self) -> Server:
        """Waits until its database answers."""
        wait_for(self._answers, lambda: f"beekon-server answers; it said:\n{self._text()}")
        return self

    def _text(self) -> str:
        return self.child.text() if self.child else ""

    def _answers(self) -> bool:
        if not self.running:
            raise AssertionError(f"beekon-server ended:\n{self._text()}")
        try:
            return self.ask("GET", "/health/ready").status == 200
        except (OSError, http.client.HTTPException):
            return False

    @property
    def running(self) -> bool:
        return self.child is not None and self.child.running

    def kill(self):
        if self.child:
            self.child.kill()

    def stop(self) -> int:
        """Ends it as systemd would."""
        assert self.child
        self.child.signal(signal.SIGTERM)
        return self.child.wait()

    def verb(self, *arguments: str) -> subprocess.CompletedProcess:
        """Runs one of its verbs, beside the server or without it."""
        verb, rest = arguments[:2], arguments[2:]
        return subprocess.run(
            [self.program, *verb, "--database", self.database, *rest], capture_output=True, text=True, timeout=120)

    def add_device(self, name: str) -> dict:
        done = self.verb("device", "add", "--json", name)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def add_user(self, name: str, role: str, *groups: str) -> str:
        """With groups, a reader of their vehicles alone."""
        options = [word for group in groups for word in ("--group", group)]
        done = self.verb("user", "add", "--role", role, *options, name)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def ask(self, method: str, path: str, token: str | None = None, body: bytes | None = None, **headers) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            if token:
                fields["Authorization"] = f"Bearer {token}"
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def post(self, token: str, root: dict, packed: bool = True) -> Answer:
        body = json.dumps(root).encode()
        encoding = {"Content_Encoding": "gzip"} if packed else {}
        return self.ask(
            "POST", "/v1/batches", token, gzip.compress(body) if packed else body, Content_Type="application/json",
            **encoding)

    def deliver(self, token: str, root: dict) -> Answer:
        """The answer to a batch that is sent again, as a vehicle does, for as long as a busy server puts it off."""
        last: list[Answer] = []

        def is_taken() -> bool:
            last[:] = [self.post(token, root)]
            return last[0].status != 503

        wait_for(is_taken, "a server that does not put the batch off")
        return last[0]

    def ids(self, token: str, device: int) -> list:
        """Ids of the stored locations of a device, as the interface has them."""
        answer = self.ask("GET", f"/v1/devices/{device}/locations", token)
        assert answer.status == 200, answer
        return [location["id"] for location in answer.json["locations"]]


# 2024-06-15: the tests' own time does not matter, as long as it is not in the server's future.
FIRST_MS = 1_718_452_800_000


def uuid7(milliseconds: int) -> str:
    """A random id with this time part."""
    number = uuid.uuid4().int & ((1 << 74) - 1)
    high = number >> 62
    return str(uuid.UUID(int=milliseconds << 80 | 7 << 76 | high << 64 | 2 << 62 | number & ((1 << 62) - 1)))


def iso(milliseconds: int) -> str:
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def envelope(count: int, first_ms: int = FIRST_MS, **replaced) -> dict:
    """A batch of as many locations."""
    locations = [{
        "id": uuid7(first_ms + index * 1000), "timestamp": iso(first_ms + index * 1000), "trigger": "interval",
        "motion": "moving", "is_mock": False, "latitude": 48 + index / 1e4, "longitude": 11.5, "accuracy": 4.5,
        "speed": 12.25, "bearing": 90, "altitude": 520.1} for index in range(count)]
    return {
        "schema_version": 1, "batch_id": uuid7(first_ms), "session_id": uuid7(first_ms), "sent_at": iso(first_ms),
        "device": {"install_id": uuid7(first_ms), "platform": "linux", "sdk_version": "1.0.0", "model": "test"},
        "locations": locations, "geofence_events": [], **replaced}
